"""The door for plain-Python policies: a register of what is called by handle from compiled code.

Only two numbers cross the border (the handle, which is the last parameter, and the argument); the state, parameters and
memory wait on the Python side. A call costs about two microseconds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from wattline.arrays import Floats
from wattline.control.users.complaints import READ_ONLY, code_of, failed_call
from wattline.control.users.reach import compiled_by_users, recurs
from wattline.control.users.witness import Witness
from wattline.errors import PolicyError, WattlineError
from wattline.kernel.compiled import kernel
from wattline.kernel.indices import check_indices, switch
from wattline.model.codes import SLOT_NAMES
from wattline.model.state.lent import lent, read_only
from wattline.model.state.record import State

_register: dict[int, tuple[Callable[..., Any], State, Floats, Floats, str, Witness]] = {}
_handles = itertools.count(1)
_WORD = 2**63
_SLOTS = 8
"""A handle is a number times this, plus the slot."""


def connect(function: Callable[..., Any], state: State, param: Floats, memory: Floats, name: str, slot: int) -> int:
    """Make a Python policy callable from compiled code; return its handle. ``disconnect`` it after the run."""
    theirs = compiled_by_users(function)
    for one in theirs:
        if recurs(one):
            code = code_of(function)
            told = f"{code.co_filename}:{code.co_firstlineno}: policy {name!r}"
            raise PolicyError(f"{told}: {one.__name__}, which numba compiled, calls itself and can overflow the stack")
    check_indices(theirs)
    handle = _SLOTS * next(_handles) + slot
    values = lent(param.copy(), locked=True)  # as compiled policies see it: declared parameters, then the seed
    seen, room = read_only(state, SLOT_NAMES[slot]), lent(memory, locked=False)
    _register[handle] = function, seen, values, room, name, Witness(state, SLOT_NAMES[slot], values)
    return handle


def disconnect(handle: int) -> None:
    """Forget a policy, and with it the state it saw."""
    _register.pop(handle, None)


@kernel
def slot_of(handle: float) -> int:
    """Return the slot that a handle was made for."""
    return int(handle) % _SLOTS


def call(handle: float, arg: int) -> int:
    """Call the policy behind a handle."""
    function, state, param, memory, name, witness = _register[int(handle)]
    watched = witness.begin()
    got = ask(function, name, state, int(arg), param, memory)
    field = witness.changed() if watched else ""
    if field:
        code = code_of(function)
        told = f"{code.co_filename}:{code.co_firstlineno}: policy {name!r} wrote to {field}"
        raise PolicyError(f"{told}: {READ_ONLY}")
    return got


def ask(function: Callable[..., Any], name: str, state: State, arg: int, param: Floats, memory: Floats) -> int:
    """Call a plain-Python policy; whatever it raises or returns in place of a number is an error with its name.

    Policies are called in a thread of their own (``wiring.watched``), where nobody else raises KeyboardInterrupt: one
    that comes from here is the policy's own and no Ctrl-C.
    """
    before = switch(on=True)  # what it compiles itself
    try:
        got = function(state, arg, param, memory)
    except WattlineError:
        raise
    except BaseException as problem:  # exits, interrupts and classes of the user's own
        if getattr(problem, "ends_policies", False):
            raise
        raise failed_call(function, name, problem) from problem
    finally:
        switch(on=before)
    code = code_of(function)
    if not isinstance(got, (int, np.integer)):  # bool is an int
        raise PolicyError(
            f"{code.co_filename}:{code.co_firstlineno}: policy {name!r} must return an int, "
            f"got {'nothing' if got is None else type(got).__name__}"
        )
    if not -_WORD <= got < _WORD:
        raise PolicyError(
            f"{code.co_filename}:{code.co_firstlineno}: policy {name!r} must return an int of 64 bits, got one of "
            f"{int(got).bit_length()}"
        )
    return int(got)
