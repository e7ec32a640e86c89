"""Powers that change by steps, ``[[time, power], …]``: parsed, checked, and laid out over a run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from wattline.errors import InputError
from wattline.scenario.read.base import KeyPath, Problem
from wattline.scenario.read.quantities import Words
from wattline.units import MOST_S, duration_s, in_full, power_w

Steps = list[Annotated[list[Any], Words("[time, power]")]]
"""Type of a key that holds steps."""

MOST_STEPS = 1_000_000
"""Steps of a repeated limit; more of them mean a mistaken unit."""


def parse_step(step: Sequence[Any]) -> tuple[float, float]:
    """Return a step of a changing power as seconds and watts."""
    if len(step) != 2 or not all(isinstance(part, str | int | float) for part in step):
        raise InputError(f"expected [time, power] like ['6 h', '8 MW'], got {step!r}")
    time, power = step
    time_s, watts = duration_s(time), math.inf if power == "off" else power_w(power)
    if not (0 <= time_s < math.inf and watts >= 0):
        raise InputError(f"time and power must be numbers that are not negative, got {step!r}")
    if time_s > MOST_S:
        raise InputError(f"at most {in_full(MOST_S)} s can be counted, got {step!r}")
    return time_s, watts


def check_steps(
    here: KeyPath, steps: Sequence[Sequence[Any]], repeat_s: float | None, *, no_off: str = ""
) -> Iterator[Problem]:
    """Yield what is wrong with steps; ``no_off`` says why none may be "off" (empty: it may)."""
    last_s = -1.0
    for i, step in enumerate(steps):
        try:
            time_s, watts = parse_step(step)
        except InputError as problem:
            yield (*here, i), str(problem)
            return
        if time_s <= last_s:
            yield (*here, i), "times must increase"
        if repeat_s is not None and time_s >= repeat_s:
            yield (*here, i), "comes after the steps begin anew (repeat)"
        if no_off and math.isinf(watts):
            yield (*here, i), no_off
        last_s = time_s


def lay_out(steps: Sequence[Sequence[Any]], repeat_s: float | None, until_s: float) -> list[tuple[float, float]]:
    """Return steps as (seconds, watts), repeated up to a time if that is asked for."""
    once = [parse_step(step) for step in steps]
    many = 1 if repeat_s is None or not once else rounds(repeat_s, until_s)
    if many * len(once) > MOST_STEPS:
        raise InputError(f"that would be {many * len(once):,} steps over this trace, more than {MOST_STEPS:,}")
    return [(i * (repeat_s or 0.0) + time_s, watts) for i in range(many) for time_s, watts in once]


def rounds(repeat_s: float, until_s: float) -> int:
    """Return how often steps that repeat up to a time are begun, and once more: a job that waits then sees all."""
    return max(1, math.ceil(until_s / repeat_s)) + 1
