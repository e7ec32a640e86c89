"""How files of emmy's and meggie's jobs look, and how they are called."""

from __future__ import annotations

import re
from pathlib import Path

EVENT = re.compile(rb"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;[A-Z];\S")
"""How an event of Torque's accounting begins."""
_COLUMNS = (b"jobid", b"submit", b"start", b"end", b"reqnodes", b"timelimit", b"elapsed", b"user", b"jobname")
_TO_THE_MINUTE = re.compile(rb"^\d+\|\d{4}-\d\d-\d\dT\d\d:\d\d\|", re.MULTILINE)


def is_rrze(text: bytes) -> bool:
    """Tell by the beginning of its text whether a file has one of the two layouts."""
    head, _, rest = text.lstrip().partition(b"\n")
    if EVENT.match(head):
        return True
    columns = tuple(part.strip() for part in head.lower().strip().rstrip(b"|").split(b"|"))
    return columns == _COLUMNS and _TO_THE_MINUTE.search(rest) is not None


def job_files(folder: Path) -> list[Path]:
    """Return the files of jobs in the folder of a cluster; none if it is not one."""
    for place in (folder / "job_traces", folder):
        found = sorted(place.glob("*-jobs-*.txt*")) if place.is_dir() else []
        if found:
            return found
    return []
