"""The experiments on QoSG: default, baselines, sizes, QoS levels, utilization, mixes, two-type workloads, signals."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wattline.bidding.hours.laws import SignalLaw
from wattline.bidding.hours.outcome import Outcome
from wattline.bidding.hours.setting import Protocol, Setting
from wattline.bidding.hours.trial import Trial, fresh
from wattline.bidding.searches.choice import STRICT, Choice, largest_reserve_w
from wattline.bidding.searches.grid import TRACKING, grid_bid
from wattline.bidding.searches.qosg import qosg_bid
from wattline.bidding.searches.search import search_bid
from wattline.control.catalog import find
from wattline.model.regulation import Bid
from wattline.systems.followers import ENERGYQARE, QOSG, SLACKLINE, TRACKING_ONLY
from wattline.systems.qosg.jobs import IDLE_W, NODES, recorded_signals, setting_of
from wattline.systems.qosg.sweep import Point, sweep_point
from wattline.systems.tuned import HOUR_SEED, Tuned
from wattline.systems.work import Work
from wattline.theory.gps_moments import Gaussian
from wattline.units import HOUR_S

"""The runtime of both is the same; AQA came later and chooses bids and weights in another way."""

TAU_S = 200.0
LARGE = 1000
"""Nodes from which on less is tried: an hour takes seconds."""

PUBLISHED_BID = Bid(20_600.0, 10_111.0)
PUBLISHED_WEIGHTS = {"fs": 0.128, "sc": 0.212, "bt": 0.127, "lu": 0.271, "mg": 0.124, "sp": 0.140}


@dataclass(frozen=True)
class Scale:
    """How much is simulated."""

    points: int = 60
    fits: int = 8
    fresh_hours: int = 64
    grid_step: float = 0.05
    search_hours: int = 8
    proof_hours: int = 64
    rounds: int = 3
    forces: tuple[float, ...] = (0.95, 0.7)
    """When Slackline forces a job to start. All that the lowest caps cost is set aside from the slack (``slow = 1``):
    these limits are hardly above it, and a job that starts with half of it left is late as soon as caps are deep.
    """
    sizes: tuple[int, ...] = (20, 50, 500, 2500)
    alone: tuple[str, ...] = ("fs", "sc", "bt", "lu", "mg", "sp")
    slackline: tuple[str, ...] = ("default", "without standby", "12 servers", "η = 25 %", "η = 75 %", "tight", "loose")
    factors: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0, 6.0)
    """Factors on the QoS limits, and time constants of the signal, that are swept without standby jobs."""
    taus_s: tuple[float, ...] = (60.0, 80.0, 94.0, 140.0, 200.0)
    sweep: tuple[int, int] = (30, 4)
    """Mean powers and fits of α of the sweep."""
    other_hours: int = 4
    """Other hours on which policies choose, to see what the one hour decides (0: causes are not tried)."""

    @classmethod
    def quick(cls) -> Scale:
        """Return a version that takes seconds."""
        return cls(
            points=18,
            fits=4,
            fresh_hours=3,
            grid_step=0.1,
            search_hours=4,
            proof_hours=32,
            rounds=1,
            forces=(0.95,),
            sizes=(20,),
            alone=("fs", "bt"),
            slackline=("20 servers",),
            factors=(1.0, 4.0),
            taus_s=(80.0, 200.0),
            sweep=(12, 2),
            other_hours=0,
        )


def cases(scale: Scale) -> dict[str, dict[str, Any]]:
    """Return the cases by name: what differs from the default."""
    found: dict[str, dict[str, Any]] = {
        "default": {},
        "without standby": {"standby": False},
        "12 servers": {"nodes": 12},
    }
    found |= {f"{nodes} servers": {"nodes": nodes} for nodes in scale.sizes}
    found |= {level: {"level": level} for level in ("tight", "loose")}
    found |= {f"η = {part:.0%}".replace("%", " %"): {"utilization": part} for part in (0.25, 0.75)}
    found |= {mix: {"mix": mix} for mix in ("mix-long", "mix-short")}
    return found | {f"{name} alone": {"only": name} for name in scale.alone}


OTHER_LEVELS = ("tight", "loose")
TRIED = ("default", "12 servers", *OTHER_LEVELS, "η = 75 %", "mix-long", "mix-short", "fs alone", "bt alone")
"""Cases in which policies choose on other hours, and at other limits, too."""


@dataclass(frozen=True)
class Other:
    """A case with another hour of jobs and signal, or other QoS limits."""

    case: str
    hour: int = 0
    level: str = ""


def others(scale: Scale) -> list[Other]:
    """Return what is tried to see why a statement does not hold."""
    if not scale.other_hours:
        return []
    hours = range(1, scale.other_hours + 1)
    fixed = ("default", *OTHER_LEVELS)  # at other limits they are each other
    found = [Other(case, hour) for case in TRIED for hour in hours]
    return found + [Other(case, 0, level) for case in TRIED if case not in fixed for level in OTHER_LEVELS]


@dataclass
class Study:
    """All that was found."""

    scale: Scale
    found: dict[str, dict[str, Tuned]] = field(default_factory=dict)
    """case → policy → what it came to on its hour, and on fresh stationary ones"""
    published: Outcome | None = None
    """The published bid and weights on the hour of the study, in our simulator."""
    at_load: Outcome | None = None
    """The same hour without standby jobs, at a mean power that is the jobs' own and a fifth of it as reserve."""
    signals: dict[str, Outcome] = field(default_factory=dict)
    """signal → an hour under the bid of the default"""
    sweep: list[Point] = field(default_factory=list)
    """Without standby jobs: limits × signals."""
    others: dict[Other, dict[str, Choice]] = field(default_factory=dict)
    """policy → what it chose on another hour, or at other limits"""
    has_recorded: bool = False


