"""[[budget]]: power budgets that nest, of which one is the limit of the machine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from pydantic import Field

from wattline.errors import InputError
from wattline.model.budget import Budget, BudgetTree
from wattline.model.budget import Steps as PowerSteps
from wattline.policies.budget import grants
from wattline.scenario.read.base import KeyPath, Problem, Section
from wattline.scenario.read.quantities import Finite, Limit, Name, Power, Span
from wattline.scenario.read.source import Context
from wattline.scenario.read.steps import Steps, check_steps, lay_out
from wattline.scenario.sections.limit import LimitSpec


class BudgetSpec(Section):
    """A power budget and its place in a tree: a site, a room, this machine, or what shares a room with it."""

    name: Name = Field(description="name")
    parent: Name | None = Field(None, description="the budget that it is a part of (one has none: the whole site)")
    limit: Limit = Field(math.inf, description="the most it may draw, until the first of `steps`")
    steps: Steps = Field(
        default_factory=list, description="changing limit: `[[time, power], …]`, times since the run began"
    )
    repeat: Span | None = Field(
        None,
        gt=0,
        description="begin `steps` and `demand_steps` anew after this time, as `repeat` of `[limit]` does",
    )
    shares: Literal["proportional", "fixed", "demand"] = Field(
        "proportional",
        description="how its parts share it: by `weight`, what one cannot use goes to the others; by fixed `share`; "
        "by `demand`, in proportion where it does not suffice",
    )
    share: Finite | None = Field(None, gt=0, le=1, description="fixed share of the parent's budget")
    weight: Finite = Field(1.0, gt=0, description="weight among the parts of the parent, where they share by weight")
    demand: Power | None = Field(
        None,
        description="what it asks for, until the first of `demand_steps` (default: its parent's whole budget, "
        "as far as its own limit goes; this machine: all nodes at `max`)",
    )
    demand_steps: Steps = Field(default_factory=list, description="changing demand: `[[time, power], …]`")
    system: bool = Field(False, description="this is the machine of the scenario; its budget is the power limit")  # noqa: FBT003


def check_budgets(budgets: Sequence[BudgetSpec], limit: LimitSpec) -> Iterator[Problem]:
    """Yield what is wrong with budgets one by one; the tree is checked when it is built."""
    if not budgets:
        return
    for key in ("power", "warmup", "steps", "file", "repeat"):
        if key in limit.model_fields_set:
            yield ("limit", key), "the budget of the machine is its limit: give [[budget]] tables or a limit"
    systems = [i for i, budget in enumerate(budgets) if budget.system]
    if len(systems) != 1:
        at: KeyPath = ("budget", systems[1], "system") if systems else ("budget",)
        yield at, f"one budget is that of the machine (system = true), here {len(systems)} are"
        return
    system = budgets[systems[0]]
    part = next((i for i, budget in enumerate(budgets) if budget.parent == system.name), None)
    if part is not None:
        yield (
            ("budget", part, "parent"),
            f"{system.name!r} is this machine: what its jobs and nodes may draw is in [bounds]",
        )
    for i, budget in enumerate(budgets):
        yield from _check_steps(("budget", i), budget)


def _check_steps(here: KeyPath, spec: BudgetSpec) -> Iterator[Problem]:
    if spec.parent is None:
        for key in sorted({"share", "weight", "demand", "demand_steps"} & spec.model_fields_set):
            yield (*here, key), f"{spec.name!r} is the whole and shares nothing: it has a limit only"
    if spec.repeat is not None and not (spec.steps or spec.demand_steps):
        yield (*here, "repeat"), "goes with steps, and there are none"
    yield from check_steps((*here, "steps"), spec.steps, spec.repeat)
    no_off = "a demand is a power; leave the steps out for all it may draw"
    yield from check_steps((*here, "demand_steps"), spec.demand_steps, spec.repeat, no_off=no_off)


def build_budgets(budgets: Sequence[BudgetSpec], context: Context, run_s: float, machine_w: float) -> BudgetTree:
    """Return the tree of a scenario, repeated steps laid out for ``run_s`` seconds.

    The machine asks for what all its nodes draw, ``machine_w``.
    """
    found = [
        context.keyed(("budget", i, "steps"), _budget, spec, budgets, run_s, machine_w)
        for i, spec in enumerate(budgets)
    ]
    try:
        return BudgetTree(tuple(found))
    except InputError as problem:
        at = [i for i, spec in enumerate(budgets) if spec.name == problem.value]
        raise context.error(("budget", *at[:1]), str(problem)) from None


def system_limit(budgets: Sequence[BudgetSpec], tree: BudgetTree) -> list[tuple[float, float]]:
    """Return the budget of the machine as (seconds since the run began, watts)."""
    return grants(tree)[system_name(budgets)]


def system_name(budgets: Sequence[BudgetSpec]) -> str:
    """Return the budget that is the machine's."""
    return next(spec.name for spec in budgets if spec.system)


def _budget(spec: BudgetSpec, budgets: Sequence[BudgetSpec], run_s: float, machine_w: float) -> Budget:
    parent = next((other for other in budgets if other.name == spec.parent), None)
    by_demand = parent is not None and parent.shares == "demand"
    demand = None
    if by_demand or spec.demand is not None or spec.demand_steps:
        usual = machine_w if spec.system else math.inf
        demand = _steps(usual if spec.demand is None else spec.demand, spec.demand_steps, spec.repeat, run_s)
    return Budget(
        spec.name,
        spec.parent or "",
        _steps(spec.limit, spec.steps, spec.repeat, run_s),
        spec.shares,
        math.nan if spec.share is None else spec.share,
        spec.weight if "weight" in spec.model_fields_set else math.nan,
        demand,
    )


def _steps(first_w: float, steps: Sequence[Any], repeat_s: float | None, run_s: float) -> PowerSteps:
    return PowerSteps(first_w, tuple(lay_out(steps, repeat_s, run_s)))
