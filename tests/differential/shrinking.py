"""From a world that fails to the smallest one that still does, greedily, and how to print it as a test."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from itertools import chain, islice
from typing import Any

from differential.drawing import Family, verdict

SHRINK_S = 60.0
"""Seconds that shrinking may take."""

WIDTH = 110


def smallest(source: Family, world: Any, *, seconds: float = SHRINK_S) -> Any:
    """Return the smallest world found that fails in the same manner: by a difference, or by what is raised.

    A candidate that fails is taken at once, and the search goes on from the same place in the smaller world's list of
    candidates, then from the front, until no candidate of the list fails.
    """
    deadline = time.monotonic() + seconds
    manner = _manner(verdict(source, world))
    place = 0
    found = True
    while found:
        found = False
        for at, candidate in chain(_from(source, world, place), islice(_from(source, world, 0), place)):
            if time.monotonic() > deadline:
                return world
            told = verdict(source, candidate)
            if told is not None and _manner(told) == manner:
                world, place, found = candidate, at, True
                break
    return world


def _from(source: Family, world: Any, place: int) -> Iterator[tuple[int, Any]]:
    return islice(enumerate(source.shrink(world)), place, None)


def _manner(told: str | None) -> str:
    """Return how a world fails: what is raised, who gets stuck, or "" where a job differs."""
    if told is None or not told.startswith(("raises ", "the engine ")):
        return ""
    return told.split(":")[0]


# ------------------------------------------------------------------ what families shrink with


def fewer(count: int) -> Iterator[list[int]]:
    """Yield the rows to keep of ``count``: without a half, a quarter, … and without each single one; never none.

    The last rows go first: what happens early depends on fewer others.
    """
    piece = count
    while piece > 1:
        piece = (piece + 1) // 2
        for end in range(count, 0, -piece):
            kept = [*range(max(0, end - piece)), *range(end, count)]
            if kept:
                yield kept


def simpler(value: float) -> Iterator[float]:
    """Yield simpler numbers than a value: nothing, one, the next whole one, its half."""
    whole = math.floor(value)
    tried = {value}
    for other in (0, 1, whole, whole + 1, whole // 2, whole - 1):
        if other not in tried and (abs(other) < abs(value) or value != whole):
            tried.add(other)
            yield type(value)(other)


def each(rows: Sequence[Any], replace: Callable[[Any], Iterator[Any]]) -> Iterator[list[Any]]:
    """Yield the rows with one of them replaced by each of its simpler forms."""
    for i, row in enumerate(rows):
        for other in replace(row):
            yield [*rows[:i], other, *rows[i + 1 :]]


# ------------------------------------------------------------------ printing


def as_test(source: Family, world: Any, told: str, number: int | None = None) -> str:
    """Return a test, ready to paste, that fails as long as engine and twin differ on a world."""
    name = source.NAME.replace("-", "_")
    origin = f"_{number}" if number is not None else ""
    text = shown(world)
    lines = [
        f"def test_{name}_world{origin}() -> None:",
        f'    """{told}"""',
        f"    from differential.{name} import {type(world).__name__}, check",
        "",
        *f"world = {text}".splitlines(),
        "assert check(world) is None",
    ]
    if "inf" in text or "nan" in text:
        lines.insert(2, "    from math import inf, nan")
    head = 5 if lines[2].startswith("    from math") else 4
    return "\n".join([*lines[:head], *(f"    {line}" for line in lines[head:])])


def shown(world: Any) -> str:
    """Return the repr of a world over several lines: one a field, and one a row where a list is long."""
    lines = [f"{type(world).__name__}("]
    for field in fields(world):
        value = getattr(world, field.name)
        text = f"    {field.name}={value!r},"
        if len(text) > WIDTH and isinstance(value, list):
            text = "\n".join([f"    {field.name}=[", *(f"        {row!r}," for row in value), "    ],"])
        lines.append(text)
    return "\n".join([*lines, ")"])
