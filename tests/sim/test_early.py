"""Processes that compile are started early where nothing was compiled yet, and end with the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from wattline.kernel.sources import fingerprint
from wattline.sim import early


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the processes that are started, none of which is, on a machine with two cores and an empty cache."""
    found: list[str] = []
    monkeypatch.setenv("WATTLINE_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    monkeypatch.setattr(early, "_waiting", [])
    monkeypatch.setattr(early, "workers", lambda: 2)
    monkeypatch.setattr(early.atexit, "register", lambda _end: None)
    monkeypatch.setattr(early, "start", lambda worker: found.append(worker) or object())
    return found


def test_a_first_run_starts_those_who_compile(started: list[str]) -> None:
    """A command that simulates, where nothing was compiled, starts one process a core, and who compiles later takes
    those.
    """
    early.begin(["replay", "log.swf"])
    assert started == [early.WORKER] * 2
    early.take(early.WORKER)
    early.take("another program")
    early.take(early.WORKER)
    assert started == [early.WORKER] * 2 + ["another program"]
    early.take(early.WORKER)
    assert started[3:] == [early.WORKER]


@pytest.mark.parametrize("arguments", [[], ["--help"], ["replay", "--help"], ["trace", "info", "log.swf"]])
def test_a_command_that_simulates_nothing_starts_nobody(started: list[str], arguments: list[str]) -> None:
    """Help and commands about files need no compiler."""
    early.begin(arguments)
    assert started == []


def test_a_second_run_starts_nobody(started: list[str], tmp_path: Path) -> None:
    """Where something was compiled from these sources, or nothing is to be compiled, nobody is started before it is
    known what for.
    """
    (tmp_path / fingerprint()).mkdir()
    early.begin(["replay", "log.swf"])
    assert started == []


def test_without_a_compiler_nobody_is_started(started: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """NUMBA_DISABLE_JIT=1 compiles nothing."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    early.begin(["replay", "log.swf"])
    assert started == []


def test_who_is_not_needed_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was started early and never asked ends with the command."""
    idle = early.start("import sys; sys.stdin.read()")
    monkeypatch.setattr(early, "_waiting", [idle])
    early._end()
    assert idle.poll() is not None
