"""Quantities, counts and names as people write them in scenario files: checked, in SI units, and named for messages and
docs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from wattline.errors import InputError, shorten, unfit_name
from wattline.units import MOST_S, TIME_UNITS, bandwidth_bps, bytes_per_s, duration_s, in_full, power_w

SEEDS = 2**53
"""Seeds below this differ as floats too, which is how policies see them."""

MOST = 1_000_000_000
"""Nodes, jobs, users or hours beyond this are a slip of the keyboard."""

SHORTEST_S = 1e-3
"""No control loop and no signal has shorter periods."""


@dataclass(frozen=True)
class Words:
    """What a key takes, in words, for the reference; and the SI unit of a number there."""

    text: str
    unit: str = ""


def _quantity(parse: Callable[[Any], float], least: float = 0.0, most_s: float = math.inf) -> BeforeValidator:
    def check(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise PydanticCustomError("quantity", "{text}", {"text": f"expected a number or text, got {value!r}"})
        try:
            found = parse(value)
        except InputError as problem:
            raise PydanticCustomError("quantity", "{text}", {"text": str(problem)}) from None
        if math.isnan(found):
            raise PydanticCustomError("quantity", "{text}", {"text": "must be a number, got nan"})
        if found < 0:
            raise PydanticCustomError("quantity", "{text}", {"text": f"must not be negative, got {value!r}"})
        if found < least:
            told = f"must be at least {in_full(least)} s, got {value!r}"
            raise PydanticCustomError("quantity", "{text}", {"text": told})
        if most_s < found < math.inf:
            told = f"at most {in_full(most_s)} s can be counted, got {_typed(value)}"
            raise PydanticCustomError("quantity", "{text}", {"text": told})
        return found

    return BeforeValidator(check)


def _typed(value: Any) -> str:
    """Return a value as a person writes it: text as it is, a number in full."""
    return in_full(value, 15) if isinstance(value, float) else shorten(value)


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


def _name(text: str) -> str:
    """Refuse a name that cannot be read in a table: empty, of several lines, or too long."""
    problem = unfit_name(text)
    if problem:
        raise PydanticCustomError("quantity", "{text}", {"text": problem})
    return text


def _folder_name(text: str) -> str:
    """Refuse a name that leads out of the folder of results."""
    if "/" in text or "\\" in text or text in (".", ".."):
        told = f"must be a name, not a path, got {shorten(text)}; [output] folder says where results go"
        raise PydanticCustomError("quantity", "{text}", {"text": told})
    return _name(text)


def _files(value: Any) -> str | list[str]:
    """Take the name of a file, or a list of names."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        told = f'expected text in "quotes" or a list of texts, like ["a.csv", "b.csv"], got {shorten(value)}'
        raise PydanticCustomError("quantity", "{text}", {"text": told})
    if not value:
        raise PydanticCustomError("quantity", "{text}", {"text": "the list is empty: name at least one file"})
    return value


def _off_or_power(text: str | float) -> float:
    return math.inf if text == "off" else power_w(text)


Power = Annotated[float, _quantity(power_w), Words('power, like `"350 W"` (a number is watts)', "W")]
Limit = Annotated[float, _quantity(_off_or_power), Words('power, like `"12 MW"`, or `"off"`', "W")]
Duration = Annotated[
    float, _quantity(duration_s, most_s=MOST_S), Words('duration, like `"15 min"` (a number is seconds)', "s")
]
Span = Annotated[Duration, Field(allow_inf_nan=False)]
"""A duration that ends."""
Period = Annotated[
    float,
    _quantity(duration_s, SHORTEST_S, MOST_S),
    Words('duration, like `"2 s"` (a number is seconds), at least 1 ms', "s"),
]
Rate = Annotated[float, _quantity(rate_per_s), Words('rate, like `"30/h"` (a number is per second)')]
Bandwidth = Annotated[
    float, _quantity(bandwidth_bps), Words('bandwidth, like `"8 Gbit/s"` (a number is bits per second)')
]
DataRate = Annotated[
    float, _quantity(bytes_per_s), Words('data rate, like `"500 MB/s"` (a number is bytes per second)')
]
Count = Annotated[int, Field(ge=1, le=MOST)]
Seed = Annotated[int, Field(ge=0, lt=SEEDS)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Name = Annotated[str, AfterValidator(_name)]
Files = Annotated[str | list[str], BeforeValidator(_files), Words("path of a file, or a list of paths")]
FolderName = Annotated[str, AfterValidator(_folder_name)]
