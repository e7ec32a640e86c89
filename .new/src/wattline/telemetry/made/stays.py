"""The power of every stay of jobs that had several: what the timeline leaves to them.

A job's energy is known, and the power of the whole machine over time. Where one power for each stay explains both, it
is taken; elsewhere (caps that change within a stay, nodes that sleep or wake) all stays have the job's mean.
"""

from __future__ import annotations

import numpy as np

from wattline.arrays import Floats, Ints

ROUNDS = 200
CLOSE = 1e-3
"""What may be left unexplained, over the power of the job."""


def stay_powers(
    job: Ints, nodes: Floats, begin_s: Floats, end_s: Floats, mean_w: Floats, time_s: Floats, rest_w: Floats
) -> Floats:
    """Return the power per node of each stay; ``mean_w`` is that of its job.

    ``rest_w`` is what the timeline says beyond all means, from each of ``time_s`` to the next (there is one more).

    The differences from the means are those of least squares (conjugate gradients), with no energy added to a job.
    """
    _, which, many = np.unique(job, return_inverse=True, return_counts=True)
    lasted_s = end_s - begin_s
    free = (many[which] > 1) & (lasted_s > 0)
    if not free.any() or not np.any(np.abs(rest_w) > 1e-9 * (1.0 + np.abs(rest_w).max())):
        return mean_w
    width_s = np.diff(time_s)
    first, last = np.searchsorted(time_s, begin_s[free]), np.searchsorted(time_s, end_s[free])
    root, of = np.sqrt(lasted_s[free]), which[free]
    weight = np.maximum(np.bincount(of, weights=lasted_s[free], minlength=many.size), 1e-300)

    def spread(x: Floats) -> Floats:
        steps = np.bincount(first, weights=x / root, minlength=time_s.size)
        steps -= np.bincount(last, weights=x / root, minlength=time_s.size)
        return np.asarray(np.cumsum(steps)[:-1])

    def gather(watts: Floats) -> Floats:
        sums = np.concatenate([[0.0], np.cumsum(watts * width_s)])
        found = (sums[last] - sums[first]) / root
        return np.asarray(found - root * (np.bincount(of, weights=root * found, minlength=many.size) / weight)[of])

    x = np.zeros(root.size)
    left = gather(rest_w)
    way, size = left.copy(), float(left @ left)
    enough = 1e-24 * size
    for _ in range(ROUNDS):
        if size <= enough:
            break
        ahead = gather(spread(way))
        bent = float(way @ ahead)
        if bent <= 0:
            break
        step = size / bent
        x, left = x + step * way, left - step * ahead
        before, size = size, float(left @ left)
        way = left + size / before * way
    unknown = np.concatenate([[0.0], np.cumsum((rest_w - spread(x)) ** 2 * width_s)])
    worst = np.bincount(of, weights=unknown[last] - unknown[first], minlength=many.size) / weight
    found = mean_w.copy()
    found[free] += x / root / nodes[free]
    low = np.bincount(which, weights=~(found >= 0), minlength=many.size) > 0
    own_w = np.zeros(many.size)
    own_w[which] = mean_w * nodes
    told = (np.sqrt(worst) <= CLOSE * own_w) & ~low
    return np.where(told[which], found, mean_w)
