"""Tables of any make: columns of other names, dates, durations and units as they come → the rows of a job table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats
from wattline.errors import InputError, TraceError
from wattline.formats.jobs.base import SEPARATORS, Head, ReadOptions, of_nodes
from wattline.formats.jobs.table.columns import (
    DERIVED,
    ENERGY,
    INSTANT,
    NAME,
    NUMBER,
    POWER,
    SPAN,
    UNITS,
    Asked,
    Columns,
    in_table,
)
from wattline.formats.jobs.table.read import TableRows, read_parquet, to_trace
from wattline.reading.as_they_come import Amounts, Instants, Spans, Taken
from wattline.reading.coder import Coder
from wattline.reading.delimited import Delimited
from wattline.reading.notes import ROUNDED, Note, Trace, listed
from wattline.reading.pieces import Pieces
from wattline.reading.rows import Mask
from wattline.reading.source import is_parquet, read_bytes
from wattline.reading.unix_times import may_be_dates, unix_times

if TYPE_CHECKING:
    import polars as pl

NOBODY = ("-", "none", "null", "n/a")
"""Names that say that none is known, whatever their case."""

ROUNDED_S = 1.0
"""By how much a run time and the time from begin to end may differ: each is rounded by itself."""

MAKES = ((INSTANT, "a time"), (SPAN, "a duration"), (POWER, "a power"), (ENERGY, "an energy"), (NUMBER, "a number"))


def read_mapped(path: Path | str, options: ReadOptions) -> Trace:
    """Read a table in CSV (gzip or not) or Parquet whose columns are told."""
    columns = options.columns or {}
    if is_parquet(path):
        packed = read_bytes(path)
        names = _names_in(path, packed)
        own = dict.fromkeys(one.own for one in in_table(columns, names, path))  # tables of others may be wide
        frame, about = read_parquet(path, packed, list(own))
        trace = _of_frame(path, frame, about, columns, options, names)
    else:
        trace = _of_text(path, columns, options)
    return trace if "processors" in columns else of_nodes(trace, options)


def mapped_of(frame: pl.DataFrame, source: str, columns: Columns, options: ReadOptions) -> Trace:
    """Return the jobs of a frame whose columns are told; ``source`` stands for its file in messages."""
    return _of_frame(source, frame, {}, columns, options, frame.columns)


def _names_in(path: Path | str, packed: bytes) -> list[str]:
    """Return the names of all columns of a Parquet file."""
    import polars as pl

    from wattline.reading.parquet import reading_parquet

    with reading_parquet(path):
        return list(pl.read_parquet_schema(packed))


def _of_frame(
    path: Path | str,
    frame: pl.DataFrame,
    about: dict[str, Any],
    columns: Columns,
    options: ReadOptions,
    names: list[str],
) -> Trace:
    asked = in_table(columns, frame.columns, path)
    taker = _Taker(path, asked, options.zone)
    taker(frame)
    rows = _Mapped(path, taker, np.arange(1, frame.height + 1), lambda i: frame.row(i, named=True))
    return _finish(path, rows, about, columns, options, names)


def _of_text(path: Path | str, columns: Columns, options: ReadOptions) -> Trace:
    table = Delimited(path, _separator(path, columns), quotes=True, skip_blank=True)
    taker = table.read(lambda: _Taker(path, None, options.zone, columns))
    rows = _Mapped(path, taker, table.lines, lambda i: table.row(int(table.lines[i])))
    rows.left_out = table.left_out
    rows.findings.extend((*table.wrong, *table.said))
    return _finish(path, rows, {}, columns, options, table.names)


def _separator(path: Path | str, columns: Columns) -> str:
    """Return what separates the columns: that with which most of those that are told are found in the header line."""
    line = Head(path).line.decode("utf-8", errors="replace").lower()
    wanted = [own.strip().lower() for own in columns.values()]

    def found(separator: str) -> int:
        names = [name.strip().strip('"') for name in line.split(separator)]
        return sum(any(own == name or own.startswith(f"{name}:") for name in names if name) for own in wanted)

    return max(SEPARATORS, key=lambda separator: (found(separator), line.count(separator)))


class _Taker:
    """The columns of a table as it is read, part by part: numbers in Wattline's units, codes of names."""

    def __init__(
        self, path: Path | str, asked: list[Asked] | None, zone: str | None, columns: Columns | None = None
    ) -> None:
        self.path, self.zone = path, zone
        self.asked = asked
        self._columns = columns or {}
        self.pieces, self.wrong = Pieces(), Pieces()
        self.coders: dict[str, Coder] = {}
        self.readers: dict[str, Taken] = {}

    def __call__(self, part: pl.DataFrame) -> None:
        """Take a part of the table."""
        if self.asked is None:
            self.asked = in_table(self._columns, part.columns, self.path)
        for one in self.asked:
            if one.kind == NAME:
                self.coders.setdefault(one.name, Coder()).add(_names(part[one.own], one, self))
                continue
            reader = self.readers.setdefault(one.name, _reader(one, self.zone))
            try:
                values, wrong = reader(part[one.own])
            except InputError as problem:
                raise TraceError.at(self.path, f"{one.name}: {problem}", field=one.own) from None
            self.pieces.add(one.name, values)
            self.wrong.add(one.name, wrong)


