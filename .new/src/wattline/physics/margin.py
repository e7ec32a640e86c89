"""The margin on the power of running jobs that is only believed: how much more they may draw together.

Every job has a mean, a spread and room: what it can draw at most above its mean. Jobs that share the margin are counted
with their means and, together, with z standard deviations of their sum, as if each varied by itself. A job that is
counted with the most it can draw adds its room instead, and nothing to that deviation. The margin is the least of all
ways to part the jobs in those two.

The least of all ways has what schedulers need: more jobs never make it smaller, and what a job adds shrinks as
others join (it is submodular: the infimal convolution of a concave function of a sum with a sum). So whoever adds up
the increases of several starts never counts too little. Those who share are the first ones by room per variance.
"""

from __future__ import annotations

import numpy as np

from wattline.kernel.compiled import kernel, outlined
from wattline.model.state.record import State

ALL_VAR, LEAST = range(2)
"""Sums over the jobs that the margin is on: the variance of all, and the least room over variance of any."""


@kernel
def begin(s: State) -> None:
    """Forget the jobs that the margin is on."""
    s.n_doubtful[0] = 0
    s.doubtful_sum[ALL_VAR] = 0.0
    s.doubtful_sum[LEAST] = np.inf


@kernel
def add(s: State, j: int, room_w: float) -> None:
    """Let the margin be on one more job, which may draw so much more than is believed of it (``settle`` follows)."""
    deviation = s.nodes[j] * s.spread_w[j]
    variance = deviation * deviation
    if room_w <= 0.0 or variance <= 0.0:
        return
    n = s.n_doubtful[0]
    s.doubtful[n] = j
    s.doubtful_w[n] = room_w
    s.doubtful_var[n] = variance
    s.n_doubtful[0] = n + 1
    s.doubtful_sum[ALL_VAR] += variance
    s.doubtful_sum[LEAST] = min(s.doubtful_sum[LEAST], room_w / variance)


@kernel
def settle(s: State) -> None:
    """Find the margin, and the jobs that share it.

    All share where each has so much room for its variance that leaving some out cannot lower the margin (a root of a
    sum falls by no more than what is taken from the sum, over the root); else the jobs are sorted.
    """
    variance = s.doubtful_sum[ALL_VAR]
    deviation = np.sqrt(variance)
    if s.n_doubtful[0] == 0 or s.doubtful_sum[LEAST] * deviation >= s.margin[0]:
        s.n_sharing[0] = s.n_doubtful[0]
        s.believed_var[0] = variance
        s.margin_w[0] = s.margin[0] * deviation
    else:
        _part(s)


@outlined
def _part(s: State) -> None:
    """Sort the jobs by room per variance, and let the first so many share that the margin is least."""
    n = s.n_doubtful[0]
    for root in range(n // 2 - 1, -1, -1):
        _sift(s, root, n)
    for last in range(n - 1, 0, -1):
        _swap(s, 0, last)
        _sift(s, 0, last)
    rest_w = 0.0
    for i in range(n):
        rest_w += s.doubtful_w[i]
    s.n_sharing[0] = 0
    s.margin_w[0] = rest_w
    s.believed_var[0] = 0.0
    variance = 0.0
    for i in range(n):
        rest_w -= s.doubtful_w[i]
        variance += s.doubtful_var[i]
        total_w = max(0.0, rest_w) + s.margin[0] * np.sqrt(variance)
        if total_w < s.margin_w[0]:
            s.margin_w[0] = total_w
            s.n_sharing[0] = i + 1
            s.believed_var[0] = variance


@kernel
def _comes_first(s: State, a: int, b: int) -> bool:
    """Tell whether one of two jobs has more room per variance; jobs of equal room, the one of the smaller number."""
    one, other = s.doubtful_w[a] * s.doubtful_var[b], s.doubtful_w[b] * s.doubtful_var[a]
    return one > other or (one == other and s.doubtful[a] < s.doubtful[b])


@kernel
def _swap(s: State, a: int, b: int) -> None:
    s.doubtful[a], s.doubtful[b] = s.doubtful[b], s.doubtful[a]
    s.doubtful_w[a], s.doubtful_w[b] = s.doubtful_w[b], s.doubtful_w[a]
    s.doubtful_var[a], s.doubtful_var[b] = s.doubtful_var[b], s.doubtful_var[a]


@outlined
def _sift(s: State, i: int, n: int) -> None:
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and _comes_first(s, child, child + 1):
            child += 1
        if not _comes_first(s, i, child):
            return
        _swap(s, i, child)
        i = child


@kernel
def increase_w(s: State, j: int, room_w: float) -> float:
    """Return by how much the margin rises if it is on one more job, which may draw so much more than is counted.

    Those who share without it also share with it: only those who do not are looked at again.
    """
    deviation = s.nodes[j] * s.spread_w[j]
    if room_w <= 0.0 or deviation <= 0.0:
        return 0.0
    more = deviation * deviation
    variance = s.believed_var[0]
    z = s.margin[0]
    joins_w = z * (np.sqrt(variance + more) - np.sqrt(variance))
    least_w = min(room_w, joins_w)
    earlier_w = z * np.sqrt(variance)
    gained_w = 0.0
    for i in range(s.n_sharing[0], s.n_doubtful[0]):
        variance += s.doubtful_var[i]
        gained_w += s.doubtful_w[i]
        least_w = min(least_w, z * np.sqrt(variance + more) - earlier_w - gained_w)
    return max(0.0, least_w)


@kernel
def part_w(s: State, j: int, room_w: float) -> float:
    """Return the part that a job which the margin is on has in it: its room, or what is shared by its variance.

    The parts of all add up to the margin.
    """
    deviation = s.nodes[j] * s.spread_w[j]
    variance = deviation * deviation
    if room_w <= 0.0 or variance <= 0.0:
        return 0.0
    last = s.n_sharing[0] - 1
    if last < s.n_doubtful[0] - 1:
        if last < 0:
            return room_w
        own, least = room_w * s.doubtful_var[last], s.doubtful_w[last] * variance
        if own < least or (own == least and j > s.doubtful[last]):
            return room_w
    return s.margin[0] * variance / np.sqrt(s.believed_var[0])
