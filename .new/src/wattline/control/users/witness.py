"""What plain-Python policies write although it is not theirs: the state is compared before and after their calls.

Arrays that they must not write are read-only, but not everything honours that: ``np.add.at`` of numpy writes to them
all the same. Logs are compared as far as they are written. Calls are watched as long as that takes little time: all of
them in a short run, some in a long one.
"""

from __future__ import annotations

import time

import numpy as np

from wattline.arrays import Floats
from wattline.model.codes import SLOT_NAMES
from wattline.model.state.record import BLOCKS, WRITES, State

FREE_S = 0.5
"""Seconds that watching may take in any run."""

SHARE = 0.03
"""Share of the time since the first call that it may take beyond that."""

MOST = 1 << 22
"""Numbers that are compared at a call; of a larger state one part after the other."""

NEWEST = 1024
"""Rows of every log that are compared: older ones are of the past of a long run."""

LOGS = {
    "a_n": [BLOCKS["actions"]],
    "ev_n": [["ev_time_s"], ["ev_kind"], ["ev_job"], ["ev_value"], ["ev_nodes"]],
    "tl_n": [["timeline"]],
    "px_n": [BLOCKS["places"]],
}
"""Number of rows → the arrays that they lie in, interleaved ones together."""


class Witness:
    """One policy's view of the state: what it must not change, and how that looked before the call."""

    def __init__(self, state: State, slot: str, param: Floats) -> None:
        self._param, self._told = param, param.tobytes()
        self._state, self._whole = state, state.whole.view(np.uint64)
        self._first, self._size = 0, min(MOST, state.whole.size)
        self._kept = np.empty(self._size, dtype=np.uint64)
        self._theirs = np.zeros(state.whole.size, dtype=np.bool_)
        for name in WRITES[slot]:
            places = self._places(name)
            self._theirs[places.start : places.stop : places.step] = True
        for number, timer in enumerate(self._places("wake_at_s")):  # the other timers are those of other slots
            self._theirs[timer] = number == SLOT_NAMES.index(slot)
        self._logs = [
            (getattr(state, count), _rows(getattr(state, names[0]), len(names)), names)
            for count, several in LOGS.items()
            for names in several
        ]
        self._rows: list[bytes] = []
        self._began, self._spent_s = time.perf_counter(), 0.0

    def begin(self) -> bool:
        """Note how the state looks; tell whether there was time to."""
        now = time.perf_counter()
        if self._spent_s > FREE_S + SHARE * (now - self._began):
            return False
        if self._size < self._whole.size:
            self._first = (self._first + self._size) % (self._whole.size - self._size + 1)
        np.copyto(self._kept, self._part(self._whole))
        self._rows = [_newest(rows, int(count[0])).tobytes() for count, rows, _ in self._logs]
        self._spent_s += time.perf_counter() - now
        return True

    def changed(self) -> str:
        """Return what was changed since and is not theirs, as they call it (nothing: an empty text)."""
        now = time.perf_counter()
        differs = self._part(self._whole) != self._kept
        differs &= ~self._part(self._theirs)
        found = ""
        if differs.any():
            place = self._first + int(differs.argmax())
            found = next((f"s.{name}" for name in self._state.arrays() if place in self._places(name)), "")
        elif self._param.tobytes() != self._told:
            found = "param"
        else:
            found = self._changed_log()
        self._spent_s += time.perf_counter() - now
        return found

    def _changed_log(self) -> str:
        for (count, rows, names), kept in zip(self._logs, self._rows, strict=True):
            now = _newest(rows, int(count[0]))
            if now.tobytes() != kept:
                differs = (now != np.frombuffer(kept, dtype=np.uint64).reshape(now.shape)).any(axis=0)
                return f"s.{names[int(differs.argmax())] if len(names) > 1 else names[0]}"
        return ""

    def _part(self, whole: np.ndarray) -> np.ndarray:
        return whole[self._first : self._first + self._size]

    def _places(self, name: str) -> range:
        """Return the places of a field's numbers."""
        array = getattr(self._state, name)
        step = array.strides[-1] // 8
        first = (array.__array_interface__["data"][0] - self._state.whole.__array_interface__["data"][0]) // 8
        beyond = first + step * array.size
        return range(first, beyond, step) if beyond <= self._whole.size else range(0)  # a log lies behind


def _rows(array: np.ndarray, width: int) -> np.ndarray:
    """Return the rows of a log as raw numbers; ``width`` arrays of one number a row lie beside each other."""
    raw = array.view(np.uint64)
    if raw.ndim > 1:
        return raw
    return np.lib.stride_tricks.as_strided(raw, (raw.size, width), (raw.strides[0], 8))


def _newest(rows: np.ndarray, count: int) -> np.ndarray:
    return rows[max(0, count - NEWEST) : count]
