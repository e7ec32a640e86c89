"""Slackline: start what the target leaves room for, in the order in which jobs run out of slack."""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.kernel.compiled import kernel
from wattline.model.codes import CHOSEN, PAUSED, RUNNING, TICK, URGENT
from wattline.model.mechanism import Memory, Param, mechanism
from wattline.model.state.record import State
from wattline.model.structures.many_running import listed
from wattline.physics.cap_rates import longer_by
from wattline.physics.power import committed_span_w, headroom_w, lowest_node_w, start_increase_w, uncapped_increase_w
from wattline.policies.select.kinds import LEAST_WORK_S, as_much, fill_with_standby, resume_increase_w, work_left_s
from wattline.policies.select.proposals import propose

P_FORCE, P_HOLD, P_SLOW, P_STOP, P_FILL = range(5)
FIRST, USED = range(2)
"""memory: for every kind the place in the queue of its first waiting job (-1: none), and the part of its slack that is
over; then one number for every running job"""


@kernel
def slack_s(s: State, j: int, slow: float) -> float:
    """Return the wait that a job can afford (inf: nothing was promised to it).

    A share ``slow`` of the time by which the lowest cap makes its run longer is set aside.
    """
    k = s.kind[j]
    if k < 0 or s.k_standby[k] == 1 or s.k_limit[k] == np.inf:
        return np.inf
    return (s.k_limit[k] - slow * longer_by(s, j, lowest_node_w(s, j))) * max(s.work[j], LEAST_WORK_S)


@kernel
def waited_s(s: State, j: int) -> float:
    """Return the time that a job has lost so far, by waiting, pauses and caps."""
    return s.now[0] - s.submit_s[j] + work_left_s(s, j) - s.work[j]


@kernel
def slack_used(s: State, j: int, slow: float) -> float:
    """Return which part of the wait that a job can afford is over."""
    most_s = slack_s(s, j, slow)
    if most_s == np.inf:
        return 0.0
    return waited_s(s, j) / most_s if most_s > 0.0 else 1.0


@kernel
def spare_s(s: State, j: int, slow: float) -> float:
    """Return for how long a job that holds nodes can still be paused: its slack, less what it has used up of it."""
    return slack_s(s, j, slow) - waited_s(s, j)


@kernel
def saved_w(s: State, j: int) -> float:
    """Return by how much the lowest caps fall when a running job pauses."""
    return s.nodes[j] * (lowest_node_w(s, j) - s.idle_w[s.pool[j]])


@kernel
def may_pause(s: State, j: int, stop: float, slow: float) -> bool:
    """Tell whether a job runs that has not yet used up a part of its slack, and whose pause would save power."""
    return s.status[j] == RUNNING and slack_used(s, j, slow) < stop and saved_w(s, j) > 0.0


@kernel
def longest_spare(s: State, stop: float, slow: float, marked: Any) -> int:
    """Return the place of the running job that can be paused for longest (-1: none may be).

    Of equals it is the first in the trace: places in ``running`` depend on who has left.
    """
    longest_s = -np.inf
    for i in range(listed(s)):
        if marked[i] == 0.0 and may_pause(s, s.running[i], stop, slow):
            longest_s = max(longest_s, spare_s(s, s.running[i], slow))
    best = -1
    for i in range(listed(s)):
        j = s.running[i]
        if marked[i] == 0.0 and (best < 0 or j < s.running[best]) and may_pause(s, j, stop, slow):
            best = i if as_much(spare_s(s, j, slow), longest_s) else best
    return best


@kernel
def most_used(s: State, slow: float, marked: Any) -> int:
    """Return the place of the paused job that has used up most of its slack (-1: nobody is paused).

    Of equals it is the first in the trace.
    """
    most = -np.inf
    for i in range(listed(s)):
        if s.status[s.running[i]] == PAUSED and marked[i] == 0.0:
            most = max(most, slack_used(s, s.running[i], slow))
    best = -1
    for i in range(listed(s)):
        j = s.running[i]
        if s.status[j] == PAUSED and marked[i] == 0.0 and (best < 0 or j < s.running[best]):
            best = i if as_much(slack_used(s, j, slow), most) else best
    return best


@kernel
def stop_or_go(s: State, low_w: float, param: Any, marked: Any) -> None:
    """Let paused jobs go on that must or for which the target has room; else pause some that can afford it.

    ``low_w`` is the power at the lowest caps, ``marked`` room for one number a job on nodes.
    """
    for i in range(listed(s)):
        marked[i] = 0.0
    room_w = s.target_w[0] - low_w
    limit_w = headroom_w(s) if s.paused[0] > 0 else 0.0
    while s.paused[0] > 0:
        i = most_used(s, param[P_SLOW], marked)
        if i < 0:
            break
        j = s.running[i]
        must = slack_used(s, j, param[P_SLOW]) >= param[P_FORCE]
        if (saved_w(s, j) > room_w and not must) or resume_increase_w(s, j) > limit_w:
            break
        marked[i] = 1.0
        limit_w -= resume_increase_w(s, j)
        room_w -= saved_w(s, j)
        s.resume_job[s.n_resume[0]] = j
        s.n_resume[0] += 1
    while room_w < 0.0:
        i = longest_spare(s, min(param[P_STOP], param[P_FORCE]), param[P_SLOW], marked)
        if i < 0 or room_w + 0.5 * saved_w(s, s.running[i]) > 0.0:
            break  # the nearest match: half a job too many is left running
        marked[i] = 1.0
        room_w += saved_w(s, s.running[i])
        s.stop_job[s.n_stop[0]] = s.running[i]
        s.stop_holds[s.n_stop[0]] = 1
        s.n_stop[0] += 1


