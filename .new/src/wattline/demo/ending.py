"""The end of a demonstration: what it started is ended, whoever presses Ctrl-C again or closes the terminal."""

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
        with contextlib.suppress(OSError):  # the terminal may be gone
            os.write(2, SAID)  # safe in a handler

    before = {number: signal.signal(number, answer) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def ended_at_hang_up() -> Iterator[None]:
    """Take SIGHUP (a closed terminal, a lost connection) as SIGTERM, once; under nohup it stays ignored.

    Processes that were started are in sessions of their own: the terminal's end does not reach them.
    """
    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGHUP) is not signal.SIG_DFL:
        yield
        return
    got: list[int] = []

    def answer(number: int, frame: Any) -> None:
        del frame
        if not got:  # shell and kernel may both say it
            got.append(number)
            _leave_terminal()
            signal.raise_signal(signal.SIGTERM)

    signal.signal(signal.SIGHUP, answer)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def _leave_terminal() -> None:
    """Let what is written to a terminal that is gone go nowhere: an error there would be one of the demonstration."""
    for number in (1, 2):
        try:
            os.write(number, b"")
        except OSError:
            with contextlib.suppress(OSError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, number)
                os.close(nowhere)
