"""A job of an emulated machine: works for some machine seconds, at the speed of the slowest of its nodes.

Run by path or as a module; of the standard library alone, so that it starts at once::

    python work.py SECONDS [--speed-file FILE] [--clock-speed X]

FILE holds a number, the speed of a node (1: nothing slows it down; also where the file is missing or unreadable);
``{node}`` in it stands for each node of WATTLINE_NODE_LIST. X is machine seconds in a second. While it is stopped
(SIGSTOP) no work is done: a signal tells it that it was, and the step in which that happened does not count.
"""

from __future__ import annotations

import os
import signal
import sys
import time

STEP_S = 0.05
"""Seconds after which the speed is read again."""
LONGEST_STEP_S = 1.0
"""No step counts for more, however busy the machine is: what took longer was no work."""


def read_speed(path: str) -> float:
    """Return the speed of a node, 1 where nobody tells it."""
    try:
        handle = os.open(path, os.O_RDONLY)
        try:
            speed = float(os.read(handle, 64))
        finally:
            os.close(handle)
    except (OSError, ValueError):
        return 1.0
    return speed if 0.0 <= speed <= 1.0 else 1.0


def work(work_s: float, files: list[str], clock_speed: float = 1.0) -> None:
    """Return when the work is done."""
    continued: list[int] = []
    signal.signal(signal.SIGCONT, lambda number, _: continued.append(number))
    done_s, before = 0.0, _began()
    while done_s < work_s:
        speed = min(map(read_speed, files), default=1.0) * clock_speed
        time.sleep(min(STEP_S, (work_s - done_s) / speed if speed > 0.0 else STEP_S))
        now = time.monotonic()
        if continued:
            continued.clear()
        else:
            done_s += min(now - before, LONGEST_STEP_S) * speed
        before = now


def _began() -> float:
    """Return when the launcher let this job go: on a fast clock the start of a program takes machine seconds, and the
    nodes draw power all that time.
    """
    now = time.monotonic()
    try:
        told = float(os.environ["WATTLINE_BEGAN"])
    except (KeyError, ValueError):
        return now
    return told if now - LONGEST_STEP_S <= told <= now else now


def command_line(work_s: float, speed_file: str = "", clock_speed: float = 1.0) -> list[str]:
    """Return the command that works for some seconds."""
    flags = ["--speed-file", speed_file] if speed_file else []
    return [sys.executable, "-I", "-S", __file__, f"{work_s:.9g}", *flags, "--clock-speed", f"{clock_speed:.9g}"]


def main(words: list[str]) -> int:
    """Work as the command line says."""
    flags = dict(zip(words[1::2], words[2::2], strict=False))
    try:
        work_s, clock_speed = float(words[0]), float(flags.pop("--clock-speed", "1"))
        path = flags.pop("--speed-file", "")
        right = not flags and len(words) % 2 == 1 and work_s >= 0.0 and clock_speed > 0.0
    except (IndexError, ValueError):
        right = False
    if not right:
        sys.stderr.write("work: expected SECONDS [--speed-file FILE] [--clock-speed X]\n")
        return 2
    nodes = os.environ.get("WATTLINE_NODE_LIST", "").split(",")
    work(work_s, [path.replace("{node}", node) for node in nodes] if path else [], clock_speed)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
