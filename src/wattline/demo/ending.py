"""The end of a demonstration: what it started is ended, whoever presses Ctrl-C again."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

SAID = b"\nending what was started, a moment ...\n"


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Answer Ctrl-C and SIGTERM with a line for as long as processes are being ended: none may be left behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def answer(number: int, frame: Any) -> None:
        del number, frame
        os.write(2, SAID)  # safe in a handler

    before = {number: signal.signal(number, answer) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
