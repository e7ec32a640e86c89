"""Window scheduling: of the first jobs in the queue, start those that fill the most nodes under the power limit."""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.model.codes import WINDOW
from wattline.model.compiled import kernel, outlined
from wattline.model.mechanism import Memory, Param, mechanism
from wattline.model.state import State
from wattline.physics.power import start_increase_w
from wattline.policy.select.easy import fits, reservation
from wattline.policy.select.knapsack import choose, gcd
from wattline.policy.select.proposals import headroom_left_w, outlasts, propose

MOST = 1000
"""Jobs of the largest window."""

W_WINDOW, W_PATIENCE, W_WIDEN = range(3)
M_JOB, M_WIDTH, M_WATTS, M_TAKEN, M_TABLE = (i * MOST for i in range(5))


@outlined
def look(
    s: State, p: int, first: int, most: int, free: int, watts: float, before_s: float, but: int, memory: Any
) -> tuple[int, int]:
    """Gather the jobs of a window that fit by themselves, from a slot on; return how many, and the slot behind the window.

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
        memory[M_WIDTH:], memory[M_WATTS:], n, int(min(float(free), nodes)) // unit, watts, memory[M_TABLE:],
        memory[M_TAKEN:],
    )  # fmt: skip


@outlined
def overdue(s: State, p: int, patience_s: float) -> int:
    """Return the job of a node class that has waited longest, if longer than one has to be patient for (-1: none)."""
    oldest = -1
    for i in range(s.q_head[0], s.q_tail[0]):
        j = s.queue[i]
        if j < 0 or s.pool[j] != p or s.now[0] - s.eligible_s[j] < patience_s:
            continue
        if oldest < 0 or s.eligible_s[j] < s.eligible_s[oldest]:
            oldest = j
    return oldest


@kernel
def window_class(s: State, p: int, n0: int, param: Any, memory: Any) -> int:
    """Propose starts on one node class; return the number of proposals so far."""
    n = n0
    free = s.free[p]
    watts = headroom_left_w(s, n0)
    before_s = np.inf
    served = -1
    if param[W_PATIENCE] < np.inf:
        due = overdue(s, p, param[W_PATIENCE])
        if due >= 0 and fits(s, due, free, watts):
            free -= s.nodes[due]
            if watts < np.inf:
                watts -= start_increase_w(s, due, np.inf)
            n = propose(s, n, due, WINDOW)
            served = due
        elif due >= 0:  # nobody starts who would still run when it can
            shadow_s, _, _ = reservation(s, due, p, n, free, watts, memory[M_TABLE:])
            before_s = shadow_s - s.now[0] if shadow_s < np.inf else 0.0
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


@mechanism(
    "select", "window", memory=Memory(fixed=M_TABLE + 64, per_running=2, table="window"), sorted_running=True,
    params={
        "window": Param(20.0, "jobs at the head of the queue that are chosen from", 1, MOST),
        "patience": Param(np.inf, "wait in seconds after which nobody may delay a job any further (inf: others always may)", 0),
        "widen": Param(0.0, "1: look behind the window when nothing runs and nothing in it fits", 0, 1),
    },
    source="knapsack §VI, solved exactly (decision 16)",
)  # fmt: skip
def window(s: State, mask: int, param: Any, memory: Any) -> int:
    """Window scheduling: of the first jobs, start those that fill the most nodes under the limits of nodes and watts."""
    n = 0
    for p in range(s.free.shape[0]):
        if s.free[p] > 0:
            n = window_class(s, p, n, param, memory)
    return n
