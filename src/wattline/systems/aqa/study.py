"""The experiments on AQA: fourteen workloads, four policies, the paper's protocol and ours, and what lies around
them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from wattline.bidding.aqa import aqa_bid
from wattline.bidding.certificate import Certificate, certify
from wattline.bidding.choice import PAPER, STRICT, Choice
from wattline.bidding.grid import grid_bid
from wattline.bidding.search import make_safe, search_bid
from wattline.bidding.setting import Protocol, Setting
from wattline.bidding.trial import Trial, fresh
from wattline.bidding.weights import search_weights
from wattline.systems.followers import AQA, ENERGYQARE, SLACKLINE, TRACKING_ONLY, Follower
from wattline.systems.npb import HIGHEST_W, IDLE_W, NODES, WORKLOADS, kinds_of
from wattline.systems.tuned import HOUR_SEED, Tuned

Say = Callable[[str], None]

OTHER_SEEDS = range(40_000, 50_000)
"""Hours of the paper's protocol on which nothing was tuned."""

AROUND_SEED = 50_000
"""First hour of the studies around the fourteen."""

PUBLISHED = {
    "W1": (0.58, 30), "W2": (0.57, 37), "W3": (0.68, 29), "W4": (0.58, 31), "W5": (0.34, 56), "W6": (0.64, 34),
    "W7": (0.58, 33), "W8": (0.56, 29), "W9": (0.58, 37), "W10": (0.58, 34), "W11": (0.46, 46), "W12": (0.46, 38),
    "W13": (0.71, 31), "W14": (0.64, 33),
}  # fmt: skip
"""AQA's cost in $ and its reduction in %, measured on 36 servers for one hour."""

PUBLISHED_MEETS = {
    "AQA": set(PUBLISHED),
    "EnergyQARE": {"W2", "W6", "W8", "W10", "W11"},
    "Tracking-only": {"W2"},
}
"""Workloads of which the paper says that a policy meets all constraints."""


@dataclass(frozen=True)
class Scale:
    """How much is simulated."""

    workloads: tuple[str, ...] = tuple(WORKLOADS)
    iterations: int = 30
    aqa_hours: int = 6
    search_hours: int = 16
    proof_hours: int = 128
    fresh_hours: int = 200
    rounds: int = 3
    grid_step: float = 0.05
    around: bool = True
    thresholds: int = 10
    balance: int = 1
    """How often weights are balanced and the bid searched again (twice as often on the one hour of the paper's
    protocol).
    """

    @classmethod
    def quick(cls) -> Scale:
        """Return a version that takes seconds: one workload, few hours."""
        return cls(("W4",), 16, 2, 8, 40, 40, 2, 0.2, around=False, thresholds=1, balance=0)


def setting_of(workload: str, policy: Follower, *, paper: bool = False, **more: Any) -> Setting:
    """Return the setting of a workload on the cluster of the study."""
    kinds = more.pop("kinds", None) or kinds_of(workload)
    named = {"name": policy.name, "params": policy.params, "protocol": Protocol(paper=paper)}
    return Setting.alike(kinds, NODES, IDLE_W, HIGHEST_W, policy.select, **named, **more)


@dataclass
class Study:
    """All that was found."""

    scale: Scale
    in_sample: dict[str, dict[str, Tuned]] = field(default_factory=dict)
    """workload → policy → the paper's protocol"""
    ours: dict[str, dict[str, dict[str, Certificate]]] = field(default_factory=dict)
    """workload → reach → policy → certificate under our protocol"""
    tight: dict[str, Tuned] = field(default_factory=dict)
    """policy → the paper's protocol on W4 with halved limits"""
    around: dict[str, Any] = field(default_factory=dict)


# ------------------------------------------------------------------ the paper's protocol


def in_sample(workload: str, scale: Scale, **more: Any) -> dict[str, Tuned]:
    """Tune each policy on one hour that starts empty, as the paper does; see how it fares on other such hours."""
    found = {}
    chosen: Choice | None = None
    for policy in (AQA, ENERGYQARE, TRACKING_ONLY):
        setting = setting_of(workload, policy, paper=True, **more)
        trial = Trial(setting, [HOUR_SEED])
        if policy is AQA:
            choice = better_weights(trial, PAPER, scale, rounds=2 * scale.balance)
        elif policy is ENERGYQARE:
            choice = chosen = grid_bid(trial, mode=PAPER, step=scale.grid_step)
        else:
            assert chosen is not None  # noqa: S101 - EnergyQARE came before
            choice = replace(chosen, method="EnergyQARE's bid", outcome=trial.run(chosen.bid))
        others = fresh(setting, OTHER_SEEDS[: scale.fresh_hours // 4], choice.bid, choice.weights)
        found[policy.name] = Tuned(policy.name, choice, others)
    return found


# ------------------------------------------------------------------ our protocol


def certificates(workload: str, reach: str, scale: Scale, **more: Any) -> dict[str, Certificate]:
    """Let AQA and Slackline choose on stationary hours, and certify both on hours that neither has seen."""
    seeds = range(scale.fresh_hours)
    aqa = setting_of(workload, AQA, **more)
    choice = best_aqa(aqa, reach, scale)
    return {"AQA": certify(aqa, choice, seeds), "Slackline": slackline(workload, reach, scale, **more)}


def best_aqa(setting: Setting, reach: str, scale: Scale) -> Choice:
    """Return AQA's best bid, made safe on the hours on which Slackline's is, if it can be: both are held to one
    standard.
    """
    trial = Trial(setting, range(10_000, 10_000 + scale.aqa_hours))
    choice = better_weights(trial, reach, scale, rounds=scale.balance)
    if choice.outcome.excess() > 0.0:
        return choice
    safe = make_safe(setting, choice, Trial(setting, range(20_000, 20_000 + scale.proof_hours)))
    return safe if safe.feasible else choice


def better_weights(trial: Trial, reach: str, scale: Scale, *, rounds: int) -> Choice:
    """Return the better of AQA's own search and of ours for its weights: the baseline shall not fail for want of a
    search.
    """
    own = aqa_bid(trial, mode=reach, iterations=scale.iterations)
    searched = search_weights(trial, mode=reach, rounds=rounds)
    if (own.outcome.excess(), own.outcome.cost) <= (searched.outcome.excess(), searched.outcome.cost):
        return own
    return replace(searched, method="AQA, searched", history=own.history)


def slackline(workload: str, reach: str, scale: Scale, **more: Any) -> Certificate:
    """Let Slackline choose and certify it."""
    ours = setting_of(workload, SLACKLINE, **more)
    trial = Trial(ours, range(10_000, 10_000 + scale.search_hours))
    proof = Trial(ours, range(20_000, 20_000 + scale.proof_hours))
    choice = search_bid(ours, mode=reach, rounds=scale.rounds, trial=trial, proof=proof)
    return certify(ours, choice, range(scale.fresh_hours))


def ratio_of(study: Study, workload: str, reach: str) -> float:
    """Return Slackline's mean cost over AQA's."""
    both = study.ours[workload][reach]
    return both["Slackline"].outcome.cost / both["AQA"].outcome.cost


__all__ = ["PAPER", "STRICT", "Scale", "Study"]
