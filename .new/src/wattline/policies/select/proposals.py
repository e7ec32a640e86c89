"""Helpers that select policies share: writing a proposal, estimated run times, ends of jobs proposed in this pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.kernel.compiled import kernel
from wattline.model.state.record import State
from wattline.physics.power import headroom_w, start_increase_w


@kernel
def propose(s: State, n: int, j: int, why: int) -> int:
    """Write proposal n: start job j on its nodes at its class's cap; return n + 1."""
    s.p_job[n] = j
    s.p_nodes[n] = s.nodes[j]
    s.p_cap_w[n] = np.inf
    s.p_why[n] = why
    return n + 1


@kernel
def headroom_left_w(s: State, n: int) -> float:
    """Return the power that further starts may add under the limit, after the first n proposals of this pass."""
    watts = headroom_w(s)
    if watts < np.inf:
        for i in range(n):
            watts -= start_increase_w(s, s.p_job[i], s.p_cap_w[i])
    return watts


@kernel
def estimated_left(s: State, j: int) -> float:
    """Return what a waiting job has left by its estimate, as work: its time at rate 1."""
    return max(0.0, s.estimate_s[j] - (s.work[j] - s.remaining[j]))


@kernel
def estimated_wall_s(s: State, j: int) -> float:
    """Return how long a job is estimated to run if it starts now, at its class's present rate."""
    rate = s.c_rate[s.base_class[j]]
    left = estimated_left(s, j)
    return left if rate == 1.0 else left / rate


@kernel
def outlasts(s: State, j: int, window_s: float) -> bool:
    """Tell whether a job that starts now is estimated to run longer than a span of time.

    Work is compared with what the span holds at the job's rate, as the walk over the queue's own arrays and the
    index do: one expression decides exact ties everywhere.
    """
    return estimated_left(s, j) > window_s * s.c_rate[s.base_class[j]]


@kernel
def sort_ends(s: State, n: int, ends: Any) -> None:
    """Write the jobs of the first n proposals into ``ends``, by estimated end."""
    for i in range(n):
        j = s.p_job[i]
        t = estimated_wall_s(s, j)
        at = i
        while at > 0 and estimated_wall_s(s, int(ends[at - 1])) > t:
            ends[at] = ends[at - 1]
            at -= 1
        ends[at] = j
