"""Feed the facts of a live run back: the same passes must decide the same, and a run that was cut off goes on.

``replay`` begins where the log begins and compares; ``recover`` begins with the newest checkpoint and returns the
ledger as it was when the log ends.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wattline.errors import TraceError
from wattline.live.controller.journal import checkpoint as checkpoints
from wattline.live.controller.journal import facts_file as form
from wattline.live.controller.journal.record import Record
from wattline.live.controller.ledger import Batch, Ledger
from wattline.wiring.bound import Bound

FACTS, CHECKPOINTS = "facts", "checkpoints"
"""Folders in the folder of a live run."""

Build = Callable[[Mapping[str, Any]], Bound]
"""Makes the state and the policies again from what the start record says."""

Hear = Callable[[Mapping[str, Any], Ledger], None]
"""Is told every note, and the ledger as it was then."""


@dataclass
class Replayed:
    """What a replay found."""

    ticks: int = 0
    facts: int = 0
    passes: int = 0
    actions: int = 0
    bids: int = 0
    checkpoints: int = 0
    starts: int = 0
    difference: str = ""
    """The first one, in a line (nothing: all was identical)."""
    inexact: list[str] = field(default_factory=list)
    """Where ticks are missing: what follows up to the next checkpoint cannot be compared."""
    said: list[str] = field(default_factory=list)
    ended: bool = False
    """Whether the run ended in an orderly way."""

    @property
    def identical(self) -> bool:
        """Whether everything that could be compared was the same."""
        return not self.difference


class _Player:
    """Plays frames on a ledger."""

    def __init__(self, build: Build, hear: Hear | None, folder: Path, *, records: bool) -> None:
        self.build, self.hear, self.folder, self.records = build, hear, folder, records
        self.ledger: Ledger | None = None
        self.found = Replayed()
        self.start: dict[str, Any] = {}
        self.lost = False
        self._digests: dict[int, int] = {}

    def play(self, frame: form.Frame) -> None:
        """Feed a tick to the ledger and compare."""
        self.found.ticks += 1
        for kind, data in frame.records:
            if kind == form.BATCH and not self.lost:
                self._batch(form.unpack_batch(data), frame)
            elif kind == form.PASS and not self.lost:
                self._pass(form.unpack_pass(data), frame)
            elif kind == form.BID and not self.lost:
                self._bid(data, frame)
            elif kind not in (form.BATCH, form.PASS, form.BID):
                self._words(kind, json.loads(data), frame)
            if self.found.difference:
                return

    def at(self, frame: form.Frame) -> str:
        """Say where a frame stands."""
        time_s = f", {self.ledger.state.now[0]:.3f} s" if self.ledger is not None else ""
        return f"{frame.file.name}, byte {frame.offset}, tick {frame.number}{time_s}"

    def _of(self, frame: form.Frame) -> Ledger:
        if self.ledger is None:
            raise TraceError.at(frame.file, "facts before any start", hint="is the first file of the log missing?")
        return self.ledger

    def _batch(self, batch: Batch, frame: form.Frame) -> None:
        ledger = self._of(frame)
        self.found.facts += len(batch.facts)
        again = Batch(batch.facts, batch.extents, np.zeros_like(batch.results), batch.names)
        ledger.apply(again)
        if not np.array_equal(again.results, batch.results):
            i = int(np.argmax(again.results != batch.results))
            self.found.difference = (
                f"{self.at(frame)}: fact {i} of a batch gave {again.results[i]}, in the log {batch.results[i]}"
            )

    def _pass(self, passed: form.Passed, frame: form.Frame) -> None:
        ledger = self._of(frame)
        self.found.passes += 1
        self.found.actions += passed.actions
        n = ledger.control(passed.only)
        checksum = ledger.checksum()
        if (n, checksum) != (passed.actions, passed.checksum):
            was, now = f"{passed.actions} ({passed.checksum:08x})", f"{n} ({checksum:08x})"
            self.found.difference = f"{self.at(frame)}: a pass decided {now} actions, in the log {was}"

    def _bid(self, data: bytes, frame: form.Frame) -> None:
        made = self._of(frame).bid() or ()
        self.found.bids += 1
        if form.pack_bid(made) != data:
            told = np.frombuffer(data).tolist()
            self.found.difference = f"{self.at(frame)}: a bid came out as {list(made)}, in the log {told}"

    def _words(self, kind: int, words: Mapping[str, Any], frame: form.Frame) -> None:
        if kind == form.START:
            self.start = dict(words)
            self.found.starts += 1
            if self.ledger is None or not words.get("goes_on"):
                self.ledger = Ledger(self.build(words), record=Record() if self.records else None)
                self.ledger.bound.__enter__()
                self.lost = False
        elif kind == form.GAP:
            self.lost = True
            self.found.inexact.append(
                f"{self.at(frame)}: {words['ticks']} ticks before it are missing (the disk took none)"
            )
        elif kind == form.CHECKPOINT:
            self._checkpoint(int(words["number"]))
        elif kind == form.END and not self.lost:
            self.found.ended = True
            self._compare(
                int(words["digest"]), checkpoints.take(self._of(frame), frame.number).digest(), self.at(frame)
            )
        elif kind == form.NOTE:
            number = words.get("number", -1)
            if words.get("what") == "digest" and number in self._digests:
                self._compare(int(words["digest"]), self._digests.pop(number), f"checkpoint {number}")
            if self.hear is not None and not self.lost:
                self.hear(words, self._of(frame))

    def _checkpoint(self, number: int) -> None:
        """Compare the state with a checkpoint's later; after a gap, go on from its file if it is still there."""
        self.found.checkpoints += 1
        if not self.lost and self.ledger is not None:
            self._digests = {number: checkpoints.take(self.ledger, number).digest()}
            return
        path = self.folder / CHECKPOINTS / f"{number:012d}{checkpoints.SUFFIX}"
        if path.exists() and self.start:
            self.ledger = checkpoints.restore(checkpoints.read(path), self.build(self.start))
            self.ledger.bound.__enter__()
            self.lost = False

    def _compare(self, logged: int, found: int, where: str) -> None:
        if logged != found:
            self.found.difference = f"{where}: the state's checksum is {found:08x}, in the log {logged:08x}"


