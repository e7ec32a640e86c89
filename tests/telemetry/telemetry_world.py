"""Small machines with jobs and power for tests of telemetry, and the join done slowly, instant by instant."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from wattline.journal.journal import SCHEMA, write_journal
from wattline.model.jobs import JobTable
from wattline.model.series import PowerSeries
from wattline.reading.notes import Trace
from wattline.telemetry.cleaning.faults import Fault
from wattline.telemetry.made.inject import HOLES, Injected
from wattline.telemetry.made.sample import Samples
from wattline.telemetry.nodes.placed import place
from wattline.telemetry.nodes.work import Machine, Work

IDLE_W = 30.0
BLOCK = 8
"""Nodes that are given to one job, or divided between two."""


def world(
    nodes: int = 32,
    days: float = 1.0,
    seed: int = 1,
    *,
    step_s: float = 300.0,
    aligned: bool = True,
    whole: bool = False,
    machine: Machine | None = None,
) -> tuple[Work, PowerSeries]:
    """Return jobs one after the other on blocks of nodes, and their power; ``aligned``: begin and end at whole
    steps.
    """
    random = np.random.default_rng(seed)
    rows: list[tuple[int, int, float, float]] = []
    for first in range(0, nodes, BLOCK):
        time_s = float(random.integers(0, 5)) * step_s
        while True:
            lasts_s = float(random.integers(1, 40)) * step_s * (1.0 if aligned else random.uniform(0.6, 1.0))
            if time_s + lasts_s > days * 86400:
                break
            count = BLOCK if whole else int(random.integers(1, BLOCK + 1))
            rows.append((first, count, time_s, time_s + lasts_s))
            if count < BLOCK and random.random() < 0.5:
                rows.append((first + count, BLOCK - count, time_s, time_s + lasts_s))
            time_s += lasts_s + step_s * (float(random.integers(0, 3)) if aligned else random.uniform(0.0, 3.0))
    rows.sort(key=lambda row: (row[2], row[0]))
    first_, count_, begin_s, end_s = (np.array(column) for column in zip(*rows, strict=True))
    jobs = JobTable.build(
        submit_s=begin_s,
        work_s=end_s - begin_s,
        nodes=count_,
        job_id=np.arange(1, len(rows) + 1),
        recorded_wait_s=np.zeros(len(rows)),
    )
    frame = pl.DataFrame(
        {"job": np.arange(len(rows)), "first": first_, "count": count_, "begin_s": begin_s, "end_s": end_s}
    )
    placed, _ = place(frame, jobs)
    many = np.maximum(np.ceil(jobs.work_s / step_s - 1e-9), 1).astype(int)
    series = PowerSeries.build(step_s, [random.uniform(50, 150, m) for m in many])
    work = Work(Trace(jobs), placed, nodes, (), machine or Machine(), float("nan"), (("all", nodes),), IDLE_W)
    return work, series


def energy_of(jobs: JobTable, series: PowerSeries) -> np.ndarray[Any, Any]:
    """Return the energy of every job that follows its series."""
    found = np.zeros(len(jobs))
    for row in range(len(jobs)):
        watts = series.of(row).astype(np.float64)
        left = np.minimum(series.step_s, jobs.work_s[row] - series.step_s * np.arange(watts.size))
        found[row] = float((watts * left).sum()) * jobs.nodes[row]
    return found


def journal(folder: Path, work: Work, energy_j: np.ndarray[Any, Any]) -> Path:
    """Write the world as a journal."""
    jobs, placed = work.trace.jobs, work.placed
    n = len(jobs)
    start_s = np.array([placed.begin_s[placed.job == row].min() for row in range(n)])
    frames: dict[str, Any] = {
        "jobs": {
            "job_id": jobs.job_id,
            "submit_s": jobs.submit_s,
            "eligible_s": jobs.submit_s,
            "start_s": start_s,
            "end_s": placed.job_end_s,
            "nodes": jobs.nodes,
            "request_s": jobs.request_s,
            "estimate_s": jobs.work_s,
            "work_s": jobs.work_s,
            **dict.fromkeys(("user", "group", "kind", "partition"), [""] * n),
            "status": ["finished"] * n,
            "wait_s": np.zeros(n),
            "runtime_s": placed.run_s,
            "energy_j": energy_j,
            "preemptions": np.zeros(n, dtype=np.int64),
            "restarts": np.zeros(n, dtype=np.int64),
            "priority": np.zeros(n),
            "after": np.full(n, -1),
            "think_s": np.zeros(n),
            **dict.fromkeys(("draw_w", "floor_w", "stretch", "peak_w", "recorded_energy_j"), np.full(n, np.nan)),
        },
        "placements": {
            "job_id": jobs.job_id[placed.job],
            "first_node": placed.first,
            "count": placed.count,
            "start_s": placed.begin_s,
            "end_s": placed.end_s,
        },
    }
    frames |= {name: {} for name in SCHEMA if name not in frames}
    cluster = {
        "name": "small",
        "nodes": work.nodes,
        "classes": [{"name": "all", "count": work.nodes, "idle_w": work.idle_w, "max_w": 200.0}],
    }
    write_journal(
        folder, frames, {"name": "small", "start_s": 0.0, "end_s": float(placed.end_s.max()), "cluster": cluster}
    )
    return folder


def slow_join(
    work: Work, samples: Samples, split: Any, *, hold_s: float, injected: Injected | None = None
) -> tuple[dict[tuple[int, int], float], dict[tuple[int, int], float]]:
    """Return energy and node-seconds by (job, step), looking at every instant between two changes of a sensor by
    itself.
    """
    coverage = work.coverage(samples.by)
    held_by = _holders(work.placed_for(samples.by), coverage)
    energy: dict[tuple[int, int], float] = defaultdict(float)
    node_s: dict[tuple[int, int], float] = defaultdict(float)
    for sensor, (times, powers) in _known(samples, injected, held_by, hold_s / 1.5).items():
        for a, b in pairwise(_changes(times, held_by[sensor], hold_s, split.step_s)):
            middle = (a + b) / 2
            at = bisect_right(times, middle) - 1
            if at < 0 or powers[at] is None or middle >= times[at] + hold_s:
                continue
            here = [h for h in held_by[sensor] if h[3] <= middle < h[4]]
            held = sum(h[2] for h in here)
            free = 0 if coverage is None else int(coverage.sizes[sensor]) - held
            for _, job, nodes, begin_s, _, offset_s in here:
                net = max(powers[at] - split.idle_w * free, 0.0)
                if split.own and times[at] < begin_s:
                    continue
                key = (job, int((middle - begin_s + offset_s) // split.step_s))
                energy[key] += net * nodes / held * (b - a)
                node_s[key] += nodes * (b - a)
    return energy, node_s


def _changes(times: list[float], holders: Any, hold_s: float, step_s: float) -> list[float]:
    """Return when something changes for a sensor: a sample comes or has been held, a job comes, goes or steps."""
    changes: set[float] = {0.0, *times, *(t + hold_s for t in times)}
    for *_, begin_s, end_s, offset_s in holders:
        changes.update((begin_s, end_s))
        steps = np.arange(np.ceil(offset_s / step_s), np.ceil((offset_s + end_s - begin_s) / step_s))
        changes.update((begin_s + steps * step_s - offset_s).tolist())
    return sorted(changes)


def _holders(spans: Any, coverage: Any) -> dict[int, list[tuple[int, int, int, float, float, float]]]:
    found: dict[int, list[tuple[int, int, int, float, float, float]]] = defaultdict(list)
    for row in range(spans.job.size):
        job, first, count = int(spans.job[row]), int(spans.first[row]), int(spans.count[row])
        stay = (float(spans.begin_s[row]), float(spans.end_s[row]), float(spans.offset_s[row]))
        if coverage is None:
            found[job].append((job, job, count, *stay))
            continue
        inside: dict[int, int] = defaultdict(int)
        for i in range(coverage.first.size):
            low, high = int(coverage.first[i]), int(coverage.first[i] + coverage.count[i])
            nodes = min(high, first + count) - max(low, first)
            if nodes > 0:
                inside[int(coverage.code[i])] += nodes
        for sensor, nodes in inside.items():
            found[sensor].append((sensor, job, nodes, *stay))
    return found


def _known(
    samples: Samples, injected: Injected | None, held_by: Any, every_s: float
) -> dict[int, tuple[list[float], list[float | None]]]:
    """Return the samples of every sensor that may be used, bad ones with no power, from what is known of the faults."""
    found: dict[int, list[tuple[float, float | None]]] = defaultdict(list)
    for i in range(samples.code.size):
        sensor, time_s, power = int(samples.code[i]), float(samples.time_s[i]), float(samples.power_w[i])
        fault = -1 if injected is None else int(injected.fault[i])
        if fault in HOLES:
            continue
        busy = any(h[3] < time_s + every_s and h[4] > time_s for h in held_by[sensor])
        if fault in (Fault.NAN, Fault.NEGATIVE) or (fault == Fault.STUCK and busy):
            found[sensor].append((time_s, None))
        elif fault == Fault.OVER and injected is not None:
            found[sensor].append((time_s, injected.most_w))
        else:
            found[sensor].append((time_s, power))
    return {s: ([t for t, _ in sorted(rows)], [w for _, w in sorted(rows)]) for s, rows in found.items()}
