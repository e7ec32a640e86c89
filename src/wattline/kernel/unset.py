"""Variables that are set on some ways only are not read in what users compile, where that could end the process.

Python raises an error where a variable is read that nothing has set. numba reads zeros: a number is 0, an array has no
elements, but a list, a set, a dict, or an object is a pointer to nowhere. So a function in which such a variable may be
unset where it is read is not compiled. Fields of a jitclass are looked at when they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from numba.core import cgutils, errors, ir, typed_passes
from numba.core import types as numba_types
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.base import BaseContext

from wattline.kernel.indices import of_users

types: Any = numba_types  # it tells but a part of its types

SAID = "{} is set on some ways only, and numba does not notice where it is not; give it a value before"

_HARMLESS = (
    types.Number,
    types.Boolean,
    types.NoneType,
    types.Omitted,
    types.Literal,
    types.NPDatetime,
    types.NPTimedelta,
    types.UnicodeCharSeq,
    types.CharSeq,
    types.Bytes,
    types.DTypeSpec,
    types.RangeType,
    types.SliceType,
    types.Array,
    types.EnumMember,
    types.Opaque,
    types.Function,
)
"""Types whose zeros are numbers, or hold nothing; a function or a module is known by its type."""

_LIBRARIES = frozenset(("numba", "numpy", "wattline", "llvmlite", "scipy"))


def unset(blocks: Mapping[int, Any], typemap: Mapping[str, Any]) -> tuple[str, Any] | None:
    """Return a variable that may be read unset, and where, if that could end the process (None: there is none)."""
    names = frozenset(name for name, kind in typemap.items() if not is_harmless(kind))
    if not names:
        return None
    graph = compute_cfg_from_blocks(blocks)
    after: dict[int, frozenset[str]] = dict.fromkeys(blocks, frozenset())
    work = [graph.entry_point()]
    seen: set[int] = set()
    while work:
        label = work.pop()
        before = _before(label, graph, after, names)
        left = _through(blocks[label], before, after)
        if label not in seen or left != after[label]:
            seen.add(label)
            after[label] = left
            work += [to for to, _ in graph.successors(label)]
    for label in sorted(seen):
        missing = set(_before(label, graph, after, names))
        for statement in blocks[label].body:
            for variable in _read(statement):
                if variable.name in missing and not variable.name.startswith("$"):
                    return variable.unversioned_name, statement.loc
            _pass(statement, missing, after)
    return None


def is_harmless(kind: Any) -> bool:
    """Tell whether all zeros are a value of a type."""
    if isinstance(kind, types.BaseTuple):
        return all(map(is_harmless, kind))
    if isinstance(kind, types.Optional):
        return is_harmless(kind.type)
    if isinstance(kind, types.BoundFunction):
        return is_harmless(kind.this)
    return isinstance(kind, _HARMLESS)


def _before(label: int, graph: Any, after: dict[int, frozenset[str]], names: frozenset[str]) -> frozenset[str]:
    """Return what may be unset when a block begins."""
    if label == graph.entry_point():
        return names
    return frozenset().union(*(after[one] for one, _ in graph.predecessors(label)))


def _through(block: Any, before: frozenset[str], after: dict[int, frozenset[str]]) -> frozenset[str]:
    missing = set(before)
    for statement in block.body:
        _pass(statement, missing, after)
    return frozenset(missing)


def _pass(statement: Any, missing: set[str], after: dict[int, frozenset[str]]) -> None:
    """Let a statement set its variable; where ways meet it is unset if it is on one of them."""
    if not isinstance(statement, ir.Assign):
        return
    made = statement.value
    if isinstance(made, ir.Expr) and made.op == "phi":
        ways = zip(made.incoming_blocks, made.incoming_values, strict=True)
        if any(value is ir.UNDEFINED or value.name in after[block] for block, value in ways):
            return
    missing.discard(statement.target.name)


def _read(statement: Any) -> Iterator[Any]:
    """Yield the variables that a statement reads."""
    if isinstance(statement, ir.Assign):
        made = statement.value
        if isinstance(made, ir.Var):
            yield made
        elif isinstance(made, (ir.Expr, ir.Yield)) and getattr(made, "op", "") != "phi":
            yield from made.list_vars()
    elif not isinstance(statement, ir.Del):
        yield from statement.list_vars()


# ------------------------------------------------------------------ in what users compile outside of policies

_strip: Callable[..., bool] = typed_passes.PreLowerStripPhis.run_pass


def _looked_through(self: Any, state: Any) -> bool:
    if (
        of_users()
        and state.typemap is not None
        and str(state.func_ir.func_id.modname).partition(".")[0] not in _LIBRARIES
    ):
        found = unset(state.func_ir.blocks, state.typemap)
        if found is not None:
            raise errors.UnsupportedError(SAID.format(found[0]), found[1])
    return _strip(self, state)


_passes: Any = typed_passes.PreLowerStripPhis
_passes.run_pass = _looked_through

# ------------------------------------------------------------------ fields of a jitclass

_context: Any = BaseContext
_plain_getattr: Callable[..., Any] = BaseContext.get_getattr


def _getattr_of(context: Any, kind: Any, name: str) -> Any:
    """Return how an attribute is read; a field of a user's jitclass that nothing has set is an error."""
    plain = _plain_getattr(context, kind, name)
    if not (of_users() and isinstance(kind, types.ClassInstanceType) and name in kind.struct):
        return plain
    field = kind.struct[name]
    if is_harmless(field):
        return plain

    def read(context: Any, builder: Any, kind: Any, value: Any, attribute: str) -> Any:
        got = plain(context, builder, kind, value, attribute)
        found = context.nrt.get_meminfos(builder, field, got)
        if not found:
            raise errors.UnsupportedError(f"a field of a jitclass that is {field} may be unset; pass it as an argument")
        for part, address in found:
            if not is_harmless(part):
                with builder.if_then(cgutils.is_null(builder, address), likely=False):
                    context.call_conv.return_user_exc(builder, AttributeError, (f"nothing has set .{attribute}",))
        return got

    return read


_context.get_getattr = _getattr_of
