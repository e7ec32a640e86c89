"""The literal recursion against schedules worked out by hand and against laws that hold exactly."""

from __future__ import annotations

import gzip
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import recursion as ref
from reference.recursion import Constant, CountHysteresis, Randomized, Rates, WorkloadHysteresis, simulate

DISCIPLINES = (ref.FCFS, ref.LCFS, ref.LPF, ref.SPF, ref.LPF_WAITING, ref.SPF_WAITING, ref.BF)
RATES = Rates(low=1, high=2, busy_low=1, busy_high=3, idle_low=Fraction(1, 4), idle_high=Fraction(1, 2))

# ---------------------------------------------------------------- disciplines by hand

MIXED = ([0, 1, 2], [4, 2, 1], [2, 2, 1])  # three servers: the second does not fit, the third would


def test_fcfs_lets_nobody_pass_a_head_that_does_not_fit() -> None:
    """In order of arrival, the narrow third customer waits behind the wide second one although a server is free."""
    run = simulate(*MIXED, 3)
    assert (run.start, run.departure) == ([0, 4, 4], [4, 6, 5])
    assert (run.delay, run.sojourn, run.service) == ([0, 3, 2], [4, 5, 3], [4, 2, 1])
    assert run.slowdown == [1, 2.5, 3]


def test_backfill_takes_the_third_while_it_ends_before_the_head_starts() -> None:
    """A waiting customer that fits and is done strictly before the head could start passes it."""
    run = simulate(*MIXED, 3, discipline=ref.BF)
    assert (run.start, run.departure) == ([0, 4, 2], [4, 6, 3])


def test_backfill_refuses_an_end_that_coincides_with_the_heads_start() -> None:
    """Ending exactly when the head could start is not before it, and there is no extra-nodes rule."""
    assert simulate([0, 1, 2], [4, 2, 2], [2, 2, 1], 3, discipline=ref.BF).start == [0, 4, 4]
    assert simulate([0, 1, 2], [4, 1, 9], [3, 2, 1], 4, discipline=ref.BF).start == [0, 4, 4]


def test_backfill_passes_over_who_does_not_fit_and_never_stops_the_backfilled() -> None:
    """Wide candidates are passed over; when room appears, they do not push a backfilled customer out."""
    # c = 6: 0 and 1 hold 3 + 1; the head 2 needs 6; 3 needs 4 (never fits beside 4), 4 needs 2 and passes it.
    run = simulate([0, 0, 1, 2, 3], [10, 4, 1, 5, 5], [3, 1, 6, 3, 2], 6, discipline=ref.BF)
    assert run.start == [0, 0, 10, 11, 3]
    assert run.departure[4] == 8
    assert run.served[4] == 5


def test_lcfs_preempts_and_resumes() -> None:
    """The newest are served; a customer pushed out goes on later with what remained."""
    run = simulate(*MIXED, 3, discipline=ref.LCFS)
    assert (run.start, run.departure) == ([0, 1, 2], [6, 3, 3])
    assert run.service[0] == 6
    assert run.served == [4, 2, 1]
    assert run.energy_budget == [8, 4, 1]  # N · e(r_L) · time in service


ONE = ([0, 1, 2], [4, 1, 3], [1, 1, 1])  # one server


@pytest.mark.parametrize(
    ("discipline", "start"),
    [(ref.SPF, [0, 4, 5]), (ref.SPF_WAITING, [0, 4, 5]), (ref.LPF, [0, 7, 4]), (ref.LPF_WAITING, [0, 7, 4])],
)
def test_shortest_and_longest_pick_at_departures(discipline: str, start: list[int]) -> None:
    """An arrival into the empty system starts at once; afterwards each departure picks by remaining amount."""
    assert simulate(*ONE, 1, discipline=discipline).start == start


def test_a_newcomer_that_fits_waits_while_somebody_waits() -> None:
    """Arrivals start only if nobody waits; equal amounts go by label."""
    run = simulate([0, 1, 2], [5, 1, 1], [1, 2, 1], 2, discipline=ref.SPF_WAITING)
    assert run.start == [0, 5, 6]


def test_reselection_among_all_preempts_and_among_the_waiting_does_not() -> None:
    """At a departure SPF may push out a long customer in service; its non-preemptive form may not."""
    half = Fraction(1, 2)
    customers = ([0, half, 1, 3 * half], [2, 10, 3, 4], [1, 1, 1, 1])
    among_all = simulate(*customers, 2, discipline=ref.SPF)
    assert among_all.departure == [2, 13.5, 5, 6]
    assert among_all.served[1] == 10
    assert among_all.service[1] == 13
    assert simulate(*customers, 2, discipline=ref.SPF_WAITING).departure == [2, 10.5, 5, 9]
    assert simulate(*customers, 2, discipline=ref.LPF).departure == [2, 10.5, 9, 6]


