"""How the parts of a power budget share it, and what every budget of a tree is granted over time."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from itertools import accumulate

from wattline.model.budget import Budget, BudgetTree

LIGHTEST = sys.float_info.min
"""The least weight that counts, as a part of the heaviest: no sum of such weights overflows, and none is 0."""


def grants(tree: BudgetTree) -> dict[str, list[tuple[float, float]]]:
    """Return what each budget is granted as steps (from time, watts); at every instant parts sum to at most their
    whole.
    """
    found: dict[str, list[tuple[float, float]]] = {b.name: [] for b in tree.budgets}
    for time_s in tree.times_s():
        for name, watts in grants_at(tree, time_s).items():
            if not found[name] or found[name][-1][1] != watts:
                found[name].append((time_s, watts))
    return found


def grants_at(tree: BudgetTree, time_s: float) -> dict[str, float]:
    """Return what each budget is granted at a time."""
    granted = {tree.whole.name: tree.whole.limit.at(time_s)}
    waiting = [tree.whole]
    while waiting:
        whole = waiting.pop()
        parts = tree.parts[whole.name]
        for part, watts in zip(parts, share_out(whole, parts, granted[whole.name], time_s), strict=True):
            granted[part.name] = watts
            waiting.append(part)
    return granted


def share_out(whole: Budget, parts: Sequence[Budget], watts: float, time_s: float) -> list[float]:
    """Share a budget among its parts by its rule; nobody gets more than its own limit, nor, by demand, than it asks
    for.
    """
    most = [part.limit.at(time_s) for part in parts]
    if whole.rule == "fixed":
        return [min(cap, part.share * watts) for cap, part in zip(most, parts, strict=True)]
    if whole.rule == "proportional":
        return fill(watts, most, [1.0 if math.isnan(part.weight) else part.weight for part in parts])
    asked = [  # who says nothing asks for all there is, and nobody asks for more
        min(watts, cap, math.inf if part.demand is None else part.demand.at(time_s))
        for cap, part in zip(most, parts, strict=True)
    ]
    if math.isinf(watts):
        return asked
    too_much = max(1.0, math.fsum(ask / watts for ask in asked if ask > 0))  # in wholes: a sum of watts may overflow
    return [ask / too_much for ask in asked]


def fill(watts: float, most: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Share watts in proportion to weights; what is above a part's most goes to the others in the same way.

    Exact: parts are looked at in the order in which they are full. All is given away unless all are full.

    >>> fill(100.0, [10.0, 1000.0, 1000.0], [1.0, 1.0, 2.0])
    [10.0, 30.0, 60.0]
    """
    if math.isinf(watts):
        return list(most)
    given = [0.0] * len(most)
    if watts <= 0 or not most:
        return given
    heaviest = max(weights)
    weight = [max(one / heaviest, LIGHTEST) for one in weights]
    order = sorted(range(len(most)), key=lambda i: min(1.0, most[i] / watts) / weight[i])
    together = list(accumulate(weight[i] for i in reversed(order)))[::-1]  # of a part and those that are full after it
    left = watts
    for i, those in zip(order, together, strict=True):
        given[i] = min(most[i], left * (weight[i] / those))
        left -= given[i]
    return given
