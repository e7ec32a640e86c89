"""Which compiled policies of users have passed ``check-policy`` on this machine: these run without checks of their
indices.

What has passed is remembered by a hash of all that the compiled code comes from: the files of the policy and of the
user's functions it calls, the constants they name, and versions. It lies beside the compiled code, in a folder that
carries the fingerprint of our own.
"""

from __future__ import annotations

import hashlib
import inspect
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numba
import numpy as np

from wattline.control.users.reach import named_values, reachable
from wattline.kernel.cache import cache_dir
from wattline.kernel.compiled import JIT, python_tag
from wattline.model.mechanism import Mechanism

_CONSTANTS = (bool, int, float, complex, str, bytes, tuple, np.generic)


def has_file(function: Callable[..., Any]) -> bool:
    """Tell whether a function comes from a file, and not from a cell of a notebook."""
    return Path(function.__code__.co_filename).is_file()


def identity(mechanism: Mechanism) -> str:
    """Return a hash of all that a policy's compiled code comes from."""
    digest = hashlib.sha256()
    functions = reachable(mechanism.function)
    for file in sorted({f.__code__.co_filename for f in functions if has_file(f)}):
        digest.update(b"file" + Path(file).read_bytes())
    for f in functions:
        if not has_file(f):  # a cell of a notebook
            digest.update(b"cell" + inspect.getsource(f).encode())
        digest.update(f.__qualname__.encode() + f.__code__.co_code)
        for name, value in named_values(f):
            if isinstance(value, np.ndarray):
                digest.update(name.encode() + str((value.dtype, value.shape)).encode() + value.tobytes())
            elif isinstance(value, _CONSTANTS):
                digest.update(name.encode() + repr(value).encode())
    declared = (mechanism.slot, mechanism.name, mechanism.wake, sorted(mechanism.params), mechanism.memory)
    digest.update(repr((declared, numba.__version__, np.__version__, python_tag())).encode())
    return digest.hexdigest()[:32]


def _mark(mechanism: Mechanism) -> Path:
    return cache_dir() / "checked-policies" / identity(mechanism)


def is_proven(mechanism: Mechanism) -> bool:
    """Tell whether this very policy has passed all checks on this machine."""
    try:
        return _mark(mechanism).is_file()
    except (OSError, ValueError):  # no source that could be hashed
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
        f"{m.slot} policy {m.called!r}: runs with bounds checks, which cost speed; "
        f"wattline check-policy {f'{m.package}:{m.name}' if m.package else m.file} lifts them once all checks pass"
        for m in unproven.values()
    ]
