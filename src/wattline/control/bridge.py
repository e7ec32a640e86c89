"""The door for plain-Python policies: one compiled function that calls back by handle, and the register behind it.

Only two numbers cross the border (the handle, which is the last parameter, and the argument); the state, parameters and
memory wait on the Python side. A call costs about two microseconds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from wattline.control.complaints import failed_call
from wattline.errors import PolicyError, WattlineError
from wattline.model.compiled import JIT, plugin
from wattline.model.state import POLICY, State

Floats = npt.NDArray[np.float64]

_register: dict[int, tuple[Callable[..., Any], State, Floats, Floats, str]] = {}
_handles = itertools.count(1)
_WORD = 2**63


def connect(function: Callable[..., Any], state: State, param: Floats, memory: Floats, name: str) -> int:
    """Make a Python policy callable from compiled code; return its handle. ``disconnect`` it after the run."""
    handle = next(_handles)
    values = param.copy()  # as compiled policies see it: declared parameters, then the seed
    values.flags.writeable = False
    _register[handle] = (function, state, values, memory, name)
    return handle


def disconnect(handle: int) -> None:
    """Forget a policy, and with it the state it saw."""
    _register.pop(handle, None)


def call(handle: float, arg: int) -> int:
    """Call the policy behind a handle."""
    function, state, param, memory, name = _register[int(handle)]
    try:
        got = function(state, int(arg), param, memory)
    except WattlineError:
        raise
    except (Exception, SystemExit, GeneratorExit) as problem:  # not KeyboardInterrupt: that is the user at the keyboard
        raise failed_call(function, name, problem) from problem
    code = function.__code__
    if not isinstance(got, (int, np.integer)):  # bool is an int
        raise PolicyError(
            f"{code.co_filename}:{code.co_firstlineno}: policy {name!r} must return an int, "
            f"got {'nothing' if got is None else type(got).__name__}"
        )
    if not -_WORD <= got < _WORD:
        raise PolicyError(
            f"{code.co_filename}:{code.co_firstlineno}: policy {name!r} must return an int of 64 bits, got {float(got):.3g}"
        )
    return int(got)


def _bridge(s: Any, arg: int, param: Any, memory: Any) -> int:  # the one policy signature
    handle = param[param.shape[0] - 1]
    with numba.objmode(got="int64"):
        got = call(handle, arg)
    return got  # noqa: RET504  # numba needs the name that objmode gives


def _plain(s: Any, arg: int, param: Any, memory: Any) -> int:
    return call(param[-1], arg)


def bridge() -> Any:
    """Return the bridge, compiled or loaded from the cache."""
    return plugin(_bridge, POLICY, cache=True) if JIT else _plain
