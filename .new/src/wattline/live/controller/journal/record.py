"""What became of the jobs of a live run, kept until a journal is sealed: rows go to other jobs, and take it along.

A job is counted when it enters; that number, its *serial*, stands for it in everything that is kept here. A row of the
state's logs names a row of the state: whose it was follows from the places in the log at which rows changed hands. (A
row that was freed rests until the next pass is over, so no job's facts share a batch with those of its row's last one.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints
from wattline.control.facts import CANCEL, END, ENTER, FREE
from wattline.control.rows import F_AFTER, FACTS
from wattline.live.controller.ledger import Batch, Ledger
from wattline.model import codes
from wattline.model.state.record import FIELDS, State
from wattline.wiring.logs import LOGS

JOB_FIELDS = tuple(name for name, (_, told) in FIELDS.items() if told.shape in ("J", "NJ"))
"""Fields with a number for each job (some runs have no *NJ* ones)."""

COUNTERS = ("a_n", "ev_n", "px_n")
_JOB_COLUMN = {"decision": ("a_job", 0), "event": ("ev_job", 1), "placement": ("px_job", 2)}
_OF_JOBS = (codes.ACT_START, codes.ACT_STOP, codes.ACT_RESUME, codes.ACT_JOB_CAP)

MEASURED = ("time_s", "power_w", "nodes", "target_w", "limit_w")


@dataclass
class Jobs:
    """Jobs whose numbers are kept: those in the state are known by name and facts alone."""

    name: dict[int, str] = field(default_factory=dict)
    known: dict[int, Floats] = field(default_factory=dict)
    """What was said when they entered (``control.rows.FACTS``)."""
    after: dict[int, int] = field(default_factory=dict)
    ended: dict[int, Ints] = field(default_factory=dict)
    """The bits of ``JOB_FIELDS`` of those that left their rows."""

    def forget(self, serial: int) -> None:
        """Drop a job that no journal will tell of any more."""
        for kept in (self.name, self.known, self.after, self.ended):
            kept.pop(serial, None)


@dataclass
class Record:
    """Follows a ledger (``Ledger.record``)."""

    jobs: Jobs = field(default_factory=Jobs)
    count: int = 0
    """Jobs that have entered."""
    owner: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """The serial that each row had last when the logs were last taken over, -1 for none."""
    logs: dict[str, list[tuple[npt.NDArray[Any], ...]]] = field(default_factory=lambda: {name: [] for name in LOGS})
    """What was logged, with serials for jobs."""
    measured: list[tuple[float, ...]] = field(default_factory=list)
    told: set[int] = field(default_factory=set)
    """Jobs with a row whose end a journal has told: nothing of them is kept when they leave it."""
    _row: dict[int, int] = field(default_factory=dict)
    """Rows of those that have one, by row."""
    _changes: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    _status: dict[int, int] = field(default_factory=dict)
    _places: tuple[int, int, int] = (0, 0, 0)

    def measure(self, time_s: float, power_w: float, nodes: int, target_w: float, limit_w: float) -> None:
        """Keep what the meters said (``journal.schema``: table ``measured``)."""
        self.measured.append((time_s, power_w, float(nodes), target_w, limit_w))

    def rows(self) -> dict[int, int]:
        """Return the serials of the jobs that have a row, and their rows."""
        return {serial: row for row, serial in self._row.items()}

    # -------------------------------------------------------------- following a ledger

    def before(self, ledger: Ledger) -> None:
        """Note how far the logs are."""
        s = ledger.state
        self._places = (int(s.a_n[0]), int(s.ev_n[0]), int(s.px_n[0]))

    def after(self, ledger: Ledger, batch: Batch, first: int, last: int) -> None:
        """Note who came, and keep the numbers of those who left."""
        verbs = batch.facts[first:last, 0]
        told = (verbs == ENTER) | (verbs == END) | (verbs == CANCEL) | (verbs == FREE)
        left: list[int] = []
        for i in np.flatnonzero(told & (batch.results[first:last] >= 0)) + first:
            verb, row = int(batch.facts[i, 0]), int(batch.facts[i, 1])
            if verb == ENTER:
                self._enter(ledger, int(batch.results[i]), batch.facts[i, 2:].copy())
            elif verb == FREE:
                left.append(row)
            else:
                self._status[row] = int(batch.facts[i, 2]) if verb == END else codes.CANCELLED
        if left:
            self._leave(ledger.state, left)

    def _enter(self, ledger: Ledger, row: int, known: Floats) -> None:
        serial = self.count
        self.count += 1
        self.jobs.name[serial] = ledger.name.get(row, "")
        self.jobs.known[serial] = known
        first = int(known[F_AFTER])
        if first >= 0:
            self.jobs.after[serial] = self._row.get(first, -1)
        self._row[row] = serial
        self._changes.append((row, serial, *self._places))

    def _leave(self, s: State, rows: list[int]) -> None:
        bits = job_bits(s, np.array(rows))
        for row, line in zip(rows, bits, strict=True):
            serial = self._row.pop(row)
            line[STATUS] = self._status.pop(row, codes.FINISHED)
            if serial in self.told:
                self.told.discard(serial)
                self.jobs.forget(serial)
            else:
                self.jobs.ended[serial] = line

    # -------------------------------------------------------------- logs

    def take_logs(self, ledger: Ledger) -> None:
        """Take over what the state's logs hold, with serials instead of rows, and leave them empty."""
        b = ledger.bound
        b.empty_logs()
        if self.owner.size < b.state.sizes.J:
            self.owner = np.append(self.owner, np.full(b.state.sizes.J - self.owner.size, -1))
        for name, (_, arrays) in LOGS.items():
            pieces = b.chunks[name]
            if not pieces:
                continue
            columns = {array: np.concatenate(pieces[i :: len(arrays)]) for i, array in enumerate(arrays)}
            if name in _JOB_COLUMN:
                column, number = _JOB_COLUMN[name]
                found = self._whose(columns[column], number)
                if name == "decision":  # other actions name classes there
                    found = np.where(np.isin(columns["a_kind"], _OF_JOBS), found, columns[column])
                columns[column] = found
            self.logs[name].append(tuple(columns[array] for array in arrays))
        b.chunks = {name: [] for name in LOGS}
        b.logged_bytes = 0
        for row, serial, *_ in self._changes:
            self.owner[row] = serial
        self._changes = []
        self._places = (0, 0, 0)

    def _whose(self, rows: Ints, number: int) -> Ints:
        """Return the serials of the rows that a log names, line by line; -1 where it names none."""
        sound = (rows >= 0) & (rows < self.owner.size)
        found = np.where(sound, self.owner[np.where(sound, rows, 0)], -1)
        if self._changes:
            changes = np.array(self._changes, dtype=np.int64)
            span = int(max(rows.size, changes[:, 2 + number].max())) + 1
            keys = changes[:, 0] * span + changes[:, 2 + number]
            order = np.argsort(keys, kind="stable")
            last = np.searchsorted(keys[order], rows * span + np.arange(rows.size), side="right") - 1
            entry = changes[order[np.maximum(last, 0)]]
            found = np.where((last >= 0) & (entry[:, 0] == rows), entry[:, 1], found)
        return np.asarray(found, dtype=np.int64)

    # -------------------------------------------------------------- to and from plain data

    def snapshot(self) -> Record:
        """Return a record that does not change any more; what is in it is shared, and never changed."""
        kept = self.jobs
        jobs = Jobs(dict(kept.name), dict(kept.known), dict(kept.after), dict(kept.ended))
        logs = {name: list(sets) for name, sets in self.logs.items()}
        return Record(
            jobs,
            self.count,
            self.owner.copy(),
            logs,
            list(self.measured),
            set(self.told),
            dict(self._row),
            _status=dict(self._status),
        )

    def freeze(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return the record as plain data and arrays, for a checkpoint; its logs have just been taken over."""
        known, ended = sorted(self.jobs.known), sorted(self.jobs.ended)
        arrays: dict[str, npt.NDArray[Any]] = {
            "owner": self.owner,
            "row": np.array(sorted(self._row.items()), dtype=np.int64).reshape(-1, 2),
            "status": np.array(sorted(self._status.items()), dtype=np.int64).reshape(-1, 2),
            "known": np.array(known, dtype=np.int64),
            "facts": np.array([self.jobs.known[i] for i in known]).reshape(len(known), len(FACTS)),
            "ended": np.array(ended, dtype=np.int64),
            "bits": np.array([self.jobs.ended[i] for i in ended], dtype=np.int64).reshape(len(ended), len(JOB_FIELDS)),
            "after": np.array(sorted(self.jobs.after.items()), dtype=np.int64).reshape(-1, 2),
            "measured": np.array(self.measured).reshape(-1, len(MEASURED)),
        }
        for name, sets in self.logs.items():
            for i in range(len(LOGS[name][1])):
                if sets:
                    arrays[f"log.{name}.{i}"] = np.concatenate([one[i] for one in sets])
        return {"count": self.count, "told": sorted(self.told), "names": [self.jobs.name[i] for i in known]}, arrays

    @classmethod
    def thaw(cls, words: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Record:
        """Return the record again."""
        made = cls(count=int(words["count"]), told=set(words["told"]), owner=arrays["owner"].copy())
        known = arrays["known"].tolist()
        made.jobs.name = dict(zip(known, words["names"], strict=True))
        made.jobs.known = dict(zip(known, arrays["facts"].copy(), strict=True))
        made.jobs.ended = dict(zip(arrays["ended"].tolist(), arrays["bits"].copy(), strict=True))
        made.jobs.after = dict(arrays["after"].tolist())
        made._row, made._status = dict(arrays["row"].tolist()), dict(arrays["status"].tolist())
        made.measured = [tuple(line) for line in arrays["measured"].tolist()]
        for name, (_, columns) in LOGS.items():
            if f"log.{name}.0" in arrays:
                made.logs[name] = [tuple(arrays[f"log.{name}.{i}"] for i in range(len(columns)))]
        return made


STATUS = JOB_FIELDS.index("status")


def job_bits(s: State, rows: Ints) -> Ints:
    """Return the bits of all numbers that a state keeps of some jobs, a line each."""
    found = np.zeros((rows.size, len(JOB_FIELDS)), dtype=np.int64)
    for i, name in enumerate(JOB_FIELDS):
        column = getattr(s, name)
        if column.size:
            found[:, i] = column[rows].view(np.int64)
    return found
