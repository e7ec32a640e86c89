"""The experiments of the service-rate paper's §IV and those it left open, as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wattline.arrays import Floats
from wattline.formats.jobs.krc.read import CORES
from wattline.model import codes
from wattline.model.cluster import Level
from wattline.model.jobs import JobTable
from wattline.systems.recursion.data import Customers, resample
from wattline.systems.recursion.model import (
    DISCIPLINES,
    HIGH,
    LOW,
    SWITCHINGS,
    THRESHOLDS,
    epochs,
    measures,
    run,
    workload,
)
from wattline.systems.work import Work
from wattline.wiring.result import Result

PAIRS = [(line, rule) for line in DISCIPLINES for rule in SWITCHINGS]
"""Every discipline under every switching rule."""

WIDE = 16
"""Servers from which a task counts as huge: a fifth of the machine."""


@dataclass(frozen=True)
class Switches:
    """The rate changes of a run and what they coincide with; ``served`` is the number in service at changes down."""

    up: int
    up_at_arrivals: int
    down: int
    down_between: int
    served: Floats


def switches(result: Result) -> Switches:
    """Sort the rate changes of a run by what happened at their epochs."""
    s, logs = result.state, result.logs
    level = logs["ev_kind"] == codes.EV_LEVEL
    time_s, rate = logs["ev_time_s"][level], logs["ev_value"][level]
    up, down = time_s[rate == HIGH.rate], time_s[(rate == LOW.rate) & (time_s > s.start_s[0])]
    between = down[~np.isin(down, s.submit_s) & ~np.isin(down, s.end_s)]
    found = epochs(result)
    served = found.served[np.searchsorted(found.time_s, between)]
    return Switches(up.size, int(np.isin(up, s.submit_s).sum()), down.size, between.size, served)


@dataclass(frozen=True)
class Waiting:
    """How a window of customers waits: how many, how long in all and at most, and the share behind one that asks for
    many servers.
    """

    customers: int
    seconds: float
    longest_s: float
    behind_wide: float


def waiting(result: Result, first: int, count: int = 500) -> Waiting:
    """Say how a window of customers waits.

    First come, first served: from the start of its predecessor (or its own arrival) to its own start, customer h is
    first in line, and all who wait then wait behind it.
    """
    s = result.state
    start = s.started_s
    began = np.maximum(np.concatenate([[-np.inf], start[:-1]]), s.submit_s)
    waited = behind_wide = longest = 0.0
    customers = 0
    for i in range(first, min(first + count, start.size)):
        head = np.searchsorted(start, s.submit_s[i], side="right")
        heads = slice(int(head), i + 1)
        share = np.maximum(0.0, start[heads] - np.maximum(began[heads], s.submit_s[i]))
        waited += float(share.sum())
        longest = max(longest, float(share.sum()))
        customers += bool(share.sum() > 0)
        behind_wide += float(share[s.nodes[heads] >= WIDE].sum())
    return Waiting(customers, waited, longest, behind_wide / waited if waited else float("nan"))


def singles_in_service(result: Result, first: int, count: int = 500) -> float:
    """Return the share of the window's time in which at least ten single-server tasks run at once."""
    s = result.state
    window = slice(first, min(first + count, s.submit_s.size))
    begin, end = float(s.submit_s[window][0]), float(s.end_s[window].max())
    one = s.nodes == 1
    time_s = np.concatenate([s.started_s[one], s.end_s[one]])
    change = np.concatenate([np.ones(int(one.sum())), -np.ones(int(one.sum()))])
    order = np.argsort(time_s, kind="stable")
    time_s, number = time_s[order], np.cumsum(change[order])
    held = np.diff(np.clip(np.append(time_s, end), begin, end))
    return float(held[number >= 10].sum()) / (end - begin)


# ------------------------------------------------------------------ Fig. 3


@dataclass(frozen=True)
class Curve:
    """Measures over the thresholds, one row a threshold."""

    k: Floats
    energy: Floats
    energy_printed: Floats
    workload: Floats
    workload_eq12: Floats


def curve(jobs: JobTable, work: Work, thresholds: Floats = THRESHOLDS, *, as_printed: bool = False) -> Curve:
    """Run the single-threshold policy over all thresholds, in threads."""
    printed = Level(LOW.rate, HIGH.busy_w, LOW.idle_w), Level(HIGH.rate, LOW.busy_w, HIGH.idle_w)

    def at_threshold(piece: tuple[float, bool]) -> tuple[float, ...]:
        k, literally = piece
        e = epochs(run(jobs, switching=workload(k, k, as_printed=literally)))
        return e.mean(e.power), e.energy_with(*printed), e.mean_workload, e.mean(e.workload)

    columns = np.array(work.each(at_threshold, [(k, as_printed) for k in thresholds.tolist()], threads=True)).T
    return Curve(thresholds, *columns)


