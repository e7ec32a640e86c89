"""Times of plans: jobs that take no time follow each other within a second."""

from __future__ import annotations

import math

Time = tuple[float, int]
"""A time of the plan: seconds, and how many jobs of no length follow each other there before it."""

NEVER: Time = (math.inf, 0)


def until(start: Time, length: float) -> Time:
    """When a job is gone that begins at a time: in seconds, or (it takes none) when its instant is over."""
    return (start[0] + length, 0) if start[0] + length > start[0] else (start[0], start[1] + 1)
