"""What users compile themselves checks its indices: a stray one is an error with the policy's name, and no crash."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from programs import python
from wattline.kernel.compiled import JIT

pytestmark = pytest.mark.skipif(not JIT, reason="about compiled code")

HEAD = "import numba\nimport numpy as np\nfrom wattline import policy\n\n\n"
FAR = "def far(n):\n    table = np.zeros(8)\n    return table[n * 10**9]\n\n\n"
DECLARED = {
    "lazy": "@numba.njit\n",
    "eager": "@numba.njit('float64(int64)')\n",
    "parallel": "@numba.njit(parallel=True)\n",
}
MINE = "@policy('select'{compiled})\ndef mine(s, arg, param, memory):\n    far(3)\n    return 0\n"
RUN = (
    "import wattline as wl\nt = wl.from_frame({'submit_s': [0.0], 'work_s': [60.0], 'nodes': [1]})\n"
    "try:\n    wl.simulate(t, wl.Machine(nodes=4), select='mine.py')\n"
    "except wl.PolicyError as problem:\n    print(problem)\n"
)
TIERS = pytest.mark.parametrize("compiled", ["", ", compiled=True"], ids=["plain", "compiled"])


def said(folder: Path, text: str) -> str:
    """Run a policy in a process of its own, which a stray index may end; return the error."""
    (folder / "mine.py").write_text(text)
    done = python(RUN, folder)
    assert done.code == 0, done.err
    return done.out


@TIERS
@pytest.mark.parametrize("declared", DECLARED)
def test_a_stray_index_is_an_error(tmp_path: Path, compiled: str, declared: str) -> None:
    """Also in code that was compiled while the file was imported. It ended the process."""
    text = said(tmp_path, HEAD + DECLARED[declared] + FAR + MINE.format(compiled=compiled))
    assert "policy 'mine'" in text
    assert "index is out of bounds" in text


@TIERS
def test_numbas_own_cache_is_not_asked(tmp_path: Path, compiled: str) -> None:
    """It tells no code that checks its indices from code that does not."""
    kept = HEAD + "@numba.njit(cache=True)\ndef far(n):\n    return np.arange(8)[n * 10**9]\n\n\n"
    (tmp_path / "mine.py").write_text(kept)
    assert python("import sys; sys.path.insert(0, '.'); import mine; mine.far(0)", tmp_path).code == 0
    assert list((tmp_path / "__pycache__").glob("*.nbi"))
    (tmp_path / "far.py").write_text(kept)
    text = said(tmp_path, kept + MINE.format(compiled=compiled))
    assert "policy 'mine'" in text
    assert "index is out of bounds" in text


@TIERS
def test_what_was_compiled_before_is_compiled_anew(tmp_path: Path, compiled: str) -> None:
    """As in a notebook, where a function was tried before Wattline heard of it."""
    (tmp_path / "helpers.py").write_text("import numba\nimport numpy as np\n\n\n" + DECLARED["lazy"] + FAR)
    head = "from helpers import far\nfrom wattline import policy\n\n\n"
    (tmp_path / "mine.py").write_text(head + MINE.format(compiled=compiled))
    before = "import sys; sys.path.insert(0, '.'); import helpers; helpers.far(0)\n"
    done = python(before + RUN, tmp_path)
    assert done.code == 0, done.err
    assert "policy 'mine'" in done.out
    assert "index is out of bounds" in done.out


@pytest.mark.parametrize("kind", ["vectorize(['float64(int64)'])", "cfunc('float64(int64)')"])
def test_functions_whose_errors_go_unheard_are_refused(tmp_path: Path, kind: str) -> None:
    """Their errors are dropped where compiled code calls them: a policy would go on with any number."""
    text = said(tmp_path, HEAD + f"@numba.{kind}\n" + FAR + MINE.format(compiled=", compiled=True"))
    assert "errors in far would go unheard in compiled code; compile it with numba.njit" in text


def test_endless_recursion_of_compiled_code_is_refused_in_plain_policies_too(tmp_path: Path) -> None:
    """It would overflow the stack, which ends the process."""
    deep = "@numba.njit('int64(int64)')\ndef far(n):\n    if n < 0:\n        return 0\n    return far(n + 1) + 1\n\n\n"
    text = said(tmp_path, HEAD + deep + MINE.format(compiled=""))
    assert "policy 'mine': far, which numba compiled, calls itself and can overflow the stack" in text


def test_other_threads_compile_as_ever() -> None:
    """The engine that another thread loads meanwhile is the one without checks, which is kept on disk."""
    from wattline.kernel.indices import checking_indices, checks

    found: list[bool] = []
    with checking_indices():
        thread = threading.Thread(target=lambda: found.append(checks()))
        thread.start()
        thread.join()
        assert checks()
    assert found == [False]
    assert not checks()
