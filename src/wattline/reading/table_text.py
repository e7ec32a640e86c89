"""CSV job tables → columns of numbers and codes with the line of each row; quoted fields are understood."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.reading.delimited import Delimited, Pieces
from wattline.reading.fields import Coder
from wattline.reading.rows import Mask, Rows

if TYPE_CHECKING:
    import polars as pl


def tidy(frame: pl.DataFrame) -> pl.DataFrame:
    """Leave out blanks around texts; an empty field is null."""
    import polars as pl

    return frame.with_columns(pl.all().str.strip_chars()).with_columns(pl.all().replace("", None))


class _Columns:
    """Columns of a table as it is read: numbers, which texts are none, and codes of names."""

    def __init__(self, numbers: Collection[str], names: Collection[str]) -> None:
        self._numbers, self._names = numbers, names
        self.height = 0
        self.pieces = Pieces()
        self.wrong: dict[str, list[Ints]] = {}
        self.coders = {name: Coder() for name in names}

    def __call__(self, frame: pl.DataFrame) -> None:
        """Take a part of the table."""
        import polars as pl

        for name in frame.columns:
            if name in self._names:
                self.pieces.add(name, self.coders[name](frame[name]))
            elif name in self._numbers:
                given = frame[name].cast(pl.Float64, strict=False).to_numpy().astype(np.float64)
                self.pieces.add(name, given)
                odd = np.flatnonzero(np.isnan(given) & frame[name].is_not_null().to_numpy())
                if odd.size:
                    said = frame[name][odd].str.to_lowercase() != "nan"
                    self.wrong.setdefault(name, []).append(odd[said.to_numpy()] + self.height)
        self.height += frame.height


class TextRows(Rows):
    """Rows of a CSV table, of which only numbers and codes are kept."""

    def __init__(self, path: Path | str, numbers: Collection[str], names: Collection[str]) -> None:
        self._table = Delimited(path, ",", quotes=True, tidy=tidy)
        self._read = self._table.read(lambda: _Columns(numbers, names))
        super().__init__(path, None, self._table.lines)
        self.findings.extend((*self._table.wrong, *self._table.said))

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        return self._table.names

    def row(self, index: int) -> dict[str, object]:
        """Return a row as it is written."""
        return self._table.row(int(self.lines[index]))

    def _given(self, name: str) -> tuple[Floats, Mask | None]:
        wrong = np.zeros(self.height, dtype=np.bool_)
        for rows in self._read.wrong.get(name, []):
            wrong[rows] = True
        return self._read.pieces.take(name), wrong

    def _coded(self, name: str) -> tuple[Ints, tuple[str, ...]]:
        return self._read.pieces.take(name), self._read.coders[name].names
