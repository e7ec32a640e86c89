"""The study of data-driven power capping: a Mira-like year under caps, with learners, windows and orders.

Recorded logs.

Every piece is one simulated year. What it leaves is small: waits and utilization by month, how the limit was kept, how
profiles were learned, and a thinned-out curve of the power.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from wattline.arrays import Floats
from wattline.model import codes
from wattline.model.cluster import Cluster, NodeClass
from wattline.model.jobs import JobTable
from wattline.report.count.actions import Actions
from wattline.report.count.capping import Capping, measure
from wattline.report.count.learning import learning_rate
from wattline.sim.simulate import Simulation
from wattline.systems.knapsack.data import FULL_MACHINE, LOAD, MACHINES, RACK_KW, Machine, load_jobs
from wattline.systems.work import Work
from wattline.wiring.options import Options
from wattline.wiring.policies import Policies
from wattline.wiring.result import Result

QUANTUM_S = 10.0
WINDOW, OUR_WINDOW = 20.0, 100.0
MISSES = {"pooled": (0.0005, 0.002, 0.005, 0.01, 0.02, 0.05), "quantile": (0.005, 0.01, 0.02, 0.05)}
"""Stated miss probabilities of our learners, for the curves of waits against capping success."""

FIXED_KW = (2000.0, 3000.0, 4000.0)
CHANGING_KW = (2000.0, 3000.0, 4000.0, 2000.0, 3000.0)
CURVE_KW = (2250.0, 2500.0, 2750.0, 3250.0, 3500.0)
CHANGING = "changing"
ORDERS = ("fcfs", "wfp")
CURVE_POINTS = 6000


@dataclass(frozen=True)
class Scheme:
    """Who selects jobs and who tells their power."""

    name: str
    select: str
    profile: str
    params: tuple[tuple[str, str, float], ...] = ()
    """(slot, parameter, value)"""


NAIVE = Scheme("naive", "in-order", "measured")
MAXIMA = Scheme("naive, maxima for running jobs too", "in-order", "maximum")
LETTER = (("select", "window", WINDOW), ("select", "plugged", 1.0))
PAPER = Scheme("window 20, t-test", "window", "t-test-per-job", LETTER)
KEPT = replace(PAPER, name="window 20, t-test, rejected for good", params=(*LETTER, ("profile", "recover", 0.0)))
EVERY = replace(PAPER, name="window 20, t-test at every sample", profile="t-test")
ALONE = replace(PAPER, name="window 20, t-test, deadlocks when nothing runs", params=LETTER[:1])
ORACLE = Scheme("window 20, oracle", "window", "oracle", (("select", "window", WINDOW),))
QUANTILE = Scheme("window 20, quantile", "window", "quantile", (("select", "window", WINDOW),))
EASY = Scheme("EASY, t-test", "easy", "t-test-per-job")
OURS = Scheme("window 100, pooled", "window", "pooled", (("select", "window", OUR_WINDOW),))
UNCAPPED = Scheme("uncapped EASY", "easy", "known")
STRICT = Scheme("uncapped, strict order", "in-order", "known")
CAPPED = (NAIVE, PAPER, QUANTILE, ORACLE, EASY, OURS)
READINGS = (MAXIMA, KEPT, EVERY, ALONE)
"""Other readings of the text, shown beside its letter at 3,000 kW."""


def careful() -> dict[str, list[Scheme]]:
    """Return windows of 100 with our learners at all their miss probabilities."""
    return {
        profile: [
            replace(
                OURS,
                name=f"window 100, {profile}, miss {miss:g}",
                profile=profile,
                params=(*OURS.params, ("profile", "miss", miss)),
            )
            for miss in misses
        ]
        for profile, misses in MISSES.items()
    }


@dataclass(frozen=True)
class Piece:
    """One simulated stretch: machine, order, scheme and limit (kW, ``changing``, or none)."""

    machine: str
    order: str
    scheme: Scheme
    limit: float | str | None
    days: float
    load: float = LOAD
    drawn: bool = False
    noise: float = 0.0
    full: float = FULL_MACHINE

    def __str__(self) -> str:
        limit = (
            "" if self.limit is None else f", {self.limit if isinstance(self.limit, str) else f'{self.limit:,.0f} kW'}"
        )
        return f"{self.machine}: {self.scheme.name}, {self.order}{limit}"


@dataclass(frozen=True)
class Year:
    """What became of a piece; months are those of submission for waits, of the calendar for utilization."""

    wait_s: float
    median_s: float
    widest_wait_s: float
    monthly_wait_s: Floats
    monthly_use: Floats
    use: float
    capping: Capping | None
    known: Floats
    """Share of jobs up to each day whose profile was known when they were submitted."""
    under: float
    over: float
    """Shares of samples' maxima above the profile, and mean excess of profiles over mean powers."""
    last_day: float
    wall_s: float
    curve: tuple[Floats, Floats, Floats] | None = None
    """Hours, power and limit, thinned out, where they are drawn."""


