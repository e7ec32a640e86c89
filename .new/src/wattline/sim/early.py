"""Processes that compile, started before it is known what: they load numba's compiler while the command reads its
input.

Loading it takes a second, and so does what a command does before it knows its policies. Where nothing was ever
compiled from these sources, something will be. Whoever is not needed after all ends with the command.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys

from wattline.kernel.sources import cache_root, fingerprint

WORKER = "from wattline.sim.warm import work; work()"
MOST_WORKERS = 4
"""More would mostly compile the same helpers again."""

COMMANDS = ("run", "replay", "whatif", "compare", "sweep", "bid")
"""Commands that simulate, whatever their flags say."""

_waiting: list[subprocess.Popen[str]] = []


def workers() -> int:
    """Return how many processes compile side by side."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_WORKERS)


def begin(arguments: list[str]) -> None:
    """Start processes for a command that will have to compile: nothing was compiled from these sources yet."""
    simulates = bool(arguments) and arguments[0] in COMMANDS and "--help" not in arguments
    root = cache_root()
    if (
        not simulates
        or os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
        or root is None
        or os.path.exists(root / fingerprint())  # noqa: PTH110  (a folder that may not be looked into is no error)
    ):
        return
    atexit.register(_end)
    with contextlib.suppress(OSError):  # no more processes: those who compile try again, and say it
        while len(_waiting) < workers():
            _waiting.append(start(WORKER))


def take(worker: str) -> subprocess.Popen[str]:
    """Return a process that compiles what it is told: one that was started early, or a new one."""
    return _waiting.pop() if worker == WORKER and _waiting else start(worker)


def start(worker: str) -> subprocess.Popen[str]:
    """Start a process that reads what to do, line by line, and says what it has done."""
    return subprocess.Popen(  # noqa: S603  (this very interpreter)
        [sys.executable, "-c", worker],
        start_new_session=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def _end() -> None:
    """End those whom nobody needed."""
    while _waiting:
        unneeded = _waiting.pop()
        unneeded.kill()
        unneeded.communicate()
