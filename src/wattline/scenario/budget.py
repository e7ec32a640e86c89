"""From [[budget]] tables to the power limit of the machine: a tree of budgets, shared out over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wattline.errors import InputError
from wattline.model.budget import Budget, BudgetTree, Steps
from wattline.scenario.checks import MOST_STEPS, parse_step

if TYPE_CHECKING:
    from wattline.scenario.read import Document
    from wattline.scenario.spec_budget import BudgetSpec


def build_budgets(document: Document, until_s: float, machine_w: float) -> BudgetTree:
    """Return the tree of a scenario, repeated steps laid out up to a time.

    The machine asks for what all its nodes draw.
    """
    found = []
    for i, spec in enumerate(document.spec.budget):
        try:
            found.append(_budget(document, spec, until_s, machine_w))
        except InputError as problem:
            raise document.source.error(("budget", i, "steps"), str(problem)) from None
    try:
        return BudgetTree(tuple(found))
    except InputError as problem:
        raise document.source.error(("budget",), str(problem)) from None


def system_limit(document: Document, tree: BudgetTree) -> list[tuple[float, float]]:
    """Return the budget of the machine as (seconds since the first submission, watts)."""
    from wattline.policies.budget import grants

    name = system_name(document)
    return grants(tree)[name]


def system_name(document: Document) -> str:
    """Return the budget that is the machine's."""
    return next(spec.name for spec in document.spec.budget if spec.system)


def _budget(document: Document, spec: BudgetSpec, until_s: float, machine_w: float) -> Budget:
    parent = next((other for other in document.spec.budget if other.name == spec.parent), None)
    by_demand = parent is not None and parent.shares == "demand"
    demand = None
    if by_demand or spec.demand is not None or spec.demand_steps:
        usual = machine_w if spec.system else math.inf
        demand = _steps(usual if spec.demand is None else spec.demand, spec.demand_steps, spec.repeat, until_s)
    return Budget(
        spec.name,
        spec.parent or "",
        _steps(spec.limit, spec.steps, spec.repeat, until_s),
        spec.shares,
        math.nan if spec.share is None else spec.share,
        spec.weight,
        demand,
    )


def _steps(first_w: float, steps: Sequence[Any], repeat_s: float | None, until_s: float) -> Steps:
    once = [parse_step(step) for step in steps]
    rounds = 1 if repeat_s is None or not once else max(1, math.ceil(until_s / repeat_s))
    if rounds * len(once) > MOST_STEPS:
        raise InputError(f"that would be {rounds * len(once):,} steps over this trace, more than {MOST_STEPS:,}")
    laid = [(i * (repeat_s or 0.0) + time_s, watts) for i in range(rounds) for time_s, watts in once]
    return Steps(first_w, tuple(laid))
