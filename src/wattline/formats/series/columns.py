"""Tables of time series: which columns hold time and values, and times in common notations → seconds.

A time may be a number of seconds (of milli-, micro- or nanoseconds if the column's name ends in ``_ms``, ``_us`` or
``_ns``), Unix time in any of these units, a time of day, a date with a time in ISO's or America's notation, or one of
Parquet's own types. Layouts: *long*, a column of times beside one
or more of values; *wide*, as PJM publishes its signals, a column of times of day and one column for each date; or
values alone.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints, in_units
from wattline.errors import TraceError, did_you_mean
from wattline.formats.jobs.table.read import read_parquet
from wattline.reading.delimited import Delimited
from wattline.reading.fields import AT_ONCE, LONGEST, clock_s, numbers
from wattline.reading.notes import Action, Finding, listed
from wattline.reading.parts import TextParts
from wattline.reading.plain import with_texts
from wattline.reading.source import is_parquet, read_bytes
from wattline.reading.table_text import tidy
from wattline.reading.unix_times import FACTORS, MOST_EPOCH_S, UNIX_S, may_be_dates, unit_of

if TYPE_CHECKING:
    import polars as pl

TIME_NAMES = (
    "time_s",
    "t_s",
    "time",
    "t",
    "seconds",
    "sec",
    "s",
    "time_ms",
    "t_ms",
    "time_us",
    "t_us",
    "time_ns",
    "t_ns",
    "timestamp",
    "unix",
    "unix_s",
    "epoch",
    "datetime_beginning_utc",
    "datetime_utc",
    "datetime",
    "date_time",
    "datetime_beginning_ept",
    "datetime_ept",
    "date",
)
"""Names that mean time, the best first."""
PJM_TIMES = ("datetime_beginning_utc", "datetime_beginning_ept", "datetime_utc", "datetime_ept")
"""Columns of times in which the month is known to come before the day."""
VALUE_NAMES = (
    "value",
    "values",
    "y",
    "signal",
    "regd",
    "rega",
    "reg_d",
    "reg_a",
    "regd_signal",
    "rega_signal",
    "regulation",
    "regulation_signal",
    "agc",
    "agc_signal",
)
_UNIX_NAMES = ("unix", "unix_s", "epoch")
_ISO, _ISO_FORM = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:[0-5]\d$", "%Y-%m-%dT%H:%M:%S"
_ZONED = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:[0-5]\d(?:Z|[+-]0\d:[0-5]\d|[+-]1[0-3]:[0-5]\d)$"
_UNNAMED = ("", "(unnamed 1)", "unnamed: 0", "index")
_DAY_S = 86400.0
_DATES = ("%m/%d/%Y", "%Y-%m-%d")
_DATE_TIMES = (
    "%Y-%m-%dT%H:%M:%S%.f%#z",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%dT%H:%M",
    "%m/%d/%YT%I:%M:%ST%p",
    "%m/%d/%YT%H:%M:%S",
    "%m/%d/%YT%H:%M",
    "%m/%d/%YT%I:%MT%p",
)


@dataclass(frozen=True)
class Series:
    """A table as read: columns by lower-case name, the line or row of each record, and what was wrong.

    Of CSV, columns are texts unless all of them are numbers, or dates with times in ISO's notation; ``table`` is then
    what quotes them as they are written, but those in ``texts``.
    """

    path: Path | str
    frame: pl.DataFrame
    lines: npt.NDArray[Any]
    wrong: tuple[Finding, ...]
    table: Delimited | None = None
    texts: Collection[str] = ()
    shift: int = 0
    said: tuple[Finding, ...] = ()

    def shown(self, row: int, names: Iterable[str]) -> dict[str, object]:
        """Return some fields of a row as they are written."""
        written: dict[str, Any] = {}
        there = [name for name in names if name in self.frame]
        if self.table is not None and any(name not in self.texts for name in there):
            written = self.table.row(int(self.lines[row]) - self.shift)
        return {
            name: written[name] if name in written and name not in self.texts else self.frame[name][row]
            for name in there
        }


class Rows:
    """Rows of a file on their way to a series: ``line`` of each, its time and its value, and what was found wrong."""

    def __init__(self, series: Series, time: str, column: str) -> None:
        self.series, self.time, self.column = series, time, column
        self.row = np.empty(0, dtype=np.int64)
        self.findings: list[Finding] = [*series.wrong, *series.said]
        self.refused: list[Finding] = []

    def note(
        self, action: Action, reason: str, rows: Ints, field: str, *, count: int = 0, refuse: bool = False
    ) -> None:
        """Count a finding on some rows of the file, quoting the first; ``count`` if it is not a count of rows."""
        if not rows.size:
            return
        first = int(rows[0])
        shown = self.series.shown(first, dict.fromkeys((self.time, self.column, field)))
        text = ", ".join(f"{name}={str(shown[name])[:30]}" for name in (self.time, self.column) if name in shown)
        given = shown.get(field)
        value = None if field not in shown else "" if given is None else str(given)[:80]
        found = Finding(action, reason, count or rows.size, int(self.series.lines[first]), field, value, text)
        (self.refused if refuse else self.findings).append(found)


def read_series(path: Path | str, texts: Collection[str] = ()) -> Series:
    """Read a table of any kind; a first line of numbers is taken for values, not for names.

    Columns in ``texts`` stay texts.
    """
    if is_parquet(path):
        frame, _ = read_parquet(path, read_bytes(path))
        frame = with_texts(frame.rename({name: name.strip().lower() for name in frame.columns}))
        return Series(path, frame, np.arange(1, frame.height + 1), ())
    first = _first_line(path)
    separator = next((mark for mark in ("\t", ";", ",") if mark in first), ",")
    bare = all(_is_number(part) for part in first.split(separator))
    head = b""
    if bare:
        names = ("value",) if separator not in first else ("time_s", *(f"column {i}" for i in range(2, 99)))
        head = separator.join(names[: first.count(separator) + 1]).encode()
    table = Delimited(path, separator, head=head, quotes=separator == ",", skip_blank=True, tidy=tidy)
    read = table.read(lambda: _Parts(texts))
    frame, kept = read.joined()
    shift = -int(bare)
    wrong, said = (tuple(replace(f, line=(f.line or 0) + shift) for f in some) for some in (table.wrong, table.said))
    table.lines += shift
    return Series(path, frame, table.lines, wrong, table, kept, shift, said)


def _first_line(path: Path | str) -> str:
    """Return the first line that is not empty."""
    text = TextParts(path)
    parts = iter(text)
    with text.sound_first(parts):
        for _, part in parts:
            line = part.lstrip(b"\n").partition(b"\n")[0]
            if line:
                return line.decode("utf-8").strip()
    return ""


class _Parts:
    """Columns of a table as it is read, as numbers or times where all their texts are."""

    def __init__(self, texts: Collection[str]) -> None:
        self._texts = texts
        self._pieces: dict[str, list[pl.Series]] = {}

    def __call__(self, frame: pl.DataFrame) -> None:
        for name in frame.columns:
            piece = frame[name] if name in self._texts else _compact(frame[name])
            self._pieces.setdefault(name, []).append(piece)

    def joined(self) -> tuple[pl.DataFrame, set[str]]:
        """Return all columns, and which of them are texts as they are written."""
        import polars as pl

        columns, texts = [], set()
        for name in list(self._pieces):
            pieces = self._pieces.pop(name)
            kinds = {piece.dtype for piece in pieces} - {pl.Null()}
            kind = kinds.pop() if len(kinds) == 1 else pl.String()
            if kind == pl.String and kinds <= {pl.String()}:
                texts.add(name)
            columns.append(pl.concat([_as(piece, kind) for piece in pieces], rechunk=True))
        return pl.DataFrame(columns), texts


def _compact(texts: pl.Series) -> pl.Series:
    """Return a part of a column as finite numbers or as times, if all its texts are; nulls if there are none."""
    import polars as pl

    known = texts.len() - texts.null_count()
    if not known:
        return texts.cast(pl.Null)
    if int(texts.str.len_bytes().max() or 0) > LONGEST:  # type: ignore[arg-type]
        return texts
    number = texts.cast(pl.Float64, strict=False)
    if number.is_finite().sum() == known:
        return number
    for pattern, form in ((_ISO, _ISO_FORM), (_ZONED, _ISO_FORM + "%#z")):
        if texts.name not in _UNIX_NAMES and texts.str.contains(pattern).sum() == known:
            time = texts.str.replace(" ", "T", literal=True).str.replace(r"Z$", "+00:00")
            time = time.str.to_datetime(form, time_unit="us", strict=False)
            if time.null_count() == texts.null_count():
                return time
    return texts


def _as(piece: pl.Series, kind: pl.DataType) -> pl.Series:
    import polars as pl

    if kind == pl.String and isinstance(piece.dtype, pl.Datetime):
        return piece.dt.strftime(_ISO_FORM + ("Z" if piece.dtype.time_zone else ""))
    return piece.cast(kind)


def find_columns(series: Series, time_column: str | None, column: str | None) -> tuple[str | None, list[str]]:
    """Return the names of the column of times (None if there is none) and of those that may hold values."""
    names = series.frame.columns
    for asked in (time_column, column):
        if asked is not None and asked.strip().lower() not in names:
            close = did_you_mean(asked[:60], names) if len(names) < 20 else ""
            raise TraceError.at(series.path, f"no such column: found {listed(names)}{close}", field=asked[:60])
    time = time_column.strip().lower() if time_column is not None else _time_among(names)
    if column is not None:
        return (None if time == column.strip().lower() else time), [column.strip().lower()]
    others = [name for name in names if name != time and name not in TIME_NAMES]
    return time, [name for name in others if name in VALUE_NAMES] or others


def values_of(texts: pl.Series) -> Floats:
    """Return a column as numbers, NaN where there is none."""
    import polars as pl

    if texts.dtype == pl.String:
        return numbers(texts)
    return texts.cast(pl.Float64, strict=False).to_numpy().astype(np.float64, copy=False)


def values_in(series: Series, name: str) -> Floats:
    """Return a column of a table as numbers; dates that are written as texts are none."""
    import polars as pl

    column = series.frame[name]
    if series.table is not None and isinstance(column.dtype, pl.Datetime):
        return np.full(len(column), np.nan)
    _check_kind(series, name, "numbers")
    return values_of(column)


def _check_kind(series: Series, name: str, wanted: str) -> None:
    """Refuse a column of Parquet that is neither numbers nor texts."""
    import polars as pl

    kind = series.frame[name].dtype
    if not (kind.is_numeric() or kind in (pl.String, pl.Null)):
        told = "truth values" if kind == pl.Boolean else str(kind)
        raise TraceError.at(series.path, f"column must hold {wanted}, not {told}"[:200], field=name[:60])


def times_of(series: Series, name: str) -> tuple[Floats, float]:
    """Return a column's times in seconds, NaN where unreadable, and the Unix time of second 0 (NaN if unknown).

    Times of day count from midnight and run on over the next one; dates count from midnight of the first.
    """
    import polars as pl

    column = series.frame[name]
    if column.dtype == pl.Duration:
        return _float(column.dt.total_microseconds()) / 1e6, math.nan
    if column.dtype == pl.Time:
        return _over_midnight(_float(column.cast(pl.Int64)) / 1e9), math.nan
    if column.dtype in (pl.Datetime, pl.Date):
        seconds = _float(column.cast(pl.Datetime("us")).dt.epoch("us")) / 1e6
        if series.table is not None and not _most(seconds):  # texts, and too few of them are dates
            return _plain_times(np.full(seconds.size, np.nan), name)
        return _from_midnight(seconds)
    _check_kind(series, name, "times")
    if column.dtype != pl.String:
        return _numbers(series, name, values_of(column))
    plain = numbers(column)
    if _most(plain):  # patterns are slow: try the plain case first
        return _numbers(series, name, plain)
    clock = clock_s(column)
    if _most(clock):
        _check_clocks(series, name)
        return _over_midnight(clock), math.nan
    dated, form = _dates(column)
    if not _most(dated):
        return _plain_times(plain, name)
    if form.startswith("%m") and name not in PJM_TIMES:
        _check_months(series, name, dated)
    return _from_midnight(dated)


def _check_clocks(series: Series, name: str) -> None:
    """Refuse times of which each may be minutes and seconds or hours and minutes."""
    two = np.flatnonzero(series.frame[name].str.contains(r"^\s*\d{1,3}:\d{2}\s*$").fill_null(value=False).to_numpy())
    if two.size:
        raise TraceError.at(
            series.path,
            "may be minutes and seconds or hours and minutes",
            line=int(series.lines[two[0]]),
            field=name[:60],
            value=series.shown(int(two[0]), [name])[name],
            hint="write clocks like 07:05:00",
        )


def _check_months(series: Series, name: str, unix_s: Floats) -> None:
    """Refuse dates of which each may begin with its month or with its day."""
    from datetime import UTC, datetime

    known = np.flatnonzero(np.isfinite(unix_s))
    if any(datetime.fromtimestamp(float(day) * _DAY_S, UTC).day > 12 for day in np.unique(unix_s[known] // _DAY_S)):
        return
    raise TraceError.at(
        series.path,
        "may begin with the month or with the day",
        line=int(series.lines[known[0]]),
        field=name[:60],
        value=series.shown(int(known[0]), [name])[name],
        hint="write dates like 2022-03-04 (the month comes first in columns named as PJM's, "
        f"{PJM_TIMES[0]}, and where some day is above 12)",
    )


def is_clock(column: pl.Series) -> bool:
    """Tell whether a column holds times of day."""
    import polars as pl

    return column.dtype == pl.Time or (
        column.dtype == pl.String and not _most(numbers(column)) and _most(clock_s(column))
    )


def date_of(name: str) -> float:
    """Return the Unix time of a date that is a column's name, NaN if it is none.

    >>> date_of("8/1/2017")
    1501545600.0
    """
    import polars as pl

    for form in _DATES:
        found = pl.Series([name]).str.to_date(form, strict=False)[0]
        if found is not None:
            return float(found.toordinal() - 719163) * _DAY_S
    return math.nan


def _time_among(names: list[str]) -> str | None:
    known = [name for name in TIME_NAMES if name in names]
    if known:
        return known[0]
    return names[0] if len(names) > 1 and names[0] in _UNNAMED else None


def _most(found: Floats) -> bool:
    return bool(2 * np.isfinite(found).sum() > found.size)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _float(column: pl.Series) -> Floats:
    import polars as pl

    return column.cast(pl.Float64).to_numpy().astype(np.float64)


def _plain_times(values: Floats, name: str) -> tuple[Floats, float]:
    known = np.isfinite(values)
    given = values if known.all() else np.where(known, values, np.nan)
    first = float(given[np.argmax(known)]) if known.any() else math.nan
    factor = FACTORS[_named_unit(name) or unit_of(first)]
    given = in_units(given, factor)
    return _from_midnight(given) if first * factor >= UNIX_S else (given, math.nan)


def _named_unit(name: str) -> str | None:
    """Return the part of a second that a column's name says (None: it says none)."""
    return next((unit for unit in ("ms", "us", "ns") if name.endswith(f"_{unit}")), None)


