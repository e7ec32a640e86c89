"""The examples for those who have no checkout: copied out of the package."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from calling import Call

ROOT = Path(__file__).parents[2]


def test_examples_are_copied_and_run(folder: Path, wattline: Call) -> None:
    """All files come along, under the names that help and guides use; one of them runs where it was copied to."""
    answer = wattline("examples")
    assert answer.code == 0
    assert "examples/power-limit.toml  " in answer.out
    there = {
        str(p.relative_to(ROOT / "examples"))
        for p in (ROOT / "examples").rglob("*")
        if p.is_file() and p.suffix != ".pyc"
    }
    assert {str(p.relative_to(folder / "examples")) for p in (folder / "examples").rglob("*") if p.is_file()} == there
    assert json.loads(wattline("examples", "other", "--json").out)["files"] == sorted(there)
    assert wattline("run", "examples/power-limit.toml", "--set", "trace.jobs=50", "--quiet", "--no-report").code == 0


def test_changed_examples_are_not_overwritten(folder: Path, wattline: Call) -> None:
    """What a user has changed stays, unless they say --force; what is the same is no matter."""
    assert wattline("examples", "mine").code == wattline("examples", "mine").code == 0
    mine = folder / "mine" / "power-limit.toml"
    before = mine.read_text()
    mine.write_text("# mine\n")
    answer = wattline("examples", "mine")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "mine/power-limit.toml: differs from the example; --force overwrites it" in answer.err
    assert mine.read_text() == "# mine\n"
    assert wattline("examples", "mine", "--force").code == 0
    assert mine.read_text() == before


@pytest.mark.parametrize("command", ["examples", "units"])
def test_a_full_disk_is_said_of_the_file_that_is_written(
    folder: Path, wattline: Call, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """The copy is named, not the file that ships, and no half of one is left behind."""

    def full(source: Path, target: Path) -> None:
        Path(target).write_bytes(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(source), None, str(target))

    monkeypatch.setattr(shutil, "copyfile", full)
    answer = wattline(command, "new")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert answer.err.startswith("wattline: new/")
    assert answer.err.endswith(": cannot be written (No space left on device); give another folder\n")
    assert not [path for path in (folder / "new").rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    "command", [("run", "examples/power-limit.toml"), ("check-policy", "examples/widest_first.py")]
)
def test_an_example_that_is_not_there(wattline: Call, command: tuple[str, str]) -> None:
    """Who follows a guide without the files is told where they come from."""
    answer = wattline(*command)
    assert answer.code == 2
    assert "`wattline examples` copies those that ship with Wattline" in answer.err


def test_the_wheel_holds_the_examples(tmp_path: Path) -> None:
    """What is installed by pip has every example, byte for byte."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    assert told["wheel"]["force-include"] == {"examples": "wattline/examples"}
    assert "/examples" in told["sdist"]["include"]
    pytest.importorskip("hatchling", reason="needs the extra dev")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        for path in (p for p in (ROOT / "examples").rglob("*") if p.is_file() and p.suffix != ".pyc"):
            assert opened.read(f"wattline/examples/{path.relative_to(ROOT / 'examples')}") == path.read_bytes()
