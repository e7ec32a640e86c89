"""Ways by which compiled code of a user could still reach memory that is not its own: they are refused by name."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

import numba

ATTRIBUTES = {
    "flat": "an array's .flat passes over read-only marks; use an index",
    "ctypes": "addresses of arrays are nothing for a policy",
    "nditer": "np.nditer passes over read-only marks; use a loop over indices",
    "ascontiguousarray": "np.ascontiguousarray passes over read-only marks; use .copy()",
    "fill_diagonal": "np.fill_diagonal passes over read-only marks; use a loop",
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
                value = reached.__globals__.get(name)
                known = next((word for door, word in _VALUES.items() if value is door), name)
                if known in ATTRIBUTES:
                    return ATTRIBUTES[known]
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


def callees(function: types.FunctionType) -> list[Any]:
    """Return the users' functions that a function names."""
    known = function.__globals__
    values = [known[name] for code in _codes(function.__code__) for name in code.co_names if name in known]
    values += [cell.cell_contents for cell in function.__closure__ or ()]
    named = [getattr(value, "py_func", value) for value in values]
    return [f for f in named if isinstance(f, types.FunctionType) and not _ours(f.__module__)]


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
