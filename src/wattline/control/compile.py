"""From a mechanism to something the compiled loop can call: built-ins, users' compiled policies, plain Python."""

from __future__ import annotations

import inspect
from typing import Any

from wattline.control.bridge import bridge
from wattline.errors import PolicyError
from wattline.model.compiled import JIT, plugin
from wattline.model.mechanism import Mechanism, compile_builtin
from wattline.model.state import POLICY

ARITY = 4


def callable_for(mechanism: Mechanism) -> Any:
    """Return the function that the loop calls for a mechanism."""
    check_signature(mechanism)
    if mechanism.builtin:
        # what nothing wakes is never called (place is called without being woken): one function stands in for all
        idle = mechanism.wake == 0 and mechanism.slot != "place"
        return compile_builtin(_nothing if idle else mechanism.function)
    if mechanism.compiled:
        return compile_user(mechanism)
    return bridge()


def _nothing(s: Any, arg: int, param: Any, memory: Any) -> int:
    return 0


def check_signature(mechanism: Mechanism) -> None:
    """Refuse a function that cannot be called as ``policy(s, arg, param, memory)``, before numba sees it."""
    taken = inspect.signature(mechanism.function).parameters.values()
    plain = [p for p in taken if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(plain) != ARITY or len(plain) != len(taken):
        raise PolicyError(
            f"{where(mechanism)}: a policy takes exactly (s, arg, param, memory), "
            f"this one takes ({', '.join(p.name for p in taken)})"
        )


def compile_user(mechanism: Mechanism, *, boundscheck: bool = False) -> Any:
    """Compile a user's policy; numba's message is cut to the line that says what is wrong."""
    if not JIT:
        return mechanism.function
    from numba.core.errors import NumbaError

    try:
        return plugin(mechanism.function, POLICY, cache=not boundscheck, boundscheck=boundscheck)
    except (NumbaError, TypeError) as problem:
        raise PolicyError(f"{where(mechanism)}: cannot be compiled: {_gist(str(problem))}") from None


def where(mechanism: Mechanism) -> str:
    """Return file and line of a mechanism, for messages."""
    code = mechanism.function.__code__
    return f"{code.co_filename}:{code.co_firstlineno}: policy {mechanism.name!r}"


def _gist(text: str) -> str:
    if "return type: none" in text:
        return "it never returns a number (every path must return an int)"
    if "mismatch of return type" in text:
        return text.splitlines()[0]
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("Failed in")]
    place = next((line for line in lines if line.startswith("File ")), "")
    return " ".join([lines[0] if lines else text, place])[:300]
