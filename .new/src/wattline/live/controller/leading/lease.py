"""Who leads: a lease in a shared folder that one controller holds, renews, and loses in time for another to take over.

No two clocks are ever compared. The leader counts from *before* it renews, a standby from when it *saw* the last
change, each by its own clock: so the leader has stopped before the standby begins, whatever their clocks say. The file
is locked only while it is read and written anew. It has two places, written in turn and each with a checksum: a write
that was cut off leaves the one before.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from wattline.errors import RunError, TraceError
from wattline.files import as_its_folder

PLACE = 512
"""Bytes of each of the two places of the file."""


class LeaseLost(RunError):  # noqa: N818  (it is what happened, not a mistake)
    """This controller leads no more: it must not act. One line says why."""


@dataclass(frozen=True)
class Held:
    """What the file says."""

    term: int
    """Rises with every takeover."""
    owner: str
    """Nobody: the lease was given up."""
    beat: int
    """Rises with every write."""
    lease_s: float


def since_boot_s() -> float:
    """Return seconds that go on while the machine sleeps, and that nobody can set."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Lease:
    """The lease as one controller sees it.

    Parameters
    ----------
    path
        The file, which all controllers of a site share.
    owner
        A name that no other process has: machine, number of the process and a few random digits.
    lease_s
        How long the leader may act after it has renewed.
    margin_s
        How much longer a standby waits: clocks may go at rates that differ by ``margin_s / lease_s``.
    now
        A clock that is never set.
    at_least
        The highest term that this controller has met elsewhere (its log, its agents): its own will be higher.
    """

    def __init__(
        self,
        path: Path,
        owner: str,
        *,
        lease_s: float = 5.0,
        margin_s: float = 1.0,
        now: Callable[[], float] = since_boot_s,
        at_least: int = 0,
    ) -> None:
        self.path, self.owner, self.lease_s, self.margin_s = Path(path), owner, lease_s, margin_s
        self.at_least = at_least
        self.term = 0
        """Ours (0: we do not lead)."""
        self.after = ""
        """From whom we took it over without his word (nobody: it was free, or given up)."""
        self.problem = ""
        """Why the last try to renew or to take over did not get through (nothing: it did)."""
        self._now = now
        self._until_s = 0.0
        self._seen: Held | None = None
        self._since_s = 0.0

    # -------------------------------------------------------------- the leader

    def leads(self) -> bool:
        """Tell whether we may act now."""
        return self.term > 0 and self._now() < self._until_s

    def check(self) -> int:
        """Return our term; to be called right before every act. Raise ``LeaseLost`` where the lease has ended."""
        if self.term == 0:
            raise LeaseLost(f"{self.path}: we do not hold the lease")
        if self._now() >= self._until_s:
            raise self._lost(f"not renewed within {self.lease_s:g} s{self._because()}")
        return self.term

    def renew(self) -> bool:
        """Renew our lease; return False where that could not be done yet. Raise ``LeaseLost`` where it is too late."""
        self.check()
        began_s = self._now()
        with self._locked() as file:
            if file < 0:
                return False
            held = self._read(file)
            if held is None or held.term != self.term or held.owner != self.owner:
                who = "it is gone" if held is None else f"term {held.term} of {held.owner or 'nobody'}"
                raise self._lost(f"taken over: {who}")
            self._write(file, Held(self.term, self.owner, held.beat + 1, self.lease_s))
            if self.problem:
                return False
        self._until_s = began_s + self.lease_s
        self.check()
        return True

    def rise(self, above: int) -> bool:
        """Lead on with a term above one that was met elsewhere; return False where that could not be written."""
        self.check()
        with self._locked() as file:
            held = self._read(file) if file >= 0 else None
            if held is None or held.term != self.term or held.owner != self.owner:
                return False
            self._write(file, Held(above + 1, self.owner, held.beat + 1, self.lease_s))
            if self.problem:
                return False
        self.term = above + 1
        return True

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Renew the lease in a thread while something takes its time; nobody else may use it meanwhile."""
        done = threading.Event()

        def renew() -> None:
            with contextlib.suppress(LeaseLost):  # whoever acts next finds it out
                while not done.wait(self.lease_s / 4.0):
                    self.renew()

        thread = threading.Thread(target=renew, name="lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def give_up(self) -> None:
        """Let a standby take over at once: we have stopped acting."""
        term, self.term = self.term, 0
        if term == 0:
            return
        with self._locked() as file:
            held = self._read(file) if file >= 0 else None
            if held is not None and held.term == term and held.owner == self.owner:
                self._write(file, Held(term, "", held.beat + 1, 0.0))

    # -------------------------------------------------------------- a standby

    @property
    def seen(self) -> Held | None:
        """Return who held it at the last try to lead (None: nobody)."""
        return self._seen

    def try_to_lead(self) -> bool:
        """Take over where the leader has not renewed for its lease and our margin, as we saw it; to be called often."""
        began_s = self._now()
        with self._locked() as file:
            if file < 0:
                return False
            held = self._read(file)
            seen_s = self._now()
            if held is not None and held.owner:
                if held != self._seen:
                    self._seen, self._since_s = held, seen_s
                    return False
                if seen_s - self._since_s < max(held.lease_s, self.lease_s) + self.margin_s:
                    return False
            ours = Held(
                1 + max(self.at_least, 0 if held is None else held.term),
                self.owner,
                1 if held is None else held.beat + 1,
                self.lease_s,
            )
            self._write(file, ours)
            if self.problem:
                return False
        self.term, self._until_s = ours.term, began_s + self.lease_s
        self.after = "" if held is None else held.owner
        return self.leads()

    def is_held(self) -> bool:
        """Tell whether somebody renews it, as we saw it; for those who only look, and look often."""
        if not self.path.exists():
            return False
        held, now_s = self.holder(), self._now()
        if held is None or not held.owner:
            return False
        if held != self._seen:
            self._seen, self._since_s = held, now_s
        return now_s - self._since_s < max(held.lease_s, self.lease_s) + self.margin_s

    def holder(self) -> Held | None:
        """Return who holds the lease by the file (None: nobody ever did)."""
        with self._locked() as file:
            return self._read(file) if file >= 0 else self._seen

    # -------------------------------------------------------------- the file

    def _because(self) -> str:
        return f" ({self.problem})" if self.problem else ""

    def _lost(self, why: str) -> LeaseLost:
        self.term = 0
        return LeaseLost(f"{self.path}: the lease is lost, so nothing is done any more: {why}")

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Lock the file and yield it; -1 where another has it locked, or where it cannot be reached."""
        self.problem, file = "", -1
        try:
            new = not self.path.exists()
            file = os.open(
                self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
            )  # a user who can read it can lock it
            if new:
                as_its_folder(self.path)  # root says off, and a user leads
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.problem = "another process has it locked" if isinstance(error, BlockingIOError) else str(error)
            if file >= 0:
                os.close(file)
            file = -1
        try:
            yield file
        finally:
            if file >= 0:
                os.close(file)  # which unlocks it

    def _read(self, file: int) -> Held | None:
        content = os.pread(file, 2 * PLACE, 0)
        if not content:
            return None
        found = [one for one in (_parse(content[:PLACE]), _parse(content[PLACE:])) if one is not None]
        if not found:
            raise TraceError.at(self.path, "is no lease of Wattline", hint="stop all controllers, then remove it")
        return max(found, key=lambda one: one.beat)

    def _write(self, file: int, held: Held) -> None:
        """Write into the place that does not hold the newest; what is written is on the disk when this returns."""
        body = json.dumps([held.term, held.owner, held.beat, held.lease_s])
        line = f"{zlib.crc32(body.encode()):08x} {body}".encode()
        if len(line) >= PLACE:
            raise RunError(f"{self.path}: the owner's name is too long: {held.owner!r}")
        try:
            os.pwrite(file, line.ljust(PLACE - 1) + b"\n", PLACE * (held.beat % 2))
            os.fsync(file)
        except OSError as error:
            self.problem = str(error)


def _parse(place: bytes) -> Held | None:
    """Return what a place of the file says (None: nothing whole)."""
    checksum, _, body = place.strip(b"\x00 \n").partition(b" ")
    try:
        if int(checksum, 16) != zlib.crc32(body):
            return None
        term, owner, beat, lease_s = json.loads(body)
        return Held(int(term), str(owner), int(beat), float(lease_s))
    except ValueError:
        return None
