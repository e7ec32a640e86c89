"""What a moldable job is changed to at Slurm when it starts in a configuration, and what it asked for before."""

from __future__ import annotations

import math

from wattline.live.machine.base import Form
from wattline.live.machine.slurm.marks import Mark
from wattline.live.machine.slurm.text import JobRow


def asked_for(mark: Mark, row: JobRow | None) -> dict[str, str]:
    """Return what a moldable job asked for, to be written back; nothing for others."""
    if not mark.asked or row is None:
        return {}
    return {**sized(row, mark.asked), "timelimit": str(mark.limit_min) if mark.limit_min else "UNLIMITED"}


def sized(row: JobRow, nodes: int) -> dict[str, str]:
    """Return a job's new number of nodes, and tasks and CPUs in proportion: those that it has might not fit."""
    before = max(row.nodes, 1)
    tasks, cpus = (max(1, math.ceil(count * nodes / before)) for count in (row.tasks, row.cpus))
    return {"numnodes": f"{nodes}-{nodes}", "numtasks": str(tasks), "numcpus": str(cpus)}


def molded(before: Mark, nodes: int, limit_s: float, form: Form) -> Mark:
    """Return the mark of a job that starts in a configuration: what it asked for is kept from the first time on."""
    minutes = math.ceil(limit_s / 60.0) if math.isfinite(limit_s) else 0
    asked, limit_min = (before.asked, before.limit_min) if before.asked else (nodes, minutes)
    return Mark("run", asked=asked, limit_min=limit_min, cores=form.cores, cap_w=round(form.cap_w))
