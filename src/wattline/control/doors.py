"""Ways by which compiled code of a user could still reach memory that is not its own: they are refused by name."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numba

ATTRIBUTES = {
    "flat": "an array's .flat passes over read-only marks; use an index",
    "ctypes": "addresses of arrays are nothing for a policy",
    "nditer": "np.nditer passes over read-only marks; use a loop over indices",
    "ascontiguousarray": "np.ascontiguousarray passes over read-only marks; use .copy()",
    "asfortranarray": "np.asfortranarray passes over read-only marks; use .copy()",
    "fill_diagonal": "np.fill_diagonal passes over read-only marks; use a loop",
    "nan_to_num": "np.nan_to_num may write what is read-only; use np.isnan and a loop",
    "as_strided": "as_strided reaches memory beyond an array; use indices",
    "stride_tricks": "stride tricks reach memory beyond an array; use indices",
    "sliding_window_view": "windows over an array pass over read-only marks; use a loop",
    "carray": "addresses of arrays are nothing for a policy",
    "farray": "addresses of arrays are nothing for a policy",
    "objmode": "objmode is not for policies; leave compiled=True out to run as plain Python",
}
"""Names that numba lets pass although they write what is read-only, and what to do instead."""

_numba: Any = numba  # it does not tell its types
_VALUES = {_numba.objmode: "objmode", _numba.carray: "carray", _numba.farray: "farray"}


def back_door(function: Callable[..., Any]) -> str:
    """Return what is wrong with the names that a function and the user's functions it calls use (nothing: an empty text)."""
    for reached in reachable(function):
        for code in _codes(reached.__code__):
            for name in code.co_names:
                if name in ATTRIBUTES:
                    return ATTRIBUTES[name]
        for _, value in named_values(reached):
            door = next((word for way, word in _VALUES.items() if value is way), "")
            if door:
                return ATTRIBUTES[door]
    if _recurs(function):
        return "a function that calls itself can overflow the stack; write it as a loop"
    return ""


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
            if isinstance(inner, types.FunctionType) and not _ours(inner.__module__):
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
    return not _ours(value.__name__) and value.__name__.partition(".")[0] not in sys.stdlib_module_names


def _ours(module: str | None) -> bool:
    return (module or "").partition(".")[0] in ("numpy", "numba", "wattline")


def _recurs(function: Callable[..., Any]) -> bool:
    """Tell whether some function can be reached from itself."""
    everything = reachable(function)
    return any(f in (inner for g in callees(f) for inner in reachable(g)) for f in everything)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)
