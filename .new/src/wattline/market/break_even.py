"""Where a plan turns: break-even points of its parameters, sweeps over them, and what ten per cent more or less of each
would do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.market.machine_cost import CENT, bill
from wattline.market.overprovisioning import Application, Measured, Question, solve
from wattline.model.configuration_points import whole_nodes

Parameter = Literal["cost_ratio", "power_w", "faster", "node_max_w", "node_min_w", "older_price"]
TITLES: dict[str, str] = {
    "cost_ratio": "cost ratio r_c",
    "power_w": "power budget P_sys",
    "faster": "advantage of a high-end node r_p",
    "node_max_w": "most power of a high-end node",
    "node_min_w": "least power of an older node",
    "older_price": "price of an older node",
}
STEP = 0.1
"""Share by which parameters are moved for their sensitivities."""
REACH = 2.0
"""Powers are looked at up to so many times the budget."""
MOST_TRIED = 1000
"""Numbers of nodes, or steps of power, that are looked at one by one."""
EVEN = 1e-9
"""A speed-up this close to 1 is 1."""


@dataclass(frozen=True)
class BreakEven:
    """Where s_ovp crosses 1; None: nowhere in reach.

    ``nodes`` is the least number of older nodes that breaks even, ``cost_ratio`` that number over n_wc, ``older_price``
    the highest price at which the money buys them; ``faster`` the greatest advantage of a high-end node that they make
    up for; ``powers_w`` the budgets at which more nodes win or draw, up to ``unknown_w`` from which on a law has no
    answer (None: up to twice the budget); ``powers_exact``: these are all of them (else a grid was looked at).
    ``node_ranges`` are all numbers of older nodes that break even, first and last; where a law rises with nodes, or has
    no answer, the last range ends before the power does.
    """

    nodes: int | None
    cost_ratio: float | None
    older_price: float | None
    faster: float | None
    powers_w: tuple[tuple[float, float], ...]
    unknown_w: float | None = None
    powers_exact: bool = True
    node_ranges: tuple[tuple[int, int], ...] = ()


def changed(question: Question, parameter: Parameter, value: float) -> Question:
    """Return the same question with another value of one parameter."""
    if parameter == "cost_ratio":
        return question.with_ratio(value)
    if parameter == "older_price":
        if question.prices is None:
            raise InputError("without prices there is no price of an older node to change")
        return replace(question, prices=replace(question.prices, older=value))
    return replace(question, **{parameter: value})  # type: ignore[arg-type]


def speedup(question: Question, applications: Sequence[Application], nodes: int | None = None) -> float:
    """Return s_ovp of the mix, NaN where a machine or a law has no answer."""
    try:
        return solve(question, applications, nodes).speedup
    except InputError:
        return float("nan")


def sweep(question: Question, applications: Sequence[Application], parameter: Parameter, values: Floats) -> Floats:
    """Return s_ovp of the mix over values of one parameter."""
    return np.array([_moved(question, applications, parameter, float(value)) for value in values])


def _moved(question: Question, applications: Sequence[Application], parameter: Parameter, value: float) -> float:
    """Return s_ovp with another value of a parameter, NaN where there is no such question."""
    try:
        return speedup(changed(question, parameter, value), applications)
    except InputError:
        return float("nan")


def higher(question: Question, parameter: str, value: float) -> float:
    """Return a tenth more of a parameter, or half of what is left where it cannot be so much: nothing takes no time."""
    tenth = value * (1 + STEP)
    return tenth if parameter != "faster" or question.reading == "speed" or tenth < 1 else (1 + value) / 2


def break_even(question: Question, applications: Sequence[Application]) -> BreakEven:
    """Find all break-even points."""
    worst = question.worst_case_nodes
    ranges = _node_ranges(question, applications)
    nodes = ranges[0][0] if ranges else None
    powers, unknown, exact = _powers(question, applications)
    return BreakEven(
        nodes,
        None if nodes is None else nodes / worst,
        None if nodes is None else price_of(question, nodes),
        _advantage(question, applications),
        powers,
        unknown,
        exact,
        ranges,
    )


def _node_ranges(question: Question, applications: Sequence[Application]) -> tuple[tuple[int, int], ...]:
    """Return the numbers of older nodes that break even: all are tried, of very many first some and then those between
    two that differ.
    """
    limit = question.node_limit
    tried = [int(n) for n in np.unique(np.round(np.geomspace(1, max(limit, 1), MOST_TRIED)))]
    tried = list(range(1, limit + 1)) if limit <= MOST_TRIED else tried

    def wins(nodes: int) -> bool:
        return speedup(question, applications, nodes) >= 1 - EVEN

    turns: list[int] = []  # the first number of each stretch that differs from the one before
    last, before = 0, False
    for n in tried:
        now = wins(n)
        if now != before:
            low, high = last, n
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if wins(middle) == now else (middle, high)
            turns.append(high)
        last, before = n, now
    if before:
        turns.append(limit + 1)
    return tuple((first, end - 1) for first, end in zip(turns[::2], turns[1::2], strict=True))


def price_of(question: Question, nodes: int) -> float | None:
    """Return the price of an older node at which the money buys exactly so many.

    None without prices, or if racks and power cost it all.
    """
    both = question.bills(nodes)
    if both is None or question.prices is None:
        return None
    high, older = both
    life = question.prices.life
    kept = 1 + life.maintenance * life.years
    price = (high.total - older.energy - older.racks * kept) / (nodes * kept)
    return price if price > 0 else None


def _advantage(question: Question, applications: Sequence[Application]) -> float | None:
    """Return the advantage of a high-end node at which both machines are as fast: closed, as time is in proportion to
    it.
    """
    even = speedup(replace(question, faster=0.0), applications)
    if not even >= 1 - EVEN:
        return None
    return 1.0 - 1.0 / even if question.reading == "time" else even - 1.0


def _powers(
    question: Question, applications: Sequence[Application]
) -> tuple[tuple[tuple[float, float], ...], float | None, bool]:
    """Return the budgets up to twice the given one at which more nodes win or draw, the one above it from which nobody
    knows, and whether these are all.

    Nothing changes between two budgets at which a number of nodes or a measured configuration does, so that the middle
    tells. On very large machines these are too many, and a grid is looked at.
    """
    edges, exact = _power_edges(question, applications)
    middles = (edges[:-1] + edges[1:]) / 2
    ratios = sweep(question, applications, "power_w", middles)
    found: list[tuple[float, float]] = []
    for i in np.flatnonzero(ratios >= 1 - EVEN):
        begin, end = float(edges[i]), float(edges[i + 1])
        if found and found[-1][1] == begin:
            found[-1] = (found[-1][0], end)
        else:
            found.append((begin, end))
    beyond = edges[:-1][np.isnan(ratios) & (middles > question.power_w)]
    return tuple(found), float(beyond.min()) if beyond.size else None, exact


def _power_edges(question: Question, applications: Sequence[Application]) -> tuple[Floats, bool]:
    """Return the budgets at which anything changes, from one high-end node to twice the budget; and whether all."""
    top = REACH * question.power_w
    widths = (question.node_max_w, question.node_min_w)
    if top / min(widths) > MOST_TRIED:
        steps = [np.arange(1, top / w + 1) * w for w in widths if top / w <= MOST_TRIED]
        edges = np.unique(np.concatenate([*steps, np.linspace(question.node_max_w, top, 400)]))
        return edges[(edges >= question.node_max_w) & (edges <= top)], False
    parts = [np.arange(1, top / w + 1) * w for w in widths]
    parts += [
        application.law.table.power_w + application.law.base_w * application.law.table.nodes
        for application in applications
        if isinstance(application.law, Measured)
    ]
    parts += [_money_edges(question, top), np.array([top])]
    edges = np.unique(np.concatenate(parts))
    edges = edges[(edges >= question.node_max_w) & (edges <= top)]
    apart = np.concatenate([[True], np.diff(edges) > 1e-9 * top])  # the same power, but for rounding
    return edges[apart], True


def _money_edges(question: Question, top: float) -> Floats:
    """Return the budgets at which electricity takes the money of one more older node; between them other counts
    change.
    """
    prices = question.prices
    if prices is None or prices.older_use <= 0 or prices.life.energy_cost(1.0) <= 0:
        return np.empty(0)
    watt = prices.life.energy_cost(1.0) * prices.older_use
    many = whole_nodes(top + question.node_max_w, question.node_min_w)
    costs = np.array([bill(n, prices.older, prices.racks, prices.life, 0.0).total for n in range(1, many + 1)])
    found = [np.empty(0)]
    for high_end in range(1, whole_nodes(top, question.node_max_w) + 1):
        low, end = high_end * question.node_max_w, (high_end + 1) * question.node_max_w
        both = replace(question, power_w=low).bills(0)
        assert both is not None  # noqa: S101  # prices are known here
        power_w = (both[0].total + CENT - costs) / watt
        found.append(power_w[(power_w >= low) & (power_w < end)])
    return np.concatenate(found)


def sensitivities(question: Question, applications: Sequence[Application]) -> dict[str, tuple[float, float]]:
    """Return s_ovp with each parameter a tenth lower and a tenth higher (``higher``), the most telling first."""
    plan = solve(question, applications)
    known: dict[Parameter, float] = {
        "power_w": question.power_w,
        "faster": question.faster,
        "node_max_w": question.node_max_w,
        "node_min_w": question.node_min_w,
    }
    known |= {"cost_ratio": plan.effective_ratio} if question.prices is None else {"older_price": question.prices.older}
    if question.cost_ratio is not None:
        known["cost_ratio"] = question.cost_ratio
    found = {}
    for name, value in known.items():
        steps = (value * (1 - STEP), higher(question, name, value))
        low, high = (_moved(question, applications, name, step) for step in steps)
        found[str(name)] = (low, high)
    return dict(sorted(found.items(), key=lambda item: -_swing(item[1])))


def _swing(pair: tuple[float, float]) -> float:
    swing = abs(pair[1] - pair[0])
    return swing if swing == swing else 0.0  # NaN is not itself
