"""The spare words of a state's table: compiled code notes there which policy of a user is called and what was wrong
with it.

They are no fields: nothing of them is saved, compared or resumed, and the engine itself never looks at them.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from wattline.kernel.compiled import JIT
from wattline.kernel.slots import SlotType
from wattline.model.codes import SLOT_NAMES
from wattline.model.state.record import POLICY, State

FIRST_CODE = 1  # addresses of users' compiled policies, slot by slot
WHO = FIRST_CODE + len(SLOT_NAMES)  # 1 + the slot whose user's policy is being called (0: none)
CALLS = WHO + 1  # calls of users' policies so far
FAULT = WHO + 2  # what was wrong with what it did (0: nothing); see wattline.control.users.edge
WHAT = WHO + 3  # the number that was wrong


_cgutils: Any = cgutils  # numba has no types for it


def _word(builder: Any, pointer: Any, index: Any) -> Any:
    words = builder.bitcast(pointer, ir.IntType(64).as_pointer())
    return builder.gep(words, [index], inbounds=True)


def _get(_typing: Any, record: Any, _index: Any) -> Any:
    def code(_context: Any, builder: Any, _sig: Any, args: Any) -> Any:
        return builder.load(_word(builder, *args))

    return types.int64(record, types.int64), code


def _set(_typing: Any, record: Any, _index: Any, _value: Any) -> Any:
    def code(context: Any, builder: Any, _sig: Any, args: Any) -> Any:
        pointer, at, given = args
        builder.store(given, _word(builder, pointer, at))
        return context.get_dummy_value()

    return types.void(record, types.int64, types.int64), code


def _code(_typing: Any, record: Any, _slot: Any) -> Any:
    function = SlotType(POLICY)

    def code(context: Any, builder: Any, _sig: Any, args: Any) -> Any:
        pointer, at = args
        address = builder.load(_word(builder, pointer, builder.add(at, ir.Constant(at.type, FIRST_CODE))))
        made = _cgutils.create_struct_proxy(function)(context, builder)
        made.c_addr = made.jit_addr = builder.inttoptr(address, cgutils.voidptr_t)
        made.py_addr = _cgutils.get_null_value(cgutils.voidptr_t)
        return made._getvalue()

    return function(record, types.int64), code


def _get_in_python(record: Any, index: int) -> int:
    return int(record.words[index])


def _set_in_python(record: Any, index: int, value: int) -> None:
    record.words[index] = value


get_word: Any = intrinsic(_get) if JIT else _get_in_python
"""Return a spare word: ``get_word(s, index)``."""
set_word: Any = intrinsic(_set) if JIT else _set_in_python
"""Write a spare word: ``set_word(s, index, value)``."""
user_code: Any = intrinsic(_code)
"""Return the compiled policy of a user whose address was noted for a slot, in compiled code: ``user_code(s, slot)``."""


def note_code(s: State, slot: int, code: Any) -> None:
    """Note where the compiled policy of a user begins that ``user_code`` calls for a slot."""
    s.words[FIRST_CODE + slot] = code.jit_address


def forget_fault(s: State) -> None:
    """Clear what was noted of calls: a run begins."""
    s.words[WHO : WHAT + 1] = 0
