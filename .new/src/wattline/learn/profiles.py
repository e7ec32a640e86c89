"""Power profiles: what admission counts with for a job whose power is known, unknown or told by an oracle.

A profile learner is called with ``arg = job`` when a job arrives, with ``arg = -1 - job`` when it ends, and with
``arg`` = the number of jobs when running ones were sampled. It writes ``s.profile_w`` (and ``s.spread_w``,
``s.profile_from``) of the newcomer, or of all jobs that run or wait.
"""

from __future__ import annotations

from typing import Any

from wattline.kernel.compiled import kernel
from wattline.model.codes import ARRIVAL, RUNNING, SAMPLE
from wattline.model.mechanism import mechanism
from wattline.model.state.record import State
from wattline.model.structures.many_running import listed

LEAST_SAMPLES = 20.0
"""Samples before a profile counts as known (knapsack §V)."""


@kernel
def sampled_w(s: State, j: int) -> float:
    """Return the power per node that was just sampled of a job, or -1 where a cap hides what it would draw."""
    if s.status[j] != RUNNING:
        return -1.0
    c = s.rate_class[j]
    p = s.pool[j]
    if s.c_cap_w[c] < s.now_w[j]:
        return -1.0
    return s.now_w[j] * s.level_busy[p, s.level[p]]


@kernel
def assume_maximum(s: State, j: int) -> None:
    """Count with the greatest power of the nodes: nothing better is known of a job."""
    s.profile_w[j] = s.max_w[s.pool[j]]
    s.spread_w[j] = 0.0
    s.profile_from[j] = s.profile.shape[1]


@mechanism("profile", "known", wake=0)
def known(s: State, arg: int, param: Any, memory: Any) -> int:
    """Count with the power that jobs really draw (set before the run)."""
    return 0


@mechanism("profile", "maximum", wake=ARRIVAL)
def maximum(s: State, arg: int, param: Any, memory: Any) -> int:
    """Count with the greatest power of a node, whatever the job."""
    if arg >= 0:
        assume_maximum(s, arg)
    return 0


@mechanism("profile", "measured", wake=ARRIVAL | SAMPLE, source="knapsack §VIII-C (naive capping)")
def measured(s: State, arg: int, param: Any, memory: Any) -> int:
    """Count with the greatest power of a node for jobs that wait, with what was measured last for those that run."""
    if arg < 0:
        return 0
    if arg < s.submit_s.shape[0]:
        assume_maximum(s, arg)
        return 0
    for i in range(listed(s)):
        j = s.running[i]
        watts = sampled_w(s, j)
        if watts >= 0.0:
            s.profile_w[j] = watts
            s.profile_from[j] = 0
    return 0


@mechanism("profile", "oracle", wake=ARRIVAL)
def oracle(s: State, arg: int, param: Any, memory: Any) -> int:
    """Count with the greatest power that the job will ever draw, as if it were known before."""
    if arg >= 0:
        peak_w = s.draw_w[arg]
        if s.series_count[arg] > 0:
            peak_w = 0.0
            for i in range(s.series_first[arg], s.series_first[arg] + s.series_count[arg]):
                peak_w = max(peak_w, s.series_w[i])
        s.profile_w[arg] = peak_w
        s.profile_from[arg] = 0
    return 0
