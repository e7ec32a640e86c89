"""Compiled code before it is machine code: a helper as it was written, and an entry point that links all its
helpers once.
"""
# mypy: allow-untyped-calls

from __future__ import annotations

from typing import Any

from llvmlite import binding
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import compile_result
from numba.core.runtime.nrt import rtsys

DYNAMIC = "numba.dynamic.globals"
"""How numba calls a variable that holds an address of this very process."""


class Helper(JITCodeLibrary):
    """One helper's code as it was written: not linked with other helpers that it calls, not optimised, never
    machine code.
    """

    of: tuple[str, str, tuple[Any, ...]]
    """Module, name and argument types of the function."""

    is_loaded = False
    """Whether the code was written by another process."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Make the code fit for linking: it may be there many times, and goes where nobody calls it.

        What it calls of numba's own (``min``, ``max``) is small, and becomes a private part of it: numba numbers
        such functions, in each process otherwise.
        """
        module = self._final_module
        for function in module.functions:
            if not function.is_declaration and function.linkage.name == "external":
                function.linkage = "linkonce_odr"
        others = [
            one
            for one in dict.fromkeys(self._linking_libraries)
            if not isinstance(one, Helper) and one is not rtsys.library
        ]
        if others:
            known = {one.name for one in _defined(module)}
            for library in others:
                module.link_in(library._get_module_for_linking(), preserve=True)
            for one in _defined(module):
                if one.name not in known and not one.name.startswith(DYNAMIC):
                    one.linkage = "internal"
        for library in self._linking_libraries:
            self._reload_init.update(library._reload_init)
        self._finalized = True

    def helpers(self) -> list[Helper]:
        """Return the helpers that it calls."""
        return [library for library in self._linking_libraries if isinstance(library, Helper)]

    def alone(self) -> Any:
        """Return this helper's code without what it calls."""
        return self._final_module

    def _get_module_for_linking(self) -> Any:
        """Return this helper's code with all that it calls: for callers that numba compiles in its own way."""
        if self._shared_module is None:
            module = self._final_module.clone()
            _link(module, self.helpers())
            self._shared_module = module
        return self._shared_module


def defined_names(module: Any) -> tuple[str, ...]:
    """Return the names that a module defines."""
    return tuple(one.name for one in _defined(module))


def _defined(module: Any) -> list[Any]:
    """Return the functions and variables that a module defines."""
    return [one for many in (module.functions, module.global_variables) for one in many if not one.is_declaration]


def _link(module: Any, libraries: list[Any]) -> list[Helper]:
    """Link some libraries and all that they call, each once, callers first; return the helpers.

    LLVM drops a function that may be there many times where nobody in the module calls it yet.
    """
    callees_first: list[Helper] = []
    others: list[Any] = []
    seen: set[Any] = set()

    def visit(library: Any) -> None:
        if library in seen:
            return
        seen.add(library)
        if not isinstance(library, Helper):
            others.append(library)
            return
        for called in library.helpers():
            visit(called)
        callees_first.append(library)

    for library in libraries:
        visit(library)
    for helper in reversed(callees_first):
        module.link_in(helper.alone(), preserve=True)
    for library in others:
        module.link_in(library._get_module_for_linking(), preserve=True)
    return callees_first


class Whole(JITCodeLibrary):
    """The code of an entry point, linked once with all that it calls, and optimised once as one."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Link, optimise and make machine code; a helper that was lost on the way would be a jump to nowhere."""
        self._codegen._check_llvm_bugs()
        self._raise_if_finalized()
        for library in self._linking_libraries:
            self._reload_init.update(library._reload_init)
        helpers = _link(self._final_module, self._linking_libraries)
        self._optimize_final_module()
        self._final_module.verify()
        refuse_lost(self.name, self._final_module.functions)
        if any(helper.is_loaded for helper in helpers):
            refuse_addresses(self.name, self._final_module.global_variables)
        self._keep_helpers_private()
        self._finalize_final_module()

    def _keep_helpers_private(self) -> None:
        """Let no other entry point find the helpers that are left here: they may be optimised more than its own, or
        less.
        """
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage.name == "linkonce_odr":
                function.linkage = "internal"

    def _optimize_final_module(self) -> None:
        """Run numba's full optimisation; its first, cheap one prepares the pruning of reference counts, which there
        are none of.
        """
        manager, builder = self._codegen._module_pass_manager()
        with self._recorded_timings.record("Module passes (full optimization)", builder):
            manager.run(self._final_module, builder)


class Loaded(JITCodeLibrary):
    """Machine code of an entry point that was loaded.

    Its code for linking, which hardly anybody asks for, stays as it lies on disk.
    """

    def __init__(self, codegen: Any, name: str, machine_code: bytes, bitcode: bytes, defined: tuple[str, ...]) -> None:
        super().__init__(codegen, name)
        self._bitcode = bitcode
        self.enable_object_caching()
        self._set_compiled_object(machine_code)
        self._finalize_final_module()
        codegen._engine._defined_symbols.update(defined)

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            self._shared_module = binding.parse_bitcode(self._bitcode)
        return self._shared_module


def rebuild(context: Any, reduced: Any, defined: tuple[str, ...]) -> Any:
    """Return a compiled function from what numba keeps of it; numba would look at each name in it first."""
    (
        (name, _, (machine_code, bitcode)),
        described,
        environment,
        signature,
        objectmode,
        lifted,
        annotation,
        reload_init,
        environments,
    ) = reduced
    for start in reload_init:
        start()
    library = Loaded(context.codegen(), name, machine_code, bitcode, defined)
    function = context.get_executable(library, described, environment)
    for one in environments:
        library.codegen.set_env(one.env_name, one)
    return compile_result(
        typing_context=context.typing_context,
        target_context=context,
        entry_point=function,
        library=library,
        signature=signature,
        objectmode=objectmode,
        lifted=lifted,
        fndesc=described,
        environment=environment,
        type_annotation=annotation,
        reload_init=reload_init,
        referenced_envs=environments,
    )


def refuse_lost(name: str, functions: Any) -> None:
    """Raise where code calls a function that numba compiled and that is not linked in."""
    lost = [one.name for one in functions if one.is_declaration and one.name.startswith("_ZN")]
    if lost:
        raise RuntimeError(f"{name}: compiled code calls {', '.join(lost)}, which was not linked in")


def refuse_addresses(name: str, variables: Any) -> None:
    """Raise where code that another process wrote still holds an address of that process: as a rule nobody reads
    it, and it goes.
    """
    if any(one.name.startswith(DYNAMIC) for one in variables):
        raise RuntimeError(f"{name}: compiled code holds an address of the process that compiled it")
