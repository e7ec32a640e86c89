"""Speed of scheduling jobs that choose their configuration: the study of RMAP, and a decision with a long queue."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.rows import Rows, row
from wattline.control.catalog import find
from wattline.model.cluster import Cluster, NodeClass
from wattline.model.jobs import JobTable
from wattline.sim.ensemble import in_processes
from wattline.sim.simulate import Simulation
from wattline.systems.rmap import study as rmap_study
from wattline.systems.rmap.tables import STAND_IN, TURBO_W, machines, moldable
from wattline.wiring.options import Options
from wattline.wiring.policies import Policies

SIX = ("Traditional", "Naive", "Adaptive, 0 %", "Adaptive, 10 %", "Adaptive, unbounded", "Surplus, 0 %")


def _six(task: rmap_study.Task) -> int:
    """Run six policies of the study on the seeds of a task; return how many runs that were."""
    for name in set(rmap_study.POLICIES) - set(SIX):
        del rmap_study.POLICIES[name]
    found = rmap_study.carry_out(task)
    return sum(values.size for f in found.values() for values in f.turnaround_s.values())


def rmap_runs(quick: bool) -> Rows:
    """30 jobs, 4 traces, 6 bounds, 6 policies, 100 seeds, all cores.

    Starting processes and loading compiled code included.
    """
    seeds = 20 if quick else 100
    tasks = [
        rmap_study.Task(STAND_IN, trace, "exact", tuple(range(6)), range(first, first + 10))
        for trace in rmap_study.TRACES
        for first in range(0, seeds, 10)
    ]
    rmap_study.carry_out(rmap_study.Task(STAND_IN, "large", "exact", (0,), range(1)))  # compiled
    began = time.perf_counter()
    runs = sum(in_processes(_six, tasks))
    s = time.perf_counter() - began
    goal = 10.0 * runs / 14_400
    return [row(f"RMAP's study, {runs:,} runs of 30 jobs", f"{s:.1f} s", f"≤ {goal:g} s", met=s <= goal, s=s)]


def long_queue(quick: bool) -> Rows:
    """A decision with 10,000 jobs waiting that all choose their configuration, on 1,024 nodes under half of their
    power.
    """
    rng = np.random.default_rng(1)
    tables = machines()[STAND_IN].tables
    n, queued, nodes = 11_000, 10_000, 1024
    app = rng.integers(0, len(tables), n)
    asked = 4 * rng.integers(2, 17, n)
    work_s = rng.uniform(100.0, 5000.0, n)
    jobs = JobTable.build(
        submit_s=np.arange(n) * 1e-3,
        work_s=work_s,
        nodes=asked,
        request_s=1.2 * work_s,
        kind=app,
        kinds=tuple(t.application for t in tables),
    )
    rows = []
    for select in ("rmap-traditional", "rmap-naive", "rmap-adaptive", "surplus"):
        policies = Policies(
            find("order", "fcfs"),
            find("select", select),
            find("place", "lowest"),
            find("cap", "none"),
            find("learn", "request"),
        )
        options = Options(limit_w=[(0.0, nodes * TURBO_W)], configurations=moldable(STAND_IN, "exact"))
        simulation = Simulation(jobs, Cluster((NodeClass("node", nodes, 0.0, 2 * TURBO_W),)), policies, options)
        took = []
        with simulation:
            simulation.advance(n, until_s=1e-3 * n)  # all are there
            s = simulation.state
            while s.q_len[0] > queued:
                simulation.advance(1)
            for _ in range(50 if quick else 300):
                began = time.perf_counter()
                simulation.advance(1)
                took.append(time.perf_counter() - began)
        median, most = float(np.median(took)), float(np.max(took))
        rows.append(
            row(
                f"an instant with {queued:,} waiting, {select}, median (longest {most * 1e3:.2f} ms)",
                f"{median * 1e3:.2f} ms",
                "≤ 1 ms",
                met=median <= 1e-3,
                s=median,
                longest_s=most,
            )
        )
    return rows


CASES = [rmap_runs, long_queue]
