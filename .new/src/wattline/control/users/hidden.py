"""What a user's policy remembers outside its memory: a run that is carried on would not have it.

A plain-Python policy can do anything, so this looks at what its code can reach and doubts what it does not know.
"""

from __future__ import annotations

import dis
import enum
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wattline.control.users.complaints import where
from wattline.model.mechanism import Mechanism

_CONSTANTS = (type(None), bool, int, float, complex, str, bytes, range, np.generic, np.dtype, enum.Enum, Mechanism)
_CALLABLES = (types.BuiltinFunctionType, types.MethodDescriptorType, np.ufunc, type(np.sum))
_MODULES = {"numpy", "numba", "wattline"} | (sys.stdlib_module_names - {"random", "secrets", "uuid"})


def why_not_resumable(policies: Iterator[Mechanism] | tuple[Mechanism, ...]) -> str:
    """Return which policy keeps what outside its memory (nothing: none does)."""
    for m in policies:
        found = "" if m.builtin else hidden_state(m)
        if found:
            return f"{where(m)} {found}, which is not kept: keep all that it remembers in memory"
    return ""


def hidden_state(m: Mechanism) -> str:
    """Return what a policy may remember outside its memory (nothing: nothing that its code can reach)."""
    if "random" in _names(m.function.__code__):
        return "draws random numbers of its own"
    return "" if m.compiled else _of_function(m.function, set())  # compiled code takes what is outside for constants


def _of_function(function: Callable[..., Any], seen: set[int]) -> str:
    if id(function) in seen:
        return ""
    seen.add(id(function))
    code = function.__code__
    if "random" in _names(code):
        return "draws random numbers of its own"
    written = next(
        (i.argval for c in _codes(code) for i in dis.get_instructions(c) if i.opname == "STORE_GLOBAL"), None
    )
    if written is not None:
        return f"changes the global {written!r}"
    if function.__dict__:
        return f"keeps {min(function.__dict__)!r} at a function"
    known = function.__globals__
    reached = [(name, known[name]) for name in _names(code) if name in known]
    reached += [
        (name, cell.cell_contents) for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True)
    ]
    reached += [
        ("a default", value) for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    ]
    return next((found for name, value in reached if (found := _of_value(name, value, seen))), "")


def _of_value(name: str, value: Any, seen: set[int]) -> str:
    if isinstance(value, (*_CONSTANTS, *_CALLABLES)):
        return ""
    if isinstance(value, (tuple, frozenset)):
        return next((found for item in value if (found := _of_value(name, item, seen))), "")
    if isinstance(value, types.ModuleType):
        return "" if _module(value.__name__) else f"uses the module {value.__name__!r}"
    if isinstance(value, np.ndarray) and not value.flags.writeable:
        return ""
    if isinstance(value, type):
        return "" if _module(value.__module__) else _of_class(value, seen)
    inner = getattr(value, "py_func", value)  # what numba compiled
    if isinstance(inner, types.FunctionType):
        return "" if _module(inner.__module__) else _of_function(inner, seen)
    return f"uses {name!r}, a {type(value).__name__}"


def _of_class(kind: type, seen: set[int]) -> str:
    """Look at the methods of a class of the user's; what else it holds may be changed."""
    plain = {name: value for name, value in vars(kind).items() if not name.startswith("__") or callable(value)}
    for name, value in plain.items():
        if isinstance(value, (types.MemberDescriptorType, types.GetSetDescriptorType)):
            continue
        inner = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        found = _of_value(f"{kind.__name__}.{name}", inner, seen)
        if found:
            return found
    return ""


def _module(name: str | None) -> bool:
    return (name or "").partition(".")[0] in _MODULES


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _names(code: types.CodeType) -> set[str]:
    return {name for inner in _codes(code) for name in inner.co_names}
