"""The experiments on AQA: fourteen workloads, four policies, the paper's protocol and ours, and what lies around them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from wattline.bid.aqa import aqa_bid
from wattline.bid.certificate import Certificate, certify
from wattline.bid.choice import PAPER, REACHES, STRICT, Choice
from wattline.bid.grid import grid_bid
from wattline.bid.outcome import Outcome
from wattline.bid.search import search_bid
from wattline.bid.setting import (
    AQA,
    ENERGYQARE,
    SLACKLINE,
    TRACKING_ONLY,
    Protocol,
    Recipe,
    Setting,
    SignalLaw,
    recorded,
)
from wattline.bid.trial import Trial, fresh
from wattline.model.kinds import Kind
from wattline.model.regulation import Bid
from wattline.systems.npb import HIGHEST_W, IDLE_W, NODES, WORKLOADS, kinds_of, standby
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
    "AQA": set(PUBLISHED), "EnergyQARE": {"W2", "W6", "W8", "W10", "W11"}, "Tracking-only": {"W2"},
}  # fmt: skip
"""Workloads of which the paper says that a policy meets all constraints."""


@dataclass(frozen=True)
class Scale:
    """How much is simulated."""

    workloads: tuple[str, ...] = tuple(WORKLOADS)
    iterations: int = 60
    aqa_hours: int = 6
    search_hours: int = 16
    proof_hours: int = 128
    fresh_hours: int = 200
    rounds: int = 3
    grid_step: float = 0.05
    around: bool = True
    thresholds: int = 10

    @classmethod
    def quick(cls) -> Scale:
        """Return a version that takes seconds: one workload, few hours."""
        return cls(("W4",), 16, 2, 8, 40, 40, 2, 0.2, around=False, thresholds=1)


def setting_of(workload: str, recipe: Recipe, *, paper: bool = False, **more: Any) -> Setting:
    """Return the setting of a workload on the cluster of the study."""
    kinds = more.pop("kinds", None) or kinds_of(workload)
    return Setting(kinds, NODES, IDLE_W, HIGHEST_W, recipe, protocol=Protocol(paper=paper), **more)


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


def run_study(scale: Scale, say: Say) -> Study:
    """Carry everything out."""
    study = Study(scale)
    for workload in scale.workloads:
        say(f"{workload} ({WORKLOADS[workload].about}): the paper's protocol")
        study.in_sample[workload] = in_sample(workload, scale)
        say(f"{workload}: stationary hours, bids searched and certified on {scale.fresh_hours} fresh hours")
        study.ours[workload] = {reach: certificates(workload, reach, scale) for reach in REACHES}
    if "W4" in scale.workloads:
        study.tight = in_sample("W4", scale, kinds=_limits(kinds_of("W4"), 0.5))
    if scale.around:
        study.around = around(scale, say)
    return study


# ------------------------------------------------------------------ the paper's protocol


def in_sample(workload: str, scale: Scale, **more: Any) -> dict[str, Tuned]:
    """Tune each policy on one hour that starts empty, as the paper does; see how it fares on other such hours."""
    found = {}
    chosen: Choice | None = None
    for recipe in (AQA, ENERGYQARE, TRACKING_ONLY):
        setting = setting_of(workload, recipe, paper=True, **more)
        trial = Trial(setting, [HOUR_SEED])
        if recipe is AQA:
            choice = aqa_bid(trial, mode=PAPER, iterations=scale.iterations)
        elif recipe is ENERGYQARE:
            choice = chosen = grid_bid(trial, mode=PAPER, step=scale.grid_step)
        else:
            assert chosen is not None  # noqa: S101 - EnergyQARE came before
            choice = replace(chosen, method="EnergyQARE's bid", outcome=trial.run(chosen.bid))
        others = fresh(setting, OTHER_SEEDS[: scale.fresh_hours // 4], choice.bid, choice.weights)
        found[recipe.name] = Tuned(recipe.name, choice, others)
    return found


# ------------------------------------------------------------------ our protocol


def certificates(workload: str, reach: str, scale: Scale, **more: Any) -> dict[str, Certificate]:
    """Let AQA and Slackline choose on stationary hours, and certify both on hours that neither has seen."""
    seeds = range(scale.fresh_hours)
    aqa = setting_of(workload, AQA, **more)
    choice = best_aqa(aqa, reach, scale)
    return {"AQA": certify(aqa, choice, seeds), "Slackline": slackline(workload, reach, scale, **more)}


def best_aqa(setting: Setting, reach: str, scale: Scale) -> Choice:
    """Return the better of AQA's own search and of ours with AQA's weights: the baseline shall not fail for want of a search."""
    trial = Trial(setting, range(10_000, 10_000 + scale.aqa_hours))
    own = aqa_bid(trial, mode=reach, iterations=scale.iterations)
    searched = search_bid(setting, mode=reach, part=1.0, rounds=2, trial=trial, weights=own.weights, safe=False)
    one, other = own.outcome.excess(), searched.outcome.excess()
    if (one, own.outcome.cost) <= (other, searched.outcome.cost):
        return own
    return replace(searched, method="AQA, searched", history=own.history)


def slackline(workload: str, reach: str, scale: Scale, **more: Any) -> Certificate:
    """Let Slackline choose and certify it."""
    ours = setting_of(workload, SLACKLINE, **more)
    trial = Trial(ours, range(10_000, 10_000 + scale.search_hours))
    proof = Trial(ours, range(20_000, 20_000 + scale.proof_hours))
    choice = search_bid(ours, mode=reach, rounds=scale.rounds, trial=trial, proof=proof)
    return certify(ours, choice, range(scale.fresh_hours))


# ------------------------------------------------------------------ around the fourteen


def around(scale: Scale, say: Say) -> dict[str, Any]:
    """Carry out the further studies: standby jobs, preemption, QoS levels, random limits, size, errors in what is known."""
    few = range(AROUND_SEED, AROUND_SEED + max(8, scale.fresh_hours // 8))
    say("standby jobs (W3), preemption (W5)")
    found: dict[str, Any] = {"standby": standby_effect(few), "preemption": preemption_effect(few)}
    say("tight and loose limits (W4), random limits (W1)")
    found["levels"] = {
        name: _pair("W4", _limits(kinds_of("W4"), factor), scale)
        for name, factor in (("tight", 0.5), ("medium", 1.0), ("loose", 2.0))
    }
    found["random"] = [_pair("W1", _random_limits(kinds_of("W1"), i), scale) for i in range(scale.thresholds)]
    say("10,000 nodes")
    found["large"] = large(scale)
    say("what if λ, run times or powers are off by 20 %, or arrivals come in bursts (W4)")
    found["sensitivity"] = sensitivity("W4", scale)
    laws = recorded_laws()
    if laws:
        say(f"{len(laws)} recorded regulation signals (W1)")
        found["recorded"] = recorded_days(scale, laws)
    return found


def recorded_laws() -> dict[str, SignalLaw]:
    """Return the recorded signals under WATTLINE_DATA, by name (none if they are not there)."""
    folder = os.environ.get("WATTLINE_DATA")
    if not folder:
        return {}
    from wattline.traces.signals import read_signals

    laws: dict[str, SignalLaw] = {}
    for path in sorted(Path(folder, "regulation").glob("pjm_reg[ad]_*.csv*")):
        for column, found in read_signals(path).items():
            name = path.name.split("_2s")[0].removeprefix("pjm_")
            laws[f"{name} {column}" if len(column) > 4 else name] = recorded(found.signal)
    return laws


def standby_effect(seeds: Sequence[int]) -> dict[str, Outcome]:
    """Hold W3 under one bid without and with standby jobs."""
    bid, settings = standby_case()
    return {label: fresh(setting, seeds, bid) for label, setting in settings.items()}


def standby_case() -> tuple[Bid, dict[str, Setting]]:
    """Return W3 without and with standby jobs of one node, and a bid for both."""
    plain = setting_of("W3", AQA)
    filled = setting_of("W3", replace(AQA, params={"select": {"standby": 1.0}}), kinds=(*kinds_of("W3"), standby()))
    return Bid(NODES * IDLE_W + 1.05 * plain.load_w(), 2500.0), {"without": plain, "with": filled}


def preemption_effect(seeds: Sequence[int]) -> dict[str, Outcome]:
    """Hold W5 under one bid without and with preemption."""
    bid, settings = preemption_case()
    return {label: fresh(setting, seeds, bid) for label, setting in settings.items()}


def preemption_case() -> tuple[Bid, dict[str, Setting]]:
    """Return W5 without and with preemption, and a bid for both."""
    plain, paused = setting_of("W5", AQA), setting_of("W5", replace(AQA, params={"select": {"preempt": 1.0}}))
    return Bid(NODES * IDLE_W + plain.load_w(), 4500.0), {"without": plain, "with": paused}


def _limits(kinds: tuple[Kind, ...], factor: float) -> tuple[Kind, ...]:
    return tuple(replace(kind, limit=kind.limit * factor) for kind in kinds)


def _random_limits(kinds: tuple[Kind, ...], seed: int) -> tuple[Kind, ...]:
    drawn = np.random.default_rng([seed, 79]).uniform(2.0, 7.9, len(kinds))
    return tuple(replace(kind, limit=float(limit)) for kind, limit in zip(kinds, drawn, strict=True))


def _pair(workload: str, kinds: tuple[Kind, ...], scale: Scale) -> dict[str, Certificate]:
    small = replace(scale, fresh_hours=max(24, scale.fresh_hours // 4), iterations=scale.iterations // 2, rounds=2)
    return certificates(workload, PAPER, small, kinds=kinds)


def large_setting(recipe: Recipe) -> Setting:
    """Return W1 on 10,000 nodes, the nodes of every job times 100."""
    return Setting(kinds_of("W1", nodes=10_000, scale=100), 10_000, IDLE_W, HIGHEST_W, recipe)


def large(scale: Scale) -> dict[str, Certificate]:
    """Let AQA and Slackline bid on 10,000 nodes."""
    small = replace(scale, fresh_hours=max(24, scale.fresh_hours // 4), iterations=scale.iterations // 2, rounds=2)
    found = {}
    for recipe in (AQA, SLACKLINE):
        setting = large_setting(recipe)
        trial = Trial(setting, range(10_000, 10_000 + small.aqa_hours))
        if recipe is AQA:
            choice = aqa_bid(trial, mode=PAPER, iterations=small.iterations)
        else:
            choice = search_bid(setting, mode=PAPER, rounds=small.rounds, trial=trial,
                                proof=Trial(setting, range(20_000, 20_024)))  # fmt: skip
        found[recipe.name] = certify(setting, choice, range(small.fresh_hours))
    return found


def sensitivity(workload: str, scale: Scale) -> dict[str, dict[str, Outcome]]:
    """Keep the bids made for a workload and let the world differ from what they were made for."""
    seeds = range(60_000, 60_000 + max(24, scale.fresh_hours // 4))
    chosen = {name: c.choice for name, c in certificates(workload, PAPER, replace(scale, fresh_hours=24)).items()}
    kinds = kinds_of(workload)
    worlds: dict[str, tuple[tuple[Kind, ...], float]] = {"as expected": (kinds, 0.0), "bursts": (kinds, 0.5)}
    for sign, factor in (("−20 %", 0.8), ("+20 %", 1.2)):
        worlds[f"λ {sign}"] = (tuple(replace(k, arrival_per_s=k.arrival_per_s * factor) for k in kinds), 0.0)
        worlds[f"T {sign}"] = (tuple(replace(k, work_s=k.work_s * factor) for k in kinds), 0.0)
        worlds[f"p {sign}"] = (tuple(_power(k, factor) for k in kinds), 0.0)
    recipes = {"AQA": AQA, "Slackline": SLACKLINE}
    return {
        label: {
            name: fresh(setting_of(workload, recipe, kinds=world, burst=burst), seeds, chosen[name].bid,
                        chosen[name].weights, chosen[name].params)
            for name, recipe in recipes.items()
        }
        for label, (world, burst) in worlds.items()
    }  # fmt: skip


def _power(kind: Kind, factor: float) -> Kind:
    """Return a kind that draws another part of what it draws above idle."""
    draw_w, floor_w = (IDLE_W + factor * (watts - IDLE_W) for watts in (kind.draw_w, kind.floor_w))
    return replace(kind, draw_w=min(draw_w, HIGHEST_W), floor_w=min(floor_w, HIGHEST_W))


def recorded_days(scale: Scale, laws: dict[str, SignalLaw]) -> dict[str, dict[str, Certificate]]:
    """Bid on W1 against recorded signals instead of a Gaussian one."""
    small = replace(scale, fresh_hours=max(24, scale.fresh_hours // 4), iterations=scale.iterations // 2, rounds=2)
    return {name: certificates("W1", PAPER, small, signal=law) for name, law in laws.items()}


def ratio_of(study: Study, workload: str, reach: str) -> float:
    """Return Slackline's mean cost over AQA's."""
    both = study.ours[workload][reach]
    return both["Slackline"].outcome.cost / both["AQA"].outcome.cost


__all__ = ["PAPER", "STRICT", "Scale", "Study", "run_study"]
