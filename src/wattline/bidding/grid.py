"""Exhaustive search over a grid of bids, as EnergyQARE chooses; and the plain heuristic of Tracking-only."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from wattline.bidding.choice import PAPER, Choice, bottleneck, largest_reserve_w
from wattline.bidding.setting import Setting
from wattline.bidding.trial import Trial
from wattline.model.regulation import Bid


def grid_bid(trial: Trial, *, mode: str = PAPER, step: float = 0.05) -> Choice:
    """Return the cheapest grid point that meets tracking and QoS; if there is none, the one of least total violation.

    Mean powers go from idle to the maximum in steps of 5 % of that range, reserves from 5 % up to all of what is
    allowed.
    """
    setting = trial.setting
    span_w = setting.max_total_w - setting.idle_total_w
    best: Choice | None = None
    runs = 0
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
            runs += 1
            found = Choice("grid", bid, outcome, feasible=outcome.excess() == 0.0)
            if best is None or _rank(found) < _rank(best):
                best = found
    assert best is not None  # noqa: S101 - the grid has at least one point
    return replace(best, limits=bottleneck(best.outcome), runs=runs)


def _rank(choice: Choice) -> tuple[int, float]:
    return (0, choice.outcome.cost) if choice.feasible else (1, choice.outcome.excess())


def heuristic_bid(setting: Setting, mode: str = PAPER) -> Bid:
    """Return the bid of a rule of thumb: the mean power of the jobs, and as reserve what lies between it and idle."""
    mean_w = min(setting.idle_total_w + setting.load_w(), setting.max_total_w)
    return Bid(mean_w, min(mean_w - setting.idle_total_w, largest_reserve_w(setting, mean_w, mode)))
