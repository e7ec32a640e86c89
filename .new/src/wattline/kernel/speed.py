"""How numba compiles our kernels in half the time: the one module that reaches into its compiler.

Four things take the time of a compiler that is made for small functions, and are done here once instead
(docs/design.md says what each gains). *Linking*: numba links every helper with all that it calls, and optimises
that, before the callers do the same again; here a helper stays as it was written (``link.Helper``), and an
entry point links all of them once (``Whole``). *Typing*: numba tries a dozen templates for every operator,
thousands of times for the same types; here the answer is remembered. *Looking up*: flags are compared as
dictionaries, sizes of types are asked of LLVM, and registries are searched for news, each thousands of times; here
once. *Passes*: of numba's 26 passes kernels need eleven, as they have no closures, ``with`` blocks, array
expressions or literals to unroll.

All of this is private to numba, so ``compiled`` imports this module only for versions that it was tried with. While
it compiles, it replaces some functions of numba, under numba's own lock, and puts them back.
"""
# mypy: allow-untyped-calls

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from numba.core import base, cgutils, debuginfo, event, funcdesc, ir, lowering, types
from numba.core.bytecode import FunctionIdentity
from numba.core.compiler import CompilerBase, Flags, _LowerResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import LoweringPass, PassManager, register_pass
from numba.core.targetconfig import ConfigStack, TargetConfig
from numba.core.typed_passes import (
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.typing.context import BaseContext as TypingContext
from numba.core.untyped_passes import (
    ExtractByteCode,
    FixupArgs,
    GenericRewrites,
    IRProcessing,
    ReconstructSSA,
    RewriteSemanticConstants,
    TranslateByteCode,
)

from wattline.kernel.link import Helper, Whole
from wattline.kernel.store import is_kept, key_of, load, named_alike, save

# ------------------------------------------------------------------ passes


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerHelper(LoweringPass):
    """Write a helper's code, and leave it at that; numba would go on to machine code."""

    _name = "wattline_lower_helper"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        context, flags = state.targetctx, state.flags
        library = state.library = Helper(context.codegen(), state.func_id.func_qualname)
        library._reload_init.update(state.reload_init)
        described = funcdesc.PythonFunctionDescriptor.from_specialized_function(
            state.func_ir,
            state.typemap,
            state.return_type,
            state.calltypes,
            mangler=context.mangler,
            inline=flags.forceinline,
            noalias=flags.noalias,
            abi_tags=[flags.get_mangle_string()],
        )
        with context.push_code_library(library):
            lower = lowering.Lower(context, library, described, state.func_ir, metadata=state.metadata)
            lower.lower()
        library.finalize()
        stands_for: Any = [].append  # numba wants a distinct built-in to stand for the function
        context.insert_user_function(stands_for, described, [library])
        state.reload_init.extend(library._reload_init)
        state["cr"] = _LowerResult(described, lower.call_helper, cfunc=stands_for, env=lower.env)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerWhole(NativeLowering):
    """Write an entry point's code into a library that links once."""

    _name = "wattline_lower_whole"

    def run_pass(self, state: Any) -> bool:
        state.library = Whole(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


class _Lean(CompilerBase):
    """numba's compiler with the passes that kernels need."""

    last: type

    def define_pipelines(self) -> list[Any]:
        manager = PassManager("wattline")
        for one in (
            TranslateByteCode,
            FixupArgs,
            IRProcessing,
            RewriteSemanticConstants,
            GenericRewrites,
            ReconstructSSA,
            NopythonTypeInference,
            PreLowerStripPhis,
            IRLegalization,
            self.last,
            NoPythonBackend,
        ):
            manager.add_pass(one, one.__name__)
        manager.finalize()
        return [manager]


class HelperCompiler(_Lean):
    """Compiles what only compiled code calls, unless some process has written its code before."""

    last = _LowerHelper

    def compile_extra(self, function: Any) -> Any:
        """Load a helper's code, or write it and keep it for other processes."""
        if not is_kept(function):
            return super().compile_extra(function)
        key = key_of(function, self.state)
        found = load(key, function, self.state)
        if found is not None:
            return found
        self.state.func_id = named_alike(FunctionIdentity.from_function(function))
        ExtractByteCode().run_pass(self.state)
        self.state.lifted = ()
        self.state.lifted_from = None
        written = self._compile_bytecode()
        save(key, function, self.state, written)
        return written


class EntryCompiler(_Lean):
    """Compiles what Python or the loop calls by its address."""

    last = _LowerWhole


# ------------------------------------------------------------------ remembering


_typed: dict[Any, tuple[Any, Any]] = {}
_sizes: dict[str, int] = {}
_takes_line: dict[Any, bool] = {}
_ITEMS = ("functions", "getattrs", "setattrs", "casts", "constants", "attributes", "globals")
"""Lists that registries of implementations and of types have."""


def _key_of_flags() -> tuple[Any, ...]:
    """Return the flags that can change which implementation a type has."""
    flags: Any = ConfigStack.top_or_none()
    return () if flags is None else (flags.nrt, flags.boundscheck, flags.error_model, str(flags.fastmath))


def _call_type(plain: Any) -> Any:
    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        """Return the signature of a built-in for argument types: the templates are asked once."""
        if kws:
            return plain(self, context, args, kws)
        key = (self.typing_key, args, len(self.templates), context, _key_of_flags())
        if key in _typed:
            signature, self._impl_keys[signature.args] = _typed[key]
            return signature
        signature = plain(self, context, args, kws)
        implementation = self._impl_keys[signature.args]
        if "<locals>" not in getattr(
            implementation, "__qualname__", ""
        ):  # numba makes such ones anew, and forgets them
            _typed[key] = (signature, implementation)
        return signature

    return get_call_type


def _equal(plain: Any) -> Any:
    def __eq__(self: Any, other: Any) -> Any:  # noqa: N807  (the method's own name)
        """Compare flags by what was set; where that does not decide it, by all that there is, defaults too."""
        if not isinstance(other, TargetConfig):
            return NotImplemented
        mine, theirs = self._values, other._values
        if mine == theirs:
            return True
        if any(name in theirs and theirs[name] != value for name, value in mine.items()):
            return False
        return plain(self, other)

    return __eq__


def _size(plain: Any) -> Any:
    def get_abi_sizeof(self: Any, ty: Any) -> int:
        """Return the size of a type of LLVM: numba parses a module to find out."""
        text = str(ty)
        if text not in _sizes or "%" in text:  # a named type: its name does not say what it is
            _sizes[text] = plain(self, ty)
        return _sizes[text]

    return get_abi_sizeof


def _room(plain: Any) -> Any:
    def alloca_once(builder: Any, ty: Any, size: Any = None, name: str = "", zfill: bool = False) -> Any:  # noqa: FBT001, FBT002  (as numba has it)
        """Make room on the stack, as it is: numba fills it with zeros at the function's beginning, for reference
        counts.

        Inlined into a loop, these zeros would be written in every round for each call that is there, also for those
        not made.
        """
        flags: Any = ConfigStack.top_or_none()
        if zfill or size is not None or flags is None or flags.nrt:
            return plain(builder, ty, size, name, zfill)
        with debuginfo.suspend_emission(builder), builder.goto_entry_block():
            return builder.alloca(ty, name=name)

    return alloca_once


def _with_line(plain: Any) -> Any:
    def _has_loc(function: Any) -> bool:
        """Tell whether an implementation takes the line of source, which its signature says."""
        if function not in _takes_line:
            _takes_line[function] = plain(function)
        return _takes_line[function]

    return _has_loc


def _news(context: Any) -> tuple[int, int]:
    """Return what grows when a registry of a context has something new: modules, and entries of all registries.

    An entry may come without a module: numba registers how to lower an intrinsic when it first meets its argument
    types.
    """
    entries = sum(len(getattr(one, items)) for one in context._registries for items in _ITEMS if hasattr(one, items))
    return len(sys.modules), entries


def _variables(_plain: Any) -> Any:
    kinds: dict[type, int] = {}
    leaf, variable, instruction, several, mapping = range(5)

    def kind_of(what: type) -> int:
        ways: list[tuple[Any, int]] = [
            (ir.Var, variable),
            (ir.Inst, instruction),
            ((list, tuple), several),
            (dict, mapping),
        ]
        kinds[what] = next((kind for parent, kind in ways if issubclass(what, parent)), leaf)
        return kinds[what]

    def collect(values: Any, found: list[Any]) -> None:
        for value in values:
            what = type(value)
            kind = kinds[what] if what in kinds else kind_of(what)
            if kind == leaf:
                continue
            if kind == variable:
                found.append(value)
            elif kind == instruction:
                found.extend(value.list_vars())
            else:
                collect(value if kind == several else value.values(), found)

    def _rec_list_vars(_self: Any, value: Any) -> list[Any]:
        """List the variables in a part of an instruction: numba asks of each value four times what it is."""
        found: list[Any] = []
        collect((value,), found)
        return found

    return _rec_list_vars


def _untimed(_plain: Any) -> Any:
    def install_timer(_kind: str, _callback: Any) -> Any:
        """Measure nothing: numba tells every call of LLVM to all functions whose compiling waits for it."""
        return nullcontext()

    return install_timer


def _fresh() -> Callable[[Any], Any]:
    seen: dict[int, tuple[int, int]] = {}

    def once(plain: Any) -> Any:
        def refresh(self: Any) -> None:
            """Look for news in the registries only where there can be some."""
            if seen.get(id(self)) != _news(self):
                plain(self)
                seen[id(self)] = _news(self)

        return refresh

    return once


@contextmanager
def remembering() -> Iterator[None]:
    """Let numba remember what it finds out while something is compiled; others that want to compile wait."""
    with global_compiler_lock:
        if _depth:
            yield
            return
        _depth.append(True)
        once = _fresh()
        replaced: list[tuple[Any, str, Any]] = [
            (types.functions.BaseFunction, "get_call_type", _call_type),
            (TargetConfig, "__eq__", _equal),
            (base.BaseContext, "get_abi_sizeof", _size),
            (base.BaseContext, "refresh", once),
            (TypingContext, "refresh", once),
            (base, "_has_loc", _with_line),
            (cgutils, "alloca_once", _room),
            (ir.Inst, "_rec_list_vars", _variables),
            (event, "install_timer", _untimed),
        ]
        saved = [(owner, name, getattr(owner, name)) for owner, name, _ in replaced]
        collects = gc.isenabled()
        gc.disable()  # a compiler makes millions of objects, nearly all of which are needed to the end
        try:
            for owner, name, wrap in replaced:
                setattr(owner, name, wrap(getattr(owner, name)))
            yield
        finally:
            if collects:
                gc.enable()
            for owner, name, plain in saved:
                setattr(owner, name, plain)
            _takes_line.clear()
            _depth.clear()


_depth: list[bool] = []
"""Whether something is being compiled: functions that it calls are compiled meanwhile."""


def write(helper: Any, args: tuple[Any, ...]) -> None:
    """Translate a helper and all that it calls, and keep the code (``store``)."""
    with (
        remembering(),
        ConfigStack().enter(Flags()),
    ):  # flags that a helper does not set itself are those of an entry point
        helper.compile(args)
