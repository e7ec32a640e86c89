"""Arrays of more elements than any memory holds are refused in what users compile: numba counts them wrongly.

Such an array is a view in which few elements stand for many. numba multiplies its lengths without looking for overflow:
an array of 2³² times 2³² elements has none, by its count, and an operation that makes room for none and goes by the
lengths writes to foreign memory. numpy refuses them. Lists and texts that are repeated are counted so, too.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba.core import types as numba_types
from numba.core.base import BaseContext
from numba.cpython.listobj import ListInstance
from numba.np import arrayobj

from wattline.kernel.indices import of_users

types: Any = numba_types  # it tells but a part of its types

MOST = 1 << 47
"""Elements of an array at most. To come to 2⁶⁴ by joining them takes more arrays than a function has."""

SAID = "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size."

_module: Any = arrayobj
_broadcast: Callable[..., Any] = _module._broadcast_to_shape
_reshape: Callable[..., Any] = _module._attempt_nocopy_reshape
_populate: Callable[..., Any] = _module.populate_array


def _refuse_too_many(context: Any, builder: Any, lengths: Sequence[Any]) -> None:
    """Write a check that an array of some lengths has no more elements than it may."""
    count, bad = cgutils.intp_t(1), cgutils.false_bit
    for length in lengths:
        product = builder.smul_with_overflow(count, length)
        count = builder.extract_value(product, 0)
        bad = builder.or_(bad, builder.extract_value(product, 1))
        bad = builder.or_(bad, builder.icmp_unsigned(">", count, ir.Constant(count.type, MOST)))
    with builder.if_then(bad, likely=False):
        context.call_conv.return_user_exc(builder, ValueError, (SAID,))


def _broadcast_to(context: Any, builder: Any, kind: Any, array: Any, lengths: Any) -> Any:
    _refuse_too_many(context, builder, lengths)
    return _broadcast(context, builder, kind, array, lengths)


def _reshaped(context: Any, builder: Any, kind: Any, array: Any, newnd: int, lengths: Any, strides: Any) -> Any:
    _refuse_too_many(context, builder, cgutils.unpack_tuple(builder, builder.load(lengths), newnd))
    return _reshape(context, builder, kind, array, newnd, lengths, strides)


def _populated(array: Any, data: Any, shape: Any, *rest: Any, **named: Any) -> Any:
    if of_users():
        lengths = shape if isinstance(shape, (tuple, list)) else cgutils.unpack_tuple(array._builder, shape)
        if len(lengths) > 1:  # what has one length was made from memory, or above
            _refuse_too_many(array._context, array._builder, lengths)
    return _populate(array, data, shape, *rest, **named)


_module._broadcast_to_shape = _broadcast_to
_module._attempt_nocopy_reshape = _reshaped
_module.populate_array = _populated

# ------------------------------------------------------------------ lists and texts that are repeated

_context: Any = BaseContext
_plain_function: Callable[..., Any] = BaseContext.get_function


def _get_function(context: Any, function: Any, signature: Any, *rest: Any, **named: Any) -> Any:
    """Return how a function is carried out; a list or a text times a number has a size that may be too great."""
    plain = _plain_function(context, function, signature, *rest, **named)
    key = getattr(function, "typing_key", function)
    if not of_users() or key not in (operator.mul, operator.imul):
        return plain
    whole = [i for i, kind in enumerate(signature.args) if isinstance(kind, (types.List, types.UnicodeType))]
    return _Repeated(plain, context, signature.args, whole[0]) if whole else plain


class _Repeated:
    """A repetition, after a look at the size of what is to come."""

    def __init__(self, plain: Any, context: Any, kinds: Sequence[Any], at: int) -> None:
        self.plain, self.context, self.kinds, self.at = plain, context, kinds, at

    def __call__(self, builder: Any, given: Sequence[Any], loc: Any = None) -> Any:
        kind, value, times = self.kinds[self.at], given[self.at], given[1 - self.at]
        if isinstance(kind, types.List):
            size = ListInstance(self.context, builder, kind, value).size
        else:
            size = cgutils.create_struct_proxy(kind)(self.context, builder, value).length
        times = self.context.cast(builder, times, self.kinds[1 - self.at], types.intp)
        product = builder.smul_with_overflow(size, times)
        many = builder.icmp_signed(">", builder.extract_value(product, 0), ir.Constant(size.type, MOST))
        many = builder.or_(many, builder.extract_value(product, 1))
        wanted = builder.icmp_signed(">", times, ir.Constant(times.type, 0))
        with builder.if_then(builder.and_(many, wanted), likely=False):
            self.context.call_conv.return_user_exc(builder, MemoryError, ("what is repeated is too long",))
        return self.plain(builder, given, loc)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)


_context.get_function = _get_function
