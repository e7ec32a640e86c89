"""QoSCap: follow the target with starts and caps, but not at the expense of kinds that miss what was promised."""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.kernel.compiled import kernel
from wattline.model.codes import FILL, TICK, URGENT
from wattline.model.mechanism import Memory, Param, mechanism
from wattline.model.state.record import State
from wattline.model.state.switches import N_STARTS
from wattline.physics.power import committed_span_w, headroom_w, start_increase_w, uncapped_increase_w
from wattline.policies.select.kinds import LEAST_WORK_S, average_degradation, degradation, fill_with_standby
from wattline.policies.select.proposals import propose

P_NEAR, P_MEETS, P_HOLD = range(3)
FIRST, LAST, AVERAGE, COUNT = range(4)
CALM_UNTIL, SEEN = range(2)
"""memory: the next of its kind for every job; until when nothing passes a limit unless jobs come or go, how many have;
four numbers a kind"""


@kernel
def calm_until_s(s: State, near: float, meets: float, average: Any, count: Any) -> float:
    """Return the earliest time at which a kind's average or a waiting job can reach its bound, if no job comes or goes.

    An estimate grows by at most 1/T a second; the bound of a kind that is beyond it moves no more.
    """
    soonest_s = np.inf
    for k in range(s.k_nodes.shape[0]):
        if count[k] > 0.0 and s.k_standby[k] == 0 and average[k] <= meets * s.k_limit[k]:
            soonest_s = min(soonest_s, (meets * s.k_limit[k] - average[k]) * s.k_shortest_s[k])
    for i in range(s.q_head[0], s.q_tail[0]):
        j = s.queue[i]
        if j >= 0 and s.k_standby[s.kind[j]] == 0:
            left = near * s.k_limit[s.kind[j]] - degradation(s, j)
            soonest_s = min(soonest_s, max(0.0, left) * max(s.work[j], LEAST_WORK_S))
    return s.now[0] + soonest_s


@kernel
def line_up(s: State, first: Any, last: Any, following: Any) -> None:
    """Link the waiting jobs of every kind in the order of the queue; standby jobs are left out."""
    for k in range(s.k_nodes.shape[0]):
        first[k] = -1.0
    for i in range(s.q_head[0], s.q_tail[0]):
        j = s.queue[i]
        if j < 0 or s.k_standby[s.kind[j]] == 1:
            continue
        k = s.kind[j]
        following[j] = -1.0
        if first[k] < 0.0:
            first[k] = j
        else:
            following[int(last[k])] = j
        last[k] = j


@kernel
def worst_waiting(s: State, first: Any, average: Any) -> int:
    """Return the kind with waiting jobs whose average is furthest towards its limit (-1: nobody waits)."""
    best = -1
    most = -np.inf
    for k in range(s.k_nodes.shape[0]):
        if first[k] >= 0.0 and average[k] / s.k_limit[k] > most:
            best = k
            most = average[k] / s.k_limit[k]
    return best


@mechanism(
    "select",
    "qoscap",
    wake=TICK,
    kinds=True,
    target=True,
    one_class=True,
    memory=Memory(fixed=2, per_kind=4, per_job=1),
    params={
        "near": Param(
            0.9, "part of its limit of QoS degradation at which a waiting job starts whatever the target says"
        ),
        "meets": Param(
            1.0, "part of its limit up to which the average of a kind counts as kept, so that its caps may be lowered"
        ),
        "hold": Param(
            0.0,
            "1: nodes are kept free for a job that must start and does not fit; 0: others pass it",
            0.0,
            1.0,
            whole=True,
        ),
    },
    source="Y. Zhang's thesis, §2.8.1",
)
def qoscap(s: State, mask: int, param: Any, memory: Any) -> int:
    """Start what is about to miss its limit; then, below the target, jobs of the kinds that suffer most; spare
    those from caps.

    The cap policy is asked to set no cap on kinds whose average (over the jobs present) is beyond its limit.
    """
    kinds = s.k_nodes.shape[0]
    following, rest = memory[: s.status.shape[0]], memory[s.status.shape[0] :]
    of_kinds = rest[2 : 2 + 4 * kinds]
    first = of_kinds[FIRST * kinds : (FIRST + 1) * kinds]
    average = of_kinds[AVERAGE * kinds : (AVERAGE + 1) * kinds]
    count = of_kinds[COUNT * kinds : (COUNT + 1) * kinds]
    # a number that grows with every arrival, start and end, and when a job loses its nodes and waits again
    moves = float(s.n_arrived[0] + s.n_ended[0] + 2 * s.counter[N_STARTS] + s.q_len[0] + 1)
    calm = moves == rest[SEEN] and s.now[0] < rest[CALM_UNTIL] - 1.0
    if calm and s.q_len[0] == 0:
        return 0
    _, high_w = committed_span_w(s)
    if calm and s.target_w[0] <= high_w:  # false in no market, where the target is NaN
        return 0
    average_degradation(s, average, count)
    rest[SEEN] = moves
    rest[CALM_UNTIL] = calm_until_s(s, param[P_NEAR], param[P_MEETS], average, count)
    for k in range(kinds):
        s.k_uncap[k] = 1 if s.k_standby[k] == 0 and average[k] > param[P_MEETS] * s.k_limit[k] else 0
    if s.q_len[0] == 0:
        return 0
    n = 0
    free = s.free[0]
    limit_w = headroom_w(s)
    line_up(s, first, of_kinds[LAST * kinds : (LAST + 1) * kinds], following)
    # in danger: the first of a kind has waited longest, but a shorter one may be closer to its limit
    for k in range(kinds):
        j = int(first[k])
        before = -1
        while j >= 0:
            after = int(following[j])
            taken = False
            if degradation(s, j) >= param[P_NEAR] * s.k_limit[k]:
                if s.nodes[j] > free:
                    if param[P_HOLD] == 1.0:
                        return n
                elif start_increase_w(s, j, np.inf) <= limit_w:
                    n = propose(s, n, j, URGENT)
                    free -= s.nodes[j]
                    limit_w -= start_increase_w(s, j, np.inf)
                    high_w += uncapped_increase_w(s, j)
                    taken = True
            if taken and before < 0:
                first[k] = after
            elif taken:
                following[before] = after
            else:
                before = j
            j = after
    room_w = s.target_w[0] - high_w
    while not room_w <= 0.0 and free > 0:  # NaN in no market: then nobody waits for room
        k = worst_waiting(s, first, average)
        if k < 0:
            break
        j = int(first[k])
        increase_w = uncapped_increase_w(s, j)
        if s.nodes[j] <= free and not increase_w > room_w and start_increase_w(s, j, np.inf) <= limit_w:
            n = propose(s, n, j, FILL)
            free -= s.nodes[j]
            limit_w -= start_increase_w(s, j, np.inf)
            room_w -= increase_w
            first[k] = following[j]
        else:
            first[k] = -1.0
    return fill_with_standby(s, n, free, room_w, limit_w)
