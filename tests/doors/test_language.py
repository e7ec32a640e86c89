"""Compiled policies are written in a closed language: what they hold and call is known, the rest is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from reference.engine import policies
from wattline.control.catalog import find
from wattline.control.users.compile import compile_user
from wattline.errors import PolicyError
from wattline.kernel.compiled import JIT
from wattline.kernel.indices import for_users
from wattline.model.cluster import Cluster, NodeClass
from wattline.model.jobs import JobTable
from wattline.sim.simulate import Simulation

pytestmark = [
    pytest.mark.skipif(not JIT, reason="about compiled policies"),
    pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaWarning"),
]


HEAD = """import ctypes
import enum
import functools
import heapq
import math
import operator
import random
from collections import namedtuple

import numba
import numpy as np
from numba import njit, typed, types
from numba.core.unsafe.bytes import memcpy_region
from numba.cpython.unsafe.numbers import leading_zeros
from numba.experimental import jitclass
import wattline as wl
from wattline.kernel.record import floats_at
from wattline.model.structures.queue import before
from wattline.policies.helpers import headroom_w, waiting

Pair = namedtuple("Pair", "a b")
RECORD = np.zeros(2, dtype=[("x", np.int64)])
DATES = np.array(["2026-01-01"], dtype="M8[s]")
absolute = ctypes.CDLL(None).labs
absolute.argtypes, absolute.restype = [ctypes.c_long], ctypes.c_long


class Colour(enum.IntEnum):
    RED = 3


class Plain(enum.Enum):
    ONE = 1.5


@jitclass([("n", types.int64)])
class Box:
    def __init__(self):
        self.n = 1


@njit
def plus(a, b):
    return a + b


@njit
def counted(table):
    return len(table)


@njit
def each(a):
    for x in a:
        yield x


@njit
def minus(a, b):
    return a - b


CHOICE = (plus, minus)


