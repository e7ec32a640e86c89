"""A fat tree of two levels: leaves below spines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from wattline.arrays import Floats
from wattline.model.networks.base import (
    DEFAULT_BPS,
    LinkShares,
    LinkTables,
    Network,
    NetworkFacts,
    check_bandwidths,
    check_counts,
    tree_shares,
)
from wattline.units import in_full, show_bandwidth


@dataclass(frozen=True)
class FatTree(Network):
    """Leaves that each have one link to every spine: any two leaves are equally far apart.

    A leaf is a router. There is no level between leaf and machine, so that a leaf is also a group of its own: policies
    that go from group to group go from leaf to leaf. ``spine_bps`` is the bandwidth of one link between a leaf and a
    spine.

    >>> FatTree(16, 20, 8).nodes, FatTree(16, 20, 8).oversubscription
    (320, 2.0)
    """

    kind: ClassVar[str] = "fat-tree"
    sizes: ClassVar[tuple[tuple[str, str], ...]] = (
        ("nodes", "nodes of a leaf"),
        ("leaves", "leaves"),
        ("spines", "spines"),
    )
    bandwidths: ClassVar[tuple[str, ...]] = ("spine_bps", "host_bps")
    example: ClassVar[str] = "fat-tree:16x20x8"

    nodes_per_router: int = field(init=False, repr=False)
    routers_per_group: int = field(init=False, repr=False, default=1)
    groups: int = field(init=False, repr=False)
    nodes_per_leaf: int
    leaves: int
    spines: int
    spine_bps: float = DEFAULT_BPS
    host_bps: float = DEFAULT_BPS

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes_per_router", self.nodes_per_leaf)
        object.__setattr__(self, "groups", self.leaves)
        check_counts(self, "nodes_per_leaf", "leaves", "spines")
        check_bandwidths(self)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of its text."""
        return (self.nodes_per_leaf, self.leaves, self.spines)

    @property
    def oversubscription(self) -> float:
        """Bandwidth of a leaf's nodes over that of its links upward."""
        return self.nodes_per_leaf * self.host_bps / (self.spines * self.spine_bps)

    def facts(self) -> NetworkFacts:
        """Return what is known of it from its sizes alone."""
        p, leaves = self.nodes_per_leaf, self.leaves
        others = max(1, self.nodes - 1)
        away = (self.nodes - p) / others
        share = 1 / (self.oversubscription * away) if leaves > 1 else None
        return NetworkFacts(
            routers=leaves + self.spines,
            local_links=0,
            global_links=leaves * self.spines,
            mean_links=2 * away,
            most_links=2 if leaves > 1 else 0,
            bisection_bps=(leaves // 2) * self.spines * self.spine_bps,
            uniform_global=share,
            adversarial=min(1.0, 1 / self.oversubscription) if leaves > 1 else None,
        )

    def describe(self, facts: NetworkFacts) -> list[tuple[str, str]]:
        """Return what it is made of."""
        return [
            ("leaves", f"{self.leaves:,} of {self.nodes_per_leaf} nodes"),
            ("spines", f"{self.spines:,}"),
            ("links upward", f"{facts.global_links:,} of {show_bandwidth(self.spine_bps)}"),
            ("oversubscription", f"{in_full(self.oversubscription, 3)}"),
        ]

    def links_crossed(self, on_router: Floats) -> float:
        """Return two links for every pair on different leaves."""
        return 2 * float(on_router.sum() ** 2 - (on_router**2).sum())

    def capacities(self) -> Floats:
        """Return the ways up and the ways down of every leaf."""
        return np.full((self.leaves, 2), self.spines * self.spine_bps / 8)

    def shares(self, on_router: Floats) -> LinkShares:
        """Return how the bytes of a job spread over the ways up and down."""
        return tree_shares(self, on_router)

    def link_tables(self) -> LinkTables:
        """Return the bandwidth of a leaf's ways up."""
        room = self.spines * self.spine_bps / 8
        return LinkTables((room, room))


NETWORK = FatTree
