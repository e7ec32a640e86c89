"""Standard output and standard error stay those of the command, whatever a file of users does to them."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

from wattline import process
from wattline.errors import PolicyError

_NAMES = {"stdout": "output", "stderr": "error"}


@contextlib.contextmanager
def own_streams(who: str) -> Iterator[None]:
    """Put back what ``who`` exchanged, and say so if it closed one; in other people's processes nothing is touched."""
    if not process.own:
        yield
        return
    before = {name: getattr(sys, name) for name in _NAMES}
    with contextlib.ExitStack() as undo:
        kept = {number: os.dup(number) for number in (1, 2) if _is_open(number)}
        for copy in kept.values():
            undo.callback(os.close, copy)
        try:
            yield
        finally:
            closed = [name for name, stream in before.items() if stream is not None and stream.closed]
            for number, copy in kept.items():
                if not _is_open(number):
                    os.dup2(copy, number)
            for number, name in enumerate(_NAMES, start=1):
                anew = name in closed and _is_open(number)
                setattr(sys, name, os.fdopen(number, "w", closefd=False) if anew else before[name])
    if closed:
        told = " and ".join(_NAMES[name] for name in closed)
        raise PolicyError(f"{who} closed standard {told}, which belongs to the command")


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
