"""What clients are shown of jobs, ready to be sent: all of it, or what changed since they last asked."""

from __future__ import annotations

import json
import os
from collections import OrderedDict, deque
from dataclasses import dataclass, field

REMEMBERED = 10_000
"""Jobs that are gone and still named to clients that ask what changed; who asks later gets all jobs again."""


@dataclass
class Changes:
    """Rows of jobs in the order in which they changed, each with the number of its change."""

    epoch: str = field(default_factory=lambda: os.urandom(8).hex())
    """This life of the launcher: numbers of changes of another mean nothing."""
    number: int = 0
    _rows: OrderedDict[str, tuple[int, bytes]] = field(default_factory=OrderedDict)
    _gone: deque[tuple[int, str]] = field(default_factory=deque)
    _gone_since: int = 0

    def show(self, job: str, row: dict[str, object]) -> None:
        """Note that a job is new or has changed."""
        self.number += 1
        self._rows[job] = (self.number, json.dumps(row, separators=(",", ":")).encode())
        self._rows.move_to_end(job)

    def drop(self, job: str) -> None:
        """Note that a job is not shown any more."""
        if self._rows.pop(job, None) is None:
            return
        self.number += 1
        self._gone.append((self.number, job))
        while len(self._gone) > REMEMBERED:
            self._gone_since = self._gone.popleft()[0]

    def all(self) -> bytes:
        """Return the rows of all jobs, as the inside of a JSON list."""
        return b",".join(row for _, row in self._rows.values())

    def since(self, epoch: object, number: object) -> tuple[bytes, list[str]] | None:
        """Return rows that changed after a number, and jobs that are gone; None when only all rows can tell."""
        if epoch != self.epoch or not isinstance(number, int) or not self._gone_since <= number <= self.number:
            return None
        rows: list[bytes] = []
        for changed, row in reversed(self._rows.values()):
            if changed <= number:
                break
            rows.append(row)
        gone: list[str] = []
        for changed, job in reversed(self._gone):
            if changed <= number:
                break
            gone.append(job)
        return b",".join(rows), gone
