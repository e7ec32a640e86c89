"""AQA by its own gradient search on many hours, one after the other: how many workloads meet their hour, by reading."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from wattline.bidding.hours.laws import GaussianLaw
from wattline.bidding.hours.outcome import Outcome
from wattline.bidding.hours.trial import Trial, fresh
from wattline.bidding.searches.aqa import CAUTIOUS, CURVE, ITERATIONS, PATIENCE, aqa_bid
from wattline.model.regulation import Bid
from wattline.systems.aqa.study import setting_of
from wattline.systems.followers import AQA, Follower
from wattline.systems.npb import kinds_of
from wattline.systems.tuned import HOUR_SEED

ROUNDINGS = {"nearest": 0.0, "ceil": 1.0, "floor": 2.0}
"""Readings of *n_j/m_j jobs should be running*, by the value of the parameter ``rounding``."""

TAU_S = 200.0
"""Time constant of the signal where a reading does not say otherwise. The paper does not give its own."""


def rounded(rounding: str, *, fixed: bool = False) -> Follower:
    """Return AQA that rounds shares in a way, with effective or fixed weights behind n(t)."""
    return replace(AQA, params={"select": {"rounding": ROUNDINGS[rounding], "fixed": float(fixed)}})


@dataclass(frozen=True)
class Reading:
    """One way to read the paper: rounding of shares, weights behind n(t), fit of α, steps, and the signal's memory."""

    name: str
    rounding: str = "nearest"
    fixed: bool = False
    fit: str = CURVE
    iterations: int = ITERATIONS
    tau_s: float = TAU_S
    every: int = 1
    """Of the hours, each one, or each so-manieth."""


READINGS = (
    *(Reading(name, name) for name in ROUNDINGS),
    # 30 steps, and no end before them
    Reading("before", "nearest", fit=CAUTIOUS, iterations=30),
    Reading("ceil, fixed w", "ceil", fixed=True, every=4),
    *(Reading(f"nearest, τ = {tau_s:g} s", "nearest", tau_s=tau_s, every=4) for tau_s in (94.0, 60.0)),
)
"""What is shown side by side; ``before`` is what Wattline did until 1/(n + 1) was found to make phantom violations."""


@dataclass(frozen=True)
class Found:
    """What the gradient search came to on one hour."""

    meets: bool
    cost: float
    mean_w: float
    reserve_w: float
    last_w: float
    """Mean power of the last step."""
    steps: int
    weights: tuple[float, ...]
    """By kind, as the workload has them."""


def spread(workload: str, reading: Reading, hours: int) -> list[Found]:
    """Let AQA's own search choose on each of some hours that start empty, and test it there, as the paper does."""
    policy = rounded(reading.rounding, fixed=reading.fixed)
    setting = setting_of(workload, policy, paper=True, signal=GaussianLaw(time_constant_s=reading.tau_s))
    found = []
    for seed in range(HOUR_SEED, HOUR_SEED + hours, reading.every):
        patience = reading.iterations if reading.fit == CAUTIOUS else PATIENCE
        choice = aqa_bid(Trial(setting, [seed]), iterations=reading.iterations, patience=patience, fit=reading.fit)
        last_w = choice.history[-1]["mean_w"]
        steps = len(choice.history)
        bid, cost = choice.bid, choice.outcome.cost
        weights = () if choice.weights is None else tuple(float(weight) for weight in choice.weights)
        met = choice.outcome.excess() == 0.0
        found.append(Found(met, cost, bid.mean_w, bid.reserve_w, last_w, steps, weights))
    return found


PUBLISHED_W4 = Bid(8434.0, 3435.0)
PUBLISHED_IS_D_64 = 0.313
"""What AQA bid on W4, and the weight of is.D.64 there; the other weights are not printed, and taken as equal."""


def at_published_bid(hours: int) -> dict[str, Outcome]:
    """Try the published bid of W4 on hours that start empty, by every rounding, both weights behind n(t), and three
    time constants of the signal.
    """
    names = [kind.name for kind in kinds_of("W4")]
    weights = np.full(len(names), (1.0 - PUBLISHED_IS_D_64) / (len(names) - 1))
    weights[names.index("is.D.64")] = PUBLISHED_IS_D_64
    found = {}
    for rounding in ROUNDINGS:
        for fixed, tau_s in ((False, 200.0), (True, 200.0), (False, 94.0), (False, 60.0)):
            setting = setting_of(
                "W4", rounded(rounding, fixed=fixed), paper=True, signal=GaussianLaw(time_constant_s=tau_s)
            )
            label = f"{rounding}, {'fixed' if fixed else 'effective'} w, τ = {tau_s:g} s"
            found[label] = fresh(setting, range(HOUR_SEED, HOUR_SEED + hours), PUBLISHED_W4, weights)
    return found


def met(by_workload: dict[str, list[Found]]) -> list[int]:
    """Return how many workloads meet all constraints, hour by hour."""
    counts = np.sum([[one.meets for one in found] for found in by_workload.values()], axis=0)
    return [int(count) for count in counts]
