"""Which compiled policies of users have passed ``check-policy`` on this machine: these run without checks of their
indices.

What has passed is remembered by a hash of all that the compiled code comes from: the files of the policy and of the
user's functions it calls, the constants they name, and versions. It lies beside the compiled code, in a folder that
carries the fingerprint of our own.
"""

from __future__ import annotations

import enum
import hashlib
import inspect
import os
import sys
import types
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numba
import numpy as np

from wattline.control.users.reach import loaded_names, named_values, ours, plain, reachable
from wattline.kernel.cache import cache_dir
from wattline.kernel.compiled import JIT, python_tag
from wattline.model.mechanism import Mechanism


def has_file(function: Callable[..., Any]) -> bool:
    """Tell whether a function comes from a file, and not from a cell of a notebook."""
    return Path(function.__code__.co_filename).is_file()


class UnknownValueError(ValueError):
    """A policy names a value of which nobody can tell whether it is the same as before."""


def identity(mechanism: Mechanism) -> str:
    """Return a hash of all that a policy's compiled code comes from; a value that is not known is an error."""
    digest = hashlib.sha256()
    functions = reachable(mechanism.function)
    for file in sorted({f.__code__.co_filename for f in functions if has_file(f)}):
        digest.update(b"file" + Path(file).read_bytes())
    for f in functions:
        if not has_file(f):  # a cell of a notebook
            digest.update(b"cell" + inspect.getsource(f).encode())
        digest.update(f.__qualname__.encode() + f.__code__.co_code)
        digest.update(repr([c for c in f.__code__.co_consts if isinstance(c, _CONSTANTS)]).encode())
        loaded = loaded_names(f)
        for name, value in named_values(f):
            try:
                stamp = _stamp(value)
            except UnknownValueError:
                if name in f.__globals__ and name not in loaded:
                    continue  # a global of the name of an attribute
                raise UnknownValueError(f"{name}, a {type(value).__name__}") from None
            digest.update(f"{name} = {stamp}\n".encode(errors="surrogatepass"))
    declared = (mechanism.slot, mechanism.name, mechanism.wake, sorted(mechanism.params), mechanism.memory)
    digest.update(repr((declared, numba.__version__, np.__version__, python_tag())).encode())
    return digest.hexdigest()[:32]


_CONSTANTS = (type(None), type(...), bool, int, float, complex, str, bytes, range, slice, np.generic, np.dtype)
_NAMED = (types.BuiltinFunctionType, types.MethodDescriptorType, types.ModuleType, np.ufunc, type(np.sum))


def _stamp(value: Any) -> str:
    """Return a text that is another one for every value that compiled code may hold."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, enum.Enum):
        return f"{kind} {value.name} {value._value_!r}"
    if isinstance(value, np.ndarray):
        return f"{kind} {value.dtype!r} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, (*_CONSTANTS, numba.types.Type)):
        return f"{kind} {value!r}"
    if isinstance(value, (tuple, list)):
        return f"{kind} {[_stamp(item) for item in value]}"
    if isinstance(value, type):
        return _stamp_of_class(value)
    if isinstance(value, Mechanism):
        return f"{kind} {value.slot} {value.name}"
    inner = plain(value)
    if isinstance(inner, (types.FunctionType, *_NAMED)):
        return f"{kind} {getattr(inner, '__module__', '')}.{inner.__name__}"  # what is in it is looked at by itself
    raise UnknownValueError(kind)


def _stamp_of_class(kind: type) -> str:
    name = f"class {kind.__module__}.{kind.__qualname__}"
    if issubclass(kind, enum.Enum):
        return f"{name} {[_stamp(member) for member in kind]}"
    if issubclass(kind, tuple) and "_field_defaults" in vars(kind):
        defaults = [(field, _stamp(value)) for field, value in vars(kind)["_field_defaults"].items()]
        return f"{name} {vars(kind)['_fields']} {defaults}"
    if ours(kind.__module__) or kind.__module__ in sys.stdlib_module_names or issubclass(kind, BaseException):
        return name
    raise UnknownValueError(name)


def _mark(mechanism: Mechanism) -> Path:
    return cache_dir() / "checked-policies" / identity(mechanism)


def is_proven(mechanism: Mechanism) -> bool:
    """Tell whether this very policy has passed all checks on this machine."""
    try:
        return _mark(mechanism).is_file()
    except (OSError, ValueError):  # no source, or values, that could be hashed
        return False


def remember(mechanism: Mechanism) -> None:
    """Note that a policy has passed all checks; one that is not compiled has nothing to gain from it."""
    if mechanism.builtin or not mechanism.compiled or not JIT:
        return
    try:
        mark = _mark(mechanism)
        mark.parent.mkdir(exist_ok=True)
        part = mark.with_suffix(f".{os.getpid()}")
        part.write_text(f"{mechanism.slot} policy {mechanism.called!r}, {mechanism.file}\n", encoding="utf-8")
        part.replace(mark)
    except (OSError, ValueError):
        return  # then it goes on being checked


def on_probation(policies: Iterable[Mechanism]) -> list[str]:
    """Return a line for every compiled policy that runs with checks of its indices, and how to lift them."""
    unproven = {(m.slot, m.name): m for m in policies if JIT and not m.builtin and m.compiled and not is_proven(m)}
    return [
        f"{m.slot} policy {m.called!r}: runs with bounds checks, which cost speed; {_remedy(m)}"
        for m in unproven.values()
    ]


def _remedy(mechanism: Mechanism) -> str:
    try:
        identity(mechanism)
    except UnknownValueError as problem:
        return f"it keeps them, for nobody can tell when {problem}, changes"
    except (OSError, ValueError):
        return "it keeps them, for it has no source"
    named = f"{mechanism.package}:{mechanism.name}" if mechanism.package else mechanism.file
    return f"wattline check-policy {named} lifts them once all checks pass"
