"""Search the cheapest bid that keeps every promise: the largest reserve at each mean power, by bisection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from wattline.bid.choice import PAPER, Choice, bottleneck, largest_reserve_w
from wattline.bid.outcome import Outcome
from wattline.bid.setting import Setting
from wattline.bid.trial import Params, Trial
from wattline.model.regulation import Bid

SEARCH_SEEDS = range(10_000, 10_024)
PROOF_SEEDS = range(20_000, 20_096)
"""Hours of the search, and others on which its result is made safe; certificates use neither."""

STEPS, SAFE_STEPS = 7, 8
"""Bisections of the reserve in the search, and where its result is made safe."""


def search_bid(
    setting: Setting, *, mode: str = PAPER, settings_of_policy: Sequence[Params] | None = None, part: float = 0.95,
    points: int = 5, trial: Trial | None = None, proof: Trial | None = None,
) -> Choice:  # fmt: skip
    """Return the cheapest bid whose constraints hold with something to spare (to a ``part`` of their limits).

    For every mean power between what the jobs draw at their lowest caps and uncapped, and for every setting of the policy, the
    largest reserve is found by bisection on hours with common random numbers; the best is then made safe on other hours.
    """
    trial = trial or Trial(setting, SEARCH_SEEDS)
    tried: list[Choice] = []
    for params in settings_of_policy or policy_settings(setting):
        for mean_w in mean_powers(setting, points):
            found = _largest(trial, mean_w, mode, params, part)
            if found is not None:
                tried.append(found)
    if not tried:
        return _least_bad(trial, mode, settings_of_policy or policy_settings(setting), points)
    best = min(tried, key=lambda choice: choice.outcome.cost)
    for _ in range(2):  # look closer around the best mean power
        span_w = (mean_powers(setting, points)[1] - mean_powers(setting, points)[0]) / 2
        for mean_w in (best.bid.mean_w - span_w, best.bid.mean_w + span_w):
            found = _largest(trial, mean_w, mode, best.params, part)
            if found is not None and found.outcome.cost < best.outcome.cost:
                best = found
    return make_safe(setting, best, proof)


def policy_settings(setting: Setting) -> list[Params]:
    """Return the settings of the policy worth trying: for Slackline, when a job is forced to start."""
    if setting.recipe.select != "slackline":
        return [{}]
    preempt = setting.recipe.params.get("select", {}).get("preempt", 0.0)
    return [{"select": (force, 0.6, 0.5, preempt)} for force in (0.75, 0.95)]


def mean_powers(setting: Setting, points: int) -> list[float]:
    """Return mean powers from a little below what the jobs need at their lowest caps to what they draw without."""
    low, high = setting.load_w(capped=True), setting.load_w()
    parts = np.linspace(0.1, 1.0, points)
    return [float(min(setting.idle_total_w + low + part * (high - low), setting.max_total_w)) for part in parts]


def _largest(trial: Trial, mean_w: float, mode: str, params: Params | None, part: float) -> Choice | None:
    """Return the choice with the largest reserve that keeps all constraints at a mean power, or None."""
    setting = trial.setting
    if not setting.idle_total_w < mean_w <= setting.max_total_w:
        return None
    most_w = largest_reserve_w(setting, mean_w, mode)
    low_w, high_w = 0.02 * most_w, most_w
    best: Outcome | None = None
    best_bid, runs = Bid(mean_w, low_w), 0
    reserve_w = min(most_w, mean_w - setting.idle_total_w)  # strict reach often goes this far
    for _ in range(STEPS):
        bid = Bid(mean_w, reserve_w)
        outcome = trial.run(bid, params=params)
        runs += 1
        if outcome.excess(part=part) == 0.0:
            best, best_bid, low_w = outcome, bid, reserve_w
            if reserve_w >= most_w:
                break
        else:
            high_w = reserve_w
        reserve_w = float(np.sqrt(low_w * high_w))
    if best is None:
        return None
    return Choice("search", best_bid, best, params=params, limits=bottleneck(best), runs=runs)


def _least_bad(trial: Trial, mode: str, choices: Sequence[Params], points: int) -> Choice:
    """Return the bid with the least total violation, when none keeps all constraints."""
    tried = []
    for params in choices:
        for mean_w in mean_powers(trial.setting, points):
            for part in (0.1, 0.3, 0.6, 1.0):
                most_w = min(largest_reserve_w(trial.setting, mean_w, mode), 2 * (mean_w - trial.setting.idle_total_w))
                bid = Bid(mean_w, part * most_w)
                tried.append(Choice("search", bid, trial.run(bid, params=params), params=params, feasible=False))
    best = min(tried, key=lambda choice: (choice.outcome.excess(), choice.outcome.cost))
    return replace(best, limits=bottleneck(best.outcome), runs=len(tried))


def make_safe(setting: Setting, choice: Choice, proof: Trial | None = None) -> Choice:
    """Find the largest reserve for which, on other hours, the intervals of all rates end below their limits."""
    proof = proof or Trial(setting, PROOF_SEEDS)
    reserve_w, low_w, high_w = choice.bid.reserve_w, 0.0, choice.bid.reserve_w
    safe: Choice | None = None
    for _ in range(SAFE_STEPS):
        bid = Bid(choice.bid.mean_w, reserve_w)
        outcome = proof.run(bid, weights=choice.weights, params=choice.params)
        here = replace(choice, bid=bid, outcome=outcome, limits=bottleneck(outcome), feasible=is_safe(outcome))
        if here.feasible:
            safe, low_w = here, reserve_w
            if reserve_w >= choice.bid.reserve_w:
                break
        else:
            high_w = reserve_w
        reserve_w = 0.85 * reserve_w if safe is None else 0.5 * (low_w + high_w)
    return safe or here


def is_safe(outcome: Outcome) -> bool:
    """Tell whether the intervals of all rates end below their limits."""
    promised = [
        rate.within(kind.share)
        for kind, rate in zip(outcome.kinds, outcome.rates(), strict=True)
        if not kind.standby and np.isfinite(kind.limit)
    ]
    return outcome.exceed.within(0.10) and all(promised)
