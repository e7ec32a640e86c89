"""Small jobs from one end of the machine, large ones from the other (Jokanovic et al. 2015, carried over to
dragonflies).
"""

from __future__ import annotations

from typing import Any

from wattline.kernel.compiled import outlined
from wattline.model.mechanism import Memory, mechanism
from wattline.model.state.record import State
from wattline.policies.place.counting import add_up, clear, count_free, pick_between, pick_marked, routers_of


@outlined
def _before_first_fit(s: State, p: int, n: int, free: Any, group_free: Any) -> int:
    """Return how many free nodes are lower than the first group that has n of them (-1: no group has)."""
    count_free(s, p, free)
    add_up(s, free, group_free)
    before = 0
    for g in range(group_free.shape[0]):
        if group_free[g] >= n:
            return before
        before += int(group_free[g])
    return -1


@mechanism(
    "place",
    "jokanovic",
    wake=0,
    network=True,
    memory=Memory(per_router=1, per_group=1),
    source="thesis-DR §3.3.4; Jokanovic et al. 2015",
)
def jokanovic(s: State, j: int, param: Any, memory: Any) -> int:
    """Up to a group's size: the first group with room, or the lowest free nodes; larger: the highest free nodes."""
    p = s.pool[j]
    n = s.nodes[j]
    total = s.free[p]
    routers = routers_of(s)
    if n > s.net[0] * s.net[1]:
        return pick_between(s, p, total - n, total)
    first = max(0, _before_first_fit(s, p, n, memory[:routers], memory[routers : routers + s.net[2]]))
    return pick_between(s, p, first, first + n)


@outlined
def _mark_outside(mark: Any, total: int, first: int, n: int) -> None:
    """Mark the n lowest entries outside ``first … first + n - 1``; where they are too few, also the last ones
    inside.
    """
    clear(mark)
    left = n
    for i in range(total):
        if left > 0 and not first <= i < first + n:
            mark[i] = 1.0
            left -= 1
    for i in range(first + n - left, first + n):
        mark[i] = 1.0


@mechanism(
    "place",
    "jokanovic-released",
    wake=0,
    network=True,
    memory=Memory(per_router=1, per_group=1, per_node=1),
    source="SST's code for thesis-DR",
)
def jokanovic_released(s: State, j: int, param: Any, memory: Any) -> int:
    """As jokanovic, but a job that fits a group gets the lowest free nodes outside the room found for it.

    SST's released code goes on after it has found the room and overwrites it, node by node, with the lowest free
    nodes that are not part of it.
    """
    p = s.pool[j]
    n = s.nodes[j]
    total = s.free[p]
    routers = routers_of(s)
    g = s.net[2]
    if n > s.net[0] * s.net[1]:
        return pick_between(s, p, total - n, total)
    first = _before_first_fit(s, p, n, memory[:routers], memory[routers : routers + g])
    if first < 0:
        return pick_between(s, p, 0, n)
    mark = memory[routers + g : routers + g + total]
    _mark_outside(mark, total, first, n)
    return pick_marked(s, p, mark)
