"""Standard output and standard error belong to the command, whatever a policy of a user does to them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from programs import Running

HEAD = "import io, sys\nimport wattline as wl\n{before}\n\n@wl.policy('select')\ndef mine(s, arg, param, memory):\n"
STARTS = "    return wl.propose(s, 0, s.queue[0])\n"


def replayed(folder: Path, before: str, inside: str, *flags: str) -> tuple[int, str, str]:
    """Replay two jobs under a policy; return exit code, output and errors."""
    (folder / "log.csv").write_text("submit_s,runtime_s,nodes\n0,60,1\n1,60,2\n")
    (folder / "mine.py").write_text(HEAD.format(before=before) + inside + STARTS)
    started = Running(("replay", "log.csv", "--nodes", "4", "--select", "mine.py", *flags), folder)
    out, err = started.communicate(timeout=300)
    return started.returncode, out, err


@pytest.mark.parametrize(("stream", "told"), [("stdout", "output"), ("stderr", "error")])
def test_a_stream_that_a_policy_closes_is_told(tmp_path: Path, stream: str, told: str) -> None:
    """In one line, on the stream that was closed if need be. It ended with a traceback."""
    code, _, said = replayed(tmp_path, "", f"    sys.{stream}.close()\n")
    assert code == 2
    told = f"policy 'mine' closed standard {told}, which belongs to the command"
    assert said.splitlines()[-1].endswith(told), said
    code, _, said = replayed(tmp_path, f"sys.{stream}.close()", "")
    assert code == 2
    assert "mine.py" in said.splitlines()[-1]
    assert said.splitlines()[-1].endswith("which belongs to the command"), said


def test_results_go_where_they_went(tmp_path: Path) -> None:
    """Also where a file keeps what it prints for itself."""
    code, out, said = replayed(tmp_path, "sys.stdout = io.StringIO()", "    sys.stderr = sys.stdout = None\n", "--json")
    assert code == 0, said
    assert json.loads(out)["summary"]["jobs"]["total"] == 2
    code, out, _ = replayed(tmp_path, "sys.stdout = io.StringIO()", "    sys.stdout = io.StringIO()\n")
    assert code == 0
    assert "wait" in out
