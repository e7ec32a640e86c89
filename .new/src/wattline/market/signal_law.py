"""What a regulation signal is like, in a few figures, and where two signals differ in law.

=====================  ================================================================================================
mean                   of all values; over an hour it is energy: a reserve R takes ``mean`` × R × 1 h more than P̄ alone
std                    standard deviation about the record's own mean
time constant          time after which the autocorrelation has fallen to 1/e
ends                   share of time at the ends, |y| ≥ 0.999
mileage                way that the signal goes in an hour, in reserves
hour                   standard deviation of the means of hours, from one hour to the next
=====================  ================================================================================================

Values that the reader held because the signal was missing for more than a minute are left out.

*When two laws differ.* Days of one product differ, too. PJM's recorded signals, as measured here:

===========================  ===========  ==========  =============  ==========  =========
signal                       mean         std         time constant  ends        mileage
===========================  ===========  ==========  =============  ==========  =========
RegD, seven days of 2020-07  −.09 – 0     .60 – .65   179 – 235 s    15 – 23 %   22 – 28
RegD, a day of 2016-01       −.01         .29         94 s           0 %         103
RegA, two evenings of 2017   −.46, −.54   .43, .51    467, 868 s     15, 19 %    5, 4
normal, of the papers        0            .40         165 s          1 %         85
===========================  ===========  ==========  =============  ==========  =========

(The normal signal is drawn with a time constant of 200 s; that each of its hours averages to zero shortens it.)

So two laws differ if their std differ by more than a factor of 1.2, their time constants by more than 1.5, their means
by more than 0.15, or their shares at the ends by more than 0.10: each of the seven days then agrees with the six
others, and the four signals differ from each other. This is meant for a day; for less of a signal, which tells less,
the allowance (what exceeds 1 of a factor) grows with √(24 h / hours). Of 163 single hours of the seven days, one is
then said to differ from them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.model.regulation import Record, Signal
from wattline.units import HOUR_S

END = 0.999
"""Beyond this a signal is at one of its ends."""
STD_FACTOR, TIME_FACTOR, MEAN_OFF, ENDS_OFF = 1.2, 1.5, 0.15, 0.10
"""By how much two days of one law may differ."""
DAY_HOURS = 24.0
_WORDS = {
    "mean": "its mean is",
    "std": "its standard deviation is",
    "time_constant_s": "its time constant is",
    "ends": "its share of time at ±1 is",
}
_LAGS_S = 4 * HOUR_S
"""Longest time constant that is told; a signal that remembers longer has an endless one."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Law:
    """Figures of one record, or of several together; ``hours`` is how long they last without what was missing."""

    name: str
    mean: float
    std: float
    time_constant_s: float
    ends: float
    mileage_per_h: float
    hour_std: float
    hours: float
    records: int = 1


FIGURES = tuple(field.name for field in fields(Law) if field.name not in ("name", "hours", "records"))
"""Names of the figures."""


@dataclass(frozen=True)
class Spread:
    """A figure over several records: the least, the greatest, and the standard deviation from record to record."""

    low: float
    high: float
    std: float


def law_of(record: Record) -> Law:
    """Return the figures of a record."""
    values, step_s = record.signal.values, record.signal.step_s
    there = there_in(record)
    known = values if there is None else values[there]
    if not known.size:
        raise InputError(f"record {record.name!r}: the signal is missing all the time")
    hours = known.size * step_s / HOUR_S
    moves = np.abs(np.diff(values))
    if there is not None:
        moves = moves[there[1:] & there[:-1]]
    means = [_mean(values, begin_s, end_s, step_s) for begin_s, end_s in record.usable_hours()]
    return Law(
        record.name,
        float(known.mean()),
        float(known.std()),
        time_constant_s(values, step_s, there),
        float(np.mean(np.abs(known) >= END)),
        float(moves.mean()) * HOUR_S / step_s if moves.size else 0.0,
        float(np.std(means, ddof=1)) if len(means) > 1 else math.nan,
        hours,
    )


def signal_law_of(signal: Signal, name: str = "signal") -> Law:
    """Return the figures of a signal of which nothing is missing."""
    return law_of(Record(name, Signal(0.0, signal.step_s, signal.values)))


def pooled(laws: Sequence[Law], name: str = "") -> Law:
    """Return the figures of several records together: means, weighted by the hours of each."""
    if not laws:
        raise InputError("law of a signal: there is no record to take it from")
    hours = np.array([law.hours for law in laws])

    def mean(figure: str) -> float:
        found = np.array([getattr(law, figure) for law in laws])
        told = ~np.isnan(found)
        return float(np.average(found[told], weights=hours[told])) if told.any() else math.nan

    told = name or (laws[0].name if len(laws) == 1 else f"{len(laws)} records")
    figures: dict[str, Any] = {figure: mean(figure) for figure in FIGURES}
    return Law(told, **figures, hours=float(hours.sum()), records=sum(law.records for law in laws))


def spreads(laws: Sequence[Law]) -> dict[str, Spread]:
    """Return range and spread of every figure over records."""
    found = {}
    for figure in FIGURES:
        values = np.array([getattr(law, figure) for law in laws], dtype=np.float64)
        values = values[~np.isnan(values)]
        low, high = (float(values.min()), float(values.max())) if values.size else (math.nan, math.nan)
        std = float(values.std(ddof=1)) if values.size > 1 and np.isfinite(values).all() else math.nan
        found[figure] = Spread(low, high, std)
    return found


