"""Follow a power target with caps: one ratio for all running jobs, and none while the power is below the target."""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.kernel.compiled import kernel
from wattline.model.codes import TICK
from wattline.model.mechanism import Memory, mechanism
from wattline.model.state.record import State
from wattline.physics.power import LIMIT_SLACK, lowest_node_w, lowest_share, span_w, uncapped_increase_w

M_RATIO, M_GOAL, M_LOW, M_HIGH, M_NONE_SPARED, M_SPARED = range(6)
"""memory: one minus the ratio in force, so that memory begins with *no cap*; what it was computed for, whether a limit
kept all kinds from being spared, and which were to be
"""


@kernel
def spared(s: State, c: int) -> bool:
    """Tell whether select asks for no cap on the jobs of a rate class."""
    return s.c_kind[c] >= 0 and s.c_kind[c] < s.k_uncap.shape[0] and s.k_uncap[s.c_kind[c]] == 1


@kernel
def reach_w(s: State, spares: bool) -> tuple[float, float]:  # kernels take no keywords
    """Return the system's power at the lowest caps of all that may be capped, and without caps."""
    low_w, high_w = span_w(s)
    for i in range(s.n_active[0]):
        c = s.active[i]
        if spares and spared(s, c):
            low_w += s.c_watts[c] * s.level_busy[s.c_pool[c], s.level[s.c_pool[c]]] * (1.0 - lowest_share(s, c))
    return low_w, high_w


@kernel
def add_starting(s: State, spares: bool, low_w: float, high_w: float) -> tuple[float, float]:
    """Return the same with the jobs that are starting, as if they ran."""
    for i in range(s.n_starting[0]):
        j = s.starting[i]
        high = uncapped_increase_w(s, j)
        high_w += high
        free = spares and spared(s, s.base_class[j])
        low_w += high if free else s.nodes[j] * (lowest_node_w(s, j) - s.idle_w[s.pool[j]])
    return low_w, high_w


@kernel
def meeting(goal_w: float, low_w: float, high_w: float) -> float:
    """Return the ratio at which power meets a goal."""
    if high_w <= goal_w:
        return 1.0
    return max(0.0, (goal_w - low_w) / (high_w - low_w)) if high_w > low_w else 0.0


@kernel
def others_spared(s: State, before: Any) -> bool:
    """Tell whether other kinds than before are spared, and note which are."""
    changed = False
    for k in range(s.k_uncap.shape[0]):
        if before[k] != s.k_uncap[k]:
            before[k] = s.k_uncap[k]
            changed = True
    return changed


@mechanism(
    "cap",
    "match-target",
    wake=TICK,
    caps=True,
    target=True,
    memory=Memory(fixed=5, per_kind=1),
    source="AQA §3.4, eq. for γ",
)
def match_target(s: State, mask: int, param: Any, memory: Any) -> int:
    """One ratio for all caps, so that power meets the target when it would exceed it.

    A job at ratio γ draws floor + γ (draw - floor) on each node; γ is 1 (no caps) while the power without caps stays
    below the target and 0 when even the lowest caps exceed it. A select policy may ask for a pass without caps, or for
    none on the jobs of some kinds. A power limit below the target takes its place: jobs that were admitted under caps
    stay under it when those are lifted, and nobody is spared while that would break it.
    """
    goal_w = s.limit_w[0]
    if s.uncap[0] == 0 and s.target_w[0] < goal_w:  # false without a target, which is NaN
        goal_w = s.target_w[0]
    s.uncap[0] = 0
    low_w, high_w = reach_w(s, True)
    spares = True
    if s.limit_w[0] < np.inf:
        surely_w, _ = add_starting(s, True, low_w, high_w)
        if surely_w > s.limit_w[0] * (1.0 + LIMIT_SLACK):
            spares = False
            low_w, high_w = reach_w(s, False)
    comes = s.n_starting[0] > 0 and s.limit_w[0] < np.inf
    others = others_spared(s, memory[M_SPARED:]) or spares == (memory[M_NONE_SPARED] == 1.0)
    memory[M_NONE_SPARED] = 0.0 if spares else 1.0
    if not comes and not others and goal_w == memory[M_GOAL] and low_w == memory[M_LOW] and high_w == memory[M_HIGH]:
        return 0
    memory[M_GOAL] = goal_w if not comes else np.nan
    memory[M_LOW] = low_w
    memory[M_HIGH] = high_w
    ratio = meeting(goal_w, low_w, high_w)
    if comes:  # a limit also holds for jobs that will be there in a moment
        low_w, high_w = add_starting(s, spares, low_w, high_w)
        ratio = min(ratio, meeting(s.limit_w[0], low_w, high_w))
    if ratio == 1.0 and memory[M_RATIO] == 0.0:
        return 0
    memory[M_RATIO] = 1.0 - ratio
    for c in range(s.want_cap_w.shape[0]):
        if s.c_draw_w[c] != s.c_draw_w[c]:
            continue
        lowest_w = max(s.min_cap_w[s.c_pool[c]], s.c_floor_w[c])
        s.want_cap_w[c] = np.inf
        if ratio < 1.0 and lowest_w < s.c_draw_w[c] and not (spares and spared(s, c)):
            s.want_cap_w[c] = lowest_w + ratio * (s.c_draw_w[c] - lowest_w)
    return 1
