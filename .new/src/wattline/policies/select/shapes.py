"""Which configuration a moldable job takes: as asked, the best under a power bound, or the best that fits now."""

from __future__ import annotations

import numpy as np

from wattline.kernel.compiled import kernel, outlined
from wattline.model.state.record import State
from wattline.physics.power import LIMIT_SLACK, shape_increase_w


@kernel
def fair_w(s: State, j: int) -> float:
    """Return a job's fair share of the power limit: that of the nodes it asked for, times its priority if it has one.

    It is divided last: a configuration that draws exactly the share is under it, whatever the number of nodes.
    """
    weight = s.priority[j] if s.priority[j] > 0.0 else 1.0
    return weight * s.asked_nodes[j] * s.limit_w[0] / s.pool_count[s.pool[j]]


@kernel
def may_ever(s: State, j: int, row: int) -> bool:
    """Tell whether a job could start in a configuration, under the limit in force, if nothing ran and all nodes
    were idle.
    """
    p = s.pool[j]
    if s.sh_nodes[row] > s.pool_count[p]:
        return False
    if s.limit_w[0] == np.inf:
        return True
    return shape_increase_w(s, j, row) <= s.limit_w[0] * (1.0 + LIMIT_SLACK) - s.pool_count[p] * s.idle_w[p]


@outlined
def any_may_ever(s: State, j: int) -> bool:
    """Tell whether a job has such a configuration; where it has none, all that the machine is wide enough for count."""
    a = s.app[j]
    found = 0
    for row in range(s.app_first[a], s.app_first[a] + s.app_count[a]):
        found += may_ever(s, j, row)
    return found > 0


@kernel
def counts(s: State, j: int, row: int, some: bool) -> bool:  # kernels take no keywords
    """Tell whether a job may wait for a configuration; ``some``: it has some that could start on an idle machine."""
    return may_ever(s, j, row) if some else s.sh_nodes[row] <= s.pool_count[s.pool[j]]


@outlined
def asked_row(s: State, j: int) -> int:
    """Return the configuration with all cores, no cap and the nodes asked for; fewer nodes where that exceeds the
    limit.

    All cores come first, then the highest cap, then the most nodes up to those asked for (the table's fewest where
    it has none). Where the limit allows none of them it is the one of least power.
    """
    a = s.app[j]
    some = any_may_ever(s, j)
    asked = max(s.asked_nodes[j], s.fr_nodes[s.app_sizes[a]])
    best = -1
    for row in range(s.app_first[a], s.app_first[a] + s.app_count[a]):
        if s.sh_nodes[row] > asked or s.sh_told_w[row] > s.limit_w[0] or not counts(s, j, row, some):
            continue
        if best < 0 or _more(s, row, best):
            best = row
    return best if best >= 0 else least_row(s, j, some)


@kernel
def _more(s: State, row: int, than: int) -> bool:
    """Tell whether a configuration has more cores on each node, then a higher cap, then more nodes, than another."""
    if s.sh_cores[row] != s.sh_cores[than]:
        return s.sh_cores[row] > s.sh_cores[than]
    if s.sh_cap_w[row] != s.sh_cap_w[than]:
        return s.sh_cap_w[row] > s.sh_cap_w[than]
    return s.sh_nodes[row] > s.sh_nodes[than]


@outlined
def best_row(s: State, a: int, bound_w: float, most: int) -> int:
    """Return an application's fastest configuration, as told, under a power bound and a number of nodes (-1: none
    fits).

    Two binary searches: for the front of all configurations with at most that many nodes, and on it for the bound.
    """
    low = s.app_sizes[a]
    high = low + s.app_n_sizes[a]
    first = low
    while low < high:
        middle = (low + high) >> 1
        if s.fr_nodes[middle] <= most:
            low = middle + 1
        else:
            high = middle
    if low == first:
        return -1
    first = s.fr_first[low - 1]
    high = first + s.fr_count[low - 1]
    low = first
    while low < high:
        middle = (low + high) >> 1
        if s.fr_told_w[middle] <= bound_w:
            low = middle + 1
        else:
            high = middle
    return s.fr_row[low - 1] if low > first else -1


@outlined
def least_row(s: State, j: int, some: bool) -> int:  # kernels take no keywords
    """Return the configuration of least power, as told, that a job may wait for; of equals the fastest."""
    a = s.app[j]
    best = -1
    for row in range(s.app_first[a], s.app_first[a] + s.app_count[a]):
        if counts(s, j, row, some) and (
            best < 0
            or s.sh_told_w[row] < s.sh_told_w[best]
            or (s.sh_told_w[row] == s.sh_told_w[best] and s.sh_told_s[row] < s.sh_told_s[best])
        ):
            best = row
    return best if best >= 0 else s.app_least[a]


@outlined
def share_row(s: State, j: int) -> int:
    """Return the fastest configuration under a job's fair share of power, or of least power where none is under it.

    Those that could never start, because the idle nodes beside them leave too few watts, do not count unless all
    are such.
    """
    a = s.app[j]
    bound_w = min(fair_w(s, j), s.limit_w[0])
    row = best_row(s, a, bound_w, s.pool_count[s.pool[j]])
    if row >= 0 and may_ever(s, j, row):
        return row
    some = any_may_ever(s, j)
    best = -1
    for row in range(s.app_first[a], s.app_first[a] + s.app_count[a]):
        if s.sh_told_w[row] > bound_w or not counts(s, j, row, some):
            continue
        faster = best < 0 or s.sh_told_s[row] < s.sh_told_s[best]
        if faster or (s.sh_told_s[row] == s.sh_told_s[best] and s.sh_told_w[row] < s.sh_told_w[best]):
            best = row
    return best if best >= 0 else least_row(s, j, some)


@kernel
def allowed_s(s: State, j: int, threshold: float) -> float:
    """Return how long a job may take with power that is left over: what was asked for, and a tolerated part more."""
    return (1.0 + threshold) * s.request_s[j] if s.request_s[j] < np.inf else np.inf
