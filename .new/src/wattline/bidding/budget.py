"""A day's budget, chosen on recorded days: the mean power, how the rate grows with the reserve, and the aim.

The mean power is that of the cheapest bid whose rates on the days lie below their limits, or, where that is no use, of
the cheapest bid that is sure. At it, the reserves of the search's ladder around it are tried on all days. A line
through their rates, by least squares, says how the rate grows with the reserve. The aim is then the largest for which,
with the policy ``day-budget``, the interval of the next day ends below the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from wattline.arrays import Floats
from wattline.bidding.across import sure_bid
from wattline.bidding.hours.setting import Setting
from wattline.bidding.hours.trial import Trial
from wattline.bidding.searches.aim import Aim, stricter
from wattline.bidding.searches.choice import Choice, bottleneck, largest_reserve_w
from wattline.bidding.searches.search import RUNGS, search_bid
from wattline.market.tracking import SHARE
from wattline.model.regulation import Bid

POLICY = "day-budget"

AIMS = tuple(round(0.005 * i, 3) for i in range(6, 20))
"""Shares of a day that may be aimed at, 3 % to 9.5 %."""

AROUND = (0.4, 1.3)
"""Reserves of the ladder between these parts of that of the cheapest bid are tried for the line."""

FLAT = 0.65
"""Below this part the rate hardly depends on the reserve, or falls with it: with a small one every watt beside the
target counts. The line leaves that out.
"""

LEAST_GROWTH = 0.5
"""A line that is flatter than this says nothing: what the reserve is then hardly matters."""

STEP, GROWTH_STEP = 0.02, 0.1
"""The reserve at the aim is a multiple of this part of the way from idle to mean power, the growth one of this number:
searches on nearly the same days then try the same.
"""


@dataclass(frozen=True)
class Curve:
    """How the share of time with too large an error grows with the reserve: a line, and where it begins."""

    rate: float
    slope_per_w: float
    reserve_w: float
    """The line goes through this reserve with this rate."""
    least_w: float
    """The reserve with the least rate of those that were tried."""

    def at(self, aim: float, step_w: float) -> tuple[float, float]:
        """Return the reserve with which the aim is expected, and by which part the rate grows there."""
        reserve_w = max(self.reserve_w + (aim - self.rate) / self.slope_per_w, self.least_w)
        growth = max(LEAST_GROWTH, self.slope_per_w * reserve_w / aim)
        return max(1, round(reserve_w / step_w)) * step_w, round(growth / GROWTH_STEP) * GROWTH_STEP


def is_budget(setting: Setting) -> bool:
    """Tell whether the bids of a setting are made by the policy that keeps a day's budget."""
    return setting.policies.bid.builtin and setting.policies.bid.name == POLICY


def budget_bid(trial: Trial, *, mode: str, confidence: float, quick: bool = False) -> Choice:
    """Return the choice with the largest aim for which the interval of the next day ends below the limit.

    The interval is stricter than that of the certificate where an aim can be had for it. Where there is none at the
    mean power of the cheapest bid, that of the cheapest bid which is sure by itself is taken. If there is none at all,
    the least aim is returned as not feasible.
    """
    plain = search_bid(trial.setting, mode=mode, quick=quick, trial=trial, safe=False)
    found = _at_mean(trial, plain, mode, confidence)
    if found.feasible:
        return found
    fixed = sure_bid(trial, mode=mode, confidence=confidence, quick=quick)
    other = _at_mean(trial, fixed, mode, confidence) if fixed.feasible else found
    return other if other.feasible else found


def _at_mean(trial: Trial, choice: Choice, mode: str, confidence: float) -> Choice:
    """Return the choice with the largest aim at the mean power of another choice."""
    curve = curve_of(trial, choice, mode)
    tried: dict[float, Choice] = {}

    def at(aim: float) -> Choice:
        if aim not in tried:
            tried[aim] = with_budget(trial, choice, curve, aim, mode)
        return tried[aim]

    def holds(aim: float, sure: float) -> bool:
        return Aim(sure).met(at(aim).outcome)

    for sure in stricter(confidence):
        found = _last(AIMS, partial(holds, sure=sure))
        if found is not None:
            return replace(at(found), feasible=True)
    return replace(at(AIMS[0]), feasible=False)


def _last(values: Sequence[float], holds: Callable[[float], bool]) -> float | None:
    """Return the last value for which something holds that holds for all before it, or None."""
    low, high = -1, len(values)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(values[middle]) else (low, middle)
    return None if low < 0 else values[low]


def given_budget(setting: Setting, choice: Choice) -> Choice:
    """Return the choice of the parameters that the scenario gives to the policy."""
    policy = setting.policies.bid
    values = dict(zip(policy.params, policy.values(setting.policies.params.get("bid", {})), strict=True))
    bid = Bid(values["mean_w"], values["reserve_w"])
    return replace(choice, bid=bid, params={"bid": tuple(values.values())})


def curve_of(trial: Trial, choice: Choice, mode: str) -> Curve:
    """Return how the rate grows with the reserve on the days of a trial, at a mean power."""
    mean_w, own_w = choice.bid.mean_w, choice.bid.reserve_w
    way_w, most_w = mean_w - trial.setting.idle_total_w, largest_reserve_w(trial.setting, mean_w, mode)
    low_w, high_w = (part * own_w for part in AROUND)
    reserves = sorted({own_w, *(w for w in (rung * way_w for rung in RUNGS) if low_w <= w <= min(high_w, most_w))})
    bids = [Bid(mean_w, watts) for watts in reserves]
    rates = [trial.run(bid, choice.weights, choice.params).exceed.share for bid in bids]
    return fitted(np.array(reserves), np.array(rates), own_w)


def fitted(reserves_w: Floats, rates: Floats, own_w: float) -> Curve:
    """Return the line by least squares through the points that are not on the flat part, two at least."""
    least = int(np.argmin(rates))
    first = max(least, int(np.searchsorted(reserves_w, FLAT * own_w)))
    first = max(0, min(first, reserves_w.size - 2))
    x, y = reserves_w[first:], rates[first:]
    slope = float(np.cov(x, y)[0, 1] / np.var(x, ddof=1)) if x.size > 1 else 0.0
    slope = max(slope, LEAST_GROWTH * SHARE / float(x[-1]))
    return Curve(float(y.mean()), slope, float(x.mean()), float(reserves_w[least]))


def with_budget(trial: Trial, choice: Choice, curve: Curve, aim: float, mode: str) -> Choice:
    """Return a choice with the bids of the policy at an aim."""
    mean_w = choice.bid.mean_w
    reserve_w, growth = curve.at(aim, STEP * (mean_w - trial.setting.idle_total_w))
    params = {
        **(choice.params or {}),
        "bid": values_of(trial.setting, mean_w, reserve_w, aim, growth, curve.least_w, mode),
    }
    bid = Bid(mean_w, reserve_w)
    outcome = trial.run(bid, choice.weights, params)
    return replace(choice, bid=bid, params=params, outcome=outcome, limits=bottleneck(outcome))


def values_of(
    setting: Setting, mean_w: float, reserve_w: float, aim: float, growth: float, least_w: float, mode: str
) -> Sequence[float]:
    """Return the parameters of the policy in their order; what the scenario gives beside these stays."""
    own = {
        "mean_w": mean_w,
        "reserve_w": reserve_w,
        "aim": aim,
        "growth": growth,
        "least": min(1.0, least_w / reserve_w),
        "largest_w": largest_reserve_w(setting, mean_w, mode),
    }
    policy = setting.policies.bid
    return tuple(policy.values({**setting.policies.params.get("bid", {}), **own}))
