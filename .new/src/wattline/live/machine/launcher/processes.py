"""Processes by number and beginning: asked for and signalled only while they are the ones that were meant."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

STOPPED, DEAD = "Tt", "ZXx"
"""Letters of the kernel for a process that is stopped, and for one that is no more."""


def boot_id() -> str:
    """Return what names this life of the machine: pids and ticks of another life mean nothing."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def look(pid: int, ticks: int) -> str:
    """Return the kernel's letter for a process, or nothing when it is gone or another one has its number."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123  (thousands of them a second)
            fields = file.read().rpartition(b")")[2].split()
    except (OSError, ValueError):
        return ""
    if len(fields) < 20 or int(fields[19]) != ticks:
        return ""
    letter = fields[0].decode("ascii")
    return "" if letter in DEAD else letter


def signal_group(pgid: int, ticks: int, number: int) -> bool:
    """Send a signal to a process group if its leader is the one that was meant; tell whether it was."""
    if pgid <= 1 or not look(pgid, ticks):
        return False
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pgid, number)
        return True
    return False


def end_strays(pgid: int, session: int, ticks: int) -> int:
    """Kill what is left of a group whose leader and keeper are gone; return how many processes that were.

    A process counts if it is in the group and in the session that the keeper made, and began after the leader. Whoever
    has the number of the group itself is another process, and so is whoever made a session of that number.
    """
    ended = 0
    if pgid == session:
        return 0
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit() or int(entry.name) == pgid:
            continue
        try:
            with open(f"/proc/{entry.name}/stat", "rb") as file:  # noqa: PTH123
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if len(fields) > 19 and (int(fields[2]), int(fields[3])) == (pgid, session) and int(fields[19]) >= ticks:
            with contextlib.suppress(OSError):
                os.kill(int(entry.name), signal.SIGKILL)
                ended += 1
    return ended


def watch(pid: int, ticks: int) -> int | None:
    """Return a handle that becomes readable when a process ends, or None when it has ended."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return None
    if not look(pid, ticks):  # asked after the handle is held: it cannot change hands any more
        os.close(handle)
        return None
    return handle
