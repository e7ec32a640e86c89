"""The record: a numba type whose value is a single pointer to a table of array descriptors, and its Python side.

A wide tuple of arrays costs nanoseconds an array at every call (measured; see docs/design.md); one pointer does not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typeconv.castgraph import Conversion
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    box,
    infer_getattr,
    lower_builtin,
    lower_getattr_generic,
    models,
    register_model,
    type_callable,
    typeof_impl,
    unbox,
)

SPARE_WORDS = 16
"""Words of a record's table that belong to no field: compiled code notes there who is called and what went wrong."""

BASE_WORD = 16
"""The last of them: the address from which the places of fields of a known size are counted."""


Near = dict[str, tuple[int, int]]
"""Fields of a known size: name → (bytes after the base, elements)."""

Beside = dict[str, tuple[str, int]]
"""Interleaved fields: name → (the first of them, bytes after that one)."""


class RecordType(types.Type):
    """A numba type whose value is one pointer to ``[PyObject*][spare word]*[array descriptor]*``.

    One that ``stands_for`` another may be passed to whatever was compiled for that.
    """

    def __init__(
        self,
        label: str,
        fields: dict[str, Any],
        near: Near | None = None,
        beside: Beside | None = None,
        *,
        stands_for: RecordType | None = None,
    ) -> None:
        self.fields, self.stands_for = fields, stands_for
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

    def can_convert_to(self, typingctx: Any, other: types.Type) -> Conversion | None:  # noqa: ARG002  (numba's)
        """Tell numba whether what was compiled for another type takes this one."""
        return Conversion.safe if other == self.stands_for else None


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

    @classmethod
    def placed(cls, arrays: dict[str, npt.NDArray[Any]], words: list[int]) -> Self:
        """Return a record by whoever laid its arrays out and knows their descriptors: nothing is looked at again."""
        made = cls.__new__(cls)
        made.__dict__.update(arrays)
        words[0] = id(made)
        made.words = np.array(words, dtype=np.int64)
        return made

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
    typeof_impl.register(cls)(lambda value, _context: value.__dict__.get("seen_as", record_type))


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


def record_at(record: type[Record]) -> Callable[[int], Any]:
    """Return a function of compiled code: from the address of a record to the record.

    Whoever hands many records to one call passes an array of their addresses, and keeps them alive meanwhile.
    """
    record_type = record.record_type

    def at(address: int) -> Any:
        raise TypeError(f"only compiled code finds a {record.__name__} at {address:#x}")

    type_callable(at)(lambda _context: lambda _address: record_type(types.int64))
    lower_builtin(at, types.int64)(lambda _c, builder, _sig, args: builder.inttoptr(args[0], cgutils.voidptr_t))
    return at


def floats_at(address: int, count: int) -> Any:
    """Return the floats at an address as an array (compiled code only)."""
    raise TypeError(f"only compiled code finds {count} floats at {address:#x}")


type_callable(floats_at)(lambda _context: lambda _address, _count: types.float64[::1](types.int64, types.int64))


@lower_builtin(floats_at, types.int64, types.int64)
def _floats_at(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    value_type = context.get_value_type(sig.return_type)
    value = ir.Constant(value_type, None)  # nobody counts references to it
    data = builder.inttoptr(args[0], value_type.elements[4])
    one = ir.Constant(ir.IntType(64), 8)
    for path, part in ((2, args[1]), (3, one), (4, data), ([5, 0], args[1]), ([6, 0], one)):
        value = builder.insert_value(value, part, path)
    return value