@kernel
def find_firsts(s: State, slow: float, first: Any, used: Any) -> None:
    """Find the first waiting job of every kind in the queue; standby jobs are left out."""
    for k in range(s.k_nodes.shape[0]):
        first[k] = -1.0
    for i in range(s.q_head[0], s.q_tail[0]):
        j = s.queue[i]
        if j >= 0 and first[s.kind[j]] < 0.0 and s.k_standby[s.kind[j]] == 0:
            first[s.kind[j]] = i
            used[s.kind[j]] = slack_used(s, j, slow)


@kernel
def go_to_next(s: State, k: int, slow: float, first: Any, used: Any) -> None:
    """Let the next waiting job of a kind be its first."""
    i = int(first[k]) + 1
    while i < s.q_tail[0] and (s.queue[i] < 0 or s.kind[s.queue[i]] != k):
        i += 1
    first[k] = -1.0
    if i < s.q_tail[0]:
        first[k] = i
        used[k] = slack_used(s, s.queue[i], slow)


@kernel
def most_pressing(s: State, first: Any, used: Any) -> int:
    """Return the kind whose first waiting job has used up most of its slack (-1: nobody waits)."""
    best = -1
    most = -np.inf
    for k in range(s.k_nodes.shape[0]):
        if first[k] >= 0.0 and used[k] > most:
            best = k
            most = used[k]
    return best


@mechanism(
    "select",
    "slackline",
    wake=TICK,
    kinds=True,
    target=True,
    one_class=True,
    preempts=True,
    memory=Memory(per_kind=2, per_running=1),
    params={
        "force": Param(
            0.95, "part of its slack after which a job starts whatever the target says", low=0, tried=(0.95, 0.7)
        ),
        "hold": Param(0.6, "part of its slack after which nodes are kept free for a job that does not fit", low=0),
        "slow": Param(0.5, "part of the longest run time under caps that is set aside from a job's slack", low=0),
        "stop": Param(
            0.0,
            "part of its slack up to which a running job may be paused where caps do not suffice (0: none is)",
            low=0,
        ),
        "fill": Param(
            0.25,
            "part of the reserve by which power may stay below the target before a job starts for that alone",
            low=0,
        ),
    },
    source="Wattline",
)
def slackline(s: State, mask: int, param: Any, memory: Any) -> int:
    """Start jobs in the order in which they run out of slack, as deep into the caps as their need justifies.

    With low ≤ P ≤ high the power that caps can reach, a job that has used up a part d of its slack starts if the point
    low + (1 - d)(high - low), taken after its start, is not above the target: a fresh job only if no cap is needed for
    it, a pressing one if the lowest caps make room. Jobs also start when power would stay too far below the target. See
    docs/slackline.md.
    """
    kinds = s.k_nodes.shape[0]
    first = memory[FIRST * kinds : (FIRST + 1) * kinds]
    slack_over = memory[USED * kinds : (USED + 1) * kinds]
    low_w, high_w = committed_span_w(s)
    if param[P_STOP] > 0.0:
        stop_or_go(s, low_w if low_w == low_w else high_w, param, memory[2 * kinds :])
    free = s.free[0]
    if s.q_len[0] == 0 or free == 0 or s.n_stop[0] + s.n_resume[0] > 0:
        return 0  # who was stopped goes first; the next period sees what it left
    find_firsts(s, param[P_SLOW], first, slack_over)
    n = 0
    limit_w = headroom_w(s)
    while free > 0:
        k = most_pressing(s, first, slack_over)
        if k < 0:
            break
        j = s.queue[int(first[k])]
        used = slack_over[k]
        if s.nodes[j] > free:
            if used > param[P_HOLD]:
                return n  # what is free is kept for it
            first[k] = -1.0
            continue
        low_after_w = low_w + s.nodes[j] * (lowest_node_w(s, j) - s.idle_w[0])
        high_after_w = high_w + uncapped_increase_w(s, j)
        point_w = low_after_w + (1.0 - min(1.0, max(0.0, used))) * (high_after_w - low_after_w)
        forced = used >= param[P_FORCE]
        lacking = s.target_w[0] - high_w > param[P_FILL] * s.reserve_w[0] and low_after_w <= s.target_w[0]
        if (forced or lacking or not point_w > s.target_w[0]) and start_increase_w(s, j, np.inf) <= limit_w:
            n = propose(s, n, j, URGENT if forced else CHOSEN)
            free -= s.nodes[j]
            limit_w -= start_increase_w(s, j, np.inf)
            low_w = low_after_w
            high_w = high_after_w
            go_to_next(s, k, param[P_SLOW], first, slack_over)
        else:
            first[k] = -1.0
    return fill_with_standby(s, n, free, s.target_w[0] - high_w, limit_w)