def _reader(one: Asked, zone: str | None) -> Taken:
    if one.kind == INSTANT:
        return Instants(one.factor, one.unit, zone)
    if one.kind == SPAN:
        return Spans(one.unit)
    return Amounts(UNITS.get(one.kind, {}), one.unit)


def _names(series: pl.Series, one: Asked, taker: _Taker) -> pl.Series:
    """Return a column of names as texts: whole numbers as they are written, negative ones and blanks unknown."""
    import polars as pl

    kind = series.dtype
    if kind.is_float() and bool((series.drop_nulls().drop_nans() % 1 == 0).all()):
        series = series.fill_nan(None).cast(pl.Int64, strict=False)  # a null among whole numbers makes them floats
    if series.dtype.is_integer():
        return series.set(series < 0, None).cast(pl.String)
    if not (kind in (pl.String, pl.Null, pl.Boolean) or isinstance(kind, pl.Categorical | pl.Enum)):
        told = f"{one.name}: column must hold names, not {kind}"[:200]
        raise TraceError.at(taker.path, told, field=one.own)
    bare = series.cast(pl.String).str.strip_chars()
    return bare.set(bare.str.to_lowercase().is_in(NOBODY), None)


class _Mapped(TableRows):
    """Rows of such a table; findings quote the table's own names."""

    def __init__(self, path: Path | str, taker: _Taker, lines: Any, row: Any) -> None:
        super().__init__(path, None, lines)
        self._row = row
        self.asked = {one.name: one for one in taker.asked or []}
        self.coded = taker.coders
        self.readers = taker.readers
        self.values: dict[str, Floats] = {}
        self.wrong: dict[str, Mask] = {}
        self.cores_per_node, self.uneven = 1, np.zeros(self.height, dtype=np.bool_)
        for name in self.asked:
            if name not in taker.coders:
                self.values[name], self.wrong[name] = taker.pieces.take(name), taker.wrong.take(name)

    @property
    def columns(self) -> list[str]:
        """Wattline's names of the columns that there are."""
        return [*self.values, *self.coded]

    def row(self, index: int) -> dict[str, object]:
        """Return a row as it stands in the table."""
        found: dict[str, object] = self._row(index)
        return found

    def note(self, action: Any, reason: str, which: Mask, column: str) -> None:
        """Count the rows of a mask, quoting the first under the table's own name of the column."""
        one = self.asked.get(column)
        super().note(action, reason, which, column if one is None else one.own)

    def mention(self, keep: Mask) -> None:
        """Count jobs that are given whole nodes though they asked for less."""
        reason = f"not whole nodes of {self.cores_per_node} processors: {ROUNDED}"
        self.note("kept", reason, keep & self.uneven, "processors")

    def numbers(self, name: str, *, needed: bool = True) -> Floats | None:
        """Return a column; rows in which it holds something else are left out."""
        values = self.values.get(name)
        if values is not None and name in self.wrong:
            what = next((words for kind, words in MAKES if name in self.asked and self.asked[name].kind == kind), "")
            if needed:
                self.drop(f"malformed: not {what}", self.wrong[name], name)
        return values

    def _coded(self, name: str) -> tuple[npt.NDArray[Any], Sequence[str]]:
        return self.coded[name].codes, self.coded[name].names


