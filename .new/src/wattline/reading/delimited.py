"""Text tables with a header line (CSV, Slurm dumps), read in parts; rows of the wrong width are counted, not guessed.

What a part holds is made numbers before the next is read (``Pieces``); a record that is to be quoted is read again.
"""

from __future__ import annotations

import csv
import io
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from wattline.arrays import Ints
from wattline.errors import TraceError
from wattline.reading.fields import LONGEST
from wattline.reading.notes import Action, Finding
from wattline.reading.parts import TextParts
from wattline.reading.pieces import Pieces

if TYPE_CHECKING:
    import polars as pl

_NEWLINE = 10
_MAX_HEADER_CHARS = 20_000
_SHOWN_CHARS = 80
AGAIN = "the header line again: left out"
"""Reason of the note on header lines between the rows, as in dumps that were put together."""
Tidy = Callable[["pl.DataFrame"], "pl.DataFrame"]
Take = TypeVar("Take", bound=Callable[["pl.DataFrame"], None])
Part = tuple["pl.DataFrame", Ints, Ints, tuple[Finding, ...]]
"""Rows, the line of each, which rows of the part were left out for their width, and what is to be said."""


class _QuoteError(Exception):
    """A quote was met in a table that was read as one without."""


class Delimited:
    """A table on disk: lower-case ``names`` of its columns; ``lines[i]`` is the line of row i.

    ``wrong`` are rows of other widths; ``said`` is what else is to be said of its text.

    ``quotes``: fields may be quoted, as in CSV; a table with a single quote is read so from its beginning. ``head`` is
    a header line for a table without; ``skip_blank``: lines above the header may be blank. ``tidy`` is done to texts
    before anybody sees them. ``names`` are those of the columns of a table without quotes and without a header line;
    ``squeeze`` is done to its text, part by part, and leaves every line in its place.
    """

    def __init__(
        self,
        path: Path | str,
        separator: str,
        *,
        head: bytes = b"",
        quotes: bool = False,
        skip_blank: bool = False,
        tidy: Tidy | None = None,
        names: Iterable[str] = (),
        squeeze: Callable[[bytes], bytes] | None = None,
    ) -> None:
        self.path, self.separator = path, separator
        self.names: list[str] = list(names)
        self._headless = bool(self.names)
        self.lines: npt.NDArray[Any] = np.empty(0, dtype=np.int64)
        self.wrong: tuple[Finding, ...] = ()
        self.left_out: Ints = np.empty(0, dtype=np.int64)
        """Rows of the wrong width, counted from 0 among all rows."""
        self.said: tuple[Finding, ...] = ()
        self._text = TextParts(path, head, squeeze)
        self._quotes, self._skip_blank, self._tidy = quotes, skip_blank, tidy
        self._quoted = False
        self._read_as: list[tuple[int, int, int]] = []
        """Of a table with quotes: the line with which each part begins, the first and the last part of the text that it
        is of.
        """

    @property
    def records(self) -> int:
        """Rows read, sound or not; repeated header lines are no rows."""
        return int(self.lines.size) + sum(found.count for found in self.wrong)

    def read(self, begin: Callable[[], Take]) -> Take:
        """Give every part, as columns of text, to what ``begin`` makes, and return that.

        It may be made a second time.
        """
        try:
            return self._go_through(begin())
        except _QuoteError:
            self._quoted = True
            return self._go_through(begin())

    def take_lines(self) -> npt.NDArray[Any] | range:
        """Return the line of each row, and forget it here; without gaps they take no room."""
        lines, self.lines = self.lines, self.lines[:0].copy()
        if lines.size and lines[-1] - lines[0] == lines.size - 1:  # they rise
            return range(int(lines[0]), int(lines[-1]) + 1)
        return lines

    def _go_through(self, take: Take) -> Take:
        places = Pieces()
        wrong: list[Finding] = []
        left_out: list[Ints] = []
        rows = 0
        text = iter(self._text)
        with self._text.sound_first(text):
            for frame, lines, odd, found in self._quoted_parts(text) if self._quoted else self._plain_parts(text):
                if not self._headless:
                    self._refuse_other_headers(frame, lines)
                take(frame if self._tidy is None else self._tidy(frame))
                if odd.size:
                    left_out.append(odd + rows)
                rows += lines.size + odd.size
                places.add("line", lines.astype(np.int32) if not lines.size or lines[-1] < 1 << 31 else lines)
                wrong.extend(found)
        if "line" not in places:
            empty = _parse(self.path, b"", self.names, self.separator)
            take(empty if self._tidy is None else self._tidy(empty))
        self.lines = places.take("line") if "line" in places else np.empty(0, dtype=np.int64)
        self.left_out = np.concatenate(left_out) if left_out else np.empty(0, dtype=np.int64)
        again = [found for found in wrong if found.reason == AGAIN]
        others = [found for found in wrong if found.reason != AGAIN]
        self.wrong, repeated = (
            (replace(some[0], count=sum(f.count for f in some)),) if some else () for some in (others, again)
        )
        self.said = (*repeated, *self._text.not_utf8())
        return take

    def _refuse_other_headers(self, frame: pl.DataFrame, lines: Ints) -> None:
        """Refuse a row that names the columns in another order, as where tables of several queries are put together.

        The rows below it would be read as what they are not.
        """
        for row in _without_numbers(frame):
            there = [_bare(frame[name][row]) for name in frame.columns]
            known = sum(name in self.names for name in there if name)
            if there != self.names and 2 * known > len(there) and len(there) > 1:
                raise TraceError.at(
                    self.path,
                    "is the header line of another table, whose columns are not those of the first",
                    line=int(lines[row]),
                    value=self.separator.join(there),
                    hint="read each table by itself, or print all with the same columns",
                )

    def _plain_parts(self, text: Iterable[tuple[int, bytes]]) -> Iterator[Part]:
        header = b""
        for line, part in text:
            if self._quotes and b'"' in part:
                raise _QuoteError
            if not header and not self._headless:
                begin = len(part) - len(part.lstrip(b"\n"))
                at = part.find(b"\n", begin) + 1 or len(part)
                header = part[begin:at].rstrip(b"\n")
                if not header:
                    continue
                self.names = _header_names(self.path, header, self.separator)
                line, part = line + begin + 1, part[at:]  # noqa: PLW2901
            if part:
                yield _read_part(self.path, part, header, self.names, self.separator, line)

    def _quoted_parts(self, text: Iterator[tuple[int, bytes]]) -> Iterator[Part]:
        self._read_as = []
        names: list[str] = []
        last = -1
        for line, part in text:
            first, last = last + 1, last + 1
            line, part = self._without_blank(line, part, first)  # noqa: PLW2901
            while True:
                try:
                    self.names, frame, lines, odd, found = _read_quoted(self.path, part, names, line, self.separator)
                    break
                except _CutOffError as cut:
                    more = next(text, None)
                    if more is None:
                        raise cut.told from None
                    part, last = part + more[1], last + 1  # noqa: PLW2901
            names = self.names
            self._read_as.append((line, first, last))
            yield frame, lines, odd, found

    def _without_blank(self, line: int, part: bytes, number: int) -> tuple[int, bytes]:
        """Leave out blank lines above the header, where they are allowed."""
        rest = part.lstrip(b"\n") if self._skip_blank and number == 0 else part
        return line + len(part) - len(rest), rest

    def row(self, line: int) -> dict[str, Any]:
        """Return a record that was read, by its line, as texts."""
        if self._quoted:
            first_line, first, last = self._read_as[bisect_right([at for at, _, _ in self._read_as], line) - 1]
            part = b"".join(self._text.part(i)[1] for i in range(first, last + 1))
            _, part = self._without_blank(0, part, first)
            _, frame, lines, _, _ = _read_quoted(
                self.path, part, self.names if first else [], first_line, self.separator
            )
            frame = frame[int(np.searchsorted(lines, line)) :][:1]
        else:
            frame = _parse(self.path, self._text.line(line), self.names, self.separator)
        return (frame if self._tidy is None else self._tidy(frame)).row(0, named=True)

    def finding(
        self, action: Action, reason: str, which: npt.NDArray[np.bool_], column: str, *, benign: bool = False
    ) -> Finding | None:
        """Return a finding on the rows of a mask, quoting the first; None if there are none."""
        rows = np.flatnonzero(which)
        if not rows.size:
            return None
        line = int(self.lines[rows[0]])
        row = self.row(line)
        text = self.separator.join(str(value)[:_SHOWN_CHARS] for value in row.values())
        value = str(row[column])[:_SHOWN_CHARS] if column in row else None
        return Finding(action, reason, int(rows.size), line, column, value, text, benign)


