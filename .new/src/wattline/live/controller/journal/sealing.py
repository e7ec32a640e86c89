"""A journal of a live run, hour by hour: the same tables as a simulated run leaves, and what meters said.

``Sealer.cut`` copies, between two ticks, what a journal of the time since the last one needs. ``Part.write`` does the
rest, in a thread if need be: it makes a state with a row for each job of that time, those that left their rows
included, and writes the tables. A job that is not over is in this journal (unfinished) and in the next; energies of the
machine are those of the hour, those of a job are its own from its start.
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
from wattline.live.controller.journal.checkpoint import whole
from wattline.live.controller.journal.followed import followed
from wattline.live.controller.journal.record import JOB_FIELDS, MEASURED, STATUS, Record, job_bits
from wattline.live.controller.ledger import Ledger
from wattline.market.bill import Bids
from wattline.model import codes
from wattline.model.jobs import JobTable
from wattline.model.state.layout import allocate
from wattline.model.state.record import FIELDS, State
from wattline.model.state.sizes import Sizes
from wattline.wiring.bound import Bound
from wattline.wiring.logs import LOGS, bid_steps, last_of_instants
from wattline.wiring.manifest import Known, manifest
from wattline.wiring.result import Result
from wattline.wiring.tables import EVENTS_OF_JOBS, frames, running_energy_j

OTHER_NUMBERS = 10**15
"""Jobs whose names are no numbers are counted from here on."""

SAME_S = 1e-6
"""An end so close to the one that was expected is that one: clocks since 1970 are not finer."""

Texts = Mapping[str, Sequence[str]]
"""Names of the codes of ``user``, ``group`` and ``kind``."""


@dataclass(frozen=True)
class Told:
    """What earlier journals have told."""

    number: int = 0
    """How many there are."""
    start_s: float = float("nan")
    """When the last one ended."""
    ended: frozenset[int] = frozenset()
    """Serials of jobs whose end was told, and that still have their rows."""
    submitted: frozenset[int] = frozenset()
    started: frozenset[int] = frozenset()
    """Of those that have not ended."""
    node_j: Floats = field(default_factory=lambda: np.zeros((0, 4)))
    node_s: Floats = field(default_factory=lambda: np.zeros((0, 4)))
    row: Floats = field(default_factory=lambda: np.zeros(0))
    """The last row of the timeline."""
    bid: tuple[float, float] = (float("nan"), 0.0)
    """Mean power (NaN: no bid) and reserve when the last one ended."""
    reading: tuple[float, ...] = ()
    """What meters said last (nothing: never)."""


@dataclass(frozen=True)
class Part:
    """What a journal of a stretch of a live run is made of; nothing of it is changed by the run that goes on."""

    bound: Bound
    """For what never changes: machine, policies, options."""
    sizes: Sizes
    numbers: Floats
    """All of the state but its logs."""
    record: Record
    told: Told
    texts: Texts

    @property
    def number(self) -> int:
        """How many journals there were before."""
        return self.told.number

    def write(self, folder: Path, *, name: str, site: str = "", about: Mapping[str, Any] | None = None) -> None:
        """Make the tables and write the journal; ``about`` replaces entries of its manifest."""
        result, serials = self.result()
        tables = frames(result)
        tables["events"] = self._news(tables["events"], serials, result.jobs.job_id)
        measured = np.array(self.record.measured).reshape(-1, len(MEASURED))
        if len(measured):
            tables["measured"] = dict(zip(MEASURED, measured.T, strict=True))
            tables["measured"]["nodes"] = tables["measured"]["nodes"].astype(np.int64)
        span = (self.told.start_s, float(result.state.now[0]))
        held = [(self.told.start_s, *self.told.reading[1:])] if self.told.reading else []  # until the next one
        readings = np.array([*held, *self.record.measured]).reshape(-1, len(MEASURED))
        regulation, tables["hours"] = followed(tables["timeline"], readings, self._bids(result), span)
        known = Known(
            machine={"unit": "node", "per_node": 1, "words": ""},
            watts={"basis": "given", "words": "modelled; what meters said is in the table `measured`"},
            kinds=result.options.kinds,
            regulation=regulation,
            accounts=None,
            resume=None,
        )
        own = manifest(result, name=name, source=f"live run, part {self.number}", scenario=site, known=known)
        own["trace"]["live"] = True
        write_journal(folder, tables, own | dict(about or {}))

    def _bids(self, result: Result) -> Bids:
        """Return the bid at the begin of this stretch and those that followed it."""
        logs = result.logs
        time_s, mean_w, reserve_w = bid_steps(logs["ev_time_s"], logs["ev_kind"], logs["ev_value"])
        first = (np.array([self.told.start_s]), np.array([self.told.bid[0]]), np.array([self.told.bid[1]]))
        keep = slice(0 if not np.isnan(self.told.bid[0]) else 1, None)
        return Bids(*(np.concatenate(pair)[keep] for pair in zip(first, (time_s, mean_w, reserve_w), strict=True)))

    def result(self) -> tuple[Result, Ints]:
        """Return what the stretch leaves behind, a row for each of its jobs, and their serials."""
        s = allocate(self.sizes)
        whole(s)[...] = self.numbers
        serials, bits = self._jobs(s)
        small, table = self._compact(s, serials, bits)
        b = self.bound
        logs = self._logs(serials)
        return Result(table, b.cluster, b.policies, b.options, small, logs, b.notes, "until", 0.0, b.seed), serials

    def _news(self, events: dict[str, Any], serials: Ints, numbers: Ints) -> dict[str, Any]:
        """Return the events without those that an earlier journal has told."""
        kinds, job = events["event"].codes, events["job_id"]
        known = np.zeros(len(job), dtype=np.bool_)
        for event, told in (("submit", self.told.submitted), ("start", self.told.started)):
            of_these = numbers[np.isin(serials, np.array(sorted(told), dtype=np.int64))]
            known |= (kinds == EVENTS_OF_JOBS[event]) & np.isin(job, of_these)
        kept = {column: values[~known] for column, values in events.items() if column != "event"}
        return {**kept, "event": events["event"]._replace(codes=kinds[~known])}

    def _jobs(self, s: State) -> tuple[Ints, Ints]:
        """Return the serials of the jobs of this stretch in order of their submission, and their numbers as bits."""
        jobs = self.record.jobs
        rows = {serial: row for serial, row in self.record.rows().items() if serial not in self.told.ended}
        present = np.array(sorted(rows), dtype=np.int64)
        of_rows = job_bits(s, np.array([rows[int(i)] for i in present], dtype=np.int64))
        arrived = of_rows[:, STATUS] != codes.FUTURE
        gone = np.array(sorted(jobs.ended), dtype=np.int64)
        of_gone = np.array([jobs.ended[int(i)] for i in gone], dtype=np.int64).reshape(-1, len(JOB_FIELDS))
        serials = np.concatenate([gone, present[arrived]])
        bits = np.vstack([of_gone, of_rows[arrived]])
        submit_s = np.array([jobs.known[int(i)][0] for i in serials])
        order = np.lexsort((serials, submit_s))
        return serials[order], bits[order]

    def _compact(self, s: State, serials: Ints, bits: Ints) -> tuple[State, JobTable]:
        """Return a state with a row for each job of this stretch, and their table."""
        n, told = len(serials), self.told
        small = allocate(replace(s.sizes, J=n, spare=0, NJ=n if s.sizes.NJ else 0, D=1))
        for name, array in s.arrays().items():
            to, shape = getattr(small, name), FIELDS[name][1].shape
            if shape not in ("J", "NJ") and shape[0] != "D" and to.shape == array.shape:
                to[...] = array
        for i, name in enumerate(JOB_FIELDS):
            to = getattr(small, name)
            if to.size:
                to[:] = bits[:, i].view(to.dtype)
        known = np.array([self.record.jobs.known[int(i)] for i in serials]).reshape(n, len(FACTS))
        facts = {name: known[:, i] for i, name in enumerate(FACTS)}
        small.submit_s[:] = facts["submit_s"]
        small.start_s[0] = told.start_s
        small.n_arrived[0] = small.n_jobs[0] = n
        small.node_j[:] -= told.node_j
        small.node_s[:] -= told.node_s
        return small, self._table(small, serials, facts)

    def _table(self, s: State, serials: Ints, facts: Mapping[str, Floats]) -> JobTable:
        """Return what was known of the jobs of this stretch."""
        jobs, b, n = self.record.jobs, self.bound, len(serials)
        at = {int(serial): i for i, serial in enumerate(serials)}
        kinds = self.texts.get("kind") or [kind.name for kind in b.options.kinds]
        classes = tuple(c.name for c in b.cluster.classes)
        return JobTable.build(
            job_id=np.array([number_of(jobs.name[int(i)], int(i)) for i in serials], dtype=np.int64),
            submit_s=facts["submit_s"],
            work_s=_work_s(b, s, facts["work"]),
            nodes=facts["nodes"].astype(np.int64),
            request_s=np.where(np.isfinite(facts["request_s"]), facts["request_s"], np.nan),
            user=facts["user"].astype(np.int64),
            group=facts["group"].astype(np.int64),
            kind=facts["kind"].astype(np.int64),
            partition=facts["pool"].astype(np.int64) if len(classes) > 1 else np.full(n, -1),
            after=np.array([at.get(jobs.after.get(int(i), -1), -1) for i in serials], dtype=np.int64),
            priority=facts["priority"],
            think_s=facts["think_s"],
            draw_w=facts["draw_w"],
            floor_w=facts["floor_w"],
            stretch=facts["stretch"],
            users=_names(self.texts.get("user", ()), facts["user"]),
            groups=_names(self.texts.get("group", ()), facts["group"]),
            kinds=_names(kinds, facts["kind"]),
            partitions=classes if len(classes) > 1 else (),
        )

    def _logs(self, serials: Ints) -> dict[str, npt.NDArray[Any]]:
        """Return what was logged since the last cut, with places in ``serials`` for jobs."""
        order = np.argsort(serials, kind="stable")
        logs: dict[str, npt.NDArray[Any]] = {}
        for name, (_, arrays) in LOGS.items():
            for i, array in enumerate(arrays):
                pieces = [one[i] for one in self.record.logs[name]]
                logs[array] = np.concatenate(pieces) if pieces else np.zeros(_EMPTY[array], dtype=FIELDS[array][0])
        of_jobs = np.isin(logs["a_kind"], (codes.ACT_START, codes.ACT_STOP, codes.ACT_RESUME, codes.ACT_JOB_CAP))
        logs["a_job"] = np.where(of_jobs, _places(logs["a_job"], serials, order), logs["a_job"])
        logs["ev_job"] = _places(logs["ev_job"], serials, order)
        logs["px_job"] = _places(logs["px_job"], serials, order)
        held = logs["px_job"] >= 0
        for array in LOGS["placement"][1]:
            logs[array] = logs[array][held]
        if self.told.row.size:
            logs["timeline"] = np.vstack([self.told.row, logs["timeline"]])
        logs["timeline"] = last_of_instants(logs["timeline"])
        return logs


class Sealer:
    """Remembers what the journals so far have told, and cuts the next one off."""

    def __init__(self, told: Told | None = None) -> None:
        self.told = told or Told()

    @property
    def number(self) -> int:
        """How many journals there are."""
        return self.told.number

    def cut(self, ledger: Ledger, texts: Texts | None = None) -> Part:
        """Take what the journal since the last cut needs, and begin the next one."""
        record = ledger.record
        if not isinstance(record, Record):
            raise RunError("a live run without a record has no journal")
        ledger.empty_logs()
        s = ledger.state
        if self.told.number == 0:
            zero_j, zero_s = np.zeros_like(s.node_j), np.zeros_like(s.node_s)
            self.told = replace(self.told, start_s=float(s.start_s[0]), node_j=zero_j, node_s=zero_s)
        names = {column: tuple(known) for column, known in (texts or {}).items()}
        part = Part(ledger.bound, s.sizes, whole(s).copy(), record.snapshot(), self.told, names)
        self._go_on(s, record)
        return part

    def _go_on(self, s: State, record: Record) -> None:
        """Forget what was told, and note what the next journal need not tell again."""
        for gone in list(record.jobs.ended):
            record.jobs.forget(gone)
        rows = record.rows()
        serial, row = np.array(list(rows), dtype=np.int64), np.array(list(rows.values()), dtype=np.int64)
        over, begun = s.status[row] >= codes.FINISHED, ~np.isnan(s.started_s[row])
        known = s.status[row] != codes.FUTURE
        node_j = s.node_j.copy()
        node_j[:, 0] += np.bincount(s.pool, running_energy_j(s), minlength=len(node_j))
        last, now_s = self.told.row.copy(), float(s.now[0])
        for one in record.logs["timeline"]:
            last = one[0][-1].copy() if len(one[0]) else last
        if last.size:
            last[codes.TL_TIME] = now_s
        self.told = Told(
            number=self.told.number + 1,
            start_s=now_s,
            ended=frozenset(serial[over].tolist()),
            submitted=frozenset(serial[~over & known].tolist()),
            started=frozenset(serial[~over & begun].tolist()),
            node_j=node_j,
            node_s=s.node_s.copy(),
            row=last,
            bid=(float(s.mean_w[0]), float(s.reserve_w[0])),
            reading=record.measured[-1] if record.measured else self.told.reading,
        )
        record.told = set(self.told.ended)
        record.logs = {name: [] for name in LOGS}
        record.measured = []

    # -------------------------------------------------------------- to and from plain data

    def freeze(self) -> dict[str, Any]:
        """Return it as plain data, for a checkpoint."""
        told = self.told
        return {
            "number": told.number,
            "start_s": told.start_s,
            "bid": list(told.bid),
            "reading": list(told.reading),
            **{name: sorted(getattr(told, name)) for name in ("ended", "submitted", "started")},
            **{name: getattr(told, name).tolist() for name in ("node_j", "node_s", "row")},
        }

    @classmethod
    def thaw(cls, words: Mapping[str, Any]) -> Sealer:
        """Return it again."""
        ended, submitted, started = (frozenset(words[name]) for name in ("ended", "submitted", "started"))
        node_j, node_s = (np.array(words[name], dtype=np.float64).reshape(-1, 4) for name in ("node_j", "node_s"))
        row = np.array(words["row"], dtype=np.float64)
        number, start_s = int(words["number"]), float(words["start_s"])
        mean_w, reserve_w = words.get("bid", Told.bid)
        reading = tuple(words.get("reading", ()))
        return cls(Told(number, start_s, ended, submitted, started, node_j, node_s, row, (mean_w, reserve_w), reading))


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
    """Return the work of jobs: what they did where they ended otherwise than was told, by themselves or not.

    Where nothing slows jobs down that is the time they ran. Under caps it is what was told less what was left; a job
    that took longer keeps what was told, as does one that never started.
    """
    if b.options.configurations:
        return told_s
    slowed = any(m.caps or m.solo_caps for m in b.policies.slots()) or any(c.levels for c in b.cluster.classes)
    done_s = told_s - s.remaining if slowed else s.ran_s - s.woke_s
    new = (s.status >= codes.FINISHED) & ~np.isnan(s.started_s) & (np.abs(done_s - told_s) > SAME_S)
    return np.where(new, np.maximum(done_s, 0.0), told_s)
