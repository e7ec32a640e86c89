"""A flat network: all nodes on one switch."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from wattline.arrays import Floats
from wattline.model.networks.base import LinkShares, LinkTables, Network, NetworkFacts, check_counts


@dataclass(frozen=True)
class Flat(Network):
    """No network to speak of: every node hangs on one switch that never gets in the way."""

    kind: ClassVar[str] = "flat"
    sizes: ClassVar[tuple[tuple[str, str], ...]] = (("nodes", ""),)
    example: ClassVar[str] = "flat:320"

    routers_per_group: int = field(init=False, repr=False, default=1)
    groups: int = field(init=False, repr=False, default=1)

    def __post_init__(self) -> None:
        check_counts(self, "nodes_per_router")

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of its text."""
        return (self.nodes_per_router,)

    @property
    def has_links(self) -> bool:
        """It has none."""
        return False

    def facts(self) -> NetworkFacts:
        """Return what is known of it from its size alone."""
        return NetworkFacts(1, 0, 0, 0.0, 0, math.inf)

    def describe(self, facts: NetworkFacts) -> list[tuple[str, str]]:
        """Say nothing: there is nothing between its nodes."""
        del facts
        return []

    def links_crossed(self, on_router: Floats) -> float:
        """Return 0: no link is crossed."""
        del on_router
        return 0.0

    def capacities(self) -> Floats:
        """Return no link."""
        return np.empty((self.routers, 0))

    def shares(self, on_router: Floats) -> LinkShares:
        """Return the shares of no link."""
        del on_router
        return LinkShares(self.capacities(), self.capacities())

    def link_tables(self) -> LinkTables:
        """Return the tables of no link."""
        return LinkTables((math.inf, math.inf))


NETWORK = Flat
