"""Profiles whose errors are pooled: means of jobs, and one margin on their sum that is held to a stated miss
probability.
"""

from __future__ import annotations

from typing import Any

from wattline.kernel.compiled import kernel, outlined
from wattline.learn import moments
from wattline.learn.moments import M2, MEAN, N, deviation
from wattline.learn.profiles import LEAST_SAMPLES, assume_maximum, sampled_w
from wattline.model.codes import ARRIVAL, RUNNING, SAMPLE
from wattline.model.mechanism import Memory, Param, mechanism
from wattline.model.state.record import State
from wattline.model.structures.many_running import listed
from wattline.physics.power import LIMIT_SLACK, believed_busy_w

ROW = 3
"""A profile: the moments of its samples."""

OWN, OWN_MEAN = range(2)
COLUMNS = 2
"""Memory of each job: its own samples, and their mean."""

BEGUN, LATE, SAMPLES = range(3)
FIXED = 3
"""Memory of the whole: whether the margin was set; samples of the sum above its bound, and all of them."""

OWN_WEIGHT = 3.0
"""Samples of earlier runs that the profile counts for against those of the run itself."""


@outlined
def tell(s: State, j: int, m: Any) -> None:
    """Write mean and spread of a job's power: of the first level that is known, drawn towards what the run itself
    has shown.
    """
    jobs = s.submit_s.shape[0]
    rows = COLUMNS * jobs + FIXED
    for v in range(s.profile.shape[1]):
        row = s.profile[j, v]
        if row < 0:
            continue
        at = rows + row * ROW
        if m[at + N] >= LEAST_SAMPLES:
            own, own_mean = m[OWN * jobs + j], m[OWN_MEAN * jobs + j]
            mean = (OWN_WEIGHT * m[at + MEAN] + own * own_mean) / (OWN_WEIGHT + own)
            s.profile_w[j] = min(mean, s.max_w[s.pool[j]])
            s.spread_w[j] = deviation(m[at + N], m[at + M2])
            s.profile_from[j] = v
            return
    assume_maximum(s, j)


@kernel
def calibrate(s: State, miss: float, rate: float, m: Any) -> None:
    """Widen the margin when the power of running jobs exceeded its bound, narrow it a little when not.

    In the long run the bound is exceeded in a share ``miss`` of the samples, whatever the law of the power and
    however jobs depend on each other (adaptive conformal inference). Nothing is learned from an empty machine or
    from maxima.
    """
    if s.n_doubtful[0] == 0:
        return
    drawn = 0.0
    for i in range(listed(s)):
        j = s.running[i]
        if s.status[j] == RUNNING:
            drawn += s.nodes[j] * s.now_w[j] * s.c_power[s.rate_class[j]]
    late = 1.0 if drawn > believed_busy_w(s) * (1.0 + LIMIT_SLACK) else 0.0
    s.margin[0] = max(0.0, s.margin[0] + rate * (late - miss))
    whole = m[COLUMNS * s.submit_s.shape[0] :]
    whole[LATE] += late
    whole[SAMPLES] += 1.0


@mechanism(
    "profile",
    "pooled",
    wake=ARRIVAL | SAMPLE,
    memory=Memory(fixed=FIXED, per_job=COLUMNS, per_profile=ROW),
    params={
        "miss": Param(
            0.01,
            "share of samples in which the power of all running jobs may exceed what was counted with",
            0.0001,
            0.5,
        ),
        "rate": Param(0.1, "step by which the margin widens after such a sample, in standard deviations", 0.0),
        "margin": Param(2.33, "margin before anything was seen, in standard deviations", 0.0),
    },
    source="Wattline; Gibbs & Candès 2021",
)
def pooled(s: State, arg: int, param: Any, memory: Any) -> int:
    """Count with mean powers and one margin for all jobs, held to a stated probability by what is seen."""
    jobs = s.submit_s.shape[0]
    if memory[COLUMNS * jobs + BEGUN] == 0.0:
        memory[COLUMNS * jobs + BEGUN] = 1.0
        s.margin[0] = param[2]
    if arg < 0:
        return 0
    if arg < jobs:
        tell(s, arg, memory)
        return 0
    calibrate(s, param[0], param[1], memory)
    rows = COLUMNS * jobs + FIXED
    for i in range(listed(s)):
        j = s.running[i]
        watts = sampled_w(s, j)
        if watts < 0.0:
            continue
        own, own_mean = OWN * jobs + j, OWN_MEAN * jobs + j
        memory[own] += 1.0
        memory[own_mean] += (watts - memory[own_mean]) / memory[own]
        for v in range(s.profile.shape[1]):
            if s.profile[j, v] >= 0:
                moments.add(memory, rows + s.profile[j, v] * ROW, watts)
    for i in range(listed(s)):
        tell(s, s.running[i], memory)
    for i in range(s.q_head[0], s.q_tail[0]):
        if s.queue[i] >= 0:
            tell(s, s.queue[i], memory)
    return 0
