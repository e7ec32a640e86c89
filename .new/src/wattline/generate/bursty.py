"""Bursty workload: a Poisson process whose rate follows a hidden Markov chain (Markov-modulated Poisson process)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.generate.laws import JobType, Mix, Requests, check_positive, rate_for_load, require_jobs, stream
from wattline.model.jobs import JobTable
from wattline.reading.notes import Trace

MOST_STAYS = 10_000_000
"""Phases that are gone through at most; far more than there are jobs would mean that a unit was mistaken."""


@dataclass(frozen=True)
class Phase:
    """One state of the hidden chain: arrivals at ``rate_per_s`` (0: silence) for an exponential ``mean_dwell_s``."""

    rate_per_s: float
    mean_dwell_s: float

    def __post_init__(self) -> None:
        check_positive("phase: mean_dwell_s", self.mean_dwell_s)
        if not (self.rate_per_s >= 0 and math.isfinite(self.rate_per_s)):
            raise InputError(f"phase: rate_per_s must not be negative (got {self.rate_per_s})")


@dataclass(frozen=True)
class Bursty:
    """``jobs`` arrivals in two or more phases; after a phase any other one follows with equal probability.

    The chain starts in its stationary law. ``load`` (with ``nodes``) multiplies all rates so that the workload offers
    that load in the long run; burstiness in time stays as given by the dwell times.
    """

    types: tuple[JobType, ...]
    phases: tuple[Phase, ...]
    jobs: int = 1000
    load: float | None = None
    nodes: int | None = None
    requests: Requests = field(default_factory=Requests)
    seed: int = 1

    def mean_rate_per_s(self) -> float:
        """Return the long-run arrival rate of the phases as given: all are visited equally often."""
        total = sum(p.mean_dwell_s for p in self.phases)
        return sum(p.rate_per_s * p.mean_dwell_s for p in self.phases) / total


def generate_bursty(law: Bursty) -> Trace:
    """Draw a Markov-modulated Poisson workload."""
    if law.jobs < 1:
        raise InputError(f"bursty: jobs must be at least 1 (got {law.jobs})")
    require_jobs(law.jobs)
    if len(law.phases) < 2:
        raise InputError(f"bursty: give at least two phases (got {len(law.phases)}); one alone is Poisson")
    mix = Mix(law.types)
    if mix.rate_per_s is not None:
        raise InputError("bursty: arrival rates belong to the phases; give the types shares instead of rate_per_s")
    check_positive("bursty: mean rate of the phases", law.mean_rate_per_s())
    factor = 1.0
    if law.load is not None:
        factor = rate_for_load(law.load, law.nodes, mix.mean_node_s) / law.mean_rate_per_s()
    random = stream(law.seed)
    submit = _arrivals(random, law, factor)
    columns = mix.draw(random, law.jobs)
    request = law.requests.draw(random, columns["work_s"])
    jobs = JobTable.build(submit_s=submit, request_s=request, kinds=[t.name for t in law.types], **columns)
    header = {
        "Generator": "Markov-modulated Poisson",
        "Seed": str(law.seed),
        "Mean rate": f"{law.mean_rate_per_s() * factor:.9g} /s",
    }
    return Trace(jobs, (), f"generated: bursty, seed {law.seed}", header, law.nodes)


def _arrivals(random: np.random.Generator, law: Bursty, factor: float) -> Floats:
    """Return arrival times: a unit-rate process, run through the inverse of the accumulated rate."""
    rates = np.array([p.rate_per_s for p in law.phases]) * factor
    dwells = np.array([p.mean_dwell_s for p in law.phases])
    clock = np.cumsum(random.exponential(1.0, law.jobs))
    phase = int(random.choice(rates.size, p=dwells / dwells.sum()))
    ends: list[Floats] = [np.zeros(1)]
    levels: list[Floats] = [np.zeros(1)]
    per_stay = float(np.mean(rates * dwells))
    if clock[-1] > MOST_STAYS * per_stay:
        told = f"so many jobs would take about {clock[-1] / per_stay:,.0f} phases, more than {MOST_STAYS:,}"
        raise InputError(f"bursty: {told}; give longer phases (dwell) or higher rates")
    while levels[-1][-1] <= clock[-1]:
        missing = (clock[-1] - levels[-1][-1]) / per_stay
        count = int(min(max(missing * 1.1, 64), 1 << 20))
        steps = random.integers(1, rates.size, count)
        visited = (phase + np.concatenate([[0], np.cumsum(steps)])) % rates.size
        stay = random.exponential(1.0, count) * dwells[visited[:-1]]
        ends.append(ends[-1][-1] + np.cumsum(stay))
        levels.append(levels[-1][-1] + np.cumsum(stay * rates[visited[:-1]]))
        phase = int(visited[-1])
    return np.interp(clock, np.concatenate(levels), np.concatenate(ends))
