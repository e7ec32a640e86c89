"""The experiments on QoSCap: days of three machines, power policies × bid policies, and our own pair beside them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from wattline.bidding.hours.days import GIVEN, DayOutcome, Days, DayTrial, fixed_search
from wattline.generate.jobs import generate
from wattline.generate.kinds import draw_jobs
from wattline.generate.rrze import IDLE_W, kinds_like
from wattline.generate.signal import GaussianSignal, generate_signal
from wattline.model.jobs import JobTable
from wattline.model.kinds import Kind
from wattline.model.regulation import Bid, Signal
from wattline.systems.at_hand import data_file
from wattline.systems.qoscap.cases import (
    AFTER_DAYS,
    LAWS,
    OURS,
    OUT,
    PAIRS,
    PUBLISHED_PAIR,
    THETA,
    WARM_DAYS,
    machine,
    stretch,
)
from wattline.systems.qoscap.market import MARKET_PAIRS, market_days
from wattline.systems.qoscap.theta import theta_days
from wattline.systems.work import Work
from wattline.units import DAY_S, HOUR_S


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
        return cls(("emmy, Nov 15",), 1, 3, recorded=False)


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
    narrow: dict[float, dict[str, list[DayOutcome]]] = field(default_factory=dict)
    """part of the caps' range → machine → the published pair on the same days"""


# ------------------------------------------------------------------ workloads


def days_of(case: str, seed: int) -> Days:
    """Return a machine's day with what comes before and after: jobs and signal of a seed."""
    if case == THETA:
        return theta_days(seed)
    law_of, load = LAWS[case]
    law = law_of(days=float(WARM_DAYS + 1 + AFTER_DAYS), load=load, seed=seed)
    kinds = tuple(replace(row.kind, average=True) for row in kinds_like(law))
    return stretch(case, kinds, generate(law).jobs, machine(kinds, law.machine_nodes, IDLE_W, law.max_w), seed)


NARROW = (0.5, 0.25)
"""Parts of the caps' range that are left where it is narrowed, to see what the range decides."""


def narrowed(days: Days, part: float) -> Days:
    """Return days on which the lowest cap of a job takes a part of what it took, and costs that part of the time."""
    jobs = days.jobs
    floor_w = jobs.draw_w - part * (jobs.draw_w - jobs.floor_w)
    kinds = tuple(
        replace(
            kind,
            floor_w=kind.draw_w - part * (kind.draw_w - kind.floor_w),
            stretch=1.0 + part * (kind.stretch - 1.0),
        )
        for kind in days.kinds
    )
    return replace(
        days, kinds=kinds, jobs=jobs.with_columns(floor_w=floor_w, stretch=1.0 + part * (jobs.stretch - 1.0))
    )


def synthetic(days: Days, seed: int) -> Days:
    """Return what exhaustive search simulates: a day to warm up and one to measure, drawn at the known arrival
    rates.
    """
    arriving = tuple(kind for kind in days.kinds if kind.arrival_per_s > 0)
    jobs = draw_jobs(arriving, days.cluster.nodes, 3 * DAY_S, seed)
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
    narrow: float = 1.0

    def __str__(self) -> str:
        if self.narrow < 1.0:
            return f"{self.case}: day {self.seed}, caps of a range × {self.narrow:g}"
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
        return {pair.name: DayTrial(market_days(days, piece.seed), pair).run() for pair in MARKET_PAIRS}
    pair = next((pair for pair in PAIRS if pair.name == piece.pair), PAIRS[0])
    if piece.narrow < 1.0:
        return DayTrial(narrowed(days, piece.narrow), pair).run()
    if piece.points:
        bid, _ = fixed_search(DayTrial(synthetic(days, SEARCH_SEED), pair), points=piece.points)
        return bid
    fixed = dict(piece.fixed)
    return {pair.name: DayTrial(days, pair).run(fixed.get(pair.name)) for pair in (*PAIRS, OURS, OUT)}


def run_study(scale: Scale, work: Work) -> Study:
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
    narrow = [
        Piece(case, PUBLISHED_PAIR, seed, narrow=part)
        for part in NARROW
        for case in scale.cases
        for seed in range(1, scale.seeds + 1)
    ]
    todo = len(searches) + sum(seeds.values()) + len(priced) + len(narrow)
    words = f"{todo} pieces: {len(cases)} machines, {scale.seeds} days each"
    work.say(f"{words}, fixed bids from {scale.points}² of a grid")
    work.plan(todo)

    def first() -> None:
        DayTrial(_tiny(), PAIRS[-1]).run()  # what is not compiled yet is compiled once, not by every process

    for piece, bid in zip(searches, work.each(carry_out, searches, workers=workers, first=first), strict=True):
        study.fixed.setdefault(piece.case, {})[piece.pair] = bid
    measured = [
        Piece(case, "", seed, 0, tuple(study.fixed[case].items()))
        for case in cases
        for seed in range(1, seeds[case] + 1)
    ]
    for piece, by in zip(measured, work.each(carry_out, measured, workers=workers, first=first), strict=True):
        for name, outcome in by.items():
            study.found.setdefault(piece.case, {}).setdefault(name, []).append(outcome)
    for piece, outcome in zip(narrow, work.each(carry_out, narrow, workers=workers, first=first), strict=True):
        study.narrow.setdefault(piece.narrow, {}).setdefault(piece.case, []).append(outcome)
    for piece, by in zip(priced, work.each(carry_out, priced, workers=workers, first=first), strict=True):
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
