"""A process killed while it put a journal in place leaves the old one or the new one, and nothing lies about for
long.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from wattline.journal.journal import SCHEMA, open_journal, tidy, write_journal
from wattline.journal.unfinished import NAME


@pytest.fixture(scope="module")
def gone() -> int:
    """The number of a process that is no more."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


def journal(folder: Path, name: str, **more: object) -> Path:
    """Write a journal without rows, with what a user and an unfinished run put beside it."""
    write_journal(folder, {table: {} for table in SCHEMA}, {"name": name, **more})
    return folder


def half_way(folder: Path, process: int, suffix: str = "") -> Path:
    """Return the name under which a process writes, or has moved aside, the journal ``j``."""
    return folder / f".j.writing-{platform.node()}-{process}{suffix}"


def extras(folder: Path) -> None:
    """Put a user's file and an unfinished run beside a journal."""
    (folder / "notes.txt").write_text("mine")
    (folder / NAME).mkdir()


def names(folder: Path) -> list[str]:
    """Return what lies in a folder."""
    return sorted(p.name for p in folder.iterdir())


def test_killed_between_the_two_renames(tmp_path: Path, gone: int) -> None:
    """The old folder is aside, the new one is whole: it takes its place, and what lay beside the old one moves
    along.
    """
    extras(journal(half_way(tmp_path, gone, ".old"), "old"))
    journal(half_way(tmp_path, gone), "new")
    tidy(tmp_path / "j")
    assert names(tmp_path) == ["j"]
    assert open_journal(tmp_path / "j").manifest["name"] == "new"
    assert (tmp_path / "j/notes.txt").read_text() == "mine"
    assert not (tmp_path / "j" / NAME).exists()


@pytest.mark.parametrize("resume", [None, {"run": "x", "flush": 3}])
def test_killed_before_all_has_moved_along(tmp_path: Path, gone: int, resume: object) -> None:
    """What an interrupted run needs to go on moves along, what a finished one leaves does not."""
    extras(journal(half_way(tmp_path, gone, ".old"), "old"))
    journal(tmp_path / "j", "new", resume=resume)
    tidy(tmp_path / "j")
    assert names(tmp_path) == ["j"]
    assert open_journal(tmp_path / "j").manifest["name"] == "new"
    assert (tmp_path / "j/notes.txt").exists()
    assert (tmp_path / "j" / NAME).exists() == (resume is not None)


def test_killed_while_the_tables_were_written(tmp_path: Path, gone: int) -> None:
    """Half a journal goes; the old one was never touched."""
    journal(tmp_path / "j", "old")
    half_way(tmp_path, gone).mkdir()
    (half_way(tmp_path, gone) / "jobs.parquet").write_bytes(b"PAR1")
    tidy(tmp_path / "j")
    assert names(tmp_path) == ["j"]
    assert open_journal(tmp_path / "j").manifest["name"] == "old"


def test_an_old_journal_alone_comes_back(tmp_path: Path, gone: int) -> None:
    """Where there is no new folder to take its place, the old one does, with all that was in it."""
    extras(journal(half_way(tmp_path, gone, ".old"), "old"))
    tidy(tmp_path / "j")
    assert names(tmp_path) == ["j"]
    assert (tmp_path / "j" / NAME).exists()


def test_those_at_work_are_left_alone(tmp_path: Path) -> None:
    """A process that runs, and one of another machine, keep what they write."""
    theirs = [half_way(tmp_path, os.getppid()), tmp_path / ".j.writing-elsewhere-1", tmp_path / ".j.writing-77"]
    for folder in theirs:
        folder.mkdir()
    journal(tmp_path / "j", "mine")
    tidy(tmp_path / "j")
    assert names(tmp_path) == sorted(["j", *(folder.name for folder in theirs)])


def test_writing_tidies_up(tmp_path: Path, gone: int) -> None:
    """The next journal that is written there takes care of what was left."""
    half_way(tmp_path, gone).mkdir()
    journal(tmp_path / "j", "next")
    assert names(tmp_path) == ["j"]