def _finish(
    path: Path | str,
    rows: _Mapped,
    about: Mapping[str, Any],
    columns: Columns,
    options: ReadOptions,
    names: list[str],
) -> Trace:
    """Settle what dates mean, compute what can be computed, and make the jobs."""
    _refuse_odd(path, rows)
    _leave_texts(rows, columns)
    epoch, notes = _settle_times(path, rows)
    _derive(path, rows, options)
    own = {one.own for one in rows.asked.values()}
    unused = [name for name in names if name not in own]
    if unused:
        told = "columns that nobody asked for are not used"
        notes.append(Note("kept", told, len(unused), listed(unused)))
    for name in DERIVED:
        rows.values.pop(name, None)
    local = any(isinstance(reader, Instants) and reader.local for reader in rows.readers.values())
    known = {"epoch_unix_s": epoch} if epoch is not None else {}
    trace = to_trace(path, rows, {**about, **known}, None, strict=options.strict)
    zone = (options.zone or "UTC", options.zone is None) if local else (None, False)
    return replace(
        trace,
        notes=(*trace.notes, *(replace(note, count=note.count or len(trace.jobs)) for note in notes)),
        columns=dict(columns),
        zone=zone[0],
        zone_assumed=zone[1],
    )


def _refuse_odd(path: Path | str, rows: _Mapped) -> None:
    """Refuse what may mean two things, where it first stands."""
    for name, reader in rows.readers.items():
        if reader.odd is not None and rows.height:
            row, value, what = reader.odd
            line = int(rows.lines[min(row, rows.height - 1)])
            raise TraceError.at(path, f"{name}: {what}", line=line, field=rows.asked[name].own, value=value)
        if isinstance(reader, Instants) and reader.local and reader.zoned and reader.zone is None:
            told = f"{name}: some times have an offset from UTC, others have none"
            raise TraceError.at(path, told, field=rows.asked[name].own, hint="say the zone of the others (--zone)")
        if isinstance(reader, Instants) and reader.plain and (reader.local or reader.zoned):
            told = f"{name}: some times are dates, others numbers"
            raise TraceError.at(path, told, field=rows.asked[name].own, hint="write them in one way")
    clocks = {name: reader for name, reader in rows.readers.items() if isinstance(reader, Instants)}
    zoned = next((name for name, reader in clocks.items() if reader.zoned), None)
    bare = next((name for name, reader in clocks.items() if reader.local and reader.zone is None), None)
    if zoned is not None and bare is not None:
        told = f"{zoned} has an offset from UTC, {bare} has none"
        raise TraceError.at(path, told, field=rows.asked[bare].own, hint="say the zone of the others (--zone)")


def _leave_texts(rows: _Mapped, columns: Columns) -> None:
    """Count jobs where their numbers are texts that nobody asked for."""
    if "job_id" in rows.values and "job_id" not in columns and rows.wrong["job_id"].any():
        rows.note("kept", "job numbers are texts: jobs are counted instead", rows.wrong["job_id"], "job_id")
        del rows.values["job_id"], rows.wrong["job_id"]


