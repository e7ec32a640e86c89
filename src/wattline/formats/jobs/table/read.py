"""Job tables in Parquet or CSV, with columns named as in ``JobTable``; also the ``jobs.parquet`` of a journal.

Needed: ``submit_s``, ``nodes`` and ``work_s`` (or a journal's ``runtime_s``). Names (user, group, kind, partition) may
be texts or whole numbers; null, empty and negative mean unknown. ``after`` is the row, from 0, of the job to wait for.
Parquet may hold power over the run of jobs too (``series_column``); ``draw_w`` is then its mean.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints
from wattline.errors import InputError, TraceError, did_you_mean
from wattline.formats.jobs.base import Head, separator_in
from wattline.model.jobs import ARRAY_COLUMNS, UNKNOWN, JobTable
from wattline.model.series import PowerSeries
from wattline.reading.calendar import check_zone
from wattline.reading.machine import machine_of
from wattline.reading.notes import Note, Trace, listed, refuse_empty, settle, take_jobs
from wattline.reading.parquet import reading_parquet, refuse_long
from wattline.reading.rows import MAX_WHOLE, Mask, Rows, kept, out_of_order
from wattline.reading.series_column import COLUMN as SERIES
from wattline.reading.series_column import mean_over_run, split_series
from wattline.reading.source import is_parquet, read_bytes
from wattline.reading.table_text import TextRows
from wattline.reading.unix_times import MOST_EPOCH_S

if TYPE_CHECKING:
    import polars as pl

METADATA_KEY = "wattline"
VERSION = 1
"""Version of the Parquet layout that this Wattline writes."""

NAME_COLUMNS = {"user": "users", "group": "groups", "kind": "kinds", "partition": "partitions"}
_FROM_JOURNAL = {"runtime_s": "work_s", "wait_s": "recorded_wait_s"}
_JOURNAL_ONLY = ("eligible_s", "start_s", "end_s", "estimate_s", "status", "energy_j", "preemptions", "restarts")


MEAN_SLACK = 1e-3
"""By how much of itself a given mean power may differ from that of the power over time."""

_LEAST = {
    "draw_w": 0.0,
    "floor_w": 0.0,
    "peak_w": 0.0,
    "stretch": 1.0,
    "recorded_wait_s": 0.0,
    "think_s": 0.0,
    "recorded_energy_j": 0.0,
}
"""Columns in which smaller numbers make no sense."""
_TOLD_OF = ("submit_s", "work_s", "nodes", "job_id", "request_s")
"""Columns of which is said what is missing there; of the others an empty one is as good as none."""
_MEASURED = ("draw_w", "peak_w", "recorded_energy_j")
"""Columns in which 0 means not measured: a job draws something."""


def read_table(path: Path | str, *, strict: bool = False, raw: bytes | None = None) -> Trace:
    """Read a job table (Parquet or CSV, told apart by content), or the jobs of a journal when given its folder.

    ``raw``: the file's content, if somebody has read it already.
    """
    about: dict[str, Any] = {}
    series: PowerSeries | None = None
    rows: TableRows
    if (Path(path) / "manifest.json").exists():
        frame, about = _jobs_of_journal(Path(path))
        rows = TableRows(path, frame, np.arange(1, frame.height + 1))
    elif raw is not None or is_parquet(path):
        packed = raw if raw is not None else read_bytes(path)
        frame, about = read_parquet(path, packed)
        frame, series = split_series(path, frame, about)
        rows = _ParquetRows(path, frame, packed)
        del frame
    else:
        numbers = [*_FROM_JOURNAL, *(name for name in ARRAY_COLUMNS if name not in NAME_COLUMNS)]
        rows = _TextRows(path, numbers, NAME_COLUMNS, _separator(path), partial(_check_columns, path))
    _check_columns(path, rows.columns)
    return _with_passed_over(to_trace(path, rows, about, series, strict=strict), rows.columns)


def table_of(
    frame: pl.DataFrame,
    source: str,
    *,
    strict: bool = False,
    epoch_unix_s: float = math.nan,
    zone: str | None = None,
) -> Trace:
    """Return the jobs of a frame with columns as in a table; ``source`` stands for its file in messages."""
    about: dict[str, Any] = {"zone": zone} | ({} if math.isnan(epoch_unix_s) else {"epoch_unix_s": epoch_unix_s})
    frame, series = split_series(source, frame, about)
    rows = TableRows(source, frame, np.arange(1, frame.height + 1))
    _check_columns(source, rows.columns)
    return _with_passed_over(to_trace(source, rows, about, series, strict=strict), rows.columns)


def to_trace(
    path: Path | str, rows: TableRows, about: dict[str, Any], series: PowerSeries | None, *, strict: bool
) -> Trace:
    """Return the jobs of rows; ``about`` is what is known of the table beside them."""
    columns: dict[str, Floats] = {}
    for name in ARRAY_COLUMNS:
        values = None if name in NAME_COLUMNS else rows.numbers(name)
        if values is not None and (name in _TOLD_OF or not np.isnan(values).all()):
            columns[name] = values
    del values
    coded = {name: rows.codes(name) for name in NAME_COLUMNS if name in rows.columns}
    names = {name: found for name, found in coded.items() if len(found[1])}
    del coded
    keep = _keep(rows, columns)
    rows.mention(keep)
    if series is not None:
        columns["draw_w"] = _mean_draw(rows, keep, columns, series)
        series = series.take(np.flatnonzero(keep))
    jobs = _build(rows, keep, columns, names, _epoch(about), series) if keep.any() else None
    notes = settle(path, rows.findings, strict=strict)
    records = rows.height + sum(f.count for f in rows.findings if f.field == "record")
    if jobs is None:
        raise refuse_empty(path, records, notes)
    header, suggested, earlier = _origin(about)
    records += sum(note.count for note in earlier if note.action == "dropped")
    machine = machine_of(about.get("machine"), suggested)
    source, zone = str(about.get("source") or path), _zone(path, about.get("zone"))
    return Trace(jobs, earlier + notes, source, header, suggested, records, machine, zone)


def _with_passed_over(trace: Trace, columns: Collection[str]) -> Trace:
    """Say which columns were not looked at, in a table that is no journal's."""
    left = [name for name in ("start_s", "end_s", "energy_j") if name in columns]
    if not left or {"eligible_s", "status"} <= set(columns):
        return trace
    how = f"say what they are to have them, like --column {left[0]}={left[0]}"
    return replace(trace, notes=(*trace.notes, Note("kept", f"not looked at: {listed(left)}; {how}", 0, "")))


