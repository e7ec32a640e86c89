"""Energy and power of a run: totals, parts, peaks, and what went over the limit."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from wattline.report.count.run import Run, Steps
from wattline.report.count.statistics import NAN, TimeDistribution, describe_steps, integral

J_PER_KWH = 3.6e6

LIMIT_SLACK = 1e-9
"""Power above the limit by less than this share is rounding in a sum over nodes, not a breach."""


@dataclass(frozen=True)
class Energy:
    """Energy of the whole machine over the whole run, and its parts by what the nodes were doing.

    ``total_j`` is the integral of the timeline; the parts come from the accounts per node class, so that their sum
    is a check on the total (``accounts_j``). ``jobs_j`` is what was charged to jobs.
    """

    total_j: float
    total_kwh: float
    accounts_j: float
    busy_j: float
    idle_j: float
    sleep_j: float
    boot_j: float
    jobs_j: float
    per_ended_job_j: float


@dataclass(frozen=True)
class Power:
    """Power over time, and how it kept to the limit where there was one (``limited_s`` seconds of the run).

    Power may be above a limit because the limit fell: running jobs go on. ``rises_above_limit`` counts the instants at
    which power *rose* to where it was above the limit, which is what a limit forbids.
    """

    watts: TimeDistribution
    mean_w: float
    peak_w: float
    limited_s: float
    lowest_limit_w: float
    highest_limit_w: float
    rises_above_limit: int
    above_limit_s: float
    above_limit_j: float
    above_limit_share: float
    worst_above_w: float


@dataclass(frozen=True)
class ClassRow:
    """One node class: energy by activity, and the share of its available time that was busy."""

    node_class: str
    nodes: int
    energy_j: float
    busy_energy_j: float
    idle_energy_j: float
    sleep_energy_j: float
    boot_energy_j: float
    busy_node_s: float
    idle_node_s: float
    asleep_node_s: float
    down_node_s: float
    utilization: float


def count_energy(run: Run) -> Energy:
    """Sum up the energy of a run; nothing is known of it where no watts were given."""
    if not run.has_power:
        return Energy(*(NAN for _ in fields(Energy)))
    total_j = integral(run.steps.power_w, run.steps.duration_s)
    part = {name: float(run.classes[f"{name}_energy_j"].sum()) for name in ("busy", "idle", "sleep", "boot")}
    ended = run.ended.height
    return Energy(
        total_j=total_j,
        total_kwh=total_j / J_PER_KWH,
        accounts_j=sum(part.values()),
        busy_j=part["busy"],
        idle_j=part["idle"],
        sleep_j=part["sleep"],
        boot_j=part["boot"],
        jobs_j=float(np.nansum(run.jobs["energy_j"].to_numpy())),
        per_ended_job_j=total_j / ended if ended else NAN,
    )


def count_power(steps: Steps) -> Power:
    """Describe power over time and hold it against the limit."""
    watts = describe_steps(steps.power_w, steps.duration_s)
    limited = np.isfinite(steps.limit_w) & (steps.duration_s > 0)
    limit_w, power_w, duration_s = steps.limit_w[limited], steps.power_w[limited], steps.duration_s[limited]
    over_w = power_w - limit_w
    over_w[over_w <= LIMIT_SLACK * limit_w] = 0.0
    limited_s, above_s = float(duration_s.sum()), float(duration_s[over_w > 0].sum())
    return Power(
        watts=watts,
        mean_w=watts.mean,
        peak_w=watts.max,
        limited_s=limited_s,
        lowest_limit_w=float(limit_w.min()) if limit_w.size else NAN,
        highest_limit_w=float(limit_w.max()) if limit_w.size else NAN,
        rises_above_limit=_rises(steps),
        above_limit_s=above_s,
        above_limit_j=integral(over_w, duration_s),
        above_limit_share=above_s / limited_s if limited_s else NAN,
        worst_above_w=float(over_w.max()) if over_w.size else NAN,
    )


def _rises(steps: Steps) -> int:
    """Return at how many instants power rose and was above the limit then."""
    held = steps.duration_s > 0
    power_w, limit_w = steps.power_w[held], steps.limit_w[held]
    before_w = np.concatenate([[0.0], power_w[:-1]])
    return int(np.sum((power_w > limit_w * (1 + LIMIT_SLACK)) & (power_w > before_w * (1 + LIMIT_SLACK))))


def count_classes(run: Run) -> tuple[ClassRow, ...]:
    """Return one row a node class, in the order of the cluster."""
    rows = []
    for row in run.classes.iter_rows(named=True):
        available = row["busy_node_s"] + row["idle_node_s"] + row["asleep_node_s"]
        known: dict[str, Any] = {
            name: NAN if row[name] is None else row[name]
            for name in run.classes.columns
            if name in ClassRow.__dataclass_fields__
        }
        energy_j = sum(known[f"{part}_energy_j"] for part in ("busy", "idle", "sleep", "boot"))
        share = row["busy_node_s"] / available if available else NAN
        rows.append(ClassRow(**known, energy_j=energy_j, utilization=share))
    return tuple(rows)
