"""Place one job outside of any run: the place policies of the scheduler as a plain function, for studies and
drawings.
"""

from __future__ import annotations

import functools
import importlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wattline.arrays import Ints
from wattline.errors import InputError, did_you_mean
from wattline.model.communication import MOST_BYTES_PER_S
from wattline.model.mechanism import Mechanism, compile_builtin
from wattline.model.networks.base import Network
from wattline.model.state.layout import allocate as make_state
from wattline.model.state.record import State
from wattline.model.state.sizes import Sizes
from wattline.model.state.switches import N_STARTS
from wattline.model.structures.nodes import lay_out_free
from wattline.physics.link_loads import capacities, lay_out_links, link_shares, link_sizes
from wattline.policies import BUILTIN

ALIASES = {
    "simple": "lowest",
    "random": "rdn",
    "low-traffic-router": "low-traffic",
    "high-traffic-router": "high-traffic",
}
"""Other names that the literature has for some of the policies."""

SEEDS = 2**53
"""Seeds reach policies as floats: beyond this number neighbours would be the same."""

_mine = threading.local()
"""Rooms to place in, a thread's own: policies write into them."""


@dataclass(frozen=True)
class OnLinks:
    """What policies are told that go by the loads of links."""

    loads: npt.NDArray[np.float64]
    """Bytes per second on every link, in the order of ``physics.link_loads.capacities``."""
    bytes_per_s: float
    """What each node of the job sends."""
    share: float = 1.0
    """Part of its time in which the job sends all that."""
    waiting: Sequence[int] = ()
    """Nodes of the jobs that are placed next."""


def allocate(
    name: str,
    network: Network,
    free: npt.ArrayLike,
    n: int,
    seed: int = 0,
    traffic: Sequence[float] | None = None,
    stalls: Sequence[float] | None = None,
    *,
    job: int = 0,
    sensitive: bool = True,
    links: OnLinks | None = None,
) -> Ints:
    """Return the nodes that a place policy picks for a job of n nodes, in rising order.

    ``free`` says of every node whether it is free (booleans), or lists the free ones (numbers). ``traffic`` (bytes
    per second) and ``stalls`` are per router, for policies that go by them, as is what is known of ``links``.
    Policies that draw at random take the same nodes for the same ``seed`` and ``job``, whatever was placed before;
    jobs that are placed one after another are numbered by ``job``.

    >>> from wattline.model.networks.dragonfly import Dragonfly
    >>> allocate("rrn", Dragonfly(2, 1, 3, "relative"), [True, False, True, True, True, True], 4).tolist()
    [0, 2, 3, 4]
    """
    policy = place_policies().get(ALIASES.get(name, name))
    if policy is None:
        raise InputError(f"unknown place policy {name!r}{did_you_mean(name, [*place_policies(), *ALIASES])}")
    if not 0 <= seed < SEEDS:
        raise InputError(f"a seed is a whole number from 0 to {SEEDS - 1} (2^53 - 1), got {seed}")
    room = room_for(policy, network)
    extents = free_extents(free, network.nodes)
    there = int((extents[:, 1] - extents[:, 0]).sum())
    if not 1 <= n <= there:
        raise InputError(f"cannot place a job of {n} nodes: {there} of {network.nodes} nodes are free")
    room.fill(extents, n, job, sensitive=sensitive)
    room.tell("traffic", policy.traffic, room.state.r_past, traffic)
    room.tell("stalls", policy.stalls, room.state.r_stalls, stalls)
    if policy.links:
        room.tell_links(network, links)
    return room.place(seed)


ALIKE = 0.6
"""Part of its link that a node fills where nobody says what it sends."""


def allocate_all(
    name: str,
    network: Network,
    sizes: Sequence[int],
    seed: int = 0,
    *,
    bytes_per_s: Sequence[float] | None = None,
    ahead: bool = True,
) -> list[Ints]:
    """Place jobs one after another on an empty machine; return the nodes of each.

    Policies that go by the loads of links are told what each node of a job sends (all the same, unless given), and
    with ``ahead`` which jobs come next.

    >>> from wattline.model.networks.dragonfly import Dragonfly
    >>> [nodes.tolist() for nodes in allocate_all("least-contention", Dragonfly(2, 2, 3), [2, 4])]
    [[0, 1], [4, 5, 6, 7]]
    """
    free = np.ones(network.nodes, dtype=np.bool_)
    loads, links = np.zeros(capacities(network).shape), None
    policy = place_policies().get(ALIASES.get(name, name))
    placed: list[Ints] = []
    for i, n in enumerate(sizes):
        if policy is not None and policy.links:
            sent = ALIKE * getattr(network, "host_bps", 0.0) / 8 if bytes_per_s is None else bytes_per_s[i]
            links = OnLinks(loads, sent, waiting=sizes[i + 1 :] if ahead else ())
        nodes = allocate(name, network, free, n, seed, job=i, links=links)
        if links is not None:
            loads = loads + link_shares(network, nodes).minimal * (n * links.bytes_per_s)
        free[nodes] = False
        placed.append(nodes)
    return placed


@functools.cache
def place_policies() -> dict[str, Mechanism]:
    """Return the built-in place policies by name."""
    modules = (importlib.import_module(module) for module in BUILTIN["place"].values())
    found = (value for module in modules for value in vars(module).values() if isinstance(value, Mechanism))
    named = {m.name: m for m in found if m.slot == "place"}
    return {name: named[name] for name in BUILTIN["place"]}


