"""All that a live run leaves: its log of facts, its checkpoints and its journals, in one folder.

``facts/`` holds the log, ``checkpoints/`` the two newest checkpoints, ``journals/`` a folder for every hour. The
controller tells facts to ``ledger`` and calls ``tick`` once a tick; everything else happens here. A folder with a run
in it is carried on: the state is what it was, byte for byte, when the log ends.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from wattline.errors import WattlineError
from wattline.journal.journal import is_journal
from wattline.live.controller.journal import checkpoint as checkpoints
from wattline.live.controller.journal import facts_file as form
from wattline.live.controller.journal.checkpoint import Checkpoints
from wattline.live.controller.journal.facts_log import FactsLog, drop_before
from wattline.live.controller.journal.record import Record
from wattline.live.controller.journal.replay import CHECKPOINTS, FACTS, Build, Recovered, Replayed, recover, replay
from wattline.live.controller.journal.sealing import Part, Sealer
from wattline.live.controller.ledger import Ledger
from wattline.version import __version__
from wattline.wiring.bound import Bound

JOURNALS = "journals"
SINCE_1970_S = 1e8
"""A time beyond this is one of the calendar."""
COLUMNS = ("user", "group", "kind")


@dataclass
class Words:
    """Texts of jobs as codes: the state knows numbers alone."""

    names: dict[str, list[str]] = field(default_factory=lambda: {column: [] for column in COLUMNS})
    new: list[tuple[str, str]] = field(default_factory=list)
    """Those that the log does not have yet."""
    _codes: dict[tuple[str, str], int] = field(default_factory=dict)

    def code(self, column: str, text: str) -> int:
        """Return the code of a text, a new one where it is new; -1 for nothing."""
        if not text:
            return -1
        if (column, text) not in self._codes:
            self.learn(column, text)
            self.new.append((column, text))
        return self._codes[column, text]

    def learn(self, column: str, text: str) -> None:
        """Give a text the next code."""
        self._codes[column, text] = len(self.names[column])
        self.names[column].append(text)


@dataclass(frozen=True)
class Keeping:
    """How a live run is kept; seconds are the machine's."""

    checkpoint_s: float = 600.0
    seal_s: float = 3600.0
    keep_files: int = 0
    """Files of the log that are kept though they are sealed and before both checkpoints (0: all)."""
    file_bytes: int = 64 << 20
    waiting_bytes: int = 32 << 20


