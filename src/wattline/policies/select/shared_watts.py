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
from wattline.physics.power import headroom_w, start_increase_w
from wattline.policies.select.ahead import free_ahead, watts_ahead
from wattline.policies.select.profile import (
    COLUMNS,
    FREE,
    add,
    add_from,
    earliest_both,
    end_of,
    is_free,
    sooner,
    step_at,
)
from wattline.policies.select.proposals import estimated_left, estimated_wall_s, propose

ROWS = 8
"""Floats for each class: free nodes; the head (a job, plus one), when it can start (seconds, turn) and how often it had
lost its nodes, which last between passes; the nodes left over then; how many behind it were looked at; whether the walk
has met it
"""
SLACK = 8
"""Steps of a profile beyond those of the jobs: its first one, and two cuts before they are joined again."""


def room(fixed: int) -> Memory:
    """Return the memory of a policy that keeps ``fixed`` floats of its own before this module's."""
    return Memory(fixed=fixed + 2 * COLUMNS * SLACK, per_running=4 * COLUMNS, per_class=ROWS + 2 * COLUMNS)


@outlined
def reserve(s: State, h: int, n: int, steps: Any, watt_steps: Any, m_w: int) -> tuple[float, float, float]:
    """Return when a job can start by the estimates (seconds, turn), and the nodes of its class left over then."""
    p = s.pool[h]
    m = free_ahead(s, p, 1.0, steps)  # the nodes of jobs that end now are not free yet
    for i in range(n):
        j = s.p_job[i]
        if s.pool[j] == p:
            m = add(steps, m, s.now[0], 0.0, estimated_wall_s(s, j), -float(s.nodes[j]))
    need_w = start_increase_w(s, h, np.inf)
    at_s, turn = earliest_both(steps, m, watt_steps, m_w, float(s.nodes[h]), need_w, estimated_wall_s(s, h))
    if at_s == np.inf:
        return np.inf, 0.0, 0.0
    return at_s, turn, steps[COLUMNS * step_at(steps, m, at_s, turn) + FREE] - s.nodes[h]


@kernel
def is_gone(s: State, j: int, head_s: float, head_turn: float, strict: bool) -> bool:  # kernels take no keywords
    """Tell whether a job that starts now is gone when the head of its class starts, or (strict) before that."""
    left = estimated_left(s, j)
    window = (head_s - s.now[0]) * s.c_rate[s.base_class[j]]
    if not strict:
        return left <= window
    _, end_turn = end_of(0.0, 0.0, left)
    return left < window or (left == window and end_turn < head_turn)


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
def book_heads(s: State, head: Any, shadow: Any, turn: Any, extra: Any, steps: Any, watt_steps: Any, m0: int) -> int:
    """Book the reservations that were made before, the earliest first: none moves back for another; return the
    steps.
    """
    m_w = m0
    for _ in range(s.free.shape[0]):
        p = -1
        for c in range(s.free.shape[0]):
            if head[c] > 0.0 and (p < 0 or sooner(shadow[c], turn[c], shadow[p], turn[p])):
                p = c
        if p < 0:
            break
        j = int(head[p]) - 1
        shadow[p], turn[p], extra[p] = reserve(s, j, 0, steps, watt_steps, m_w)
        m_w = book(s, j, shadow[p], turn[p], watt_steps, m_w)
        head[p] = -head[p]
    for p in range(s.free.shape[0]):
        head[p] = abs(head[p])
    return m_w


@outlined
def book(s: State, j: int, at_s: float, turn: float, watt_steps: Any, m_w: int) -> int:
    """Take a job's watts from a time on and note the promise; return the number of steps."""
    if at_s == np.inf:
        return m_w
    s.reserved_s[j] = min(s.reserved_s[j], at_s)
    return add(watt_steps, m_w, at_s, turn, estimated_wall_s(s, j), -start_increase_w(s, j, np.inf))


@outlined
def backfill_shared(s: State, depth: float, strict: bool, memory: Any) -> int:  # kernels take no keywords
    """Propose starts on all node classes, in the order of the line; return the number of proposals."""
    classes = s.free.shape[0]
    free, head, shadow = memory[:classes], memory[classes : 2 * classes], memory[2 * classes : 3 * classes]
    turn, extra = memory[3 * classes : 4 * classes], memory[4 * classes : 5 * classes]
    looked, met = memory[5 * classes : 6 * classes], memory[6 * classes : 7 * classes]
    lost = memory[7 * classes : ROWS * classes]
    rest = memory[ROWS * classes :]
    node_rows = 2 * s.running.shape[0] + SLACK
    steps = rest[: COLUMNS * node_rows]
    watt_steps = rest[COLUMNS * node_rows :]
    left = 0
    for p in range(classes):
        free[p], looked[p], met[p] = s.free[p], 0.0, 0.0
        left += s.free[p]
    m_w = watts_ahead(s, 1.0, watt_steps)
    forget_passed(s, head, lost)
    m_w = book_heads(s, head, shadow, turn, extra, steps, watt_steps, m_w)
    now, watts = s.now[0], headroom_w(s)
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
        wall_s = estimated_wall_s(s, j)
        need_w = start_increase_w(s, j, np.inf)
        booked = head[p] == j + 1
        may = (
            s.nodes[j] <= free[p] and need_w <= watts
        )  # one that lowers the power has not begun as long as it is planned
        if booked:
            may = may and shadow[p] == now and turn[p] == 0.0
        else:
            may = may and is_free(watt_steps, m_w, now, 0.0, need_w, wall_s)
        if met[p] != 0.0:
            looked[p] += 1.0
            gone = is_gone(s, j, shadow[p], turn[p], strict)
            may = may and (depth == 0.0 or looked[p] <= depth) and (gone or (not strict and s.nodes[j] <= extra[p]))
            if may and not gone:
                extra[p] -= s.nodes[j]
        elif not may:
            met[p] = 1.0
            unmet -= 1
            if not booked:
                head[p], lost[p] = j + 1, losses(s, j)
                shadow[p], turn[p], extra[p] = reserve(s, j, n, steps, watt_steps, m_w)
                m_w = book(s, j, shadow[p], turn[p], watt_steps, m_w)
        if may:
            if not booked:
                m_w = add(watt_steps, m_w, now, 0.0, wall_s, -need_w)
            asleep = min(s.nodes[j], s.asleep[p])
            if asleep > 0:  # nodes that it wakes idle once it has ended
                end_s, end_turn = end_of(now, 0.0, wall_s)
                m_w = add_from(watt_steps, m_w, end_s, end_turn, -asleep * (s.idle_w[p] - s.sleep_w[p]))
            free[p] -= s.nodes[j]
            left -= s.nodes[j]
            watts -= need_w
            n = propose(s, n, j, BACKFILL if met[p] != 0.0 else IN_ORDER)
    return n
