"""Series of prices, mileage ratios and carbon intensities from tables: CSV or Parquet, plain or gzip, any step.

=============================  =========================================  ==========
what may be wrong              told to                                    otherwise
=============================  =========================================  ==========
time goes back                 ``order="sort"``                           refused
a step or a number is missing  ``gaps="hold"`` (the value before)         refused
two rows for one time          ``twice="first"``, ``"last"``, ``"mean"``  refused
=============================  =========================================  ==========

Negative prices are prices. Times with a zone, Unix times and columns called *utc* are what they say; dates without one
are local times of ``zone`` (UTC, and a note, without). Where clocks are set back, the first of two equal local times is
summer time, the last where the newest row stands first; the hour that is skipped does not exist. Other times are
seconds since the run began, or times of day.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import InputError, TraceError
from wattline.formats.series.columns import Rows, Series, find_columns, is_clock, read_series, times_of, values_in
from wattline.market.held import Held
from wattline.reading.calendar import local_to_unix, unix_to_local
from wattline.reading.notes import Note, listed, plural, settle
from wattline.units import DAY_S, in_full

if TYPE_CHECKING:
    import polars as pl

ENERGY = ("total_lmp_rt", "total_lmp_da", "lmp", "energy_per_mwh")
CAPACITY = ("reg_ccp", "rmccp", "capacity_per_mw")
PERFORMANCE = ("reg_pcp", "rmpcp", "performance_per_mw")
CARBON = ("carbon_intensity", "avg_ci", "carbon_g_per_kwh")
"""Columns as they are published, the best first; those of prices are per MW and MWh, of carbon in g/kWh."""

MOST = 1e9
"""No price, ratio or intensity is so large; sums of larger ones would lose cents."""
SHORTEST_S = 1.0
"""No series of prices has shorter steps, on the mean; shorter ones mean a mistaken unit, and never come to an end."""
_LOCAL = {"ept": "America/New_York"}
"""Endings of columns that name a zone: PJM's Eastern prevailing time."""

Placed = Literal["date", "day", "run"]
"""What the times of a series count from: 1970, a midnight, or the beginning of the run."""


@dataclass(frozen=True)
class Reading:
    """How to read a table: which columns and rows, in which zone, and what to do about what is wrong."""

    column: str | None = None
    time: str | None = None
    zone: str | None = None
    where: Mapping[str, str] | None = None
    step_s: float | None = None
    order: Literal["sort", "refuse"] = "sort"
    gaps: Literal["refuse", "hold"] = "refuse"
    twice: Literal["refuse", "first", "last", "mean"] = "refuse"


@dataclass(frozen=True)
class HeldTrace:
    """A series with its origin: ``placed`` says what its times count from."""

    held: Held
    placed: Placed
    notes: tuple[Note, ...]
    source: str
    column: str


def read_held(
    path: Path | str, how: Reading | None = None, *, known: tuple[str, ...] = (), least: float = -math.inf
) -> HeldTrace:
    """Read one series; without a ``column`` the first one ``known`` is taken, or the only one.

    A value of ``least`` is still allowed, a lower one is not.
    """
    told = how or Reading()
    if told.step_s is not None and not SHORTEST_S <= told.step_s < math.inf:
        raise InputError(f"series: the step must be at least {SHORTEST_S:g} s and end (got {told.step_s})")
    series = _chosen(read_series(path, [name.strip().lower() for name in told.where or ()]), told.where or {})
    time, column = _columns(series, told, known)
    series = series if time is None else _with_seconds(series, time)
    rows = Rows(series, time or "line", column)
    at, placed = _times(rows, time, told)
    value = _values(rows, told, least)
    rows.row = _in_order(rows, at, told)
    at, value = _once(rows, at[rows.row], value[rows.row], told)
    end_s = _end(rows, at, placed, told) if at.size else 0.0
    _refuse(rows)
    known_values = np.isfinite(value)  # of what is missing the value before holds
    notes = settle(path, rows.findings, strict=False)
    if not known_values.any():
        reasons = "; ".join(f"{note.count} × {note.reason}" for note in notes)
        raise TraceError.at(path, f"no value in it{f' ({reasons})' if reasons else ''}", field=column)
    return HeldTrace(Held(at[known_values], value[known_values], end_s), placed, notes, str(path), column)


_HINTS = {
    "a number": 'gaps = "hold" holds the value before',
    "be read": 'gaps = "hold" leaves such rows out',
    "in no order": "sort the table by time, or give times in UTC or with their offsets",
    "missing": 'gaps = "hold" holds the value before; if clocks were set forward, give their zone',
    "twice": "clocks set back? give their zone; several nodes or products? choose with where; or say twice = …",
    "back": 'order = "sort" puts them in order',
    "skip": 'gaps = "hold" leaves such rows out',
}
"""What to do about what is refused, by a word of the reason."""


