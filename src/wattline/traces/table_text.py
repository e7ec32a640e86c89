"""CSV job tables → a frame of text columns with line numbers; quoted fields are understood."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wattline.errors import TraceError
from wattline.model.jobs import Ints
from wattline.traces.delimited import joined, parts, read_delimited, summed
from wattline.traces.notes import Finding
from wattline.traces.source import as_text

if TYPE_CHECKING:
    import polars as pl


def read_csv_frame(
    path: Path | str, raw: bytes, numbers: Collection[str] = ()
) -> tuple[pl.DataFrame, Ints, tuple[Finding, ...]]:
    """Return the rows (empty fields as null), the line of each, and what was wrong with the others.

    Columns called ``numbers`` may come as whole numbers, where that says exactly what their texts do.
    """
    import polars as pl

    def tidy(frame: pl.DataFrame) -> pl.DataFrame:
        stripped = frame.with_columns(pl.all().str.strip_chars())
        plain = stripped.with_columns(pl.all().replace("", None))
        return plain.with_columns(_whole(plain[name]) for name in plain.columns if name in numbers)

    text = as_text(path, raw)
    if b'"' not in text:
        table = read_delimited(path, ",", raw=text, tidy=tidy)
        return table.frame, table.lines, table.wrong
    frames, places = [], []
    wrong: list[Finding] = []
    names: list[str] = []
    line = 0
    for part in parts(text, 0, quoted=True):
        names, frame, lines, found = _read_quoted(path, part, names, line)
        frames.append(tidy(frame))
        places.append(lines)
        wrong.extend(found)
        line += part.count(b"\n")
    return joined(frames), np.concatenate(places), summed(wrong)


def _whole(column: pl.Series) -> pl.Series:
    """Return a column as whole numbers if those, written out, are its texts."""
    import polars as pl

    found = column.cast(pl.Int64, strict=False)
    return found if found.cast(pl.String).equals(column) else column


def _read_quoted(
    path: Path | str, text: bytes, names: list[str], line: int
) -> tuple[list[str], pl.DataFrame, Ints, tuple[Finding, ...]]:
    """Return names and rows of a part; the first part begins with the names."""
    import polars as pl

    # strict: a quote that is never closed would swallow all lines behind it
    reader = csv.reader(io.StringIO(text.decode("utf-8", errors="replace"), newline=""), strict=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    wrong: list[tuple[int, list[str]]] = []
    try:
        names = names or [name.strip().lower() for name in next(reader, [])]
        for row in reader:
            if len(row) == len(names):
                rows.append(row)
                lines.append(line + reader.line_num)
            elif row:
                wrong.append((line + reader.line_num, row))
    except csv.Error as problem:
        raise TraceError.at(path, f"cannot be read as CSV ({problem})", line=line + reader.line_num) from None
    if len(set(names)) != len(names) or not names:
        raise TraceError.at(path, "the header line must name every column once", line=1, value=",".join(names)[:80])
    findings: tuple[Finding, ...] = ()
    if wrong:
        where, row = wrong[0]
        reason = f"malformed: expected {len(names)} columns like the header (got {len(row)} in the first)"
        findings = (Finding("dropped", reason, len(wrong), where, "record", len(row), ",".join(row)[:1000]),)
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    return names, frame, np.array(lines, dtype=np.int64), findings
