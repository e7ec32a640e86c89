"""Decorators that compile: kernels, entry points, libraries, policies of users.

This room is the one place that knows numba: ``record`` and ``fields`` hold the state behind one pointer, ``slots``
functions as arguments, ``speed`` what is private about how it compiles.

Two facts (measured; see docs/design.md) shape this module. Reference counting dominates a loop that touches dozens of
arrays, so kernels are compiled without it (``_nrt=False``, a private option: this is the only module that names it).
numba's cache notices edits of a function's own file only, so the cache directory (``cache``) carries a fingerprint of
the whole package.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

import numba
from numba import types
from numba.core import typeinfer
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher
from numba.extending import register_jitable

from wattline.kernel.cache import FAST, SealedCache
from wattline.kernel.indices import checking_indices, for_users

F = TypeVar("F", bound=Callable[..., Any])

_config: Any = numba.config  # its attributes are made at run time

JIT = not _config.DISABLE_JIT
"""False when ``NUMBA_DISABLE_JIT=1``: kernels are then plain Python, with the same results."""

if FAST:
    from wattline.kernel import speed as numba_speed


def _njit(function: F, *signature: Any, **options: Any) -> F:
    """Compile a function: at once for the signatures that are given; with ``cache`` kept on disk."""
    if not JIT:
        return function
    variant = options.pop("variant", "")
    remembers = FAST and options.pop("ours", True)  # numba registers functions while it compiles some of its own
    if not options.pop("cache", False):
        return cast("F", numba.njit(*signature, **options)(function))
    dispatcher = numba.njit(**options)(function)
    dispatcher._cache = SealedCache(function, f"{sorted(options.items())} level {_config.OPT}{variant}")
    if signature:
        with typeinfer.register_dispatcher(dispatcher):  # as numba does where it is given signatures
            for one in signature:
                with numba_speed.remembering() if remembers else contextlib.nullcontext():
                    dispatcher.compile(one)
            dispatcher.disable_compile()
    return cast("F", dispatcher)


_INNER = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Kernels are called by compiled code only: without wrappers for Python they compile in half the time."""


@contextlib.contextmanager
def _optimised(level: int) -> Iterator[None]:
    """Set LLVM's optimisation level for what is compiled meanwhile."""
    saved = _config.OPT
    _config.OPT = type(saved)(level)
    try:
        yield
    finally:
        _config.OPT = saved


def _lightly(dispatcher: F) -> F:
    """Let a helper be optimised lightly by itself: its callers optimise it again, with all that surrounds it."""
    compiler = dispatcher._compiler  # type: ignore[attr-defined]
    compile_fully = compiler.compile

    def compile_lightly(args: Any, return_type: Any) -> Any:
        with _optimised(1):
            return compile_fully(args, return_type)

    compiler.compile = compile_lightly
    return dispatcher


class _Inner(CPUDispatcher):
    """A helper of compiled code: numba knows it as any other function, Python cannot call it."""

    def __call__(self, *_: Any, **__: Any) -> Any:
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}"
        raise TypeError(
            f"{name} is a kernel: only compiled code can call it. From Python take a helper of "
            "wattline.policies.helpers, or "
            f"its plain twin, wattline.testing.plain.plain({self.py_func.__name__})"
        )

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compile once for all whole numbers: numba would do so again for every constant that is passed, and every
        first guess.
        """
        plain = tuple(types.unliteral(a) for a in args)
        return super().get_call_template(plain, {name: types.unliteral(a) for name, a in kws.items()})


def _helper(function: F, *, inline: bool) -> F:
    """Compile what only compiled code calls.

    Python is refused: there is no wrapper for it, and it would get nothing without a word.
    """
    if not JIT:
        return function
    faster = {"pipeline_class": numba_speed.HelperCompiler} if FAST else {}
    dispatcher: Any = _njit(function, _nrt=False, forceinline=inline, **_INNER, **faster)
    dispatcher.__class__ = _Inner
    return cast("F", dispatcher if FAST else _lightly(dispatcher))


def kernel(function: F) -> F:
    """Compile a helper that is inlined into its callers; it may not allocate."""
    return _helper(function, inline=True)


def outlined(function: F) -> F:
    """Compile a helper that may stay a call of its own: for rare, large branches of hot loops.

    Without a word about inlining it would inherit that of the kernel that calls it.
    """
    return _helper(function, inline=False)


def write_ahead(helper: Any) -> None:
    """Translate a helper for whoever compiles its callers.

    Its arguments are records and numbers, as its annotations say.
    """
    kinds: dict[str, Any] = {"int": types.int64, "float": types.float64, "bool": types.boolean}
    plain = helper.py_func
    said = [kind for name, kind in plain.__annotations__.items() if name != "return"]
    numba_speed.write(helper, tuple(kinds.get(kind) or plain.__globals__[kind].record_type for kind in said))


def entry(*signature: Any, level: int = 2) -> Callable[[F], F]:
    """Compile an entry point for one signature: cached on disk, without the GIL; it may not allocate.

    ``level`` is LLVM's optimisation level; the third gains nothing here and costs seconds.
    """

    def compile_now(function: F) -> F:
        faster = {"pipeline_class": numba_speed.EntryCompiler} if FAST else {}
        with _optimised(level):
            return _njit(function, *signature, cache=True, nogil=True, _nrt=False, **faster)

    return compile_now


def seldom(*signature: Any) -> Callable[[F], F]:
    """Compile an entry point that is called too seldom to be worth more than light optimisation."""
    return entry(*signature, level=1)


def library(function: F) -> F:
    """Compile a stand-alone numerical function of arrays: cached on disk, without the GIL; it may allocate."""
    return _njit(function, cache=True, nogil=True)


def either(function: F) -> F:
    """Let compiled code call a function that Python runs as it is: for generators, whose compiled form numba cannot
    keep on disk.
    """
    return register_jitable(function) if JIT else function


def plugin(
    function: F, signature: Any, *, cache: bool, judge: Any = Compiler, boundscheck: bool = False, variant: str = ""
) -> F:
    """Compile a user's policy: it may allocate.

    With ``boundscheck`` the functions it calls, if they are new, check their indices too. Such code is optimised
    lightly: it is new, and mostly changed again before a run could win back the seconds that more would take.

    ``judge`` is the compiler, which refuses what a user's code must not do. What is kept on disk has passed it, and
    is used again for the same ``variant`` only.
    """
    options = {"cache": cache, "boundscheck": boundscheck, "variant": variant, "pipeline_class": judge}
    with for_users(), contextlib.ExitStack() as stack:
        if boundscheck:
            stack.enter_context(checking_indices())
            stack.enter_context(_optimised(1))
        return _njit(function, signature, ours=False, **options)


def python_tag() -> str:
    """Return the interpreter's version, for manifests."""
    return ".".join(map(str, sys.version_info[:3]))
