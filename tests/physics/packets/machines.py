"""Machines and jobs that the tests of the packet engine share."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from wattline.model.networks.dragonfly import Dragonfly
from wattline.physics.packets.jobs import Messages, PacketJob
from wattline.physics.packets.simulator import Simulator

SMALL = Dragonfly(2, 4, 9)
"""72 nodes."""
ROUTINGS = ("minimal", "valiant", "adaptive-local", "ugal")


@functools.cache
def simulator(network: Dragonfly = SMALL, **options: Any) -> Simulator:
    """Return a simulator, made once: a run leaves nothing behind for the next."""
    return Simulator(network, **options)


def listed(nodes: list[int], *rounds: list[tuple[int, int, int]], **options: Any) -> PacketJob:
    """Return a job of one task a node with its own messages."""
    return PacketJob(nodes, [Messages(rounds)], tasks_per_node=1, mapping="order", **options)


def links_between(network: Dragonfly, one: int, two: int) -> int:
    """Count the links of the minimal route between two nodes by hand: host, local, global, local, host."""
    a, b = network.router_of(one), network.router_of(two)
    if a == b:
        return 2
    if network.group_of_router(a) == network.group_of_router(b):
        return 3
    out = network.gateway[network.group_of_router(a), network.group_of_router(b)]
    back = network.gateway[network.group_of_router(b), network.group_of_router(a)]
    return int(3 + (a != out) + (b != back))


def four_jobs() -> list[PacketJob]:
    """Return the case that was run with SST: 4 jobs of 64 nodes and 128 tasks, all-to-all of 1 KB, ranks in node
    order.
    """
    return [PacketJob(np.arange(64 * i, 64 * i + 64), "all-to-all", mapping="order") for i in range(4)]
