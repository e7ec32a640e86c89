"""Networks: which router a node hangs on, which group a router belongs to, and which links there are.

A file here is a kind of network (``base.py`` apart): it holds ``NETWORK``, a subclass of ``base.Network`` whose
``kind`` is the name of the file. ``parse_network`` finds it by that name.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wattline.errors import InputError, did_you_mean, shorten

if TYPE_CHECKING:
    from wattline.model.networks.base import Network

__all__ = ["KINDS", "find_network", "from_entry", "network_entry", "network_text", "parse_network"]

KINDS = tuple(found.name.replace("_", "-") for found in pkgutil.iter_modules(__path__) if found.name != "base")
"""The kinds of network."""


def find_network(kind: str) -> type[Network]:
    """Return the class of a kind of network."""
    found: type[Network] = importlib.import_module(f"{__name__}.{kind.replace('-', '_')}").NETWORK
    return found


def parse_network(text: str, bandwidths: Mapping[str, float] | None = None) -> Network:
    """Return the network that a text means, like ``dragonfly:4x4x17``: for flags, scenario files and journals.

    Parameters
    ----------
    text
        Kind and sizes; a word may follow where a kind has variants: ``dragonfly:4x4x17:circulant``.
    bandwidths
        Bits per second by the names of ``Network.bandwidths``.

    >>> [parse_network(text).nodes for text in ("dragonfly:4x8x33", "fat-tree:16x20x8", "flat:9")]
    [1056, 320, 9]
    """
    kind, _, rest = text.strip().partition(":")
    if kind not in KINDS:
        raise InputError(f"unknown network {shorten(text)}{did_you_mean(kind, KINDS)} (like dragonfly:4x4x17)")
    found = find_network(kind)
    sizes, _, variant = rest.partition(":")
    numbers = re.findall(r"\d+", sizes)
    room = range(len(found.sizes), len(found.sizes) + len(found.further) + 1)
    if not re.fullmatch(r"\s*\d+(\s*[x×]\s*\d+)*\s*", sizes) or len(numbers) not in room:
        raise InputError(f"a {kind} is written {found.form()}; got {shorten(text)}")
    if variant and not found.variants:
        raise InputError(_no_variant(text))
    given = dict(bandwidths or {})
    for name in given:
        if name not in found.bandwidths:
            known = ", ".join(_short(n) for n in found.bandwidths) or "none"
            raise InputError(f"a {kind} has no bandwidth {_short(name)!r}; it has: {known}")
    return found.of([int(number) for number in numbers], variant or next(iter(found.variants), ""), given)


def _no_variant(text: str) -> str:
    """Return the error for a word after a network that has no variants."""
    having = [find_network(kind) for kind in KINDS]
    known = " or ".join(f"a {found.kind} ({', '.join(found.variants)})" for found in having if found.variants)
    return f"only the sizes of {known} may be followed by a word; got {shorten(text)}"


def _short(name: str) -> str:
    """Return the name of a bandwidth as people write it."""
    return name.removesuffix("_bps")


def network_text(network: Network) -> str:
    """Return a network as ``parse_network`` reads it, without bandwidths.

    >>> network_text(parse_network("dragonfly:4x4x17:relative")), network_text(parse_network("fat-tree:16x20x8"))
    ('dragonfly:4x4x17:relative', 'fat-tree:16x20x8')
    """
    plain = f"{network.kind}:{'x'.join(str(size) for size in network.numbers)}"
    return plain if network.variant in ("", *network.variants[:1]) else f"{plain}:{network.variant}"


def network_entry(network: Network | None) -> dict[str, Any] | None:
    """Return what a journal keeps of a network."""
    if network is None:
        return None
    return {"topology": network_text(network), **{name: getattr(network, name) for name in network.bandwidths}}


def from_entry(entry: Mapping[str, Any] | None) -> Network | None:
    """Return the network that a journal speaks of."""
    if entry is None:
        return None
    return parse_network(entry["topology"], {name: value for name, value in entry.items() if name != "topology"})
