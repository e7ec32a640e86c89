"""Tables of bids: what is promised from when on, made before a run by whoever made it."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path

from wattline.errors import InputError, TraceError
from wattline.model.regulation import Bid
from wattline.traces.notes import listed
from wattline.traces.source import read_text

COLUMNS = ("time_s", "mean_w", "reserve_w")


def read_bids(path: Path) -> list[tuple[float, Bid]]:
    """Read a CSV file with the columns ``time_s`` (since the start of the run), ``mean_w`` and ``reserve_w``, in order of time."""
    table = csv.reader(io.StringIO(read_text(path).decode("utf-8", errors="replace")), strict=True)
    found: list[tuple[float, Bid]] = []
    try:
        header = [cell.strip().lower() for cell in next(table)]
        if tuple(header) != COLUMNS:
            raise TraceError.at(path, f"the first line must be {','.join(COLUMNS)}: found {listed(header)}", line=1)
        for row in table:
            if any(cell.strip() for cell in row):
                found.append(_row(path, table.line_num, row, found[-1][0] if found else -math.inf))
    except csv.Error as problem:
        raise TraceError.at(path, f"cannot be read as CSV ({problem})", line=table.line_num) from None
    if not found:
        raise TraceError.at(path, "there is no bid in it, only a header line")
    return found


def _row(path: Path, line: int, row: Sequence[str], last_s: float) -> tuple[float, Bid]:
    if len(row) != len(COLUMNS):
        raise TraceError.at(path, f"expected {len(COLUMNS)} columns like the header, got {len(row)}", line=line)
    time_s, mean_w, reserve_w = (_number(path, line, name, cell) for name, cell in zip(COLUMNS, row, strict=True))
    if time_s < 0:
        raise TraceError.at(
            path, "must not be negative: it counts from the start of the run", line=line, field="time_s", value=time_s
        )
    if not time_s > last_s:
        raise TraceError.at(path, f"must increase, got {time_s:g} after {last_s:g}", line=line, field="time_s")
    try:
        return time_s, Bid(mean_w, reserve_w)
    except InputError as problem:
        raise TraceError.at(path, str(problem), line=line) from None


def _number(path: Path, line: int, name: str, cell: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise TraceError.at(path, "expected a number", line=line, field=name, value=cell.strip())
    return number


def write_bids(path: Path, bids: Sequence[tuple[float, Bid]]) -> Path:
    """Write such a file."""
    lines = [",".join(COLUMNS), *(f"{time_s!r},{bid.mean_w!r},{bid.reserve_w!r}" for time_s, bid in bids)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
