"""What place policies share: free nodes per router and group, and from a choice to the extents that the engine takes.

A policy's choice is either a number of nodes for every router, which are then its lowest free ones, or a mark on
some of the free nodes, which count from 0 in the order of their numbers. Both are turned into extents in one walk
over the free ones.
"""

from __future__ import annotations

from typing import Any

from wattline.kernel.compiled import kernel, outlined
from wattline.model.state.record import State
from wattline.model.structures.nodes import next_free


@kernel
def routers_of(s: State) -> int:
    """Return the number of routers."""
    return s.net[1] * s.net[2]


@outlined
def count_free(s: State, p: int, free: Any) -> int:
    """Write how many free nodes of class p hang on every router; return how many there are in all."""
    size = s.net[0]
    total = 0
    r = 0
    edge = size  # of router r; walking upward costs no division
    here = 0
    first = next_free(s, p, s.pool_first[p])
    while first >= 0:
        a = first
        b = s.fx_to[first]
        first = next_free(s, p, first + 1)
        total += b - a
        while edge <= a:
            free[r] = here
            here = 0
            r += 1
            edge += size
        while edge < b:
            free[r] = here + edge - a
            here = 0
            a = edge
            r += 1
            edge += size
        here += b - a
    while r < free.shape[0]:
        free[r] = here
        here = 0
        r += 1
    return total


@outlined
def add_up(s: State, free: Any, group_free: Any) -> None:
    """Write how many free nodes every group has."""
    a = s.net[1]
    for g in range(group_free.shape[0]):
        count = 0.0
        for r in range(g * a, (g + 1) * a):
            count += free[r]
        group_free[g] = count


@kernel
def clear(values: Any) -> None:
    """Set an array to zero."""
    for i in range(values.shape[0]):
        values[i] = 0.0


@outlined
def take_in_turn(free: Any, take: Any, first: int, last: int, n: int) -> None:
    """Take n nodes from ``first … last - 1`` in turn, one a visit, from those that still have any."""
    for i in range(first, last):
        take[i] = 0.0
    level = 0
    while n > 0:
        for i in range(first, last):
            if free[i] > level and n > 0:
                take[i] += 1.0
                n -= 1
        level += 1


@kernel
def take_lowest(free: Any, take: Any, first: int, last: int, n: float) -> None:
    """Take the n lowest free nodes of routers ``first … last - 1``."""
    for r in range(first, last):
        got = min(free[r], n)
        take[r] = got
        n -= got


@kernel
def _add_row(s: State, rows: int, a: int, b: int) -> int:
    """Add nodes a … b-1 to the extents picked so far, which are all lower."""
    if rows > 0 and s.place_b[rows - 1] == a:
        s.place_b[rows - 1] = b
        return rows
    s.place_a[rows] = a
    s.place_b[rows] = b
    return rows + 1


@outlined
def pick_counted(s: State, p: int, take: Any, n: int) -> int:
    """Pick the lowest ``take[r]`` free nodes of every router r, n in all; return the number of extents."""
    size = s.net[0]
    rows = 0
    r = 0
    edge = size
    left = int(take[0])
    first = next_free(s, p, s.pool_first[p])
    while first >= 0:
        a = first
        b = s.fx_to[first]
        first = next_free(s, p, first + 1)
        while a < b:
            while edge <= a:
                r += 1
                edge += size
                left = int(take[r])
            stop = min(edge, b)
            got = min(stop - a, left)
            if got > 0:
                left -= got
                rows = _add_row(s, rows, a, a + got)
                n -= got
                if n == 0:
                    return rows
            a = stop
    return rows


@outlined
def pick_marked(s: State, p: int, mark: Any) -> int:
    """Pick every free node whose mark, by its place among the free ones, is 1 and not 0; return the number of
    extents.
    """
    begun = 0
    ended = 0
    i = 0
    first = next_free(s, p, s.pool_first[p])
    while first >= 0:
        before = 0
        end = s.fx_to[first]
        for node in range(first, end):
            now = int(mark[i])
            s.place_a[begun] = node  # written in vain where no extent begins or ends: marks follow no pattern to bet on
            s.place_b[ended] = node
            begun += now & (before ^ 1)
            ended += before & (now ^ 1)
            before = now
            i += 1
        s.place_b[ended] = end
        ended += before
        first = next_free(s, p, first + 1)
    return begun


@outlined
def pick_between(s: State, p: int, first: int, last: int) -> int:
    """Pick the free nodes number ``first … last - 1`` in the order of their numbers; return the number of extents."""
    rows = 0
    before = 0
    start = next_free(s, p, s.pool_first[p])
    while start >= 0:
        a = start
        b = s.fx_to[start]
        start = next_free(s, p, start + 1)
        low = max(a, a + first - before)
        high = min(b, a + last - before)
        if low < high:
            rows = _add_row(s, rows, low, high)
        before += b - a
    return rows
