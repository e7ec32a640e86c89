"""QoSG's choice: for every mean power the largest reserve for which weights exist, by the closed bound of the
theory.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from wattline.arrays import Floats
from wattline.bidding.hours.outcome import Outcome
from wattline.bidding.hours.setting import Setting
from wattline.bidding.hours.trial import Trial
from wattline.bidding.searches.aqa import FLOOR, load_weights, theory_of
from wattline.bidding.searches.choice import STRICT, Choice, bottleneck, largest_reserve_w
from wattline.model.regulation import Bid
from wattline.theory.gps_bounds import fit_log_alpha, least_shares
from wattline.theory.gps_cost import project_simplex
from wattline.theory.gps_moments import LogMgf
from wattline.theory.gps_tails import Theory, active_servers, decay

BISECTIONS = 12
POINTS = 40
FITS = 8
"""Fits of α, each on one simulation; the text has one, and the bid it leads to depends on where that one is made."""

HALVINGS = 5
"""At last the mean power goes so many halvings towards the next lower one of the grid, for every fit of α."""

PARTS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)
"""Parts of the theory's reserve that are tried at the cheapest mean powers of the last two fits, where all of it breaks
promises in simulation: the theory knows nothing of tracking.
"""

SLACK = 1.25
"""The first fit is made where the nodes that the target allows exceed the load by this factor (but within the machine).

