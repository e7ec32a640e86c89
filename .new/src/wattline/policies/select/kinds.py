"""What select policies that treat jobs by their kinds share: counts, service so far, standby jobs, pauses."""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.kernel.compiled import kernel, outlined
from wattline.model.codes import FILL, PAUSED, RUNNING
from wattline.model.state.record import State
from wattline.model.structures.many_running import listed
from wattline.physics import clocks
from wattline.physics.power import (
    committed_span_w,
    headroom_w,
    lowest_node_w,
    node_w,
    start_increase_w,
    uncapped_increase_w,
)
from wattline.policies.select.proposals import propose

LEAST_WORK_S = 1e-3
"""Jobs of no length count as this long where something is divided by it."""
EQUAL = 1e-9
"""Needs of jobs that differ by no more than this (or this part) are equal: times are rounded."""


@kernel
def count_kinds(s: State, waiting: Any, running: Any) -> None:
    """Count the waiting jobs of every kind, and those that hold nodes."""
    for k in range(s.k_nodes.shape[0]):
        waiting[k] = 0.0
        running[k] = 0.0
    for i in range(s.q_head[0], s.q_tail[0]):
        j = s.queue[i]
        if j >= 0:
            waiting[s.kind[j]] += 1.0
    counted = s.paused[0] == 0 and s.waking[0] == 0
    for i in range(s.n_active[0]):
        counted = counted and s.c_kind[s.active[i]] >= 0
    if counted:  # by the rate classes, each of one kind
        for i in range(s.n_active[0]):
            c = s.active[i]
            running[s.c_kind[c]] += s.c_n[c]
    else:
        for i in range(listed(s)):
            running[s.kind[s.running[i]]] += 1.0


@kernel
def work_left_s(s: State, j: int) -> float:
    """Return the time a job still needs at full speed."""
    if s.status[j] == RUNNING:
        return max(0.0, s.v_end[j] - clocks.virtual_now(s, s.rate_class[j]))
    return s.remaining[j]


@kernel
def degradation(s: State, j: int) -> float:
    """Return the QoS degradation a job would have if it ran at full speed from now on."""
    work_s = max(s.work[j], LEAST_WORK_S)
    return (s.now[0] - s.submit_s[j] + work_left_s(s, j) - s.work[j]) / work_s


@kernel
def sum_degradation(s: State, total: Any, count: Any) -> None:
    """Add up, by kind, the QoS degradation that the jobs present would have at full speed from now on; count them."""
    for k in range(s.k_nodes.shape[0]):
        total[k] = 0.0
        count[k] = 0.0
    for i in range(s.q_head[0], s.q_tail[0]):
        j = s.queue[i]
        if j >= 0:
            total[s.kind[j]] += degradation(s, j)
            count[s.kind[j]] += 1.0
    for i in range(listed(s)):
        j = s.running[i]
        total[s.kind[j]] += degradation(s, j)
        count[s.kind[j]] += 1.0


@kernel
def average_degradation(s: State, average: Any, count: Any) -> None:
    """Write the mean of that over the jobs present of every kind (0 where there is none)."""
    sum_degradation(s, average, count)
    for k in range(s.k_nodes.shape[0]):
        if count[k] > 0.0:
            average[k] /= count[k]


@kernel
def danger(s: State, j: int) -> float:
    """Return how much of its limit of QoS degradation a job has used up (0 … 1 and beyond; 0 where nothing was
    promised).
    """
    k = s.kind[j]
    return 0.0 if k < 0 or s.k_standby[k] == 1 else degradation(s, j) / s.k_limit[k]


@kernel
def fill_with_standby(s: State, n0: int, free0: int, room0_w: float, limit0_w: float) -> int:
    """Propose standby jobs while they fit in the free nodes and below the target; return the number of proposals."""
    n = n0
    free = free0
    room_w = room0_w
    limit_w = limit0_w
    i = s.q_head[0]
    while i < s.q_tail[0] and free > 0:
        j = s.queue[i]
        if j >= 0 and s.k_standby[s.kind[j]] == 1 and s.nodes[j] <= free:
            increase_w = uncapped_increase_w(s, j)
            if increase_w <= room_w and start_increase_w(s, j, np.inf) <= limit_w:
                n = propose(s, n, j, FILL)
                limit_w -= start_increase_w(s, j, np.inf)
                free -= s.nodes[j]
                room_w -= increase_w
        i += 1
    return n


