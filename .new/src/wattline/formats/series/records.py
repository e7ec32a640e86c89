"""Recorded days of a regulation signal from files: one file is one record, a long file is cut into days.

A set of records is evidence about days to come only if its days are different ones of one signal. So records of
different steps, days that overlap or are in the set twice, as they are or nearly so, and records shorter than an hour
are refused, each in one line. Hours in which the signal was missing for more than a minute, at once or in all, are
counted: the reader holds the last value there, or somebody did before, which is no signal.

Days are cut at midnight UTC where the file tells dates, else every 24 h from its beginning.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import numpy as np

from wattline.arrays import Floats
from wattline.errors import InputError, TraceError
from wattline.formats.series.alike import nearly_repeated
from wattline.formats.series.columns import date_of
from wattline.formats.series.repeats import repeated
from wattline.formats.series.signals import SignalTrace, read_days
from wattline.formats.series.still import held
from wattline.market.signal_law import Law, law_of, pooled, strangers
from wattline.model.regulation import Record, Signal
from wattline.reading.notes import Note, plural
from wattline.units import DAY_S, HOUR_S, show_duration

LONGEST_S = 25 * HOUR_S
"""A file that lasts longer is cut into days; the day of a change to winter time has 25 hours."""
GAP_S = 60.0
"""Missing signal that lasts longer makes the hours that it touches no evidence, and so does more of it in an hour, in
shorter pieces. Two days may share as much: both midnights.
"""
_LONGER_S = GAP_S * (1 + 1e-9)
"""Longer than that, whatever rounding does."""


@dataclass(frozen=True)
class Records:
    """Records of one signal, in the order of their files, what was done to them, and the files as they were read.

    ``laws`` are the figures of each record; ``strangers`` has a loud line for each that differs in law from the others,
    by name: a day of another product, it seems.
    """

    records: tuple[Record, ...]
    notes: tuple[Note, ...]
    traces: tuple[SignalTrace, ...]
    laws: tuple[Law, ...]
    strangers: dict[str, str] = field(default_factory=dict)

    @property
    def law(self) -> Law:
        """The figures of all records together."""
        return pooled(self.laws)

    def joined(self) -> Signal:
        """Return all files one after another, from second 0 on, as a run plays them."""
        if len(self.traces) == 1:
            return self.traces[0].signal
        values = np.concatenate([trace.signal.values for trace in self.traces])
        return Signal(0.0, self.traces[0].signal.step_s, values)


def read_records(
    paths: Sequence[Path | str] | Path | str, *, column: str | None = None, step_s: float | None = None
) -> Records:
    """Read recorded days of one signal.

    Parameters
    ----------
    paths
        Files; each is a record, or several: a column for each date, or more than 25 h of signal.
    column
        Column of each file that is read, where there are several.
    step_s
        Seconds between two values, needed where a file has no times.
    """
    files = [paths] if isinstance(paths, str | Path) else list(paths)
    if not files:
        raise InputError("records: no signal file is given; name at least one")
    _refuse_listed_twice(files)
    traces = [trace for path in files for trace in read_days(path, column=column, step_s=step_s)]
    _refuse_other_steps(traces)
    notes = [note for trace in traces for note in trace.notes]
    found: list[tuple[Record, SignalTrace]] = []
    for trace, name in zip(traces, _names(traces), strict=True):
        found += _days(trace, name, notes)
    _refuse_overlaps(found)
    _refuse_repeats(found)
    kept = tuple(_with_hours(found, notes))
    laws = tuple(law_of(record) for record in kept)
    others = {laws[k].name: line for k, line in strangers(laws).items()}
    return Records(kept, merged(notes), tuple(traces), laws, others)


def merged(notes: Sequence[Note]) -> tuple[Note, ...]:
    """Return notes with those of one reason counted together, under the first of their examples."""
    found: dict[tuple[str, str], Note] = {}
    for note in notes:
        key = note.action, note.reason
        found[key] = replace(found[key], count=found[key].count + note.count) if key in found else note
    return tuple(found.values())


def _refuse_listed_twice(files: Sequence[Path | str]) -> None:
    seen = set()
    for path in files:
        real = os.path.realpath(path)
        if real in seen:
            raise TraceError.at(path, "is listed twice: one day is one record", hint="leave it out once")
        seen.add(real)


def _refuse_other_steps(traces: Sequence[SignalTrace]) -> None:
    first = traces[0]
    for trace in traces[1:]:
        if not math.isclose(trace.signal.step_s, first.signal.step_s, rel_tol=1e-9):
            told = (
                f"has a value every {trace.signal.step_s:g} s, {first.source} has one every {first.signal.step_s:g} s"
            )
            raise TraceError.at(trace.source, told, field=trace.column, hint="records of a set have one step")


def _names(traces: Sequence[SignalTrace]) -> list[str]:
    """Return a short name for each trace: that of its file, with its folder where two are alike."""
    short = [Path(trace.source).name.removesuffix(".gz").rpartition(".")[0] for trace in traces]
    files: dict[str, set[str]] = {}
    for name, trace in zip(short, traces, strict=True):
        files.setdefault(name, set()).add(trace.source)
    return [name if name and len(files[name]) == 1 else trace.source for name, trace in zip(short, traces, strict=True)]


def _days(trace: SignalTrace, name: str, notes: list[Note]) -> Iterator[tuple[Record, SignalTrace]]:
    """Yield the records of a trace: itself, or the days of a long one."""
    signal, size = trace.signal, trace.signal.values.size
    length_s = signal.end_s - signal.start_s
    if length_s < HOUR_S:
        told = f"lasts {show_duration(length_s)}, a record lasts an hour at least"
        raise TraceError.at(trace.source, told, field=trace.column, hint="leave it out, or join it with what follows")
    dated, wide = math.isfinite(trace.epoch_unix_s), math.isfinite(date_of(trace.column))
    cuts = [0, size]
    if length_s > LONGEST_S:
        first_s = math.ceil(trace.epoch_unix_s / DAY_S) * DAY_S - trace.epoch_unix_s if dated else DAY_S
        inner = np.ceil(np.arange(first_s, length_s, DAY_S) / signal.step_s - 1e-6).astype(np.int64)
        cuts = [0, *(int(k) for k in inner if 0 < k < size), size]
        how = "at midnight UTC" if dated else "every 24 h from its beginning"
        notes.append(Note("kept", f"longer than {LONGEST_S / HOUR_S:g} h: cut into days, {how}", 1, trace.source))
    missing = _missing(trace, notes)
    for day, (begin, end) in enumerate(pairwise(cuts), start=1):
        part = Signal(0.0, signal.step_s, signal.values[begin:end])
        unix_s = trace.epoch_unix_s + begin * signal.step_s
        own = f"{name} {_day(unix_s) if dated else f'day {day}'}" if wide or len(cuts) > 2 else name
        if part.end_s < HOUR_S:
            example = f"{own}: {show_duration(part.end_s)}"
            notes.append(Note("dropped", "what is left of a long file is shorter than an hour", 1, example))
            continue
        yield Record(own, part, _gaps(missing, begin * signal.step_s, part.end_s), unix_s), trace


def _missing(trace: SignalTrace, notes: list[Note]) -> Floats:
    """Return when signal is missing, from its beginning on: rows are, or a value is held for more than a minute."""
    signal = trace.signal
    absent = trace.gaps - signal.start_s
    long = absent[np.diff(absent, axis=1)[:, 0] > _LONGER_S]
    still = [
        (begin_s, end_s)
        for begin_s, end_s in held(signal.values, signal.step_s, GAP_S)
        if not ((long[:, 0] < end_s) & (long[:, 1] > begin_s)).any()
    ]
    if not still:
        return absent
    begin_s, end_s = still[0]
    where = f"{trace.source}: from {show_duration(begin_s)} on for {show_duration(end_s - begin_s)}"
    reason = "the signal stands still for more than a minute at a value at which it does not rest: taken as missing"
    notes.append(Note("kept", reason, len(still), where))
    return _united(np.concatenate([absent, np.array(still, dtype=np.float64)]))


def _united(stretches: Floats) -> Floats:
    """Return stretches in order, those that overlap as one."""
    stretches = stretches[np.argsort(stretches[:, 0], kind="stable")]
    reached = np.maximum.accumulate(stretches[:, 1])
    first = np.append(True, stretches[1:, 0] > reached[:-1])
    return np.column_stack([stretches[first, 0], reached[np.append(first[1:], True)]])


def _gaps(missing: Floats, begin_s: float, length_s: float) -> tuple[tuple[float, float], ...]:
    """Return the missing stretches of a part of the signal that make hours no evidence, as they lie in it.

    These are the ones that last longer than a minute, and the shorter ones in hours of which more than a minute is
    missing.
    """
    long = np.diff(missing, axis=1)[:, 0] > _LONGER_S
    cut = np.clip(missing - begin_s, 0.0, length_s)
    inside = cut[:, 0] < cut[:, 1]
    cut, long = cut[inside], long[inside]
    found = [cut[long]]
    for k in range(math.floor(length_s / HOUR_S * (1 + 1e-12))):
        hour = np.clip(cut, k * HOUR_S, (k + 1) * HOUR_S)
        if np.diff(hour, axis=1).sum() > _LONGER_S:
            found.append(hour[~long & (hour[:, 0] < hour[:, 1])])
    every = np.concatenate(found)
    return tuple((begin, end) for begin, end in every[np.argsort(every[:, 0], kind="stable")].tolist())


def _day(unix_s: float) -> str:
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%d")


def _refuse_overlaps(found: Sequence[tuple[Record, SignalTrace]]) -> None:
    """Refuse days of which the dates say that they are the same."""
    dated = sorted(
        (pair for pair in found if math.isfinite(pair[0].begin_unix_s)), key=lambda pair: pair[0].begin_unix_s
    )
    for (before, first), (record, trace) in pairwise(dated):
        shared_s = before.begin_unix_s + before.length_s - record.begin_unix_s
        if shared_s > GAP_S:
            when = datetime.fromtimestamp(record.begin_unix_s, UTC).strftime("%Y-%m-%d %H:%M UTC")
            lasting = show_duration(min(shared_s, record.length_s))
            told = f"overlaps with {first.source} for {lasting} from {when} on"
            raise TraceError.at(trace.source, told, field=trace.column, hint="leave one of them out")


def _refuse_repeats(found: Sequence[tuple[Record, SignalTrace]]) -> None:
    """Refuse a record that holds values of another one, or is nearly a copy of one, from whatever time on."""
    series = [record.signal.values for record, _ in found]
    same, how = repeated(series), "of its values are the same, one after another"
    if same is None:
        same, how = nearly_repeated(series, found[0][0].signal.step_s), "of it goes up and down as pieces of that do"
    if same is None:
        return
    (first, _), (record, trace) = found[same.first], found[same.other]
    told = f"{record.name!r} repeats {first.name!r}: {same.share:.0%} {how}"
    raise TraceError.at(trace.source, told, field=trace.column, hint="one day is one record: leave one of them out")


def _first_gap(record: Record) -> str:
    """Return where signal is missing first, as it is told."""
    begin_s, end_s = record.gaps[0]
    if end_s - begin_s > _LONGER_S:
        return f"none from {show_duration(begin_s)} on for {show_duration(end_s - begin_s)}"
    hour = next((begin, end) for begin, end in record.hours() if begin <= begin_s < end)
    pieces = np.clip(np.array(record.gaps), *hour)
    lost_s = float(np.diff(pieces, axis=1).sum())
    return f"{show_duration(lost_s)} in all in the hour from {show_duration(hour[0])} on"


def _with_hours(found: Sequence[tuple[Record, SignalTrace]], notes: list[Note]) -> Iterator[Record]:
    """Yield the records with an hour of signal; hours without are counted."""
    left = 0
    for record, trace in found:
        lost = len(record.hours()) - len(record.usable_hours())
        if lost:
            where = f"{record.name}: {_first_gap(record)}"
            reason = "hours in which the signal is missing for more than a minute: no evidence for a bid"
            notes.append(Note("kept", reason, lost, where))
        if record.usable_hours():
            left += 1
            yield record
        elif left or record is not found[-1][0]:
            reason = "record without an hour in which the signal is not missing"
            notes.append(Note("dropped", reason, 1, record.name))
        else:
            told = f"no hour of {len(found)} {plural(len(found))} is without missing signal"
            if all(np.ptp(other.signal.values) == 0.0 for other, _ in found):
                told += ": its value never changes" if len(found) == 1 else ": their values never change"
            raise TraceError.at(trace.source, told, field=trace.column, hint="give other records")
