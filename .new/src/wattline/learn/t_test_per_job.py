"""The data-driven learner by the letter: a profile stays as it is until a t-test of a running job's new samples
rejects it.

Each running job gathers its own 20 new samples; then they are held against the older samples of its key, and join
them. Where they agree the profile does not change. Where they differ, the group's profile stands in if they agree with
its data, and the maximum otherwise.
"""

from __future__ import annotations

from typing import Any

from wattline.kernel.compiled import kernel, outlined
from wattline.learn import moments
from wattline.learn.moments import M2, MEAN, N, deviation, merged
from wattline.learn.profiles import LEAST_SAMPLES, assume_maximum, sampled_w
from wattline.learn.student import differs
from wattline.model.codes import ARRIVAL, END, SAMPLE
from wattline.model.mechanism import Memory, Param, mechanism
from wattline.model.state.record import State
from wattline.model.structures.many_running import listed

COLUMNS = 3
"""Memory of each job: count, mean and squared deviations of the samples that are not compared yet."""

DATA, HIGH_W, TRUST, ROW = 0, 3, 4, 5
"""A profile: moments of its samples, the high power that it tells (0: not known), levels up to the profile that stands
in for it (0: its own)."""


@kernel
def row_of(s: State, j: int, v: int) -> int:
    """Return where the profile of a job at a level begins (-1: it has none)."""
    return COLUMNS * s.submit_s.shape[0] + s.profile[j, v] * ROW if s.profile[j, v] >= 0 else -1


@kernel
def gather(s: State, j: int, watts: float, m: Any) -> float:
    """Take a sample of a running job in; return how many wait to be compared."""
    jobs = s.submit_s.shape[0]
    count = m[N * jobs + j] + 1.0
    off = watts - m[MEAN * jobs + j]
    m[N * jobs + j] = count
    m[MEAN * jobs + j] += off / count
    m[M2 * jobs + j] += off * (watts - m[MEAN * jobs + j])
    return count


@kernel
def join(s: State, j: int, m: Any, at: int, deviations: float) -> None:
    """Put a job's new samples to the older ones of its key, which tells its high power once it is known."""
    jobs = s.submit_s.shape[0]
    d = at + DATA
    m[d + N], m[d + MEAN], m[d + M2] = merged(
        m[d + N], m[d + MEAN], m[d + M2], m[N * jobs + j], m[MEAN * jobs + j], m[M2 * jobs + j]
    )
    m[N * jobs + j] = m[MEAN * jobs + j] = m[M2 * jobs + j] = 0.0
    if m[at + HIGH_W] == 0.0 and m[d + N] >= LEAST_SAMPLES:
        m[at + HIGH_W] = m[d + MEAN] + deviations * deviation(m[d + N], m[d + M2])


@outlined
def compare(s: State, j: int, at: int, deviations: float, recover: float, m: Any) -> None:
    """Test a job's new samples against its older ones; where they differ, find the first group that they agree with.

    With ``recover`` the older samples are forgotten then, and the profile is its own again, from the new ones, once
    the next agree with these.
    """
    jobs = s.submit_s.shape[0]
    n, mean, squares = m[N * jobs + j], m[MEAN * jobs + j], m[M2 * jobs + j]
    d = at + DATA
    if m[d + N] < LEAST_SAMPLES:
        return
    if not differs(n, mean, squares, m[d + N], m[d + MEAN], m[d + M2]):
        if recover == 1.0 and m[at + TRUST] > 0.0:
            m[at + TRUST] = 0.0
            m[at + HIGH_W] = 0.0
        return
    levels = s.profile.shape[1]
    m[at + TRUST] = float(levels)
    for v in range(levels - 1, 0, -1):
        other = row_of(s, j, v)
        if other < 0 or m[other + N] < LEAST_SAMPLES:
            continue
        if not differs(n, mean, squares, m[other + N], m[other + MEAN], m[other + M2]):
            m[at + TRUST] = float(v)
    if recover == 1.0:
        m[d + N] = m[d + MEAN] = m[d + M2] = 0.0


@outlined
def tell(s: State, j: int, deviations: float, m: Any) -> None:
    """Write a job's profile: its key's if that is known, or what stands in for it, or its group's, or the maximum."""
    levels = s.profile.shape[1]
    v = 0
    doubted = 0
    own = row_of(s, j, 0)
    if own >= 0 and m[own + HIGH_W] > 0.0:
        if m[own + TRUST] == 0.0:
            s.profile_w[j] = min(m[own + HIGH_W], s.max_w[s.pool[j]])
            s.profile_from[j] = 0
            return
        v = int(m[own + TRUST])
        doubted = 1
    while v < levels:
        at = row_of(s, j, v)
        if v > 0 and at >= 0 and m[at + N] >= LEAST_SAMPLES:
            high_w = m[at + MEAN] + deviations * deviation(m[at + N], m[at + M2])
            s.profile_w[j] = min(high_w, s.max_w[s.pool[j]])
            s.profile_from[j] = v
            return
        v += 1
    assume_maximum(s, j)
    s.profile_from[j] += doubted


@mechanism(
    "profile",
    "t-test-per-job",
    wake=ARRIVAL | SAMPLE | END,
    memory=Memory(per_job=COLUMNS, per_profile=ROW),
    params={
        "deviations": Param(2.33, "standard deviations above the mean that make the high power of a profile", low=0),
        "recover": Param(
            1.0, "1: a profile that was rejected is learned anew; 0: what stands in for it stays", 0, 1, whole=True
        ),
    },
    source="knapsack §V, by its letter",
)
def t_test_per_job(s: State, arg: int, param: Any, memory: Any) -> int:
    """Learn the high power of jobs and projects; keep a profile until a t-test of 20 samples of one job rejects it."""
    jobs = s.submit_s.shape[0]
    if arg < 0:
        own = row_of(s, -1 - arg, 0)
        if own >= 0:
            join(s, -1 - arg, memory, own, param[0])
        return 0
    if arg < jobs:
        tell(s, arg, param[0], memory)
        return 0
    for i in range(listed(s)):
        j = s.running[i]
        watts = sampled_w(s, j)
        if watts < 0.0:
            continue
        for v in range(1, s.profile.shape[1]):
            if s.profile[j, v] >= 0:
                moments.add(memory, row_of(s, j, v), watts)
        own = row_of(s, j, 0)
        if own >= 0 and gather(s, j, watts, memory) >= LEAST_SAMPLES:
            compare(s, j, own, param[0], param[1], memory)
            join(s, j, memory, own, param[0])
    for i in range(listed(s)):
        tell(s, s.running[i], param[0], memory)
    for i in range(s.q_head[0], s.q_tail[0]):
        if s.queue[i] >= 0:
            tell(s, s.queue[i], param[0], memory)
    return 0
