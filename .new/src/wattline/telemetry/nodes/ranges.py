"""Tables of ranges of nodes: who held them, or which sensor measures them; every row that is not used is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import TraceError
from wattline.reading.notes import Note, settle
from wattline.reading.rows import MAX_WHOLE, Rows, whole
from wattline.telemetry.sources.part import Source
from wattline.telemetry.sources.source import CsvSource

if TYPE_CHECKING:
    import polars as pl

MOST_NODES = 100_000_000
"""No machine has a node of a higher number."""


class NodeTable(Rows):
    """All rows of a table of nodes at once; those in ``bad`` are counted and not used."""

    def __init__(self, path: Path, source: Source, wanted: Sequence[str | None]) -> None:
        import polars as pl

        names = list(dict.fromkeys(name for name in wanted if name is not None))
        parts = list(source.batches(names, names[0]))
        if not sum(part.height for part in parts):
            raise TraceError.at(path, "no row in it, only a header")
        frame = pl.concat(parts)
        lines = np.arange(1, frame.height + 1)
        if isinstance(source, CsvSource):
            told = source.lines()
            lines = told if told.size == frame.height else lines + 1
        super().__init__(path, frame, lines)

    def whole_numbers(self, name: str, what: str, least: float) -> Ints:
        """Return a column of whole numbers, each at least so large; rows with another are not used (0 there)."""
        values = self._values(name)
        self.drop(f"{what} is missing", np.isnan(values) & ~self.bad, name)
        self.drop_not_whole(what, values, name, least, f"{what} is not a whole number from {least:g} on")
        return np.where(whole(values, least), values, 0.0).astype(np.int64)

    def numbers_of_jobs(self, name: str) -> pl.Series:
        """Return numbers of jobs, null where there is none: steps of a job (``12.batch``) have none of their own."""
        import polars as pl

        column = self.frame[name]
        if column.dtype == pl.String:
            found = column.str.extract(r"^(\d{1,18})$").cast(pl.Int64)
        else:
            values = self._values(name)
            sound = whole(values, -MAX_WHOLE)
            found = pl.Series(np.where(sound, values, 0.0).astype(np.int64)).set(pl.Series(~sound), None)
        self.drop("job number is not a whole number", found.is_null().to_numpy(), name)
        return found

    def known_times(self, name: str, seconds: Floats) -> None:
        """Leave rows out whose time cannot be read."""
        self.drop("the time is missing or cannot be read", ~np.isfinite(seconds), name)

    def within(self, first: Ints, count: Ints, nodes: int | None, name: str) -> None:
        """Leave ranges out that go beyond the last node of the machine, or of any machine where its size is unknown."""
        most = MOST_NODES if nodes is None else nodes
        told = f"the nodes go beyond the machine, which has {most:,}" if nodes is not None else "no machine is so large"
        self.drop(told, (first + count > most) & ~self.bad, name)

    def once(self, table: pl.DataFrame, name: str) -> None:
        """Leave rows out that say once more what a row before them said."""
        again = np.ones(self.height, dtype=np.bool_)
        again[table.with_row_index("_row").unique(table.columns, keep="first")["_row"].to_numpy()] = False
        self.drop("a row that stands there twice", again, name)

    def refuse_first(self) -> None:
        """Raise for the first row that cannot be used but those that stand there twice."""
        settle(self.path, [f for f in self.findings if "twice" not in f.reason], strict=True)

    def notes(self, *, strict: bool = False) -> list[Note]:
        """Return what was not used; with ``strict`` the first such row is an error.

        No job is lost by it, so that the job log has no record less: the notes are of what is *kept*.
        """
        found = settle(self.path, self.findings, strict=strict)
        return [replace(note, action="kept", reason=f"{note.reason}: not used") for note in found]

    def _values(self, name: str) -> Floats:
        values = self.numbers(name)
        assert values is not None  # noqa: S101 - the column was asked for
        return values
