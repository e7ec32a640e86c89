"""Loads of links without packets: how the bytes of placed jobs spread over the links of a network.

Tasks are mapped to a job's nodes at random, so that in expectation every pair of its nodes exchanges the same: whatever
the pattern, a share of the job's bytes that depends on its nodes alone crosses each link. Which share, each kind of
network says (``model/networks``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import InputError
from wattline.model.networks.base import LinkShares, Network
from wattline.model.state.record import State


def capacities(network: Network) -> Floats:
    """Return the bytes per second of every link, laid out as in ``LinkShares``; inf from a router to itself."""
    return network.capacities()


def link_sizes(network: Network, nodes: int, jobs: int) -> dict[str, int]:
    """Return the sizes of what a state keeps about the links of a network that has any (``state.Sizes``)."""
    sizes = {"NB": network.routers, "NN": nodes, "NJ": jobs, "NG": network.groups, "NL": capacities(network).shape[1]}
    groups, gates = network.link_tables().gate.shape
    return sizes | {"NP": groups, "NQ": gates} if gates else sizes


def lay_out_links(s: State, network: Network) -> None:
    """Write the links of a network into a state, in the order of ``LinkShares``."""
    tables = network.link_tables()
    s.n_room[:] = tables.room_bytes_per_s
    s.n_gate[:] = tables.gate
    s.n_far[:] = tables.far


def link_shares(network: Network, nodes: Ints) -> LinkShares:
    """Return how the bytes of a job on the given nodes spread over links.

    >>> from wattline.model.networks import parse_network
    >>> shares = link_shares(parse_network("dragonfly:2x2x3"), np.array([0, 2, 4, 8]))
    >>> float(shares.minimal[0, 1]), float(shares.minimal[0, 2])
    (0.25, 0.16666666666666666)
    """
    count = np.bincount(network.router_of(np.asarray(nodes)), minlength=network.routers).astype(np.float64)
    if count.size != network.routers:
        raise InputError(f"node {np.max(nodes)} is none of the {network.nodes} nodes of the {network.kind}")
    return network.shares(count)


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
