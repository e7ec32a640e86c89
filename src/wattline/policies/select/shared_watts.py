"""Backfilling where several node classes share a power limit: who was promised watts gets them.

The first job of each class that cannot start gets a reservation of nodes and watts. Those made before are booked
first and only ever move forward; then the line is walked once, and nobody, of whatever class, may take what is
booked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.kernel.compiled import kernel, outlined
from wattline.model.codes import BACKFILL, IN_ORDER, WAITING
from wattline.model.mechanism import Memory
from wattline.model.state.record import State
from wattline.physics.power import start_increase_w
from wattline.policies.select.ahead import free_ahead, watts_ahead
from wattline.policies.select.profile import add, add_from, earliest_both, end_of, is_free, step_at
from wattline.policies.select.proposals import estimated_left, estimated_wall_s, propose

ROWS = 7
"""Floats for each class: free nodes; the head (a job, plus one), when it can start and how often it had lost its nodes,
which last between passes; the nodes left over then; how many behind it were looked at; whether the walk has met it
"""
SLACK = 8
"""Steps of a profile beyond those of the jobs: its first one, and two cuts before they are joined again."""


def room(fixed: int) -> Memory:
    """Return the memory of a policy that keeps ``fixed`` floats of its own before this module's."""
    return Memory(fixed=fixed + 4 * SLACK, per_running=8, per_class=ROWS + 4)


@outlined
def reserve(s: State, h: int, n: int, t: Any, f: Any, t_w: Any, f_w: Any, m_w: int) -> tuple[float, float]:
    """Return when a job can start by the estimates, and the nodes of its class left over then."""
    p = s.pool[h]
    m = free_ahead(s, p, np.nextafter(s.now[0], np.inf), t, f)  # its nodes are not free yet
    for i in range(n):
        j = s.p_job[i]
        if s.pool[j] == p:
            m = add(t, f, m, s.now[0], end_of(s.now[0], estimated_wall_s(s, j)), -float(s.nodes[j]))
    need_w = start_increase_w(s, h, np.inf)
    at_s = earliest_both(t, f, m, t_w, f_w, m_w, s.nodes[h], need_w, estimated_wall_s(s, h))
    if at_s == np.inf:
        return np.inf, 0.0
    return at_s, f[step_at(t, m, at_s)] - s.nodes[h]


@kernel
def passes(s: State, j: int, window_s: float, extra: float, strict: bool) -> bool:  # kernels take no keywords
    """Tell whether a job may pass the head of its class: gone before that starts, or (not strict) in its extra
    nodes.
    """
    window = window_s * s.c_rate[s.base_class[j]]
    if strict:
        return estimated_left(s, j) < window
    return estimated_left(s, j) <= window or s.nodes[j] <= extra


@kernel
def losses(s: State, j: int) -> int:
    """Return how often a job has lost its nodes: one that waits again, since it was promised some, is a newcomer."""
    return s.preemptions[j] + s.restarts[j]


@outlined
def forget_passed(s: State, head: Any, lost: Any) -> None:
    """Forget the reservations of jobs that have started or are no longer the first of their class in the line."""
    kept = 0
    for p in range(s.free.shape[0]):
        j = int(head[p]) - 1
        if j >= 0 and (s.status[j] != WAITING or losses(s, j) != lost[p]):
            head[p] = 0.0
        kept += head[p] != 0.0
    i = s.q_head[0]
    while i < s.q_tail[0] and kept > 0:
        j = s.queue[i]
        i += 1
        if j < 0 or head[s.pool[j]] == 0.0:
            continue
        if head[s.pool[j]] > 0.0:  # the first of its class: the mark tells that it was seen
            head[s.pool[j]] = -head[s.pool[j]] if head[s.pool[j]] == j + 1 else 0.0
            kept -= 1
    for p in range(s.free.shape[0]):
        head[p] = abs(head[p])


