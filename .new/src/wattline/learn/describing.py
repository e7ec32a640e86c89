"""What a learner knows of one job or group, for people: samples, mean, spread, and the power that is counted with."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from wattline.arrays import Floats
from wattline.learn import quantile, t_test
from wattline.learn.merging import merge_pooled
from wattline.learn.moments import M2, MEAN, N
from wattline.learn.profiles import LEAST_SAMPLES


class Described(NamedTuple):
    """A profile: in watts per node, or (``quantile``) in shares of a node's greatest power; NaN is not known yet."""

    samples: int
    mean: float
    deviation: float
    high: float


def describe_profile(learner: str, row: Floats, *, deviations: float = 2.33, miss: float = 0.05) -> Described:
    """Describe a row of a learner's memory; ``deviations`` and ``miss`` are those parameters of the learners.

    >>> describe_profile("pooled", np.array([20.0, 50.0, 76.0]))
    Described(samples=20, mean=50.0, deviation=2.0, high=54.66)
    """
    if learner == "quantile":
        return _histogram(row, miss)
    n, mean, squares = (_all_moments(row) if learner == "t-test" else row)[[N, MEAN, M2]]
    deviation = math.sqrt(squares / (n - 1)) if n > 1 else math.nan
    high = mean + deviations * deviation if n >= LEAST_SAMPLES else math.nan
    return Described(int(n), float(mean) if n else math.nan, deviation, float(high))


def _all_moments(row: Floats) -> Floats:
    """Return the moments of the older and the last samples of a row of the t-test."""
    last = row[t_test.RING : t_test.RING + int(min(row[t_test.NEXT], t_test.RECENT))]
    if not last.size:
        return row[t_test.OLD : t_test.OLD + 3]
    recent = np.array([last.size, last.mean(), ((last - last.mean()) ** 2).sum()])
    return merge_pooled(row[t_test.OLD : t_test.OLD + 3], recent)


def _histogram(row: Floats, miss: float) -> Described:
    """Describe a histogram: moments by the middles of its bins, and the quantile that the learner takes."""
    counts = row[quantile.BIN :]
    n = counts.sum()
    if not n:
        return Described(0, math.nan, math.nan, math.nan)
    middles = (np.arange(quantile.BINS) + 0.5) / quantile.BINS
    mean = float((counts * middles).sum() / n)
    variance = float((counts * (middles - mean) ** 2).sum() / (n - 1)) if n > 1 else math.nan
    rank = math.ceil((n + 1) * (1 - miss))
    high = (float(np.searchsorted(np.cumsum(counts), rank)) + 1) / quantile.BINS if rank <= n else math.nan
    return Described(int(n), mean, math.sqrt(variance), high)
