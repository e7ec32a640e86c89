"""A finding of the doctor, and the machine that it looks at: everything that tests replace."""

from __future__ import annotations

import errno
import importlib.metadata
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Level = Literal["ok", "warn", "fail"]
LEVELS: tuple[Level, ...] = ("ok", "warn", "fail")
ANSWER_S = 10.0
"""Seconds that a command may take."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    level: Level
    what: str
    """A word or two: python, key, clock, slurm …"""
    text: str
    change: str = ""
    """What to do about it; nothing where all is well."""

    def line(self) -> str:
        """Return it in a line: what is wrong — what to change."""
        return f"{self.level:<5}{self.what}: {self.text}" + (f" — {self.change}" if self.change else "")


def run(command: Sequence[str]) -> str | None:
    """Return what a command says; None where it is not installed, fails, or does not end."""
    program = shutil.which(command[0])
    if program is None:
        return None
    try:
        done = subprocess.run(  # noqa: S603  (fixed words, no shell)
            [program, *command[1:]],
            capture_output=True,
            check=False,
            text=True,
            timeout=ANSWER_S,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    return done.stdout if done.returncode == 0 else None


def version_of(package: str) -> str | None:
    """Return the version of an installed package; None where it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def free_bytes(path: Path) -> int:
    """Return how much room there is where a path is, or will be."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return shutil.disk_usage(path).free


def has_address(host: str) -> bool:
    """Tell whether this computer can listen on an address; a name that nobody knows may be that of an interface."""
    try:
        found = socket.getaddrinfo(host.strip("[]"), 0, type=socket.SOCK_STREAM)
    except OSError:
        return True
    for family, kind, _, _, address in found:
        with socket.socket(family, kind) as one:
            try:
                one.bind(address)
            except OSError as problem:
                if problem.errno == errno.EADDRNOTAVAIL:
                    continue
            return True
    return False


@dataclass
class Machine:
    """What the doctor looks at; tests give their own."""

    run: Callable[[Sequence[str]], str | None] = run
    version_of: Callable[[str], str | None] = version_of
    free_bytes: Callable[[Path], int] = free_bytes
    has_address: Callable[[str], bool] = has_address
    load: Callable[[], float] = lambda: os.getloadavg()[0]
    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    rest: Callable[[float], None] = time.sleep
    python: tuple[int, int] = field(default_factory=lambda: (sys.version_info[0], sys.version_info[1]))
    proc: Path = Path("/proc")
    user: int = field(default_factory=os.geteuid)


def worst(findings: Sequence[Finding]) -> Level:
    """Return the worst level."""
    return max((finding.level for finding in findings), key=LEVELS.index, default="ok")
