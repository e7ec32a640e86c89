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

DAY, SINCE, USED_S, SKIPPED_S, EXCEED_S, SIGNAL, MISSED, RATE = range(8)
"""memory: the number of the day; 1 + the first period of it that counts (0: there is none yet); seconds beyond the
margin of those that are over, and seconds that do not count; of the period that was going on when the last bid was
made: seconds beyond the margin before it, steps of the signal before it, whether the signal was missing in it; the rate
expected of the last bid
"""

ROUNDING = 1e-9
"""Part of a period by which a day may seem to begin beside one."""

HOUR_S = 3600.0


@kernel
def stood_still(s: State, begin: int, end: int, stale_s: float) -> bool:
    """Tell whether a part of the signal holds another value than ±1 for so long that it must be missing."""
    if stale_s == 0.0:
        return False
    first = begin if begin <= end else 0  # a real machine keeps the last hours only, and begins anew
    same = 0
    for i in range(first + 1, end):
        same = same + 1 if s.signal[i] == s.signal[i - 1] and abs(s.signal[i]) < 1.0 else 0
        if same > 0 and (same + 1) * s.signal_step_s[0] > stale_s:
            return True
    return False


@kernel
def periods_of(param: Any, every_s: float, hour: int) -> tuple[int, int, int]:
    """Return the day in which a period begins, its first period, and the first of the next day."""
    day_s = param[P_DAY_H] * HOUR_S
    begins_s = param[P_BEGINS_H] * HOUR_S
    day = math.floor((hour * every_s - begins_s + ROUNDING * every_s) / day_s)
    first = math.ceil((begins_s + day * day_s) / every_s - ROUNDING)
    following = math.ceil((begins_s + (day + 1) * day_s) / every_s - ROUNDING)
    return day, first, following


@kernel
def close_period(s: State, hour: int, stale_s: float, memory: Any) -> None:
    """Count the period that was going on when the last bid was made: all of it is known now."""
    if memory[SINCE] == 0.0 or hour + 1 < memory[SINCE]:
        return
    if memory[MISSED] == 1.0 or stood_still(s, int(memory[SIGNAL]), s.period_signal[0], stale_s):
        memory[SKIPPED_S] += s.bid_every_s[0]
    else:
        memory[USED_S] += s.period_exceed_s[0] - memory[EXCEED_S]


@kernel
def expected_rate(param: Any, day_s: float, used_s: float, skipped_s: float, left_s: float) -> float:
    """Return the share of time beyond the margin that each of the periods which are left of a day may have."""
    share = (param[P_AIM] * (day_s - skipped_s) - used_s) / left_s
    return max(0.0, min(param[P_MOST] * param[P_AIM], share))


@kernel
def reserve_for(param: Any, rate: float) -> float:
    """Return the reserve with which the error is expected to exceed its margin for a share of the time."""
    part = 1.0 + (rate / param[P_AIM] - 1.0) / param[P_GROWTH]
    return min(param[P_RESERVE_W] * max(param[P_LEAST], part), param[P_LARGEST_W])


@mechanism(
    "bid",
    "day-budget",
    wake=BIDDING,
    memory=Memory(fixed=8),
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
    every_s = s.bid_every_s[0]
    day, first, following = periods_of(param, every_s, hour)
    close_period(s, hour - 2, param[P_STALE_S], memory)
    if memory[SINCE] == 0.0 or memory[DAY] != day:
        memory[DAY] = day
        memory[SINCE] = hour + 1
        memory[USED_S] = 0.0
        memory[SKIPPED_S] = (hour - first) * every_s  # of a day that had begun before the first bid
    used_s = memory[USED_S]
    skipped_s = memory[SKIPPED_S]
    memory[MISSED] = 0.0
    if hour + 1 > memory[SINCE]:
        ahead_s = max(0.0, s.bid_first_s[0] + hour * every_s - s.now[0])
        if stood_still(s, s.period_signal[0], s.signal_at[0] - 1, param[P_STALE_S]):
            memory[MISSED] = 1.0
            skipped_s += every_s
        else:  # until the bid holds, what was expected comes to pass
            used_s += s.exceed_s[0] - s.period_exceed_s[0] + memory[RATE] * ahead_s
    rate = expected_rate(param, (following - first) * every_s, used_s, skipped_s, (following - hour) * every_s)
    memory[EXCEED_S] = s.period_exceed_s[0]
    memory[SIGNAL] = float(s.period_signal[0])
    memory[RATE] = rate
    highest_w = 0.0
    for p in range(s.pool_count.shape[0]):
        highest_w += s.pool_count[p] * s.max_w[p]
    s.want_mean_w[0] = param[P_MEAN_W]
    s.want_reserve_w[0] = min(reserve_for(param, rate), highest_w)
    return 1
