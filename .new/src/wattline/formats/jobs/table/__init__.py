"""Job tables of Wattline's own columns: CSV, Parquet, or the folder of a journal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wattline.formats.jobs.base import Head, Likeness, ReadOptions, of_nodes, separator_in

if TYPE_CHECKING:
    from wattline.reading.notes import Trace


class Table:
    """Columns named as in ``JobTable``."""

    name = "table"
    about = "CSV or Parquet with Wattline's columns, or the folder of a journal"
    in_parts = True

    def looks_like(self, head: Head) -> Likeness:
        """Tell a journal by its manifest, other tables by commas, by their column submit_s, or by being Parquet."""
        if head.is_folder:
            return Likeness.SURE if (head.path / "manifest.json").exists() else Likeness.NO
        commas = b"," in head.line and b"|" not in head.line
        if not head.is_parquet and separator_in(head.line) is not None:
            return Likeness.SURE
        return Likeness.MAYBE if head.is_parquet or commas else Likeness.NO

    def read(self, path: Path | str, options: ReadOptions) -> Trace:
        """Read a file, or the jobs of a journal; the columns of a file may have other names, and be told."""
        if options.columns:
            from wattline.formats.jobs.table.mapped import read_mapped

            return read_mapped(path, options)
        from wattline.formats.jobs.table.read import read_table

        return of_nodes(read_table(path, strict=options.strict, raw=options.raw), options)


FORMAT = Table()
