"""A counter of energy as watts: it wraps around, and a value that makes no sense never becomes a power."""

from __future__ import annotations

import math

STUCK_S = 3.0
"""Seconds without a change after which a counter is taken for stuck; real ones change a thousand times a second."""


class EnergyCounter:
    """The last sound value of a counter and when it was read.

    Parameters
    ----------
    range_uj
        Where the counter begins again at 0 (microjoules).
    most_w
        More than the part can ever draw; a change that says more is no power.
    """

    def __init__(self, range_uj: int, most_w: float) -> None:
        self.range_uj = range_uj
        self.most_w = most_w
        self._uj = -1
        self._time_s = math.nan
        self._stuck = False

    def forget(self) -> None:
        """Begin anew: what came before is of no use."""
        self._uj = -1

    def take(self, uj: int, now_s: float) -> tuple[float, str]:
        """Return the mean watts since the last sound value, and the fault met ("": none).

        NaN where there is nothing to tell: at the first value, before the counter has moved, and after a fault.
        """
        if not 0 <= uj <= self.range_uj:
            self.forget()
            return math.nan, "garbage"
        if self._uj < 0:
            return self._begin(uj, now_s, "")
        passed_s = now_s - self._time_s
        if passed_s <= 0.0:
            return self._begin(uj, now_s, "clock")
        gained = uj - self._uj
        if gained == 0:
            self._stuck = passed_s >= STUCK_S
            return math.nan, "stuck" if self._stuck else ""
        if self._stuck:
            return self._begin(uj, now_s, "")  # what it missed meanwhile is not known
        if passed_s >= self.range_uj / 1e6 / self.most_w:
            return self._begin(uj, now_s, "gap")  # it may have wrapped around more than once
        wrapped = gained < 0
        if wrapped:
            gained += self.range_uj
        watts = gained / 1e6 / passed_s
        if watts > self.most_w:
            return self._begin(uj, now_s, "backwards" if wrapped else "jump")
        self._begin(uj, now_s, "")
        return watts, ""

    def _begin(self, uj: int, now_s: float, fault: str) -> tuple[float, str]:
        self._uj, self._time_s, self._stuck = uj, now_s, False
        return math.nan, fault