def differs(one: Law, other: Law) -> list[str]:
    """Return a sentence for every figure in which ``one`` differs from ``other`` by more than days of one law do."""
    return [f"{told}, not {_shown(figure, getattr(other, figure))}" for figure, told in _differences(one, other)]


def strangers(laws: Sequence[Law]) -> dict[int, str]:
    """Return a line for every record that differs in law from what most are like, by the positions of these records.

    Most are those that agree with the record with which the most of them agree.
    """
    if not laws:
        return {}
    agree = [[not _differences(one, other) for other in laws] for one in laws]
    middle = max(range(len(laws)), key=lambda k: sum(agree[k]))
    usual = [k for k in range(len(laws)) if agree[middle][k]]
    found = {}
    for k, law in enumerate(laws):
        rest = [laws[other] for other in usual if other != k]
        if not rest:
            continue
        most, ranges = pooled(rest), spreads(rest)
        if told := [f"{words}, not {_range(figure, ranges[figure])}" for figure, words in _differences(law, most)]:
            others = f"{len(rest)} others" if len(rest) > 1 else repr(rest[0].name)
            found[k] = f"record {law.name!r} differs in law from {others}: {'; '.join(told)}"
    return found


def _differences(one: Law, other: Law) -> list[tuple[str, str]]:
    """Return the figures in which two laws differ, each with what it is in the first."""
    wider = max(1.0, math.sqrt(DAY_HOURS / max(min(one.hours, other.hours), 1e-9)))
    beyond = {
        "mean": abs(one.mean - other.mean) > MEAN_OFF * wider,
        "std": _apart(one.std, other.std) > 1.0 + (STD_FACTOR - 1.0) * wider,
        "time_constant_s": _apart(one.time_constant_s, other.time_constant_s) > 1.0 + (TIME_FACTOR - 1.0) * wider,
        "ends": abs(one.ends - other.ends) > ENDS_OFF * wider,
    }
    return [
        (figure, f"{_WORDS[figure]} {_shown(figure, getattr(one, figure))}")
        for figure, is_so in beyond.items()
        if is_so
    ]


def time_constant_s(values: Floats, step_s: float, there: Mask | None = None) -> float:
    """Return the time after which the autocorrelation has fallen to 1/e, between two lags in proportion.

    It is endless where that is longer than four hours or half the signal, and none (NaN) where the signal never moves.
    """
    lags = min(round(_LAGS_S / step_s), values.size // 2)
    found = autocorrelation(values, lags, there)
    if not np.isfinite(found[0]):
        return math.nan
    below = np.flatnonzero(found < math.exp(-1.0))
    if not below.size:
        return math.inf
    k = int(below[0])
    return step_s * float(k - (math.exp(-1.0) - found[k]) / (found[k - 1] - found[k]))


def autocorrelation(values: Floats, lags: int, there: Mask | None = None) -> Floats:
    """Return the sample autocorrelation at lags of 0 … ``lags`` steps (normed by the whole length: no lag outgrows
    it).

    Only pairs of values count that are both ``there``. All are NaN where the signal never moves.
    """
    size = 1 << (2 * values.size - 1).bit_length()
    known = values if there is None else values[there]
    centred = values - known.mean()
    if there is not None:
        centred = np.where(there, centred, 0.0)
    if not np.any(centred):
        return np.full(lags + 1, np.nan)
    power = np.abs(np.fft.rfft(centred, size)) ** 2
    covariance = np.fft.irfft(power, size)[: lags + 1]
    if there is not None:
        pairs = np.fft.irfft(np.abs(np.fft.rfft(there.astype(np.float64), size)) ** 2, size)[: lags + 1]
        whole = values.size - np.arange(lags + 1)
        covariance = np.where(pairs > 0.5, covariance / np.maximum(pairs, 0.5) * whole, 0.0)
    return np.asarray(covariance / covariance[0], dtype=np.float64)


def there_in(record: Record) -> Mask | None:
    """Return which values are signal, None where all are."""
    if not record.gaps:
        return None
    there = np.ones(record.signal.values.size, dtype=np.bool_)
    for begin_s, end_s in record.gaps:
        there[round(begin_s / record.signal.step_s) : round(end_s / record.signal.step_s)] = False
    return there


def _mean(values: Floats, begin_s: float, end_s: float, step_s: float) -> float:
    return float(values[round(begin_s / step_s) : max(round(end_s / step_s), round(begin_s / step_s) + 1)].mean())


def _apart(one: float, other: float) -> float:
    """Return the factor between two figures, 1 where they are the same or both unknown."""
    if one == other or (math.isnan(one) and math.isnan(other)):
        return 1.0
    low, high = sorted((one, other))
    return high / low if low > 0 and math.isfinite(high) else math.inf


def _shown(figure: str, value: float) -> str:
    if figure == "ends":
        return f"{100 * value:.0f} %"
    if figure != "time_constant_s":
        return f"{round(value, 2) + 0.0:.2f}"  # no −0.00
    return f"{value:.0f} s" if math.isfinite(value) else "endless" if value > 0 else "none"


def _range(figure: str, spread: Spread) -> str:
    low, high = _shown(figure, spread.low), _shown(figure, spread.high)
    return low if low == high else f"{low} to {high}"
