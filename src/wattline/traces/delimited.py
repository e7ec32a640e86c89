"""Text tables with a header line (CSV, Slurm dumps) → columns of text; rows of the wrong width are counted, not guessed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from wattline.errors import TraceError
from wattline.model.jobs import Ints
from wattline.traces.notes import Action, Finding
from wattline.traces.source import as_text, read_bytes

if TYPE_CHECKING:
    import polars as pl

_NEWLINE = 10
_MAX_HEADER_CHARS = 20_000
_SHOWN_CHARS = 80
AT_ONCE = 8 << 20
"""Bytes that are read together."""
Tidy = Callable[["pl.DataFrame"], "pl.DataFrame"]


@dataclass(frozen=True)
class Delimited:
    """Columns of text by lower-case name; ``lines[i]`` is the line of row i; rows of the wrong width are in ``wrong``."""

    path: Path | str
    separator: str
    frame: pl.DataFrame
    lines: Ints
    wrong: tuple[Finding, ...]

    @property
    def records(self) -> int:
        """Rows read, sound or not; repeated header lines are no rows."""
        return self.frame.height + sum(found.count for found in self.wrong)

    def finding(
        self, action: Action, reason: str, which: npt.NDArray[np.bool_], column: str, *, benign: bool = False
    ) -> Finding | None:
        """Return a finding on the rows of a mask, quoting the first; None if there are none."""
        rows = np.flatnonzero(which)
        if not rows.size:
            return None
        first = int(rows[0])
        shown = [str(value)[:_SHOWN_CHARS] for value in self.frame.row(first)]
        value = str(self.frame[column][first])[:_SHOWN_CHARS] if column in self.frame.columns else None
        text = self.separator.join(shown)
        return Finding(action, reason, int(rows.size), int(self.lines[first]), column, value, text, benign)


def read_delimited(
    path: Path | str, separator: str, *, raw: bytes | None = None, tidy: Tidy | None = None
) -> Delimited:
    """Read a table; every column stays text. ``raw`` gives the bytes if they have been read already.

    It is read in parts, so that what a part takes beside is small; ``tidy`` is done to each.
    """
    text = as_text(path, read_bytes(path) if raw is None else raw)
    begin = len(text) - len(text.lstrip(b"\n"))
    at = text.find(b"\n", begin) + 1 or len(text)
    header = text[begin:at].rstrip(b"\n")
    names = _header_names(path, header, separator)
    line = begin + 2
    frames, places = [], []
    wrong: list[Finding] = []
    for part in parts(text, at):
        frame, lines, found = _read_part(path, part, header, names, separator, line)
        frames.append(frame if tidy is None else tidy(frame))
        places.append(lines)
        wrong.extend(found)
        line += part.count(b"\n")
    if not frames:
        empty = _parse(path, b"", names, separator)
        frames, places = [empty if tidy is None else tidy(empty)], [np.empty(0, dtype=np.int64)]
    return Delimited(path, separator, joined(frames), np.concatenate(places), summed(wrong))


def parts(text: bytes, at: int, *, quoted: bool = False) -> Iterator[bytes]:
    """Give the rest of a text in parts of whole lines; where fields are ``quoted``, a line ends outside of quotes."""
    while at < len(text):
        end = text.find(b"\n", at + AT_ONCE) + 1 or len(text)
        while quoted and end < len(text) and text.count(b'"', at, end) % 2:
            end = text.find(b"\n", end) + 1 or len(text)
        yield text[at:end]
        at = end


def joined(frames: list[pl.DataFrame]) -> pl.DataFrame:
    """Put parts together; a column that is text in one of them is text in all."""
    import polars as pl

    for name in frames[0].columns:
        if len({frame.schema[name] for frame in frames}) > 1:
            frames = [frame.with_columns(pl.col(name).cast(pl.String)) for frame in frames]
    return pl.concat(frames, rechunk=False)


def summed(wrong: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return one finding for those of all parts."""
    return (replace(wrong[0], count=sum(found.count for found in wrong)),) if wrong else ()


def _read_part(
    path: Path | str, body: bytes, header: bytes, names: list[str], separator: str, line: int
) -> tuple[pl.DataFrame, Ints, tuple[Finding, ...]]:
    starts, ends = _line_bounds(body)
    filled = ends > starts
    width = _separators_per_line(body, ends, separator) + 1
    repeated = _repeats(body, header, starts, ends)
    right = filled & (width == len(names)) & ~repeated
    lines = np.arange(line, line + starts.size, dtype=np.int64)
    wrong = _wrong_width(body, starts, ends, lines, width, filled & ~right & ~repeated, len(names))
    return _parse(path, _pick(body, starts, ends, right), names, separator), lines[right], wrong


def _header_names(path: Path | str, header: bytes, separator: str) -> list[str]:
    """Return the lower-case names of the columns; an unnamed last one (``sacct --parsable``) is called so."""
    if len(header) > _MAX_HEADER_CHARS:
        raise TraceError.at(path, f"the header line has {len(header)} characters", line=1, hint="is it a table at all?")
    names = [name.strip().strip('"').lower() for name in header.decode("utf-8", errors="replace").split(separator)]
    names = [name or f"(unnamed {i})" for i, name in enumerate(names, start=1)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None and twice[:1].isdigit():
        hint = "is it a dump without its header line (sacct -n, --noheader)?"
        raise TraceError.at(path, "looks like data, expected the names of columns", line=1, field=twice, hint=hint)
    if twice is not None:
        raise TraceError.at(path, "column is named twice in the header line", line=1, field=twice)
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
    for i in np.flatnonzero(ends - starts == len(header)):
        again[i] = body[starts[i] : ends[i]] == header
    return again


def _wrong_width(
    body: bytes, starts: Ints, ends: Ints, lines: Ints, width: Ints, which: npt.NDArray[np.bool_], expected: int
) -> tuple[Finding, ...]:
    rows = np.flatnonzero(which)
    if not rows.size:
        return ()
    first = int(rows[0])
    text = body[starts[first] : ends[first]][:1000].decode("utf-8", errors="replace")
    reason = f"malformed: expected {expected} columns like the header (got {int(width[first])} in the first)"
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
            body, separator=separator, has_header=False, schema=schema, quote_char=None, infer_schema=False,
            encoding="utf8-lossy",
        ).fill_null("")  # fmt: skip
    except pl.exceptions.PolarsError as problem:
        raise TraceError.at(path, f"cannot be read as a table ({str(problem).splitlines()[0][:200]})") from None
