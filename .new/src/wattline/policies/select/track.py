"""The two baselines of demand response: follow the target alone, or leave it when users have waited too long."""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.kernel.compiled import kernel
from wattline.model.codes import FILL, TICK, URGENT
from wattline.model.mechanism import Memory, Param, mechanism
from wattline.model.state.record import State
from wattline.physics.power import committed_span_w, headroom_w, start_increase_w, system_w, uncapped_increase_w
from wattline.policies.select.kinds import fill_with_standby, sum_degradation
from wattline.policies.select.proposals import propose

LARGEST, ALL_JOBS = 1, 2
TOLERATED = 0.3
"""Tracking error that counts as one."""


@kernel
def start_below_target(s: State) -> int:
    """Propose waiting jobs in order while the power, uncapped, stays below the target; then standby jobs."""
    _, high_w = committed_span_w(s)
    room_w = s.target_w[0] - high_w
    free = s.free[0]
    limit_w = headroom_w(s)
    n = 0
    for i in range(s.q_head[0], s.q_tail[0]):
        j = s.queue[i]
        if j < 0 or s.k_standby[s.kind[j]] == 1 or s.nodes[j] > free:
            continue
        increase_w = uncapped_increase_w(s, j)
        if increase_w > room_w or start_increase_w(s, j, np.inf) > limit_w:
            break
        limit_w -= start_increase_w(s, j, np.inf)
        n = propose(s, n, j, FILL)
        free -= s.nodes[j]
        room_w -= increase_w
    return fill_with_standby(s, n, free, room_w, limit_w)


@mechanism("select", "tracking-only", wake=TICK, kinds=True, target=True, one_class=True, source="AQA §4.3 [4]")
def tracking_only(s: State, mask: int, param: Any, memory: Any) -> int:
    """Start jobs in the order of their arrival while the power stays below the target, whatever they have waited."""
    return start_below_target(s) if s.q_len[0] > 0 else 0


@kernel
def relative_degradation(s: State, over: int, total: Any, count: Any) -> float:
    """Return the mean (or largest) over the kinds with jobs present of their mean QoS degradation over its limit.

    Where every job counts alike (``over`` 2) it is the mean over the jobs.
    """
    kinds = s.k_nodes.shape[0]
    sum_degradation(s, total, count)
    present = 0
    whole = 0.0
    for k in range(kinds):
        if count[k] > 0.0 and s.k_standby[k] == 0:
            value = total[k] / s.k_limit[k]
            if over < ALL_JOBS:
                value /= count[k]
            whole = max(whole, value) if over == LARGEST else whole + value
            present += int(count[k]) if over == ALL_JOBS else 1
    if over == LARGEST or present == 0:
        return whole
    return whole / present


@mechanism(
    "select",
    "energyqare",
    wake=TICK,
    kinds=True,
    target=True,
    one_class=True,
    memory=Memory(per_kind=2),
    params={
        "largest": Param(
            0.0,
            "0: act on the mean over kinds; 1: on the kind that suffers most; 2: on the mean over jobs",
            0.0,
            2.0,
            whole=True,
        ),
        "bounded": Param(
            0.0,
            "1: stop the starts of a period when the error they lead to weighs as much as what users suffer; 0: do not",
            0.0,
            1.0,
            whole=True,
        ),
    },
    source="AQA §4.3 [5]",
)
def energyqare(s: State, mask: int, param: Any, memory: Any) -> int:
    """Follow the target while the tracking error weighs more than what users suffer; otherwise start all that fits,
    uncapped.
    """
    if s.reserve_w[0] > 0.0:
        kinds = s.k_nodes.shape[0]
        error = abs(system_w(s) - s.target_w[0]) / s.reserve_w[0] / TOLERATED
        suffered = relative_degradation(s, int(param[0]), memory[:kinds], memory[kinds : 2 * kinds])
        if error < suffered:
            n = _start_all(s, suffered * TOLERATED * s.reserve_w[0] if param[1] == 1.0 else np.inf)
            if n > 0:  # with nobody to help, leaving the target would serve nobody
                s.uncap[0] = 1
                return n
    return start_below_target(s) if s.q_len[0] > 0 else 0


@kernel
def _start_all(s: State, beyond_w: float) -> int:
    """Propose waiting jobs in order until the power, uncapped, is so far above the target."""
    _, high_w = committed_span_w(s)
    room_w = s.target_w[0] + beyond_w - high_w
    free = s.free[0]
    limit_w = headroom_w(s)
    n = 0
    for i in range(s.q_head[0], s.q_tail[0]):
        if room_w <= 0.0:
            break
        j = s.queue[i]
        if j >= 0 and s.nodes[j] <= free and s.k_standby[s.kind[j]] == 0 and start_increase_w(s, j, np.inf) <= limit_w:
            limit_w -= start_increase_w(s, j, np.inf)
            room_w -= uncapped_increase_w(s, j)
            n = propose(s, n, j, URGENT)
            free -= s.nodes[j]
    return n
