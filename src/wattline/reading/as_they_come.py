"""Values of tables of any make → seconds, watts, joules: dates, clocks, words with units, and columns with a type.

A reader of a column takes it part by part and remembers what it saw; what could mean two things is kept, by its row,
for the error that asks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, in_units
from wattline.errors import InputError
from wattline.reading.calendar import offset_at
from wattline.reading.fields import LONGEST
from wattline.units import TIME_UNITS, times

if TYPE_CHECKING:
    import polars as pl

Mask = npt.NDArray[np.bool_]

_NOTHING = ("", "-", "none", "null", "nan", "nat", "n/a", "na", "unknown", "invalid", "not_set", "partition_limit")
_ENDLESS = ("unlimited", "infinite", "inf")
_ISO = (
    r"^(\d{4}[-/]\d{1,2}[-/]\d{1,2})(?:[T ]+(\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?))?"
    r"\s*(Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?$"
)
_EITHER_WAY = r"^\d{1,2}[-/.]\d{1,2}[-/.](?:\d{2}|\d{4})\b"
_DAYS = re.compile(r"(\d+)(?:-| days?,?\s+(?=\d+:))(\d{1,2})(?::(\d{2})(?::(\d{2}(?:\.\d+)?))?)?")
_THREE = re.compile(r"(\d{1,6}):(\d{2}):(\d{2}(?:\.\d+)?)")
_TWO = re.compile(r"(\d{1,6}):(\d{2}(?:\.\d+)?)")
_ISO_SPAN = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")
_WORD = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-z]+)")
_TIME_WORDS = TIME_UNITS | {
    "us": 1e-6,
    "ns": 1e-9,
    "secs": 1.0,
    "second": 1.0,
    "seconds": 1.0,
    "mins": 60.0,
    "minute": 60.0,
    "minutes": 60.0,
    "hr": 3600.0,
    "hrs": 3600.0,
}


class Taken:
    """What was seen of a column: the first value that may mean two things, with its row, and what to do about it."""

    def __init__(self, unit: str = "") -> None:
        self.unit = unit
        self.rows = 0
        self.odd: tuple[int, str, str] | None = None

    def asks(self, row: int, value: object, what: str) -> None:
        """Remember the first value that may mean two things."""
        if self.odd is None:
            self.odd = (self.rows + int(row), str(value)[:LONGEST], what)

    def __call__(self, series: pl.Series) -> tuple[Floats, Mask]:
        """Return the numbers of a part, and which of its values are none."""
        import polars as pl

        if isinstance(series.dtype, pl.Categorical | pl.Enum):
            series = series.cast(pl.String)
        found = self._take(series)
        self.rows += series.len()
        return found

    def _take(self, series: pl.Series) -> tuple[Floats, Mask]:
        raise NotImplementedError


class Amounts(Taken):
    """Plain numbers, or numbers with a unit behind them, of one kind of quantity."""

    def __init__(self, units: Mapping[str, float], unit: str = "", read: Callable[[str], float] | None = None) -> None:
        super().__init__(unit)
        self._units, self._factor = units, units.get(unit, 1.0)
        self._read = read or self._with_unit

    def _take(self, series: pl.Series) -> tuple[Floats, Mask]:
        import polars as pl

        if isinstance(series.dtype, pl.Duration) and self._units is _TIME_WORDS:
            if self.unit:
                self.asks(0, series.dtype, f"it says its unit itself: leave :{self.unit} out")
            return _micros(series), np.zeros(series.len(), dtype=np.bool_)
        if series.dtype != pl.String:
            if not (series.dtype.is_numeric() or series.dtype == pl.Null):
                raise InputError(f"column must hold numbers or texts, not {series.dtype}"[:200])
            return in_units(_floats(series), self._factor), np.zeros(series.len(), dtype=np.bool_)
        texts = _texts(series)
        values = in_units(_floats(texts.cast(pl.Float64, strict=False)), self._factor)
        others = np.flatnonzero(np.isnan(values) & texts.is_not_null().to_numpy())
        wrong = np.zeros(series.len(), dtype=np.bool_)
        known: dict[str, float] = {}
        for row, text in zip(others.tolist(), texts[others].to_list(), strict=True):
            if text not in known:
                known[text] = self._one(row, text)
            values[row] = known[text]
            wrong[row] = math.isnan(values[row])
        return values, wrong

    def _one(self, row: int, text: str) -> float:
        """Return what a text says; NaN if it is no such quantity."""
        try:
            return self._read(text)
        except InputError as problem:
            self.asks(row, text, str(problem))
            return math.nan

    def _with_unit(self, text: str) -> float:
        if text.lower() in _ENDLESS:
            return math.inf
        found = _WORD.fullmatch(text)
        if found is None or found[2] not in self._units:
            return math.nan
        self._own_unit()
        return times(found[1], self._units[found[2]])

    def _own_unit(self) -> None:
        if self.unit:
            raise InputError(f"it says its unit itself: leave :{self.unit} out")


class Spans(Amounts):
    """Durations: numbers, ``1-02:03:04``, ``2 days 03:04:05``, ``90 min``, ``PT1H30M``, columns of type Duration."""

    def __init__(self, unit: str = "") -> None:
        super().__init__(_TIME_WORDS, unit, self._duration)

    def _duration(self, text: str) -> float:
        if found := _DAYS.fullmatch(text):
            return self._clock(*(float(part or 0) for part in found.groups()))
        if found := _THREE.fullmatch(text):
            return self._clock(0.0, *map(float, found.groups()))
        if found := _TWO.fullmatch(text):
            return self._two(float(found[1]), float(found[2]))
        if len(text) > 1 and text[-1] != "T" and (found := _ISO_SPAN.fullmatch(text)):
            self._own_unit()
            days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
            return days * 86400.0 + hours * 3600.0 + minutes * 60.0 + seconds
        return self._with_unit(text)

    def _two(self, first: float, second: float) -> float:
        if second >= 60:
            return math.nan
        if self.unit == "HH:MM":
            return first * 3600.0 + second * 60.0
        if self.unit == "MM:SS":
            return first * 60.0 + second
        raise InputError("it may be minutes and seconds or hours and minutes: add :MM:SS or :HH:MM to the column")

    def _clock(self, days: float, hours: float, minutes: float, seconds: float) -> float:
        if minutes >= 60 or seconds >= 60 or (days and hours >= 24):
            return math.nan
        if self.unit:
            raise InputError(f"it is written as a clock: leave :{self.unit} out")
        return days * 86400.0 + hours * 3600.0 + minutes * 60.0 + seconds


class Instants(Taken):
    """Times: dates with or without an offset, numbers from any origin, Unix times, columns of type Datetime or Date."""

    def __init__(self, factor: float, unit: str = "", zone: str | None = None) -> None:
        super().__init__(unit)
        self.zone = zone
        self._factor = factor
        self._form = unit if unit.startswith("%") else ""
        self.local = self.zoned = self.plain = False
        """Whether dates without an offset were seen, dates with one, numbers."""

    def _take(self, series: pl.Series) -> tuple[Floats, Mask]:
        import polars as pl

        nowhere = np.zeros(series.len(), dtype=np.bool_)
        kind = series.dtype
        if isinstance(kind, pl.Datetime) or kind == pl.Date:
            if self.unit:
                self.asks(0, kind, f"the column has a type, {kind}: leave :{self.unit} out")
            zoned = isinstance(kind, pl.Datetime) and kind.time_zone is not None
            moments = series.dt.convert_time_zone("UTC") if zoned else series.cast(pl.Datetime("us"))
            if zoned:
                self.zoned = True
                return _micros(moments), nowhere
            return self._of_zone(_micros(moments), nowhere)
        if kind == pl.String:
            return self._from_texts(_texts(series))
        if self._form and kind.is_integer():
            return self._from_texts(series.cast(pl.String))
        if not (kind.is_numeric() or kind == pl.Null):
            raise InputError(f"column must hold dates or numbers, not {kind}"[:200])
        values = _floats(series)
        self.plain |= bool(np.isfinite(values).any())
        return in_units(values, self._factor), nowhere

    def _from_texts(self, texts: pl.Series) -> tuple[Floats, Mask]:
        import polars as pl

        present = texts.is_not_null().to_numpy()
        if self._form:
            return self._by_form(texts, present)
        values = in_units(_floats(texts.cast(pl.Float64, strict=False)), self._factor)
        self.plain |= bool(np.isfinite(values).any())
        rest = np.flatnonzero(np.isnan(values) & present)
        wrong = np.zeros(texts.len(), dtype=np.bool_)
        if not rest.size:
            return values, wrong
        some = texts[rest]
        parts = some.str.extract_groups(_ISO).struct
        day, clock, offset = (parts.field(name) for name in parts.fields)
        full = day.str.replace_all("/", "-") + " " + clock.fill_null("00:00").str.replace(",", ".", literal=True)
        moments = full.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
        minutes = full.str.to_datetime("%Y-%m-%d %H:%M", time_unit="us", strict=False)
        local_s = _micros(pl.select(pl.coalesce(moments, minutes)).to_series())
        shift = _offsets(offset)
        has = offset.is_not_null().to_numpy() & np.isfinite(local_s)
        bare = ~has & np.isfinite(local_s)
        self.zoned |= bool(has.any())
        if self.unit and np.isfinite(local_s).any():
            at = int(np.argmax(np.isfinite(local_s)))
            self.asks(int(rest[at]), some[at], f"it is written as a date: leave :{self.unit} out")
        found = np.where(has, local_s - shift, np.nan)
        if bare.any():
            found[bare], skipped = self._of_zone(local_s[bare], np.zeros(int(bare.sum()), dtype=np.bool_))
            wrong[rest[bare]] = skipped
        values[rest] = found
        wrong[rest] |= np.isnan(found)
        either = wrong[rest] & some.str.contains(_EITHER_WAY).to_numpy()
        if either.any():
            at = int(np.argmax(either))
            told = "day or month may come first: add the form to the column, like :%d/%m/%Y %H:%M:%S"
            self.asks(int(rest[at]), some[at], told)
        return values, wrong

    def _by_form(self, texts: pl.Series, present: Mask) -> tuple[Floats, Mask]:
        import polars as pl

        zoned = "%z" in self._form or "%:z" in self._form or "%#z" in self._form
        kind = pl.Datetime("us", "UTC") if zoned else pl.Datetime("us")
        try:
            if any(word in self._form for word in ("%H", "%I", "%T", "%R", "%X", "%s", "%c", "%r")):
                moments = texts.str.strptime(kind, self._form, strict=False)
            else:
                moments = texts.str.strptime(pl.Date, self._form, strict=False).cast(kind)
        except pl.exceptions.PolarsError as problem:
            first = (str(problem).splitlines() or ["?"])[0][:100]
            raise InputError(f"the form {self._form!r} is none of dates ({first})") from None
        local_s = _micros(moments)
        if zoned:
            self.zoned |= bool(np.isfinite(local_s).any())
            return local_s, present & np.isnan(local_s)
        values, skipped = self._of_zone(local_s, np.zeros(local_s.size, dtype=np.bool_))
        return values, skipped | (present & np.isnan(local_s))

    def _of_zone(self, local_s: Floats, nowhere: Mask) -> tuple[Floats, Mask]:
        """Return Unix times of local ones, and which of them clocks skip."""
        self.local |= bool(np.isfinite(local_s).any())
        if self.zone is None:
            return local_s, nowhere
        found = first_of_two(local_s, self.zone)
        return found, np.isfinite(local_s) & np.isnan(found)


def first_of_two(local_s: Floats, zone: str) -> Floats:
    """Return Unix times of local ones: of the hour that clocks show twice the first, NaN for one that they skip."""
    import polars as pl

    if zone[:1] in ("+", "-"):
        return local_s - offset_at(0.0, zone)
    readable = np.isfinite(local_s)
    micros = pl.Series(np.where(readable, local_s, 0.0) * 1e6).round().cast(pl.Int64).cast(pl.Datetime("us"))
    found = _micros(micros.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null"))
    return np.where(readable, found, np.nan)


def _texts(series: pl.Series) -> pl.Series:
    """Return texts without blanks around them; null where they say that nothing is known."""
    import polars as pl

    bare = series.str.strip_chars().str.slice(0, LONGEST)
    return pl.select(pl.when(~bare.str.to_lowercase().is_in(_NOTHING)).then(bare).otherwise(None)).to_series()


def _floats(series: pl.Series) -> Floats:
    import polars as pl

    return np.array(series.cast(pl.Float64, strict=False).to_numpy(), dtype=np.float64)


def _micros(series: pl.Series) -> Floats:
    """Return a column of type Datetime or Duration in seconds, to the microsecond."""
    import polars as pl

    if isinstance(series.dtype, pl.Duration):
        return _floats(series.dt.total_microseconds()) / 1e6
    return _floats(series.dt.epoch("us")) / 1e6


def _offsets(texts: pl.Series) -> Floats:
    """Return the seconds by which offsets like ``+02:00`` are ahead of UTC; NaN for what no clock has."""
    parts = texts.str.extract_groups(r"^([+-])(0\d|1[0-4]):?([0-5]\d)?$").struct
    sign, hours, minutes = (parts.field(name) for name in parts.fields)
    seconds = _floats(hours) * 3600.0 + np.nan_to_num(_floats(minutes)) * 60.0
    seconds[texts.is_in(["Z", "UTC", "GMT"]).fill_null(value=False).to_numpy()] = 0.0
    return np.where((sign == "-").fill_null(value=False).to_numpy(), -seconds, seconds)
