"""Adaptive bidding: the range of power that the jobs at hand can reach."""

from __future__ import annotations

from typing import Any

from wattline.kernel.compiled import kernel
from wattline.model.codes import BIDDING
from wattline.model.mechanism import Param, mechanism
from wattline.model.state.record import State
from wattline.model.structures.many_running import listed
from wattline.physics.power import least_cap_w
from wattline.policies.select.kinds import degradation


@kernel
def lowest_w(s: State, j: int) -> float:
    """Return the least power per node at which a job may be held: its lowest cap, or none if it has missed its
    limit.
    """
    k = s.kind[j]
    if s.k_standby[k] == 0 and degradation(s, j) > s.k_limit[k]:
        return s.draw_w[j]
    return min(s.draw_w[j], least_cap_w(s, j))


@mechanism(
    "bid",
    "adaptive",
    wake=BIDDING,
    kinds=True,
    one_class=True,
    params={
        "pass_over": Param(
            0.0, "1: waiting jobs that do not fit are passed over; 0: counting ends at the first", 0.0, 1.0, whole=True
        )
    },
    source="Y. Zhang's thesis, §2.8.2 (Adaptive)",
)
def adaptive(s: State, hour: int, param: Any, memory: Any) -> int:
    """Promise the middle and half the width of what caps reach with the jobs that run and those that fit beside them.

    A job that has missed its limit of QoS degradation counts with full power at both ends.
    """
    low_w = 0.0
    high_w = 0.0
    for i in range(listed(s)):
        j = s.running[i]
        low_w += s.nodes[j] * lowest_w(s, j)
        high_w += s.nodes[j] * s.draw_w[j]
    free = s.free[0]
    for i in range(s.q_head[0], s.q_tail[0]):
        j = s.queue[i]
        if j < 0 or s.k_standby[s.kind[j]] == 1:
            continue
        if s.nodes[j] > free:
            if param[0] == 1.0:
                continue
            break
        free -= s.nodes[j]
        low_w += s.nodes[j] * lowest_w(s, j)
        high_w += s.nodes[j] * s.draw_w[j]
    idle_w = free * s.idle_w[0]
    s.want_mean_w[0] = idle_w + 0.5 * (high_w + low_w)
    s.want_reserve_w[0] = 0.5 * (high_w - low_w)
    return 1
