"""The engine against closed forms: waits of M/M/c and M/G/1, and numbers, shares and power of two-rate queues."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference import queueing, queueing_rates
from reference import recursion as ref
from reference.batches import assert_agrees
from reference.engine import policies, table, two_speeds
from wattline.model import codes
from wattline.model.cluster import Cluster, NodeClass
from wattline.sim.simulate import simulate
from wattline.wiring.options import Options
from wattline.wiring.result import Result

N = 400_000
TWO = queueing_rates.TwoRates(low=1.0, high=2.0, busy_low_w=2.0, busy_high_w=5.0, idle_low_w=0.5, idle_high_w=1.0)
RATES = ref.Rates(low=1.0, high=2.0, busy_low=2.0, busy_high=5.0, idle_low=0.5, idle_high=1.0)


def customers(seed: int, rate: float, mean: float, *, n: int = N, law: str = "exponential") -> Any:
    """Poisson arrivals; exponential, constant or two-valued (E[S²] = 4·E[S]²) amounts; one server each."""
    rng = np.random.default_rng(seed)
    amount = {
        "exponential": lambda: rng.exponential(mean, n),
        "constant": lambda: np.full(n, mean),
        "two-valued": lambda: rng.choice([0.0, 4.0 * mean], n, p=[0.75, 0.25]),
    }[law]()
    return table(np.cumsum(rng.exponential(1.0 / rate, n)), amount, np.ones(n, int))


def serve(jobs: Any, servers: int, **chosen: Any) -> Result:
    """Run on servers of one speed."""
    cluster = Cluster((NodeClass("server", servers, 0.0, 1.0),))
    return simulate(jobs, cluster, policies(**chosen), Options(ties="event", placements=False, decisions=False))


def switch(jobs: Any, servers: int, cap: str, **params: float) -> Result:
    """Run on servers of two speeds."""
    chosen = policies(cap=cap, params={"cap": params})
    options = Options(ties="event", placements=False, decisions=False, backlog=cap.startswith("work"))
    return simulate(jobs, two_speeds(servers, RATES), chosen, options, seed=9)


def waits(result: Result) -> Any:
    """Time from arrival to start."""
    return result.state.started_s - result.state.submit_s


def epochs(result: Result) -> tuple[Any, Any]:
    """The timeline and the length of each of its steps."""
    timeline = result.logs["timeline"]
    return timeline[:-1], np.diff(timeline[:, codes.TL_TIME])


@pytest.mark.parametrize(("servers", "rate"), [(1, 0.7), (4, 3.2), (20, 15.0)])
def test_waits_are_those_of_m_m_c(servers: int, rate: float) -> None:
    """The mean wait and the share that waits at all are Erlang's."""
    result = serve(customers(1, rate, 1.0), servers)
    assert_agrees(waits(result), queueing.mmc_wait_mean_s(rate, 1.0, servers), precision=0.2)
    assert_agrees(waits(result) > 0, queueing.erlang_c(rate, servers), precision=0.2)


@pytest.mark.parametrize(("law", "square"), [("exponential", 2.0), ("constant", 1.0), ("two-valued", 4.0)])
def test_waits_are_pollaczeks_and_khinchines(law: str, square: float) -> None:
    """The mean wait of M/G/1 depends on the second moment as the formula says."""
    assert_agrees(waits(serve(customers(2, 0.6, 1.0, law=law), 1)), queueing.mg1_wait_mean_s(0.6, (1.0, square)))


@pytest.mark.parametrize("law", ["exponential", "constant"])
def test_last_come_first_served_preemptive_does_not_feel_the_law_of_services(law: str) -> None:
    """The mean sojourn of M/G/1 under LCFS preemptive-resume is E[S]/(1 − ρ) whatever the law."""
    result = serve(customers(3, 0.6, 1.0, law=law), 1, order="lcfs", select="reselect")
    assert result.state.preemptions.sum() > N / 10
    assert_agrees(result.state.end_s - result.state.submit_s, queueing.mg1_lcfs_sojourn_mean_s(0.6, 1.0))


@pytest.mark.parametrize(("order", "longest"), [("shortest", False), ("longest", True)])
def test_waits_by_size_are_the_integrals(order: str, longest: bool) -> None:
    """Non-preemptive M/M/1 by size waits as the integral over sizes says."""
    select = {"at_arrivals": 0.0, "preempt": 0.0}
    result = serve(
        customers(4, 0.6, 1.0), 1, order=order, select="reselect", params={"order": {"truth": 1.0}, "select": select}
    )
    expected = queueing.mm1_by_size_wait_mean_s(0.6, 1.0, longest=longest)
    assert_agrees(waits(result), expected, precision=0.2 if longest else 0.1)


@pytest.mark.parametrize("servers", [1, 4])
def test_count_hysteresis_is_the_exact_chain(servers: int) -> None:
    """Mean number, share of time at the high rate and power of M/M/c with two thresholds are the chain's."""
    rate = 1.1 * servers
    exact = queueing_rates.mmc_count_hysteresis(rate, 1.0, servers, TWO, 2, 6)
    timeline, seconds = epochs(switch(customers(5, rate, 1.0), servers, "count-hysteresis", k_low=2, k_high=6))
    number = timeline[:, codes.TL_QUEUED] + timeline[:, codes.TL_RUNNING]
    assert_agrees(number, exact.mean_number, seconds)
    assert_agrees(timeline[:, codes.TL_RATE] == TWO.high, exact.share_high, seconds)
    assert_agrees(timeline[:, codes.TL_POWER], exact.power_w, seconds)


def test_randomized_switching_is_the_exact_chain() -> None:
    """Mean number, share of time at the high rate and power of M/M/3 with coins are the chain's."""
    exact = queueing_rates.mmc_randomized(3.0, 1.0, 3, TWO, p_low=0.3, p_high=0.4)
    timeline, seconds = epochs(switch(customers(6, 3.0, 1.0), 3, "randomized", p_low=0.3, p_high=0.4))
    assert_agrees(timeline[:, codes.TL_QUEUED] + timeline[:, codes.TL_RUNNING], exact.mean_number, seconds)
    assert_agrees(timeline[:, codes.TL_RATE] == TWO.high, exact.share_high, seconds)
    assert_agrees(timeline[:, codes.TL_POWER], exact.power_w, seconds)


def test_workload_hysteresis_is_the_level_crossing_solution() -> None:
    """Mean work, share of time at the high rate and power of M/M/1 with two thresholds are the exact ones."""
    exact = queueing_rates.mm1_workload_hysteresis(1.1, 1.0, TWO, 1.5, 4.0)
    timeline, seconds = epochs(switch(customers(7, 1.1, 1.0), 1, "workload-hysteresis", k_low=1.5, k_high=4.0))
    fallen = timeline[:, codes.TL_RATE] * timeline[:, codes.TL_RUNNING] * seconds
    assert_agrees(timeline[:, codes.TL_BACKLOG] - fallen / 2, exact.mean_workload, seconds)
    assert_agrees(timeline[:, codes.TL_RATE] == TWO.high, exact.share_high, seconds)
    assert_agrees(timeline[:, codes.TL_POWER], exact.power_w, seconds)
