"""A user's policy is compiled once, whatever numba calls the type of what it returns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numba.core import event

from wattline.control.catalog import find
from wattline.control.users.compile import compile_user
from wattline.errors import PolicyError
from wattline.kernel.compiled import JIT
from wattline.model.state.layout import allocate
from wattline.model.state.sizes import Sizes

pytestmark = pytest.mark.skipif(not JIT, reason="about compiled policies")
POLICY = (
    "from numba import njit\nfrom wattline import policy\n\n\n@njit\ndef is_late(arg):\n    return arg > 3\n\n\n"
    "@policy('order', compiled=True)\ndef mine(s, arg, param, memory):\n    {body}\n"
)
BODIES = {
    "return 0": (0, 0),
    "return 7": (7, 7),
    "return arg > 3": (0, 1),
    "return not is_late(arg)": (1, 0),
    "return 1 if is_late(arg) == True else arg": (1, 1),
    "return s.q_len[0] + arg": (1, 5),
}


@pytest.mark.parametrize("body", BODIES)
def test_a_policy_is_compiled_once(body: str, tmp_path: Path) -> None:
    """A constant, a comparison or a sum is returned as a whole number, and numba compiles the policy one time."""
    file = tmp_path / "mine.py"
    file.write_text(POLICY.format(body=body))
    mine = find("order", str(file))
    with event.install_recorder("numba:compile") as seen:
        code = compile_user(mine)
    compiled = [one for _, one in seen.buffer if one.is_start and one.data["dispatcher"].py_func is mine.function]
    assert len(compiled) == 1
    state, nothing = allocate(Sizes(J=1, N=1, P=1, C=1, L=1, E=0, K=0)), np.zeros(1)
    assert tuple(code(state, arg, nothing, nothing) for arg in (1, 5)) == BODIES[body]


@pytest.mark.parametrize("body", ["return 0.5", "pass", "return None if arg > 3 else 1"])
def test_what_is_no_whole_number_is_refused(body: str, tmp_path: Path) -> None:
    """A policy that returns a fraction, nothing, or nothing on some path is refused in one line that says so."""
    file = tmp_path / "mine.py"
    file.write_text(POLICY.format(body=body))
    with pytest.raises(PolicyError, match="must return an int"):
        compile_user(find("order", str(file)))
