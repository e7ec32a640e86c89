"""Checks of indices in what users compile themselves: without them a stray index reads foreign memory, or ends the
process.

numba writes checks into code while it compiles it, and not afterwards. So all that is compiled while a user's file is
imported, or while a policy of users is compiled or called, gets them; what was compiled before is compiled anew.
"""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from numba.core import cgutils, types
from numba.core.base import BaseContext
from numba.core.caching import NullCache
from numba.core.ccallback import CFunc
from numba.core.cpu import CPUTargetOptions
from numba.core.cpu_options import ParallelOptions
from numba.core.dispatcher import Dispatcher
from numba.np.ufunc.dufunc import DUFunc
from numba.np.ufunc.gufunc import GUFunc
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


def of_users() -> bool:
    """Tell whether what this thread compiles now is a user's, with checks or, once all have passed, without."""
    return checks() or getattr(_thread, "of_users", False)


@contextlib.contextmanager
def for_users() -> Iterator[None]:
    """Compile what users wrote meanwhile."""
    before = getattr(_thread, "of_users", False)
    _thread.of_users = True
    _make_ready()
    try:
        yield
    finally:
        _thread.of_users = before


def _make_ready() -> None:
    """See that numba writes all the checks that what users compile is to have."""
    for name in ("defined", "frozen", "kept", "sizes", "unset"):  # importing them is enough
        importlib.import_module(f"wattline.kernel.{name}")
    _check_given_arrays()


def switch(*, on: bool) -> bool:
    """Let code that this thread compiles check its indices, or not; return how it was."""
    if on:
        _make_ready()
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
    return isinstance(value, (DUFunc, GUFunc, CFunc))


# ------------------------------------------------------------------ one by one


_options: Any = CPUTargetOptions
_finalize: Callable[..., None] = CPUTargetOptions.finalize


def _one_by_one(options: Any, flags: Any, given: Any) -> None:
    """Settle the flags of a function: what users compile runs in one thread, since numba drops errors in others."""
    _finalize(options, flags, given)
    if of_users():
        flags.auto_parallel = ParallelOptions(False)  # noqa: FBT003 - numba's own signature


_options.finalize = _one_by_one

# ------------------------------------------------------------------ arrays that are given for results

LENGTHS = "operands could not be broadcast together with the array that is given for the result"


def _check_given_arrays() -> None:
    """Let what users compile check the lengths of arrays where the result is put into a given one: numba does not."""
    from numba.np import npyimpl

    module: Any = npyimpl
    if getattr(module.numpy_ufunc_kernel, "checks_lengths", False):
        return
    plain = module.numpy_ufunc_kernel

    def checked(context: Any, builder: Any, sig: Any, args: Any, ufunc: Any, kernel: Any) -> Any:
        if of_users():
            _refuse_other_lengths(context, builder, list(zip(sig.args, args, strict=True)), ufunc.nin)
        return plain(context, builder, sig, args, ufunc, kernel)

    checked.checks_lengths = True  # type: ignore[attr-defined]
    module.numpy_ufunc_kernel = checked


def _refuse_other_lengths(context: Any, builder: Any, typed: list[tuple[Any, Any]], inputs: int) -> None:
    """Write a check that results fit into the given arrays; each input is stretched from length 1 at most."""
    shapes = [
        cgutils.unpack_tuple(builder, context.make_array(kind)(context, builder, value).shape, kind.ndim)
        if isinstance(kind, types.Array)
        else []
        for kind, value in typed
    ]
    for given in shapes[inputs:]:
        for other, shape in enumerate(shapes):
            if shape is given:
                continue
            bad = cgutils.false_bit if len(shape) <= len(given) else cgutils.true_bit
            for one, whole in zip(reversed(shape), reversed(given), strict=False):
                differs = builder.icmp_unsigned("!=", one, whole)
                if other < inputs:
                    differs = builder.and_(differs, builder.icmp_unsigned("!=", one, one.type(1)))
                bad = builder.or_(bad, differs)
            with builder.if_then(bad, likely=False):
                context.call_conv.return_user_exc(builder, ValueError, (LENGTHS,))
