"""A whole emulated machine of real processes for tests: launcher, nature, agents and controllers."""

from __future__ import annotations

import contextlib
import json
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from wattline.demo.jobs import LauncherJobs
from wattline.demo.layout import SITE, Layout, free_port, write_layout
from wattline.demo.run import Asked, Processes, _led
from wattline.kernel.compiled import JIT
from wattline.live.bus.keys import make_keys
from wattline.live.clock import Clock
from wattline.live.controller.journal.facts_file import NOTE, read_log
from wattline.live.controller.journal.replay import FACTS
from wattline.live.controller.leading.off import ENDED
from wattline.live.machine.launcher.client import LauncherClient
from wattline.live.machine.launcher.work import command_line
from wattline.scenario.choices import variants
from wattline.scenario.documents import read_scenario
from wattline.scenario.study import wire

NODES, SPEED = 6, 10.0
LIMIT_W = 1800.0
LEASE_S = 30.0 / SPEED
"""Seconds of the wall after which caps end without a controller."""
FIRST_S = 300.0
"""Seconds for the first one, which may have to compile what it needs."""
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
        self.layout = Layout(base, names, SPEED, now_s, now_s, 2, free_port(), LauncherJobs(base, len(names)))
        write_layout(self.layout, self.study, (base / "scenario.toml").read_text())
        site = (base / "site.toml").read_text().split("[bid]")[0]
        rest = (base / "site.toml").read_text().partition("[manager]")[2]
        limit = f'[signal]\nlimit = "{LIMIT_W} W"\n\n[guard]\nmargin = "40 W"\n\n'
        (base / "site.toml").write_text(f"{site}{limit}[manager]{rest}", encoding="utf-8")
        self.clock = Clock(SPEED, now_s)
        self.processes = Processes(base)
        self.jobs: list[str] = []

    def allow_standby(self) -> None:
        """Give the site a second controller, with an address and a key of its own, in the same files."""
        make_keys(self.base / "keys", SITE, [("controller", "standby")])
        at = {"controller": f"tcp://127.0.0.1:{self.layout.port}", "standby": f"tcp://127.0.0.1:{free_port()}"}
        table = ", ".join(f'{name} = "{address}"' for name, address in at.items())
        for path in (*self.layout.agent_files, self.base / "site.toml"):
            text = path.read_text().replace('controllers = ["controller"]', 'controllers = ["controller", "standby"]')
            text = text.replace(f'{{ controller = "{at["controller"]}" }}', f"{{ {table} }}")
            text = text.replace(f'listen = "{at["controller"]}"', f"listen = {{ {table} }}")
            path.write_text(text.replace("controller.key", "{name}.key"))

    def start(self, name: str) -> None:
        """Start one of them."""
        controller = ("-m", "wattline", "controller", str(self.base / "site.toml"))
        words = {
            "launcher": ("-m", "wattline", "launcher", str(self.base / "launcher.toml")),
            "plant": ("-m", "wattline.demo.plant", str(self.base / "plant.json")),
            "controller": controller,
            "standby": (*controller, "--name", "standby"),
            "dry-run": (*controller, "--dry-run"),
        }.get(name, ("-m", "wattline", "agent", str(self.base / f"{name}.toml")))
        self.processes.start(name, *words)

    def kill(self, name: str) -> None:
        """Kill one of them at its worst."""
        process = self.processes.running.pop(name)
        process.kill()
        process.wait()

    def settle(self) -> None:
        """Start what is not there, let no job be left, and wait until all nodes are led."""
        running = self.processes.running
        for name in [name for name, process in running.items() if process.poll() is not None]:
            del running[name]
        for process in running.values():
            process.send_signal(signal.SIGCONT)
        for name in ("launcher", "plant", "agents-00", "agents-01"):
            if name not in running:
                self.start(name)
        self.until(self.layout.jobs.answers, 30.0, "the launcher")
        self.layout.jobs.cancel_all()
        (self.base / "journal" / ENDED).unlink(missing_ok=True)  # an off that ended a controller is over
        if "controller" not in running:
            self.start("controller")
        self.until(self.led, FIRST_S, "the controller")
        self.until(lambda: all(phase == "ended" for phase in self.phases().values()), 20.0, "the last jobs")
        self.jobs.clear()

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

    def underway(self) -> bool:
        """Tell whether jobs run, and the log of facts has it: what a killed controller did in its last tick is lost."""
        return "running" in self.phases().values() and not self.released().keys().isdisjoint(self.jobs)

    def log(self) -> str:
        """Return the controller's log."""
        return (self.base / "controller.log").read_text()


@contextlib.contextmanager
def led_machine(base: Path, *, standby: bool = False) -> Iterator[Rig]:
    """Return a machine that is led and has more jobs than it can run at once."""
    if not JIT:
        pytest.skip("plain Python takes too long for a controller")
    made = Rig(base)
    if standby:
        made.allow_standby()
    with made.processes.all_ended():
        made.start("launcher")
        made.until(made.layout.jobs.answers, 30.0, "the launcher")
        made.start("plant")
        for name in ("agents-00", "agents-01"):
            made.start(name)
        made.start("controller")
        made.until(made.led, FIRST_S, "the controller")
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