class LiveJournal:
    """Keeps a live run.

    Parameters
    ----------
    folder
        Where all of it goes.
    start
        What is run, as plain data, from which ``build`` makes the state again: at least ``site`` (the text of the
        controller's file), ``name`` and ``seed``.
    build
        Makes state and policies from that.
    say
        Told in a line what is cut off, goes wrong, or is over.
    carry_on
        Carry on the run in the folder, if there is one of the same ``start``; otherwise another begins behind it.
    """

    def __init__(
        self,
        folder: Path,
        start: Mapping[str, Any],
        build: Build,
        *,
        keeping: Keeping | None = None,
        say: Callable[[str], None] = lambda _: None,
        carry_on: bool = True,
    ) -> None:
        self.folder, self.start, self.keeping, self._say = Path(folder), dict(start), keeping or Keeping(), say
        self.words, self.sealer = Words(), Sealer()
        self.recovered = self._recover(build) if carry_on else None
        self.log = FactsLog(
            self.folder / FACTS,
            say=say,
            file_bytes=self.keeping.file_bytes,
            file_s=self.keeping.seal_s,
            waiting_bytes=self.keeping.waiting_bytes,
        )
        if self.recovered is not None:
            self.ledger = self.recovered.ledger
        else:
            self.ledger = Ledger(build(self.start), record=Record())
            self.ledger.bound.__enter__()
        self.ledger.keep, self.ledger.passed, self.ledger.bade = self.log.batch, self.log.passed, self.log.bade
        self.log.start({**self.start, "wattline": __version__, "goes_on": self.recovered is not None})
        self.checkpoints = Checkpoints(self.folder / CHECKPOINTS, self.log)
        now_s = float(self.ledger.state.now[0])
        self._checkpoint_at_s = now_s + self.keeping.checkpoint_s
        self._seal_at_s = _next(now_s, self.keeping.seal_s)
        self._sealing: Future[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sealing")
        self.sealed: deque[Path] = deque(maxlen=100)
        """The newest journals, the last of which may still be on its way."""
        self.longest_s = 0.0
        """The longest time that a tick took."""

    @property
    def record(self) -> Record:
        """What became of the jobs since the last journal."""
        assert isinstance(self.ledger.record, Record)  # noqa: S101
        return self.ledger.record

    def measure(self, power_w: float, nodes: int, target_w: float, limit_w: float) -> None:
        """Keep what the meters say now: power (NaN: not known), nodes that were heard, target (NaN: none), limit."""
        told = (float(self.ledger.state.now[0]), power_w, nodes, target_w, limit_w)
        self.record.measure(*told)
        self.log.note({"what": "measured", "values": told})

    def note(self, what: str, **more: Any) -> None:
        """Keep what was said or seen: a fault, a mode, a state of the signal."""
        self.log.note({"what": what, "time_s": float(self.ledger.state.now[0]), **more})

    def tick(self) -> None:
        """End a tick: what it told goes to the log; checkpoints and journals are made when they are due."""
        began = time.perf_counter()
        now_s = float(self.ledger.state.now[0])
        for column, text in self.words.new:
            self.log.note({"what": "word", "column": column, "text": text})
        self.words.new.clear()
        self.checkpoints.poll()
        self._finish_sealing()
        if now_s >= self._seal_at_s and self._sealing is None:
            self.seal()
        due = now_s >= self._checkpoint_at_s or self.log.gap
        if due and self._sealing is None and self.checkpoints.begin(self.ledger, self._extra()):
            self._checkpoint_at_s = now_s + self.keeping.checkpoint_s
        self.log.tick()
        self.longest_s = max(self.longest_s, time.perf_counter() - began)

    def seal(self) -> Path:
        """Let a journal of the time since the last one be written (in a thread); return its folder."""
        self._finish_sealing(wait=True)
        self.log.note({"what": "sealed", "number": self.sealer.number})
        part = self.sealer.cut(self.ledger, self.words.names)
        path = self._path(part)
        self._sealing = self._thread.submit(self._write, part)
        self.sealed.append(path)
        self._seal_at_s = _next(float(self.ledger.state.now[0]), self.keeping.seal_s)
        return path

    def close(self) -> None:
        """End the run in an orderly way: the last journal is sealed, and the state's checksum noted."""
        if self.ledger.state.now[0] > self.sealer.told.start_s or not self.sealer.number:
            self.seal()
        self._finish_sealing(wait=True)
        self.checkpoints.close()
        self.log.end({"digest": checkpoints.take(self.ledger, self.log.number).digest()})
        self.log.close()
        self._thread.shutdown()
        self.ledger.bound.__exit__()

    def abandon(self) -> None:
        """Let go of the folder without another word in it: somebody else leads, and keeps it."""
        self.log.abandon()
        self._thread.shutdown(wait=False, cancel_futures=True)
        self.checkpoints.close()
        self.ledger.bound.__exit__()

    # -------------------------------------------------------------- inside

    def _path(self, part: Part) -> Path:
        return self.folder / JOURNALS / path_of(part)

    def _write(self, part: Part) -> None:
        part.write(self._path(part), name=str(self.start.get("name", "live")), site=str(self.start.get("site", "")))

    def _extra(self) -> dict[str, Any]:
        return {"start": self.start, "sealer": self.sealer.freeze(), "words": self.words.names}

    def _finish_sealing(self, *, wait: bool = False) -> None:
        if self._sealing is None or not (wait or self._sealing.done()):
            return
        try:
            self._sealing.result()
        except Exception as error:  # whatever it is, the machine is led on
            self._say(f"{error or type(error).__name__} (the log of facts has it all)")
            self.log.note({"what": "sealing-failed", "why": str(error)})
        else:
            self._drop_old()
        self._sealing = None

    def _drop_old(self) -> None:
        """Remove files of the log that are sealed and that no checkpoint needs, but for those that are kept."""
        kept = checkpoints.files_of(self.folder / CHECKPOINTS)
        files = form.files_of(self.folder / FACTS)
        if not self.keeping.keep_files or not kept:
            return
        oldest = int(kept[0].name.split(".")[0])
        first = {path: form.first_number(path) for path in files}  # none in a file that was just begun
        old = [path for path, number in first.items() if number is not None and number <= oldest]
        if len(old) > self.keeping.keep_files:
            drop_before(self.folder / FACTS, old[-self.keeping.keep_files].name)

    def _recover(self, build: Build) -> Recovered | None:
        """Return the run in the folder, where it is one of the same start."""
        if not form.files_of(self.folder / FACTS):
            return None
        kept = checkpoints.newest(self.folder / CHECKPOINTS, [])
        if kept is not None:
            self.sealer = Sealer.thaw(kept.words["extra"]["sealer"])
            for column, names in kept.words["extra"]["words"].items():
                for text in names:
                    self.words.learn(column, text)
        thawed = kept is not None

        def made(said: Mapping[str, Any]) -> Bound:
            nonlocal thawed
            if not thawed:  # a run begins in the log, behind another one: nothing was told of it yet
                self.words, self.sealer = Words(), Sealer()
            thawed = False
            return build(said)

        try:
            found = recover(self.folder, made, self._hear)
        except WattlineError as error:
            self._say(f"{error}; the state is built anew")
            found = None
        if found is not None and {name: found.start.get(name) for name in self.start} != self.start:
            self._say(f"{self.folder}: the configuration has changed; the state is built anew")
            found = None
        if found is None:
            self.words, self.sealer = Words(), Sealer()
            return None
        for line in found.found.said:
            self._say(line)
        return found

    def _hear(self, words: Mapping[str, Any], ledger: Ledger) -> None:
        """Do again what a note says was done."""
        if words.get("what") == "word":
            self.words.learn(str(words["column"]), str(words["text"]))
        elif words.get("what") == "measured" and isinstance(ledger.record, Record):
            ledger.record.measure(*words["values"])
        elif words.get("what") == "sealed":
            part = self.sealer.cut(ledger, self.words.names)
            if not is_journal(self._path(part)):  # the run was cut off while it was written
                self._write(part)


def write_again(folder: Path, build: Build, out: Path) -> tuple[Replayed, list[Path]]:
    """Replay a log and write its journals anew from the facts alone; return what was found, and where they are."""
    words, sealer, written = Words(), Sealer(), []
    start: dict[str, Any] = {}

    def made(said: Mapping[str, Any]) -> Bound:
        nonlocal words, sealer
        if start:  # another run in the same log: its journals begin anew
            words, sealer = Words(), Sealer()
        start.update(said)
        return build(said)

    def hear(said: Mapping[str, Any], ledger: Ledger) -> None:
        if said.get("what") == "word":
            words.learn(str(said["column"]), str(said["text"]))
        elif said.get("what") == "measured" and isinstance(ledger.record, Record):
            ledger.record.measure(*said["values"])
        elif said.get("what") == "sealed":
            part = sealer.cut(ledger, words.names)
            path = out / path_of(part)
            part.write(path, name=str(start.get("name", "live")), site=str(start.get("site", "")))
            written.append(path)

    return replay(folder, made, hear, records=True), written


def path_of(part: Part) -> str:
    """Return the name of the folder of a journal: its number and, on a calendar, when it begins."""
    if part.told.start_s <= SINCE_1970_S:
        return f"{part.number:06d}"
    return f"{part.number:06d}" + datetime.fromtimestamp(part.told.start_s, UTC).strftime("-%Y%m%dT%H%M%SZ")


def _next(now_s: float, period_s: float) -> float:
    """Return the next whole period: hours end at full hours."""
    return (now_s // period_s + 1.0) * period_s
