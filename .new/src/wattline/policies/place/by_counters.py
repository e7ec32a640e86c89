"""Placement by what the network's counters show: traffic or stalls of routers (NeDD and what it was held against)."""

from __future__ import annotations

from typing import Any

from wattline.kernel.compiled import kernel, outlined
from wattline.model.mechanism import Memory, mechanism
from wattline.model.state.record import State
from wattline.physics import traffic
from wattline.policies.place.counting import count_free, pick_counted, routers_of

ROOM = Memory(per_router=4)
"""Free nodes, nodes to take, keys of the routers, and room to part them."""


@kernel
def _middle(x: float, y: float, z: float) -> float:
    """Return the second of three numbers."""
    return max(min(x, y), min(max(x, y), z))


@kernel
def _part(value: Any, weight: Any, low: int, high: int, pivot: float, equal: int) -> tuple[int, float]:
    """Bring what is below the pivot (or equal to it) to the front of a range; return where it ends and its weight.

    Every entry is moved, needed or not: a processor cannot guess which ones are.
    """
    at = low
    held = 0.0
    for i in range(low, high):
        x = value[i]
        w = weight[i]
        front = int(x < pivot) | (equal & int(x == pivot))
        value[i] = value[at]
        weight[i] = weight[at]
        value[at] = x
        weight[at] = w
        at += front
        held += w * front
    return at, held


@outlined
def take_by_key(free: Any, take: Any, key: Any, room: Any, n: float) -> None:
    """Take all free nodes of router after router, smallest key first (then lowest number), until n are taken.

    Routers are not sorted. The key of the last one is found by parting them, and only the part that holds it again:
    the time grows with their number only.
    """
    high = 0
    for r in range(free.shape[0]):
        room[high] = key[r]
        take[high] = free[r]
        high += int(free[r] > 0.0)
    low = 0
    last = 0.0
    while True:
        last = _middle(room[low], room[(low + high) // 2], room[high - 1])
        at, held = _part(room, take, low, high, last, 0)
        if held >= n:
            high = at
            continue
        n -= held
        low, held = _part(room, take, at, high, last, 1)
        if held >= n:
            break
        n -= held
    for r in range(free.shape[0]):
        got = free[r] if key[r] < last else 0.0
        if key[r] == last:
            got = min(free[r], n)
            n -= got
        take[r] = got


@kernel
def _place_by(s: State, j: int, memory: Any, sign: float, stalls: int) -> int:
    """Place a job on the routers with the least traffic or stalls (sign 1) or the most (-1)."""
    p = s.pool[j]
    routers = routers_of(s)
    free = memory[:routers]
    take = memory[routers : 2 * routers]
    key = memory[2 * routers : 3 * routers]
    count_free(s, p, free)
    if stalls == 1:
        for r in range(routers):
            key[r] = sign * s.r_stalls[r]
    else:
        k = traffic.window(s)
        for r in range(routers):
            key[r] = sign * traffic.past_bytes(s, r, k)
    take_by_key(free, take, key, memory[3 * routers : 4 * routers], float(s.nodes[j]))
    return pick_counted(s, p, take, s.nodes[j])


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
