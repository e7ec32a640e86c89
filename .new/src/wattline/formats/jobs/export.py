"""Write a trace to disk: Standard Workload Format, Parquet or CSV.

What a format cannot hold is said, never dropped in silence.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import InputError, TraceError
from wattline.files import write_whole
from wattline.formats.jobs.swf.read import quote_name
from wattline.formats.jobs.swf.text import FIELDS
from wattline.formats.jobs.table.read import METADATA_KEY, NAME_COLUMNS, VERSION
from wattline.model.jobs import ARRAY_COLUMNS, UNKNOWN, JobTable
from wattline.reading.notes import Note, Trace
from wattline.reading.series_column import CANNOT_HOLD, STEP_KEY, to_column

if TYPE_CHECKING:
    import polars as pl

SUFFIXES = (".swf", ".swf.gz", ".parquet", ".csv", ".csv.gz")
_SWF_CANNOT_HOLD = ("priority", "draw_w", "floor_w", "stretch", "peak_w", "recorded_energy_j")


def write_trace(trace: Trace, path: Path | str) -> tuple[Note, ...]:
    """Write in the format that the name's ending says; return notes on what it cannot hold."""
    name = Path(path).name
    if name.endswith((".swf", ".swf.gz")):
        return (*write_swf(trace, path), *_assumed(trace, path), *_lost_zone(trace, path))
    if name.endswith((".csv", ".csv.gz")):  # which holds no date
        return write_table(trace, path)
    if name.endswith(".parquet"):
        return (*write_table(trace, path), *_assumed(trace, path))
    raise InputError(f"{path}: cannot tell the format to write; end the name in one of {', '.join(SUFFIXES)}")


def write_swf(trace: Trace, path: Path | str) -> tuple[Note, ...]:
    """Write Standard Workload Format (gzip if the name ends in .gz): a node is written as one processor."""
    jobs = trace.jobs
    if len(jobs) and jobs.submit_s[0] < 0:
        raise TraceError.at(
            path,
            "the format has no negative submit times",
            field="submit_s",
            value=float(jobs.submit_s[0]),
            hint="shift the trace first",
        )
    lost = tuple(_lost(jobs, path))
    user, users = _numbered("User", jobs.user, jobs.users)
    group, groups = _numbered("Group", jobs.group, jobs.groups)
    kind, kinds = _numbered("Executable", jobs.kind, jobs.kinds)
    partition, partitions = _numbered("Partition", jobs.partition, jobs.partitions)
    linked = (jobs.after >= 0) & _unique_ids(jobs)[jobs.after]
    unknown = np.full(len(jobs), -1, dtype=np.int64)
    columns: list[Ints | Floats] = [
        jobs.job_id,
        jobs.submit_s,
        _or_unknown(jobs.recorded_wait_s),
        jobs.work_s,
        jobs.nodes,
        unknown,
        unknown,
        jobs.nodes,
        _or_unknown(jobs.request_s),
        unknown,
        np.ones_like(unknown),
        user,
        group,
        kind,
        unknown,
        partition,
        np.where(linked, jobs.job_id[jobs.after], -1),
        np.where(linked, jobs.think_s, -1.0),
    ]
    header = _swf_header(trace, [*users, *groups, *kinds, *partitions])
    write_whole(path, header.encode() + _rows(columns))
    return lost


