"""Families by name and worlds by number: the same number gives the same world on every machine."""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

DEEP_EVERY = 64
"""One world in so many is deep: hundreds of jobs, which take as long as a hundred small ones."""

SEED_STRIDE = 10**12
"""Worlds of one seed: number ``seed * SEED_STRIDE`` and those behind it."""


class Family(Protocol):
    """What a module of this package offers as a family."""

    NAME: str

    def draw(self, rng: np.random.Generator, size: str) -> Any:
        """Return a random world."""

    def check(self, world: Any) -> str | None:
        """Return the first difference between engine and twin, or None."""

    def shrink(self, world: Any) -> Iterator[Any]:
        """Yield smaller worlds, the most drastic first."""


def family(name: str) -> Family:
    """Return a family by its name."""
    module: Any = importlib.import_module(f"differential.{name.replace('-', '_')}")
    return module


def size_of(number: int) -> str:
    """Return the size of a world by its number."""
    return "deep" if number % DEEP_EVERY == DEEP_EVERY - 1 else "small"


def world(source: Family, number: int) -> Any:
    """Return a family's world by its number, from a counter-based generator."""
    key = np.array([zlib.crc32(source.NAME.encode()), number], dtype=np.uint64)
    return source.draw(np.random.Generator(np.random.Philox(key=key)), size_of(number))


def verdict(source: Family, drawn: Any) -> str | None:
    """Return what ``check`` says, or what it raises, in one line."""
    try:
        return source.check(drawn)
    except Exception as problem:  # whatever is raised is a finding
        return f"raises {type(problem).__name__}: {' '.join(str(problem).split())}"


def policy_of(source: Family, drawn: Any) -> str:
    """Return the name that a world is counted under: its select policy, where it has one."""
    return str(getattr(drawn, "select", source.NAME))
