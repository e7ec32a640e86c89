"""The log of facts, the truth of a live run: every batch of facts and every pass, on the disk within the tick.

A tick is one frame, one write and one ``fsync``, in a thread: power is never kept waiting for a disk. A disk that is
full or broken is said; ticks wait in memory up to a bound, and are counted beyond it. When there is room again all that
waited is written, and a gap says how many ticks are missing.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from wattline.errors import TraceError
from wattline.live.controller.journal import facts_file as form
from wattline.live.controller.ledger import Batch

AGAIN_S = 1.0
"""How long the thread waits before it tries to write again."""


class FactsLog:
    """Writes a log of facts into a folder; each run of the program begins a file of its own.

    Parameters
    ----------
    folder
        Where the files are.
    say
        Told in a line what goes wrong, and when it is over.
    file_bytes, file_s
        A file is followed by another when it is so large, or so old.
    waiting_bytes
        What may wait in memory for a disk that takes nothing.
    """

    def __init__(
        self,
        folder: Path,
        *,
        say: Callable[[str], None] = lambda _: None,
        file_bytes: int = 64 << 20,
        file_s: float = 3600.0,
        waiting_bytes: int = 32 << 20,
        sync: Callable[[int], None] = os.fsync,
        write: Callable[[int, bytes], int] = os.write,
    ) -> None:
        self.folder, self.problem, self.lost_ticks = Path(folder), "", 0
        self._say, self._sync, self._write = say, sync, write
        self._file_bytes, self._file_s, self._waiting_bytes = file_bytes, file_s, waiting_bytes
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.number, self._index = cut_tail(self.folder, say)
        except OSError as error:
            raise TraceError.at(
                self.folder, f"cannot be written ({error.strerror or error})", hint="give a folder of your own"
            ) from None
        """Number of the next tick."""
        self.gap = False
        """Ticks were lost since the last checkpoint, and others follow: another one is wanted soon."""
        self._records: list[tuple[int, bytes]] = []
        self._waiting: deque[tuple[int, bytes]] = deque()
        self.written = self.number - 1
        """Number of the last tick on the disk."""
        self._lost: deque[int] = deque(maxlen=100_000)
        self._bytes, self._missing = 0, 0
        self._change = threading.Condition()
        self._closing = False
        self._file, self._end, self._opened_s = -1, 0, 0.0
        self.sync_s: deque[float] = deque(maxlen=1000)
        """How long the last writes took, ``fsync`` included."""
        self.written_bytes = self.syncs = self._told_syncs = 0
        """Bytes and writes that are on the disk."""
        self._thread = threading.Thread(target=self._run, name="facts", daemon=True)
        self._thread.start()

    # -------------------------------------------------------------- what is said

    def start(self, words: Mapping[str, Any]) -> None:
        """Note what is run: version, configuration, policies, seed."""
        self._records.append((form.START, form.pack_words(words)))

    def batch(self, batch: Batch) -> None:
        """Note facts and their results (``Ledger.keep``)."""
        self._records.append((form.BATCH, form.pack_batch(batch)))

    def passed(self, only: int | None, actions: int, checksum: int) -> None:
        """Note a pass (``Ledger.passed``)."""
        self._records.append((form.PASS, form.pack_pass(form.Passed(only, actions, checksum))))

    def bade(self, made: Sequence[float]) -> None:
        """Note that the bid policy was asked (``Ledger.bade``)."""
        self._records.append((form.BID, form.pack_bid(made)))

    def note(self, words: Mapping[str, Any]) -> None:
        """Note anything that was said: faults, signals, modes; plain data, with a ``what``."""
        self._records.append((form.NOTE, form.pack_words(words)))

    def checkpoint(self, words: Mapping[str, Any]) -> None:
        """Note that a checkpoint was taken here."""
        self._records.append((form.CHECKPOINT, form.pack_words(words)))

    def end(self, words: Mapping[str, Any]) -> None:
        """Note an orderly end and the state's checksum."""
        self._records.append((form.END, form.pack_words(words)))

    def tick(self) -> int:
        """Hand over what was noted since the last tick, as one frame; return its number. Nothing waits for a disk."""
        records, self._records = self._records, []
        number, self.number = self.number, self.number + 1
        if self._missing:
            records.insert(0, (form.GAP, form.pack_words({"ticks": self._missing})))
        frame = form.pack_frame(number, records)
        with self._change:
            room = self._waiting_bytes // (2 if self._missing else 1)  # one long gap rather than many short ones
            if self._bytes + len(frame) > room:
                self._missing += 1
                self._lost.append(number)
                self.lost_ticks += 1
                return number
            self.gap |= self._missing > 0
            self._missing = 0
            self._waiting.append((number, frame))
            self._bytes += len(frame)
            self._change.notify()
        return number

    def flush(self, wait_s: float = 5.0) -> bool:
        """Wait until everything is on the disk; return False where it is not by then."""
        deadline = time.monotonic() + wait_s
        with self._change:
            while self._bytes and time.monotonic() < deadline:
                self._change.wait(0.05)
            return not self._bytes

    def wait_for(self, number: int, wait_s: float) -> bool:
        """Wait until a tick is on the disk; return False where it is not by then, or was lost."""
        deadline = time.monotonic() + wait_s
        with self._change:
            while self.written < number not in self._lost and time.monotonic() < deadline and not self._closing:
                self._change.wait(0.2)
            return self.written >= number and number not in self._lost

    def new_syncs(self) -> list[float]:
        """Return how long the writes took that nobody asked for before (the last thousand of them)."""
        new, self._told_syncs = self.syncs - self._told_syncs, self.syncs
        return list(self.sync_s)[-new:] if new else []

    def close(self, wait_s: float = 5.0) -> None:
        """Write what is left and close the file."""
        if self._records:
            self.tick()
        if not self.flush(wait_s):
            self._say(f"{self.folder}: the last {len(self._waiting)} ticks are not written ({self.problem or 'slow'})")
        with self._change:
            self._closing = True
            self._change.notify()
        self._thread.join(wait_s + AGAIN_S)

    def abandon(self) -> None:
        """Close the file without another byte: somebody else writes the log by now."""
        with self._change:
            self._closing = True
            self._change.notify()
        self._thread.join(AGAIN_S)

    # -------------------------------------------------------------- the thread

    def _run(self) -> None:
        while True:
            with self._change:
                while not self._waiting and not self._closing:
                    self._change.wait()
                if self._closing:
                    break
                frames = list(self._waiting)
            try:
                self._put(b"".join(frame for _, frame in frames))
            except OSError as error:
                self._failed(error)
                continue
            with self._change:
                for number, frame in frames:
                    self.written = number
                    self._waiting.popleft()
                    self._bytes -= len(frame)
                self._change.notify_all()
            if self.problem:
                self.problem = ""
                self._say(f"{self.folder}: facts are written again, {self.lost_ticks} ticks are missing in all")
        if self._file >= 0:
            os.close(self._file)

    def _put(self, data: bytes) -> None:
        """Bring bytes to the disk, all or nothing."""
        began = time.perf_counter()
        if self._file < 0 or self._end >= self._file_bytes or time.monotonic() - self._opened_s >= self._file_s:
            self._next_file()
        self._write_all(self._file, data)
        self._sync(self._file)
        self._end += len(data)
        self.sync_s.append(time.perf_counter() - began)
        self.syncs += 1
        self.written_bytes += len(data)

    def _write_all(self, file: int, data: bytes) -> None:
        done = 0
        while done < len(data):
            done += self._write(file, data[done:] if done else data)

    def _next_file(self) -> None:
        path = self.folder / f"{self._index + 1:08d}{form.SUFFIX}"
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            self._write_all(file, form.MAGIC)
            self._sync(file)
            folder = os.open(self.folder, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
        except OSError:
            os.close(file)
            path.unlink(missing_ok=True)
            raise
        if self._file >= 0:
            os.close(self._file)
        self._index += 1
        self._file, self._end, self._opened_s = file, len(form.MAGIC), time.monotonic()

    def _failed(self, error: OSError) -> None:
        """Take back what was half written, say what is wrong once, and wait a little."""
        if self._file >= 0:
            try:
                os.ftruncate(self._file, self._end)
            except OSError:  # the next file goes on from the last whole frame
                os.close(self._file)
                self._file = -1
        why = error.strerror or str(error)
        if why != self.problem:
            self.problem = why
            self._say(f"{self.folder}: facts cannot be written ({why}); control goes on, they wait in memory")
        with self._change:
            if self._closing:
                self._waiting.clear()
            self._change.wait(AGAIN_S)


def take_from(folder: Path) -> None:
    """Put a copy in the place of the newest file: what its writer still writes goes to a file that nobody reads."""
    for path in form.files_of(folder)[-1:]:
        new = path.with_suffix(".new")
        try:
            shutil.copyfile(path, new)
            new.replace(path)
        except OSError as error:
            raise TraceError.at(path, f"cannot be taken over ({error.strerror or error})") from None


def cut_tail(folder: Path, say: Callable[[str], None]) -> tuple[int, int]:
    """Cut off what a crash left half written; return the number of the next tick and that of the last file."""
    number, index = 0, 0
    for path in form.files_of(folder)[::-1]:
        index = max(index, int(path.stem))
        for frame in form.frames_of(path):
            if isinstance(frame, int):
                say(f"{path}: the last frame was cut off at byte {frame}; it is taken away")
                if frame == 0:
                    path.unlink()
                else:
                    os.truncate(path, frame)
            else:
                number = frame.number + 1
        if number:
            break
    return number, index


def drop_before(folder: Path, name: str) -> int:
    """Remove the files of a log before one (nobody replays from there any more); return how many."""
    old = [path for path in form.files_of(folder) if path.name < name]
    for path in old:
        path.unlink(missing_ok=True)
    return len(old)
