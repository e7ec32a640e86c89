"""Checks of indices in what users compile themselves: without them a stray index reads foreign memory, or ends the
process.

numba writes checks into code while it compiles it, and not afterwards. So all that is compiled while a user's file is
imported, or while a policy of users is compiled or called, gets them; what was compiled before is compiled anew.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from numba.core.base import BaseContext
from numba.core.caching import NullCache
from numba.core.ccallback import CFunc
from numba.core.dispatcher import Dispatcher
from numba.np.ufunc.dufunc import DUFunc
from numba.np.ufunc.ufuncbuilder import UFuncDispatcher

_thread = threading.local()
_context: Any = BaseContext
_plain: Any = vars(_context)["enable_boundscheck"]


def checks() -> bool:
    """Tell whether code that this thread compiles now checks its indices, whoever compiles it."""
    return getattr(_thread, "checks", False)


def _enabled(context: Any) -> bool:
    """Tell numba whether to write checks; its own switch is one for all threads, of which others load the engine."""
    return checks() or bool(_plain.fget(context))


_context.enable_boundscheck = property(_enabled, _plain.fset)


def switch(*, on: bool) -> bool:
    """Let code that this thread compiles check its indices, or not; return how it was."""
    before = checks()
    _thread.checks = on
    return before


@contextlib.contextmanager
def checking_indices() -> Iterator[None]:
    """Let all code check its indices that this thread compiles meanwhile."""
    before = switch(on=True)
    try:
        yield
    finally:
        switch(on=before)


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Let all that a file of users compiles check its indices; a cache of its own would hold code that does not."""
    plain: list[tuple[Any, Any]] = [(kind, kind.enable_caching) for kind in (Dispatcher, UFuncDispatcher, CFunc)]
    for kind, _ in plain:
        kind.enable_caching = lambda _: None
    try:
        with checking_indices():
            yield
    finally:
        for kind, found in plain:
            kind.enable_caching = found


_checked: dict[int, tuple[Any, list[Any]]] = {}
"""Functions that users compiled, by their addresses, with their codes that are known to check indices."""


def check_indices(functions: Iterable[Any]) -> None:
    """Let functions that users compiled check their indices, also where they were compiled before."""
    for function in functions:
        known = _checked.get(id(function), (function, []))[1]
        function._cache = NullCache()  # the user's own may hold code that checks nothing
        if any(all(code is not one for one in known) for code in function.overloads.values()):
            with checking_indices():
                function.recompile()
    note_checked(functions)


def note_checked(functions: Iterable[Any]) -> None:
    """Note that all code of these functions checks its indices."""
    for function in functions:
        _checked[id(function)] = function, list(function.overloads.values())


def is_compiled(value: Any) -> bool:
    """Tell whether numba compiled a function, so that other compiled code can call it."""
    return isinstance(value, Dispatcher)


def is_deaf(value: Any) -> bool:
    """Tell whether numba compiled a function so that compiled code which calls it hears nothing of its errors."""
    return isinstance(value, (DUFunc, CFunc))
