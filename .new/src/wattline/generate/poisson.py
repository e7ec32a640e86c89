"""Typed Poisson workload: jobs of several types, each with its size and law of run time, arriving at random."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from wattline.errors import InputError
from wattline.generate.laws import JobType, Mix, Requests, check_positive, rate_for_load, require_jobs, stream
from wattline.model.jobs import JobTable
from wattline.reading.notes import Trace


@dataclass(frozen=True)
class Poisson:
    """``jobs`` arrivals of a Poisson process. Say how fast in one of three ways.

    ``rate_per_s`` for all types together (split by their shares); a ``rate_per_s`` for every type; or the ``load``
    offered on average to ``nodes`` nodes.
    """

    types: tuple[JobType, ...]
    jobs: int = 1000
    rate_per_s: float | None = None
    load: float | None = None
    nodes: int | None = None
    requests: Requests = field(default_factory=Requests)
    seed: int = 1

    def rate(self) -> float:
        """Return the total arrival rate per second."""
        mix = Mix(self.types)
        ways = [self.rate_per_s, mix.rate_per_s, self.load]
        if sum(way is not None for way in ways) != 1:
            raise InputError("poisson: give exactly one of rate_per_s, a rate_per_s for every type, or load with nodes")
        if self.load is not None:
            return rate_for_load(self.load, self.nodes, mix.mean_node_s)
        return float(self.rate_per_s if self.rate_per_s is not None else mix.rate_per_s or 0.0)


def generate_poisson(law: Poisson) -> Trace:
    """Draw a typed Poisson workload."""
    if law.jobs < 1:
        raise InputError(f"poisson: jobs must be at least 1 (got {law.jobs})")
    require_jobs(law.jobs)
    rate = law.rate()
    check_positive("poisson: rate_per_s", rate)
    random = stream(law.seed)
    submit = np.cumsum(random.exponential(1.0 / rate, law.jobs))
    columns = Mix(law.types).draw(random, law.jobs)
    request = law.requests.draw(random, columns["work_s"])
    jobs = JobTable.build(submit_s=submit, request_s=request, kinds=[t.name for t in law.types], **columns)
    header = {"Generator": "typed Poisson", "Seed": str(law.seed), "Rate": f"{rate:.9g} /s"}
    return Trace(jobs, (), f"generated: poisson, seed {law.seed}", header, law.nodes)
