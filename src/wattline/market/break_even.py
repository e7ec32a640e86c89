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
from wattline.market.overprovisioning import Application, Question, solve

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
    up for; ``powers_w`` the budgets at which more nodes win, up to ``unknown_w`` from which on a law has no answer
    (None: up to twice the budget).
    """

    nodes: int | None
    cost_ratio: float | None
    older_price: float | None
    faster: float | None
    powers_w: tuple[tuple[float, float], ...]
    unknown_w: float | None = None


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
    nodes = _least_nodes(question, applications)
    powers, unknown = _powers(question, applications)
    return BreakEven(
        nodes,
        None if nodes is None else nodes / worst,
        None if nodes is None else _price(question, nodes),
        _advantage(question, applications),
        powers,
        unknown,
    )


def _least_nodes(question: Question, applications: Sequence[Application]) -> int | None:
    """Return the least number of older nodes that breaks even: all are tried, of very many first some and then those
    between two.
    """
    limit = question.node_limit
    tried = [int(n) for n in np.unique(np.round(np.geomspace(1, max(limit, 1), MOST_TRIED)))]
    tried = list(range(1, limit + 1)) if limit <= MOST_TRIED else tried
    found = next((i for i, n in enumerate(tried) if speedup(question, applications, n) >= 1 - EVEN), None)
    if found is None:
        return None
    low, high = tried[found - 1] if found else 0, tried[found]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if speedup(question, applications, middle) >= 1 - EVEN else (middle, high)
    return high


def _price(question: Question, nodes: int) -> float | None:
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
) -> tuple[tuple[tuple[float, float], ...], float | None]:
    """Return the budgets up to twice the given one at which more nodes win, and the one above it from which nobody
    knows.

    Between whole nodes nothing changes for lines; measured tables are looked at on a fine grid as well.
    """
    top = REACH * question.power_w
    widths = [
        w for w in (question.node_max_w, question.node_min_w) if top / w <= MOST_TRIED
    ]  # else steps are too fine to matter
    steps = [np.arange(1, top / w + 1) * w for w in widths]
    edges = np.unique(np.concatenate([*steps, np.linspace(question.node_max_w, top, 400)]))
    edges = edges[(edges >= question.node_max_w) & (edges <= top)]
    ratios = sweep(question, applications, "power_w", edges)
    found: list[tuple[float, float]] = []
    for i in np.flatnonzero(ratios >= 1 - EVEN):
        end = float(edges[i + 1]) if i + 1 < edges.size else top
        if found and found[-1][1] == edges[i]:
            found[-1] = (found[-1][0], end)
        else:
            found.append((float(edges[i]), end))
    beyond = edges[np.isnan(ratios) & (edges > question.power_w)]
    return tuple(found), float(beyond.min()) if beyond.size else None


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
