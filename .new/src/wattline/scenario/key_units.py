"""Which keys of a scenario are powers and durations, and their values as people write them."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

from wattline.errors import InputError
from wattline.scenario.read.forms import fields_of, sections_of
from wattline.scenario.read.quantities import Words
from wattline.scenario.spec import Spec
from wattline.units import read_quantity, write_quantity

_PLACE = re.compile(r"\[[^\]]*\]|\.\d+(?=\.|$)")
"""A place in a list of tables: ``class[fat]``, ``class.0``."""


def unit_of(dotted: str) -> str:
    """Return the SI unit of numbers of a key: "W", "s", or "" where it is neither.

    >>> unit_of("limit.power"), unit_of("cluster.sleep.after"), unit_of("cluster.class[fat].idle"), unit_of("seed")
    ('W', 's', 'W', '')
    """
    return _units().get(_PLACE.sub("", dotted), "")


def si_value(dotted: str, value: Any) -> float | None:
    """Return a power or duration in SI units, however it is written; None for what is neither.

    >>> si_value("limit.power", "30kW"), si_value("limit.power", "off"), si_value("trace.load", 0.8)
    (30000.0, None, None)
    """
    unit = unit_of(dotted)
    if not unit or isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    try:
        return read_quantity(value, unit)
    except InputError:
        return None


def as_written(dotted: str, value: Any) -> Any:
    """Return a value with numbers of powers and durations as people write them; each reads back as the same number.

    >>> as_written("limit.power", ["off", 28000.0]), as_written("cluster", {"nodes": 4, "sleep": {"after": 600.0}})
    (['off', '28 kW'], {'nodes': 4, 'sleep': {'after': '10 min'}})
    """
    if isinstance(value, Mapping):
        return {key: as_written(f"{dotted}.{key}".strip("."), inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_written(dotted, inner) for inner in value]
    unit = unit_of(dotted)
    if not unit or isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    return write_quantity(float(value), unit)


def in_one_way(dotted: str, value: Any) -> Any:
    """Return a value in one way of writing it, whichever way it was written in: powers and durations by their units.

    >>> in_one_way("limit.power", "30000 W"), in_one_way("limit.power", 30000), in_one_way("limit.power", "off")
    ('30 kW', '30 kW', 'off')
    """
    number = si_value(dotted, value)
    return value if number is None else as_written(dotted, number)


@functools.cache
def _units() -> dict[str, str]:
    return {
        ".".join((*path, key)): unit
        for path, _, model in sections_of(Spec)
        for key, info in fields_of(model).items()
        if (unit := _unit([*info.metadata, info.annotation]))
    }


def _unit(parts: Any) -> str:
    """Return the unit that the words of a type name, those of its parts included."""
    for part in parts:
        found = part.unit if isinstance(part, Words) else _unit(_inside(part))
        if found:
            return str(found)
    return ""


def _inside(annotation: Any) -> tuple[Any, ...]:
    """Return the alternatives of a type, and what it is annotated with; a list or table of powers is none."""
    return () if get_origin(annotation) in (None, list, dict, tuple, Literal) else get_args(annotation)