def run_study(scale: Scale, work: Work) -> Study:
    """Carry everything out."""
    study = Study(scale)
    todo = cases(scale)
    todo_points = [(factor, tau_s, *scale.sweep) for factor in scale.factors for tau_s in scale.taus_s]
    words = f"{len(todo)} cases: bids on one hour, then fresh ones"
    work.say(f"{words}; without standby jobs limits × {scale.factors}, τ {scale.taus_s} s")
    todo_others = others(scale)
    work.plan(len(todo) + len(todo_points) + len(todo_others))
    study.found = dict(zip(todo, work.each(_case, [(name, scale) for name in todo], threads=True), strict=True))
    trial = Trial(setting_of(QOSG, paper=True), [HOUR_SEED])
    study.published = trial.run(PUBLISHED_BID, np.array([*PUBLISHED_WEIGHTS.values(), 0.0]))
    plain = setting_of(QOSG, paper=True, standby=False)
    mean_w = plain.idle_total_w + plain.load_w()
    study.at_load = Trial(plain, [HOUR_SEED]).run(Bid(mean_w, 0.2 * mean_w), np.array([*PUBLISHED_WEIGHTS.values()]))
    study.sweep = work.each(_point, todo_points, threads=True)
    chosen = work.each(_other, [(other, scale) for other in todo_others], threads=True)
    study.others = dict(zip(todo_others, chosen, strict=True))
    days = recorded_signals()
    study.has_recorded = bool(days)
    study.signals = other_signals(study.found["default"]["QoSG"].choice, days)
    return study


def _case(asked: tuple[str, Scale]) -> dict[str, Tuned]:
    name, scale = asked
    return policies(name, cases(scale)[name], scale)


def _other(asked: tuple[Other, Scale]) -> dict[str, Choice]:
    """Let QoSG choose, and in the cases that have them the baselines, without standby jobs."""
    other, scale = asked
    case = cases(scale)[other.case] | ({"level": other.level} if other.level else {})
    seed = HOUR_SEED + other.hour
    found = {"QoSG": qosg(case, scale, seed=seed)}
    if other.case in BESIDE:
        plain = {**case, "standby": False}
        found[TRACKING_ONLY.name] = tracking_only(plain, scale, seed=seed)
        found[ENERGYQARE.name] = energyqare(plain, scale, seed=seed)
    return found


