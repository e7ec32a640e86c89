"""Which configuration a moldable job takes: as asked, the best under a power bound, or the best that fits now."""

from __future__ import annotations

import numpy as np

from wattline.model.compiled import kernel, outlined
from wattline.model.state import State


@kernel
def fair_w(s: State, j: int) -> float:
    """Return a job's fair share of the power limit: that of the nodes it asked for, times its priority if it has one."""
    weight = s.priority[j] if s.priority[j] > 0.0 else 1.0
    return weight * s.asked_nodes[j] / s.pool_count[s.pool[j]] * s.limit_w[0]


@outlined
def asked_row(s: State, j: int) -> int:
    """Return the configuration with the nodes asked for, all cores and no cap; fewer nodes where that exceeds the limit.

    The nodes are the most that the table has up to those asked for (its fewest where it has none).
    """
    a = s.app[j]
    best = -1
    for row in range(s.app_first[a], s.app_first[a] + s.app_count[a]):
        if s.sh_nodes[row] > s.asked_nodes[j] or s.sh_told_w[row] > s.limit_w[0]:
            continue
        if best < 0 or _more(s, row, best):
            best = row
    if best >= 0:
        return best
    return s.app_least[a]


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
    """Return an application's fastest configuration, as told, under a power bound and a number of nodes (-1: none fits).

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
def share_row(s: State, j: int) -> int:
    """Return the fastest configuration under a job's fair share of power, or of least power where none fits."""
    row = best_row(s, s.app[j], min(fair_w(s, j), s.limit_w[0]), s.pool_count[s.pool[j]])
    return row if row >= 0 else s.app_least[s.app[j]]


@kernel
def allowed_s(s: State, j: int, threshold: float) -> float:
    """Return how long a job may take with power that is left over: what was asked for, and a tolerated part more."""
    return (1.0 + threshold) * s.request_s[j] if s.request_s[j] < np.inf else np.inf
