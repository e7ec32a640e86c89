"""Backfilling by end: others pass the head only if they are gone before it can start; there are no extra nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.kernel.compiled import kernel
from wattline.model.codes import BACKFILL, IN_ORDER, RUNNING, STARTING, WAKING
from wattline.model.mechanism import Param, mechanism
from wattline.model.state.record import State
from wattline.model.structures.many_running import ready
from wattline.model.structures.nodes import count_back
from wattline.physics.clocks import virtual_now
from wattline.physics.power import end_decrease_w, start_increase_w
from wattline.policies.select.easy import backfill_deep, fits
from wattline.policies.select.proposals import headroom_left_w, propose, sort_ends
from wattline.policies.select.shared_watts import backfill_shared, room


@kernel
def estimated_left(s: State, j: int) -> float:
    """Return what a job has left by its estimate: work where all jobs have one rate, otherwise seconds at its rate.

    Work and not time where possible: the comparison is strict, and a rate that cancels must not decide it by rounding.
    """
    c = s.base_class[j]
    if s.status[j] == RUNNING:
        c = s.rate_class[j]
        left = max(0.0, s.v_estimate[j] - virtual_now(s, c))
    elif s.status[j] == WAKING or s.status[j] == STARTING:
        left = max(0.0, s.estimated_end_s[j] - s.now[0]) * s.c_rate[c]
    else:
        left = max(0.0, s.estimate_s[j] - (s.work[j] - s.remaining[j]))
    return float(left if s.c_n.shape[0] == 1 else left / s.c_rate[c])


@kernel
def left_before_head(s: State, h: int, p: int, n: int, free0: int, watts0: float, ends: Any) -> float:
    """Return what has to be done before the head can start, by the estimates of running and proposed jobs."""
    sort_ends(s, n, ends)
    free = free0
    watts = watts0
    need_w = 0.0 if watts == np.inf else start_increase_w(s, h, np.inf)
    alpha = 0.0
    i = 0
    k = 0
    running = ready(s, 0)
    while free < s.nodes[h] or watts < need_w:
        j = s.running[i] if i < running else -1
        own = int(ends[k]) if k < n else -1
        if j < 0 and own < 0:
            return np.inf  # nodes are down or drain: nobody's end lets the head start
        if j < 0 or (own >= 0 and estimated_left(s, own) < estimated_left(s, j)):
            j = own
            k += 1
        else:
            i += 1
            if i == running:
                running = ready(s, i)
        if s.pool[j] == p:
            free += count_back(s, j)
        elif watts == np.inf:
            continue
        if watts < np.inf:
            watts += end_decrease_w(s, j)
        alpha = max(alpha, estimated_left(s, j))
    return alpha


@kernel
def backfill_pool(s: State, p: int, n0: int, depth: float, ends: Any) -> int:
    """Propose starts on one node class; return the number of proposals so far."""
    n = n0
    free = s.free[p]
    watts = headroom_left_w(s, n0)
    tail = s.q_tail[0]
    i = s.q_head[0]
    while i < tail:
        j = s.queue[i]
        if j >= 0 and s.pool[j] == p:
            if not fits(s, j, free, watts):
                break
            free -= s.nodes[j]
            if watts < np.inf:
                watts -= start_increase_w(s, j, np.inf)
            n = propose(s, n, j, IN_ORDER)
        i += 1
    if i >= tail or i == tail - 1 or free == 0:
        return n
    head = s.queue[i]
    alpha = left_before_head(s, head, p, n, free, watts, ends)
    wait_s = alpha / s.c_rate[0] if s.c_n.shape[0] == 1 else alpha
    s.reserved_s[head] = min(s.reserved_s[head], s.now[0] + wait_s)
    i += 1
    if s.ix_on[0] == 1 and depth == 0.0 and watts == np.inf and s.c_n.shape[0] == 1:
        return backfill_deep(s, n, i, free, np.nextafter(alpha, -np.inf), 0)
    looked = 0
    while i < tail and free > 0 and alpha > 0.0:
        j = s.queue[i]
        i += 1
        if j < 0 or s.pool[j] != p:
            continue
        looked += 1
        if depth > 0.0 and looked > depth:
            break
        if estimated_left(s, j) < alpha and fits(s, j, free, watts):
            free -= s.nodes[j]
            if watts < np.inf:
                watts -= start_increase_w(s, j, np.inf)
            n = propose(s, n, j, BACKFILL)
    return n


@mechanism(
    "select",
    "backfill-by-end",
    params={"depth": Param(0.0, "waiting jobs looked at for backfilling (0: all)", low=0, whole=True)},
    memory=room(0),
    sorted_running=True,
    source="recursion model, §III-B, corrected",
)
def backfill_by_end(s: State, mask: int, param: Any, memory: Any) -> int:  # the one policy signature
    """Backfilling by end: whoever fits and ends strictly before the head could start passes it; no extra nodes."""
    if s.free.shape[0] > 1 and s.limit_w[0] < np.inf:
        return backfill_shared(s, param[0], True, memory)
    n = 0
    for p in range(s.free.shape[0]):
        if s.free[p] > 0:
            n = backfill_pool(s, p, n, param[0], memory)
    return n
