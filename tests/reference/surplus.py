"""Our ``surplus`` in plain Python, from docs/systems/rmap.md (the reading, exactly)."""

from __future__ import annotations

from collections.abc import Sequence

from reference.moldable import MoldableJob, Row
from reference.rmap import Adaptive, Going


class Surplus(Adaptive):
    """The fair share of power and nodes, and what all who wait behind would leave over."""

    def needs(self, job: MoldableJob) -> float:
        """Watts above idle that must be free for the configuration it waits for: what that adds."""
        return self.adds(job, self.wants(job))

    def is_small(self, job: MoldableJob) -> bool:
        """Nobody is treated otherwise."""
        return False

    def choose(
        self, job: MoldableJob, behind: Sequence[MoldableJob] | None, free: int, watts: float, going: Going
    ) -> Row | None:
        """One rule after the other, in the order of the text."""
        want = self.wants(job)
        fits = want.nodes <= free and self.adds(job, want) <= watts
        if not job.rows:
            return want if fits else None
        share, nodes = self.share(job), job.asked
        if behind is not None:  # who passes the head has its share and no more
            left = watts if self.limit_w == float("inf") else watts - sum(self.share(other) for other in behind)
            share_and_more = max(share, left)
            nodes = max(nodes, free - sum(other.asked for other in behind))
        else:
            share_and_more = share
        own = self.fastest(job, job.rows, min(watts, share_and_more), min(free, nodes))
        if own is not None and share <= watts and own.told_time <= want.told_time:
            return own
        if own is not None and self.allowed(job, own):
            return own
        most = self.fastest(job, job.rows, watts, free)
        if most is not None and self.allowed(job, most):
            return most
        if fits:
            return want
        return self.sooner(job, most, free, watts, going) if behind is not None else None

    def sooner(self, job: MoldableJob, row: Row | None, free: int, watts: float, going: Going) -> Row | None:
        """The fastest with all that is left, if the head ends sooner so than by waiting."""
        if row is None or free == 0:
            return None
        want = self.wants(job)
        at, _, _ = self.reservation_for(want.nodes, self.adds(job, want), free, watts, going)
        self.doubt(self.now + row.told_time, at + want.told_time)
        return row if self.now + row.told_time <= at + want.told_time else None
