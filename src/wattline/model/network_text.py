"""Networks as short texts, ``dragonfly:4x4x17``: for flags, scenario files and journals."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from wattline.errors import InputError, did_you_mean, shorten
from wattline.model.network import ARRANGEMENTS, Dragonfly, FatTree, Flat, Network

FORMS = {
    "dragonfly": "dragonfly:NODESxROUTERSxGROUPS (nodes of a router, routers of a group, groups)",
    "fat-tree": "fat-tree:NODESxLEAVESxSPINES (nodes of a leaf, leaves, spines)",
    "flat": "flat:NODES",
}
"""The kinds of network and how each is written."""

_SIZES = {"dragonfly": 3, "fat-tree": 3, "flat": 1}
BANDWIDTHS = {"dragonfly": ("local_bps", "global_bps", "host_bps"), "fat-tree": ("spine_bps", "host_bps"), "flat": ()}
"""The bandwidths that each kind of network knows."""


def parse_network(text: str, bandwidths: Mapping[str, float] | None = None) -> Network:
    """Return the network that a text means; ``bandwidths`` are bits per second by the names of ``BANDWIDTHS``.

    A dragonfly's arrangement may follow: ``dragonfly:4x4x17:circulant``.

    >>> parse_network("dragonfly:4x8x33").nodes, parse_network("fat-tree:16x20x8").routers, parse_network("flat:9").nodes
    (1056, 20, 9)
    """
    kind, _, rest = text.strip().partition(":")
    if kind not in FORMS:
        raise InputError(f"unknown network {shorten(text)}{did_you_mean(kind, FORMS)} (like dragonfly:4x4x17)")
    sizes, _, arrangement = rest.partition(":")
    numbers = re.findall(r"\d+", sizes)
    if not re.fullmatch(r"\s*\d+(\s*[x×]\s*\d+)*\s*", sizes) or len(numbers) != _SIZES[kind]:
        raise InputError(f"a {kind} is written {FORMS[kind]}; got {shorten(text)}")
    if arrangement and kind != "dragonfly":
        raise InputError(f"only a dragonfly has an arrangement ({', '.join(ARRANGEMENTS)}); got {shorten(text)}")
    given = dict(bandwidths or {})
    for name in given:
        if name not in BANDWIDTHS[kind]:
            known = ", ".join(short(n) for n in BANDWIDTHS[kind]) or "none"
            raise InputError(f"a {kind} has no bandwidth {short(name)!r}; it has: {known}")
    counts = [int(number) for number in numbers]
    if kind == "flat":
        return Flat(*counts)
    if kind == "fat-tree":
        return FatTree(counts[0], counts[1], counts[2], **given)
    return Dragonfly(counts[0], counts[1], counts[2], arrangement or "absolute", **given)


def short(name: str) -> str:
    """Return the name of a bandwidth as people write it."""
    return name.removesuffix("_bps")


def network_text(network: Network) -> str:
    """Return a network as ``parse_network`` reads it, without bandwidths.

    >>> network_text(parse_network("dragonfly:4x4x17:relative")), network_text(parse_network("fat-tree:16x20x8"))
    ('dragonfly:4x4x17:relative', 'fat-tree:16x20x8')
    """
    if isinstance(network, Dragonfly):
        sizes = f"{network.nodes_per_router}x{network.routers_per_group}x{network.groups}"
        return f"dragonfly:{sizes}" + (f":{network.arrangement}" if network.arrangement != "absolute" else "")
    if isinstance(network, FatTree):
        return f"fat-tree:{network.nodes_per_leaf}x{network.leaves}x{network.spines}"
    return f"flat:{network.nodes}"


def network_entry(network: Network | None) -> dict[str, Any] | None:
    """Return what a journal keeps of a network."""
    if network is None:
        return None
    return {"topology": network_text(network), **{name: getattr(network, name) for name in BANDWIDTHS[network.kind]}}


def from_entry(entry: Mapping[str, Any] | None) -> Network | None:
    """Return the network that a journal speaks of."""
    if entry is None:
        return None
    return parse_network(entry["topology"], {name: value for name, value in entry.items() if name != "topology"})
