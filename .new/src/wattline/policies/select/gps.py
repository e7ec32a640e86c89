"""Generalized processor sharing: the nodes that a power target allows are shared among the kinds by weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.kernel.compiled import kernel
from wattline.model.codes import SHARE, TICK
from wattline.model.mechanism import Memory, Param, mechanism
from wattline.model.state.record import State
from wattline.model.state.switches import N_STARTS
from wattline.physics.power import committed_span_w, headroom_w, start_increase_w, uncapped_increase_w
from wattline.policies.select.kinds import (
    count_kinds,
    fill_with_standby,
    pause_or_resume,
    resume_increase_w,
    some_stay_paused,
)
from wattline.policies.select.proposals import propose

P_CARRY, P_PREEMPT, P_STANDBY, P_ROUNDING, P_FIXED = range(5)
NEAREST, CEIL, FLOOR = range(3)
BARELY = 1e-9
"""A share that is off a whole number of jobs by no more than this is that number: sums of floats are."""

K_TARGET, K_NODES, K_WAITING, K_ARRIVED, K_STARTED, K_ENDED, KNOWN = range(7)
"""memory: first what shares were made for"""

WAITING, RUNNING, NODES, WANTED, STARTS, DEBT, BLOCKS = range(7)
"""memory behind it: numbers for every kind, one block after the other; then one for every running job"""


@kernel
def shares_stand(s: State, known: Any) -> bool:
    """Tell whether all that shares depend on is as it was when they were made: ticks come more often than targets.

    Who leaves the queue has started or ended, so these numbers tell of every change in it but its order, which does not
    matter here.
    """
    return (
        s.target_w[0] == known[K_TARGET]  # false without a target, which is NaN
        and s.pool_count[0] - s.down[0] == known[K_NODES]
        and s.q_len[0] == known[K_WAITING]
        and s.n_arrived[0] == known[K_ARRIVED]
        and s.counter[N_STARTS] == known[K_STARTED]
        and s.n_ended[0] == known[K_ENDED]
    )


@kernel
def note_shares(s: State, known: Any) -> None:
    """Note what shares are made for."""
    known[K_TARGET] = s.target_w[0]
    known[K_NODES] = s.pool_count[0] - s.down[0]
    known[K_WAITING] = s.q_len[0]
    known[K_ARRIVED] = s.n_arrived[0]
    known[K_STARTED] = s.counter[N_STARTS]
    known[K_ENDED] = s.n_ended[0]


@kernel
def active_nodes(s: State, fixed: bool, waiting: Any, running: Any, shares: Any) -> float:
    """Return n(t): how many nodes may be busy so that their power, uncapped, meets the target (AQA eq. 11).

    The mean power of a busy node is taken over the effective weights: of the shares if there are any, otherwise of the
    kinds that have jobs. With ``fixed`` weights it is that of all kinds, whether they have jobs or not.
    """
    total = 0.0
    watts = 0.0
    shared = 0.0
    for k in range(s.k_nodes.shape[0]):
        shared += shares[k]
    for k in range(s.k_nodes.shape[0]):
        if s.k_standby[k] == 0 and (fixed or waiting[k] + running[k] > 0.0):
            weight = shares[k] if shared > 0.0 and not fixed else s.k_weight[k]
            total += weight
            watts += weight * s.k_draw_w[k]
    in_service = s.pool_count[0] - s.down[0]
    if total == 0.0 or s.target_w[0] != s.target_w[0]:
        return float(in_service)
    more_w = watts / total - s.idle_w[0]
    if more_w <= 0.0:
        return float(in_service)
    return min(max((s.target_w[0] - in_service * s.idle_w[0]) / more_w, 0.0), float(in_service))


@kernel
def share_nodes(s: State, n: float, waiting: Any, running: Any, shares: Any) -> None:
    """Share n nodes among the kinds that have jobs, by weights, to none more than its jobs can use (water-filling)."""
    kinds = s.k_nodes.shape[0]
    for k in range(kinds):
        shares[k] = -1.0 if waiting[k] + running[k] > 0.0 and s.k_standby[k] == 0 else 0.0
    left = n
    while True:
        weight = 0.0
        for k in range(kinds):
            if shares[k] < 0.0:
                weight += s.k_weight[k]
        taken = 0.0
        for k in range(kinds):
            use = s.k_nodes[k] * (waiting[k] + running[k])
            if shares[k] < 0.0 and weight > 0.0 and left * s.k_weight[k] / weight >= use:
                shares[k] = use
                taken += use
        left = max(0.0, left - taken)
        if taken == 0.0:
            break
    for k in range(kinds):
        if shares[k] < 0.0:
            shares[k] = left * s.k_weight[k] / weight if weight > 0.0 else 0.0


@kernel
def jobs_to_start(s: State, carry: bool, rounding: float, running: Any, shares: Any, starts: Any, debt: Any) -> None:
    """Turn shares of nodes into whole jobs to start: rounded as told, or (carry) rounded down with a carried debt."""
    for k in range(s.k_nodes.shape[0]):
        jobs = shares[k] / s.k_nodes[k] if s.k_nodes[k] > 0 else 0.0
        if not carry:
            if rounding == NEAREST:
                jobs = np.floor(jobs + 0.5)
            else:
                jobs = np.ceil(jobs - BARELY) if rounding == CEIL else np.floor(jobs + BARELY)
            starts[k] = jobs - running[k]
            continue
        starts[k] = np.floor(jobs) - running[k]
        # what was owed in job-seconds; a job that runs beyond the whole ones pays it back
        debt[k] = max(0.0, debt[k] + (jobs - running[k]) * s.tick_s[0]) if jobs > 0.0 else 0.0
        if debt[k] >= s.k_work_s[k] and starts[k] == 0.0:
            starts[k] = 1.0


@mechanism(
    "select",
    "gps",
    wake=TICK,
    kinds=True,
    target=True,
    one_class=True,
    weights=True,
    preempts=True,
    memory=Memory(fixed=KNOWN, per_kind=BLOCKS, per_running=1),
    params={
        "carry": Param(
            0.0, "1: round shares down to whole jobs and carry the rest; 0: round to the nearest", 0.0, 1.0, whole=True
        ),
        "preempt": Param(
            0.0,
            "1: pause jobs on their nodes when caps do not suffice; 2: queue them again; 0: neither",
            0.0,
            2.0,
            whole=True,
        ),
        "standby": Param(
            0.0,
            "1: fill the target with standby jobs whenever nodes are free; 0: when no other job waits",
            0.0,
            1.0,
            whole=True,
        ),
        "rounding": Param(
            0.0, "shares in whole jobs: 0: the nearest number; 1: rounded up; 2: rounded down", 0.0, 2.0, whole=True
        ),
        "fixed": Param(
            0.0,
            "mean power of a busy node: 0: of the kinds that have jobs, by their shares; 1: of all, by their weights",
            0.0,
            1.0,
            whole=True,
        ),
    },
    source="AQA §3.2–3.4, QoSG §2.4.4",
)
def gps(s: State, mask: int, param: Any, memory: Any) -> int:
    """Share the nodes that the power target allows among the kinds of job by weights."""
    kinds = s.k_nodes.shape[0]
    by_kind = memory[KNOWN:]
    waiting = by_kind[WAITING * kinds : (WAITING + 1) * kinds]
    running = by_kind[RUNNING * kinds : (RUNNING + 1) * kinds]
    shares = by_kind[NODES * kinds : (NODES + 1) * kinds]
    wanted = by_kind[WANTED * kinds : (WANTED + 1) * kinds]
    starts = by_kind[STARTS * kinds : (STARTS + 1) * kinds]
    room_w = 0.0
    may_start = True
    if param[P_PREEMPT] > 0.0:
        room_w -= pause_or_resume(s, 1 if param[P_PREEMPT] == 1.0 else 0, by_kind[BLOCKS * kinds :])
        may_start = s.n_stop[0] == 0 and not some_stay_paused(s, by_kind[BLOCKS * kinds :])
    if s.q_len[0] == 0 and param[P_CARRY] == 0.0:
        return 0  # debts are carried on, and forgotten, also while nobody waits
    carry = param[P_CARRY] == 1.0
    if carry or not shares_stand(s, memory):
        count_kinds(s, waiting, running)
        for k in range(kinds):
            shares[k] = 0.0
        fixed = param[P_FIXED] == 1.0
        share_nodes(s, active_nodes(s, fixed, waiting, running, shares), waiting, running, shares)
        if not fixed:
            share_nodes(s, active_nodes(s, fixed, waiting, running, shares), waiting, running, shares)
        debt = by_kind[DEBT * kinds : (DEBT + 1) * kinds]
        jobs_to_start(s, carry, param[P_ROUNDING], running, shares, wanted, debt)
        note_shares(s, memory)
    n = 0
    free = s.free[0]
    limit_w = headroom_w(s)
    for i in range(s.n_resume[0]):
        limit_w -= resume_increase_w(s, s.resume_job[i])
    left = 0
    sharing = 0
    for k in range(kinds):
        starts[k] = wanted[k]
        sharing += 1 if may_start and starts[k] >= 1.0 else 0
    for i in range(s.q_head[0], s.q_tail[0]):
        j = s.queue[i]
        if j < 0 or s.k_standby[s.kind[j]] == 1:
            continue
        k = s.kind[j]
        if sharing == 0:
            left += 1
            break  # nobody else starts
        if starts[k] >= 1.0 and s.nodes[j] <= free and start_increase_w(s, j, np.inf) <= limit_w:
            starts[k] -= 1.0
            sharing -= 1 if starts[k] < 1.0 else 0
            free -= s.nodes[j]
            limit_w -= start_increase_w(s, j, np.inf)
            room_w -= uncapped_increase_w(s, j)
            n = propose(s, n, j, SHARE)
        else:
            sharing -= 1 if starts[k] >= 1.0 else 0
            starts[k] = 0.0  # first come, first served within a kind
            left += 1
    if free > 0 and may_start and (left == 0 or param[P_STANDBY] == 1.0):
        _, high_w = committed_span_w(s)
        n = fill_with_standby(s, n, free, s.target_w[0] - high_w + room_w, limit_w)
    return n
