"""Arrays that may not be written stay so in what users compile, also in containers and objects of arrays that may."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from programs import python
from wattline.kernel.compiled import JIT

pytestmark = pytest.mark.skipif(not JIT, reason="about compiled code")

HEAD = """\
import json, numba, numpy as np
from collections import namedtuple
from numba import types
from numba.experimental import jitclass, structref
from numba.typed import Dict, List
from wattline.kernel.indices import checking_indices

Pair = namedtuple("Pair", "array number")
pair, table, several = Pair(np.zeros(3), 1.0), np.arange(5.0), (np.zeros(3), np.ones(3))
row = np.zeros(1, dtype=[("a", "f8"), ("b", "i8")])[0]
module = __import__("types").ModuleType("module")
module.TABLE, module.several, module.pair = table, several, pair

def least(v, room=np.zeros(3)):
    room[0] = v
    return room[0]

def reads(v, room=np.full(3, 2.0)):
    return room[0] + v

with checking_indices():
    least, reads = numba.njit(least), numba.njit(reads)

@jitclass([("a", types.float64[:])])
class Bag:
    def __init__(self):
        self.a = np.zeros(3)

    def put(self, a):
        self.a = a

def said(source):
    names = dict(globals())
    shown = np.arange(8.0)
    shown.setflags(write=False)
    with checking_indices():
        try:
            exec("def f(x, own):\\n" + source, names)
            got = repr(numba.njit(names["f"])(shown, np.zeros(8)))
            return got if shown[0] == 0.0 else "written"
        except Exception as problem:
            return f"{type(problem).__name__}: {problem}"

print(json.dumps([said(one) for one in json.load(open("cases.json"))]))
"""
WRITTEN = [
    "a = List.empty_list(types.float64[:])\na.append(x)\na[0][0] = 9.0",
    "a = List.empty_list(types.float64[:])\na.insert(0, x)\na[0][0] = 9.0",
    "a = List([own])\na[0] = x\na[0][0] = 9.0",
    "a = List()\na.append(own)\na.append(x)\na[1][0] = 9.0",
    "a = List([own])\na.extend(List([x]))\na[1][0] = 9.0",
    "a = {0: own, 1: x}\na[1][0] = 9.0",
    "a = {0: own}\na[1] = x\na[1][0] = 9.0",
    "a = {0: own}\na.setdefault(1, x)[0] = 9.0",
    "a = {0: own}\na.update({1: x})\na[1][0] = 9.0",
    "a = {0: (1, own)}\na[1] = (2, x)\na[1][1][0] = 9.0",
    "a = Dict.empty(types.int64, types.float64[:])\na[1] = x\na[1][0] = 9.0",
    "a = Bag()\na.a = x\na.a[0] = 9.0",
    "a = Bag()\na.put(x)\na.a[0] = 9.0",
]
FROZEN = {
    "pair.array[0] = 9.0": "Cannot modify readonly array",
    "module.TABLE[0] = 9.0": "Cannot modify readonly array",
    "module.several[1][0] = 9.0": "Cannot modify readonly array",
    "return least(1.0)": "Cannot modify readonly array",
    "row.a = 9.0": "a constant here holds what may be written",
}
RIGHT = {
    "a = List()\na.append(x)\na.append(x)\nreturn a[1][3]": "3.0",
    "a = {0: x, 1: x}\nreturn a[1][3]": "3.0",
    "a = [x, x]\nreturn a[1][3]": "3.0",
    "a = {0: own}\na[1] = x.copy()\na[1][0] = 9.0\nreturn a[1][0]": "9.0",
    "a = [1.0]\na.extend(x)\nreturn len(a)": "9",
    "if own[0] > 1.0:\n    a = own\nelse:\n    a = x\nreturn a[2]": "2.0",
    "return table[2] + several[1][0] + pair.array[2] + pair.number": "4.0",
    "return module.TABLE[1] + module.several[1][0] + module.pair.array[0]": "2.0",
    "return reads(1.0)": "3.0",
}


def outcomes(folder: Path, cases: list[str]) -> list[str]:
    """Return what functions of a read-only array and one of their own return or raise."""
    indented = ["".join(f"    {line}\n" for line in case.splitlines()) for case in cases]
    (folder / "cases.json").write_text(json.dumps(indented))
    done = python(HEAD, folder)
    assert done.code == 0, (done.code, done.err)
    found: list[str] = json.loads(done.out)
    return found


def test_containers_and_objects_do_not_lose_the_mark(tmp_path: Path) -> None:
    """Such a cast is unsafe; numba only warns of it, and what is read-only is written."""
    for case, found in zip(WRITTEN, outcomes(tmp_path, WRITTEN), strict=True):
        assert "a read-only array is put among arrays that may be written; give it a copy" in found, (case, found)


def test_constants_are_not_written(tmp_path: Path) -> None:
    """What a default, a module, a namedtuple or a record holds lies in memory that cannot be written, or that all calls
    share.
    """
    for case, found in zip(FROZEN, outcomes(tmp_path, list(FROZEN)), strict=True):
        assert FROZEN[case] in found, (case, found)


def test_arrays_of_one_kind_are_kept_as_they_are(tmp_path: Path) -> None:
    """Read-only arrays among themselves, copies of them, and constants that are only read."""
    assert dict(zip(RIGHT, outcomes(tmp_path, list(RIGHT)), strict=True)) == RIGHT


POLICY = """\
import numba, numpy as np, wattline as wl
from numba import types
from numba.typed import List


@numba.njit
def least(value, room=np.zeros(3)):
    room[0] = value
    room.sort()
    return room[0]


@numba.guvectorize(["(float64[:],float64[:])"], "(n)->(n)")
def cut(a, b):
    b[a.shape[0] + 7] = 1.0


@wl.policy("select", compiled={compiled}, memory=1)
def sly(s, arg, param, memory):
{body}
    return 0


@numba.njit
def first(value, some=[1.0, 2.0]):
    return some[0] + value


module = __import__("types").ModuleType("module")
module.TABLE = np.arange(4.0)
trace = wl.draw_trace("lublin", nodes=4, jobs=3, load=0.5, seed=1)
wl.simulate(trace, wl.Machine(nodes=4), select=sly, progress=False)
"""
TOLD = [
    (True, "    a = List.empty_list(types.int64[:])\n    a.append(s.nodes)", ":21 ", "a read-only array is put among"),
    (True, "    memory[0] = least(1.0)", "sly.py:8 ", "keeps its own state in memory"),
    (False, "    memory[0] = least(1.0)", ":20 ", "keeps its own state in memory"),
    (True, "    memory[0] = first(1.0)", ":20 ", "of a kind that compiled code cannot hold (a list, say)"),
    (True, "    memory[0] = module.TABLE.sum()", "sly.py:18", "import the array by its name (from module"),
    (True, "    cut(np.zeros(3), np.zeros(3))", "sly.py:18", "errors in cut would go unheard in compiled code"),
]


@pytest.mark.parametrize(("compiled", "body", "line", "told"), TOLD)
def test_a_policy_is_told_of_its_line(tmp_path: Path, *, compiled: bool, body: str, line: str, told: str) -> None:
    """One line says where, and what to do."""
    (tmp_path / "sly.py").write_text(POLICY.format(compiled=compiled, body=body))
    done = python("import runpy\nrunpy.run_path('sly.py')\n", tmp_path)
    last = done.err.splitlines()[-1]
    assert done.code == 1, done.err
    assert line in last, last
    assert told in last, last
