"""Energy by step of jobs that ended → their power series, mean and peak, and how much of each run was measured."""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.model.jobs import JobTable
from wattline.model.series import PowerSeries
from wattline.reading.notes import Note
from wattline.telemetry.join import Ended
from wattline.telemetry.nodes.placed import Placed
from wattline.units import in_full


class Profiles:
    """Collects the power of jobs as they end."""

    def __init__(self, jobs: JobTable, placed: Placed, step_s: float, least: float) -> None:
        self.jobs, self.run_s, self.step_s, self.least = jobs, placed.run_s, step_s, least
        self.coverage = np.zeros(len(jobs))
        self.draw_w = np.full(len(jobs), np.nan)
        self.peak_w = np.full(len(jobs), np.nan)
        self.energy_j = 0.0
        self.filled = self.steps = 0
        self._rows: list[Ints] = []
        self._many: list[Ints] = []
        self._watts: list[Any] = []

    def take(self, ended: Ended) -> None:
        """Turn the energy of some jobs into power per node."""
        if not ended.job.size:
            return
        self.energy_j += float(ended.energy_j.sum())
        many = np.diff(ended.first)
        which = np.repeat(np.arange(ended.job.size), many)
        known_s = np.add.reduceat(ended.node_s, ended.first[:-1])
        wide_s = self.jobs.nodes[ended.job] * self.run_s[ended.job]
        share = np.minimum(known_s / wide_s, 1.0)
        self.coverage[ended.job] = share
        enough = (share >= self.least) & (known_s > 0)
        use = enough[which]
        if not enough.any():
            return
        first = np.concatenate([[0], np.cumsum(many[enough])])
        watts = _filled(ended.energy_j[use], ended.node_s[use], first)
        self.filled += int((ended.node_s[use] <= 0).sum())
        self.steps += watts.size
        job, kept = ended.job[enough], many[enough]
        step = np.arange(watts.size) - np.repeat(first[:-1], kept)
        run_s = np.repeat(self.run_s[job], kept)
        lasted_s = np.minimum((step + 1) * self.step_s, run_s) - step * self.step_s
        self.draw_w[job] = np.add.reduceat(watts * lasted_s, first[:-1]) / self.run_s[job]
        self.peak_w[job] = np.maximum.reduceat(watts, first[:-1])
        self._rows.append(job)
        self._many.append(kept)
        self._watts.append(watts.astype(np.float32))

    def table(self) -> JobTable:
        """Return the jobs with what is known of their power.

        Those that were measured too little keep what their log says.
        """
        rows = np.concatenate([*self._rows, np.empty(0, dtype=np.int64)]).astype(np.int64)
        many = np.concatenate([*self._many, np.empty(0, dtype=np.int64)]).astype(np.int64)
        watts = np.concatenate([*self._watts, np.empty(0, dtype=np.float32)])
        counts = np.zeros(len(self.jobs), dtype=np.int64)
        counts[rows] = many
        order = np.argsort(rows, kind="stable")
        begin = (np.cumsum(many) - many)[order]
        inside = np.arange(watts.size) - np.repeat(np.cumsum(many[order]) - many[order], many[order])
        first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        series = PowerSeries(self.step_s, first, watts[np.repeat(begin, many[order]) + inside])
        jobs, known = self.jobs, np.isfinite(self.draw_w)
        draw_w, peak_w = np.where(known, self.draw_w, jobs.draw_w), np.where(known, self.peak_w, jobs.peak_w)
        # a lowest cap above what was measured makes no sense any more
        return jobs.with_columns(
            draw_w=draw_w,
            peak_w=peak_w,
            floor_w=np.fmin(jobs.floor_w, np.where(known, draw_w, jobs.floor_w)),
            series=series,
        )

    def notes(self) -> list[Note]:
        """Say how much was measured, and what was done where nothing was."""
        found = []
        low = (self.coverage < self.least) | (self.coverage == 0)
        if low.any():
            worst = int(np.flatnonzero(low)[np.argmin(self.coverage[low])])
            reason = f"power known for less than {in_full(100 * self.least)} % of the run: no series"
            example = f"job {self.jobs.job_id[worst]}: {100 * self.coverage[worst]:.1f} %"
            found.append(Note("kept", reason, int(low.sum()), example))
        if self.filled:
            reason = (
                f"steps of {in_full(self.step_s)} s without a sample: the power before (at the beginning: "
                "after) stands in"
            )
            found.append(Note("kept", reason, self.filled, f"of {self.steps:,} steps"))
        low = np.isfinite(self.draw_w) & (self.jobs.floor_w > self.draw_w)
        if low.any():
            row = int(np.argmax(low))
            example = (
                f"job {self.jobs.job_id[row]}: {in_full(self.jobs.floor_w[row], 4)} W, measured "
                f"{in_full(self.draw_w[row], 4)} W"
            )
            found.append(
                Note(
                    "repaired",
                    "power at the lowest cap lies above the measured one: lowered to it",
                    int(low.sum()),
                    example,
                )
            )
        slow = (self.run_s > 0) & (np.abs(self.run_s - self.jobs.work_s) > 0.01 * self.jobs.work_s + 1.0)
        if slow.any():
            row = int(np.argmax(slow))
            reason = "held its nodes for another time than its work takes: the series follows the clock"
            example = f"job {self.jobs.job_id[row]}: {self.run_s[row]:,.0f} s, work {self.jobs.work_s[row]:,.0f} s"
            found.append(Note("kept", reason, int(slow.sum()), example))
        return found


def _filled(energy_j: Floats, node_s: Floats, first: Ints) -> Floats:
    """Return power per node by step; steps without a sample take the one before, or at a job's beginning the next."""
    known = node_s > 0
    watts = np.divide(energy_j, node_s, out=np.zeros(energy_j.size), where=known)
    if known.all():
        return watts
    place = np.arange(watts.size)
    begin = np.repeat(first[:-1], np.diff(first))
    before = np.maximum.accumulate(np.where(known, place, -1))
    after = np.minimum.accumulate(np.where(known, place, watts.size - 1)[::-1])[::-1]
    return np.asarray(watts[np.where(before >= begin, before, after)])
