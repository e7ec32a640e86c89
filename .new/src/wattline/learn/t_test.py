"""The data-driven learner: profiles of jobs and projects, doubted by a t-test of the last samples against the older
ones.
"""

from __future__ import annotations

from typing import Any

from wattline.kernel.compiled import kernel, outlined
from wattline.learn import moments
from wattline.learn.moments import M2, MEAN, N, deviation, merged
from wattline.learn.profiles import LEAST_SAMPLES, assume_maximum, sampled_w
from wattline.learn.student import differs
from wattline.model.codes import ARRIVAL, SAMPLE
from wattline.model.mechanism import Memory, Param, mechanism
from wattline.model.state.record import State
from wattline.model.structures.many_running import listed

RECENT = 20
"""The last samples, which are compared with the older ones."""

OLD, NEXT, TRUST, MEAN_W, SD_W, RING = 0, 3, 4, 5, 6, 7
ROW = RING + RECENT
"""A profile: moments of the older samples; where the next one goes; levels up to the profile that stands in for it
(0: its own data are trusted); mean and deviation of all samples, for those who ask often; the last samples in a
ring."""


@kernel
def recent_moments(m: Any, at: int) -> tuple[float, float, float]:
    """Return count, mean and squared deviations of the samples in the ring."""
    n = min(m[at + NEXT], float(RECENT))
    total = 0.0
    for i in range(int(n)):
        total += m[at + RING + i]
    mean = total / n if n > 0.0 else 0.0
    squares = 0.0
    for i in range(int(n)):
        off = m[at + RING + i] - mean
        squares += off * off
    return n, mean, squares


@kernel
def all_moments(m: Any, at: int) -> tuple[float, float, float]:
    """Return count, mean and squared deviations of all samples of a profile."""
    n, mean, squares = recent_moments(m, at)
    return merged(m[at + OLD + N], m[at + OLD + MEAN], m[at + OLD + M2], n, mean, squares)


@outlined
def observe(m: Any, at: int, watts: float) -> None:
    """Take a sample in: the oldest of the ring joins the older ones."""
    slot = at + RING + int(m[at + NEXT]) % RECENT
    if m[at + NEXT] >= RECENT:
        moments.add(m, at + OLD, m[slot])
    m[slot] = watts
    m[at + NEXT] += 1.0
    n, mean, squares = all_moments(m, at)
    m[at + MEAN_W] = mean
    m[at + SD_W] = deviation(n, squares)


@outlined
def doubt(s: State, j: int, m: Any) -> None:
    """Test a job's last samples against its older ones; where they differ, find the first level whose data they
    agree with.
    """
    at = s.profile[j, 0] * ROW
    n, mean, squares = recent_moments(m, at)
    m[at + TRUST] = 0.0
    if n < RECENT or m[at + OLD + N] < LEAST_SAMPLES:
        return
    if not differs(n, mean, squares, m[at + OLD + N], m[at + OLD + MEAN], m[at + OLD + M2]):
        return
    levels = s.profile.shape[1]
    for v in range(1, levels):
        if s.profile[j, v] < 0:
            continue
        n2, mean2, squares2 = all_moments(m, s.profile[j, v] * ROW)
        if n2 >= LEAST_SAMPLES and not differs(n, mean, squares, n2, mean2, squares2):
            m[at + TRUST] = float(v)
            return
    m[at + TRUST] = float(levels)


@outlined
def tell(s: State, j: int, deviations: float, m: Any) -> None:
    """Write a job's profile: by the first level that is known, or by the one that stands in for its own."""
    levels = s.profile.shape[1]
    doubted = 0
    v = 0
    while v < levels:
        at = s.profile[j, v] * ROW
        if at >= 0 and m[at + OLD + N] + min(m[at + NEXT], float(RECENT)) >= LEAST_SAMPLES:
            trust = int(m[at + TRUST]) if v == 0 else 0
            if trust == 0:
                s.profile_w[j] = min(m[at + MEAN_W] + deviations * m[at + SD_W], s.max_w[s.pool[j]])
                s.profile_from[j] = v
                return
            v = trust
            doubted = 1
            continue
        v += 1
    assume_maximum(s, j)
    s.profile_from[j] += doubted


@mechanism(
    "profile",
    "t-test",
    wake=ARRIVAL | SAMPLE,
    memory=Memory(per_profile=ROW),
    params={
        "deviations": Param(2.33, "standard deviations above the mean that make the high power of a profile", low=0)
    },
    source="knapsack §V (decision 15)",
)
def t_test(s: State, arg: int, param: Any, memory: Any) -> int:
    """Learn the high power of jobs and projects; assume the maximum when a t-test doubts both."""
    if arg < 0:
        return 0
    if arg < s.submit_s.shape[0]:
        tell(s, arg, param[0], memory)
        return 0
    for i in range(listed(s)):
        j = s.running[i]
        watts = sampled_w(s, j)
        if watts < 0.0:
            continue
        for v in range(s.profile.shape[1]):
            if s.profile[j, v] >= 0:
                observe(memory, s.profile[j, v] * ROW, watts)
        if s.profile[j, 0] >= 0:
            doubt(s, j, memory)
    for i in range(listed(s)):
        tell(s, s.running[i], param[0], memory)
    for i in range(s.q_head[0], s.q_tail[0]):
        if s.queue[i] >= 0:
            tell(s, s.queue[i], param[0], memory)
    return 0