def _point(asked: tuple[float, float, int, int]) -> Point:
    factor, tau_s, points, fits = asked
    return sweep_point(factor, tau_s, points=points, fits=fits)


def policies(name: str, case: dict[str, Any], scale: Scale) -> dict[str, Tuned]:
    """Let the policies that are compared in a case choose, and try their bids on fresh hours."""
    found = {"QoSG": _found("QoSG", qosg(case, scale), case, scale)}
    if name == "default":
        found["QoSG, one fit"] = _found("QoSG, one fit", qosg(case, scale, fits=1), case, scale)
        corrected = qosg(case, scale, signal=Gaussian.correlated(0.40, TAU_S))
        found["QoSG, corrected"] = _found("QoSG, corrected", corrected, case, scale)
        filled = qosg(case, scale, signal=Gaussian.correlated(0.40, TAU_S), paper=False)
        found[FILLED] = _found(FILLED, filled, case, scale)
    if name in BESIDE:
        for label, standby in (("", False), (" with standby", True)):
            of = {**case, "standby": standby}
            for policy, choose in ((TRACKING_ONLY, tracking_only), (ENERGYQARE, energyqare)):
                found[policy.name + label] = _found(policy.name, choose(of, scale), of, scale)
    if name in scale.slackline:
        found["Slackline"] = _found("Slackline", slackline(case, scale), case, scale)
    return found


FILLED = "QoSG, corrected, filled"
"""The corrected theory fitted to an hour that starts with the jobs of the time before it."""

BESIDE = ("default", "12 servers")
"""Cases in which the baselines choose, too."""

RECIPES = {"QoSG": QOSG, "Tracking-only": TRACKING_ONLY, "EnergyQARE": ENERGYQARE, "Slackline": SLACKLINE}


def _found(policy: str, choice: Choice, case: dict[str, Any], scale: Scale) -> Tuned:
    setting = setting_of(RECIPES[policy.split(",")[0]], **case)
    seeds, tries = range(_hours(scale, case)), (choice.bid, choice.weights, choice.params)
    if setting.nodes > LARGE:  # one after the other: an hour of it with its endless standby jobs fills gigabytes
        hours = [hour for seed in seeds for hour in fresh(setting, [seed], *tries).hours]
        return Tuned(policy, choice, Outcome(setting.kinds, hours))
    return Tuned(policy, choice, fresh(setting, seeds, *tries))


def _hours(scale: Scale, case: dict[str, Any]) -> int:
    """Fewer fresh hours on large machines, more on small ones: these vary more, and each takes less time."""
    nodes: int = case.get("nodes", NODES)
    hours = scale.fresh_hours * NODES * (4 if nodes > NODES else 1) // nodes
    return max(3, min(200, scale.fresh_hours if nodes == NODES else hours))


