"""What numba does not notice in what users compile: variables that nothing has set, and sizes that overflow. Both ended
the process, or read and wrote foreign memory.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from programs import Done, python
from wattline.kernel.compiled import JIT

pytestmark = pytest.mark.skipif(not JIT, reason="about compiled code")

HEAD = """\
import json, operator, sys, numba, numpy as np
from numba import types
from numba.experimental import jitclass
from numba.typed import Dict, List
from numpy.lib.stride_tricks import sliding_window_view
import wattline as wl
from wattline.kernel.indices import checking_indices

@jitclass([("items", types.ListType(types.float64)), ("n", types.int64)])
class Bag:
    def __init__(self, full):
        self.n = 1
        if full:
            self.items = List.empty_list(types.float64)

    def size(self):
        return len(self.items)

def said(source):
    names = dict(globals())
    with checking_indices():
        try:
            exec("def f(x, no):\\n" + source, names)
            return repr(numba.njit(names["f"])(np.arange(8.0), False))
        except Exception as problem:
            return f"{type(problem).__name__}: {problem}"

print(json.dumps([said(one) for one in json.load(open("cases.json"))]))
"""


def outcomes(folder: Path, cases: list[str]) -> list[str]:
    """Return what functions of ``x = arange(8.0)`` and ``no = False`` return or raise, compiled as users' code is."""
    indented = ["".join(f"    {line}\n" for line in case.splitlines()) for case in cases]
    (folder / "cases.json").write_text(json.dumps(indented))
    done = python(HEAD, folder)
    assert done.code == 0, (done.code, done.err)
    found: list[str] = json.loads(done.out)
    return found


# ------------------------------------------------------------------ variables that nothing has set

UNSET = [
    "if no:\n    a = [1.0]\nreturn a[0]",
    "if no:\n    a = [1.0]\na.append(2.0)\nreturn 0",
    "if no:\n    a = [1.0]\nelif x[0] > 1.0:\n    a = [2.0]\nreturn a[0]",
    "if no:\n    a = {1: 2.0}\nreturn a[1]",
    "if no:\n    a = {1.0}\nreturn len(a)",
    "if no:\n    a = List([1.0])\nreturn a[0]",
    "if no:\n    a = (1, [2.0])\nreturn a[1][0]",
    "if no:\n    a = [1.0].append\na(2.0)\nreturn 0",
    "if no:\n    a = str(int(x[0]))\nreturn len(a + 'a')",
    "if no:\n    a = Bag(True)\nreturn a.n",
    "for i in range(int(x[0])):\n    a = [i]\nreturn a[0]",
    "while True:\n    if x[1] > 0:\n        break\n    a = [1.0]\nreturn a[0]",
    "for i in range(3):\n    if no:\n        a = [1.0]\n    x[i] = a[0]\nreturn 0",
    "if no:\n    a = [1.0]\nb = a\nreturn b[0]",
    "try:\n    if no:\n        a = [1.0]\n    x[0] = a[0]\nexcept Exception:\n    pass\nreturn 0",
]
SET = {
    "if no:\n    a = [1.0]\nelse:\n    a = [2.0]\nreturn a[0]": "2.0",
    "n = 0\nfor i in range(3):\n    a = [i]\n    a.append(7)\n    n += a[1]\nreturn n": "21",
    "a = [v for v in x if v > 5.0]\nn = 0.0\nfor v in a:\n    b = [v, v]\n    n += b[1]\nreturn n": "13.0",
    "if no:\n    a = 7\nelse:\n    b = 8\nreturn b": "8",
    "if no:\n    a = [1.0]\nif no:\n    b = [2.0]\nreturn 3": "3",
    "a = [0]\nfor i in range(3):\n    if i > 0:\n        a = [i]\nreturn a[0]": "2",
    "for i in range(3):\n    b = {1: i}\n    if i == 1:\n        continue\n    a = b[1]\nreturn a": "2",
    "return Bag(True).size() + Bag(False).n": "1",
}


def test_what_may_be_unset_where_it_is_read_is_not_compiled(tmp_path: Path) -> None:
    """A list, a dict, a set, a text or an object that is set on some ways only is named, with its line."""
    for case, found in zip(UNSET, outcomes(tmp_path, UNSET), strict=True):
        assert "is set on some ways only, and numba does not notice where it is not" in found, (case, found)


def test_what_is_set_on_every_way_is_compiled(tmp_path: Path) -> None:
    """What is not read afterwards need not be set."""
    assert dict(zip(SET, outcomes(tmp_path, list(SET)), strict=True)) == SET


