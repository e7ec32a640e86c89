"""Window scheduling: of the first jobs in the queue, start those that fill the most nodes under the power limit."""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.kernel.compiled import kernel, outlined
from wattline.model.codes import DEADLOCK, WINDOW
from wattline.model.mechanism import Memory, Param, mechanism
from wattline.model.state.record import State
from wattline.model.state.switches import OPT_EXCEED
from wattline.model.structures.many_running import listed
from wattline.physics.power import exceeds_alone, start_increase_w
from wattline.policies.select.easy import fits, reservation
from wattline.policies.select.knapsack import choose, gcd
from wattline.policies.select.proposals import headroom_left_w, outlasts, propose

MOST = 1000
"""Jobs of the largest window."""

W_WINDOW, W_PATIENCE, W_WIDEN, W_PLUGGED = range(4)
M_JOB, M_WIDTH, M_WATTS, M_TAKEN, M_TABLE = (i * MOST for i in range(5))


@outlined
def look(
    s: State, p: int, first: int, most: int, free: int, watts: float, before_s: float, but: int, memory: Any
) -> tuple[int, int]:
    """Gather the jobs of a window that fit by themselves, from a slot on; return how many, and the slot behind the
    window.

    Those that would outlast a span of time are left out, and so is the job ``but``, which starts anyway.
    """
    n = 0
    seen = 0
    i = first
    while i < s.q_tail[0] and seen < most:
        j = s.queue[i]
        i += 1
        if j < 0 or j == but or s.pool[j] != p:
            continue
        seen += 1
        if fits(s, j, free, watts) and not outlasts(s, j, before_s):
            memory[M_JOB + n] = j
            memory[M_WIDTH + n] = s.nodes[j]
            memory[M_WATTS + n] = 0.0 if watts == np.inf else max(0.0, start_increase_w(s, j, np.inf))
            n += 1
    return n, i


@outlined
def pick(n: int, free: int, watts: float, memory: Any) -> None:
    """Mark which of n gathered jobs to start: all if they fit together, otherwise the best choice."""
    if n == 0:
        return
    nodes = 0.0
    power_w = 0.0
    for i in range(n):
        nodes += memory[M_WIDTH + i]
        power_w += memory[M_WATTS + i]
    if nodes <= free and power_w <= watts:
        for i in range(n):
            memory[M_TAKEN + i] = 1.0
        return
    unit = 0
    for i in range(n):
        unit = gcd(unit, int(memory[M_WIDTH + i]))
    for i in range(n):
        memory[M_WIDTH + i] /= unit
    choose(
        memory[M_WIDTH:],
        memory[M_WATTS:],
        n,
        int(min(float(free), nodes)) // unit,
        watts,
        memory[M_TABLE:],
        memory[M_TAKEN:],
    )


@outlined
def overdue(s: State, p: int, patience_s: float) -> int:
    """Return the job that has waited longest, if longer than one has to be patient for (-1: none).

    Of one node class those that never fit are left out, for there is nothing to be kept free for them. Of all classes
    (``p`` = -1) they are not.
    """
    oldest = -1
    for i in range(s.q_head[0], s.q_tail[0]):
        j = s.queue[i]
        if j < 0 or (p >= 0 and s.pool[j] != p) or s.now[0] - s.eligible_s[j] < patience_s:
            continue
        older = oldest < 0 or s.eligible_s[j] < s.eligible_s[oldest]
        if older and (p < 0 or not exceeds_alone(s, j)):
            oldest = j
    return oldest


@outlined
def plugged(s: State, most: int) -> int:
    """Return the first job of a full window all of whose jobs would exceed the limit alone (-1: there is no such)."""
    first = -1
    seen = 0
    i = s.q_head[0]
    while i < s.q_tail[0] and seen < most:
        j = s.queue[i]
        i += 1
        if j < 0:
            continue
        if not exceeds_alone(s, j):
            return -1
        seen += 1
        if first < 0:
            first = j
    return first if seen == most else -1


