"""From one controller to the next without a moment in which nobody leads: who waits says so, who ends looks for him.

Whoever stands by writes a number into a file of his name in the journal's folder, again and again. A leader that is
told to end looks whether such a number still rises. If so it leaves caps and stopped jobs as they are, renews the caps
once more, closes its journal and gives the lease up; the other leads before the caps' leases end. Clocks are not
compared.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from wattline.live.controller.leading.lease import Lease

WAITS = "waits-"
LOOK_S, TAKEN_S, TURN_S = 2.0, 5.0, 0.05
"""Seconds of the wall: for a number to rise, for the lease to be taken, between two looks."""


class Waiting:
    """The word of one who stands by."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path, self._number = folder / f"{WAITS}{name}", 0

    def say(self) -> None:
        """Say it once more; a disk that is full makes nobody end.

        The file stays the same one: on a network's file system another host sees at once what is in it, and a new file
        of its name half a minute later.
        """
        self._number += 1
        with contextlib.suppress(OSError):
            self._path.write_text(f"{self._number}\n", encoding="utf-8")

    def end(self) -> None:
        """Say it no more."""
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)


def somebody_waits(folder: Path, monotonic: Callable[[], float], rest: Callable[[float], None]) -> bool:
    """Tell whether somebody stands by now: at once where nobody ever said so, otherwise after a moment."""
    before, until_s = _numbers(folder), monotonic() + LOOK_S
    while before and monotonic() < until_s:
        rest(TURN_S)
        if any(before.get(name, text) != text for name, text in _numbers(folder).items()):
            return True
    return False


def taken(lease: Lease, monotonic: Callable[[], float], rest: Callable[[float], None]) -> bool:
    """Give the lease up and tell whether somebody took it; where nobody did it is ours again."""
    lease.give_up()
    until_s = monotonic() + TAKEN_S
    while monotonic() < until_s:
        held = lease.holder()
        if held is not None and held.owner:
            return True
        rest(TURN_S)
    return not lease.try_to_lead()


def _numbers(folder: Path) -> dict[str, str]:
    found = {}
    for path in folder.glob(f"{WAITS}*"):
        with contextlib.suppress(OSError):
            found[path.name] = path.read_text(encoding="utf-8", errors="replace")
    return found
