"""The state as policies of users see it: what is not theirs to write refuses to be written."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from wattline.kernel.fields import FieldArray
from wattline.kernel.record import BASE_WORD, RecordType
from wattline.model.state.record import BESIDE, NEAR, WRITES, State


@functools.cache
def user_signature(slot: str, *, checked: bool) -> Any:
    """Return the signature that a user's policy of a slot is compiled for: laid out as ``POLICY``, but what it must
    not write is read-only.

    ``checked`` fields check every index.
    """
    fields = {
        name: FieldArray(
            array.dtype,
            array.ndim,
            step=array.step,
            readonly=name not in WRITES[slot],
            label=f"s.{name}" if checked else "",
        )
        for name, array in State.record_type.fields.items()
    }
    param: types.Array[Any] = types.Array(types.float64, 1, "C", readonly=True)
    memory: types.Array[Any] = types.Array(types.float64, 1, "C")
    if checked:
        param = FieldArray(types.float64, 1, readonly=True, label="param", wraps=True)
        memory = FieldArray(types.float64, 1, label="memory", wraps=True)
    return types.int64(RecordType("State", fields, NEAR, BESIDE), types.int64, param, memory)


@functools.cache
def _seen_type(slot: str) -> RecordType:
    """Return the type of the state in plain-Python policies; what was compiled for the engine's own takes it too."""
    fields = user_signature(slot, checked=False).args[0].fields
    return RecordType("Seen", fields, NEAR, BESIDE, stands_for=State.record_type)


def read_only(s: State, slot: str) -> State:
    """Return the same state as plain-Python policies of a slot see it: arrays they must not write refuse to be
    written.
    """
    words = s.words.tolist()  # they lie where they lay
    words[1:BASE_WORD] = [0] * (BASE_WORD - 1)
    arrays = {name: lent(array, locked=name not in WRITES[slot]) for name, array in s.arrays().items()}
    seen = State.placed(arrays, words)
    seen.words = lent(seen.words, locked=True)  # the addresses of all these
    seen.sizes = s.sizes
    seen.__dict__["seen_as"] = _seen_type(slot)  # also to what they compile themselves
    seen.__dict__["locked"] = True
    return seen


def lent(array: npt.NDArray[Any], *, locked: bool) -> npt.NDArray[Any]:
    """Return the same memory as an array that cannot give it back or lead to more of it.

    Where it is locked, it cannot be written either.
    """
    return np.asarray(_Lent(array, locked))


class _Lent:
    """What numpy asks of one who lends it memory.

    Views would let themselves be made writable, and lead to what they view.
    """

    def __init__(self, array: npt.NDArray[Any], locked: bool) -> None:
        self._array = array
        told = array.__array_interface__
        self.__array_interface__ = {**told, "data": (told["data"][0], locked), "strides": array.strides}
