"""Tables of the Level-Spread study on workloads of fixed jobs, as the documentation shows them (Figs. 3.4 and 3.7)."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from wattline.systems.level_spread.cases import BLIND, HASTY, LARGE, LEVEL_SPREAD, POLICIES, SMALL, Setting
from wattline.systems.level_spread.fixed import by_pattern
from wattline.systems.level_spread.points import Estimate
from wattline.systems.level_spread.study import Found, Study
from wattline.systems.reproduction import Table

SHOWN = [name for name in POLICIES if name not in (BLIND, HASTY, "Slurm, best fit")]
"""Policies in the tables: the two readings of Slurm place alike."""


def fixed_tables(study: Study) -> dict[str, Table]:
    """Return times over Simple's of jobs of one size, and over Level-Spread's of two sizes at once, at ratio 1."""
    base = Setting(crossbar=study.scale.crossbars[0])
    found = {}
    for nodes, size in (("16", SMALL), ("64", LARGE)):
        by = by_pattern(study, replace(base, workload=nodes))
        rows = [
            (policy, *(_ratio(what, policy, size) for what in by.values())) for policy in SHOWN if policy != "Simple"
        ]
        if by:
            found[f"alone-{nodes}"] = Table((f"{nodes}-node jobs", *by), rows)
    machines = {m: by_pattern(study, replace(base, workload="16+64", machine=m)) for m in study.scale.machines}
    machines = {m: by for m, by in machines.items() if by}
    if machines:
        rows = [
            (
                policy,
                *(" / ".join(f"{_mean(by, policy, size):.2f}" for size in (SMALL, LARGE)) for by in machines.values()),
            )
            for policy in SHOWN
            if policy != LEVEL_SPREAD
        ]
        found["mixed"] = Table(("16- / 64-node jobs", *(f"{m} nodes" for m in machines)), rows)
    return found


def _ratio(found: Found, policy: str, size: int) -> str:
    """Return the time with a policy over that with Simple, with its interval over repetitions."""
    one = Estimate.of(found.over(policy, size, "Simple"))
    return f"{one.mean:.2f}" if math.isnan(one.wide) else f"{one.mean:.2f} ± {one.wide:.2f}"


def _mean(by: dict[str, Found], policy: str, size: int) -> float:
    """Return the time with a policy over that with Level-Spread, geometric mean over patterns."""
    return float(np.exp(np.mean([np.log(found.mean_over(policy, size)) for found in by.values()])))
