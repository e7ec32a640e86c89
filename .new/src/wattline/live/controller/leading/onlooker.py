"""The bus of a dry run: it hears what the leader hears and sends nothing; where nobody leads, it listens itself."""

from __future__ import annotations

import time
from collections.abc import Callable

from wattline.errors import InputError
from wattline.live.bus.base import Arrived, Bus

LOOK_S = 0.5
"""Seconds of the wall after which it is looked again whether somebody leads."""


class Onlooker:
    """A bus beside the leader's.

    Agents come to an address where the leader listens. While somebody leads, an onlooker hears them through him;
    otherwise it takes the address until somebody comes to lead, and then lets go of it.

    Parameters
    ----------
    is_led
        Tells whether somebody leads.
    beside, instead
        Open a bus through the leader, and one at the leader's address.
    """

    def __init__(self, is_led: Callable[[], bool], beside: Callable[[], Bus], instead: Callable[[], Bus]) -> None:
        self._is_led, self._beside, self._instead = is_led, beside, instead
        self._prefixes: list[str] = []
        self._bus: Bus | None = None
        self._through = False
        self._look_s = -1.0
        self._turn()

    def publish(self, topic: str, payload: bytes, *, keep: bool = False) -> bool:  # noqa: ARG002
        """Send nothing."""
        return False

    def subscribe(self, prefix: str) -> None:
        """Ask for all topics that begin with these whole words."""
        self._prefixes.append(prefix)
        if self._bus is not None:
            self._bus.subscribe(prefix)

    def poll(self, timeout_s: float) -> list[Arrived]:
        """Return what has come in."""
        self._turn()
        return [] if self._bus is None else self._bus.poll(timeout_s)

    def counts(self) -> dict[str, int]:
        """Return how many messages were received and dropped."""
        return {} if self._bus is None else self._bus.counts()

    def close(self) -> None:
        """Let go of it."""
        if self._bus is not None:
            self._bus.close()

    def _turn(self) -> None:
        """Go over to the leader's bus, or away from it, when that has changed."""
        now_s = time.monotonic()
        if now_s < self._look_s:
            return
        self._look_s = now_s + LOOK_S
        led = self._is_led()
        if self._bus is not None and led == self._through:
            return
        self.close()
        self._bus, self._through = None, led
        try:
            self._bus = self._beside() if led else self._instead()
        except InputError as problem:
            if led or "in use" not in str(problem):
                raise
            return  # the address is not free yet
        for prefix in self._prefixes:
            self._bus.subscribe(prefix)
