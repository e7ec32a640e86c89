"""What is new since the machine was last looked at, and which jobs are not as the state wants them.

Most jobs wait, or run, for many looks in a row. Rows of a snapshot are compared by identity first (a resource manager
that shows what changed hands out the others again), rows of the state as whole arrays: what is left is looked at by
name.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import get_args

import numpy as np
import numpy.typing as npt

from wattline.live.controller.ledger import Ledger
from wattline.live.machine.base import JobSeen, Phase
from wattline.model import codes
from wattline.model.state.record import State

PHASES: dict[str, int] = {phase: code for code, phase in enumerate(get_args(Phase), 1)}
"""Phases as codes; 0: nobody was seen in this row."""
DIFFERENCES = (
    (codes.STARTING, ("waiting", "starting")),
    (codes.PAUSED, ("running",)),
    (codes.RUNNING, ("paused",)),
    (codes.WAITING, ("starting", "running", "paused")),
)
"""Statuses of the state and phases that do not go together, or not for long."""


def _table() -> npt.NDArray[np.bool_]:
    found = np.zeros((len(codes.STATUS_NAMES), len(PHASES) + 1), dtype=np.bool_)
    for status, phases in DIFFERENCES:
        found[status, [PHASES[phase] for phase in phases]] = True
    return found


class News:
    """The last look at machine and state."""

    def __init__(self) -> None:
        self.jobs: dict[str, JobSeen] = {}
        """Jobs of the last snapshot, by name."""
        self._rows: Sequence[JobSeen] = ()
        self._then = (np.zeros(0, dtype=np.int64),) * 3
        self._phase = np.zeros(0, dtype=np.int8)
        self._differ = _table()

    def of_machine(self, rows: Sequence[JobSeen]) -> set[str]:
        """Take a snapshot's jobs; return the names of those that are new, changed or gone."""
        if len(rows) == len(self._rows) and all(map(operator.is_, rows, self._rows)):
            return set()
        before, jobs = self.jobs, {job.id: job for job in rows}
        self.jobs, self._rows = jobs, tuple(rows)
        found = {name for name, job in jobs.items() if (old := before.get(name)) is not job and old != job}
        return found | (before.keys() - jobs.keys())

    def of_state(self, ledger: Ledger) -> set[str]:
        """Return the names of jobs that have another status, or other nodes, than when ``note`` was called last."""
        now = _of(ledger.state)
        if now[0].size != self._then[0].size:
            return set(ledger.row)
        status, held, since = (a != b for a, b in zip(now, self._then, strict=True))
        name = ledger.name
        return {name[row] for row in np.flatnonzero(status | held | since).tolist() if row in name}

    def note(self, ledger: Ledger, changed: set[str]) -> None:
        """Keep how the state is now, and the phases of jobs that changed."""
        self._then = tuple(a.copy() for a in _of(ledger.state))  # type: ignore[assignment]
        rows = self._then[0].size
        if self._phase.size != rows:
            self._phase = np.concatenate([self._phase[:rows], np.zeros(max(0, rows - self._phase.size), dtype=np.int8)])
        for name in changed:
            row, job = ledger.row.get(name), self.jobs.get(name)
            if row is not None:
                self._phase[row] = 0 if job is None else PHASES[job.phase]

    def differing(self, ledger: Ledger) -> list[str]:
        """Return the jobs whose phase, as it was seen, is not what the state wants; in the order in which they came."""
        status, name = ledger.state.status, ledger.name
        rows = np.flatnonzero(self._differ[status[: self._phase.size], self._phase])
        found = {name[row] for row in rows.tolist() if row in name}
        return [one for one in ledger.row if one in found] if found else []


def _of(s: State) -> tuple[npt.NDArray[np.int64], ...]:
    return s.status, s.held, s.resumed_s.view(np.int64)
