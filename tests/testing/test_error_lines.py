"""A mistake in a user's policy is told in one line: which file, which line, what is wrong, what to do."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from engine.worlds import check_structure, cluster, policies, run, table
from wattline.control.catalog import find, load
from wattline.errors import PolicyError
from wattline.kernel.compiled import JIT
from wattline.sim.simulate import Simulation

NEEDS_JIT = pytest.mark.skipif(not JIT, reason="about compiled policies")
HEAD = "from wattline import policy\n\n"
BODIES = {
    "wrong arity": (
        "@policy('select'{c})\ndef p(s, arg):\n    return 0\n",
        "{f}:3",
        "takes exactly (s, arg, param, memory)",
    ),
    "float returned": (
        "@policy('select'{c})\ndef p(s, arg, param, memory):\n    return 0.5\n",
        "{f}:3",
        "must return an int",
    ),
    "nothing returned": ("@policy('select'{c})\ndef p(s, arg, param, memory):\n    x = 1\n", "{f}:3", "return an int"),
    "typo": (
        "@policy('select'{c})\ndef p(s, arg, param, memory):\n    return s.qeue[0]\n",
        "{f}:5",
        "did you mean 'queue'?",
    ),
    "read-only field": (
        "@policy('select'{c})\ndef p(s, arg, param, memory):\n    s.user[0] = 3\n    return 0\n",
        "{f}:5",
        "only the engine writes",
    ),
    "exception": (
        (
            "@policy('select'{c})\ndef p(s, arg, param, memory):\n    if arg > 0:\n        raise "
            "ValueError('boom')\n    "
            "return 0\n"
        ),
        "{f}:6",
        "ValueError: boom",
    ),
    "division by zero": (
        "@policy('select'{c})\ndef p(s, arg, param, memory):\n    return 1 // (int(s.q_len[0]) - int(s.q_len[0]))\n",
        "{f}",
        "ZeroDivisionError",
    ),
    "unknown name": (
        "@policy('select'{c})\ndef p(s, arg, param, memory):\n    return nothing_here\n",
        "{f}",
        "nothing_here",
    ),
}


@pytest.mark.parametrize("tier", ["python", pytest.param("compiled", marks=NEEDS_JIT)])
@pytest.mark.parametrize("case", BODIES)
def test_mistakes_in_a_policy(tmp_path: Path, case: str, tier: str) -> None:
    """Both tiers name file and line of the user's code and say what is wrong, in one line."""
    body, place, meaning = BODIES[case]
    file = tmp_path / "mine.py"
    file.write_text(HEAD + body.replace("{c}", ", compiled=True" if tier == "compiled" else ""))
    with pytest.raises(PolicyError) as caught:
        run(table({"submit": 0, "work": 1, "nodes": 1}), cluster(1), select=find("select", str(file)))
    text = str(caught.value)
    assert text.startswith(place.replace("{f}", str(file)))
    assert meaning in text
    assert "\n" not in text
    assert len(text) < 400


FILES = {
    "no policy": ("x = 1\n", "no policy in it"),
    "syntax": ("def p(:\n", ":1: invalid syntax"),
    "unknown slot": (
        HEAD + "@policy('selekt')\ndef p(s, a, b, c):\n    return 0\n",
        ":3: unknown policy slot 'selekt'; did you mean 'select'?",
    ),
    "unknown event": (
        HEAD + "@policy('cap', wake='ends')\ndef p(s, a, b, c):\n    return 0\n",
        ":3: unknown event 'ends' in wake; did you mean 'end'?",
    ),
    "import": ("import a_module_that_is_not_there\n", ":1: importing it failed: ModuleNotFoundError"),
    "exit": ("import sys\nsys.exit(3)\n", ":2: importing it failed: SystemExit"),
}


@pytest.mark.parametrize("case", FILES)
def test_mistakes_in_a_file(tmp_path: Path, case: str) -> None:
    """A file that holds no usable policy is told apart by file and line."""
    text, meaning = FILES[case]
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(PolicyError) as caught:
        load(file)
    assert str(caught.value).startswith(str(file))
    assert meaning in str(caught.value)
    assert "\n" not in str(caught.value)


def test_names_and_paths(tmp_path: Path) -> None:
    """A misspelt name gets a suggestion; a file with two policies of a slot must say which."""
    with pytest.raises(PolicyError, match="unknown select policy 'esay'; did you mean 'easy'"):
        find("select", "esay")
    one = "@policy('order')\ndef {0}(s, arg, param, memory):\n    return 0\n\n"
    folder = tmp_path / "my.python"  # a folder may contain what looks like a suffix
    folder.mkdir()
    (folder / "two.py").write_text(HEAD + one.format("a") + one.format("b"))
    with pytest.raises(PolicyError, match=r"it has a, b; name one as .*two\.py:a"):
        find("order", "two.py", base=folder)
    assert find("order", "two.py:b", base=folder).name == "b"
    with pytest.raises(PolicyError, match="called 'c'"):
        find("order", "two.py:c", base=folder)
    with pytest.raises(PolicyError, match="it has none"):
        find("cap", str(folder / "two.py"))


def test_parameters(tmp_path: Path) -> None:
    """An unknown parameter gets a suggestion, one that is not a number is refused."""
    file = tmp_path / "mine.py"
    file.write_text(HEAD + "@policy('order', params={'depth': 3})\ndef p(s, arg, param, memory):\n    return 0\n")
    mechanism = find("order", str(file))
    assert mechanism.values({}) == [3.0]
    with pytest.raises(PolicyError, match="did you mean 'depth'"):
        mechanism.values({"dept": 1})
    with pytest.raises(PolicyError, match="must be a number"):
        mechanism.values({"depth": "much"})  # type: ignore[dict-item]


@pytest.mark.parametrize("exit_line", ["raise SystemExit(0)", "import sys; sys.exit('done')", "raise GeneratorExit"])
def test_a_policy_cannot_end_the_process(tmp_path: Path, exit_line: str) -> None:
    """A plain-Python policy that exits is told as any other mistake; the process does not end as if all were well."""
    file = tmp_path / "mine.py"
    file.write_text(HEAD + f"@policy('select')\ndef p(s, arg, param, memory):\n    {exit_line}\n")
    with pytest.raises(PolicyError, match=r"mine\.py:5 .*policy 'p': (SystemExit|GeneratorExit)"):
        run(table({"submit": 0, "work": 1, "nodes": 1}), cluster(1), select=find("select", str(file)))


def test_ctrl_c_in_a_python_policy_ends_the_run_early(tmp_path: Path) -> None:
    """Ctrl-C while a plain-Python policy runs keeps what was simulated, as it does elsewhere."""
    file = tmp_path / "mine.py"
    file.write_text(
        "import os, signal, time\n" + HEAD + "@policy('order', wake='arrival')\ndef p(s, arg, param, memory):\n"
        "    time.sleep(0.002)\n    if s.now[0] == 50:\n        os.kill(os.getpid(), signal.SIGINT)\n    return 0\n"
    )
    rows = [{"submit": t, "work": 1, "nodes": 1} for t in range(2000)]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs tests in the background may ignore it
    try:
        result = Simulation(table(*rows), cluster(1), policies(order=find("order", str(file)))).run()
    finally:
        signal.signal(signal.SIGINT, before)
    assert result.stopped == "interrupted"
    assert result.state.end_s[0] == 1.0
    assert 50.0 <= result.state.now[0] < 1999.0
    check_structure(result.state)
