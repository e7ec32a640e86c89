"""Stretches of known power × who held which nodes → power of every job, step by step, as the jobs end.

A stretch is cut wherever a job on its sensor begins or ends; the power of a sensor that several jobs share is split in
proportion to their nodes. In memory are the running jobs and one window of stretches.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.memory import require_bytes
from wattline.telemetry.cleaning.clean import Stretches
from wattline.telemetry.cleaning.faults import Fault, Mask, Tally
from wattline.telemetry.nodes.placed import Placed
from wattline.telemetry.nodes.sensors import Coverage


@dataclass(frozen=True)
class Split:
    """How the power of a sensor becomes that of jobs: ``idle_w`` is what its free nodes draw, each.

    ``own``: only samples that were taken while the job held the nodes count. ``each_w``: what each node draws when it
    is free, where they differ.
    """

    step_s: float
    idle_w: float = 0.0
    own: bool = False
    each_w: Floats | None = None


@dataclass(frozen=True)
class Ended:
    """Jobs that are over: energy and node-seconds with a known power in steps ``first[i]`` to ``first[i + 1]``."""

    job: Ints
    first: Ints
    energy_j: Floats
    node_s: Floats


@dataclass(frozen=True)
class Rows:
    """Which job held how many nodes of which sensor, from ``first`` on, from when to when; ``offset_s`` it had run
    before (NaN: its work was lost).
    """

    code: Ints
    job: Ints
    first: Ints
    nodes: Ints
    begin_s: Floats
    end_s: Floats
    offset_s: Floats


class Join:
    """Takes stretches in the order of time; gives jobs when all that can be known of them is.

    ``out`` are the nodes that were out of service, which draw nothing (None: all were in service).
    """

    def __init__(
        self, placed: Placed, coverage: Coverage | None, split: Split, tally: Tally, out: Placed | None = None
    ) -> None:
        self.placed, self.coverage, self.split, self.tally = placed, coverage, split, tally
        self.out = out if coverage is not None and split.idle_w and out is not None and out.job.size else None
        self._below_w = _idle_below(placed, coverage, split) if coverage is not None and split.idle_w else None
        pieces = float(np.ceil(placed.run_s / split.step_s).sum())
        require_bytes(120.0 * pieces, f"{pieces:,.0f} steps of {split.step_s:g} s of all jobs")
        self.steps = np.maximum(np.ceil(placed.run_s / split.step_s - 1e-9), 1.0).astype(np.int64)
        self.shared: set[int] = set()
        self.shared_s = 0.0
        self._next = 0
        self._open = np.empty(0, dtype=np.int64)  # rows of ``placed`` that have begun and not ended
        self._jobs = np.empty(0, dtype=np.int64)
        self._base = np.zeros(1, dtype=np.int64)
        self._energy_j, self._node_s = np.empty(0), np.empty(0)

    def take(self, found: Stretches) -> Ended:
        """Add stretches; return the jobs that nothing will be added to any more."""
        if found.code.size:
            rows = self._rows(float(found.begin_s.min()), float(found.end_s.max()))
            if rows.code.size:
                self._add(found, rows)
        return self._give(found.until_s)

    def finish(self) -> Ended:
        """Return all jobs that are still open."""
        return self._give(np.inf)

    def held(self, code: Ints, begin_s: Floats, end_s: Floats) -> Mask:
        """Tell of stretches, sorted by sensor and time, whether a job held nodes of the sensor in some of it."""
        p = self.placed
        at = np.flatnonzero((p.begin_s < end_s.max()) & (p.end_s > begin_s.min()))
        rows = rows_of(p, at, self.coverage)
        found = np.zeros(code.size, dtype=bool)
        found[pieces_of(code, begin_s, rows)[1]] = True
        low, high = _group(code, rows.code)
        before = _bisect(begin_s, low, high, rows.begin_s) - 1
        found[before[(before >= low) & (end_s[before] > rows.begin_s)]] = True
        return found

    def _rows(self, from_s: float, to_s: float) -> Rows:
        """Return who held what of the sensors in a window.

        Windows may overlap, but never begin earlier than the one before by more than a hold.
        """
        p = self.placed
        new = int(np.searchsorted(p.begin_s, to_s))
        self._open = np.concatenate([self._open, np.arange(self._next, max(new, self._next))])
        self._next = max(new, self._next)
        self._open = self._open[p.end_s[self._open] > from_s]
        return rows_of(p, self._open, self.coverage)

    def _add(self, found: Stretches, rows: Rows) -> None:
        absent = self._absent(found)
        code, begin_s, end_s, power_w, sample = _cut(found, rows if absent is None else _both(rows, absent))
        row, piece = pieces_of(code, begin_s, rows)
        dark = power_w[piece] == 0.0
        self._count_dark(found, np.unique(sample[piece[dark]]))
        held = np.bincount(piece, weights=rows.nodes[row], minlength=code.size)
        free_w = self._free_w(code, begin_s, (row, piece, rows), absent)
        self._count_shared(piece, rows.job[row], code.size, end_s - begin_s)
        keep = ~dark & ~np.isnan(rows.offset_s[row])
        if self.split.own:
            keep &= found.begin_s[sample[piece]] >= rows.begin_s[row]
        row, piece = row[keep], piece[keep]
        nodes = rows.nodes[row].astype(np.float64)
        watts = power_w[piece]
        if free_w is not None:
            watts = np.maximum(watts - free_w[piece], 0.0)
        shift_s = rows.offset_s[row] - rows.begin_s[row]
        self._store(rows.job[row], begin_s[piece] + shift_s, end_s[piece] + shift_s, watts * nodes / held[piece], nodes)

    def _free_w(self, code: Ints, begin_s: Floats, held: tuple[Ints, Ints, Rows], absent: Rows | None) -> Floats | None:
        """Return what the free nodes of each stretch's sensor draw: all of its nodes but those held and those out of
        service.
        """
        below_w, c = self._below_w, self.coverage
        if below_w is None or c is None:
            return None
        whole_w = np.bincount(c.code, weights=below_w[c.first + c.count] - below_w[c.first], minlength=c.sizes.size)
        left_w = whole_w[code]
        gone = [held] if absent is None else [held, (*pieces_of(code, begin_s, absent), absent)]
        for row, piece, rows in gone:
            own_w = below_w[rows.first + rows.nodes] - below_w[rows.first]
            left_w = left_w - np.bincount(piece, weights=own_w[row], minlength=code.size)
        return np.maximum(left_w, 0.0)

    def _absent(self, found: Stretches) -> Rows | None:
        """Return the nodes of the sensors that were out of service while stretches last."""
        if self.out is None:
            return None
        during = (self.out.begin_s < found.end_s.max()) & (self.out.end_s > found.begin_s.min())
        return rows_of(self.out, np.flatnonzero(during), self.coverage)

    def _count_dark(self, found: Stretches, sample: Ints) -> None:
        self.tally.add(Fault.ZERO, found.code[sample], found.begin_s[sample], found.power_w[sample])
        self.tally.used -= sample.size

    def _count_shared(self, piece: Ints, job: Ints, pieces: int, lasted_s: Floats) -> None:
        """Count jobs that share a sensor; two ranges of one job on it are no sharing."""
        several = np.bincount(piece, minlength=pieces)[piece] > 1
        if not several.any():
            return
        pairs = np.unique(np.stack([piece[several], job[several]]), axis=1)
        many = np.bincount(pairs[0], minlength=pieces)
        self.shared.update(np.unique(pairs[1][many[pairs[0]] > 1]).tolist())
        self.shared_s += float(lasted_s[many > 1].sum())

    def _store(self, job: Ints, from_s: Floats, to_s: Floats, watts: Floats, nodes: Floats) -> None:
        """Add power to the steps of jobs; what crosses steps is cut there."""
        step_s = self.split.step_s
        self._make_room(job)
        low = np.floor(from_s / step_s).astype(np.int64)
        many = np.maximum(np.ceil(to_s / step_s).astype(np.int64) - low, 1)
        if np.any(many > 1):
            require_bytes(120.0 * float(many.sum()), f"samples cut into steps of {step_s:g} s")
            which = np.repeat(np.arange(many.size), many)
            step = low[which] + inside(many)
            from_s, to_s = np.maximum(from_s[which], step * step_s), np.minimum(to_s[which], (step + 1) * step_s)
            job, watts, nodes = job[which], watts[which], nodes[which]
        else:
            step = low
        place = np.searchsorted(self._jobs, job)
        # the last step may end a rounding error early
        at = self._base[place] + np.minimum(step, self.steps[job] - 1)
        lasted_s = to_s - from_s
        self._energy_j += np.bincount(at, weights=watts * lasted_s, minlength=self._energy_j.size)
        self._node_s += np.bincount(at, weights=nodes * lasted_s, minlength=self._node_s.size)

    def _make_room(self, job: Ints) -> None:
        jobs = np.union1d(self._jobs, job)
        if jobs.size == self._jobs.size:
            return
        base = np.concatenate([[0], np.cumsum(self.steps[jobs])])
        old = np.repeat(base[np.searchsorted(jobs, self._jobs)], self.steps[self._jobs]) + inside(
            self.steps[self._jobs]
        )
        energy_j, node_s = np.zeros(base[-1]), np.zeros(base[-1])
        energy_j[old], node_s[old] = self._energy_j, self._node_s
        self._jobs, self._base, self._energy_j, self._node_s = jobs, base, energy_j, node_s

    def _give(self, until_s: float) -> Ended:
        over = self.placed.job_end_s[self._jobs] <= until_s
        many = self.steps[self._jobs]
        out = np.repeat(over, many)
        ended = Ended(
            self._jobs[over], np.concatenate([[0], np.cumsum(many[over])]), self._energy_j[out], self._node_s[out]
        )
        self._jobs, self._base = self._jobs[~over], np.concatenate([[0], np.cumsum(many[~over])])
        self._energy_j, self._node_s = self._energy_j[~out], self._node_s[~out]
        return ended


def rows_of(placed: Placed, at: Ints, coverage: Coverage | None) -> Rows:
    """Return which sensors the given ranges of nodes touch, and how many nodes of each.

    Without coverage sensors are jobs.
    """
    p, c = placed, coverage
    if c is None:
        return Rows(p.job[at], p.job[at], p.first[at], p.count[at], p.begin_s[at], p.end_s[at], p.offset_s[at])
    low = np.searchsorted(c.first + c.count, p.first[at], side="right")
    high = np.searchsorted(c.first, p.first[at] + p.count[at], side="left")
    many = np.maximum(high - low, 0)
    at = np.repeat(at, many)
    cell = np.repeat(low, many) + inside(many)
    last = np.minimum(p.first[at] + p.count[at], c.first[cell] + c.count[cell])
    first = np.maximum(p.first[at], c.first[cell])
    return Rows(c.code[cell], p.job[at], first, last - first, p.begin_s[at], p.end_s[at], p.offset_s[at])


def _idle_below(placed: Placed, coverage: Coverage, split: Split) -> Floats:
    """Return what all nodes below each number draw when they are free."""
    nodes = int(max((coverage.first + coverage.count).max(initial=0), (placed.first + placed.count).max(initial=0)))
    each_w = np.full(nodes, split.idle_w)
    if split.each_w is not None:
        known = min(nodes, split.each_w.size)
        each_w[:known] = split.each_w[:known]
    return np.concatenate([[0.0], np.cumsum(each_w)])


def _both(some: Rows, more: Rows) -> Rows:
    """Return the rows of both."""
    return Rows(*(np.concatenate([getattr(some, f.name), getattr(more, f.name)]) for f in fields(Rows)))


def pieces_of(code: Ints, begin_s: Floats, rows: Rows) -> tuple[Ints, Ints]:
    """Return pairs of a row and a place in sorted columns that begins while the row lasts."""
    low, high = _group(code, rows.code)
    first = _bisect(begin_s, low, high, rows.begin_s)
    many = np.maximum(_bisect(begin_s, low, high, rows.end_s) - first, 0)
    return np.repeat(np.arange(many.size), many), np.repeat(first, many) + inside(many)


def _cut(found: Stretches, rows: Rows) -> tuple[Ints, Floats, Floats, Floats, Ints]:
    """Return stretches cut wherever a row of their sensor begins or ends, and the stretch that each came from."""
    code = np.concatenate([rows.code, rows.code])
    time_s = np.concatenate([rows.begin_s, rows.end_s])
    low, high = _group(found.code, code)
    inside = np.flatnonzero(high > low)
    at = _bisect(found.begin_s, low[inside], high[inside], time_s[inside])  # the first that begins then or later
    before = at - 1
    hit = (at > low[inside]) & (found.end_s[np.maximum(before, 0)] > time_s[inside])
    where, when = before[hit], time_s[inside][hit]
    order = np.lexsort((when, where))
    where, when = where[order], when[order]
    single = np.concatenate([[True], (where[1:] != where[:-1]) | (when[1:] != when[:-1])])[: where.size]
    where, when = where[single], when[single]
    sample = np.insert(np.arange(found.code.size), where + 1, where)
    return (
        found.code[sample],
        np.insert(found.begin_s, where + 1, when),
        np.insert(found.end_s, where, when),
        found.power_w[sample],
        sample,
    )


def inside(many: Ints) -> Ints:
    """Return 0, 1, …, m - 1 for each m."""
    return np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)


def _group(code: Ints, wanted: Ints) -> tuple[Ints, Ints]:
    """Return where each sensor's stretches begin and end in a sorted column."""
    return np.searchsorted(code, wanted, side="left"), np.searchsorted(code, wanted, side="right")


def _bisect(values: Floats, low: Ints, high: Ints, wanted: Floats) -> Ints:
    """Return, between ``low`` and ``high``, the first place whose value is not below the wanted one; all at once."""
    low, high = low.copy(), high.copy()
    while np.any(open_ := low < high):
        middle = (low + high) // 2
        below = open_ & (values[np.minimum(middle, values.size - 1)] < wanted)
        low = np.where(below, middle + 1, low)
        high = np.where(open_ & ~below, middle, high)
    return low