@wl.policy("select", compiled=True, memory=9)
def mine(s, arg, param, memory):
"""


def compiled(folder: Path, body: str) -> None:
    """Compile a policy with this body."""
    file = folder / "mine.py"
    file.write_text(HEAD + "".join(f"    {line}\n" for line in (*body.splitlines(), "return 0")))
    compile_user(find("select", str(file)))


FOREIGN = {
    "a = {1: 2.0}": "a dict is not for compiled policies: they hold numbers, arrays",
    "a = dict()": "imprecise type: DictType",
    "a = {'x': 1, 'y': memory}": "a dict",
    "a = {1, 2}": "a set",
    "a = set([1])": "a set",
    "a = typed.List([1.0])": "numba's typed list or dict",
    "a = typed.Dict.empty(types.int64, types.int64)": "numba's typed list or dict",
    "counted(typed.List([1.0]))": "numba's typed list",
    "a = str(arg)": "a text",
    "a = f'{arg}'": "a text",
    "a = 'ab' * arg": "a text",
    "a = b'ab'": "a text",
    "a = 'x' if arg > 1 else 'y'": "a text",
    "a = [1, 'x']": "a list of values of several types",
    "a = Box()": "an object of a class",
    "a = RECORD[0]": "a record",
    "a = RECORD['x']": "a record",
    "a = DATES[0]": "a date",
    "with numba.objmode():\n    print(1)": "a with block is not for compiled policies",
    "memory[0] = absolute(-3)": "a function of another library",
    "f = CHOICE[arg % 2]\nmemory[0] = f(1, 2)": "No implementation of function",
    "f = minus\nif arg > 1:\n    f = plus\nmemory[0] = f(1, 2)": "one of several functions",
    "memory[0] = np.random.random()": "np.random.random draws other numbers in every run; use wl.uniform",
    "memory[0] = random.random()": "draws other numbers in every run",
    "np.random.shuffle(memory)": "np.random.shuffle draws other numbers",
    "a = np.nditer(memory)": "np.nditer",
    "memory[0] = hash(3.5)": "hash is not among what compiled policies may call (docs/policies.md has the list)",
    "memory[0] = functools.reduce(plus, memory)": "No implementation of function",
    "a = list(map(counted, [memory]))": "map is not among",
    "operator.setitem(memory, 0, 1.0)": "operator.setitem is not among",
    "operator.iadd(memory, np.ones(9))": "operator.iadd is not among",
    "memory[0] = np.polynomial.polynomial.polyval(1.0, memory)": "np.polynomial.polynomial.polyval is not among",
    "memory[0] = leading_zeros(arg)": "leading_zeros is not among",
    "memcpy_region(arg, 0, arg, 0, 8, 1)": "memcpy_region is not among",
    "a = floats_at(arg, 9)": "floats_at is not among",
    "memory[0] = before(s, 0, 0)": "before is not among",
    "memory[0] = numba.get_num_threads()": "get_num_threads is not among",
    "a = memory.tobytes()": "a text is not for compiled",
    "a = (1.5).hex()": "Unknown attribute 'hex'",
    "try:\n    memory[0] = 2.0\nexcept Exception:\n    pass": "try is not for compiled policies: numba loses what",
    "a = np.linalg.solve(np.ones((2, 9)), np.ones(2))": "np.linalg.solve is not among",
    "a = np.transpose(memory.reshape((3, 3)), (0, -2))": "numba does not look whether axes repeat; np.transpose(a)",
    "a = memory.reshape((3, 3)).transpose((0, -2))": "numba does not look whether axes repeat",
    "a = memory.reshape((3, 3)).transpose(0, -2)": "numba does not look whether axes repeat",
    "a = np.repeat(memory, 1 << 61)": "np.repeat is not among",
    "a = memory.repeat(1 << 61)": ".repeat() is not among",
    "a = [5, 3, 8]\ndel a[arg]": "numba does not know what is asked for here; write it in another way",
    "a = [memory, memory]\na.pop(0)\na.append(memory.copy())": "numba loses count of what is in a list of lists",
    "a = [[0], [1]]\na.remove([1])": "numba loses count",
    "a = [(1, memory)]\na += [(2, memory)]": "numba loses count",
    "a = [[2], [1]]\na = sorted(a)": "numba loses count",
    "a = [[2.0], [1.0]]\nheapq.heapify(a)": "numba loses count",
    "a = [1, 2, 3]\na[1:2] = a": "slices of lists cannot be set in compiled policies",
    "a = [1, 2, 3]\na[arg:] = [4]": "slices of lists cannot be set",
    "memory[0] = np.linalg.norm(memory[::-1])": "np.linalg.norm is not among",
    "a = np.partition(memory, -(2**63))": "np.partition is not among",
    "a = np.bincount(np.array([-1, 2]))": "np.bincount is not for compiled policies, for numba's own is wrong",
    "a = np.clip(memory, 0.0, 1.0)": "write np.minimum(np.maximum(a, low), high)",
    "a = memory.clip(0.0, 1.0)": ".clip() is not among",
    "a = np.fmod(-7, 3)": "it gets whole numbers wrong",
    "a = np.histogram(np.array([4]), 4)": "np.searchsorted(edges, a)",
    "memory[0] = np.median(memory)": "use np.nanmedian",
    "a = np.roll(memory, 2)": "np.concatenate",
    "a = np.split(memory, 3)": "np.split is not among",
    "memory[0] = (arg > 1) + (memory[0] > 2.0)": "to numba truth values are numbers here, and not to numpy",
    "a = arg > 1\na += memory[0] > 2.0": "write int(a) + int(b)",
    "a = [0] * 3\na[0] = arg / 2": "numba would round or cut it, for the list holds whole numbers",
    "a = [0]\na += [arg / 2]": "numba would round or cut it, for the list holds whole numbers",
    "a = [(1, 2)]\na += [(1.5, 2.5)]": "the list holds tuples of other numbers",
    "a = [True]\na += [3]": "the list holds truth values",
    "a = [2, 1]\na.sort(key=lambda x: -x)": "numba mixes up what has the same key; sort tuples",
    "a = sorted([2, 1], key=lambda x: -x)": "numba mixes up what has the same key",
    "a = np.resize(memory, (3, 3))": "np.reshape(a, …).copy()",
    "a = [False] * 3\na[0] = 3": "the list holds truth values",
    "a = [(1, 2)]\na[0] = (arg, memory[0])": "the list holds tuples of other numbers",
    "print(memory)": "print shows numbers and texts",
    "print(np.ndindex(2, -1))": "print shows numbers and texts",
}


@pytest.mark.parametrize("body", FOREIGN)
def test_what_is_not_known_is_refused(tmp_path: Path, body: str) -> None:
    """In one line, which names the line of the file, what it is, and what to do instead."""
    with pytest.raises(PolicyError) as caught:
        compiled(tmp_path, body)
    text = str(caught.value)
    assert FOREIGN[body] in text
    assert "\n" not in text
    assert text.startswith(f"{tmp_path}/mine.py:")
    assert "policy 'mine' cannot be compiled" in text


KNOWN = """heap = [(0.0, 0)]
for j in waiting(s):
    heapq.heappush(heap, (s.estimate_s[j], j))
    if len(heap) > 3:
        heap.pop()
