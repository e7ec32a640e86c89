"""Jobs of the clusters emmy and meggie (Erlangen) with their power, in the published text layouts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wattline.formats.jobs.base import Head, Likeness, ReadOptions, of_nodes
from wattline.formats.jobs.rrze.layout import is_rrze, job_files

if TYPE_CHECKING:
    from wattline.reading.notes import Trace


class Rrze:
    """Accounting events of Torque (emmy), or a Slurm dump to the minute (meggie)."""

    name = "rrze"
    about = "jobs of emmy and meggie (Erlangen) with their power: a file or a folder"
    in_parts = False

    def looks_like(self, head: Head) -> Likeness:
        """Tell a folder by its files of jobs, a file by its first lines."""
        if head.is_folder:
            return Likeness.MAYBE if job_files(head.path) else Likeness.NO
        return Likeness.SURE if is_rrze(head.text) else Likeness.NO

    def read(self, path: Path | str, options: ReadOptions) -> Trace:
        """Read a file, or the folder of a cluster."""
        from wattline.formats.jobs.rrze.read import read_rrze

        return of_nodes(read_rrze(path, strict=options.strict), options)


FORMAT = Rrze()
