"""A controller that is a process of its own leads a real Slurm: it is killed and started again, from its log or not."""

from __future__ import annotations

import contextlib
import http.client
import json
import secrets
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from wattline.demo.jobs import SlurmJobs
from wattline.demo.layout import Layout, free_port, write_layout
from wattline.demo.run import Asked, Processes, _led
from wattline.demo.slurm_cluster import SlurmCluster
from wattline.kernel.compiled import JIT
from wattline.live.machine.slurm.commands import Commands
from wattline.live.machine.slurm.manager import SlurmManager
from wattline.live.machine.slurm.rules import Rules
from wattline.live.machine.slurm.text import hosts
from wattline.live.power.powercap import Powercap
from wattline.scenario.choices import variants
from wattline.scenario.documents import read_scenario
from wattline.scenario.study import wire

LEASE_S = 3.0
FIRST_S = 300.0
"""Seconds for the first controller, which may have to compile what it needs."""
START_S = 30.0
"""Seconds within which one that is started again leads all nodes, on a busy computer."""


class Lent(SlurmJobs):
    """A Slurm that is there already, and stays."""

    def __init__(self, base: Path, cluster: SlurmCluster) -> None:
        self.base, self.cluster, self.names = base, cluster, cluster.names


class SlurmRig:
    """Nature, agents and a controller as processes, on a Slurm that others use after us."""

    def __init__(self, base: Path, cluster: SlurmCluster, limit_w: float) -> None:
        self.base, self.cluster = base, cluster
        text = Asked(minutes=5.0, speed=1.0, nodes=cluster.nodes, select="easy", agents=1).scenario()
        text = text.replace('"match-target"', '"under-limit"')
        (base / "scenario.toml").write_text(text, encoding="utf-8")
        study = wire(variants(read_scenario(base / "scenario.toml"))[0])
        now_s = time.time()
        self.layout = Layout(base, cluster.names, 1.0, now_s, now_s, 1, free_port(), Lent(base, cluster))
        write_layout(self.layout, study, text)
        self.site = base / "site.toml"
        before, _, rest = self.site.read_text().partition("[bid]")
        before = before.replace('lease = "30 s"', f'lease = "{LEASE_S:g} s"').replace(
            'silent = "10 s"', 'silent = "2 s"'
        )
        self.door, self.token, token = free_port(), secrets.token_hex(32), base / "signal.token"
        token.touch(mode=0o600)
        token.write_text(self.token)
        signal = f'[signal]\nlimit = {limit_w}\ntoken = "{token}"\nlisten = "127.0.0.1:{self.door}"\n\n'
        self.site.write_text(f"{before}{signal}[manager]{rest.partition('[manager]')[2]}", encoding="utf-8")
        self.kind = max(study.options.kinds, key=lambda kind: kind.draw_w - kind.floor_w)
        self.processes, self.jobs = Processes(base), list[str]()
        for name in ("marks", "let"):
            (base / name).mkdir()

    def push(self, limit_w: float) -> None:
        """Let the grid ask for a limit; it asks again when a controller was started anew."""
        caller = http.client.HTTPConnection("127.0.0.1", self.door, timeout=10.0)
        with contextlib.closing(caller):
            who = {"Authorization": f"Bearer {self.token}"}
            caller.request("POST", "/signal", json.dumps({"limit_w": limit_w}), who)
            assert caller.getresponse().status == http.HTTPStatus.NO_CONTENT

    def start(self) -> None:
        """Start the controller (again)."""
        self.processes.start("controller", "-m", "wattline", "controller", str(self.site))

    def kill(self, *, log_is_lost: bool = False) -> None:
        """Kill the controller at its worst."""
        process = self.processes.running.pop("controller")
        process.kill()
        process.wait()
        if log_is_lost:
            shutil.rmtree(self.base / "journal")

    def until(self, ready: Callable[[], bool], most_s: float, what: str) -> None:
        """Wait until something is so."""
        self.processes.wait_for(ready, what, most_s)

    def led(self) -> bool:
        """Tell whether all nodes are led."""
        return _led(self.base) == self.cluster.nodes

    def submit(self, count: int) -> list[str]:
        """Submit jobs of a node, which note that they begin and end; they end when they are let."""
        note, let = f">> {self.base}/marks/$SLURM_JOB_ID", f"{self.base}/let/$SLURM_JOB_ID"
        script = f"echo begin {note}; while ! test -e {let}; do sleep 0.2; done; echo end {note}"
        made = [self.cluster.submit(script, f"--comment=kind={self.kind.name}", "-t", "5") for _ in range(count)]
        self.jobs += made
        return made

    def let_end(self, *jobs: str) -> None:
        """Let jobs end, now or as soon as they begin."""
        for job in jobs:
            (self.base / "let" / job).touch()

    def noted(self, job: str) -> list[str]:
        """Return what a job noted, in order."""
        path = self.base / "marks" / job
        return path.read_text().split() if path.exists() else []

    def states(self) -> dict[str, tuple[str, list[str]]]:
        """Return the state of each job that Slurm shows, and its nodes."""
        said = self.cluster.command("squeue", "-h", "-r", "-t", "all", "-o", "%i %T %N").stdout
        rows = [[*line.split(), ""] for line in said.splitlines()]
        return {row[0]: (row[1], hosts(row[2]) if row[2] else []) for row in rows}

    def count(self) -> Counter[str]:
        """Return how many of our jobs are in which of Slurm's states."""
        states = self.states()
        return Counter(states[job][0] if job in states else "gone" for job in self.jobs)

    def stop(self, job: str) -> None:
        """Stop a job as a controller does that dies then: it is noted at the job, and nowhere else."""
        made = SlurmManager(Commands(self.cluster.conf, timeout_s=10.0), Rules(stop_again_s=0.0))
        made.snapshot()
        assert made.stop(job) is None
        self.until(lambda: self.states()[job][0] == "STOPPED", 10.0, "the stop")

    def capped(self) -> set[str]:
        """Return the nodes whose processors are limited for a cap: without one they may draw 314 W."""
        trees = {name: Powercap(str(self.base / "trees" / name)) for name in self.cluster.names}
        return {name for name, tree in trees.items() if tree.limits_w() < 250.0}

    def busy(self) -> set[str]:
        """Return the nodes on which jobs run."""
        return {name for state, on in self.states().values() if state == "RUNNING" for name in on}

    def released(self) -> Counter[str]:
        """Return how often each job was told to start, by any controller."""
        lines = [json.loads(line) for line in self.log().splitlines()]
        return Counter(line["job"] for line in lines if (line["event"], line.get("what")) == ("does", "release"))

    def lead_anew(self, stopped: str, limit_w: float) -> None:
        """Start a controller again: it leads all nodes, a job that stands still goes on, caps are where jobs run."""
        reigns = self.log().count('"leads"')
        self.start()
        self.until(lambda: self.log().count('"leads"') == reigns + 1 and self.led(), START_S, "the next controller")
        self.push(limit_w)
        self.until(lambda: self.states()[stopped][0] == "RUNNING", 10.0, "the job that was stopped")
        self.until(lambda: self.capped() == self.busy(), 10.0, "caps on the nodes of the jobs, and there alone")

    def log(self) -> str:
        """Return what all controllers logged."""
        return (self.base / "controller.log").read_text()


@contextlib.contextmanager
def led_slurm(base: Path, cluster: SlurmCluster, limit_w: float) -> Iterator[SlurmRig]:
    """Return a Slurm that a controller's process leads; all processes and jobs are ended at the end."""
    if not JIT:
        pytest.skip("plain Python takes too long for a controller")
    made = SlurmRig(base, cluster, limit_w)
    try:
        with made.processes.all_ended():
            made.processes.start("plant", "-m", "wattline.demo.plant", str(base / "plant.json"))
            made.processes.start("agents-00", "-m", "wattline", "agent", str(base / "agents-00.toml"))
            made.start()
            made.until(made.led, FIRST_S, "the controller")
            yield made
    finally:
        cluster.cancel_all()
