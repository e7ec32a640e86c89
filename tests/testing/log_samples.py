"""Sound files of every format of job logs, and formats that break one rule each."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from wattline.errors import TraceError
from wattline.formats.jobs.base import Head, Likeness, ReadOptions
from wattline.formats.jobs.krc import Krc
from wattline.reading.notes import Trace, build_jobs

_AT = datetime(2020, 5, 5, 12, tzinfo=UTC)


def _parquet(columns: dict[str, list[Any]]) -> bytes:
    file = io.BytesIO()
    pl.DataFrame(columns).write_parquet(file)
    return file.getvalue()


SOUND: dict[str, bytes] = {
    "swf": b"; MaxProcs: 8\n"
    + b"".join(b"%d %d 0 5 2 -1 -1 2 60 -1 1 1 1 1 1 1 -1 -1\n" % (i, i * 10) for i in range(1, 9)),
    "gwf": b"# MaxProcs: 8\n"
    + b"".join(b"%d %d 3 60 2 -1 -1 2 90 -1 1 U1 G1 app Q0%s\n" % (i, i * 10, b" -1" * 14) for i in range(1, 9)),
    "sacct": b"JobID|Submit|ElapsedRaw|NNodes|JobName\n"
    + b"".join(b"%d|2024-01-01T00:00:0%d|60|2|name\n" % (i, i) for i in range(1, 9)),
    "table": b"submit_s,work_s,nodes,user\n" + b"".join(b"%d,5,2,ann\n" % i for i in range(1, 9)),
    "krc": b"interarrival,service,cores_used\n" + b"".join(b"%d,5,2\n" % i for i in range(1, 9)),
    "rrze": b"JobID|Submit|Start|End|ReqNodes|Timelimit|Elapsed|User|JobName|\n"
    + b"".join(
        b"%d|2019-01-01T0%d:00|2019-01-01T0%d:01|2019-01-01T0%d:11|2|01:00|00:10|ann|name\n" % (i, i, i, i)
        for i in range(1, 9)
    ),
    "pm100": _parquet(
        {
            "job_id": [1, 2, 3],
            "submit_time": [_AT, _AT + timedelta(minutes=1), _AT + timedelta(minutes=2)],
            "run_time": [60, 120, 600],
            "num_nodes_alloc": [1, 2, 4],
            "power_consumption": [[500, 510], [900], [1600, 1700, 1650]],
        }
    ),
}
"""Format → a file with a few jobs."""


class Raw:
    """A reader of somebody in a hurry: submit time, run time and nodes, with Python's own means."""

    name = "raw"
    about = "three numbers a line"
    in_parts = False

    def looks_like(self, head: Head) -> Likeness:
        """Tell by the number of words."""
        return Likeness.MAYBE if len(head.line.split()) == 3 else Likeness.NO

    def read(self, path: Path | str, options: ReadOptions) -> Trace:
        """Read a file whole; its mistakes are Python's."""
        del options
        rows = [[float(part) for part in line.split()] for line in Path(path).read_text().splitlines()]
        columns: dict[str, Any] = dict(zip(("submit_s", "work_s", "nodes"), zip(*rows, strict=True), strict=True))
        return Trace(build_jobs(path, **columns), source=str(path))


class Lenient(Krc):
    """A reader that overhears the wish for strictness."""

    def read(self, path: Path | str, options: ReadOptions) -> Trace:
        """Read a file as if nobody had asked for strictness."""
        del options
        return super().read(path, ReadOptions())


class Greedy(Krc):
    """A format that takes everything for its own."""

    name = "greedy"

    def looks_like(self, head: Head) -> Likeness:
        """Be sure."""
        del head
        return Likeness.SURE


class Wordy(Krc):
    """A format whose errors are longer than a line."""

    name = "Wordy format"

    def read(self, path: Path | str, options: ReadOptions) -> Trace:
        """Read a file, or complain at length."""
        try:
            return super().read(path, options)
        except TraceError as problem:
            raise TraceError(f"something is wrong\n{problem}") from None


class Hungry(Krc):
    """A reader that takes half a gigabyte more than it needs, where a file is large."""

    def read(self, path: Path | str, options: ReadOptions) -> Trace:
        """Read a file in spite of it."""
        large = Path(path).is_file() and Path(path).stat().st_size > 500_000
        wasted = np.ones(60_000_000 if large else 1)
        return super().read(path, options) if wasted[-1] else super().read(path, ReadOptions())


class Forgetful(Krc):
    """A reader that loses a job without a word."""

    def read(self, path: Path | str, options: ReadOptions) -> Trace:
        """Read a file and leave out its dropped records, and the notes about them."""
        found = super().read(path, options)
        return Trace(found.jobs, source=str(path))
