"""Slurm's commands: run without a shell, in a known environment, answered in time or given up."""

from __future__ import annotations

import json
import math
import os
import secrets
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wattline.live.machine.base import ManagerError
from wattline.live.machine.slurm.text import JOB_FIELDS, NODE_FIELDS, JobRow, NodeRow, hosts, job_rows, node_rows

KEPT = ("PATH", "HOME", "USER", "LOGNAME", "LD_LIBRARY_PATH", "SLURM_CONF", "SLURM_JWT")
"""Of our environment; variables like SQUEUE_STATES or SLURM_CLUSTERS would change what commands do."""
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
UNREACHABLE = (
    "unable to contact",
    "socket timed out",
    "connection refused",
    "connection timed out",
    "zero bytes were transmitted",
    "communication connection failure",
    "communication receive failure",
    "communication send failure",
    "transport endpoint",
    "munge",
    "authentication credential",
    "protocol authentication",
    "configuration source",
    "slurm backup controller in standby",
    "controller is in standby",
    "slurmctld is shutting down",
)
"""Words of an answer that says nothing about the job: Slurm is not there, or does not know us."""
MOST_TOLD = 200
BUSY, BUSY_TRIES, BUSY_S = "try again later", 4, 0.15
"""What Slurm says of a job that it is just starting or ending, how often it is told, and how long we wait between."""
LEAST_S = 0.1
"""Time that the last of several commands has at least."""


