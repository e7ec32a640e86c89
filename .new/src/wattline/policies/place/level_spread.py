"""Level-Spread: a job is spread over the smallest level of the network that holds it."""

from __future__ import annotations

from typing import Any

from wattline.kernel.compiled import kernel
from wattline.model.mechanism import Memory, mechanism
from wattline.model.state.record import State
from wattline.policies.place.counting import add_up, clear, count_free, pick_counted, routers_of, take_in_turn
from wattline.policies.place.round_robin import spread


@kernel
def _most(free: Any) -> int:
    """Return the first entry with the most free nodes."""
    best = 0
    for i in range(free.shape[0]):
        if free[i] > free[best]:
            best = i
    return best


@mechanism(
    "place",
    "level-spread",
    wake=0,
    network=True,
    memory=Memory(per_router=2, per_group=2),
    source="thesis-DR §3.2; Zhang et al. 2018",
)
def level_spread(s: State, j: int, param: Any, memory: Any) -> int:
    """The router with most free nodes if it holds the job; else the group with most, its routers in turn; else as
    rrn.
    """
    p = s.pool[j]
    n = s.nodes[j]
    routers = routers_of(s)
    a = s.net[1]
    g = s.net[2]
    free = memory[:routers]
    take = memory[routers : 2 * routers]
    group_free = memory[2 * routers : 2 * routers + g]
    count_free(s, p, free)
    r = _most(free)
    if free[r] >= n:
        clear(take)
        take[r] = n
        return pick_counted(s, p, take, s.nodes[j])
    add_up(s, free, group_free)
    i = _most(group_free)
    if group_free[i] >= n:
        clear(take)
        take_in_turn(free, take, i * a, (i + 1) * a, n)
    else:
        spread(s, free, take, group_free, memory[2 * routers + g : 2 * routers + 2 * g], n)
    return pick_counted(s, p, take, s.nodes[j])
