"""Time of a machine: seconds since 1970 that never jump, for an emulated machine faster than the wall's."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from wattline.errors import InputError


@dataclass
class Clock:
    """A clock that starts with the wall's time and then goes on by the monotonic one: set clocks do not move it.

    Parameters
    ----------
    speed
        Machine seconds in a second of the wall: 1 on a real machine.
    origin_s
        Time (of the wall) at which machine time and the wall's are the same; processes that share a machine share it.
    wall, monotonic, rest
        Where time comes from and how it is waited for; tests give their own.
    """

    speed: float = 1.0
    origin_s: float = math.nan
    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    rest: Callable[[float], None] = time.sleep
    _began_s: float = field(init=False)
    _at: float = field(init=False)

    def __post_init__(self) -> None:
        if not (0.0 < self.speed < math.inf):
            raise InputError(f"clock.speed: machine seconds in a second, above 0, not {self.speed!r}")
        wall_s = self.wall()
        origin_s = wall_s if math.isnan(self.origin_s) else self.origin_s
        self._began_s = origin_s + (wall_s - origin_s) * self.speed
        self._at = self.monotonic()

    def now_s(self) -> float:
        """Return the machine's time: seconds since 1970 on a clock that is never set."""
        return self._began_s + (self.monotonic() - self._at) * self.speed

    def wall_jump_s(self) -> float:
        """Return by how many seconds the wall's clock was set since this one began (its drift included)."""
        expected_s = self._began_s + (self.monotonic() - self._at) * self.speed
        origin_s = self.origin_s if not math.isnan(self.origin_s) else self._began_s
        return (origin_s + (self.wall() - origin_s) * self.speed - expected_s) / self.speed

    def wait_until(self, time_s: float) -> None:
        """Wait until a time of the machine; return at once if it is over."""
        left_s = (time_s - self.now_s()) / self.speed
        if left_s > 0.0:
            self.rest(left_s)
