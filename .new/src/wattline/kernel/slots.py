"""Compiled functions as arguments of others: policies in their slots, called by address."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from numba import types
from numba.core import cgutils
from numba.experimental.function_type import FunctionModel
from numba.extending import (
    NativeValue,
    register_model,
    typeof_impl,
    unbox,
)

from wattline.kernel.compiled import JIT

F = TypeVar("F", bound=Callable[..., Any])


class SlotType(types.FunctionType):
    """A function of one signature as an argument.

    Numba's own kind looks its addresses up at every call, which costs 0.05 ms.
    """


register_model(SlotType)(FunctionModel)


class Direct:
    """A compiled function in the form in which it is passed to others: its addresses, looked up once.

    ``compiled_as`` is the signature it was compiled for, where that is another one of the same layout: with
    read-only fields.
    """

    def __init__(self, function: Any, signature: Any, compiled_as: Any = None) -> None:
        self.function = function  # which keeps the code in memory
        compiled = function.get_compile_result(compiled_as or signature)
        self.c_address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name)
        self.jit_address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
        self.slot_type = SlotType(signature)


typeof_impl.register(Direct)(lambda value, _context: value.slot_type)


@unbox(SlotType)
def _unbox_slot(slot: SlotType, obj: Any, c: Any) -> Any:
    function = cgutils.create_struct_proxy(slot)(c.context, c.builder)
    for field, name in (("c_addr", "c_address"), ("jit_addr", "jit_address")):
        address = c.pyapi.object_getattr_string(obj, name)
        setattr(function, field, c.pyapi.long_as_voidptr(address))
        c.pyapi.decref(address)
    function.py_addr = c.builder.ptrtoint(obj, c.context.get_value_type(types.voidptr))
    return NativeValue(function._getvalue(), is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))


@functools.lru_cache(maxsize=256)
def direct(function: Any, signature: Any) -> Any:
    """Return a compiled function in the form that is passed to others; what is not compiled as it is."""
    return Direct(function, signature) if JIT else function


def straight(function: F) -> F:
    """Return an entry point without numba's look at the types of its arguments, which takes longer than a short call.

    Nothing is checked: it is for who gives the very types that it was compiled for, arrays in one piece.
    """
    compiled = getattr(function, "overloads", None)
    return next(iter(compiled.values())).entry_point if JIT and compiled else function
