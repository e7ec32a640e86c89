"""Rewards by name: what a run costs, with a minus sign, as it comes about."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from wattline.arrays import Floats
from wattline.errors import InputError, did_you_mean
from wattline.sim.questions import ABOVE_S, ENERGY_J, N_SUMS, SLOWDOWNS, SUMS, TRACKED, WAITS_S
from wattline.units import HOUR_S

REWARDS = {
    "bounded-slowdown": "mean over the jobs of an episode of their bounded slowdown (runs below 10 s count as 10 s)",
    "wait": "mean wait of the jobs, in hours",
    "energy": "energy drawn, in kWh",
    "violations": "hours above the power limit, and hours in which the power was too far from its target",
    "bill": "what the run costs by its [prices], in dollars; it comes with the last step",
}
"""Name → what the rewards of an episode add up to, with a minus sign."""

Reward = str | Mapping[str, float]

KWH_J = 3.6e6


class Rewards:
    """Rewards of many worlds: weights of what is counted."""

    def __init__(self, reward: Reward) -> None:
        weights = {reward: 1.0} if isinstance(reward, str) else reward
        if not isinstance(weights, Mapping) or not weights:
            raise InputError(f"reward: a name or a mapping of names to weights is needed, got {reward!r}")
        for name, weight in weights.items():
            if name not in REWARDS:
                raise InputError(f"reward: there is none called {name!r}{did_you_mean(str(name), REWARDS)}")
            if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not np.isfinite(weight):
                raise InputError(f"reward: the weight of {name!r} must be a number, got {weight!r}")
        self.weights = {name: float(weight) for name, weight in weights.items()}

    @property
    def bill(self) -> float:
        """Weight of the bill (0: nobody asks for it)."""
        return self.weights.get("bill", 0.0)

    def factors(self, jobs: int) -> Floats:
        """Return by what the sums of a world with so many jobs are multiplied: their product is the reward so far."""
        each, found = max(1, jobs), np.zeros(N_SUMS)
        found[SLOWDOWNS - SUMS] = -self.weights.get("bounded-slowdown", 0.0) / each
        found[WAITS_S - SUMS] = -self.weights.get("wait", 0.0) / each / HOUR_S
        found[ENERGY_J - SUMS] = -self.weights.get("energy", 0.0) / KWH_J
        found[ABOVE_S - SUMS] = found[TRACKED - SUMS] = -self.weights.get("violations", 0.0) / HOUR_S
        return found
