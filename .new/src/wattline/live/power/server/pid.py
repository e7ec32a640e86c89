"""A PID of server power on package limits: bounded, without wind-up, quiet when its target or its reading is gone."""

from __future__ import annotations

import math
from dataclasses import dataclass

LONGEST_S = 5.0
"""Time between two steps that counts at most: after a pause one error must not be added up over all of it."""


@dataclass(frozen=True)
class Gains:
    """Watts of package limit for a watt of server power.

    The published controllers (P = 0.4 and P = 0.525, I = D = 0) add P times the error to the limit once a second: here
    that is ``ki`` = 0.4 or 0.525 a second.
    """

    kp: float = 0.0
    ki: float = 0.4
    """Per second."""
    kd: float = 0.0
    """Seconds."""


class Followed:
    """What a slow part makes of a value that changes by steps, and its mean since it was last asked for.

    Readings are means over a period in which the target has changed: they are compared with the mean of what a server
    with a lag would have drawn, not with the last target.
    """

    def __init__(self, lag_s: float) -> None:
        self.lag_s = lag_s
        self._goal = self._value = self._sum = math.nan
        self._time_s = self._since_s = math.nan

    def set(self, now_s: float, goal: float) -> None:
        """Go towards another value from now on (at once where there was none)."""
        self._advance(now_s)
        self._goal = goal
        if not (math.isfinite(self._value) and math.isfinite(goal)):
            self._value, self._sum, self._since_s = goal, 0.0, now_s

    def mean(self, now_s: float) -> float:
        """Return the mean since the last call; NaN where no time has passed or nothing is followed."""
        self._advance(now_s)
        passed_s = now_s - self._since_s
        mean = self._sum / passed_s if passed_s > 0.0 and math.isfinite(self._value) else math.nan
        self._sum, self._since_s = 0.0, now_s
        return mean

    def _advance(self, now_s: float) -> None:
        passed_s = now_s - self._time_s
        self._time_s = now_s
        if not passed_s > 0.0 or not math.isfinite(self._value):
            return
        off = self._value - self._goal
        if self.lag_s > 0.0:
            gone = -math.expm1(-passed_s / self.lag_s)
            self._sum += self._goal * passed_s + off * self.lag_s * gone
            self._value = self._goal + off * (1.0 - gone)
        else:
            self._sum += self._goal * passed_s
            self._value = self._goal


class Pid:
    """The controller.

    Parameters
    ----------
    gains
        Its gains.
    low, high
        Bounds of the output: what the hardware takes.
    reach
        How far the output may be from its ``lead``: a reading that lies cannot move it farther.
    target_weight
        How much of the target the proportional part sees. At 0 it sees the reading only, so that a step of the target
        does not make the output jump; 1 suits targets that are followed already as the plant follows (``Followed``).
    """

    def __init__(
        self,
        gains: Gains,
        low: float = 0.0,
        high: float = math.inf,
        *,
        reach: float = math.inf,
        target_weight: float = 0.0,
    ) -> None:
        self.gains, self.low, self.high, self.reach, self.target_weight = gains, low, high, reach, target_weight
        self.reset()

    def reset(self, output: float = math.nan) -> None:
        """Begin anew, with this output at the first step (NaN: with the lead)."""
        self._wanted = output
        self._begun = False
        self._integral = self._held = 0.0
        self._time_s = self._measured = math.nan

    def step(
        self,
        now_s: float,
        target: float,
        measured: float,
        *,
        lead: float = 0.0,
        may_rise: bool = True,
        may_fall: bool = True,
    ) -> float:
        """Return the output.

        Parameters
        ----------
        now_s, target, measured
            Time; what is wanted; what was read (NaN: nothing new, the output is held).
        lead
            What the output would be by a model; the controller corrects it.
        may_rise, may_fall
            Whether a higher or lower output would change anything. It would not where the server does not use what it
            has, or where the hardware holds another limit: nothing is added up then.
        """
        if not math.isfinite(measured) or not math.isfinite(target):
            self._measured = self._time_s = math.nan
            return self.held(lead)
        gains, passed_s = self.gains, now_s - self._time_s
        passed_s = min(passed_s, LONGEST_S) if passed_s > 0.0 else 0.0  # the first step, or a clock that went back
        error = target - measured
        if (error > 0.0 and not may_rise) or (error < 0.0 and not may_fall):
            error = 0.0
        proportional = gains.kp * (error if self.target_weight == 1.0 else self.target_weight * target - measured)
        self._held = 0.0 if self.target_weight == 1.0 else proportional
        if not self._begun:
            first = self._wanted if math.isfinite(self._wanted) else lead + proportional - self._held
            self._integral, self._begun = first - lead - proportional, True
        slope = (measured - self._measured) / passed_s if passed_s > 0.0 and math.isfinite(self._measured) else 0.0
        gained = gains.ki * error * passed_s
        before = lead + proportional + self._integral - gains.kd * slope
        after = before + gained
        bounded = self._bounded(lead, after)
        if (gained > 0.0 and after <= bounded) or (gained < 0.0 and after >= bounded):
            self._integral += gained
        elif gained and (before - bounded) * gained < 0.0:
            self._integral += bounded - before  # as far as the bound
        self._measured, self._time_s = measured, now_s
        return bounded

    def distrust(self) -> None:
        """Forget what raised the output: without readings nobody knows whether it still holds."""
        self._integral = min(self._integral, 0.0)

    def held(self, lead: float) -> float:
        """Return the output at another lead, with what was learned so far; no time passes."""
        return self._bounded(lead, lead + self._integral + self._held)

    def _bounded(self, lead: float, output: float) -> float:
        near = min(max(output, lead - self.reach), lead + self.reach)
        return min(max(near, self.low), self.high)
