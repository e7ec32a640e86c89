"""Who runs the jobs of a demonstration: the built-in launcher, or a real Slurm of its own on loopback."""

from __future__ import annotations

import contextlib
import math
import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from wattline.demo.ending import undisturbed
from wattline.demo.slurm_cluster import ANSWERS_S, SlurmCluster, why_no_rest, why_not
from wattline.errors import InputError, RunError
from wattline.live.machine.base import JobSeen, ManagerError
from wattline.live.machine.launcher.client import LauncherClient
from wattline.live.machine.launcher.work import command_line

Start = Callable[..., None]
"""Starts a process of ours: its name, then its words."""


class Jobs(Protocol):
    """What a demonstration asks of whoever runs its jobs."""

    names: tuple[str, ...]
    """The nodes."""

    def section(self) -> str:
        """Return the keys of [manager] in the controller's file."""

    def told(self) -> dict[str, Any]:
        """Return how nature finds out who runs where (``demo.plant``)."""

    def begin(self, start: Start) -> None:
        """Start what is needed; it may take a while until it ``answers``."""

    def answers(self) -> bool:
        """Tell whether it is there."""

    def submit(self, work_s: float, nodes: int, kind: str, speed: float, request_s: float = math.inf) -> str:
        """Submit a job and return its number."""

    def seen(self) -> list[JobSeen]:
        """Return all jobs that were submitted."""

    def cancel_all(self) -> None:
        """End all jobs, whatever they do."""

    def let_go(self, stop: Callable[[str], None]) -> None:
        """End what ``begin`` started, in an orderly way."""

    def left(self) -> list[str]:
        """Return what is still there after the end."""

    def held(self) -> contextlib.AbstractContextManager[None]:
        """Hold on to it while the demonstration lasts; whatever happens, nothing of it is left afterwards."""


