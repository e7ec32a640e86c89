"""A whole emulated machine of real processes: each is killed, stopped or switched off in turn while jobs run."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from wattline.demo.layout import Layout, free_port, write_layout
from wattline.demo.run import Asked, Processes, _answers, _caps_left, _led
from wattline.kernel.compiled import JIT
from wattline.live.clock import Clock
from wattline.live.controller.facts_file import NOTE, read_log
from wattline.live.controller.replay import FACTS, replay
from wattline.live.controller.setup import rebuild
from wattline.live.machine.launcher.client import LauncherClient
from wattline.live.machine.launcher.work import command_line
from wattline.scenario.choices import variants
from wattline.scenario.documents import read_scenario
from wattline.scenario.study import wire

NODES, SPEED = 6, 10.0
LIMIT_W = 1800.0
LEASE_S = 30.0 / SPEED
"""Seconds of the wall after which caps end without a controller."""
START_S = 20.0
"""Seconds within which a controller is there on a busy computer: Python, compiled code, the lease of the one before."""


class Rig:
    """Launcher, nature, agents and controller as processes."""

    def __init__(self, base: Path) -> None:
        self.base = base
        text = Asked(minutes=5.0, speed=SPEED, nodes=NODES, select="easy", agents=2).scenario()
        (base / "scenario.toml").write_text(text.replace('"match-target"', '"under-limit"'), encoding="utf-8")
        self.study = wire(variants(read_scenario(base / "scenario.toml"))[0])
        names = tuple(f"n{i + 1:03d}" for i in range(NODES))
        now_s = time.time()
        self.layout = Layout(base, names, SPEED, now_s, now_s, 2, free_port())
        write_layout(self.layout, self.study, (base / "scenario.toml").read_text())
        site = (base / "site.toml").read_text().split("[bid]")[0]
        rest = (base / "site.toml").read_text().partition("[manager]")[2]
        limit = f'[signal]\nlimit = "{LIMIT_W} W"\n\n[guard]\nmargin = "40 W"\n\n'
        (base / "site.toml").write_text(f"{site}{limit}[manager]{rest}", encoding="utf-8")
        self.clock = Clock(SPEED, now_s)
        self.processes = Processes(base)
        self.jobs: list[str] = []

    def start(self, name: str) -> None:
        """Start one of them."""
        words = {
            "launcher": ("-m", "wattline", "launcher", str(self.base / "launcher.toml")),
            "plant": ("-m", "wattline.demo.plant", str(self.base / "plant.json")),
            "controller": ("-m", "wattline", "controller", str(self.base / "site.toml")),
        }.get(name, ("-m", "wattline", "agent", str(self.base / f"{name}.toml")))
        self.processes.start(name, *words)

    def kill(self, name: str) -> None:
        """Kill one of them at its worst."""
        process = self.processes.running.pop(name)
        process.kill()
        process.wait()

    def until(self, ready: Callable[[], bool], most_s: float, what: str) -> float:
        """Wait until something is so; return how many seconds that took."""
        began = time.monotonic()
        self.processes.wait_for(ready, what, most_s)
        return time.monotonic() - began

    def led(self) -> bool:
        """Tell whether all nodes are led."""
        return _led(self.base) == NODES

    def submit(self, count: int, work_s: float) -> None:
        """Submit jobs of one or two nodes."""
        kinds = self.study.options.kinds
        with contextlib.closing(LauncherClient(self.base / "launcher-run")) as client:
            for i in range(count):
                command = command_line(work_s, str(self.base / "speeds" / "{node}"), SPEED)
                kind = kinds[i % len(kinds)]
                self.jobs.append(client.submit(command, 1, kind=kind.name, user="u", output="/dev/null"))

    def phases(self) -> dict[str, str]:
        """Return what the launcher says of each job."""
        with contextlib.closing(LauncherClient(self.base / "launcher-run")) as client:
            return {job.id: job.phase for job in client.everything().jobs}

    def powers(self) -> list[float]:
        """Return what the nodes drew, as nature knows it."""
        rows = (self.base / "plant.csv").read_text().splitlines()[1:-1]
        return [float(row.split(",")[1]) for row in rows]

    def released(self) -> Counter[str]:
        """Return how often each job was told to start, as the log of facts has it.

        Where nobody answered it may be told again: what was not heard counts once with what followed.
        """
        told: Counter[str] = Counter()
        unheard: set[str] = set()
        for frame in read_log(self.base / "journal" / FACTS, []):
            for kind, data in frame.records:
                words = json.loads(data) if kind == NOTE else {}
                job = words.get("job", "")
                if words.get("command") == "release":
                    told[job] += job not in unheard
                    unheard.discard(job)
                elif words.get("command") == "unanswered":
                    unheard.add(job)
        return told

    def log(self) -> str:
        """Return the controller's log."""
        return (self.base / "controller.log").read_text()


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """Return a machine that is led and has more jobs than it can run at once."""
    if not JIT:
        pytest.skip("plain Python takes too long for a controller")
    made = Rig(tmp_path)
    with made.processes.all_ended():
        made.start("launcher")
        made.until(lambda: _answers(tmp_path), 30.0, "the launcher")
        made.start("plant")
        for name in ("agents-00", "agents-01"):
            made.start(name)
        made.start("controller")
        made.until(made.led, 60.0, "the controller")
        yield made


