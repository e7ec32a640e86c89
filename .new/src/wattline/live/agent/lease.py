"""What an agent was lent: a cap for a time, within bounds of its own; afterwards the safe cap."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Mode = Literal["led", "safe", "free"]
BACK_S = 1.0
"""A clock that goes back by more ends every lease: nobody knows how long it lasts."""


@dataclass(frozen=True)
class Cap:
    """A cap as a controller sends it."""

    cap_w: float | None
    """Watts of the server; None: no cap but the node's own bound."""
    lease_s: float
    term: int
    at_s: float
    """When it was sent."""


class Lease:
    """The one cap in force on a node, and until when."""

    def __init__(self, *, safe_w: float, min_w: float, max_w: float, longest_s: float, mode: Mode = "safe") -> None:
        self.safe_w, self.min_w, self.max_w, self.longest_s = safe_w, min_w, max_w, longest_s
        self.mode: Mode = mode
        self.term = 0
        self._released_term = -1
        self._cap_w: float | None = None
        self._taken_s = self._until_s = -math.inf

    def take(self, cap: Cap, now_s: float) -> tuple[bool, str]:
        """Take a cap; tell whether it is in force now, and the word for what was wrong with it ("": nothing)."""
        if cap.term < self.term:
            return False, "cap-old-term"
        if cap.term <= self._released_term:
            return False, "cap-after-off"
        left_s = min(cap.lease_s, self.longest_s) - max(0.0, now_s - cap.at_s)
        if not left_s > 0.0:
            return False, "cap-stale"
        self.term, self.mode = cap.term, "led"
        self._taken_s, self._until_s = now_s, now_s + left_s
        wanted_w = self.max_w if cap.cap_w is None else cap.cap_w
        self._cap_w = min(max(wanted_w, self.min_w), self.max_w)
        return True, "" if self._cap_w == wanted_w else "cap-clipped"

    def expire(self, now_s: float) -> bool:
        """Tell whether the lease has just ended; from then on the safe cap is in force."""
        if self.mode != "led" or self._taken_s - BACK_S <= now_s < self._until_s:
            return False
        self.mode = "safe"
        return True

    def release(self) -> None:
        """Let go of everything (``wattline off``): no cap until a controller with a higher term comes."""
        self.mode, self._released_term, self._until_s = "free", self.term, -math.inf

    @property
    def until_s(self) -> float:
        """When the lease ends; infinite without one."""
        return self._until_s if self.mode == "led" else math.inf

    def left_s(self, now_s: float) -> float:
        """Return how long the lease lasts (0: there is none)."""
        return max(0.0, self._until_s - now_s) if self.mode == "led" else 0.0

    def cap_w(self) -> float:
        """Return the cap in force in watts of the server; NaN without one."""
        if self.mode == "free":
            return math.nan
        return self._cap_w if self.mode == "led" and self._cap_w is not None else self.safe_w
