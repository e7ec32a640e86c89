"""Quantile bidding: as much reserve as the tail of the signal allows, around a mean power that the users' slack
allows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wattline.kernel.compiled import kernel
from wattline.model.codes import BIDDING
from wattline.model.mechanism import Memory, Param, mechanism
from wattline.model.state.record import State
from wattline.model.structures.many_running import listed
from wattline.model.structures.nodes import count_back
from wattline.physics.power import least_cap_w
from wattline.policies.select.kinds import average_degradation, degradation, work_left_s

P_SHARE, P_EASE, P_STD, P_ENERGY, P_RESERVE, P_ERROR, P_STRICT, P_MARGIN = range(8)

BINS = 64
DEPTHS, WIDTHS = 21, 80
WIDEST = 4.0
"""Reserves looked at reach up to this many halves of the range."""

KEPT = 0.97
"""What an hour of the signal still counts an hour later: half after a day."""

SEEN = BINS
"""memory: weights of the signal's bins, the number of its values seen, then two numbers a kind"""


@kernel
def see_signal(s: State, memory: Any, std: float) -> None:
    """Add the values of the signal since the last bid to the bins; before there are any, a normal law stands in."""
    seen = int(memory[SEEN])
    now = s.signal_at[0]
    begin = seen if seen <= now else 0  # a real machine keeps the last hours only, and begins anew
    if seen == 0 or now > begin:
        for b in range(BINS):
            memory[b] *= KEPT
    if seen == 0:
        for b in range(BINS):
            y = (2.0 * b + 1.0) / BINS - 1.0
            memory[b] = math.exp(-0.5 * (y / std) ** 2)
    total = 0.0
    for b in range(BINS):
        total += memory[b]
    if seen == 0:
        for b in range(BINS):
            memory[b] *= 100.0 / total  # a few minutes' worth: soon outweighed by what is seen
    for i in range(begin, now):
        b = min(BINS - 1, int((s.signal[i] + 1.0) * 0.5 * BINS))
        memory[b] += 1.0
    memory[SEEN] = max(1.0, float(now))


@kernel
def lowest_w(s: State, j: int, average: Any) -> float:
    """Return the least power per node at which a job shall be held: none below full where its kind misses its limit."""
    k = s.kind[j]
    if s.k_standby[k] == 0 and (average[k] > s.k_limit[k] or degradation(s, j) > s.k_limit[k]):
        return s.draw_w[j]
    return min(s.draw_w[j], least_cap_w(s, j))


@kernel
def pressure(s: State, average: Any, count: Any) -> float:
    """Return how far the kind that suffers most is towards its limit (0 … 1 and beyond)."""
    most = 0.0
    for k in range(s.k_nodes.shape[0]):
        if count[k] > 0.0 and s.k_standby[k] == 0:
            most = max(most, average[k] / s.k_limit[k])
    return most


@kernel
def stays(s: State, j: int, ahead_s: float) -> bool:
    """Tell whether a running job is estimated to hold its nodes for some time yet, if nothing slows it."""
    done_s = s.work[j] - work_left_s(s, j)
    return ahead_s == 0.0 or s.estimate_s[j] - done_s > ahead_s


@kernel
def reach_w(s: State, average: Any, ahead_s: float) -> tuple[float, float]:
    """Return the power that caps reach now or some time ahead: jobs that still run then, and those that fit beside
    them.
    """
    low_w = 0.0
    high_w = 0.0
    free = s.free[0]
    for i in range(listed(s)):
        j = s.running[i]
        if stays(s, j, ahead_s):
            low_w += s.nodes[j] * lowest_w(s, j, average)
            high_w += s.nodes[j] * s.draw_w[j]
        else:
            free += count_back(s, j)
    for i in range(s.q_head[0], s.q_tail[0]):
        j = s.queue[i]
        if j >= 0 and s.k_standby[s.kind[j]] == 0 and s.nodes[j] <= free:
            free -= s.nodes[j]
            low_w += s.nodes[j] * lowest_w(s, j, average)
            high_w += s.nodes[j] * s.draw_w[j]
    return low_w + free * s.idle_w[0], high_w + free * s.idle_w[0]


