"""Node occupancy by extents: ranges of free nodes per class, ranges held per job.

Free extents of a class stand highest first, so that taking the lowest nodes touches the end of the list. With sleep
states an extent also knows since when it is free and whether it sleeps; unlike neighbours are then not merged.
"""

from __future__ import annotations

import numpy as np

from wattline.model.compiled import kernel, outlined
from wattline.model.state import OPT_SLEEP, State

MANY = 8
"""Extents beyond which a job's are taken and given in one walk over the free ones, not one by one."""


@kernel
def _find(s: State, p: int, node: int) -> int:
    """Return the index of the first free extent of class p (highest first) that starts at or below a node."""
    base = s.pool_first[p]
    low = 0
    high = s.fx_count[p]
    while low < high:
        middle = (low + high) >> 1
        if s.fx_a[base + middle] > node:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _delete(s: State, p: int, i: int) -> None:
    base = s.pool_first[p]
    last = s.fx_count[p] - 1
    for x in range(base + i, base + last):
        s.fx_a[x] = s.fx_a[x + 1]
        s.fx_b[x] = s.fx_b[x + 1]
    if s.option[OPT_SLEEP] == 1:
        for x in range(base + i, base + last):
            s.fx_since_s[x] = s.fx_since_s[x + 1]
            s.fx_asleep[x] = s.fx_asleep[x + 1]
    s.fx_count[p] = last


@kernel
def _insert(s: State, p: int, i: int, a: int, b: int, since_s: float, asleep: int) -> None:
    base = s.pool_first[p]
    n = s.fx_count[p]
    for x in range(base + n, base + i, -1):
        s.fx_a[x] = s.fx_a[x - 1]
        s.fx_b[x] = s.fx_b[x - 1]
    s.fx_a[base + i] = a
    s.fx_b[base + i] = b
    s.fx_count[p] = n + 1
    if s.option[OPT_SLEEP] == 1:
        for x in range(base + n, base + i, -1):
            s.fx_since_s[x] = s.fx_since_s[x - 1]
            s.fx_asleep[x] = s.fx_asleep[x - 1]
        s.fx_since_s[base + i] = since_s
        s.fx_asleep[base + i] = asleep


@outlined
def is_free(s: State, p: int, a: int, b: int) -> bool:
    """Tell whether nodes a … b-1 are all free nodes of class p."""
    if b <= a:
        return False
    base = s.pool_first[p]
    at = a
    i = _find(s, p, at)
    while i < s.fx_count[p] and s.fx_a[base + i] <= at < s.fx_b[base + i]:
        if s.fx_b[base + i] >= b:
            return True
        at = s.fx_b[base + i]  # with sleep states, neighbours may be separate extents
        i -= 1
        if i < 0:
            return False
    return False


@kernel
def take(s: State, p: int, a: int, b: int) -> int:
    """Remove nodes a … b-1 from the free extents; return how many of them slept, or -1 if they are not all free."""
    last = s.pool_first[p] + s.fx_count[p] - 1
    if s.option[OPT_SLEEP] == 0 and s.fx_count[p] > 0 and s.fx_a[last] == a and a < b <= s.fx_b[last]:
        if s.fx_b[last] == b:  # the lowest extent, the usual case
            s.fx_count[p] -= 1
        else:
            s.fx_a[last] = b
        s.free[p] -= b - a
        return 0
    if not is_free(s, p, a, b):
        return -1
    return carve(s, p, a, b)


@outlined
def carve(s: State, p: int, a: int, b: int) -> int:
    """Remove nodes a … b-1, which must be free, from the free extents; return how many of them slept."""
    base = s.pool_first[p]
    slept = 0
    at = a
    while at < b:
        i = _find(s, p, at)
        x = base + i
        fa = s.fx_a[x]
        fb = s.fx_b[x]
        stop = min(b, fb)
        since_s = s.fx_since_s[x]
        asleep = s.fx_asleep[x]
        if asleep == 1:
            slept += stop - at
        if fa == at:
            if fb == stop:
                _delete(s, p, i)
            else:
                s.fx_a[x] = stop
        else:
            s.fx_b[x] = at
            if fb != stop:
                _insert(s, p, i, stop, fb, since_s, asleep)
        at = stop
    s.free[p] -= b - a
    s.asleep[p] -= slept
    return slept


@kernel
def give(s: State, p: int, a: int, b: int) -> None:
    """Add nodes a … b-1, which must not be free, to the free extents, merged with equal neighbours."""
    base = s.pool_first[p]
    now = s.now[0]
    i = _find(s, p, a)
    s.free[p] += b - a
    below = i < s.fx_count[p] and s.fx_b[base + i] == a
    above = i > 0 and s.fx_a[base + i - 1] == b
    if s.option[OPT_SLEEP] == 1:
        below = below and s.fx_asleep[base + i] == 0 and s.fx_since_s[base + i] == now
        above = above and s.fx_asleep[base + i - 1] == 0 and s.fx_since_s[base + i - 1] == now
        s.next_sleep_s[0] = min(s.next_sleep_s[0], now + s.sleep_after_s[p] + s.sleep_entry_s[p])
    if below and above:
        s.fx_a[base + i - 1] = s.fx_a[base + i]
        _delete(s, p, i)
    elif below:
        s.fx_b[base + i] = b
    elif above:
        s.fx_a[base + i - 1] = a
    else:
        _insert(s, p, i, a, b, now, 0)


