"""Conservative backfilling: the plan of a second-by-second reference, and promises that are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import conservative

from reference.engine import policies
from wattline.model.cluster import Cluster, NodeClass, Outage
from wattline.model.jobs import JobTable
from wattline.sim.simulate import Simulation, simulate
from wattline.wiring.options import Options
from wattline.wiring.result import Result


def some_jobs(least_s: int) -> st.SearchStrategy[list[tuple[int, int, int, int]]]:
    """Return gaps between jobs, their run times, widths and how much too long they are estimated."""
    one = st.tuples(st.integers(0, 5), st.integers(least_s, 12), st.integers(1, 6), st.integers(0, 10))
    return st.lists(one, min_size=1, max_size=25)


drawn_jobs = some_jobs(1)


def columns(drawn: list[tuple[int, int, int, int]]) -> tuple[list[int], list[int], list[int], list[int]]:
    """Submit times, run times, widths and estimates (never too short) of a Hypothesis draw."""
    submit = np.cumsum([gap for gap, *_ in drawn]).tolist()
    work, width, slack = ([row[i] for row in drawn] for i in (1, 2, 3))
    return submit, work, width, [w + s for w, s in zip(work, slack, strict=True)]


def run(
    submit: Any,
    work: Any,
    width: Any,
    estimate: Any,
    nodes: int = 6,
    *,
    select: str = "conservative",
    params: dict[str, Any] | None = None,
    outages: tuple[Outage, ...] = (),
    ties: str = "instant",
) -> Result:
    """Simulate jobs whose estimates are what their users asked for."""
    jobs = JobTable.build(submit_s=submit, work_s=work, nodes=width, request_s=estimate)
    cluster = Cluster((NodeClass("node", nodes, 1.0, 2.0),), outages=outages)
    return simulate(jobs, cluster, policies(select=select, learn="request", params=params), Options(ties=ties))


@settings(max_examples=250, deadline=None)
@given(drawn_jobs)
def test_starts_and_last_promises_are_the_references(drawn: list[tuple[int, int, int, int]]) -> None:
    """Every job starts when a plan of whole seconds, kept as a list with one entry a second, says."""
    given_jobs = columns(drawn)
    expected = conservative(*given_jobs, 6)
    result = run(*given_jobs)
    assert result.state.started_s.tolist() == [expected.start[j] for j in range(len(drawn))]
    assert result.state.reserved_s.tolist() == [min(expected.promises[j]) for j in range(len(drawn))]


@settings(max_examples=150, deadline=None)
@given(drawn_jobs, st.data())
def test_watts_are_planned_as_nodes_are(drawn: list[tuple[int, int, int, int]], data: st.DataObject) -> None:
    """Under a power limit a reservation holds watts too: starts and promises are those of a plan of nodes and watts."""
    submit, work, width, estimate = columns(drawn)
    draw = data.draw(st.lists(st.sampled_from([100, 200, 300]), min_size=len(work), max_size=len(work)))
    watts = [d * w for d, w in zip(draw, width, strict=True)]
    expected = conservative(submit, work, width, estimate, 6, watts, max(900, *watts, 0))
    jobs = JobTable.build(submit_s=submit, work_s=work, nodes=width, request_s=estimate, draw_w=draw)
    machine = Cluster((NodeClass("node", 6, 0.0, 300.0),))
    options = Options(limit_w=[(0.0, float(max(900, *watts, 0)))])
    s = simulate(jobs, machine, policies(select="conservative", learn="request"), options).state
    assert s.started_s.tolist() == [expected.start[j] for j in range(len(drawn))]
    assert s.reserved_s.tolist() == [min(expected.promises[j]) for j in range(len(drawn))]


@settings(max_examples=300, deadline=None)
@given(some_jobs(0) | some_jobs(0).map(lambda rows: [(gap, min(work, 1), width, 0) for gap, work, width, _ in rows]))
def test_nobody_starts_later_than_any_promise(drawn: list[tuple[int, int, int, int]]) -> None:
    """With estimates that are never too short, promises only move forward and the start keeps the last one."""
    submit, work, width, estimate = columns(drawn)
    jobs = JobTable.build(submit_s=submit, work_s=work, nodes=width, request_s=estimate)
    cluster = Cluster((NodeClass("node", 6, 1.0, 2.0),))
    simulation = Simulation(jobs, cluster, policies(select="conservative", learn="request"))
    promised: dict[int, tuple[float, float]] = {}
    with simulation:
        while simulation.advance(1) != 0:
            memory, s = simulation.memory[1], simulation.state
            start, turn, planned = memory[: 3 * len(jobs)].reshape(3, -1)
            for j in np.flatnonzero(planned).tolist():
                assert (start[j], turn[j]) <= promised.get(j, (np.inf, 0.0))
                promised[j] = (start[j], turn[j])
    np.testing.assert_array_equal(s.started_s, [promised[j][0] for j in range(len(jobs))])


def test_promises_hold_to_rounding_for_times_that_are_not_whole() -> None:
    """Real-valued times pack as tightly: no start is later than its first promise by more than rounding."""
    rng = np.random.default_rng(11)
    work = rng.exponential(50.0, 800)
    result = run(
        np.cumsum(rng.exponential(9.0, 800)), work, rng.integers(1, 17, 800), work * rng.uniform(1.0, 3.0, 800), 32
    )
    s = result.state
    assert np.all(s.started_s <= s.reserved_s + 1e-6)
    assert np.mean(s.started_s - s.submit_s) > 10.0


def test_jobs_past_their_estimates_delay_but_do_not_block() -> None:
    """Estimates that are too short break promises; everybody still runs, in a machine that is never oversold."""
    rng = np.random.default_rng(12)
    work = rng.integers(1, 60, 300).astype(float)
    submit = np.cumsum(rng.integers(0, 12, 300)).astype(float)
    result = run(submit, work, rng.integers(1, 9, 300), np.maximum(1.0, work * rng.choice([0.3, 1.0, 2.0], 300)), 16)
    assert np.all(np.isfinite(result.state.end_s))
    assert result.state.counter[2] == 0  # no proposal was refused


def test_nobody_runs_across_the_instant_of_a_job_that_takes_no_time() -> None:
    """Its promise is one like any other: jobs behind it do not take its nodes, and begin in the same instant."""
    assert run([0, 0, 0], [0, 0, 900], [3, 4, 1], [0, 0, 900], 4).state.started_s.tolist() == [0, 0, 0]
    # 1 needs all 4 nodes at 100; 2 would hold one of them across that instant, 3 is gone in time
    later = run([0, 1, 2, 3], [100, 0, 900, 90], [3, 4, 1, 1], [100, 0, 900, 90], 4)
    assert later.state.started_s.tolist() == [0, 100, 100, 3]


@pytest.mark.parametrize("at_s", [10, 15, 20, 25, 26, 27, 40, 57, 58])
def test_who_follows_a_job_that_takes_no_time_ends_in_time_for_the_next(at_s: int) -> None:
    """3 waits for 2 nodes until 0 ends, 4 behind it: it is gone when 2 begins, which needs all 3 nodes, and 5 goes
    behind it. No job of the plan ends a last digit late, whatever the clock says.
    """
    work = [at_s + 5, at_s + 10, 10, 0, 5, 4]
    s = run([0, 0, 1, 2, 3, 4], work, [2, 1, 3, 2, 2, 2], work, 3).state
    first = at_s + 5
    assert s.started_s.tolist() == [0, 0, at_s + 10, first, first, at_s + 20]


@pytest.mark.parametrize("at_s", [1.0, 0.1, 1e9 + 0.3])
def test_jobs_that_take_no_time_follow_each_other(at_s: float) -> None:
    """Three of them, of all nodes, begin one behind the other when the machine is free, then one that takes time."""
    s = run([0] * 5, [at_s, 0, 0, 0, 7], [6] * 5, [at_s, 0, 0, 0, 7]).state
    assert s.started_s.tolist() == [0, *[at_s] * 4]
    assert s.reserved_s.tolist() == [0, *[at_s] * 4]


def test_a_backfilled_job_moves_nobody() -> None:
    """The newcomer takes a hole before reservations made earlier, and those stay."""
    # 6 nodes: 0 holds 4 for 10 s, 1 needs 4 at 10, 2 needs 6 at 20; 3 (2 nodes, 20 s) fits beside both until 20.
    result = run([0, 1, 2, 3, 4], [10, 10, 5, 17, 17], [4, 4, 6, 2, 2], [10, 10, 5, 17, 17])
    assert result.state.started_s.tolist() == [0, 10, 20, 3, 25]


def test_with_a_depth_only_the_first_have_reservations() -> None:
    """Beyond the depth nobody has a reservation, hence nobody passes; depth 1 never delays the first in line."""
    shape = ([0, 1, 2, 3], [10, 10, 3, 3], [4, 4, 6, 2], [10, 10, 3, 3])
    assert run(*shape).state.started_s.tolist() == [0, 10, 20, 3]
    assert run(*shape, params={"select": {"depth": 1}}).state.started_s.tolist() == [0, 10, 20, 23]


def test_depth_counts_in_each_class() -> None:
    """Node classes are lines of their own: who waits for one has no say in the depth of another."""
    jobs = JobTable.build(
        submit_s=[0, 1, 2, 3], work_s=[1000, 1000, 1000, 10], nodes=[1, 1, 1, 1], partition=[0, 0, 0, 1],
        partitions=("a", "b"),
    )  # fmt: skip
    machine = Cluster((NodeClass("a", 1, 0.0, 100.0), NodeClass("b", 1, 0.0, 100.0)))
    for depth in (0, 1, 2):
        chosen = policies(select="conservative", params={"select": {"depth": depth}})
        assert simulate(jobs, machine, chosen).state.started_s.tolist() == [0, 1000, 2000, 3]


def test_nodes_that_leave_and_return_are_planned_around() -> None:
    """A job wider than what is in service waits for the nodes to return, without a promise."""
    outage = (Outage(5.0, 50.0, 0, 3),)
    result = run([6, 7], [10, 10], [6, 2], [10, 10], outages=outage)
    assert result.state.started_s.tolist() == [50.0, 7.0]


@pytest.mark.parametrize("drain", [False, True])
def test_who_had_no_promise_waits_for_his_turn(*, drain: bool) -> None:
    """When nodes return, jobs ahead in the line move forward before one that no reservation could hold gets a place."""
    outage = (Outage(5.0, 100.0, 2, 2, drain=drain),)
    result = run([0, 10, 11], [1000, 1000, 200], [1, 2, 3], [1000, 1000, 200], 4, outages=outage)
    assert result.state.started_s.tolist() == [0.0, 100.0, 1100.0]


@pytest.mark.parametrize("later_s", [9, 10, 14, 15, 16, 31, 32, 63, 64])
def test_the_same_world_begun_later_has_the_same_schedule(later_s: int) -> None:
    """A job outlives its estimate at that time: who is promised its nodes has them at once in the plan, not a last
    digit later, so that others keep what they are promised behind it.
    """
    work = [later_s + 10, later_s, 100, 30, 30, 30]
    result = run([0, 0, 0, 1, 2, 3], work, [3, 2, 1, 3, 2, 1], [later_s, 100, 100, 1, 1, 1], 6)
    assert (result.state.started_s[3:] - later_s).tolist() == [10, 0, 30]


def test_who_had_no_promise_for_want_of_watts_waits_for_his_turn() -> None:
    """The same where the limit rises: of 4 nodes of 100 W, two may be busy up to 100 s."""
    work = [1000, 1000, 200]
    jobs = JobTable.build(submit_s=[0, 10, 11], work_s=work, nodes=[1, 2, 3], request_s=work)
    options = Options(limit_w=[(0.0, 200.0), (100.0, 400.0)])
    machine = Cluster((NodeClass("node", 4, 0.0, 100.0),))
    started = simulate(jobs, machine, policies(select="conservative", learn="request"), options).state.started_s
    assert started.tolist() == [0.0, 100.0, 1100.0]


@pytest.mark.parametrize("select", ["conservative", "easy", "backfill-by-end"])
def test_backfilling_shortens_the_mean_wait(select: str) -> None:
    """On a loaded machine every backfilling waits less on average than strict order does."""
    rng = np.random.default_rng(5)
    work = rng.exponential(100.0, 1500)
    shape = (np.cumsum(rng.exponential(30.0, 1500)), work, rng.choice([1, 2, 4, 8, 16, 24], 1500), work * 1.5, 32)
    mean = {name: float(np.mean(run(*shape, select=name).state.started_s - shape[0])) for name in (select, "in-order")}
    assert mean[select] < 0.8 * mean["in-order"]
