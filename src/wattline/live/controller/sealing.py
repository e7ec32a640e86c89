"""A journal of a live run, hour by hour: the same tables as a simulated run leaves, and what meters said.

``cut`` takes, between two ticks, what a journal of the time since the last one needs: a state with a row for each job
of that time, those that left their rows included. ``Part.write`` makes the tables and writes them, in a thread if need
be. A job that is not over is in this journal (unfinished) and in the next; energies of the machine are those of the
hour, those of a job are its own from its start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints
from wattline.control.rows import FACTS
from wattline.errors import RunError
from wattline.journal.journal import write_journal
from wattline.live.controller.ledger import Ledger
from wattline.live.controller.record import JOB_FIELDS, MEASURED, STATUS, Record, job_bits
from wattline.model import codes
from wattline.model.jobs import JobTable
from wattline.model.kinds import kind_entry
from wattline.model.state.layout import allocate
from wattline.model.state.record import FIELDS, State
from wattline.wiring.bound import Bound
from wattline.wiring.logs import LOGS
from wattline.wiring.result import Result
from wattline.wiring.tables import EVENTS_OF_JOBS, frames, manifest, running_energy_j

OTHER_NUMBERS = 10**15
"""Jobs whose names are no numbers are counted from here on."""

SAME_S = 1e-6
"""An end so close to the one that was expected is that one: clocks since 1970 are not finer."""

Texts = Mapping[str, Sequence[str]]
"""Names of the codes of ``user``, ``group`` and ``kind``."""


@dataclass(frozen=True)
class Part:
    """What a journal of a stretch of a live run is made of; nothing of it is shared with the run."""

    result: Result
    measured: Floats
    told_submit: Ints
    """Numbers of jobs whose submission an earlier journal has told."""
    told_start: Ints
    number: int

    def write(self, folder: Path, *, name: str, site: str = "", about: Mapping[str, Any] | None = None) -> None:
        """Make the tables and write the journal; ``about`` replaces entries of its manifest."""
        tables = frames(self.result)
        tables["events"] = self._news(tables["events"])
        if len(self.measured):
            tables["measured"] = dict(zip(MEASURED, self.measured.T, strict=True))
            tables["measured"]["nodes"] = tables["measured"]["nodes"].astype(np.int64)
        told = manifest(self.result, name=name, source=f"live run, part {self.number}", scenario=site)
        told["cluster"] |= {
            "machine": {"unit": "node", "per_node": 1, "words": ""},
            "power": {"basis": "given", "words": "modelled; what meters said is in the table `measured`"},
        }
        told["kinds"] = [kind_entry(kind) for kind in self.result.options.kinds]
        write_journal(folder, tables, told | {"regulation": None, "accounts": None, "resume": None} | dict(about or {}))

    def _news(self, events: dict[str, Any]) -> dict[str, Any]:
        """Return the events without those that an earlier journal has told."""
        kinds, job = events["event"].codes, events["job_id"]
        known = (kinds == EVENTS_OF_JOBS["submit"]) & np.isin(job, self.told_submit)
        known |= (kinds == EVENTS_OF_JOBS["start"]) & np.isin(job, self.told_start)
        kept = {column: values[~known] for column, values in events.items() if column != "event"}
        return {**kept, "event": events["event"]._replace(codes=kinds[~known])}


@dataclass
class Sealer:
    """Remembers where the last journal ended."""

    number: int = 0
    start_s: float = float("nan")
    told: set[int] = field(default_factory=set)
    """Serials of jobs that an earlier journal has told the end of, and that still have their rows."""
    submitted: set[int] = field(default_factory=set)
    started: set[int] = field(default_factory=set)
    """Of those that have not ended."""
    node_j: Floats = field(default_factory=lambda: np.zeros((0, 4)))
    node_s: Floats = field(default_factory=lambda: np.zeros((0, 4)))
    row: Floats = field(default_factory=lambda: np.zeros(0))
    """The last row of the timeline."""

    def cut(self, ledger: Ledger, texts: Texts | None = None) -> Part:
        """Take what the journal since the last cut needs, and begin the next one."""
        record = ledger.record
        if not isinstance(record, Record):
            raise RunError("a live run without a record has no journal")
        ledger.empty_logs()
        s = ledger.state
        if self.node_j.size == 0:
            self.start_s, self.node_j, self.node_s = (
                float(s.start_s[0]),
                np.zeros_like(s.node_j),
                np.zeros_like(s.node_s),
            )
        serials, bits = self._jobs(record, s)
        numbers = np.array([number_of(record.jobs.name[i], i) for i in serials], dtype=np.int64)
        small, table = self._compact(ledger.bound, record, serials, bits, numbers, texts or {})
        logs = self._logs(record, serials)
        b = ledger.bound
        result = Result(table, b.cluster, b.policies, b.options, small, logs, b.notes, "until", 0.0, b.seed)
        at = {int(serial): i for i, serial in enumerate(serials)}
        part = Part(
            result,
            np.array(record.measured).reshape(-1, len(MEASURED)),
            numbers[[at[i] for i in self.submitted if i in at]],
            numbers[[at[i] for i in self.started if i in at]],
            self.number,
        )
        self._go_on(ledger, record, serials, small)
        return part

    def _jobs(self, record: Record, s: State) -> tuple[Ints, Ints]:
        """Return the serials of the jobs of this stretch in order of their submission, and their numbers as bits."""
        rows = {serial: row for serial, row in record.rows().items() if serial not in self.told}
        present = np.array(sorted(rows), dtype=np.int64)
        of_rows = job_bits(s, np.array([rows[int(i)] for i in present], dtype=np.int64))
        arrived = of_rows[:, STATUS] != codes.FUTURE
        gone = np.array(sorted(record.jobs.ended), dtype=np.int64)
        of_gone = np.array([record.jobs.ended[int(i)] for i in gone], dtype=np.int64).reshape(-1, len(JOB_FIELDS))
        serials = np.concatenate([gone, present[arrived]])
        bits = np.vstack([of_gone, of_rows[arrived]])
        submit_s = np.array([record.jobs.known[int(i)][0] for i in serials])
        order = np.lexsort((serials, submit_s))
        return serials[order], bits[order]

    def _compact(
        self, b: Bound, record: Record, serials: Ints, bits: Ints, numbers: Ints, texts: Texts
    ) -> tuple[State, JobTable]:
        """Return a state with a row for each job of this stretch, and their table."""
        s, n = b.state, len(serials)
        small = allocate(replace(s.sizes, J=n, spare=0, NJ=n if s.sizes.NJ else 0, D=1))
        for name, array in s.arrays().items():
            to, shape = getattr(small, name), FIELDS[name][1].shape
            if shape not in ("J", "NJ") and shape[0] != "D" and to.shape == array.shape:
                to[...] = array
        for i, name in enumerate(JOB_FIELDS):
            to = getattr(small, name)
            if to.size:
                to[:] = bits[:, i].view(to.dtype)
        known = np.array([record.jobs.known[int(i)] for i in serials]).reshape(n, len(FACTS))
        facts = {name: known[:, i] for i, name in enumerate(FACTS)}
        small.submit_s[:] = facts["submit_s"]
        small.start_s[0] = self.start_s
        small.n_arrived[0] = small.n_jobs[0] = n
        small.node_j[:] -= self.node_j
        small.node_s[:] -= self.node_s
        at = {int(serial): i for i, serial in enumerate(serials)}
        after = np.array([at.get(record.jobs.after.get(int(i), -1), -1) for i in serials], dtype=np.int64)
        kinds = texts.get("kind", [kind.name for kind in b.options.kinds])
        table = JobTable.build(
            job_id=numbers,
            submit_s=facts["submit_s"],
            work_s=_work_s(b, small, facts["work"]),
            nodes=facts["nodes"].astype(np.int64),
            request_s=np.where(np.isfinite(facts["request_s"]), facts["request_s"], np.nan),
            user=facts["user"].astype(np.int64),
            group=facts["group"].astype(np.int64),
            kind=facts["kind"].astype(np.int64),
            partition=facts["pool"].astype(np.int64) if len(b.cluster.classes) > 1 else np.full(n, -1),
            after=after,
            priority=facts["priority"],
            think_s=facts["think_s"],
            draw_w=facts["draw_w"],
            floor_w=facts["floor_w"],
            stretch=facts["stretch"],
            users=_names(texts.get("user", ()), facts["user"]),
            groups=_names(texts.get("group", ()), facts["group"]),
            kinds=_names(kinds, facts["kind"]),
            partitions=tuple(c.name for c in b.cluster.classes) if len(b.cluster.classes) > 1 else (),
        )
        return small, table

    def _logs(self, record: Record, serials: Ints) -> dict[str, npt.NDArray[Any]]:
        """Return what was logged since the last cut, with places in ``serials`` for jobs."""
        order = np.argsort(serials, kind="stable")
        logs: dict[str, npt.NDArray[Any]] = {}
        for name, (_, arrays) in LOGS.items():
            for i, array in enumerate(arrays):
                pieces = [one[i] for one in record.logs[name]]
                logs[array] = np.concatenate(pieces) if pieces else np.zeros(_EMPTY[array], dtype=FIELDS[array][0])
        of_jobs = np.isin(logs["a_kind"], (codes.ACT_START, codes.ACT_STOP, codes.ACT_RESUME, codes.ACT_JOB_CAP))
        logs["a_job"] = np.where(of_jobs, _places(logs["a_job"], serials, order), logs["a_job"])
        logs["ev_job"] = _places(logs["ev_job"], serials, order)
        logs["px_job"] = _places(logs["px_job"], serials, order)
        held = logs["px_job"] >= 0
        for array in LOGS["placement"][1]:
            logs[array] = logs[array][held]
        if self.row.size:
            logs["timeline"] = np.vstack([self.row, logs["timeline"]])
        return logs

    def _go_on(self, ledger: Ledger, record: Record, serials: Ints, small: State) -> None:
        """Forget what was told, and note what the next journal need not tell again."""
        s = ledger.state
        over, begun = small.status >= codes.FINISHED, ~np.isnan(small.started_s)
        gone = set(record.jobs.ended)
        for serial in gone:
            record.jobs.forget(serial)
        present = set(record.rows())
        self.told = (self.told | set(serials[over].tolist())) & present
        self.submitted = set(serials[~over].tolist())
        self.started = set(serials[~over & begun].tolist())
        record.told = self.told
        running_j = running_energy_j(small)
        self.node_j = s.node_j.copy()
        self.node_j[:, 0] += np.bincount(small.pool, running_j, minlength=len(self.node_j))
        self.node_s = s.node_s.copy()
        rows = [one[0] for one in record.logs["timeline"] if len(one[0])]
        if rows:
            self.row = rows[-1][-1].copy()
        self.start_s = float(s.now[0])
        if self.row.size:
            self.row[codes.TL_TIME] = self.start_s
        record.logs = {name: [] for name in LOGS}
        record.measured = []
        self.number += 1

    # -------------------------------------------------------------- to and from plain data

    def freeze(self) -> dict[str, Any]:
        """Return it as plain data, for a checkpoint."""
        return {
            "number": self.number,
            "start_s": self.start_s,
            **{name: sorted(getattr(self, name)) for name in ("told", "submitted", "started")},
            **{name: getattr(self, name).tolist() for name in ("node_j", "node_s", "row")},
        }

    @classmethod
    def thaw(cls, words: Mapping[str, Any]) -> Sealer:
        """Return it again."""
        told, submitted, started = (set(words[name]) for name in ("told", "submitted", "started"))
        node_j, node_s = (np.array(words[name], dtype=np.float64).reshape(-1, 4) for name in ("node_j", "node_s"))
        row = np.array(words["row"], dtype=np.float64)
        return cls(int(words["number"]), float(words["start_s"]), told, submitted, started, node_j, node_s, row)


_EMPTY: dict[str, Any] = {array: 0 for _, arrays in LOGS.values() for array in arrays} | {
    "timeline": (0, codes.TL_COLUMNS)
}


def number_of(name: str, serial: int) -> int:
    """Return the number of a job in journals: its name where that is one."""
    return int(name) if name.isascii() and name.isdigit() and len(name) < 16 else OTHER_NUMBERS + serial


def _names(given: Sequence[str], used: Floats) -> tuple[str, ...]:
    """Return the names of codes; codes without one are called by their numbers."""
    return (*given, *(str(i) for i in range(len(given), int(used.max(initial=-1)) + 1)))


def _places(found: Ints, serials: Ints, order: Ints) -> Ints:
    """Return where serials stand in a list; -1 for those that do not."""
    if not serials.size:
        return np.full(found.shape, -1)
    at = np.searchsorted(serials, found, sorter=order)
    place = order[np.minimum(at, serials.size - 1)]
    return np.asarray(np.where(serials[place] == found, place, -1), dtype=np.int64)


def _work_s(b: Bound, s: State, told_s: Floats) -> Floats:
    """Return the work of jobs: what they did where they ended otherwise than was told.

    Where nothing slows jobs down that is the time they ran. Under caps it is what was told less what was left; a job
    that took longer keeps what was told.
    """
    if b.options.configurations:
        return told_s
    slowed = any(m.caps or m.solo_caps for m in b.policies.slots()) or any(c.levels for c in b.cluster.classes)
    done_s = told_s - s.remaining if slowed else s.ran_s - s.woke_s
    new = (s.status == codes.FINISHED) & (np.abs(done_s - told_s) > SAME_S)
    return np.where(new, np.maximum(done_s, 0.0), told_s)
