"""What a scenario may say about a power limit and about learning the power of jobs."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import Field

from wattline.scenario.quantities import Limit, Span, Words
from wattline.scenario.section import Section


class LimitSpec(Section):
    """A power limit that admission respects."""

    power: Limit = Field(math.inf, description="limit of the whole machine")
    warmup: Span = Field(0.0, description="time since the first submission at which `power` comes into force")
    steps: list[Annotated[list[Any], Words("[time, power]")]] = Field(
        default_factory=list, description="changing limit: `[[time, power], …]`, times since the first submission"
    )
    file: str | None = Field(
        None,
        description="changing limit from a CSV file, relative to the scenario: `time_s` since the first submission, `limit_w` (empty: none)",
    )
    repeat: Span | None = Field(
        None,
        gt=0,
        description="begin `steps` anew after this time, until twice the trace's span has passed (default: the last step stays)",
    )
    deadlock: Literal["wait", "exceed"] = Field(
        "wait",
        description="when nothing runs and no job fits under the limit: wait for a higher one, or let the first job `exceed` it",
    )
    preempt: bool = Field(
        False,  # noqa: FBT003
        description="stop the jobs started last when the power is above the limit and caps do not suffice (they resume later)",
    )


def _levels() -> list[list[Any]]:
    from wattline.model.profiles import DEFAULT

    return [list(level) for level in DEFAULT]


class ProfilesSpec(Section):
    """Whose power tells that of a job; the slot `profile` of `[policy]` says how it is learned."""

    levels: list[Annotated[list[Literal["group", "user", "kind", "nodes", "partition"]], Words("list of columns")]] = (
        Field(
            default_factory=_levels,
            max_length=8,
            description="columns of a job that make its own profile, then those of the groups that stand in for it",
        )
    )
    sample: Span | None = Field(
        None,
        gt=0,
        description="period at which power is sampled and changes (default: the step of the trace's power series, or 5 min)",
    )
    load: str | None = Field(None, description="profiles that an earlier run saved, relative to the scenario")
    save: str | None = Field(None, description="file to save the profiles to when the run ends (.parquet)")