first = heapq.heappop(heap)
memory[0] = first[0] + plus(first[1], 1)
heap.sort()
heap += [(1.0, 2)]
heap[0] = (2.0, 3)
memory[1] = heap[1:][0][0]
best = sorted([x * 2.0 for x in memory])[0]
memory[1] = best + sum([x for x in memory]) + max(1, 2, arg) + min([3, 4]) + abs(-1.5) + round(2.6) + divmod(7, 2)[0]
memory[2] = math.sqrt(2.0) + math.floor(3.5) + math.hypot(3.0, 4.0) + np.sqrt(memory).sum() + float(int(2.5))
table = np.zeros((3, 4))
table[1:, :2] = np.arange(2.0)
table[:, 0].fill(1.0)
turned = np.transpose(table).copy() + table.transpose()
memory[3] = (table @ table.T)[0, 0] + table.max() + np.array([[1.0, 2.0], [3.0, 4.0]])[1, 1]
p = Pair(memory, 3)
memory[Colour.RED.value] = p.a[0] + p.b + Plain.ONE.value
wrong = memory[5] > 1.0
seen = np.zeros(s.nodes.shape[0], dtype=np.bool_)
seen[s.queue[s.q_head[0] : s.q_tail[0]] % 2] = True
add = lambda a, b: a + b
memory[6] = add(1.0, headroom_w(s)) + wl.uniform(param[-1], 7, 3) + (1 if "a" == "b" else 0)
nobody = None
if arg > 3:
    nobody = 1.0
if nobody is not None:
    memory[7] = nobody
for at, x in np.ndenumerate(table):
    memory[8] += x * at[0]
for at in np.ndindex(2, 2):
    memory[8] += at[1]
for i, (a, b) in enumerate(zip(memory, memory[::-1])):
    memory[8] += a * b * i
for x in each(memory):
    memory[8] += x
for i in numba.prange(3):
    memory[8] += i
if wrong and not np.isfinite(memory).all():
    raise ValueError("not finite", arg)
