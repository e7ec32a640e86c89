"""Worker processes end with the process that started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PARENT = """
import sys, time
from wattline.sim.ensemble import in_processes
from worker import linger
if __name__ == "__main__":
    in_processes(linger, ["one", "two"], workers=2)
"""
WORKER = """
import os, time
def linger(name):
    with open(name, "w") as file:
        file.write(str(os.getpid()))
    time.sleep(120)
"""


def is_alive(pid: int) -> bool:
    """Tell whether a process runs (a zombie that nobody waits for does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_killed_parents_leave_no_workers(tmp_path: Path) -> None:
    """A study that is killed outright takes its workers with it within seconds."""
    (tmp_path / "parent.py").write_text(PARENT)
    (tmp_path / "worker.py").write_text(WORKER)
    parent = subprocess.Popen([sys.executable, "parent.py"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    told = [tmp_path / "one", tmp_path / "two"]
    deadline = time.monotonic() + 60
    while not all(path.exists() and path.read_text() for path in told) and time.monotonic() < deadline:
        time.sleep(0.05)
    workers = [int(path.read_text()) for path in told]
    assert all(is_alive(pid) for pid in workers)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + 20
    while any(is_alive(pid) for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(is_alive(pid) for pid in workers)
