"""Confidence intervals of correlated output, by batch means."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def interval(values: npt.ArrayLike, weights: npt.ArrayLike | None = None, *, batches: int = 20) -> tuple[float, float]:
    """Return the (weighted) mean of a series and the half width of its 99.9 % interval from ``batches`` batch means.

    Weights (the lengths of epochs) turn it into a time average; a tenth of the series is dropped as warm-up.
    """
    from scipy.stats import t

    series = np.asarray(values, dtype=np.float64)
    weight = np.ones_like(series) if weights is None else np.asarray(weights, dtype=np.float64)
    keep = slice(series.size // 10, None)
    means = [
        float(np.average(v, weights=w))
        for v, w in zip(_cut(series[keep], batches), _cut(weight[keep], batches), strict=True)
    ]
    half = float(t.ppf(0.9995, batches - 1) * np.std(means, ddof=1) / np.sqrt(batches))
    return float(np.mean(means)), half


def assert_agrees(
    values: npt.ArrayLike, expected: float, weights: npt.ArrayLike | None = None, *, precision: float = 0.1
) -> None:
    """The interval holds the expected value, and is narrow enough (relative half width) for that to mean something."""
    mean, half = interval(values, weights)
    assert half <= precision * abs(expected), f"interval too wide to tell: ±{half:g} around {mean:g}"
    assert abs(mean - expected) <= half, f"{mean:g} ± {half:g} does not hold {expected:g}"


def _cut(series: npt.NDArray[np.float64], batches: int) -> Sequence[npt.NDArray[np.float64]]:
    return np.array_split(series, batches)