@dataclass(frozen=True)
class Ensemble:
    """Curves of resampled customers: mean and half a 95 % interval over the seeds, for levels and for paired
    changes.
    """

    seeds: int
    k: Floats
    energy: tuple[Floats, Floats]
    workload: tuple[Floats, Floats]
    workload_eq12: tuple[Floats, Floats]
    energy_change: tuple[Floats, Floats]
    workload_change: tuple[Floats, Floats]


def ensemble(customers: Customers, seeds: int, work: Work, thresholds: Floats = THRESHOLDS) -> Ensemble:
    """Average the curve over independent resamples; every resample is run at all thresholds (common random numbers)."""

    def resampled(piece: tuple[int, tuple[float, ...]]) -> list[tuple[float, ...]]:
        seed, some = piece
        jobs = resample(customers.jobs, seed)
        found = (epochs(run(jobs, switching=workload(k, k))) for k in some)
        return [(e.mean(e.power), e.mean_workload, e.mean(e.workload)) for e in found]

    pieces = [(seed, tuple(thresholds.tolist())) for seed in range(1, seeds + 1)]
    energy, load, eq12 = np.moveaxis(np.array(work.each(resampled, pieces, threads=True)), 2, 0)
    return Ensemble(
        seeds,
        thresholds,
        _interval(energy),
        _interval(load),
        _interval(eq12),
        _interval(energy / energy[:, :1] - 1.0),
        _interval(load / load[:, :1] - 1.0),
    )


def _interval(rows: Floats) -> tuple[Floats, Floats]:
    from scipy.special import stdtrit  # scipy.stats would take a second to import

    n = rows.shape[0]
    half: Floats = stdtrit(n - 1, 0.975) * rows.std(axis=0, ddof=1) / np.sqrt(n)
    return rows.mean(axis=0), half


def irregularity(values: Floats) -> float:
    """Return the changes of slope that undo each other, over the whole rise or fall (0: bent one way only)."""
    bends = np.diff(values, 2)
    return float((np.abs(bends).sum() - abs(bends.sum())) / abs(values[-1] - values[0]))


# ------------------------------------------------------------------ beyond the figures


def grid(jobs: JobTable, work: Work) -> dict[tuple[str, str], dict[str, Any]]:
    """Run every discipline under every switching rule."""

    def by_rule(pair: tuple[str, str]) -> dict[str, Any]:
        return measures(run(jobs, pair[0], SWITCHINGS[pair[1]]))

    return dict(zip(PAIRS, work.each(by_rule, PAIRS, threads=True), strict=True))


def started_later(jobs: JobTable) -> int:
    """Return how many customers start later by backfilling than first come, first served, at the constant high rate."""
    first, passed = (run(jobs, line, SWITCHINGS["r_H"]).state.started_s for line in ("FCFS", "BF"))
    return int(np.sum(passed > first + 1e-6))


@dataclass(frozen=True)
class Drift:
    """A saturated system: load by the criterion, growth of the delay per second of arrivals, and what it should be."""

    load: float
    measured: float
    expected: float


def drifts(jobs: JobTable, loads: tuple[float, ...] = (0.7, 0.9, 1.1, 1.3), n: int = 60_000) -> list[Drift]:
    """Hold the stability criterion against the fast recursion, where it is exact: exponential services, drawn widths.

    Beyond load 1 delays grow by load − 1 a second; below they do not grow.
    """
    from wattline.theory.recursion import fcfs_delays
    from wattline.theory.stability import stability_coefficient, width_law

    random = np.random.Generator(np.random.Philox(3))
    width = random.choice(jobs.nodes, n)
    service = random.exponential(1.0, n)
    gap = random.exponential(stability_coefficient(width_law(width, CORES)), n)
    found = []
    for load in loads:
        arrival = np.cumsum(gap / load)
        delay = fcfs_delays(arrival, service, width, CORES)
        growth = float(np.polyfit(arrival[n // 4 :], delay[n // 4 :], 1)[0])
        found.append(Drift(load, growth, max(0.0, load - 1.0)))
    return found
