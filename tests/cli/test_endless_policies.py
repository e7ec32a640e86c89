"""A policy that does not come back: run, compare and check-policy end and name it, and Ctrl-C is heard meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from programs import Running
from wattline.kernel.compiled import JIT

HEAD = "from wattline import policy\n\n\n@policy('select', compiled={compiled})\ndef stays(s, arg, param, memory):\n"
BODY = "    n = 0\n    while s.now[0] >= 0.0:\n        n += 1\n        memory[0] = n\n    return n\n"
SCENARIO = (
    'name = "endless"\n[trace]\ngenerator = "lublin"\njobs = 20\nload = 0.9\n[cluster]\nnodes = '
    "16\n[policy]\nselect = {select}\n"
)
TIERS = pytest.mark.parametrize(
    "compiled", [False, pytest.param(True, marks=pytest.mark.skipif(not JIT, reason="about compiled policies"))]
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with an endless policy in plain Python and compiled, and scenarios."""
    for compiled in (False, True):
        (tmp_path / f"stays_{compiled}.py").write_text(HEAD.format(compiled=compiled) + BODY)
        (tmp_path / f"run_{compiled}.toml").write_text(SCENARIO.format(select=f'"stays_{compiled}.py"'))
        (tmp_path / f"compare_{compiled}.toml").write_text(SCENARIO.format(select=f'["easy", "stays_{compiled}.py"]'))
    return tmp_path


def wattline(folder: Path, *words: str, limit_s: str = "0.5") -> Running:
    """Start the command line."""
    return Running(words, folder, WATTLINE_POLICY_TIME_LIMIT=limit_s)


@TIERS
@pytest.mark.parametrize("command", ["run", "compare"])
def test_a_run_is_ended(folder: Path, command: str, compiled: bool) -> None:
    """The run ends with the policy's file, line and name, and exit code 2."""
    started = wattline(folder, command, f"{command}_{compiled}.toml")
    _, said = started.communicate(timeout=300)
    assert started.returncode == 2, said
    assert f"stays_{compiled}.py:4: policy 'stays' did not come back within 0.5 s" in said.splitlines()[-1]


HELD = {
    "search": "    import re\n    re.match(r'(a+)+$', 'a' * 60 + 'b')\n    return 0\n",
    "sum": "    return sum(range(10**15))\n",
}
"""Bodies of plain policies that let nobody have Python's lock."""

NEEDS_JIT = pytest.mark.skipif(not JIT, reason="the guard is compiled")


@NEEDS_JIT
@pytest.mark.parametrize("body", HELD)
def test_a_policy_that_keeps_pythons_lock_is_ended(tmp_path: Path, body: str) -> None:
    """Nothing in Python could end it: the same line and exit code come from outside of Python."""
    (tmp_path / "stays.py").write_text(HEAD.format(compiled=False) + HELD[body])
    (tmp_path / "run.toml").write_text(SCENARIO.format(select='"stays.py"'))
    started = wattline(tmp_path, "run", "run.toml")
    _, said = started.communicate(timeout=300)
    assert started.returncode == 2, said
    assert "stays.py:4: policy 'stays' did not come back within 0.5 s" in said.splitlines()[-1]


def test_a_process_that_was_stopped_did_nothing_meanwhile(tmp_path: Path) -> None:
    """Time between Ctrl-Z and ``fg`` is none of a policy's: the call that was at work came to its end."""
    body = "    import os, time\n    if not os.path.exists('at-work'):\n        open('at-work', 'w').close()\n"
    text = HEAD.format(compiled=False) + body + "        time.sleep(2)\n    return 0\n"
    (tmp_path / "stays.py").write_text(text)
    (tmp_path / "run.toml").write_text(SCENARIO.format(select='"stays.py"'))
    started = wattline(tmp_path, "run", "run.toml", limit_s="3")
    until = time.monotonic() + 300
    while not (tmp_path / "at-work").exists() and time.monotonic() < until:
        time.sleep(0.01)
    started.send_signal(signal.SIGSTOP)
    time.sleep(6)
    started.send_signal(signal.SIGCONT)
    _, said = started.communicate(timeout=300)
    assert "policy 'stays' does not start job 1" in said.splitlines()[-1]


@NEEDS_JIT
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_heard_where_pythons_lock_is_kept(tmp_path: Path, number: signal.Signals) -> None:
    """The process ends with the signal's exit code, and says which policy was at work."""
    (tmp_path / "stays.py").write_text(
        HEAD.format(compiled=False) + "    open('at-work', 'w').close()\n" + HELD["search"]
    )
    (tmp_path / "run.toml").write_text(SCENARIO.format(select='"stays.py"'))
    started = wattline(tmp_path, "run", "run.toml", limit_s="600")
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline and not (tmp_path / "at-work").exists():
        time.sleep(0.05)
    started.send_signal(number)
    _, said = started.communicate(timeout=60)
    assert started.returncode == 128 + number, said
    assert "interrupted while" in said.splitlines()[-1]
    assert "policy 'stays' was at work" in said.splitlines()[-1]


@NEEDS_JIT
@pytest.mark.parametrize("words", [("run", "run.toml"), ("check-policy", "stays.py", "--time-limit", "0.5")])
def test_an_import_that_never_ends_is_ended(tmp_path: Path, words: tuple[str, ...]) -> None:
    """The file is named, though it never got as far as a policy."""
    (tmp_path / "stays.py").write_text("while True:\n    pass\n")
    (tmp_path / "run.toml").write_text(SCENARIO.format(select='"stays.py"'))
    started = wattline(tmp_path, *words)
    _, said = started.communicate(timeout=300)
    assert started.returncode == 2, said
    assert "stays.py: importing it did not come to an end within 0.5 s" in said.splitlines()[-1]


