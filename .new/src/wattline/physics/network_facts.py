"""What a network can carry and how far its nodes are apart, by closed forms and without simulation."""

from __future__ import annotations

import numpy as np

from wattline.arrays import Ints
from wattline.model.networks.base import Network, NetworkFacts


def network_facts(network: Network) -> NetworkFacts:
    """Return what is known of a network from its sizes alone.

    >>> from wattline.model.networks import parse_network
    >>> facts = network_facts(parse_network("dragonfly:4x4x17"))
    >>> round(facts.mean_links, 3), round(facts.uniform_local, 3), round(facts.uniform_global, 3), facts.adversarial
    (2.406, 0.513, 1.059, 0.0625)
    """
    return network.facts()


def mean_links(network: Network, nodes: Ints) -> float:
    """Return the links between routers on the shortest way, in the mean over all pairs of different nodes of a job.

    >>> from wattline.model.networks import parse_network
    >>> fly = parse_network("dragonfly:4x4x17")
    >>> mean_links(fly, np.arange(4)), mean_links(fly, np.arange(16))
    (0.0, 0.8)
    """
    pairs = nodes.size * (nodes.size - 1)
    if pairs == 0:
        return 0.0
    on_router = np.bincount(network.router_of(nodes), minlength=network.routers).astype(np.float64)
    return network.links_crossed(on_router) / pairs
