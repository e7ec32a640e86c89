"""Profiles with a stated miss probability: the conformal quantile of what was sampled, kept in histograms."""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.kernel.compiled import kernel, outlined
from wattline.learn.profiles import assume_maximum, sampled_w
from wattline.model.codes import ARRIVAL, SAMPLE
from wattline.model.mechanism import Memory, Param, mechanism
from wattline.model.state.record import State
from wattline.model.structures.many_running import listed

BINS = 128
COUNT, TOLD, BIN = 0, 1, 2
ROW = BIN + BINS
"""A profile: how many samples; the quantile, for those who ask often; how many samples in each of equal bins from
nothing to the greatest power of a node.
"""


@kernel
def observe(m: Any, at: int, share: float) -> None:
    """Take a sample in, given as a share of the greatest power; counts of two histograms simply add up."""
    m[at + COUNT] += 1.0
    m[at + BIN + max(0, min(BINS - 1, int(share * BINS)))] += 1.0


@outlined
def upper_quantile(m: Any, at: int, miss: float) -> float:
    """Return the share of the greatest power that the next sample exceeds with probability ``miss`` at most (2:
    unknown).

    Of n samples and a further one, each is as likely to be the greatest: the ⌈(n + 1)(1 - miss)⌉-th of the n is
    exceeded with at most that probability, whatever their law. The upper edge of its bin errs on the same side.
    """
    n = m[at + COUNT]
    rank = np.ceil((n + 1.0) * (1.0 - miss))
    if rank > n or n == 0.0:
        return 2.0
    below = 0.0
    for b in range(BINS):
        below += m[at + BIN + b]
        if below >= rank:
            return (b + 1.0) / BINS
    return 1.0


@outlined
def tell(s: State, j: int, m: Any) -> None:
    """Write a job's profile by the first level with enough samples."""
    for v in range(s.profile.shape[1]):
        row = s.profile[j, v]
        if row < 0:
            continue
        share = m[row * ROW + TOLD]
        if 0.0 < share <= 1.0:
            s.profile_w[j] = share * s.max_w[s.pool[j]]
            s.profile_from[j] = v
            return
    assume_maximum(s, j)


@mechanism(
    "profile",
    "quantile",
    wake=ARRIVAL | SAMPLE,
    memory=Memory(per_profile=ROW),
    params={"miss": Param(0.05, "probability with which a sample may exceed the profile", 0.0001, 0.5)},
    source="split conformal prediction (Vovk, Gammerman & Shafer 2005)",
)
def quantile(s: State, arg: int, param: Any, memory: Any) -> int:
    """Learn the power that samples of a job, or of its project, exceed with a stated probability."""
    if arg < 0:
        return 0
    if arg < s.submit_s.shape[0]:
        for v in range(s.profile.shape[1]):  # profiles that were loaded or merged may be told for another probability
            if s.profile[arg, v] >= 0:
                memory[s.profile[arg, v] * ROW + TOLD] = upper_quantile(memory, s.profile[arg, v] * ROW, param[0])
        tell(s, arg, memory)
        return 0
    for i in range(listed(s)):
        j = s.running[i]
        watts = sampled_w(s, j)
        if watts < 0.0:
            continue
        for v in range(s.profile.shape[1]):
            if s.profile[j, v] >= 0:
                observe(memory, s.profile[j, v] * ROW, watts / s.max_w[s.pool[j]])
                memory[s.profile[j, v] * ROW + TOLD] = upper_quantile(memory, s.profile[j, v] * ROW, param[0])
    for i in range(listed(s)):
        tell(s, s.running[i], memory)
    for i in range(s.q_head[0], s.q_tail[0]):
        if s.queue[i] >= 0:
            tell(s, s.queue[i], memory)
    return 0
