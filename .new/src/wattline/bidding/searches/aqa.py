"""AQA's choice of bid and weights: simulate, fit α to the delays, step down the gradient of the cost, again.

The cost of the paper (eq. 24) does not hold the reserve back; the tracking constraint therefore enters as another
soft-plus term, with derivatives from two further simulations of the same hours. The best iterate that is feasible in
simulation is kept, not the last.

The text says that fewer than 200 iterations have always found a solution that meets all constraints, and nothing more
of when to stop: the search ends after so many, or when it has such a solution and long has found none cheaper.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from wattline.arrays import Floats
from wattline.bidding.hours.outcome import PLACES, Outcome
from wattline.bidding.hours.setting import Setting
from wattline.bidding.hours.trial import Trial
from wattline.bidding.searches.choice import PAPER, Choice, bottleneck, largest_reserve_w
from wattline.errors import InputError
from wattline.model.kinds import Kind, column
from wattline.model.regulation import Bid
from wattline.theory.gps_bounds import LEAST, fit_log_alpha, fit_log_alpha_to_curve
from wattline.theory.gps_cost import Terms, Tracking, aqa_cost, project_simplex
from wattline.theory.gps_moments import Gaussian
from wattline.theory.gps_tails import Theory, Types, active_servers, decay

ITERATIONS = 200
PATIENCE = 40
"""Steps without a cheaper solution that meets all constraints, after which a search that has one ends."""

CURVE, POINT, CAUTIOUS = "curve", "point", "cautious"
FITS = (CURVE, POINT, CAUTIOUS)
"""How α is fitted: to the curve of degradation around the promise, as §3.5 says; to the share at the promise alone; or
to that share, but never to less than one more job in (n + 1) would be. The last one counts a kind with few jobs in the
hour as late whatever the bid is, and then drives the mean power up; it is kept to show that.
"""

FIRST_STEP = 0.06
"""Length of the first step, in parts of the starting power and of a weight of one; later ones shrink."""

NUDGE = 0.02
"""Part by which mean power and reserve are moved to see how tracking changes."""

FLOOR = 1e-3


def theory_of(setting: Setting, *, y_std: float = 0.40) -> tuple[Theory, list[int]]:
    """Return the theory's view of a setting, and the kinds it speaks of (standby kinds are not promised anything)."""
    rows = [k for k, kind in enumerate(setting.kinds) if not kind.standby]
    kinds = [setting.kinds[k] for k in rows]
    endless = [kind.name for kind in kinds if not np.isfinite(kind.limit)]
    if endless:
        raise InputError(f"kind {endless[0]!r} has no QoS limit: AQA needs one for every kind that is not standby")
    types = Types(
        column(kinds, "nodes"),
        column(kinds, "work_s"),
        column(kinds, "draw_w"),
        column(kinds, "arrival_per_s"),
        column(kinds, "limit"),
        column(kinds, "share"),
        tuple(kind.name for kind in kinds),
    )
    return Theory(types, setting.nodes, setting.idle_w, Gaussian(y_std)), rows


def start_bid(setting: Setting, mode: str) -> Bid:
    """Return where AQA starts: the mean power of the jobs uncapped, half the way to idle as reserve."""
    mean_w = min(setting.idle_total_w + setting.load_w(), setting.max_total_w)
    return Bid(mean_w, min(0.5 * (mean_w - setting.idle_total_w), largest_reserve_w(setting, mean_w, mode)))


def load_weights(kinds: tuple[Kind, ...]) -> Floats:
    """Return weights in proportion to the nodes that the kinds keep busy."""
    load = column(kinds, "arrival_per_s") * column(kinds, "nodes") * column(kinds, "work_s")
    weights: Floats = load / load.sum()
    return weights


