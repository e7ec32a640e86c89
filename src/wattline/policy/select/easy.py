"""EASY backfilling: the head of the line gets a reservation, others may pass it if they do not delay it."""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.model import fitindex
from wattline.model.codes import ARRIVAL, BACKFILL, IN_ORDER
from wattline.model.compiled import kernel
from wattline.model.state import State
from wattline.physics.power import start_increase_w, system_w
from wattline.model.mechanism import Memory, Param, mechanism
from wattline.policy.select.proposals import estimated_wall_s, propose, sort_ends


@kernel
def headroom_w(s: State) -> float:
    """Return the power that starts may add under the limit."""
    return s.limit_w[0] - system_w(s) if s.limit_w[0] < np.inf else np.inf


@kernel
def fits(s: State, j: int, free: int, watts: float) -> bool:
    """Tell whether a job fits in a number of free nodes and watts."""
    return s.nodes[j] <= free and (watts == np.inf or start_increase_w(s, j, np.inf) <= watts)


@kernel
def reservation(s: State, h: int, p: int, n: int, free: int, watts: float, ends: Any) -> tuple[float, int, float]:
    """Return when the head job can start by the estimates, and the nodes and watts left over at that time.

    Nodes come free at the estimated ends of running jobs and of the ``n`` jobs proposed in this pass. An estimate that
    has run out counts as *now*. If the running jobs do not suffice (nodes are down) the time is infinite.
    """
    now = s.now[0]
    sort_ends(s, n, ends)
    need_w = 0.0 if watts == np.inf else start_increase_w(s, h, np.inf)
    i = 0
    k = 0
    t = now
    while i < s.n_running[0] or k < n:
        j = s.running[i] if i < s.n_running[0] else -1
        t_j = s.estimated_end_s[j] if j >= 0 else np.inf
        own = int(ends[k]) if k < n else -1
        if own >= 0 and (j < 0 or now + estimated_wall_s(s, own) < t_j):
            j = own
            t_j = now + estimated_wall_s(s, j)
        if t_j > t and free >= s.nodes[h] and watts >= need_w:
            break  # enough, and all that comes free at the same time is counted
        if j == own:
            k += 1
        else:
            i += 1
        if s.pool[j] == p:
            free += s.nodes[j]
        elif watts == np.inf:
            continue
        if watts < np.inf:
            watts += start_increase_w(s, j, s.cap_w[j])
        t = max(t, t_j)
    if free < s.nodes[h] or watts < need_w:
        return np.inf, free, watts
    return t, free - s.nodes[h], watts - need_w


@kernel
def backfill_deep(s: State, n0: int, first: int, free0: int, window_s: float, extra0: int) -> int:
    """Propose every job from slot ``first`` on that fits beside the reservation, by the index; return the count."""
    n = n0
    free = free0
    extra = extra0
    at = first
    while free > 0:
        at = fitindex.next_fit(s, at, free, window_s, extra)
        if at < 0:
            break
        j = s.queue[at]
        n = propose(s, n, j, BACKFILL)
        free -= s.nodes[j]
        if s.estimate_s[j] > window_s:
            extra -= s.nodes[j]
        at += 1
    return n


@kernel
def easy_pool(s: State, mask: int, p: int, n0: int, depth: float, ends: Any) -> int:
    """Propose starts on one node class; return the number of proposals so far."""
    n = n0
    free = s.free[p]
    watts = headroom_w(s)
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
    shadow_s, extra, extra_w = reservation(s, head, p, n, free, watts, ends)
    s.reserved_s[head] = min(s.reserved_s[head], shadow_s)
    i += 1
    if mask == ARRIVAL and i < s.q_new[0] and n == n0 and s.estimated_end_s[s.running[0]] > s.now[0]:
        i = s.q_new[0]  # nothing ended: who could not pass before cannot pass now, only newcomers may
    simple = watts == np.inf and s.free.shape[0] == 1
    if simple and s.ix_on[0] == 1 and depth == 0.0 and s.c_n.shape[0] == 1:
        window_s = (shadow_s - s.now[0]) * s.c_rate[0]
        return backfill_deep(s, n, i, free, window_s, extra)
    looked = 0
    while i < tail and free > 0:
        j = s.queue[i]
        i += 1
        if j < 0 or (not simple and s.pool[j] != p):
            continue
        looked += 1
        if depth > 0.0 and looked > depth:
            break
        if s.nodes[j] > free or (not simple and not fits(s, j, free, watts)):
            continue
        in_time = s.now[0] + estimated_wall_s(s, j) <= shadow_s
        if not in_time:
            if s.nodes[j] > extra or (watts < np.inf and start_increase_w(s, j, np.inf) > extra_w):
                continue
            extra -= s.nodes[j]
            if watts < np.inf:
                extra_w -= start_increase_w(s, j, np.inf)
        free -= s.nodes[j]
        if watts < np.inf:
            watts -= start_increase_w(s, j, np.inf)
        n = propose(s, n, j, BACKFILL)
    return n


@mechanism(
    "select",
    "easy",
    params={"depth": Param(0.0, "waiting jobs looked at for backfilling (0: all)")},
    memory=Memory(per_running=1),
    sorted_running=True,
    source="Lifka 1995; Mu'alem & Feitelson 2001",
)
def easy(s: State, mask: int, param: Any, memory: Any) -> int:
    """EASY backfilling: reservation for the head by estimates, extra-nodes rule, FCFS order of backfill."""
    n = 0
    for p in range(s.free.shape[0]):
        if s.free[p] > 0:
            n = easy_pool(s, mask, p, n, param[0], memory)
    return n