def listening(pid: int) -> set[str]:
    """Return the addresses on which a process listens, as the kernel writes them."""
    sockets = set()
    for handle in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            sockets.add(str(handle.readlink()))
    found = set()
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if f"socket:[{words[9]}]" in sockets and (words[3] == "0A" or table.startswith("udp")):
                found.add(words[1].rpartition(":")[0])
    return found


def test_processes_are_killed_one_after_another(rig: Rig) -> None:
    """Controller, an agent's process and the launcher, each killed (-9) and restarted while jobs run: all nodes are led
    again within a lease and the time that it takes to start, every job runs once and ends, power stays under the limit
    but for 3 %, the run is replayed identically, and nothing listens beyond loopback.
    """
    for name, process in rig.processes.running.items():
        assert listening(process.pid) <= {"0100007F", "00000000000000000000000001000000"}, name
    assert listening(rig.processes.running["controller"].pid)
    rig.submit(12, 40.0)
    time.sleep(2.0)
    rig.kill("controller")
    time.sleep(1.0)
    rig.start("controller")
    took_s = rig.until(lambda: rig.log().count('"leads"') == 2 and rig.led(), 40.0, "the second controller")
    rig.kill("agents-01")
    time.sleep(1.0)
    rig.start("agents-01")
    rig.until(lambda: (rig.base / "agents-01.out").read_text().count('"led"') >= 3, LEASE_S + 5.0, "the agents")
    rig.until(rig.led, LEASE_S + 5.0, "all nodes")
    rig.kill("launcher")
    time.sleep(2.0)
    rig.start("launcher")
    rig.until(lambda: _answers(rig.base), 10.0, "the launcher")
    rig.until(lambda: all(rig.phases().get(job) == "ended" for job in rig.jobs), 60.0, "the jobs")
    assert took_s <= LEASE_S + START_S
    assert max(rig.powers()) <= 1.03 * LIMIT_W
    rig.processes.stop("controller")
    assert rig.released() == dict.fromkeys(rig.jobs, 1)
    found = replay(rig.base / "journal", rebuild)
    assert found.identical, found.difference
    assert (found.starts, found.ended) == (2, True)


def test_off_with_a_controller_without_one_and_with_one_that_hangs(rig: Rig) -> None:
    """``wattline off`` ends a controller that leads; after kill -9 it does the work itself; a launcher that hangs for
    longer than the controller's lease does not end its reign. No job is left stopped, no limit is left behind.
    """
    off = [sys.executable, "-m", "wattline", "off", str(rig.base / "site.toml")]
    rig.submit(8, 30.0)
    time.sleep(2.0)
    hung = rig.processes.running["launcher"]
    hung.send_signal(signal.SIGSTOP)
    time.sleep(6.0)
    hung.send_signal(signal.SIGCONT)
    rig.until(rig.led, LEASE_S + 5.0, "all nodes")
    assert "lease-lost" not in rig.log()
    assert "does not answer" in rig.log() or "no answer" in rig.log()
    done = subprocess.run(off, capture_output=True, text=True, timeout=60, check=True)
    assert "has ended and let the machine go" in done.stdout
    assert len(done.stdout.splitlines()) == 1, done.stdout
    assert rig.processes.running.pop("controller").wait(20.0) == 0
    assert _caps_left(rig.layout) == []
    rig.start("controller")
    rig.until(lambda: rig.log().count('"leads"') == 2 and rig.led(), 40.0, "the second controller")
    rig.kill("controller")
    done = subprocess.run(off, capture_output=True, text=True, timeout=60, check=True)
    assert "6 of 6 nodes have put back what they found" in done.stdout
    rig.until(lambda: not _caps_left(rig.layout), 5.0, "the limits")
    assert "paused" not in rig.phases().values()
