"""Results as plain data and back: numbers to the last bit, arrays, and records of this package, by the names of their
fields.

Nothing is run when they are read: a class is named, must be a record of this package, and is filled field by field.
"""

from __future__ import annotations

import base64
import dataclasses
import importlib
import math
from typing import Any

import numpy as np

from wattline.model.names import Names

_PACKAGE = __name__.partition(".")[0]
_ARRAYS = "biufc"
"""Kinds of array that are bytes and nothing else."""


def to_plain(value: Any) -> Any:
    """Return a result as JSON can have it; what is not known is a ``TypeError``."""
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"f": repr(value)}
    if type(value) is list:
        return [to_plain(one) for one in value]
    if type(value) is dict:
        return {"d": [[to_plain(key), to_plain(one)] for key, one in value.items()]}
    if type(value) in (tuple, Names):
        return {"t": [to_plain(one) for one in value]}
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in _ARRAYS:
        one = isinstance(value, np.generic)
        return {"a": [value.dtype.str, None if one else list(value.shape), _text(np.ascontiguousarray(value))]}
    if type(value) is range:
        return {"r": [value.start, value.stop, value.step]}
    cls = type(value)
    if cls.__module__.partition(".")[0] == _PACKAGE and _fields(cls) is not None:
        return {"c": f"{cls.__module__}:{cls.__qualname__}", "v": [to_plain(getattr(value, n)) for n in _names(cls)]}
    raise TypeError(f"no plain data: {cls.__module__}.{cls.__qualname__}")


def from_plain(data: Any) -> Any:
    """Return what ``to_plain`` had; what it cannot have made is a ``ValueError``."""
    if isinstance(data, list):
        return [from_plain(one) for one in data]
    if not isinstance(data, dict):
        return data
    if "f" in data:
        return float(data["f"])
    if "d" in data:
        return {from_plain(key): from_plain(one) for key, one in data["d"]}
    if "t" in data:
        return tuple(from_plain(one) for one in data["t"])
    if "r" in data:
        return range(*data["r"])
    if "a" in data:
        kind, shape, text = data["a"]
        found = np.frombuffer(base64.b64decode(text), dtype=np.dtype(kind)).copy()
        return found[0] if shape is None else found.reshape(shape)
    if data.keys() != {"c", "v"}:
        raise ValueError(f"no result: {list(data)[:4]}")
    cls = _class(data["c"])
    values = [from_plain(one) for one in data["v"]]
    names = _names(cls)
    if len(names) != len(values):
        raise ValueError(f"{data['c']} has other fields")
    if issubclass(cls, tuple):
        return tuple.__new__(cls, values)
    made = object.__new__(cls)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(made, name, value)
    return made


def _text(array: Any) -> str:
    return base64.b64encode(array.tobytes()).decode()


def _names(cls: type) -> tuple[str, ...]:
    found = _fields(cls)
    assert found is not None  # noqa: S101 - whoever asks has looked
    return found


def _fields(cls: type) -> tuple[str, ...] | None:
    """Return the fields of a record, or None where a class is none."""
    if issubclass(cls, tuple):
        return getattr(cls, "_fields", None)
    return tuple(field.name for field in dataclasses.fields(cls)) if dataclasses.is_dataclass(cls) else None


def _class(name: str) -> type:
    module, _, path = name.partition(":")
    if module.partition(".")[0] != _PACKAGE:
        raise ValueError(f"{name} is not of this package")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type) or found.__module__ != module or _fields(found) is None:
        raise ValueError(f"{name} is no record")
    return found