# ---------------------------------------------------------------- switching by hand

PAIR = ([0, 1], [4, 2], [1, 1])


@pytest.mark.parametrize(
    "switching",
    [Randomized(0.5, 0.5, [0.9, 0.1, 0.1, 0.9]), CountHysteresis(1, 1)],
    ids=["coins", "count"],
)
def test_one_server_up_at_the_second_arrival_down_at_the_first_departure(switching: Constant) -> None:
    """Low for 1, high for 1.5 (3 remain), low for 2: times, energies and averages follow."""
    run = simulate(*PAIR, 1, rates=RATES, switching=switching)
    assert run.epoch == [0, 1, 2.5, 4.5]
    assert run.kind == ["A", "A", "D", "D"]
    assert run.rate == [1, 2, 1, 1]
    assert run.energy_budget == [5.5, 2]
    assert run.workload == [4, 5, 2, 0]
    assert (run.customers, run.queue, run.busy) == ([1, 2, 1, 0], [0, 1, 0, 0], [1, 1, 1, 0])
    assert run.time_average(run.power) == pytest.approx(7.5 / 4.5)
    assert run.time_average(run.customers) == pytest.approx((1 + 3 + 2) / 4.5)


def test_count_hysteresis_keeps_the_high_rate_down_to_its_lower_threshold() -> None:
    """With k_L = 0 the rate stays high until the system is empty, and rests low there."""
    run = simulate(*PAIR, 1, rates=RATES, switching=CountHysteresis(0, 1))
    assert (run.epoch, run.rate) == ([0, 1, 2.5, 3.5], [1, 2, 2, 1])


def test_coins_are_thrown_whatever_the_rate_and_only_one_way() -> None:
    """An arrival never lowers and a departure never raises the rate; every event takes one uniform."""
    left = iter([0.0, 0.9, 0.9, 0.0, 0.5])
    run = simulate(*PAIR, 1, rates=RATES, switching=Randomized(0.5, 0.5, left))  # type: ignore[arg-type]
    assert run.rate == [2, 2, 2, 1]
    assert list(left) == [0.5]


def test_workload_switches_between_arrivals_and_departures() -> None:
    """W falls at R times the customers in service, so 7 reaches k_L = 2 after 5/(2·2)."""
    run = simulate([0, 1], [4, 4], [1, 1], 2, rates=RATES, switching=WorkloadHysteresis(2, 5))
    assert run.epoch == [0, 1, 2.25, 2.75, 3.75]
    assert run.kind == ["A", "A", "S", "D", "D"]
    assert run.rate == [1, 2, 1, 1, 1]
    assert run.workload == [4, 7, 2, 1, 0]
    assert run.mean_workload == (3.5 + 1.25 * 4.5 + 0.5 * 1.5 + 0.5) / 3.75
    assert run.time_average(run.workload) == (4 + 1.25 * 7 + 0.5 * 2 + 1) / 3.75


def test_node_weighted_workload_falls_at_the_rate_of_busy_servers() -> None:
    """Weighted by width, W = 11 reaches 5 after 6/(2·3)."""
    switching = WorkloadHysteresis(5, 6, node_weighted=True)
    run = simulate([0, 1], [4, 4], [1, 2], 3, rates=RATES, switching=switching)
    assert run.epoch == [0, 1, 2, 3, 4]
    assert run.weighted_workload == [4, 11, 5, 2, 0]
    assert run.rate == [1, 2, 1, 1, 1]


def test_no_switching_event_at_the_low_rate() -> None:
    """Passing k_L at r_L is no event; being lifted between the thresholds changes nothing."""
    run = simulate([0, 1], [4, 1], [1, 1], 1, rates=RATES, switching=WorkloadHysteresis(2, 5))
    assert (run.kind, set(run.rate)) == (["A", "A", "D", "D"], {1})


def test_reaching_the_upper_threshold_is_not_exceeding_it() -> None:
    """An arrival that lifts W to exactly k_H leaves the rate low; a hair more raises it."""
    assert set(simulate(*PAIR, 1, rates=RATES, switching=WorkloadHysteresis(2, 5)).rate) == {1}
    assert simulate(*PAIR, 1, rates=RATES, switching=WorkloadHysteresis(2, 4.99)).rate[1] == 2


