"""Arrays that may not be written are not handed on as if they might, in what users compile.

numba marks them in their types. But where it puts one into a container of arrays that may be written, or into a field
of an object, it only warns that a cast is unsafe; and an array that is the default of an argument, or stands in a
namedtuple of constants, has no mark though it lies in memory that cannot be written, or that all calls share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import errors
from numba.core import types as numba_types
from numba.core.base import BaseContext

from wattline.kernel.indices import of_users

types: Any = numba_types  # it tells but a part of its types

CAST = "a read-only array is put among arrays that may be written; give it a copy"
CONSTANT = "an array that is a constant here, as the default of an argument is, may be written; pass it as an argument"

_context: Any = BaseContext
_cast: Callable[..., Any] = BaseContext.cast
_constant: Callable[..., Any] = BaseContext.get_constant_generic


def loses_mark(given: Any, wanted: Any) -> bool:
    """Tell whether a value that may not be written would be taken for one that may."""
    arrays = isinstance(given, types.Buffer) and isinstance(wanted, types.Buffer)
    return bool(arrays and wanted.mutable and not given.mutable)


def _kept(context: Any, builder: Any, value: Any, given: Any, wanted: Any) -> Any:
    if of_users() and loses_mark(given, wanted):
        raise errors.UnsupportedError(CAST)
    return _cast(context, builder, value, given, wanted)


def _marked(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if of_users() and (isinstance(kind, types.Record) or (isinstance(kind, types.Array) and kind.mutable)):
        raise errors.UnsupportedError(CONSTANT)
    return _constant(context, builder, kind, value)


_context.cast = _kept
_context.get_constant_generic = _marked
