"""From a mechanism to something the compiled loop can call: built-ins, users' compiled policies, plain Python."""

from __future__ import annotations

import functools
import importlib
import inspect
import threading
from collections.abc import Callable, Sequence
from typing import Any

from numba import types

from wattline.control.users.bridge import ask
from wattline.control.users.complaints import failed_compile, refused, where
from wattline.control.users.edge import edge
from wattline.control.users.proven import has_file, identity, is_proven
from wattline.control.users.reach import compiled_by_users, deaf, recurs
from wattline.errors import PolicyError
from wattline.kernel.compiled import JIT, entry, plugin
from wattline.kernel.indices import check_indices, note_checked
from wattline.kernel.slots import Direct, SlotType
from wattline.model.codes import SLOT_NAMES
from wattline.model.mechanism import Mechanism, compile_builtin
from wattline.model.state.lent import read_only, user_signature
from wattline.model.state.record import POLICY, State

ARITY = 4


def callable_for(mechanism: Mechanism) -> Any:
    """Return the function that the loop calls for a mechanism."""
    check_signature(mechanism)
    if mechanism.builtin:
        return compile_builtin(compiled_as(mechanism))
    return edge(SLOT_NAMES.index(mechanism.slot), compiled=mechanism.compiled)


def compiled_as(mechanism: Mechanism) -> Callable[..., int]:
    """Return the function that is compiled for a built-in mechanism.

    What nothing wakes is never called (place is called without being woken): one function stands in for all.
    """
    idle = mechanism.wake == 0 and mechanism.slot != "place"
    return _nothing if idle else mechanism.function


def callable_from_python(mechanism: Mechanism) -> Callable[[State, int, Any, Any], int]:
    """Return a mechanism as a function that Python calls, in whichever way its own policy is called."""
    check_signature(mechanism)
    if mechanism.builtin:
        return callable_for(mechanism)
    if mechanism.compiled and JIT:
        return compile_user(mechanism)

    def call(s: State, arg: int, param: Any, memory: Any) -> int:
        return ask(mechanism.function, mechanism.name, read_only(s, mechanism.slot), arg, param, memory)

    return call


def _nothing(s: Any, arg: int, param: Any, memory: Any) -> int:
    return 0


def chores_needed(policies: Sequence[Mechanism], *, nodes_change: bool, neighbours: bool = False) -> str:
    """Return which chores a run needs: ``daily``, or all ``chores`` where nodes come and go, or jobs are stopped,
    capped or slowed by neighbours.
    """
    stops = any(m.slot == "select" and (m.preempts or not m.builtin) for m in policies)
    caps = any(m.slot == "cap" and m.wake for m in policies)
    return "chores" if stops or caps or nodes_change or neighbours else "daily"


def check_signature(mechanism: Mechanism) -> None:
    """Refuse a function that cannot be called as ``policy(s, arg, param, memory)``, before numba sees it."""
    if mechanism.builtin and mechanism.function in _called_so:
        return
    taken = inspect.signature(mechanism.function).parameters.values()
    plain = [p for p in taken if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(plain) != ARITY or len(plain) != len(taken):
        raise PolicyError(
            f"{where(mechanism)}: a policy takes exactly (s, arg, param, memory), "
            f"this one takes ({', '.join(p.name for p in taken)})"
        )
    if mechanism.builtin:
        _called_so.add(mechanism.function)


_called_so: set[Any] = set()
"""Built-in functions that were found to be called so: every run asks of all of its policies."""


class UserCode(Direct):
    """A user's compiled policy, which Python can call too."""

    def __call__(self, s: State, arg: int, param: Any, memory: Any) -> int:
        """Call the policy."""
        return int(_invoker()(self, s, arg, param, memory))


def _invoke(policy: Any, s: Any, arg: int, param: Any, memory: Any) -> int:
    return policy(s, arg, param, memory)


@functools.cache
def _invoker() -> Any:
    return entry(types.int64(SlotType(POLICY), *POLICY.args))(_invoke)


def compile_user(mechanism: Mechanism, *, checked: bool | None = None) -> Any:
    """Compile a user's policy against a state whose other fields are read-only.

    What numba says against it is cut to one line.

    ``checked`` code checks every index; by default that is all code which ``check-policy`` has not passed yet.
    """
    if checked is None:
        checked = not is_proven(mechanism)
    return _compiled(mechanism.function, mechanism, checked)


_made: dict[tuple[Any, str, bool], Any] = {}
"""What was compiled or loaded in this process: (function, slot, checked) → code."""

_one_by_one = threading.RLock()


def _compiled(function: Callable[..., int], mechanism: Mechanism, checked: bool) -> Any:
    key = (function, mechanism.slot, checked)
    with _one_by_one:
        if key not in _made:
            if recurs(function):
                said = "a function that calls itself can overflow the stack; write it as a loop"
                raise PolicyError(f"{where(mechanism)} cannot be compiled: {said}")
            unheard = deaf(function)
            if unheard:
                said = f"errors in {unheard} would go unheard in compiled code; compile it with numba.njit"
                raise PolicyError(f"{where(mechanism)} cannot be compiled: {said}")
            signature = user_signature(mechanism.slot, checked=checked)
            _made[key] = UserCode(_translated(mechanism, signature, checked), POLICY, signature)
        return _made[key]


def _translated(mechanism: Mechanism, signature: Any, checked: bool) -> Any:
    from wattline.control.users.answers import JudgedPolicy
    from wattline.control.users.doors import RefusedError

    importlib.import_module("wattline.policies.helpers")  # numba must know them before it meets them in a policy
    try:  # constants of other files are frozen into the code: it is kept by all that it comes from
        variant = identity(mechanism)
    except (OSError, ValueError):  # a policy without a file
        variant = ""
    keep = variant != "" and has_file(mechanism.function)  # a cell of a notebook is compiled anew in every kernel
    theirs = compiled_by_users(mechanism.function) if checked else []
    check_indices(theirs)
    options: dict[str, Any] = {"cache": keep, "boundscheck": checked, "variant": variant, "judge": JudgedPolicy}
    try:
        compiled: Any = plugin(mechanism.function, signature.args, **options)
    except RefusedError as problem:
        raise refused(mechanism, problem.file, problem.line, problem.said) from None
    except Exception as problem:  # numba raises errors of all kinds
        raise failed_compile(mechanism, problem) from None
    note_checked(theirs)
    returns = compiled.overloads[signature.args].signature.return_type
    if isinstance(returns, (types.NoneType, types.Optional)):
        raise PolicyError(
            f"{where(mechanism)}: every path must return an int; some return None, raise an error or never end"
        )
    if returns != types.int64:
        raise PolicyError(f"{where(mechanism)} must return an int, it returns {returns}")
    return compiled
