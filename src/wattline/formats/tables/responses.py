"""Responses to caps from disk: a CSV file of numbers whose columns tell which response it is, and back to a file."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import numpy as np

from wattline.arrays import Floats
from wattline.errors import InputError, TraceError
from wattline.files import write_whole
from wattline.model.cap_points import PointError
from wattline.physics.responses import layouts, response_of_columns
from wattline.physics.responses.base import Given, Response
from wattline.reading.notes import listed
from wattline.reading.source import read_utf8

SUFFIXES = (".csv", ".csv.gz")
"""How the names of such files end."""


def read_response(path: Path | str) -> Response:
    """Read a response to caps; every problem is said with its line."""
    names, columns, lines = _numbers(path)
    made = response_of_columns(names)
    if made is None:
        known = ", or ".join(" and ".join(layout) for layout in layouts()) or "none: no response is read from a file"
        raise TraceError.at(path, f"expected the columns {known}", line=1, value=listed(names))
    try:
        return made.of(Given(columns=columns))
    except PointError as problem:
        raise TraceError.at(path, str(problem), line=lines[problem.point], field=problem.field) from None
    except InputError as problem:
        raise TraceError.at(path, str(problem)) from None


def write_response(path: Path | str, response: Response) -> None:
    """Write a response as a table of powers and run times (1: uncapped); reading it gives the same numbers."""
    lines = ["power_w,time_s", *(f"{power_w!r},{time!r}" for power_w, time in response.points())]
    write_whole(path, "".join(f"{line}\n" for line in lines).encode())


def _numbers(path: Path | str) -> tuple[list[str], dict[str, Floats], list[int]]:
    """Return the names of the columns, their numbers, and the line of each row."""
    rows = csv.reader(io.StringIO(read_utf8(path)), strict=True)
    try:
        names = [cell.strip().lower() for cell in next(rows, [])]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise TraceError.at(path, "column is named twice in the header line", line=1, field=twice[:60])
        found, lines = [], []
        for cells in rows:
            if any(cell.strip() for cell in cells):
                if len(cells) != len(names):
                    told = f"expected {len(names)} columns like the header, got {len(cells)}"
                    raise TraceError.at(path, told, line=rows.line_num)
                found.append([_number(path, rows.line_num, *pair) for pair in zip(names, cells, strict=True)])
                lines.append(rows.line_num)
    except csv.Error as problem:
        raise TraceError.at(path, f"cannot be read as CSV ({problem})", line=rows.line_num) from None
    if not found:
        raise TraceError.at(path, "holds no numbers, only a header line")
    return names, dict(zip(names, np.array(found).T, strict=True)), lines


def _number(path: Path | str, line: int, name: str, text: str) -> float:
    try:
        value = float(text) if "_" not in text and text.isascii() else math.nan
    except ValueError:
        raise TraceError.at(path, "expected a number without a unit", line=line, field=name, value=text) from None
    if not math.isfinite(value):
        raise TraceError.at(path, "expected a finite number", line=line, field=name, value=text)
    return value
