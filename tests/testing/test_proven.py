"""A compiled policy runs with checks of its indices until check-policy has passed for this very source."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from engine.worlds import cluster, run, table
from wattline.cli import call
from wattline.control.catalog import find, load
from wattline.control.users import proven
from wattline.control.users.compile import compile_user
from wattline.errors import PolicyError
from wattline.kernel.compiled import JIT
from wattline.model.mechanism import Mechanism
from wattline.testing import check_policy_file

pytestmark = pytest.mark.skipif(not JIT, reason="about compiled policies")
ORDER = (
    "from wattline import policy\n\nFACTOR = {factor}\n\n\n@policy('order', compiled=True, memory=1)\ndef {name}(s, "
    "arg, param, memory):\n"
    "    for i in range(s.q_new[0], s.q_tail[0]):\n        if s.queue[i] >= 0:\n            s.key[s.queue[i]] = "
    "FACTOR * s.nodes[s.queue[i]]\n"
    "    return 0\n\n"
)


@pytest.fixture
def marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder in which what has passed is remembered."""
    folder = tmp_path / "marks"
    folder.mkdir()
    monkeypatch.setattr(proven, "cache_dir", lambda: folder)
    return folder


def test_a_policy_that_passed_is_remembered_until_it_changes(tmp_path: Path, marks: Path) -> None:
    """All checks passed: this source runs without checks; another text or another constant is another policy."""
    file = tmp_path / "mine.py"
    file.write_text(ORDER.format(factor="2.0", name="mine"))
    mine = find("order", str(file))
    assert not proven.is_proven(mine)
    assert "bounds checks" in proven.on_probation([mine])[0]
    assert f"wattline check-policy {file}" in proven.on_probation([mine])[0]
    checked = compile_user(mine)
    assert check_policy_file(file).ok
    assert proven.is_proven(mine)
    assert proven.on_probation([mine]) == []
    assert compile_user(mine) is not checked
    file.write_text(ORDER.format(factor="3.0", name="mine"))
    assert not proven.is_proven(find("order", str(file)))


def test_a_policy_that_failed_is_not_remembered(tmp_path: Path, marks: Path) -> None:
    """Only after all checks have passed is anything written."""
    file = tmp_path / "mine.py"
    file.write_text(ORDER.format(factor="float('nan')", name="mine"))
    assert not check_policy_file(file).ok
    assert not proven.is_proven(find("order", str(file)))
    assert not (marks / "checked-policies").exists()


