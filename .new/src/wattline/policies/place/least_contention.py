"""Placement by the contention model: of many ways to spread a job, the one that costs all jobs least."""

from __future__ import annotations

from typing import Any, NamedTuple

from wattline.kernel.compiled import kernel, outlined
from wattline.model.mechanism import Memory, Param, mechanism
from wattline.model.state.record import State
from wattline.model.state.switches import N_STARTS
from wattline.physics.random import PLACES, below, words
from wattline.policies.place.counting import add_up, clear, count_free, pick_counted, routers_of
from wattline.policies.place.sharing import balance, deal, pack, tightest
from wattline.policies.place.slurm import take_by_free
from wattline.policies.place.weighing import cost_on_links, sends

INTACT, ROOM, AHEAD, TRIES, SEED = range(5)
"""Parameters."""
FREEST, CALMEST, TIGHTEST, RANDOM, ORDERS = range(5)
"""Orders in which groups join until they hold a job, and then one by one while there are any."""
SMALL, SMALL_NODES, MIDDLE, MIDDLE_NODES, SMALL_FIT, MIDDLE_FIT = range(6)
"""Of those who wait: jobs that fit a router, their mean size, those that fit a group only, theirs; how many of each
find room.
"""
COST, CHOSEN, GROUPS, PACKED = range(4)
"""The best choice up to now: what it costs, the group or the order of groups, how many of them, whether on few
routers.
"""


FINE = 50_000
"""Links up to which a job that no group holds is tried on nearly every number of groups, in every order; beyond, on
twice as many each time, in two.
"""
STEPS = 2_000_000
"""Links that may be looked at in trying nodes elsewhere: bounds the time on large networks to a few ms."""


class Desk(NamedTuple):
    """Room to think in, a slice of the policy's memory each."""

    wait: Any
    best: Any
    free: Any
    take: Any
    beyond: Any
    sources: Any
    targets: Any
    group_free: Any
    inside: Any
    picked: Any
    load: Any
    key: Any


@kernel
def _desk(s: State, memory: Any) -> Desk:
    r = routers_of(s)
    g = s.net[2]
    m = memory[10:]
    f = m[5 * r :]
    return Desk(
        memory[:6],
        memory[6:10],
        m[:r],
        m[r : 2 * r],
        m[2 * r : 3 * r],
        m[3 * r : 4 * r],
        m[4 * r : 5 * r],
        f[:g],
        f[g : 2 * g],
        f[2 * g : 3 * g],
        f[3 * g : 4 * g],
        f[4 * g : 5 * g],
    )


