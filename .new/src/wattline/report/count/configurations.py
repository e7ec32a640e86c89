"""What a configuration space says of its application: how it scales, whether caps hurt, and why the best configuration
is the best.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from wattline.model.configuration_points import NONE, Bounded, best_by_nodes, degree, front, under_bound, wasted_w
from wattline.model.configurations import Configurations
from wattline.report.show import number
from wattline.units import in_full

LITTLE = 0.02
"""Differences of times below this share are called none."""
BITES = 1.03
"""A cap that takes less than this factor off the power does not bite."""
SCALES, SCALES_NOT = 0.8, 0.5
"""Parallel efficiencies above and below which an application is said to scale well, or badly."""
MEMORY_BOUND, CPU_BOUND = 0.35, 0.7
"""Sensitivities to the cap below and above which time is said to be the memory's, or the processors'."""


@dataclass(frozen=True)
class Character:
    """Measures of an application, from its table alone; NaN where the table cannot tell.

    Efficiencies are speed-up over the growth of nodes or cores, medians over all else. ``slowdown`` is time under the
    lowest cap over time under the highest one without turbo, all cores in use; ``saving`` is the power without over
    that with the low cap; ``sensitivity`` is ln(slowdown)/ln(saving): 0, power can be had for nothing (time is the
    memory's or the network's); 1, time grows as power falls.
    """

    node_efficiency: float
    core_efficiency: float
    slowdown: float
    saving: float
    sensitivity: float
    turbo_gain: float
    best_cores: int
    """Cores per node of the shortest time on the most nodes at the highest cap."""


def characterize(table: Configurations) -> Character:
    """Measure an application."""
    low, high = _caps(table)
    slow = _ratio(table, table.cores.max(), low, high)
    sensitivity = math.log(slow[0]) / math.log(slow[1]) if slow[1] > BITES else math.nan
    turbo = _ratio(table, table.cores.max(), high, table.turbo_w)[0] if not math.isnan(table.turbo_w) else math.nan
    at = np.flatnonzero((table.nodes == table.nodes.max()) & (table.cap_w == table.cap_w.max()))
    best = int(table.cores[at[np.argmin(table.time_s[at])]]) if at.size else 0
    return Character(
        _efficiency(table, "nodes", "cores"), _efficiency(table, "cores", "nodes"), *slow, sensitivity, turbo, best
    )


def _caps(table: Configurations) -> tuple[float, float]:
    """Return the lowest and the highest cap without turbo."""
    capped = table.cap_w[table.cap_w != table.turbo_w]
    return (float(capped.min()), float(capped.max())) if capped.size else (math.nan, math.nan)


def _ratio(table: Configurations, cores: int, low_w: float, high_w: float) -> tuple[float, float]:
    """Return time under one cap over that under another, and power of the other over that of the one: medians over
    nodes.
    """
    pairs = [
        (table.time_s[a] / table.time_s[b], table.power_w[b] / table.power_w[a])
        for nodes in np.unique(table.nodes)
        if (a := row_of(table, nodes, cores, low_w)) != NONE and (b := row_of(table, nodes, cores, high_w)) != NONE
    ]
    if not pairs or low_w == high_w:
        return math.nan, math.nan
    times, powers = zip(*pairs, strict=True)
    return float(np.median(times)), float(np.median(powers))


def _efficiency(table: Configurations, along: str, beside: str) -> float:
    """Return speed-up over growth from the fewest to the most nodes (or cores), all else the same: the median."""
    grow, other = getattr(table, along), getattr(table, beside)
    found = []
    for fixed in np.unique(other):
        for cap_w in np.unique(table.cap_w):
            rows = np.flatnonzero((other == fixed) & (table.cap_w == cap_w))
            if rows.size > 1:
                a, b = rows[np.argmin(grow[rows])], rows[np.argmax(grow[rows])]
                if grow[b] > grow[a]:
                    found.append(table.time_s[a] * grow[a] / (table.time_s[b] * grow[b]))
    return float(np.median(found)) if found else math.nan


def row_of(table: Configurations, nodes: float, cores: float, cap_w: float) -> int:
    """Return the row of a configuration, or ``NONE``."""
    rows = np.flatnonzero((table.nodes == nodes) & (table.cores == cores) & (table.cap_w == cap_w))
    return int(rows[0]) if rows.size else NONE


def cap_name(table: Configurations, cap_w: float) -> str:
    """Return a cap as people say it: turbo is no cap."""
    return "turbo" if cap_w == table.turbo_w else f"{in_full(cap_w)} W"


def point_name(table: Configurations, row: int) -> str:
    """Return ``(n × c, p)`` of a row."""
    return f"({table.nodes[row]} × {table.cores[row]}, {cap_name(table, float(table.cap_w[row]))})"


def describe(character: Character, table: Configurations) -> list[str]:
    """Return the character of an application in sentences, each with the numbers it rests on."""
    return [*_scaling(character), *_odd_step(table), *_capping(character)]


def _odd_step(table: Configurations) -> Iterator[str]:
    """Doubt a table whose fewest nodes are as fast as the next ones though more nodes help beyond: another problem
    size.
    """
    few, next_, *rest = [*np.unique(table.nodes), 0, 0][: max(3, np.unique(table.nodes).size)]
    if not next_ or not rest or not rest[-1]:
        return
    first, later = (_speed_up(table, a, b) for a, b in ((few, next_), (next_, rest[-1])))
    if first < 0.25 * next_ / few and later > SCALES_NOT * rest[-1] / next_:
        yield (
            f"From {few} to {next_} nodes time falls by a factor of {in_full(first, 2)} only, from {next_} to "
            f"{rest[-1]} by "
            f"{in_full(later, 2)}: "
            f"was the problem another one on {few}? Then leave it out (--least-nodes {next_})."
        )


def _speed_up(table: Configurations, few: int, many: int) -> float:
    """Return time on few nodes over time on many, cores and cap the same: the median."""
    found = [
        table.time_s[row] / table.time_s[twin]
        for row in np.flatnonzero(table.nodes == few)
        if (twin := row_of(table, many, table.cores[row], table.cap_w[row])) != NONE
    ]
    return float(np.median(found)) if found else math.nan


def _scaling(c: Character) -> Iterator[str]:
    for what, value in (("nodes", c.node_efficiency), ("cores of a node", c.core_efficiency)):
        if not math.isnan(value):
            how = "well" if value >= SCALES else "badly" if value < SCALES_NOT else "fairly"
            yield f"Over {what} it scales {how}: parallel efficiency {value:.0%} from the fewest to the most."


def _capping(c: Character) -> Iterator[str]:
    if math.isnan(c.slowdown):
        return
    if math.isnan(c.sensitivity):
        yield (
            f"Caps do not bite: the lowest takes {1 - 1 / c.saving:.0%} off the power, time changes by "
            f"{c.slowdown - 1:+.0%}."
        )
        return
    if c.sensitivity <= MEMORY_BOUND:
        kind = "little of the time is the processors': memory or network decide"
    else:
        kind = (
            "time is mostly the processors'"
            if c.sensitivity >= CPU_BOUND
            else "time is partly the processors', partly memory's or the network's"
        )
    yield (
        f"The lowest cap takes {1 - 1 / c.saving:.0%} off the power and adds {c.slowdown - 1:.0%} to the time "
        f"(sensitivity {c.sensitivity:.2f}): {kind}."
    )
    if not math.isnan(c.turbo_gain):
        yield f"Turbo saves another {1 - 1 / c.turbo_gain:.0%} of the time."


def explain(table: Configurations, found: Bounded) -> list[str]:
    """Say in sentences why the best configuration under a bound beats packed-max: nodes, cap, cores, each by its
    neighbours.
    """
    best, packed = found.best, found.canonical["packed-max"]
    if best == NONE:
        return [f"No configuration of the table draws as little as {found.bound_w:,.0f} W."]
    if packed == NONE:
        return ["All cores at the highest cap exceed the bound on any number of nodes of the table."]
    if best == packed:
        return [
            f"Nothing beats packed-max {point_name(table, best)}: all cores, the highest cap, as many nodes as fit."
        ]
    gain = 1 - table.time_s[best] / table.time_s[packed]
    said = (
        f"{point_name(table, best)} takes {number(table.time_s[best])} s, packed-max {point_name(table, packed)} "
        f"{number(table.time_s[packed])} s: {gain:.1%} less time under the same bound."
    )
    return [said, *_why_nodes(table, best, packed), *_why_cores(table, best, found.bound_w)]


def _why_nodes(table: Configurations, best: int, packed: int) -> Iterator[str]:
    more = table.nodes[best] / table.nodes[packed]
    each = [table.power_w[row] / table.nodes[row] for row in (best, packed)]
    if more > 1:
        same = row_of(table, table.nodes[packed], table.cores[best], table.cap_w[best])
        slower = table.time_s[same] / table.time_s[packed] if same != NONE else math.nan
        spread = table.time_s[same] / table.time_s[best] if same != NONE else math.nan
        told = f"More nodes win because a node gets along with {each[0]:.0f} W instead of {each[1]:.0f} W"
        if not math.isnan(slower):
            told += (
                f": on {table.nodes[packed]} nodes that costs {slower - 1:+.0%} of time, "
                f"{in_full(more, 3)} times the nodes make it {in_full(spread, 3)} times faster"
            )
        yield told + "."
    elif more < 1:
        yield (
            f"Fewer nodes win: {table.nodes[best]} at {each[0]:.0f} W each instead of {table.nodes[packed]} at "
            f"{each[1]:.0f} W; "
            "the application gains more from faster nodes than from more of them."
        )


def _why_cores(table: Configurations, best: int, bound_w: float) -> Iterator[str]:
    cores, most = int(table.cores[best]), int(table.cores.max())
    nodes, cap_w = table.nodes[best], float(table.cap_w[best])
    full = row_of(table, nodes, most, cap_w)
    if cores == most or full == NONE:
        return
    where = f"{most} cores on {nodes} nodes at {cap_name(table, cap_w)}"
    if table.power_w[full] > bound_w:
        yield f"Fewer cores win here because {where} would draw {table.power_w[full]:,.0f} W, above the bound."
        return
    loss = table.time_s[full] / table.time_s[best] - 1
    top = float(table.cap_w.max())
    free, few = row_of(table, nodes, most, top), row_of(table, nodes, cores, top)
    told = f"Fewer cores win here because {where} take {number(table.time_s[full])} s ({loss:+.1%})"
    if free == NONE or few == NONE or top == cap_w:
        yield f"{told}: they wait for memory or for each other."
        return
    freely = table.time_s[free] / table.time_s[few] - 1
    if freely > LITTLE:
        yield (
            f"{told}, and at {cap_name(table, top)} {freely:+.1%} too: they get in each other's way, at the memory "
            "or in the work's division."
        )
    else:
        yield (
            f"{told}: they share the same watts, so each runs slower; at {cap_name(table, top)} {most} cores "
            f"{_less(freely)}."
        )


def _less(change: float) -> str:
    return (
        f"take {-change:.1%} less"
        if change < 0
        else "gain nothing either"
        if change < LITTLE / 2
        else "lose a little too"
    )


def bounded_facts(table: Configurations, bound_w: float, node_max_w: float) -> dict[str, Any]:
    """Return what there is under a bound, ready for JSON."""
    found = under_bound(table, bound_w, node_max_w)
    rows = named_rows(found)
    known = degree(table, found)
    return {
        "bound_w": bound_w if math.isfinite(bound_w) else None,
        "node_max_w": node_max_w,
        "worst_case_nodes": found.worst_nodes,
        "worst_case_nodes_in_table": found.table_nodes,
        "degree": None if math.isnan(known) else known,
        "points": {name: None if row == NONE else point_facts(table, row, bound_w) for name, row in rows.items()},
        "by_nodes": [point_facts(table, int(row), bound_w) for row in best_by_nodes(table, bound_w)],
        "why": explain(table, found),
    }


def named_rows(found: Bounded) -> dict[str, int]:
    """Return the named points under a bound in the order in which they are shown."""
    return {
        "best": found.best,
        **found.canonical,
        "worst case": found.worst_case,
        "best on worst-case nodes": found.worst_best,
    }


def point_facts(table: Configurations, row: int, bound_w: float = math.inf) -> dict[str, Any]:
    """Return a row of a table, ready for JSON."""
    facts: dict[str, Any] = {
        "nodes": int(table.nodes[row]),
        "cores": int(table.cores[row]),
        "cap_w": float(table.cap_w[row]),
        "turbo": bool(table.cap_w[row] == table.turbo_w),
        "time_s": float(table.time_s[row]),
        "power_w": float(table.power_w[row]),
    }
    if math.isfinite(bound_w):
        facts["wasted_w"] = wasted_w(table, row, bound_w)
    return facts


def table_facts(table: Configurations) -> dict[str, Any]:
    """Return an application's measures and front, ready for JSON."""
    character = characterize(table)
    measures = {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in dict(vars(character)).items()}
    return {
        "application": table.application,
        "configurations": len(table),
        "nodes": sorted({int(n) for n in table.nodes}),
        "cores": sorted({int(c) for c in table.cores}),
        "caps_w": sorted({float(p) for p in table.cap_w}),
        "turbo_w": None if math.isnan(table.turbo_w) else table.turbo_w,
        "measures": measures,
        "says": describe(character, table),
        "front": [point_facts(table, int(row)) for row in front(table)],
    }