memory.sort()
groups = [[0]]
groups.append([1, 2])
memory[8] += len(groups[1]) + (1, 2, 3).index(2) + isinstance(arg, int)
print("passes", arg)"""


def test_what_is_known_is_compiled_and_the_same_in_plain_python(tmp_path: Path) -> None:
    """Numbers, arrays, tuples and lists of them; functions of Python and numpy that the guide names; own functions."""
    compiled(tmp_path, KNOWN)
    text = (tmp_path / "mine.py").read_text()
    (tmp_path / "plain.py").write_text(text.replace("compiled=True, ", ""))
    assert "compiled=True, " in text
    found = {}
    for name in ("mine", "plain"):
        select = find("select", str(tmp_path / f"{name}.py"))
        jobs = JobTable.build(submit_s=[0.0, 0.0, 1.0], work_s=[5.0, 3.0, 4.0], nodes=[1, 2, 3])
        with Simulation(
            jobs, Cluster((NodeClass("node", 4, 1.0, 2.0),)), replace(policies(), select=select)
        ) as simulation:
            simulation.advance(1)
            found[name] = simulation.memory[1][:9].tolist()
    assert found["mine"] == pytest.approx(found["plain"], rel=1e-12)
    assert len(set(found["mine"])) > 5


LOST = {
    "a row": "for row in table:\n    row[0] = 2.0",
    "a row by number": "for at, row in enumerate(table):\n    row[0] = at + 2.0",
    "rows side by side": "for a, b in zip(table, table[::-1]):\n    a[0] = b[1] + 1.0",
    "an array of a tuple": "for a in (table[0], memory):\n    a[0] = 3.0",
    "an array of a list": "for a in [table[0], memory]:\n    a[0] = 3.0",
    "a list of a list": "lists = [[0.0], [1.0]]\nfor one in lists:\n    one[0] = 5.0\nmemory[1] = lists[1][0]",
    "more dimensions": "a = np.expand_dims(memory, 0)\na[0, 1] = 4.0",
    "backwards": "a = np.flip(memory)\na[0] = 4.0",
    "the same": "a = np.asarray(memory)\na[0] = 4.0",
    "one's own": "a = part(memory)\na[0] = 4.0",
    "in place": "for row in table:\n    row += 1.0",
    "what a generator gives": "for row in rows(table):\n    row[1] = 6.0",
    "the other way round": "a = np.swapaxes(table, 0, 1)\na[0] = 7.0",
}


@numba.njit
def part(a: Any) -> Any:
    """Return a view."""
    return a[2:]


@numba.njit
def rows(table: Any) -> Any:
    """Give rows."""
    yield table[1]


@pytest.mark.parametrize("trigger", ["[x for x in memory]", "lambda a: a", "sum([x for x in memory])"])
@pytest.mark.parametrize("name", LOST)
def test_no_write_is_lost(name: str, trigger: str) -> None:
    """Numba removes dead code from functions with a comprehension or a function of their own, and takes writes for dead
    whose other names it does not know.
    """
    lines = ["def f(memory, table):", f"    some = {trigger}", *(f"    {line}" for line in LOST[name].splitlines())]
    names: dict[str, Any] = {"np": np, "part": part, "rows": rows}
    exec("\n".join(lines), names)  # noqa: S102
    found = []
    for way in (names["f"], numba.njit(names["f"])):
        memory, table = np.zeros(4), np.zeros((3, 2))
        with for_users():
            way(memory, table)
        found.append((memory.tolist(), table.tolist()))
    assert found[0] == found[1]
    assert found[0] != ([0.0] * 4, [[0.0] * 2] * 3)


LATE = {
    "a sum": "a[:] = (a + 1.0) * spoil(a)",
    "a ufunc": "a[:] = np.maximum(a + 1.0, spoil(a))",
    "of two": "b = a * 2.0 - spoil(a)\na[:] = b",
    "in place": "b = a * 1.0\nb += (a * 3.0) / spoil(a)\na[:] = b",
}


@numba.njit
def spoil(a: Any) -> Any:
    """Write into an array, and return a number of it."""
    a[0] -= 3.0
    return a[0] + 0.5


@pytest.mark.parametrize("name", LATE)
def test_expressions_of_arrays_are_calculated_from_left_to_right(name: str) -> None:
    """Numba puts their parts together at the end, after calls to their right that write into the arrays."""
    lines = ["def f(a):", *(f"    {line}" for line in LATE[name].splitlines())]
    names: dict[str, Any] = {"np": np, "spoil": spoil}
    exec("\n".join(lines), names)  # noqa: S102
    found = []
    for way in (names["f"], numba.njit(names["f"])):
        a = np.array([10.0, 20.0])
        with for_users():
            way(a)
        found.append(a.tolist())
    assert found[0] == found[1]


def test_writes_would_be_lost() -> None:
    """Elsewhere numba loses them: what keeps them can be left out once this fails."""

    def f(table: Any) -> None:
        some = [x for x in table[0]]  # noqa: C416, F841
        for row in table:
            row[0] = 1.0

    table = np.zeros((3, 2))
    numba.njit(f)(table)
    assert not table.any()
