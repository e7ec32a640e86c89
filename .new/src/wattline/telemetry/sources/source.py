"""Where samples of power lie: Parquet, CSV (plain or gzip), folders of them and databases, read in bounded pieces.

Rows of a file come in the order of the file, which is taken for the order in which they were received.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from wattline.arrays import Ints
from wattline.errors import TraceError
from wattline.files import open_trace
from wattline.reading.notes import listed
from wattline.reading.parquet import reading_parquet
from wattline.reading.plain import plain_column
from wattline.reading.source import GZIP_MAGIC, PARQUET_MAGIC, unpacked
from wattline.telemetry.sources.merge import FolderSource
from wattline.telemetry.sources.part import Part, Source

if TYPE_CHECKING:
    import polars as pl

ROWS = 1 << 17
"""Rows that are read at once."""
_BLOCK = 8 << 20
LONGEST = 1 << 20
"""Bytes that a line may have beyond what is read at once."""
LEAST_ROWS, LEAST_BYTES = 1 << 12, 1 << 16
"""Pieces that are not cut smaller, however many files are read side by side."""
SQLITE_MAGIC = b"SQLite format 3\0"
SUFFIXES = (".parquet", ".pq", ".csv", ".csv.gz")


def open_files(path: Path) -> Source:
    """Open a file or a folder of files of samples."""
    if not path.exists():
        raise TraceError.at(path, "no such file or folder")
    if not path.is_dir():
        return _open_file(path)
    found = sorted(
        p for p in path.rglob("*") if p.is_file() and p.name.endswith(SUFFIXES) and not p.name.startswith(".")
    )
    if not found:
        raise TraceError.at(
            path, "no file of samples in this folder", hint=f"names must end in one of {', '.join(SUFFIXES)}"
        )
    parts = [_open_file(p) for p in found]
    for part in parts[1:]:
        if set(part.columns) != set(parts[0].columns):
            raise TraceError.at(part.name, f"other columns than {parts[0].name}: found {listed(part.columns)}")
    if len(parts) == 1:
        return parts[0]
    return FolderSource(str(path), parts)


def _open_file(path: Path) -> Part:
    try:
        with open_trace(path) as file:
            head = file.read(16)
    except OSError as problem:
        raise TraceError.at(path, f"cannot be read ({problem.strerror or problem})") from None
    if head.startswith(PARQUET_MAGIC):
        return ParquetSource(path)
    if not head.strip():
        raise TraceError.at(path, "the file is empty")
    return CsvSource(path, packed=head.startswith(GZIP_MAGIC))


class ParquetSource:
    """One Parquet file."""

    def __init__(self, path: Path) -> None:
        import polars as pl

        self.path, self.name, self.share = path, str(path), 1
        with reading_parquet(path):
            self.kinds = dict(pl.read_parquet_schema(path))
            self.columns = list(self.kinds)
            self.rows: int | None = int(pl.scan_parquet(path).select(pl.len()).collect().item())

    def batches(self, wanted: Sequence[str], time: str) -> Iterator[pl.DataFrame]:  # noqa: ARG002
        """Give the rows in order."""
        import polars as pl

        scan = pl.scan_parquet(self.path).select([self._column(name) for name in dict.fromkeys(wanted)])
        piece = max(ROWS // self.share, min(LEAST_ROWS, ROWS))
        for begin in range(0, self.rows or 0, piece):
            with reading_parquet(self.path):
                found = scan.slice(begin, piece).collect()
            yield found

    def beginning(self, time: str) -> pl.Series:
        """Return the least time."""
        import polars as pl

        with reading_parquet(self.path):
            return pl.scan_parquet(self.path).select(self._column(time).min()).collect()[time]

    def _column(self, name: str) -> pl.Expr:
        return plain_column(self.path, name, self.kinds[name])


class CsvSource:
    """One CSV file, plain or gzip; fields are handed over as texts."""

    def __init__(self, path: Path, *, packed: bool) -> None:
        self.path, self.name, self.packed, self.share = path, str(path), packed, 1
        first = next(self._blocks(), b"")
        if not first:
            raise TraceError.at(path, "the file is empty")
        # about so many, to show progress: text packs to an eighth
        self.rows: int | None = path.stat().st_size * (8 if packed else 1) * first.count(b"\n") // len(first)
        head = first.partition(b"\n")[0].decode("utf-8-sig", errors="backslashreplace").strip()
        self.mark = next((m for m in ("\t", ";", "|", ",") if m in head), ",")
        blanks = [blank for blank in (" ", "\t") if blank != self.mark]
        self._blanks = [
            pair.encode() for b in blanks for pair in (f"{self.mark}{b}", f"{b}{self.mark}", f"{b}\n", f"\n{b}")
        ]
        self.columns = [name.strip().strip('"').strip() for name in head.split(self.mark)]
        if len(set(self.columns)) != len(self.columns) or not all(self.columns):
            raise TraceError.at(path, "the header line must name every column once", line=1, value=head[:80])

    def batches(self, wanted: Sequence[str], time: str) -> Iterator[pl.DataFrame]:  # noqa: ARG002
        """Give the rows in order; a line with too few or too many fields is an error that says which."""
        import polars as pl

        line, first = 2, True
        for block in self._blocks():
            text = (block.partition(b"\n")[2] if first else block).replace(b"\r\n", b"\n")
            first = False
            if b"\r" in text:
                row = line + text.count(b"\n", 0, text.index(b"\r"))
                raise TraceError.at(
                    self.path, "a carriage return inside a line", line=row, hint="end lines in LF or CRLF"
                )
            if not text.strip():
                continue
            body = _without_empty_lines(text)
            try:
                frame = pl.read_csv(
                    io.BytesIO(body),
                    has_header=False,
                    new_columns=self.columns,
                    separator=self.mark,
                    schema_overrides=dict.fromkeys(self.columns, pl.String),
                    infer_schema=False,
                    raise_if_empty=False,
                )
            except pl.exceptions.PolarsError as problem:
                raise self._malformed(text, line, problem) from None
            if frame.columns != self.columns or not self._full(body, frame.height):
                raise self._malformed(text, line, None)
            line += text.count(b"\n")
            chosen = frame.select(list(dict.fromkeys(wanted)))
            # blanks and tabs beside the marks belong to no number and no name; all else does, whatever other lines hold
            blank = body.startswith((b" ", b"\t")) or any(pair in body for pair in self._blanks)
            yield chosen.with_columns(pl.all().str.strip_chars(" \t")) if blank else chosen

    def beginning(self, time: str) -> pl.Series:
        """Return the first time, in the order of the file."""
        return next(self.batches([time], time)).head(1)[time]

    def lines(self) -> Ints:
        """Return the line of every row, where no row goes over several."""
        content = b"".join(self._blocks()).split(b"\n")
        found: Ints = np.array([i for i, line in enumerate(content, 1) if line.strip()][1:], dtype=np.int64)
        return found

    def _full(self, text: bytes, rows: int) -> bool:
        """Tell whether every line has all its fields: a line with too few would be filled up."""
        marks = (len(self.columns) - 1) * rows
        if b'"' not in text:
            return text.count(self.mark.encode()) == marks
        lines = csv.reader(io.StringIO(text.decode("utf-8", errors="replace"), newline=""), delimiter=self.mark)
        return all(len(cells) in (0, len(self.columns)) for cells in lines)

    def _malformed(self, text: bytes, line: int, problem: BaseException | None) -> TraceError:
        width = len(self.columns) - 1
        for i, row in enumerate(text.split(b"\n")):
            if row.strip() and row.count(self.mark.encode()) != width:
                told = f"expected {width + 1} columns like the header"
                return TraceError.at(self.path, told, line=line + i, value=row[:60].decode("utf-8", errors="replace"))
        first = (str(problem).splitlines() or ["?"])[0][:150]
        return TraceError.at(self.path, f"cannot be read as CSV ({first})", line=line)

    def _blocks(self) -> Iterator[bytes]:
        """Give the file in pieces of whole lines."""
        rest: list[bytes] = []
        held = 0
        try:
            with open_trace(self.path) as file:
                for part in self._parts(file):
                    whole, mark, tail = part.rpartition(b"\n")
                    if mark:
                        yield b"".join([*rest, whole, mark])
                        rest, held = [tail], len(tail)
                    else:
                        rest.append(part)
                        held += len(part)
                    if held > LONGEST:
                        raise TraceError.at(
                            self.path, f"a line has more than {LONGEST:,} bytes", hint="is it a table at all?"
                        )
        except OSError as problem:
            raise TraceError.at(self.path, f"cannot be read ({problem.strerror or problem})") from None
        left = b"".join(rest)
        if left.strip():
            yield left + b"\n"

    def _parts(self, file: IO[bytes]) -> Iterator[bytes]:
        size = max(_BLOCK // self.share, min(LEAST_BYTES, _BLOCK))
        if self.packed:
            return unpacked(self.path, file, size, whole=False)
        return iter(lambda: file.read(size), b"")


def _without_empty_lines(text: bytes) -> bytes:
    if not text.startswith((b"\n", b" ", b"\t")) and b"\n\n" not in text and b" \n" not in text and b"\t\n" not in text:
        return text
    return b"".join(line + b"\n" for line in text.split(b"\n") if line.strip())