def test_loads_and_wasting_count_idle_servers_only_while_somebody_waits() -> None:
    """Potential is c while somebody waits, otherwise the busy servers; wasting is the difference times the epoch."""
    run = simulate(*MIXED, 3, rates=RATES, switching=Constant(high=True))
    assert run.epoch == [0, 1, 2, 2, 2.5, 3]  # at 2 the first leaves, then the third arrives and fits beside the second
    assert run.kind == ["A", "A", "D", "A", "D", "D"]
    assert run.potential_load == [4, 6, 4, 6, 4, 0]
    assert run.effective_load == [4, 4, 4, 6, 4, 0]
    assert run.wasting == [0, 2, 0, 0, 0, 0]


# ---------------------------------------------------------------- limiting cases and laws


def random_customers(seed: int, n: int, servers: int) -> tuple[list[float], list[float], list[int]]:
    """Customers with idle spells and queues, no ties."""
    rng = np.random.default_rng(seed)
    arrival = np.cumsum(rng.exponential(1.0, n) * rng.choice([0.2, 3.0], n))
    return arrival.tolist(), rng.exponential(3.0, n).tolist(), rng.integers(1, servers + 1, n).tolist()


@pytest.mark.parametrize("discipline", DISCIPLINES)
@pytest.mark.parametrize("policy", [CountHysteresis, WorkloadHysteresis])
def test_thresholds_at_zero_serve_at_the_high_rate_and_rest_at_the_low_one(discipline: str, policy: Any) -> None:
    """K = 0 equals constant r_H for every customer; the energies differ by the empty system's rest at r_L alone."""
    customers = random_customers(1, 300, 8)
    fast = simulate(*customers, 8, rates=RATES, discipline=discipline, switching=Constant(high=True))
    run = simulate(*customers, 8, rates=RATES, discipline=discipline, switching=policy(0, 0))
    np.testing.assert_allclose(run.start, fast.start, rtol=1e-12)
    np.testing.assert_allclose(run.departure, fast.departure, rtol=1e-12)
    np.testing.assert_allclose(run.energy_budget, fast.energy_budget, rtol=1e-9)
    empty = sum(t for t, n in zip(fast.tau, fast.customers, strict=True) if n == 0)
    assert empty > 0
    saved = 8 * float(RATES.idle_high - RATES.idle_low) * empty
    energy, energy_fast = (float(r.time_average(r.power) * r.duration) for r in (run, fast))
    assert energy == pytest.approx(energy_fast - saved, rel=1e-9)


@pytest.mark.parametrize("discipline", DISCIPLINES)
@pytest.mark.parametrize("policy", [CountHysteresis, WorkloadHysteresis])
def test_infinite_thresholds_are_the_constant_low_rate(discipline: str, policy: Any) -> None:
    """K = ∞ equals constant r_L in every measure."""
    customers = random_customers(2, 300, 8)
    slow = simulate(*customers, 8, rates=RATES, discipline=discipline)
    run = simulate(*customers, 8, rates=RATES, discipline=discipline, switching=policy(math.inf, math.inf))
    assert vars(run) == vars(slow)


def test_certain_coins_are_constant_rates() -> None:
    """p_H = 1, p_L = 0 is constant r_H from the first arrival; p_H = 0 is constant r_L."""
    customers = random_customers(3, 200, 4)
    fast = simulate(*customers, 4, switching=Constant(high=True))
    assert simulate(*customers, 4, switching=Randomized(0.0, 1.0, [0.5] * 400)).departure == fast.departure
    assert (
        simulate(*customers, 4, switching=Randomized(0.7, 0.0, [0.5] * 400)).departure
        == simulate(*customers, 4).departure
    )


@pytest.mark.parametrize("rate", [1.0, 2.66])
def test_constant_rate_fcfs_is_the_delay_recursion(rate: float) -> None:
    """The event recursion and the Kiefer–Wolfowitz recursion agree on every delay."""
    from wattline.theory.recursion import fcfs_delays

    arrival, amount, width = random_customers(4, 3000, 16)
    run = simulate(arrival, amount, width, 16, rates=Rates(low=rate, high=9.0))
    np.testing.assert_allclose(run.delay, fcfs_delays(arrival, np.array(amount) / rate, width, 16), atol=1e-8)
    assert max(run.delay) > 10


def test_every_krc_delay_is_hpcwlds(data_dir: Path) -> None:
    """The event recursion gives hpcwld's own FCFS delay for each of the 8,281 recorded tasks."""
    from wattline.theory.recursion import arrivals_from_gaps

    with gzip.open(data_dir / "krc" / "HPC_KRC_hpcwld_fcfs_delays_80cores.csv.gz", "rt") as text:
        table = np.genfromtxt(text, delimiter=",", names=True)
    arrival = arrivals_from_gaps(table["interarrival"]).tolist()
    run = simulate(arrival, table["service"].tolist(), table["cores_used"].astype(int).tolist(), 80)
    assert run.delay == table["delay_model"].tolist()


small = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 8), st.integers(1, 4)), min_size=1, max_size=12)
switchings = st.one_of(
    st.builds(lambda a, b: ("count", a, a + b), st.integers(0, 4), st.integers(0, 3)),
    st.builds(lambda a, b: ("work", a, a + b), st.integers(0, 12), st.integers(0, 12)),
    st.builds(lambda a, b: ("weighted", a, a + b), st.integers(0, 12), st.integers(0, 12)),
    st.builds(lambda a, b: ("coins", a / 4, b / 4), st.integers(0, 4), st.integers(0, 4)),
)


def build(switching: tuple[str, Any, Any], n: int) -> Constant:
    """The switching rule of a Hypothesis draw."""
    name, low, high = switching
    if name == "coins":
        return Randomized(low, high, np.random.default_rng(n).random(2 * n).tolist())
    if name == "count":
        return CountHysteresis(low, high)
    return WorkloadHysteresis(low, high, node_weighted=name == "weighted")


def exact(customers: list[tuple[int, int, int]]) -> tuple[list[Fraction], list[Fraction], list[int]]:
    """Gaps, amounts and widths as exact columns."""
    arrival = np.cumsum([gap for gap, _, _ in customers])
    return [Fraction(int(t)) for t in arrival], [Fraction(s) for _, s, _ in customers], [n for _, _, n in customers]


@settings(max_examples=150, deadline=None)
@given(small, st.sampled_from(DISCIPLINES), switchings)
def test_work_and_energy_are_conserved_exactly(
    customers: list[tuple[int, int, int]], discipline: str, switching: tuple[str, Any, Any]
) -> None:
    """In exact arithmetic: all work is done once, energy splits into budgets and idling, servers are never oversold."""
    arrival, amount, width = exact(customers)
    run = simulate(
        arrival, amount, width, 4, rates=RATES, discipline=discipline, switching=build(switching, len(width))
    )
    done = sum(e * t for e, t in zip(run.effective_load, run.tau, strict=True))
    assert done == sum(s * n for s, n in zip(amount, width, strict=True))
    idle = sum((4 - f) * RATES.idle(r) * t for f, r, t in zip(run.busy, run.rate, run.tau, strict=True))
    assert sum(p * t for p, t in zip(run.power, run.tau, strict=True)) == sum(run.energy_budget) + idle
    assert max(run.busy) <= 4
    assert all(q == 0 or f > 0 for q, f in zip(run.queue, run.busy, strict=True))
    assert run.kind.count("A") == run.kind.count("D") == len(width)
    assert all(d >= 0 for d in run.delay)


@settings(max_examples=100, deadline=None)
@given(small, st.sampled_from(DISCIPLINES), st.integers(0, 12), st.integers(0, 12), st.booleans())
def test_the_rate_follows_the_workload(
    customers: list[tuple[int, int, int]], discipline: str, low: int, gap: int, weighted: bool
) -> None:
    """At every epoch W ≤ k_L means r_L, W > k_H means r_H, and a switching event finds W = k_L exactly."""
    policy = WorkloadHysteresis(low, low + gap, node_weighted=weighted)
    run = simulate(*exact(customers), 4, rates=RATES, discipline=discipline, switching=policy)
    levels = run.weighted_workload if weighted else run.workload
    for kind, level, rate in zip(run.kind, levels, run.rate, strict=True):
        assert level > low or rate == 1
        assert level <= low + gap or rate == 2
        assert kind != "S" or level == low


@settings(max_examples=100, deadline=None)
@given(small)
def test_backfilling_delays_nobody(customers: list[tuple[int, int, int]]) -> None:
    """At a constant rate nobody starts later than in order of arrival: the backfilled are gone when the head starts."""
    columns = exact(customers)
    in_order, backfilled = simulate(*columns, 4), simulate(*columns, 4, discipline=ref.BF)
    assert all(b <= f for b, f in zip(backfilled.start, in_order.start, strict=True))


@settings(max_examples=60, deadline=None)
@given(small, st.sampled_from(DISCIPLINES))
def test_without_queues_every_discipline_is_the_same(customers: list[tuple[int, int, int]], discipline: str) -> None:
    """On enough servers everyone starts on arrival and is never pushed out."""
    run = simulate(*exact(customers), 48, discipline=discipline)
    assert run.start == run.arrival
    assert run.served == run.service == [s for _, s, _ in customers]
