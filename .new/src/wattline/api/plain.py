"""Values of a program: as a scenario can hold them, and as they were typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wattline.errors import InputError, one_line, shorten

MOST_BITS = 1000
"""Whole numbers with more are no floats either."""


MOST_DEPTH = 50
"""So deep may lists and tables lie in one another."""


def as_plain(value: Any, depth: int = 0) -> Any:
    """Return a value as a scenario can hold it: numbers and arrays of numpy as Python has them."""
    if depth > MOST_DEPTH:
        raise InputError(f"lists and tables lie more than {MOST_DEPTH} deep in one another")
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise InputError(f"a number of {value.bit_length():,} bits is no number of a scenario")
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InputError(f"{shorten(value)}: is not UTF-8 text, which no journal could hold") from None
    package = type(value).__module__.partition(".")[0]  # without loading packages for those who use none
    if package == "numpy" and hasattr(value, "tolist"):
        return value.tolist()
    if package in ("polars", "pandas"):
        if type(value).__name__ == "Series":
            return as_plain(value.to_list(), depth)
        raise InputError(f"expected what a scenario can hold, got a {type(value).__name__} of {package}")
    if isinstance(value, Mapping):
        return {as_plain(key): as_plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_plain(item, depth + 1) for item in value]
    return value


def require_names(who: str, keys: Mapping[Any, Any]) -> None:
    """Refuse keys of a scenario that are no texts."""
    for key in keys:
        if not isinstance(key, str):
            raise InputError(f"{who}: a key is a dotted name like 'cluster.nodes', got {shorten(key)}")


def in_python(name: str, value: Any) -> str:
    """Return an argument as it was typed in a program."""
    return f"{one_line(name)}={shorten(getattr(value, 'name', value), 200)}"
