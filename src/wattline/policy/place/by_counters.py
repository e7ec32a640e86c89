"""Placement by what the network's counters show: traffic or stalls of routers (NeDD and what it was held against)."""

from __future__ import annotations

from typing import Any

from wattline.model.compiled import kernel, outlined
from wattline.model.mechanism import Memory, mechanism
from wattline.model.state import State
from wattline.physics import traffic
from wattline.policy.place.counting import clear, count_free, pick_counted, routers_of

ROOM = Memory(per_router=4)
"""Free nodes, nodes to take, keys and an order of the routers."""


@kernel
def _earlier(key: Any, x: int, y: int) -> bool:
    return key[x] < key[y] or (key[x] == key[y] and x < y)


@kernel
def _middle(key: Any, x: int, y: int, z: int) -> int:
    """Return the router that comes second of three."""
    if _earlier(key, x, y):
        if _earlier(key, y, z):
            return y
        return z if _earlier(key, x, z) else x
    if _earlier(key, x, z):
        return x
    return z if _earlier(key, y, z) else y


@kernel
def _part(key: Any, order: Any, low: int, high: int) -> int:
    """Part ``order[low:high]`` by a router in its middle; return where that one ends up, with all earlier ones before it."""
    pivot = _middle(key, int(order[low]), int(order[(low + high) // 2]), int(order[high - 1]))
    at = low
    where = low
    for i in range(low, high):
        r = int(order[i])
        if r == pivot or _earlier(key, r, pivot):
            order[i] = order[at]
            order[at] = r
            if r == pivot:
                where = at
            at += 1
    order[where] = order[at - 1]
    order[at - 1] = pivot
    return at - 1


@outlined
def take_by_key(free: Any, take: Any, key: Any, order: Any, n: float) -> None:
    """Take all free nodes of router after router, smallest key first (then lowest number), until n are taken.

    Routers are not sorted: a part of them that is taken as a whole is never looked at again, so that the time grows with
    their number only.
    """
    clear(take)
    high = 0
    for r in range(free.shape[0]):
        if free[r] > 0.0:
            order[high] = r
            high += 1
    low = 0
    while n > 0:
        middle = _part(key, order, low, high)
        held = 0.0
        for i in range(low, middle):
            held += free[int(order[i])]
        if held >= n:
            high = middle
            continue
        for i in range(low, middle + 1):
            r = int(order[i])
            take[r] = min(free[r], n)
            n -= take[r]
        low = middle + 1


@kernel
def _place_by(s: State, j: int, memory: Any, sign: float, stalls: int) -> int:
    """Place a job on the routers with the least traffic or stalls (sign 1) or the most (-1)."""
    p = s.pool[j]
    routers = routers_of(s)
    free = memory[:routers]
    take = memory[routers : 2 * routers]
    key = memory[2 * routers : 3 * routers]
    count_free(s, p, free)
    for r in range(routers):
        key[r] = sign * (s.r_stalls[r] if stalls == 1 else traffic.mean_rate(s, r))
    take_by_key(free, take, key, memory[3 * routers : 4 * routers], float(s.nodes[j]))
    return pick_counted(s, p, take)


@mechanism("place", "nedd", wake=0, network=True, traffic=True, memory=ROOM, source="thesis-DR §3.7")
def nedd(s: State, j: int, param: Any, memory: Any) -> int:
    """Network-data-driven: sensitive jobs on the routers with the least traffic, the others on those with the most."""
    return _place_by(s, j, memory, 1.0 if s.sensitive[j] == 1 else -1.0, 0)


@mechanism("place", "low-traffic", wake=0, network=True, traffic=True, memory=ROOM, source="thesis-DR §3.8.1")
def low_traffic(s: State, j: int, param: Any, memory: Any) -> int:
    """The routers with the least traffic, one after another."""
    return _place_by(s, j, memory, 1.0, 0)


@mechanism("place", "high-traffic", wake=0, network=True, traffic=True, memory=ROOM, source="thesis-DR §3.8.1")
def high_traffic(s: State, j: int, param: Any, memory: Any) -> int:
    """The routers with the most traffic, one after another."""
    return _place_by(s, j, memory, -1.0, 0)


@mechanism("place", "low-stall", wake=0, network=True, stalls=True, memory=ROOM, source="thesis-DR §3.8.1")
def low_stall(s: State, j: int, param: Any, memory: Any) -> int:
    """The routers whose ports stall the least, one after another."""
    return _place_by(s, j, memory, 1.0, 1)