@outlined
def take_scattered(s: State, p: int, rows: int) -> int:
    """Remove a placement's extents from the free ones in one walk; return -1, with nothing changed, where that cannot be.

    Nodes that do not sleep, extents in rising order. What stays free is written behind the placement first: together they
    are disjoint, so that there is room for both.
    """
    base = s.pool_first[p]
    room = s.place_a.shape[0]
    out = rows
    i = 0
    taken = 0
    for x in range(base + s.fx_count[p] - 1, base - 1, -1):
        a = s.fx_a[x]
        b = s.fx_b[x]
        while i < rows and s.place_a[i] < b:
            first = s.place_a[i]
            last = s.place_b[i]
            if first < a or last > b or last <= first or out >= room:
                return -1
            if first > a:
                s.place_a[out] = a
                s.place_b[out] = first
                out += 1
            taken += last - first
            a = last
            i += 1
        if a < b:
            if out >= room:
                return -1
            s.place_a[out] = a
            s.place_b[out] = b
            out += 1
    if i < rows:
        return -1
    s.free[p] -= taken
    s.fx_count[p] = out - rows
    for x in range(out - rows):
        s.fx_a[base + x] = s.place_a[out - 1 - x]
        s.fx_b[base + x] = s.place_b[out - 1 - x]
    return 0


@kernel
def is_scattered(s: State, j: int) -> bool:
    """Tell whether a job holds many extents, the highest first, which can be given back in one walk."""
    if s.nodes[j] <= MANY or s.option[OPT_SLEEP] == 1 or s.n_off[0] > 0:
        return False
    count = 0
    x = s.held[j]
    while x >= 0:
        following = s.hx_next[x]
        if following >= 0 and s.hx_b[following] > s.hx_a[x]:
            return False
        count += 1
        x = following
    return count > MANY


@outlined
def give_scattered(s: State, p: int, j: int) -> None:
    """Add all extents that a job holds to the free ones, merged with their neighbours, in one walk."""
    base = s.pool_first[p]
    end = base + s.fx_count[p]
    f = base
    x = s.held[j]
    out = 0
    given = 0
    while f < end or x >= 0:
        if x >= 0 and (f == end or s.hx_a[x] > s.fx_a[f]):
            a = s.hx_a[x]
            b = s.hx_b[x]
            given += b - a
            x = s.hx_next[x]
        else:
            a = s.fx_a[f]
            b = s.fx_b[f]
            f += 1
        if out > 0 and s.place_a[out - 1] == b:
            s.place_a[out - 1] = a
        else:
            s.place_a[out] = a
            s.place_b[out] = b
            out += 1
    s.free[p] += given
    s.fx_count[p] = out
    for i in range(out):
        s.fx_a[base + i] = s.place_a[i]
        s.fx_b[base + i] = s.place_b[i]


@kernel
def hold(s: State, j: int, a: int, b: int) -> None:
    """Record that job j holds nodes a … b-1."""
    x = s.hx_unused[0]
    s.hx_unused[0] = s.hx_next[x]
    s.hx_a[x] = a
    s.hx_b[x] = b
    s.hx_next[x] = s.held[j]
    s.held[j] = x


@kernel
def count_back(s: State, j: int) -> int:
    """Return how many nodes could be given to others if a job left: those it holds that do not drain."""
    return s.nodes[j] if s.n_off[0] == 0 else _count_in_service(s, j)


@outlined
def _count_in_service(s: State, j: int) -> int:
    count = 0
    x = s.held[j]
    while x >= 0:
        for node in range(s.hx_a[x], s.hx_b[x]):
            if s.node_state[node] == 0:
                count += 1
        x = s.hx_next[x]
    return count


@outlined
def fall_asleep(s: State) -> int:
    """Put to sleep the free extents whose time has come; return how many nodes, and set the next time to look."""
    slept = 0
    following = np.inf
    for p in range(s.pool_first.shape[0]):
        delay = s.sleep_after_s[p] + s.sleep_entry_s[p]
        for x in range(s.pool_first[p], s.pool_first[p] + s.fx_count[p]):
            if s.fx_asleep[x] == 0:
                if s.fx_since_s[x] + delay <= s.now[0]:
                    s.fx_asleep[x] = 1
                    s.asleep[p] += s.fx_b[x] - s.fx_a[x]
                    slept += s.fx_b[x] - s.fx_a[x]
                else:
                    following = min(following, s.fx_since_s[x] + delay)
    s.next_sleep_s[0] = following
    return slept
