"""What compiled policies are written in: which values they may hold and which functions they may call.

numba knows far more than a policy needs: dictionaries, texts, objects, its own internals. Much of that passes over
bounds or marks, or fails without a word. So the language is closed: numbers, arrays, tuples and lists of them, and
functions that are named here or were compiled by the user from the same language. What a later numba learns is refused
until somebody has tried it.
"""

from __future__ import annotations

import functools
import heapq
import math
import operator
import random
import types as python_types
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

import numba
import numpy as np
from numba import types as numba_types
from numba.core.unsafe import eh

from wattline.control.users import readers
from wattline.kernel.record import RecordType

_numba: Any = numba  # it does not tell its types
types: Any = numba_types

HELPERS = "wattline.policies.helpers"
PLAIN_PYTHON = "leave compiled=True out to run as plain Python"
HOLDS = f"they hold numbers, arrays, and tuples and lists of them; {PLAIN_PYTHON}"

# ------------------------------------------------------------------ values

_ATOMS = (
    types.Integer,
    types.Float,
    types.Complex,
    types.Boolean,
    types.NoneType,
    types.StringLiteral,
    types.SliceLiteral,
    types.MakeFunctionLiteral,
    types.Omitted,
    types.RangeType,
    types.RangeIteratorType,
    types.SliceType,
    types.DTypeSpec,
    types.ArrayFlags,
    types.EnumClass,
    types.Module,
    types.Function,
    types.Dispatcher,
    types.NumberClass,
    types.NamedTupleClass,
    types.ExceptionClass,
    types.ExceptionInstance,
    types.NumpyNdIndexType,
    RecordType,
)
"""Types that hold no value of another type, or none that could be written."""

_MADE: dict[Any, Callable[[Any], Iterable[Any]]] = {
    types.Array: lambda kind: (kind.dtype,),
    types.BaseTuple: tuple,
    types.NamedTuple: lambda kind: kind.types,
    types.Optional: lambda kind: (kind.type,),
    types.List: lambda kind: (kind.dtype,),
    types.ListIter: lambda kind: (kind.container,),
    types.UniTupleIter: lambda kind: (kind.container,),
    types.ArrayIterator: lambda kind: (kind.array_type,),
    types.NumpyNdEnumerateType: lambda kind: (kind.array_type,),
    types.EnumerateType: lambda kind: (kind.source_type,),
    types.ZipType: lambda kind: kind.source_types,
    types.Pair: lambda kind: (kind.first_type, kind.second_type),
    types.Generator: lambda kind: (kind.yield_type, *kind.arg_types, *kind.state_types),
    types.EnumMember: lambda kind: (kind.dtype,),
    types.BoundFunction: lambda kind: (kind.this,),
}
"""Types that are made of others: of which."""

_WORDS = (
    ((types.DictType, types.LiteralStrKeyDict, types.DictItemsIterableType), "a dict"),
    ((types.Set, types.SetType), "a set"),
    ((types.ListType,), "numba's typed list"),
    ((types.TypeRef,), "numba's typed list or dict"),
    ((types.UnicodeType, types.Bytes, types.CharSeq, types.UnicodeCharSeq), "a text"),
    ((types.LiteralList,), "a list of values of several types"),
    ((types.ClassInstanceType, types.ClassType, types.StructRef), "an object of a class"),
    ((types.Record,), "a record"),
    ((types.NPDatetime, types.NPTimedelta), "a date"),
    ((types.ObjModeDispatcher,), "objmode"),
    ((types.ContextManager,), "a with block"),
    ((types.FunctionType, types.UndefinedFunctionType, types.FunctionPrototype), "one of several functions"),
    ((types.ExternalFunction, types.ExternalFunctionPointer), "a function of another library"),
)


@functools.cache
def foreign(kind: Any) -> str:
    """Return what of a type is not for compiled policies, in words (nothing: all of it is)."""
    if kind == types.code_type:  # of a lambda, which is looked at where it is called
        return ""
    if isinstance(kind, _ATOMS) and not isinstance(kind, (types.ObjModeDispatcher, types.ExternalFunction)):
        return ""
    makers = [kind_of for kind_of in type(kind).__mro__ if kind_of in _MADE]
    if makers:
        return next((said for part in _MADE[makers[0]](kind) if (said := foreign(part))), "")
    return next((said for known, said in _WORDS if isinstance(kind, known)), f"a value of numba's type {kind}")


