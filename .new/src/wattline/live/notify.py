"""What systemd is told (sd_notify): that we are ready, still alive, and about to end. Without systemd, nobody is told.

The protocol is a datagram to the socket that ``NOTIFY_SOCKET`` names; ``WATCHDOG_USEC`` says how long we may be silent.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable, Iterable, Mapping


class Notify:
    """Tells the service manager of this process.

    A process of several parts (threads) is alive when all of them are: ``expect`` names them, each says ``alive``.
    """

    def __init__(
        self, environment: Mapping[str, str] | None = None, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        told = os.environ if environment is None else environment
        self._address = told.get("NOTIFY_SOCKET", "")
        self._monotonic = monotonic
        ours = told.get("WATCHDOG_PID", "") in ("", str(os.getpid()))
        given = told.get("WATCHDOG_USEC", "")
        self.every_s = int(given) / 1e6 / 3.0 if ours and given.isdecimal() and int(given) > 0 else 0.0
        """Seconds between signs of life: a third of what is allowed; 0 where nobody waits for them."""
        self._told_s = -self.every_s
        self._parts: frozenset[str] = frozenset()
        self._silent: set[str] = set()

    def ready(self, status: str) -> None:
        """Say that the service is up, and what it does."""
        self._send(f"READY=1\nSTATUS={_line(status)}")

    def expect(self, parts: Iterable[str]) -> None:
        """Wait for a sign of each of these parts from now on."""
        self._parts = frozenset(parts)
        self._silent = set(self._parts)

    def alive(self, part: str = "") -> None:
        """Say that (a part of) the process is at work; to be called in every turn of its loop."""
        if not self.every_s:
            return
        self._silent.discard(part)
        now_s = self._monotonic()
        if not self._silent and now_s >= self._told_s + self.every_s:
            self._told_s, self._silent = now_s, set(self._parts)
            self._send("WATCHDOG=1")

    def stopping(self) -> None:
        """Say that the service ends in an orderly way."""
        self._send("STOPPING=1")

    def _send(self, text: str) -> None:
        """Send it; a service manager that does not listen is none of our troubles."""
        if self._address[:1] not in ("/", "@"):
            return
        address = "\0" + self._address[1:] if self._address[0] == "@" else self._address
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wire:
            wire.settimeout(0.0)
            wire.sendto(text.encode(), address)


def _line(text: str) -> str:
    return " ".join(text.split())


_own: Notify | None = None


def notify() -> Notify:
    """Return this process's."""
    global _own
    if _own is None:
        _own = Notify()
    return _own
