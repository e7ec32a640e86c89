"""A run that is not over, on disk, safe against a kill at any time: ``<out>/.unfinished/``.

=====================  =======================================================================================
``run.json``, ``.bin``  what is run and how to tell it from other runs, written once
``logs.bin``            rows of the logs; only ever appended to
``flush-N.json``, ``.bin``  where the run stood at a full hour, and how much of the logs belongs to it
``lock``                held by the process that runs
=====================  =======================================================================================

A flush counts when its JSON is there, which is renamed into place after everything it speaks of has reached the disk.
The two newest are kept: when one is damaged, the other one serves. Binary files are arrays in numpy's format, one after
another. Every JSON is sealed by a checksum of its own and holds those of the binary files (``unfinished_record``).
"""

from __future__ import annotations

import mmap
import os
import re
import shutil
import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from wattline.errors import TraceError
from wattline.files import open_regular
from wattline.journal.unfinished_record import FLUSH_KEYS, RUN_KEYS, Damaged, decode, encode, read_record

NAME = ".unfinished"
KEPT = 2
"""Flushes kept on disk."""
_FLUSH = re.compile(r"flush-([1-9][0-9]{0,17})\.(?:json|bin)(?:\.part)?", re.ASCII)

Array = npt.NDArray[Any]
Logs = dict[str, list[Array]]
"""Log → pieces of its arrays in turn."""


@dataclass(frozen=True)
class Flush:
    """A flush read back: its record, the arrays of the state by name, and the logs up to it."""

    record: dict[str, Any]
    arrays: dict[str, Array]
    logs: Logs


def place(out: Path) -> Path:
    """Return where a run that writes to ``out`` keeps what it has."""
    return Path(out) / NAME


def is_unfinished(out: Path) -> bool:
    """Tell whether a folder holds a run that was cut off, or goes on."""
    return place(out).is_dir()


def was_kept(out: Path) -> bool:
    """Tell whether the run in a folder has reached a full hour that was kept, whole or not."""
    return bool(_flushes(out))


