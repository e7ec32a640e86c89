"""EASY backfilling: the head of the line gets a reservation, others may pass it if they do not delay it."""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.kernel.compiled import kernel, outlined
from wattline.model.codes import ARRIVAL, BACKFILL, IN_ORDER
from wattline.model.mechanism import Param, mechanism
from wattline.model.state.record import State
from wattline.model.state.switches import N_REPLANS, N_STARTS
from wattline.model.structures import fitindex
from wattline.model.structures.many_running import ready
from wattline.model.structures.nodes import count_back
from wattline.physics.power import end_decrease_w, start_increase_w
from wattline.policies.select.pooled import easy_pooled
from wattline.policies.select.proposals import estimated_wall_s, headroom_left_w, outlasts, propose, sort_ends
from wattline.policies.select.shared_watts import backfill_shared, room

# memory: the last reservation, valid while only arrivals happen and no estimated end has moved; then room to sort ends
M_HEAD, M_SHADOW, M_EXTRA, M_STARTS, M_PLANS, M_ENDS = 0, 1, 2, 3, 4, 8


@kernel
def fits(s: State, j: int, free: int, watts: float) -> bool:
    """Tell whether a job fits in a number of free nodes and watts."""
    return s.nodes[j] <= free and (watts == np.inf or start_increase_w(s, j, np.inf) <= watts)


@kernel
def reservation(s: State, h: int, p: int, n: int, free: int, watts: float, ends: Any) -> tuple[float, int, float]:
    """Return when the head job can start by the estimates, and the nodes and watts left over at that time.

    Nodes come free at the estimated ends of running jobs and of the ``n`` jobs proposed in this pass, all but those
    that drain. An estimate that has run out counts as *now*. If the running jobs do not suffice (nodes are down, or
    drain) the time is infinite.
    """
    now = s.now[0]
    sort_ends(s, n, ends)
    need_w = 0.0 if watts == np.inf else start_increase_w(s, h, np.inf)
    i = 0
    k = 0
    t = now
    running = ready(s, 0)
    while i < running or k < n:
        j = s.running[i] if i < running else -1
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
            if i == running:
                running = ready(s, i)
        if s.pool[j] == p:
            free += count_back(s, j)
        elif watts == np.inf:
            continue
        if watts < np.inf:
            watts += end_decrease_w(s, j)
        t = max(t, t_j)
    if free < s.nodes[h] or watts < need_w:
        return np.inf, free, watts
    return t, free - s.nodes[h], watts - need_w


@kernel
def simple_reservation(s: State, need: int, n: int, free: int, ends: Any) -> tuple[float, int]:
    """Return the reservation when there is one node class, one rate class and no power limit.

    ``ends`` gets the ends and widths of the n jobs proposed in this pass, sorted, and is merged with the running ones.
    """
    now = s.now[0]
    for i in range(n):
        at = i
        t_own = now + s.q_left_s[s.slot[s.p_job[i]]] / s.c_rate[0]
        while at > 0 and ends[2 * at - 2] > t_own:
            ends[2 * at] = ends[2 * at - 2]
            ends[2 * at + 1] = ends[2 * at - 1]
            at -= 1
        ends[2 * at] = t_own
        ends[2 * at + 1] = s.p_nodes[i]
    t = now
    i = 0
    k = 0
    running = ready(s, 0)
    while i < running or k < n:
        own = k < n and (i >= running or ends[2 * k] < s.run_end_s[i])
        end_s = ends[2 * k] if own else s.run_end_s[i]
        if free >= need and end_s > t:
            break  # enough, and all that comes free at the same time is counted
        t = max(t, end_s)
        if own:
            free += int(ends[2 * k + 1])
            k += 1
        else:
            free += count_back(s, s.running[i])
            i += 1
            if i == running:
                running = ready(s, i)
    if free < need:
        return np.inf, free
    return t, free - need


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
        if s.q_left_s[at] > window_s:
            extra -= s.nodes[j]
        at += 1
    return n


@kernel
def backfill_simple(s: State, n0: int, first: int, free0: int, window_s: float, extra0: int) -> int:
    """Propose every job from slot ``first`` on that fits beside the reservation, by walking the queue."""
    n = n0
    free = free0
    extra = extra0
    for i in range(first, s.q_tail[0]):
        width = s.q_nodes[i]
        if width > free:
            continue
        if s.q_left_s[i] > window_s:
            if width > extra:
                continue
            extra -= width
        free -= width
        n = propose(s, n, s.queue[i], BACKFILL)
        if free == 0:
            break
    return n