@dataclass
class Commands:
    """How Slurm is asked.

    Parameters
    ----------
    conf
        Path of slurm.conf; None: where Slurm looks for it.
    folder
        Where the commands are; None: on the path.
    timeout_s
        Seconds of the wall within which a command must have answered, and all commands since ``begin`` together.
    """

    conf: Path | None = None
    folder: Path | None = None
    timeout_s: float = 5.0
    calls: int = 0
    environment: dict[str, str] = field(init=False)
    _until: float = field(default=math.inf, init=False, repr=False)
    _rows: dict[str, JobRow] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        path = kept.get("PATH", "") + ":" + SYSTEM_PATH
        if self.folder is not None:
            path = f"{self.folder}:{path}"
        self.environment = {**kept, "PATH": path, "LC_ALL": "C", "SLURM_TIME_FORMAT": "%s"}
        if self.conf is not None:
            self.environment["SLURM_CONF"] = str(self.conf)

    def begin(self, times: float = 1.0) -> None:
        """Begin something that takes several commands: all of them together must be done within the time-out."""
        self._until = time.monotonic() + times * self.timeout_s

    # ------------------------------------------------------------------ looking

    def jobs(self) -> list[JobRow]:
        """Return all jobs that Slurm still knows, tasks of arrays one by one.

        A job that has not changed is the same object as the last time.
        """
        mark = _separator()
        fields = ",".join(f"{name}:{mark}" for name in JOB_FIELDS)
        said = self.ask("squeue", "--noheader", "--array", "--states=all", f"--Format={fields}")
        rows, self._rows = job_rows(said, mark, self._rows)
        return rows

    def nodes(self) -> list[NodeRow]:
        """Return all nodes, once for each of their partitions."""
        mark = _separator()
        fields = ",".join(f"{name}:{mark}" for name in NODE_FIELDS)
        return node_rows(self.ask("sinfo", "--noheader", "--Node", "--all", f"--Format={fields}"), mark)

    def excluded(self) -> dict[str, tuple[str, ...]]:
        """Return the nodes that pending jobs exclude; long output does not have them."""
        said = self.ask("squeue", "--noheader", "--array", "--states=PENDING", "--format=%i|%x")
        pairs = (line.partition("|") for line in said.splitlines())
        try:
            return {job.strip(): names for job, _, text in pairs if (names := hosts(text.strip()))}
        except ValueError as problem:
            raise ManagerError(f"squeue: not understood ({problem})") from None

    def admin_comments(self) -> dict[str, str]:
        """Return what administrators noted of each job; text output does not have it."""
        try:
            told = json.loads(self.ask("squeue", "--json"))
            return {_name(job): str(job.get("admin_comment") or "") for job in told["jobs"]}
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            raise ManagerError(f"squeue --json: not understood ({type(problem).__name__}: {problem})") from None

    def steps(self, job: str) -> list[str]:
        """Return the steps of a job, the batch script's own left out."""
        said = self.ask("squeue", "--noheader", "--steps", f"--jobs={job}", "--Format=StepID:|")
        names = [line.strip().rstrip("|") for line in said.splitlines() if line.strip()]
        return [name for name in names if name.rpartition(".")[2] not in ("batch", "extern")]

    def config(self) -> dict[str, str]:
        """Return Slurm's configuration."""
        pairs = (line.partition("=") for line in self.ask("scontrol", "show", "config").splitlines())
        return {key.strip(): value.strip() for key, equals, value in pairs if equals}

    def shared_partitions(self) -> list[str]:
        """Return the partitions in which several jobs may be on a node."""
        said = self.ask("sinfo", "--noheader", "--all", "--Format=Partition:|,OverSubscribe:|")
        pairs = [line.split("|")[:2] for line in said.splitlines() if line.count("|") == 2]
        return sorted({name.rstrip("*") for name, how in pairs if how.strip() != "EXCLUSIVE"})

    # ------------------------------------------------------------------ doing

    def update(self, jobs: str, **values: str) -> str | None:
        """Change jobs (one, or several with commas between)."""
        return self._do("scontrol", "update", f"jobid={jobs}", *(f"{key}={value}" for key, value in values.items()))

    def hold(self, job: str) -> str | None:
        """Put a job under an administrator's hold."""
        return self._do("scontrol", "hold", job)

    def release(self, jobs: str) -> str | None:
        """End the hold of jobs (one, or several with commas between)."""
        return self._do("scontrol", "release", jobs)

    def requeue(self, job: str) -> str | None:
        """Take a job from its nodes."""
        return self._do("scontrol", "requeue", job)

    def signal(self, job: str, name: str) -> str | None:
        """Send a signal to all processes of a job, its script's included."""
        return self._do("scancel", "--full", f"--signal={name}", job)

    # ------------------------------------------------------------------ how

    def ask(self, *words: str) -> str:
        """Return what a command says; one that fails or does not answer is an error in a line."""
        done = self._run(words)
        if done.returncode != 0:
            raise ManagerError(f"{words[0]}: {_told(done)}")
        return done.stdout

    def _do(self, *words: str) -> str | None:
        """Give a command; return the refusal in a line. A job that is just changing is tried again, for a moment."""
        done = self._run(words)
        for _ in range(BUSY_TRIES - 1):
            if done.returncode == 0 or BUSY not in _told(done).lower():
                break
            time.sleep(BUSY_S)
            done = self._run(words)
        if done.returncode == 0:
            return None
        told = _told(done)
        if any(word in told.lower() for word in UNREACHABLE):
            raise ManagerError(f"{words[0]}: {told}")
        return told

    def _run(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        self.calls += 1
        left_s = self._until - time.monotonic()
        most_s = self.timeout_s if math.isinf(left_s) else max(LEAST_S, left_s)
        try:
            return subprocess.run(  # noqa: S603  (a list of words, no shell)
                words,
                check=False,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                stdin=subprocess.DEVNULL,
                timeout=most_s,
                env=self.environment,
                cwd="/",
            )
        except subprocess.TimeoutExpired:
            raise ManagerError(f"{words[0]}: no answer within {self.timeout_s:g} s") from None
        except FileNotFoundError:
            raise ManagerError(f"{words[0]}: not found; install Slurm's commands, or give their folder (bin)") from None
        except OSError as problem:
            raise ManagerError(f"{words[0]}: cannot be run ({problem.strerror or problem})") from None


def is_gone(refusal: str) -> bool:
    """Tell whether Slurm refused because the job has ended."""
    return any(
        word in refusal.lower() for word in ("invalid job id", "already completing or completed", "already finished")
    )


def _separator() -> str:
    """Return what stands between two values: nobody can have written it into a job before."""
    return f"~{secrets.token_hex(8)}~"


def _told(done: subprocess.CompletedProcess[str]) -> str:
    """Return what a command said, in a line."""
    text = " ".join((done.stderr.strip() or done.stdout.strip()).split())
    return text[:MOST_TOLD] or f"exit code {done.returncode}"


def _name(job: dict[str, Any]) -> str:
    """Return a job's name as ``squeue --array`` has it; newer versions write numbers as objects."""
    array, task = _number(job.get("array_job_id")), _number(job.get("array_task_id"))
    if array and task is not None:
        return f"{array}_{task}"
    return str(_number(job["job_id"]))


def _number(value: Any) -> int | None:
    if isinstance(value, dict):
        return int(value["number"]) if value.get("set", True) else None
    return None if value is None else int(value)
