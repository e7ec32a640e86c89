"""What a network can carry and how far its nodes are apart: closed forms for uniform and adversarial traffic, no simulation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wattline.model.network import Dragonfly, FatTree, Ints, Network

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class NetworkFacts:
    """Sizes, distances and bounds of a network; ``None`` where a notion means nothing for it.

    ``mean_links`` counts links between routers on shortest ways, over all pairs of different nodes. Saturation bounds are shares
    of the bandwidth of a node's link at which the busiest link of a level is full, under minimal routing: ``uniform`` when every
    node sends to all others alike, ``adversarial`` when all nodes of a group send to one other group.
    """

    routers: int
    local_links: int
    global_links: int
    mean_links: float
    most_links: int
    bisection_bps: float
    uniform_local: float | None = None
    uniform_global: float | None = None
    adversarial: float | None = None

    @property
    def uniform(self) -> float | None:
        """The bound of uniform traffic: that of the level that is full first."""
        bounds = [bound for bound in (self.uniform_local, self.uniform_global) if bound is not None]
        return min(bounds) if bounds else None


def network_facts(network: Network) -> NetworkFacts:
    """Return what is known of a network from its sizes alone.

    >>> facts = network_facts(Dragonfly(4, 4, 17))
    >>> round(facts.mean_links, 3), round(facts.uniform_local, 3), round(facts.uniform_global, 3), facts.adversarial
    (2.406, 0.513, 1.059, 0.0625)
    """
    if isinstance(network, Dragonfly):
        return _dragonfly(network)
    if isinstance(network, FatTree):
        return _fat_tree(network)
    return NetworkFacts(1, 0, 0, 0.0, 0, float("inf"))


def _dragonfly(network: Dragonfly) -> NetworkFacts:
    p, a, g, h = network.nodes_per_router, network.routers_per_group, network.groups, network.links_per_router
    others = max(1, network.nodes - 1)
    far, near = p * a * (g - 1), p * (a - 1)
    between = 1 + 2 * (a - 1) / a  # a gateway is the right router already, once in a
    local = p * p * (1 + 2 * a * h) / others  # own traffic, and what its end points bring to or take from global links
    across = (p * a) ** 2 / others
    local_share, global_share = network.local_bps / network.host_bps, network.global_bps / network.host_bps
    return NetworkFacts(
        routers=network.routers, local_links=g * a * (a - 1) // 2, global_links=g * (g - 1) // 2,
        mean_links=(near + far * between) / others, most_links=int(a > 1) + (1 + int(a > 1) if g > 1 else 0),
        bisection_bps=(g // 2) * (g - g // 2) * network.global_bps if g > 1 else (a // 2) * (a - a // 2) * network.local_bps,
        uniform_local=local_share / local if a > 1 else None, uniform_global=global_share / across if g > 1 else None,
        adversarial=min(1.0, global_share / (p * a)) if g > 1 else None,
    )  # fmt: skip


def _fat_tree(network: FatTree) -> NetworkFacts:
    p, leaves = network.nodes_per_leaf, network.leaves
    others = max(1, network.nodes - 1)
    away = (network.nodes - p) / others
    share = 1 / (network.oversubscription * away) if leaves > 1 else None
    return NetworkFacts(
        routers=leaves + network.spines, local_links=0, global_links=leaves * network.spines, mean_links=2 * away,
        most_links=2 if leaves > 1 else 0, bisection_bps=(leaves // 2) * network.spines * network.spine_bps,
        uniform_global=share, adversarial=min(1.0, 1 / network.oversubscription) if leaves > 1 else None,
    )  # fmt: skip


def mean_links(network: Network, nodes: Ints) -> float:
    """Return the links between routers on the shortest way, in the mean over all pairs of different nodes of a job.

    >>> mean_links(Dragonfly(4, 4, 17), np.arange(4)), mean_links(Dragonfly(4, 4, 17), np.arange(16))
    (0.0, 0.8)
    """
    pairs = nodes.size * (nodes.size - 1)
    if pairs == 0:
        return 0.0
    on_router = np.bincount(network.router_of(nodes), minlength=network.routers).astype(np.float64)
    in_group = on_router.reshape(network.groups, -1).sum(axis=1)
    inside = float((in_group**2).sum() - (on_router**2).sum())
    across = float(nodes.size**2 - (in_group**2).sum())
    if not isinstance(network, Dragonfly):
        return 2 * across / pairs
    at_gateway = on_router[network.gateway] * in_group[None, :]  # [group, other]: pairs that start at the right router
    np.fill_diagonal(at_gateway, 0.0)
    return (inside + 3 * across - 2 * float(at_gateway.sum())) / pairs
