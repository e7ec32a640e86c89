"""Search the cheapest bid that keeps every promise: the largest reserve at each mean power, by bisection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from wattline.arrays import Floats
from wattline.bidding.choice import PAPER, Choice, bottleneck, largest_reserve_w
from wattline.bidding.outcome import Outcome
from wattline.bidding.params import Params, tried
from wattline.bidding.setting import Setting
from wattline.bidding.trial import Trial
from wattline.market.tracking import SHARE
from wattline.model.regulation import Bid

SEARCH_SEEDS = range(10_000, 10_024)
PROOF_SEEDS = range(20_000, 20_128)
"""Hours of the search, and others on which its result is made safe; certificates use neither."""

LEAST = 0.15
"""Least reserve looked at, in parts of the way to idle power."""

GUARD = 0.94
"""Part of the limits below which the intervals must end where a bid is made safe: a bid pushed to the edge of one
sample of hours lies beyond the edge of the next one more often than not.
"""

STEPS, SAFE_STEPS = 7, 8
"""Bisections of the reserve in the search, and where its result is made safe."""


def search_bid(
    setting: Setting,
    *,
    mode: str = PAPER,
    settings_of_policy: Sequence[Params] | None = None,
    part: float = 1.0,
    rounds: int = 3,
    trial: Trial | None = None,
    proof: Trial | None = None,
    weights: Floats | None = None,
    safe: bool = True,
) -> Choice:
    """Return the cheapest bid whose constraints hold with something to spare (to a ``part`` of their limits).

    A mean power is named by its place between what the jobs need at their lowest caps (0) and uncapped (1). At each one
    the largest reserve is found by bisection on hours with common random numbers; mean powers are tried ever closer
    around the best, then other settings of the policy there; the result is made ``safe`` on other hours.
    """
    trial = trial or Trial(setting, SEARCH_SEEDS)
    choices = list(settings_of_policy or tried(setting.policies))
    found: dict[float, Choice | None] = {}

    def cost(place: float) -> float:
        if place not in found:
            found[place] = _largest(trial, mean_power_w(setting, place), mode, choices[0], part, weights)
        got = found[place]
        return np.inf if got is None else got.outcome.cost

    best_place = min(FIRST_PLACES, key=cost)
    if not np.isfinite(cost(best_place)):
        best_place = min(FURTHER_PLACES, key=cost)
    for i in range(1, rounds):
        step = FIRST_STEP / 2**i
        best_place = min((best_place, best_place - step, best_place + step), key=cost)
    best = found[best_place]
    for params in choices[1:]:
        other = _largest(trial, mean_power_w(setting, best_place), mode, params, part, weights)
        if other is not None and (best is None or other.outcome.cost < best.outcome.cost):
            best = other
    if best is None:
        return _least_bad(trial, mode, choices, weights)
    runs = sum(choice.runs for choice in found.values() if choice is not None)
    best = replace(best, runs=runs)
    return make_safe(setting, best, proof) if safe else best


FIRST_STEP = 0.25
FIRST_PLACES, FURTHER_PLACES = (0.45, 0.2, 0.7), (0.95, 1.2)


def mean_power_w(setting: Setting, place: float) -> float:
    """Return the mean power at a place between what the jobs need at their lowest caps (0) and what they draw without
    (1).

    Standby jobs take whatever is offered beyond that: with them place 1 is the greatest power of the machine. Where
    caps save next to no energy the places are spread over a tenth of the load.
    """
    low, high = setting.load_w(capped=True), setting.load_w()
    low = min(low, high)
    if any(kind.standby for kind in setting.kinds):
        high = setting.max_total_w - setting.idle_total_w
    elif high - low < 0.02 * high:
        low = 0.9 * high
    return float(min(setting.idle_total_w + max(low + place * (high - low), 0.0), setting.max_total_w))


def _largest(
    trial: Trial, mean_w: float, mode: str, params: Params | None, part: float, weights: Floats | None
) -> Choice | None:
    """Return the choice with the largest reserve that keeps all constraints at a mean power, or None."""
    setting = trial.setting
    if not setting.idle_total_w < mean_w <= setting.max_total_w:
        return None
    most_w = largest_reserve_w(setting, mean_w, mode)
    low_w, high_w = min(LEAST * (mean_w - setting.idle_total_w), most_w), most_w
    best: Outcome | None = None
    best_bid, runs = Bid(mean_w, low_w), 0
    reserve_w = min(most_w, mean_w - setting.idle_total_w)  # strict reach often goes this far
    for _ in range(STEPS):
        bid = Bid(mean_w, reserve_w)
        outcome = trial.run(bid, weights, params)
        runs += 1
        if outcome.excess(part=part) == 0.0:
            best, best_bid, low_w = outcome, bid, reserve_w
            if reserve_w >= most_w:
                break
        else:
            high_w = reserve_w
            if runs == 1 and low_w < reserve_w:
                runs += 1
                if trial.run(Bid(mean_w, low_w), weights, params).excess(part=part) > 0.0:
                    return None  # not even the least reserve: nothing in between would do
        reserve_w = float(np.sqrt(low_w * high_w))
    if best is None:
        return None
    return Choice("search", best_bid, best, weights, params, limits=bottleneck(best), runs=runs)


def _least_bad(trial: Trial, mode: str, choices: Sequence[Params], weights: Floats | None) -> Choice:
    """Return the bid with the least total violation, when none keeps all constraints."""
    found = []
    for params in choices:
        for place in (*FIRST_PLACES, *FURTHER_PLACES):
            mean_w = mean_power_w(trial.setting, place)
            most_w = min(largest_reserve_w(trial.setting, mean_w, mode), 2 * (mean_w - trial.setting.idle_total_w))
            for part in (0.1, 0.3, 0.6, 1.0):
                bid = Bid(mean_w, part * most_w)
                found.append(Choice("search", bid, trial.run(bid, weights, params), weights, params, feasible=False))
    best = min(found, key=lambda choice: (choice.outcome.excess(), choice.outcome.cost))
    return replace(best, limits=bottleneck(best.outcome), runs=len(found))


def make_safe(setting: Setting, choice: Choice, proof: Trial | None = None) -> Choice:
    """Find the largest reserve for which, on other hours, the intervals of all rates end below their limits."""
    proof = proof or Trial(setting, PROOF_SEEDS)
    reserve_w, low_w, high_w = choice.bid.reserve_w, 0.0, choice.bid.reserve_w
    safe: Choice | None = None
    for _ in range(SAFE_STEPS):
        bid = Bid(choice.bid.mean_w, reserve_w)
        outcome = proof.run(bid, weights=choice.weights, params=choice.params)
        here = replace(choice, bid=bid, outcome=outcome, limits=bottleneck(outcome), feasible=is_safe(outcome, GUARD))
        if here.feasible:
            safe, low_w = here, reserve_w
            if reserve_w >= choice.bid.reserve_w:
                break
        else:
            high_w = reserve_w
        reserve_w = 0.9 * reserve_w if safe is None else 0.5 * (low_w + high_w)
    return safe or here


def is_safe(outcome: Outcome, part: float = 1.0) -> bool:
    """Tell whether the intervals of all rates end below their limits (or below a part of them)."""
    promised = [
        rate.within(part * kind.share)
        for kind, rate in zip(outcome.kinds, outcome.rates(), strict=True)
        if not kind.standby and np.isfinite(kind.limit)
    ]
    return outcome.exceed.within(part * SHARE) and all(promised)
