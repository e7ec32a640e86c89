"""Weights where a policy shares nodes by them: by what each kind can afford to wait, then moved to whoever suffers
most.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wattline.arrays import Floats
from wattline.bidding.hours.trial import Trial
from wattline.bidding.searches.choice import PAPER, Choice
from wattline.bidding.searches.search import make_safe, search_bid
from wattline.model.kinds import Kind, column
from wattline.model.regulation import Bid

STEPS = 24
"""Simulations in which weights are moved at one bid."""

FLOOR = 1e-3


def need_weights(kinds: tuple[Kind, ...]) -> Floats:
    """Return weights in proportion to m / (Q_thres T): wide, short and strict kinds cannot wait until a share has
    grown.
    """
    wait_s = column(kinds, "limit") * column(kinds, "work_s")
    need = np.array([0.0 if kind.standby else kind.nodes for kind in kinds]) / wait_s
    weights: Floats = need / need.sum() if need.sum() > 0 else np.full(len(kinds), 1.0 / len(kinds))
    return weights


def balance(trial: Trial, bid: Bid, weights: Floats, steps: int = STEPS) -> Floats:
    """Move weights at one bid from the kinds that suffer least, over what they were promised, to those that suffer
    most.
    """
    kinds = trial.setting.kinds
    share, open_to = column(kinds, "share"), np.array([not kind.standby for kind in kinds])
    best, least = weights, (np.inf, np.inf)
    for i in range(steps):
        suffered = np.where(open_to, trial.run(bid, weights).shares() / share, 0.0)
        here = (float(np.maximum(suffered - 1.0, 0.0).sum()), float(suffered.max()))
        if here < least:
            best, least = weights, here
        push = np.clip(suffered, 0.0, 4.0)
        moved = weights * np.clip(np.exp(0.5 / (1.0 + i / 6.0) * (push - push[open_to].mean())), 0.5, 2.0)
        weights = np.where(open_to, np.maximum(moved, FLOOR), 0.0)
        weights = weights / weights.sum()
    return best


def search_weights(
    trial: Trial,
    *,
    mode: str = PAPER,
    rounds: int = 1,
    start: Floats | None = None,
    proof: Trial | None = None,
    closer: int = 2,
    wide: bool = False,
) -> Choice:
    """Return the best bid with the best weights: search the bid, balance the weights there, search again.

    Every search of the bid takes ``closer`` rounds; a ``wide`` one always looks at all mean powers. With ``proof``
    hours the result is made safe on them.
    """
    setting = trial.setting
    weights = need_weights(setting.kinds) if start is None else start
    best: Choice | None = None
    runs = 0
    for left in range(rounds, -1, -1):
        found = search_bid(setting, mode=mode, rounds=closer, trial=trial, weights=weights, safe=False, wide=wide)
        runs += found.runs
        if best is None or _rank(found) < _rank(best):
            best = found
        if left and best.weights is not None:
            weights = balance(trial, best.bid, best.weights)
            runs += STEPS
    assert best is not None  # noqa: S101 - there is at least one round
    best = replace(best, runs=runs)
    return best if proof is None else make_safe(setting, best, proof)


def _rank(choice: Choice) -> tuple[float, float]:
    """Order choices: the less they break promises the better, then the cheaper."""
    return choice.outcome.excess(), choice.outcome.cost
