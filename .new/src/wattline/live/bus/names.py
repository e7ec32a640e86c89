"""Names and topics of a site, and who may write and read which of them."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Literal

from wattline.errors import InputError, shorten

Role = Literal["agent", "controller", "gateway", "operator"]
"""agent: one node · controller: leads a site, or stands by · gateway: brings signals · operator: a person at a terminal
(``wattline status``, ``wattline off``).
"""
ROLES: tuple[Role, ...] = ("agent", "controller", "gateway", "operator")

LONGEST_NAME = 63
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
"""Nothing in a name means anything to a file system, to MQTT or to a terminal."""


def checked_name(name: str, what: str = "name") -> str:
    """Return a name that is safe in topics and file names; refuse others in one line."""
    if not isinstance(name, str) or NAME.fullmatch(name) is None:
        raise InputError(
            f"{what}: expected 1 to {LONGEST_NAME} of the letters a-z, A-Z, digits, '.', '_' and '-', first a letter "
            f"or digit (got {shorten(name)})"
        )
    return name


@dataclass(frozen=True)
class Topics:
    """The topics of a site."""

    site: str

    def __post_init__(self) -> None:
        checked_name(self.site, "site")

    @property
    def root(self) -> str:
        """All of the site's topics begin with it."""
        return f"wattline/{self.site}"

    @property
    def off(self) -> str:
        """Everything is to be released."""
        return f"{self.root}/off"

    @property
    def signal(self) -> str:
        """What the grid asks for."""
        return f"{self.root}/signal"

    def status(self, node: str = "") -> str:
        """Return the topic on which a node tells how it is; without a node, that of all."""
        return self._of("status", node)

    def cap(self, node: str = "") -> str:
        """Return the topic on which a node is told its cap; without a node, that of all."""
        return self._of("cap", node)

    def gone(self, node: str = "") -> str:
        """Return the topic on which a broker tells that a node's agent is gone; without a node, that of all."""
        return self._of("gone", node)

    def writes(self, role: Role, name: str) -> tuple[str, ...]:
        """Return the topics that somebody may write: these words and whatever begins with them."""
        if role == "agent":
            return (self.status(name), self.gone(name))
        return {"controller": (self.root,), "gateway": (self.signal,), "operator": (self.off,)}[role]

    def reads(self, role: Role, name: str) -> tuple[str, ...]:
        """Return the topics that somebody may read: these words and whatever begins with them."""
        if role == "agent":
            return (self.cap(name), self.off)
        return (self.signal,) if role == "gateway" else (self.root,)

    def _of(self, what: str, node: str) -> str:
        return f"{self.root}/{what}/{checked_name(node, 'node')}" if node else f"{self.root}/{what}"


def under(prefix: str, topic: str) -> bool:
    """Tell whether a topic begins with these whole words."""
    return topic == prefix or topic.startswith(f"{prefix}/")


def nodes_of(text: str) -> list[str]:
    """Return the names that ``n[001-004,007],login`` stands for; a name without brackets stands for itself.

    >>> nodes_of("n[08-10],login")
    ['n08', 'n09', 'n10', 'login']
    """
    names: list[str] = []
    for part in re.split(r",(?![^\[\]]*\])", text):  # commas inside brackets part numbers
        names += _nodes_of(part.strip())
    return names


def _nodes_of(text: str) -> list[str]:
    found = re.fullmatch(r"([^\[\]]*)\[([0-9,-]+)\]([^\[\]]*)", text)
    if found is None:
        return [checked_name(text, "node")]
    names: list[str] = []
    for part in found[2].split(","):
        ends = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", part)
        first, last = (int(ends[1]), int(ends[2] or ends[1])) if ends else (1, 0)
        if ends is None or last < first or last - first >= MOST_NODES:
            raise InputError(f"nodes {shorten(text)}: expected numbers like [001-032,040] (got {shorten(part)})")
        names += [checked_name(f"{found[1]}{k:0{len(ends[1])}d}{found[3]}", "node") for k in range(first, last + 1)]
    return names


MOST_NODES = 100_000


def host_is_loopback(host: str) -> bool:
    """Tell whether a host is this machine, seen from inside."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