def write_table(trace: Trace, path: Path | str) -> tuple[Note, ...]:
    """Write a job table: Parquet (exact, with header and notes) or, if the name says so, CSV."""
    import io

    buffer = io.BytesIO()
    frame = jobs_frame(trace.jobs)
    if Path(path).name.endswith((".csv", ".csv.gz")):
        frame.write_csv(buffer)
        write_whole(path, buffer.getvalue())
        lost = _lost_series(trace.jobs, "CSV", path) + _lost_blanks(trace.jobs, path)
        return (*lost, *_lost_header(trace, path))
    about: dict[str, Any] = {
        "trace": VERSION,
        "source": trace.source,
        "header": trace.header,
        "suggested_nodes": trace.suggested_nodes,
        "epoch_unix_s": None if math.isnan(trace.jobs.epoch_unix_s) else trace.jobs.epoch_unix_s,
        "zone": None if trace.zone_assumed else trace.zone,
        "notes": [asdict(note) for note in trace.notes],
        "machine": None if trace.machine is None else asdict(trace.machine),
    }
    if trace.jobs.series is not None:
        frame = frame.with_columns(to_column(trace.jobs.series))
        about[STEP_KEY] = trace.jobs.series.step_s
    frame.write_parquet(buffer, compression="zstd", metadata={METADATA_KEY: json.dumps(about)})
    write_whole(path, buffer.getvalue())
    return ()


def jobs_frame(jobs: JobTable) -> pl.DataFrame:
    """Return a job table as a frame: null for what is not known, names instead of codes."""
    import polars as pl

    series: list[pl.Series] = []
    for name, (dtype, _) in ARRAY_COLUMNS.items():
        column = pl.Series(name, getattr(jobs, name))
        if name in NAME_COLUMNS:
            names = pl.Series([*getattr(jobs, NAME_COLUMNS[name]), None], dtype=pl.String)
            text = names.gather(np.where(column.to_numpy() >= 0, column.to_numpy(), len(names) - 1)).alias(name)
            # An Enum keeps the names' order and unused ones; nobody can tell two equal names apart.
            series.append(text.cast(pl.Enum(names.drop_nulls())) if names.is_unique().all() else text)
        else:
            known = column.fill_nan(None) if dtype is np.float64 else column
            series.append(known.set(known == UNKNOWN, None) if name == "after" else known)
    return pl.DataFrame(series)


def _assumed(trace: Trace, path: Path | str) -> list[Note]:
    """Return a note on a date that rests on a zone which nobody said."""
    told = "local times were taken as UTC: the date that is written rests on it (zone says another)"
    return [Note("kept", told, len(trace.jobs), str(path))] if trace.zone_assumed else []


def _lost_zone(trace: Trace, path: Path | str) -> list[Note]:
    """Return a note on a zone of the log for which the format has no place."""
    told = "written without the zone of the log: its clocks show UTC from here on; Parquet keeps it"
    is_said = trace.zone is not None and not trace.zone_assumed
    return [Note("kept", told, len(trace.jobs), f"{path}: {trace.zone}")] if is_said else []


def _lost(jobs: JobTable, path: Path | str) -> list[Note]:
    """Return a note for each column that holds something this format has no field for."""
    notes = []
    for name in _SWF_CANNOT_HOLD:
        default = ARRAY_COLUMNS[name][1]
        column = getattr(jobs, name)
        holds = ~np.isnan(column) if math.isnan(default) else column != default
        if holds.any():
            told = f"written without {name}: Standard Workload Format has no field for it"
            notes.append(Note("kept", told, int(holds.sum()), str(path)))
    notes += _lost_series(jobs, "Standard Workload Format", path)
    linked = (jobs.after >= 0) & _unique_ids(jobs)[jobs.after]
    if linked.any():
        told = "written as preceding job and think time, for which Wattline does not wait when it reads this format"
        notes.append(Note("kept", f"after: {told}", int(linked.sum()), str(path)))
    ambiguous = (jobs.after >= 0) & ~_unique_ids(jobs)[jobs.after]
    if ambiguous.any():
        reason = "written without after: the job to wait for shares its number with another"
        notes.append(Note("kept", reason, int(ambiguous.sum()), str(path)))
    return notes


