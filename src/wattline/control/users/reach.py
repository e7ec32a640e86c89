"""Which functions of the user a policy reaches by name, what their names stand for, and whether one of them calls
itself.
"""

from __future__ import annotations

import contextlib
import dis
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wattline.kernel.indices import is_compiled, is_deaf


def reachable(function: Callable[..., Any]) -> list[types.FunctionType]:
    """Return a function and those of users, compiled or not, that it can call by name."""
    seen: dict[int, types.FunctionType] = {}
    left: list[Any] = [plain(function)]
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
            inner = plain(one)
            if isinstance(inner, types.FunctionType) and not ours(inner.__module__):
                found.append(inner)
    return found


def plain(value: Any) -> Any:
    """Return the function that was compiled, or the value as it is."""
    if isinstance(value, types.FunctionType):
        return value
    return getattr(value, "py_func", getattr(value, "__wrapped__", value))


def compiled_by_users(function: Callable[..., Any]) -> list[Any]:
    """Return what users compiled themselves and a function can call by name."""
    found: dict[int, Any] = {}
    for inner in reachable(function):
        for _, value in named_values(inner):
            for one in value if isinstance(value, (tuple, list)) else (value,):
                if is_compiled(one) and not ours(plain(one).__module__):
                    found[id(one)] = one
    return list(found.values())


def deaf(function: Callable[..., Any]) -> str:
    """Return what a function can call by name without hearing of errors in it (nothing: no such function)."""
    named = (pair for inner in reachable(function) for pair in named_values(inner))
    return next((name for name, value in named if is_deaf(value)), "")


def named_values(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Return what the names in a function stand for: its globals, what it encloses, what its arguments are where they
    are not given, and attributes of users' modules.

    Which attribute belongs to which module the names do not say, so every module that is named is asked for every name.
    """
    names = sorted({name for code in _codes(function.__code__) for name in code.co_names})
    known = function.__globals__
    values = [(name, known[name]) for name in names if name in known]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        with contextlib.suppress(ValueError):  # an empty cell
            values.append((name, cell.cell_contents))
    values += [("a default", value) for value in function.__defaults__ or ()]
    values += sorted((function.__kwdefaults__ or {}).items())
    modules = [value for _, value in values if _of_users(value)]
    for module in modules:  # grows while packages name modules of theirs
        inside = [(f"{module.__name__}.{name}", vars(module)[name]) for name in names if name in vars(module)]
        modules += [value for _, value in inside if _of_users(value) and value not in modules]
        values += inside
    for _, module in [pair for pair in values if _of_others(pair[1])]:  # somebody may have set numbers of theirs
        known = vars(module)
        values += [(f"{module.__name__}.{name}", known[name]) for name in names if _is_number(known.get(name))]
    yield from values


def loaded_names(function: types.FunctionType) -> set[str]:
    """Return the globals that a function's code reads; other names in it are those of attributes."""
    codes = _codes(function.__code__)
    return {i.argval for code in codes for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}


def _of_users(value: Any) -> bool:
    """Tell whether a value is a module that a user may have written."""
    if not isinstance(value, types.ModuleType):
        return False
    return not ours(value.__name__) and value.__name__.partition(".")[0] not in sys.stdlib_module_names


def _of_others(value: Any) -> bool:
    """Tell whether a value is a module that no user wrote, nor we."""
    return isinstance(value, types.ModuleType) and not _of_users(value) and not value.__name__.startswith("wattline")


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex, np.generic, np.ndarray))


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
