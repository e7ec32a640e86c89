"""Fixed Heuristics: the same bid every hour, from long-term rates."""

from __future__ import annotations

from typing import Any

from wattline.model.codes import BIDDING
from wattline.model.mechanism import Param, mechanism
from wattline.model.state.record import State


@mechanism(
    "bid",
    "fixed-heuristic",
    wake=BIDDING,
    kinds=True,
    one_class=True,
    rates=True,
    params={
        "weighted": Param(
            0.0, "1: mean powers of kinds weighted by their node-hours; 0: each kind counts once", 0.0, 1.0, whole=True
        )
    },
    source="Y. Zhang's thesis, §2.8.2 (FH)",
)
def fixed_heuristic(s: State, hour: int, param: Any, memory: Any) -> int:
    """Promise the middle and half the width of the range that caps reach at the mean number of busy nodes."""
    busy = 0.0
    low_w = 0.0
    high_w = 0.0
    total = 0.0
    for k in range(s.k_nodes.shape[0]):
        if s.k_standby[k] == 1 or s.k_rate[k] == 0.0:
            continue
        nodes = s.k_rate[k] * s.k_nodes[k] * s.k_work_s[k]
        weight = nodes if param[0] == 1.0 else 1.0
        busy += nodes
        low_w += weight * min(s.k_draw_w[k], max(s.k_floor_w[k], s.min_cap_w[0]))
        high_w += weight * s.k_draw_w[k]
        total += weight
    if total == 0.0:
        return 0
    nodes = float(s.pool_count[0])
    busy = min(busy, nodes)
    idle_w = (nodes - busy) * s.idle_w[0]
    low_w = idle_w + busy * low_w / total
    high_w = idle_w + busy * high_w / total
    s.want_mean_w[0] = 0.5 * (high_w + low_w)
    s.want_reserve_w[0] = 0.5 * (high_w - low_w)
    return 1
