"""Results on standard output, apart from what anybody else prints: a policy of a user, or compiled code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TextIO

_results: list[TextIO] = []


@contextmanager
def results_apart(*, wanted: bool) -> Iterator[None]:
    """Keep standard output for results meanwhile: what anybody else prints, as a policy may, goes to standard error.

    So it does in processes that are started meanwhile.
    """
    if not wanted:
        yield
        return
    out = sys.stdout
    with ExitStack() as undo:
        try:
            kept = os.dup(1) if out.fileno() == 1 else -1
        except (OSError, ValueError):  # no file, as in a test
            kept = -1
        if kept >= 0:
            out.flush()
            undo.callback(os.close, kept)
            undo.callback(os.dup2, kept, 1)
            os.dup2(2, 1)
            stream: TextIO = undo.enter_context(
                open(kept, "w", encoding=out.encoding, errors=out.errors, closefd=False)
            )
        else:
            stream = out
        _results.append(stream)
        undo.callback(_results.pop)
        sys.stdout = sys.stderr
        undo.callback(setattr, sys, "stdout", out)
        yield
        stream.flush()


def results() -> TextIO:
    """Return the stream that results go to."""
    return _results[-1] if _results else sys.stdout