def _numbers(series: Series, name: str, values: Floats) -> tuple[Floats, float]:
    """Return times that are numbers; those that read as dates, or lie thousands of years ahead, are refused."""
    if _named_unit(name) is None and may_be_dates(values):
        raise _odd_time(
            series,
            name,
            int(np.argmax(np.isfinite(values))),
            "may be a date, or a number of seconds",
            "write dates like 2024-01-31T12:00:00; let the column's name end in _ms, _us or _ns if it is such a number",
        )
    seconds, epoch = _plain_times(values, name)
    far = np.flatnonzero(np.abs(seconds) > MOST_EPOCH_S)
    if far.size:
        raise _odd_time(
            series,
            name,
            int(far[0]),
            f"lies more than {MOST_EPOCH_S:g} s from the beginning",
            "milli-, micro- or nanoseconds? let the column's name end in _ms, _us or _ns",
        )
    return seconds, epoch


def _odd_time(series: Series, name: str, row: int, problem: str, hint: str) -> TraceError:
    value = series.shown(row, [name])[name]
    return TraceError.at(series.path, problem, line=int(series.lines[row]), field=name[:60], value=value, hint=hint)


def _dates(texts: pl.Series) -> tuple[Floats, str]:
    """Return Unix seconds of dates with times, and the notation, which is the one that reads most of them."""
    first = texts.head(AT_ONCE)
    likely = [form for form in _DATE_TIMES if np.isfinite(_dates_in(first, form)).all()]  # it may read all the others
    best, notation, most = np.full(texts.len(), np.nan), "", 0
    for form in dict.fromkeys((*likely, *_DATE_TIMES)):
        pieces = (_dates_in(texts.slice(at, AT_ONCE), form) for at in range(0, texts.len(), AT_ONCE))
        found = np.concatenate([*pieces, np.empty(0)])
        read = int(np.isfinite(found).sum())
        if read > most or (read == most > 0 and _DATE_TIMES.index(form) < _DATE_TIMES.index(notation)):
            best, notation, most = found, form, read
        if most == texts.len():
            break
    return best, notation


def _dates_in(texts: pl.Series, form: str) -> Floats:
    """Return Unix seconds of dates in a notation, NaN where the text is none."""
    # one separator between the parts, since the reader of a notation is strict about blanks
    joined = texts.str.slice(0, 64).str.replace_all(r"\s+", "T").str.replace(r"(?i)Z$", "+00:00")
    return _float(joined.str.to_datetime(form, time_unit="us", strict=False).dt.epoch("us")) / 1e6


def _from_midnight(unix_s: Floats) -> tuple[Floats, float]:
    if not np.isfinite(unix_s).any():
        return unix_s, math.nan
    midnight = math.floor(float(np.nanmin(unix_s)) / _DAY_S) * _DAY_S
    return unix_s - midnight, midnight


def _over_midnight(clock: Floats) -> Floats:
    """Add a day wherever the time of day falls by more than half a day from one readable row to the next."""
    rows = np.flatnonzero(np.isfinite(clock))
    days = np.zeros(clock.size)
    days[rows[1:]] = np.diff(clock[rows]) < -0.5 * _DAY_S
    return clock + np.cumsum(days) * _DAY_S
