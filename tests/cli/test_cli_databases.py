"""Databases that take long: Ctrl-C is heard while they work."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("adbc_driver_sqlite", reason="needs the extra sql")


def wait_until_it_works_on(path: Path, running: subprocess.Popen[str]) -> None:
    """Wait until a process has a file open, and half a second more in which it works on it."""
    opened = Path(f"/proc/{running.pid}/fd")
    deadline = time.monotonic() + (60.0 if opened.exists() else 10.0)
    while time.monotonic() < deadline and not any(has_open(link, path) for link in opened.glob("*")):
        time.sleep(0.05)
    time.sleep(0.5)
    assert running.poll() is None


def has_open(link: Path, path: Path) -> bool:
    """Tell whether a descriptor of a process is this file; it may be closed meanwhile."""
    try:
        return link.readlink() == path
    except OSError:
        return False


def test_the_second_ctrl_c_ends_a_query_that_does_not_end(tmp_path: Path) -> None:
    """A view without an end keeps SQLite busy for ever; who presses Ctrl-C twice is out within seconds, with one
    line.
    """
    path = tmp_path / "endless.db"
    with sqlite3.connect(path) as database:
        database.execute(
            "CREATE VIEW samples AS WITH RECURSIVE endless(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM endless) "
            "SELECT n AS time, 'a' AS node, 100.0 AS power_w FROM endless"
        )
    database.close()
    words = [sys.executable, "-m", "wattline", "telemetry", "check", str(path)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as running:
        try:
            wait_until_it_works_on(path, running)
            running.send_signal(signal.SIGINT)
            time.sleep(0.5)
            running.send_signal(signal.SIGINT)
            _, said = running.communicate(timeout=30)
        finally:
            running.kill()
    assert running.returncode == 130
    assert said.splitlines()[-1] == "wattline: interrupted"