@outlined
def _look_ahead(s: State, j: int, ahead: float, d: Desk) -> None:
    """Count the first jobs that wait for nodes, by whether a router or only a group can hold them, and how many
    still find that.
    """
    for x in range(6):
        d.wait[x] = 0.0
    i = s.q_head[0]
    while i < s.q_tail[0] and ahead > 0.0:
        q = s.queue[i]
        i += 1
        if q < 0 or q == j or s.pool[q] != s.pool[j]:
            continue
        ahead -= 1.0
        if s.nodes[q] <= s.net[0] * s.net[1]:
            at = SMALL if s.nodes[q] <= s.net[0] else MIDDLE
            d.wait[at] += 1.0
            d.wait[at + 1] += s.nodes[q]
    if d.wait[SMALL] > 0.0:
        d.wait[SMALL_NODES] = -(-d.wait[SMALL_NODES] // d.wait[SMALL])
        for r in range(d.free.shape[0]):
            d.wait[SMALL_FIT] += d.free[r] // d.wait[SMALL_NODES]
    if d.wait[MIDDLE] > 0.0:
        d.wait[MIDDLE_NODES] = -(-d.wait[MIDDLE_NODES] // d.wait[MIDDLE])
        for i in range(d.group_free.shape[0]):
            d.wait[MIDDLE_FIT] += d.group_free[i] // d.wait[MIDDLE_NODES]


@outlined
def _cost_later(s: State, param: Any, d: Desk, k: int) -> float:
    """Return what a choice costs those who come after: routers no longer whole, waiting jobs that no longer fit one
    or a group.
    """
    a = s.net[1]
    broken = 0.0
    small = d.wait[SMALL_FIT]
    middle = d.wait[MIDDLE_FIT]
    for m in range(k):
        i = int(d.picked[m])
        if d.inside[i] == 0.0:
            continue
        for r in range(i * a, (i + 1) * a):
            taken = d.take[r]
            broken += taken * (2.0 * d.free[r] - taken)  # by how much the square of what is free falls
            if d.wait[SMALL] > 0.0:
                small -= d.free[r] // d.wait[SMALL_NODES] - (d.free[r] - taken) // d.wait[SMALL_NODES]
        if d.wait[MIDDLE] > 0.0:
            left = d.group_free[i] - d.inside[i]
            middle -= d.group_free[i] // d.wait[MIDDLE_NODES] - left // d.wait[MIDDLE_NODES]
    short = max(0.0, d.wait[SMALL] - small) * d.wait[SMALL_NODES]
    short += max(0.0, d.wait[MIDDLE] - middle) * d.wait[MIDDLE_NODES]
    return param[INTACT] * broken / s.net[0] + param[ROOM] * short


@kernel
def _fill(s: State, d: Desk, k: int, packed: int) -> None:
    """Choose nodes in each of the k groups picked, on few routers or on all alike."""
    a = s.net[1]
    for m in range(k):
        i = int(d.picked[m])
        if packed == 1:
            pack(d.free, d.take, i * a, (i + 1) * a, d.inside[i])
        else:
            balance(d.free, d.take, i * a, (i + 1) * a, d.inside[i])


@outlined
def _try(s: State, j: int, param: Any, d: Desk, chosen: int, k: int) -> None:
    """Weigh both ways to choose nodes in the k groups picked; remember the better one if nothing was better before."""
    for packed in range(2):
        _fill(s, d, k, packed)
        cost = cost_on_links(s, j, d.take, d.picked, d.inside, d.beyond, k) + _cost_later(s, param, d, k)
        if d.best[GROUPS] == 0.0 or cost < d.best[COST]:
            d.best[COST] = cost
            d.best[CHOSEN] = chosen
            d.best[GROUPS] = k
            d.best[PACKED] = packed


@kernel
def _measure_loads(s: State, d: Desk) -> None:
    """Write how much the links that leave a group's routers carry: below 1, and growing with it."""
    a = s.net[1]
    for i in range(d.load.shape[0]):
        carried = 0.0
        for r in range(i * a, (i + 1) * a):
            for x in range(s.n_load.shape[1]):
                carried += s.n_load[r, x]
        d.load[i] = carried / (carried + s.n_room[0])


@outlined
def _grow(s: State, d: Desk) -> int:
    """Write the groups that have free nodes such that each has the calmest links, its own and those to the ones
    before it, of all that follow.
    """
    a = s.net[1]
    g = d.group_free.shape[0]
    links = s.n_gate.shape[1] // s.n_gate.shape[0]
    some = 0
    for i in range(g):
        carried = 0.0
        for r in range(i * a, (i + 1) * a):
            for t in range(a):
                carried += s.n_load[r, t]
        d.key[i] = carried / s.n_room[0]
        some += int(d.group_free[i] > 0.0)
    for m in range(some):
        best = -1
        for i in range(g):
            if d.group_free[i] > 0.0 and d.key[i] >= 0.0 and (best < 0 or d.key[i] < d.key[best]):
                best = i
        d.picked[m] = best
        d.key[best] = -1.0
        for i in range(g):
            if d.key[i] >= 0.0:
                both = 0  # ways, over all links between the two groups
                for link in range(links):
                    there = i * links + link
                    back = best * links + link
                    both += s.n_load[best * a + s.n_gate[best, there], s.n_far[best, there]]
                    both += s.n_load[i * a + s.n_gate[i, back], s.n_far[i, back]]
                d.key[i] += both / (s.n_room[1] * links)
    return some


@outlined
def _arrange(s: State, order: int, d: Desk, seed: int) -> int:
    """Write the groups that have free nodes in an order; return their number."""
    if order == CALMEST and s.n_gate.shape[0] > 0:
        return _grow(s, d)
    some = 0
    for i in range(d.group_free.shape[0]):
        if d.group_free[i] == 0.0:
            continue
        key = d.load[i]
        if order == FREEST:
            key -= d.group_free[i]
        elif order == TIGHTEST:
            key += d.group_free[i]
        elif order == RANDOM:
            key = float(words(seed, PLACES, s.counter[N_STARTS], i)[0])
        at = some
        while at > 0 and d.key[at - 1] > key:
            d.key[at] = d.key[at - 1]
            d.picked[at] = d.picked[at - 1]
            at -= 1
        d.key[at] = key
        d.picked[at] = i
        some += 1
    return some


@kernel
def _links(s: State, k: int) -> int:
    """Return how many links are looked at to weigh a choice of k groups."""
    return k * (k + s.net[1] * s.net[1])


@outlined
def _try_groups(s: State, j: int, param: Any, d: Desk, n: float) -> None:
    """Weigh growing numbers of groups in every order, from as few as hold the job to all."""
    _measure_loads(s, d)
    fine = _links(s, s.net[2]) <= FINE
    for order in range(ORDERS):
        if not fine and order in (CALMEST, RANDOM):
            continue
        some = _arrange(s, order, d, int(param[SEED]))
        k = 0
        held = 0.0
        while held < n:
            held += d.group_free[int(d.picked[k])]
            k += 1
        while fine or order == FREEST or k < some:  # all groups are the same ones in any order
            deal(d.group_free, d.picked, d.inside, d.key, k, n)
            _try(s, j, param, d, order, k)
            if k == some:
                break
            k = min(some, k + (max(1, k // 8) if fine else k))
    _arrange(s, int(d.best[CHOSEN]), d, int(param[SEED]))
    deal(d.group_free, d.picked, d.inside, d.key, int(d.best[GROUPS]), n)


@kernel
def _move(d: Desk, a: int, r: int, t: int) -> None:
    """Take a node of router t in place of one of router r."""
    d.take[r] -= 1.0
    d.inside[r // a] -= 1.0
    d.take[t] += 1.0
    d.inside[t // a] += 1.0


@kernel
def _pick_all(d: Desk, a: int) -> int:
    """Pick all groups that have free nodes, and count what is taken of each; return their number."""
    k = 0
    for i in range(d.group_free.shape[0]):
        d.inside[i] = 0.0
        for r in range(i * a, (i + 1) * a):
            d.inside[i] += d.take[r]
        if d.group_free[i] > 0.0:
            d.picked[k] = i
            k += 1
    return k


@outlined
def _improve(s: State, j: int, param: Any, d: Desk) -> None:
    """Move nodes of the choice from router to router, drawn at random, as long as that makes it cheaper."""
    a = s.net[1]
    k = _pick_all(d, a)
    least = d.best[COST]
    sources = 0
    targets = 0
    for number in range(min(int(param[TRIES]) * s.nodes[j], STEPS // _links(s, k))):
        if sources == 0:  # at first, and after every move
            targets = 0
            for r in range(d.free.shape[0]):
                if d.take[r] > 0.0:
                    d.sources[sources] = r
                    sources += 1
                if d.take[r] < d.free[r]:
                    d.targets[targets] = r
                    targets += 1
        if targets == 0:
            return
        four = words(int(param[SEED]), PLACES, s.counter[N_STARTS], d.group_free.shape[0] + number)
        r = int(d.sources[below(four[0], sources)])
        t = int(d.targets[below(four[1], targets)])
        if r == t:
            continue
        _move(d, a, r, t)
        cost = cost_on_links(s, j, d.take, d.picked, d.inside, d.beyond, k) + _cost_later(s, param, d, k)
        if cost < least * (1.0 - 1e-9):
            least = cost
            sources = 0
        else:
            _move(d, a, t, r)


@outlined
def _choose(s: State, j: int, param: Any, d: Desk) -> None:
    """Choose nodes for a job that no router holds: in the best group that does, else in the best groups."""
    n = float(s.nodes[j])
    add_up(s, d.free, d.group_free)
    _look_ahead(s, j, param[AHEAD], d)
    d.best[GROUPS] = 0.0
    for i in range(d.group_free.shape[0]):
        if d.group_free[i] >= n:
            d.picked[0] = i
            d.inside[i] = n
            _try(s, j, param, d, i, 1)
    if d.best[GROUPS] == 0.0:
        _try_groups(s, j, param, d, n)
    else:
        d.picked[0] = d.best[CHOSEN]
    clear(d.take)
    _fill(s, d, int(d.best[GROUPS]), int(d.best[PACKED]))
    _improve(s, j, param, d)


@mechanism(
    "place",
    "least-contention",
    wake=0,
    network=True,
    links=True,
    memory=Memory(fixed=10, per_router=5, per_group=5),
    params={
        "intact": Param(0.2, "worth of a free node beside free nodes of its router, in links", 0.0, 1e6),
        "room": Param(
            2.0,
            "cost of each node of a waiting job that would find no router, or no group, to hold it, in links",
            0.0,
            1e6,
        ),
        "ahead": Param(64.0, "waiting jobs that it leaves room for", 0.0, 1e6, whole=True),
        "tries": Param(
            10.0,
            "times that it tries each node elsewhere, fewer on networks of very many groups and routers",
            0.0,
            1e6,
            whole=True,
        ),
    },
    source="Wattline",
)
def least_contention(s: State, j: int, param: Any, memory: Any) -> int:
    """The tightest router that holds the job; else the group, else the groups, where all jobs wait least for links."""
    p = s.pool[j]
    d = _desk(s, memory)
    count_free(s, p, d.free)
    if not sends(s, j):
        take_by_free(d.free, d.take, s.net[0], float(s.nodes[j]), 1)
        return pick_counted(s, p, d.take, s.nodes[j])
    r = tightest(d.free, s.nodes[j])
    if r >= 0:
        clear(d.take)
        d.take[r] = s.nodes[j]
    else:
        _choose(s, j, param, d)
    return pick_counted(s, p, d.take, s.nodes[j])