_SHOWN = (types.Integer, types.Float, types.Boolean, types.NoneType, types.StringLiteral)

# ------------------------------------------------------------------ functions

_MAKERS = """
    arange array broadcast_shapes empty eye fill_diagonal finfo full geomspace identity iinfo indices linspace logspace
    nan_to_num ndindex ones take_along_axis tri tril_indices triu_indices zeros amax amin row_stack
"""
"""Functions of numpy that make arrays, or write to one that is given: they are known in policies, but not to leave
read-only arrays alone.
"""

_OF_PYTHON = frozenset(
    (
        *(abs, bool, complex, divmod, enumerate, float, getattr, hasattr, int, isinstance, iter, len, list),
        *(max, min, next, pow, print, range, round, slice, sorted, sum, tuple, type, zip),
        *(heapq.heapify, heapq.heappop, heapq.heappush, heapq.heappushpop, heapq.heapreplace),
        *(heapq.nlargest, heapq.nsmallest),
        *(one for one in vars(math).values() if isinstance(one, python_types.BuiltinFunctionType)),
        _numba.prange,
    )
)

_OPERATORS = frozenset(
    getattr(operator, name)
    for name in (
        *("abs", "add", "and_", "contains", "eq", "floordiv", "ge", "getitem", "gt", "invert", "is_", "is_not", "le"),
        *("lshift", "lt", "matmul", "mod", "mul", "ne", "neg", "not_", "or_", "pos", "pow", "rshift", "sub", "truediv"),
        *("truth", "xor"),
    )
)

FUNCTIONS = (
    readers.FRESH
    | readers.VIEWS
    | frozenset(readers.OUT)
    | readers.STRUCTURE
    | frozenset(readers.named(_MAKERS.split()))
    | _OF_PYTHON
    | _OPERATORS
)
"""All functions that compiled policies may call, but for ufuncs, helpers and what the user compiled."""

METHODS = {
    types.Array: readers.METHODS_FRESH | readers.METHODS_VIEWS | frozenset((*readers.METHODS_OUT, "fill", "sort")),
    types.List: frozenset(
        ("append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort")
    ),
    types.BaseTuple: frozenset(("index",)),
}


_NO_UFUNCS = frozenset((np.fmod,))
"""Ufuncs that numba gets wrong: fmod(-7, 3) is 0 there."""

_INSTEAD = {
    np.bincount: "it does not look at the sign of the first number; count in a loop",
    np.clip: "it rounds bounds, and passes over NaN; write np.minimum(np.maximum(a, low), high)",
    np.fmod: "it gets whole numbers wrong; use %, or x - y * np.trunc(x / y)",
    np.histogram: "it loses values where all are equal; use np.searchsorted(edges, a)",
    np.median: "it passes over NaN; use np.nanmedian or np.percentile(a, 50)",
    np.resize: "it returns the array itself where the size is the same; write np.reshape(a, …).copy()",
    np.roll: "it loses count where the shift is large; write np.concatenate((a[-k:], a[:-k]))",
}
"""What numba gets wrong without a word, and what to write."""


def knows_function(key: Any) -> bool:
    """Tell whether compiled policies may call a function of Python, numpy or Wattline."""
    if isinstance(key, np.ufunc):
        return key not in _NO_UFUNCS
    return is_one_of(key, FUNCTIONS) or getattr(key, "__module__", "") == HELPERS


_OF_LISTS = frozenset(
    (sorted, list, max, min, *(one for one in _OF_PYTHON if getattr(one, "__module__", "")[-5:] == "heapq"))
)
"""Functions that move elements of lists."""

MOVES = (
    "numba loses count of what is in a list of lists or of arrays when its elements move; append to it and read it, or "
    "use numbers"
)

SLICES = "slices of lists cannot be set in compiled policies: make a new list, or use an array"


@functools.cache
def is_of_memory(kind: Any) -> bool:
    """Tell whether a type is that of lists whose elements hold memory of their own: arrays, lists, tuples of them."""
    return isinstance(kind, types.List) and _has_memory(kind.dtype)


def _has_memory(kind: Any) -> bool:
    if isinstance(kind, (types.Array, types.List)):
        return True
    makers = [kind_of for kind_of in type(kind).__mro__ if kind_of in _MADE]
    return bool(makers) and any(map(_has_memory, _MADE[makers[0]](kind)))