@kernel
def judge_bid(
    memory: Any, mean_w: float, reserve_w: float, low_w: float, high_w: float, margin: float
) -> tuple[float, float]:
    """Return the weight of the signal's bins beyond the tracking margin, and the weighted gap in watts, within a
    range.
    """
    missed = 0.0
    gaps_w = 0.0
    for b in range(BINS):
        target_w = mean_w + ((2.0 * b + 1.0) / BINS - 1.0) * reserve_w
        gap_w = max(low_w - target_w, target_w - high_w, 0.0)
        gaps_w += memory[b] * gap_w
        if gap_w > margin * reserve_w:
            missed += memory[b]
    return missed, gaps_w


@mechanism(
    "bid",
    "quantile",
    wake=BIDDING,
    kinds=True,
    one_class=True,
    memory=Memory(fixed=BINS + 1, per_kind=2),
    params={
        "share": Param(
            0.07, "share of time that may lie beyond the tracking margin, by what was seen of the signal", 0.0, 1.0
        ),
        "ease": Param(0.5, "part of its limit up to which no kind's wait raises the mean power", 0.0, 0.99),
        "std": Param(0.4, "standard deviation of the signal before any was seen", 0.01, 1.0),
        "energy": Param(0.10, "price of energy, $/kWh", 0.0),
        "reserve": Param(0.10, "price paid for reserve, $/kWh", 0.0),
        "error": Param(0.10, "price of |power - target|, $/kWh", 0.0),
        "strict": Param(
            1.0, "1: the whole target stays between the machine's idle and greatest power; 0: not", 0.0, 1.0, whole=True
        ),
        "margin": Param(0.3, "tracking error beyond which time counts as missed; less is more careful", 0.0, 1.0),
    },
    source="Wattline",
)
def quantile(s: State, hour: int, param: Any, memory: Any) -> int:
    """Promise the cheapest bid whose target the jobs at hand can follow but for a tolerated share of the time.

    Caps reach from low to high with the jobs that run and those that fit beside them, now and at the hour's end by
    what is estimated of run times. For every mean power and reserve the cost of an hour and the time beyond the
    margin follow, half by each range, from the distribution of the signal as seen so far. The mean power lies the
    higher in the range the closer the worst kind is to its limit, at the middle or above once it is there. See
    docs/quantile.md.
    """
    kinds = s.k_nodes.shape[0]
    average = memory[BINS + 1 : BINS + 1 + kinds]
    count = memory[BINS + 1 + kinds : BINS + 1 + 2 * kinds]
    see_signal(s, memory, param[P_STD])
    average_degradation(s, average, count)
    low_w, high_w = reach_w(s, average, 0.0)
    later_low_w, later_high_w = reach_w(s, average, s.bid_lead_s[0] + s.bid_every_s[0])
    if not high_w > low_w:
        return 0
    need = min(1.0, max(0.0, (pressure(s, average, count) - param[P_EASE]) / (1.0 - param[P_EASE])))
    idle_w = s.pool_count[0] * s.idle_w[0]
    most_w = s.pool_count[0] * s.max_w[0]
    total = 0.0
    for b in range(BINS):
        total += memory[b]
    best = np.inf
    for d in range(DEPTHS):
        mean_w = low_w + (0.5 * need + (1.0 - 0.5 * need) * d / (DEPTHS - 1.0)) * (high_w - low_w)
        for r in range(1, WIDTHS + 1):
            reserve_w = WIDEST * r / WIDTHS * 0.5 * (high_w - low_w)
            if param[P_STRICT] == 1.0 and (mean_w - reserve_w < idle_w or mean_w + reserve_w > most_w):
                break
            missed, gaps_w = judge_bid(memory, mean_w, reserve_w, low_w, high_w, param[P_MARGIN])
            more, more_w = judge_bid(memory, mean_w, reserve_w, later_low_w, later_high_w, param[P_MARGIN])
            if missed + more > 2.0 * param[P_SHARE] * total:
                continue  # not the end: where the mean power lies beyond the later range, a larger reserve misses less
            cost = (
                param[P_ENERGY] * mean_w
                - param[P_RESERVE] * reserve_w
                + param[P_ERROR] * 0.5 * (gaps_w + more_w) / total
            )
            if cost < best:
                best = cost
                s.want_mean_w[0] = mean_w
                s.want_reserve_w[0] = reserve_w
    return 1 if best < np.inf else 0
