"""Jobs of this node that somebody stopped: the agent lets them go on when nobody leads it any more."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
from pathlib import Path
from typing import Literal, Protocol

STOPPABLE = ("starting", "running", "paused")
MOST_BYTES = 1_000_000
GROUP = re.compile(rb"slurm[^\n]*/job_(\d+)(?:/|$)", re.MULTILINE)
"""A control group that Slurm made for a job."""


class Local(Protocol):
    """Whoever can continue the jobs of a node without the network."""

    def continue_all(self, node: str) -> int:
        """Let all stopped jobs of a node go on; return how many were told to."""


class ProcessGroups:
    """Jobs as the built-in launcher writes them: ``ID.json`` with ``pgid``, ``start_ticks``, ``nodes``, ``phase``."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)

    def continue_all(self, node: str) -> int:
        """Send SIGCONT to the process groups of a node's jobs; one that is running takes no notice."""
        told = 0
        with contextlib.suppress(OSError):
            for path in sorted(self.folder.glob("*.json")):
                told += self._continue(path, node)
        return told

    def _continue(self, path: Path, node: str) -> bool:
        try:
            if path.stat().st_size > MOST_BYTES:
                return False
            job = json.loads(path.read_text())
            pgid, ticks, nodes, phase = job["pgid"], job["start_ticks"], job["nodes"], job["phase"]
            known = type(pgid) is int and type(ticks) is int and pgid > 1 and node in nodes and phase in STOPPABLE
            if not known or _start_ticks(pgid) != ticks:  # a number that another process has by now
                return False
            os.killpg(pgid, signal.SIGCONT)
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            return False
        return True


class SlurmProcesses:
    """Jobs of Slurm: processes with a job's number and this node's name in their environment. Slurm need not answer.

    Who may not read the environment of others (that takes CAP_SYS_PTRACE) finds jobs by their control group, where
    Slurm gives them one; such a process is taken for one of this node.
    """

    def __init__(self, proc: Path | str = "/proc") -> None:
        self.proc = Path(proc)

    def continue_all(self, node: str) -> int:
        """Send SIGCONT to all stopped processes of a node's jobs; return of how many jobs they were."""
        jobs: set[bytes] = set()
        for folder in self.proc.glob("[0-9]*"):
            with contextlib.suppress(OSError, IndexError):
                if (folder / "stat").read_bytes().rpartition(b")")[2].split()[0] != b"T":
                    continue
                job = self._job(folder, node.encode())
                if job:
                    os.kill(int(folder.name), signal.SIGCONT)
                    jobs.add(job)
        return len(jobs)

    @staticmethod
    def _job(folder: Path, node: bytes) -> bytes:
        """Return the number of the job that a process is of, on this node; nothing if it is of none."""
        try:
            pairs = (pair.partition(b"=") for pair in (folder / "environ").read_bytes().split(b"\0"))
        except OSError:
            found = GROUP.search((folder / "cgroup").read_bytes())
            return found[1] if found is not None else b""
        told = {key: value for key, _, value in pairs}
        return told.get(b"SLURM_JOB_ID", b"") if told.get(b"SLURMD_NODENAME") == node else b""


def open_local(jobs: Path | Literal["slurm"] | None) -> Local | None:
    """Return who continues the jobs of a node: by the launcher's files, Slurm's processes, or nobody."""
    if jobs is None:
        return None
    return ProcessGroups(jobs) if isinstance(jobs, Path) else SlurmProcesses()


def _start_ticks(pid: int) -> int:
    """Return when a process began, in ticks since the machine did."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
