"""The arrays of a record as compiled code sees them.

Elements are reached without the check for negative indices. Fields that code of users reaches are checked, by name.
"""

from __future__ import annotations

import importlib
import operator
import sys
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.lowering import BaseLower
from numba.extending import (
    lower_builtin,
    lower_cast,
    models,
    register_model,
    type_callable,
)


class FieldArray(types.Array):
    """A field of a record: an array whose single elements are reached without the check for negative indices.

    Half of a kernel's instructions would otherwise be that check. ``boundscheck=True`` restores numba's own access.
    ``step`` is the distance between elements in bytes: fields of one block are interleaved, so that all that is
    known of a job lies in a few cache lines. A field with a ``label`` is one that code of users reaches: every
    index is checked, and an error has that name and the line; ``wraps`` lets negative indices count from the end
    there.
    """

    def __init__(
        self, dtype: Any, ndim: int, *, step: int = 8, readonly: bool = False, label: str = "", wraps: bool = False
    ) -> None:
        self.step, self.label, self.wraps = step, label, wraps
        called = f"{label}{' from either end' if wraps else ''}: " if label else ""
        name = f"field({called}{dtype}, {ndim}d, {step}, {readonly})"
        super().__init__(dtype, ndim, "C" if step == 8 else "A", readonly=readonly, name=name)

    @property
    def key(self) -> Any:
        """Tell fields of different steps and labels apart: numba keeps one instance a key."""
        return (*super().key, self.step, self.label, self.wraps)


register_model(FieldArray)(models.ArrayModel)


@lower_cast(FieldArray, types.Array)
def _as_array(_context: Any, _builder: Any, _field: Any, _array: Any, value: Any) -> Any:
    """Let a field stand where another path has an array: they are laid out alike.

    Numba's own cast does not know fields.
    """
    return value


def _within(context: Any, builder: Any, array: Any, value: Any, axis: int, index: Any, kind: Any) -> Any:
    """Return an index of a labelled field as a whole number of 64 bits.

    Raise IndexError where the field has no such element.
    """
    number = context.cast(builder, index, kind, types.intp)
    extent = builder.extract_value(value, [5, axis])
    if array.wraps:
        negative = builder.icmp_signed("<", number, number.type(0))
        number = builder.select(negative, builder.add(number, extent), number)
    with cgutils.if_unlikely(builder, builder.icmp_unsigned(">=", number, extent)):  # a negative one is a huge one
        said = f"{array.label} has no such element: the index is {'' if array.wraps else 'negative or '}out of bounds"
        context.call_conv.return_user_exc(builder, IndexError, (said,), loc=_line_being_lowered())
    return number


def _line_being_lowered() -> Any:
    """Return which line of source numba is translating at the moment.

    It does not tell those who translate an operation.
    """
    frame = sys._getframe(1)
    while frame is not None:
        lowering = frame.f_locals.get("self")
        if isinstance(lowering, BaseLower):
            return lowering.loc
        frame = frame.f_back  # type: ignore[assignment]
    return None


def _of_numba(access: str) -> Any:
    """Return how numba itself translates an access to an array; only who compiles needs that large module."""
    return getattr(importlib.import_module("numba.np.arrayobj"), access)


def _element(context: Any, builder: Any, array: Any, value: Any, index: Any, kind: Any) -> Any:
    if array.label:
        index = _within(context, builder, array, value, 0, index, kind)
    data = builder.extract_value(value, 4)
    if array.step != 8:
        index = builder.mul(index, ir.Constant(index.type, array.step // 8), flags=("nsw",))
    return builder.gep(data, [index], inbounds=True)


def fetch(array: Any, index: int) -> None:
    """Ask for an element that is needed soon, so that memory is on its way.

    Nothing is read, so an index beyond the end does no harm.
    """


type_callable(fetch)(lambda _context: lambda array, _index: types.none(array, types.int64))


@lower_builtin(fetch, FieldArray, types.int64)
def _fetch(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    words = builder.mul(args[1], ir.Constant(args[1].type, sig.args[0].step // 8))
    place = builder.bitcast(builder.gep(builder.extract_value(args[0], 4), [words]), cgutils.voidptr_t)
    flag = ir.IntType(32)
    ask = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, flag, flag, flag])
    to_write, keep, data = ir.Constant(flag, 1), ir.Constant(flag, 3), ir.Constant(flag, 1)
    asked = cgutils.get_or_insert_function(builder.module, ask, "llvm.prefetch.p0")
    builder.call(asked, [place, to_write, keep, data])
    return context.get_dummy_value()


@lower_builtin(operator.getitem, FieldArray, types.Integer)
def _get_element(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    array, kind = sig.args
    if array.ndim != 1 or (context.enable_boundscheck and not array.label):
        return _of_numba("getitem_arraynd_intp")(context, builder, sig, args)
    return builder.load(_element(context, builder, array, args[0], args[1], kind))


def _cell(context: Any, builder: Any, array: Any, value: Any, index: Any, kind: Any) -> Any:
    """Address an element of a two-dimensional field: row · columns + column."""
    row = builder.extract_value(index, 0)
    column = builder.extract_value(index, 1)
    if array.label:
        row = _within(context, builder, array, value, 0, row, kind)
        column = _within(context, builder, array, value, 1, column, kind)
    columns = builder.extract_value(value, [5, 1])
    return builder.gep(builder.extract_value(value, 4), [builder.add(builder.mul(row, columns), column)], inbounds=True)


def _is_cell(context: Any, array: Any, index: Any) -> bool:
    """Tell whether an index of two whole numbers is ours to translate."""
    ours = array.ndim == index.count == 2 and isinstance(index.dtype, types.Integer)
    return ours and (bool(array.label) or not context.enable_boundscheck)


@lower_builtin(operator.getitem, FieldArray, types.UniTuple)
def _get_cell(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    array, index = sig.args
    if not _is_cell(context, array, index):
        return _of_numba("getitem_array_tuple")(context, builder, sig, args)
    return builder.load(_cell(context, builder, array, args[0], args[1], index.dtype))


@lower_builtin(operator.setitem, FieldArray, types.UniTuple, types.Any)
def _set_cell(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    array, index, given = sig.args
    if not _is_cell(context, array, index):
        return _of_numba("setitem_array")(context, builder, sig, args)
    value = context.cast(builder, args[2], given, array.dtype)
    builder.store(value, _cell(context, builder, array, args[0], args[1], index.dtype))
    return context.get_dummy_value()


@lower_builtin(operator.setitem, FieldArray, types.Integer, types.Any)
def _set_element(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    array, kind, given = sig.args
    if array.ndim != 1 or (context.enable_boundscheck and not array.label):
        return _of_numba("setitem_array")(context, builder, sig, args)
    value = context.cast(builder, args[2], given, array.dtype)
    builder.store(value, _element(context, builder, array, args[0], args[1], kind))
    return context.get_dummy_value()