@TIERS
def test_what_a_policy_prints_is_no_result(tmp_path: Path, compiled: bool) -> None:
    """``--json`` prints the result and nothing else on standard output."""
    body = "    print(7)\n    return 0\n"
    head = HEAD.format(compiled=compiled).replace("'select'", "'learn'")
    (tmp_path / "says.py").write_text(head + body)
    (tmp_path / "run.toml").write_text(SCENARIO.format(select='"easy"') + 'learn = "says.py"\n')
    started = wattline(tmp_path, "run", "run.toml", "--json", "--no-report", limit_s="60")
    out, said = started.communicate(timeout=300)
    assert started.returncode == 0, said
    assert json.loads(out)["stopped"] == "done"
    assert "7\n7\n" in said


@TIERS
def test_check_policy_is_ended(folder: Path, compiled: bool) -> None:
    """check-policy names it in a row and ends."""
    started = wattline(folder, "check-policy", f"stays_{compiled}.py", "--time-limit", "0.5", limit_s="600")
    out, said = started.communicate(timeout=300)
    assert started.returncode == 2, said
    assert "did not come back" in " ".join(out.split())


@TIERS
def test_ctrl_c_is_heard(folder: Path, compiled: bool) -> None:
    """Ctrl-C ends the run at once, with the name of the policy that was at work, and exit code 130."""
    started = wattline(folder, "run", f"run_{compiled}.toml", limit_s="600")
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline and not _is_busy(started.pid):
        time.sleep(0.05)
    began = time.monotonic()
    started.send_signal(signal.SIGINT)
    _, said = started.communicate(timeout=60)
    assert started.returncode == 130, said
    assert time.monotonic() - began < 20
    assert "interrupted while" in said
    assert "policy 'stays' was at work" in said


def _is_busy(pid: int) -> bool:
    """Tell whether the policy is at work: a second thread has begun and takes its time."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        spent = [sum(map(int, (t / "stat").read_text().rsplit(")", 1)[1].split()[11:13])) for t in threads]
    except (OSError, ValueError):
        return False
    return len(spent) > 1 and max(spent[1:]) > 20


AT_EXIT = {
    "compiled": (
        "@numba.njit\ndef spin(n):\n    while n > 0:\n        n = n + 1 if n < 10**9 else 1\n    return n\n\n\n"
        "atexit.register(spin, 1)\n"
    ),
    "search": "atexit.register(re.match, r'(a+)+$', 'a' * 60 + 'b')\n",
    "python": "@atexit.register\ndef spin():\n    while True:\n        pass\n",
}
AT_EXIT_FILE = (
    "import atexit, re, numba\nfrom wattline import policy\n\n\n{body}\n\n@policy('order')\n"
    "def quick(s, arg, param, memory):\n    return 0\n"
)


HEARS = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
"""What is started in the background is deaf to Ctrl-C, and so is what it starts."""


def ends_late(folder: Path, body: str, limit_s: str, *flags: str) -> subprocess.Popen[str]:
    """Start a run of a policy whose file wants something done at the end, in a process that has an end of its own."""
    (folder / "late.py").write_text(AT_EXIT_FILE.format(body=body))
    scenario = SCENARIO.format(select='"easy"\norder = "late.py"')
    (folder / "run.toml").write_text(scenario)
    return subprocess.Popen(
        [sys.executable, "-c", HEARS + "from wattline.cli import main; main()", "run", "run.toml", *flags],
        cwd=folder,
        env={**os.environ, "WATTLINE_POLICY_TIME_LIMIT": limit_s},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@NEEDS_JIT
@pytest.mark.parametrize("body", AT_EXIT)
def test_an_endless_end_is_ended(tmp_path: Path, body: str) -> None:
    """What a policy's file registers for the end of Python takes no longer than a call of the policy may."""
    started = ends_late(tmp_path, AT_EXIT[body], "1")
    _, said = started.communicate(timeout=300)
    assert started.returncode == 2, said
    assert "when Python ends (atexit) did not come to an end within 1 s" in said.splitlines()[-1]


@NEEDS_JIT
@pytest.mark.parametrize("body", ["compiled", "search"])
def test_ctrl_c_is_heard_at_the_end(tmp_path: Path, body: str) -> None:
    """The run is done, and its report is there; the keyboard ends what goes on."""
    started = ends_late(tmp_path, "open('at-work', 'w').close()\n" + AT_EXIT[body], "600", "--json")
    until = time.monotonic() + 300
    while not list(tmp_path.glob("out/*/report.html")) and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(2)
    started.send_signal(signal.SIGINT)
    _, said = started.communicate(timeout=60)
    assert started.returncode == 130, said
    assert "interrupted during what a policy's file wants done when Python ends" in said.splitlines()[-1]


def test_what_is_printed_at_the_end_is_no_result(tmp_path: Path) -> None:
    """Standard output is the result alone."""
    started = ends_late(tmp_path, "atexit.register(print, 'bye')\n", "60", "--json")
    out, said = started.communicate(timeout=300)
    assert started.returncode == 0, said
    assert json.loads(out)["stopped"] == "done"
    assert "bye" in said
