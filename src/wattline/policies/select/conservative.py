"""Conservative backfilling: every waiting job has a reservation, and nobody is moved behind the one it was promised.

A newcomer takes the first hole of the plan and moves nobody; so does a job that lost its nodes and waits again. When
something changed (a job ended, a node came back), jobs are taken in the order of the line, one at a time, and each may
move forward, or find a place where there was none for it. With estimates that are never too short a promise is never
broken. Where an estimate was too short, nodes left or the power limit fell, the plan is repaired in its own order.
Under a limit, which is taken to stay as it is, a reservation holds watts as well as nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.kernel.compiled import kernel, outlined
from wattline.model.codes import END, ENVELOPE, NODE, RESERVATION, WAITING
from wattline.model.mechanism import Memory, Param, mechanism
from wattline.model.state.record import State
from wattline.model.structures.many_running import listed
from wattline.model.structures.queue import before
from wattline.physics.power import start_increase_w
from wattline.policies.select.ahead import free_ahead, watts_ahead
from wattline.policies.select.easy import fits
from wattline.policies.select.profile import COLUMNS, add, earliest, earliest_both, is_free, sooner
from wattline.policies.select.proposals import estimated_wall_s, headroom_left_w, propose

JOB_COLUMNS = 3
"""start, turn, planned: when a job begins by the plan (see ``profile``), and whether it is in it (see ``mark``)"""
NODE_STEPS, WATT_STEPS = 2, 4
"""Steps that a reservation may add to a profile: where it begins and ends; watts do not add up to what was taken
away, so that the steps of one that moved may stay
"""
SLACK = 6
"""Steps of a profile beyond those of the jobs: its first one, and two cuts before they are joined again"""


@outlined
def lay_out(s: State, steps: Any, base: Any, size: Any) -> None:
    """Give each node class room for its profile and write the nodes that running jobs leave free."""
    classes = s.free.shape[0]
    for p in range(classes):
        base[p] = 0.0
    for i in range(listed(s)):
        base[s.pool[s.running[i]]] += 1.0
    i = s.q_head[0] if classes > 1 else s.q_tail[0]  # one class has all the room there is
    while i < s.q_tail[0]:
        if s.queue[i] >= 0:
            base[s.pool[s.queue[i]]] += NODE_STEPS
        i += 1
    first = 0
    for p in range(classes):
        room = SLACK + int(base[p])
        base[p] = first
        size[p] = free_ahead(s, p, 0.0, steps[COLUMNS * first :])
        first += room


@kernel
def hole(s: State, j: int, steps: Any, watt_steps: Any, base: Any, size: Any) -> tuple[float, float]:
    """Return the first time from which a job's nodes, and its watts under a limit, are free for as long as it runs."""
    p = s.pool[j]
    own = steps[COLUMNS * int(base[p]) :]
    m = int(size[p])
    width = float(s.nodes[j])
    wall_s = estimated_wall_s(s, j)
    if s.limit_w[0] == np.inf:
        return earliest(own, m, s.now[0], 0.0, width, wall_s)
    need_w = start_increase_w(s, j, np.inf)
    return earliest_both(own, m, watt_steps, int(size[s.free.shape[0]]), width, need_w, wall_s)


@kernel
def holds(s: State, j: int, at_s: float, turn: float, steps: Any, watt_steps: Any, base: Any, size: Any) -> bool:
    """Tell whether a job may begin at a time and run as long as it is estimated to."""
    p = s.pool[j]
    wall_s = estimated_wall_s(s, j)
    if not is_free(steps[COLUMNS * int(base[p]) :], int(size[p]), at_s, turn, float(s.nodes[j]), wall_s):
        return False
    if s.limit_w[0] == np.inf:
        return True
    return is_free(watt_steps, int(size[s.free.shape[0]]), at_s, turn, start_increase_w(s, j, np.inf), wall_s)


