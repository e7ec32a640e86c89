"""Numbers as JSON can have them: it knows neither NaN nor the infinities."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any


def to_finite(value: Any) -> Any:
    """Return plain data with None for every number that is not finite: nothing known, no limit, no end.

    Dataclasses become dictionaries of their fields.

    >>> to_finite({"limit_w": math.inf, "rows": [(0.0, math.nan)]})
    {'limit_w': None, 'rows': [[0.0, None]]}
    """
    kind = type(value)
    if kind is str or kind is int:  # nearly all there is, and logs may have a million users
        return value
    if kind is float:
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: to_finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_finite(inner) for inner in value]
    if is_dataclass(kind):
        return {name: to_finite(getattr(value, name)) for name in _names(kind)}
    return None if isinstance(value, float) and not math.isfinite(value) else value


@cache
def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
