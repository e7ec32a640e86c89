"""The one place that knows numba: decorators, and the record type whose value is a single pointer.

Three facts (measured; see docs/design.md) shape this module. A wide tuple of arrays costs nanoseconds an array at every
call, so the state is one pointer to a table of array descriptors. Reference counting dominates a loop that touches
dozens of arrays, so kernels are compiled without it (``_nrt=False``, a private option: this is the only line that names
it; ``speed`` holds what is private about how it compiles). numba's cache notices edits of a function's own
file only, so the cache directory (``cache``) carries a fingerprint of the whole package.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils, typeinfer
from numba.core.compiler import Compiler
from numba.core.lowering import BaseLower
from numba.core.registry import CPUDispatcher
from numba.core.typing.templates import AttributeTemplate
from numba.experimental.function_type import FunctionModel
from numba.extending import (
    NativeValue,
    box,
    infer_getattr,
    lower_builtin,
    lower_cast,
    lower_getattr_generic,
    models,
    register_jitable,
    register_model,
    type_callable,
    typeof_impl,
    unbox,
)

from wattline.kernel.cache import FAST, SealedCache

F = TypeVar("F", bound=Callable[..., Any])

_config: Any = numba.config  # its attributes are made at run time

JIT = not _config.DISABLE_JIT
"""False when ``NUMBA_DISABLE_JIT=1``: kernels are then plain Python, with the same results."""

if FAST:
    from wattline.kernel import speed as numba_speed


# ------------------------------------------------------------------ decorators


def _njit(function: F, *signature: Any, **options: Any) -> F:
    """Compile a function: at once for the signatures that are given; with ``cache`` kept on disk."""
    if not JIT:
        return function
    variant = options.pop("variant", "")
    remembers = FAST and options.pop("ours", True)  # numba registers functions while it compiles some of its own
    if not options.pop("cache", False):
        return cast("F", numba.njit(*signature, **options)(function))
    dispatcher = numba.njit(**options)(function)
    dispatcher._cache = SealedCache(function, f"{sorted(options.items())} level {_config.OPT}{variant}")
    if signature:
        with typeinfer.register_dispatcher(dispatcher):  # as numba does where it is given signatures
            for one in signature:
                with numba_speed.remembering() if remembers else contextlib.nullcontext():
                    dispatcher.compile(one)
            dispatcher.disable_compile()
    return cast("F", dispatcher)


_INNER = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Kernels are called by compiled code only: without wrappers for Python they compile in half the time."""


@contextlib.contextmanager
def _optimised(level: int) -> Iterator[None]:
    """Set LLVM's optimisation level for what is compiled meanwhile."""
    saved = _config.OPT
    _config.OPT = type(saved)(level)
    try:
        yield
    finally:
        _config.OPT = saved


def _lightly(dispatcher: F) -> F:
    """Let a helper be optimised lightly by itself: its callers optimise it again, with all that surrounds it."""
    compiler = dispatcher._compiler  # type: ignore[attr-defined]
    compile_fully = compiler.compile

    def compile_lightly(args: Any, return_type: Any) -> Any:
        with _optimised(1):
            return compile_fully(args, return_type)

    compiler.compile = compile_lightly
    return dispatcher