def qosg(
    case: dict[str, Any],
    scale: Scale,
    *,
    fits: int | None = None,
    signal: Gaussian | None = None,
    seed: int = HOUR_SEED,
    paper: bool = True,
) -> Choice:
    """Let QoSG choose on one hour that starts empty, as in the paper, or (``paper=False``) warmed up."""
    few = case.get("nodes", NODES) > LARGE
    return qosg_bid(
        Trial(setting_of(QOSG, paper=paper, **case), [seed]),
        mode=STRICT,
        signal=signal,
        points=scale.points // 3 if few else scale.points,
        fits=fits or (scale.fits // 2 if few else scale.fits),
    )


def tracking_only(case: dict[str, Any], scale: Scale, *, seed: int = HOUR_SEED) -> Choice:
    """Return Tracking-only with its own rule of thumb (thesis §2.5.1), simulated on the one hour."""
    del scale  # there is nothing to search
    setting = setting_of(TRACKING_ONLY, paper=True, **case)
    bid = rule_of_thumb(setting)
    return Choice("rule of thumb", bid, Trial(setting, [seed]).run(bid))


def rule_of_thumb(setting: Setting) -> Bid:
    """Return P̄ = ηN·mean p + (1 − η)N·p_idle and the largest reserve within reach."""
    kinds = [kind for kind in setting.kinds if not kind.standby]
    busy = sum(kind.arrival_per_s * kind.work_s * kind.nodes for kind in kinds)
    mean_w = busy * sum(kind.draw_w for kind in kinds) / len(kinds) + (setting.nodes - busy) * IDLE_W
    return Bid(mean_w, largest_reserve_w(setting, mean_w, STRICT))


def energyqare(case: dict[str, Any], scale: Scale, *, seed: int = HOUR_SEED) -> Choice:
    """Let EnergyQARE search its grid on the one hour for the cheapest bid that meets tracking (thesis §2.5.1)."""
    trial = Trial(setting_of(ENERGYQARE, paper=True, **case), [seed])
    return grid_bid(trial, mode=STRICT, step=scale.grid_step, rule=TRACKING)


def slackline(case: dict[str, Any], scale: Scale) -> Choice:
    """Let our own policy search on stationary hours that the fresh ones do not hold."""
    setting = setting_of(SLACKLINE, **case)
    trial = Trial(setting, range(10_000, 10_000 + scale.search_hours))
    proof = Trial(setting, range(20_000, 20_000 + scale.proof_hours))
    declared = find("select", SLACKLINE.select)
    found = [
        search_bid(
            setting,
            mode=STRICT,
            rounds=scale.rounds,
            trial=trial,
            proof=proof,
            settings_of_policy=[{"select": declared.values({"force": force, "slow": 1.0})}],
        )
        for force in scale.forces
    ]
    return min(found, key=lambda choice: (not choice.feasible, choice.outcome.cost))


def other_signals(choice: Choice, days: dict[str, SignalLaw]) -> dict[str, Outcome]:
    """Keep the jobs' law and the bid of the default, and play other hours of the signal."""
    found = {}
    for i in range(1, 5):
        trial = Trial(setting_of(QOSG, paper=True), [HOUR_SEED + i])
        found[f"generated {i}"] = trial.run(choice.bid, choice.weights)
    for name, law in days.items():
        for i in (1, 2):
            trial = Trial(setting_of(QOSG, paper=True, signal=law), [HOUR_SEED + i])
            found[f"{name} hour {i}"] = trial.run(choice.bid, choice.weights)
    return found


# ------------------------------------------------------------------ what is counted


def saving(outcome: Outcome, against: str = "drawn_cost") -> tuple[float, float, float]:
    """Return the saving against the cost without demand response, pooled over hours, with its interval (95 %)."""
    cost = outcome.costs
    plain = np.array([getattr(hour.bill, against) for hour in outcome.hours])
    part = float(cost.sum() / plain.sum())
    if cost.size < 2:
        return 1.0 - part, math.nan, math.nan
    from scipy.special import stdtrit

    spread = math.sqrt(cost.size / (cost.size - 1) * float(np.sum((cost - part * plain) ** 2))) / float(plain.sum())
    half = float(stdtrit(cost.size - 1, 0.975)) * spread
    return 1.0 - part, 1.0 - part - half, 1.0 - part + half


def standby_share(outcome: Outcome, *, above_idle: bool = False, protocol: Protocol | None = None) -> float:
    """Return the standby jobs' part of all energy; ``above_idle``: of what they add to the idle nodes they run on.

    Their energy is counted from the beginning of a run; where that has a warm-up, all energy is taken in proportion.
    """
    kinds = [kind for kind in outcome.kinds if kind.standby]
    if not kinds:
        return 0.0
    length_s = HOUR_S + (protocol or Protocol(paper=True)).warm(outcome.kinds)
    total_j = sum(hour.tracking.energy_j for hour in outcome.hours) * length_s / HOUR_S
    part = 1.0 - IDLE_W / kinds[0].draw_w if above_idle else 1.0
    return part * sum(hour.standby_j for hour in outcome.hours) / total_j