@outlined
def book_heads(s: State, head: Any, shadow: Any, extra: Any, t: Any, f: Any, t_w: Any, f_w: Any, m0: int) -> int:
    """Book the reservations that were made before, the earliest first: none moves back for another; return the
    steps.
    """
    m_w = m0
    for _ in range(s.free.shape[0]):
        p = -1
        for c in range(s.free.shape[0]):
            if head[c] > 0.0 and (p < 0 or shadow[c] < shadow[p]):
                p = c
        if p < 0:
            break
        j = int(head[p]) - 1
        shadow[p], extra[p] = reserve(s, j, 0, t, f, t_w, f_w, m_w)
        m_w = book(s, j, shadow[p], t_w, f_w, m_w)
        head[p] = -head[p]
    for p in range(s.free.shape[0]):
        head[p] = abs(head[p])
    return m_w


@outlined
def book(s: State, j: int, at_s: float, t_w: Any, f_w: Any, m_w: int) -> int:
    """Take a job's watts from a time on and note the promise; return the number of steps."""
    if at_s == np.inf:
        return m_w
    s.reserved_s[j] = min(s.reserved_s[j], at_s)
    return add(t_w, f_w, m_w, at_s, end_of(at_s, estimated_wall_s(s, j)), -start_increase_w(s, j, np.inf))


@outlined
def backfill_shared(s: State, depth: float, strict: bool, memory: Any) -> int:  # kernels take no keywords
    """Propose starts on all node classes, in the order of the line; return the number of proposals."""
    classes = s.free.shape[0]
    room_n = 2 * s.running.shape[0] + SLACK
    room_w = room_n + 2 * classes
    free, head, shadow = memory[:classes], memory[classes : 2 * classes], memory[2 * classes : 3 * classes]
    extra, looked = memory[3 * classes : 4 * classes], memory[4 * classes : 5 * classes]
    met, lost = memory[5 * classes : 6 * classes], memory[6 * classes : 7 * classes]
    rest = memory[ROWS * classes :]
    t, f = rest[:room_n], rest[room_n : 2 * room_n]
    t_w, f_w = rest[2 * room_n : 2 * room_n + room_w], rest[2 * room_n + room_w :]
    left = 0
    for p in range(classes):
        free[p], looked[p], met[p] = s.free[p], 0.0, 0.0
        left += s.free[p]
    m_w = watts_ahead(s, np.nextafter(s.now[0], np.inf), t_w, f_w)
    forget_passed(s, head, lost)
    m_w = book_heads(s, head, shadow, extra, t, f, t_w, f_w, m_w)
    now = s.now[0]
    n = 0
    unmet = classes
    i = s.q_head[0]
    while i < s.q_tail[0] and (left > 0 or unmet > 0):  # where no node is free, heads still get their reservations
        j = s.queue[i]
        i += 1
        if j < 0:
            continue
        p = s.pool[j]
        if met[p] != 0.0 and free[p] == 0.0:
            continue
        wall_s = end_of(now, estimated_wall_s(s, j)) - now
        need_w = start_increase_w(s, j, np.inf)
        booked = head[p] == j + 1
        if booked:
            may = shadow[p] == now and s.nodes[j] <= free[p]
        else:
            may = s.nodes[j] <= free[p] and is_free(t_w, f_w, m_w, now, need_w, wall_s)
        if met[p] != 0.0:
            looked[p] += 1.0
            may = may and (depth == 0.0 or looked[p] <= depth) and passes(s, j, shadow[p] - now, extra[p], strict)
            if may and not passes(s, j, shadow[p] - now, -1.0, strict):
                extra[p] -= s.nodes[j]
        elif not may:
            met[p] = 1.0
            unmet -= 1
            if not booked:
                head[p], lost[p] = j + 1, losses(s, j)
                shadow[p], extra[p] = reserve(s, j, n, t, f, t_w, f_w, m_w)
                m_w = book(s, j, shadow[p], t_w, f_w, m_w)
        if may:
            end_s = end_of(now, estimated_wall_s(s, j)) if booked else now + wall_s
            if not booked:
                m_w = add(t_w, f_w, m_w, now, end_s, -need_w)
            asleep = min(s.nodes[j], s.asleep[p])
            if asleep > 0:  # nodes that it wakes idle once it has ended
                m_w = add_from(t_w, f_w, m_w, end_s, -asleep * (s.idle_w[p] - s.sleep_w[p]))
            free[p] -= s.nodes[j]
            left -= s.nodes[j]
            n = propose(s, n, j, BACKFILL if met[p] != 0.0 else IN_ORDER)
    return n
