"""Keys that do not go together in what a scenario says of budgets and of moldable jobs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from wattline.errors import InputError
from wattline.scenario.checks_regulation import Problem
from wattline.scenario.lines import Path

if TYPE_CHECKING:
    from wattline.scenario.spec import Spec
    from wattline.scenario.spec_budget import BudgetSpec

MODELLED = ("sample", "power", "miss", "seed")
"""Keys of a table that only a model knows."""


def check_budget(spec: Spec, parse_step: Callable[[list[Any]], tuple[float, float]]) -> Iterator[Problem]:
    """Yield what is wrong with budgets one by one; the tree is checked when it is built."""
    if not spec.budget:
        return
    for key in ("power", "warmup", "steps", "file", "repeat"):
        if key in spec.limit.model_fields_set:
            yield ("limit", key), "the budget of the machine is its limit: give [[budget]] tables or a limit"
    systems = [i for i, budget in enumerate(spec.budget) if budget.system]
    if len(systems) != 1:
        at: Path = ("budget", systems[1], "system") if systems else ("budget",)
        yield at, f"one budget is that of the machine (system = true), here {len(systems)} are"
        return
    system = spec.budget[systems[0]]
    part = next((i for i, budget in enumerate(spec.budget) if budget.parent == system.name), None)
    if part is not None:
        yield (
            ("budget", part, "parent"),
            f"{system.name!r} is this machine: what its jobs and nodes may draw is in [bounds]",
        )
    for i, budget in enumerate(spec.budget):
        yield from _steps(i, budget, parse_step)


def _steps(i: int, budget: BudgetSpec, parse_step: Callable[[list[Any]], tuple[float, float]]) -> Iterator[Problem]:
    if budget.parent is None:
        for key in sorted({"share", "weight", "demand", "demand_steps"} & budget.model_fields_set):
            yield ("budget", i, key), f"{budget.name!r} is the whole and shares nothing: it has a limit only"
    if budget.repeat is not None and not (budget.steps or budget.demand_steps):
        yield ("budget", i, "repeat"), "goes with steps, and there are none"
    for key in ("steps", "demand_steps"):
        last_s = -1.0
        for at, step in enumerate(getattr(budget, key)):
            where: Path = ("budget", i, key, at)
            try:
                time_s, watts = parse_step(step)
            except InputError as problem:
                yield where, str(problem)
                return
            if time_s <= last_s:
                yield where, "times must increase"
            if budget.repeat is not None and time_s >= budget.repeat:
                yield where, "comes after the steps begin anew (repeat)"
            if key == "demand_steps" and math.isinf(watts):
                yield where, "a demand is a power; leave the steps out for all it may draw"
            last_s = time_s


def check_moldable(spec: Spec) -> Iterator[Problem]:
    """Yield what is wrong with configurations, bounds and nodes that differ."""
    for i, table in enumerate(spec.configurations):
        for key in MODELLED:
            if key in table.model_fields_set and table.source == "measured":
                yield ("configurations", i, key), 'goes with a model (source = "mixed"), not with source = "measured"'
        if "miss" in table.model_fields_set and table.power == "mean":
            yield ("configurations", i, "miss"), 'goes with power = "upper"'
    if not spec.configurations:
        for key in sorted(spec.bounds.model_fields_set):
            yield ("bounds", key), "goes with [[configurations]], and there are none"
    if spec.bounds.weight and spec.bounds.by is None:
        yield ("bounds", "weight"), 'whose names are these? give by, e.g. by = "user"'
    if spec.bounds.by is not None and not spec.bounds.weight:
        yield ("bounds", "by"), "goes with weight, and there is none"
    weighted = bool(spec.bounds.weight) or spec.bounds.priorities == "ignore"
    if weighted and any(m.name == "priority" for m in spec.policy.order):
        key = "weight" if spec.bounds.weight else "priorities"
        yield ("bounds", key), 'order = "priority" needs the priorities of the trace, which also weigh shares of power'
    found = spec.cluster.variability
    if found is not None and (found.spread is None) == (found.file is None):
        yield ("cluster", "variability"), "needs exactly one of 'spread' and 'file'"
    if found is not None and found.file is not None and "seed" in found.model_fields_set:
        yield ("cluster", "variability", "seed"), "goes with spread: a file leaves nothing to chance"
    if found is not None and not spec.configurations:
        yield ("cluster", "variability"), "nodes that differ need [[configurations]] of all jobs: they say what caps do"
