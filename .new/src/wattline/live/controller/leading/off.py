"""Letting a machine go: who says off, who hears it, and what came of it, thing by thing."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wattline.errors import TraceError
from wattline.files import as_its_folder, write_whole
from wattline.live.bus.base import Bus
from wattline.live.bus.inbox import Inbox
from wattline.live.bus.messages import Outbox
from wattline.live.bus.names import Topics
from wattline.live.clock import Clock
from wattline.live.controller.leading.lease import LeaseLost
from wattline.live.controller.seen.meters import Meters

OFF = "off"
"""A file of this name in the journal's folder, touched by ``wattline off``, ends controllers in an orderly way."""
FREED = "let-go.json"
"""Where a controller that ends writes which nodes did not say that they are free."""
ENDED = "ended-by-off"
"""A file of this name in the journal's folder: off has ended a controller that hung."""
STARTS_AGAIN_S = 60.0
"""Seconds within which a unit starts again what was killed."""
KILLED_S = 5.0
"""Seconds within which the system has ended a process that was killed."""
OFF_WAIT_S, OFF_AGAIN_S, OFF_LEAST = 7.0, 0.2, 3
"""Seconds (of the wall) for which off is said at most, how often, and how many times at least."""


@dataclass
class LetGo:
    """What came of an off: what was released, what was not and why; nobody need read lines to know whether all was."""

    notes: list[str] = field(default_factory=list)
    """What happened on the way."""
    released: list[str] = field(default_factory=list)
    """Like ``node n001`` or ``job 17``."""
    kept: dict[str, str] = field(default_factory=dict)
    """What was not released, and why."""

    def lines(self, most: int) -> list[str]:
        """Return all of it in lines for people: what was not released in one each, up to so many."""
        nodes = sum(one.startswith("node ") for one in self.released)
        told = [f"released: {nodes} nodes, which have put back what they found"] if nodes else []
        told += [f"released: {one}" for one in self.released if not one.startswith("node ")]
        if len(told) > most:
            told = [*told[:most], f"released: {len(told) - most} more"]
        kept = [f"NOT released: {what}: {why}" for what, why in self.kept.items()]
        if len(kept) > most:
            kept = [*kept[:most], f"NOT released: {len(kept) - most} more (--json names all)"]
        return [*self.notes, *told, *kept]

    def data(self) -> dict[str, object]:
        """Return all of it as plain data."""
        return {"notes": self.notes, "released": self.released, "not released": self.kept}


class Off:
    """Whether somebody has said ``wattline off`` since this was made, or since ``began_s``; one of before is none.

    A controller takes seconds until it has read everything: what is said meanwhile is meant for it, too.
    """

    def __init__(self, folder: Path, began_s: float = math.inf) -> None:
        self._path = folder / OFF
        touched = self._touched()
        self._before = None if touched is not None and touched > began_s * 1e9 else touched

    def _touched(self) -> int | None:
        try:
            return self._path.stat().st_mtime_ns
        except OSError:
            return None

    def __call__(self) -> bool:
        """Tell it."""
        return self._touched() not in (None, self._before)


def process_began_s() -> float:
    """Return when this process began, by the wall's clock (now, where the system does not tell)."""
    try:
        ticks = int(Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return time.time()
    return time.time() - (time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))


def say_off(folder: Path) -> None:
    """Tell all controllers of a folder to end.

    What root says is the folder's owner's, who may say it again. The file stays: those who stand by see it too, and a
    later start does not mind.
    """
    path = folder / OFF
    try:
        path.touch()
    except PermissionError:  # somebody else's: it is the folder that counts
        path.unlink()
        path.touch()
    as_its_folder(path)


def end_hung(owner: str, folder: Path) -> str:
    """End the process of a controller that lost its lease because it hangs; return in words what was done, if anything.

    One that is stopped keeps its addresses, at which agents wait for the word. It is ended only where the name that it
    leads by is of this host, and the process of that number is a controller of Wattline. The folder keeps that it was.
    """
    host, _, rest = owner.rpartition("-")[0].rpartition("-")
    if not rest.isdigit():
        return ""
    if host != socket.gethostname():
        return f"it ran on {host} as process {rest}, and may keep its address"
    try:
        words = Path(f"/proc/{rest}/cmdline").read_bytes().split(b"\0")
        if not (b"controller" in words and any(b"wattline" in word for word in words)):
            return ""
        (folder / ENDED).touch()
        as_its_folder(folder / ENDED)
        os.kill(int(rest), signal.SIGKILL)
        until_s = time.monotonic() + KILLED_S
        while Path(f"/proc/{rest}/cmdline").read_bytes() and time.monotonic() < until_s:
            time.sleep(0.02)
    except PermissionError:
        return f"process {rest} hangs and is not ours to end; end it, and say off again"
    except OSError:
        pass  # it is gone
    return f"process {rest} hung and was ended"


def stays_ended(folder: Path) -> bool:
    """Tell whether this is the start that follows when an off has just ended a controller that hung; it counts once.

    A unit of systemd starts again whatever was killed: without this it would lead a machine that was let go.
    """
    path = folder / ENDED
    try:
        fresh = time.time() - path.stat().st_mtime < STARTS_AGAIN_S
        path.unlink()
    except OSError:
        return False
    return fresh


def note_freed(folder: Path, term: int, unheard: Sequence[str]) -> None:
    """Write down how the nodes were let go, for whoever said off; a disk that is full changes nothing of it."""
    with contextlib.suppress(TraceError):
        write_whole(folder / FREED, json.dumps({"term": term, "unheard": list(unheard)}).encode())


def read_freed(folder: Path, term: int) -> list[str] | None:
    """Return the nodes that the controller of a term did not hear to be free; None where it wrote nothing."""
    try:
        told = json.loads((folder / FREED).read_text(encoding="utf-8"))
        return [str(name) for name in told["unheard"]] if told["term"] == term else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def let_go(
    bus: Bus,
    inbox: Inbox,
    meters: Meters,
    outbox: Outbox,
    topics: Topics,
    clock: Clock,
    each_turn: Callable[[], object] | None = None,
    wait_s: float = OFF_WAIT_S,
) -> list[str]:
    """Say off until every node says that it is free; return those that did not within some seconds.

    An agent that was not connected hears it when it is, after 5 s at the latest.
    """
    until_s, turns = clock.monotonic() + wait_s, 0
    while True:
        try:
            if each_turn is not None:
                each_turn()
        except LeaseLost:
            return []
        bus.publish(topics.off, outbox.encode("off", {}))
        for message in inbox.take_all(bus.poll(OFF_AGAIN_S)):
            if message.kind == "status":
                meters.take(message.sender, message.body, message.at_s)
        turns += 1
        left = [name for name, mode in zip(meters.names, meters.mode, strict=True) if mode != "free"]
        if (not left and turns >= OFF_LEAST) or clock.monotonic() >= until_s:
            return left
