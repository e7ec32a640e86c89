"""Calls of everything that numba knows to do with an array, on arrays that are read-only: each is refused or leaves
them as they were.

What there is to call comes from numba's own registry, so the test does not rest on what somebody thought of. Arguments
are drawn from a small store; calls that numpy itself refuses are left out.
"""

from __future__ import annotations

import ast
import functools
import itertools
import weakref
from dataclasses import dataclass
from random import Random
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.errors import NumbaError
from numba.core.registry import cpu_target
from numba.extending import overload

from wattline.control.users.doors import Judged, RefusedError

ONE = "fimtsgb"
"""Read-only arrays: floats, whole numbers, 3 × 3 in rows, in columns, strided, strided 3 × 3, truth values."""

PLACES = {
    "builtins": "",
    "operator": "operator.",
    "_operator": "operator.",
    "_heapq": "heapq.",
    "heapq": "heapq.",
    "random": "random.",
}
LEFT_OUT = {"print", "type", "np.random.seed", "random.seed", "np.dtype"}
"""They take no array, or say something."""


def store() -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays that calls are made with, all writable."""
    square = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
    return {
        "f": np.array([0.0, 0.5, 1.5, np.nan, 3.0, 0.0]),
        "i": np.array([0, 1, 2, 3, 4, 5]),
        "m": square.copy(),
        "t": np.asfortranarray(square),
        "s": np.arange(12.0)[::2],
        "g": np.repeat(np.repeat(square, 2, 0), 2, 1)[::2, ::2],
        "b": np.array([True, False, True, True, False, True]),
        "o": np.ones(6),
        "w": np.ones((3, 3)),
    }


@functools.cache
def functions() -> tuple[str, ...]:
    """Return all functions of numpy and Python that numba knows, as a user writes them."""
    numba.njit(lambda: 0)()
    context = cpu_target.typing_context
    context.refresh()
    found = set()
    for key in itertools.chain(context._functions, context._globals):
        function = key() if isinstance(key, weakref.ref) else key
        module = "numpy" if isinstance(function, np.ufunc) else str(getattr(function, "__module__", None))
        name = str(getattr(function, "__name__", ""))
        if module.startswith("numpy"):
            text = f"np{module[5:]}.{name}"
        elif module in PLACES:
            text = PLACES[module] + name
        else:
            continue
        if text not in LEFT_OUT and _is_there(text):
            found.add(text)
    return tuple(sorted(found))


def _is_there(text: str) -> bool:
    try:
        return callable(eval(text, dict(SPACE)))  # noqa: S307  (a name of numpy's)
    except AttributeError:
        return False


@functools.cache
def attributes() -> tuple[str, ...]:
    """Return all attributes and methods of arrays that numba knows."""
    functions()
    found = set()
    for key, templates in cpu_target.typing_context._attributes.items():
        if isinstance(key, type) and issubclass(types.Array, key):
            for template in templates:
                named = getattr(type(template), "_attr", None)
                found |= {named} if named else {n[8:] for n in dir(template) if n.startswith("resolve_")}
    return tuple(sorted(n for n in found if not n.startswith("_")))


import heapq  # noqa: E402
import operator  # noqa: E402
import random  # noqa: E402

SPACE: dict[str, Any] = {"np": np, "heapq": heapq, "operator": operator, "random": random}

ARGUMENTS = [
    *ONE,
    "(f, f)",
    "[f, f]",
    "(m, m)",
    "[m, m]",
    *(
        f"{x}, {y}"
        for x in "fimtsg"
        for y in (
            "0",
            "1",
            "2.0",
            "f",
            "i",
            "m",
            "o",
            "(2, 3)",
            "(1, 0)",
            "(2, 6)",
            "(3, 3)",
            "np.float64",
            "np.int64",
            "x := 1",
        )[:-1]
    ),
    *(f"{x}, {y}" for x in ("o", "w", "b", "2", "0.5") for y in ONE),
    "f, 0, 1",
    "m, 0, 1",
    "m, 1, 0",
    "m, (0,), (1,)",
    "b, f, f",
    "b, f, o",
    "f, f, f",
    "m, m, m",
    "f, 1, f",
    "f, i, f",
    "i, 1, 1.0",
    "f, 0.0, 1.0",
    "s, 0.0, 1.0",
    "f, f, o",
    "o, o, f",
    "m, m, w",
    "w, w, m",
    "o, 0, f",
    "o, b, f",
    "f, 2, f",
    "m, 1, 2",
    "m, 0.5, 0",
    "f, (2,), (8,)",
    "m, (2, 2)",
    "(f, f), 1",
    "(m, m), 0",
    "f, 0.0, 1.0, f",
    "f, 0.0, 1.0, o",
    "o, 0.0, 1.0, f",
    "[b, b], [f, f], 0.0",
    "f, False",
    "f, True",
    "f, False, 0.0",
    "f, False, 0.0, 1.0, 2.0",
    "m, 7.0",
    "m, 7.0, True",
    "f, 2",
    "f, 0, 7.0",
    "i, 0, 7",
    "f, slice(0, 2), 7.0",
    "f, copy=False",
    "f, out=f",
    "f, f, out=f",
    "f, 0, out=f",
    "'flat'",
    "f, 'flat'",
    "f, 'real'",
    "i, 3",
    "3, i",
    "f, 3",
    "m, 3",
    "t, 3",
    "t, 0, 1",
    "f, lambda",
    "",
]
ARGUMENTS.remove("f, lambda")


@dataclass(frozen=True)
class Call:
    """One expression, and what came of it."""

    text: str
    outcome: str
    """``refused``, ``harmless``, ``unknown`` to numba, or ``CHANGED``."""
    said: str = ""


def scribble(given: Any) -> None:
    """Write to all that can be written in a value; compiled code only."""


@overload(scribble)
def _scribble(given: Any) -> Any:
    if isinstance(given, types.Array) and given.mutable and isinstance(given.dtype, (types.Number, types.Boolean)):
        if isinstance(given.dtype, types.Boolean):

            def write(given: Any) -> None:
                for at in np.ndindex(given.shape):
                    given[at] = not given[at]
        else:

            def write(given: Any) -> None:
                for at in np.ndindex(given.shape):
                    given[at] += 1

        return write
    if isinstance(given, types.NumpyFlatType):

        def write(given: Any) -> None:
            given[0] = 7

        return write
    if isinstance(given, types.BaseTuple) and len(given) > 0:

        def write(given: Any) -> None:
            scribble(given[0])
            scribble(given[1:])

        return write
    if isinstance(given, (types.List, types.ListType)):

        def write(given: Any) -> None:
            for one in given:
                scribble(one)

        return write

    def nothing(given: Any) -> None:
        return

    return nothing


def legal(text: str) -> bool:
    """Tell whether numpy takes a call, on writable arrays."""
    try:
        with np.errstate(all="ignore"):
            eval(text, SPACE | store())  # noqa: S307  (an expression of ours)
    except Exception:  # whatever numpy says against it
        return False
    return True


def attempt(text: str, *, judged: bool = True) -> Call:
    """Make one call on read-only arrays, write to what it returns, and look at the arrays."""
    arrays = store()
    names = sorted({n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)} & set(arrays))
    before = {name: arrays[name].copy() for name in names}
    given = []
    for name in names:
        seen = arrays[name].view()
        seen.flags.writeable = name in "ow"
        given.append(seen)
    space = SPACE | {"scribble": scribble}
    listed = ", ".join(names)
    exec(f"def call({listed}):\n    return {text}\ndef use({listed}):\n    scribble(call({listed}))\n", space)  # noqa: S102
    more = {"pipeline_class": Judged} if judged else {}
    call = space["call"] = numba.njit(**more)(space["call"])
    try:
        call.compile(tuple(numba.typeof(array) for array in given))
    except RefusedError as problem:
        return Call(text, "refused", problem.said)
    except Exception as problem:  # numba fails in many ways on what it does not know
        return Call(text, "unknown", str(problem)[:200])
    said = ""
    returned = call.overloads[call.signatures[0]].signature.return_type
    numbers = isinstance(returned, (types.Number, types.Boolean, types.NoneType))
    try:
        call(*given) if numbers else numba.njit(space["use"])(*given)
    except NumbaError:
        raise
    except Exception as problem:  # a call that fails may have written before
        said = f"{type(problem).__name__}: {str(problem)[:120]}"
    changed = [
        n
        for n in names
        if n not in "ow" and not np.array_equal(arrays[n], before[n], equal_nan=arrays[n].dtype.kind == "f")
    ]
    return Call(text, f"CHANGED {' '.join(changed)}" if changed else "harmless", said)


def calls(rng: Random, per_name: int) -> list[str]:
    """Return expressions: for every function and method up to so many that numpy takes, drawn at random."""
    found = []
    for name in functions():
        drawn = rng.sample(ARGUMENTS, len(ARGUMENTS))
        found += itertools.islice(
            (t for a in drawn if legal(t := f"{name}({a})") and any(x in t for x in ONE)), per_name
        )
    for name in attributes():
        drawn = [f"{x}.{name}" for x in ONE] + [
            f"{x}.{name}({a})"
            for x in ONE
            for a in (
                "",
                "0",
                "1",
                "f",
                "i",
                "m",
                "o",
                "(3, 2)",
                "2, 3",
                "np.int64",
                "0.0, 1.0, f",
                "0.0, 1.0, o",
                "f, f",
            )
        ]
        rng.shuffle(drawn)
        found += itertools.islice((t for t in drawn if legal(t)), per_name)
    rng.shuffle(found)
    return found
