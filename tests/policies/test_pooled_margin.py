"""The margin on the sum of powers against all ways to part the jobs, and the pooled learner against a plain machine."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.worlds import cluster, examples, policies, table
from reference.learner_pooled import Machine, PlainJob, margin_w
from wattline.kernel.compiled import library
from wattline.model.jobs import JobTable
from wattline.model.series import PowerSeries
from wattline.physics import margin
from wattline.sim.simulate import Simulation
from wattline.wiring.options import Options

Floats = npt.NDArray[np.float64]
STEP_S, MOST_W, IDLE_W = 60.0, 300.0, 100.0


@library
def margins(s: Any, rooms: Floats, z: float, again: bool) -> Floats:
    """Return the margin, what the last job would have added to it, and the parts of the jobs in it.

    ``again`` settles after every job, as starts do; else once, as a refresh does.
    """
    last = rooms.size - 1
    s.margin[0] = z
    margin.begin(s)
    margin.settle(s)
    for j in range(last):
        margin.add(s, j, rooms[j])
        if again:
            margin.settle(s)
    margin.settle(s)
    before_w = s.margin_w[0]
    adds_w = margin.increase_w(s, last, rooms[last])
    margin.add(s, last, rooms[last])
    margin.settle(s)
    found = np.empty(rooms.size + 3)
    found[0], found[1], found[2] = before_w, adds_w, s.margin_w[0]
    for j in range(rooms.size):
        found[3 + j] = margin.part_w(s, j, rooms[j])
    return found


JOBS = st.lists(
    st.tuples(st.floats(0.5, 40.0), st.sampled_from([-5.0, 0.0, 1.0, 7.0, 30.0]) | st.floats(0.1, 200.0)),
    min_size=1,
    max_size=9,
)


@given(JOBS, st.sampled_from([0.0, 0.3, 1.0, 2.33, 9.0]), st.booleans())
@examples(300)
def test_the_margin_is_the_least_of_all_ways(jobs: list[tuple[float, float]], z: float, again: bool) -> None:
    """Before and after a start, whatever was settled between; parts add up to it, and starts add no more together than
    apart.
    """
    rows = [{"submit": 0, "work": 1, "nodes": 1, "request": 1} for _ in jobs]
    s = Simulation(table(*rows), cluster(len(jobs)), policies(), Options()).state
    s.spread_w[: len(jobs)] = [spread for spread, _ in jobs]
    found = margins(s, np.array([room for _, room in jobs]), z, again)

    def least_w(some: list[tuple[float, float]]) -> float:
        open_ = [(spread, room) for spread, room in some if room > 0.0]
        return margin_w([room for _, room in open_], [spread**2 for spread, _ in open_], z)

    assert found[0] == pytest.approx(least_w(jobs[:-1]), abs=1e-9)
    assert found[2] == pytest.approx(least_w(jobs), abs=1e-9)
    assert found[1] == pytest.approx(found[2] - found[0], abs=1e-9)
    assert found[3:].sum() == pytest.approx(found[2], abs=1e-9)
    assert found[2] <= sum(max(0.0, room) for _, room in jobs) + 1e-9
    for one, other in itertools.pairwise(range(len(jobs))):
        rest = [job for i, job in enumerate(jobs) if i not in (one, other)]
        apart = least_w([*rest, jobs[one]]) + least_w([*rest, jobs[other]]) - 2 * least_w(rest)
        assert least_w(jobs) - least_w(rest) <= apart + 1e-9


def world(seed: int) -> tuple[Machine, list[PlainJob]]:
    """Return a small machine under a tight limit, and jobs whose powers leap, some close to the most."""
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(1, 7))
    least_w, most_w = nodes * IDLE_W + MOST_W - IDLE_W, nodes * MOST_W
    machine = Machine(
        nodes,
        IDLE_W,
        MOST_W,
        limit=float(rng.uniform(least_w, most_w)) if rng.random() < 0.7 else least_w,
        step=STEP_S,
        miss=float(rng.choice([0.01, 0.1])),
        rate=float(rng.choice([0.1, 1.0])),
        z=float(rng.choice([0.0, 2.33, 8.0])),
        in_order=bool(rng.random() < 0.5),
    )
    low_w, leap_w = rng.uniform(120.0, 290.0, 3), rng.uniform(0.0, 150.0, 3)
    jobs = []
    for _ in range(int(rng.integers(5, 40))):
        kind, wide = int(rng.integers(0, 3)), int(rng.integers(1, 3))
        steps = int(rng.integers(1, 40))
        watts = low_w[kind] + leap_w[kind] * (rng.random(steps) < 0.4) + rng.normal(0.0, 1.0, steps)
        jobs.append(
            PlainJob(
                submit=float(rng.uniform(0.0, 200.0 * STEP_S)),
                work=float(steps * STEP_S - rng.uniform(1.0, STEP_S - 1.0)),
                nodes=min(wide, nodes, int((machine.limit - nodes * IDLE_W) / (MOST_W - IDLE_W) + 1e-9)),
                levels=(10 + kind, kind % 2),
                watts=np.clip(watts, 1.0, MOST_W).tolist(),
            )
        )
    jobs.sort(key=lambda job: job.submit)
    return machine, jobs


def simulation(machine: Machine, jobs: list[PlainJob]) -> Simulation:
    """Return the engine's run of such a world."""
    chosen = policies(
        {"profile": {"miss": machine.miss, "rate": machine.rate, "margin": machine.z}},
        select="in-order" if machine.in_order else "first-fit",
        profile="pooled",
    )
    kinds = [job.levels[0] - 10 for job in jobs]
    jobs_ = JobTable.build(
        submit_s=[job.submit for job in jobs],
        work_s=[job.work for job in jobs],
        nodes=[job.nodes for job in jobs],
        user=kinds,
        users=("a", "b", "c"),
        group=[kind % 2 for kind in kinds],
        groups=("p", "q"),
        draw_w=[float(np.mean(job.watts)) for job in jobs],
        series=PowerSeries.build(STEP_S, [np.array(job.watts) for job in jobs]),
    )
    options = Options(limit_w=[(0.0, machine.limit)], sample_s=STEP_S, profiles=(("user",), ("group",)))
    return Simulation(jobs_, cluster(machine.nodes, idle_w=IDLE_W, max_w=MOST_W), chosen, options)


