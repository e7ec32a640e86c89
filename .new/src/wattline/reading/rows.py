"""A frame on its way to a job table: columns become arrays, rows that cannot be jobs are left out and counted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints
from wattline.errors import TraceError
from wattline.model.jobs import UNKNOWN
from wattline.model.names import Names
from wattline.reading.notes import Action, Finding
from wattline.reading.plain import is_category

if TYPE_CHECKING:
    import polars as pl

Mask = npt.NDArray[np.bool_]
MAX_WHOLE = 2.0**53


class Rows:
    """A frame being turned into arrays; rows are known by line (text) or by number from 1 (Parquet)."""

    truths = True
    """Whether a column of truth values may stand for numbers, 0 and 1."""

    def __init__(self, path: Path | str, frame: pl.DataFrame | None, lines: npt.NDArray[Any] | range) -> None:
        self.path, self.lines = path, lines
        self._frame = frame
        self.height = len(lines)
        self.findings: list[Finding] = []
        self.bad = np.zeros(self.height, dtype=np.bool_)
        self.left_out: Ints = np.empty(0, dtype=np.int64)
        """Rows of the file that are not among these, for they had another width: counted from 0 among all rows."""

    @property
    def frame(self) -> pl.DataFrame:
        """The frame that the rows are of."""
        if self._frame is None:
            raise AssertionError("rows of a text have no frame")
        return self._frame

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        return self.frame.columns

    def row(self, index: int) -> dict[str, object]:
        """Return a row as it stands in the file."""
        return self.frame.row(index, named=True)

    def note(self, action: Action, reason: str, which: Mask, column: str) -> None:
        """Count the rows of a mask, quoting the first."""
        rows = np.flatnonzero(which)
        if rows.size:
            row = self.row(int(rows[0]))
            text = ", ".join(f"{key}={str(value)[:30]}" for key, value in row.items())
            value = str(row.get(column))[:80]
            self.findings.append(Finding(action, reason, int(rows.size), int(self.lines[rows[0]]), column, value, text))

    def drop(self, reason: str, which: Mask, column: str) -> None:
        """Leave rows out, each counted under the first reason that fits."""
        self.note("dropped", reason, which & ~self.bad, column)
        self.bad |= which

    def drop_unusable(self, what: str, values: Floats, column: str, least: float = -np.inf) -> None:
        """Leave rows out whose time is not known, endless or below the least that makes sense, each for its cause."""
        self.drop(f"{what} unknown", np.isnan(values), column)
        self.drop(f"{what} is endless or too large a number", np.isinf(values), column)
        self.drop(f"{what} is below {least:g}", values < least, column)

    def drop_not_whole(self, what: str, values: Floats, column: str, least: float, reason: str) -> None:
        """Leave rows out whose number is not whole, or too large to be told from the next one."""
        self.drop(f"{what} is too large a number", np.abs(values) >= MAX_WHOLE, column)
        self.drop(reason, ~whole(values, least), column)

    def finite(self, name: str, values: Floats, keep: Mask, instead: float) -> Floats:
        """Return a column in which a number that is not known is another one; endless ones are counted."""
        reason = f"{name} is endless or too large a number: taken as {instead:g}"
        self.note("repaired", reason, keep & np.isinf(values), name)
        return np.where(np.isfinite(values), values, instead)

    def places(self, rows: Floats) -> Floats:
        """Return where rows of the file, counted from 0, are among these; -1 for those that were left out."""
        if not self.left_out.size:
            return rows
        before = np.searchsorted(self.left_out, rows)
        gone = self.left_out[np.minimum(before, self.left_out.size - 1)] == rows
        return np.where(gone, UNKNOWN, rows - before)

    def number_jobs(self, numbers: Floats) -> Floats:
        """Return the numbers of jobs; those that are not known are above all of the table."""
        unknown = np.isnan(numbers) & ~self.bad
        if not unknown.any():
            return numbers
        first = max(0.0, float(np.max(numbers, initial=0.0, where=np.abs(numbers) < MAX_WHOLE))) + 1
        self.note("repaired", f"job number unknown: it is given one, from {first:g} on", unknown, "job_id")
        found = numbers.copy()
        found[unknown] = np.floor(first) + np.arange(int(unknown.sum()))
        return found

    def numbers(self, name: str, *, needed: bool = True) -> Floats | None:
        """Return a column as floats, NaN for null; None if absent.

        Rows whose text is no number are left out if it is needed.
        """
        if name not in self.columns:
            return None
        given, wrong = self._given(name)
        if wrong is not None and needed:
            self.drop("malformed: not a number", wrong, name)
        elif wrong is not None:
            self.note("repaired", "malformed: not a number: taken as unknown", wrong & ~self.bad, name)
        return given

    def codes(self, name: str) -> tuple[npt.NDArray[Any], Sequence[str]]:
        """Return a column of names as codes and names."""
        if name not in self.columns:
            return np.full(self.height, UNKNOWN, dtype=np.int64), ()
        return self._coded(name)

    def _given(self, name: str) -> tuple[Floats, Mask | None]:
        """Return a column as floats, and which of its texts are no numbers (None: it holds no texts)."""
        import polars as pl

        series = self.frame[name]
        if is_category(series.dtype):
            series = series.cast(pl.String)
        if series.dtype == pl.Boolean and not self.truths:
            raise TraceError.at(self.path, "column must hold numbers, not truth values", field=name)
        if not (series.dtype.is_numeric() or series.dtype in (pl.Boolean, pl.Null, pl.String)):
            raise TraceError.at(self.path, f"column must hold numbers, not {series.dtype}"[:200], field=name)
        given = series.cast(pl.Float64, strict=False).to_numpy().astype(np.float64, copy=False)
        if series.dtype != pl.String:
            return given, None
        absent = series.is_null() | (series.str.to_lowercase() == "nan")
        return given, np.isnan(given) & ~absent.to_numpy()

    def _coded(self, name: str) -> tuple[npt.NDArray[Any], Sequence[str]]:
        import polars as pl

        from wattline.reading.coder import codes, without_blank

        series = self.frame[name]
        if isinstance(series.dtype, pl.Enum):  # written by Wattline: keeps names that no row uses, and their order
            physical = series.to_physical().cast(pl.Int64).fill_null(UNKNOWN).to_numpy().astype(np.int64)
            return without_blank(physical, series.dtype.categories)
        if series.dtype.is_integer():
            told = "a number below 0 is no name: taken as unknown"
            self.note("kept", told, (series < 0).fill_null(value=False).to_numpy(), name)
            return _numbered(series.set(series < 0, None))
        if not (series.dtype in (pl.String, pl.Null) or series.dtype == pl.Categorical):
            raise TraceError.at(self.path, f"column must hold names, not {series.dtype}"[:200], field=name)
        return codes(series.cast(pl.String).fill_null(""))


def _numbered(series: pl.Series) -> tuple[Ints, Sequence[str]]:
    """Return whole numbers, null where unknown, as codes in order of appearance and names."""
    import polars as pl

    distinct = series.unique(maintain_order=True).drop_nulls()
    places = pl.Series(np.arange(distinct.len()), dtype=pl.Int32)
    found = series.replace_strict(distinct, places, default=UNKNOWN, return_dtype=pl.Int32) if distinct.len() else None
    coded = np.full(series.len(), UNKNOWN) if found is None else found.fill_null(UNKNOWN).to_numpy()
    return coded.astype(np.int64), Names.of_series(distinct.cast(pl.String))


def kept(values: npt.NDArray[Any], keep: Mask) -> npt.NDArray[Any]:
    """Return the kept rows of a column, never a view of somebody else's memory."""
    if not keep.all():
        return values[keep]
    return values if values.flags.writeable else values.copy()


def out_of_order(times: Floats, keep: Mask) -> Mask:
    """Return which kept rows are earlier than the kept one before them."""
    late = np.zeros(keep.size, dtype=np.bool_)
    if keep.all():
        late[1:] = times[1:] < times[:-1]
        return late
    rows = np.flatnonzero(keep)
    left = times[rows]
    late[rows[1:]] = left[1:] < left[:-1]
    return late


def whole(values: Floats, least: float) -> Mask:
    """Return which numbers are whole and at least so large."""
    return np.asarray((values >= least) & (values == np.floor(values)) & (values < MAX_WHOLE), dtype=np.bool_)
