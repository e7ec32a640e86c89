"""A family whose twin is wrong on purpose, and which needs no engine: what is found must be shrunk and printed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from differential.shrinking import each, fewer, simpler

NAME = "toy"


@dataclass(frozen=True)
class World:
    """Some numbers."""

    numbers: list[int]
    select: str = "sum"


def draw(rng: np.random.Generator, size: str) -> World:
    """Return a random world."""
    return World([int(x) for x in rng.integers(0, 1000, 200 if size == "deep" else 8)])


def check(world: World) -> str | None:
    """Add the numbers up; the twin forgets every number above 990."""
    right, wrong = sum(world.numbers), sum(x for x in world.numbers if x <= 990)
    return None if right == wrong else f"the sum is {right}, twin {wrong}"


def shrink(world: World) -> Iterator[World]:
    """Yield fewer and simpler numbers."""
    for kept in fewer(len(world.numbers)):
        yield replace(world, numbers=[world.numbers[i] for i in kept])
    for numbers in each(world.numbers, simpler):
        yield replace(world, numbers=[int(x) for x in numbers])