class _Inner(CPUDispatcher):
    """A helper of compiled code: numba knows it as any other function, Python cannot call it."""

    def __call__(self, *_: Any, **__: Any) -> Any:
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}"
        raise TypeError(
            f"{name} is a kernel: only compiled code can call it. From Python take a helper of "
            "wattline.policies.helpers, or "
            f"its plain twin, wattline.testing.plain.plain({self.py_func.__name__})"
        )

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compile once for all whole numbers: numba would do so again for every constant that is passed, and every
        first guess.
        """
        plain = tuple(types.unliteral(a) for a in args)
        return super().get_call_template(plain, {name: types.unliteral(a) for name, a in kws.items()})


def _helper(function: F, *, inline: bool) -> F:
    """Compile what only compiled code calls.

    Python is refused: there is no wrapper for it, and it would get nothing without a word.
    """
    if not JIT:
        return function
    faster = {"pipeline_class": numba_speed.HelperCompiler} if FAST else {}
    dispatcher: Any = _njit(function, _nrt=False, forceinline=inline, **_INNER, **faster)
    dispatcher.__class__ = _Inner
    return cast("F", dispatcher if FAST else _lightly(dispatcher))


def kernel(function: F) -> F:
    """Compile a helper that is inlined into its callers; it may not allocate."""
    return _helper(function, inline=True)


def outlined(function: F) -> F:
    """Compile a helper that may stay a call of its own: for rare, large branches of hot loops.

    Without a word about inlining it would inherit that of the kernel that calls it.
    """
    return _helper(function, inline=False)


def write_ahead(helper: Any) -> None:
    """Translate a helper for whoever compiles its callers.

    Its arguments are records and numbers, as its annotations say.
    """
    kinds: dict[str, Any] = {"int": types.int64, "float": types.float64, "bool": types.boolean}
    plain = helper.py_func
    said = [kind for name, kind in plain.__annotations__.items() if name != "return"]
    numba_speed.write(helper, tuple(kinds.get(kind) or plain.__globals__[kind].record_type for kind in said))


def entry(*signature: Any, level: int = 2) -> Callable[[F], F]:
    """Compile an entry point for one signature: cached on disk, without the GIL; it may not allocate.

    ``level`` is LLVM's optimisation level; the third gains nothing here and costs seconds.
    """

    def compile_now(function: F) -> F:
        faster = {"pipeline_class": numba_speed.EntryCompiler} if FAST else {}
        with _optimised(level):
            return _njit(function, *signature, cache=True, nogil=True, _nrt=False, **faster)

    return compile_now


def seldom(*signature: Any) -> Callable[[F], F]:
    """Compile an entry point that is called too seldom to be worth more than light optimisation."""
    return entry(*signature, level=1)


def library(function: F) -> F:
    """Compile a stand-alone numerical function of arrays: cached on disk, without the GIL; it may allocate."""
    return _njit(function, cache=True, nogil=True)


def either(function: F) -> F:
    """Let compiled code call a function that Python runs as it is: for generators, whose compiled form numba cannot
    keep on disk.
    """
    return register_jitable(function) if JIT else function


def plugin(
    function: F, signature: Any, *, cache: bool, judge: Any = Compiler, boundscheck: bool = False, variant: str = ""
) -> F:
    """Compile a user's policy: it may allocate.

    With ``boundscheck`` the functions it calls, if they are new, check their indices too.

    ``judge`` is the compiler, which refuses what a user's code must not do. What is kept on disk has passed it, and
    is used again for the same ``variant`` only.
    """
    saved = _config.BOUNDSCHECK
    _config.BOUNDSCHECK = 1 if boundscheck else saved
    try:
        return _njit(
            function, signature, ours=False, cache=cache, boundscheck=boundscheck, variant=variant, pipeline_class=judge
        )
    finally:
        _config.BOUNDSCHECK = saved


# ------------------------------------------------------------------ the record type


SPARE_WORDS = 16
"""Words of a record's table that belong to no field: compiled code notes there who is called and what went wrong."""

BASE_WORD = 16
"""The last of them: the address from which the places of fields of a known size are counted."""


Near = dict[str, tuple[int, int]]
"""Fields of a known size: name → (bytes after the base, elements)."""

Beside = dict[str, tuple[str, int]]
"""Interleaved fields: name → (the first of them, bytes after that one)."""


class RecordType(types.Type):
    """A numba type whose value is one pointer to ``[PyObject*][spare word]*[array descriptor]*``."""

    def __init__(
        self, label: str, fields: dict[str, Any], near: Near | None = None, beside: Beside | None = None
    ) -> None:
        self.fields = fields
        self.near, self.beside = near or {}, beside or {}
        self.offsets: dict[str, int] = {}
        self.dtypes = {name: np.dtype(str(array.dtype)) for name, array in fields.items()}
        at = 1 + SPARE_WORDS
        for name, array in fields.items():
            self.offsets[name] = at
            at += 5 + 2 * array.ndim
        self.words = at
        told = repr(sorted((n, str(t), self.near.get(n), self.beside.get(n)) for n, t in fields.items()))
        digest = hashlib.sha256(told.encode()).hexdigest()[:6]
        super().__init__(name=f"{label}#{digest}")


@register_model(RecordType)
class _RecordModel(models.OpaqueModel):
    """A bare pointer."""


@infer_getattr
class _RecordAttributes(AttributeTemplate):
    key = RecordType

    def generic_resolve(self, record: RecordType, attribute: str) -> Any:  # type: ignore[override]  # numba sets NotImplemented
        return record.fields.get(attribute)


@lower_getattr_generic(RecordType)
def _load_field(context: Any, builder: Any, record: RecordType, pointer: Any, attribute: str) -> Any:
    """Load an array's descriptor; the loads are invariant, so LLVM may keep a data pointer in a register.

    Item size and strides follow from the type and the extents, so they need no load.
    """
    array = record.fields[attribute]
    value_type = context.get_value_type(array)
    first, beyond = record.beside.get(attribute, (attribute, 0))  # interleaved fields are all reached from one address
    table = context.get_value_type(record.fields[first])
    address = builder.bitcast(cgutils.pointer_add(builder, pointer, record.offsets[first] * 8), table.as_pointer())

    def load(*path: int) -> Any:
        indices = [ir.Constant(ir.IntType(32), i) for i in (0, *path)]
        got = builder.load(builder.gep(address, indices, inbounds=True))
        got.set_metadata("invariant.load", builder.module.add_metadata([]))
        return got

    word = ir.IntType(64)
    if attribute in record.near:
        return _load_near(builder, pointer, value_type, *record.near[attribute])
    stride = ir.Constant(word, array.step)
    value = ir.Constant(value_type, None)  # meminfo and parent stay null: never counted, never freed
    value = builder.insert_value(value, ir.Constant(word, 8), 3)
    data = cgutils.pointer_add(builder, builder.bitcast(load(4), cgutils.voidptr_t), beyond)
    value = builder.insert_value(value, builder.bitcast(data, value_type.elements[4]), 4)
    size = ir.Constant(word, 1)
    for d in range(array.ndim - 1, -1, -1):
        extent = load(5, d)
        value = builder.insert_value(value, extent, [5, d])
        value = builder.insert_value(value, stride, [6, d])
        if array.ndim > 1:
            stride = builder.mul(stride, extent)
        size = extent if array.ndim == 1 else builder.mul(size, extent)
    return builder.insert_value(value, size, 2)


