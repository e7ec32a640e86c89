"""From a mechanism to something the compiled loop can call: built-ins, users' compiled policies, plain Python."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from numba import types

from wattline.control.bridge import bridge
from wattline.control.complaints import failed_compile, where
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


def chores_needed(policies: Sequence[Mechanism], *, nodes_change: bool, neighbours: bool = False) -> str:
    """Return which chores a run needs: ``daily``, or all ``chores`` where nodes come and go, or jobs are stopped, capped or slowed by neighbours."""
    stops = any(m.slot == "select" and (m.preempts or not m.builtin) for m in policies)
    caps = any(m.slot == "cap" and m.wake for m in policies)
    return "chores" if stops or caps or nodes_change or neighbours else "daily"


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
    """Compile a user's policy; what numba says against it is cut to one line."""
    if not JIT:
        return mechanism.function
    options: dict[str, Any] = {"cache": not boundscheck, "boundscheck": boundscheck}
    try:
        compiled: Any = plugin(mechanism.function, POLICY.args, **options)
        returns = compiled.overloads[POLICY.args].signature.return_type
        if isinstance(returns, (types.Integer, types.Boolean)) and returns != types.int64:
            return plugin(mechanism.function, POLICY, **options)
    except Exception as problem:  # numba raises errors of all kinds
        raise failed_compile(mechanism, problem) from None
    if isinstance(returns, (types.NoneType, types.Optional)):
        raise PolicyError(f"{where(mechanism)}: every path must return an int, not all of them return anything")
    if returns != types.int64:
        raise PolicyError(f"{where(mechanism)} must return an int, it returns {returns}")
    return compiled