@kernel
def easy_simple(s: State, mask: int, memory: Any) -> int:
    """EASY on one node class, one rate class, without a power limit: all that it needs lies in the queue's own
    arrays.
    """
    n = 0
    free = s.free[0]
    tail = s.q_tail[0]
    i = s.q_head[0]
    if mask != ARRIVAL:
        memory[M_HEAD] = 0.0
    while i < tail:
        width = s.q_nodes[i]
        if width <= free:
            free -= width
            n = propose(s, n, s.queue[i], IN_ORDER)
        elif width < fitindex.NO_WIDTH:
            break
        i += 1
    if i >= tail - 1 or free == 0:
        return n
    head = i
    quiet = mask == ARRIVAL and n == 0 and memory[M_PLANS] == s.counter[N_REPLANS]
    i = max(i + 1, s.q_new[0]) if quiet else i + 1  # nothing ended: who could not pass before cannot pass now
    if s.ix_on[0] == 0:
        while i < tail and s.q_nodes[i] > free:
            i += 1
    if i >= tail:
        return n
    j = s.queue[head]
    if quiet and memory[M_HEAD] == s.seq[j] + 1 and memory[M_STARTS] == s.counter[N_STARTS]:
        shadow_s, extra = memory[M_SHADOW], int(memory[M_EXTRA])
    else:
        shadow_s, extra = simple_reservation(s, s.q_nodes[head], n, free, memory[M_ENDS:])
        memory[M_HEAD] = s.seq[j] + 1  # its row may be another job's the next time
        memory[M_STARTS], memory[M_PLANS] = s.counter[N_STARTS] + n, s.counter[N_REPLANS]
        memory[M_SHADOW], memory[M_EXTRA] = shadow_s, extra
        s.reserved_s[j] = min(s.reserved_s[j], shadow_s)
    window_s = (shadow_s - s.now[0]) * s.c_rate[0]
    if s.ix_on[0] == 1:
        return backfill_deep(s, n, i, free, window_s, extra)
    return backfill_simple(s, n, i, free, window_s, extra)


@kernel
def easy_pool(s: State, p: int, n0: int, depth: float, memory: Any) -> int:
    """Propose starts on one node class, in nodes and watts; return the number of proposals so far."""
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
            watts -= start_increase_w(s, j, np.inf)
            n = propose(s, n, j, IN_ORDER)
        i += 1
    if i >= tail or free == 0:
        return n
    head = s.queue[i]
    shadow_s, extra, extra_w = reservation(s, head, p, n, free, watts, memory[M_ENDS:])
    s.reserved_s[head] = min(s.reserved_s[head], shadow_s)
    looked = 0
    for k in range(i + 1, tail):
        j = s.queue[k]
        if j < 0 or s.pool[j] != p:
            continue
        looked += 1
        if free == 0 or (depth > 0.0 and looked > depth):
            break
        if not fits(s, j, free, watts):
            continue
        increase_w = start_increase_w(s, j, np.inf)
        if outlasts(s, j, shadow_s - s.now[0]):
            if s.nodes[j] > extra or increase_w > extra_w:
                continue
            extra -= s.nodes[j]
            extra_w -= increase_w
        free -= s.nodes[j]
        watts -= increase_w
        n = propose(s, n, j, BACKFILL)
    return n


@outlined
def easy_general(s: State, depth: float, memory: Any) -> int:
    """EASY on node classes that may differ, in nodes, watts and resources: apart, for a small frame of the simple
    case.
    """
    if s.res_free.shape[0] > 0:
        return easy_pooled(s, depth, memory[M_ENDS:])
    if s.free.shape[0] > 1 and s.limit_w[0] < np.inf:
        return backfill_shared(s, depth, False, memory[M_ENDS:])
    n = 0
    for p in range(s.free.shape[0]):
        if s.free[p] > 0:
            n = easy_pool(s, p, n, depth, memory)
    return n


@mechanism(
    "select",
    "easy",
    params={"depth": Param(0.0, "waiting jobs looked at for backfilling (0: all)", low=0, whole=True)},
    memory=room(M_ENDS),
    sorted_running=True,
    resources=True,
    source="Lifka 1995; Mu'alem & Feitelson 2001",
)
def easy(s: State, mask: int, param: Any, memory: Any) -> int:
    """EASY backfilling: reservation for the head by estimates, extra-nodes rule, FCFS order of backfill."""
    simple = s.free.shape[0] == 1 and s.c_n.shape[0] == 1 and s.limit_w[0] == np.inf and s.res_free.shape[0] == 0
    if simple and param[0] == 0.0:
        return easy_simple(s, mask, memory)
    return easy_general(s, param[0], memory)