@dataclass(frozen=True)
class Scale:
    """How much is done."""

    days: float = 365.0
    orders: tuple[str, ...] = ORDERS
    limits: tuple[float | str, ...] = (*FIXED_KW, CHANGING)
    schemes: tuple[Scheme, ...] = CAPPED
    curve: bool = True
    recorded: bool = True
    sweep: bool = True

    @classmethod
    def quick(cls) -> Scale:
        """Two months, one order, one fixed and one changing limit."""
        return cls(61.0, ("wfp",), (3000.0, CHANGING), (NAIVE, PAPER, OURS), curve=False, recorded=False, sweep=False)


@dataclass
class Study:
    """Everything that was found, by piece."""

    scale: Scale
    found: dict[Piece, Year] = field(default_factory=dict)

    def get(
        self, order: str, scheme: Scheme, limit: float | str | None, load: float = LOAD, full: float = FULL_MACHINE
    ) -> Year | None:
        """Return what became of a piece of the generated year, if it was part of the study."""
        for p, year in self.found.items():
            same = (p.machine, p.order, p.scheme, p.limit) == ("mira-like", order, scheme, limit)
            if same and (p.load, p.full, p.noise) == (load, full, 0.0):
                return year
        return None


# ------------------------------------------------------------------ one piece


def policies(piece: Piece) -> Policies:
    """Return the mechanisms of a piece."""
    from wattline.control.catalog import find

    params: dict[str, dict[str, float]] = {}
    for slot, name, value in piece.scheme.params:
        params.setdefault(slot, {})[name] = value
    return Policies(
        find("order", piece.order),
        find("select", piece.scheme.select),
        find("place", "lowest"),
        find("cap", "none"),
        find("learn", "request"),
        profile=find("profile", piece.scheme.profile),
        params=params,
    )


def limit_steps(limit: float | str | None, begin_s: float, span_s: float, whole_kw: float) -> list[tuple[float, float]]:
    """Return a limit as steps; limits are given for Mira and scaled to the greatest power of another machine."""
    if limit is None:
        return []
    unit_w = whole_kw / (48 * RACK_KW) * 1e3
    if isinstance(limit, str):
        part_s = span_s / len(CHANGING_KW)
        return [(begin_s + i * part_s, kw * unit_w) for i, kw in enumerate(CHANGING_KW)]
    return [(begin_s, limit * unit_w)]


def carry_out(piece: Piece) -> Year:
    """Simulate one piece."""
    machine, jobs = MACHINES[piece.machine], load_jobs(piece.machine, piece.days, piece.load, piece.noise, piece.full)
    cluster = Cluster((NodeClass(piece.machine, machine.nodes, 0.0, machine.max_w),))
    begin_s = float(jobs.submit_s[0])
    span_s = piece.days * 86400.0
    limit_w = limit_steps(piece.limit, begin_s, span_s, machine.nodes * machine.max_w / 1e3)
    options = Options(tick_s=QUANTUM_S, quantum=True, exceed=True, placements=False, limit_w=limit_w)
    run = Simulation(jobs, cluster, policies(piece), options)
    return look(run.run(), piece, machine, span_s)


