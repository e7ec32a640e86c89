"""A policy that does not come back: run, compare and check-policy end and name it, and Ctrl-C is heard meanwhile."""

from __future__ import annotations

import signal
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
