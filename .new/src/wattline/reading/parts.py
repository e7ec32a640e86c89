"""Text files in parts of whole lines, so that no reader holds a large file.

A line that is to be quoted is read again.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from wattline.errors import InputError, TraceError
from wattline.files import open_trace
from wattline.memory import machine_bytes
from wattline.reading.notes import NOT_UTF8, Finding
from wattline.reading.source import GZIP_MAGIC, escaped, refuse_foreign, refuse_large, unpacked

AT_ONCE = 2 << 20
"""Bytes that are read together: what they take as texts is several times that."""
LONGEST_LINE = 32 << 20
"""Bytes of the longest line that is read."""
_KEPT_BYTES = 32 << 20
"""A smaller file stays in memory, so that quoting from it needs no second reading."""
_UTF8_BOM = b"\xef\xbb\xbf"
_SPACE, _NEWLINE = 32, 10


class TextParts:
    """The content of a text file as ``read_text`` gives it, in parts.

    Parameters
    ----------
    path
        The file, plain or gzip.
    head
        A line put before all others.
    tidy
        Done to every part before anybody sees it; it must leave every line in its place.
    """

    def __init__(self, path: Path | str, head: bytes = b"", tidy: Callable[[bytes], bytes] | None = None) -> None:
        self.path, self.head, self._tidy = path, head, tidy
        self._first: list[int] = []
        """The line with which each part begins."""
        self._kept: list[bytes] | None = []
        self._last: tuple[int, bytes] = (-1, b"")
        self._foreign: tuple[int, int, str] = (0, 0, "")
        """Lines that are not UTF-8: how many, and the number and text of the first."""

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Give each part and the line it begins with.

        What is wrong with the file itself is an error, at the latest at its end.
        """
        line, size = 1, 0
        self._first, self._kept, self._foreign = [], [], (0, 0, "")
        for raw in self._read():
            part = escaped(raw)
            if part is not raw:
                self._count_foreign(raw, part, line)
            self._first.append(line)
            size += len(part)
            if self._kept is not None and size <= _KEPT_BYTES:
                self._kept.append(part)
            else:
                self._kept = None
            yield line, part
            line += part.count(b"\n")

    def not_utf8(self, *, benign: bool = False) -> tuple[Finding, ...]:
        """Return what is to be said of lines that are not UTF-8, if there were any."""
        count, line, text = self._foreign
        if not count:
            return ()
        return (Finding("repaired", NOT_UTF8, count, line, "text", text[:80], text, benign),)

    def _count_foreign(self, raw: bytes, part: bytes, first: int) -> None:
        """Count the lines of a part in which bytes were written out."""
        count, line, text = self._foreign
        for number, (one, known) in enumerate(zip(raw.split(b"\n"), part.split(b"\n"), strict=True), start=first):
            if known != one:
                line, text = (line, text) if count else (number, known[:1000].decode("utf-8", errors="ignore"))
                count += 1
        self._foreign = count, line, text

    def part_with(self, line: int) -> int:
        """Return the number of the part that holds a line which has been given."""
        return bisect_right(self._first, line) - 1

    def part(self, number: int) -> tuple[int, bytes]:
        """Return a part that has been given before, with the line it begins with."""
        if self._kept is not None:
            return self._first[number], self._kept[number]
        if self._last[0] != number:
            found = escaped(next(part for i, part in enumerate(self._read()) if i == number))
            self._last = (number, found)
        return self._first[number], self._last[1]

    def line(self, number: int) -> bytes:
        """Return the text of a line that has been given before."""
        first, part = self.part(self.part_with(number))
        at = 0
        for _ in range(number - first):
            at = part.find(b"\n", at) + 1
        end = part.find(b"\n", at)
        return part[at : end if end >= 0 else len(part)]

    @contextmanager
    def sound_first(self, parts: Iterator[object]) -> Iterator[None]:
        """Let what is wrong with the file itself be said before anything that was found in a part of it."""
        try:
            yield
        except InputError:
            for _ in parts:
                pass
            raise

    def _read(self) -> Iterator[bytes]:
        """Give parts that end with a line, tidied."""
        return self._lines() if self._tidy is None else map(self._tidy, self._lines())

    def _lines(self) -> Iterator[bytes]:
        """Give parts that end with a line, the first with the head before it."""
        rest = self.head + b"\n" if self.head else b""
        line = 1
        for piece in _plain(self.path):
            cut = piece.rfind(b"\n") + 1
            if cut:
                yield rest + piece[:cut]
                line += rest.count(b"\n") + piece.count(b"\n")
                rest = piece[cut:]
            else:
                rest += piece
            if len(rest) > LONGEST_LINE:
                told = f"the line has more than {LONGEST_LINE >> 20} MB"
                raise TraceError.at(self.path, told, line=line, hint="is it a text at all?")
        if rest:
            yield rest


def squeeze(text: bytes) -> bytes:
    """Leave single spaces between fields and none at the ends of lines; lines stay where they are."""
    if b"\t" in text:
        text = text.replace(b"\t", b" ")
    raw = np.frombuffer(text, np.uint8)
    space = raw == _SPACE
    drop = space.copy()
    drop[1:] &= space[:-1] | (raw[:-1] == _NEWLINE)
    kept: bytes = raw[~drop].tobytes()
    return (kept.replace(b" \n", b"\n") if b" \n" in kept else kept).removesuffix(b" ")


def _plain(path: Path | str) -> Iterator[bytes]:
    """Give the pieces of a text: no BOM, one newline a line; refuse what is not text."""
    blank, at, held = True, 0, b""
    pieces = _pieces(path)
    for raw in pieces:
        piece = raw if at else raw.removeprefix(_UTF8_BOM)
        blank = blank and not piece.strip()
        try:
            refuse_foreign(path, raw, at)
        except TraceError:
            for _ in pieces:  # a file that cannot be unpacked is said to be that
                pass
            raise
        at += len(raw)
        piece, held = held + piece, b""
        if piece.endswith(b"\r"):  # the other half of the line's end may follow
            piece, held = piece[:-1], b"\r"
        if b"\r" in piece:
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        yield piece
    if blank:
        raise TraceError.at(path, "the file is empty")
    if held:
        yield b"\n"


def _pieces(path: Path | str) -> Iterator[bytes]:
    """Give the bytes of a file, unpacked if it is gzip whatever its name says."""
    with open_trace(path) as file:
        try:
            packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
            file.seek(0)
            if packed:
                yield from unpacked(path, file, AT_ONCE, whole=True)
                return
            refuse_large(path, os.fstat(file.fileno()).st_size, machine_bytes())
            while piece := file.read(AT_ONCE):
                yield piece
        except OSError as problem:
            raise TraceError.at(path, f"cannot be read ({problem.strerror or problem})") from None