def look(result: Result, piece: Piece, machine: Machine, span_s: float) -> Year:
    """Count what became of a run."""
    s, rows = result.state, result.logs["timeline"]
    begin_s = float(s.start_s[0])
    wait_s = s.started_s - s.eligible_s
    months = max(1, round(piece.days / 30.4375))
    month = np.minimum(((s.submit_s - begin_s) / span_s * months).astype(int), months - 1)
    by_month = np.array([np.nanmean(wait_s[month == m]) if np.any(month == m) else np.nan for m in range(months)])
    time_s, power_w, limit = (rows[:, c] for c in (codes.TL_TIME, codes.TL_POWER, codes.TL_LIMIT))
    duration_s = np.diff(np.append(time_s, s.now[0]))
    capping = None
    if piece.limit is not None:
        capping = measure(
            time_s,
            duration_s,
            power_w,
            limit,
            _actions(result),
            origin_s=begin_s,
            quantum_s=QUANTUM_S,
            sample_s=float(s.sample_s[0]),
        )
    known = learning_rate(s.submit_s, s.submit_profile_from != s.profile.shape[1], begin_s).cumulative
    seen = (s.seen_w > 0) & ~np.isnan(s.start_profile_w)
    energy = s.node_j[:, 0].sum()
    counted = float(np.nansum(s.start_profile_w * s.nodes * s.work))
    use = s.node_s[0, 0] / (machine.nodes * (s.now[0] - begin_s))
    curve = None
    if piece.drawn:
        pick = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), CURVE_POINTS)).astype(int))
        curve = ((time_s[pick] - begin_s) / 3600.0, power_w[pick], limit[pick])
    return Year(
        float(np.nanmean(wait_s)),
        float(np.nanmedian(wait_s)),
        float(np.nanmean(wait_s[s.nodes >= machine.nodes // 3])) if np.any(s.nodes >= machine.nodes // 3) else np.nan,
        by_month,
        monthly_use(time_s, rows[:, codes.TL_BUSY], begin_s, span_s, months, machine.nodes),
        float(use),
        capping,
        known,
        float(np.mean(s.seen_w[seen] > s.start_profile_w[seen] * (1 + 1e-9))) if seen.any() else np.nan,
        counted / energy - 1.0 if energy > 0 else np.nan,
        float(s.now[0] - begin_s) / 86400.0,
        result.wall_s,
        curve,
    )


def monthly_use(time_s: Floats, busy: Floats, begin_s: float, span_s: float, months: int, nodes: int) -> Floats:
    """Return the share of node-time that jobs held in each month, from a step function."""
    held = np.append(0.0, np.cumsum(busy[:-1] * np.diff(time_s)))
    edges = begin_s + np.arange(months + 1) * span_s / months
    at = np.interp(edges, time_s, held)  # linear between steps: busy is constant there
    share: Floats = np.diff(at) / (nodes * span_s / months)
    return share


def _actions(result: Result) -> Actions:
    """Return when jobs ran that were let in above the limit; nothing was capped or stopped."""
    logs, s = result.logs, result.state
    let_in = logs["a_job"][(logs["a_kind"] == codes.ACT_START) & (logs["a_verdict"] == codes.EXCEEDS)]
    end_s = np.where(np.isnan(s.end_s[let_in]), s.now[0], s.end_s[let_in])
    return Actions(np.column_stack([s.started_s[let_in], end_s]), 0, 0)


# ------------------------------------------------------------------ all of them


def pieces_of(scale: Scale) -> list[Piece]:
    """Return what is to be simulated, the slow ones first."""
    todo: list[Piece] = []
    for order in scale.orders:
        for limit in scale.limits:
            todo += [
                Piece("mira-like", order, scheme, limit, scale.days, drawn=order == "wfp" and scheme in (PAPER, OURS))
                for scheme in scale.schemes
            ]
        todo += [Piece("mira-like", order, UNCAPPED, None, scale.days, drawn=order == "wfp")]
        todo += [Piece("mira-like", order, STRICT, None, scale.days)]
    if scale.curve:
        todo += [Piece("mira-like", "wfp", scheme, kw, scale.days) for kw in CURVE_KW for scheme in (PAPER, OURS)]
        for schemes in careful().values():
            todo += [Piece("mira-like", "wfp", scheme, 3000.0, scale.days) for scheme in schemes]
    if scale.sweep:
        for order in scale.orders:
            todo += [Piece("mira-like", order, scheme, 3000.0, scale.days) for scheme in READINGS]
            todo += [
                Piece("mira-like", order, scheme, limit, scale.days, load)
                for load in SWEEP
                for scheme, limit in (
                    (STRICT, None),
                    *((s, kw) for kw in FIXED_KW for s in (NAIVE, PAPER)),
                    (OURS, 3000.0),
                )
            ]
            todo += [
                Piece("mira-like", order, PAPER, limit, scale.days, full=FEWER_FULL) for limit in (3000.0, CHANGING)
            ]
        todo += [Piece("mira-like", "wfp", scheme, 3000.0, scale.days, noise=NOISE) for scheme in (PAPER, OURS)]
    if scale.recorded:
        for name, machine in MACHINES.items():
            if machine.at_hand():
                todo += [Piece(name, "wfp", UNCAPPED, None, machine.days)]
                todo += [Piece(name, "wfp", scheme, 3000.0, machine.days) for scheme in (NAIVE, PAPER, OURS)]
    return sorted(todo, key=lambda piece: piece.scheme != NAIVE)


NOISE = 0.015
"""Runs of a key set apart by 1 kW a rack, as a check: in the generated year they are alike to 0.15 kW."""

SWEEP = (0.4, 0.5, 0.65)
"""Lower loads, for what the load decides."""

FEWER_FULL = 0.001
"""A share of full-machine jobs with which the published success rates agree, for what that share decides."""


def run_study(scale: Scale, work: Work) -> Study:
    """Carry everything out."""
    study = Study(scale)
    todo = pieces_of(scale)
    work.say(f"{len(todo)} pieces of {scale.days:g} days each")
    work.plan(len(todo))
    workers = 1 if len(todo) < 12 else None
    study.found = dict(zip(todo, work.each(carry_out, todo, workers=workers, first=_warm_up), strict=True))
    return study


def _warm_up() -> None:
    """Run each learner once here, so that what is not compiled yet is compiled once and not by every process."""
    for profile in ("t-test-per-job", "pooled", "measured"):
        _tiny(profile)


def _tiny(profile: str) -> None:
    piece = Piece("mira-like", "wfp", replace(PAPER, profile=profile), 3000.0, 1.0)
    jobs = JobTable.build(submit_s=[0.0], work_s=[600.0], nodes=[512], request_s=[900.0])
    Simulation(
        jobs, Cluster((NodeClass("m", 512, 0.0, 100.0),)), policies(piece), Options(tick_s=10.0, quantum=True)
    ).run()
