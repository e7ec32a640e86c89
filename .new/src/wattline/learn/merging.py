"""Put together what two learners of one kind have seen apart, row by row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from wattline.arrays import Floats
from wattline.learn import pooled, quantile, t_test, t_test_per_job
from wattline.learn.moments import M2, MEAN, N
from wattline.model.mechanism import Mechanism


def merge_t_test(a: Floats, b: Floats) -> Floats:
    """Return the profile of all samples of two, of which those of ``b`` came later: its last ones stay the last."""
    if b[t_test.NEXT] == 0.0:
        return a.copy()
    out = b.copy()
    held = a[t_test.RING : t_test.RING + int(min(a[t_test.NEXT], t_test.RECENT))]
    squares = float(((held - held.mean()) ** 2).sum()) if held.size else 0.0
    ring = np.array([held.size, held.mean() if held.size else 0.0, squares])
    old = slice(t_test.OLD, t_test.OLD + 3)
    out[old] = merge_pooled(merge_pooled(a[old], ring), b[old])
    last = out[t_test.RING : t_test.RING + int(min(out[t_test.NEXT], t_test.RECENT))]
    whole = merge_pooled(out[old], np.array([last.size, last.mean(), ((last - last.mean()) ** 2).sum()]))
    out[t_test.MEAN_W], out[t_test.SD_W] = whole[MEAN], np.sqrt(whole[M2] / max(1.0, whole[N] - 1.0))
    return out


def merge_per_job(a: Floats, b: Floats) -> Floats:
    """Return the moments of the samples of both; the profile that is told is the later one, where that is known."""
    out = (b if b[t_test_per_job.HIGH_W] > 0.0 else a).copy()
    out[t_test_per_job.DATA : t_test_per_job.DATA + 3] = merge_pooled(a[:3], b[:3])
    return out


def merge_quantile(a: Floats, b: Floats) -> Floats:
    """Return the histogram of the samples of both; the quantile is told again at the next arrival or sample."""
    out = a + b
    out[quantile.TOLD] = max(a[quantile.TOLD], b[quantile.TOLD])
    return out


def merge_pooled(a: Floats, b: Floats) -> Floats:
    """Return the moments of the samples of both."""
    n = a[N] + b[N]
    if n == 0.0:
        return a.copy()
    delta = b[MEAN] - a[MEAN]
    return np.array([n, a[MEAN] + delta * b[N] / n, a[M2] + b[M2] + delta * delta * a[N] * b[N] / n])


MERGE: dict[str, tuple[int, Callable[[Floats, Floats], Floats]]] = {
    "t-test": (t_test.ROW, merge_t_test),
    "t-test-per-job": (t_test_per_job.ROW, merge_per_job),
    "quantile": (quantile.ROW, merge_quantile),
    "pooled": (pooled.ROW, merge_pooled),
}
"""Learners whose profiles can be kept: floats of a row, and how two rows are put together."""


def keeps_profiles(learner: Mechanism) -> bool:
    """Tell whether what a profile policy has learned can be saved, and a later run begin with it."""
    return learner.builtin and learner.name in MERGE
