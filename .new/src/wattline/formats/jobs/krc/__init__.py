"""The workload of the Karelian Research Centre's cluster, as the R package hpcwld has it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wattline.formats.jobs.base import Head, Likeness, ReadOptions, of_nodes

if TYPE_CHECKING:
    from wattline.reading.notes import Trace


class Krc:
    """CSV with a column of interarrival times."""

    name = "krc"
    about = "the CSV layouts of the R package hpcwld"
    in_parts = True

    def looks_like(self, head: Head) -> Likeness:
        """Tell by the name of the column of interarrival times."""
        line = head.line
        own = b"," in line and b"|" not in line and b"interarrival" in line.lower()
        return Likeness.SURE if own else Likeness.NO

    def read(self, path: Path | str, options: ReadOptions) -> Trace:
        """Read a file."""
        from wattline.formats.jobs.krc.read import read_krc

        return of_nodes(read_krc(path, strict=options.strict), options)


FORMAT = Krc()
