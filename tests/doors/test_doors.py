"""Compiled policies cannot write what is read-only for them, whichever function they call by whichever name."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numba
import numpy as np
import pytest
from numba.core import compiler

from doors.probe import attempt, calls, functions
from wattline.control.catalog import find
from wattline.control.users import readers
from wattline.control.users.compile import compile_user
from wattline.control.users.doors import Judged, RefusedError
from wattline.errors import PolicyError
from wattline.kernel.compiled import JIT

pytestmark = [
    pytest.mark.skipif(not JIT, reason="about compiled policies"),
    pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaWarning"),
]


PASS_OVER = [
    "np.ascontiguousarray(f)",
    "np.ascontiguousarray(m)",
    "np.asfortranarray(i)",
    "np.asfortranarray(t)",
    "np.fill_diagonal(m, 7.0)",
    "np.nan_to_num(f, False)",
    "f.flat",
    "m.flat",
    "f.ctypes",
    "np.nditer(f)",
]
"""Calls by which numba lets read-only memory be written, or handed on for writing."""


@pytest.mark.parametrize("text", PASS_OVER)
def test_what_passes_over_marks_is_refused(text: str) -> None:
    """Functions that would write what is read-only, or return it as writable, are refused."""
    assert attempt(text).outcome == "refused"


def test_the_probe_would_notice() -> None:
    """Without the judgement the same calls change read-only arrays: the probe can tell."""
    assert attempt("np.ascontiguousarray(f)", judged=False).outcome == "CHANGED f"
    assert attempt("np.fill_diagonal(m, 7.0)", judged=False).outcome == "CHANGED m"


def test_calls_of_what_numba_knows() -> None:
    """Calls drawn from all that numba knows are refused or leave read-only arrays as they were; ``scripts/soak doors``
    tries them all.
    """
    assert len(functions()) > 300
    tried = [attempt(text) for text in calls(Random(20), 1)[:10]]
    assert [call for call in tried if call.outcome.startswith("CHANGED")] == []
    assert sum(call.outcome == "harmless" for call in tried) > 2


def test_nothing_is_allowed_that_numba_does_not_know() -> None:
    """The table names functions that numba has: what a later numpy or numba lacks is noticed."""
    known = {eval(text, {"np": np}) for text in functions() if text.startswith("np.")}  # noqa: S307  (names of numpy's)
    named = {function for function in readers.FRESH | readers.VIEWS | set(readers.OUT) if function is not getattr}
    assert {readers.name_of(function) for function in named - known} == set()


HEAD = """import numba
import numpy as np
from collections import namedtuple
from numba import njit
from wattline import policy
from wattline.policies.helpers import headroom_w

tidy = np.ascontiguousarray
Both = namedtuple("Both", "theirs own")
TABLE = np.array([3, 4, 5])


@njit
def tidied(a):
    return tidy(a)


@njit
def twice(a):
    return tidied(a)


@njit
def least(a):
    return np.sort(a)[0]


@njit
def each(a):
    for x in a:
        yield x


@njit
def apply(f, a):
    return f(a)


@njit(inline="always")
def put_in(a):
    return np.asfortranarray(a)


@numba.guvectorize("(n)->(n)")
def copies(a, b):
    for i in range(a.shape[0]):
        b[i] = 9


tidied(np.zeros(3, dtype=np.int64))


