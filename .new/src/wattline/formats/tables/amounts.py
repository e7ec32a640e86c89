"""What jobs take of a resource, from a CSV file: the number of a job, and how much it takes."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from wattline.errors import TraceError
from wattline.reading.source import read_utf8

COLUMNS = ("job_id", "amount")
DIGITS = 16
"""Numbers with more of them are not counted exactly."""


def read_amounts(path: Path | str) -> dict[int, int]:
    """Return what every job takes that the file names, by the job's number."""
    rows = csv.DictReader(io.StringIO(read_utf8(path)))
    columns = [name.strip().lower() for name in rows.fieldnames or ()]
    rows.fieldnames = columns
    missing = next((name for name in COLUMNS if name not in columns), None)
    if missing is not None:
        told = f"column {missing!r} is missing: expected job_id and amount"
        raise TraceError.at(path, told, value=", ".join(columns), line=1)
    stranger = next((name for name in columns if name not in COLUMNS or columns.count(name) > 1), None)
    if stranger is not None:
        told = "column is named twice" if stranger in COLUMNS else "unknown column: expected job_id and amount alone"
        raise TraceError.at(path, told, line=1, field=stranger[:60])
    found: dict[int, int] = {}
    lines: dict[int, int] = {}
    for row in rows:
        if None in row:
            raise TraceError.at(path, f"expected {len(columns)} columns like the header", line=rows.line_num)
        job, amount = (_whole(path, rows.line_num, name, row[name]) for name in COLUMNS)
        if job in found:
            told = f"job is on line {lines[job]} already"
            raise TraceError.at(path, told, line=rows.line_num, field="job_id", value=str(job))
        found[job], lines[job] = amount, rows.line_num
    if not found:
        raise TraceError.at(path, "holds no job, only a header")
    return found


def _whole(path: Path | str, line: int, field: str, text: str | None) -> int:
    told = (text or "").strip()
    if not (told.isascii() and told.isdigit()):
        raise TraceError.at(path, "expected a whole number from 0 on", line=line, field=field, value=text)
    if len(told) > DIGITS:
        raise TraceError.at(path, f"has more than {DIGITS} digits", line=line, field=field, value=text)
    return int(told)
