"""Whether something fits into this machine's memory: asked before it is made, so that far too much is refused in one
line.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from functools import cache
from pathlib import Path

from wattline.errors import InputError

_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where Linux keeps what a container may use at most."""


LEAST_ROOM, ROOM_A_CORE = 2e9, 1e8
"""Bytes of addresses that the compiler and the reader of tables need before they work at all (measured: 1.5 GB on two
cores).
"""


def address_bytes() -> float:
    """Return how much address space this process may have (``ulimit -v``); infinite without a limit."""
    try:
        import resource
    except ImportError:
        return float("inf")
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return float("inf") if soft == resource.RLIM_INFINITY else float(soft)


def require_room() -> None:
    """Refuse to begin where libraries could not be loaded: they would end the process without a word of ours."""
    needed = LEAST_ROOM + ROOM_A_CORE * (os.cpu_count() or 1)
    if address_bytes() < needed:
        raise InputError(
            f"this process may have {show_bytes(address_bytes())} of address space only, Wattline needs "
            f"{show_bytes(needed)}; "
            "raise the limit (ulimit -v)"
        )


@cache
def machine_bytes() -> float:
    """Return the memory of this machine or container; infinite if the system does not say."""
    found = [address_bytes()]
    try:
        found.append(float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")))
    except (ValueError, OSError, AttributeError):
        found.append(float("inf"))
    for path in _LIMITS:
        try:
            found.append(float(path.read_text()))
        except (OSError, ValueError):  # not there, or "max"
            continue
    return min(found)


def require_bytes(needed: float, what: str) -> None:
    """Refuse to make something that is larger than the machine's memory."""
    if needed > machine_bytes():
        raise _too_much(needed, what)


HUGE_FROM = 1 << 22
"""Bytes from which a piece of memory is asked for in huge pages: a thousandth of the faults when it is first touched.
"""


def map_bytes(count: int, what: str) -> mmap.mmap:
    """Return so much zeroed memory in one piece, which is this process's alone."""
    require_bytes(count, what)
    try:
        if not hasattr(mmap, "MAP_PRIVATE"):  # not on Windows
            return mmap.mmap(-1, count)
        room = mmap.mmap(-1, count, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError):
        raise _too_much(count, what) from None
    if count >= HUGE_FROM and hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel without them
            room.madvise(mmap.MADV_HUGEPAGE)
    return room


def show_bytes(count: float) -> str:
    """Return a number of bytes as people say it.

    >>> show_bytes(2_500_000_000), show_bytes(1.8e15), show_bytes(999)
    ('2.5 GB', '1,800 TB', '999 B')
    """
    for prefix, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            shown = count / factor
            return f"{shown:.3g} {prefix}" if shown < 999.5 or shown > 1e12 else f"{shown:,.0f} {prefix}"
    return f"{count:.0f} B"


def _too_much(needed: float, what: str) -> InputError:
    return InputError(
        f"{what} would take about {show_bytes(needed)} of memory, this machine has {show_bytes(machine_bytes())}"
    )
