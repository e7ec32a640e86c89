"""What a network is: a hierarchy of nodes, routers and groups, and what each kind of network says about its own links.

Whatever the network is, a machine is groups of routers of nodes, numbered in that order: node ``n`` hangs on router
``n // nodes_per_router``, which belongs to group ``router // routers_per_group``. Placement policies look at nothing
else, unless they go by the loads of links.

A kind of network is a subclass of ``Network`` in a file of this folder. ``wattline.testing.check_network`` checks that
it keeps the rules.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import InputError

_Number = TypeVar("_Number", int, Ints)

MOST_NODES = 10_000_000
DEFAULT_BPS = 8e9
"""Bits per second of a link unless said otherwise."""


@dataclass(frozen=True)
class NetworkFacts:
    """Sizes, distances and bounds of a network; ``None`` where a notion means nothing for it.

    ``mean_links`` counts links between routers on shortest ways, over all pairs of different nodes. Saturation bounds
    are shares of the bandwidth of a node's link at which the busiest link of a level is full, under minimal routing:
    ``uniform`` when every node sends to all others alike, ``adversarial`` when all nodes of a group send to one other
    group.
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


@dataclass(frozen=True)
class LinkShares:
    """Share of a job's bytes that crosses each link, by minimal routes and by valiant ones.

    Links of a dragonfly's router r: ``[r, s]`` to router s of its group (s < a), ``[r, a + q]`` its global port q.
    Links of a tree: all ways of a group up, and down, are the last two columns of its first router; where routers of a
    group have ways up and down of their own, these are ``[router, 0]`` and ``[router, 1]``. A flat network has none.
    """

    minimal: Floats
    valiant: Floats


@dataclass(frozen=True)
class LinkTables:
    """What the engine keeps of links that slow jobs down.

    ``room_bytes_per_s``: bandwidth of links inside groups and between them. With L links between any two groups,
    ``gate[group, other L + l]`` is the router of a group (0 to a - 1) that has link l to another group,
    ``far[group, other L + l]`` that link, as a column of ``LinkShares``; each carries an L-th of what goes there.
    Without gates the links are those of a tree.
    """

    room_bytes_per_s: tuple[float, float]
    gate: Ints = field(default_factory=lambda: np.empty((0, 0), dtype=np.int64))
    far: Ints = field(default_factory=lambda: np.empty((0, 0), dtype=np.int64))


