"""The experiments on QoSCap: days of three machines, power policies × bid policies, and our own pair beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from wattline.bidding.days import DAY_S, GIVEN, HOUR_S, NONE, DayOutcome, Days, DayTrial, Pair, fixed_search
from wattline.bidding.setting import Setting, draw_jobs
from wattline.generate.jobs import generate
from wattline.generate.rrze import IDLE_W, EmmyLike, MeggieLike, RrzeLike, kinds_like
from wattline.generate.signal import GaussianSignal, generate_signal
from wattline.model.cluster import Cluster, NodeClass
from wattline.model.jobs import JobTable
from wattline.model.kinds import Kind
from wattline.model.regulation import Bid, Signal
from wattline.sim.ensemble import in_processes
from wattline.systems.at_hand import data_file

Say = Callable[[str], None]

WARM_DAYS, AFTER_DAYS = 4, 3
"""Days before the measured one, and after it, in which its jobs finish."""

ENERGYQARE: Mapping[str, Any] = {"select": "energyqare", "params": {"select": {"largest": 2.0}}}
"""It acts on the mean over all jobs here."""

QOSCAP: Mapping[str, Any] = {"select": "qoscap"}
PAIRS = (
    Pair("EnergyQARE + FH", bid="fixed-heuristic", **ENERGYQARE), Pair("EnergyQARE + FES", bid=GIVEN, **ENERGYQARE),
    Pair("EnergyQARE + Adaptive", bid="adaptive", **ENERGYQARE), Pair("QoSCap + FH", bid="fixed-heuristic", **QOSCAP),
    Pair("QoSCap + FES", bid=GIVEN, **QOSCAP), Pair("QoSCap + Adaptive", bid="adaptive", **QOSCAP),
)  # fmt: skip
OURS = Pair("Slackline + quantile", "slackline", "quantile")
OUT = Pair("no market", "easy", NONE, cap="none")
PUBLISHED_PAIR = "QoSCap + Adaptive"

PUBLISHED: dict[str, dict[str, tuple[float, float, float | None]]] = {
    "meggie, Feb 5": {
        "EnergyQARE + FH": (0.077, 4.0, None), "EnergyQARE + FES": (0.181, 1.8, None), "EnergyQARE + Adaptive": (0.020, 5.8, None),
        "QoSCap + FH": (0.093, 1.5, 124), "QoSCap + FES": (0.203, 1.4, None), "QoSCap + Adaptive": (0.010, 1.9, 122),
    },
    "meggie, Jan 16": {
        "EnergyQARE + FH": (0.022, 3.0, None), "EnergyQARE + FES": (0.002, 4.8, None), "EnergyQARE + Adaptive": (0.019, 2.6, None),
        "QoSCap + FH": (0.180, 2.0, None), "QoSCap + FES": (0.041, 1.9, 151), "QoSCap + Adaptive": (0.002, 2.0, 166),
    },
    "emmy, Nov 15": {
        "EnergyQARE + FH": (0.739, 2.2, None), "EnergyQARE + FES": (0.008, 1.0, 115), "EnergyQARE + Adaptive": (0.001, 2.1, None),
        "QoSCap + FH": (0.704, 1.9, None), "QoSCap + FES": (0.028, 2.1, None), "QoSCap + Adaptive": (0.007, 2.0, 119),
    },
}  # fmt: skip
"""Machine and day → pair → share of time with a large tracking error, worst average QoS degradation, cost in $."""

LAWS: dict[str, tuple[type[RrzeLike], float]] = {
    "meggie, Feb 5": (MeggieLike, 0.68), "meggie, Jan 16": (MeggieLike, 0.85), "emmy, Nov 15": (EmmyLike, 0.65),
}  # fmt: skip
"""Generated stand-ins: the machine, and a load at which an uncapped day costs about what the published one did."""

THETA = "Theta"


@dataclass(frozen=True)
class Scale:
    """How much is simulated."""

    cases: tuple[str, ...] = tuple(LAWS)
    seeds: int = 6
    points: int = 20
    recorded: bool = True
    theta: tuple[int, int] = (2, 6)
    """Stretches of Theta and points of its grid: 4,392 nodes and short jobs take their time."""

    @classmethod
    def quick(cls) -> Scale:
        """Return a version that takes seconds: one machine, one day, a coarse grid."""
        return cls(("emmy, Nov 15",), 1, 5, recorded=False)


@dataclass
class Study:
    """All that was found."""

    scale: Scale
    found: dict[str, dict[str, list[DayOutcome]]] = field(default_factory=dict)
    """machine → pair → a day for every seed"""
    fixed: dict[str, dict[str, Bid]] = field(default_factory=dict)
    """machine → pair → the bid that exhaustive search chose"""
    market: dict[str, dict[str, list[DayOutcome]]] = field(default_factory=dict)
    """the same under PJM's recorded signal and prices (empty without them)"""


