"""A compiler for users' policies that refuses, by types, what is not of their language, and whatever is not known to
leave read-only memory alone.

After numba has found all types, each value and each call is held against what policies may hold and call
(``language``). numba marks an array as read-only in its type, and refuses to set its elements. But many of its
functions pass over that mark: they write nevertheless, or return the same memory as an array that may be written. So
each operation that is given read-only memory is looked at once more. What is known to only read (``readers``) passes;
functions of the user are looked through in turn; everything else is refused in one line.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types as numba_types
from numba.core import compiler, ir
from numba.core.compiler_machinery import AnalysisPass, PassManager, register_pass
from numba.core.dispatcher import Dispatcher, LiftedCode
from numba.core.typed_passes import NopythonTypeInference

from wattline.control.users import language, readers
from wattline.control.users.reach import named_values, ours
from wattline.kernel.record import RecordType
from wattline.kernel.unset import SAID, unset

types: Any = numba_types  # it tells but a part of its types


class RefusedError(Exception):
    """A policy does what is not known to be harmless: where, and what to do."""

    def __init__(self, loc: Any, said: str) -> None:
        super().__init__(said)
        self.file, self.line, self.said = str(loc.filename), int(loc.line), said


# ------------------------------------------------------------------ types


def _parts(kind: Any) -> list[Any]:
    """Return the types that a type is made of: whatever holds values of another type names it in some attribute."""
    found: list[Any] = []
    for value in vars(kind).values():
        inside = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else (value,)
        found += [one for one in inside if isinstance(one, types.Type) and one is not kind]
    return found


def _all_parts(kind: Any, is_leaf: Callable[[Any], bool]) -> list[Any]:
    """Return a type, what it is made of, and so on down to leaves; a typed dict and its iterator name each other."""
    found = [kind]
    known = {kind}
    for one in found:  # it grows
        new = [part for part in ([] if is_leaf(one) else _parts(one)) if part not in known]
        known.update(new)
        found += new
    return found


def _is_read_only(kind: Any) -> bool:
    array = isinstance(kind, types.Buffer) and not kind.mutable and not isinstance(kind, types.Bytes)
    return array or isinstance(kind, RecordType)


@functools.cache
def read_only_in(kind: Any) -> Any:
    """Return the read-only array, or the state, that values of a type give access to (None: none)."""

    def is_leaf(one: Any) -> bool:
        return _is_read_only(one) or (isinstance(one, types.Callable) and not isinstance(one, types.BoundFunction))

    return next(filter(_is_read_only, _all_parts(kind, is_leaf)), None)


@functools.cache
def is_tame(kind: Any) -> bool:
    """Tell whether nothing can be written through values of a type: numbers, read-only arrays, and what consists of
    them.
    """
    leaves = types.Array, types.BoundFunction, RecordType  # methods are looked at where they are called
    parts = _all_parts(kind, lambda one: isinstance(one, leaves))
    return not any(isinstance(one, types.Array) and one.mutable for one in parts)


_PLAIN = frozenset(
    (
        "binop",
        "unary",
        "build_tuple",
        "build_list",
        "build_set",
        "build_map",
        "cast",
        "phi",
        "getiter",
        "iternext",
        "pair_first",
        "pair_second",
        "exhaust_iter",
        "null",
        "undef",
    )
)
"""Operations that make new values, or hand on what they are given with the type that it has."""


# ------------------------------------------------------------------ judgement


class _Judge:
    """Looks through one function whose types are known."""

    def __init__(self, state: Any) -> None:
        self.typemap, self.calltypes, self.blocks = state.typemap, state.calltypes, state.func_ir.blocks
        self.loc: Any = None

    def run(self) -> None:
        found = unset(self.blocks, self.typemap)
        if found is not None:
            self.loc = found[1]
            self._never(SAID.format(found[0]))
        for block in self.blocks.values():
            for statement in block.body:
                self.loc = statement.loc
                if isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Expr):
                    self._expression(statement.value, self.typemap[statement.target.name])
                if isinstance(statement, ir.Assign):
                    self._held(self.typemap[statement.target.name])
                if isinstance(statement, ir.Print):
                    self._unless(language.printed(map(self._type, statement.list_vars())))
                if isinstance(statement, (ir.SetItem, ir.StaticSetItem, ir.SetAttr, ir.DelItem)):
                    target = self.typemap[statement.target.name]
                    if isinstance(target, types.List) and self._is_slice(statement):
                        self._never(language.SLICES)
                    if isinstance(target, types.List) and not isinstance(statement, ir.DelItem):
                        self._unless(language.rounded(self._type(statement.value), target.dtype))
                    if isinstance(target, types.Buffer) and not target.mutable:
                        self._refuse("this would write", target)

    def _refuse(self, what: str, kind: Any, call: str = "{}") -> None:
        """Refuse an operation on read-only memory; ``call`` is how it is written, with ``{}`` for the array."""
        if isinstance(kind, RecordType):
            raise RefusedError(
                self.loc,
                f"{what} the state, and could write what is not the policy's; give it copies of the fields it needs",
            )
        label = getattr(kind, "label", "")
        copy = call.format(f"{label or 'a'}.copy()")
        raise RefusedError(self.loc, f"{what} {label or 'an array'}, which is read-only here; give it a copy: {copy}")

    def _never(self, said: str) -> None:
        raise RefusedError(self.loc, said)

    def _unless(self, wrong: str) -> None:
        if wrong:
            self._never(wrong)

    def _held(self, kind: Any) -> None:
        said = language.foreign(kind)
        self._unless(said and f"{said} is not for compiled policies: {language.HOLDS}")

    def _expression(self, made: Any, result: Any) -> None:
        if made.op == "call":
            self._held(result)
            self._call(made, result)
            return
        if (
            made.op == "getattr"
            and made.attr in readers.ATTRIBUTES_NEVER
            and isinstance(self._type(made.value), types.Buffer)
        ):
            self._never(f"an array's .{made.attr} passes over read-only marks and bounds; use an index")
        if made.op in ("binop", "inplace_binop", "unary"):
            self._unless(language.of_truths(made.fn, [self._type(v) for v in made.list_vars()]))
        if made.op == "inplace_binop" and language.is_of_memory(self._type(made.lhs)):
            self._never(language.MOVES)
        if made.op == "inplace_binop":
            self._unless(language.joined(self._type(made.lhs), self._type(made.rhs)))
        if made.op == "inplace_binop" and _is_whole(self._type(made.lhs)) and _is_whole(self._type(made.rhs)):
            self._never("numba does not check that both arrays are as long here; write a[:] = a + b, which is checked")
        held = next((kind for v in made.list_vars() if (kind := read_only_in(self._type(v))) is not None), None)
        if held is None:
            return
        if made.op in ("getattr", "getitem", "static_getitem", "typed_getitem", "getiter", "exhaust_iter"):
            self._taken(made, result)
        elif made.op == "inplace_binop":
            left = self._type(made.lhs)
            if isinstance(left, types.Buffer) and not left.mutable:
                self._refuse("this would write", left)
        elif made.op not in _PLAIN:
            self._refuse(f"{made.op} is not known to leave alone", held)

    def _is_slice(self, statement: Any) -> bool:
        if isinstance(statement, ir.StaticSetItem):
            return isinstance(statement.index, slice)
        return isinstance(statement, ir.SetItem) and isinstance(self._type(statement.index), types.SliceType)

    def _taken(self, made: Any, result: Any) -> None:
        """Look at a part of something: that of a read-only array must be read-only, unless arrays as indices make a
        new one.
        """
        whole = self._type(made.value)
        if not isinstance(whole, types.Buffer) or whole.mutable or is_tame(result):
            return
        index = self._type(made.index) if made.op in ("getitem", "typed_getitem") else None
        if not _has_array(index):
            self._refuse(
                f".{made.attr} may write" if made.op == "getattr" else "the part that is taken may write", whole
            )

    def _type(self, variable: Any) -> Any:
        return self.typemap[variable.name]

    # -------------------------------------------------------------- calls

    def _call(self, made: Any, result: Any) -> None:
        function = self._type(made.func)
        signature = self.calltypes[made]
        if isinstance(function, types.Dispatcher):
            self._of_user(function.dispatcher, signature)
            return
        if isinstance(function, types.RecursiveCall):
            self._never("a function that calls itself can overflow the stack; write it as a loop")
        if isinstance(function, (types.NumberClass, types.NamedTupleClass, types.ExceptionClass)):
            return
        key = getattr(function, "typing_key", None)
        this = function.this if isinstance(function, types.BoundFunction) else None
        if language.is_one_of(key, readers.NEVER):
            self._never(f"{readers.name_of(key)} reaches memory beyond an array; use indices")
        name = str(_method_name(key)) if this is not None else ""
        if this is None and not language.knows_function(key):
            self._never(language.unknown_function(key))
        if this is not None and not language.knows_method(this, name):
            self._never(language.unknown(f".{name}()"))
        given = [self._type(v) for v in made.list_vars() if v.name != made.func.name]
        self._unless(language.with_axes(key, name, given) or language.moves(key, this, name, given))
        self._unless(language.of_truths(key, given) if this is None else "")
        self._unless(language.sorted_by(key, name, [name for name, _ in made.kws], given))
        if isinstance(key, np.ufunc) and sum(map(_is_whole, given)) > 1 and len(given) > key.nin:
            told = f"np.{key.__name__} with an array for its result does not check that all arrays are as long"
            self._never(f"{told}; write a[:] = np.{key.__name__}(…), which is checked")
        held = next(
            (kind for part in (this, *given) if part is not None and (kind := read_only_in(part)) is not None), None
        )
        if held is None:
            return
        if this is not None:
            known = self._method(this, name, made, signature, result)
            called, call = f".{name}()", f"{{}}.{name}()"
        else:
            known = self._function(key, made, signature, result)
            called = readers.name_of(key) if key is not None else str(function)
            call = f"{called}({{}})"
        if not known:
            self._refuse(f"{called} may write", held, call)

    def _function(self, key: Any, made: Any, signature: Any, result: Any) -> bool:
        if getattr(key, "__module__", "") == language.HELPERS:
            return True  # it writes nothing but proposals
        if isinstance(key, np.ufunc):
            return not self._given(made, signature, key.nin)
        if language.is_one_of(key, readers.OUT):
            return not self._given(made, signature, readers.OUT[key])
        if language.is_one_of(key, readers.STRUCTURE):
            arrays = (self._type(v) for v in made.list_vars())
            return all(
                is_tame(a.iterator_type) for a in arrays if isinstance(a, types.Array) and not a.mutable and a.ndim > 0
            )
        return language.is_one_of(key, readers.FRESH) or (language.is_one_of(key, readers.VIEWS) and is_tame(result))

    def _method(self, this: Any, name: str, made: Any, signature: Any, result: Any) -> bool:
        if not isinstance(this, types.Array):
            return True  # of a tuple or a list, which hand on what they hold as it was typed
        if this.mutable and name == "fill":
            return True
        if name in readers.METHODS_OUT:
            return not self._given(made, signature, readers.METHODS_OUT[name])
        return name in readers.METHODS_FRESH or (name in readers.METHODS_VIEWS and is_tame(result))

    def _given(self, made: Any, signature: Any, at: int) -> bool:
        """Tell whether a call is given read-only memory to write to, as the argument ``at`` or a later one or by
        the name ``out``.
        """
        named = [self._type(v) for name, v in made.kws if name == "out"]
        return any(read_only_in(kind) is not None for kind in (*signature.args[at:], *named))

    def _of_user(self, dispatcher: Any, signature: Any) -> None:
        """Look through a function that the user compiled, for the types that it is given here."""
        if isinstance(dispatcher, LiftedCode):
            self._never("with blocks are not for compiled policies")
        if ours(dispatcher.py_func.__module__):
            if dispatcher.py_func.__module__ != language.HELPERS:
                self._never(language.unknown(readers.name_of(dispatcher.py_func)))
            return
        if signature.args not in _passed.get(dispatcher.py_func, ()):
            look_through(dispatcher, signature.args)


_passed: weakref.WeakKeyDictionary[Any, set[Any]] = weakref.WeakKeyDictionary()
"""Functions that have been looked through: function → types of its arguments."""


def _is_whole(kind: Any) -> bool:
    """Tell whether values of a type are arrays of some length."""
    return isinstance(kind, types.Array) and kind.ndim > 0


def _method_name(key: Any) -> Any:
    """Return a method's name: numba has it behind a dot, or as the last of a tuple."""
    return key[-1] if isinstance(key, tuple) else str(key).rpartition(".")[2]