def _load_near(builder: Any, pointer: Any, value_type: Any, offset: int, count: int) -> Any:
    """Return the descriptor of a field of a known size: its place follows from that of the first, so it is not
    looked up.
    """
    word = ir.IntType(64)
    at = builder.bitcast(cgutils.pointer_add(builder, pointer, BASE_WORD * 8), cgutils.voidptr_t.as_pointer())
    base = builder.load(at)
    base.set_metadata("invariant.load", builder.module.add_metadata([]))
    data = builder.bitcast(builder.gep(base, [ir.Constant(word, offset)], inbounds=True), value_type.elements[4])
    value = ir.Constant(value_type, None)
    for path, number in ((2, count), (3, 8), ([5, 0], count), ([6, 0], 8)):
        value = builder.insert_value(value, ir.Constant(word, number), path)
    return builder.insert_value(value, data, 4)


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


class Record:
    """Python side of a record: attributes are the arrays, which it keeps alive; pickles by arrays."""

    record_type: RecordType
    words: npt.NDArray[np.int64]

    def __init__(self, **arrays: npt.NDArray[Any]) -> None:
        missing = set(self.record_type.fields) ^ set(arrays)
        if missing:
            raise TypeError(f"record needs exactly its fields; differs in {', '.join(sorted(missing))}")
        fields, dtypes, offsets = self.record_type.fields, self.record_type.dtypes, self.record_type.offsets
        words = [0] * self.record_type.words  # hundreds of writes into an array would take longer
        words[0] = id(self)
        for name, array in arrays.items():
            expected, size, ndim, strides = fields[name], array.size, array.ndim, array.strides
            if array.dtype != dtypes[name] or ndim != expected.ndim or not (size == 0 or strides[-1] == expected.step):
                raise TypeError(f"field {name!r} must be {expected}, got {array.dtype} {ndim}-d {strides}")
            at = offsets[name] + 2
            described = (size, array.itemsize, array.__array_interface__["data"][0], *array.shape, *strides)
            words[at : at + 3 + 2 * ndim] = described
        for i, (name, (offset, count)) in enumerate(self.record_type.near.items()):
            place = words[offsets[name] + 4] - offset
            words[BASE_WORD] = place if i == 0 else words[BASE_WORD]
            if place != words[BASE_WORD] or arrays[name].size != count:
                raise TypeError(f"field {name!r} must lie {offset} bytes after the base, with {count} elements")
        for name, (lead, beyond) in self.record_type.beside.items():
            if arrays[name].size and words[offsets[name] + 4] != words[offsets[lead] + 4] + beyond:
                raise TypeError(f"field {name!r} must lie {beyond} bytes after {lead!r}")
        self.__dict__.update(arrays)
        self.words = np.array(words, dtype=np.int64)

    def __setattr__(self, name: str, value: Any) -> None:
        if "locked" in self.__dict__:
            raise AttributeError(f"fields are arrays: write s.{name}[0] = …, not s.{name} = …")
        super().__setattr__(name, value)

    @property
    def address(self) -> int:
        """Address of the descriptor table."""
        return int(self.words.ctypes.data)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the fields as a dictionary."""
        return {name: getattr(self, name) for name in self.record_type.fields}


def register(
    cls: type[Record], label: str, fields: dict[str, Any], near: Near | None = None, beside: Beside | None = None
) -> None:
    """Give a Record class its numba type."""
    record_type = RecordType(label, fields, near, beside)
    cls.record_type = record_type
    typeof_impl.register(cls)(lambda _value, _context: record_type)


@unbox(RecordType)
def _unbox(_record: RecordType, obj: Any, c: Any) -> Any:
    address = c.pyapi.object_getattr_string(obj, "address")
    pointer = c.builder.inttoptr(c.pyapi.long_as_longlong(address), cgutils.voidptr_t)
    c.pyapi.decref(address)
    return NativeValue(pointer, is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))


@box(RecordType)
def _box(_record: RecordType, value: Any, c: Any) -> Any:
    slot = c.builder.bitcast(value, ir.IntType(64).as_pointer())
    obj = c.builder.inttoptr(c.builder.load(slot), c.pyapi.pyobj)
    c.pyapi.incref(obj)
    return obj


# ------------------------------------------------------------------ functions as arguments


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


def python_tag() -> str:
    """Return the interpreter's version, for manifests."""
    return ".".join(map(str, sys.version_info[:3]))
