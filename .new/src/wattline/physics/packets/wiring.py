"""A dragonfly as the packet kernels see it: ports, their peers and speeds, and the tables that routes are read from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wattline.arrays import Ints
from wattline.errors import InputError
from wattline.model.networks.dragonfly import Dragonfly
from wattline.physics.packets.jobs import MOST_MESSAGE_BYTES, check_seconds, check_whole
from wattline.physics.packets.kernels.codes import CREDIT_MASK, FLIT_BYTES, GLOBAL, HOST, LOCAL

PS_PER_S = 1e12


@dataclass(frozen=True)
class Buffers:
    """Bytes that every virtual channel can hold at the input and at the output side of a port."""

    input_bytes: int = 14_000
    output_bytes: int = 14_000

    def __post_init__(self) -> None:
        for side in ("input_bytes", "output_bytes"):
            check_whole(f"{side} of a buffer", getattr(self, side), 1, MOST_MESSAGE_BYTES)


@dataclass(frozen=True)
class Latencies:
    """Seconds that the head of a packet takes over a link, through an input and an output, and a message inside a
    node.
    """

    link_s: float = 40e-9
    input_s: float = 50e-9
    output_s: float = 50e-9
    memory_s: float = 100e-9

    def __post_init__(self) -> None:
        for name in ("link_s", "input_s", "output_s", "memory_s"):
            check_seconds(f"latency {name} is", getattr(self, name), 1e-3)


@dataclass(frozen=True)
class Protocol:
    """How messages become packets: most bytes of a packet, header of a message, most bytes sent without asking."""

    packet_bytes: int = 1024
    header_bytes: int = 45
    eager_bytes: int = 12_000

    def __post_init__(self) -> None:
        check_whole("the most bytes of a packet", self.packet_bytes, 1, CREDIT_MASK * FLIT_BYTES)
        check_whole("the bytes of a header", self.header_bytes, 1, MOST_MESSAGE_BYTES)
        check_whole("the most bytes of an eager message", self.eager_bytes, 0, MOST_MESSAGE_BYTES)


@dataclass(frozen=True, eq=False)
class Wiring:
    """Ports (router ports, then one a node) and route tables of a dragonfly."""

    peer: Ints
    router: Ints
    kind: Ints
    flit_ps: Ints
    node_router: Ints
    group: Ints
    within: Ints
    toward: Ints
    beside: Ints
    own: Ints

    @property
    def ports(self) -> int:
        """Number of ports, those of nodes included."""
        return int(self.peer.size)

    @property
    def router_ports(self) -> int:
        """Number of ports of routers."""
        return self.ports - int(self.node_router.size)


def flit_time_ps(bps: float) -> int:
    """Return how long a flit takes at so many bits per second."""
    exact = 8 * FLIT_BYTES / bps * PS_PER_S
    time = round(exact) if exact < 1 << 40 else 1 << 40
    if not 1 <= time < 1 << 40:
        raise InputError(f"packets: links of {bps:g} bit/s are too fast or too slow to be timed in picoseconds")
    return time


def wire(network: Dragonfly) -> Wiring:
    """Lay out the ports of a dragonfly: of a router its nodes, then the routers of its group, then its global links."""
    p, a, h = network.nodes_per_router, network.routers_per_group, network.links_per_router
    size = p + a - 1 + h
    routers, nodes = network.routers, network.nodes
    router = np.arange(routers)
    within = router % a
    first_node_port = routers * size
    peer = np.full((routers, size), -1, dtype=np.int64)
    peer[:, :p] = first_node_port + router[:, None] * p + np.arange(p)
    other = np.arange(a)
    column = p + np.where(other < within[:, None], other, other - 1)  # of the local port that leads to ``other``
    beside = np.where(other == within[:, None], -1, router[:, None] * size + column)
    far = (router - within)[:, None] + other
    back = p + np.where(within[:, None] < other, within[:, None], within[:, None] - 1)
    mine = beside >= 0
    peer.ravel()[beside[mine]] = (far * size + back)[mine]
    group = router // a
    if h:
        to = network.global_peer
        far_q = network.global_port[to, group[:, None]]
        peer[:, p + a - 1 :] = to * size + p + a - 1 + far_q
    host = np.arange(nodes)
    node_peer = (host // p) * size + host % p
    kind = np.tile(np.repeat([HOST, LOCAL, GLOBAL], [p, a - 1, h]), routers)
    kind = np.concatenate([kind, np.full(nodes, HOST)]).astype(np.int64)
    speed = np.array([flit_time_ps(bps) for bps in (network.host_bps, network.local_bps, network.global_bps)])
    return Wiring(
        peer=np.concatenate([peer.ravel(), node_peer]),
        router=np.concatenate([np.repeat(router, size), np.full(nodes, -1)]),
        kind=kind,
        flit_ps=speed[kind],
        node_router=host // p,
        group=group,
        within=within,
        toward=_toward(network, beside, size),
        beside=beside,
        own=np.where(network.global_port < 0, -1, router[:, None] * size + p + a - 1 + network.global_port),
    )


def _toward(network: Dragonfly, beside: Ints, size: int) -> Ints:
    """Return ``[router, group × links + link] -> port``: its own global port that is this link to the group, or the
    local one to the router that has it.
    """
    p, a = network.nodes_per_router, network.routers_per_group
    routers, g = network.routers, network.groups
    toward = np.full((routers, g * network.links_per_pair), -1, dtype=np.int64)
    if g == 1:
        return toward
    router = np.arange(routers)[:, None]
    gateway = np.repeat(network.gateways.reshape(g, -1), a, axis=0)
    port = np.repeat(network.link_ports.reshape(g, -1), a, axis=0)
    local = np.take_along_axis(beside, np.where(gateway < 0, 0, gateway % a), axis=1)
    mine = router * size + p + a - 1 + port % network.links_per_router
    return np.where(gateway < 0, -1, np.where(gateway == router, mine, local))
