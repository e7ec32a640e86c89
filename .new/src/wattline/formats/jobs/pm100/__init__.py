"""PM100: jobs of CINECA's Marconi100 with their power."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wattline.formats.jobs.base import Head, Likeness, ReadOptions, of_nodes

if TYPE_CHECKING:
    from wattline.reading.notes import Trace

NEEDED = ("submit_time", "run_time", "num_nodes_alloc")
"""Columns without which a Parquet file is not of this format."""


class Pm100:
    """Parquet as it was published."""

    name = "pm100"
    about = "PM100: jobs of Marconi100 with their power (Parquet)"
    in_parts = False

    def looks_like(self, head: Head) -> Likeness:
        """Tell by the columns of a Parquet file."""
        return Likeness.SURE if set(NEEDED) <= set(head.columns) else Likeness.NO

    def read(self, path: Path | str, options: ReadOptions) -> Trace:
        """Read a file."""
        from wattline.formats.jobs.pm100.read import read_pm100

        return of_nodes(read_pm100(path, strict=options.strict, raw=options.raw), options)


FORMAT = Pm100()
