"""QoSG's choice: for every mean power the largest reserve for which weights exist, by the closed bound of the theory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wattline.bid.aqa import FLOOR, load_weights, start_bid, theory_of
from wattline.bid.choice import STRICT, Choice, bottleneck, largest_reserve_w
from wattline.bid.trial import Trial
from wattline.model.jobs import Floats
from wattline.model.regulation import Bid
from wattline.physics.gps_bounds import fit_log_alpha, least_shares
from wattline.physics.gps_cost import project_simplex
from wattline.physics.gps_tails import Theory, active_servers, decay

BISECTIONS = 12


def qosg_bid(trial: Trial, *, mode: str = STRICT, points: int = 40) -> Choice:
    """Return the bid and weights of QoSG: loop over the mean power, binary search of the reserve, simulated tracking cost.

    α is fitted on one simulation before the search. Where the theory finds no weights at all, the choice says so.
    """
    setting = trial.setting
    theory, rows = theory_of(setting)
    weights = load_weights(setting.kinds)
    begin = start_bid(setting, mode)
    seen = trial.run(begin, weights)
    rate = decay(theory, active_servers(theory, begin, weights[rows]), weights[rows]).rate_per_s
    log_alpha = fit_log_alpha(seen.shares()[rows], seen.jobs.sum(axis=0)[rows], rate, theory.types.limit_s)
    best: Choice | None = None
    runs = 1
    for mean_w in np.linspace(setting.idle_total_w, setting.max_total_w, points + 2)[1:-1]:
        found = _largest_reserve(theory, float(mean_w), largest_reserve_w(setting, float(mean_w), mode), log_alpha)
        if found is None:
            continue
        reserve_w, shares = found
        chosen = weights.copy()
        chosen[rows] = shares
        bid = Bid(float(mean_w), reserve_w)
        outcome = trial.run(bid, chosen)
        runs += 1
        choice = Choice("QoSG", bid, outcome, chosen, feasible=outcome.excess() == 0.0)
        if best is None or choice.outcome.cost < best.outcome.cost:
            best = choice
    if best is None:
        return Choice("QoSG", begin, seen, weights, feasible=False, runs=runs,
                      limits="the theory finds no weights that keep all promises at any mean power")  # fmt: skip
    return replace(best, limits=bottleneck(best.outcome), runs=runs)


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
