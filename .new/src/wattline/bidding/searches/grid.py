"""Exhaustive search over a grid of bids, as EnergyQARE chooses, by one of three rules; and the plain heuristic of
Tracking-only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from wattline.bidding.hours.outcome import is_promised
from wattline.bidding.hours.setting import Setting
from wattline.bidding.hours.trial import Trial
from wattline.bidding.searches.choice import PAPER, Choice, bottleneck, largest_reserve_w
from wattline.errors import InputError
from wattline.market.tracking import SHARE
from wattline.model.regulation import Bid

KEEPING, TRACKING, LEAST = "keeping", "tracking", "least"


def grid_bid(trial: Trial, *, mode: str = PAPER, step: float = 0.05, rule: str = KEEPING) -> Choice:
    """Return the grid point that a rule prefers.

    ``tracking`` (thesis §2.5.1): the cheapest that meets the tracking constraint. ``least`` (AQA §4.3): the least QoS
    degradation and tracking error, whatever it costs. ``keeping`` (ours): the cheapest that meets tracking and QoS.
    """
    points = grid_points(trial, mode=mode, step=step)
    return replace(picked(points, rule), runs=len(points))


def grid_points(trial: Trial, *, mode: str = PAPER, step: float = 0.05) -> list[Choice]:
    """Return all points of the grid, simulated.

    Mean powers go from idle to the maximum in steps of 5 % of that range, reserves from 5 % up to all of what is
    allowed.
    """
    setting = trial.setting
    span_w = setting.max_total_w - setting.idle_total_w
    found = []
    for part in np.arange(step, 1.0, step):
        mean_w = float(setting.idle_total_w + part * span_w)
        if mean_w > setting.idle_total_w + 1.6 * setting.load_w():  # no jobs for more
            break
        most_w = min(largest_reserve_w(setting, mean_w, mode), span_w)
        count = (
            round(1.0 / step) if mode == PAPER else math.ceil(0.5 / step)
        )  # what strict reach allows is less to divide
        for share in np.linspace(step, 1.0, max(2, count)):
            bid = Bid(mean_w, float(share * most_w))
            outcome = trial.run(bid)
            found.append(Choice("grid", bid, outcome, feasible=outcome.excess() == 0.0))
    return found


def picked(points: Sequence[Choice], rule: str) -> Choice:
    """Return the point that a rule prefers."""
    if rule not in RULES:
        raise InputError(f"rule: unknown {rule!r}; choose one of {', '.join(RULES)}")
    best = min(points, key=RULES[rule])
    method = "grid" if rule == KEEPING else f"grid, {rule}"
    return replace(best, method=method, limits=bottleneck(best.outcome))


def _keeping(choice: Choice) -> tuple[float, ...]:
    """Order points: those that keep all promises by cost, the others behind them by their total violation."""
    return (0.0, choice.outcome.cost) if choice.feasible else (1.0, choice.outcome.excess())


def _tracking(choice: Choice) -> tuple[float, ...]:
    """Order points: those that meet the tracking constraint by cost, the others by how much they miss it."""
    exceed = choice.outcome.exceed.share
    return (0.0, choice.outcome.cost) if exceed < SHARE else (1.0, exceed)


def _least(choice: Choice) -> tuple[float, ...]:
    """Order points by the worst kind's share of late jobs and the share of time with too large an error, each over its
    limit; of equals the cheaper is first.
    """
    outcome = choice.outcome
    late = [
        share / kind.share
        for kind, share in zip(outcome.kinds, outcome.shares().tolist(), strict=True)
        if is_promised(kind)
    ]
    return max(late, default=0.0) + outcome.exceed.share / SHARE, outcome.cost


RULES: dict[str, Callable[[Choice], tuple[float, ...]]] = {KEEPING: _keeping, TRACKING: _tracking, LEAST: _least}
"""How points of a grid are put in order, best first."""


def heuristic_bid(setting: Setting, mode: str = PAPER) -> Bid:
    """Return the bid of a rule of thumb: the mean power of the jobs, and as reserve what lies between it and idle."""
    mean_w = min(setting.idle_total_w + setting.load_w(), setting.max_total_w)
    return Bid(mean_w, min(mean_w - setting.idle_total_w, largest_reserve_w(setting, mean_w, mode)))
