"""The power limit of a scenario, and the files of power profiles that a run begins with and leaves."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wattline.errors import InputError
from wattline.scenario.checks import limit_steps
from wattline.scenario.jobs import run_bound_s
from wattline.units import show_power

if TYPE_CHECKING:
    from wattline.model.cluster import Cluster, NodeClass
    from wattline.model.jobs import JobTable
    from wattline.scenario.lines import Path as Key
    from wattline.scenario.read import Document
    from wattline.sim.simulate import Result, Simulation


@dataclass(frozen=True)
class LearnedFiles:
    """Files of power profiles: to begin with, and to leave."""

    load: Path | None = None
    save: Path | None = None

    def begin(self, run: Simulation) -> None:
        """Let a run begin with what an earlier one has learned, and note how much of it is of use."""
        from wattline.formats.tables.profiles import read_profiles

        if self.load is None:
            return
        profiles = read_profiles(self.load)
        try:
            found = run.begin_with(profiles)
        except InputError as problem:
            raise InputError(f"{self.load}: {problem}") from None
        note = ("kept", "power profiles of an earlier run, for jobs or groups of this one", found)
        run.notes = (*run.notes, (*note, f"{len(profiles.labels):,} in {self.load.name}"))

    def leave(self, result: Result) -> None:
        """Save what a run has learned when it is over; one that was interrupted may begin with that file once more."""
        from wattline.formats.tables.profiles import write_profiles

        if self.save is not None and result.profiles is not None and result.stopped != "interrupted":
            write_profiles(self.save, result.profiles)


def learned_files(document: Document) -> LearnedFiles:
    """Return the files of profiles that a scenario names; what could not be saved later is said now."""
    load, save = document.spec.profiles.load, document.spec.profiles.save
    target = None if save is None else document.base / save
    if target is not None and target.suffix != ".parquet":
        raise document.source.error(("profiles", "save"), f"end the name in .parquet, got {save!r}")
    if target is not None and not target.parent.is_dir():
        raise document.source.error(("profiles", "save"), f"there is no folder {target.parent} to save them in")
    if target is not None and target.is_dir():
        raise document.source.error(("profiles", "save"), f"{target} is a folder: give the name of a file")
    if target is not None and not os.access(target.parent, os.W_OK):
        raise document.source.error(("profiles", "save"), f"the folder {target.parent} cannot be written to")
    return LearnedFiles(None if load is None else document.base / load, target)


def build_limit(document: Document, jobs: JobTable, cluster: Cluster) -> list[tuple[float, float]]:
    """Return the power limit as (seconds since the first submission, watts)."""
    from wattline.formats.series.steps import read_limits

    limit = document.spec.limit
    if document.spec.budget:
        from wattline.scenario.budget import build_budgets, system_limit

        machine_w = sum(node_class.count * node_class.max_w for node_class in cluster.classes)
        steps = system_limit(document, build_budgets(document, run_bound_s(jobs), machine_w))
    elif limit.file is not None:
        steps = read_limits(document.base / limit.file)
    else:
        try:
            steps = limit_steps(limit, run_bound_s(jobs))
        except InputError as problem:
            raise type(problem)(f"{document.source.where(('limit', 'repeat'))}: {problem}") from None
    if any(m.name == "under-limit" for m in document.spec.policy.cap) and all(
        math.isnan(node_class.min_cap_w) for node_class in cluster.classes
    ):
        told = "'under-limit' lowers caps, but these nodes cannot be capped: give min_cap in [cluster]"
        raise document.source.error(("policy", "cap"), told)
    lowest_w = sum(node_class.count * _resting_w(node_class) for node_class in cluster.classes)
    if steps and max(watts for _, watts in steps) < lowest_w:
        key: Key = ("limit", "file" if limit.file is not None else "steps" if limit.steps else "power")
        key = ("budget",) if document.spec.budget else key
        told = (
            f"{show_power(max(watts for _, watts in steps))} at most, but all nodes at rest draw {show_power(lowest_w)}"
        )
        own = {"idle", "levels", "class_"} & document.spec.cluster.model_fields_set
        assumed = (
            "" if own else f" ({show_power(document.spec.cluster.idle)} a node is assumed, because no watts were given)"
        )
        raise document.source.error(key, f"{told}{assumed}: no job could ever start")
    return steps


def _resting_w(node_class: NodeClass) -> float:
    """Return the least that a node draws without a job."""
    idle_w = min((level.idle_w for level in node_class.levels), default=node_class.idle_w)
    return idle_w if node_class.sleep is None else min(idle_w, node_class.sleep.power_w)
