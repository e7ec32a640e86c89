"""Processes that were forked from one that had already computed: told, since they would wait for ever.

polars and compiled code have threads of their own, which a fork does not copy; whoever waits for them waits for ever.
"""

from __future__ import annotations

import os

from wattline.errors import RunError

_noted = _forked = False


def refuse_forked() -> None:
    """Refuse to compute in a process that was forked from one that has computed."""
    global _noted
    if _forked:
        raise RunError(
            "this process was forked from one that has used Wattline, and would wait for ever: "
            'take multiprocessing.get_context("spawn"), or fork before the first use'
        )
    if not _noted and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_note)
        _noted = True


def _note() -> None:
    global _forked
    _forked = True
