"""Which sources compiled code comes from, and where it is kept: without numba, so that a command can look before it
loads anything.
"""

from __future__ import annotations

import functools
import hashlib
import os
from pathlib import Path

KERNEL_ROOMS = ("kernel", "model", "physics", "theory", "policies", "learn", "control", "sim")
"""Packages that hold compiled code; a test sees to it that no other module uses a decorator of ``compiled``."""


@functools.cache
def fingerprint() -> str:
    """Return a hash of every source file that compiled code can come from: it is reused only while none has changed."""
    root = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for room in KERNEL_ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            digest.update(str(path.relative_to(root)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cache_root() -> Path | None:
    """Return the folder in which compiled code of all versions of the sources is kept.

    None for a user without a home, as in many containers.
    """
    asked = os.environ.get("WATTLINE_CACHE_DIR")
    if asked:
        return Path(asked)
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / "wattline"
    try:
        return Path.home() / ".cache" / "wattline"
    except RuntimeError:
        return None
