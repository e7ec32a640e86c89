"""How a state lies in memory: one mapped piece, first what a run changes, then what stays, then the logs."""

from __future__ import annotations

import copyreg
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats
from wattline.kernel.record import BASE_WORD
from wattline.memory import map_bytes
from wattline.model.state.record import FIELDS, GROUPS, NEAR, SMALL_CHANGING, SMALL_END, State
from wattline.model.state.sizes import Sizes


def allocate(sizes: Sizes) -> State:
    """Return a state of the given sizes, each field with what it holds before anything happens."""
    arrays: dict[str, npt.NDArray[Any]] = {}
    room, places, changing, whole = _lay_out(sizes)
    kind, base = State.record_type, room.ctypes.data
    words = [0] * kind.words
    words[BASE_WORD] = base
    for names, (shape, first, count) in places.items():
        several = len(names) > 1  # they are interleaved: the columns of one array
        extent, step = (shape[:1], (8 * len(names),)) if several else (shape, None)
        for column, name in enumerate(names):
            at = 8 * (first + column)
            array: npt.NDArray[Any] = np.ndarray(
                extent, kind.dtypes[name], room, at, step
            )  # one call: there are hundreds
            arrays[name] = array
            size = extent[0] if several else count
            described = (size, 8, base + at, *extent, *array.strides)
            words[kind.offsets[name] + 2 : kind.offsets[name] + 2 + len(described)] = described
    for name in _FILLED:
        arrays[name][...] = FIELDS[name][1].nothing
    state = State.placed(arrays, words)
    state.changing, state.whole = room[SMALL_CHANGING:changing], room[:whole]
    state.sizes = sizes
    return state


_FILLED = [name for name in FIELDS if FIELDS[name][1].nothing != 0]
"""Fields that do not begin with zero, as the room does."""

_SHAPES = [
    (
        names,
        [int(letter) if letter.isdigit() else letter for letter in FIELDS[names[0]][1].shape.split(",")]
        + ([len(names)] if len(names) > 1 else []),
        FIELDS[names[0]][1].shape[0] != "D" and not all(FIELDS[name][1].fixed for name in names),
    )
    for names in GROUPS
]
"""For each group its shape, in letters and numbers, and whether a run changes it."""

_LINE = 8
"""Numbers in a cache line; every array begins at one."""


def _lay_out(sizes: Sizes) -> tuple[Floats, dict[tuple[str, ...], tuple[tuple[int, ...], int, int]], int, int]:
    """Return zeroed room for all arrays, the place of each group in it (shape, first, count), and where changing
    ones and all but the logs end.

    The room is mapped in one piece: what nobody touches costs nothing, and it goes back to the system as soon as
    the state is gone (thousands of states are made and dropped by a search, and the allocator would keep their
    pieces).
    """
    places: dict[tuple[str, ...], tuple[tuple[int, ...], int, int]] = {
        (name,): ((count,), first // 8, count) for name, (first, count) in NEAR.items()
    }
    at = changing = whole = -(-SMALL_END // _LINE) * _LINE
    extents = sizes.extents()
    for names, letters, changes in _SHAPES:
        shape = tuple(extents[letter] if isinstance(letter, str) else letter for letter in letters)
        count = math.prod(shape)
        places[names] = (shape, at, count)
        at += -(-count // _LINE) * _LINE
        if changes:
            changing = at
        if FIELDS[names[0]][1].shape[0] != "D":
            whole = at
    what = f"a run of {sizes.J:,} jobs on {sizes.N:,} nodes"
    return np.frombuffer(map_bytes(max(1, at) * 8, what), dtype=np.float64), places, changing, whole


def copy_state(s: State) -> State:
    """Return a deep copy: nothing shared."""
    return rebuild_state(s.sizes, s.arrays())


def rebuild_state(sizes: Sizes, arrays: dict[str, npt.NDArray[Any]]) -> State:
    """Return a state from plain copies of its arrays (for pickling)."""
    twin = allocate(sizes)
    for name, array in arrays.items():
        getattr(twin, name)[...] = array
    return twin


def _reduced(s: State) -> tuple[Any, ...]:
    """Tell pickle how a state is made again: from its sizes and plain copies of its arrays."""
    return rebuild_state, (s.sizes, {name: array.copy() for name, array in s.arrays().items()})


copyreg.pickle(State, _reduced)
