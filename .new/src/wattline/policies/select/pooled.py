"""EASY where jobs also take resources of the whole machine (licences, shared memory): all that a job needs is one
vector.

Its parts are the nodes of each class, the watts below the limit and every resource. All classes have one line: the
first job in it that cannot start gets the one reservation, and others may pass it if they are gone by then or if every
part of the vector has room for both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.kernel.compiled import kernel, outlined
from wattline.model.codes import BACKFILL, IN_ORDER
from wattline.model.state.record import State
from wattline.model.structures import resources
from wattline.model.structures.many_running import ready
from wattline.model.structures.nodes import count_back
from wattline.physics.power import end_decrease_w, headroom_w, start_increase_w
from wattline.policies.select.proposals import estimated_wall_s, outlasts, propose, sort_ends


@kernel
def fit(s: State, j: int, free: Any, watts: float, left: Any) -> bool:
    """Tell whether a job fits into what is left of nodes, watts and resources."""
    if s.nodes[j] > free[s.pool[j]]:
        return False
    if watts < np.inf and start_increase_w(s, j, np.inf) > watts:
        return False
    return resources.suffice(s, j, left)


@outlined
def reserve(s: State, h: int, n: int, free: Any, watts0: float, ends: Any) -> tuple[float, float]:
    """Return when the head can start by the estimates, and the watts left over then.

    ``free`` and ``s.res_then``, which hold what is left now, get the nodes and resources that are left over then. They
    come free at the estimated ends of running jobs and of the ``n`` jobs proposed in this pass. Where all of these do
    not suffice (nodes are down, or drain) the time is infinite.
    """
    now = s.now[0]
    sort_ends(s, n, ends)
    watts = watts0
    need_w = 0.0 if watts == np.inf else start_increase_w(s, h, np.inf)
    t = now
    i = 0
    k = 0
    running = ready(s, 0)
    while i < running or k < n:
        j = s.running[i] if i < running else -1
        t_j = s.estimated_end_s[j] if j >= 0 else np.inf
        own = int(ends[k]) if k < n else -1
        if own >= 0 and (j < 0 or now + estimated_wall_s(s, own) < t_j):
            j = own
            t_j = now + estimated_wall_s(s, j)
        if t_j > t and s.nodes[h] <= free[s.pool[h]] and need_w <= watts and resources.suffice(s, h, s.res_then):
            break  # enough, and all that comes free at the same time is counted
        if j == own:
            k += 1
        else:
            i += 1
            if i == running:
                running = ready(s, i)
        free[s.pool[j]] += count_back(s, j)
        resources.give(s, j, s.res_then)
        if watts < np.inf:
            watts += end_decrease_w(s, j)
        t = max(t, t_j)
    enough = s.nodes[h] <= free[s.pool[h]] and need_w <= watts and resources.suffice(s, h, s.res_then)
    if not enough:
        return np.inf, watts
    free[s.pool[h]] -= s.nodes[h]
    resources.take(s, h, s.res_then)
    return t, watts - need_w


@outlined
def easy_pooled(s: State, depth: float, memory: Any) -> int:
    """Propose starts of all node classes in one line; return the number of proposals."""
    classes = s.free.shape[0]
    free, extra, ends = memory[:classes], memory[classes : 2 * classes], memory[2 * classes :]
    left = 0
    for p in range(classes):
        free[p] = s.free[p]
        left += s.free[p]
    resources.begin(s)
    watts = headroom_w(s)
    n = 0
    i = s.q_head[0]
    tail = s.q_tail[0]
    while i < tail and left > 0:
        j = s.queue[i]
        if j >= 0:
            if not fit(s, j, free, watts, s.res_now):
                break
            n = propose(s, n, j, IN_ORDER)
            left -= s.nodes[j]
            watts = _take(s, j, free, watts, s.res_now)
        i += 1
    while i < tail and s.queue[i] < 0:
        i += 1
    if i >= tail:
        return n
    head = s.queue[i]
    for p in range(classes):
        extra[p] = free[p]
    for r in range(s.res_free.shape[0]):
        s.res_then[r] = s.res_now[r]
    shadow_s, extra_w = reserve(s, head, n, extra, watts, ends)
    s.reserved_s[head] = min(s.reserved_s[head], shadow_s)
    looked = 0
    for k in range(i + 1, tail):
        j = s.queue[k]
        if j < 0:
            continue
        looked += 1
        if left == 0 or (depth > 0.0 and looked > depth):
            break
        if not fit(s, j, free, watts, s.res_now):
            continue
        if outlasts(s, j, shadow_s - s.now[0]):
            if not fit(s, j, extra, extra_w, s.res_then):
                continue
            extra_w = _take(s, j, extra, extra_w, s.res_then)
        n = propose(s, n, j, BACKFILL)
        left -= s.nodes[j]
        watts = _take(s, j, free, watts, s.res_now)
    return n


@kernel
def _take(s: State, j: int, free: Any, watts: float, left: Any) -> float:
    """Take what a job needs; return the watts that are left."""
    free[s.pool[j]] -= s.nodes[j]
    resources.take(s, j, left)
    return watts - start_increase_w(s, j, np.inf) if watts < np.inf else watts
