"""Run time over power under caps, as points: what a response to caps comes down to, and what the engine keeps of it."""

from __future__ import annotations

import math

from wattline.errors import InputError

Points = tuple[tuple[float, float], ...]
"""Power of a node in watts and run time over the uncapped one, from the lowest power up; between two points run time
is a straight line over power.
"""


class PointError(InputError):
    """A point that no response to caps can have: its number from 0, and which of its two values is wrong."""

    def __init__(self, problem: str, point: int = 0, field: str = "power_w") -> None:
        super().__init__(problem)
        self.point, self.field = point, field


def check_points(points: Points) -> None:
    """Refuse points that are no response: power must grow, run time fall, down to 1 at the highest power.

    One response may cost no time at all: its run times are all 1.
    """
    if not points:
        raise PointError("a response to caps needs at least one point")
    free = all(time == 1.0 for _, time in points)
    for i, (power_w, time) in enumerate(points):
        if not 0.0 <= power_w < math.inf:
            raise PointError(f"the power of a node must be a finite number of at least 0, got {power_w:g} W", i)
        if not 1.0 <= time < math.inf:
            raise PointError(f"a cap cannot make a job faster: run time × {time:g} at {power_w:g} W", i, "time")
        if i and not power_w > points[i - 1][0]:
            raise PointError(f"powers must grow from point to point: {power_w:g} W after {points[i - 1][0]:g} W", i)
        if i and not (time < points[i - 1][1] or free):
            told = f"more power must make a job faster: run time × {time:g} at {power_w:g} W"
            raise PointError(f"{told}, × {points[i - 1][1]:g} at {points[i - 1][0]:g} W", i, "time")
    if points[-1][1] != 1.0:
        raise PointError(f"run time at the highest power must be 1, got {points[-1][1]:g}", len(points) - 1, "time")
