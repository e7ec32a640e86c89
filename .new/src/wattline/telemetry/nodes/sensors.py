"""Sensors: from what a table calls them to their number, and which nodes each of them measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wattline.arrays import Ints
from wattline.errors import InputError
from wattline.telemetry.cleaning.faults import Tally

if TYPE_CHECKING:
    import polars as pl

_LAST_NUMBER = r"^(.*?)(\d+)(\D*)$"


@dataclass(frozen=True)
class Coverage:
    """Nodes ``first`` to ``first + count - 1`` belong to sensor ``code``; ranges are sorted and do not overlap."""

    first: Ints
    count: Ints
    code: Ints
    sizes: Ints

    @classmethod
    def of(cls, first: Ints, count: Ints, code: Ints, sensors: int) -> Coverage:
        """Sort ranges and check that no node has two sensors."""
        order = np.argsort(first, kind="stable")
        first, count, code = (np.asarray(x, dtype=np.int64)[order] for x in (first, count, code))
        if np.any(first[1:] < (first + count)[:-1]):
            i = int(np.argmax(first[1:] < (first + count)[:-1])) + 1
            raise InputError(f"node {first[i]} belongs to two sensors: every node must be measured once")
        sizes = np.bincount(code, weights=count, minlength=sensors).astype(np.int64)
        return cls(first, count, code, sizes)

    @classmethod
    def in_racks(cls, nodes: int, per_rack: int) -> Coverage:
        """Racks of equal size in a row; the last may be smaller. ``per_rack`` 1: every node by itself."""
        first = np.arange(0, nodes, per_rack, dtype=np.int64)
        count = np.minimum(first + per_rack, nodes) - first
        return cls(first, count, np.arange(first.size, dtype=np.int64), count)


class Sensors:
    """Sensors by number. Open: new names are new sensors. Closed: names that are not known are strangers."""

    def __init__(
        self, tally: Tally, names: Sequence[str] = (), *, closed: bool = False, numbers: bool = False, first: int = 0
    ) -> None:
        import polars as pl

        self.names = list(names)
        self.tally, self.closed, self.numbers, self.first = tally, closed, numbers, first
        self._around: str | None = None
        self._known = pl.DataFrame(
            {"name": self.names, "code": np.arange(len(self.names), dtype=np.int64)},
            schema={"name": pl.String, "code": pl.Int64},
        )
        tally.grow(self.names)

    @classmethod
    def numbered(cls, tally: Tally, count: int, word: str, first: int = 0) -> Sensors:
        """Closed sensors that are counted from ``first``; of a text its last number counts."""
        return cls(tally, [f"{word} {i}" for i in range(first, first + count)], closed=True, numbers=True, first=first)

    def codes(self, column: pl.Series) -> Ints:
        """Return the number of each sensor, -1 for strangers, whose names are remembered."""
        found = self._by_number(column) if self.numbers else self._by_name(column)
        if self.closed and (found < 0).any():
            import polars as pl

            strange = (
                column.filter(pl.Series(found < 0))
                .cast(pl.String)
                .fill_null("(none)")
                .value_counts(sort=True)
                .head(100)
            )
            for name, count in strange.iter_rows():
                self.tally.stranger(name, count)
        return found

    def _by_number(self, column: pl.Series) -> Ints:
        import polars as pl

        if column.dtype == pl.String:
            column = self._last_number(column)
        values = column.cast(pl.Float64, strict=False).to_numpy() - self.first
        good = (values >= 0) & (values < len(self.names)) & (values == np.floor(values))
        return np.where(good, values, -1.0).astype(np.int64)

    def _last_number(self, names: pl.Series) -> pl.Series:
        """Return the last number of names, if the rest of them is what it is for most: login1 is not node 1."""
        import polars as pl

        parts = names.str.slice(0, 200).str.extract_groups(_LAST_NUMBER).struct.unnest()
        around = parts["1"] + "#" + parts["3"]
        if self._around is None and around.drop_nulls().len():
            self._around = str(around.drop_nulls().mode().sort()[0])
        return parts["2"].to_frame().select(pl.when(around == (self._around or "")).then(pl.col("2"))).to_series()

    def _by_name(self, column: pl.Series) -> Ints:
        import polars as pl

        if column.dtype.is_float():  # a driver may hand whole numbers over as floats
            whole = column.cast(pl.Int64, strict=False)
            column = whole if (whole == column).all() else column
        asked = column.cast(pl.String).alias("name").to_frame()
        if not self.closed:
            new = asked.unique(maintain_order=True).join(self._known, on="name", how="anti", maintain_order="left")
            new = new.filter(pl.col("name").is_not_null())
            if new.height:
                numbers = pl.Series("code", np.arange(len(self.names), len(self.names) + new.height))
                self.names.extend(new["name"].to_list())
                self._known = pl.concat([self._known, new.with_columns(numbers)])
                self.tally.grow(self.names)
        found = asked.join(self._known, on="name", how="left", maintain_order="left")["code"]
        return found.fill_null(-1).to_numpy().astype(np.int64)
