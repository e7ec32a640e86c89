"""A dragonfly: groups of routers that are linked all to all, and one link between any two groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import InputError, did_you_mean
from wattline.model.networks.base import (
    DEFAULT_BPS,
    LinkShares,
    LinkTables,
    Network,
    NetworkFacts,
    check_bandwidths,
    check_counts,
)
from wattline.units import show_bandwidth

ARRANGEMENTS = ("absolute", "relative", "circulant")
"""Which port of a group leads to which other group; see ``Dragonfly``."""
MOST_GROUPS = 4096
"""A dragonfly keeps a table over pairs of groups: 134 MB at this number."""


@dataclass(frozen=True)
class Dragonfly(Network):
    """Groups whose routers are linked all to all, and one global link between any two groups.

    A router has ``h = links_per_router = (groups - 1) / routers_per_group`` global ports. Port ``q`` of router ``r``
    of a group is number ``x = r h + q`` of the group's ports and leads from group ``i`` to

    - *absolute*: group ``x`` if ``x < i``, else ``x + 1``;
    - *relative*: group ``i + x + 1`` (modulo the number of groups);
    - *circulant*: groups ``i + 1, i - 1, i + 2, i - 2, …`` in turn (``h`` must be even).

    Bandwidths are bits per second and direction.

    >>> machine = Dragonfly(4, 4, 17)
    >>> machine.nodes, machine.links_per_router, machine.global_peer[0].tolist()
    (272, 4, [4, 8, 12, 16])
    """

    kind: ClassVar[str] = "dragonfly"
    sizes: ClassVar[tuple[tuple[str, str], ...]] = (
        ("nodes", "nodes of a router"),
        ("routers", "routers of a group"),
        ("groups", "groups"),
    )
    variants: ClassVar[tuple[str, ...]] = ARRANGEMENTS
    bandwidths: ClassVar[tuple[str, ...]] = ("local_bps", "global_bps", "host_bps")
    example: ClassVar[str] = "dragonfly:4x4x17"

    arrangement: str = "absolute"
    local_bps: float = DEFAULT_BPS
    global_bps: float = DEFAULT_BPS
    host_bps: float = DEFAULT_BPS

    def __post_init__(self) -> None:
        check_counts(self, "nodes_per_router", "routers_per_group", "groups")
        check_bandwidths(self)
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
                f"dragonfly: one link between any two of {g} groups needs {g - 1} global ports a group, which "
                f"{a} routers cannot share equally; use {fitting} groups, or a number of routers that divides {g - 1}"
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

    @classmethod
    def of(cls, sizes: Sequence[int], variant: str, bandwidths: Mapping[str, float]) -> Self:
        """Return the dragonfly that the parts of a text mean."""
        return cls(sizes[0], sizes[1], sizes[2], variant, **bandwidths)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of its text."""
        return (self.nodes_per_router, self.routers_per_group, self.groups)

    @property
    def variant(self) -> str:
        """Its arrangement."""
        return self.arrangement

    def facts(self) -> NetworkFacts:
        """Return what is known of it from its sizes alone."""
        p, a, g, h = self.nodes_per_router, self.routers_per_group, self.groups, self.links_per_router
        others = max(1, self.nodes - 1)
        far, near = p * a * (g - 1), p * (a - 1)
        between = 1 + 2 * (a - 1) / a  # a gateway is the right router already, once in a
        local = p * p * (1 + 2 * a * h) / others  # own traffic, and what its ends bring to or take from global links
        across = (p * a) ** 2 / others
        local_share, global_share = self.local_bps / self.host_bps, self.global_bps / self.host_bps
        halves = (g // 2) * (g - g // 2) * self.global_bps if g > 1 else (a // 2) * (a - a // 2) * self.local_bps
        return NetworkFacts(
            routers=self.routers,
            local_links=g * a * (a - 1) // 2,
            global_links=g * (g - 1) // 2,
            mean_links=(near + far * between) / others,
            most_links=int(a > 1) + (1 + int(a > 1) if g > 1 else 0),
            bisection_bps=halves,
            uniform_local=local_share / local if a > 1 else None,
            uniform_global=global_share / across if g > 1 else None,
            adversarial=min(1.0, global_share / (p * a)) if g > 1 else None,
        )

    def describe(self, facts: NetworkFacts) -> list[tuple[str, str]]:
        """Return what it is made of."""
        return [
            ("groups", f"{self.groups:,} of {self.routers_per_group} routers of {self.nodes_per_router} nodes"),
            ("arrangement", self.arrangement),
            ("links inside groups", f"{facts.local_links:,} of {show_bandwidth(self.local_bps)}"),
            (
                "links between groups",
                f"{facts.global_links:,} of {show_bandwidth(self.global_bps)}, {self.links_per_router} a router",
            ),
        ]

    def links_crossed(self, on_router: Floats) -> float:
        """Return one link between routers of a group; between groups one, and one more at each end off its gateway."""
        in_group = on_router.reshape(self.groups, -1).sum(axis=1)
        inside = float((in_group**2).sum() - (on_router**2).sum())
        across = float(on_router.sum() ** 2 - (in_group**2).sum())
        at_gateway = on_router[self.gateway] * in_group[None, :]  # [group, other]: pairs that start at the right router
        np.fill_diagonal(at_gateway, 0.0)
        return inside + 3 * across - 2 * float(at_gateway.sum())

    def capacities(self) -> Floats:
        """Return the links of every router: to those of its group, then its global ones."""
        a, h = self.routers_per_group, self.links_per_router
        room = np.empty((self.routers, a + h))
        room[:, :a] = self.local_bps / 8
        room[:, a:] = self.global_bps / 8
        room[np.arange(self.routers), np.arange(self.routers) % a] = np.inf
        return room

    def shares(self, on_router: Floats) -> LinkShares:
        """Return how the bytes of a job spread over links, with c nodes of the job on a router, n in a group.

        With e the nodes of the groups that a router's global links lead to, of n(n - 1) pairs of nodes in all,
        c_r c_s + c_r e_s + e_r c_s go from router r to router s of a group by minimal routes, n_i n_k from group i to
        group k. Valiant routes by way of a random third group have closed forms as well.
        """
        from wattline.model.link_spread import spread

        a, h = self.routers_per_group, self.links_per_router
        minimal = np.zeros((self.routers, a + h))
        valiant = np.zeros((self.routers, a + h))
        spread(on_router, self.group_peer, a, h, minimal, valiant)
        return LinkShares(minimal, valiant)

    def link_tables(self) -> LinkTables:
        """Return bandwidths, gateways and their global links."""
        h = max(1, self.links_per_router)
        gate = self.group_port // h  # of a group to itself: never asked for
        return LinkTables((self.local_bps / 8, self.global_bps / 8), gate, self.routers_per_group + self.group_port % h)


NETWORK = Dragonfly
