"""Standard Workload Format text → 18 columns of numbers: in bulk when the file is clean, line by line when it is
not.
"""

from __future__ import annotations

import math
import re
from array import array
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints
from wattline.errors import TraceError
from wattline.reading.began import BEGAN
from wattline.reading.machine import NODES, PROCS
from wattline.reading.parts import TextParts, squeeze
from wattline.reading.pieces import halved

FIELDS = (
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "average CPU time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding job",
    "think time",
)
"""The 18 fields of a record, in order (Chapin et al. 1999; version 2.2)."""

WHOLE_FIELDS = (0, 4, 7, 10, 11, 12, 13, 14, 15, 16)
"""Fields that hold counts or numbers of things and must be whole."""

_HEADER_LINE = re.compile(rb";\s*([A-Za-z][\w ./()-]{0,40}?)\s*:\s*(.*)")
_TOLD_AGAIN = (BEGAN, NODES, PROCS)
"""What is looked for below records, too."""
_MAX_WHOLE = 2.0**53
_MAX_FIELD_CHARS = 40
_HEADER_CHARS = 2000
_MOST_KEYS = 10_000
"""Different keys of a header; the archive's logs have about thirty."""
_MOST_SAID = 10
"""Values of one key below records that are kept: the first is used, others are told."""


@dataclass(frozen=True)
class Malformed:
    """Records that are not 18 numbers: how many, and what is wrong with the first."""

    count: int = 0
    line: int = 0
    field: str = ""
    value: str | int = ""
    problem: str = ""


class Columns:
    """Numbers by column, each kept as small as it goes without a loss: one number, half or whole floats."""

    def __init__(self, pieces: list[list[npt.NDArray[Any]]]) -> None:
        self._kept = [_compact([piece.pop() for piece in pieces]) for _ in FIELDS][::-1]  # pieces go as they are used

    def __getitem__(self, index: int) -> Floats:
        return self._kept[index].astype(np.float64)


