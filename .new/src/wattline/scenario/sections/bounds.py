"""[bounds]: what one job and one node may draw, and which jobs get more than a fair share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from wattline.errors import did_you_mean
from wattline.reading.notes import Note
from wattline.scenario.read.base import Problem, Section
from wattline.scenario.read.quantities import Power, Words
from wattline.scenario.read.source import Context
from wattline.units import in_full

if TYPE_CHECKING:
    from wattline.model.jobs import JobTable

MOST_WEIGHT = 100.0
"""Priorities beyond this cannot be meant as factors of a share of power."""


class BoundsSpec(Section):
    """The last two levels of nested budgets: what one job and one node may draw, and which jobs get more than a
    fair share.
    """

    job: Power | None = Field(None, description="configurations of a job that draw more are left out")
    node: Power | None = Field(None, description="configurations with more power a node are left out")
    by: Literal["user", "group", "kind", "partition"] | None = Field(
        None, description="the column whose names `weight` gives"
    )
    weight: Annotated[
        dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]],
        Words("table of names and numbers, like `{alice = 1.5}`"),
    ] = Field(default_factory=dict, description="factors of the fair share of power (1: as all others)")
    priorities: Literal["weigh", "ignore"] = Field(
        "weigh",
        description="where no `weight` is given: priorities in the trace weigh the share of power, or say nothing "
        "about it",
    )


def check_bounds(spec: BoundsSpec, *, moldable: bool, by_priority: bool) -> Iterator[Problem]:
    """Yield every problem of the bounds.

    ``moldable``: there are tables of configurations; ``by_priority``: the queue is ordered by the trace's priorities.
    """
    if not moldable:
        for key in sorted(spec.model_fields_set):
            yield ("bounds", key), "goes with [[configurations]], and there are none"
    if spec.weight and spec.by is None:
        yield ("bounds", "weight"), 'whose names are these? give by, e.g. by = "user"'
    if spec.by is not None and not spec.weight:
        yield ("bounds", "by"), "goes with weight, and there is none"
    if by_priority and (spec.weight or spec.priorities == "ignore"):
        key = "weight" if spec.weight else "priorities"
        yield ("bounds", key), 'order = "priority" needs the priorities of the trace, which also weigh shares of power'


def weigh_jobs(spec: BoundsSpec, context: Context, jobs: JobTable, notes: list[Note]) -> JobTable:
    """Return jobs whose priority is the factor of their share of power, as the scenario says."""
    if spec.by is not None:
        names = getattr(jobs, {"user": "users", "group": "groups", "kind": "kinds", "partition": "partitions"}[spec.by])
        for name in spec.weight:
            if name not in names:
                told = f"no job is of {spec.by} {name!r}{did_you_mean(name, names)}"
                raise context.error(("bounds", "weight", name), told)
        factor = np.array([*(spec.weight.get(name, 1.0) for name in names), 1.0])
        return jobs.with_columns(priority=factor[getattr(jobs, spec.by)])
    if spec.priorities == "ignore":
        return jobs.with_columns(priority=np.zeros(len(jobs)))
    weighing = jobs.priority > 0
    if weighing.any():
        top = int(np.argmax(jobs.priority))
        if jobs.priority[top] > MOST_WEIGHT:
            told = (
                f"job {jobs.job_id[top]} has priority {in_full(jobs.priority[top])}, which would multiply its "
                "share of power"
            )
            raise context.error(("bounds",), f'{told}: give [bounds] priorities = "ignore", or weight')
        told = "priorities, which weigh a job's share of power"
        notes.append(Note("kept", told, int(weighing.sum()), f"job {jobs.job_id[top]}: {in_full(jobs.priority[top])}"))
    return jobs