def _without_numbers(frame: pl.DataFrame) -> Iterator[int]:
    """Yield the rows in which no text begins like a number or a date: few, of a table of jobs."""
    rows: Ints | None = None
    for name in frame.columns:
        texts = frame[name] if rows is None else frame[name].gather(rows)
        first = texts.str.slice(0, 1)
        found = np.flatnonzero(~first.is_between("+", "9").fill_null(value=False).to_numpy())
        rows = found if rows is None else rows[found]
        if not rows.size:
            return
    yield from () if rows is None else rows.tolist()


def _bare(text: str | None) -> str:
    """Return a text as names of columns are compared: in small letters, without quotes."""
    return (text or "")[:LONGEST].strip(' "').lower()


def _read_part(path: Path | str, body: bytes, header: bytes, names: list[str], separator: str, line: int) -> Part:
    starts, ends = _line_bounds(body)
    filled = ends > starts
    width = _separators_per_line(body, ends, separator) + 1
    repeated = _repeats(body, header, starts, ends)
    right = filled & (width == len(names)) & ~repeated
    lines = np.arange(line, line + starts.size, dtype=np.int64)
    expected = f"{len(names)} columns like the header" if header else f"{len(names)} columns"
    wrong = _wrong_width(body, starts, ends, lines, width, filled & ~right & ~repeated, expected)
    if repeated.any():
        wrong = (*wrong, _again(int(np.count_nonzero(repeated)), int(lines[repeated][0]), header.decode()))
    odd = np.flatnonzero(~right[filled & ~repeated])
    return _parse(path, _pick(body, starts, ends, right), names, separator), lines[right], odd, wrong


