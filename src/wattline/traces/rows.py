"""A frame on its way to a job table: columns become arrays, rows that cannot be jobs are left out and counted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from wattline.errors import TraceError
from wattline.model.jobs import UNKNOWN, Floats, Ints
from wattline.traces.notes import Action, Finding

if TYPE_CHECKING:
    import polars as pl

Mask = npt.NDArray[np.bool_]
MAX_WHOLE = 2.0**53


class Rows:
    """A frame being turned into arrays; rows are known by line (text) or by number from 1 (Parquet)."""

    def __init__(self, path: Path | str, frame: pl.DataFrame, lines: Ints) -> None:
        self.path, self.frame, self.lines = path, frame, lines
        self.findings: list[Finding] = []
        self.bad = np.zeros(frame.height, dtype=np.bool_)

    def note(self, action: Action, reason: str, which: Mask, column: str) -> None:
        """Count the rows of a mask, quoting the first."""
        rows = np.flatnonzero(which)
        if rows.size:
            row = self.frame.row(int(rows[0]), named=True)
            text = ", ".join(f"{key}={str(value)[:30]}" for key, value in row.items())
            value = str(row.get(column))[:80]
            self.findings.append(Finding(action, reason, int(rows.size), int(self.lines[rows[0]]), column, value, text))

    def drop(self, reason: str, which: Mask, column: str) -> None:
        """Leave rows out, each counted under the first reason that fits."""
        self.note("dropped", reason, which & ~self.bad, column)
        self.bad |= which

    def numbers(self, name: str, *, needed: bool = True) -> Floats | None:
        """Return a column as floats, NaN for null; None if absent. Rows whose text is no number are left out if it is needed."""
        import polars as pl

        if name not in self.frame.columns:
            return None
        series = self.frame[name]
        if not (series.dtype.is_numeric() or series.dtype in (pl.Boolean, pl.Null, pl.String)):
            raise TraceError.at(self.path, f"column must hold numbers, not {series.dtype}"[:200], field=name)
        given = series.cast(pl.Float64, strict=False).to_numpy().astype(np.float64)
        if series.dtype == pl.String:
            absent = series.is_null() | (series.str.to_lowercase() == "nan")
            wrong = np.isnan(given) & ~absent.to_numpy()
            if needed:
                self.drop("malformed: not a number", wrong, name)
            else:
                self.note("repaired", "malformed: not a number: taken as unknown", wrong & ~self.bad, name)
        return given

    def codes(self, name: str) -> tuple[Ints, tuple[str, ...]]:
        """Return a column of names as codes and names."""
        import polars as pl

        from wattline.traces.sacct_fields import codes

        if name not in self.frame.columns:
            return np.full(self.frame.height, UNKNOWN, dtype=np.int64), ()
        series = self.frame[name]
        if isinstance(series.dtype, pl.Enum):  # written by Wattline: keeps names that no row uses, and their order
            physical = series.to_physical().cast(pl.Int64).fill_null(UNKNOWN).to_numpy().astype(np.int64)
            return physical, tuple(series.dtype.categories)
        if series.dtype.is_integer():
            series = series.set(series < 0, None)
        elif not (series.dtype in (pl.String, pl.Null) or series.dtype == pl.Categorical):
            raise TraceError.at(self.path, f"column must hold names, not {series.dtype}"[:200], field=name)
        return codes(series.cast(pl.String).fill_null(""))


def whole(values: Floats, least: float) -> Mask:
    """Return which numbers are whole and at least so large."""
    return np.asarray((values >= least) & (values == np.floor(values)) & (values < MAX_WHOLE), dtype=np.bool_)