def _settle_times(path: Path | str, rows: _Mapped) -> tuple[float | None, list[Note]]:
    """Count times from the first submission where they are known as dates; return that, and what was taken for
    granted.
    """
    notes: list[Note] = []
    dated: dict[str, bool] = {}
    for name, reader in rows.readers.items():
        if not isinstance(reader, Instants):
            continue
        dated[name] = reader.local or reader.zoned
        if not dated[name]:
            own = rows.asked[name].own
            if not reader.unit and may_be_dates(rows.values[name]):
                usual = f"{np.nanpercentile(rows.values[name], 50, method='lower'):.0f}"  # the least may be a 0
                told = f"{name}: numbers like {usual} may be dates, or seconds"
                hint = f"say which: --column {name}={own}:{'%Y%m%d%H%M%S'[: len(usual) - 2]}, or {own}:s"
                raise TraceError.at(path, told, field=own, hint=hint)
            values, unit, dated[name] = unix_times(rows.values[name], said=bool(reader.unit))
            if not unit:
                told = f"{name}: numbers from {np.nanmin(values):.6g} to {np.nanmax(values):.6g} are no Unix times"
                hint = f"say their unit, like --column {name}={own}:ms, or their form, like {own}:%Y%m%d%H%M%S"
                raise TraceError.at(path, told, field=own, hint=hint)
            if unit != "s":
                notes.append(Note("kept", f"{name}: taken as Unix time in {unit}", 0, f"column {own}"))
            rows.values[name] = values
    other = next((name for name in dated if dated[name] != dated["submit_s"]), None)
    if other is not None:
        kinds = {True: "dates", False: "seconds from another origin"}
        told = f"submit_s are {kinds[dated['submit_s']]}, {other} are {kinds[dated[other]]}"
        raise TraceError.at(path, told, field=rows.asked[other].own, hint="give columns of one clock")
    submit = rows.values["submit_s"]
    known = submit[np.isfinite(submit)]
    if not dated["submit_s"] or not known.size:
        return None, notes
    epoch = float(known.min())
    for name in dated:
        rows.values[name] = rows.values[name] - epoch
    return epoch, notes


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def _derive(path: Path | str, rows: _Mapped, options: ReadOptions) -> None:
    """Compute what the table says in another way: run times from begin and end, power from energy, nodes from
    processors.
    """
    given = rows.values
    start, end = given.get("start_s"), given.get("end_s")
    if "processors" in given:
        if options.cores_per_node is None:
            own = rows.asked["processors"].own
            hint = "say how many processors make a node: --cores-per-node (cores_per_node), 1 to schedule processors"
            raise TraceError.at(path, "processors are no nodes", field=own, hint=hint)
        given["nodes"] = np.ceil(given["processors"] / options.cores_per_node)
        rows.cores_per_node, rows.uneven = options.cores_per_node, given["processors"] % options.cores_per_node != 0
        _inherit(rows, "nodes", "processors")
    if end is not None and "work_s" in given:
        begun = _begun(rows, end)
        start = begun if start is None else _filled(start, begun, rows.wrong["start_s"])
    if "work_s" not in given and start is not None and end is not None:
        given["work_s"] = end - start
        _inherit(rows, "work_s", "end_s", "start_s")
    elif start is not None and end is not None:
        given["work_s"] = _filled(given["work_s"], end - start, rows.wrong["work_s"])
        differs = np.abs(end - start - given["work_s"]) > ROUNDED_S
        rows.note("kept", "the run time is not the end less the begin: the run time is taken", differs, "work_s")
    if "recorded_wait_s" not in given and start is not None:
        given["recorded_wait_s"] = start - given["submit_s"]
    elif start is not None:
        wait = given["recorded_wait_s"]
        given["recorded_wait_s"] = _filled(wait, start - given["submit_s"], rows.wrong["recorded_wait_s"])
        differs = np.abs(start - given["submit_s"] - given["recorded_wait_s"]) > ROUNDED_S
        told = "the recorded wait is not the begin less the submission: the recorded wait is taken"
        rows.note("kept", told, differs, "recorded_wait_s")
    if "job_w" in given:
        given["draw_w"] = _known(given["job_w"] / given["nodes"])
        _inherit(rows, "draw_w", "job_w")
    if "recorded_energy_j" in given:
        _fill_power(rows)


def _begun(rows: _Mapped, end: Floats) -> Floats:
    """Return when jobs began, of which their end and their run time are told; what is rounded begins at its
    submission.
    """
    submit = rows.values["submit_s"]
    start: Floats = end - rows.values["work_s"]
    rounded = (start < submit) & (start >= submit - ROUNDED_S)
    return np.where(rounded, submit, start)


def _filled(told: Floats, computed: Floats, wrong: Mask) -> Floats:
    """Return what is told, and what is computed where nothing is; what cannot be read stays as it is."""
    return np.where(np.isnan(told) & ~wrong, computed, told)


def _fill_power(rows: _Mapped) -> None:
    """Take the power of jobs of which none is told from their energy, over their nodes and run time."""
    given = rows.values
    told = given.get("draw_w", np.full(rows.height, np.nan))
    unknown = ~np.isfinite(told) | (told == 0.0)
    if "draw_w" in given:
        unknown &= ~rows.wrong["draw_w"]  # what cannot be read is not empty
    power_w = _known(given["recorded_energy_j"] / (given["nodes"] * given["work_s"]))
    filled = unknown & (power_w > 0.0)
    given["draw_w"] = np.where(filled, power_w, told)
    told_how = "draw_w: from the energy of jobs, over their nodes and run time"
    rows.note("kept", told_how, filled, "recorded_energy_j")


def _known(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, np.nan)


def _inherit(rows: _Mapped, name: str, *origins: str) -> None:
    """Let a computed column be wrong where those that it is computed from are, and be quoted as the first of them."""
    rows.asked[name] = replace(rows.asked[origins[0]], name=origins[0])
    rows.wrong[name] = np.logical_or.reduce([rows.wrong[origin] for origin in origins])
