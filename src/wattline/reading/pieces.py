"""Columns of numbers that grow as a table is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_GROWTH = 8
"""A column grows by this part of itself."""


class Pieces:
    """Columns that grow by pieces, as a table is read.

    Each stays one array, since freed pieces would leave holes in memory; floats take half the room as long as that
    loses nothing.
    """

    def __init__(self) -> None:
        self._columns: dict[str, npt.NDArray[Any]] = {}
        self._sizes: dict[str, int] = {}

    def add(self, name: str, piece: npt.NDArray[Any]) -> None:
        """Put a piece to the end of a column."""
        column = self._columns.get(name)
        if piece.dtype == np.float64 and (column is None or column.dtype != np.float64):
            piece = halved(piece)
        if column is None:
            self._columns[name], self._sizes[name] = np.array(piece), piece.size
            return
        begin = self._sizes[name]
        end = begin + piece.size
        if not np.can_cast(piece.dtype, column.dtype):
            column = self._columns[name] = column.astype(np.result_type(piece, column))
        if end > column.size:
            column.resize(max(end, column.size + column.size // _GROWTH), refcheck=False)
        column[begin:end] = piece
        self._sizes[name] = end

    def take(self, name: str) -> npt.NDArray[Any]:
        """Return a column, and forget it here."""
        column = self._columns.pop(name)
        column.resize(self._sizes.pop(name), refcheck=False)
        return column.astype(np.float64) if column.dtype == np.float32 else column

    def at(self, name: str, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return a copy of some entries of a column, which stays."""
        found = self._columns[name][rows]
        return found.astype(np.float64) if found.dtype == np.float32 else found

    def __contains__(self, name: str) -> bool:
        return name in self._columns


def halved(column: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    """Return a column in half the room if that loses nothing.

    >>> halved(np.array([1.5, np.nan, 2.0**25])).dtype, halved(np.array([2.0**25 + 1])).dtype
    (dtype('float32'), dtype('float64'))
    """
    with np.errstate(over="ignore"):
        half = column.astype(np.float32)
    same = half == column
    return half if same.all() or (same | np.isnan(column)).all() else column
