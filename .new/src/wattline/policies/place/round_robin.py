"""Round-robin placement: from group to group, a node or a router a visit."""

from __future__ import annotations

from typing import Any

from wattline.kernel.compiled import outlined
from wattline.model.mechanism import Memory, mechanism
from wattline.model.state.record import State
from wattline.policies.place.counting import (
    add_up,
    clear,
    count_free,
    pick_counted,
    routers_of,
    take_in_turn,
    take_lowest,
)


@outlined
def spread(s: State, free: Any, take: Any, group_free: Any, group_take: Any, n: int) -> None:
    """Choose n nodes from the groups in turn, the lowest free one a visit; ``group_free`` is known."""
    a = s.net[1]
    g = s.net[2]
    take_in_turn(group_free, group_take, 0, g, n)
    for i in range(g):
        take_lowest(free, take, i * a, (i + 1) * a, group_take[i])


@mechanism(
    "place",
    "rrn",
    wake=0,
    network=True,
    memory=Memory(per_router=2, per_group=2),
    source="thesis-DR §3.3.4; Jain et al. 2014",
)
def rrn(s: State, j: int, param: Any, memory: Any) -> int:
    """Round-robin nodes: the groups in turn, the lowest free node of each visit."""
    p = s.pool[j]
    routers = routers_of(s)
    g = s.net[2]
    free = memory[:routers]
    take = memory[routers : 2 * routers]
    group_free = memory[2 * routers : 2 * routers + g]
    count_free(s, p, free)
    add_up(s, free, group_free)
    spread(s, free, take, group_free, memory[2 * routers + g : 2 * routers + 2 * g], s.nodes[j])
    return pick_counted(s, p, take, s.nodes[j])


@outlined
def _take_routers_in_turn(free: Any, take: Any, after: Any, a: int, n: float) -> None:
    """Take all free nodes of the next router that has any, from one group after another; ``after`` is where each
    stands.
    """
    clear(take)
    clear(after)
    groups = after.shape[0]
    i = 0
    while n > 0:
        at = int(after[i])
        while at < a and free[i * a + at] == 0.0:
            at += 1
        if at < a:
            r = i * a + at
            take[r] = min(free[r], n)
            n -= take[r]
            at += 1
        after[i] = at
        i = i + 1 if i + 1 < groups else 0


@mechanism(
    "place",
    "rrr",
    wake=0,
    network=True,
    memory=Memory(per_router=2, per_group=1),
    source="thesis-DR §3.3.4; Jain et al. 2014",
)
def rrr(s: State, j: int, param: Any, memory: Any) -> int:
    """Round-robin routers: the groups in turn, all free nodes of the first router that has any."""
    p = s.pool[j]
    routers = routers_of(s)
    free = memory[:routers]
    take = memory[routers : 2 * routers]
    count_free(s, p, free)
    _take_routers_in_turn(free, take, memory[2 * routers : 2 * routers + s.net[2]], s.net[1], float(s.nodes[j]))
    return pick_counted(s, p, take, s.nodes[j])
