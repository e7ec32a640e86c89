"""Tables of bids: what is promised from when on, made before a run by whoever made it."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

from wattline.errors import InputError, TraceError
from wattline.model.regulation import Bid

COLUMNS = ("time_s", "mean_w", "reserve_w")


def read_bids(path: Path) -> list[tuple[float, Bid]]:
    """Read a CSV file with the columns ``time_s``, ``mean_w`` and ``reserve_w``, in the order of time."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        raise TraceError(f"{path}: cannot be read as text ({problem})") from None
    rows = list(csv.reader(text.splitlines()))
    if not rows or tuple(cell.strip() for cell in rows[0]) != COLUMNS:
        raise TraceError(f"{path}: the first line must be {','.join(COLUMNS)}")
    found: list[tuple[float, Bid]] = []
    for number, row in enumerate(rows[1:], start=2):
        if not row:
            continue
        found.append(_row(path, number, row, found[-1][0] if found else -math.inf))
    if not found:
        raise TraceError(f"{path}: there is no bid in it")
    return found


def _row(path: Path, number: int, row: Sequence[str], last_s: float) -> tuple[float, Bid]:
    try:
        time_s, mean_w, reserve_w = (float(cell) for cell in row)
        bid = Bid(mean_w, reserve_w)
    except (ValueError, InputError) as problem:
        raise TraceError(f"{path}:{number}: not three numbers that make a bid ({problem})") from None
    if not last_s < time_s < math.inf:
        raise TraceError(f"{path}:{number}: time_s must increase, got {time_s:g} after {last_s:g}")
    return time_s, bid


def write_bids(path: Path, bids: Sequence[tuple[float, Bid]]) -> Path:
    """Write such a file."""
    lines = [",".join(COLUMNS), *(f"{time_s!r},{bid.mean_w!r},{bid.reserve_w!r}" for time_s, bid in bids)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