At the load itself every θ* is 0 with weights by load (Case III): α would be the observed share, most promises would
seem to hold at any weight, and the first bid would break them.
"""


def qosg_bid(
    trial: Trial, *, mode: str = STRICT, points: int = POINTS, fits: int = FITS, signal: LogMgf | None = None
) -> Choice:
    """Return the bid and weights of QoSG: loop over the mean power, binary search of the reserve, simulated tracking
    cost.

    α is fitted on a simulation before the search, and again on the bid that came out, ``fits`` times in all. One fit:
    the cheapest bid that the theory allows, whatever its simulation says, as the text has it. More: the cheapest bid
    that also keeps all promises in its simulation. ``signal`` replaces the paper's law (``Gaussian.correlated``: the
    corrected one). Where the theory finds no weights at all, the choice says so.
    """
    setting = trial.setting
    theory, rows = theory_of(setting)
    theory = theory if signal is None else replace(theory, signal=signal)
    weights = load_weights(setting.kinds)
    bid = first_bid(setting, mode)
    seen = trial.run(bid, weights)
    means_w = np.linspace(setting.idle_total_w, setting.max_total_w, points + 2)
    log_alpha = fitted(theory, rows, bid, weights, seen)
    found: list[tuple[Choice, Floats]] = []
    cheap: list[Choice] = []
    runs, history = 1, []
    for i in range(fits):
        if i > 0:
            # ever less of the way: after a harsh bid the theory asks for too much, after a mild one for too little
            log_alpha = log_alpha + (fitted(theory, rows, bid, weights, seen) - log_alpha) / (1.0 + i / 4.0)
        tried = _candidates(trial, theory, rows, mode, means_w[1:-1], log_alpha)
        runs += len(tried)
        if not tried:
            break
        cheapest = min(tried, key=lambda choice: choice.outcome.cost)
        found.append((cheapest if fits == 1 else min(tried, key=_rank), log_alpha))
        history.append(_step(i, cheapest, log_alpha))
        cheap.append(cheapest)
        bid, seen = cheapest.bid, cheapest.outcome
        weights = weights if cheapest.weights is None else cheapest.weights
    if not found:
        none = "the theory finds no weights that keep all promises at any mean power"
        return Choice("QoSG", bid, seen, weights, feasible=False, runs=runs, limits=none)
    tried = []
    for near, alpha in found if fits > 1 else ():
        tried += _lower(trial, theory, rows, mode, near, float(means_w[1] - means_w[0]), alpha)
    tried += _smaller_reserves(trial, cheap[-2:]) if fits > 1 else []
    best = min([*(choice for choice, _ in found), *tried], key=_rank)
    runs += len(tried)
    return replace(best, limits=bottleneck(best.outcome), runs=runs, history=history)


def first_bid(setting: Setting, mode: str) -> Bid:
    """Return where α is fitted first: above the load, with half the way to idle as reserve."""
    room_w = setting.max_total_w - setting.idle_total_w
    load_w = min(setting.load_w(), room_w)
    mean_w = setting.idle_total_w + min(SLACK * load_w, 0.5 * (load_w + room_w))
    return Bid(mean_w, min(0.5 * (mean_w - setting.idle_total_w), largest_reserve_w(setting, mean_w, mode)))


def fitted(theory: Theory, rows: list[int], bid: Bid, weights: Floats, seen: Outcome) -> Floats:
    """Return ln α of every promised kind from what a simulation of a bid and weights has shown."""
    rate = decay(theory, active_servers(theory, bid, weights[rows]), weights[rows]).rate_per_s
    return fit_log_alpha(seen.shares()[rows], rate, theory.types.limit_s)


def _rank(choice: Choice) -> tuple[int, float]:
    """Feasible in simulation first, then the cheaper; otherwise what breaks its promises less."""
    return (0, choice.outcome.cost) if choice.feasible else (1, choice.outcome.excess())


def _step(i: int, choice: Choice, log_alpha: Floats) -> dict[str, Any]:
    outcome, weights = choice.outcome, choice.weights
    return {
        "fit": i,
        "mean_w": choice.bid.mean_w,
        "reserve_w": choice.bid.reserve_w,
        "cost": outcome.cost,
        "excess": outcome.excess(),
        "weights": None if weights is None else weights.tolist(),
        "log_alpha": log_alpha.tolist(),
        "shares": outcome.shares().tolist(),
    }


def _candidates(
    trial: Trial, theory: Theory, rows: list[int], mode: str, means_w: Floats, log_alpha: Floats
) -> list[Choice]:
    """Return, for every one of some mean powers at which weights exist, the largest reserve with these weights,
    simulated.
    """
    setting = trial.setting
    tried = []
    for mean_w in means_w[(means_w > setting.idle_total_w) & (means_w < setting.max_total_w)].tolist():
        found = _largest_reserve(theory, mean_w, largest_reserve_w(setting, mean_w, mode), log_alpha)
        if found is None:
            continue
        bid = Bid(mean_w, found[0])
        weights = np.zeros(len(setting.kinds))
        weights[rows] = found[1]
        outcome = trial.run(bid, weights)
        tried.append(Choice("QoSG", bid, outcome, weights, feasible=outcome.excess() == 0.0))
    return tried


def _lower(
    trial: Trial, theory: Theory, rows: list[int], mode: str, near: Choice, step_w: float, log_alpha: Floats
) -> list[Choice]:
    """Return what a bisection tries for a lower mean power than one that keeps all promises, with the same α."""
    low_w, high_w = near.bid.mean_w - step_w, near.bid.mean_w
    found: list[Choice] = []
    for _ in range(HALVINGS if near.feasible else 0):
        middle_w = 0.5 * (low_w + high_w)
        tried = _candidates(trial, theory, rows, mode, np.array([middle_w]), log_alpha)
        found += tried
        if tried and tried[0].feasible:
            high_w = middle_w
        else:
            low_w = middle_w
    return found


def _smaller_reserves(trial: Trial, tried: list[Choice]) -> list[Choice]:
    """Return the mean powers and weights that break promises with parts of their reserves, simulated."""
    found = []
    for choice in (choice for choice in tried if not choice.feasible):
        for part in PARTS:
            bid = Bid(choice.bid.mean_w, part * choice.bid.reserve_w)
            outcome = trial.run(bid, choice.weights)
            found.append(replace(choice, bid=bid, outcome=outcome, feasible=outcome.excess() == 0.0))
    return found


def _largest_reserve(theory: Theory, mean_w: float, most_w: float, log_alpha: Floats) -> tuple[float, Floats] | None:
    """Return the largest reserve for which weights exist, and these weights; None if there are none at all."""
    low_w, high_w = 0.0, most_w
    reserve_w, best = 0.01 * most_w, None
    for _ in range(BISECTIONS):
        shares = least_shares(theory, Bid(mean_w, reserve_w), log_alpha)
        if shares.total <= 1.0:
            best, low_w = (reserve_w, project_simplex(shares.weights, FLOOR)), reserve_w
        else:
            high_w = reserve_w
            if best is None:
                return None
        reserve_w = 0.5 * (low_w + high_w) if best is None or high_w < most_w else min(most_w, 2.0 * reserve_w)
        if best is not None and best[0] >= most_w:
            break
    return best