@policy("select", compiled=True, memory=6)
def mine(s, arg, param, memory):
"""


def compiled(folder: Path, body: str) -> None:
    """Compile a policy with this body."""
    file = folder / "mine.py"
    file.write_text(HEAD + "".join(f"    {line}\n" for line in (*body.splitlines(), "return arg")))
    compile_user(find("select", str(file)))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "tidy(s.free)[0] = 9",
            (
                "np.ascontiguousarray may write s.free, which is read-only here; give it a copy: "
                "np.ascontiguousarray(s.free.copy())"
            ),
        ),
        ("tidy(s.free[:2])[0] = 9", "np.ascontiguousarray"),
        ("np.nan_to_num(s.idle_w, copy=False)", "np.nan_to_num"),
        ("np.fill_diagonal(s.node_j, 0.0)", "np.fill_diagonal may write s.node_j"),
        ("s.nodes.sort()", "give it a copy: s.nodes.copy().sort()"),
        ("twice(s.free)[0] = 9", "np.ascontiguousarray"),
        ("apply(tidied, s.free)[0] = 9", "np.ascontiguousarray"),
        ("put_in(s.free)[0] = 9", "np.asfortranarray"),
        ("f = lambda a: np.asfortranarray(a)\nf(s.free)[0] = 9", "np.asfortranarray"),
        ("copies(s.free, s.busy)", "copies"),
        ("tidy(TABLE)[0] = 9", "np.ascontiguousarray"),
        ("np.add(memory, 1.0, s.idle_w)", "No implementation"),
        ("a = s.free\na += 1", "only the engine writes"),
        ("a = s.free[:2]\na[0] = 9", "only the engine writes"),
        ("a = s.free if arg > 0 else s.p_job\na[0] = 9", "only the engine writes"),
        ("for row in s.node_j:\n    row[0] = 9.0", "only the engine writes"),
        ("p = Both(s.free, memory)\np.theirs[0] = 9", "only the engine writes"),
        ("[s.free][0][0] = 9", "only the engine writes"),
        ("memory.flat[99] = 9.0", "an array's .flat"),
        ("s.p_job.flat[99] = 9", "an array's .flat"),
        ("np.lib.stride_tricks.as_strided(memory, (99,), (8,))[98] = 9.0", "beyond an array"),
        ("a = np.zeros(5)\na += np.ones(3)", "write a[:] = a + b, which is checked"),
        ("a = np.zeros(5)\na[:] *= np.ones(3)", "write a[:] = a + b, which is checked"),
        ("a = np.zeros(5)\nnp.add(np.ones(3), np.ones(3), a)", "write a[:] = np.add(…), which is checked"),
        ("a = np.zeros(5)\nnp.sqrt(np.ones(3), a)", "write a[:] = np.sqrt(…), which is checked"),
        ("a = numba.typed.List([1])\nmemory[0] = a.getitem_unchecked(9)", "numba's typed list or dict is not for"),
        ("with numba.objmode():\n    s.free[0] = 9", "objmode"),
    ],
)
def test_no_way_around(tmp_path: Path, body: str, said: str) -> None:
    """Another name, a part, a function of the user's, a container: read-only memory stays so, and the refusal has the
    line and says what to do.
    """
    with pytest.raises(PolicyError) as caught:
        compiled(tmp_path, body)
    text = str(caught.value)
    assert said in text
    assert "\n" not in text
    assert text.startswith(f"{tmp_path}/mine.py:")
    assert "policy 'mine' cannot be compiled" in text


def test_reading_is_free(tmp_path: Path) -> None:
    """What only reads, makes arrays of its own or hands on what is marked is compiled."""
    compiled(
        tmp_path,
        """queue = s.queue[s.q_head[0] : s.q_tail[0]]
waiting = queue[queue >= 0]
turn = np.argsort(np.where(s.now[0] - s.eligible_s[waiting] > 5.0, 0, s.nodes[waiting]), kind="mergesort")
free = s.free.copy()
free[0] -= 1
free[:] = free + s.busy
free += 1
free.sort()
own = np.zeros(s.idle_w.shape[0])
own[:] = s.idle_w
own[:] = np.add(s.idle_w, s.max_w)
memory[0] = least(s.free) + s.node_j.T[0, 0] + s.free.reshape(-1)[0]
memory[0] += s.node_j.ravel()[0] + TABLE.sum() + headroom_w(s)
memory[1] = sum(s.free) + max(s.free) + len(s.free) + np.array([x for x in s.nodes])[0]
for x in each(s.free):
    memory[2] += x
for a, b in zip(s.free, s.busy):
    memory[3] += a + b
for i, x in enumerate(s.idle_w):
    memory[4] += x * i
for at, x in np.ndenumerate(s.node_j):
    memory[4] += x
p = Both(s.free, memory)
p.own[5] = p.theirs[0]
a = s.free if arg > 0 else s.free.copy()
memory[5] = a[0] + np.searchsorted(s.idle_w, 3.0) + s.free.max()
s.p_job[:1] = s.nodes[:1]
s.p_job.fill(0)""",
    )


def test_functions_of_the_user_stay_as_they_were() -> None:
    """A function that a policy calls is judged for that policy only: elsewhere numba compiles it as ever."""

    @numba.njit
    def loose(a: np.ndarray[tuple[int], np.dtype[np.float64]]) -> object:
        return np.ascontiguousarray(a)

    def calls_it(a: np.ndarray[tuple[int], np.dtype[np.float64]]) -> object:
        return loose(a)

    mine = np.zeros(3)
    mine.flags.writeable = False
    with pytest.raises(RefusedError, match="ascontiguousarray"):
        numba.njit(pipeline_class=Judged)(calls_it)(mine)
    assert loose._compiler.pipeline_class is compiler.Compiler
    assert loose(mine).shape == (3,)
    with pytest.raises(RefusedError, match="ascontiguousarray"):  # compiled meanwhile, and judged nevertheless
        numba.njit(pipeline_class=Judged)(calls_it)(mine)