@kernel
def as_much(value: float, most: float) -> bool:
    """Tell whether a value counts as equal to the largest: to within the rounding of times."""
    if most - most != 0.0:
        return value == most  # infinite
    return value >= most - EQUAL * max(1.0, abs(most))


@kernel
def _need(s: State, j: int, sign: float) -> float:
    """Return a job's danger (sign 1), or how little it is in danger (-1): standby jobs go before all others there."""
    return sign * danger(s, j) + (1e9 if sign < 0 and s.k_standby[s.kind[j]] == 1 else 0.0)


@outlined
def _most(s: State, status: int, sign: float, marked: Any) -> int:
    """Return the position in ``running`` of the unmarked job of a status that is most (sign 1) or least (-1) in danger.

    Of equals it is the first in the trace: places in ``running`` depend on who has left.
    """
    most = -np.inf
    for i in range(listed(s)):
        j = s.running[i]
        if s.status[j] == status and marked[i] == 0.0:
            most = max(most, _need(s, j, sign))
    best = -1
    for i in range(listed(s)):
        j = s.running[i]
        if s.status[j] == status and marked[i] == 0.0 and (best < 0 or j < s.running[best]):
            best = i if as_much(_need(s, j, sign), most) else best
    return best


@kernel
def resume_increase_w(s: State, j: int) -> float:
    """Return by how much power rises when a paused job goes on, under the cap in force."""
    return s.nodes[j] * (node_w(s, j, s.cap_w[j]) - s.idle_w[s.pool[j]])


@kernel
def pause_or_resume(s: State, holds: int, marked: Any) -> float:
    """Ask for pauses where even the lowest caps exceed the target, or for resumes where they leave room.

    Standby jobs and those least in danger of missing their promise pause first; those most in danger resume first,
    while a power limit allows it. Returns by how much power without caps rises with it. ``marked`` is room for one
    number a running job.
    """
    low_w, high_w = committed_span_w(s)
    room_w = s.target_w[0] - (low_w if low_w == low_w else high_w)  # where jobs of a class differ nothing is capped
    change_w = 0.0
    for i in range(listed(s)):
        marked[i] = 0.0
    if room_w < 0.0:
        while True:
            i = _most(s, RUNNING, -1.0, marked)
            if i < 0:
                break
            j = s.running[i]
            lowest_w = s.nodes[j] * (lowest_node_w(s, j) - s.idle_w[s.pool[j]])
            if (
                lowest_w > 0.0 and room_w + 0.5 * lowest_w > 0.0
            ):  # the nearest match: half a job too many is left running
                break
            marked[i] = 1.0
            if lowest_w <= 0.0:
                continue  # a pause would save nothing
            s.stop_job[s.n_stop[0]] = j
            s.stop_holds[s.n_stop[0]] = holds
            s.n_stop[0] += 1
            room_w += lowest_w
            change_w -= uncapped_increase_w(s, j)
        return change_w
    limit_w = headroom_w(s) if s.paused[0] > 0 else 0.0
    while s.paused[0] > 0:
        i = _most(s, PAUSED, 1.0, marked)
        if i < 0:
            break
        j = s.running[i]
        lowest_w = s.nodes[j] * (lowest_node_w(s, j) - s.idle_w[s.pool[j]])
        if lowest_w > room_w or resume_increase_w(s, j) > limit_w:
            break
        marked[i] = 1.0
        limit_w -= resume_increase_w(s, j)
        s.resume_job[s.n_resume[0]] = j
        s.n_resume[0] += 1
        room_w -= lowest_w
        change_w += uncapped_increase_w(s, j)
    return change_w


@kernel
def some_stay_paused(s: State, marked: Any) -> bool:
    """Tell whether a job to which something was promised stays paused when ``pause_or_resume`` has its way."""
    for i in range(listed(s)):
        j = s.running[i]
        if s.status[j] == PAUSED and marked[i] == 0.0 and s.k_standby[s.kind[j]] == 0:
            return True
    return False
