"""Streaming moments: count, mean and sum of squared deviations, merged exactly (Chan, Golub & LeVeque 1979)."""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.kernel.compiled import kernel

N, MEAN, M2 = range(3)
"""Three floats of memory that hold the moments of a sample."""


@kernel
def add(m: Any, at: int, value: float) -> None:
    """Take a value in (Welford)."""
    n = m[at + N] + 1.0
    delta = value - m[at + MEAN]
    mean = m[at + MEAN] + delta / n
    m[at + N] = n
    m[at + MEAN] = mean
    m[at + M2] += delta * (value - mean)


@kernel
def merged(n1: float, mean1: float, m21: float, n2: float, mean2: float, m22: float) -> tuple[float, float, float]:
    """Return the moments of two samples taken together."""
    n = n1 + n2
    if n == 0.0:
        return 0.0, 0.0, 0.0
    delta = mean2 - mean1
    return n, mean1 + delta * n2 / n, m21 + m22 + delta * delta * n1 * n2 / n


@kernel
def deviation(n: float, m2: float) -> float:
    """Return the standard deviation of a sample (unbiased variance)."""
    return np.sqrt(m2 / (n - 1.0)) if n > 1.0 and m2 > 0.0 else 0.0
