"""CSV job tables → columns of numbers and codes with the line of each row; quoted fields are understood."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints
from wattline.model.jobs import UNKNOWN
from wattline.model.names import Names
from wattline.reading.coder import Coder, codes
from wattline.reading.delimited import Delimited
from wattline.reading.pieces import Pieces
from wattline.reading.rows import Mask, Rows

if TYPE_CHECKING:
    import polars as pl


def tidy(frame: pl.DataFrame) -> pl.DataFrame:
    """Leave out blanks around texts; an empty field is null."""
    import polars as pl

    return frame.with_columns(pl.all().str.strip_chars()).with_columns(pl.all().replace("", None))


class _Columns:
    """Columns of a table as it is read: numbers, which texts are none, and codes of names as they are spelt."""

    def __init__(
        self, numbers: Collection[str], names: Collection[str], check: Callable[[list[str]], None] | None
    ) -> None:
        self._numbers, self._names, self._check = numbers, names, check
        self.height = 0
        self.pieces = Pieces()
        self.wrong: dict[str, list[Ints]] = {}
        self.coders = {name: Coder() for name in names}

    def __call__(self, part: pl.DataFrame) -> None:
        """Take a part of the table."""
        import polars as pl

        if self._check is not None and not self.height:
            self._check(part.columns)
        frame = tidy(part)
        for name in frame.columns:
            if name in self._names:
                self.coders[name].add(part[name])
            elif name in self._numbers:
                given = frame[name].cast(pl.Float64, strict=False).to_numpy().astype(np.float64)
                self.pieces.add(name, given)
                odd = np.flatnonzero(np.isnan(given) & frame[name].is_not_null().to_numpy())
                if odd.size:
                    said = frame[name][odd].str.to_lowercase() != "nan"
                    self.wrong.setdefault(name, []).append(odd[said.to_numpy()] + self.height)
        self.height += frame.height


class TextRows(Rows):
    """Rows of a CSV table, of which only numbers and codes are kept; ``check`` refuses columns before all is read."""

    def __init__(
        self,
        path: Path | str,
        numbers: Collection[str],
        names: Collection[str],
        separator: str = ",",
        check: Callable[[list[str]], None] | None = None,
    ) -> None:
        self._table = Delimited(path, separator, quotes=True)
        self._read = self._table.read(lambda: _Columns(numbers, names, check))
        lines = self._table.take_lines()
        for column in self._read.coders.values():  # while numbers take half the room
            column.settle()
        super().__init__(path, None, lines)
        self.left_out = self._table.left_out
        self.findings.extend((*self._table.wrong, *self._table.said))

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        return self._table.names

    def row(self, index: int) -> dict[str, object]:
        """Return a row as it is written, without the blanks around its fields."""
        import polars as pl

        return tidy(pl.DataFrame([self._table.row(int(self.lines[index]))])).row(0, named=True)

    def _given(self, name: str) -> tuple[Floats, Mask | None]:
        wrong = np.zeros(self.height, dtype=np.bool_)
        for rows in self._read.wrong.get(name, []):
            wrong[rows] = True
        return self._read.pieces.take(name), wrong

    def _coded(self, name: str) -> tuple[npt.NDArray[Any], Names]:
        import polars as pl

        column = self._read.coders.pop(name)
        coded, spelt = column.codes, column.names
        if all(text == text.strip() for text in spelt):
            return coded, spelt
        bare, names = codes(pl.Series(list(spelt), dtype=pl.String).str.strip_chars())
        several = np.bincount(bare[bare >= 0], minlength=1)[bare] > 1
        spaced = np.array([text != (names[code] if code >= 0 else "") for text, code in zip(spelt, bare, strict=True)])
        merged = np.append(several & spaced & (bare >= 0), np.False_)[coded]  # the last one is that of no name
        self.note("repaired", "blanks around a name do not count: taken for the same without them", merged, name)
        return np.append(bare, UNKNOWN)[coded], names