def token(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what tells a flush from all others, as it stands in the manifest of a journal made of it."""
    return {"run": record["run"], "flush": record["flush"]}


# ------------------------------------------------------------------ writing


class NoLongerNeeded(Exception):  # noqa: N818  (nothing went wrong)
    """The run is over: the flush that was being written is of no use."""


class Writer:
    """Writes one run's flushes: ``put`` at once, ``commit`` when there is time, unless the run is ``over`` before."""

    def __init__(self, out: Path, since: Mapping[str, Any] | None = None) -> None:
        self.folder = place(out)
        self.flush = 0 if since is None else int(since["flush"])
        self.run = os.urandom(8).hex() if since is None else str(since["run"])
        self._logs = (0, 0) if since is None else (int(since["logs_bytes"]), int(since["logs_crc"]))
        self._lock = ExitStack()
        self.over = False

    def begin(self) -> None:
        """Make the folder, or take over that of the run that is carried on; whatever else was there is dropped."""
        if self.flush == 0:
            refuse_running(self.folder.parent)
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
        self._lock.enter_context(locked(self.folder.parent))
        for path, number in _numbered(self.folder):
            if number > self.flush or path.suffix == ".part":
                path.unlink()
        with (self.folder / "logs.bin").open("ab") as file:
            file.truncate(self._logs[0])

    def describe(self, about: Mapping[str, Any], arrays: Sequence[Array]) -> None:
        """Write what is run."""
        path = self.folder / "run.bin"
        with path.open("wb") as file:
            _save(file, arrays)
            _sync(file)
            size = file.tell()
        record = {"run": self.run, "bytes": size, "crc": _crc(path, 0, size), "arrays": len(arrays)}
        _write_json(self.folder / "run.json", record | dict(about))

    def put(self, arrays: Iterable[Array]) -> None:
        """Hand the state over to the system: it may change afterwards."""
        with self._file(".bin.part").open("wb") as file:
            _save(file, arrays)

    def commit(self, record: Mapping[str, Any], logs: Sequence[tuple[int, Sequence[Array]]]) -> None:
        """See to it that state and new log rows are on disk, then let the flush count; older ones are dropped."""
        part = self._file(".bin.part")
        written, crc = self._append(logs)
        with part.open("r+b") as file:
            self._go_on()
            _sync(file)
            size = file.seek(0, os.SEEK_END)
        self._go_on()
        part.rename(self._file(".bin"))
        told = token({"run": self.run, "flush": self.flush + 1})
        sizes = {"bytes": size, "crc": _crc(self._file(".bin"), 0, size), "logs_bytes": written, "logs_crc": crc}
        _write_json(self._file(".json"), {**told, **sizes, **record})
        self._logs = written, crc
        self.flush += 1
        for path, number in _numbered(self.folder):
            if number <= self.flush - KEPT:
                path.unlink()

    def close(self) -> None:
        """Let others have the folder."""
        self._lock.close()

    def _go_on(self) -> None:
        if self.over:
            raise NoLongerNeeded

    def _file(self, suffix: str) -> Path:
        return self.folder / f"flush-{self.flush + 1}{suffix}"

    def _append(self, logs: Sequence[tuple[int, Sequence[Array]]]) -> tuple[int, int]:
        """Write sets of arrays behind the logs, each with the number of its log; return size and checksum of all."""
        size, crc = self._logs
        path = self.folder / "logs.bin"
        with path.open("ab") as file:
            file.truncate(size)  # a flush that failed may have left something
            for log, arrays in logs:
                self._go_on()
                _save(file, [np.array([log, len(arrays)]), *arrays])
            self._go_on()
            _sync(file)
            written = file.tell()
        return written, _crc(path, size, written, crc)


def _save(file: IO[bytes], arrays: Iterable[Array]) -> None:
    for array in arrays:  # as np.save does, which does not say why a disk takes no more
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        file.write(np.ascontiguousarray(array).data)


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _write_json(path: Path, record: Mapping[str, Any]) -> None:
    part = path.with_name(f"{path.name}.part")
    with part.open("wb") as file:
        file.write(encode(record))
        _sync(file)
    part.rename(path)
    for folder in (path.parent, path.parent.parent):
        entry = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(entry)
        finally:
            os.close(entry)


def _crc(path: Path, start: int, stop: int, crc: int = 0) -> int:
    """Return the checksum of a stretch of a file, carried on from what stands before it."""
    if stop == start:
        return crc
    with open_regular(path) as file, mmap.mmap(file.fileno(), stop, access=mmap.ACCESS_READ) as content:
        view = memoryview(content)[start:stop]
        try:
            return zlib.crc32(view, crc)
        finally:
            view.release()


def _numbered(folder: Path) -> list[tuple[Path, int]]:
    """Return the files of flushes with their numbers; what has another name is not ours."""
    found = ((path, _FLUSH.fullmatch(path.name)) for path in folder.glob("flush-*"))
    return [(path, int(match[1])) for path, match in found if match is not None]


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Hold what is kept of a run, so that nobody goes on with it or cuts it off; whoever has it is an error."""
    try:
        import fcntl
    except ImportError:  # no locks on this system: the one beside the folder has to do (``folder_lock``)
        yield
        return
    with (place(out) / "lock").open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TraceError.at(out, "another run is writing there", hint="wait for it, or stop it") from None
        except OSError:
            pass  # no locks on this disk
        yield


def refuse_running(out: Path) -> None:
    """Raise an error if the run in a folder still goes on."""
    if is_unfinished(out):
        with suppress(OSError), locked(out):  # nobody can hold a lock where none can be made
            pass


# ------------------------------------------------------------------ reading


def newest(out: Path) -> dict[str, Any] | None:
    """Return the record of the newest flush whose files are long enough (None: there is none), without reading them."""
    for path in _flushes(out):
        try:
            record = _flush_record(path)
            _check_size(path.with_suffix(".bin"), record["bytes"])
            _check_size(place(out) / "logs.bin", record["logs_bytes"])
        except Damaged:
            continue
        return record
    return None


def read_run(out: Path, *, arrays: bool = True) -> tuple[dict[str, Any], list[Array]]:
    """Return what is run: the record and its arrays, if they are asked for."""
    path = place(out) / "run.json"
    try:
        record = read_record(path, RUN_KEYS)
    except Damaged as problem:
        raise TraceError.at(problem.path, str(problem), hint="run it again without --resume") from None
    try:
        return record, _read_arrays(path.with_suffix(".bin"), record["bytes"], record["crc"]) if arrays else []
    except Damaged as problem:
        hint = "--resume of the command that began it does without, and goes on"
        raise TraceError.at(problem.path, str(problem), hint=hint) from None


def warn_of_damage(out: Path, record: Mapping[str, Any]) -> None:
    """Warn of damaged arrays of what is run: a run goes on without them, and cannot be read before it has."""
    try:
        _check_whole(place(out) / "run.bin", record["bytes"], record["crc"])
    except Damaged as problem:
        warnings.warn(f"{problem.path}: {problem}; the run goes on without it", stacklevel=2)


def read_flush(out: Path) -> Flush:
    """Return the newest flush that is whole; damaged ones are warned about, in one line."""
    flushes = _flushes(out)
    if not flushes:
        raise TraceError.at(out, "was cut off before its first flush", hint="run it again")
    run = read_run(out, arrays=False)[0]["run"]
    damaged: list[Damaged] = []
    for path in flushes:
        try:
            found = _read_flush(path, run)
        except Damaged as problem:
            damaged.append(problem)
            continue
        if damaged:
            told = "; ".join(f"{bad.path}: {bad}" for bad in damaged)
            warnings.warn(f"{told}; the flush before it is used", stacklevel=2)
        return found
    raise TraceError.at(damaged[0].path, str(damaged[0]), hint="no flush is whole: run it again without --resume")


def _flushes(out: Path) -> list[Path]:
    """Return the records of flushes, newest first."""
    found = [(number, path) for path, number in _numbered(place(out)) if path.suffix == ".json"]
    return [path for _, path in sorted(found, reverse=True)]


def _flush_record(path: Path) -> dict[str, Any]:
    record = read_record(path, FLUSH_KEYS)
    if path.name != f"flush-{record['flush']}.json":
        raise Damaged(path, f"is the record of flush {record['flush']} under another name")
    return record


def _read_flush(path: Path, run: str) -> Flush:
    record = _flush_record(path)
    if record["run"] != run:
        raise Damaged(path, "belongs to another run")
    arrays = _read_arrays(path.with_suffix(".bin"), record["bytes"], record["crc"])
    if len(arrays) != len(record["names"]):
        raise Damaged(path, f"names {len(record['names'])} arrays, {len(arrays)} are there")
    rows = _read_arrays(path.with_name("logs.bin"), record["logs_bytes"], record["logs_crc"])
    logs: Logs = {name: [] for name in record["logs"]}
    at = 0
    while at < len(rows):
        head = rows[at].ravel().tolist()
        if len(head) != 2 or head[0] not in range(len(logs)) or head[1] not in range(1, len(rows) - at):
            raise Damaged(path.with_name("logs.bin"), "is damaged (its pieces are not in order)")
        log, count = int(head[0]), int(head[1])
        logs[record["logs"][log]] += rows[at + 1 : at + 1 + count]
        at += 1 + count
    return Flush(record, dict(zip(record["names"], arrays, strict=True)), logs)


def _check_size(path: Path, size: int) -> None:
    try:
        with open_regular(path) as file:
            there = os.fstat(file.fileno()).st_size
    except OSError as problem:
        raise Damaged(path, f"cannot be read ({problem.strerror})") from None
    if there < size:
        raise Damaged(path, f"is cut off ({there:,} bytes of {size:,})")


def _check_whole(path: Path, size: int, crc: int) -> None:
    _check_size(path, size)
    try:
        there = _crc(path, 0, size)
    except OSError as problem:
        raise Damaged(path, f"cannot be read ({problem.strerror})") from None
    except ValueError:  # it has become shorter meanwhile
        raise Damaged(path, "is cut off") from None
    if there != crc:
        raise Damaged(path, "is damaged (its checksum differs)")


def _read_arrays(path: Path, size: int, crc: int) -> list[Array]:
    _check_whole(path, size, crc)
    try:
        with open_regular(path) as file:
            return decode(file, size)
    except OSError as problem:
        raise Damaged(path, f"cannot be read ({problem.strerror})") from None
    except (ValueError, EOFError, MemoryError, SyntaxError, TypeError):  # numpy's words for a header that is none
        raise Damaged(path, "is damaged (it does not hold arrays)") from None
