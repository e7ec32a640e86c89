"""Messages of an agent: caps and ``off`` as they come in, statuses as they go out. Nothing else knows their form."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

from wattline.live.agent.lease import Cap
from wattline.live.bus.base import Arrived
from wattline.live.bus.inbox import Inbox
from wattline.live.bus.messages import Outbox
from wattline.live.bus.names import Topics
from wattline.live.clock import Clock


class Wire:
    """The bus as one agent sees it.

    Parameters
    ----------
    site
        First word of all topics after ``wattline``.
    clock
        The machine's.
    controllers, operators
        Names from which caps are taken (controllers alone) and ``off`` (operators too); without controllers: from all
        whom the wire lets write there.
    """

    def __init__(
        self, site: str, clock: Clock, controllers: Collection[str] = (), operators: Collection[str] = ()
    ) -> None:
        self._topics, self._clock = Topics(site), clock
        self._inbox = Inbox(self._topics, clock, controllers=controllers or None, operators=operators)
        self._out: dict[str, Outbox] = {}

    def topics(self, node: str) -> list[str]:
        """Return what a node subscribes to."""
        return [self._topics.cap(node), self._topics.off]

    def take(self, arrived: Arrived) -> tuple[str, Cap] | Literal["off"] | None:
        """Return a cap and the node it is for, or "off"; None for all that was dropped, which is counted."""
        message = self._inbox.take(arrived)
        if message is None or message.kind not in ("cap", "off"):
            return None
        if message.kind == "off":
            return "off"
        body = message.body
        cap = Cap(body["cap_w"], float(body["lease"]), body["term"], message.at_s)
        return arrived.topic.rpartition("/")[2], cap

    @property
    def dropped(self) -> dict[str, int]:
        """How many messages were dropped, by reason."""
        return {word: count for word, count in self._inbox.counts().items() if count and word != "accepted"}

    def status(self, node: str, body: Mapping[str, Any]) -> tuple[str, bytes]:
        """Return topic and payload of a status."""
        return self._topics.status(node), self._outbox(node).encode("status", body)

    def will(self, node: str) -> tuple[str, bytes]:
        """Return what a broker is to say when a node's agent dies; it is of the same start as the agent's statuses."""
        return self._outbox(node).will(self._topics)

    def _outbox(self, node: str) -> Outbox:
        if node not in self._out:
            self._out[node] = Outbox(node, self._clock)
        return self._out[node]
