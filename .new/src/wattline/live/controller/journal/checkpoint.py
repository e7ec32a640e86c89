"""Checkpoints of a live run: the state, the memories of its policies and its books, as one file.

What the run waits for is a copy in memory. A thread packs it, and writes it when the log has the tick that it was taken
in, so that a checkpoint is never ahead of the facts. The two newest are kept.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wattline.errors import TraceError
from wattline.live.controller.journal.facts_log import FactsLog
from wattline.live.controller.journal.record import Record
from wattline.live.controller.ledger import Ledger
from wattline.model.state.record import FIELDS, State
from wattline.version import __version__
from wattline.wiring.bound import Bound
from wattline.wiring.layout import layout

MAGIC = b"WATTCHKP\x01\x00\x00\x00"
SUFFIX = ".checkpoint"
KEPT = 2
_HEAD = struct.Struct("<II")  # bytes of the header, their checksum

Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Checkpoint:
    """What was kept of a run, in memory."""

    words: dict[str, Any]
    arrays: Arrays
    record: Record | None = None
    """What of the record is not plain data yet: that takes longer, and can be done in a thread."""

    @property
    def number(self) -> int:
        """The tick in which it was taken."""
        return int(self.words["number"])

    def digest(self) -> int:
        """Return the checksum of the state and of the memories."""
        found = 0
        for name in sorted(self.arrays):
            if name == "state" or name.startswith("memory."):
                found = zlib.crc32(self.arrays[name].data, found)
        return found


def whole(s: State) -> npt.NDArray[np.float64]:
    """Return all of a state but its logs, as one array of raw numbers in the state's own memory."""
    bounds = [
        np.lib.array_utils.byte_bounds(array)
        for name, array in s.arrays().items()
        if array.size and FIELDS[name][1].shape[0] != "D"
    ]
    first, last = min(low for low, _ in bounds), max(high for _, high in bounds)
    base: Any = s.changing
    while isinstance(base.base, np.ndarray):
        base = base.base
    room = base.view(np.float64)
    begin = (first - room.ctypes.data) // 8
    piece: npt.NDArray[np.float64] = room[begin : begin + (last - first) // 8]
    return piece


def take(ledger: Ledger, number: int, extra: Mapping[str, Any] | None = None) -> Checkpoint:
    """Return a copy of all that a run is made of, as it stands between two ticks; its logs are taken over first."""
    ledger.empty_logs()
    b = ledger.bound
    arrays: Arrays = {"state": whole(b.state).copy()}
    arrays |= {f"memory.{i}": memory.copy() for i, memory in enumerate(b.memory)}
    words: dict[str, Any] = {
        "number": number,
        "wattline": __version__,
        "layout": layout(),
        "sizes": asdict(b.state.sizes),
        "time_s": float(b.state.now[0]),
        "names": dict(ledger.name),
        "grown": ledger.grown,
        "wrong": dict(ledger.wrong),
        "extra": dict(extra or {}),
    }
    record = ledger.record.snapshot() if isinstance(ledger.record, Record) else None
    return Checkpoint(words, arrays, record)


def restore(checkpoint: Checkpoint, bound: Bound) -> Ledger:
    """Return the ledger again, on a state that is as ``build`` makes it and has seen nothing."""
    words, arrays = checkpoint.words, checkpoint.arrays
    if words["layout"] != layout():
        raise TraceError("the checkpoint was made by another Wattline: use the one that made it")
    more = int(words["sizes"]["J"]) - bound.state.sizes.J
    if more > 0:
        bound.grow(more)
    for array, name in ((whole(bound.state), "state"), *((m, f"memory.{i}") for i, m in enumerate(bound.memory))):
        kept = arrays.get(name)
        if kept is None or kept.shape != array.shape or asdict(bound.state.sizes) != words["sizes"]:
            raise TraceError("the checkpoint is one of another configuration: start without it")
        array[...] = kept
    ledger = Ledger(bound, grown=int(words["grown"]), wrong=dict(words["wrong"]))
    ledger.name = {int(row): name for row, name in words["names"].items()}
    ledger.row = {name: row for row, name in ledger.name.items()}
    if "record" in words:
        kept_arrays = {name[7:]: array for name, array in arrays.items() if name.startswith("record.")}
        ledger.record = Record.thaw(words["record"], kept_arrays)
    return ledger


# ------------------------------------------------------------------ files


def write(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint, whole or not at all, and remove all but the newest two."""
    words, arrays = checkpoint.words, checkpoint.arrays
    if checkpoint.record is not None:
        told_of, kept = checkpoint.record.freeze()
        words, arrays = words | {"record": told_of}, arrays | {f"record.{name}": array for name, array in kept.items()}
    packed = {name: zlib.compress(np.ascontiguousarray(array).data, 1) for name, array in arrays.items()}
    told = [
        [name, array.dtype.str, list(array.shape), len(packed[name]), zlib.crc32(packed[name])]
        for name, array in arrays.items()
    ]
    header = json.dumps({**words, "arrays": told}, ensure_ascii=False).encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{checkpoint.number:012d}{SUFFIX}"
    new = path.with_suffix(".new")
    try:
        with new.open("wb") as file:
            file.write(MAGIC + _HEAD.pack(len(header), zlib.crc32(header)) + header)
            for data in packed.values():
                file.write(data)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
    for old in files_of(folder)[:-KEPT]:
        old.unlink(missing_ok=True)
    return path


def files_of(folder: Path) -> list[Path]:
    """Return the checkpoints of a folder, the newest last."""
    return sorted(folder.glob(f"[0-9]*{SUFFIX}"))


def read(path: Path) -> Checkpoint:
    """Return a checkpoint; a damaged file is an error."""
    data = path.read_bytes()
    damaged = TraceError.at(path, "is a damaged checkpoint", hint="the one before it is used if it is removed")
    at = len(MAGIC) + _HEAD.size
    if not data.startswith(MAGIC) or len(data) < at:
        raise damaged
    length, checksum = _HEAD.unpack_from(data, len(MAGIC))
    header = data[at : at + length]
    if zlib.crc32(header) != checksum:
        raise damaged
    words, at, arrays = json.loads(header), at + length, {}
    for name, dtype, shape, size, checksum in words.pop("arrays"):
        if zlib.crc32(data[at : at + size]) != checksum:
            raise damaged
        arrays[name] = np.frombuffer(bytearray(zlib.decompress(data[at : at + size])), dtype).reshape(shape)
        at += size
    return Checkpoint(words, arrays)


def newest(folder: Path, said: list[str]) -> Checkpoint | None:
    """Return the newest whole checkpoint of a folder (None: there is none); damaged ones are said."""
    for path in files_of(folder)[::-1]:
        try:
            return read(path)
        except TraceError as error:
            said.append(str(error))
    return None


class Checkpoints:
    """Takes checkpoints of a run and writes them in a thread, one at a time."""

    def __init__(self, folder: Path, log: FactsLog) -> None:
        self.folder, self.problem = folder, ""
        self._log = log
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._writing: Future[tuple[int, int]] | None = None

    def begin(self, ledger: Ledger, extra: Mapping[str, Any] | None = None) -> bool:
        """Take a checkpoint at the end of a tick, before ``FactsLog.tick``; return False where one is being written."""
        self.poll()
        if self._writing is not None:
            return False
        checkpoint = take(ledger, self._log.number, extra)
        self._log.checkpoint({"number": checkpoint.number, "time_s": checkpoint.words["time_s"]})
        self._log.gap = False
        self._writing = self._thread.submit(self._write, checkpoint)
        return True

    def poll(self) -> None:
        """Note in the log, if a checkpoint has just been written, what its checksum is; to be called every tick."""
        if self._writing is None or not self._writing.done():
            return
        try:
            number, digest = self._writing.result()
            self._log.note({"what": "digest", "number": number, "digest": digest})
            self.problem = ""
        except OSError as error:
            self.problem = error.strerror or str(error)
            self._log.note({"what": "checkpoint-failed", "why": self.problem})
        self._writing = None

    def _write(self, checkpoint: Checkpoint) -> tuple[int, int]:
        digest = checkpoint.digest()
        if not self._log.wait_for(checkpoint.number, 60.0):
            raise OSError(0, "the log does not have its tick")
        write(self.folder, checkpoint)
        return checkpoint.number, digest

    def close(self) -> None:
        """Wait for the one that is being written."""
        self._thread.shutdown(wait=True)
        self.poll()
