"""The exact window: which of a few jobs fill the most nodes under a limit of nodes and one of watts.

A table holds, for the jobs from each one on and every number of nodes, the least power that uses exactly so many.
The most nodes whose least power is affordable is the optimum; walking the jobs from the first, each is taken if the
rest can still make it, so that of all optimal choices the earliest jobs win.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.kernel.compiled import kernel, outlined

MOST_W = 1e300


@kernel
def gcd(a: int, b: int) -> int:
    """Return the greatest common divisor."""
    while b > 0:
        a, b = b, a % b
    return a


@outlined
def fill_table(width: Any, watts: Any, n: int, units: int, table: Any) -> None:
    """Write the least power of jobs i … n - 1 on exactly u units into ``table[i * (units + 1) + u]``, i from n down
    to 0.
    """
    row = units + 1
    base = n * row
    table[base] = 0.0
    for u in range(1, row):
        table[base + u] = np.inf
    for i in range(n - 1, -1, -1):
        below = base
        base -= row
        need = int(width[i])
        cost = watts[i]
        for u in range(min(need, row)):
            table[base + u] = table[below + u]
        for u in range(need, row):
            table[base + u] = min(table[below + u], cost + table[below + u - need])


@outlined
def choose(width: Any, watts: Any, n: int, units: int, budget_w: float, table: Any, taken: Any) -> int:
    """Mark the jobs to take in ``taken`` (1 or 0) and return the units they fill.

    ``width`` are whole units, ``watts`` costs of 0 or more. The table needs (n + 1)(units + 1) places.
    """
    fill_table(width, watts, n, units, table)
    row = units + 1
    money = min(budget_w, MOST_W)  # what cannot be had costs inf in the table
    best = units
    while best > 0 and not table[best] <= money:
        best -= 1
    left = best
    for i in range(n):
        need = int(width[i])
        below = (i + 1) * row
        taken[i] = 0.0
        if need > left:
            continue
        rest = table[below + left - need]
        # what the rest costs was summed in another order than what is left: where rounding decides, take what the
        # table took
        if watts[i] + rest <= money or not table[below + left] <= money:
            taken[i] = 1.0
            left -= need
            money -= watts[i]
    return best