@kernel
def book(
    s: State, j: int, at_s: float, turn: float, sign: float, steps: Any, watt_steps: Any, base: Any, size: Any
) -> None:
    """Take (-1) or give back (1) what a job needs that begins at a time (inf: nothing)."""
    if at_s == np.inf:
        return
    p = s.pool[j]
    wall_s = estimated_wall_s(s, j)
    size[p] = add(steps[COLUMNS * int(base[p]) :], int(size[p]), at_s, turn, wall_s, sign * s.nodes[j])
    if s.limit_w[0] < np.inf:
        k = s.free.shape[0]
        size[k] = add(watt_steps, int(size[k]), at_s, turn, wall_s, sign * start_increase_w(s, j, np.inf))


@kernel
def mark(s: State, j: int) -> float:
    """Return what tells that a job is in the plan: one more than the times it lost its nodes (0: it is not)."""
    return 1.0 + s.preemptions[j] + s.restarts[j]


@outlined
def forget_started(s: State, plan: Any, n: int, planned: Any) -> int:
    """Drop the jobs that have started from the plan; return how many are left.

    One that lost its nodes since waits again, as a newcomer. One that is not planned has come into a row whose last
    job was.
    """
    kept = 0
    for i in range(n):
        j = int(plan[i])
        if s.status[j] == WAITING and planned[j] == mark(s, j):
            plan[kept] = j
            kept += 1
        else:
            planned[j] = 0.0
    return kept


@outlined
def keep_promises(
    s: State, changed: bool, plan: Any, n: int, start: Any, turn: Any, steps: Any, watt_steps: Any, base: Any, size: Any
) -> None:
    """Enter the plan's reservations where they are; one that no longer fits gets the first hole.

    Jobs without one (nothing could hold them) look for it here, in the order of the line; where something changed,
    ``move_forward`` gives them their turn among the others.
    """
    for i in range(n):
        j = int(plan[i])
        if start[j] < s.now[0]:
            start[j], turn[j] = s.now[0], 0.0
        if start[j] == np.inf and changed:
            break  # they stand last
        if start[j] == np.inf or not holds(s, j, start[j], turn[j], steps, watt_steps, base, size):
            start[j], turn[j] = hole(s, j, steps, watt_steps, base, size)
        book(s, j, start[j], turn[j], -1.0, steps, watt_steps, base, size)


@outlined
def move_forward(
    s: State, planned: Any, start: Any, turn: Any, steps: Any, watt_steps: Any, base: Any, size: Any
) -> None:
    """Let each planned job, in the order of the line, take the first hole that its own leaving makes or leaves."""
    for i in range(s.q_head[0], s.q_tail[0]):
        j = s.queue[i]
        if j < 0 or planned[j] == 0.0 or (start[j] == s.now[0] and turn[j] == 0.0):
            continue
        book(s, j, start[j], turn[j], 1.0, steps, watt_steps, base, size)
        at_s, at_turn = hole(s, j, steps, watt_steps, base, size)
        if sooner(at_s, at_turn, start[j], turn[j]):
            start[j], turn[j] = at_s, at_turn
        book(s, j, start[j], turn[j], -1.0, steps, watt_steps, base, size)


@outlined
def promise_newcomers(
    s: State,
    depth: float,
    plan: Any,
    n0: int,
    planned: Any,
    start: Any,
    turn: Any,
    steps: Any,
    watt_steps: Any,
    base: Any,
    size: Any,
    count: Any,
) -> int:
    """Give the first hole to each waiting job without a reservation, in order; return the size of the plan.

    ``depth`` counts for each node class: they are lines of their own.
    """
    n = n0
    classes = s.free.shape[0]
    for p in range(classes):
        count[p] = 0.0
    for i in range(n0):
        count[s.pool[int(plan[i])]] += 1.0
    full = 0
    for p in range(classes):
        full += depth > 0.0 and count[p] >= depth
    i = s.q_head[0]
    while i < s.q_tail[0] and full < classes:
        j = s.queue[i]
        i += 1
        if j < 0 or planned[j] != 0.0 or (depth > 0.0 and count[s.pool[j]] >= depth):
            continue
        start[j], turn[j] = hole(s, j, steps, watt_steps, base, size)
        book(s, j, start[j], turn[j], -1.0, steps, watt_steps, base, size)
        planned[j] = mark(s, j)
        plan[n] = j
        n += 1
        count[s.pool[j]] += 1.0
        full += depth > 0.0 and count[s.pool[j]] >= depth
    return n