def _compact(pieces: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Put pieces of a column together."""
    whole = np.concatenate(pieces) if pieces else np.empty(0)
    if whole.size and (whole == whole[0]).all():
        return np.broadcast_to(whole[:1].copy(), whole.shape)
    return whole


@dataclass
class SwfText:
    """A parsed file: ``columns[i]`` is field i + 1 of every well-formed record, ``lines`` where each record stands."""

    text: TextParts
    columns: Columns
    lines: npt.NDArray[Any]
    header: dict[str, str]
    """What the comments above the records say: ``MaxNodes`` → its value; values of several lines, a line each."""
    malformed: Malformed = field(default_factory=Malformed)

    def line_text(self, line: int) -> bytes:
        """Return the text of a line (counted from 1)."""
        return squeeze(self.text.line(line))


def parse_swf(path: Path | str) -> SwfText:
    """Read a file (plain or gzip) into columns; wrong records are counted, not raised."""
    text = TextParts(path)
    header = _Header(path)
    begun = False
    pieces: list[list[npt.NDArray[Any]]] = []
    lines: list[npt.NDArray[Any]] = []
    malformed = Malformed()
    for first, whole in text:
        line, part = first, whole
        if not begun:
            at = _header_end(whole)
            header.add(whole[:at])
            line, part = first + whole.count(b"\n", 0, at), whole[at:]
            begun = bool(part)
            if not begun:
                continue
        columns, found, wrong = _parse_part(squeeze(part), line, header)
        pieces.append([halved(column) for column in columns])
        lines.append(found.astype(np.int32) if not found.size or found[-1] < 1 << 31 else found)
        if wrong.count:
            known = malformed if malformed.count else wrong
            malformed = replace(known, count=malformed.count + wrong.count)
    numbers = np.concatenate(lines) if lines else np.empty(0, dtype=np.int64)
    return SwfText(text, Columns(pieces), numbers, header.texts(), malformed)


def _parse_part(part: bytes, line: int, header: _Header) -> tuple[list[Floats], Ints, Malformed]:
    """Return the columns of some lines, where each record stands, and what is wrong with others."""
    columns = _parse_bulk(part)
    if columns is not None:
        return columns, np.arange(line, line + columns[0].size), Malformed()
    return _parse_lines(part, line, header)


def _header_end(text: bytes) -> int:
    """Return where the first line begins that is neither blank nor a comment."""
    at = 0
    while at < len(text) and text[at : at + 100].lstrip(b" \t")[:1] in (b";", b"\n"):
        end = text.find(b"\n", at)
        at = len(text) if end < 0 else end + 1
    return at


class _Header:
    """The header as it is read: the values of each key, one below the other."""

    def __init__(self, path: Path | str) -> None:
        self._path = path
        self._values: dict[str, bytearray] = {}

    def add(self, comments: bytes) -> None:
        """Take some lines."""
        for line in comments.splitlines():
            match = _HEADER_LINE.match(line[:_HEADER_CHARS].lstrip())
            if match:
                key, value = (part.decode("utf-8", errors="ignore").strip() for part in match.groups())
                if key in self._values:
                    self._values[key] += b"\n" + value.encode()
                elif len(self._values) < _MOST_KEYS:
                    self._values[key] = bytearray(value.encode())
                else:
                    told = f"the header has more than {_MOST_KEYS} different keys"
                    raise TraceError.at(self._path, told, field=key, hint="is it a log at all?")

    def add_below(self, comment: bytes, line: int) -> None:
        """Take a comment below records: logs that were put together have a header there, of another machine maybe.

        Times of another log count from another second 0.
        """
        match = _HEADER_LINE.match(comment[:_HEADER_CHARS])
        key = match.group(1).decode().strip() if match else ""
        if match is None or key not in _TOLD_AGAIN:
            return
        value = match.group(2).decode("utf-8", errors="ignore").strip()
        said = self._values.get(key, bytearray()).decode().split("\n")
        if key == BEGAN and value != said[0]:
            told = f"a second header, with another start of time than the first (which says {said[0] or 'none'})"
            hint = "two logs, put together? give each alone, or shift the times of one and take its header out"
            raise TraceError.at(self._path, told, line=line, field=key, value=value, hint=hint)
        if value not in said and len(said) < _MOST_SAID:
            self.add(comment)

    def texts(self) -> dict[str, str]:
        """Return the values of each key."""
        return {key: value.decode() for key, value in self._values.items()}


def _parse_bulk(body: bytes) -> list[Floats] | None:
    """Parse all records at once, or return None if any line needs a closer look."""
    body = body.rstrip()
    if not body or body.translate(None, b"0123456789 .-+eE\n"):
        return None
    import polars as pl

    try:
        frame = pl.read_csv(
            body,
            separator=" ",
            has_header=False,
            quote_char=None,
            infer_schema=False,
            schema=dict.fromkeys(FIELDS, pl.Float64),
        )
    except pl.exceptions.PolarsError:
        return None
    if frame.height != body.count(b"\n") + 1 or any(frame.null_count().row(0)):
        return None
    columns = [frame[name].to_numpy() for name in FIELDS]
    return columns if _all_sound(columns) else None


def _all_sound(columns: list[Floats]) -> bool:
    finite = all(np.isfinite(column).all() for column in columns)
    return finite and all(
        (columns[i] == np.floor(columns[i])).all() and (np.abs(columns[i]) < _MAX_WHOLE).all() for i in WHOLE_FIELDS
    )


def _parse_lines(part: bytes, line: int, header: _Header) -> tuple[list[Floats], Ints, Malformed]:
    """Parse with care, one line at a time: skip comments and blank lines, count what is not a record."""
    numbers = array("d")
    lines: list[int] = []
    wrong = 0
    first: Malformed | None = None
    for number, text in enumerate(part.split(b"\n"), start=line):
        if not text or text[0] in b";#" or text.isspace():
            header.add_below(text, number)
            continue
        try:
            numbers.extend(_parse_record(text))
            lines.append(number)
        except _NotARecordError as problem:
            wrong += 1
            first = first or Malformed(0, number, problem.field, problem.value, problem.args[0])
    table = np.array(numbers, dtype=np.float64).reshape(-1, len(FIELDS))
    columns = [np.ascontiguousarray(table[:, i]) for i in range(len(FIELDS))]
    malformed = replace(first, count=wrong) if first else Malformed()
    return columns, np.array(lines, dtype=np.int64), malformed


class _NotARecordError(Exception):
    """A line that is not 18 finite numbers."""

    def __init__(self, problem: str, field: str, value: str | int) -> None:
        super().__init__(problem)
        self.field, self.value = field, value


def _parse_record(line: bytes) -> list[float]:
    parts = line.split(b" ", len(FIELDS))
    if len(parts) != len(FIELDS):
        count = line.count(b" ") + 1
        raise _NotARecordError(f"expected {len(FIELDS)} fields", "record", count)
    return [_parse_number(part, i) for i, part in enumerate(parts)]


def _parse_number(part: bytes, index: int) -> float:
    shown = part[: 2 * _MAX_FIELD_CHARS].decode("utf-8", errors="replace")
    try:
        number = float(part) if len(part) <= _MAX_FIELD_CHARS and b"_" not in part else math.nan
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise _NotARecordError("expected a number", FIELDS[index], shown)
    if math.isinf(number) or (index in WHOLE_FIELDS and abs(number) >= _MAX_WHOLE):
        raise _NotARecordError("endless or too large a number", FIELDS[index], shown)
    if index in WHOLE_FIELDS and number != math.floor(number):
        raise _NotARecordError("expected a whole number", FIELDS[index], shown)
    return number
