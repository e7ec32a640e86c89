"""What a policy remembers outside its memory is found, whatever way it does it; what remembers nothing is let pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from wattline.control.catalog import load
from wattline.control.users.hidden import hidden_state, why_not_resumable

HEAD = "import math, random\nimport numpy as np\nfrom wattline import policy\n"
TAIL = "@policy('order', wake='arrival'{more})\ndef mine(s, arg, param, memory{default}):\n    {body}\n    return 0\n"
HIDING = {
    "list": ("seen = []", "seen.append(1)", "", "uses 'seen', a list"),
    "dict": ("seen = {}", "seen[arg] = 1", "", "uses 'seen', a dict"),
    "array": ("seen = np.zeros(3)", "seen[0] += 1", "", "uses 'seen', a ndarray"),
    "global": ("count = 0", "global count; count += 1", "", "changes the global 'count'"),
    "default": ("", "seen.append(1)", ", seen=[]", "uses 'a default', a list"),
    "module's generator": ("", "random.random()", "", "draws random numbers of its own"),
    "numpy's generator": ("", "np.random.random()", "", "draws random numbers of its own"),
    "own generator": ("rng = np.random.default_rng(1)", "rng.normal()", "", "uses 'rng', a Generator"),
    "iterator": ("import itertools\nticks = itertools.count()", "next(ticks)", "", "uses 'ticks', a count"),
    "object": ("class Box:\n    n = 0\nbox = Box()", "box.n += 1", "", "uses 'box', a Box"),
    "class": ("class Box:\n    seen = []", "Box.seen.append(1)", "", "uses 'Box.seen', a list"),
    "helper": ("seen = set()\ndef note(x):\n    seen.add(x)", "note(arg)", "", "uses 'seen', a set"),
    "closure": (
        "def make():\n    seen = []\n    return lambda x: seen.append(x)\nnote = make()",
        "note(arg)",
        "",
        "uses 'seen', a list",
    ),
    "function's attribute": ("def note(x):\n    note.n = x\nnote.n = 0", "note(arg)", "", "keeps 'n' at a function"),
    "inner function": ("seen = []", "[seen.append(i) for i in range(3)]", "", "uses 'seen', a list"),
}
OPEN = {
    "constants": ("LOW, NAMES = 3.5, ('a', 'b')", "memory[0] = LOW + len(NAMES)"),
    "modules and functions": ("def half(x):\n    return math.sqrt(x) / 2", "memory[0] = half(4.0) + np.sum(s.nodes)"),
    "fixed array": ("TABLE = np.arange(4.0)\nTABLE.flags.writeable = False", "memory[0] = TABLE[1]"),
    "own class": (
        (
            "class Pair:\n    def __init__(self, a):\n        self.a = a\n    @property\n    def two(self):\n        "
            "return 2 * self.a"
        ),
        "memory[0] = Pair(3).two",
    ),
    "recursion": ("def down(n):\n    return 0 if n == 0 else down(n - 1)", "memory[0] = down(3)"),
}


def found(tmp_path: Path, head: str, body: str, default: str = "", more: str = "") -> str:
    """Return what is said of a policy."""
    file = tmp_path / "mine.py"
    file.write_text(HEAD + head + "\n\n" + TAIL.format(body=body, default=default, more=more))
    return hidden_state(load(file)[0])


@pytest.mark.parametrize("way", HIDING)
def test_what_is_hidden_is_found(way: str, tmp_path: Path) -> None:
    """Every way to remember outside the memory is named."""
    head, body, default, told = HIDING[way]
    assert found(tmp_path, head, body, default) == told


@pytest.mark.parametrize("way", OPEN)
def test_what_remembers_nothing_passes(way: str, tmp_path: Path) -> None:
    """Constants, modules, helpers and classes without state are no reason to refuse."""
    assert found(tmp_path, *OPEN[way], more=", memory=1") == ""


def test_compiled_policies_hide_random_numbers_only(tmp_path: Path) -> None:
    """Compiled code takes what is outside for constants, but numba's generator has a state."""
    assert found(tmp_path, "TABLE = np.arange(3.0)", "memory[0] = TABLE[0]", more=", memory=1, compiled=True") == ""
    assert found(tmp_path, "", "np.random.random()", more=", compiled=True") == "draws random numbers of its own"


def test_the_line_names_the_policy(tmp_path: Path) -> None:
    """The reason names file, line and policy, and says what to do; built-in policies hide nothing."""
    from wattline.control.catalog import catalog

    assert why_not_resumable(tuple(m for slot in catalog().values() for m in slot.values())) == ""
    file = tmp_path / "mine.py"
    file.write_text(HEAD + "seen = []\n\n" + TAIL.format(body="seen.append(1)", default="", more=""))
    told = why_not_resumable(tuple(load(file)))
    assert (
        told == f"{file}:6: policy 'mine' uses 'seen', a list, which is not kept: keep all that it remembers in memory"
    )
