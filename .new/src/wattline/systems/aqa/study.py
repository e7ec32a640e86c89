"""The experiments on AQA: fourteen workloads, four policies, the paper's protocol and ours, and what lies around
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wattline.bidding.certificate import Certificate, certify
from wattline.bidding.hours.outcome import Outcome
from wattline.bidding.hours.setting import Protocol, Setting
from wattline.bidding.hours.trial import Trial, fresh
from wattline.bidding.searches.aqa import ITERATIONS, aqa_bid
from wattline.bidding.searches.choice import PAPER, REACHES, STRICT, Choice
from wattline.bidding.searches.grid import LEAST, TRACKING, grid_points, heuristic_bid, picked
from wattline.bidding.searches.search import make_safe, search_bid
from wattline.bidding.searches.weights import search_weights
from wattline.systems.followers import AQA, ENERGYQARE, SLACKLINE, TRACKING_ONLY, Follower
from wattline.systems.npb import HIGHEST_W, IDLE_W, NODES, WORKLOADS, kinds_of
from wattline.systems.tuned import HOUR_SEED, Tuned

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
    iterations: int = ITERATIONS
    """Steps of AQA's own search on one hour, at most."""
    steps: int = 30
    """The same on the hours of our protocol, which are many and longer."""
    search_hours: int = 8
    proof_hours: int = 64
    """Hours on which Slackline chooses under our protocol, and on which its bid is made safe."""
    aqa_hours: tuple[int, int] = (8, 64)
    """The same for AQA: just as many, but for the smaller version."""
    fresh_hours: int = 200
    rounds: int = 3
    grid_step: float = 0.05
    around: bool = True
    thresholds: int = 10
    spread_hours: int = 20
    """Hours on each of which AQA's own search is tried by every reading."""
    wide: bool = True
    """Whether our search for AQA's weights looks at the whole range of mean powers in any case."""
    balance: int = 1
    """How often weights are balanced and the bid searched again (twice as often on the one hour of the paper's
    protocol).
    """

    @property
    def shown(self) -> str:
        """The workload whose hours are drawn, and which is tried on stationary hours."""
        return "W4" if "W4" in self.workloads else self.workloads[0]

    @classmethod
    def quick(cls) -> Scale:
        """Return a version that takes seconds: one workload, few hours."""
        return cls(
            ("W4",),
            iterations=16,
            steps=8,
            search_hours=8,
            proof_hours=40,
            aqa_hours=(2, 8),
            fresh_hours=40,
            rounds=2,
            grid_step=0.2,
            around=False,
            thresholds=1,
            spread_hours=1,
            wide=False,
            balance=0,
        )


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
    ours: dict[str, dict[str, Certificate]] = field(default_factory=dict)
    """reach → policy → certificate under our protocol, of the workload that is shown; the contest has them all"""
    spread: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    """reading → workload → what AQA's own search came to, hour by hour"""
    published_w4: dict[str, Outcome] = field(default_factory=dict)
    """reading → the published bid of W4"""
    tight: dict[str, Tuned] = field(default_factory=dict)
    """policy → the paper's protocol on W4 with halved limits"""
    around: dict[str, Any] = field(default_factory=dict)


# ------------------------------------------------------------------ the paper's protocol


OWN_BID, CHEAPEST = "Tracking-only, own bid", "EnergyQARE, cheapest"
"""The baselines as thesis-DR §2.5.1 lets them bid; without a word they bid as AQA §4.3 says."""


def in_sample(workload: str, scale: Scale, **more: Any) -> dict[str, Tuned]:
    """Tune each policy on one hour that starts empty, as the paper does; see how it fares on other such hours."""
    found = {}

    def add(name: str, setting: Setting, choice: Choice) -> None:
        others = fresh(setting, OTHER_SEEDS[: scale.fresh_hours // 4], choice.bid, choice.weights)
        found[name] = Tuned(name, choice, others)

    shared = setting_of(workload, AQA, paper=True, **more)
    own = Trial(shared, [HOUR_SEED])
    add(AQA.name, shared, better_weights(own, PAPER, scale, rounds=2 * scale.balance, steps=scale.iterations))
    urgent = setting_of(workload, ENERGYQARE, paper=True, **more)
    points = grid_points(Trial(urgent, [HOUR_SEED]), mode=PAPER, step=scale.grid_step)
    chosen = replace(picked(points, LEAST), runs=len(points), history=[{"feasible": sum(p.feasible for p in points)}])
    add(ENERGYQARE.name, urgent, chosen)
    add(CHEAPEST, urgent, picked(points, TRACKING))
    plain = setting_of(workload, TRACKING_ONLY, paper=True, **more)
    trial = Trial(plain, [HOUR_SEED])
    add(TRACKING_ONLY.name, plain, replace(chosen, method="EnergyQARE's bid", outcome=trial.run(chosen.bid)))
    bid = heuristic_bid(plain, STRICT)
    add(OWN_BID, plain, Choice("rule of thumb", bid, trial.run(bid)))
    return found


# ------------------------------------------------------------------ our protocol


def certificates(
    workload: str, scale: Scale, reaches: Sequence[str] = REACHES, **more: Any
) -> dict[str, dict[str, Certificate]]:
    """Let AQA and Slackline choose on stationary hours, and certify both on hours that neither has seen, by reach.

    A bid that several reaches allow is tried once on every hour.
    """
    seeds = range(scale.fresh_hours)
    found: dict[str, dict[str, Certificate]] = {reach: {} for reach in reaches}
    for policy, choose, counts in (
        (AQA, best_aqa, scale.aqa_hours),
        (SLACKLINE, best_slackline, (scale.search_hours, scale.proof_hours)),
    ):
        setting = setting_of(workload, policy, **more)
        trial, proof = (
            Trial(setting, range(first, first + count)) for first, count in zip((10_000, 20_000), counts, strict=True)
        )
        for reach in reaches:
            found[reach][policy.name] = certify(setting, choose(trial, proof, reach, scale), seeds)
    return found


def best_aqa(trial: Trial, proof: Trial, reach: str, scale: Scale) -> Choice:
    """Return AQA's best bid on the hours of a trial, which are those on which Slackline searches, made safe on others.

    Where no reserve is safe there the bid stays as the search found it, and is not feasible.
    """
    choice = better_weights(trial, reach, scale, rounds=scale.balance, steps=scale.steps)
    safe = make_safe(trial.setting, choice, proof)
    return safe if safe.feasible else replace(choice, feasible=False)


def best_slackline(trial: Trial, proof: Trial, reach: str, scale: Scale) -> Choice:
    """Return Slackline's best bid on the hours of a trial, made safe on others."""
    return search_bid(trial.setting, mode=reach, rounds=scale.rounds, trial=trial, proof=proof)


OWN, OURS = "AQA", "AQA, searched"
"""Who found AQA's bid and weights: its own gradient, or our search for its weights."""


def better_weights(trial: Trial, reach: str, scale: Scale, *, rounds: int, steps: int) -> Choice:
    """Return the better of AQA's own search and of ours for its weights: the baseline shall not fail for want of a
    search. Ours takes as many rounds as Slackline's, and looks at the whole range of mean powers.
    """
    own = aqa_bid(trial, mode=reach, iterations=steps)
    searched = search_weights(trial, mode=reach, rounds=rounds, closer=scale.rounds, wide=scale.wide)
    if (own.outcome.excess(), own.outcome.cost) <= (searched.outcome.excess(), searched.outcome.cost):
        return replace(own, method=OWN)
    return replace(searched, method=OURS, history=own.history)


__all__ = ["PAPER", "STRICT", "Scale", "Study"]
