"""Quantities as people write them in scenario files: checked, turned into SI numbers, and named for messages and docs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from wattline.errors import InputError
from wattline.units import TIME_UNITS, duration_s, power_w


@dataclass(frozen=True)
class Words:
    """What a key takes, in words, for the reference."""

    text: str


def _quantity(parse: Callable[[Any], float]) -> BeforeValidator:
    def check(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise PydanticCustomError("quantity", "{text}", {"text": f"expected a number or text, got {value!r}"})
        try:
            found = parse(value)
        except InputError as problem:
            raise PydanticCustomError("quantity", "{text}", {"text": str(problem)}) from None
        if math.isnan(found) or found < 0:
            raise PydanticCustomError("quantity", "{text}", {"text": f"must not be negative, got {value!r}"})
        return found

    return BeforeValidator(check)


def rate_per_s(text: str | float) -> float:
    """Return events per second; a bare number is per second.

    >>> rate_per_s("30/h") == 30 / 3600, rate_per_s(0.5)
    (True, 0.5)
    """
    if isinstance(text, int | float):
        return float(text)
    number, slash, unit = (part.strip() for part in text.partition("/"))
    factor = TIME_UNITS.get(unit) if slash else 1.0
    try:
        count = float(number)
    except ValueError:
        factor = None
    if factor is None:
        raise InputError(f"expected a rate like '30/h' or a number per second, got {text!r}")
    return count / factor


def _off_or_power(text: str | float) -> float:
    return math.inf if text == "off" else power_w(text)


Power = Annotated[float, _quantity(power_w), Words('power, like `"350 W"` (a number is watts)')]
Limit = Annotated[float, _quantity(_off_or_power), Words('power, like `"12 MW"`, or `"off"`')]
Duration = Annotated[float, _quantity(duration_s), Words('duration, like `"15 min"` (a number is seconds)')]
Rate = Annotated[float, _quantity(rate_per_s), Words('rate, like `"30/h"` (a number is per second)')]
