"""Networks: which router a node hangs on, which group a router belongs to, and which links there are.

Whatever the network is, a machine is groups of routers of nodes, numbered in that order: node ``n`` hangs on router
``n // nodes_per_router``, which belongs to group ``router // routers_per_group``. Placement policies look at nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from wattline.errors import InputError, did_you_mean

Ints = npt.NDArray[np.int64]
_Number = TypeVar("_Number", int, Ints)

ARRANGEMENTS = ("absolute", "relative", "circulant")
"""Which port of a group leads to which other group; see ``Dragonfly``."""
MOST_NODES = 10_000_000
MOST_GROUPS = 4096
"""A dragonfly keeps a table over pairs of groups: 134 MB at this number."""
MOST_BYTES_PER_S = 1e13
DEFAULT_BPS = 8e9
"""Bits per second of a link unless said otherwise."""


@dataclass(frozen=True)
class Network:
    """The hierarchy that every network has: ``groups`` groups of routers, each with the same number of nodes."""

    kind: ClassVar[str] = "network"

    nodes_per_router: int
    routers_per_group: int
    groups: int

    def __post_init__(self) -> None:
        _check_counts(self, "nodes_per_router", "routers_per_group", "groups")

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


@dataclass(frozen=True)
class Dragonfly(Network):
    """Groups whose routers are linked all to all, and one global link between any two groups.

    A router has ``h = links_per_router = (groups - 1) / routers_per_group`` global ports. Port ``q`` of router ``r`` of a group
    is number ``x = r h + q`` of the group's ports and leads from group ``i`` to

    - *absolute*: group ``x`` if ``x < i``, else ``x + 1``;
    - *relative*: group ``i + x + 1`` (modulo the number of groups);
    - *circulant*: groups ``i + 1, i - 1, i + 2, i - 2, …`` in turn (``h`` must be even).

    Bandwidths are bits per second and direction.

    >>> machine = Dragonfly(4, 4, 17)
    >>> machine.nodes, machine.links_per_router, machine.global_peer[0].tolist()
    (272, 4, [4, 8, 12, 16])
    """

    kind: ClassVar[str] = "dragonfly"

    arrangement: str = "absolute"
    local_bps: float = DEFAULT_BPS
    global_bps: float = DEFAULT_BPS
    host_bps: float = DEFAULT_BPS

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_bandwidths(self, "local_bps", "global_bps", "host_bps")
        if self.arrangement not in ARRANGEMENTS:
            raise InputError(
                f"dragonfly: unknown arrangement {self.arrangement!r}{did_you_mean(self.arrangement, ARRANGEMENTS)}"
            )
        if self.groups > MOST_GROUPS:
            raise InputError(f"dragonfly: at most {MOST_GROUPS} groups make sense, got {self.groups}")
        self._check_links()

    def _check_links(self) -> None:
        a, g = self.routers_per_group, self.groups
        if (g - 1) % a:
            low = (g - 1) // a
            fitting = " or ".join(str(a * h + 1) for h in (low, low + 1) if h > 0)
            raise InputError(
                f"dragonfly: one link between any two of {g} groups needs {g - 1} global ports a group, which {a} routers "
                f"cannot share equally; use {fitting} groups, or a number of routers that divides {g - 1}"
            )
        if self.arrangement == "circulant" and self.links_per_router % 2:
            raise InputError(
                f"dragonfly: the circulant arrangement needs an even number of global links a router, got "
                f"{self.links_per_router} ({g - 1} other groups / {a} routers); use 'absolute' or 'relative'"
            )

    @property
    def links_per_router(self) -> int:
        """Global links of a router (h)."""
        return (self.groups - 1) // self.routers_per_group

    @cached_property
    def group_peer(self) -> Ints:
        """``[group, port of the group] -> group`` at the other end."""
        i = np.arange(self.groups, dtype=np.int64)[:, None]
        x = np.arange(self.groups - 1, dtype=np.int64)[None, :]
        if self.arrangement == "absolute":
            return np.where(x < i, x, x + 1)
        offset = x + 1
        if self.arrangement == "circulant":
            offset = np.where(x % 2 == 0, x // 2 + 1, -(x // 2 + 1))
        return (i + offset) % self.groups

    @cached_property
    def group_port(self) -> Ints:
        """``[group, other group] -> port of the group`` that leads there (-1 to itself)."""
        port = np.full((self.groups, self.groups), -1, dtype=np.int64)
        at = np.broadcast_to(np.arange(self.groups - 1), self.group_peer.shape)
        np.put_along_axis(port, self.group_peer, at, axis=1)
        return port

    @cached_property
    def gateway(self) -> Ints:
        """``[group, other group] -> router`` of the group that holds the link there (-1 to itself)."""
        first = np.arange(self.groups, dtype=np.int64)[:, None] * self.routers_per_group
        return np.where(self.group_port < 0, -1, first + self.group_port // max(1, self.links_per_router))

    @cached_property
    def global_peer(self) -> Ints:
        """``[router, q] -> router`` at the other end of its global port q."""
        groups = np.arange(self.groups, dtype=np.int64)[:, None]
        far = self.gateway[self.group_peer, groups]
        return np.ascontiguousarray(far.reshape(self.routers, self.links_per_router))

    @cached_property
    def global_port(self) -> Ints:
        """``[router, other group] -> q``, its global port that leads there (-1: another router has that link)."""
        h = max(1, self.links_per_router)
        port = np.repeat(self.group_port, self.routers_per_group, axis=0)
        mine = np.tile(np.arange(self.routers_per_group, dtype=np.int64), self.groups)[:, None]
        return np.where((port >= 0) & (port // h == mine), port % h, -1)


@dataclass(frozen=True)
class FatTree(Network):
    """Leaves that each have one link to every spine: any two leaves are equally far apart.

    A leaf is a router. There is no level between leaf and machine, so that a leaf is also a group of its own: policies that
    go from group to group go from leaf to leaf. ``spine_bps`` is the bandwidth of one link between a leaf and a spine.

    >>> FatTree(16, 20, 8).nodes, FatTree(16, 20, 8).oversubscription
    (320, 2.0)
    """

    kind: ClassVar[str] = "fat-tree"

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
        _check_counts(self, "nodes_per_leaf", "leaves", "spines")
        _check_bandwidths(self, "spine_bps", "host_bps")

    @property
    def oversubscription(self) -> float:
        """Bandwidth of a leaf's nodes over that of its links upward."""
        return self.nodes_per_leaf * self.host_bps / (self.spines * self.spine_bps)