def _refuse(rows: Rows) -> None:
    """Raise what nobody said how to repair; causes were found before what follows from them (gaps come last)."""
    if not rows.refused:
        return
    first = rows.refused[0]
    count = f" ({first.count} times, this is the first)" if first.count > 1 else ""
    hint = next((advice for word, advice in _HINTS.items() if word in first.reason), "")
    raise TraceError.at(
        rows.series.path, first.reason + count, line=first.line, field=first.field, value=first.value, hint=hint
    )


def _chosen(series: Series, where: Mapping[str, str]) -> Series:
    """Return the rows that have these texts in these columns."""
    import polars as pl

    for name, text in where.items():
        key = name.strip().lower()
        if key not in series.frame.columns:
            raise TraceError.at(series.path, f"no such column: found {listed(series.frame.columns)}", field=name[:60])
        kind = series.frame[key].dtype
        if kind.is_nested() or kind in (pl.Binary, pl.Object, pl.Duration):
            raise TraceError.at(series.path, f"column must hold texts or numbers, not {kind}"[:200], field=name[:60])
        found = series.frame[key].cast(pl.String)
        keep = (found == text).fill_null(value=False)
        if not keep.any():
            some = listed(str(item) for item in found.drop_nulls().unique(maintain_order=True)[:8])
            raise TraceError.at(series.path, f"no row has this (it has {some})", field=name[:60], value=text)
        series = replace(series, frame=series.frame.filter(keep), lines=series.lines[keep.to_numpy()])
    return series


def _columns(series: Series, told: Reading, known: tuple[str, ...]) -> tuple[str | None, str]:
    column = told.column or next((name for name in known if name in series.frame.columns), None)
    time, columns = find_columns(series, told.time, column)
    if len(columns) != 1:
        found = listed(columns or series.frame.columns)
        problem = f"several columns may be meant: {found}" if columns else f"no column of values in {found}"
        raise TraceError.at(series.path, problem, hint="name one: column = …")
    if time is None and told.step_s is None:
        problem = f"no column of times in {listed(series.frame.columns)}"
        raise TraceError.at(series.path, problem, hint="name it: time = …, or give step for one value after the other")
    return time, columns[0]


def _with_seconds(series: Series, time: str) -> Series:
    """Return times of day with seconds: in a table of prices 06:00 is six o'clock, not six minutes."""
    import polars as pl

    texts = series.frame[time]
    if texts.dtype != pl.String or not texts.str.contains(r"^\d{1,2}:\d{2}$").all():
        return series
    return replace(series, frame=series.frame.with_columns(texts + ":00"))


def _times(rows: Rows, time: str | None, told: Reading) -> tuple[Floats, Placed]:
    """Return the time of every row (NaN: unreadable) and what it counts from."""
    series = rows.series
    if time is None:
        return (series.lines - series.lines[:1]).astype(np.float64) * float(told.step_s or 0.0), "run"
    seconds, epoch = times_of(series, time)
    unread = np.flatnonzero(~np.isfinite(seconds))
    rows.note("dropped", "the time cannot be read", unread, time, refuse=told.gaps == "refuse")
    if math.isnan(epoch):
        if told.zone is not None:
            raise TraceError.at(series.path, "a zone goes with dates, and these times have none", field=time)
        clock = is_clock(series.frame[time])
        late = np.flatnonzero(_clock_s(series.frame[time]) > DAY_S) if clock else np.array([], dtype=np.int64)
        rows.note("dropped", "no day has such a time", late, time, refuse=True)
        return seconds, "day" if clock else "run"
    unix_s = np.round(seconds + epoch, 6)
    zoned = _zoned(series.frame[time], time)
    if zoned and told.zone is not None:
        raise TraceError.at(series.path, f"its times say their zone, so zone = {told.zone!r} does not go", field=time)
    zone = _zone(time, told)
    if zoned or (zone is None and "utc" in time):
        return unix_s, "date"
    if zone is None:
        rows.note("kept", "dates name no zone: taken as UTC (zone = … for another)", np.arange(unix_s.size), time)
        return unix_s, "date"
    found, once, skipped, unclear = local_to_unix(unix_s, zone)
    told_twice = f"clocks of {zone} show this time twice, and rows around it are in no order that tells which is which"
    rows.note("dropped", told_twice, np.flatnonzero(unclear), time, refuse=True)
    rows.note("kept", f"clocks of {zone} show this time twice: taken as the first", np.flatnonzero(once), time)
    refuse = told.gaps == "refuse"
    rows.note("dropped", f"clocks of {zone} skip this time", np.flatnonzero(skipped), time, refuse=refuse)
    return found, "date"


def _zone(time: str | None, told: Reading) -> str | None:
    """Return the zone of local times, if it is known."""
    return told.zone or (None if time is None else _LOCAL.get(time.rsplit("_", 1)[-1]))


