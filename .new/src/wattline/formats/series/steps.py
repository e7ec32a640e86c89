"""Small CSV tables of what holds from when on: bids, power limits."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from wattline.errors import TraceError
from wattline.reading.notes import listed
from wattline.reading.source import read_utf8
from wattline.units import MOST_S, in_full

TIME = "time_s"
"""First column: seconds since the start of the run."""


def read_steps(
    path: Path, columns: Sequence[str], *, ignored: Sequence[str] = ()
) -> Iterator[tuple[int, float, list[str]]]:
    """Yield line, time and the other cells of every row of a file with these columns, in order of time.

    Columns that are ``ignored`` may follow; they are for people.
    """
    table = csv.reader(io.StringIO(read_utf8(path)), strict=True)
    last_s = -math.inf
    try:
        header = [cell.strip().lower() for cell in next(table, [])]
        if header not in ([*columns], [*columns, *ignored]):
            raise TraceError.at(path, f"the first line must be {','.join(columns)}: found {listed(header)}", line=1)
        for row in table:
            if not any(cell.strip() for cell in row):
                continue
            if len(row) != len(header):
                told = f"expected {len(header)} columns like the header, got {len(row)}"
                raise TraceError.at(path, told, line=table.line_num)
            time_s = _time(path, table.line_num, row[0], last_s)
            yield table.line_num, time_s, [cell.strip() for cell in row[1 : len(columns)]]
            last_s = time_s
    except csv.Error as problem:
        raise TraceError.at(path, f"cannot be read as CSV ({problem})", line=table.line_num) from None


def _time(path: Path, line: int, cell: str, last_s: float) -> float:
    time_s = number(path, line, TIME, cell)
    if time_s < 0:
        raise TraceError.at(
            path, "must not be negative: it counts from the start of the run", line=line, field=TIME, value=time_s
        )
    if time_s > MOST_S:
        raise TraceError.at(path, f"at most {in_full(MOST_S)} s can be counted", line=line, field=TIME, value=time_s)
    if not time_s > last_s:
        raise TraceError.at(path, f"must increase, got {time_s:g} after {last_s:g}", line=line, field=TIME)
    return time_s


def number(path: Path, line: int, name: str, cell: str) -> float:
    """Return a cell as a finite number."""
    try:
        value = float(cell) if cell.isascii() and "_" not in cell else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise TraceError.at(path, "expected a number", line=line, field=name, value=cell.strip())
    return value


def read_limits(path: Path) -> list[tuple[float, float]]:
    """Read power limits: ``time_s`` and ``limit_w``, which is empty where there is none from then on."""
    steps = []
    for line, time_s, (cell,) in read_steps(path, (TIME, "limit_w")):
        watts = math.inf if cell in ("", "off", "inf") else number(path, line, "limit_w", cell)
        if watts < 0:
            raise TraceError.at(path, "must not be negative", line=line, field="limit_w", value=watts)
        steps.append((time_s, watts))
    if not steps:
        raise TraceError.at(path, "there is no limit in it, only a header line")
    return steps
