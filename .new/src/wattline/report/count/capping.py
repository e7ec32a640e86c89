"""Capping success: how well power kept to its limit, by scheduling interval, by time and at telemetry instants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats
from wattline.report.count.actions import Actions
from wattline.report.count.energy import LIMIT_SLACK
from wattline.report.count.run import Run
from wattline.report.count.statistics import NAN, integral

Mask = npt.NDArray[np.bool_]

QUANTUM_S = 10.0
"""Scheduling interval of runs that have no tick."""

SAMPLE_S = 300.0
"""Period of telemetry of runs that sample no power."""

ON_GRID = 1e-6
"""Share of an interval by which an instant may miss the grid through rounding."""


@dataclass(frozen=True)
class Rate:
    """How many intervals, seconds or instants a limit was in force, in how many power was above it, and the share
    within it.
    """

    total: float
    above: float
    success: float

    @classmethod
    def of(cls, total: float, above: float) -> Rate:
        """Make it; nothing to count has no share (NaN)."""
        return cls(total, above, 1.0 - above / total if total > 0 else NAN)


@dataclass(frozen=True)
class Kept:
    """How power kept to the limit while one was in force.

    An interval fails if power is above the limit at any time in it, and counts if a limit is in force at any time in
    it. ``worst_share`` is relative to the limit then; ``longest_s`` is the longest time without a break above it.
    """

    intervals: Rate
    seconds: Rate
    samples: Rate
    worst_w: float
    worst_share: float
    longest_s: float
    above_j: float

    @property
    def success(self) -> float:
        """The capping success rate as published: the share of scheduling intervals within the limit."""
        return self.intervals.success


@dataclass(frozen=True)
class Capping:
    """Capping of a run: all of it, and ``apart`` from deadlock starts, while a job ran that was let in above the limit.

    What is not known is NaN (``apart``, where the run logged no decisions), as are counts of actions.
    """

    quantum_s: float
    sample_s: float
    whole: Kept
    apart: Kept
    deadlock_starts: float
    deadlock_s: float
    caps_set: float
    jobs_stopped: float


class Grid(NamedTuple):
    """Where scheduling intervals and telemetry instants lie: both begin at ``origin_s``."""

    origin_s: float
    quantum_s: float = QUANTUM_S
    sample_s: float = SAMPLE_S


def kept(
    time_s: Floats,
    duration_s: Floats,
    power_w: Floats,
    limit_w: Floats,
    grid: Grid,
    *,
    counted: Mask | None = None,
) -> Kept:
    """Hold a step function of power against one of the limit; rows that are not ``counted`` do not exist.

    All is exact: nothing is sampled but the instants.

    >>> at, long = np.array([0.0, 10.0, 15.0]), np.array([10.0, 5.0, 25.0])
    >>> found = kept(at, long, np.array([5.0, 9.0, 6.0]), np.full(3, 8.0), Grid(0.0, 10.0, 20.0))
    >>> found.intervals.success, found.seconds.success, found.samples.success, found.above_j
    (0.75, 0.875, 1.0, 5.0)
    """
    limited = np.isfinite(limit_w) & (duration_s > 0)
    if counted is not None:
        limited &= counted
    over_w = np.where(limited, power_w, 0.0) - np.where(limited, limit_w, 0.0)
    above = limited & (over_w > LIMIT_SLACK * np.where(limited, limit_w, 0.0))
    end_s = time_s + duration_s
    worst_w, limit_then_w = over_w[above], limit_w[above]
    with np.errstate(divide="ignore"):  # above a limit of 0 W: infinitely
        worst_share = float((worst_w / limit_then_w).max(initial=0.0))
    return Kept(
        intervals=Rate.of(*(_intervals(time_s[m], end_s[m], grid.origin_s, grid.quantum_s) for m in (limited, above))),
        seconds=Rate.of(float(duration_s[limited].sum()), float(duration_s[above].sum())),
        samples=Rate.of(*(_instants(time_s[m], end_s[m], grid.origin_s, grid.sample_s) for m in (limited, above))),
        worst_w=float(worst_w.max(initial=0.0)),
        worst_share=worst_share,
        longest_s=_longest(time_s, end_s, above),
        above_j=integral(worst_w, duration_s[above]),
    )


def measure(
    time_s: Floats,
    duration_s: Floats,
    power_w: Floats,
    limit_w: Floats,
    actions: Actions | None,
    *,
    origin_s: float | None = None,
    quantum_s: float = QUANTUM_S,
    sample_s: float = SAMPLE_S,
) -> Capping:
    """Return how a run kept to its limit, with and without its deadlock starts (``actions``: None if they are not
    known).
    """
    start_s = (float(time_s[0]) if time_s.size else 0.0) if origin_s is None else origin_s
    grid = Grid(start_s, quantum_s, sample_s)
    whole = kept(time_s, duration_s, power_w, limit_w, grid)
    if actions is None:
        return Capping(quantum_s, sample_s, whole, UNKNOWN, NAN, NAN, NAN, NAN)
    spans = merge_spans(actions.deadlocks)
    apart = whole
    if len(spans):
        row, cut_s, cut_duration_s = cut(time_s, duration_s, spans.ravel())
        outside = ~inside(cut_s, spans)
        apart = kept(cut_s, cut_duration_s, power_w[row], limit_w[row], grid, counted=outside)
    last_s = float(time_s[-1] + duration_s[-1]) if time_s.size else start_s
    deadlock_s = float((np.minimum(spans[:, 1], last_s) - spans[:, 0]).sum())
    return Capping(
        quantum_s, sample_s, whole, apart, len(actions.deadlocks), deadlock_s, actions.caps_set, actions.jobs_stopped
    )


def count_capping(run: Run) -> Capping | None:
    """Return how a run kept to its power limit, on the grids of its own tick and samples; None without a limit."""
    steps = run.steps
    if not np.any(np.isfinite(steps.limit_w) & (steps.duration_s > 0)):
        return None
    told = run.manifest.get("power") or {}
    return measure(
        steps.time_s,
        steps.duration_s,
        steps.power_w,
        steps.limit_w,
        run.actions,
        origin_s=run.start_s,
        quantum_s=float(told.get("tick_s") or QUANTUM_S),
        sample_s=float(told.get("sample_s") or SAMPLE_S),
    )


UNKNOWN = Kept(Rate.of(0, 0), Rate.of(0.0, 0.0), Rate.of(0, 0), NAN, NAN, NAN, NAN)
"""Nothing is known."""


def merge_spans(spans: Floats) -> Floats:
    """Return spans of time (rows of from, until) in order, those that touch or overlap as one.

    >>> merge_spans(np.array([[5.0, 9.0], [0.0, 6.0], [20.0, 21.0]])).tolist()
    [[0.0, 9.0], [20.0, 21.0]]
    """
    spans = spans.reshape(-1, 2)
    spans = spans[spans[:, 1] > spans[:, 0]]
    spans = spans[np.argsort(spans[:, 0], kind="stable")]
    if not len(spans):
        return spans
    reached = np.maximum.accumulate(spans[:, 1])
    first = np.flatnonzero(np.append(True, spans[1:, 0] > reached[:-1]))
    return np.column_stack([spans[first, 0], reached[np.append(first[1:], len(spans)) - 1]])


def inside(at_s: Floats, spans: Floats) -> Mask:
    """Tell which instants lie in one of some merged spans, whose ends are not in them."""
    found = np.searchsorted(spans.ravel(), at_s, side="right") % 2 == 1
    return np.asarray(found, dtype=np.bool_)


def cut(time_s: Floats, duration_s: Floats, at_s: Floats) -> tuple[npt.NDArray[np.int64], Floats, Floats]:
    """Cut the rows of a step function at some instants: return the row that each piece is of, its start and its
    length.
    """
    row = np.arange(time_s.size)
    row = row[duration_s > 0]
    if not row.size:
        return row, time_s[row], duration_s[row]
    begin_s, last_s = time_s[row], float(time_s[row[-1]] + duration_s[row[-1]])
    at_s = np.unique(at_s[(at_s > begin_s[0]) & (at_s < last_s)])
    where = np.searchsorted(begin_s, at_s, side="right")
    new = begin_s[where - 1] != at_s
    pieces_s = np.insert(begin_s, where[new], at_s[new])
    pieces = np.insert(row, where[new], row[where[new] - 1])
    return pieces, pieces_s, np.diff(np.append(pieces_s, last_s))


def _intervals(start_s: Floats, end_s: Floats, origin_s: float, step_s: float) -> int:
    """Return how many intervals of a grid hold a part of rows, which are in order and do not overlap."""
    first = np.floor((start_s - origin_s) / step_s + ON_GRID)
    last = np.maximum(np.ceil((end_s - origin_s) / step_s - ON_GRID) - 1.0, first)
    new_from = np.maximum(first, np.append(-np.inf, last[:-1]) + 1.0)
    return int(np.maximum(last - new_from + 1.0, 0.0).sum())


def _instants(start_s: Floats, end_s: Floats, origin_s: float, step_s: float) -> int:
    """Return how many instants of a grid lie in rows; an instant at which a row begins is in that row."""
    before = np.ceil((start_s - origin_s) / step_s - ON_GRID)
    return int((np.ceil((end_s - origin_s) / step_s - ON_GRID) - before).sum())


def _longest(time_s: Floats, end_s: Floats, above: Mask) -> float:
    """Return the longest time that marked rows follow each other without a break."""
    begin_s, stop_s = time_s[above], end_s[above]
    if not begin_s.size:
        return 0.0
    order = np.flatnonzero(above)
    held = end_s > time_s
    number = np.cumsum(held)[order]  # rows that held for no time are no break
    fresh = np.flatnonzero(np.append(True, np.diff(number) > 1))
    return float((stop_s[np.append(fresh[1:], begin_s.size) - 1] - begin_s[fresh]).max())
