"""A fat tree of three levels: edge switches and aggregation switches in pods, core switches above them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.model.networks.base import (
    DEFAULT_BPS,
    LinkShares,
    LinkTables,
    Network,
    NetworkFacts,
    check_bandwidths,
    check_counts,
    check_whole,
    tree_shares,
)
from wattline.units import show_bandwidth


@dataclass(frozen=True)
class FatTree3(Network):
    """A k-ary fat tree: ``pods`` (k) pods of k/2 edge and k/2 aggregation switches, (k/2)² core switches.

    Every edge switch has k/2 nodes and one link (``local_bps``) to each aggregation switch of its pod; every
    aggregation switch has k/2 links (``spine_bps``) to core switches, such that each core switch has one link to every
    pod. Edge switches are the routers that nodes hang on, pods are the groups. With all links alike any half of the
    nodes can send to the other at full speed; slower links upward make it oversubscribed. Traffic spreads evenly over
    equal ways, so that all ways of a switch, or of a pod, upward count as one link.

    >>> FatTree3(8).nodes, FatTree3(8).routers, FatTree3(8).facts().mean_links
    (128, 32, 3.716535433070866)
    """

    kind: ClassVar[str] = "fat-tree-3"
    sizes: ClassVar[tuple[tuple[str, str], ...]] = (("pods", "pods, an even number k: k³/4 nodes"),)
    bandwidths: ClassVar[tuple[str, ...]] = ("local_bps", "spine_bps", "host_bps")
    example: ClassVar[str] = "fat-tree-3:8"

    nodes_per_router: int = field(init=False, repr=False)
    routers_per_group: int = field(init=False, repr=False)
    groups: int = field(init=False, repr=False)
    pods: int
    local_bps: float = DEFAULT_BPS
    spine_bps: float = DEFAULT_BPS
    host_bps: float = DEFAULT_BPS

    def __post_init__(self) -> None:
        check_whole(self, "pods")
        if self.pods % 2:
            raise InputError(f"{self.kind}: the number of pods must be even, got {self.pods}")
        half = self.pods // 2
        for name, value in (("nodes_per_router", half), ("routers_per_group", half), ("groups", self.pods)):
            object.__setattr__(self, name, value)
        check_counts(self)
        check_bandwidths(self)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of its text."""
        return (self.pods,)

    @property
    def edge_bps(self) -> float:
        """Bits per second of an edge switch's links upward together."""
        return self.pods // 2 * self.local_bps

    @property
    def pod_bps(self) -> float:
        """Bits per second of a pod's links upward together."""
        return (self.pods // 2) ** 2 * self.spine_bps

    def facts(self) -> NetworkFacts:
        """Return what is known of it from its sizes alone."""
        p, n, others = self.nodes_per_router, self.nodes_per_group, max(1, self.nodes - 1)
        beyond_edge, beyond_pod = (self.nodes - p) / others, (self.nodes - n) / others
        links = self.pods * (self.pods // 2) ** 2
        edge, pod = self.edge_bps / (p * self.host_bps), self.pod_bps / (n * self.host_bps)
        return NetworkFacts(
            routers=2 * self.routers + (self.pods // 2) ** 2,
            local_links=links,
            global_links=links,
            mean_links=2 * beyond_edge + 2 * beyond_pod,
            most_links=4,
            bisection_bps=self.pods // 2 * self.pod_bps,
            uniform_local=edge / beyond_edge,
            uniform_global=pod / beyond_pod,
            adversarial=min(1.0, edge, pod),
        )

    def describe(self, facts: NetworkFacts) -> list[tuple[str, str]]:
        """Return what it is made of."""
        half = self.pods // 2
        return [
            ("pods", f"{self.pods:,} of {half} edge switches of {half} nodes, and {half} aggregation switches"),
            ("core switches", f"{half**2:,}"),
            ("links inside pods", f"{facts.local_links:,} of {show_bandwidth(self.local_bps)}"),
            ("links to core switches", f"{facts.global_links:,} of {show_bandwidth(self.spine_bps)}"),
        ]

    def links_crossed(self, on_router: Floats) -> float:
        """Return two links for every pair on different switches, and two more for one in different pods."""
        in_pod = on_router.reshape(self.groups, -1).sum(axis=1)
        everybody = on_router.sum() ** 2
        return 2 * float(everybody - (on_router**2).sum()) + 2 * float(everybody - (in_pod**2).sum())

    def capacities(self) -> Floats:
        """Return the ways up and down of every edge switch, and at the first of a pod those of the pod."""
        room = np.full((self.routers, 4), np.inf)
        room[:, :2] = self.edge_bps / 8
        room[:: self.routers_per_group, 2:] = self.pod_bps / 8
        return room

    def shares(self, on_router: Floats) -> LinkShares:
        """Return how the bytes of a job spread over the ways up and down."""
        return tree_shares(self, on_router)

    def link_tables(self) -> LinkTables:
        """Return the bandwidths of the ways up of an edge switch and of a pod."""
        return LinkTables((self.edge_bps / 8, self.pod_bps / 8))


NETWORK = FatTree3