def aqa_bid(
    trial: Trial, *, mode: str = PAPER, iterations: int = ITERATIONS, patience: int = PATIENCE, fit: str = CURVE
) -> Choice:
    """Return the bid and weights that AQA finds on the hours of a trial, by one of the fits of α."""
    setting = trial.setting
    theory, rows = theory_of(setting)
    bid = start_bid(setting, mode)
    weights = load_weights(setting.kinds)
    scale_w = bid.mean_w
    prices = setting.prices.average()
    terms = replace(
        Terms.starting_at(bid.mean_w, prices["energy"]),
        reserve_price_per_kwh=prices["reserve"],
        error_price_per_kwh=prices["error"],
    )
    best: Choice | None = None
    history: list[dict[str, Any]] = []
    runs = found_at = 0
    for i in range(iterations):
        if best is not None and best.feasible and i - found_at > patience:
            break
        outcome = trial.run(bid, weights)
        tracked = _tracking(trial, bid, weights, outcome)
        runs += 3
        found = Choice("AQA", bid, outcome, weights, feasible=outcome.excess() == 0.0)
        if best is None or _better(found, best):
            best, found_at = found, i
        rate = decay(theory, active_servers(theory, bid, weights[rows]), weights[rows]).rate_per_s
        log_alpha = _fitted(theory, outcome, rows, rate, fit)
        cost = aqa_cost(theory, terms, bid, weights[rows], log_alpha, tracked)
        history.append(
            {
                "iteration": i,
                "mean_w": bid.mean_w,
                "reserve_w": bid.reserve_w,
                "cost": outcome.cost,
                "excess": outcome.excess(),
                "exceed": outcome.exceed.share,
                "worst": float(outcome.shares().max()),
                "weights": weights.tolist(),
            }
        )
        bid, weights = _step(setting, bid, weights, rows, cost, scale_w, mode, FIRST_STEP / (1.0 + i / 15.0))
    assert best is not None  # noqa: S101 - there is at least one iteration
    return replace(best, limits=bottleneck(best.outcome), runs=runs, history=history)


def _fitted(theory: Theory, outcome: Outcome, rows: list[int], rate: Floats, fit: str) -> Floats:
    """Return ln α of every promised kind from what a simulation has shown."""
    limit_s = theory.types.limit_s
    if fit == CURVE:
        return fit_log_alpha_to_curve(outcome.curve()[:, rows], rate, PLACES[:, None] * limit_s)
    if fit not in FITS:
        raise InputError(f"fit: unknown {fit!r}; choose one of {', '.join(FITS)}")
    least = 1.0 / (outcome.jobs.sum(axis=0)[rows] + 1.0) if fit == CAUTIOUS else LEAST
    return fit_log_alpha(outcome.shares()[rows], rate, limit_s, least)


def _better(one: Choice, other: Choice) -> bool:
    """Feasible before infeasible; then the cheaper, or the one that breaks its promises less."""
    if one.feasible != other.feasible:
        return one.feasible
    if one.feasible:
        return one.outcome.cost < other.outcome.cost
    return one.outcome.excess() < other.outcome.excess()


def _tracking(trial: Trial, bid: Bid, weights: Floats, here: Outcome) -> Tracking:
    """Return the share of time beyond the tracking margin with its derivatives, by simulating the same hours nearby."""
    step_w = NUDGE * bid.mean_w
    more = trial.exceed_share(Bid(bid.mean_w + step_w, bid.reserve_w), weights)
    wider_w = max(NUDGE * bid.reserve_w, 1.0)
    wider = trial.exceed_share(Bid(bid.mean_w, bid.reserve_w + wider_w), weights)
    share = here.exceed.share
    return Tracking(share, (more - share) / step_w, (wider - share) / wider_w)


def _step(
    setting: Setting, bid: Bid, weights: Floats, rows: list[int], cost: Any, scale_w: float, mode: str, length: float
) -> tuple[Bid, Floats]:
    """Go a step of a given length down the gradient, in parts of the starting power, and back into what is allowed."""
    by_weight = cost.by_weight - cost.by_weight.mean()
    slope = np.concatenate([[cost.by_mean_per_w * scale_w, cost.by_reserve_per_w * scale_w], by_weight])
    size = float(np.linalg.norm(slope))
    if not np.isfinite(size) or size == 0.0:
        return bid, weights
    move = -length * slope / size
    mean_w = float(np.clip(bid.mean_w + move[0] * scale_w, 1.01 * setting.idle_total_w, setting.max_total_w))
    most_w = largest_reserve_w(setting, mean_w, mode)
    reserve_w = float(np.clip(bid.reserve_w + move[1] * scale_w, 0.005 * scale_w, max(most_w, 0.005 * scale_w)))
    new = weights.copy()
    new[rows] = project_simplex(weights[rows] + move[2:], FLOOR)
    return Bid(mean_w, reserve_w), new
