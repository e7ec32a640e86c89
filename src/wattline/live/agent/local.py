"""Jobs of this node that somebody stopped: the agent lets them go on when nobody leads it any more."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from pathlib import Path
from typing import Protocol

STOPPABLE = ("starting", "running", "paused")
MOST_BYTES = 1_000_000


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


def _start_ticks(pid: int) -> int:
    """Return when a process began, in ticks since the machine did."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
