"""CSV job tables → a frame of text columns with line numbers; quoted fields are understood."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wattline.errors import TraceError
from wattline.model.jobs import Ints
from wattline.traces.delimited import read_delimited
from wattline.traces.notes import Finding
from wattline.traces.source import as_text

if TYPE_CHECKING:
    import polars as pl


def read_csv_frame(path: Path | str, raw: bytes) -> tuple[pl.DataFrame, Ints, tuple[Finding, ...]]:
    """Return the rows (empty fields as null), the line of each, and what was wrong with the others."""
    import polars as pl

    text = as_text(path, raw)
    if b'"' not in text:
        table = read_delimited(path, ",", raw=text)
        frame, lines, wrong = table.frame, table.lines, table.wrong
    else:
        frame, lines, wrong = _read_quoted(path, text)
    stripped = frame.with_columns(pl.all().str.strip_chars())
    return stripped.with_columns(pl.all().replace("", None)), lines, wrong


def _read_quoted(path: Path | str, text: bytes) -> tuple[pl.DataFrame, Ints, tuple[Finding, ...]]:
    import polars as pl

    # strict: a quote that is never closed would swallow all lines behind it
    reader = csv.reader(io.StringIO(text.decode("utf-8", errors="replace"), newline=""), strict=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    wrong: list[tuple[int, list[str]]] = []
    try:
        names = [name.strip().lower() for name in next(reader, [])]
        for row in reader:
            if len(row) == len(names):
                rows.append(row)
                lines.append(reader.line_num)
            elif row:
                wrong.append((reader.line_num, row))
    except csv.Error as problem:
        raise TraceError.at(path, f"cannot be read as CSV ({problem})", line=reader.line_num) from None
    if len(set(names)) != len(names) or not names:
        raise TraceError.at(path, "the header line must name every column once", line=1, value=",".join(names)[:80])
    findings: tuple[Finding, ...] = ()
    if wrong:
        line, row = wrong[0]
        reason = f"malformed: expected {len(names)} columns like the header (got {len(row)} in the first)"
        findings = (Finding("dropped", reason, len(wrong), line, "record", len(row), ",".join(row)[:1000]),)
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    return frame, np.array(lines, dtype=np.int64), findings
