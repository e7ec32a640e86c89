"""Deep queues: the backfill index finds the same jobs as a walk over the queue."""

from __future__ import annotations

import numpy as np
import pytest

from engine.test_against_reference import reference_jobs
from engine.worlds import Work, cluster, run
from reference.scheduler import Scheduler, Setup
from wattline.kernel.compiled import JIT
from wattline.model.jobs import JobTable
from wattline.model.structures import fitindex
from wattline.wiring.options import Options

NODES = 64


def flood(seed: int, count: int, *, load: float = 3.0) -> JobTable:
    """Return jobs that arrive faster than they are served, in bursts, with estimates that are too long or too short."""
    rng = np.random.default_rng(seed)
    work = rng.integers(0, 60, count).astype(float)
    nodes = np.minimum(NODES, 1 + rng.geometric(0.12, count))
    gaps = rng.integers(0, 2 + int(2 * work.mean() * nodes.mean() / NODES / load), count) * (rng.random(count) < 0.7)
    return JobTable.build(
        submit_s=np.cumsum(gaps).astype(float),
        work_s=work,
        nodes=nodes,
        request_s=np.maximum(0, work + rng.choice([0, 5, 100, -10], count)),
        user=rng.integers(0, 4, count),
        priority=rng.integers(0, 3, count),
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ties", ["instant", "event"])
@pytest.mark.parametrize("order", ["fcfs", "shortest", "wfp", "lcfs", "priority"])
@pytest.mark.parametrize("kill", [False, True])
def test_index_and_walk_agree(order: str, seed: int, ties: str, kill: bool) -> None:
    """Thousands of jobs through a queue hundreds deep start at the same times with the index and without it."""
    if seed > 0 and not JIT:
        pytest.skip("one seed is enough where nothing is compiled")
    jobs = flood(seed, 1500)
    options = Options(ties=ties, kill=kill)
    deep = run(jobs, cluster(NODES), order=order, options=options)
    walk = run(jobs, cluster(NODES), order=order, options=options, params={"select": {"depth": 1e9}})
    assert deep.logs["timeline"][:, 5].max() > 2 * fitindex.DEEP
    np.testing.assert_array_equal(deep.state.started_s, walk.state.started_s)
    np.testing.assert_array_equal(deep.state.end_s, walk.state.end_s)


@pytest.mark.parametrize("learn", ["exact", "recent"])
def test_index_follows_estimates(learn: str) -> None:
    """The index holds whatever the learner estimates."""
    jobs = flood(5, 1500)
    deep = run(jobs, cluster(NODES), learn=learn)
    walk = run(jobs, cluster(NODES), learn=learn, params={"select": {"depth": 1e9}})
    np.testing.assert_array_equal(deep.state.started_s, walk.state.started_s)


def test_deep_queue_against_reference() -> None:
    """A queue that rises above the index's threshold and drains again agrees with the slow scheduler."""
    jobs = flood(11, 420, load=6.0)
    columns = [jobs.submit_s, jobs.work_s, jobs.nodes, jobs.request_s]
    n = len(jobs)
    submit, work, nodes, request = ([float(x) for x in c] for c in columns)
    same = Work(submit, work, [int(x) for x in nodes], request, [300.0] * n, [0] * n, [-1] * n, [0.0] * n, [0.0] * n)
    result = run(jobs, cluster(NODES))
    assert result.logs["timeline"][:, 5].max() > 1.5 * fitindex.DEEP
    slow = Scheduler(reference_jobs(same), Setup(classes=[(NODES, 100.0)]))
    slow.run()
    np.testing.assert_array_equal(result.state.started_s, [j.started for j in slow.jobs])


def bursts(seed: int, count: int = 3) -> Work:
    """Return bursts of jobs, deep enough for the index, with gaps in which the queue empties."""
    rng = np.random.default_rng(seed)
    submit: list[float] = []
    for _ in range(count):
        begin = (submit[-1] + rng.integers(300, 3000)) if submit else 0.0
        submit += sorted(begin + rng.integers(0, 5, rng.integers(20, 260)).astype(float))
    n = len(submit)
    work = rng.integers(0, 30, n).astype(float)
    nodes = np.minimum(16, 1 + rng.geometric(0.25, n))
    request = work + rng.choice([0, 5, 40], n)
    return Work(
        submit, work.tolist(), nodes.tolist(), request.tolist(), [300.0] * n, [0] * n, [-1] * n, [0.0] * n, [0.0] * n
    )


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("select", ["easy", "backfill-by-end"])
def test_a_deep_queue_that_empties_leaves_nothing_behind(select: str, seed: int) -> None:
    """After a burst has been served, the index of its queue hides no job of the next burst."""
    if seed > 1 and not JIT:
        pytest.skip("two seeds are enough where nothing is compiled")
    work = bursts(seed)
    result = run(work.table(["node"]), cluster(16), select=select)
    slow = Scheduler(reference_jobs(work), Setup(classes=[(16, 100.0)], select=select))
    slow.run()
    np.testing.assert_array_equal(result.state.started_s, [j.started for j in slow.jobs])
