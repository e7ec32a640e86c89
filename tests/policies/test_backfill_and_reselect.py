"""Backfilling by end and the serving-set rule, beyond what the recursion covers: depth, deep queues, classes,
limits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference.engine import policies
from wattline.model import codes
from wattline.model.cluster import Cluster, NodeClass, Outage, Sleep
from wattline.model.jobs import JobTable
from wattline.sim.simulate import simulate
from wattline.wiring.options import Options
from wattline.wiring.result import Result


def run(jobs: JobTable, cluster: Cluster | int, order: str = "fcfs", select: str = "reselect", **more: Any) -> Result:
    """Simulate with exact estimates unless told otherwise."""
    machine = cluster if isinstance(cluster, Cluster) else Cluster((NodeClass("node", cluster, 1.0, 2.0),))
    options = more.pop("options", Options(ties=more.pop("ties", "instant")))
    return simulate(jobs, machine, policies(order, select, **more), options)


def crowd(seed: int, n: int, *, load: float = 1.3, nodes: int = 32, slack: float = 2.0) -> JobTable:
    """Jobs on an overloaded machine, whole seconds, estimates at least the run times."""
    rng = np.random.default_rng(seed)
    work = rng.integers(1, 200, n)
    width = rng.choice([1, 2, 4, 8, 16, 24], n)
    gap = float(np.mean(work * width)) / nodes / load
    return JobTable.build(
        submit_s=np.floor(np.cumsum(rng.exponential(gap, n))),
        work_s=work,
        nodes=width,
        request_s=np.floor(work * rng.uniform(1.0, slack, n)),
        partition=rng.integers(0, 2, n),
        partitions=("a", "b"),
    )


def test_the_index_of_a_deep_queue_finds_whom_walking_finds() -> None:
    """In overload, with hundreds waiting, backfilling by the index starts the same jobs at the same times as a full
    walk.
    """
    jobs = crowd(1, 3000)
    by_index, by_walk = (
        run(jobs, 32, select="backfill-by-end", learn="request", params={"select": {"depth": depth}})
        for depth in (0, 10**9)
    )
    assert by_index.logs["timeline"][:, codes.TL_QUEUED].max() > 300
    assert by_index.state.started_s.tolist() == by_walk.state.started_s.tolist()


def test_nobody_who_passes_delays_the_head() -> None:
    """With estimates never too short no head starts later than the earliest reservation it was given."""
    result = run(crowd(2, 2000, load=0.9), 32, select="backfill-by-end", learn="request")
    promised = np.isfinite(result.state.reserved_s)
    assert promised.sum() > 50
    assert np.all(result.state.started_s[promised] <= result.state.reserved_s[promised])


def test_depth_limits_who_is_looked_at() -> None:
    """With depth 1 only the first behind the head may pass it."""
    jobs = JobTable.build(submit_s=[0, 1, 2, 3], work_s=[10, 5, 20, 2], nodes=[3, 4, 1, 1])
    full = run(jobs, 4, select="backfill-by-end")
    first = run(jobs, 4, select="backfill-by-end", params={"select": {"depth": 1}})
    assert full.state.started_s.tolist() == [0, 10, 15, 3]
    assert first.state.started_s.tolist() == [0, 10, 15, 15]


@pytest.mark.parametrize("select", ["backfill-by-end", "conservative", "reselect"])
def test_node_classes_are_lines_of_their_own(select: str) -> None:
    """Two classes side by side give each job the start it has on its class alone."""
    jobs = crowd(3, 400, nodes=64)
    both = Cluster((NodeClass("a", 32, 1.0, 2.0), NodeClass("b", 24, 1.0, 2.0)))
    order = "lcfs" if select == "reselect" else "fcfs"
    together = run(jobs, both, order, select).state.started_s
    for code, nodes in ((0, 32), (1, 24)):
        rows = jobs.partition == code
        assert together[rows].tolist() == run(jobs.take(rows), nodes, order, select).state.started_s.tolist()


@pytest.mark.parametrize("select", ["backfill-by-end", "conservative", "reselect"])
def test_a_power_limit_is_never_exceeded_and_blocks_nobody_for_ever(select: str) -> None:
    """Under a limit that half the machine reaches, power stays below it and all jobs run; the guard has nothing to
    refuse.
    """
    jobs = crowd(4, 300, load=0.4)
    options = Options(limit_w=[(0.0, 32 * 1.0 + 26 * 1.0)])
    result = run(jobs, 32, "lcfs" if select == "reselect" else "fcfs", select, options=options)
    assert np.all(np.isfinite(result.state.end_s))
    assert result.logs["timeline"][:, codes.TL_POWER].max() <= 58.0
    assert np.all(result.logs["a_verdict"] == codes.OK)


def test_the_serving_set_is_the_longest_prefix_at_every_instant() -> None:
    """LCFS preemptive-resume: after each pass exactly the newest that fit, up to the first that does not, are
    served.
    """
    from wattline.sim.simulate import Simulation

    jobs = crowd(5, 300)
    simulation = Simulation(jobs, Cluster((NodeClass("node", 32, 1.0, 2.0),)), policies("lcfs", "reselect"))
    stopped = 0
    with simulation:
        while simulation.advance(1) != codes.DONE:
            s = simulation.state
            present = np.flatnonzero((s.status == codes.WAITING) | (s.status == codes.RUNNING))[::-1]
            fits = np.cumsum(s.nodes[present]) <= 32
            prefix = present[: int(np.argmin(fits)) if not fits.all() else present.size]
            assert sorted(s.running[: s.n_running[0]].tolist()) == sorted(prefix.tolist())
            stopped = int(s.preemptions.sum())
    assert stopped > 100
    np.testing.assert_allclose(s.ran_s, s.work)


def test_preempted_work_is_done_once() -> None:
    """Jobs that were stopped resume with what they had left: time served is the work, energy is time times power."""
    select = {"at_arrivals": 0.0, "drift": -1.0}
    params = {"order": {"truth": 1.0}, "select": select}
    result = run(crowd(6, 500), 32, "shortest", params=params, ties="event")
    s = result.state
    assert s.preemptions.sum() > 20
    np.testing.assert_allclose(s.ran_s, s.work)
    np.testing.assert_allclose(s.energy_j, 2.0 * s.nodes * s.work)
    assert s.node_j[0, 0] == pytest.approx(float(s.energy_j.sum()))


def test_nodes_that_drain_are_not_promised_to_a_newcomer() -> None:
    """A job on draining nodes is not stopped for one that could not have its nodes: it runs to its end."""
    machine = Cluster((NodeClass("node", 4, 1.0, 2.0),), outages=(Outage(10.0, 500.0, 0, 4, drain=True),))
    s = run(JobTable.build(submit_s=[0, 20], work_s=[100, 10], nodes=[4, 4]), machine, "lcfs").state
    assert (s.started_s.tolist(), s.end_s.tolist(), s.preemptions.tolist()) == ([0, 500], [100, 510], [0, 0])


def test_a_job_that_cannot_run_now_stops_nobody() -> None:
    """Last come first: job 2 needs more nodes than are in service; it keeps others from starting, and stops nobody."""
    machine = Cluster((NodeClass("node", 4, 1.0, 2.0),), outages=(Outage(10.0, 500.0, 0, 2, drain=True),))
    jobs = JobTable.build(submit_s=[0, 20, 21, 22], work_s=[100, 10, 5, 3], nodes=[2, 2, 3, 1])
    s = run(jobs, machine, "lcfs").state
    # job 3 came last and takes a node of job 1, which resumes behind job 2; the nodes of job 0 are of no use to anybody
    assert s.end_s.tolist() == [100, 513, 505, 25]
    assert s.preemptions.tolist() == [0, 1, 0, 0]


def test_sleeping_nodes_do_not_count_against_jobs_that_stay() -> None:
    """Under 1600 W: 4 nodes run at 300 W, 4 sleep at 10 W; one more job fits, and the first is not stopped for it."""
    machine = Cluster((NodeClass("node", 8, 100.0, 300.0, sleep=Sleep(power_w=10.0, after_s=1.0)),))
    jobs = JobTable.build(submit_s=[0, 50], work_s=[100, 10], nodes=[4, 1])
    s = run(jobs, machine, options=Options(limit_w=[(0.0, 1600.0)])).state
    assert (s.started_s.tolist(), s.end_s.tolist(), s.preemptions.tolist()) == ([0, 50], [100, 60], [0, 0])
