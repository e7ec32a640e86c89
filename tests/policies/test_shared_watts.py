"""A power limit that several jobs and node classes share: who was promised watts gets them."""

from __future__ import annotations

import numpy as np
import pytest

from reference.engine import policies
from wattline.model.cluster import Cluster, NodeClass
from wattline.model.jobs import JobTable
from wattline.model.state.switches import N_REFUSED
from wattline.sim.simulate import simulate
from wattline.wiring.options import Options

BACKFILLING = ["easy", "backfill-by-end", "conservative"]


def stream(count: int = 200) -> JobTable:
    """One job of 4 nodes of class a among narrow ones of class b that never leave a gap; all run 100 s at 100 W a
    node.
    """
    return JobTable.build(
        submit_s=[5.0, *(20.0 * k for k in range(count))],
        work_s=[100.0] * (count + 1),
        nodes=[4, *[1] * count],
        request_s=[100.0] * (count + 1),
        partition=[0, *[1] * count],
        partitions=("a", "b"),
    )


@pytest.mark.parametrize("classes", [1, 2])
@pytest.mark.parametrize("select", BACKFILLING)
def test_a_stream_of_narrow_jobs_cannot_take_the_watts_of_a_wide_one(select: str, classes: int) -> None:
    """Under 400 W a job of 400 W starts when it was promised to, though others of its class or another would fit
    before.
    """
    machine = Cluster((NodeClass("a", 4, 0.0, 100.0), NodeClass("b", 40, 0.0, 100.0)))
    if classes == 1:
        machine = Cluster((NodeClass("all", 44, 0.0, 100.0),))
    result = simulate(stream(), machine, policies(select=select, learn="request"), Options(limit_w=[(0.0, 400.0)]))
    s = result.state
    wide = int(np.argmax(s.nodes))
    assert s.reserved_s[wide] == 100.0
    assert s.started_s[wide] == 100.0
    assert s.counter[N_REFUSED] == 0


@pytest.mark.parametrize("select", BACKFILLING)
@pytest.mark.parametrize("seed", range(6))
def test_promises_of_nodes_and_watts_are_kept(select: str, seed: int) -> None:
    """With estimates never too short nobody, on three node classes under one limit, starts later than it was
    promised.
    """
    rng = np.random.default_rng(seed)
    n = 250
    pool = rng.integers(0, 3, n)
    counts = np.array([4, 7, 12])
    work = rng.integers(1, 90, n)
    jobs = JobTable.build(
        submit_s=np.sort(rng.integers(0, 3000, n)),
        work_s=work,
        request_s=work * rng.integers(1, 4, n),
        nodes=1 + rng.integers(0, counts[pool]),
        draw_w=rng.choice([120.0, 200.0, 300.0], n),
        partition=pool,
        partitions=("a", "b", "c"),
    )
    machine = Cluster(tuple(NodeClass(name, int(k), 50.0, 300.0) for name, k in zip("abc", counts, strict=True)))
    s = simulate(jobs, machine, policies(select=select, learn="request"), Options(limit_w=[(0.0, 4200.0)])).state
    promised = np.isfinite(s.reserved_s)
    assert promised.sum() > 30
    assert np.all(s.started_s[promised] <= s.reserved_s[promised])
    assert s.counter[N_REFUSED] == 0


def test_a_second_class_without_jobs_changes_nothing() -> None:
    """The walk for several classes starts the same jobs as EASY on one class does under the same limit."""
    rng = np.random.default_rng(3)
    n = 600
    jobs = JobTable.build(
        submit_s=np.sort(rng.integers(0, 6000, n)),
        work_s=rng.integers(0, 90, n),
        nodes=rng.integers(1, 9, n),
        request_s=rng.integers(1, 200, n),
        draw_w=rng.choice([120.0, 200.0, 300.0], n),
        partition=np.zeros(n),
        partitions=("a", "b"),
    )
    one = NodeClass("a", 12, 50.0, 300.0)
    for select in ("easy", "backfill-by-end"):
        starts = [
            simulate(
                jobs, Cluster(classes), policies(select=select, learn="request"), Options(limit_w=[(0.0, watts)])
            ).state.started_s
            for classes, watts in (((one,), 2400.0), ((one, NodeClass("b", 3, 0.0, 1.0)), 2400.0))
        ]
        np.testing.assert_array_equal(starts[0], starts[1])


@pytest.mark.parametrize("names", ["ab", "ba"])
@pytest.mark.parametrize("select", ["in-order", "first-fit", "window", "easy", "backfill-by-end"])
def test_the_line_decides_who_gets_the_watts(select: str, names: str) -> None:
    """Under a limit for one job at a time, jobs of two node classes start in the order of the queue, in whatever order
    the classes are declared.
    """
    machine = Cluster(tuple(NodeClass(name, 4, 0.0, 100.0) for name in names))
    jobs = JobTable.build(
        submit_s=[0, 1, 2, 3], work_s=[10] * 4, nodes=[2] * 4, partition=[1, 1, 0, 0], partitions=("a", "b"),
        priority=[0, 9, 0, 5],
    )  # fmt: skip
    setup = policies(order="priority", select=select, learn="request")
    result = simulate(jobs, machine, setup, Options(limit_w=[(0.0, 200.0)]))
    assert result.state.started_s.tolist() == [0.0, 10.0, 30.0, 20.0]


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_in_order_nobody_passes_a_job_that_waits_for_watts(names: str) -> None:
    """In order, a job that lacks nothing but watts is passed by nobody, of whatever class; one that lacks nodes keeps
    back its own class alone. First fit lets both be passed.
    """
    machine = Cluster(tuple(NodeClass(name, 4, 0.0, 100.0) for name in names))
    thirsty = JobTable.build(
        submit_s=[0, 1, 2], work_s=[10, 10, 10], nodes=[2, 3, 1], partition=[0, 0, 1], partitions=("a", "b"),
        draw_w=[100.0, 60.0, 100.0],
    )  # fmt: skip
    wide = thirsty.with_columns(submit_s=[0, 1, 2], nodes=[2, 3, 1], draw_w=[100.0, 10.0, 100.0])
    thirsty = thirsty.with_columns(nodes=[2, 2, 1])
    for jobs, select, expected in (
        (thirsty, "in-order", [0.0, 10.0, 10.0]),
        (thirsty, "first-fit", [0.0, 10.0, 2.0]),
        (wide, "in-order", [0.0, 10.0, 2.0]),
        (wide, "first-fit", [0.0, 10.0, 2.0]),
    ):
        setup = policies(select=select, learn="request")
        result = simulate(jobs, machine, setup, Options(limit_w=[(0.0, 300.0)]))
        assert result.state.started_s.tolist() == expected, (select, jobs.nodes)
