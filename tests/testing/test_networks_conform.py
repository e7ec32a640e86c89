"""Every kind of network passes the shipped check, and each of its checks can fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from wattline.arrays import Floats
from wattline.model.networks import KINDS, find_network, parse_network
from wattline.model.networks.base import LinkShares, Network, NetworkFacts
from wattline.model.networks.fat_tree import FatTree
from wattline.testing import check_network
from wattline.testing.networks import CHECKS, Check

SIZES = {
    "dragonfly": (
        "2x4x9",
        "3x2x5:circulant",
        "2x3x7:relative",
        "4x1x1",
        "1x1x3",
        "2x3x1",
        "2x4x3x2",
        "3x4x4x4:relative",
    ),
    "fat-tree": ("4x5x2", "3x1x1", "1x4x3"),
    "fat-tree-3": ("2", "4", "6"),
    "flat": ("12", "1"),
}
"""Kind → sizes that are tried, small ones and the smallest."""
TEXTS = [f"{kind}:{sizes}" for kind in KINDS for sizes in SIZES[kind]]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_networks_conform(text: str, check: Check) -> None:
    """Every kind of network keeps every rule, in several sizes and with bandwidths of its own."""
    kind = text.partition(":")[0]
    check(parse_network(text))
    check(parse_network(text, {name: 1e9 * (2 + i) for i, name in enumerate(find_network(kind).bandwidths)}))


@dataclass(frozen=True)
class Nameless(FatTree):
    """A network whose kind has no file."""

    kind: ClassVar[str] = "Fat tree"


@dataclass(frozen=True)
class Boastful(FatTree):
    """A network with fewer routers, shorter ways and a better bound than it has."""

    def facts(self) -> NetworkFacts:
        """Return facts that are none."""
        return NetworkFacts(1, 0, 0, 1.0, 1, 1e9, uniform_global=float("inf"))


@dataclass(frozen=True)
class Hidden(FatTree):
    """A network that denies its links."""

    @property
    def has_links(self) -> bool:
        """Deny them."""
        return False


@dataclass(frozen=True)
class Noisy(FatTree):
    """A network whose links carry bytes that nobody sends over them."""

    def shares(self, on_router: Floats) -> LinkShares:
        """Return two of everything."""
        much = np.full(self.capacities().shape, 2.0)
        del on_router
        return LinkShares(much, much)


@dataclass(frozen=True)
class Thin(FatTree):
    """A network whose engine is told other bandwidths than it has."""

    def capacities(self) -> Floats:
        """Return half of them."""
        return super().capacities() / 2


BROKEN: dict[str, tuple[Network, set[str]]] = {
    "text": (Nameless(4, 5, 2), {"text"}),
    "facts": (Boastful(4, 5, 2), {"sizes", "distances", "bounds", "text"}),
    "links": (Hidden(4, 5, 2), {"links", "text"}),
    "shares": (Noisy(4, 5, 2), {"shares", "cut", "text"}),
    "capacities": (Thin(4, 5, 2), {"links", "text"}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_every_check_can_fail(name: str) -> None:
    """A network that breaks rules fails the checks of these rules, and no others (none is what its text means)."""
    network, expected = BROKEN[name]
    report = check_network(network)
    assert {row.check for row in report.rows if not row.passed} == expected, report
    assert not report.ok
