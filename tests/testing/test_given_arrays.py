"""Results that are put into a given array fit into it, and what users compile runs in one thread, where errors are
heard: numba checks no lengths there, which ended the process, and drops errors of other threads.
"""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from programs import python
from wattline.kernel.compiled import JIT
from wattline.kernel.indices import checking_indices

pytestmark = pytest.mark.skipif(not JIT, reason="about compiled code")

LENGTHS = st.sampled_from([1, 1, 2, 3, 4])
_known: dict[Any, Any] = {}


def compiled(name: str, *kinds: int) -> Any:
    """Return an operation that puts its result into an array; compiled once for so many dimensions."""
    if (name, kinds) not in _known:
        with checking_indices():
            if name == "add":
                _known[name, kinds] = numba.njit(lambda a, b, out: np.add(a, b, out))  # noqa: PLW0108 - numba compiles functions only
            else:
                _known[name, kinds] = numba.njit(lambda a, b: operator.iadd(a, b))  # noqa: PLW0108
    return _known[name, kinds]


def same(function: Any, plain: Any, *arrays: np.ndarray) -> None:
    """Compare with numpy, which refuses what does not fit."""
    ours, theirs = [a.copy() for a in arrays], [a.copy() for a in arrays]
    try:
        expected = plain(*theirs)
    except ValueError:
        with checking_indices(), pytest.raises(ValueError, match="could not be broadcast together"):
            function(*ours)
        return
    with checking_indices():
        found = function(*ours)
    assert found.shape == expected.shape
    assert (found == expected).all()
    assert all((a == b).all() for a, b in zip(ours, theirs, strict=True))


@settings(max_examples=150, deadline=None)
@given(*[st.lists(LENGTHS, min_size=1, max_size=2)] * 3)
def test_given_arrays_are_as_long_as_numpy_wants_them(one: list[int], two: list[int], out: list[int]) -> None:
    """Of any shapes: the same result, or ValueError."""
    rng = np.random.default_rng(len(one) + 10 * len(two))
    a, b, c = (rng.random(shape) for shape in (one, two, out))
    if max(len(one), len(two)) <= len(out):  # else numba refuses it by its types
        same(compiled("add", len(one), len(two), len(out)), np.add, a, b, c)
    if len(two) <= len(out):
        same(compiled("iadd", len(out), len(two)), operator.iadd, c, b)


STRAY = {
    "iadd": "x = operator.iadd(np.zeros(10**8), np.ones(3))",
    "alias": "f = operator.isub\n    x = f(np.zeros(10**8), np.ones(3))",
    "outer": "x = np.outer(np.ones(3), np.ones(1), np.zeros((10**8, 1)))[:, 0]",
}
CHECKED = "could not be broadcast together with the array that is given"
SAID = {"iadd": "operator.iadd is not among what", "alias": "operator.isub is not among what", "outer": CHECKED}
"""What is said of them in a compiled policy."""


@pytest.mark.parametrize("stray", STRAY)
@pytest.mark.parametrize("own", [False, True], ids=["policy", "helper"])
def test_a_policy_reads_nothing_beyond_an_array(tmp_path: Path, stray: str, own: bool) -> None:
    """In a policy, and in what plain Python compiles itself."""
    body = f"    {STRAY[stray]}\n    return int(x[10**7] * 0)\n"
    far = f"@numba.njit\ndef far():\n{body}\n\n" if own else ""
    mine = f"@policy('select', compiled={not own})\ndef mine(s, arg, param, memory):\n"
    head = "import operator\nimport numba\nimport numpy as np\nfrom wattline import policy\n\n\n"
    (tmp_path / "mine.py").write_text(head + far + mine + ("    return far()\n" if own else body))
    assert (CHECKED if own else SAID[stray]) in _said(tmp_path)


@pytest.mark.parametrize("far", [1, 10**8])
@pytest.mark.parametrize("tier", ["", ", compiled=True"], ids=["plain", "compiled"])
def test_errors_in_parallel_loops_are_heard(tmp_path: Path, far: int, tier: str) -> None:
    """They were lost, or an internal error."""
    loop = "@numba.njit(parallel=True)\ndef fill(m, k):\n    for i in numba.prange(8):\n        m[i * k] = 1.0\n\n\n"
    mine = f"@policy('select'{tier})\ndef mine(s, arg, param, memory):\n    fill(memory, {far})\n    return 0\n"
    (tmp_path / "mine.py").write_text("import numba\nfrom wattline import policy\n\n\n" + loop + mine)
    assert "out of bounds" in _said(tmp_path)


def _said(folder: Path) -> str:
    run = (
        "import wattline as wl\nt = wl.from_frame({'submit_s': [0.0], 'work_s': [60.0], 'nodes': [1]})\n"
        "try:\n    wl.simulate(t, wl.Machine(nodes=4), select='mine.py')\n"
        "except wl.PolicyError as problem:\n    print(problem)\n"
    )
    done = python(run, folder)
    assert done.code == 0, done.err
    assert "policy 'mine'" in done.out
    return done.out
