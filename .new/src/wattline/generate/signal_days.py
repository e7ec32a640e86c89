"""A regulation signal fitted to several recorded days: drawn days differ from each other as the recorded ones do.

Every recorded day has a fit of its own (a translation process, see ``signal_fit``), and a drawn day takes after one of
them, each as likely as the others. But recorded days differ for two reasons: their laws differ, and each is only a
sample of its law. A day that is drawn from the fit of a recorded one would have that chance twice. So the
distribution and the autocorrelation of each day are drawn towards those of all days together: F_i ← (1 − w) F + w F_i,
with w² the part of the variance between days that chance does not explain,

    w² = 1 − (variance of a day's figure under the law of all days) / (variance of that figure over the records),

at least 0, and averaged over two figures, mean and standard deviation. The variance by chance is that of days drawn
under the law of all days. On PJM's seven RegD days of July 2020 w is 0.59: two thirds of what days differ by is chance.

A drawn signal longer than a day has days of 24 h from its beginning, each with a law of its own, and may jump from one
to the next. Values that were held because the signal was missing for more than a minute are left out of the fits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.generate.laws import stream
from wattline.generate.signal import FittedSignal, generate_signal
from wattline.generate.signal_fit import MEMORY_S, SignalFit, fit_to
from wattline.market.signal_law import autocorrelation, there_in
from wattline.memory import require_bytes
from wattline.model.regulation import Record, Signal
from wattline.units import DAY_S

CHANCE_DAYS = 24
"""Days that are drawn to see by how much days of one law differ."""
_CHANCE_SEED = 20_200_716
MOST_VALUES, LEAST_VALUES = 1 << 20, 2048
"""Values that are kept of all records together, about, and of each at least."""


@dataclass(frozen=True)
class DaysFit:
    """What is kept of several recorded days: a fit for each, and the weight w of a day's own law in it."""

    days: tuple[SignalFit, ...]
    weight: float

    @property
    def step_s(self) -> float:
        """Seconds between two values."""
        return self.days[0].step_s


def fit_days(records: Sequence[Record], memory_s: float = MEMORY_S) -> DaysFit:
    """Fit days that differ as some records of one step do; of one record, its own fit."""
    if not records:
        raise InputError("fit: there is no record to fit to")
    parts = [_Part.of(record, memory_s, MOST_VALUES // len(records)) for record in records]
    lags = min(part.correlation.size for part in parts)
    own = np.array([part.correlation[:lags] for part in parts])
    counts = np.array([part.count for part in parts], dtype=np.float64)
    sizes = np.array([part.values.size for part in parts])
    every = np.concatenate([part.values for part in parts])
    order = np.argsort(every)
    every, owner = every[order], np.repeat(np.arange(len(parts)), sizes)[order]
    together, usual = np.average(own, axis=0, weights=counts), (counts / counts.sum() / sizes)[owner]

    def fitted(k: int, weight: float) -> SignalFit:
        shares = np.where(owner == k, weight / sizes[k], 0.0) + (1.0 - weight) * usual
        known = shares > 0
        return fit_to(parts[0].step_s, every[known], shares[known], (1.0 - weight) * together + weight * own[k])

    if len(parts) == 1:
        return DaysFit((fitted(0, 1.0),), 1.0)
    weight = _own_weight(parts, fitted(0, 0.0))
    return DaysFit(tuple(fitted(k, weight) for k in range(len(parts))), weight)


def _own_weight(parts: Sequence[_Part], usual: SignalFit) -> float:
    """Return w: how much of the differences between days is more than chance."""
    length_s = float(np.mean([part.count for part in parts])) * usual.step_s
    days = [generate_signal(FittedSignal(usual, length_s, seed=_CHANCE_SEED + k)).values for k in range(CHANCE_DAYS)]
    left = []
    for drawn, recorded in (
        ([day.mean() for day in days], [part.mean for part in parts]),
        ([day.std() for day in days], [part.std for part in parts]),
    ):
        chance, between = float(np.var(drawn, ddof=1)), float(np.var(recorded, ddof=1))
        left.append(1.0 - chance / between if between > chance else 0.0)
    return math.sqrt(sum(left) / len(left))


def generate_days(
    fit: DaysFit, duration_s: float, seed: int, *, energy_neutral: bool = False, start_s: float = 0.0
) -> Signal:
    """Draw a signal, the same for the same seed: its days of 24 h take after recorded ones at random.

    Hours are neutral, each averaging to zero, if asked.
    """
    step_s = fit.step_s
    count = max(1, math.ceil(duration_s / step_s - 1e-9))
    per_day = max(1, round(DAY_S / step_s))
    require_bytes(count * 8, f"a signal of {count:,} values")
    random = stream(seed)
    made = np.empty(count)
    for begin in range(0, count, per_day):
        end = min(begin + per_day, count)
        day, own = (int(drawn) for drawn in (random.integers(len(fit.days)), random.integers(2**53)))
        law = FittedSignal(fit.days[day], (end - begin) * step_s, energy_neutral, seed=own)
        made[begin:end] = generate_signal(law).values[: end - begin]
    return Signal(start_s, step_s, made)


@dataclass(frozen=True)
class _Part:
    """A record for a fit: values that are there, in order and of very many some; their autocorrelation; their count,
    mean and standard deviation.
    """

    step_s: float
    values: Floats
    correlation: Floats
    count: int
    mean: float
    std: float

    @classmethod
    def of(cls, record: Record, memory_s: float, most: int) -> _Part:
        signal, there = record.signal, there_in(record)
        values = np.sort(signal.values if there is None else signal.values[there])
        if values.size < 100 or not values.std() > 0:
            told = f"{values.size} values" if values.std() > 0 else "a constant signal"
            raise InputError(f"fit: record {record.name!r} needs at least 100 values that vary (got {told})")
        lags = min(round(memory_s / signal.step_s), signal.values.size // 2)
        kept = values
        if values.size > max(most, LEAST_VALUES):
            shares = (np.arange(max(most, LEAST_VALUES)) + 0.5) / max(most, LEAST_VALUES)
            kept = np.quantile(values, shares, method="hazen")
        found = autocorrelation(signal.values, lags, there)
        return cls(signal.step_s, kept, found, values.size, float(values.mean()), float(values.std()))
