"""Exact statistics of samples and of step functions of time; nothing here is sampled or binned."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats

NAN = math.nan


@dataclass(frozen=True)
class Distribution:
    """A sample, each value counted once; quantiles interpolate linearly between order statistics."""

    count: int = 0
    mean: float = NAN
    std: float = NAN
    min: float = NAN
    median: float = NAN
    p90: float = NAN
    p95: float = NAN
    p99: float = NAN
    max: float = NAN


@dataclass(frozen=True)
class TimeDistribution:
    """A step function, each value counted by how long it held; a quantile q is reached or undercut q of the time."""

    seconds: float = 0.0
    mean: float = NAN
    min: float = NAN
    median: float = NAN
    p95: float = NAN
    max: float = NAN


def describe(values: npt.ArrayLike) -> Distribution:
    """Describe a sample; NaN are left out (they mean *not applicable*).

    >>> describe([1.0, 2.0, 3.0, float("nan")]).median, describe([0.0, 0.0, float("inf")]).median
    (2.0, 0.0)
    """
    sample = np.asarray(values, dtype=np.float64)
    sample = np.sort(sample[~np.isnan(sample)])
    if sample.size == 0:
        return Distribution()
    median, p90, p95, p99 = (_sorted_quantile(sample, q) for q in (0.5, 0.9, 0.95, 0.99))
    with np.errstate(invalid="ignore"):  # infinite values have no spread
        std = float(sample.std(ddof=1)) if sample.size > 1 else NAN
    return Distribution(
        int(sample.size), float(sample.mean()), std, float(sample[0]), median, p90, p95, p99, float(sample[-1])
    )


def _sorted_quantile(ordered: Floats, q: float) -> float:
    """Linear interpolation between order statistics, on data sorted once for all quantiles."""
    position = q * (ordered.size - 1)
    below = int(position)
    above = min(below + 1, ordered.size - 1)
    low, high = float(ordered[below]), float(ordered[above])
    is_one = low == high or position == below  # nothing of the next one, which may be infinite
    return low if is_one else low + (high - low) * (position - below)


def describe_steps(values: Floats, durations_s: Floats) -> TimeDistribution:
    """Describe a step function that had ``values[i]`` for ``durations_s[i]`` seconds; NaN are left out.

    >>> describe_steps(np.array([0.0, 10.0]), np.array([1.0, 3.0])).mean
    7.5
    """
    counted = (durations_s > 0) & ~np.isnan(values)
    levels, seconds = _by_level(values[counted], durations_s[counted])
    if levels.size == 0:
        return TimeDistribution()
    reached = np.cumsum(seconds)
    total = float(reached[-1])
    median, p95 = (float(levels[min(int(np.searchsorted(reached, q * total)), levels.size - 1)]) for q in (0.5, 0.95))
    return TimeDistribution(total, integral(levels, seconds) / total, float(levels[0]), median, p95, float(levels[-1]))


def integral(values: Floats, seconds: Floats) -> float:
    """Return the integral of a step function over time.

    Not ``values @ seconds``: BLAS would share so few numbers among threads, which takes long on a busy machine and
    makes the last bit depend on how many there are.

    >>> integral(np.array([2.0, 0.5]), np.array([10.0, 4.0]))
    22.0
    """
    return float((values * seconds).sum())


def _by_level(values: Floats, seconds: Floats) -> tuple[Floats, Floats]:
    """Return the distinct values in order and how long each held; whole numbers need no sorting."""
    if values.size == 0:
        return values, seconds
    top = float(values.max())
    if float(values.min()) >= 0 and top < max(1e6, 4.0 * values.size):
        whole = values.astype(np.int64)
        if np.array_equal(whole, values):
            held: Floats = np.bincount(whole, weights=seconds).astype(np.float64)
            levels = np.flatnonzero(held)
            return levels.astype(np.float64), held[levels]
    order = np.argsort(values)
    return values[order], seconds[order]
