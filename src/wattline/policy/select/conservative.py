"""Conservative backfilling: every waiting job has a reservation, and nobody is moved behind the one it was promised.

A newcomer takes the first hole of the plan and moves nobody. When something changed (a job ended early, a node came
back), jobs are taken in the order of the line, one at a time, and each may move forward. With estimates that are never
too short a promise is never broken. Where an estimate was too short, or nodes left, the plan is repaired in its own order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.model.codes import END, ENVELOPE, NODE, RESERVATION, WAITING
from wattline.model.compiled import kernel, outlined
from wattline.model.mechanism import Memory, Param, mechanism
from wattline.model.queue import before
from wattline.model.state import State
from wattline.physics.power import start_increase_w
from wattline.policy.select.easy import fits
from wattline.policy.select.profile import add, earliest, is_free
from wattline.policy.select.proposals import estimated_wall_s, headroom_left_w, propose

STEPS_PER_JOB, JOB_COLUMNS = 2, 3


@outlined
def free_ahead(s: State, p: int, t: Any, f: Any) -> int:
    """Write the nodes that running jobs leave free, by their estimates; return the number of steps.

    A job past its estimate is expected to end right after now: its nodes are not free yet.
    """
    soon_s = np.nextafter(s.now[0], np.inf)
    t[0] = s.now[0]
    f[0] = float(s.free[p])
    m = 1
    for i in range(s.n_running[0]):
        j = s.running[i]
        if s.pool[j] != p:
            continue
        end_s = max(s.estimated_end_s[j], soon_s)
        if end_s > t[m - 1]:
            t[m] = end_s
            f[m] = f[m - 1]
            m += 1
        f[m - 1] += s.nodes[j]
    return m


@outlined
def forget_started(s: State, plan: Any, n: int, planned: Any) -> int:
    """Drop the jobs that wait no more from the plan; return how many are left."""
    kept = 0
    for i in range(n):
        j = int(plan[i])
        if s.status[j] == WAITING:
            plan[kept] = j
            kept += 1
        else:
            planned[j] = 0.0
    return kept


@outlined
def keep_promises(s: State, p: int, plan: Any, n: int, start: Any, t: Any, f: Any, m0: int) -> int:
    """Enter the plan's reservations where they are; one that no longer fits gets the first hole."""
    m = m0
    for i in range(n):
        j = int(plan[i])
        if s.pool[j] != p:
            continue
        wall_s = estimated_wall_s(s, j)
        start[j] = max(start[j], s.now[0])
        if start[j] == np.inf or not is_free(t, f, m, start[j], s.nodes[j], wall_s):
            start[j] = earliest(t, f, m, s.nodes[j], wall_s)
        if start[j] < np.inf:
            m = add(t, f, m, start[j], start[j] + wall_s, -float(s.nodes[j]))
    return m


@outlined
def move_forward(s: State, p: int, planned: Any, start: Any, t: Any, f: Any, m0: int) -> int:
    """Let each reserved job, in the order of the line, take the first hole that its own leaving makes or leaves."""
    m = m0
    for i in range(s.q_head[0], s.q_tail[0]):
        j = s.queue[i]
        if j < 0 or s.pool[j] != p or planned[j] == 0.0 or start[j] == s.now[0] or start[j] == np.inf:
            continue
        wall_s = estimated_wall_s(s, j)
        m = add(t, f, m, start[j], start[j] + wall_s, float(s.nodes[j]))
        start[j] = min(start[j], earliest(t, f, m, s.nodes[j], wall_s))
        m = add(t, f, m, start[j], start[j] + wall_s, -float(s.nodes[j]))
    return m


@outlined
def promise_newcomers(
    s: State, p: int, depth: float, plan: Any, n0: int, planned: Any, start: Any, t: Any, f: Any, m0: int
) -> int:
    """Give the first hole to each waiting job without a reservation, in order; return the size of the plan."""
    n = n0
    m = m0
    for i in range(s.q_head[0], s.q_tail[0]):
        if depth > 0.0 and n >= depth:
            break
        j = s.queue[i]
        if j < 0 or s.pool[j] != p or planned[j] != 0.0:
            continue
        wall_s = estimated_wall_s(s, j)
        start[j] = earliest(t, f, m, s.nodes[j], wall_s)
        if start[j] < np.inf:
            m = add(t, f, m, start[j], start[j] + wall_s, -float(s.nodes[j]))
        planned[j] = 1.0
        plan[n] = j
        n += 1
    return n


@outlined
def sort_plan(s: State, plan: Any, n: int, start: Any) -> None:
    """Sort the plan by reserved start, then by the order of the line (it is nearly sorted), and note the promises."""
    for i in range(n):
        j = int(plan[i])
        s.reserved_s[j] = min(s.reserved_s[j], start[j])
        at = i
        while at > 0:
            other = int(plan[at - 1])
            if start[other] < start[j] or (start[other] == start[j] and before(s, other, j)):
                break
            plan[at] = other
            at -= 1
        plan[at] = j


@kernel
def start_due(s: State, p: int, n0: int, plan: Any, planned: int, start: Any) -> int:
    """Propose the jobs of a node class whose reservation is now; return the number of proposals so far."""
    n = n0
    free = s.free[p]
    watts = headroom_left_w(s, n0)
    for i in range(planned):
        j = int(plan[i])
        if start[j] > s.now[0]:
            break
        if s.pool[j] == p and fits(s, j, free, watts):
            free -= s.nodes[j]
            if watts < np.inf:
                watts -= start_increase_w(s, j, np.inf)
            n = propose(s, n, j, RESERVATION)
    return n


@mechanism(
    "select",
    "conservative",
    params={"depth": Param(0.0, "jobs that get a reservation (0: all); those behind wait for one", low=0)},
    memory=Memory(fixed=9, per_job=JOB_COLUMNS + 2 * STEPS_PER_JOB, per_running=2),
    sorted_running=True,
    source="Feitelson & Weil 1998; Mu'alem & Feitelson 2001",
)
def conservative(s: State, mask: int, param: Any, memory: Any) -> int:
    """Conservative backfilling: a reservation for every waiting job by estimates; promises only ever move forward."""
    jobs = s.status.shape[0]
    room = (memory.shape[0] - 1 - JOB_COLUMNS * jobs) // 2
    start = memory[1 : 1 + jobs]
    planned = memory[1 + jobs : 1 + 2 * jobs]
    plan = memory[1 + 2 * jobs : 1 + 3 * jobs]
    t = memory[1 + 3 * jobs : 1 + 3 * jobs + room]
    f = memory[1 + 3 * jobs + room :]
    n = forget_started(s, plan, int(memory[0]), planned)
    for p in range(s.free.shape[0]):
        m = free_ahead(s, p, t, f)
        m = keep_promises(s, p, plan, n, start, t, f, m)
        if mask & (END | NODE | ENVELOPE):
            m = move_forward(s, p, planned, start, t, f, m)
        n = promise_newcomers(s, p, param[0], plan, n, planned, start, t, f, m)
    sort_plan(s, plan, n, start)
    memory[0] = float(n)
    proposals = 0
    for p in range(s.free.shape[0]):
        proposals = start_due(s, p, proposals, plan, n, start)
    return proposals