# ------------------------------------------------------------------ workloads


def days_of(case: str, seed: int) -> Days:
    """Return a machine's day with what comes before and after: jobs and signal of a seed."""
    if case == THETA:
        from wattline.systems.qoscap.theta import theta_days

        return theta_days(seed)
    law_of, load = LAWS[case]
    law = law_of(days=float(WARM_DAYS + 1 + AFTER_DAYS), load=load, seed=seed)
    kinds = tuple(replace(row.kind, average=True) for row in kinds_like(law))
    return stretch(case, kinds, generate(law).jobs, machine(kinds, law.machine_nodes, IDLE_W, law.max_w), seed)


def machine(kinds: tuple[Kind, ...], nodes: int, idle_w: float, max_w: float) -> Cluster:
    """Return a cluster whose nodes take any cap that its jobs can follow."""
    lowest_w = min(kind.floor_w for kind in kinds)
    return Cluster((NodeClass("node", nodes, idle_w, max_w, min_cap_w=min(max_w, lowest_w)),))


def stretch(name: str, kinds: tuple[Kind, ...], jobs: JobTable, cluster: Cluster, seed: int) -> Days:
    """Return warm-up, measured day and the days after it, under a Gaussian signal."""
    last_s = (WARM_DAYS + 1 + AFTER_DAYS) * DAY_S
    signal = generate_signal(GaussianSignal(last_s, seed=seed))
    return Days(name, kinds, jobs, cluster, signal, WARM_DAYS * DAY_S, (WARM_DAYS + 1) * DAY_S, last_s)


def synthetic(days: Days, seed: int) -> Days:
    """Return what exhaustive search simulates: a day to warm up and one to measure, drawn at the known arrival rates."""
    node = days.cluster.classes[0]
    arriving = tuple(kind for kind in days.kinds if kind.arrival_per_s > 0)
    setting = Setting(arriving, node.count, node.idle_w, node.max_w)
    jobs = draw_jobs(setting, 3 * DAY_S, seed)
    signal = generate_signal(GaussianSignal(3 * DAY_S, seed=seed))
    return Days(days.name, arriving, jobs, days.cluster, signal, DAY_S, 2 * DAY_S, 3 * DAY_S)


# ------------------------------------------------------------------ pieces


@dataclass(frozen=True)
class Piece:
    """One part of the study: a grid of fixed bids of a pair, or a day under all pairs."""

    case: str
    pair: str = ""
    seed: int = 0
    points: int = 0
    fixed: tuple[tuple[str, Bid], ...] = ()
    market: bool = False

    def __str__(self) -> str:
        if self.market:
            return f"{self.case}: day {self.seed}, PJM's signal and prices"
        if self.points:
            return f"{self.case}: {self.pair}, {self.points} × {self.points} bids searched"
        return f"{self.case}: day {self.seed} under all policies"


SEARCH_SEED = 900
"""Exhaustive search sees other jobs and another signal than any measured day."""


