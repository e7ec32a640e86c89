"""RMAP's Traditional, Naive and Adaptive in plain Python, from thesis-OVP §5.1–5.2 and docs/systems/rmap.md (the
reading, exactly).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from reference.moldable import MoldableJob, MoldableScheduler, Row

Going = list[tuple[MoldableJob, Row]]
"""Who starts in this pass, and in which configuration."""


class Rmap(MoldableScheduler):
    """What the three have in common: shares, configurations that are waited for, backfilling in nodes and watts."""

    # -- which configuration

    def share(self, job: MoldableJob) -> float:
        """P_job = priority × (nodes asked for / nodes of the machine) × limit."""
        if self.limit_w == math.inf:
            return math.inf
        weight = Fraction(job.priority) if job.priority > 0.0 else Fraction(1)
        return float(weight * job.asked * Fraction(self.limit_w) / self.count)

    def ever(self, job: MoldableJob) -> list[Row]:
        """The configurations that fit the machine, and under the limit beside nodes that all idle; if none does, those
        that fit the machine.
        """
        wide = [r for r in job.rows if r.nodes <= self.count]
        spare = self.limit_w * (1.0 + 1e-9) - self.count * self.idle if self.limit_w < math.inf else math.inf
        return [r for r in wide if self.adds(job, r) <= spare] or wide

    def fastest(self, job: MoldableJob, rows: Sequence[Row], watts: float, nodes: int) -> Row | None:
        """The fastest that draws at most so many watts on at most so many nodes; the least power, then the first in the
        table, at ties.
        """
        fits = [r for r in rows if self.told_power(job, r) <= watts and r.nodes <= nodes]
        return min(fits, key=lambda r: (r.told_time, self.told_power(job, r), r.nodes, r.cores, r.cap), default=None)

    def least(self, job: MoldableJob) -> Row:
        """The configuration of least power; of equals the fastest."""
        return min(self.ever(job), key=lambda r: (self.told_power(job, r), r.told_time, r.nodes, r.cores, r.cap))

    def as_traditional(self, job: MoldableJob) -> Row:
        """All cores, no cap, the nodes asked for; fewer where the limit allows no more."""
        asked = max(job.asked, min(r.nodes for r in job.rows))
        rows = [r for r in self.ever(job) if r.nodes <= asked and self.told_power(job, r) <= self.limit_w]
        return max(rows, key=lambda r: (r.cores, r.cap, r.nodes)) if rows else self.least(job)

    def as_naive(self, job: MoldableJob) -> Row:
        """The fastest under the share; of least power where none is under it."""
        found = self.fastest(job, self.ever(job), min(self.share(job), self.limit_w), self.count)
        return found or self.least(job)

    def is_small(self, job: MoldableJob) -> bool:
        """Whether a job is treated as Traditional would."""
        return job.asked <= self.setup.small * self.count

    def wants(self, job: MoldableJob) -> Row:
        """The configuration that a job waits for."""
        if not job.rows:
            return job.as_asked()
        return self.as_traditional(job) if self.is_small(job) else self.as_naive(job)

    def needs(self, job: MoldableJob) -> float:
        """Watts above idle that must be free for the configuration it waits for: all of its share, as far as there are
        so many.
        """
        row = self.wants(job)
        if not job.rows or self.is_small(job):
            return self.adds(job, row)
        if self.limit_w == math.inf:
            return 0.0
        whole = min(self.share(job) - row.nodes * self.idle, self.limit_w - self.count * self.idle)
        return max(self.adds(job, row), whole)

    def choose(
        self, job: MoldableJob, behind: Sequence[MoldableJob] | None, free: int, watts: float, going: Going
    ) -> Row | None:
        """The configuration in which a job starts now, or None; ``behind`` wait behind it (None: it would pass the
        head).
        """
        row = self.wants(job)
        return row if row.nodes <= free and self.needs(job) <= watts else None

    # -- backfilling

    def reservation_for(
        self, nodes: int, need: float, free: int, watts: float, going: Going
    ) -> tuple[float, float, float]:
        """When so many nodes and watts are free by the estimates, and what is left over then; all who are gone by then
        count.
        """
        ends = [(j.expected, self.frees(j), self.gives_back(j)) for j in self.running]
        ends += [(self.now + row.told_time, row.nodes, self.adds(job, row)) for job, row in going]
        for t in sorted({max(t, self.now) for t, _, _ in ends}):
            for other, _, _ in ends:
                if other != t:
                    self.doubt(other, t)
            n = free + sum(count for end, count, _ in ends if end <= t)
            w = watts + sum(back for end, _, back in ends if end <= t)
            if n >= nodes and w >= need:
                return t, n - nodes, w - need
        return math.inf, 0, 0.0

    def plan(self) -> None:
        """Start the line from its front; then who does not delay the first that has to wait."""
        free, watts = len(self.free[0]), self.headroom()
        line: list[MoldableJob] = list(self.queue)
        going: Going = []
        while line:
            row = self.choose(line[0], line[1:], free, watts, going)
            if row is None:
                break
            job = line.pop(0)
            going.append((job, row))
            free, watts = free - row.nodes, watts - self.adds(job, row)
        if line and free > 0:
            self.backfill(line[0], line[1:], free, watts, going)
        for job, row in going:
            self.begin(job, row)

    def backfill(self, head: MoldableJob, others: list[MoldableJob], free: int, watts: float, going: Going) -> None:
        """Let others pass the head, each asked until it is refused or starts."""
        at, extra, extra_w = self.reservation_for(self.wants(head).nodes, self.needs(head), free, watts, going)
        head.reserved = min(head.reserved, at)
        while free > 0:
            able: Going = []
            for job in list(others):
                row = self.passing(job, free, watts, going, (at, extra, extra_w))
                if row is None:
                    others.remove(job)
                    continue
                able.append((job, row))
                if not self.setup.best_fit:
                    break
            if not able:
                return
            job, row = max(able, key=lambda it: self.adds(*it)) if self.setup.best_fit else able[0]
            if row.told_time > at - self.now:
                extra, extra_w = extra - row.nodes, extra_w - self.adds(job, row)
            free, watts = free - row.nodes, watts - self.adds(job, row)
            going.append((job, row))
            others.remove(job)

    def passing(
        self, job: MoldableJob, free: int, watts: float, going: Going, left: tuple[float, float, float]
    ) -> Row | None:
        """The configuration in which a job passes the head, or None; ``left``: its reservation, and what is extra."""
        row = self.choose(job, None, free, watts, going)
        return row if row is not None and self.may_pass(job, row, *left) else None

    def may_pass(self, job: MoldableJob, row: Row, at: float, extra: float, extra_w: float) -> bool:
        """Whether a job is gone before the head starts, or content with what is left over then."""
        if at < math.inf:
            self.doubt(row.told_time, at - self.now)
        return row.told_time <= at - self.now or (row.nodes <= extra and self.adds(job, row) <= extra_w)


class Naive(Rmap):
    """The fastest configuration under the share; waits until the share is free."""


class Traditional(Rmap):
    """The nodes asked for, all cores, no cap."""

    def is_small(self, job: MoldableJob) -> bool:
        """All are."""
        return True


class Adaptive(Rmap):
    """As Naive, or at once the fastest with what is left if that keeps what was asked for."""

    def choose(
        self, job: MoldableJob, behind: Sequence[MoldableJob] | None, free: int, watts: float, going: Going
    ) -> Row | None:
        """Algorithm 1: as Naive where the share is free, else by the power and nodes that are.

        By its letter (``power_only``) a job that has the power and not the nodes waits for them.
        """
        row = super().choose(job, behind, free, watts, going)
        if row is not None or not job.rows or self.is_small(job):
            return row
        if self.setup.power_only and self.needs(job) <= watts:
            return None
        row = self.fastest(job, job.rows, watts, free)
        return row if row is not None and self.allowed(job, row) else None

    def allowed(self, job: MoldableJob, row: Row) -> bool:
        """Whether a configuration takes at most the tolerated part longer than was asked for."""
        return job.request == math.inf or row.told_time <= (1.0 + self.setup.slower) * job.request