class LauncherJobs:
    """Jobs are processes of the built-in launcher."""

    def __init__(self, base: Path, nodes: int) -> None:
        self.base, self.names = base, tuple(f"n{i + 1:03d}" for i in range(nodes))

    def section(self) -> str:
        """Return the keys of [manager]."""
        return 'run_dir = "launcher-run"\n'

    def told(self) -> dict[str, Any]:
        """Return where nature looks."""
        return {"kind": "launcher", "run_dir": str(self.base / "launcher-run")}

    def begin(self, start: Start) -> None:
        """Start the launcher."""
        start("launcher", "-m", "wattline", "launcher", str(self.base / "launcher.toml"))

    def answers(self) -> bool:
        """Tell whether it is there."""
        try:
            self.seen()
        except ManagerError:
            return False
        return True

    def submit(self, work_s: float, nodes: int, kind: str, speed: float, request_s: float = math.inf) -> str:  # noqa: ARG002
        """Submit a job."""
        command = command_line(work_s, str(self.base / "speeds" / "{node}"), speed)
        with self._client() as client:
            return client.submit(command, nodes, kind=kind, user="demo", output="/dev/null")

    def seen(self) -> list[JobSeen]:
        """Return all jobs."""
        with self._client() as client:
            return list(client.everything().jobs)

    def cancel_all(self) -> None:
        """End all jobs."""
        with self._client() as client:
            for job in client.everything().jobs:
                if job.phase != "ended":
                    client.cancel(job.id)

    def let_go(self, stop: Callable[[str], None]) -> None:
        """End the launcher."""
        stop("launcher")

    def left(self) -> list[str]:
        """Nothing: a launcher that has ended has no jobs."""
        return []

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Cancel the jobs of a launcher that still runs at the end; its process is ended with the others."""
        try:
            yield
        finally:
            with contextlib.suppress(ManagerError, OSError):
                self.cancel_all()

    def _client(self) -> contextlib.closing[LauncherClient]:
        return contextlib.closing(LauncherClient(self.base / "launcher-run", timeout_s=2.0))


class SlurmJobs:
    """Jobs are Slurm's: munge, slurmctld and a slurmd a node run in the demonstration's folder.

    ``rest``: slurmrestd too, and the controller goes by it.
    """

    def __init__(self, base: Path, nodes: int, *, rest: bool = False) -> None:
        why = why_not() or (why_no_rest() if rest else "")
        if why:
            raise InputError(why)
        self.base = base
        self.cluster = SlurmCluster(base / "slurm", nodes=nodes, rest=rest)
        self.names = self.cluster.names

    def section(self) -> str:
        """Return the keys of [manager]."""
        rest = f'rest = "http://127.0.0.1:{self.cluster.rest_port}"\ntoken = "slurm.token"\n'
        return f'kind = "slurm"\nconf = "{self.cluster.conf}"\n' + (rest if self.cluster.rest_port else "")

    def told(self) -> dict[str, Any]:
        """Return where nature looks."""
        return {"kind": "slurm", "conf": str(self.cluster.conf)}

    def begin(self, start: Start) -> None:  # noqa: ARG002  (its daemons are no processes of Wattline)
        """Start munge and Slurm, and wait until all nodes are there."""
        (self.base / "times").mkdir(exist_ok=True)
        self.cluster.write()
        self.cluster.start()
        if self.cluster.rest:
            (self.base / "slurm.token").touch(mode=0o600)
            (self.base / "slurm.token").write_text(self.cluster.token(86400), encoding="ascii")

    def answers(self) -> bool:
        """Tell whether it is there."""
        return self.cluster.command("scontrol", "ping", check=False).returncode == 0

    def submit(self, work_s: float, nodes: int, kind: str, speed: float, request_s: float = math.inf) -> str:  # noqa: ARG002
        """Submit a job, which notes when its first line ran: Slurm's own times are whole seconds."""
        times = self.base / "times"
        command = shlex.join(command_line(work_s, str(self.base / "speeds" / "{node}"), speed))
        script = (
            f"date +%s.%N > {shlex.quote(str(times))}/$SLURM_JOB_ID.start\n"
            "export WATTLINE_NODE_LIST=$(scontrol show hostnames | paste -sd,)\n"
            f"{command} && date +%s.%N > {shlex.quote(str(times))}/$SLURM_JOB_ID.end\n"
        )
        return self.cluster.submit(script, f"--comment=kind={kind}", nodes=nodes)

    def seen(self) -> list[JobSeen]:
        """Return all jobs, with the times that they noted themselves."""
        from wattline.live.machine.slurm.commands import Commands
        from wattline.live.machine.slurm.manager import SlurmManager

        try:
            snapshot = SlurmManager(Commands(self.cluster.conf, timeout_s=ANSWERS_S), act=False).snapshot()
        except ManagerError as problem:
            raise RunError(f"Slurm did not answer: {problem} (its logs: {self.cluster.base}/log)") from None
        found = []
        for job in snapshot.jobs:
            start_s, end_s = (self._noted(job.id, what) for what in ("start", "end"))
            phase = "ended" if not math.isnan(end_s) else job.phase
            found.append(replace(job, phase=phase, start_s=start_s, end_s=end_s))
        return found

    def _noted(self, job: str, what: str) -> float:
        path = self.base / "times" / f"{job}.{what}"
        text = path.read_text(encoding="ascii").strip() if path.exists() else ""
        return float(text) if text else math.nan

    def cancel_all(self) -> None:
        """End all jobs."""
        self.cluster.cancel_all(20.0)

    def let_go(self, stop: Callable[[str], None]) -> None:  # noqa: ARG002
        """End Slurm and munge."""
        self.cluster.stop()

    def left(self) -> list[str]:
        """Return processes that Slurm left."""
        return [f"process {pid} of Slurm" for pid in self.cluster.left()]

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """End every daemon that was started, whatever happens."""
        try:
            yield
        finally:
            with undisturbed():
                self.cluster.stop()
