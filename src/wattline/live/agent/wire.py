"""Messages of an agent: caps and ``off`` as they come in, statuses as they go out. Nothing else knows their form."""

from __future__ import annotations

import json
import math
import secrets
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, Literal

from wattline.live.agent.lease import Cap
from wattline.live.bus.base import Arrived
from wattline.live.clock import Clock

VERSION, LARGEST = 1, 4096
AHEAD_S, OLDEST_S = 5.0, 10.0
"""How far ahead of our clock a message may be, and how old an ``off``; a cap may be as old as its lease is long."""


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
        self._root, self._clock = f"wattline/{site}", clock
        self._may = {"cap": frozenset(controllers), "off": frozenset((*controllers, *operators))}
        self._open = not controllers
        self._boot = secrets.token_hex(8)
        self._n = 0
        self._last: dict[str, tuple[str, int, float]] = {}
        self.dropped: Counter[str] = Counter()

    def topics(self, node: str) -> list[str]:
        """Return what a node subscribes to."""
        return [f"{self._root}/cap/{node}", f"{self._root}/off"]

    def take(self, arrived: Arrived) -> tuple[str, Cap] | Literal["off"] | None:
        """Return a cap and the node it is for, or "off"; None for all that was dropped, which is counted."""
        try:
            return self._checked(arrived)
        except _DroppedError as problem:
            self.dropped[str(problem)] += 1
            return None

    def status(self, node: str, body: Mapping[str, Any]) -> tuple[str, bytes]:
        """Return topic and payload of a status."""
        self._n += 1
        head = {"v": VERSION, "kind": "status", "from": node, "boot": self._boot, "n": self._n}
        head["at"] = round(self._clock.now_s(), 6)
        payload = json.dumps({**head, **body}, separators=(",", ":"), allow_nan=False).encode()
        return f"{self._root}/status/{node}", payload

    def _checked(self, arrived: Arrived) -> tuple[str, Cap] | Literal["off"]:
        what, _, node = arrived.topic.removeprefix(f"{self._root}/").partition("/")
        if len(arrived.payload) > LARGEST:
            raise _DroppedError("oversized")
        try:
            data = json.loads(arrived.payload.decode("utf-8"))
        except (ValueError, RecursionError):
            raise _DroppedError("malformed") from None
        if type(data) is not dict or type(data.get("v")) is not int:
            raise _DroppedError("malformed")
        if data["v"] != VERSION:
            raise _DroppedError("version")
        kind, sender = data.get("kind"), data.get("from")
        if kind not in ("cap", "off") or kind != what or bool(node) != (kind == "cap"):
            raise _DroppedError("unknown")
        if type(sender) is not str or (arrived.sender and arrived.sender != sender):
            raise _DroppedError("forged")
        if not self._open and sender not in self._may[kind]:
            raise _DroppedError("stranger")
        boot, n, at_s = data.get("boot"), data.get("n"), _number(data.get("at"))
        if type(boot) is not str or type(n) is not int:
            raise _DroppedError("malformed")
        cap = self._cap(data, at_s) if kind == "cap" else None
        self._fresh(sender, boot, n, at_s, OLDEST_S if cap is None else max(OLDEST_S, cap.lease_s))
        return "off" if cap is None else (node, cap)

    @staticmethod
    def _cap(data: Mapping[str, Any], at_s: float) -> Cap:
        term, cap_w = data.get("term"), data.get("cap_w", "")
        if type(term) is not int or term < 0:
            raise _DroppedError("malformed")
        return Cap(None if cap_w is None else _number(cap_w), _number(data.get("lease")), term, at_s)

    def _fresh(self, sender: str, boot: str, n: int, at_s: float, oldest_s: float) -> None:
        now_s = self._clock.now_s()
        if at_s > now_s + AHEAD_S:
            raise _DroppedError("future")
        if at_s + oldest_s < now_s:
            raise _DroppedError("stale")
        last_boot, last_n, last_at_s = self._last.get(sender, ("", -1, -math.inf))
        if n <= last_n if boot == last_boot else at_s <= last_at_s:
            raise _DroppedError("replayed")
        self._last[sender] = (boot, n, max(at_s, last_at_s))


class _DroppedError(Exception):
    """A message that is dropped, under this word."""


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not 0.0 <= value < math.inf:
        raise _DroppedError("malformed")
    return float(value)