class Room:
    """A state of one job and the nodes of a network, in which one place policy is asked again and again."""

    def __init__(self, policy: Mechanism, network: Network) -> None:
        self.policy, self.function = policy, compile_builtin(policy.function)
        self.state = s = _empty_state(network, links=policy.links)
        floats = policy.memory.size(
            jobs=1,
            running=2,
            users=1,
            kinds=1,
            classes=1,
            nodes=network.nodes,
            routers=network.routers,
            groups=network.groups,
        )
        self.memory, self.values = np.zeros(floats), policy.values({})
        s.net[:] = (network.nodes_per_router, network.routers_per_group, network.groups)
        s.pool_count[0], s.traffic_s[0] = network.nodes, 1.0

    def fill(self, extents: Ints, n: int, job: int, *, sensitive: bool) -> None:
        """Lay out the free extents (lowest first) and the job."""
        s = self.state
        lay_out_free(s, 0, extents)
        s.nodes[0], s.sensitive[0], s.counter[N_STARTS] = n, int(sensitive), job

    def tell(self, what: str, wanted: bool, where: npt.NDArray[np.float64], given: Sequence[float] | None) -> None:
        """Write what counters show per router."""
        if not wanted:
            return
        if given is None:
            raise InputError(f"place policy {self.policy.called!r} goes by the {what} of routers: give it")
        values = np.asarray(given, dtype=np.float64)
        if values.shape != where.shape or not np.isfinite(values).all():
            raise InputError(f"{what}: expected a finite number for each of {where.size} routers, got {values.size}")
        where[:] = values

    def tell_links(self, network: Network, links: OnLinks | None) -> None:
        """Write what the job and others send over links, and who waits."""
        s = self.state
        if not s.n_load.size:
            raise InputError(
                f"place policy {self.policy.called!r} goes by the loads of links, and a {network.kind} network has none"
            )
        if links is None:
            raise InputError(f"place policy {self.policy.called!r} goes by the loads of links: give them")
        loads = np.asarray(links.loads, dtype=np.float64)
        if loads.shape != s.n_load.shape or not (np.isfinite(loads).all() and (loads >= 0).all()):
            raise InputError(f"loads: expected a finite number for each of {s.n_load.shape} links, got {loads.shape}")
        if not (0 <= links.bytes_per_s < MOST_BYTES_PER_S and 0 < links.share <= 1):
            raise InputError(
                "a job sends 0 bytes per second or more in a share of its time above 0, 1 at most, got "
                f"{links.bytes_per_s:g} in {links.share:g}"
            )
        s.n_load[:] = loads.round()
        s.traffic[0], s.comm[0] = round(links.bytes_per_s), links.share
        wait = list(links.waiting)[: s.nodes.size - 1]
        s.nodes[1 : 1 + len(wait)] = wait
        s.queue[: len(wait)] = range(1, 1 + len(wait))
        s.q_tail[0] = len(wait)

    def place(self, seed: int) -> Ints:
        """Ask the policy and return its nodes."""
        s = self.state
        rows = self.function(s, 0, np.array([*self.values, float(seed)]), self.memory)
        first, count = s.place_a[:rows], s.place_b[:rows] - s.place_a[:rows]
        skipped = np.repeat(first - np.concatenate([[0], np.cumsum(count)[:-1]]), count)
        nodes: Ints = np.arange(skipped.size, dtype=np.int64) + skipped
        return nodes


def _empty_state(network: Network, *, links: bool) -> State:
    jobs = 1 + MOST_WAITING if links else 1
    kept = link_sizes(network, network.nodes, jobs) if links else {}
    s = make_state(Sizes(J=jobs, N=network.nodes, P=1, C=1, L=1, E=0, K=0, NET=network.routers, D=1, **kept))
    if links:
        lay_out_links(s, network)
    return s


def room_for(policy: Mechanism, network: Network) -> Room:
    """Return this thread's room in which a policy places on a network."""
    rooms: dict[Any, Room] = vars(_mine).setdefault("rooms", {})
    key = (
        (policy.name, network)
        if policy.links
        else (policy.name, network.nodes_per_router, network.routers_per_group, network.groups)
    )
    if key not in rooms:
        if len(rooms) >= MOST_ROOMS:
            rooms.clear()
        rooms[key] = Room(policy, network)
    return rooms[key]


MOST_WAITING = 256
"""Waiting jobs that a policy can be told of."""
MOST_ROOMS = 64
"""Rooms that a thread keeps."""


def free_extents(free: npt.ArrayLike, nodes: int) -> Ints:
    """Return the free nodes as rows (first, one past the last), lowest first."""
    given = np.asarray(free)
    if given.dtype == np.bool_:
        if given.shape != (nodes,):
            raise InputError(f"free: expected a yes or no for each of {nodes} nodes, got {given.size}")
        flags = given
    else:
        numbers = given.astype(np.int64)
        if numbers.size and not (numbers.min() >= 0 and numbers.max() < nodes):
            raise InputError(f"free: nodes are numbered 0 … {nodes - 1}, got {numbers.min()} … {numbers.max()}")
        flags = np.zeros(nodes, dtype=np.bool_)
        flags[numbers] = True
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return edges.reshape(-1, 2).astype(np.int64)
