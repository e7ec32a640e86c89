"""[[resource]]: what jobs share beside nodes and watts, such as licences or memory that nodes borrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from wattline.errors import did_you_mean
from wattline.model.resources import NAMES, find_resource
from wattline.model.resources.base import MOST, Supply
from wattline.reading.notes import Note
from wattline.scenario.read.base import KeyPath, Problem, Section
from wattline.scenario.read.quantities import Name, Words
from wattline.scenario.read.source import Context

if TYPE_CHECKING:
    from wattline.arrays import Ints
    from wattline.model.jobs import JobTable

Amount = Annotated[int, Field(ge=0, le=MOST)]


class ResourceSpec(Section):
    """Something of which the whole machine has so much, beside nodes and watts: licences, memory that nodes borrow,
    space on a burst buffer. A job takes its part when it takes its nodes, and gives it back with them.
    """

    name: Name = Field(description="name")
    total: Amount = Field(description="how much there is, in units that no job takes half of")
    per: Literal[NAMES] = Field(  # type: ignore[valid-type]  # the names are those of the files there
        "job", description="what a job takes its amount for: itself (`job`), or each of its nodes (`node`)"
    )
    amount: Amount = Field(0, description="what jobs take of which nothing else is said")
    kinds: Annotated[dict[str, Amount], Words("table of names and whole numbers, like `{cfd = 4}`")] = Field(
        default_factory=dict, description="what jobs of a kind take"
    )
    file: str | None = Field(
        None, description="CSV file of `job_id` and `amount`: what single jobs take, whatever their kind"
    )


def check_resources(specs: Sequence[ResourceSpec], *, moldable: bool) -> Iterator[Problem]:
    """Yield what is wrong with resources; ``moldable``: there are tables of configurations."""
    if specs and moldable:
        yield ("resource",), "goes without [[configurations]]: how many nodes a job has is not known ahead there"
    names = [spec.name for spec in specs]
    for i, spec in enumerate(specs):
        if spec.name in names[:i]:
            yield ("resource", i, "name"), f"{spec.name!r} is another resource already"
        if not (spec.amount or spec.kinds or spec.file is not None):
            yield ("resource", i), "no job takes any of it: give amount, kinds or file"


def build_resources(
    specs: Sequence[ResourceSpec], context: Context, jobs: JobTable
) -> tuple[tuple[Supply, ...], tuple[Note, ...]]:
    """Return the resources with what every job takes, and what is to be said of their files."""
    notes: list[Note] = []
    found = []
    for i, spec in enumerate(specs):
        here: KeyPath = ("resource", i)
        amounts = _amounts(spec, here, context, jobs, notes)
        wants = context.located(here, find_resource(spec.per).wants, jobs, amounts)
        found.append(context.located(here, Supply, spec.name, spec.total, wants, spec.per))
    return tuple(found), tuple(notes)


def _amounts(spec: ResourceSpec, here: KeyPath, context: Context, jobs: JobTable, notes: list[Note]) -> Ints:
    amounts = np.full(len(jobs), spec.amount, dtype=np.int64)
    for name, amount in spec.kinds.items():
        if name not in jobs.kinds:
            told = did_you_mean(name, jobs.kinds) if jobs.kinds else "; the jobs have no kinds"
            raise context.error((*here, "kinds"), f"no job is of kind {name!r}{told}")
        amounts[jobs.kind == jobs.kinds.index(name)] = amount
    if spec.file is None:
        return amounts
    from wattline.formats.tables.amounts import read_amounts

    said = context.located((*here, "file"), read_amounts, context.base / spec.file)
    number = np.fromiter(said, np.int64, len(said))
    order = np.argsort(number)
    number, taken = number[order], np.fromiter(said.values(), np.int64, len(said))[order]
    at = np.minimum(np.searchsorted(number, jobs.job_id), number.size - 1)
    named = number[at] == jobs.job_id
    if not named.any():
        raise context.error((*here, "file"), f"{spec.file} names no job of the trace (job {number[0]}, for one)")
    amounts[named] = taken[at[named]]
    missing = np.setdiff1d(number, jobs.job_id)
    if missing.size:
        reason = f"amounts of resource {spec.name!r} for jobs that are not in the trace"
        notes.append(Note("kept", reason, int(missing.size), f"job {missing[0]}"))
    return amounts
