"""The closed forms against each other, against values by hand, and against the literal recursion."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from reference import queueing
from reference import recursion as ref
from reference.batches import assert_agrees
from reference.queueing_rates import TwoRates, mm1_workload_hysteresis, mmc_count_hysteresis, mmc_randomized
from reference.recursion import Constant, CountHysteresis, Randomized, Rates, Run, WorkloadHysteresis
from wattline.errors import InputError

RATES = TwoRates(1.0, 2.0, busy_low_w=1.0, busy_high_w=3.0, idle_low_w=0.2, idle_high_w=0.5)
N = 60_000
INF = math.inf


def simulate(seed: int, arrival_rate: float, servers: int, switching: Constant, discipline: str = ref.FCFS) -> Run:
    """Poisson arrivals and exponential amounts of mean 1 through the literal recursion."""
    rng = np.random.default_rng(seed)
    arrival = np.cumsum(rng.exponential(1.0 / arrival_rate, N)).tolist()
    rates = Rates(RATES.low, RATES.high, RATES.busy_low_w, RATES.busy_high_w, RATES.idle_low_w, RATES.idle_high_w)
    amount = rng.exponential(1.0, N).tolist()
    return ref.simulate(arrival, amount, [1] * N, servers, rates=rates, switching=switching, discipline=discipline)


# ---------------------------------------------------------------- one rate


def test_values_by_hand() -> None:
    """M/M/1 waits with probability ρ; M/M/2 at load 1 with 1/3; M/D/1 waits half as long as M/M/1."""
    assert queueing.erlang_c(0.3, 1) == pytest.approx(0.3)
    assert queueing.erlang_c(1.0, 2) == pytest.approx(1 / 3)
    assert queueing.mmc_wait_mean_s(0.5, 1.0, 1) == pytest.approx(1.0)
    assert queueing.mg1_wait_mean_s(0.5, (1.0, 2.0)) == pytest.approx(1.0)
    assert queueing.mg1_wait_mean_s(0.5, (1.0, 1.0)) == pytest.approx(0.5)
    assert queueing.mm1_by_size_wait_mean_s(0.1, 1.0) < queueing.mmc_wait_mean_s(0.1, 1.0, 1)


def test_overload_is_refused() -> None:
    """No closed form pretends that a queue without a steady state has one."""
    for ask in (
        lambda: queueing.erlang_c(2.0, 2),
        lambda: queueing.mg1_wait_mean_s(1.0, (1.0, 1.0)),
        lambda: queueing.mg1_lcfs_sojourn_mean_s(2.0, 1.0),
        lambda: mmc_count_hysteresis(2.0, 1.0, 1, RATES, 1, 2),
        lambda: mmc_count_hysteresis(1.0, 1.0, 1, RATES, INF, INF),
        lambda: mmc_randomized(1.9, 1.0, 1, RATES, 0.5, 0.5),
        lambda: mm1_workload_hysteresis(2.0, 1.0, RATES, 1.0, 2.0),
    ):
        with pytest.raises(InputError, match="steady state"):
            ask()


def test_bad_thresholds_are_refused() -> None:
    """Thresholds the wrong way round and probabilities outside [0, 1] are named."""
    for ask, word in (
        (lambda: mmc_count_hysteresis(0.5, 1.0, 1, RATES, 3, 2), "low_count <= high_count"),
        (lambda: mm1_workload_hysteresis(0.5, 1.0, RATES, 3.0, 2.0), "low_work <= high_work"),
        (lambda: mmc_randomized(0.5, 1.0, 1, RATES, -0.1, 0.5), "probabilities"),
        (lambda: TwoRates(2.0, 1.0, 1.0, 1.0, 0.0, 0.0), "low <= high"),
    ):
        with pytest.raises(InputError, match=word):
            ask()


def single_server(seed: int, rate: float, *, vacation: float = 0.0, setup: float = 0.0) -> list[float]:
    """Waits in M/M/1 whose server takes exponential vacations or needs an exponential setup when it was empty."""
    rng = np.random.default_rng(seed)
    now = free = 0.0
    waits = []
    for gap, service in zip(rng.exponential(1.0 / rate, N), rng.exponential(1.0, N), strict=True):
        now += gap
        if setup and free <= now:
            free = now + rng.exponential(setup)
        while vacation and free <= now:
            free += rng.exponential(vacation)
        start = max(now, free)
        waits.append(start - now)
        free = start + service
    return waits


def test_vacations_add_their_mean_residual() -> None:
    """M/G/1 with vacations: Pollaczek–Khinchine plus E[V²]/(2E[V])."""
    expected = queueing.mg1_vacation_wait_mean_s(0.6, (1.0, 2.0), (2.0, 8.0))
    assert expected == pytest.approx(1.5 + 2.0)
    assert_agrees(single_server(11, 0.6, vacation=2.0), expected, precision=0.2)


def test_waking_a_sleeping_server_delays_its_whole_busy_period() -> None:
    """M/G/1 with setup: the wait exceeds Pollaczek–Khinchine as the formula says."""
    expected = queueing.mg1_setup_wait_mean_s(0.6, (1.0, 2.0), (2.0, 8.0))
    assert_agrees(single_server(12, 0.6, setup=2.0), expected, precision=0.2)


@pytest.mark.parametrize(("discipline", "longest"), [(ref.SPF_WAITING, False), (ref.LPF_WAITING, True)])
def test_size_based_waits(discipline: str, longest: bool) -> None:
    """Non-preemptive shortest and longest first on one server wait as the continuous-priority formula says."""
    run = simulate(13, 0.6, 1, Constant(), discipline)
    assert_agrees(run.delay, queueing.mm1_by_size_wait_mean_s(0.6, 1.0, longest=longest), precision=0.25)


def test_lcfs_sojourn() -> None:
    """Preemptive-resume LCFS: E[S]/(1 − ρ), and an arrival never waits to start."""
    run = simulate(14, 0.6, 1, Constant(), ref.LCFS)
    assert_agrees(run.sojourn, queueing.mg1_lcfs_sojourn_mean_s(0.6, 1.0), precision=0.2)
    assert max(run.delay) == 0


# ---------------------------------------------------------------- two rates


@pytest.mark.parametrize("servers", [1, 3])
def test_constant_rates_are_limits(servers: int) -> None:
    """Infinite thresholds and p_H = 0 are M/M/c at r_L; zero thresholds and p_L = 0 are M/M/c at r_H, idle power
    apart.
    """
    rate = 0.8 * servers
    slow = 1.0 + queueing.mmc_wait_mean_s(rate, 1.0, servers)
    fast = 0.5 + queueing.mmc_wait_mean_s(rate, 0.5, servers)
    for low in (
        mmc_count_hysteresis(rate, 1.0, servers, RATES, INF, INF),
        mmc_randomized(rate, 1.0, servers, RATES, 0.4, 0),
    ):
        assert low.mean_sojourn_s == pytest.approx(slow)
        assert low.share_high == pytest.approx(0.0)
        assert low.power_w == pytest.approx(0.8 * servers * 1.0 + 0.2 * servers * 0.2)
    at_zero = mmc_count_hysteresis(rate, 1.0, servers, RATES, 0, 0)
    always = mmc_randomized(rate, 1.0, servers, RATES, 0.0, 0.3)
    assert at_zero.mean_sojourn_s == pytest.approx(fast)
    assert always.mean_sojourn_s == pytest.approx(fast)
    assert always.power_w == pytest.approx(0.4 * servers * 3.0 + 0.6 * servers * 0.5)
    empty = float(at_zero.law[0].sum())
    assert at_zero.share_high == pytest.approx(1.0 - empty)
    assert at_zero.power_w == pytest.approx(always.power_w - servers * empty * (0.5 - 0.2))


def test_one_threshold_on_one_server_by_hand() -> None:
    """k_L = k_H = 1, λ = r_L = 1, r_H = 2: π = (1, 1, 1/2, 1/4, …)/3, so N̄ = 1, the high share is 1/3."""
    found = mmc_count_hysteresis(1.0, 1.0, 1, RATES, 1, 1)
    assert found.law[0] == pytest.approx([1 / 3, 0.0], abs=1e-15)
    assert found.law[1] == pytest.approx([1 / 3, 0.0], abs=1e-15)
    assert found.share_high == pytest.approx(1 / 3)
    assert found.mean_number == pytest.approx(
        (1 + 2 / 2 + 3 / 4 + 4 / 8 + sum(n / 2 ** (n - 1) for n in range(5, 90))) / 3
    )
    assert found.power_w == pytest.approx(0.2 / 3 + 1.0 / 3 + 3.0 / 3)


def truncated(arrival_rate: float, servers: int, step: Any, levels: int = 400) -> tuple[float, float]:
    """Mean number and high share by iterating nothing clever: the whole generator up to ``levels``, dense."""
    size = 2 * levels
    generator = np.zeros((size, size))
    for n in range(levels):
        for high in (0, 1):
            here = 2 * n + high
            for target, p in step("A", n, high):
                if n + 1 < levels:
                    generator[here, 2 * (n + 1) + target] += arrival_rate * p
            for target, p in step("D", n, high):
                if n:
                    generator[here, 2 * (n - 1) + target] += min(n, servers) * (1.0 + high) * p
    generator -= np.diag(generator.sum(axis=1))
    generator[:, -1] = 1.0
    law = np.linalg.solve(generator.T, np.eye(size)[-1]).reshape(levels, 2)
    return float(np.arange(levels) @ law.sum(axis=1)), float(law[:, 1].sum())


def test_the_matrix_geometric_tail_is_the_long_chain() -> None:
    """Solving 400 levels of the whole chain densely gives the same as the finite block with its geometric tail."""

    def coins(kind: str, _n: int, high: int) -> list[tuple[int, float]]:
        return [(1, 0.5), (high, 0.5)] if kind == "A" else [(0, 0.3), (high, 0.7)]

    def counts(kind: str, n: int, high: int) -> list[tuple[int, float]]:
        if kind == "A":
            return [(1 if n >= 6 else high, 1.0)]
        return [(0 if n <= 3 else high, 1.0)]

    for step, found in (
        (coins, mmc_randomized(4.0, 1.0, 3, RATES, 0.3, 0.5)),
        (counts, mmc_count_hysteresis(4.0, 1.0, 3, RATES, 2, 6)),
    ):
        assert truncated(4.0, 3, step) == pytest.approx((found.mean_number, found.share_high), rel=1e-8)


def check_number(run: Run, found: Any) -> None:
    """Mean number, share of the high rate and power of a run agree with the exact steady state."""
    assert_agrees(run.customers, found.mean_number, run.tau, precision=0.2)
    assert_agrees([r == RATES.high for r in run.rate], found.share_high, run.tau, precision=0.2)
    assert_agrees(run.power, found.power_w, run.tau, precision=0.05)


@pytest.mark.parametrize(("servers", "rate", "low", "high"), [(1, 1.2, 1, 3), (1, 0.9, 0, 5), (3, 4.0, 2, 6)])
def test_count_hysteresis_is_simulated_as_solved(servers: int, rate: float, low: int, high: int) -> None:
    """Energy of a two-rate system: the count-hysteretic recursion agrees with its exact chain."""
    found = mmc_count_hysteresis(rate, 1.0, servers, RATES, low, high)
    check_number(simulate(21, rate, servers, CountHysteresis(low, high)), found)


@pytest.mark.parametrize(("low", "high"), [(1.0, 2.5), (0.5, 2.5), (1.9, 2.0)])
def test_thresholds_between_whole_numbers_act_as_the_whole_number_below(low: float, high: float) -> None:
    """More than 2.5 customers means more than 2, and at most 1.9 means at most 1."""
    between, whole = (
        mmc_count_hysteresis(0.8, 1.0, 1, RATES, a, b) for a, b in ((low, high), (math.floor(low), math.floor(high)))
    )
    assert between.mean_number == pytest.approx(whole.mean_number, rel=1e-12)
    assert between.share_high == pytest.approx(whole.share_high, rel=1e-12)


@pytest.mark.parametrize(("servers", "rate", "p_low", "p_high"), [(1, 0.9, 0.5, 0.5), (3, 3.6, 0.3, 0.5)])
def test_randomized_switching_is_simulated_as_solved(servers: int, rate: float, p_low: float, p_high: float) -> None:
    """The recursion with coins agrees with its exact two-dimensional chain."""
    coins = np.random.default_rng(22).random(2 * N).tolist()
    found = mmc_randomized(rate, 1.0, servers, RATES, p_low, p_high)
    check_number(simulate(23, rate, servers, Randomized(p_low, p_high, coins)), found)


@pytest.mark.parametrize(("low", "high"), [(1.0, 2.5), (1.0, 1.0), (0.0, 2.0)])
def test_workload_hysteresis_is_simulated_as_solved(low: float, high: float) -> None:
    """The recursion with switching events agrees with the level-crossing solution: work, share and power."""
    found = mm1_workload_hysteresis(1.2, 1.0, RATES, low, high)
    run = simulate(24, 1.2, 1, WorkloadHysteresis(low, high))
    tau, rate = np.array(run.tau), np.array(run.rate)
    mean_in_epoch = np.array(run.workload) - rate * np.array(run.in_service) * tau / 2
    assert_agrees(mean_in_epoch, found.mean_workload, tau, precision=0.2)
    assert_agrees(rate == RATES.high, found.share_high, tau, precision=0.2)
    assert_agrees(np.array(run.customers) == 0, found.share_empty, tau, precision=0.2)
    assert_agrees(run.power, found.power_w, tau, precision=0.05)


def test_workload_thresholds_at_zero_are_the_high_rate() -> None:
    """K = 0 is M/M/1 at r_H for the work, resting at r_L; a far k is M/M/1 at r_L."""
    at_zero = mm1_workload_hysteresis(0.8, 1.0, RATES, 0.0, 0.0)
    assert at_zero.share_empty == pytest.approx(0.6)
    assert at_zero.mean_workload == pytest.approx(0.4 / 0.6)
    assert at_zero.power_w == pytest.approx(0.6 * 0.2 + 0.4 * 3.0)
    far = mm1_workload_hysteresis(0.8, 1.0, RATES, 200.0, 200.0)
    assert far.mean_workload == pytest.approx(0.8 / 0.2)
    assert far.share_high == pytest.approx(0.0, abs=1e-12)
