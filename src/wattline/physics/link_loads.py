"""Loads of links without packets: how the bytes of placed jobs spread over the links of a network.

Tasks are mapped to a job's nodes at random, so that in expectation every pair of its nodes exchanges the same: whatever the
pattern, a share of the job's bytes that depends on its nodes alone crosses each link. With c nodes of the job on a router,
n in a group and e the nodes of the groups that a router's global links lead to, of n(n - 1) pairs of nodes in all,

- c_r c_s + c_r e_s + e_r c_s go from router r to router s of a group by minimal routes;
- n_i n_k go from group i to group k.

Valiant routes by way of a random third group have closed forms as well, and a fat tree has none but the ways up and down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wattline.errors import InputError
from wattline.model.compiled import library
from wattline.model.network import Dragonfly, FatTree, Ints, Network
from wattline.model.state.record import State

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LinkShares:
    """Share of a job's bytes that crosses each link, by minimal routes and by valiant ones.

    Links of a dragonfly's router r: ``[r, s]`` to router s of its group (s < a), ``[r, a + q]`` its global port q. Links of a leaf
    of a fat tree: all its ways up, ``[leaf, 0]``, and down, ``[leaf, 1]``. A flat network has none.
    """

    minimal: Floats
    valiant: Floats


def capacities(network: Network) -> Floats:
    """Return the bytes per second of every link, laid out as in ``LinkShares``; inf from a router to itself."""
    if isinstance(network, FatTree):
        return np.full((network.leaves, 2), network.spines * network.spine_bps / 8)
    if not isinstance(network, Dragonfly):
        return np.empty((network.routers, 0))
    a, h = network.routers_per_group, network.links_per_router
    room = np.empty((network.routers, a + h))
    room[:, :a] = network.local_bps / 8
    room[:, a:] = network.global_bps / 8
    room[np.arange(network.routers), np.arange(network.routers) % a] = np.inf
    return room


def link_sizes(network: Network, nodes: int, jobs: int) -> dict[str, int]:
    """Return the sizes of what a state keeps about the links of a network that has any (``state.Sizes``)."""
    sizes = {"NB": network.routers, "NN": nodes, "NJ": jobs, "NG": network.groups, "NL": capacities(network).shape[1]}
    return sizes | {"NP": network.groups} if isinstance(network, Dragonfly) else sizes


def lay_out_links(s: State, network: Network) -> None:
    """Write the links of a network into a state, in the order of ``LinkShares``."""
    if isinstance(network, Dragonfly):
        h = max(1, network.links_per_router)
        s.n_room[:] = network.local_bps / 8, network.global_bps / 8
        s.n_gate[:] = network.group_port // h  # of a group to itself: never asked for
        s.n_far[:] = network.routers_per_group + network.group_port % h
    elif isinstance(network, FatTree):
        s.n_room[:] = network.spines * network.spine_bps / 8


def link_shares(network: Network, nodes: Ints) -> LinkShares:
    """Return how the bytes of a job on the given nodes spread over links.

    >>> shares = link_shares(Dragonfly(2, 2, 3), np.array([0, 2, 4, 8]))
    >>> float(shares.minimal[0, 1]), float(shares.minimal[0, 2])
    (0.25, 0.16666666666666666)
    """
    count = np.bincount(network.router_of(np.asarray(nodes)), minlength=network.routers).astype(np.float64)
    if count.size != network.routers:
        raise InputError(f"node {np.max(nodes)} is none of the {network.nodes} nodes of the {network.kind}")
    if isinstance(network, FatTree):
        total = count.sum()
        away = count * (total - count) / max(1.0, total * (total - 1.0))
        return LinkShares(np.column_stack([away, away]), np.column_stack([away, away]))
    if not isinstance(network, Dragonfly):
        return LinkShares(capacities(network), capacities(network))
    a, h = network.routers_per_group, network.links_per_router
    minimal = np.zeros((network.routers, a + h))
    valiant = np.zeros((network.routers, a + h))
    _spread(count, network.group_peer, a, h, minimal, valiant)
    return LinkShares(minimal, valiant)


def share_table(network: Network, placed: Sequence[Ints], detour: float = 0.0) -> Floats:
    """Return a row for every job: the shares of its bytes over all links, a part of them on valiant routes.

    The links come in the order of ``capacities(network).ravel()``.
    """
    if not 0 <= detour <= 1:
        raise InputError(f"the part of traffic that makes detours must be between 0 and 1, got {detour:g}")
    rows = np.empty((len(placed), capacities(network).size))
    for i, nodes in enumerate(placed):
        shares = link_shares(network, nodes)
        rows[i] = ((1.0 - detour) * shares.minimal + detour * shares.valiant).ravel()
    return rows


@library
def _spread(count: Floats, peer: Ints, a: int, h: int, minimal: Floats, valiant: Floats) -> None:
    groups = count.shape[0] // a
    inside = np.zeros(groups)
    for r in range(count.shape[0]):
        inside[r // a] += count[r]
    total = inside.sum()
    if total < 2:
        return
    one = 1.0 / (total * (total - 1.0))
    others = 1.0 / max(1, groups - 2)
    beyond = np.zeros(a)  # nodes of the groups that a router's global links lead to
    detour = np.zeros(
        a
    )  # pairs between one of this group's nodes and another group that take this router's global links
    for i in range(groups):
        for r in range(a):
            beyond[r] = 0.0
            detour[r] = 0.0
            for q in range(h):
                k = peer[i, r * h + q]
                beyond[r] += inside[k]
                rest = total - inside[i] - inside[k]
                detour[r] += rest * others
                across = inside[i] * inside[k] * one
                minimal[i * a + r, a + q] += across
                valiant[i * a + r, a + q] += (inside[i] + inside[k]) * rest * others * one if groups > 2 else across
        for r in range(a):
            for s in range(a):
                if r != s:
                    here = count[i * a + r]
                    there = count[i * a + s]
                    own = here * there
                    minimal[i * a + r, s] += (own + here * beyond[s] + beyond[r] * there) * one
                    if groups > 2:
                        through = _through(inside, peer, i, r, s, h) * others
                        valiant[i * a + r, s] += (own + here * detour[s] + detour[r] * there + through) * one
                    else:
                        valiant[i * a + r, s] = minimal[i * a + r, s]


@library
def _through(inside: Floats, peer: Ints, i: int, r: int, s: int, h: int) -> float:
    """Return the pairs of other groups whose detour by way of group i enters at router r and leaves at router s."""
    entering = 0.0
    leaving = 0.0
    for q in range(h):
        entering += inside[peer[i, r * h + q]]
        leaving += inside[peer[i, s * h + q]]
    return entering * leaving
