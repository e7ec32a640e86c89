"""Standard Workload Format (the Parallel Workloads Archive's): read a log as a trace.

Which records are jobs
    A record is a job if it ran: its run time is known (0 included) and it held processors. Records of jobs cancelled
    before they started (status 5 without run time) or that never got processors are dropped: replaying them would
    make them wait for, and take, processors that the real machine never gave them. Of a job that was checkpointed, only
    the line that sums it up is kept, if there is one. A job of run time 0 that did start
    is kept: it waits its turn like any other and ends the instant it starts, which is what the textbook simulators do.

Sizes
    Allocated processors (field 5), else requested ones (field 8). Whether they become whole nodes or stay processors is
    told by the header's MaxNodes and MaxProcs together with the jobs (``reading.machine``); ``cores_per_node`` says it
    instead.

Times
    Submit times stay as they are in the file, so that schedules can be compared with other people's; the simulation
    starts at the first of them. Recorded submit times already contain think times: ``dependencies=True`` makes the
    job also wait for its preceding job (field 17) to end and for the think time (field 18) after that.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from wattline.arrays import Ints
from wattline.errors import InputError, TraceError
from wattline.formats.jobs.swf.text import FIELDS, Columns, SwfText, parse_swf
from wattline.model.jobs import UNKNOWN, JobTable
from wattline.model.names import Names
from wattline.reading.began import header_epoch
from wattline.reading.machine import header_oddities, size_machine
from wattline.reading.notes import ROUNDED, Action, Finding, Trace, build_jobs, refuse_empty, settle
from wattline.reading.rows import out_of_order

if TYPE_CHECKING:
    import polars as pl

Mask = npt.NDArray[np.bool_]

SUBMIT, WAIT, RUN, ALLOCATED, REQUESTED, REQUEST, STATUS = 1, 2, 3, 4, 7, 8, 10
USER, GROUP, EXECUTABLE, QUEUE, PARTITION, PRECEDING, THINK = 11, 12, 13, 14, 15, 16, 17
CANCELLED, PARTIAL = 5, (2, 3, 4)
_SMALL_CODE = 1_000_000
_NAMED = r"^\s*([0-9]{1,18})[0-9]*\s+(.+)$"
"""A header line's value that names a number."""
_AT_ONCE = 1 << 20
"""Characters of such lines that are looked at together."""


def read_swf(
    path: Path | str,
    *,
    strict: bool = False,
    cores_per_node: int | None = None,
    nodes: int | None = None,
    dependencies: bool = False,
    partition_from: Literal["partition", "queue"] | None = None,
) -> Trace:
    """Read a Standard Workload Format log, plain or gzip.

    ``partition_from`` says which field names a job's partition; by default field 16, or the queue (field 15) if the
    log leaves 16 empty. ``nodes`` is the size of the machine that the jobs are for, where a user says it: one of the
    header's two numbers tells in which unit they are counted.
    """
    if cores_per_node is not None and cores_per_node < 1:
        raise InputError(f"cores_per_node must be at least 1 (got {cores_per_node})")
    log = _Log(parse_swf(path), path)
    log.findings.extend(log.parsed.text.not_utf8(benign=True))  # records are numbers: these are comments and names
    _refuse_foreign(log)
    keep = _drop_what_never_ran(log)
    header = log.parsed.header
    epoch, undated = header_epoch(header)
    for key, value, told in (*header_oddities(header), *undated):
        log.findings.append(Finding("kept", told, 1, None, key, value, f"{key}: {value}"))
    machine = size_machine(header, _processors(log)[keep], cores_per_node, nodes)
    _mention_oddities(log, keep, machine.divide, dependencies=dependencies)
    jobs = _build(log, keep, machine.divide, partition_from, epoch) if keep.any() else None
    if jobs is not None and dependencies:
        jobs = _link(log, jobs, keep)
    notes = settle(path, log.findings, strict=strict)
    if jobs is None:
        raise refuse_empty(path, log.records, notes)
    return Trace(jobs, notes, str(path), header, machine.count, log.records, machine)


@dataclass
class _Log:
    """A parsed file and what has been found in it so far."""

    parsed: SwfText
    path: Path | str
    findings: list[Finding] = field(default_factory=list)

    @property
    def records(self) -> int:
        return self.parsed.lines.size + self.parsed.malformed.count

    def note(self, action: Action, reason: str, which: Mask, column: int) -> None:
        rows = np.flatnonzero(which)
        if rows.size:
            line = int(self.parsed.lines[rows[0]])
            value = f"{self.parsed.columns[column][rows[0]]:.16g}"
            text = self.parsed.line_text(line).decode("utf-8", errors="replace")
            self.findings.append(Finding(action, reason, int(rows.size), line, FIELDS[column], value, text))


