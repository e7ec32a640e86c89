"""Where a thread stands with numba's compiler: who must not be disturbed in it is seen from outside."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from types import FrameType
from typing import cast

from numba.core import compiler_lock, dispatcher


def nobody_compiles() -> AbstractContextManager[None]:
    """Return a context in which no other thread is in the compiler: who wants to is made to wait."""
    return cast("AbstractContextManager[None]", compiler_lock.global_compiler_lock)


def waits_for_the_compiler(thread: int) -> bool:
    """Tell whether a thread waits until the compiler is free."""
    frame = _frame(thread)
    return frame is not None and frame.f_code.co_filename == compiler_lock.__file__


def compiles(thread: int) -> bool:
    """Tell whether a thread is in the compiler, or waits for it."""
    frame = _frame(thread)
    while frame is not None:
        if frame.f_code.co_filename == dispatcher.__file__:
            return True
        frame = frame.f_back
    return False


def _frame(thread: int) -> FrameType | None:
    return sys._current_frames().get(thread)
