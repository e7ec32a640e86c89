"""Facts to and from plain data: our own dataclasses, numbers, texts and arrays, and nothing that could run.

What a run was started with is written beside its logs, so that its journal can be made where trace and scenario are not
at hand. Functions and paths are left out: a mechanism is known by its name.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wattline.errors import TraceError
from wattline.model.names import Names

Array = npt.NDArray[Any]


def freeze(value: Any) -> tuple[str, list[Array]]:
    """Return a value as JSON text and the arrays that it refers to by number."""
    arrays: list[Array] = []
    return json.dumps(_freeze(value, arrays), ensure_ascii=False, separators=(",", ":")), arrays


def digest(value: Any) -> str:
    """Return the hash of a value, the content of its arrays included."""
    text, arrays = freeze(value)
    found = hashlib.sha256(text.encode())
    for array in arrays:
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def thaw(text: str, arrays: Sequence[Array]) -> Any:
    """Return the value again; only dataclasses of this package are made, and without running code of theirs."""
    try:
        return _thaw(json.loads(text), arrays)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, ImportError, RecursionError) as problem:
        raise TraceError(f"what was run cannot be read ({type(problem).__name__}): it is damaged") from None


def _freeze(value: Any, arrays: list[Array]) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value)
        content = {f.name: _freeze(getattr(value, f.name), arrays) for f in fields(value)}
        return {"class": f"{kind.__module__}:{kind.__qualname__}", "fields": content}
    if isinstance(value, Mapping):
        return {"map": [[_freeze(k, arrays), _freeze(v, arrays)] for k, v in value.items()]}
    if isinstance(value, (tuple, Names)):
        return {"tuple": [_freeze(item, arrays) for item in value]}
    if isinstance(value, list):
        return [_freeze(item, arrays) for item in value]
    if isinstance(value, (Callable, Path)):  # type: ignore[arg-type]
        return None
    raise TypeError(f"{type(value).__name__} cannot be written as plain data")


def _thaw(data: Any, arrays: Sequence[Array]) -> Any:
    if isinstance(data, list):
        return [_thaw(item, arrays) for item in data]
    if not isinstance(data, dict):
        return data
    if "array" in data:
        return arrays[data["array"]]
    if "tuple" in data:
        return tuple(_thaw(item, arrays) for item in data["tuple"])
    if "map" in data:
        return {_thaw(k, arrays): _thaw(v, arrays) for k, v in data["map"]}
    kind = _class(data["class"])
    known = {f.name for f in fields(kind)}
    if known != set(data["fields"]):
        raise TraceError(f"{data['class']} has other fields in this Wattline: use the one that wrote it")
    made = object.__new__(kind)
    for name, content in data["fields"].items():
        object.__setattr__(made, name, _thaw(content, arrays))
    return made


def _class(name: str) -> Any:
    module, _, inner = name.partition(":")
    kind = getattr(importlib.import_module(module), inner, None) if module.startswith("wattline.") else None
    if not isinstance(kind, type) or not is_dataclass(kind):
        raise TraceError(f"{name} is no fact that this Wattline knows: use the one that wrote it")
    return kind
