"""Random placement: any nodes, whole routers, whole groups."""

from __future__ import annotations

from typing import Any

from wattline.kernel.compiled import kernel, outlined
from wattline.model.mechanism import Memory, mechanism
from wattline.model.state.record import State
from wattline.model.state.switches import N_STARTS
from wattline.physics.random import PLACES, below, words
from wattline.policies.place.counting import (
    add_up,
    clear,
    count_free,
    pick_counted,
    pick_marked,
    routers_of,
    take_lowest,
)


@outlined
def mark_some(mark: Any, total: int, n: int, seed: int, start: int) -> None:
    """Mark n of the first ``total`` entries at random, all choices equally likely.

    Floyd's way: entry i, or an earlier one in its place, joins for each of the last n entries in turn.
    """
    clear(mark)
    few = min(n, total - n)  # those left out are drawn where they are fewer
    i = total - few
    number = 0
    while i < total:
        four = words(seed, PLACES, start, number)
        for word in four:
            if i < total:
                x = below(word, i + 1)
                mark[i if mark[x] != 0.0 else x] = 1.0
                i += 1
        number += 1
    if few < n:
        for x in range(total):
            mark[x] = 1.0 - mark[x]


@outlined
def take_at_random(free: Any, take: Any, bag: Any, n: float, seed: int, start: int) -> None:
    """Take all that is free from one entry after another, drawn at random, until n nodes are taken."""
    clear(take)
    some = 0
    for i in range(free.shape[0]):
        if free[i] > 0.0:
            bag[some] = i
            some += 1
    drawn = 0
    number = 0
    while n > 0:
        four = words(seed, PLACES, start, number)
        for word in four:
            if n > 0:
                x = drawn + below(word, some - drawn)
                i = int(bag[x])
                bag[x] = bag[drawn]
                take[i] = min(free[i], n)
                n -= take[i]
                drawn += 1
        number += 1


@kernel
def _seed(param: Any) -> int:
    return int(param[param.shape[0] - 1])


@mechanism("place", "rdn", wake=0, memory=Memory(per_node=1), source="thesis-DR §3.3.4; Jain et al. 2014")
def rdn(s: State, j: int, param: Any, memory: Any) -> int:
    """Random nodes: any free ones, all choices equally likely."""
    p = s.pool[j]
    mark_some(memory, s.free[p], s.nodes[j], _seed(param), s.counter[N_STARTS])
    return pick_marked(s, p, memory)


@mechanism(
    "place", "rdr", wake=0, network=True, memory=Memory(per_router=3), source="thesis-DR §3.3.4; Jain et al. 2014"
)
def rdr(s: State, j: int, param: Any, memory: Any) -> int:
    """Random routers: all free nodes of one router after another, drawn at random."""
    p = s.pool[j]
    routers = routers_of(s)
    free = memory[:routers]
    take = memory[routers : 2 * routers]
    count_free(s, p, free)
    take_at_random(free, take, memory[2 * routers : 3 * routers], float(s.nodes[j]), _seed(param), s.counter[N_STARTS])
    return pick_counted(s, p, take, s.nodes[j])


@mechanism(
    "place",
    "rdg",
    wake=0,
    network=True,
    memory=Memory(per_router=2, per_group=3),
    source="thesis-DR §3.3.4; Jain et al. 2014",
)
def rdg(s: State, j: int, param: Any, memory: Any) -> int:
    """Random groups: all free nodes of one group after another, drawn at random."""
    p = s.pool[j]
    routers = routers_of(s)
    a = s.net[1]
    g = s.net[2]
    free = memory[:routers]
    take = memory[routers : 2 * routers]
    group_free = memory[2 * routers : 2 * routers + g]
    group_take = memory[2 * routers + g : 2 * routers + 2 * g]
    bag = memory[2 * routers + 2 * g : 2 * routers + 3 * g]
    count_free(s, p, free)
    add_up(s, free, group_free)
    take_at_random(group_free, group_take, bag, float(s.nodes[j]), _seed(param), s.counter[N_STARTS])
    for i in range(g):
        take_lowest(free, take, i * a, (i + 1) * a, group_take[i])
    return pick_counted(s, p, take, s.nodes[j])
