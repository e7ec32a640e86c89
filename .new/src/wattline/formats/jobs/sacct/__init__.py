"""Slurm's accounting, as ``sacct --parsable2`` prints it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wattline.formats.jobs.base import Head, Likeness, ReadOptions

if TYPE_CHECKING:
    from wattline.reading.notes import Trace


class Sacct:
    """Columns between bars, below a line that names them."""

    name = "sacct"
    about = "Slurm's accounting (sacct --parsable2), with its header line"
    in_parts = True

    def looks_like(self, head: Head) -> Likeness:
        """Tell by the bars."""
        return Likeness.MAYBE if b"|" in head.line else Likeness.NO

    def read(self, path: Path | str, options: ReadOptions) -> Trace:
        """Read a file."""
        from wattline.formats.jobs.sacct.read import read_sacct

        cores = 1 if options.cores_per_node is None else options.cores_per_node
        return read_sacct(path, strict=options.strict, cores_per_node=cores, timezone=options.zone)


FORMAT = Sacct()
