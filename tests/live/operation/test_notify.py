"""What systemd is told, over a real datagram socket: ready, alive, stopping."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from wattline.live.controller.leading.lease import Lease
from wattline.live.notify import Notify
from wattline.live.power.fakes.powercap import make_tree

NODE = """site = "demo"
run_dir = "run"
period = "0.1 s"

[[node]]
name = "n001"
powercap = "tree1"
safe = "180 W"
min = "120 W"
max = "350 W"

[[node]]
name = "n002"
powercap = "tree2"
safe = "180 W"
min = "120 W"
max = "350 W"

[model]
profile = "gold-6132"
"""


class Manager:
    """A service manager's end of the socket."""

    def __init__(self, address: str) -> None:
        self.wire = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.wire.bind("\0" + address[1:] if address[0] == "@" else address)
        self.address = address

    def heard(self, within_s: float = 0.0) -> str:
        """Return the next message; nothing where none comes in time."""
        self.wire.settimeout(within_s or 0.01)
        try:
            return self.wire.recv(4096).decode()
        except TimeoutError:
            return ""


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Manager]:
    """Listen as systemd does, on a path or on an abstract name."""
    found = Manager(str(tmp_path / "notify") if request.param == "path" else f"@wattline-test-{os.getpid()}")
    yield found
    found.wire.close()


def test_ready_alive_and_stopping(manager: Manager) -> None:
    """Each is one datagram; a sign of life comes three times within the time that systemd allows, not more often."""
    now = [100.0]
    told = Notify({"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "30000000"}, lambda: now[0])
    assert told.every_s == 10.0
    told.ready("leads 8\nnodes")
    assert manager.heard() == "READY=1\nSTATUS=leads 8 nodes"
    beats = 0
    for _ in range(300):
        told.alive()
        beats += manager.heard() == "WATCHDOG=1" if now[0] % 5.0 == 0.0 else 0
        now[0] += 0.25
    assert beats == 8
    told.stopping()
    assert manager.heard() == "STOPPING=1"


def test_a_part_that_hangs_is_no_life(manager: Manager) -> None:
    """Where one of several threads says nothing, systemd is told nothing, and ends the process."""
    now = [0.0]
    told = Notify({"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "3000000"}, lambda: now[0])
    told.expect(["a", "b"])
    told.alive("a")
    assert manager.heard() == ""
    told.alive("b")
    assert manager.heard() == "WATCHDOG=1"
    for _ in range(10):
        now[0] += 1.0
        told.alive("a")
    assert manager.heard() == ""


def test_without_systemd_nobody_is_told(tmp_path: Path) -> None:
    """No socket, one that nobody reads, a watchdog of another process: nothing happens, nothing fails."""
    for environment in ({}, {"NOTIFY_SOCKET": str(tmp_path / "none")}, {"NOTIFY_SOCKET": "vsock:2:1"}):
        told = Notify({**environment, "WATCHDOG_USEC": "1000"})
        told.ready("x")
        told.alive()
        told.stopping()
    assert Notify({"WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"}).every_s == 0.0
    assert Notify({"WATCHDOG_USEC": "soon"}).every_s == 0.0


def test_an_agent_tells_systemd(tmp_path: Path) -> None:
    """A real agent says that it is ready, that all its nodes are at work, and that it stops."""
    make_tree(tmp_path / "tree1")
    make_tree(tmp_path / "tree2")
    (tmp_path / "node.toml").write_text(NODE)
    manager = Manager(str(tmp_path / "notify"))
    environment = {**os.environ, "NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "600000"}
    agent = subprocess.Popen(
        [sys.executable, "-m", "wattline", "agent", "node.toml", "--quiet"], cwd=tmp_path, env=environment
    )
    try:
        assert manager.heard(30.0) == "READY=1\nSTATUS=keeps the caps of 2 nodes"
        assert [manager.heard(5.0) for _ in range(3)] == ["WATCHDOG=1"] * 3
        agent.send_signal(signal.SIGTERM)
        last = ""
        while "STOPPING" not in last:
            last = manager.heard(10.0)
            assert last, "it ended without a word"
        assert agent.wait(10.0) == 0
    finally:
        agent.kill()
        agent.wait()
        manager.wire.close()


SITE = """site = "demo"
scenario = "machine.toml"
nodes = ["n[001-032]"]

[manager]
run_dir = "launcher"

[journal]
dir = "journal"

[bus]
listen = "tcp://127.0.0.1:27411"
insecure = true
"""


def test_a_controller_that_stands_by_tells_systemd(tmp_path: Path) -> None:
    """It is ready when it waits for the lease, and says that it is alive until it is told to end."""
    shutil.copy(Path(__file__).parents[3] / "examples" / "live" / "machine.toml", tmp_path)
    (tmp_path / "site.toml").write_text(SITE)
    (tmp_path / "journal").mkdir()
    leader = Lease(tmp_path / "journal" / "lease.json", "somebody", lease_s=600.0)
    assert leader.try_to_lead()
    manager = Manager(str(tmp_path / "notify"))
    environment = {**os.environ, "NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "600000"}
    standby = subprocess.Popen(
        [sys.executable, "-m", "wattline", "controller", "site.toml"],
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert manager.heard(300.0) == "READY=1\nSTATUS=stands by"
        assert [manager.heard(5.0) for _ in range(3)] == ["WATCHDOG=1"] * 3
        standby.send_signal(signal.SIGTERM)
        assert standby.wait(20.0) == 0
    finally:
        standby.kill()
        standby.wait()
        manager.wire.close()
        leader.give_up()
