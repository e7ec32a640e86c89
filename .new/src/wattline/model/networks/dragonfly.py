"""A dragonfly: groups of routers that are linked all to all, and one link or several between any two groups."""

from __future__ import annotations

import math
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
    check_whole,
)
from wattline.units import show_bandwidth

ARRANGEMENTS = ("absolute", "relative", "circulant")
"""Which port of a group leads to which other group; see ``Dragonfly``."""
MOST_GROUPS = 4096
"""A dragonfly keeps a table over links between groups: 134 MB at this number of groups with one link a pair."""


@dataclass(frozen=True)
class Dragonfly(Network):
    """Groups whose routers are linked all to all, and ``links_per_pair`` global links between any two groups.

    A router has ``h = links_per_router = links_per_pair (groups - 1) / routers_per_group`` global ports. Port ``q`` of
    router ``r`` of a group is number ``r h + q = l (groups - 1) + x`` of the group's ports: link ``l`` of those that
    lead from group ``i`` to

    - *absolute*: group ``x`` if ``x < i``, else ``x + 1``;
    - *relative*: group ``i + x + 1`` (modulo the number of groups);
    - *circulant*: groups ``i + 1, i - 1, i + 2, i - 2, …`` in turn (``h`` must be even).

    It is joined to link ``l`` of the other group. The links of a pair hang on different routers, so there are at most
    as many as a group has routers. Whoever crosses takes any of them, all alike. Bandwidths are bits per second and
    direction.

    >>> machine = Dragonfly(4, 4, 17)
    >>> machine.nodes, machine.links_per_router, machine.global_peer[0].tolist()
    (272, 4, [4, 8, 12, 16])
    >>> Dragonfly(1, 2, 3, links_per_pair=2).gateways[0, 2].tolist()
    [0, 1]
    """

    kind: ClassVar[str] = "dragonfly"
    sizes: ClassVar[tuple[tuple[str, str], ...]] = (
        ("nodes", "nodes of a router"),
        ("routers", "routers of a group"),
        ("groups", "groups"),
    )
    further: ClassVar[tuple[tuple[str, str], ...]] = (("links", "links between two groups"),)
    variants: ClassVar[tuple[str, ...]] = ARRANGEMENTS
    bandwidths: ClassVar[tuple[str, ...]] = ("local_bps", "global_bps", "host_bps")
    example: ClassVar[str] = "dragonfly:4x4x17"

    arrangement: str = "absolute"
    local_bps: float = DEFAULT_BPS
    global_bps: float = DEFAULT_BPS
    host_bps: float = DEFAULT_BPS
    links_per_pair: int = 1

    def __post_init__(self) -> None:
        check_counts(self, "nodes_per_router", "routers_per_group", "groups")
        check_whole(self, "links_per_pair")
        check_bandwidths(self)
        if self.arrangement not in ARRANGEMENTS:
            raise InputError(
                f"dragonfly: unknown arrangement {self.arrangement!r}{did_you_mean(self.arrangement, ARRANGEMENTS)}"
            )
        if self.groups > MOST_GROUPS:
            raise InputError(f"dragonfly: at most {MOST_GROUPS} groups make sense, got {self.groups}")
        self._check_several()
        self._check_links()

    def _check_several(self) -> None:
        a, g, links = self.routers_per_group, self.groups, self.links_per_pair
        if links == 1:
            return
        if g == 1:
            raise InputError(f"dragonfly: one group has no other group to share {links} links with; leave them out")
        if links > a:
            raise InputError(
                f"dragonfly: the links between two groups hang on different routers, and {a} routers a group have "
                f"room for {a} at most, got {links}"
            )
        if g * g * links > MOST_GROUPS**2:
            raise InputError(
                f"dragonfly: {links} links between any two of {g} groups are too many; use {MOST_GROUPS**2 // g**2}"
            )
        if (g - 1) * links % a:
            fitting = [n for n in range(1, a + 1) if (g - 1) * n % a == 0]
            raise InputError(
                f"dragonfly: {links} links between any two of {g} groups need {(g - 1) * links} global ports a group, "
                f"which {a} routers cannot share equally; use {_listed(fitting)} links"
            )

    def _check_links(self) -> None:
        a, g = self.routers_per_group, self.groups
        if (g - 1) * self.links_per_pair % a:
            low = (g - 1) // a
            fitting = " or ".join(str(a * h + 1) for h in (low, low + 1) if h > 0)
            raise InputError(
                f"dragonfly: one link between any two of {g} groups needs {g - 1} global ports a group, which "
                f"{a} routers cannot share equally; use {fitting} groups, or a number of routers that divides {g - 1}"
            )
        if self.arrangement == "circulant" and self.links_per_router % 2:
            raise InputError(
                f"dragonfly: the circulant arrangement needs an even number of global links a router, got "
                f"{self.links_per_router} ({g - 1} other groups × {self.links_per_pair} links / {a} routers); use "
                "'absolute' or 'relative'"
            )

    @property
    def links_per_router(self) -> int:
        """Global links of a router (h)."""
        return (self.groups - 1) * self.links_per_pair // self.routers_per_group

    @cached_property
    def group_peer(self) -> Ints:
        """``[group, port of the group] -> group`` at the other end."""
        return np.tile(self._first_peer, (1, self.links_per_pair))

    @cached_property
    def _first_peer(self) -> Ints:
        """The same of the ports that hold the first link to every other group."""
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
        """``[group, other group] -> port of the group`` that holds the first link there (-1 to itself).

        The other links are ``groups - 1`` ports further on each.
        """
        port = np.full((self.groups, self.groups), -1, dtype=np.int64)
        at = np.broadcast_to(np.arange(self.groups - 1), self._first_peer.shape)
        np.put_along_axis(port, self._first_peer, at, axis=1)
        return port

    @cached_property
    def link_ports(self) -> Ints:
        """``[group, other group, link] -> port of the group`` (-1 to itself)."""
        step = (self.groups - 1) * np.arange(self.links_per_pair, dtype=np.int64)
        return np.where(self.group_port[:, :, None] < 0, -1, self.group_port[:, :, None] + step)

    @cached_property
    def gateways(self) -> Ints:
        """``[group, other group, link] -> router`` of the group that holds the link there (-1 to itself)."""
        first = np.arange(self.groups, dtype=np.int64)[:, None, None] * self.routers_per_group
        return np.where(self.link_ports < 0, -1, first + self.link_ports // max(1, self.links_per_router))

    @property
    def gateway(self) -> Ints:
        """``[group, other group] -> router`` of the group that holds the first link there (-1 to itself)."""
        return self.gateways[:, :, 0]

    @cached_property
    def global_peer(self) -> Ints:
        """``[router, q] -> router`` at the other end of its global port q."""
        groups = np.arange(self.groups, dtype=np.int64)[:, None]
        link = np.repeat(np.arange(self.links_per_pair, dtype=np.int64), self.groups - 1)[None, :]
        far = self.gateways[self.group_peer, groups, link]
        return np.ascontiguousarray(far.reshape(self.routers, self.links_per_router))

    @cached_property
    def global_port(self) -> Ints:
        """``[router, other group] -> q``, its global port that leads there (-1: other routers have those links)."""
        h = max(1, self.links_per_router)
        port = np.full((self.routers, self.groups), -1, dtype=np.int64)
        group, other, link = np.nonzero(self.link_ports >= 0)
        at = self.link_ports[group, other, link]
        port[group * self.routers_per_group + at // h, other] = at % h
        return port

    @classmethod
    def of(cls, sizes: Sequence[int], variant: str, bandwidths: Mapping[str, float]) -> Self:
        """Return the dragonfly that the parts of a text mean."""
        return cls(sizes[0], sizes[1], sizes[2], variant, links_per_pair=(*sizes, 1)[3], **bandwidths)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of its text."""
        several = (self.links_per_pair,) if self.links_per_pair > 1 else ()
        return (self.nodes_per_router, self.routers_per_group, self.groups, *several)

    @property
    def variant(self) -> str:
        """Its arrangement."""
        return self.arrangement

    def facts(self) -> NetworkFacts:
        """Return what is known of it from its sizes alone."""
        p, a, g, links = self.nodes_per_router, self.routers_per_group, self.groups, self.links_per_pair
        others = max(1, self.nodes - 1)
        far, near = p * a * (g - 1), p * (a - 1)
        between = 1 + 2 * (a - 1) / a  # a gateway is the right router already, once in a
        local = p * p * (2 * g - 1) / others  # own traffic, and what its ends bring to or take from global links
        across = (p * a) ** 2 / (links * others)
        local_share, global_share = self.local_bps / self.host_bps, self.global_bps / self.host_bps
        between_halves = (g // 2) * (g - g // 2) * links * self.global_bps
        halves = between_halves if g > 1 else (a // 2) * (a - a // 2) * self.local_bps
        return NetworkFacts(
            routers=self.routers,
            local_links=g * a * (a - 1) // 2,
            global_links=links * g * (g - 1) // 2,
            mean_links=(near + far * between) / others,
            most_links=int(a > 1) + (1 + int(a > 1) if g > 1 else 0),
            bisection_bps=halves,
            uniform_local=local_share / local if a > 1 else None,
            uniform_global=global_share / across if g > 1 else None,
            adversarial=min(1.0, links * global_share / (p * a), self._shifted_local()) if g > 1 else None,
        )

    def _shifted_local(self) -> float:
        """Return the share of a node's bandwidth at which a link inside a group is full when all groups send to the
        one so many groups on, at the worst such number (infinite where no group has such links).

        A router sends as much to every link's gateway in its group, and a gateway as much to every router of its
        group: a link from an arriving gateway to a leaving one has both.
        """
        g, links = self.groups, self.links_per_pair
        if self.routers_per_group == 1:
            return math.inf
        gates, group = self.gateways[:, :, 0] % self.routers_per_group, np.arange(g)
        both = links > 1 or any(  # several links hang on several routers
            (gates[group, (group + shift) % g] != gates[group, (group - shift) % g]).any() for shift in range(1, g)
        )
        return self.local_bps / self.host_bps * links / ((1 + both) * self.nodes_per_router)

    def describe(self, facts: NetworkFacts) -> list[tuple[str, str]]:
        """Return what it is made of."""
        return [
            ("groups", f"{self.groups:,} of {self.routers_per_group} routers of {self.nodes_per_router} nodes"),
            ("arrangement", self.arrangement),
            ("links inside groups", f"{facts.local_links:,} of {show_bandwidth(self.local_bps)}"),
            (
                "links between groups",
                f"{facts.global_links:,} of {show_bandwidth(self.global_bps)}, {self.links_per_router} a router"
                + (f", {self.links_per_pair} between any two groups" if self.links_per_pair > 1 else ""),
            ),
        ]

    def links_crossed(self, on_router: Floats) -> float:
        """Return one link between routers of a group; between groups one, and one more at each end off its gateway.

        With several links between two groups that is the mean over them.
        """
        in_group = on_router.reshape(self.groups, -1).sum(axis=1)
        inside = float((in_group**2).sum() - (on_router**2).sum())
        across = float(on_router.sum() ** 2 - (in_group**2).sum())
        at_gateway = on_router[self.gateways].mean(axis=2) * in_group  # [group, other]: pairs that start at the router
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
        group k. With L links between two groups each has an L-th of that. Valiant routes by way of a random third group
        have closed forms as well.
        """
        from wattline.model.link_spread import spread

        a, h = self.routers_per_group, self.links_per_router
        minimal = np.zeros((self.routers, a + h))
        valiant = np.zeros((self.routers, a + h))
        spread(on_router, self.group_peer, a, h, self.links_per_pair, minimal, valiant)
        return LinkShares(minimal, valiant)

    def link_tables(self) -> LinkTables:
        """Return bandwidths, gateways and their global links."""
        h = max(1, self.links_per_router)
        ports = self.link_ports.reshape(self.groups, -1)  # of a group to itself: never asked for
        return LinkTables((self.local_bps / 8, self.global_bps / 8), ports // h, self.routers_per_group + ports % h)


def _listed(numbers: list[int]) -> str:
    """Return the first numbers of a list in words."""
    return ", ".join(str(n) for n in numbers[:4]) + (" …" if len(numbers) > 4 else "")


NETWORK = Dragonfly
