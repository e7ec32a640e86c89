"""A guard for code of users that keeps Python's lock: nothing written in Python would ever be its turn again.

A function that numba compiles for a plain policy, a search in C (``re``, ``sum``) and an import that never ends all
hold it, and Ctrl-C is not heard meanwhile. The guard is a compiled loop in a thread of its own, which needs no lock.
It can do one thing: write the line that was prepared and end the process. So it is there in a process that a command
line has for itself, and nowhere else: a notebook is not ended.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from wattline import process
from wattline.arrays import Ints
from wattline.kernel.compiled import JIT, library
from wattline.model.codes import SLOT_NAMES
from wattline.units import environment_number

RUN_LIMIT_S = 60.0
"""How long one call of a user's policy may take in a run."""

LIMIT_KEY = "WATTLINE_POLICY_TIME_LIMIT"

GRACE_S = 0.5
"""How long a call of a policy may go on after Ctrl-C before it is left alone."""

HELD_S = 1.0
"""Python that did nothing for so long does not have its lock."""

ENDLESS, INTERRUPTED = 2, 128
"""Exit codes: of a policy that does not come back, and, with its number added, of a signal that nobody hears."""

LONGEST_LOOK_S = 0.5
"""So much counts of the time since somebody looked: a process that was stopped (Ctrl-Z) did nothing meanwhile."""

STOPS = (int(signal.SIGINT), int(signal.SIGTERM))
_LOOK_US = 20_000
_LINE = 1024

_limit: contextvars.ContextVar[float | None] = contextvars.ContextVar("policy_time_limit", default=None)


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Let one call of a policy take at most so long, meanwhile."""
    token = _limit.set(seconds)
    try:
        yield
    finally:
        _limit.reset(token)


def limit_s() -> float:
    """Return how long one call of a policy may take: what was set for now, what the environment says, or a minute."""
    given = _limit.get()
    if given is not None:
        return given
    return environment_number(LIMIT_KEY, RUN_LIMIT_S, "seconds, or inf for no limit")


_types: Any = types  # numba says little of what it takes
_usleep = _types.ExternalFunction("usleep", types.int32(types.uint32))
_clock = _types.ExternalFunction("clock_gettime", types.int32(types.int32, types.uintp))
_read = _types.ExternalFunction("read", types.intp(types.int32, types.uintp, types.uintp))
_write = _types.ExternalFunction("write", types.intp(types.int32, types.uintp, types.uintp))
_copy = _types.ExternalFunction("memcpy", types.uintp(types.uintp, types.uintp, types.uintp))
_end = _types.ExternalFunction("_exit", types.void(types.int32))

ACTIVE, ADDRESS, PIPE, CLOCK = range(4)
BEAT, MOST = range(2)


@library
def _stand(desk: Any, beat: Any, lines: Any, sizes: Any) -> None:
    """Look fifty times a second whether Python still has its turn while a user's code is at work."""
    clock = np.zeros(2, np.int64)
    words = np.zeros(2, np.int64)
    got = np.zeros(16, np.uint8)
    seen, beaten, last, asked = np.int64(-1), -1.0, np.inf, 0
    stood, held, waited = 0.0, 0.0, 0.0  # seconds of the call, without a beat, and since somebody asked to stop
    while desk[ACTIVE] >= 0:
        _usleep(np.uint32(_LOOK_US))
        _clock(np.int32(desk[CLOCK]), clock.ctypes.data)
        now = clock[0] + 1e-9 * clock[1]
        gone = max(min(now - last, LONGEST_LOOK_S), 0.0)
        last, stood, held, waited = now, stood + gone, held + gone, waited + gone
        if desk[PIPE] >= 0 and _read(np.int32(desk[PIPE]), got.ctypes.data, np.uint64(1)) == 1 and got[0] in STOPS:
            asked, waited = int(got[0]), 0.0
        if desk[ACTIVE] == 0:
            seen, asked = np.int64(-1), 0
            continue
        if beat[BEAT] != beaten:
            beaten, held = beat[BEAT], 0.0
        _copy(words.ctypes.data, np.uint64(desk[ADDRESS]), np.uint64(16))
        if words[0] <= 0 or words[0] > sizes.shape[1] or words[1] != seen:
            seen, stood = words[1], 0.0
            continue
        if held < HELD_S:
            continue
        endless = stood > beat[MOST] + HELD_S
        if endless or (asked > 0 and waited > GRACE_S + HELD_S):
            which, slot = (0 if endless else 1), words[0] - 1
            _write(np.int32(2), lines[which, slot].ctypes.data, np.uint64(sizes[which, slot]))
            _end(np.int32(ENDLESS if endless else INTERRUPTED + asked))