@outlined
def sort_plan(s: State, plan: Any, n: int, start: Any, turn: Any) -> None:
    """Sort the plan by reserved start, then by the order of the line (it is nearly sorted), and note the promises."""
    for i in range(n):
        j = int(plan[i])
        s.reserved_s[j] = min(s.reserved_s[j], start[j])
        at = i
        while at > 0:
            other = int(plan[at - 1])
            if sooner(start[other], turn[other], start[j], turn[j]):
                break
            if start[other] == start[j] and turn[other] == turn[j] and before(s, other, j):
                break
            plan[at] = other
            at -= 1
        plan[at] = j


@kernel
def start_due(s: State, p: int, n0: int, plan: Any, planned: int, start: Any, turn: Any) -> int:
    """Propose the jobs of a node class whose reservation is now; return the number of proposals so far."""
    n = n0
    free = s.free[p]
    watts = headroom_left_w(s, n0)
    for i in range(planned):
        j = int(plan[i])
        if start[j] > s.now[0] or turn[j] > 0.0:
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
    params={
        "depth": Param(
            0.0, "jobs of a node class that get a reservation (0: all); those behind wait for one", low=0, whole=True
        )
    },
    memory=Memory(
        fixed=2 + 2 * COLUMNS * SLACK,
        per_job=JOB_COLUMNS,
        list_per_job=1 + COLUMNS * (NODE_STEPS + WATT_STEPS),
        per_running=2 * COLUMNS,
        per_class=3 + COLUMNS * SLACK,
    ),
    sorted_running=True,
    source="Feitelson & Weil 1998; Mu'alem & Feitelson 2001",
)
def conservative(s: State, mask: int, param: Any, memory: Any) -> int:
    """Conservative backfilling: a reservation for every waiting job by estimates; promises only ever move forward."""
    jobs = s.status.shape[0]
    classes = s.free.shape[0]
    start, turn, planned = memory[:jobs], memory[jobs : 2 * jobs], memory[2 * jobs : 3 * jobs]
    rest = memory[JOB_COLUMNS * jobs :]
    base = rest[1 : 1 + classes]
    count = rest[1 + classes : 1 + 2 * classes]
    size = rest[1 + 2 * classes : 2 + 3 * classes]
    plan = rest[2 + 3 * classes : 2 + 3 * classes + jobs]
    room = rest[2 + 3 * classes + jobs :]
    node_rows = NODE_STEPS * jobs + s.running.shape[0] + SLACK * classes
    steps = room[: COLUMNS * node_rows]
    watt_steps = room[COLUMNS * node_rows :]
    n = forget_started(s, plan, int(rest[0]), planned)
    lay_out(s, steps, base, size)
    if s.limit_w[0] < np.inf:
        size[classes] = watts_ahead(s, 0.0, watt_steps)
    changed = mask & (END | NODE | ENVELOPE) != 0
    keep_promises(s, changed, plan, n, start, turn, steps, watt_steps, base, size)
    if changed:
        move_forward(s, planned, start, turn, steps, watt_steps, base, size)
    n = promise_newcomers(s, param[0], plan, n, planned, start, turn, steps, watt_steps, base, size, count)
    sort_plan(s, plan, n, start, turn)
    rest[0] = float(n)
    proposals = 0
    for p in range(classes):
        proposals = start_due(s, p, proposals, plan, n, start, turn)
    return proposals