def _refuse_foreign(log: _Log) -> None:
    """Count wrong records; a file of mostly wrong records is not in this format at all."""
    wrong = log.parsed.malformed
    if not wrong.count:
        return
    if wrong.count * 2 > log.records:
        raise TraceError.at(
            log.path,
            wrong.problem,
            line=wrong.line,
            field=wrong.field,
            value=wrong.value,
            hint=f"{wrong.count} of {log.records} lines are no Standard Workload Format records (18 numbers a line)",
        )
    text = log.parsed.line_text(wrong.line).decode("utf-8", errors="replace")
    reason = f"malformed: field {wrong.field!r}: {wrong.problem} (got {wrong.value!r}) in the first"
    log.findings.append(Finding("dropped", reason, wrong.count, wrong.line, wrong.field, wrong.value, text))


def _drop_what_never_ran(log: _Log) -> Mask:
    """Return which records are jobs; each other record is counted once, under the first reason that fits."""
    column = log.parsed.columns
    never_held = (column[ALLOCATED] <= 0) & ((column[REQUESTED] <= 0) | (column[RUN] == 0))
    reasons: list[tuple[str, Mask, int]] = [
        ("a part of a job that has a line of its own", _partial(column), STATUS),
        ("cancelled before it started", (column[STATUS] == CANCELLED) & (column[RUN] <= 0), STATUS),
        ("never held processors (zero or unknown)", never_held, ALLOCATED),
        ("run time unknown", column[RUN] < 0, RUN),
        ("submit time unknown", column[SUBMIT] < 0, SUBMIT),
    ]
    keep = np.ones(log.parsed.lines.size, dtype=np.bool_)
    for reason, hit, blamed in reasons:
        log.note("dropped", reason, hit & keep, blamed)
        keep &= ~hit
    return keep


def _partial(column: Columns) -> Mask:
    """Return which records are one run of a checkpointed job (status 2, 3, 4) whose summary is there as well."""
    part = np.isin(column[STATUS], PARTIAL)
    if part.any():
        part &= np.isin(column[0], column[0][~part])
    return part


def _mention_oddities(log: _Log, keep: Mask, cores_per_node: int, *, dependencies: bool) -> None:
    column = log.parsed.columns
    log.note("repaired", "out of order: sorted by submit time", out_of_order(column[SUBMIT], keep), SUBMIT)
    asked = keep & (column[ALLOCATED] <= 0)
    log.note("repaired", "allocated processors unknown: the requested ones are taken", asked, ALLOCATED)
    log.note("kept", "run time 0: ends the instant it starts", keep & (column[RUN] == 0), RUN)
    log.note("kept", "requested time unknown", keep & (column[REQUEST] <= 0), REQUEST)
    log.note("kept", "ran longer than requested", keep & (column[REQUEST] > 0) & (column[RUN] > column[REQUEST]), RUN)
    log.note("kept", "job number used before", _repeated(column[0], keep), 0)
    partial = keep & (_processors(log) % cores_per_node != 0)
    log.note("kept", f"not whole nodes of {cores_per_node} processors: {ROUNDED}", partial, ALLOCATED)
    if not dependencies:
        told = "names a preceding job: the recorded submit time is used instead"
        log.note("kept", told, keep & (column[PRECEDING] > 0), PRECEDING)


def _repeated(job_id: npt.NDArray[np.float64], keep: Mask) -> Mask:
    """Return which kept records use a job number that an earlier kept one has."""
    rows = np.flatnonzero(keep)
    repeated = np.zeros(keep.size, dtype=np.bool_)
    if np.any(np.diff(job_id[rows]) <= 0):
        repeated[rows] = True
        repeated[rows[np.unique(job_id[rows], return_index=True)[1]]] = False
    return repeated


def _processors(log: _Log) -> npt.NDArray[np.float64]:
    allocated, requested = log.parsed.columns[ALLOCATED], log.parsed.columns[REQUESTED]
    return np.where(allocated > 0, allocated, requested)


def _build(log: _Log, keep: Mask, cores_per_node: int, partition_from: str | None, epoch: float) -> JobTable:
    column, header = log.parsed.columns, log.parsed.header
    partition = _partition_column(log, partition_from)
    user, users = _codes(column[USER][keep], header.get("User", ""))
    group, groups = _codes(column[GROUP][keep], header.get("Group", ""))
    kind, kinds = _codes(column[EXECUTABLE][keep], header.get("Executable", ""))
    where, partitions = _codes(column[partition][keep], header.get(FIELDS[partition].capitalize(), ""))
    request, wait = column[REQUEST][keep], column[WAIT][keep]
    return build_jobs(
        log.path,
        job_id=column[0][keep],
        submit_s=column[SUBMIT][keep],
        work_s=column[RUN][keep],
        nodes=np.ceil(_processors(log)[keep] / cores_per_node),
        request_s=np.where(request > 0, request, np.nan),
        recorded_wait_s=np.where(wait >= 0, wait, np.nan),
        user=user,
        group=group,
        kind=kind,
        partition=where,
        users=users,
        groups=groups,
        kinds=kinds,
        partitions=partitions,
        epoch_unix_s=epoch,
    )