def _again(count: int, line: int, text: str) -> Finding:
    return Finding("repaired", AGAIN, count, line, "header", text[:_SHOWN_CHARS], text[:1000])


def _header_names(path: Path | str, header: bytes, separator: str) -> list[str]:
    """Return the lower-case names of the columns; an unnamed last one (``sacct --parsable``) is called so."""
    if len(header) > _MAX_HEADER_CHARS:
        raise TraceError.at(path, f"the header line has {len(header)} characters", line=1, hint="is it a table at all?")
    written = [name.strip().strip('"') for name in header.decode("utf-8").split(separator)]
    names = [name.lower() or f"(unnamed {i})" for i, name in enumerate(written, start=1)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None and twice[:1].isdigit():
        hint = "is it a dump without its header line (sacct -n, --noheader)?"
        raise TraceError.at(path, "looks like data, expected the names of columns", line=1, field=twice, hint=hint)
    if twice is not None:
        same = {name for name in written if name.lower() == twice}
        told = "column is named twice in the header line"
        told = told if len(same) == 1 else f"columns {' and '.join(sorted(same))} differ in their letters' case alone"
        raise TraceError.at(path, told, line=1, field=twice, hint="rename one of them" if len(same) > 1 else "")
    return names


def _line_bounds(body: bytes) -> tuple[Ints, Ints]:
    ends = np.flatnonzero(np.frombuffer(body, np.uint8) == _NEWLINE)
    if body and not body.endswith(b"\n"):
        ends = np.append(ends, len(body))
    starts = np.concatenate([np.zeros(min(ends.size, 1), dtype=np.int64), ends[:-1] + 1])
    return starts, ends


def _separators_per_line(body: bytes, ends: Ints, separator: str) -> Ints:
    at = np.flatnonzero(np.frombuffer(body, np.uint8) == ord(separator))
    return np.diff(np.searchsorted(at, ends), prepend=0)


def _repeats(body: bytes, header: bytes, starts: Ints, ends: Ints) -> npt.NDArray[np.bool_]:
    """Return which lines are the header again, as in dumps that were put together with ``cat``."""
    again = np.zeros(starts.size, dtype=np.bool_)
    if not header:
        return again
    for i in np.flatnonzero(ends - starts == len(header)):
        again[i] = body[starts[i] : ends[i]] == header
    return again


def _wrong_width(
    body: bytes, starts: Ints, ends: Ints, lines: Ints, width: Ints, which: npt.NDArray[np.bool_], expected: str
) -> tuple[Finding, ...]:
    rows = np.flatnonzero(which)
    if not rows.size:
        return ()
    first = int(rows[0])
    text = body[starts[first] : ends[first]][:1000].decode("utf-8", errors="replace")
    reason = f"malformed: expected {expected} (got {int(width[first])} in the first)"
    return (Finding("dropped", reason, int(rows.size), int(lines[first]), "record", int(width[first]), text),)


def _pick(body: bytes, starts: Ints, ends: Ints, right: npt.NDArray[np.bool_]) -> bytes:
    if right.all():
        return body
    return b"\n".join(body[s:e] for s, e in zip(starts[right].tolist(), ends[right].tolist(), strict=True))


def _parse(path: Path | str, body: bytes, names: list[str], separator: str) -> pl.DataFrame:
    import polars as pl

    schema = dict.fromkeys(names, pl.String)
    if not body.strip(b"\n"):
        return pl.DataFrame(schema=schema)
    try:
        return pl.read_csv(
            body, separator=separator, has_header=False, schema=schema, quote_char=None, infer_schema=False
        ).fill_null("")
    except pl.exceptions.PolarsError as problem:
        raise TraceError.at(path, f"cannot be read as a table ({str(problem).splitlines()[0][:200]})") from None


class _CutOffError(Exception):
    """A part of a table ends within quotes; ``told`` is the error if nothing follows."""

    def __init__(self, told: TraceError) -> None:
        super().__init__(str(told))
        self.told = told


def _read_quoted(
    path: Path | str, text: bytes, names: list[str], line: int, separator: str
) -> tuple[list[str], pl.DataFrame, Ints, Ints, tuple[Finding, ...]]:
    """Return names and rows of a part that begins with a line; the first part begins with the names."""
    import polars as pl

    # strict: a quote that is never closed would swallow all lines behind it
    reader = csv.reader(io.StringIO(text.decode("utf-8"), newline=""), strict=True, delimiter=separator)
    rows: list[list[str]] = []
    lines: list[int] = []
    wrong: list[tuple[int, list[str]]] = []
    odd: list[int] = []
    again: list[int] = []
    try:
        names = names or [name.strip().lower() for name in next(reader, [])]
        began = reader.line_num
        for row in reader:
            first, began = line + began, reader.line_num
            if len(row) == len(names) and [cell.strip().lower() for cell in row] == names:
                again.append(first)
            elif len(row) == len(names):
                rows.append(row)
                lines.append(first)
            elif row:
                odd.append(len(rows) + len(wrong))
                wrong.append((first, row))
    except csv.Error as problem:
        told = TraceError.at(path, f"cannot be read as CSV ({problem})", line=line - 1 + reader.line_num)
        if str(problem) == "unexpected end of data":
            raise _CutOffError(told) from None
        raise told from None
    if len(set(names)) != len(names) or not names:
        raise TraceError.at(path, "the header line must name every column once", line=1, value=",".join(names)[:80])
    findings: tuple[Finding, ...] = ()
    if wrong:
        where, row = wrong[0]
        reason = f"malformed: expected {len(names)} columns like the header (got {len(row)} in the first)"
        findings = (Finding("dropped", reason, len(wrong), where, "record", len(row), separator.join(row)[:1000]),)
    if again:
        findings = (*findings, _again(len(again), again[0], ",".join(names)))
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    frame = pl.DataFrame(
        [pl.Series(name, column, dtype=pl.String) for name, column in zip(names, columns, strict=True)]
    )
    return names, frame, np.array(lines, dtype=np.int64), np.array(odd, dtype=np.int64), findings
