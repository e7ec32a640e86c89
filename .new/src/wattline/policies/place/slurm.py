"""As Slurm places jobs on a dragonfly: one router if it holds the job, otherwise the routers with the fewest free
nodes.
"""

from __future__ import annotations

from typing import Any

from wattline.kernel.compiled import outlined
from wattline.model.mechanism import Memory, mechanism
from wattline.model.state.record import State
from wattline.policies.place.counting import clear, count_free, pick_counted, routers_of
from wattline.policies.place.sharing import tightest


@outlined
def _first_that_holds(free: Any, n: int) -> int:
    for r in range(free.shape[0]):
        if free[r] >= n:
            return r
    return -1


@outlined
def take_by_free(free: Any, take: Any, most: int, n: float, step: int) -> None:
    """Take all free nodes of router after router, from the fewest (step 1) or the most (step -1) free ones on."""
    clear(take)
    count = 1 if step > 0 else most
    while n > 0:
        for r in range(free.shape[0]):
            if free[r] == count and n > 0:
                take[r] = min(free[r], n)
                n -= take[r]
        count += step


@outlined
def _on_one_or_several(s: State, j: int, free: Any, take: Any, r: int) -> int:
    """Place a job on router r, or (-1) on those with the fewest free nodes, one after another."""
    if r >= 0:
        clear(take)
        take[r] = s.nodes[j]
    else:
        take_by_free(free, take, s.net[0], float(s.nodes[j]), 1)
    return pick_counted(s, s.pool[j], take, s.nodes[j])


@mechanism("place", "slurm", wake=0, network=True, memory=Memory(per_router=2), source="thesis-DR §3.3.4")
def slurm(s: State, j: int, param: Any, memory: Any) -> int:
    """The first router that holds the whole job; else the routers with the fewest free nodes, one after another."""
    routers = routers_of(s)
    free = memory[:routers]
    count_free(s, s.pool[j], free)
    return _on_one_or_several(s, j, free, memory[routers : 2 * routers], _first_that_holds(free, s.nodes[j]))


@mechanism(
    "place", "slurm-best-fit", wake=0, network=True, memory=Memory(per_router=2), source="SST's code for thesis-DR"
)
def slurm_best_fit(s: State, j: int, param: Any, memory: Any) -> int:
    """The router with the fewest free nodes that holds the whole job; else those with the fewest, one after another."""
    routers = routers_of(s)
    free = memory[:routers]
    count_free(s, s.pool[j], free)
    return _on_one_or_several(s, j, free, memory[routers : 2 * routers], tightest(free, s.nodes[j]))


@mechanism("place", "fewer-router", wake=0, network=True, memory=Memory(per_router=2), source="thesis-DR §3.8.1")
def fewer_router(s: State, j: int, param: Any, memory: Any) -> int:
    """The routers with the most free nodes, one after another: as few routers as can be."""
    p = s.pool[j]
    routers = routers_of(s)
    free = memory[:routers]
    take = memory[routers : 2 * routers]
    count_free(s, p, free)
    take_by_free(free, take, s.net[0], float(s.nodes[j]), -1)
    return pick_counted(s, p, take, s.nodes[j])
