"""Small tables of numbers with a header line (CSV), read without a library; what is wrong is said with its line."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path

from wattline.errors import TraceError, did_you_mean
from wattline.files import open_trace

MOST_BYTES = 50_000_000
MOST = 1e12
"""Size of a reading, in watts or seconds: beyond it nothing was measured, and squares do not fit."""


def read_numbers(path: Path | str, needed: Sequence[str], optional: Sequence[str] = ()) -> dict[str, list[float]]:
    """Return columns of numbers by name; others are left out, optional ones may be missing."""
    with open_trace(path) as file:
        raw = file.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise TraceError.at(path, f"is larger than {MOST_BYTES // 1_000_000} MB; fewer readings are enough")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TraceError.at(path, "is not UTF-8 text, expected a CSV file") from None
    rows = csv.reader(io.StringIO(text))
    try:
        names = [name.strip() for name in next(rows, [])]
        missing = [name for name in needed if name not in names]
        if missing:
            raise TraceError.at(path, f"no column is called {missing[0]!r}{did_you_mean(missing[0], names)}", line=1)
        twice = [name for name in (*needed, *optional) if names.count(name) > 1]
        if twice:
            raise TraceError.at(path, f"{names.count(twice[0])} columns are called {twice[0]!r}", line=1)
        wanted = {name: names.index(name) for name in (*needed, *optional) if name in names}
        columns: dict[str, list[float]] = {name: [] for name in wanted}
        for row in rows:
            if not row or (len(row) == 1 and not row[0].strip()):
                continue
            if len(row) != len(names):
                raise TraceError.at(path, f"has {len(row)} fields, the header has {len(names)}", line=rows.line_num)
            for name, at in wanted.items():
                columns[name].append(_number(path, rows.line_num, name, row[at]))
    except csv.Error as problem:
        raise TraceError.at(path, f"is no CSV ({problem})", line=rows.line_num) from None
    return columns


def _number(path: Path | str, line: int, name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise TraceError.at(path, "expected a number", line=line, field=name, value=text, hint="leave such rows out")
    if abs(value) > MOST:
        told = f"is beyond {MOST:g}, which is no reading"
        raise TraceError.at(path, told, line=line, field=name, value=text, hint="leave such rows out")
    return value
