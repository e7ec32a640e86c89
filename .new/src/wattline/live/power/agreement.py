"""Whether two independent meters of a node agree; while they do not, the larger reading is believed."""

from __future__ import annotations

import math
from dataclasses import dataclass

LEAST_W = 10.0
"""Meters that differ by less agree: BMCs tell power in steps of up to 4 W."""


@dataclass(frozen=True)
class Trust:
    """When two meters are said to disagree."""

    share: float = 0.1
    """Part of the larger reading by which they may differ."""
    lasting_s: float = 30.0
    """For how long they must differ by more; and for how long by less, until they are believed again."""


class Agreement:
    """Compares two meters. A BMC is seconds behind: only what lasts counts."""

    def __init__(self, trust: Trust) -> None:
        self._trust = trust
        self.disagree = False
        self._since_s = math.nan

    def take(self, now_s: float, first_w: float, second_w: float) -> bool:
        """Note two readings (NaN: not known, says nothing); tell whether the meters disagree."""
        if math.isfinite(first_w) and math.isfinite(second_w):
            most_w = max(first_w, second_w)
            apart = abs(first_w - second_w) > max(self._trust.share * most_w, LEAST_W)
            if apart == self.disagree:
                self._since_s = math.nan
            elif not self._since_s <= now_s:  # the first such pair, or a clock that went back
                self._since_s = now_s
            elif now_s - self._since_s >= self._trust.lasting_s:
                self.disagree, self._since_s = apart, math.nan
        return self.disagree

    def believed_w(self, first_w: float, second_w: float) -> float:
        """Return the first reading, or the larger one while they disagree."""
        if self.disagree and math.isfinite(second_w):
            return max(first_w, second_w) if math.isfinite(first_w) else second_w
        return first_w