def _lost_header(trace: Trace, path: Path | str) -> list[Note]:
    """Return a note on what is known of a whole log, for which CSV has no place."""
    there = {
        "the date of second 0": not math.isnan(trace.jobs.epoch_unix_s),
        "the log's header": bool(trace.header),
        "the size of the machine": trace.suggested_nodes is not None or trace.machine is not None,
    }
    lost = [what for what, is_there in there.items() if is_there]
    if not lost:
        return []
    words = lost[0] if len(lost) == 1 else f"{', '.join(lost[:-1])} and {lost[-1]}"
    told = f"written without {words}: CSV has no place for {'it' if len(lost) == 1 else 'them'}, Parquet has"
    return [Note("kept", told, len(trace.jobs), str(path))]


def _lost_series(jobs: JobTable, form: str, path: Path | str) -> list[Note]:
    count = 0 if jobs.series is None else int(np.sum(np.diff(jobs.series.first) > 0))
    return [Note("kept", f"written without series_w: {form} {CANNOT_HOLD}", count, str(path))] if count else []


def _lost_blanks(jobs: JobTable, path: Path | str) -> list[Note]:
    """Return a note on names that are read back without the blanks around them."""
    spaced = np.zeros(len(jobs), dtype=np.bool_)
    for name, listed in NAME_COLUMNS.items():
        wrong = [code for code, text in enumerate(getattr(jobs, listed)) if text != text.strip()]
        spaced |= np.isin(getattr(jobs, name), wrong)
    count = int(spaced.sum())
    return [Note("kept", "CSV is read without the blanks around names", count, str(path))] if count else []


def _unique_ids(jobs: JobTable) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    _, place, count = np.unique(jobs.job_id, return_inverse=True, return_counts=True)
    unique: np.ndarray[tuple[int], np.dtype[np.bool_]] = (count == 1)[place] & (jobs.job_id > 0)
    return unique


def _numbered(label: str, codes: Ints, names: Sequence[str]) -> tuple[Ints, list[str]]:
    """Return the numbers to write for codes, and header lines that name them unless the names are numbers."""
    if all(name.isascii() and name.isdigit() and str(int(name)) == name and len(name) < 15 for name in names):
        numbers = np.array([*map(int, names), -1], dtype=np.int64)
        return numbers[codes], []
    return np.where(codes >= 0, codes + 1, -1), [f"{label}: {i} {quote_name(name)}" for i, name in enumerate(names, 1)]


def _or_unknown(times_s: Floats) -> Floats:
    return np.where(np.isfinite(times_s), times_s, -1.0)


def _swf_header(trace: Trace, names: list[str]) -> str:
    jobs = trace.jobs
    lines = ["Version: 2.2", f"MaxJobs: {len(jobs)}", f"MaxRecords: {len(jobs)}"]
    if not math.isnan(jobs.epoch_unix_s):
        epoch = jobs.epoch_unix_s
        lines.append(f"UnixStartTime: {int(epoch) if epoch == int(epoch) else repr(epoch)}")
    if trace.suggested_nodes is not None:
        of_processors = trace.machine is not None and trace.machine.unit == "processor"
        nodes = trace.header.get("MaxNodes", trace.suggested_nodes) if of_processors else trace.suggested_nodes
        lines += [f"MaxNodes: {nodes}", f"MaxProcs: {trace.suggested_nodes}"]
    own = {line.split(":")[0] for line in lines} | {"User", "Group", "Executable", "Partition", "Queue"}
    kept = [f"{k}: {part}" for k, v in trace.header.items() if k not in own for part in v.splitlines() if ":" not in k]
    return "".join(f"; {line}\n" for line in [*lines, *kept, *names])


def _rows(columns: list[Ints | Floats]) -> bytes:
    import polars as pl

    whole = [
        column.astype(np.int64)
        if column.size and np.all((np.abs(column) < 2.0**53) & (column == np.floor(column)))
        else column
        for column in columns
    ]
    frame = pl.DataFrame([pl.Series(name, column) for name, column in zip(FIELDS, whole, strict=True)])
    text = frame.write_csv(separator=" ", include_header=False)
    return text.encode()