@pytest.mark.parametrize("first", range(0, 60, 15))
def test_starts_are_those_of_a_plain_machine(first: int) -> None:
    """The same jobs start at the same times, on machines so small that jobs are counted with the most they draw; every
    job runs, and the margin learned is the same.
    """
    for seed in range(first, first + 15):
        machine, jobs = world(seed)
        run = simulation(machine, jobs)
        counted: list[float] = []
        machine.run(jobs, counted.append)
        s = run.run().state
        assert s.started_s.tolist() == pytest.approx([job.started for job in jobs], abs=1e-6), seed
        assert s.margin[0] == pytest.approx(machine.z, abs=1e-9), seed
        assert max(counted) <= machine.nodes * MOST_W + 1e-6


@pytest.mark.parametrize("select", ["in-order", "first-fit", "easy", "conservative", "window", "backfill-by-end"])
def test_a_job_that_is_alone_starts_where_its_nodes_may_draw_the_most(select: str) -> None:
    """One node under a limit of the most it draws: two jobs whose power leaps run one after the other."""
    watts = [np.array([300.0, 150.0] * 15)] * 2
    jobs = JobTable.build(
        submit_s=[0.0, 0.0],
        work_s=[3000.0, 3000.0],
        nodes=[1, 1],
        request_s=[3000.0, 3000.0],
        draw_w=[225.0, 225.0],
        series=PowerSeries.build(100.0, watts),
    )
    machine = cluster(1, idle_w=100.0, max_w=300.0)
    options = Options(limit_w=[(0.0, 300.0)], sample_s=100.0)
    s = Simulation(jobs, machine, policies(select=select, profile="pooled"), options).run().state
    assert s.started_s.tolist() == [0.0, 3000.0]