@dataclass(frozen=True)
class Network(ABC):
    """The hierarchy that every network has: ``groups`` groups of routers, each with the same number of nodes."""

    kind: ClassVar[str]
    """The word before the colon of its text; its file has the same name, with underscores."""
    sizes: ClassVar[tuple[tuple[str, str], ...]]
    """The numbers of its text: a word for each, and what it counts."""
    further: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Numbers that may follow these; each is 1 where it is left out."""
    variants: ClassVar[tuple[str, ...]] = ()
    """Words that may follow a second colon; the first is meant where there is none."""
    bandwidths: ClassVar[tuple[str, ...]] = ()
    """Fields that hold bits per second of a kind of link; their names end in ``_bps``."""
    example: ClassVar[str]
    """A text of it."""

    nodes_per_router: int
    routers_per_group: int
    groups: int

    @property
    def nodes_per_group(self) -> int:
        """Nodes of a group."""
        return self.nodes_per_router * self.routers_per_group

    @property
    def routers(self) -> int:
        """Number of routers that nodes hang on."""
        return self.routers_per_group * self.groups

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return self.nodes_per_router * self.routers

    def router_of(self, node: _Number) -> _Number:
        """Return the router that a node (or each of an array of nodes) hangs on."""
        return node // self.nodes_per_router

    def group_of_router(self, router: _Number) -> _Number:
        """Return the group that a router (or each of an array of routers) belongs to."""
        return router // self.routers_per_group

    def group_of(self, node: _Number) -> _Number:
        """Return the group that a node (or each of an array of nodes) belongs to."""
        return node // self.nodes_per_group

    # -- its text

    @classmethod
    def of(cls, sizes: Sequence[int], variant: str, bandwidths: Mapping[str, float]) -> Self:
        """Return the network that the parts of a text mean; ``sizes`` has the further ones that are given, too."""
        del variant
        given: dict[str, Any] = dict(bandwidths)
        return cls(*sizes, **given)

    @property
    @abstractmethod
    def numbers(self) -> tuple[int, ...]:
        """The numbers of its text."""

    @property
    def variant(self) -> str:
        """Which of ``variants`` it is."""
        return ""

    @classmethod
    def form(cls) -> str:
        """Return how its text is written."""
        words = "x".join(name.upper() for name, _ in cls.sizes)
        words += "".join(f"[x{name.upper()}]" for name, _ in cls.further)
        told = ", ".join(about for _, about in (*cls.sizes, *cls.further) if about)
        return f"{cls.kind}:{words}" + (f" ({told})" if told else "")

    @classmethod
    def meaning(cls) -> str:
        """Return an example of its text and what its parts mean, for documentation."""
        told = ", ".join(about for _, about in cls.sizes if about)
        more = " or ".join(f"`:{word}`" for word in cls.variants[1:])
        further = "".join(f"`x{name.upper()}` may follow: {about}" for name, about in cls.further)
        inside = "; ".join(part for part in (told, further, f"{more} may follow" if more else "") if part)
        return f"`{cls.example}`" + (f" ({inside})" if inside else "")

    # -- its links

    @property
    def host_bandwidth_bps(self) -> float:
        """Bits per second of a node's link."""
        return float(getattr(self, "host_bps", math.inf))

    @property
    def has_links(self) -> bool:
        """Whether it has links between routers that may fill."""
        return True

    @abstractmethod
    def facts(self) -> NetworkFacts:
        """Return what is known of it from its sizes alone."""

    @abstractmethod
    def describe(self, facts: NetworkFacts) -> list[tuple[str, str]]:
        """Return what it is made of, in words and numbers, for people."""

    @abstractmethod
    def links_crossed(self, on_router: Floats) -> float:
        """Return the links between routers on shortest ways, summed over all ordered pairs of a job's nodes.

        ``on_router`` counts the nodes of the job on every router.
        """

    @abstractmethod
    def capacities(self) -> Floats:
        """Return the bytes per second of every link, laid out as in ``LinkShares``; inf where there is no link."""

    @abstractmethod
    def shares(self, on_router: Floats) -> LinkShares:
        """Return how the bytes of a job spread over links if all pairs of its nodes exchange the same.

        ``on_router`` counts the nodes of the job on every router.
        """

    @abstractmethod
    def link_tables(self) -> LinkTables:
        """Return what the engine keeps of its links."""


def tree_shares(network: Network, on_router: Floats) -> LinkShares:
    """Return how a job's bytes spread over the links of a tree, whose ways up share what leaves a router or a group."""
    total = on_router.sum()
    pairs = max(1.0, total * (total - 1.0))
    in_group = on_router.reshape(network.groups, -1).sum(axis=1)
    shares = np.zeros_like(network.capacities())
    if shares.shape[1] > 2:  # routers of a group have ways up of their own
        shares[:, :2] = (on_router * (total - on_router) / pairs)[:, None]
    shares[:: network.routers_per_group, -2:] = (in_group * (total - in_group) / pairs)[:, None]
    return LinkShares(shares, shares)


def check_whole(network: Network, *names: str) -> None:
    """Refuse sizes that are no whole numbers above 0."""
    for name in names:
        value = getattr(network, name)
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
            raise InputError(f"{network.kind}: {name} must be a whole number of at least 1, got {value!r}")


def check_counts(network: Network, *names: str) -> None:
    """Refuse sizes that are no whole numbers above 0, or that make too many nodes."""
    check_whole(network, *names)
    if network.nodes > MOST_NODES:
        raise InputError(f"{network.kind}: {network.nodes} nodes; at most {MOST_NODES} make sense")


def check_bandwidths(network: Network) -> None:
    """Refuse bandwidths that are none."""
    for name in network.bandwidths:
        value = getattr(network, name)
        if not 0 < value < math.inf:
            raise InputError(f"{network.kind}: {name} must be a bandwidth above 0 bit/s, got {value:g}")
