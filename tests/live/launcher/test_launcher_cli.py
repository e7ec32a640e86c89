"""The launcher's file and its commands for people."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from served import PATIENCE_S, becomes, seen, served, until

from wattline.cli import call
from wattline.errors import InputError
from wattline.live.bus.names import nodes_of
from wattline.live.machine.base import ManagerError
from wattline.live.machine.launcher.client import LauncherClient
from wattline.live.machine.launcher.config import read_launcher

ROOT = Path(__file__).parents[3]


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    """Run a command in this process and return what it said."""
    with warnings.catch_warnings():
        assert call([str(word) for word in words]) == code, capsys.readouterr().err
    found = capsys.readouterr()
    return found.err if code else found.out


def test_jobs_are_submitted_shown_and_cancelled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The words and letters are those that users of Slurm know."""
    with served(tmp_path / "run") as client:
        where = ("--launcher", str(tmp_path / "run"))
        labels = ("--kind", "solver", "--power", "300 W", "--user", "ada", "--walltime", "0:10:00", "--env", "A=b=c")
        assert said(capsys, "submit", *where, "-N", "2", *labels, "--", "sleep", "1000") == "Submitted job 1\n"
        assert said(capsys, "submit", *where, "--begin", "now+1h", "--quiet", "--", "true") == ""
        assert said(capsys, "submit", *where, "--after", "1", "--json", "--", "sh", "-c", "exit 3") == '{"id": "3"}\n'
        first = seen(client, "1")
        assert (first.nodes, first.kind, first.draw_w, first.user, first.request_s) == (
            2,
            "solver",
            300.0,
            "ada",
            600.0,
        )
        client.release("1", ["n1", "n2"])
        becomes(client, "1", "running")
        lines = said(capsys, "jobs", *where).splitlines()
        assert lines[0].split() == ["JOBID", "KIND", "USER", "ST", "TIME", "NODES", "NODELIST(REASON)"]
        assert re.fullmatch(r" +1 solver ada +R +0:0\d +2 n1,n2", lines[1])
        assert [line.split()[-1] for line in lines[2:]] == ["(BeginTime)", "(Dependency)"]
        client.stop("1")
        assert " ST " in said(capsys, "jobs", *where)
        assert said(capsys, "cancel", *where, "1", "2") == ""
        becomes(client, "1", "ended")
        client.release("3", ["n1"])
        becomes(client, "3", "ended")
        ends = [line.split()[-4:] for line in said(capsys, "jobs", *where, "--all").splitlines()[1:]]
        assert [[words[i] for i in (0, -1)] for words in ends][1] == ["CA", "(Cancelled)"]
        assert "(exit code 3)" in said(capsys, "jobs", *where)
        assert '"phase": "ended"' in said(capsys, "jobs", *where, "--json")


def test_mistakes_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is wrong with a flag or a job is said in one line, with exit code 2."""
    gone = said(capsys, "jobs", "--launcher", str(tmp_path / "nowhere"), code=2)
    assert gone.endswith("no launcher is there; start one with: wattline launcher FILE\n")
    with served(tmp_path / "run"):
        where = ("--launcher", str(tmp_path / "run"))
        for words, expected in (
            (("submit", *where, "-N", "9", "--", "true"), "asks for 9 nodes, there are 4"),
            (("submit", *where, "--walltime", "soon", "--", "true"), "--walltime soon: expected a duration"),
            (("submit", *where, "--power", "0 W", "--", "true"), "--power 0 W: must be above 0"),
            (("submit", *where, "--env", "x", "--", "true"), "--env x: expected NAME=VALUE"),
            (("submit", *where, "--after", "9", "--", "true"), "after 9: no job has this number"),
            (("cancel", *where, "9"), "9: job 9 does not exist"),
        ):
            line = said(capsys, *words, code=2)
            assert line.startswith(f"wattline: {expected}")
            assert line.count("\n") == 1


def test_the_example_can_be_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The shipped file is right, and --check shows what it says without starting anything."""
    shown = said(capsys, "launcher", str(ROOT / "examples/live/launcher.toml"), "--check")
    assert "nodes          32: n[001-032] (started here)" in shown
    assert not (ROOT / "examples/live/launcher-run").exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "run_dir: is missing"),
        ("run_dir = 'x'\nnodes = []", "nodes: List should have at least 1 item"),
        ("run_dir = 'x'\ngarce = '1 s'\n[[nodes]]\nnames = 'a'", "garce: unknown key; did you mean 'grace'?"),
        ("run_dir = 'x'\n[[nodes]]\nname = 'a'", "[nodes.1] name: unknown key; did you mean 'names'?"),
        ("run_dir = 'x'\n[[nodes]]\nexec = 'a'", "[nodes.1] names: is missing"),
        ("run_dir = 'x'\n[[nodes]]\nnames = 'a,a'", "nodes: 'a' is named twice"),
        (
            "run_dir = 'x'\n[[nodes]]\nnames = 'n[3-1]'",
            "[nodes.1] names: nodes 'n[3-1]': expected numbers like [001-032,040] (got '3-1')",
        ),
        ("run_dir = 'x'\n[[nodes]]\nnames = 'a b'", "[nodes.1] names: node: expected 1 to 63 of the letters"),
        ("run_dir = 'x'\n[[nodes]]\nnames = 'a'\nexec = 'ssh \"'", "[nodes.1] exec: No closing quotation"),
        (
            "run_dir = 'x'\ngrace = '-1 s'\n[[nodes]]\nnames = 'a'",
            "grace: must be a number of at least 0, got '-1 s'",
        ),
        (
            "run_dir = 'x'\n[clock]\nspeed = 0\n[[nodes]]\nnames = 'a'",
            "[clock] speed: must be greater than 0, got 0",
        ),
        ("run_dir = ", "not valid TOML: Invalid value"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(tmp_path: Path, text: str, expected: str) -> None:
    """The file, the key and what was expected are said."""
    path = tmp_path / "launcher.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_launcher(path)
    assert str(caught.value).startswith(f"{path}: {expected}")
    assert "\n" not in str(caught.value)


def test_names_of_nodes_keep_their_zeros() -> None:
    """A range has as many digits as its first number."""
    assert nodes_of("n[08-10,12],login") == ["n08", "n09", "n10", "n12", "login"]


def test_the_page_works(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The file and the commands of the page on the launcher, with a launcher that is started as the page says."""
    page = (ROOT / "docs/live/launcher.md").read_text()
    blocks = re.findall(r"```(\w+)\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "launcher.toml").write_text(next(body for language, body in blocks if language == "toml"))
    lines = [line for language, body in blocks if language in ("sh", "console") for line in body.splitlines()]
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("wattline ")]
    assert [words[0] for words in commands] == ["launcher", "launcher", "submit", "jobs", "cancel"]
    assert "nodes          4" in said(capsys, *commands[0])
    serving = subprocess.Popen([sys.executable, "-m", "wattline", *commands[1]], stderr=subprocess.DEVNULL)
    try:
        client = LauncherClient(tmp_path / "launcher-run")
        until(lambda: _answers(client))
        for words in commands[2:]:
            said(capsys, *words)
        program = next(body for language, body in blocks if language == "python")
        exec(program, {})  # noqa: S102
        assert "phase='" in capsys.readouterr().out
        becomes(client, "2", "running")
        assert said(capsys, "launcher", "launcher.toml", "--stop", "--jobs", "cancel") == ""
        assert serving.wait(PATIENCE_S) == 0
        client.close()
    finally:
        serving.kill()
        serving.wait()


def _answers(client: LauncherClient) -> bool:
    try:
        client.counts()
    except ManagerError:
        return False
    return True