@kernel
def window_class(s: State, p: int, n0: int, drained_s: float, param: Any, memory: Any) -> int:
    """Propose starts of jobs that end within a span on one node class; return the number of proposals so far."""
    n = n0
    free = s.free[p]
    watts = headroom_left_w(s, n0)
    before_s = drained_s
    served = -1
    if param[W_PATIENCE] < np.inf:
        due = overdue(s, p, param[W_PATIENCE])
        if due >= 0 and fits(s, due, free, watts) and not outlasts(s, due, drained_s):
            free -= s.nodes[due]
            if watts < np.inf:
                watts -= start_increase_w(s, due, np.inf)
            n = propose(s, n, due, WINDOW)
            served = due
        elif due >= 0:  # skip jobs that would outlast the reservation of the job that is due
            shadow_s, _, _ = reservation(s, due, p, n, free, watts, memory[M_TABLE:])
            before_s = min(before_s, shadow_s - s.now[0]) if shadow_s < np.inf else 0.0
            s.reserved_s[due] = min(s.reserved_s[due], shadow_s)
    at = s.q_head[0]
    while free > 0 and at < s.q_tail[0]:
        found, at = look(s, p, at, int(param[W_WINDOW]), free, watts, before_s, served, memory)
        pick(found, free, watts, memory)
        started = 0
        for i in range(found):
            j = int(memory[M_JOB + i])
            if memory[M_TAKEN + i] == 1.0:
                n = propose(s, n, j, WINDOW)
                started += 1
        if started > 0 or n > 0 or s.n_running[0] > 0 or param[W_WIDEN] == 0.0:
            break  # a wider window is for a machine that would stand still
    return n


@kernel
def window_shared(s: State, drained_s: float, param: Any, memory: Any) -> int:
    """Propose starts on node classes that share a limit, in the order of their first jobs in the line."""
    classes = s.free.shape[0]
    seen = memory[memory.shape[0] - classes :]  # behind all that a class needs
    seen[:] = 0.0
    left = classes
    n = 0
    i = s.q_head[0]
    while i < s.q_tail[0] and left > 0:
        j = s.queue[i]
        i += 1
        if j < 0 or seen[s.pool[j]] != 0.0:
            continue
        seen[s.pool[j]] = 1.0
        left -= 1
        if s.free[s.pool[j]] > 0:
            n = window_class(s, s.pool[j], n, drained_s, param, memory)
    return n


@mechanism(
    "select",
    "window",
    memory=Memory(fixed=M_TABLE + 64, per_running=2, per_class=1, table="window"),
    sorted_running=True,
    params={
        "window": Param(20.0, "jobs at the head of the queue that are chosen from", 1, MOST, whole=True),
        "patience": Param(
            np.inf, "wait in seconds after which nobody may delay a job any further (inf: others always may)", 0
        ),
        "widen": Param(0.0, "1: look behind the window when nothing runs and nothing in it fits", 0, 1, whole=True),
        "plugged": Param(
            0.0,
            "1: where jobs may exceed the limit, the first of a full window in which each would alone starts beside "
            "those that run",
            0,
            1,
            whole=True,
        ),
    },
    source="knapsack §VI, solved exactly (decision 16)",
)
def window(s: State, mask: int, param: Any, memory: Any) -> int:
    """Window scheduling: of the first jobs, start those that fill the most nodes under the limits of nodes and watts.

    Of node classes that share a power limit, the one whose job stands first in the line takes its watts first.
    """
    drained_s = np.inf
    if param[W_PLUGGED] == 1.0 and s.option[OPT_EXCEED] == 1:
        stuck = plugged(s, int(param[W_WINDOW]))
        if stuck >= 0:
            return propose(s, 0, stuck, DEADLOCK) if s.nodes[stuck] <= s.free[s.pool[stuck]] else 0
    if param[W_PATIENCE] < np.inf and s.option[OPT_EXCEED] == 1:
        due = overdue(s, -1, param[W_PATIENCE])
        if due >= 0 and exceeds_alone(s, due) and s.nodes[due] <= s.free[s.pool[due]] + s.busy[s.pool[due]]:
            if s.n_running[0] == 0:
                return propose(s, 0, due, DEADLOCK)
            # it may run above the limit, alone: skip jobs that would outlast all that run now
            drained_s = max(0.0, s.run_end_s[listed(s) - 1] - s.now[0])
    if s.free.shape[0] > 1 and s.limit_w[0] < np.inf:
        return window_shared(s, drained_s, param, memory)
    n = 0
    for p in range(s.free.shape[0]):
        if s.free[p] > 0:
            n = window_class(s, p, n, drained_s, param, memory)
    return n
