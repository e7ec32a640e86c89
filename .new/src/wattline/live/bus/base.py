"""What a bus is: named topics, small messages, nobody waits for anybody."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Arrived(NamedTuple):
    """A message that came in."""

    topic: str
    payload: bytes
    sender: str
    """Who sent it as far as the wire knows: the name that belongs to the sender's key; empty where the wire knows no
    senders (then the topic's access list is what protects it).
    """


class Bus(Protocol):
    """A wire between agents and controllers. Sending never blocks: what cannot be sent is dropped and counted.

    A bus is for one thread. Connections are kept alive and made anew inside ``publish`` and ``poll``, so one of them
    must be called every few seconds. A sender does not rely on hearing itself.

    Topics are words parted by slashes, as in MQTT: ``wattline/SITE/status/NODE``, ``wattline/SITE/cap/NODE``.
    """

    def publish(self, topic: str, payload: bytes, *, keep: bool = False) -> bool:
        """Send a message to all who asked for its topic; return False when it was dropped.

        With ``keep`` somebody who asks for the topic later gets the last message at once, where the wire can do that.
        """

    def subscribe(self, prefix: str) -> None:
        """Ask for all topics that begin with these whole words."""

    def poll(self, timeout_s: float) -> list[Arrived]:
        """Return what has come in, waiting up to some seconds of the wall for the first message."""

    def counts(self) -> dict[str, int]:
        """Return how many messages were sent, received and dropped, by reason."""

    def close(self) -> None:
        """Let go of sockets and threads; twice is as good as once."""
