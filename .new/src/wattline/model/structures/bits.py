"""The lowest and the highest bit of a whole number: one instruction in compiled code, the same answers in plain
Python.
"""

# mypy: allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, type_callable


def lowest_bit(word: int) -> int:
    """Return the place of the lowest bit of a whole number that is not 0.

    >>> lowest_bit(1), lowest_bit(40), lowest_bit(-(2**63))
    (0, 3, 63)
    """
    plain = int(word)  # numpy's own would overflow at the last of 64 bits
    return (plain & -plain).bit_length() - 1


def highest_bit(word: int) -> int:
    """Return the place of the highest bit of a whole number of 64 bits that is not 0.

    >>> highest_bit(1), highest_bit(40), highest_bit(-(2**63))
    (0, 5, 63)
    """
    plain = int(word)
    return 63 if plain < 0 else plain.bit_length() - 1


def _typed(_context: Any) -> Any:
    return lambda _word: types.int64(types.int64)


type_callable(lowest_bit)(_typed)
type_callable(highest_bit)(_typed)


@lower_builtin(lowest_bit, types.int64)
def _count_below(_context: Any, builder: Any, _sig: Any, args: Any) -> Any:
    return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))


@lower_builtin(highest_bit, types.int64)
def _count_above(_context: Any, builder: Any, _sig: Any, args: Any) -> Any:
    return builder.sub(ir.Constant(ir.IntType(64), 63), builder.ctlz(args[0], ir.Constant(ir.IntType(1), 1)))