def _clock_s(column: pl.Series) -> Floats:
    """Return times of day as they are written, in seconds since midnight."""
    import polars as pl

    from wattline.reading.fields import clock_s

    return clock_s(column) if column.dtype == pl.String else np.zeros(len(column))


def _zoned(column: pl.Series, name: str) -> bool:
    """Tell whether times say their zone themselves, or are Unix times."""
    import polars as pl

    if isinstance(column.dtype, pl.Datetime):
        return column.dtype.time_zone is not None
    if column.dtype != pl.String:
        return column.dtype.is_numeric()
    shown = column.drop_nulls()
    offset = shown.str.contains(r"(?i)(\dZ|[+-]\d{2}:?\d{2})$").sum()
    plain = shown.str.contains(r"^[-+0-9.eE]+$").sum()
    return bool(2 * max(offset, plain) > len(shown)) or name in ("unix", "unix_s", "epoch")


def _values(rows: Rows, told: Reading, least: float) -> Floats:
    """Return the numbers of the column, NaN where there is none."""
    value = values_in(rows.series, rows.column)
    value = np.where(np.isfinite(value), value, np.nan)
    low = np.flatnonzero(value < least)
    rows.note("dropped", f"must not be below {least:g}", low, rows.column, refuse=True)
    high = np.flatnonzero(np.abs(value) > MOST)
    rows.note("dropped", f"must not be beyond {in_full(MOST)}", high, rows.column, refuse=True)
    missing = np.flatnonzero(np.isnan(value))
    if told.gaps == "refuse":
        rows.note("repaired", "is not a number", missing, rows.column, refuse=True)
    else:
        rows.note("repaired", "is not a number: the value before is held", missing, rows.column)
    return value


def _in_order(rows: Rows, at: Floats, told: Reading) -> Ints:
    """Return the rows with a time, in order of time."""
    kept = np.flatnonzero(np.isfinite(at))
    back = kept[1:][np.diff(at[kept]) < 0]
    refuse = told.order == "refuse"
    rows.note("repaired", "time goes back" + ("" if refuse else ": sorted"), back, rows.time, refuse=refuse)
    return kept[np.argsort(at[kept], kind="stable")]


def _once(rows: Rows, at: Floats, value: Floats, told: Reading) -> tuple[Floats, Floats]:
    """Return one value a time."""
    again = np.flatnonzero(np.diff(at) == 0) + 1
    words = {"refuse": "", "first": ": the first holds", "last": ": the last holds", "mean": ": their mean holds"}
    reason = f"time is listed twice{words[told.twice]}"
    rows.note("repaired", reason, rows.row[again], rows.time, refuse=told.twice == "refuse")
    if not again.size:
        return at, value
    times, first, which, count = np.unique(at, return_index=True, return_inverse=True, return_counts=True)
    if told.twice == "mean":
        found = np.bincount(which, weights=value) / count
    else:
        found = value[first if told.twice == "first" else first + count - 1]
    rows.row = rows.row[first]
    return times, np.asarray(found, dtype=np.float64)


def _end(rows: Rows, at: Floats, placed: Placed, told: Reading) -> float:
    """Return when the last value ends, one step after it began; missing steps are looked for on the way."""
    if placed == "day" and told.step_s is None:  # a table of the day: each row holds to the next, the last to midnight
        return math.ceil((float(at[-1]) + 1e-9) / DAY_S) * DAY_S
    distance = np.round(np.diff(at), 6)
    if told.step_s is None and not distance.size:
        told_count = f"{at.size} {plural(at.size, 'value')}"
        raise TraceError.at(rows.series.path, f"cannot tell how long a value holds from {told_count}", hint="give step")
    sizes, counts = np.unique(distance, return_counts=True)
    step_s = told.step_s or float(sizes[np.argmax(counts)])
    if at[-1] + step_s - at[0] < SHORTEST_S * at.size:
        apart_s = (float(at[-1]) + step_s - float(at[0])) / at.size
        problem = f"its rows are {in_full(apart_s)} s apart, and {SHORTEST_S:g} s is the least"
        raise TraceError.at(rows.series.path, problem, field=rows.time, hint="are the times in seconds?")
    gaps = np.flatnonzero(distance > step_s * (1 + 1e-9))
    zone = _zone(rows.time, told) if placed == "date" else None
    if zone is not None and step_s % DAY_S == 0:  # days of the calendar: one has 25 hours, one 23
        distance = np.round(np.diff(unix_to_local(at, zone)), 6)
        gaps = np.flatnonzero(distance > step_s * (1 + 1e-9))
    missing = int(np.ceil(distance[gaps] / step_s - 1 - 1e-9).sum())
    refuse = told.gaps == "refuse"
    reason = f"steps of {step_s:g} s are missing after this" + ("" if refuse else ": the value is held")
    rows.note("repaired", reason, rows.row[gaps], rows.time, count=missing, refuse=refuse)
    return float(at[-1]) + step_s
