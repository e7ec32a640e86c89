"""Expected load of every channel for open-loop traffic, computed from the routes: the bounds that saturation is
held against.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import InputError
from wattline.kernel.compiled import library
from wattline.model.networks.dragonfly import Dragonfly
from wattline.physics.packets.kernels.codes import GLOBAL, LOCAL
from wattline.physics.packets.wiring import Wiring, wire


@dataclass(frozen=True, eq=False)
class ChannelLoads:
    """Share of its time that each router port's link sends when every node injects at the full rate of its host link.

    The least ``1 / load`` is the fraction of host bandwidth at which the first channel saturates.
    ``mean_router_links``: links between routers that a packet crosses.
    """

    load: Floats
    kind: Ints
    mean_router_links: float

    def saturation(self, kind: int | None = None) -> float:
        """Return the fraction of host bandwidth at which the busiest channel (of a kind) saturates."""
        chosen = self.load if kind is None else self.load[self.kind == kind]
        return float(1 / chosen.max()) if chosen.size and chosen.max() > 0 else float("inf")


def channel_loads(
    network: Dragonfly, pattern: str = "uniform", *, routing: str = "minimal", shift: int = 1, inside: bool = True
) -> ChannelLoads:
    """Compute loads for *minimal* or *valiant* routing under *uniform* or *adversarial* traffic (to ``shift``
    groups on).

    ``inside=False``: routes inside a group are always direct, also under *valiant*.
    """
    if routing not in ("minimal", "valiant"):
        raise InputError(f"packets: loads of {routing!r} depend on the queues; compute them for 'minimal' or 'valiant'")
    w = wire(network)
    traffic = _traffic(network, pattern, shift)
    crossings = np.zeros(w.router_ports)
    _add_routes(
        traffic, w.peer, w.router, w.group, w.within, w.toward, w.beside, routing == "valiant", inside, crossings
    )
    kind = w.kind[: w.router_ports]
    links = float(crossings.sum() / network.nodes)
    _add_ejection(crossings, traffic, w, network)
    host_ps = w.flit_ps[-1]
    return ChannelLoads(crossings * (w.flit_ps[: w.router_ports] / host_ps), kind, links)


def _traffic(network: Dragonfly, pattern: str, shift: int) -> Floats:
    """Return ``[router, router]``: flits sent when every node sends one."""
    p, a, r = network.nodes_per_router, network.routers_per_group, network.routers
    if pattern == "uniform":
        matrix = np.full((r, r), p * p / (network.nodes - 1))
        np.fill_diagonal(matrix, p * (p - 1) / (network.nodes - 1))
        return matrix
    group = np.arange(r) // a
    return np.where((group[:, None] + shift) % network.groups == group, p / a, 0.0)


def _add_ejection(crossings: Floats, traffic: Floats, w: Wiring, network: Dragonfly) -> None:
    hosts = w.kind[: w.router_ports] == 0
    crossings[hosts] += np.repeat(traffic.sum(axis=0) / network.nodes_per_router, network.nodes_per_router)


@library
def _walk(
    start: int,
    target: int,
    amount: float,
    peer: Ints,
    router: Ints,
    group: Ints,
    within: Ints,
    toward: Ints,
    beside: Ints,
    crossings: Floats,
    to_group: int,
    links: int,
    link: int,
) -> int:
    """Add a flow to every channel from a router to another, or to the first one reached in a group, by one of the links
    between two groups.

    Return where it ends.
    """
    here = start
    while True:
        if to_group >= 0:
            if group[here] == to_group:
                return here
            port = toward[here, to_group * links + link]
        elif here == target:
            return here
        elif group[here] == group[target]:
            port = beside[here, within[target]]
        else:
            port = toward[here, group[target] * links + link]
        crossings[port] += amount
        here = router[peer[port]]


@library
def _add_routes(
    traffic: Floats,
    peer: Ints,
    router: Ints,
    group: Ints,
    within: Ints,
    toward: Ints,
    beside: Ints,
    valiant: bool,
    inside: bool,
    crossings: Floats,
) -> None:
    """Add all flows, each split equally over its detours and the links between two groups."""
    routers, size = traffic.shape[0], beside.shape[1]
    groups = routers // size
    links = toward.shape[1] // groups
    for a in range(routers):
        for b in range(routers):
            amount = traffic[a, b]
            if amount == 0.0 or a == b:
                continue
            if valiant and group[a] != group[b] and groups > 2:
                for mid in range(groups):
                    if mid != group[a] and mid != group[b]:
                        part = amount / (groups - 2)
                        for one in range(links):
                            by = part / links
                            at = _walk(
                                a, -1, by, peer, router, group, within, toward, beside, crossings, mid, links, one
                            )
                            by /= links
                            for two in range(links):
                                _walk(at, b, by, peer, router, group, within, toward, beside, crossings, -1, links, two)
            elif valiant and inside and group[a] == group[b] and size > 2:
                for mid in range(group[a] * size, group[a] * size + size):
                    if mid != a and mid != b:
                        part = amount / (size - 2)
                        _walk(a, mid, part, peer, router, group, within, toward, beside, crossings, -1, links, 0)
                        _walk(mid, b, part, peer, router, group, within, toward, beside, crossings, -1, links, 0)
            else:
                for one in range(links):
                    by = amount / links
                    _walk(a, b, by, peer, router, group, within, toward, beside, crossings, -1, links, one)


def local_and_global(loads: ChannelLoads) -> tuple[float, float]:
    """Return the saturation of the busiest local and of the busiest global channel."""
    return loads.saturation(LOCAL), loads.saturation(GLOBAL)
