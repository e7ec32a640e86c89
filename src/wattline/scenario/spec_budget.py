"""What a scenario may say about budgets that nest."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import Field

from wattline.scenario.quantities import Finite, Limit, Name, Power, Span, Words
from wattline.scenario.section import Section

Steps = list[Annotated[list[Any], Words("[time, power]")]]


class BudgetSpec(Section):
    """A power budget and its place in a tree: a site, a room, this machine, or what shares a room with it."""

    name: Name = Field(description="name")
    parent: Name | None = Field(None, description="the budget that it is a part of (one has none: the whole site)")
    limit: Limit = Field(math.inf, description="the most it may draw, until the first of `steps`")
    steps: Steps = Field(
        default_factory=list, description="changing limit: `[[time, power], …]`, times since the first submission"
    )
    repeat: Span | None = Field(
        None,
        gt=0,
        description="begin `steps` and `demand_steps` anew after this time, until twice the trace's span has passed",
    )
    shares: Literal["proportional", "fixed", "demand"] = Field(
        "proportional",
        description="how its parts share it: by `weight`, what one cannot use goes to the others; by fixed `share`; by `demand`, in proportion where it does not suffice",
    )
    share: Finite | None = Field(None, gt=0, le=1, description="fixed share of the parent's budget")
    weight: Finite = Field(1.0, gt=0, description="weight among the parts of the parent")
    demand: Power | None = Field(
        None,
        description="what it asks for, until the first of `demand_steps` (default: all it may; this machine: all nodes at `max`)",
    )
    demand_steps: Steps = Field(default_factory=list, description="changing demand: `[[time, power], …]`")
    system: bool = Field(False, description="this is the machine of the scenario; its budget is the power limit")  # noqa: FBT003
