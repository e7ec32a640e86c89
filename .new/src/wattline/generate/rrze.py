"""Days-long workloads that resemble the clusters meggie (728 nodes) and emmy (560 nodes) at Erlangen.

What is known of them and was aimed at: idle nodes draw 31 W; jobs last up to 24 h, most of them hours, on up to 64
nodes; types (name and node count) recur, run times within many of them differ little; processors and memory draw about
120 W a node on meggie and 150 W on emmy; arrivals are bursty. The published days cost $122 and $166, and $119, at 0.10
$/kWh and with a tenth saved by demand response, so about 57, 77 and 55 kW without it; the default loads make the mean
of a weekday about 67 and 55 kW. The strata below are our choice, made so that the shares of node-hours by job size look
like those of a month of each log.

A *population* is a set of kinds, drawn once from its number: sizes, run times, power, what caps do (around the medians
of the ``linear-cap`` model) and long-run rates. Kinds are the same for every seed, which draws arrivals, run times and,
if wanted, every job's own power.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np

from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.formats.tables.kinds import KindRow
from wattline.generate.campaigns import BEFORE_S, GRID_S, campaign_times, operational_s
from wattline.generate.cap_model import FLOOR_SHARE, SENSITIVITY, CapModel
from wattline.generate.laws import SEEDS, Requests, check_positive, require_jobs, stream
from wattline.model.jobs import JobTable
from wattline.model.kinds import Kind
from wattline.reading.notes import Trace
from wattline.units import DAY_S, in_full

IDLE_W = 31.0
LONGEST_S, SHORTEST_S = 24 * 3600.0, 300.0
LIMIT = 2.0
"""Promised to every kind, as in the published study: the mean QoS degradation of its jobs."""

TIGHT_CV, WIDE_CV, TIGHT_SHARE = 0.06, 0.45, 0.6
"""Spread of run times within a kind: small for most, wide for the others."""

OWN_POWER_CV = 0.03
"""Spread of the measured power of jobs of a kind."""

CAMPAIGN_NODES, MOST_CAMPAIGN, GAP = 0.12, 8.0, 0.2
"""Jobs of a campaign hold this share of the machine on average (1 to 8 jobs), and follow each other by this part of a
run time.
"""

_KINDS_KEY = 0x4B


@dataclass(frozen=True)
class Stratum:
    """Kinds of similar size: node counts to choose from, how many kinds, their share of node-hours, run times,
    power.
    """

    nodes: tuple[int, ...]
    kinds: int
    share: float
    hours: tuple[float, float]
    power_w: float


@dataclass(frozen=True)
class RrzeLike:
    """``days`` of arrivals; by default four to warm up and the fifth to measure, a Tuesday as in the published study.

    ``load`` is the share of ``nodes`` that jobs keep busy in the long run. ``own_power``: every job has a power of its
    own, as monitoring would have recorded it, and says nothing about caps (for ``wattline trace kinds`` to find out).
    """

    name: ClassVar[str] = ""
    machine_nodes: ClassVar[int] = 0
    max_w: ClassVar[float] = 0.0
    usual_load: ClassVar[float] = 0.0
    strata: ClassVar[tuple[Stratum, ...]] = ()

    days: float = 5.0
    load: float | None = None
    nodes: int | None = None
    seed: int = 1
    population: int = 1
    first_weekday: int = 4
    own_power: bool = False

    def __post_init__(self) -> None:
        check_positive(f"{self.name}: days", self.days)
        check_positive(f"{self.name}: load", self.usual_load if self.load is None else self.load)
        widest = max(max(stratum.nodes) for stratum in self.strata)
        if self.nodes is not None and self.nodes < widest:
            raise InputError(f"{self.name}: its jobs need up to {widest} nodes, got a machine of {self.nodes}")
        if not 0 <= self.population < SEEDS:
            raise InputError(f"{self.name}: populations count from 0 to {SEEDS - 1} (2^53 - 1), got {self.population}")
        if not 0 <= self.first_weekday < 7:
            raise InputError(f"{self.name}: the first weekday must be 0 (Monday) to 6, got {self.first_weekday}")


@dataclass(frozen=True)
class MeggieLike(RrzeLike):
    """728 nodes; few kinds of 25 and 50 nodes hold half of it, many of 4 nodes make most jobs."""

    name = "meggie-like"
    machine_nodes = 728
    max_w = 160.0
    usual_load = 0.60
    strata = (
        Stratum((1, 2), 8, 0.02, (2.0, 12.0), 128.0),
        Stratum((4,), 12, 0.15, (3.0, 18.0), 136.0),
        Stratum((8, 10, 12, 14), 8, 0.10, (4.0, 18.0), 112.0),
        Stratum((16, 20, 21), 7, 0.20, (8.0, 18.0), 118.0),
        Stratum((25, 28, 32), 7, 0.31, (9.0, 17.0), 123.0),
        Stratum((40, 45, 50, 52, 64), 6, 0.22, (12.0, 22.0), 125.0),
    )


@dataclass(frozen=True)
class EmmyLike(RrzeLike):
    """560 nodes; more kinds, more small and short jobs, more power a node."""

    name = "emmy-like"
    machine_nodes = 560
    max_w = 200.0
    usual_load = 0.52
    strata = (
        Stratum((1,), 16, 0.06, (1.5, 20.0), 148.0),
        Stratum((2, 3, 4), 16, 0.17, (1.5, 18.0), 152.0),
        Stratum((5, 6, 7, 8), 12, 0.25, (2.0, 20.0), 156.0),
        Stratum((10, 12, 16), 8, 0.20, (3.0, 20.0), 148.0),
        Stratum((20, 25, 27, 32), 8, 0.21, (5.0, 20.0), 150.0),
        Stratum((35, 40, 64), 4, 0.11, (6.0, 22.0), 146.0),
    )


@dataclass(frozen=True)
class _Member:
    """A kind of a population, with the law of its run times, its user and its campaigns."""

    kind: Kind
    mu: float
    sigma: float
    user: int
    campaign: float


def generate_rrze(law: RrzeLike) -> Trace:
    """Draw the jobs of some days."""
    members = _population(law)
    until_s = law.days * DAY_S
    require_jobs(until_s / GRID_S + (until_s + BEFORE_S) * sum(member.kind.arrival_per_s for member in members))
    random = stream(law.seed)
    real, operational = operational_s(until_s, law.first_weekday)
    until = float(np.interp(until_s, real, operational))
    drawn = [_jobs_of(random, member, until) for member in members]
    times = [np.interp(moments, operational, real) for moments, _ in drawn]
    work_s = np.concatenate([work for _, work in drawn])
    kind = np.repeat(np.arange(len(members)), [work.size for _, work in drawn])
    if not kind.size:
        raise InputError(f"{law.name}: no job arrives in {in_full(law.days)} days")
    columns: dict[str, Any] = {
        name: np.array([getattr(m.kind, name) for m in members])[kind]
        for name in ("nodes", "draw_w", "floor_w", "stretch")
    }
    if law.own_power:
        own = columns["draw_w"] * (1.0 + OWN_POWER_CV * np.clip(random.standard_normal(kind.size), -3, 3))
        columns |= {"draw_w": own, "floor_w": np.full(kind.size, np.nan), "stretch": np.full(kind.size, np.nan)}
    request_s = np.maximum(np.minimum(Requests("rounded", 2.0).draw(random, work_s), LONGEST_S), work_s)
    jobs = JobTable.build(
        submit_s=np.concatenate(times),
        work_s=work_s,
        request_s=request_s,
        kind=kind,
        kinds=[m.kind.name for m in members],
        user=np.array([m.user for m in members])[kind],
        users=[f"u{i:02}" for i in range(_users(law))],
        **columns,
    )
    header = {
        "Generator": law.name,
        "Seed": str(law.seed),
        "Population": str(law.population),
        "Days": f"{law.days:g}",
        "Load": f"{_load(law):g}",
    }
    numbered = jobs.with_columns(job_id=np.arange(1, len(jobs) + 1))
    return Trace(numbered, (), f"generated: {law.name}, seed {law.seed}", header, _nodes(law))


def kinds_like(law: RrzeLike) -> tuple[KindRow, ...]:
    """Return the kinds of the population with their long-run arrival rates, largest first."""
    kinds = [member.kind for member in _population(law)]
    kinds.sort(key=lambda kind: -kind.arrival_per_s * kind.nodes * kind.work_s)
    return tuple(KindRow(kind, 0, f"drawn around {CapModel.name}") for kind in kinds)


def mean_power_w(law: RrzeLike) -> float:
    """Return the mean power of the machine if every job ran at once, uncapped."""
    above = sum(k.arrival_per_s * k.nodes * k.work_s * (k.draw_w - IDLE_W) for k in (m.kind for m in _population(law)))
    return _nodes(law) * IDLE_W + above


def _nodes(law: RrzeLike) -> int:
    return law.machine_nodes if law.nodes is None else law.nodes


def _load(law: RrzeLike) -> float:
    return law.usual_load if law.load is None else law.load


def _users(law: RrzeLike) -> int:
    return sum(stratum.kinds for stratum in law.strata) // 2


def _population(law: RrzeLike) -> list[_Member]:
    """Draw the kinds: by stratum sizes, run times, power, and what caps do.

    Rates follow from their shares of the load.
    """
    random = np.random.Generator(np.random.Philox(key=[law.population, _KINDS_KEY]))
    busy = _load(law) * _nodes(law)
    members: list[_Member] = []
    for stratum in law.strata:
        weights = random.permutation(1.0 / np.arange(1, stratum.kinds + 1) ** 0.7)
        for share in stratum.share * weights / weights.sum():
            nodes = int(random.choice(stratum.nodes))
            typical_s = 3600.0 * math.exp(random.uniform(math.log(stratum.hours[0]), math.log(stratum.hours[1])))
            cv = TIGHT_CV if random.random() < TIGHT_SHARE else WIDE_CV
            sigma = math.sqrt(math.log1p(cv**2))
            mu = math.log(typical_s) - 0.5 * sigma**2
            draw_w = float(np.clip(random.normal(stratum.power_w, 8.0), 2.0 * IDLE_W, law.max_w))
            model = CapModel(
                IDLE_W, draw_w, 0.0, FLOOR_SHARE + random.uniform(-0.1, 0.1), SENSITIVITY + random.uniform(-0.28, 0.28)
            )
            work_s = _mean_within(mu, sigma)
            kind = Kind(
                f"{law.name[0]}{len(members) + 1:02}@{nodes}",
                nodes,
                work_s,
                draw_w,
                model.floor(draw_w),
                model.stretch(draw_w),
                LIMIT,
                arrival_per_s=float(share) * busy / (nodes * work_s),
                average=True,
            )
            campaign = min(max(CAMPAIGN_NODES * _nodes(law) / nodes, 1.0), MOST_CAMPAIGN)
            members.append(_Member(kind, mu, sigma, int(random.integers(_users(law))), campaign))
    return members


def _mean_within(mu: float, sigma: float) -> float:
    """Return the mean of a lognormal run time that is cut to the shortest and the longest that there is."""
    normal = NormalDist()
    low, high = ((math.log(bound) - mu) / sigma for bound in (SHORTEST_S, LONGEST_S))
    inside = math.exp(mu + 0.5 * sigma**2) * (normal.cdf(high - sigma) - normal.cdf(low - sigma))
    return SHORTEST_S * normal.cdf(low) + inside + LONGEST_S * (1.0 - normal.cdf(high))


def _jobs_of(random: np.random.Generator, member: _Member, until_s: float) -> tuple[Floats, Floats]:
    """Return arrivals (operational time) and run times of a kind's jobs."""
    kind = member.kind
    times = campaign_times(random, kind.arrival_per_s, member.campaign, GAP * kind.work_s, until_s)
    work_s = np.clip(random.lognormal(member.mu, member.sigma, times.size), SHORTEST_S, LONGEST_S)
    return times, np.round(work_s)
