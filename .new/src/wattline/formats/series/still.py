"""Stretches in which a signal stands still because it was missing, and the last value was held or put in for it.

A regulation signal moves. It rests at its ends, and some rest in the middle while nothing is asked: such levels it
comes back to. A value that it holds for more than a minute, and at which it hardly ever rests otherwise, is none of
them. Nor is the value of a signal that never moves, whatever it is: that is no signal, and all of it is missing.
"""

from __future__ import annotations

import numpy as np

from wattline.arrays import Floats

LEAST = 15
"""Steps in which nothing moves, at least: of values that come seldom, or are rounded, some are equal by chance."""
LEVEL = 3
"""A value at which the signal rests so often is a level of it."""


def held(values: Floats, step_s: float, longest_s: float) -> list[tuple[float, float]]:
    """Return the stretches, in seconds from the first value on, in which a value is held for longer than so many."""
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    if first.size < 2:
        return [(0.0, values.size * step_s)] if values.size * step_s > longest_s else []
    after = np.append(first[1:], values.size)
    steps = after - first - 1
    rests = first[steps >= LEAST]
    level, times = np.unique(values[rests], return_counts=True)
    levels = level[(times >= LEVEL) | (np.abs(level) >= 1.0)]
    long = (steps >= LEAST) & (steps * step_s > longest_s * (1 + 1e-9)) & ~np.isin(values[first], levels)
    return [((i + 1) * step_s, j * step_s) for i, j in zip(first[long].tolist(), after[long].tolist(), strict=True)]
