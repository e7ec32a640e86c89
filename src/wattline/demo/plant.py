"""The nature of an emulated machine: nodes draw what their jobs draw under their limits, and jobs slow down with them.

Run as ``python -m wattline.demo.plant FILE``: a process of its own, of the standard library alone. It looks at the
launcher to know who runs where, drives the powercap trees of all nodes, and writes how fast the job of each node goes.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from wattline.live.clock import Clock
from wattline.live.machine.base import ManagerError
from wattline.live.machine.launcher.client import LauncherClient
from wattline.live.power.fake import FakeNode, Plant
from wattline.live.power.server_model import PROFILES

STEP_S = 0.05
"""Seconds (of the wall) between two steps."""
RUNS = ("running", "completing")


class Nature:
    """The emulated nodes and the jobs on them."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.base = Path(told["base"])
        self.kinds: dict[str, list[float]] = told["kinds"]
        self.names: list[str] = told["nodes"]
        self.clock = Clock(told["speed"], told["origin"])
        nodes = [FakeNode(name, self.base / "trees" / name, told["idle_w"], told["memory_w"]) for name in self.names]
        model = PROFILES[told["profile"]]
        self.plant = Plant(
            nodes, model=model, lag_s=told["lag_s"], noise_w=told["noise_w"], held_at=told["held_at"], seed=told["seed"]
        )
        self.manager = LauncherClient(self.base / "launcher-run")
        self.on: dict[str, str] = {}
        """Node → job that runs on it."""
        (self.base / "speeds").mkdir(exist_ok=True)
        self.speeds = {name: os.open(self._speed_file(name), os.O_RDWR | os.O_CREAT, 0o644) for name in self.names}
        self.samples = (self.base / "plant.csv").open("w", encoding="utf-8")
        self.samples.write("time_s,power_w\n")

    def _speed_file(self, name: str) -> Path:
        return self.base / "speeds" / name

    def turn(self) -> None:
        """Let nature go on."""
        self._look()
        now_s = self.clock.now_s()
        self.plant.step(now_s)
        for name, handle in self.speeds.items():
            os.pwrite(handle, f"{self.plant.speed(name):.6f}\n".encode(), 0)
        power_w = sum(self.plant.server_w(name) for name in self.names)
        self.samples.write(f"{now_s:.3f},{power_w:.3f}\n")

    def _look(self) -> None:
        """Find out who runs where."""
        try:
            jobs = self.manager.snapshot().jobs
        except ManagerError:
            return
        now = {name: job for job in jobs if job.phase in RUNS and not job.reason for name in job.on}
        for name in self.names:
            job = now.get(name)
            if job is None and name in self.on:
                self.plant.idle(name)
                del self.on[name]
            elif job is not None and self.on.get(name) != job.id:
                self.plant.busy(name, *self.kinds[job.kind])
                self.on[name] = job.id

    def close(self) -> None:
        """End it."""
        self.samples.close()
        self.plant.close()
        self.manager.close()
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
        next_s = max(next_s + STEP_S, nature.clock.monotonic())
        nature.clock.rest(max(0.0, next_s - nature.clock.monotonic()))
    nature.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
