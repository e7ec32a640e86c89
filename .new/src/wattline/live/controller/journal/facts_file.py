"""How facts lie in a file: frames with a number and a checksum, one a tick, each with the records of that tick.

A frame is what was written at once. The last one of a file may be cut off (a crash, a full disk): it is left out, and
numbers that go on in the next file show that nothing is missing. Anything else that is damaged is an error.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wattline.control.facts import WIDTH
from wattline.errors import TraceError
from wattline.live.controller.ledger import Batch

MAGIC = b"WATTFACT\x01\x00\x00\x00\x00\x00\x00\x00"
"""What a file begins with: a name, and the version of this layout."""
SUFFIX = ".facts"

START, BATCH, PASS, NOTE, CHECKPOINT, GAP, END, BID = range(1, 9)
KINDS = ("", "start", "batch", "pass", "note", "checkpoint", "gap", "end", "bid")

_FRAME = struct.Struct("<II")  # bytes that follow, their checksum
_NUMBER = struct.Struct("<Q")
_RECORD = struct.Struct("<BI")  # kind, bytes
_BATCH = struct.Struct("<III")  # facts, extents, bytes of names
_PASS = struct.Struct("<bII")  # the one slot that passed (-1: all), actions, their checksum


# ------------------------------------------------------------------ records


@dataclass(frozen=True)
class Passed:
    """A control pass: with which policies, and what came of it."""

    only: int | None
    actions: int
    checksum: int


def pack_batch(batch: Batch) -> bytes:
    """Return a batch as bytes; zeros at the end of a fact are left out."""
    told = np.ascontiguousarray(batch.facts).view(np.int64) != 0  # bits: a minus zero is no zero
    width = WIDTH - np.argmax(told[:, ::-1], axis=1)
    width[~told.any(axis=1)] = 0
    numbers = batch.facts[np.arange(WIDTH) < width[:, None]]
    names = json.dumps(batch.names, ensure_ascii=False).encode() if batch.names else b""
    return b"".join(
        (
            _BATCH.pack(len(width), len(batch.extents), len(names)),
            width.astype(np.uint8).tobytes(),
            numbers.tobytes(),
            batch.extents.astype(np.int32).tobytes(),
            batch.results.astype(np.int32).tobytes(),
            names,
        )
    )


def unpack_batch(data: bytes) -> Batch:
    """Return the batch again."""
    count, extents, names = _BATCH.unpack_from(data)
    at = _BATCH.size
    width = np.frombuffer(data, np.uint8, count, at)
    at += count
    numbers = np.frombuffer(data, np.float64, int(width.sum()), at)
    at += numbers.nbytes
    facts = np.zeros((count, WIDTH))
    facts[np.arange(WIDTH) < width[:, None]] = numbers
    where = np.frombuffer(data, np.int32, 2 * extents, at).astype(np.int64).reshape(extents, 2)
    at += 8 * extents
    results = np.frombuffer(data, np.int32, count, at).astype(np.int64)
    at += 4 * count
    return Batch(facts, where, results, tuple(json.loads(data[at : at + names])) if names else ())


def pack_pass(passed: Passed) -> bytes:
    """Return a pass as bytes."""
    return _PASS.pack(-1 if passed.only is None else passed.only, passed.actions, passed.checksum)


def unpack_pass(data: bytes) -> Passed:
    """Return the pass again."""
    only, actions, checksum = _PASS.unpack(data)
    return Passed(None if only < 0 else only, actions, checksum)


def pack_bid(made: Sequence[float]) -> bytes:
    """Return what came of asking for a bid as bytes."""
    return np.array(made, dtype=np.float64).tobytes()


def pack_words(words: Any) -> bytes:
    """Return plain data as bytes."""
    return json.dumps(words, ensure_ascii=False, separators=(",", ":")).encode()


# ------------------------------------------------------------------ frames


@dataclass(frozen=True)
class Frame:
    """What was written at once: a number, records as (kind, bytes), and where it stands."""

    number: int
    records: Sequence[tuple[int, bytes]]
    file: Path
    offset: int
    end: int


def pack_frame(number: int, records: Sequence[tuple[int, bytes]]) -> bytes:
    """Return a frame as bytes."""
    parts = [_NUMBER.pack(number)]
    for kind, data in records:
        parts += (_RECORD.pack(kind, len(data)), data)
    body = b"".join(parts)
    return _FRAME.pack(len(body), zlib.crc32(body)) + body


def _frame_at(data: bytes, offset: int) -> tuple[bytes, int] | None:
    """Return the body of the frame that begins there and where it ends (None: there is no whole one)."""
    if offset + _FRAME.size > len(data):
        return None
    length, checksum = _FRAME.unpack_from(data, offset)
    end = offset + _FRAME.size + length
    body = data[offset + _FRAME.size : end]
    if length < _NUMBER.size or end > len(data) or zlib.crc32(body) != checksum:
        return None
    return body, end


def _records(body: bytes) -> list[tuple[int, bytes]]:
    found, at = [], _NUMBER.size
    while at < len(body):
        kind, length = _RECORD.unpack_from(body, at)
        at += _RECORD.size
        found.append((kind, body[at : at + length]))
        at += length
    return found


def frames_of(path: Path, begin: int = 0) -> Iterator[Frame | int]:
    """Yield the frames of a file; last, where its end is cut off, the offset up to which it is whole."""
    data = path.read_bytes()
    if not MAGIC.startswith(data[: len(MAGIC)]):
        raise TraceError.at(path, "is no log of facts of this Wattline", hint="keep only such files in its folder")
    offset = max(begin, len(MAGIC))
    number = -1
    while offset < len(data):
        found = _frame_at(data, offset)
        if found is None:
            if _goes_on(data, offset, number):
                raise TraceError.at(
                    path, f"is damaged at byte {offset}: whole frames follow", hint="take it from a copy"
                )
            yield offset
            return
        body, end = found
        number = _NUMBER.unpack_from(body)[0]
        yield Frame(number, _records(body), path, offset, end)
        offset = end
    if len(data) < len(MAGIC):
        yield 0


def _goes_on(data: bytes, offset: int, number: int) -> bool:
    """Tell whether a whole frame with one of the next numbers stands behind a damaged one."""
    numbers = range(number + 1, number + 66) if number >= 0 else range(66)
    for following in numbers:
        at = data.find(_NUMBER.pack(following), offset + 1)
        while at >= 0:
            if at - _FRAME.size > offset and _frame_at(data, at - _FRAME.size) is not None:
                return True
            at = data.find(_NUMBER.pack(following), at + 1)
    return False


def files_of(folder: Path) -> list[Path]:
    """Return the files of a log in order."""
    return sorted(folder.glob(f"[0-9]*{SUFFIX}"))


def read_log(folder: Path, said: list[str], *, first: str = "", begin: int = 0) -> Iterator[Frame]:
    """Yield all frames of a log from a file and an offset on; what was cut off is said, what is missing is an error."""
    number, cut = -1, ""
    for path in files_of(folder):
        if path.name < first:
            continue
        for frame in frames_of(path, begin if path.name == first else 0):
            if isinstance(frame, int):
                cut = f"{path}: the last frame was cut off at byte {frame}; it is left out"
                said.append(cut)
                continue
            gap = frame.records[:1] and frame.records[0][0] == GAP
            if number >= 0 and frame.number != number + 1 and not gap:
                missing = f"ticks {number + 1} to {frame.number - 1} are missing before it"
                raise TraceError.at(path, f"{missing}, at byte {frame.offset}", hint=cut or "was a file removed?")
            number = frame.number
            yield frame


def first_number(path: Path) -> int | None:
    """Return the number of the first frame of a file without reading the rest (None: it has none)."""
    with path.open("rb") as file:
        head = file.read(len(MAGIC) + _FRAME.size + _NUMBER.size)
    at = len(MAGIC) + _FRAME.size
    return int(_NUMBER.unpack_from(head, at)[0]) if len(head) == at + _NUMBER.size else None