class _Guard:
    """The guard of this process, and the desk where it finds what it looks at."""

    def __init__(self) -> None:
        self.desk = np.array([0, 0, -1, time.CLOCK_MONOTONIC], dtype=np.int64)
        self.beats = np.zeros(2)
        self.lines = np.zeros((2, len(SLOT_NAMES), _LINE), dtype=np.uint8)
        self.sizes = np.zeros((2, len(SLOT_NAMES)), dtype=np.int64)
        self.lock = threading.Lock()
        self.words: Ints | None = None
        if threading.current_thread() is threading.main_thread():
            read, write = os.pipe()
            os.set_blocking(read, False)
            os.set_blocking(write, False)
            before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
            if before >= 0:  # somebody else listens
                signal.set_wakeup_fd(before)
            else:
                self.desk[PIPE] = read
        args = self.desk, self.beats, self.lines, self.sizes
        self.desk[ACTIVE] = -1
        _stand(*args)  # compiled here, where somebody waits for it
        self.desk[ACTIVE] = 0
        threading.Thread(target=_stand, args=args, daemon=True, name="wattline-guard").start()

    def beat(self) -> None:
        """Say that Python has its turn."""
        self.beats[BEAT] += 1.0

    def take(self, words: Ints, ends: Sequence[str], stops: Sequence[str], most_s: float) -> None:
        """Look at a user's code from now on: who it is and its number of calls stand in ``words``."""
        for which, several in enumerate((ends, stops)):
            for slot, line in enumerate(several):
                raw = (("\n" if sys.stderr.isatty() else "") + f"wattline: {line}\n").encode("utf-8", "replace")[:_LINE]
                self.lines[which, slot, : len(raw)] = np.frombuffer(raw, dtype=np.uint8)
                self.sizes[which, slot] = len(raw)
        self.words, self.beats[MOST], self.desk[ADDRESS] = words, most_s, words.ctypes.data  # words stay in memory
        self.beat()
        self.desk[ACTIVE] = 1


_guards: list[_Guard] = []


@contextlib.contextmanager
def guarded(
    words: npt.NDArray[np.int64], ends: Callable[[], Sequence[str]], stops: Callable[[], Sequence[str]], most_s: float
) -> Iterator[Callable[[], None]]:
    """Guard what is done meanwhile: yield what is called while Python has its turn.

    ``words`` are 1 + the slot of the policy that is called (0: none) and its number of calls; ``ends`` and ``stops``
    the lines of all slots for a call that does not come back, and for one that does not hear Ctrl-C.
    """
    if not (process.own and JIT):
        yield _nothing
        return
    if not _guards:
        _guards.append(_Guard())
    guard = _guards[0]
    if not guard.lock.acquire(blocking=False):  # it looks at another one
        yield _nothing
        return
    try:
        guard.take(words, ends(), stops(), most_s)
        yield guard.beat
    finally:
        guard.desk[ACTIVE] = 0
        guard.lock.release()


def _nothing() -> None:
    pass


@contextlib.contextmanager
def reading(file: str) -> Iterator[None]:
    """Guard the import of a user's file."""
    most_s = limit_s()
    ends = f"{file}: importing it did not come to an end within {most_s:g} s, an endless loop perhaps ({longer()})"
    stops = f"interrupted while {file} was imported, which did not come to an end"
    with guarded(np.array([1, 1], dtype=np.int64), lambda: [ends], lambda: [stops], most_s):
        yield


def guard_the_end() -> None:
    """Guard what files of users want done when Python ends, up to the end of the process."""
    if not _guards or not _guards[0].lock.acquire(blocking=False):
        return
    most_s = limit_s()
    what = "what a policy's file wants done when Python ends (atexit)"
    ends = f"{what} did not come to an end within {most_s:g} s, an endless loop perhaps ({longer()})"
    _guards[0].take(np.array([1, 1], dtype=np.int64), [ends], [f"interrupted during {what}"], most_s)


def longer() -> str:
    """Return how to let a policy take longer."""
    return f"one that needs longer: {LIMIT_KEY}=SECONDS"