def replay(folder: Path, build: Build, hear: Hear | None = None, *, records: bool = False) -> Replayed:
    """Feed a whole log to a fresh ledger and compare results, actions and states with what the run noted.

    With ``records`` the ledger keeps what a journal needs, for a ``hear`` that makes some.
    """
    if not form.files_of(folder / FACTS):
        raise TraceError.at(folder, "has no log of facts", hint="give the folder that `wattline controller` writes")
    player = _Player(build, hear, folder, records=records)
    for frame in form.read_log(folder / FACTS, player.found.said):
        if player.ledger is None and not player.lost and frame.records and frame.records[0][0] != form.START:
            player.found.inexact.append(f"{player.at(frame)}: the log begins here, earlier files were removed")
            player.lost = True
            player.start = _start_of(folder, player.found.said)
        player.play(frame)
        if player.found.difference:
            break
    return player.found


def _start_of(folder: Path, said: list[str]) -> dict[str, Any]:
    """Return what the newest checkpoint says of the start of the run."""
    kept = checkpoints.newest(folder / CHECKPOINTS, said)
    return {} if kept is None else dict(kept.words["extra"].get("start", {}))


@dataclass
class Recovered:
    """A run as it was when its log ends."""

    ledger: Ledger
    start: dict[str, Any]
    extra: dict[str, Any]
    """What was kept beside the checkpoint by whoever took it."""
    time_s: float
    from_checkpoint: bool
    found: Replayed


def recover(folder: Path, build: Build, hear: Hear | None = None) -> Recovered | None:
    """Return the run that a log tells of, up to its end (None: there is none, or ticks are missing at its end).

    Nothing is compared but what comes for free: a difference means that this is another Wattline, and is an error.
    """
    said: list[str] = []
    kept = checkpoints.newest(folder / CHECKPOINTS, said)
    player = _Player(build, hear, folder, records=True)
    player.found.said = said
    first = ""
    if kept is not None:
        player.start = dict(kept.words["extra"].get("start", {}))
        player.ledger = checkpoints.restore(kept, build(player.start))
        player.ledger.bound.__enter__()
        first = _file_of(folder / FACTS, kept.number)
    for frame in form.read_log(folder / FACTS, said, first=first):
        if kept is None or frame.number > kept.number:
            player.play(frame)
        if player.found.difference:
            raise TraceError(f"the run cannot be carried on: {player.found.difference}")
    if player.ledger is None or player.lost:
        return None
    extra = {} if kept is None else dict(kept.words["extra"])
    time_s = float(player.ledger.state.now[0])
    return Recovered(player.ledger, player.start, extra, time_s, kept is not None, player.found)


def _file_of(folder: Path, number: int) -> str:
    """Return the name of the file that has a tick: the last one that begins with it or an earlier one."""
    name = ""
    for path in form.files_of(folder):
        first = form.first_number(path)
        if first is not None and first <= number:
            name = path.name
    return name
