"""The last word before power is asked for: a limit that measured power is held against, and ramps."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

FOLLOWS_S = 3.0
"""Time within which measured power follows the model: readings of that age may belong to the model before."""
OVERDO = 1.5
"""Above the limit so much more is taken than is missing: nodes that do not obey draw no less when caps fall, so that
what the machine draws more than the model grows with it.
"""


@dataclass(frozen=True)
class GuardRules:
    """Hard rules of a site; watts and seconds of the machine."""

    hard_w: float = math.inf
    """The machine never draws more, whatever signals and schedules say."""
    margin_w: float = 0.0
    """Watts that are kept free below every limit."""
    ramp_up_w_per_s: float = math.inf
    ramp_down_w_per_s: float = math.inf
    """How fast a target may rise and fall; a limit that falls is obeyed at once."""
    trust_s: float = 30.0
    """Time over which measured minus modelled power is averaged."""


@dataclass
class Guard:
    """Turns limits and targets that are asked for into those that the state is told.

    The limit is lowered by what the machine draws more than the model says: the model decides, the meter is right.
    What is learned is an average, as long as the limit is kept; above it what is measured counts at once.
    """

    rules: GuardRules = field(default_factory=GuardRules)
    excess_w: float = 0.0
    """Measured minus modelled power, averaged."""
    last_target_w: float = math.nan
    outside_w: float = 0.0
    """Drawn by nodes that the model does not count: those out of service."""
    _recent: deque[tuple[float, float]] = field(default_factory=deque)
    _since_s: float = math.nan
    _target_s: float = math.nan

    def compare(self, now_s: float, measured_w: float, modelled_w: float, asked_w: float = math.inf) -> None:
        """Note what the machine draws, what the model says, and the limit that was asked for."""
        self._recent.append((now_s, modelled_w))
        while self._recent[0][0] < now_s - FOLLOWS_S:
            self._recent.popleft()
        if math.isnan(measured_w):
            return
        drawn_w = measured_w - self.outside_w
        least_w, most_w = (drawn_w - pick(w for _, w in self._recent) for pick in (max, min))
        excess_w = min(max(self.excess_w, least_w), most_w)  # it stays where both would explain what is measured
        passed_s = 0.0 if math.isnan(self._since_s) else max(0.0, now_s - self._since_s)
        self._since_s = now_s
        over = measured_w > min(asked_w, self.rules.hard_w) - self.rules.margin_w
        weight = OVERDO if over and excess_w > self.excess_w else 1.0 - math.exp(-passed_s / self.rules.trust_s)
        self.excess_w += weight * (excess_w - self.excess_w)

    def limit_w(self, asked_w: float) -> float:
        """Return the limit for the model."""
        hard_w = min(asked_w, self.rules.hard_w)
        if hard_w == math.inf:
            return math.inf
        return max(0.0, hard_w - self.rules.margin_w - self.outside_w - max(0.0, self.excess_w))

    def target_w(self, now_s: float, asked_w: float) -> float:
        """Return the target within the ramps, and never above the hard limit."""
        if math.isnan(asked_w):
            self.last_target_w = math.nan
            return math.nan
        wanted_w = min(asked_w, self.rules.hard_w - self.rules.margin_w)
        last_w = self.last_target_w
        if not math.isnan(last_w) and not math.isnan(self._target_s):
            dt_s = max(0.0, now_s - self._target_s)
            wanted_w = min(wanted_w, last_w + self.rules.ramp_up_w_per_s * dt_s)
            wanted_w = max(wanted_w, last_w - self.rules.ramp_down_w_per_s * dt_s)
        self.last_target_w, self._target_s = wanted_w, now_s
        return wanted_w