def _separator(path: Path | str) -> str:
    """Return what stands between the columns of a text: that which sets submit_s apart, else a comma."""
    return separator_in(Head(path).line) or ","


def _zone(path: Path | str, told: object) -> str | None:
    """Return the zone that a table says its log is of; None: it says none."""
    if told is None:
        return None
    try:
        check_zone(str(told))
    except InputError as problem:
        raise TraceError.at(path, str(problem), field=f"metadata {METADATA_KEY}, zone", value=str(told)[:80]) from None
    return str(told)


def read_parquet(
    path: Path | str, raw: bytes, columns: Sequence[str] | None = None
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return the table in the bytes of a Parquet file (or some columns of it), and what Wattline wrote about it
    there.
    """
    import polars as pl

    refuse_long(path, raw, columns)
    with reading_parquet(path):
        frame = pl.read_parquet(raw, columns=None if columns is None else list(columns))
        text = pl.read_parquet_metadata(raw).get(METADATA_KEY, "{}")
    try:
        about = json.loads(text)
    except (ValueError, RecursionError):
        about = None
    if not isinstance(about, dict):
        raise TraceError.at(path, "must be a JSON object", field=f"metadata {METADATA_KEY}", value=text[:80])
    version = about.get("trace", VERSION)
    if not isinstance(version, int) or version > VERSION:
        told = f"table of version {str(version)[:20]}, this Wattline reads up to {VERSION}"
        raise TraceError.at(path, told, hint="update Wattline")
    _check_numbers(path, about)
    return frame, about


def _check_numbers(path: Path | str, about: dict[str, Any]) -> None:
    """Refuse a beginning and a size of the machine that no log can have; what is not there, or null, is not known."""
    epoch, nodes = about.get("epoch_unix_s"), about.get("suggested_nodes")
    is_known = epoch is not None and not (isinstance(epoch, float) and math.isnan(epoch))
    fits = {
        "epoch_unix_s": not is_known or (_is_number(epoch) and abs(epoch) <= MOST_EPOCH_S),
        "suggested_nodes": nodes is None or (_is_number(nodes) and isinstance(nodes, int) and 0 < nodes < MAX_WHOLE),
    }
    for name, told in (("epoch_unix_s", "seconds since 1970"), ("suggested_nodes", "a number of nodes")):
        if not fits[name]:
            where, value = f"metadata {METADATA_KEY}, {name}", str(about[name])[:80]
            raise TraceError.at(path, f"must be {told}", field=where, value=value)


def _is_number(value: object) -> TypeGuard[float]:
    """Tell whether a value is a number, as JSON has them; true is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _jobs_of_journal(folder: Path) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return the jobs of a journal, and what its manifest says of the machine and of their trace."""
    from wattline.journal.journal import open_journal

    journal = open_journal(folder)
    cluster = journal.manifest.get("cluster")
    nodes = cluster.get("nodes") if isinstance(cluster, dict) else None
    told = journal.manifest.get("trace")
    log = told if isinstance(told, dict) else {}
    about: dict[str, Any] = {
        "suggested_nodes": nodes,
        "machine": (cluster or {}).get("machine"),
        "epoch_unix_s": log.get("epoch_unix_s"),
        "zone": log.get("zone"),
    }
    frame = journal.read("jobs")
    about["notes"] = notes = []
    never = (frame["status"] == "cancelled") & frame["start_s"].is_null()
    goes_on = (frame["status"] == "unfinished") & (log.get("live") is True)
    for lost, which in (("cancelled before it started", never), ("had not ended", goes_on)):
        if which.any():  # nobody knows how long they would have run
            example = f"{folder.name}: job {frame.filter(which)['job_id'][0]}"
            notes.append({"action": "dropped", "reason": lost, "count": int(which.sum()), "example": example})
    frame = frame.filter(~(never | goes_on))
    if log.get("series") is True:
        lost = "power over the run of jobs is not in a journal: their mean power is taken"
        example = f"{folder.name}: run the trace itself to keep it"
        notes.append({"action": "kept", "reason": lost, "count": frame.height, "example": example})
    classes = [one for one in (cluster or {}).get("classes") or () if isinstance(one, dict)]
    if len(classes) > 1:
        told = ", ".join(f"{one.get('count')} {one.get('name')}" for one in classes)
        lost = "node classes of a journal's machine are not taken over: all nodes are alike unless they are said"
        notes.append({"action": "kept", "reason": lost, "count": frame.height, "example": f"{folder.name}: {told}"})
    responding = _responding(journal.manifest.get("kinds"))
    if responding and "kind" in frame.columns and (count := int(frame["kind"].is_in(responding).sum())):
        lost = "points of a response to caps are not in a journal's jobs: the linear rule between their ends is taken"
        example = f"kind {responding[0]}: declare it with its response, as the journal's scenario does"
        notes.append({"action": "kept", "reason": lost, "count": count, "example": example})
    return frame, about


def _responding(kinds: object) -> list[str]:
    """Return the kinds of a manifest that responded to caps by points."""
    known = [kind for kind in kinds if isinstance(kind, dict)] if isinstance(kinds, list) else []
    return [name for kind in known if kind.get("response") and isinstance(name := kind.get("name"), str)]


def _check_columns(path: Path | str, names: list[str]) -> None:
    known = [*ARRAY_COLUMNS, *_FROM_JOURNAL, *_JOURNAL_ONLY]
    for needed, other in (("submit_s", ""), ("work_s", "runtime_s"), ("nodes", "")):
        if needed not in names and other not in names:
            problem = f"column {needed!r} is missing: found {listed(names)}"
            raise TraceError.at(path, problem, hint=f"a job table needs submit_s, work_s and nodes{_said(names)}")
    for name in names:
        if name == SERIES:  # that of Parquet has been taken out
            raise TraceError.at(path, "CSV cannot hold power over time", field=name, hint="write the table as Parquet")
        if name not in known:
            raise TraceError.at(path, f"unknown column{did_you_mean(name[:60], known)}", field=name[:60])


def _said(names: list[str]) -> str:
    """Return how to say which columns are which."""
    from wattline.formats.jobs.table.columns import suggested

    told = "; --column says which of its columns are these (in a scenario: columns)"
    wanted = ("submit_s", "work_s", "nodes", "request_s", "draw_w")
    return told + suggested([name for name in wanted if name not in names], names)


class TableRows(Rows):
    """Rows of a job table; a journal's columns stand in where it has other names."""

    truths = False

    def mention(self, keep: Mask) -> None:
        """Count rows that are jobs but should be known of."""

    def numbers(self, name: str, *, needed: bool = True) -> Floats | None:
        """Return a column as floats, NaN for null (of the journal's column where that stands in); None if absent."""
        values: Floats | None = None
        for source in (name, *(old for old, new in _FROM_JOURNAL.items() if new == name)):
            given = super().numbers(source, needed=needed)
            if given is not None:
                values = given if values is None else np.where(np.isnan(values), given, values)
        return values


class _ParquetRows(TableRows):
    """Rows of a Parquet file, of which each column goes once it has been used; a row that is quoted is read again."""

    def __init__(self, path: Path | str, frame: pl.DataFrame, packed: bytes) -> None:
        super().__init__(path, frame, np.arange(1, frame.height + 1, dtype=np.int32))
        self._names, self._packed = frame.columns, packed

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        return self._names

    def row(self, index: int) -> dict[str, object]:
        """Return a row as it stands in the file."""
        import polars as pl

        return pl.scan_parquet(self._packed).select(self._names).slice(index, 1).collect().row(0, named=True)

    def _given(self, name: str) -> tuple[Floats, Mask | None]:
        given = super()._given(name)
        self.frame.drop_in_place(name)
        return given

    def _coded(self, name: str) -> tuple[npt.NDArray[Any], Sequence[str]]:
        coded = super()._coded(name)
        self.frame.drop_in_place(name)
        return coded


class _TextRows(TableRows, TextRows):
    """Rows of a CSV table."""


def _keep(rows: TableRows, columns: dict[str, Floats]) -> Mask:
    submit, work, nodes = (columns[name] for name in ("submit_s", "work_s", "nodes"))
    rows.drop_unusable("submit time", submit, "submit_s")
    rows.drop_unusable("run time", work, "work_s", 0.0)
    rows.drop_not_whole("number of nodes", nodes, "nodes", 1, "nodes are not a positive whole number")
    if "job_id" in columns:
        columns["job_id"] = rows.number_jobs(columns["job_id"])
        rows.drop_not_whole("job number", columns["job_id"], "job_id", -MAX_WHOLE, "job number is not whole")
    return ~rows.bad


def _build(
    rows: TableRows,
    keep: Mask,
    columns: dict[str, Floats],
    names: dict[str, tuple[npt.NDArray[Any], Sequence[str]]],
    epoch_unix_s: float,
    series: PowerSeries | None,
) -> JobTable:
    _mention_oddities(rows, keep, columns)
    after = columns.pop("after", None)
    given: dict[str, Any] = {}
    bounded = [name for name in _LEAST if name in columns]
    for name in (
        *bounded,
        *(name for name in tuple(columns) if name not in _LEAST),
    ):  # so that one at a time is there twice
        values = columns.pop(name)
        if name in _LEAST:
            values = _within(rows, keep, name, values, _LEAST[name])
        elif name == "priority":
            values = rows.finite(name, values, keep, 0.0)
        given[name] = kept(values, keep).astype(ARRAY_COLUMNS[name][0], copy=False)
    given.update({name: kept(coded, keep) for name, (coded, _) in names.items()})
    if "request_s" in given:
        given["request_s"] = np.where(given["request_s"] > 0, given["request_s"], np.nan)
    if "think_s" in given:
        alone = np.zeros_like(keep)
        alone[keep] = given["think_s"] > 0
        alone &= True if after is None else ~(after >= 0)
        rows.note("kept", "think_s without after: there is no job to pause after", alone, "think_s")
        given["think_s"] = np.where(np.isfinite(given["think_s"]), given["think_s"], 0.0)
    if "floor_w" in given and "draw_w" in given:
        above = np.zeros_like(keep)
        above[keep] = given["floor_w"] > given["draw_w"]
        rows.note("repaired", "floor_w is above draw_w: taken as that", above, "floor_w")
        given["floor_w"] = np.where(above[keep], given["draw_w"], given["floor_w"])
    if after is not None:
        given["after"] = _links(rows, keep, after, given["submit_s"])
    tuples: dict[str, Any] = {NAME_COLUMNS[name]: listed for name, (_, listed) in names.items()}
    given |= {**tuples, "epoch_unix_s": epoch_unix_s, "series": series}
    return take_jobs(rows.path, given)


def _mean_draw(rows: TableRows, keep: Mask, columns: dict[str, Floats], series: PowerSeries) -> Floats:
    """Return ``draw_w`` of all rows: the mean of the power over time where that is known."""
    given = columns.get("draw_w", np.full(keep.size, np.nan))
    mean = mean_over_run(series, np.where(keep, columns["work_s"], 0.0))
    same = np.abs(given - mean) <= MEAN_SLACK * mean
    rows.note(
        "repaired",
        "draw_w is not the mean of series_w: that is taken",
        keep & (mean >= 0) & (given >= 0) & ~same,
        "draw_w",
    )
    return np.where((mean >= 0) & ~same, mean, given)


def _within(rows: TableRows, keep: Mask, name: str, values: Floats, least: float) -> Floats:
    """Return a column without the numbers that no job can have: they are unknown."""
    wrong = keep & ((values < least) | np.isinf(values))
    rows.note("repaired", f"{name} is below {least:g} or endless: taken as unknown", wrong, name)
    if name in _MEASURED:
        unmeasured = keep & (values == 0.0)
        rows.note("repaired", f"{name} is 0: not measured, taken as unknown", unmeasured, name)
        wrong |= unmeasured
    return np.where(wrong, np.nan, values)


def _mention_oddities(rows: TableRows, keep: Mask, columns: dict[str, Floats]) -> None:
    submit, work = columns["submit_s"], columns["work_s"]
    rows.note("repaired", "out of order: sorted by submit time", out_of_order(submit, keep), "submit_s")
    rows.note("kept", "run time 0: ends the instant it starts", keep & (work == 0), "work_s")
    if "request_s" in columns:
        request = columns["request_s"]
        rows.note("repaired", "request_s is not above 0: taken as unknown", keep & (request <= 0), "request_s")
        rows.note("kept", "requested time unknown", keep & np.isnan(request), "request_s")
        rows.note("kept", "ran longer than requested", keep & (request > 0) & (work > request), "request_s")


def _links(rows: TableRows, keep: Mask, after: Floats, submit: Floats) -> Ints:
    """Return links between kept rows; those that do not lead to an earlier job are cut and counted."""
    place = np.full(keep.size, UNKNOWN, dtype=np.int64)
    place[keep] = np.arange(int(keep.sum()))
    rows.note("kept", "after is -1: no link", keep & (after == UNKNOWN), "after")
    rows.note("repaired", "after is below 0 and not -1: no link", keep & (after < 0) & (after != UNKNOWN), "after")
    asked = keep & (after >= 0)
    stored = rows.places(after)
    inside = asked & (stored >= 0) & (stored < keep.size) & (after == np.floor(after))
    target = np.full(keep.size, UNKNOWN, dtype=np.int64)
    target[inside] = place[stored[inside].astype(np.int64)]
    link = target[keep]
    rank = np.empty(link.size, dtype=np.int64)
    rank[np.argsort(submit, kind="stable")] = np.arange(link.size)
    good = (link >= 0) & (rank[link] < rank)
    lost = asked.copy()
    lost[np.flatnonzero(keep)[good]] = False
    rows.note("repaired", "after is not the row of an earlier job: link cut", lost, "after")
    return np.where(good, link, UNKNOWN)


def _epoch(about: dict[str, Any]) -> float:
    value = about.get("epoch_unix_s")
    return float(value) if _is_number(value) else math.nan


def _origin(about: dict[str, Any]) -> tuple[dict[str, str], int | None, tuple[Note, ...]]:
    """Return header, machine size and earlier notes, as far as the file tells them in the right form."""
    header = about.get("header")
    nodes = about.get("suggested_nodes")
    told = about.get("notes")
    notes = tuple(
        Note(n["action"], str(n["reason"]), n["count"], str(n["example"]))
        for n in (told if isinstance(told, list) else [])
        if isinstance(n, dict)
        and {"action", "reason", "count", "example"} <= set(n)
        and n["action"] in ("dropped", "repaired", "kept")
        and isinstance(n["count"], int)
    )
    return (
        {str(k): str(v) for k, v in header.items()} if isinstance(header, dict) else {},
        nodes if isinstance(nodes, int) and nodes > 0 else None,
        notes,
    )