def _partition_column(log: _Log, wanted: str | None) -> int:
    if wanted is not None:
        return {"partition": PARTITION, "queue": QUEUE}[wanted]
    return PARTITION if np.any(log.parsed.columns[PARTITION] >= 0) else QUEUE


def _codes(numbers: npt.NDArray[np.float64], named: str) -> tuple[Ints, Names]:
    """Number the distinct non-negative values 0, 1, …; a header line ``3 debug`` names the value 3."""
    names = _names(named)
    values = numbers.astype(np.int64)
    known = values >= 0
    if values.size and values.max() < _SMALL_CODE:  # a table is several times faster than sorting
        seen = np.zeros(max(int(values.max()), 0) + 2, dtype=np.bool_)
        seen[values[known]] = True
        distinct = np.flatnonzero(seen)
        place = np.cumsum(seen) - 1
        codes = np.where(known, place[np.where(known, values, 0)], UNKNOWN)
    else:
        distinct = np.unique(values[known])
        codes = np.where(known, np.searchsorted(distinct, values), UNKNOWN)
    return codes, _shown(distinct, names)


def _shown(values: Ints, names: tuple[Ints, pl.Series]) -> Names:
    """Return the names of numbers, or the numbers themselves; where two would look the same, the number follows."""
    import polars as pl

    shown = pl.Series(values).cast(pl.String)
    if not names[0].size:
        return Names.of_series(shown)
    numbers, called = names
    there = np.isin(numbers, values)
    shown = shown.scatter(np.searchsorted(values, numbers[there]), called.filter(pl.Series(there)))
    twice = shown.is_duplicated().arg_true()
    told = shown[twice] + " (" + pl.Series(values)[twice].cast(pl.String) + ")"
    return Names.of_series(shown.scatter(twice, told) if twice.len() else shown)


def _names(lines: str) -> tuple[Ints, pl.Series]:
    """Return the numbers that lines like ``3 debug`` name, rising, and their names; the last line on one counts."""
    import polars as pl

    found = pl.DataFrame(schema={"number": pl.Int64, "name": pl.String})
    at = 0
    while at < len(lines):
        end = lines.find("\n", at + _AT_ONCE)
        end = len(lines) if end < 0 else end
        parts = pl.Series(lines[at:end].split("\n")).str.extract_groups(_NAMED).struct.unnest().drop_nulls()
        number, name = parts.to_series(0).cast(pl.Int64), parts.to_series(1)
        quoted = name.str.starts_with('"').arg_true()
        name = name.scatter(quoted, [unquote_name(text) for text in name[quoted].to_list()])
        found.extend(pl.DataFrame({"number": number, "name": name}))
        at = end + 1
    numbers = found["number"].to_numpy()
    if (numbers[1:] <= numbers[:-1]).any():
        found = found.unique("number", keep="last").sort("number")
    return found["number"].to_numpy(), found["name"]


def quote_name(name: str) -> str:
    """Return a name as it may stand in a header line: as JSON text if blanks or control characters would be lost."""
    plain = name.isprintable() and name == name.strip() and name and not name.startswith('"')
    return name if plain else json.dumps(name)


def unquote_name(text: str) -> str:
    """Undo ``quote_name``."""
    try:
        name = json.loads(text) if text.startswith('"') else text
    except ValueError:
        return text
    return name if isinstance(name, str) else text


def _link(log: _Log, jobs: JobTable, keep: Mask) -> JobTable:
    """Point every job at the row of its preceding job; links that lead nowhere are cut and counted."""
    column = log.parsed.columns
    order = np.flatnonzero(keep)[np.argsort(column[SUBMIT][keep], kind="stable")]
    wanted = column[PRECEDING][order].astype(np.int64)
    ids, first = np.unique(jobs.job_id, return_index=True)
    slot = np.minimum(np.searchsorted(ids, wanted), ids.size - 1)
    row = np.where(ids[slot] == wanted, first[slot], UNKNOWN)
    asked = wanted > 0
    # A predecessor further down would be a loop in time (and may be a loop of jobs): the engine could never start it.
    good = asked & (row >= 0) & (row < np.arange(row.size))
    lost = np.zeros(keep.size, dtype=np.bool_)
    lost[order[asked & ~good]] = True
    log.note("repaired", "preceding job is not an earlier job of the trace: link cut", lost, PRECEDING)
    think = np.maximum(column[THINK][order], 0.0)
    return jobs.with_columns(after=np.where(good, row, UNKNOWN), think_s=np.where(good, think, 0.0))