@dataclass(frozen=True)
class Flat(Network):
    """No network to speak of: every node hangs on one switch that never gets in the way."""

    kind: ClassVar[str] = "flat"

    routers_per_group: int = field(init=False, repr=False, default=1)
    groups: int = field(init=False, repr=False, default=1)


@dataclass(frozen=True)
class Communication:
    """What jobs of a kind do to the network: bytes that each of their nodes sends a second while they work at full speed.

    ``share`` is the part of their time that they communicate with nobody in the way; above 0, their speed depends on where
    they run and on who sends over the same links. ``pattern`` (one of the packet engine's) matters to ``network check`` alone.

    A ``sensitive`` kind suffers from the traffic of others: one that spends more than 5 % of its time in collective
    operations, or whose MPI time is mostly waiting.
    """

    kind: str
    bytes_per_s: float = 0.0
    sensitive: bool = False
    share: float = 0.0
    pattern: str = "all-to-all"

    def __post_init__(self) -> None:
        if not 0 <= self.bytes_per_s <= MOST_BYTES_PER_S:
            raise InputError(
                f"communication of {self.kind!r}: a node sends 0 to {MOST_BYTES_PER_S:g} bytes a second, "
                f"got {self.bytes_per_s:g}"
            )
        if not 0 <= self.share <= 1:
            raise InputError(
                f"communication of {self.kind!r}: the share of time in communication is 0 to 1, got {self.share:g}"
            )
        if self.share > 0 and self.bytes_per_s == 0:
            raise InputError(
                f"communication of {self.kind!r}: they communicate, but send nothing; say how much (traffic)"
            )


def _check_counts(network: Network, *names: str) -> None:
    for name in names:
        value = getattr(network, name)
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
            raise InputError(f"{network.kind}: {name} must be a whole number of at least 1, got {value!r}")
    if network.nodes > MOST_NODES:
        raise InputError(f"{network.kind}: {network.nodes} nodes; at most {MOST_NODES} make sense")


def _check_bandwidths(network: Network, *names: str) -> None:
    for name in names:
        value = getattr(network, name)
        if not 0 < value < math.inf:
            raise InputError(f"{network.kind}: {name} must be a bandwidth above 0 bit/s, got {value:g}")
