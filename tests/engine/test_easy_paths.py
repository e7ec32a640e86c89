"""EASY has a short path for plain machines and a general one: they must not differ in a single start."""

from __future__ import annotations

import numpy as np
import pytest

from engine.worlds import cluster, run, table
from wattline.model.cluster import Level, Outage
from wattline.model.jobs import JobTable
from wattline.wiring.options import Options

GENERAL = {"select": {"depth": 1e9}}
SLOW = (Level(0.7, 200.0, 90.0),)


@pytest.mark.parametrize("seed", range(40))
def test_both_paths_start_every_job_at_the_same_time(seed: int) -> None:
    """With and without a depth or a limit that never bind, EASY starts every job at the same time, to the last bit."""
    rng = np.random.default_rng(seed)
    n, width = 400 if seed % 10 == 0 else int(rng.integers(20, 120)), int(rng.integers(2, 12))
    work = rng.integers(0, 40, n).astype(float) if rng.random() < 0.5 else rng.exponential(20, n)
    jobs = JobTable.build(
        submit_s=np.cumsum(rng.integers(0, 4, n) if rng.random() < 0.5 else rng.exponential(2, n)),
        work_s=work,
        nodes=rng.integers(1, width + 1, n),
        request_s=np.maximum(1.0, work * rng.choice([1, 1.5, 3, 0.5], n)),
    )
    outages = (Outage(10.0, 30.0, 0, max(1, width // 2), bool(rng.random() < 0.5)),) if rng.random() < 0.4 else ()
    machine = cluster(width, levels=SLOW if seed % 2 else (), outages=outages)
    slots = {"order": str(rng.choice(["fcfs", "lcfs", "shortest"])), "learn": str(rng.choice(["request", "recent"]))}
    short = run(jobs, machine, **slots).state.started_s
    np.testing.assert_array_equal(run(jobs, machine, params=GENERAL, **slots).state.started_s, short)
    unbound = Options(limit_w=[(0.0, 1e12)])
    np.testing.assert_array_equal(run(jobs, machine, options=unbound, **slots).state.started_s, short)


def test_exact_ties_are_decided_alike_at_any_speed() -> None:
    """A job that would end exactly when the head may start passes on both paths or on neither."""
    for a in range(3, 30):
        for t in range(1, a):
            rows = [
                {"submit": 0, "work": a, "nodes": 2},
                {"submit": 0, "work": 10, "nodes": 3},
                {"submit": t / 0.7, "work": a - t, "nodes": 1},
            ]
            starts = [run(table(*rows), cluster(3, levels=SLOW), params=p).state.started_s[2] for p in ({}, GENERAL)]
            assert starts[0] == starts[1], (a, t)
