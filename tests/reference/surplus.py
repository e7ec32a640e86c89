"""Our ``surplus`` in plain Python, from docs/systems/rmap.md (the reading, exactly)."""

from __future__ import annotations

from collections.abc import Sequence

from reference.moldable import MoldableJob, Row
from reference.rmap import Adaptive, Going

TO_COME, WAITING, LOOKED_AT = 0.5, 0.7, 8


class Surplus(Adaptive):
    """The configuration that costs all who wait the least time, as far as a job tolerates that."""

    def needs(self, job: MoldableJob) -> float:
        """Watts above idle that must be free for the configuration it waits for: what that adds."""
        return self.adds(job, self.wants(job))

    def is_small(self, job: MoldableJob) -> bool:
        """Nobody is treated otherwise."""
        return False

    def tolerates(self, job: MoldableJob, row: Row) -> bool:
        """Whether a configuration takes no longer than is tolerated, or than the one that is waited for."""
        return self.allowed(job, row) or row.told_time <= self.wants(job).told_time

    def fits(self, job: MoldableJob, row: Row, free: int, watts: float) -> bool:
        """Whether nodes and watts suffice, those that its nodes draw while they idle counted once."""
        return row.nodes <= free and self.adds(job, row) <= watts

    def beside(self, job: MoldableJob, free: int, watts: float) -> bool:
        """Whether a job that waits could start with what another one leaves."""
        if not job.rows:
            return self.fits(job, self.wants(job), free, watts)
        row = self.fastest(job, job.rows, watts, free)
        return row is not None and self.tolerates(job, row)

    def cost(self, job: MoldableJob, row: Row, behind: int, blocked: int) -> float:
        """Its run time, and the time that it takes from others: part of the machine × time, or all of it."""
        part = row.nodes / self.count
        if self.limit_w < float("inf"):
            part = max(part, self.told_power(job, row) / self.limit_w)
        return row.told_time * (1.0 + (TO_COME * part + WAITING * ((behind - blocked) * part + blocked)))

    def choose(
        self, job: MoldableJob, behind: Sequence[MoldableJob] | None, free: int, watts: float, going: Going
    ) -> Row | None:
        """The cheapest of all that fit and are tolerated, unless waiting is cheaper."""
        assert behind is not None  # who passes the head is asked by ``passing``
        want = self.wants(job)
        if not job.rows:
            return want if self.fits(job, want, free, watts) else None
        found = []
        for row in sorted(job.rows, key=lambda r: (r.nodes, r.cores, r.cap)):
            if self.fits(job, row, free, watts) and self.tolerates(job, row):
                left = free - row.nodes, watts - self.adds(job, row)
                blocked = sum(not self.beside(other, *left) for other in behind[:LOOKED_AT])
                found.append((self.cost(job, row, len(behind), blocked), row))
        if not found:
            return None
        least, best = min(found, key=lambda it: it[0])
        for cost, row in found:
            if row is not best and cost != least:
                self.doubt(cost, least)
        if self.fits(job, want, free, watts):
            return best
        at, _, _ = self.reservation_for(want.nodes, self.adds(job, want), free, watts, going)
        now, later = self.cost(job, best, len(behind), 0), at - self.now + self.cost(job, want, len(behind), 0)
        self.doubt(now, later)
        return best if now <= later else None

    def passing(
        self, job: MoldableJob, free: int, watts: float, going: Going, left: tuple[float, float, float]
    ) -> Row | None:
        """The fastest of all that is gone in time, else of what is extra, else the one that is waited for."""
        _, extra, extra_w = left
        fastest = self.fastest(job, job.rows, watts, free)
        if fastest is not None and self.tolerates(job, fastest) and self.may_pass(job, fastest, *left):
            return fastest
        small = self.fastest(job, job.rows, min(watts, extra_w), min(free, int(extra)))
        if small is not None and self.tolerates(job, small):
            return small
        want = self.wants(job)
        return want if self.fits(job, want, free, watts) and self.may_pass(job, want, *left) else None
