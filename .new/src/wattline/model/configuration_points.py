"""Points of a configuration space that have names: packed and spread, worst cases, the best by nodes, the front of
time and power.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wattline.arrays import Ints
from wattline.errors import InputError
from wattline.model.configurations import Configurations

CANONICAL = ("packed-max", "packed-min", "spread-max", "spread-min")
NONE = -1
"""Row of a point that the table or the bound does not have."""


@dataclass(frozen=True)
class Bounded:
    """What a table offers under a bound; rows, or ``NONE``.

    ``worst_nodes`` are those that the bound feeds if every node draws ``node_max_w``. ``worst_case`` runs all cores
    on them without a cap, ``worst_best`` is the best configuration on them; ``table_nodes`` is the largest node
    count of the table among them, which both use.
    """

    bound_w: float
    node_max_w: float
    worst_nodes: int
    table_nodes: int
    best: int
    worst_case: int
    worst_best: int
    canonical: dict[str, int]


def whole_nodes(bound_w: float, node_w: float) -> int:
    """Return how many nodes of such power a bound feeds; a whole number stays one whatever floats make of it.

    >>> whole_nodes(3500.0, 290.0), whole_nodes(4500.0, 290.0), whole_nodes(0.3, 0.1)
    (12, 15, 3)
    """
    return math.floor(bound_w / node_w * (1 + 1e-12))


def canonical_row(table: Configurations, name: str, bound_w: float) -> int:
    """Return the row of a canonical configuration: all or the fewest cores at the highest or lowest cap, on as many
    nodes as fit.

    *packed* fills nodes with all their cores, *spread* uses the fewest cores that the table has; *max* is the
    highest cap (turbo, where there is one), *min* the lowest.
    """
    packing, _, power = name.partition("-")
    cores = table.cores.max() if packing == "packed" else table.cores.min()
    cap_w = table.cap_w.max() if power == "max" else table.cap_w.min()
    rows = np.flatnonzero((table.cores == cores) & (table.cap_w == cap_w) & (table.power_w <= bound_w))
    return int(rows[np.argmax(table.nodes[rows])]) if rows.size else NONE


def under_bound(table: Configurations, bound_w: float, node_max_w: float) -> Bounded:
    """Find the named points of a table under a power bound."""
    if not bound_w > 0:
        raise InputError(f"a power bound must be above 0, got {bound_w:g} W")
    worst = whole_nodes(bound_w, node_max_w) if math.isfinite(bound_w) else int(table.nodes.max())
    known = table.nodes[table.nodes <= worst]
    nodes = int(known.max()) if known.size else 0
    at = np.flatnonzero(
        (table.nodes == nodes) & (table.cores == table.cores.max()) & (table.cap_w == table.cap_w.max())
    )
    worst_case = int(at[0]) if at.size and table.power_w[at[0]] <= bound_w else NONE
    return Bounded(
        bound_w,
        node_max_w,
        worst,
        nodes,
        table.best(bound_w),
        worst_case,
        best_at(table, nodes, bound_w),
        {name: canonical_row(table, name, bound_w) for name in CANONICAL},
    )


def best_at(table: Configurations, nodes: int, bound_w: float) -> int:
    """Return the row of the shortest time on exactly so many nodes under a bound, or ``NONE``."""
    rows = np.flatnonzero((table.nodes == nodes) & (table.power_w <= bound_w))
    return int(rows[np.lexsort((table.power_w[rows], table.time_s[rows]))[0]]) if rows.size else NONE


def best_by_nodes(table: Configurations, bound_w: float) -> Ints:
    """Return the row of the best configuration at every node count that has one under the bound, by rising node
    count.
    """
    rows = [best_at(table, int(nodes), bound_w) for nodes in np.unique(table.nodes)]
    return np.array([row for row in rows if row != NONE], np.int64)


def front(table: Configurations) -> Ints:
    """Return the rows that no other row beats in both time and power, by rising power.

    >>> space = Configurations("x", np.array([1, 2, 3]), np.ones(3, np.int64), np.full(3, 51.0),
    ...                        np.array([9.0, 5.0, 6.0]), np.array([100.0, 200.0, 300.0]))
    >>> front(space).tolist()
    [0, 1]
    """
    order = np.lexsort((table.time_s, table.power_w))
    times = table.time_s[order]
    least = np.minimum.accumulate(np.concatenate(([np.inf], times[:-1])))
    return order[times < least]


def degree(table: Configurations, found: Bounded) -> float:
    """Return the degree of overprovisioning: nodes of the best configuration over nodes of the absolute worst case."""
    if found.best == NONE or found.worst_nodes == 0:
        return math.nan
    return float(table.nodes[found.best]) / found.worst_nodes


def wasted_w(table: Configurations, row: int, bound_w: float) -> float:
    """Return the power that a configuration leaves unused of a bound."""
    return bound_w - float(table.power_w[row])
