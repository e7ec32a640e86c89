"""The plain-Python twin of a function: kernels it calls, however deep, are replaced by the source they came from.

A compiled policy calls compiled helpers, which plain Python cannot call. The twin runs the same source without numba,
so that numpy checks every index and two independent executions can be compared.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any


def plain(function: Any, seen: dict[int, Any] | None = None) -> Any:
    """Return the function as plain Python, all the way down."""
    source = getattr(function, "py_func", function)
    if not isinstance(source, types.FunctionType):
        return function
    seen = {} if seen is None else seen
    if id(source) not in seen:
        twin = types.FunctionType(source.__code__, {}, source.__name__, source.__defaults__, source.__closure__)
        seen[id(source)] = twin
        twin.__globals__.update(_world_of(source, seen))
    return seen[id(source)]


def _world_of(source: types.FunctionType, seen: dict[int, Any]) -> dict[str, Any]:
    """Return the globals of a twin: the names its code mentions are plain, the rest is as it was."""
    world = dict(source.__globals__)
    for name in source.__code__.co_names:
        value = world.get(name)
        if hasattr(value, "py_func"):
            world[name] = plain(value, seen)
        elif isinstance(value, types.ModuleType) and value.__name__.startswith("wattline."):
            world[name] = _Module(value, seen)
        elif isinstance(value, types.FunctionType) and value.__module__ == source.__module__:
            world[name] = plain(value, seen)
    return world


class _Module:
    """A module whose functions are plain."""

    def __init__(self, module: types.ModuleType, seen: dict[int, Any]) -> None:
        self._module, self._seen = module, seen

    def __getattr__(self, name: str) -> Any:
        value: Callable[..., Any] = getattr(self._module, name)
        return plain(value, self._seen) if hasattr(value, "py_func") else value