def moves(key: Any, this: Any, name: str, given: Iterable[Any]) -> str:
    """Return why a call may not be given a list (nothing: it may, or is given none)."""
    if is_of_memory(this) and name != "append":
        return MOVES
    return MOVES if this is None and key in _OF_LISTS and any(map(is_of_memory, given)) else ""


def knows_method(this: Any, name: str) -> bool:
    """Tell whether compiled policies may call a method of a value of some type."""
    return any(name in names for kind, names in METHODS.items() if isinstance(this, kind))


def unknown_function(key: Any) -> str:
    """Say that a function is none that compiled policies may call, and what to call instead."""
    name = readers.name_of(key)
    if getattr(key, "__module__", "") == eh.__name__:
        return f"try is not for compiled policies: numba loses what is assigned in it; {PLAIN_PYTHON}"
    if name.startswith(("random.", "np.random.")) or isinstance(getattr(key, "__self__", None), random.Random):
        return f"{name} draws other numbers in every run; use wl.uniform(seed, stream, counter)"
    if is_one_of(key, _INSTEAD):
        return f"{name} is not for compiled policies, for numba's own is wrong: {_INSTEAD[key]}"
    return unknown(name)


def is_one_of(key: Any, known: Container[Any]) -> bool:
    """Tell whether a key of numba's is among what is known."""
    try:
        return key in known
    except TypeError:  # what cannot be hashed is nothing that is known
        return False


_TRUTHS = (operator.add, operator.iadd, operator.sub, operator.isub, operator.neg)


def of_truths(function: Any, given: Sequence[Any]) -> str:
    """Return why truth values may not be calculated with so (nothing: they may, or not all are truth values)."""
    if function not in _TRUTHS or not all(isinstance(kind, types.Boolean) for kind in given):
        return ""
    return "to numba truth values are numbers here, and not to numpy; write int(a) + int(b), or a | b"


def sorted_by(key: Any, name: str, named: Iterable[str], given: Sequence[Any]) -> str:
    """Return why a list may not be sorted so (nothing: it may, or nothing is sorted)."""
    sorts = key is sorted or name == "sort"
    if not sorts or not ("key" in named or any(isinstance(kind, types.Callable) for kind in given)):
        return ""
    return "numba mixes up what has the same key; sort tuples of the key, the place and the rest: (width, i, j)"


def joined(left: Any, right: Any) -> str:
    """Return why ``+=`` may not join something to a list (nothing: it may, or there is no list)."""
    if not isinstance(left, types.List):
        return ""
    elements = tuple(right) if isinstance(right, types.BaseTuple) else (getattr(right, "dtype", left.dtype),)
    return next((said for one in elements if (said := rounded(one, left.dtype))), "")


def rounded(value: Any, element: Any) -> str:
    """Return why a value may not be set in a list (nothing: an element of the list can hold it)."""
    if _holds(element, value):
        return ""
    held = "tuples of other numbers" if isinstance(element, types.BaseTuple) else _KINDS[_kind(element)]
    told = f"numba would round or cut it, for the list holds {held}"
    return f"{told}; make a list of floats ([0.0] * n), or an array"


_KINDS = ("truth values", "whole numbers", "floats", "complex numbers")


def _kind(of: Any) -> int:
    order = (types.Boolean, types.Integer, types.Float, types.Complex)
    return next((at for at, kind in enumerate(order) if isinstance(of, kind)), len(order))


def _holds(element: Any, value: Any) -> bool:
    if isinstance(element, types.BaseTuple) and isinstance(value, types.BaseTuple):
        return all(map(_holds, element, value))
    if max(_kind(element), _kind(value)) == len(_KINDS):
        return True  # no numbers: numba converts none into another
    return _kind(value) <= _kind(element)


def with_axes(key: Any, name: str, given: Sequence[Any]) -> str:
    """Return why a function or method may not be given axes (nothing: it may, or is given none)."""
    if (key is np.transpose and len(given) > 1) or (key is not np.transpose and name == "transpose" and given):
        return "numba does not look whether axes repeat; np.transpose(a) and a.T turn them all around"
    return ""


def printed(given: Iterable[Any]) -> str:
    """Return why values may not be printed (nothing: they may)."""
    if all(isinstance(kind, _SHOWN) for kind in given):
        return ""
    return f"print shows numbers and texts in compiled policies; {PLAIN_PYTHON}"


def unknown(name: str) -> str:
    """Say that something is none that compiled policies may call."""
    return f"{name} is not among what compiled policies may call (docs/policies.md has the list); {PLAIN_PYTHON}"
