"""A day's budget: every hour's reserve follows from what is left of the time that the error may exceed its margin
today.
"""

from __future__ import annotations

import math
from typing import Any

from wattline.kernel.compiled import kernel
from wattline.model.codes import BIDDING
from wattline.model.mechanism import Memory, Param, mechanism
from wattline.model.state.record import State

P_MEAN_W, P_RESERVE_W, P_AIM, P_GROWTH, P_LEAST, P_LARGEST_W, P_MOST, P_DAY_H, P_BEGINS_H, P_STALE_S = range(10)

DAY, USED_S, SKIPPED_S, EXCEED_S, RATE, SEEN = range(6)
"""memory: 2 + the number of the day, its seconds beyond the margin and those that do not count, seconds beyond the
margin when the last bid was made, the rate expected of it, and the values of the signal that had come until then
"""

HOUR_S = 3600.0


@kernel
def stood_still(s: State, first: int, stale_s: float) -> bool:
    """Tell whether the signal, from a value on, held another value than ±1 for so long that it must be missing."""
    same = 0
    begin = first if first <= s.signal_at[0] else 0  # a real machine keeps the last hours only, and begins anew
    for i in range(max(1, begin), s.signal_at[0]):
        same = same + 1 if s.signal[i] == s.signal[i - 1] and abs(s.signal[i]) < 1.0 else 0
        if same > 0 and (same + 1) * s.signal_step_s[0] > stale_s:
            return stale_s > 0.0
    return False


@kernel
def count_period(s: State, new_s: float, stale_s: float, memory: Any) -> None:
    """Count the period that ends: its seconds beyond the margin, or none of it where the signal was missing."""
    if memory[DAY] == 0.0:
        return
    if stood_still(s, int(memory[SEEN]), stale_s):
        memory[SKIPPED_S] += s.bid_every_s[0]
    else:
        memory[USED_S] += new_s


@kernel
def expected_rate(param: Any, used_s: float, skipped_s: float, gone_s: float) -> float:
    """Return the share of time beyond the margin that the next hours may have, after some seconds of the day."""
    day_s = param[P_DAY_H] * HOUR_S
    left = (param[P_AIM] * (day_s - skipped_s) - used_s) / (day_s - gone_s)
    return max(0.0, min(param[P_MOST] * param[P_AIM], left))


@kernel
def reserve_for(param: Any, rate: float) -> float:
    """Return the reserve with which the error is expected to exceed its margin for a share of the time."""
    part = 1.0 + (rate / param[P_AIM] - 1.0) / param[P_GROWTH]
    return min(param[P_RESERVE_W] * max(param[P_LEAST], part), param[P_LARGEST_W])


@mechanism(
    "bid",
    "day-budget",
    wake=BIDDING,
    memory=Memory(fixed=6),
    params={
        "mean_w": Param(None, "mean power of every bid, W (wattline bid --write finds all of these)", 0.0),
        "reserve_w": Param(None, "reserve with which the error exceeds its margin for the aimed-at share, W", 0.0),
        "aim": Param(0.075, "share of a day in which the tracking error may exceed 0.3", 0.001, 1.0),
        "growth": Param(1.5, "part by which that share grows with the reserve, over the part the reserve grows", 0.1),
        "least": Param(0.4, "least reserve, in parts of reserve_w", 0.0, 1.0),
        "largest_w": Param(math.inf, "largest reserve, W", 0.0),
        "most": Param(1.8, "most that is expected of an hour, in parts of the aim", 1.0),
        "day": Param(24.0, "length of a day, hours", 0.01),
        "begins": Param(0.0, "when a day begins, in hours after the first bid does", 0.0),
        "stale": Param(
            60.0, "seconds for which a signal within ±1 stands still in hours that count as missing (0: none do)", 0.0
        ),
    },
    source="Wattline",
)
def day_budget(s: State, hour: int, param: Any, memory: Any) -> int:
    """Promise a fixed mean power, and the reserve that uses up the day's budget evenly over the hours that are left.

    The budget is the aimed-at share of the day in which the error may exceed its margin; what is gone of it was
    measured. An hour that went beyond it is made up for by the next ones; what an hour leaves is theirs, up to a limit.
    Hours in which the signal was missing do not count. See docs/demand-response.md.
    """
    day_s = param[P_DAY_H] * HOUR_S
    from_s = hour * s.bid_every_s[0] - param[P_BEGINS_H] * HOUR_S
    day = math.floor(from_s / day_s)
    gone_s = from_s - day * day_s
    ahead_s = max(0.0, s.bid_first_s[0] + hour * s.bid_every_s[0] - s.now[0])
    exceed_s = s.exceed_s[0] + memory[RATE] * ahead_s  # until the bid holds, what was expected comes to pass
    count_period(s, exceed_s - memory[EXCEED_S], param[P_STALE_S], memory)
    if memory[DAY] != day + 2.0:
        memory[DAY] = day + 2.0
        memory[USED_S] = 0.0
        memory[SKIPPED_S] = gone_s  # of a day that had begun before the first bid
    rate = expected_rate(param, memory[USED_S], memory[SKIPPED_S], gone_s)
    memory[EXCEED_S] = exceed_s
    memory[RATE] = rate
    memory[SEEN] = float(s.signal_at[0])
    highest_w = 0.0
    for p in range(s.pool_count.shape[0]):
        highest_w += s.pool_count[p] * s.max_w[p]
    s.want_mean_w[0] = param[P_MEAN_W]
    s.want_reserve_w[0] = min(reserve_for(param, rate), highest_w)
    return 1