def carry_out(piece: Piece) -> Any:
    """Carry one piece out."""
    days = days_of(piece.case, piece.seed or 1)
    if piece.market:
        from wattline.systems.qoscap.market import MARKET_PAIRS, market_days

        return {pair.name: DayTrial(market_days(days, piece.seed), pair).run() for pair in MARKET_PAIRS}
    if piece.points:
        pair = next(pair for pair in PAIRS if pair.name == piece.pair)
        bid, _ = fixed_search(DayTrial(synthetic(days, SEARCH_SEED), pair), points=piece.points)
        return bid
    fixed = dict(piece.fixed)
    return {pair.name: DayTrial(days, pair).run(fixed.get(pair.name)) for pair in (*PAIRS, OURS, OUT)}


def run_study(scale: Scale, say: Say) -> Study:
    """Carry everything out: first the searches, then the days."""
    study = Study(scale)
    workers = None if scale.seeds > 1 else 1
    cases = (*scale.cases, *([THETA] if scale.recorded and theta_at_hand() else []))
    seeds = {case: scale.theta[0] if case == THETA else scale.seeds for case in cases}
    points = {case: scale.theta[1] if case == THETA else scale.points for case in cases}
    searches = [Piece(case, pair.name, 1, points[case]) for case in cases for pair in PAIRS if pair.bid == GIVEN]
    priced = [
        Piece(case, seed=seed, market=True)
        for case in (scale.cases if scale.recorded and market_at_hand() else ())
        for seed in range(1, scale.seeds + 1)
    ]
    todo = len(searches) + sum(seeds.values()) + len(priced)
    done = 0

    def tell(piece: Piece) -> None:
        nonlocal done
        done += 1
        say(f"{done} of {todo}: {piece}")

    say(f"{todo} pieces: {len(cases)} machines, {scale.seeds} days each, fixed bids from {scale.points}² of a grid")
    DayTrial(_tiny(), PAIRS[-1]).run()  # what is not compiled yet is compiled once, not by every process
    for piece, bid in zip(searches, in_processes(carry_out, searches, done=tell, workers=workers), strict=True):
        study.fixed.setdefault(piece.case, {})[piece.pair] = bid
    measured = [
        Piece(case, "", seed, 0, tuple(study.fixed[case].items()))
        for case in cases
        for seed in range(1, seeds[case] + 1)
    ]
    for piece, by in zip(measured, in_processes(carry_out, measured, done=tell, workers=workers), strict=True):
        for name, outcome in by.items():
            study.found.setdefault(piece.case, {}).setdefault(name, []).append(outcome)
    for piece, by in zip(priced, in_processes(carry_out, priced, done=tell, workers=workers), strict=True):
        for name, outcome in by.items():
            study.market.setdefault(piece.case, {}).setdefault(name, []).append(outcome)
    return study


def _tiny() -> Days:
    kinds = (Kind("one", 1, 600.0, 100.0, 60.0, 1.3, limit=2.0, arrival_per_s=1e-3, average=True),)
    jobs = JobTable.build(
        submit_s=[0.0],
        work_s=[600.0],
        nodes=[1],
        kind=[0],
        kinds=("one",),
        draw_w=[100.0],
        floor_w=[60.0],
        stretch=[1.3],
    )
    return Days(
        "tiny", kinds, jobs, machine(kinds, 4, 31.0, 100.0), Signal(0.0, 2.0, np.zeros(3600)), 0.0, HOUR_S, 2 * HOUR_S
    )


# ------------------------------------------------------------------ what is at hand


def theta_at_hand() -> bool:
    """Tell whether the log of Theta is under WATTLINE_DATA."""
    return data_file("swf/ALCF-Theta-2023H1_norm.swf.gz") is not None


def market_at_hand() -> bool:
    """Tell whether PJM's recorded signal and prices are there."""
    names = (
        "pjm_regd_2020-07-16_2s.csv.gz",
        "pjm_rt_hourly_lmp_PJM-RTO_2022-07.csv",
        "pjm_regulation_market_results_2022-07_hourly.csv",
    )
    return all(data_file(f"regulation/{name}") is not None for name in names)
