"""Which functions of the user a policy reaches by name, what their names stand for, and whether one of them calls
itself.
"""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any


def reachable(function: Callable[..., Any]) -> list[types.FunctionType]:
    """Return a function and those of users, compiled or not, that it can call by name."""
    seen: dict[int, types.FunctionType] = {}
    left: list[Any] = [getattr(function, "py_func", function)]
    while left:
        inner = left.pop()
        if isinstance(inner, types.FunctionType) and id(inner) not in seen:
            seen[id(inner)] = inner
            left += callees(inner)
    return list(seen.values())


def callees(function: types.FunctionType) -> list[types.FunctionType]:
    """Return the users' functions that a function names, also those of modules and in tuples."""
    found: list[types.FunctionType] = []
    for _, value in named_values(function):
        for one in value if isinstance(value, (tuple, list)) else (value,):
            inner = getattr(one, "py_func", one)
            if isinstance(inner, types.FunctionType) and not ours(inner.__module__):
                found.append(inner)
    return found


def named_values(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Return what the names in a function stand for: its globals, what it encloses, and attributes of users' modules.

    Which attribute belongs to which module the names do not say, so every module that is named is asked for every name.
    """
    names = sorted({name for code in _codes(function.__code__) for name in code.co_names})
    known = function.__globals__
    values = [(name, known[name]) for name in names if name in known]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        with contextlib.suppress(ValueError):  # an empty cell
            values.append((name, cell.cell_contents))
    modules = [value for _, value in values if _of_users(value)]
    for module in modules:  # grows while packages name modules of theirs
        inside = [(f"{module.__name__}.{name}", vars(module)[name]) for name in names if name in vars(module)]
        modules += [value for _, value in inside if _of_users(value) and value not in modules]
        values += inside
    yield from values


def _of_users(value: Any) -> bool:
    """Tell whether a value is a module that a user may have written."""
    if not isinstance(value, types.ModuleType):
        return False
    return not ours(value.__name__) and value.__name__.partition(".")[0] not in sys.stdlib_module_names


def ours(module: str | None) -> bool:
    """Tell whether a module is one that no user wrote."""
    return (module or "").partition(".")[0] in ("numpy", "numba", "wattline")


def recurs(function: Callable[..., Any]) -> bool:
    """Tell whether some function that a policy reaches can be reached from itself."""
    everything = reachable(function)
    return any(f in (inner for g in callees(f) for inner in reachable(g)) for f in everything)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)
