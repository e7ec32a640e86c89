"""Code of helpers on disk, as it was written (LLVM's bitcode): what one process has translated, others link.

The loop, the chores and the policies call the same helpers, and are compiled by several processes or at several
times. Translating a helper takes fifty milliseconds, loading it one. Files are sealed like those of entry points
(``cache``), and lie beside them, so they hold for one state of the sources. Function names must be the same
in all processes, so they carry no number of their process (``named_alike``).
"""
# mypy: allow-untyped-calls

from __future__ import annotations

import copy
import functools
import hashlib
import importlib
import pickle
import zlib
from pathlib import Path
from typing import Any

import llvmlite
import numba
from llvmlite import binding
from numba.core.compiler import compile_result
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps
from numba.core.targetconfig import ConfigStack

from wattline.kernel.cache import cache_dir, read_or_say, refuse_foreign, write_if_possible
from wattline.kernel.indices import checks
from wattline.kernel.link import Helper

_config: Any = numba.config  # its attributes are made at run time


def is_kept(function: Any) -> bool:
    """Tell whether the code of a function is kept: a function of ours, found by the name that it has in its module."""
    return function.__module__.startswith("wattline.") and "<locals>" not in function.__qualname__


def named_alike(identity: Any) -> Any:
    """Give a function's identity the same name in all processes; numba numbers functions as it meets them."""
    identity.unique_id = 0
    identity.unique_name = f"{identity.func_qualname}$0"
    return identity


@functools.cache
def _folder() -> Path:
    """Return the folder for the sources where they lie: errors name their files."""
    place = hashlib.sha256(str(Path(__file__).resolve()).encode()).hexdigest()[:16]
    folder = cache_dir() / f"helpers-{place}"
    folder.mkdir(mode=0o755, exist_ok=True)
    refuse_foreign(folder)
    return folder


@functools.cache
def _machine(codegen: Any) -> tuple[str, ...]:
    return tuple(codegen.magic_tuple())


def key_of(function: Any, state: Any) -> str:
    """Return all that decides what a helper's code is, beside the sources."""
    made_for = _machine(state.targetctx.codegen())
    return "\n".join(
        (
            f"{function.__module__}.{function.__qualname__}",
            repr(state.args),
            repr(state.flags),
            str((checks(), _config.BOUNDSCHECK)),
            repr(state.locals),
            repr(state.return_type),
            numba.__version__,
            llvmlite.__version__,
            repr(made_for),
        )
    )


def _path(key: str) -> Path:
    return _folder() / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.bc"


def save(key: str, function: Any, state: Any, written: Any) -> None:
    """Keep a helper's code, and the names of the helpers that it calls."""
    library = written.library
    library.of = (function.__module__, function.__qualname__, tuple(state.args))
    called = [(*helper.of, helper.name) for helper in library.helpers() if hasattr(helper, "of")]
    if len(called) != len(library.helpers()):
        return  # it calls a function that is not kept
    described = copy.copy(written.fndesc)
    described.typemap = described.calltypes = None
    library._name = described.mangled_name
    code = zlib.compress(library.alone().as_bitcode(), 1)
    kept = (key, called, code, described, written.environment, written.signature, tuple(written.reload_init))
    write_if_possible(_path(key), dumps(kept))


def load(key: str, function: Any, state: Any) -> Any:
    """Return a helper's code that some process kept, with all that it calls (None: nobody did)."""
    body = read_or_say(_path(key))
    if body is None:
        return None
    found = pickle.loads(body)  # noqa: S301  (sealed, and nobody else may write there)
    kept_for, called, code, described, environment, signature, reload_init = found
    if kept_for != key:
        return None
    context = state.targetctx
    library = Helper(context.codegen(), described.mangled_name)
    with ConfigStack().enter(state.flags.copy()):  # as while it was compiled: helpers take over flags of who calls them
        for module, name, args, mangled in called:
            helper = getattr(importlib.import_module(module), name, None)
            if not isinstance(helper, Dispatcher):
                return None  # its module knows it by another name
            helper.compile(args)
            compiled: Any = helper.overloads[args]
            if compiled.fndesc.mangled_name != mangled:
                return None  # this process has it with other flags
            library._linking_libraries.append(compiled.library)
    for start in reload_init:
        start()
    library._final_module = binding.parse_bitcode(zlib.decompress(code))
    library._reload_init.update(reload_init)
    library._finalized = library.is_loaded = True
    library.of = (function.__module__, function.__qualname__, tuple(state.args))
    stands_for: Any = [].append  # numba wants a distinct built-in to stand for the function
    context.insert_user_function(stands_for, described, [library])
    return compile_result(
        typing_context=state.typingctx,
        target_context=context,
        entry_point=stands_for,
        library=library,
        signature=signature,
        objectmode=False,
        lifted=(),
        fndesc=described,
        environment=environment,
        metadata={},
        reload_init=list(reload_init),
    )
