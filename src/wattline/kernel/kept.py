"""Writes that numba would drop, and values that it would find too late, in what users compile.

A function that holds a comprehension, a lambda or a function of its own loses writes into arrays and lists whose other
names numba does not know. It removes dead code there, and takes a write for dead where the variable that is written
through is not read again. It knows of some views that they share memory with what they are made of; of rows in a loop,
of what a function returned, of members of tuples and lists it does not. In what users compile every write stays.

numba also puts parts of an expression of arrays together and calculates them at its end: after calls that stand to
their right, and may have written into the arrays. In what users compile each part is calculated in its place.
"""

from __future__ import annotations

from typing import Any

from numba.core import ir, ir_utils
from numba.np.ufunc.array_exprs import RewriteArrayExprs

from wattline.kernel.indices import of_users

_numba: Any = ir_utils
_find_aliases = _numba.find_potential_aliases
_has_no_side_effect = _numba.has_no_side_effect


def _aliases(blocks: Any, *others: Any, **named: Any) -> Any:
    """Return numba's aliases; whatever is written into counts as an argument, which somebody may read afterwards."""
    alias_map, of_arguments = _find_aliases(blocks, *others, **named)
    if of_users():
        written = {one.target.name for block in blocks.values() for one in block.body if isinstance(one, ir.SetItem)}
        of_arguments = of_arguments | written
    return alias_map, of_arguments


def _without_effect(rhs: Any, lives: Any, call_table: Any) -> bool:
    if of_users() and isinstance(rhs, ir.Expr) and rhs.op == "inplace_binop":
        return False  # it may write into an array
    return bool(_has_no_side_effect(rhs, lives, call_table))


_numba.find_potential_aliases = _aliases
_numba.has_no_side_effect = _without_effect


_expressions: Any = RewriteArrayExprs
_match = _expressions.match


def _no_match(rewrite: Any, *found: Any) -> bool:
    return not of_users() and bool(_match(rewrite, *found))


_expressions.match = _no_match
