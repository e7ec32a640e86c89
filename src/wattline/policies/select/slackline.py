"""Slackline: start what the target leaves room for, in the order in which jobs run out of slack."""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.kernel.compiled import kernel
from wattline.model.codes import CHOSEN, TICK, URGENT
from wattline.model.mechanism import Memory, Param, mechanism
from wattline.model.state.record import State
from wattline.physics.cap_rates import longer_by
from wattline.physics.power import committed_span_w, headroom_w, lowest_node_w, start_increase_w, uncapped_increase_w
from wattline.policies.select.kinds import LEAST_WORK_S, fill_with_standby, pause_or_resume
from wattline.policies.select.proposals import propose

P_FORCE, P_HOLD, P_SLOW, P_PREEMPT, P_FILL = range(5)
FIRST, LAST = range(2)
"""memory: the next of its kind for every job, then the first and the last waiting job of every kind"""


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
def slack_used(s: State, j: int, slow: float) -> float:
    """Return which part of the wait that a job may afford is over.

    A share ``slow`` of the time by which the lowest cap makes its run longer is set aside.
    """
    k = s.kind[j]
    if s.k_limit[k] == np.inf:
        return 0.0
    work_s = max(s.work[j], LEAST_WORK_S)
    wait_s = s.now[0] - s.submit_s[j] + s.remaining[j] - s.work[j]  # a job that was stopped has less to do
    most_s = (s.k_limit[k] - slow * longer_by(s, j, lowest_node_w(s, j))) * work_s
    return wait_s / most_s if most_s > 0.0 else 1.0


@kernel
def most_pressing(s: State, first: Any, slow: float) -> int:
    """Return the kind whose first waiting job has used up most of its slack (-1: nobody waits)."""
    best = -1
    most = -np.inf
    for k in range(s.k_nodes.shape[0]):
        if first[k] >= 0.0:
            used = slack_used(s, int(first[k]), slow)
            if used > most:
                best = k
                most = used
    return best


@mechanism(
    "select",
    "slackline",
    wake=TICK,
    kinds=True,
    target=True,
    one_class=True,
    preempts=True,
    memory=Memory(per_kind=2, per_job=1, per_running=1),
    params={
        "force": Param(0.95, "part of its slack after which a job starts whatever the target says", tried=(0.95, 0.7)),
        "hold": Param(0.6, "part of its slack after which nodes are kept free for a job that does not fit"),
        "slow": Param(0.5, "part of the longest run time under caps that is set aside from a job's slack"),
        "preempt": Param(
            0.0, "1: pause jobs on their nodes when caps do not suffice; 2: queue them again; 0: neither", whole=True
        ),
        "fill": Param(
            0.25, "part of the reserve by which power may stay below the target before a job starts for that alone"
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
    following, rest = memory[: s.status.shape[0]], memory[s.status.shape[0] :]
    first = rest[FIRST * kinds : (FIRST + 1) * kinds]
    low_w, high_w = committed_span_w(s)
    if param[P_PREEMPT] > 0.0:
        pause_or_resume(s, 1 if param[P_PREEMPT] == 1.0 else 0, rest[2 * kinds :])
    if s.q_len[0] == 0 or s.n_stop[0] + s.n_resume[0] > 0:
        return 0  # who was stopped goes first; the next period sees what it left
    line_up(s, first, rest[LAST * kinds : (LAST + 1) * kinds], following)
    n = 0
    free = s.free[0]
    limit_w = headroom_w(s)
    while free > 0:
        k = most_pressing(s, first, param[P_SLOW])
        if k < 0:
            break
        j = int(first[k])
        used = slack_used(s, j, param[P_SLOW])
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
            first[k] = following[j]
        else:
            first[k] = -1.0
    return fill_with_standby(s, n, free, s.target_w[0] - high_w, limit_w)
