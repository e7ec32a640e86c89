"""RMAP: moldable jobs under a power limit, each with its fair share; node backfilling, and backfilling with power
left over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.kernel.compiled import kernel, outlined
from wattline.model.codes import BACKFILL, IN_ORDER
from wattline.model.mechanism import Memory, Param, mechanism
from wattline.model.state.record import State
from wattline.model.state.switches import N_PASSES
from wattline.model.structures.many_running import ready
from wattline.model.structures.nodes import count_back
from wattline.physics.power import end_decrease_w, headroom_w, shape_increase_w, start_increase_w
from wattline.policies.select.proposals import estimated_wall_s
from wattline.policies.select.shapes import allowed_s, asked_row, best_row, fair_w, share_row

TRADITIONAL, NAIVE, ADAPTIVE, POWER_ONLY, SURPLUS = range(5)
"""Which configuration a job gets. Adaptive is read in two ways: it adapts to free nodes and watts, or to watts alone.

Surplus (``surplus.py``) waits for the same configuration as Naive, and for what that draws.
"""

WANTED, PASSED, COLUMNS = range(3)
"""memory: for each job the configuration it waits for (0: not looked up, 1: as it is), and the pass in which it was
passed over; then the limit for which that holds.
"""

WAIT = -2
"""No configuration that may start now; -1 stands for a rigid job as it is."""


@kernel
def width(s: State, j: int, row: int) -> int:
    """Return the nodes of a job in a configuration."""
    return s.sh_nodes[row] if row >= 0 else s.nodes[j]


@kernel
def increase_w(s: State, j: int, row: int) -> float:
    """Return what a start in a configuration adds to the power, as told."""
    return shape_increase_w(s, j, row) if row >= 0 else start_increase_w(s, j, np.inf)


@kernel
def lasts_s(s: State, j: int, row: int) -> float:
    """Return how long a job takes in a configuration, as told."""
    return s.sh_told_s[row] if row >= 0 else estimated_wall_s(s, j)


@kernel
def mode_of(s: State, j: int, mode: int, small: float) -> int:
    """Return how a job is treated: one that asks for at most a part ``small`` of the nodes as Traditional would."""
    return TRADITIONAL if s.asked_nodes[j] <= small * s.pool_count[s.pool[j]] else mode


@kernel
def wanted(s: State, j: int, mode: int, memory: Any) -> int:
    """Return the configuration that a job waits for; it is looked up once for each power limit."""
    if s.app[j] < 0:
        return -1
    at = WANTED * s.app.shape[0] + j
    if memory[at] == 0.0:
        memory[at] = 1.0 + (asked_row(s, j) if mode == TRADITIONAL else share_row(s, j))
    return int(memory[at]) - 1


@kernel
def needed_w(s: State, j: int, mode: int, want: int) -> float:
    """Return the power above idle that a job waits for: Naive and Adaptive ask for its whole share, whatever it
    will draw.

    A share pays for the nodes of the job while they idle too, and is never more than an idle machine has to give.
    """
    if s.app[j] < 0 or mode in (TRADITIONAL, SURPLUS):
        return increase_w(s, j, want)
    if s.limit_w[0] == np.inf:
        return 0.0
    p = s.pool[j]
    share_w = fair_w(s, j) - width(s, j, want) * s.idle_w[p]
    return max(increase_w(s, j, want), min(share_w, s.limit_w[0] - s.pool_count[p] * s.idle_w[p]))


@outlined
def startable(s: State, j: int, mode: int, threshold: float, free: int, watts: float, memory: Any) -> int:
    """Return the configuration in which a job starts now, given free nodes and watts, or WAIT."""
    want = wanted(s, j, mode, memory)
    fits = width(s, j, want) <= free and needed_w(s, j, mode, want) <= watts
    if s.app[j] < 0 or mode <= NAIVE:
        return want if fits else WAIT
    if fits or s.sh_told_w[s.app_least[s.app[j]]] > watts:
        return want if fits else WAIT
    if mode == POWER_ONLY and needed_w(s, j, mode, want) <= watts:  # then it waits for nodes, as with Naive
        return WAIT
    row = best_row(s, s.app[j], watts, free)
    return row if row >= 0 and s.sh_told_s[row] <= allowed_s(s, j, threshold) else WAIT


@kernel
def put(s: State, n: int, j: int, row: int, why: int) -> int:
    """Write proposal n: start job j in a configuration; return n + 1."""
    s.p_job[n] = j
    s.p_nodes[n] = width(s, j, row)
    s.p_cap_w[n] = np.inf
    s.p_shape[n] = row
    s.p_why[n] = why
    return n + 1


@outlined
def reserve(s: State, need: int, need_w: float, n: int, free: int, watts: float) -> tuple[float, int, float]:
    """Return when nodes and watts suffice by estimates, and what is left over then (inf: never).

    As EASY has it, all who are gone by that very time count, not only those that suffice.
    """
    t = s.now[0]
    done_running = 0
    while True:
        # the next estimated end among running jobs, which are sorted, and this pass's proposals
        t_run = np.inf
        if done_running < ready(s, done_running):
            t_run = s.estimated_end_s[s.running[done_running]]
        t_own = np.inf
        own = -1
        for i in range(n):
            if s.p_why[i] >= 0:
                end_s = s.now[0] + lasts_s(s, s.p_job[i], s.p_shape[i])
                if end_s < t_own:
                    t_own, own = end_s, i
        if t_run == np.inf and own < 0:
            break
        if free >= need and watts >= need_w and min(t_run, t_own) > t:
            break
        if t_own < t_run:
            free += s.p_nodes[own]
            watts += increase_w(s, s.p_job[own], s.p_shape[own])
            s.p_why[own] = -1 - s.p_why[own]  # counted; the sign is put right below
            t = max(t, t_own)
        else:
            j = s.running[done_running]
            free += count_back(s, j)
            watts += end_decrease_w(s, j)
            t = max(t, t_run)
            done_running += 1
    for i in range(n):
        if s.p_why[i] < 0:
            s.p_why[i] = -1 - s.p_why[i]
    if free < need or watts < need_w:
        return np.inf, 0, 0.0
    return t, free - need, watts - need_w


@outlined
def forget_wanted(s: State, memory: Any) -> None:
    """Forget what jobs wait for when the limit has changed."""
    jobs = s.app.shape[0]
    if memory[COLUMNS * jobs] != s.limit_w[0]:
        memory[COLUMNS * jobs] = s.limit_w[0]
        for j in range(jobs):
            memory[WANTED * jobs + j] = 0.0


@outlined
def plan(s: State, mode: int, threshold: float, best_fit: float, small: float, memory: Any) -> int:
    """Propose starts: in order as far as it goes, then whoever does not delay the first that has to wait."""
    forget_wanted(s, memory)
    free = s.free[0]
    watts = headroom_w(s)
    n = 0
    i = s.q_head[0]
    head = -1
    while i < s.q_tail[0]:
        j = s.queue[i]
        if j >= 0:
            row = startable(s, j, mode_of(s, j, mode, small), threshold, free, watts, memory)
            if row == WAIT:
                head = j
                break
            free -= width(s, j, row)
            watts -= increase_w(s, j, row)
            n = put(s, n, j, row, IN_ORDER)
        i += 1
    if head < 0 or free == 0:
        return n
    treated = mode_of(s, head, mode, small)
    want = wanted(s, head, treated, memory)
    shadow_s, extra, extra_w = reserve(s, width(s, head, want), needed_w(s, head, treated, want), n, free, watts)
    s.reserved_s[head] = min(s.reserved_s[head], shadow_s)
    this_pass = float(s.counter[N_PASSES])
    passed = memory[PASSED * s.app.shape[0] : COLUMNS * s.app.shape[0]]
    first = i + 1
    while free > 0:
        chosen = -1
        chosen_row = WAIT
        chosen_at = first
        for k in range(first, s.q_tail[0]):
            j = s.queue[k]
            # what is left only shrinks: who had to wait in this pass is not asked again
            if j < 0 or passed[j] == this_pass:
                continue
            row = startable(s, j, mode_of(s, j, mode, small), threshold, free, watts, memory)
            late = row != WAIT and lasts_s(s, j, row) > shadow_s - s.now[0]
            if row == WAIT or (late and (width(s, j, row) > extra or increase_w(s, j, row) > extra_w)):
                passed[j] = this_pass
                continue
            if chosen < 0 or increase_w(s, j, row) > increase_w(s, chosen, chosen_row):
                chosen, chosen_row, chosen_at = j, row, k
            if best_fit == 0.0:
                break
        if chosen < 0:
            break
        if lasts_s(s, chosen, chosen_row) > shadow_s - s.now[0]:
            extra -= width(s, chosen, chosen_row)
            extra_w -= increase_w(s, chosen, chosen_row)
        free -= width(s, chosen, chosen_row)
        watts -= increase_w(s, chosen, chosen_row)
        n = put(s, n, chosen, chosen_row, BACKFILL)
        passed[chosen] = this_pass
        if best_fit == 0.0:
            first = chosen_at + 1
    return n


SLOWER = Param(
    0.0, "part by which a job may take longer than was asked for, when it starts with power that is left over", 0.0
)
BEST_FIT = Param(0.0, "1: of those that may pass, first who adds most power; 0: the first", 0, 1, whole=True)


SMALL = Param(
    0.0, "jobs that ask for at most this part of the nodes start as Traditional would (the source's pSmall)", 0, 1
)
ALONE = Param(
    0.0,
    "1: who has the power of its share waits for nodes (Algorithm 1 by its letter); 0: it takes those that are free "
    "(§5.1)",
    0,
    1,
    whole=True,
)
MEMORY = Memory(fixed=1, per_job=COLUMNS)


@mechanism(
    "select",
    "rmap-traditional",
    sorted_running=True,
    one_class=True,
    shapes=True,
    params={"best_fit": BEST_FIT},
    memory=MEMORY,
    source="T. Patki's thesis, §5.2.1",
)
def traditional(s: State, mask: int, param: Any, memory: Any) -> int:
    """RMAP Traditional: the nodes asked for, all cores, no cap; fewer nodes where the limit allows no more."""
    return plan(s, TRADITIONAL, 0.0, param[0], 0.0, memory)


@mechanism(
    "select",
    "rmap-naive",
    sorted_running=True,
    one_class=True,
    shapes=True,
    params={"best_fit": BEST_FIT},
    memory=MEMORY,
    source="T. Patki's thesis, §5.2.2",
)
def naive(s: State, mask: int, param: Any, memory: Any) -> int:
    """RMAP Naive: the fastest configuration under a job's fair share of the power."""
    return plan(s, NAIVE, 0.0, param[0], 0.0, memory)


@mechanism(
    "select",
    "rmap-adaptive",
    sorted_running=True,
    one_class=True,
    shapes=True,
    params={"slower": SLOWER, "best_fit": BEST_FIT, "small": SMALL, "power_only": ALONE},
    memory=MEMORY,
    source="T. Patki's thesis, §5.1, 5.2.3",
)
def adaptive(s: State, mask: int, param: Any, memory: Any) -> int:
    """RMAP Adaptive: as Naive, or at once with the nodes and the power that are left if that is fast enough."""
    return plan(s, POWER_ONLY if param[3] == 1.0 else ADAPTIVE, param[0], param[1], param[2], memory)