def test_constants_of_other_files_count(tmp_path: Path, marks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the compiled code takes for a constant is part of what has passed, wherever it comes from."""
    file = tmp_path / "mine.py"
    file.write_text("import os\n" + ORDER.format(factor="float(os.environ['MY_FACTOR'])", name="mine"))
    identities = []
    for factor in ("1", "2"):
        monkeypatch.setenv("MY_FACTOR", factor)
        identities.append(proven.identity(find("order", str(file))))
    assert identities[0] != identities[1]


VALUES = {
    "a default": ("def at(k={value}):\n    return k\n", "at()"),
    "an enum": ("def at():\n    return At.first\n", "at()"),
    "a tuple": ("def at():\n    return BOTH[1][0]\n", "at()"),
    "an array": ("def at():\n    return ARRAY[0]\n", "at()"),
    "a standard module": ("def at():\n    return math.MINE\n", "at()"),
}
NAMES = (
    "import enum, os\nimport numba\nimport numpy as np\nfrom wattline import policy\n"
    "VALUE = int(os.environ['MY_VALUE'])\n{only}\n\n\n@numba.njit\n{helper}\n\n"
    "@policy('order', compiled=True, memory=9)\ndef mine(s, arg, param, memory):\n"
    "    memory[{call}] = 1.0\n    return 0\n"
)
ONLY = {
    "an enum": "class At(enum.IntEnum):\n    first = VALUE\n",
    "a tuple": "BOTH = (0, (VALUE,))",
    "an array": "ARRAY = np.array([VALUE])",
    "a standard module": "import math\nmath.MINE = VALUE  # seen by this test alone\n",
}


@pytest.mark.parametrize("what", VALUES)
def test_values_that_are_frozen_into_the_code_count(
    tmp_path: Path, marks: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """The file is the same, but not the value: it is another policy, which is checked anew and told of its index."""
    helper, call_of = VALUES[what]
    file = tmp_path / "mine.py"
    file.write_text(NAMES.format(only=ONLY.get(what, ""), helper=helper.format(value="VALUE"), call=call_of))
    jobs = table({"submit": 0, "work": 1, "nodes": 1})
    monkeypatch.setenv("MY_VALUE", "1")
    before = find("order", str(file))
    run(jobs, cluster(1), order=before)
    proven.remember(before)
    assert proven.is_proven(before)
    monkeypatch.setenv("MY_VALUE", "100000000")
    after = find("order", str(file))
    assert not proven.is_proven(after)
    with pytest.raises(PolicyError, match="IndexError"):
        run(jobs, cluster(1), order=after)


def test_a_value_that_nobody_can_compare_keeps_the_checks(tmp_path: Path, marks: Path) -> None:
    """The line of every run does not advise what would not help."""
    file = tmp_path / "mine.py"
    file.write_text(
        "import numba\nfrom wattline import policy\n\n\n"
        "@numba.experimental.jitclass([('a', numba.int64)])\nclass Box:\n"
        "    def __init__(self):\n        self.a = 0\n\n\n@policy('order', compiled=True, memory=9)\n"
        "def mine(s, arg, param, memory):\n    memory[Box().a] = 1.0\n    return 0\n"
    )
    mine = find("order", str(file))
    proven.remember(mine)
    assert not proven.is_proven(mine)
    assert proven.on_probation([mine])[0].endswith(
        "it keeps them, for nobody can tell when Box, a JitClassType, changes"
    )


def test_one_policy_of_a_file(tmp_path: Path, marks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """check-policy takes file.py:name, as scenarios do, and says which names there are."""
    file = tmp_path / "two.py"
    file.write_text(
        ORDER.format(factor="1.0", name="first") + ORDER.format(factor="float('nan')", name="second").split("\n\n\n")[1]
    )
    file.write_text(file.read_text().replace("FACTOR * s.nodes", "s.nodes", 1))
    assert call(["check-policy", f"{file}:first"]) == 0
    assert [proven.is_proven(m) for m in load(file)] == [True, False]
    assert call(["check-policy", f"{file}:third"]) == 2
    assert "it has first, second" in " ".join(capsys.readouterr().out.split())


def test_a_legal_failure_names_the_world(tmp_path: Path) -> None:
    """Who is refused something learns in which world that was."""
    file = tmp_path / "mine.py"
    file.write_text(
        "from wattline import policy\n\n\n@policy('select')\ndef mine(s, arg, param, memory):\n"
        "    s.p_job[0], s.p_nodes[0], s.p_why[0] = s.queue[s.q_head[0]], 999, 4\n    return 1\n"
    )
    row = next(row for row in check_policy_file(file).rows if row.check == "legal")
    assert not row.passed
    assert "in the world 'busy'" in row.detail


def test_unchecked_code_still_cannot_write_what_is_not_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Passing the checks lifts those of indices, not the read-only marks."""
    file = tmp_path / "mine.py"
    file.write_text(
        "from wattline import policy\n\n\n@policy('select', compiled=True)\ndef mine(s, arg, param, memory):\n    "
        "s.free[0] = 9\n    return 0\n"
    )
    monkeypatch.setattr("wattline.control.users.compile.is_proven", lambda _: True)
    with pytest.raises(PolicyError, match="only the engine writes"):
        run(table({"submit": 0, "work": 1, "nodes": 1}), cluster(1), select=find("select", str(file)))


HELPED = (
    "import {module}\nfrom wattline import policy\n\n\n@policy('order', compiled=True, memory=1)\ndef helped(s, arg, "
    "param, memory):\n"
    "    {line}\n    return 0\n"
)


def helped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, text: str, line: str) -> Mechanism:
    """Return a policy that uses a module of the user's own."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, module, raising=False)
    importlib.invalidate_caches()
    (tmp_path / f"{module}.py").write_text(text)
    file = tmp_path / f"with_{module}.py"
    file.write_text(HELPED.format(module=module, line=line))
    return find("order", str(file))


def test_constants_of_a_users_module_are_part_of_the_policy(
    tmp_path: Path, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A constant that is reached through a module is frozen into the code: changed, it is another policy, checked
    anew.
    """
    before = helped(tmp_path, monkeypatch, "numbers_of_mine", "AT = 0\n", "memory[numbers_of_mine.AT] = 1.0")
    proven.remember(before)
    assert proven.is_proven(before)
    after = helped(tmp_path, monkeypatch, "numbers_of_mine", "AT = 1_000_000_000\n", "memory[numbers_of_mine.AT] = 1.0")
    assert not proven.is_proven(after)
    jobs = table({"submit": 0, "work": 1, "nodes": 1})
    with pytest.raises(PolicyError, match=r"out of bounds|no such element"):
        run(jobs, cluster(), order=after)
    again = helped(tmp_path, monkeypatch, "numbers_of_mine", "AT = 0\n", "memory[numbers_of_mine.AT] = 1.0")
    assert run(jobs, cluster(), order=again).state.started_s[0] == 0.0


BACK_DOORS = {
    "recursion": (
        "from numba import njit\n\n\n@njit\ndef f(n):\n    return f(n + 1) if n > 0 else 0\n",
        "memory[0] = back.f(1)",
        "calls itself",
    ),
    "flat": ("from numba import njit\n\n\n@njit\ndef f(a):\n    a.flat[0] = 99\n", "back.f(s.free)", "flat"),
}


@pytest.mark.parametrize("name", BACK_DOORS)
def test_functions_of_a_users_module_are_looked_through(
    tmp_path: Path, marks: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """What is refused in a policy is refused in functions that it reaches through a module."""
    text, line, told = BACK_DOORS[name]
    policy = helped(tmp_path, monkeypatch, "back", text, line)
    with pytest.raises(PolicyError, match=told):
        compile_user(policy)
