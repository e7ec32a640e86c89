"""What comes in and what does not: each message is checked against topic, sender, order and clock; the rest is counted.

Reasons to drop: ``oversized``, ``malformed``, ``version``, ``unknown`` (kind or topic), ``forged`` (topic, ``from`` and
the wire's sender do not agree), ``stranger`` (a name that nobody gave), ``replayed`` (seen before, out of order, or of
an earlier start), ``stale``, ``future``, ``crowded`` (too many senders).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from wattline.live.bus.base import Arrived
from wattline.live.bus.messages import LARGEST, LONGEST_LEASE_S, BadMessageError, Message, decode
from wattline.live.bus.names import Topics
from wattline.live.clock import Clock

REASONS = (
    "oversized",
    "malformed",
    "version",
    "unknown",
    "forged",
    "stranger",
    "replayed",
    "stale",
    "future",
    "crowded",
)
SENDERS = 10_064
"""Senders that are remembered: ten thousand nodes and those who lead them."""


@dataclass(slots=True)
class _Last:
    """The last message of a sender, and until when an older one could pass for a fresh one."""

    boot: str
    n: int
    at_s: float
    until_s: float
    gone: bool = False


class Inbox:
    """Lets messages through that are fresh and from whom they say.

    Parameters
    ----------
    topics, clock
        Of the site.
    nodes
        Names from which statuses are taken; None: any.
    controllers, operators, gateways
        Names from which caps are taken (controllers alone), ``off`` (operators too) and signals (gateways too). Without
        controllers: from any whom the wire lets write there.
    oldest_s, ahead_s
        How old a message may be, and how far ahead of our clock, in machine seconds. A cap may be as old as its lease
        is long.
    senders
        How many are remembered. One that could not be told from a replay any more is forgotten when room is needed.
    """

    def __init__(
        self,
        topics: Topics,
        clock: Clock,
        *,
        nodes: Collection[str] | None = None,
        controllers: Collection[str] | None = None,
        operators: Collection[str] = (),
        gateways: Collection[str] = (),
        oldest_s: float = 10.0,
        ahead_s: float = 5.0,
        senders: int = SENDERS,
    ) -> None:
        self._clock, self._root = clock, f"{topics.root}/"
        told = None if nodes is None else frozenset(nodes)
        self._may: dict[str, frozenset[str] | None] = {"status": told, "gone": told}
        for kind, others in (("cap", ()), ("off", operators), ("signal", gateways)):
            self._may[kind] = None if controllers is None else frozenset((*controllers, *others))
        self._oldest_s, self._ahead_s, self._room = oldest_s, ahead_s, senders
        self._last: dict[str, _Last] = {}
        self._swept_s = -1.0
        self._counts: dict[str, int] = dict.fromkeys(("accepted", *REASONS), 0)

    def take(self, arrived: Arrived) -> Message | None:
        """Return a message, or None if it was dropped."""
        try:
            message = self._checked(arrived, self._clock.now_s())
        except BadMessageError as problem:
            self._counts[problem.reason] += 1
            return None
        self._counts["accepted"] += 1
        return message

    def take_all(self, arrived: Iterable[Arrived]) -> list[Message]:
        """Return those that were not dropped, in order."""
        return [message for message in map(self.take, arrived) if message is not None]

    def counts(self) -> dict[str, int]:
        """Return how many were accepted and how many dropped, by reason."""
        return dict(self._counts)

    def __len__(self) -> int:
        """How many senders are remembered."""
        return len(self._last)

    def _checked(self, arrived: Arrived, now_s: float) -> Message:
        if len(arrived.payload) > LARGEST:
            raise BadMessageError("oversized", "too many bytes")
        if not arrived.topic.startswith(self._root):
            raise BadMessageError("unknown", "topic of another site")
        what, _, node = arrived.topic[len(self._root) :].partition("/")
        message = decode(arrived.payload)
        if message.kind != what:
            raise BadMessageError("forged" if what in _KINDS else "unknown", "topic of another kind")
        self._whose(message, node, arrived.sender)
        self._when(message, now_s)
        self._order(message, now_s)
        return message

    def _whose(self, message: Message, node: str, wire: str) -> None:
        sender = message.sender
        if wire and wire != sender:
            raise BadMessageError("forged", "another sender's key")
        if message.kind in {"status", "gone"}:
            if node != sender:
                raise BadMessageError("forged", "another node's topic")
        elif bool(node) != (message.kind == "cap"):
            raise BadMessageError("unknown", "no such topic")
        known = self._may[message.kind]
        if known is not None and sender not in known:
            raise BadMessageError("stranger", "nobody gave that name")

    def _when(self, message: Message, now_s: float) -> None:
        if message.at_s > now_s + self._ahead_s:
            raise BadMessageError("future", "ahead of our clock")
        if message.kind == "gone":  # a broker keeps it from the sender's first second on
            return
        lasts_s = max(self._oldest_s, message.body["lease"]) if message.kind == "cap" else self._oldest_s
        if message.at_s + lasts_s < now_s:
            raise BadMessageError("stale", "too old")

    def _order(self, message: Message, now_s: float) -> None:
        last = self._last.get(message.sender)
        if message.kind == "gone":
            if last is None or last.boot != message.boot or last.gone:
                raise BadMessageError("replayed", "not of this start")
            last.gone = True
            return
        horizon_s = LONGEST_LEASE_S if message.kind == "cap" else self._oldest_s
        until_s = message.at_s + horizon_s + self._ahead_s
        if last is None:
            if len(self._last) >= self._room:
                self._sweep(now_s)
            self._last[message.sender] = _Last(message.boot, message.n, message.at_s, until_s)
            return
        if message.n <= last.n if message.boot == last.boot else message.at_s <= last.at_s:
            raise BadMessageError("replayed", "not newer")
        last.boot, last.n, last.gone = message.boot, message.n, False
        last.at_s = max(last.at_s, message.at_s)
        last.until_s = max(last.until_s, until_s)

    def _sweep(self, now_s: float) -> None:
        """Forget senders whose old messages are too old by now; look at most once a second."""
        if not self._swept_s <= now_s < self._swept_s + 1.0:
            self._swept_s = now_s
            self._last = {name: last for name, last in self._last.items() if last.until_s >= now_s}
        if len(self._last) >= self._room:
            raise BadMessageError("crowded", "too many senders")


_KINDS = frozenset({"status", "cap", "off", "signal", "gone"})
