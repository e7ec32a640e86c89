"""Around AQA's fourteen workloads: standby jobs, preemption, other limits, 10,000 nodes, errors in what is known, real
signals.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from wattline.bidding.certificate import Certificate, certify
from wattline.bidding.hours.laws import SignalLaw, recorded
from wattline.bidding.hours.outcome import Outcome
from wattline.bidding.hours.setting import Protocol, Setting
from wattline.bidding.hours.trial import Trial, fresh
from wattline.bidding.searches.aqa import aqa_bid
from wattline.bidding.searches.choice import PAPER, Choice
from wattline.bidding.searches.search import make_safe, search_bid
from wattline.model.kinds import Kind
from wattline.model.regulation import Bid
from wattline.systems.aqa.spread import ROUNDINGS, rounded
from wattline.systems.aqa.study import Scale, better_weights, certificates, setting_of
from wattline.systems.followers import AQA, SLACKLINE, Follower
from wattline.systems.npb import HIGHEST_W, IDLE_W, NODES, kinds_of, standby
from wattline.systems.tuned import HOUR_SEED

LARGE_HOURS, LARGE_PROOF = 6, 40
"""Hours on which both choose on 10,000 nodes, and on which their bids are made safe."""

PREEMPTED = Bid(7727.0, 5100.0)
"""What AQA must have bid on W5: a cost of $0.34 that is 56 % below that of P̄, and $0.31 at an error of 9.5 %."""

LEVELS = {"tight": 0.5, "medium": 1.0, "loose": 2.0}
"""Factors on all QoS limits."""


def recorded_laws() -> dict[str, SignalLaw]:
    """Return the recorded signals under WATTLINE_DATA, by name (none if they are not there)."""
    folder = os.environ.get("WATTLINE_DATA")
    if not folder:
        return {}
    from wattline.formats.series.signals import read_signals

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
    """Return W5 without and with preemption, and the bid that the published figures imply."""
    plain, paused = setting_of("W5", AQA), setting_of("W5", replace(AQA, params={"select": {"preempt": 1.0}}))
    return PREEMPTED, {"without": plain, "with": paused}


def limits(kinds: tuple[Kind, ...], factor: float) -> tuple[Kind, ...]:
    """Return kinds with their QoS limits times a factor."""
    return tuple(replace(kind, limit=kind.limit * factor) for kind in kinds)


def random_limits(kinds: tuple[Kind, ...], seed: int) -> tuple[Kind, ...]:
    """Return kinds with QoS limits drawn from the range of the published ones."""
    drawn = np.random.default_rng([seed, 79]).uniform(2.0, 7.9, len(kinds))
    return tuple(replace(kind, limit=float(limit)) for kind, limit in zip(kinds, drawn, strict=True))


def pair(workload: str, kinds: tuple[Kind, ...], scale: Scale) -> dict[str, Certificate]:
    """Certify AQA and Slackline on a workload with other limits."""
    small = replace(scale, steps=scale.steps // 2, rounds=2)
    return certificates(workload, small, [PAPER], kinds=kinds)[PAPER]


OTHERS = range(HOUR_SEED + 1, HOUR_SEED + 5)
"""Hours on which AQA chooses with random limits, too, to see what the hour decides."""


def random_set(number: int, scale: Scale) -> dict[str, list[Choice]]:
    """Let AQA choose on one hour of W1 with one of the random sets of limits, as the paper does, by each rounding; and
    on each of some other hours.
    """
    kinds = random_limits(kinds_of("W1"), number)

    def chosen(rounding: str, seed: int) -> Choice:
        hour = Trial(setting_of("W1", rounded(rounding), paper=True, kinds=kinds), [seed])
        return better_weights(hour, PAPER, scale, rounds=2 * scale.balance, steps=scale.iterations)

    found = {name: [chosen(name, HOUR_SEED)] for name in ROUNDINGS}
    found["nearest"] += [chosen("nearest", seed) for seed in OTHERS]
    return found


def large_setting(policy: Follower, *, paper: bool = False) -> Setting:
    """Return W1 on 10,000 nodes, the nodes of every job times 100."""
    kinds = kinds_of("W1", nodes=10_000, scale=100)
    named = {"name": policy.name, "params": policy.params, "protocol": Protocol(paper=paper)}
    return Setting.alike(kinds, 10_000, IDLE_W, HIGHEST_W, policy.select, **named)


def large_hours(scale: Scale) -> dict[str, list[Outcome]]:
    """Let AQA's own search choose on 10,000 nodes on each of some hours that start empty, by each rounding."""
    seeds = range(HOUR_SEED, HOUR_SEED + max(1, scale.spread_hours // 2))
    return {
        name: [aqa_bid(Trial(large_setting(rounded(name), paper=True), [seed])).outcome for seed in seeds]
        for name in ROUNDINGS
    }


def large(scale: Scale) -> dict[str, Certificate]:
    """Let AQA and Slackline bid on 10,000 nodes."""
    small = replace(scale, fresh_hours=max(24, scale.fresh_hours // 4), steps=scale.steps // 2, rounds=2)
    found = {}
    for policy in (AQA, SLACKLINE):
        setting = large_setting(policy)
        proof = Trial(setting, range(20_000, 20_000 + LARGE_PROOF))
        trial = Trial(setting, range(10_000, 10_000 + LARGE_HOURS))
        if policy is AQA:
            choice = make_safe(setting, aqa_bid(trial, mode=PAPER, iterations=small.steps), proof)
        else:
            choice = search_bid(setting, mode=PAPER, rounds=small.rounds, trial=trial, proof=proof)
        found[policy.name] = certify(setting, choice, range(small.fresh_hours))
    return found


def sensitivity(workload: str, scale: Scale) -> dict[str, dict[str, Outcome]]:
    """Keep the bids made for a workload and let the world differ from what they were made for."""
    seeds = range(60_000, 60_000 + max(24, scale.fresh_hours // 4))
    certified = certificates(workload, replace(scale, fresh_hours=24), [PAPER])[PAPER]
    chosen = {name: certificate.choice for name, certificate in certified.items()}
    kinds = kinds_of(workload)
    worlds: dict[str, tuple[tuple[Kind, ...], float]] = {"as expected": (kinds, 0.0), "bursts": (kinds, 0.5)}
    for sign, factor in (("−20 %", 0.8), ("+20 %", 1.2)):
        worlds[f"λ {sign}"] = (tuple(replace(k, arrival_per_s=k.arrival_per_s * factor) for k in kinds), 0.0)
        worlds[f"T {sign}"] = (tuple(replace(k, work_s=k.work_s * factor) for k in kinds), 0.0)
        worlds[f"p {sign}"] = (tuple(_power(k, factor) for k in kinds), 0.0)
    policies = {"AQA": AQA, "Slackline": SLACKLINE}
    return {
        label: {
            name: fresh(
                setting_of(workload, policy, kinds=world, burst=burst),
                seeds,
                chosen[name].bid,
                chosen[name].weights,
                chosen[name].params,
            )
            for name, policy in policies.items()
        }
        for label, (world, burst) in worlds.items()
    }


def _power(kind: Kind, factor: float) -> Kind:
    """Return a kind that draws another part of what it draws above idle."""
    draw_w, floor_w = (IDLE_W + factor * (watts - IDLE_W) for watts in (kind.draw_w, kind.floor_w))
    return replace(kind, draw_w=min(draw_w, HIGHEST_W), floor_w=min(floor_w, HIGHEST_W))


def recorded_day(scale: Scale, law: SignalLaw) -> dict[str, Certificate]:
    """Bid on W1 against a recorded signal instead of a Gaussian one."""
    small = replace(scale, fresh_hours=max(24, scale.fresh_hours // 4), steps=scale.steps // 2, rounds=2)
    return certificates("W1", small, [PAPER], signal=law)[PAPER]
