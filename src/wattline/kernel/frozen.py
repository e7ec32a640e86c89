"""Arrays that may not be written are not handed on as if they might, in what users compile.

numba marks them in their types. But where it puts one into a container of arrays that may be written, or into a field
of an object, it only warns that a cast is unsafe. And an array that is the default of an argument, or that a module or
a namedtuple of constants holds, has no mark, though it lies in memory that cannot be written, or that all calls share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import errors
from numba.core import types as numba_types
from numba.core.base import BaseContext
from numba.core.typing.context import BaseContext as TypingContext

from wattline.kernel.indices import of_users

types: Any = numba_types  # it tells but a part of its types

CAST = "a read-only array is put among arrays that may be written; give it a copy"
CONSTANT = "a constant here holds what may be written; pass it as an argument, or use an array or a tuple of numbers"

_context: Any = BaseContext
_typing: Any = TypingContext
_cast: Callable[..., Any] = BaseContext.cast
_constant: Callable[..., Any] = BaseContext.get_constant_generic
_type_of: Callable[..., Any] = TypingContext.resolve_value_type


def loses_mark(given: Any, wanted: Any) -> bool:
    """Tell whether a value that may not be written would be taken for one that may."""
    arrays = isinstance(given, types.Buffer) and isinstance(wanted, types.Buffer)
    return bool(arrays and wanted.mutable and not given.mutable)


def marked(kind: Any) -> Any:
    """Return the type of a constant: arrays in it are read-only."""
    if isinstance(kind, types.Array):
        return kind.copy(readonly=True)
    if isinstance(kind, types.NamedUniTuple):
        return types.NamedUniTuple(marked(kind.dtype), kind.count, kind.instance_class)
    if isinstance(kind, types.NamedTuple):
        return types.NamedTuple([marked(one) for one in kind.types], kind.instance_class)
    if isinstance(kind, types.UniTuple):
        return types.UniTuple(marked(kind.dtype), kind.count)
    if isinstance(kind, types.Tuple):
        return types.Tuple([marked(one) for one in kind.types])
    return kind


def _cast_marked(context: Any, builder: Any, value: Any, given: Any, wanted: Any) -> Any:
    if of_users() and loses_mark(given, wanted):
        raise errors.UnsupportedError(CAST)
    return _cast(context, builder, value, given, wanted)


def _constant_marked(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if of_users() and (isinstance(kind, types.Record) or (isinstance(kind, types.Array) and kind.mutable)):
        raise errors.UnsupportedError(CONSTANT)
    return _constant(context, builder, kind, value)


def _type_marked(context: Any, value: Any) -> Any:
    found = _type_of(context, value)
    return marked(found) if of_users() else found


_context.cast = _cast_marked
_context.get_constant_generic = _constant_marked
_typing.resolve_value_type = _type_marked