def _has_array(index: Any) -> bool:
    return isinstance(index, types.Array) or (isinstance(index, types.BaseTuple) and any(map(_has_array, index)))


# ------------------------------------------------------------------ numba's passes


@register_pass(mutates_CFG=False, analysis_only=True)
class _Look(AnalysisPass):
    _name = "wattline_look"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        _Judge(state).run()
        _passed.setdefault(state.func_id.func, set()).add(tuple(state.args))
        return False


@register_pass(mutates_CFG=False, analysis_only=True)
class _Stop(AnalysisPass):
    _name = "wattline_stop"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:  # noqa: ARG002  (as numba calls it)
        raise compiler._EarlyPipelineCompletion(result=True)


class Judged(compiler.Compiler):
    """numba's compiler, which looks at a function as soon as its types are known, and at those of the user that are
    compiled with it.
    """

    def _compile_core(self) -> Any:
        values = (value for _, value in named_values(self.state.func_id.func))
        named: list[Any] = [value for value in values if isinstance(value, Dispatcher)]
        lent = [
            one._compiler
            for one in named
            if one._compiler.pipeline_class is compiler.Compiler and not ours(one.py_func.__module__)
        ]
        for inner in lent:
            inner.pipeline_class = Judged
        try:
            return super()._compile_core()
        finally:
            for inner in lent:
                inner.pipeline_class = compiler.Compiler

    def define_pipelines(self) -> Any:
        """Return numba's own passes with ours among them."""
        pipelines = super().define_pipelines()
        for passes in pipelines:
            passes.add_pass_after(_Look, NopythonTypeInference)
            passes.finalize()
        return pipelines


class _OnlyJudged(compiler.CompilerBase):
    """Finds a function's types, looks at them, and makes no code."""

    def define_pipelines(self) -> Any:
        passes = PassManager("types")
        passes.passes.extend(compiler.DefaultPassBuilder.define_untyped_pipeline(self.state).passes)
        passes.add_pass(NopythonTypeInference, "types")
        passes.add_pass(_Look, "look")
        passes.add_pass(_Stop, "stop")
        passes.finalize()
        return [passes]


def look_through(dispatcher: Any, arguments: Any) -> None:
    """Refuse a user's function for some types of arguments, also one that was compiled before or lies in a cache of
    the user's.
    """
    inner = dispatcher._compiler
    flags = compiler.Flags()
    inner.targetdescr.options.parse_as_flags(flags, inner.targetoptions)
    compiler.compile_extra(
        inner.targetdescr.typing_context,
        inner.targetdescr.target_context,
        inner.py_func,
        args=arguments,
        return_type=None,
        flags=flags,
        locals=inner.locals,
        pipeline_class=_OnlyJudged,
    )
