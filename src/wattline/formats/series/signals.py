"""Regulation signals from files: CSV or Parquet, plain or gzip, any step, long or wide.

Every repair counted or refused.

========================  ==================================  ==========================================================
what may be wrong         told to                             otherwise
========================  ==================================  ==========================================================
time goes back            ``order="sort"``                    refused
a step or value missing   ``gaps="hold"`` (the last one)      refused, always so if more is missing than there is
a value beyond [−1, 1]    ``outside="clip"``                  refused, always so if half of all values are
a time is repeated        dropped but for the last
a time cannot be read     dropped
========================  ==================================  ==========================================================

``strict`` refuses whatever would be changed or dropped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints
from wattline.errors import InputError, TraceError
from wattline.formats.series.columns import Rows, Series, date_of, find_columns, read_series, times_of, values_in
from wattline.market.tracking import require
from wattline.model.regulation import Signal
from wattline.reading.long_rows import AT_ONCE, distances, is_run, rows_of
from wattline.reading.notes import Note, listed, plural, settle
from wattline.units import DAY_S, in_full

__all__ = ["Repairs", "SignalTrace", "read_days", "read_signal", "read_signals", "require"]

Mask = npt.NDArray[np.bool_]
_ROUNDING = 1e-9
"""How far beyond ±1 a value may lie by rounding alone."""
_OFF_GRID = 0.01
"""Part of a step by which a time may miss its place before that is mentioned."""
LONGEST_STEP_S = DAY_S
"""No regulation signal has a step of more than a day."""
_NO_GAPS: Ints = np.empty((0, 2), dtype=np.int64)


@dataclass(frozen=True)
class Repairs:
    """What to do about times that go back, missing steps and values beyond [−1, 1]; ``refuse`` stops with an error."""

    order: Literal["sort", "refuse"] = "sort"
    gaps: Literal["hold", "refuse"] = "hold"
    outside: Literal["clip", "refuse"] = "clip"

    def __post_init__(self) -> None:
        for name, repair in (("order", "sort"), ("gaps", "hold"), ("outside", "clip")):
            if getattr(self, name) not in (repair, "refuse"):
                raise InputError(f"signal: {name} must be {repair} or refuse (got {getattr(self, name)!r})")


@dataclass(frozen=True)
class SignalTrace:
    """A signal with its origin; ``epoch_unix_s`` is the Unix time of its second 0, NaN if the file does not tell.

    ``gaps`` has a row (begin, end) for every stretch of missing values, of any length, in the signal's own seconds.
    """

    signal: Signal
    notes: tuple[Note, ...]
    source: str
    column: str
    records: int
    epoch_unix_s: float = math.nan
    gaps: Floats = field(default_factory=lambda: np.empty((0, 2)))


def read_signal(
    path: Path | str,
    *,
    column: str | None = None,
    time_column: str | None = None,
    step_s: float | None = None,
    start_s: float | None = None,
    scale: float = 1.0,
    repairs: Repairs | None = None,
    strict: bool = False,
) -> SignalTrace:
    """Read one signal. ``column`` picks one of several; ``step_s`` is needed where the file has no times.

    Without ``start_s`` the signal begins when the file says: at its first time, at the time of day, or (dates) at the
    time of the first day. ``scale`` multiplies the values (0.01 for a signal in per cent).
    """
    series = read_series(path)
    time, columns = find_columns(series, time_column, column)
    if len(columns) != 1:
        raise _not_one(series, columns)
    return _read(series, time, columns[0], step_s, start_s, scale, repairs or Repairs(), strict=strict)


def read_days(path: Path | str, *, column: str | None = None, step_s: float | None = None) -> tuple[SignalTrace, ...]:
    """Read the one signal of a file, or the days of a wide one, each from second 0 on.

    Columns beside each other are days where their names are dates.
    """
    series = read_series(path)
    time, columns = find_columns(series, None, column)
    if len(columns) != 1 and not (columns and all(math.isfinite(date_of(name)) for name in columns)):
        raise _not_one(series, columns)
    return tuple(_read(series, time, name, step_s, 0.0, 1.0, Repairs(), strict=False) for name in columns)


def read_signals(
    path: Path | str,
    *,
    time_column: str | None = None,
    step_s: float | None = None,
    scale: float = 1.0,
    repairs: Repairs | None = None,
    strict: bool = False,
) -> dict[str, SignalTrace]:
    """Read every signal of a file, by column: the days of a wide one, or several signals side by side."""
    series = read_series(path)
    time, columns = find_columns(series, time_column, None)
    if not columns:
        raise TraceError.at(path, f"no signal in {listed(series.frame.columns)}", hint="name one: column = …")
    told = repairs or Repairs()
    return {name: _read(series, time, name, step_s, None, scale, told, strict=strict) for name in columns}


def _read(
    series: Series,
    time: str | None,
    column: str,
    step_s: float | None,
    start_s: float | None,
    scale: float,
    repairs: Repairs,
    *,
    strict: bool,
) -> SignalTrace:
    if step_s is not None and not 0 < step_s <= LONGEST_STEP_S:
        raise InputError(f"signal: step_s must be positive, and a day at most (got {step_s})")
    if not math.isfinite(scale) or scale == 0:
        raise InputError(f"signal: scale must be a number other than 0 (got {scale})")
    rows = Rows(series, time or "line", column)
    at, epoch = _times(rows, time, step_s)
    value = _values(rows, scale, repairs)
    rows.row = _in_order(rows, at, repairs)
    at, value = _picked(at, rows.row), _picked(value, rows.row)
    rows.row, at, value = _from_first_value(rows, at, value)
    if not value.size:
        raise _nothing(rows)
    step = step_s or _step(rows, at)
    held, absent = _on_grid(rows, at, value, step, repairs)
    notes = settle(series.path, rows.refused, strict=True) + settle(series.path, rows.findings, strict=strict)
    epoch = date_of(column) if math.isnan(epoch) else epoch
    begin = float(at[0]) if start_s is None else start_s
    records = series.frame.height + sum(found.count for found in series.wrong)
    signal = Signal(begin, step, held)
    gaps = begin + step * absent.astype(np.float64)
    return SignalTrace(signal, notes, str(series.path), column, records, epoch + float(at[0]) - begin, gaps)


def _not_one(series: Series, columns: list[str]) -> TraceError:
    """Return the error for a file whose signal is no column, or one of several."""
    found = listed(columns or series.frame.columns)
    problem = f"holds several columns that may be the signal: {found}" if columns else f"no signal in {found}"
    return TraceError.at(series.path, problem, hint="name one: column = …")


def _nothing(rows: Rows) -> TraceError:
    """Return the error for a column without a single value that can be used."""
    notes = settle(rows.series.path, rows.refused + rows.findings, strict=False)
    reasons = "; ".join(f"{n.count} × {n.reason}, e.g. {n.example}" for n in notes)
    return TraceError.at(rows.series.path, f"no value in it{f' ({reasons})' if reasons else ''}", field=rows.column)


def _times(rows: Rows, time: str | None, step_s: float | None) -> tuple[Floats, float]:
    """Return the time of every row; without a column of times, from its line and the step."""
    series = rows.series
    if time is None:
        if step_s is None:
            problem = f"no column of times in {listed(series.frame.columns)}"
            raise TraceError.at(series.path, problem, hint="give the step, or name the column of times")
        # by line, not by row: an empty or malformed line is a missing value, not a shorter signal
        return (series.lines - series.lines[:1]).astype(np.float64) * step_s, math.nan
    at, epoch = times_of(series, time)
    rows.note("dropped", "malformed: the time cannot be read", np.flatnonzero(~np.isfinite(at)), time)
    return at, epoch


def _values(rows: Rows, scale: float, repairs: Repairs) -> Floats:
    """Return values within [−1, 1], NaN where there is none."""
    value = values_in(rows.series, rows.column)
    if scale != 1.0:
        value = value * scale
    known = np.isfinite(value)
    missing = int(value.size - np.count_nonzero(known))
    if missing:
        value = np.where(known, value, np.nan)
    del known
    beyond = np.flatnonzero((value > 1.0 + _ROUNDING) | (value < -1.0 - _ROUNDING))
    if 2 * beyond.size >= value.size - missing > 0:  # else the median is within
        median = float(np.median(np.abs(value[~np.isnan(value)])))
        if median > 1.0 + _ROUNDING:
            hint = "a regulation signal stays within [-1, 1]: is it in per cent?"
            problem = f"half of all values reach {in_full(median, 4)} or beyond"
            raise TraceError.at(rows.series.path, problem, field=rows.column, hint=hint)
    if value.size > 2 * (value.size - missing) > 0:
        problem = f"more values are missing ({missing}) than there are"
        raise TraceError.at(rows.series.path, problem, field=rows.column)
    refuse = repairs.outside == "refuse"
    rows.note("repaired", "value outside [-1, 1]: clipped", beyond, rows.column, refuse=refuse)
    held = np.flatnonzero(np.isnan(value))
    refuse = repairs.gaps == "refuse"
    rows.note("repaired", "value is not a number: the last one held", held, rows.column, refuse=refuse)
    return np.clip(value, -1.0, 1.0) if ((value > 1.0) | (value < -1.0)).any() else value


def _in_order(rows: Rows, at: Floats, repairs: Repairs) -> Ints:
    """Return the rows with a time, in order of time."""
    kept = rows_of(np.isfinite(at))
    times = _picked(at, kept)
    back = kept[1:][times[1:] < times[:-1]]
    refuse = repairs.order == "refuse"
    rows.note("repaired", "time goes back: sorted", back, rows.time, refuse=refuse)
    return kept[np.argsort(times, kind="stable")] if back.size else kept


def _picked(values: Floats, rows: Ints) -> Floats:
    """Return the values of some rows; those of all of them in order are not copied."""
    return values if rows.size == values.size and is_run(rows) else values[rows]


def _from_first_value(rows: Rows, at: Floats, value: Floats) -> tuple[Ints, Floats, Floats]:
    """Leave out what stands before the first value: there is nothing to hold yet."""
    known = ~np.isnan(value)
    first = int(np.argmax(known)) if known.any() else value.size
    rows.note("dropped", "no value yet", rows.row[:first], rows.column)
    return rows.row[first:], at[first:], value[first:]


def _step(rows: Rows, at: Floats) -> float:
    """Return the most frequent distance of times."""
    sizes, counts = distances(at)
    sizes, counts = sizes[sizes > 0], counts[sizes > 0]
    if not sizes.size:
        told = f"{at.size} {plural(at.size, 'value')} at one time"
        raise TraceError.at(rows.series.path, f"cannot tell its step from {told}", hint="give the step")
    step_s = float(sizes[np.argmax(counts)])
    if step_s > LONGEST_STEP_S:
        told = f"its step is {in_full(step_s)} s, and no regulation signal has one of more than a day"
        hint = "milli-, micro- or nanoseconds? let the column's name end in _ms, _us or _ns"
        raise TraceError.at(rows.series.path, told, field=rows.time, hint=hint)
    return step_s


def _on_grid(rows: Rows, at: Floats, value: Floats, step_s: float, repairs: Repairs) -> tuple[Floats, Ints]:
    """Return one value a step, of several the last, of none the one before; and the first step of every stretch of
    steps without a value, with the first step after it.
    """
    if not np.isnan(value).any() and _is_regular(at, step_s):
        return (value if value.flags.writeable and value.flags.owndata else value.copy()), _NO_GAPS
    exact = (at - at[0]) / step_s
    place = np.floor(exact + (0.5 + _OFF_GRID))  # those halfway go to the later step, all of them
    off = np.flatnonzero(np.abs(exact - place) > _OFF_GRID)
    rows.note(
        "repaired",
        f"time is not on the grid of {in_full(step_s)} s: moved to the nearest step",
        rows.row[off],
        rows.time,
    )
    del exact
    apart = np.diff(place)
    last = np.append(apart > 0, True)
    merged = np.flatnonzero((apart == 0) & (np.diff(at) > 0))
    if 2 * merged.size > last.size:
        line = int(rows.series.lines[rows.row[merged[0]]])
        problem = f"{merged.size} of {last.size} values fall onto the step of {in_full(step_s)} s of another"
        raise TraceError.at(rows.series.path, problem, line=line, field=rows.time, hint="is the step right?")
    rows.note("dropped", "time is repeated: the last value holds", rows.row[np.flatnonzero(~last)], rows.time)
    gaps = np.flatnonzero(apart > 1)
    missing = float((apart[gaps] - 1).sum())
    if missing > place.size:
        line = int(rows.series.lines[rows.row[gaps[np.argmax(apart[gaps])]]])
        problem = f"more steps of {in_full(step_s)} s are missing ({missing:.0f}) than there are"
        raise TraceError.at(rows.series.path, problem, line=line, field=rows.time, hint="is the step right?")
    refuse = repairs.gaps == "refuse"
    reason = "steps missing after this: the last value held"
    rows.note("repaired", reason, rows.row[gaps], rows.time, count=int(missing), refuse=refuse)
    del apart, last
    grid = np.full(int(place[-1]) + 1, np.nan)
    for at_once in range(0, value.size, AT_ONCE):
        known = ~np.isnan(value[at_once : at_once + AT_ONCE])
        whole = place[at_once : at_once + AT_ONCE][known].astype(np.int64)
        grid[whole] = value[at_once : at_once + AT_ONCE][known]  # in order of time: the last one stays
    del place
    absent = np.flatnonzero(np.isnan(grid))
    if not absent.size:
        return grid, _NO_GAPS
    # each run of them holds the value before it; the first value is there
    begins = np.append(True, np.diff(absent) > 1)
    grid[absent] = grid[absent[begins] - 1][np.cumsum(begins) - 1]
    first, after = absent[begins], absent[np.append(begins[1:], True)] + 1
    return grid, np.column_stack([first, after])


def _is_regular(at: Floats, step_s: float) -> bool:
    """Tell whether every time has the next place on the grid.

    Looked at in parts, since most signals are so and long.
    """
    for begin in range(0, at.size, AT_ONCE):
        exact = (at[begin : begin + AT_ONCE] - at[0]) / step_s
        place = np.arange(begin, begin + exact.size)
        if not ((np.abs(exact - place) <= _OFF_GRID) & (np.round(exact) == place)).all():
            return False
    return True
