"""The measures of the service-rate model (recursion paper, §I-C and §II-B): per customer and per system.

A customer is a job, a server a node. Measures of the system are averages over time of the timeline's steps (eq. 12);
in the paper's symbols: R rate, c available servers, φ busy servers, Q customers in the queue, ν in the system.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wattline.arrays import Floats
from wattline.report.count.run import Run, Steps
from wattline.report.count.statistics import Distribution, TimeDistribution, describe, describe_steps, integral

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class ServiceMeasures:
    """Per customer: over the customers that left. Per system: over the time of the run.

    * ``delay_s`` arrival → start; ``sojourn_s`` arrival → departure; ``service_s`` start → departure;
      ``slowdown`` sojourn / service (the paper prints another denominator); ``energy_budget_j`` eq. 9.
    * ``potential_load`` R·(c if Q > 0 else φ); ``effective_load`` R·φ; ``job_wasting`` their difference (eq. 10 per
      unit of time) and ``job_wasted`` its integral; ``energy_consumption_w`` eq. 11.
    * ``customers`` ν, ``queue`` Q, ``busy_servers`` φ, ``rate`` R; ``workload`` the remaining work W, whose linear
      fall between events is integrated exactly (its distribution is at events and weighted by the time to the next).
    * ``rate_shares``: share of time at each rate.
    """

    delay_s: Distribution
    sojourn_s: Distribution
    service_s: Distribution
    slowdown: Distribution
    energy_budget_j: Distribution
    potential_load: TimeDistribution
    effective_load: TimeDistribution
    job_wasting: TimeDistribution
    job_wasted: float
    energy_consumption_w: TimeDistribution
    customers: TimeDistribution
    queue: TimeDistribution
    busy_servers: TimeDistribution
    rate: TimeDistribution
    workload: TimeDistribution
    workload_mean: float
    rate_shares: dict[str, float]


def service_measures(run: Run) -> ServiceMeasures:
    """Count all measures of the service-rate model."""
    steps, seconds = run.steps, run.steps.duration_s
    waiting = steps.queued_jobs > 0
    potential = steps.rate * np.where(waiting, steps.available_nodes, steps.busy_nodes)
    effective = steps.rate * steps.busy_nodes
    wasting = potential - effective
    return ServiceMeasures(
        **_per_customer(run.ended),
        potential_load=describe_steps(potential, seconds),
        effective_load=describe_steps(effective, seconds),
        job_wasting=describe_steps(wasting, seconds),
        job_wasted=integral(wasting, seconds),
        energy_consumption_w=describe_steps(steps.power_w, seconds),
        customers=describe_steps(steps.queued_jobs + steps.running_jobs, seconds),
        queue=describe_steps(steps.queued_jobs, seconds),
        busy_servers=describe_steps(steps.busy_nodes, seconds),
        rate=describe_steps(steps.rate, seconds),
        workload=describe_steps(steps.backlog, seconds),
        workload_mean=_workload_mean(run),
        rate_shares=_rate_shares(steps),
    )


def customer_values(ended: pl.DataFrame) -> dict[str, Floats]:
    """Return the per-customer measures of jobs that left, one value a job (slowdown NaN where service took no time)."""
    eligible_s, start_s, end_s = (ended[name].to_numpy() for name in ("eligible_s", "start_s", "end_s"))
    service_s = end_s - start_s
    sojourn_s = end_s - eligible_s
    slowdown = np.divide(sojourn_s, service_s, out=np.full(service_s.shape, np.nan), where=service_s > 0)
    return {
        "delay_s": start_s - eligible_s,
        "sojourn_s": sojourn_s,
        "service_s": service_s,
        "slowdown": slowdown,
        "energy_budget_j": ended["energy_j"].to_numpy(),
    }


def _per_customer(ended: pl.DataFrame) -> dict[str, Distribution]:
    return {name: describe(values) for name, values in customer_values(ended).items()}


def _workload_mean(run: Run) -> float:
    """Return the time average of W(t), which falls at R per customer in service (per busy server when node-weighted).

    Only with one node class is the fall known from the timeline; NaN otherwise, and when W was not tracked.
    """
    steps = run.steps
    known = ~np.isnan(steps.backlog) & (steps.duration_s > 0)
    if not known.any() or run.classes.height != 1:
        return float("nan")
    served = steps.busy_nodes if run.manifest.get("backlog") == "node-weighted" else steps.running_jobs
    level, seconds = steps.backlog[known], steps.duration_s[known]
    fallen = np.minimum((steps.rate * served)[known] * seconds, level)
    return integral(level - 0.5 * fallen, seconds) / float(seconds.sum())


def _rate_shares(steps: Steps) -> dict[str, float]:
    total = steps.seconds
    if not total:
        return {}
    rates, which = np.unique(steps.rate, return_inverse=True)
    held = np.bincount(which, weights=steps.duration_s, minlength=rates.size)
    return {f"{rate:g}": float(share) / total for rate, share in zip(rates, held, strict=True) if share > 0}
