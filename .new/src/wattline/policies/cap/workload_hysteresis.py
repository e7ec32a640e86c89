"""Hysteretic switching by the work that is left in the system; falling to the lower threshold is an event of its
own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.kernel.compiled import kernel
from wattline.model.codes import ARRIVAL, CAP, END, EVERYTHING, NODE, RUNNING, TIMER
from wattline.model.mechanism import Memory, Param, mechanism
from wattline.model.state.record import State
from wattline.model.structures.many_running import listed
from wattline.physics.clocks import virtual_now
from wattline.policies.cap.levels import want_speed

_NONE, _PROVISIONAL, _FIRM = 0.0, 1.0, 2.0
_WORK_CHANGES = ARRIVAL | END | NODE
"""What may change the work left at once; other events only change how fast it falls, because they let jobs start."""


@kernel
def unfinished_work(s: State, weighted: bool) -> float:  # kernels take no keywords
    """Return the work left of all jobs in the system, waiting or in service, as it is weighted."""
    total = 0.0
    for i in range(s.q_head[0], s.q_tail[0]):
        j = s.queue[i]
        if j >= 0:
            total += s.nodes[j] * s.remaining[j] if weighted else s.remaining[j]
    for i in range(listed(s)):
        j = s.running[i]
        left = s.remaining[j]
        if s.status[j] == RUNNING:
            left = max(0.0, s.v_end[j] - virtual_now(s, s.rate_class[j]))
        total += s.nodes[j] * left if weighted else left
    return total


@kernel
def fall_at_high(s: State, weighted: bool) -> float:  # kernels take no keywords
    """Return how much work a second the jobs in service do once their nodes run at the highest level."""
    total = 0.0
    for i in range(listed(s)):
        j = s.running[i]
        p = s.pool[j]
        c = s.rate_class[j] if s.status[j] == RUNNING else s.base_class[j]
        # a cap of its own slows a job in proportion, whatever the level
        rate = s.c_rate[c] / s.level_rate[p, s.level[p]] * s.level_rate[p, s.n_levels[p] - 1]
        total += s.nodes[j] * rate if weighted else rate
    return total


@kernel
def waking_nodes(s: State) -> int:
    """Return how many nodes of jobs in service still leave their sleep."""
    total = 0
    for p in range(s.waking.shape[0]):
        total += s.waking[p]
    return total


@mechanism(
    "cap",
    "workload-hysteresis",
    levels=True,
    wake=EVERYTHING,
    memory=Memory(fixed=3),
    ordered=(("k_low", "k_high"),),
    params={
        "k_low": Param(None, "lowest speed when the work left in the system falls to this amount", low=0),
        "k_high": Param(None, "highest speed when it exceeds this amount (inf: never)", low=0),
        "node_weighted": Param(0.0, "1 counts the work of a job once for each of its nodes", 0, 1, whole=True),
        "as_printed": Param(
            0.0, "1 times the switch as the paper prints it, as if one job were served (an error)", 0, 1, whole=True
        ),
    },
    source="recursion model, §III-C, corrected",
)
def workload_hysteresis(s: State, mask: int, param: Any, memory: Any) -> int:
    """Lowest speed once the work left falls to k_low, highest when it exceeds k_high, unchanged in between.

    The fall to k_low happens between arrivals and departures: the policy sets its timer for it. At that very event the
    speed becomes the lowest even if rounding leaves the work a hair above k_low.
    """
    weighted = param[2] != 0.0
    work = unfinished_work(s, weighted)
    high = memory[0] != 0.0
    due = (mask & TIMER) != 0 and (mask & _WORK_CHANGES) == 0 and s.now[0] >= memory[2]
    if work <= param[0] or (due and memory[1] == _FIRM):
        high = False
    elif work > param[1]:
        high = True
    memory[0] = 1.0 if high else 0.0
    memory[1] = _NONE
    s.wake_at_s[CAP] = np.inf
    if high:
        speed = fall_at_high(s, weighted)
        if param[3] != 0.0 and speed > 0.0:
            speed = s.level_rate[0, s.n_levels[0] - 1]
        if speed > 0.0:
            due_s = max(s.now[0] + (work - param[0]) / speed, np.nextafter(s.now[0], np.inf))
            s.wake_at_s[CAP] = due_s
            # while nodes wake, work falls more slowly than this: then the timer only means *look again*
            memory[1] = _PROVISIONAL if waking_nodes(s) > 0 else _FIRM
            memory[2] = due_s
    return want_speed(s, high)