def test_a_field_of_a_jitclass_that_nothing_has_set_is_an_error(tmp_path: Path) -> None:
    """It is raised where the field is read, by the class itself or by others."""
    found = outcomes(tmp_path, ["return Bag(False).size()", "return len(Bag(False).items)"])
    assert found == ["AttributeError: nothing has set .items"] * 2


POLICY = """\
import numba, wattline as wl

@numba.njit
def first(x):
    if x[0] > 1e300:
        mine = [1.0]
    return mine[0]

@wl.policy("select", compiled={compiled}, memory=1)
def forgetful(s, arg, param, memory):
{body}
    return 0

trace = wl.draw_trace("lublin", nodes=4, jobs=3, load=0.5, seed=1)
wl.simulate(trace, wl.Machine(nodes=4), select=forgetful, progress=False)
"""
OWN = "    if s.now[0] > 1e9:\n        mine = [1.0]\n    memory[0] = mine[0]"


@pytest.mark.parametrize(
    ("compiled", "body", "line"),
    [(True, OWN, 13), (True, "    memory[0] = first(memory)", 7), (False, "    memory[0] = first(memory)", 11)],
)
def test_a_policy_with_an_unset_list_is_refused(tmp_path: Path, *, compiled: bool, body: str, line: int) -> None:
    """Its own, or that of a function which it calls; a policy in plain Python is told of when it calls that."""
    (tmp_path / "forgetful.py").write_text(POLICY.format(compiled=compiled, body=body))
    done: Done = python("import runpy\nrunpy.run_path('forgetful.py')\n", tmp_path)
    last = done.err.splitlines()[-1]
    assert (done.code, f"forgetful.py:{line} " in last, "mine is set on some ways only" in last) == (1, True, True), (
        last
    )


# ------------------------------------------------------------------ sizes that overflow

ONE = "a = np.broadcast_to(np.ones(1), {})\n"
TOO_LARGE = [
    "return x.reshape(8, 2**61 + 1)[0, 10**8]",
    "return np.reshape(x, (8, 2**61 + 1))[0, 10**8]",
    "return np.zeros(0).reshape(2**32, 2**32)[0, 10**8]",
    ONE.format("(2**32, 2**32)") + "return np.nonzero(a)[0].size",
    ONE.format("(2**32, 2**31)") + "return a.sum(axis=0).size",
    ONE.format("2**62") + "return np.concatenate((a, a, a, a)).size",
    ONE.format("2**62") + "return np.hstack((a, a, a, a)).size",
    ONE.format("2**46") + "return np.nonzero(sliding_window_view(a, 2**45))[0].size",
    "return len([1.0, 2.0] * (2**63 - 1))",
    "a = [1.0, 2.0]\na *= 2**63 - 1\nreturn len(a)",
    "return len(operator.mul([1.0, 2.0], 2**63 - 1))",
    "return len('abcd' * (2**62 + int(x[0])))",
    "return len((2**62 + int(x[0])) * 'abcd')",
]
RIGHT = {
    "return x.reshape(2, 4)[1, 3]": "7.0",
    "return x.reshape(-1, 2)[3, 0]": "6.0",
    "return x.reshape((4, 2)).T.shape": "(2, 4)",
    "return np.zeros((0, 2**40)).size": "0",
    "return np.broadcast_to(x, (2**20, 8))[2**19, 3]": "3.0",
    "return sliding_window_view(x, 3).sum()": "63.0",
    "return (x.reshape(8, 1) + np.ones(2**10)).size": "8192",
    "return len([1.0, 2.0] * 3 + 2 * [1.0] + [1.0] * -2)": "8",
    "a = [1.0]\na *= 4\nreturn len(a)": "4",
    "return 'ab' * 2 + 3 * 'c' + 'd' * -5": "'ababccc'",
}


def test_sizes_that_overflow_are_errors(tmp_path: Path) -> None:
    """An array that few elements stand for, or what is repeated, may not be larger than any memory."""
    for case, found in zip(TOO_LARGE, outcomes(tmp_path, TOO_LARGE), strict=True):
        assert found.startswith(("ValueError: array is too big", "MemoryError: what is repeated")), (case, found)


def test_other_sizes_are_right(tmp_path: Path) -> None:
    """The checks change nothing else."""
    assert dict(zip(RIGHT, outcomes(tmp_path, list(RIGHT)), strict=True)) == RIGHT
