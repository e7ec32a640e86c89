"""Dependencies of held jobs: Slurm does not look at them while a job is held, so their text is read here.

What is found is a guess on the safe side of nothing: a job that is released too early does not start, Slurm says
``Dependency``, and it is held again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from wattline.live.machine.slurm.text import JobRow

TERM = re.compile(r"(\w+)(?::([0-9]+(?:_(?:[0-9]+|\*))?)(?:\+\d+)?)?(?:\((\w+)\))?")


class Others:
    """Jobs that others may wait for: those that have not ended."""

    def __init__(self, rows: Iterable[JobRow], pending: Iterable[str], ended: Iterable[str]) -> None:
        self._rows, self._pending, self._ended = rows, frozenset(pending), frozenset(ended)
        self._there: set[str] | None = None
        self._not_begun: set[str] = set()

    def _look(self) -> set[str]:
        """Return all who have not ended, by name and by the number of their array."""
        if self._there is None:
            self._there = set()
            for row in self._rows:
                if row.state not in self._ended:
                    names = {row.id, row.number, row.id.partition("_")[0]}
                    self._there |= names
                    if row.state in self._pending:
                        self._not_begun |= names
        return self._there

    def keep(self, dependency: str) -> bool:
        """Tell whether a dependency keeps a job from starting.

        >>> Others([], [], []).keep("afterok:12(unfulfilled)")
        False
        """
        if not dependency:
            return False
        terms = [self._keeps(term) for term in re.split(r"[,?]", dependency)]
        return all(terms) if "?" in dependency else any(terms)

    def _keeps(self, text: str) -> bool:
        found = TERM.fullmatch(text.strip())
        if found is None:
            return True
        kind, job, state = found.groups()
        if state == "fulfilled" or job is None:  # "singleton" names nobody: it is tried
            return False
        there = self._look()
        return job.removesuffix("_*") in (self._not_begun if kind == "after" else there)
