"""The nature of an emulated machine: nodes draw what their jobs draw under their limits, and jobs slow down with them.

Run as ``python -m wattline.demo.plant FILE``: a process of its own, of the standard library alone. It looks at the
launcher, or at Slurm, to know who runs where, drives the powercap trees of all nodes, and writes how fast the job of
each node goes.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wattline.live.clock import Clock
from wattline.live.machine.base import ManagerError
from wattline.live.machine.launcher.client import LauncherClient
from wattline.live.power.fakes.powercap import FakeNode, Plant
from wattline.live.power.server.model import PROFILES

FINE_S = 0.1
"""Machine seconds between two steps: counters of real processors go on all the time, and agents read them once a
second.
"""
STEPS_S = (0.005, 0.05)
"""Seconds (of the wall) that a step takes at least and at most."""
LOOK_S = 0.02
"""Seconds (of the wall) between two looks at who runs where."""
SLURM_LOOK_S = 0.25
"""The same for Slurm, of which each look is a process."""
RUNS = ("running", "completing")


def open_look(told: dict[str, Any]) -> Callable[[], dict[str, tuple[str, str]] | None]:
    """Return who tells for each node that works its job and its job's kind; None: he does not answer."""
    if told["kind"] == "slurm":
        return _slurm(Path(told["conf"]))
    manager = LauncherClient(Path(told["run_dir"]))

    def look() -> dict[str, tuple[str, str]] | None:
        try:
            jobs = manager.snapshot().jobs
        except ManagerError:
            return None
        return {name: (job.id, job.kind) for job in jobs if job.phase in RUNS and not job.reason for name in job.on}

    return look


def _slurm(conf: Path) -> Callable[[], dict[str, tuple[str, str]] | None]:
    from wattline.live.machine.slurm.commands import Commands
    from wattline.live.machine.slurm.rules import words

    commands = Commands(conf, timeout_s=2.0)
    last: list[tuple[float, dict[str, tuple[str, str]]]] = []

    def look() -> dict[str, tuple[str, str]] | None:
        now = time.monotonic()
        if last and now - last[0][0] < SLURM_LOOK_S:
            return last[0][1]
        try:
            rows = [row for row in commands.jobs() if row.state == "RUNNING"]
        except ManagerError:
            return None
        found = {name: (row.id, words(row.comment).get("kind", "")) for row in rows for name in row.on}
        last[:] = [(now, found)]
        return found

    return look


class Nature:
    """The emulated nodes and the jobs on them."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.base = Path(told["base"])
        self.kinds: dict[str, list[float]] = told["kinds"]
        self.names: list[str] = told["nodes"]
        self.forms = Path(told.get("forms", "forms"))
        self.clock = Clock(told["speed"], told["origin"])
        nodes = [FakeNode(name, self.base / "trees" / name, told["idle_w"], told["memory_w"]) for name in self.names]
        model = PROFILES[told["profile"]]
        self.plant = Plant(
            nodes, model=model, lag_s=told["lag_s"], noise_w=told["noise_w"], held_at=told["held_at"], seed=told["seed"]
        )
        launcher = {"kind": "launcher", "run_dir": str(self.base / "launcher-run")}
        self.look = open_look(told.get("jobs", launcher))
        self.on: dict[str, str] = {}
        """Node → job that runs on it."""
        (self.base / "speeds").mkdir(exist_ok=True)
        self.speeds = {name: os.open(self._speed_file(name), os.O_RDWR | os.O_CREAT, 0o644) for name in self.names}
        self.step_s = min(max(FINE_S / self.clock.speed, STEPS_S[0]), STEPS_S[1])
        self._look_s = -1.0
        self.samples = (self.base / "plant.csv").open("w", encoding="utf-8")
        self.samples.write("time_s,power_w\n")

    def _speed_file(self, name: str) -> Path:
        return self.base / "speeds" / name

    def turn(self) -> None:
        """Let nature go on."""
        looks = self.clock.monotonic() >= self._look_s
        if looks:
            self._look_s = self.clock.monotonic() + LOOK_S
            self._look()
        now_s = self.clock.now_s()
        self.plant.step(now_s)
        for name, handle in self.speeds.items() if looks else ():
            os.pwrite(handle, f"{self.plant.speed(name):.6f}\n".encode(), 0)
        power_w = sum(self.plant.server_w(name) for name in self.names)
        self.samples.write(f"{now_s:.3f},{power_w:.3f}\n")

    def _look(self) -> None:
        """Find out who runs where."""
        now = self.look()
        if now is None:
            return
        for name in self.names:
            job, kind = now.get(name, ("", ""))
            if not job and name in self.on:
                self.plant.idle(name)
                del self.on[name]
            elif job and self.on.get(name) != job and (draws := self.kinds.get(kind) or self._form(job)):
                self.plant.busy(name, *draws)
                self.on[name] = job

    def _form(self, job: str) -> list[float]:
        """Return what a node of a moldable job draws, as it says itself; nothing before it has begun."""
        try:
            watts = float((self.forms / job).read_text(encoding="ascii"))
        except (OSError, ValueError):
            return []
        return [watts, watts, 1.0]

    def close(self) -> None:
        """End it."""
        self.samples.close()
        self.plant.close()
        for handle in self.speeds.values():
            os.close(handle)


def main(path: str) -> int:
    """Let nature go on until SIGTERM."""
    stopped: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda got, _: stopped.append(got))
    nature = Nature(json.loads(Path(path).read_text(encoding="utf-8")))
    next_s = nature.clock.monotonic()
    while not stopped:
        nature.turn()
        next_s = max(next_s + nature.step_s, nature.clock.monotonic())
        nature.clock.rest(max(0.0, next_s - nature.clock.monotonic()))
    nature.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
