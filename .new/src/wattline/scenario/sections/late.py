"""[late]: what the machine does later than it was told to, and how far its power is from what is known of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from wattline.errors import shorten
from wattline.model.lateness import Lateness
from wattline.scenario.read.base import Problem, Section
from wattline.scenario.read.quantities import Finite, Period, Span, Words
from wattline.wiring.options import Options

LONGEST_S = 3600.0
"""A machine that takes longer than this to obey is not late but broken, or the unit is mistaken."""

_SPAN: TypeAdapter[float] = TypeAdapter(Span)


def _delay(value: Any) -> tuple[float, float]:
    """Take a time, or the least and the most of a range of times."""
    ends = value if isinstance(value, list | tuple) else [value, value]
    if len(ends) != 2:
        told = f'expected a time or two, like "1 s" or ["0 s", "1 s"], got {shorten(value)}'
        raise PydanticCustomError("quantity", "{text}", {"text": told})
    try:
        least_s, most_s = (_SPAN.validate_python(end) for end in ends)
    except ValidationError as problem:
        raise PydanticCustomError("quantity", "{text}", {"text": problem.errors()[0]["msg"]}) from None
    if least_s > most_s:
        told = f"the first time must not be after the second, got {shorten(value)}"
        raise PydanticCustomError("quantity", "{text}", {"text": told})
    if most_s > LONGEST_S:
        raise PydanticCustomError("quantity", "{text}", {"text": f"must be at most an hour, got {shorten(value)}"})
    return least_s, most_s


Delay = Annotated[
    tuple[float, float],
    BeforeValidator(_delay),
    Words('duration, like `"0.5 s"`, or a range, like `["0 s", "1 s"]`, in which each is as likely'),
]


class LateSpec(Section):
    """What the machine does later than it was told to, and how far its power is from what is known of it.

    `wattline bid` searches and certifies with the same delays. What each key means exactly: docs/live/late.md.
    """

    start: Delay = Field((0.0, 0.0), description="from the order to start a job until it works; drawn for each start")
    cap: Delay = Field((0.0, 0.0), description="from setting caps until they are in force; drawn once a control pass")
    lag: Span = Field(
        0.0,
        le=LONGEST_S,
        description="time constant with which power follows a start or a cap; it is simulated as that much delay more",
    )
    noise: Finite = Field(
        0.0,
        ge=0,
        le=0.1,
        description="standard deviation of the whole machine's power, as a share of it; no policy sees it",
    )
    noise_every: Period = Field(1.0, le=LONGEST_S, description="time that a deviation lasts; the next is independent")


def check_late(spec: LateSpec | None, recaps: Collection[str]) -> Iterator[Problem]:
    """Yield delays that nothing can be simulated with; ``recaps``: cap policies that change configurations."""
    if spec is None:
        return
    if "noise_every" in spec.model_fields_set and spec.noise == 0:
        yield ("late", "noise_every"), "goes with noise, which is 0"
    if recaps and spec.cap[1] + spec.lag > 0:
        key = "cap" if spec.cap[1] > 0 else "lag"
        told = f"cap policy {min(recaps)!r} moves running jobs between configurations, at once: leave it out"
        yield ("late", key), told


def build_late(spec: LateSpec | None) -> Lateness:
    """Return how late the machine is."""
    if spec is None:
        return Lateness()
    lag = spec.lag
    return Lateness(
        (spec.start[0] + lag, spec.start[1] + lag), (spec.cap[0] + lag, spec.cap[1] + lag), spec.noise, spec.noise_every
    )


def add_late(options: Options, spec: LateSpec | None) -> Options:
    """Return options with how late the machine is."""
    return options if spec is None else replace(options, **build_late(spec).options())
