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
    loses nothing, and a column takes none as long as it holds one value, as an empty one does.
    """

    def __init__(self) -> None:
        self._columns: dict[str, npt.NDArray[Any]] = {}
        self._sizes: dict[str, int] = {}

    def add(self, name: str, piece: npt.NDArray[Any]) -> None:
        """Put a piece to the end of a column."""
        column = self._columns.get(name)
        if piece.dtype == np.float64 and (column is None or column.dtype != np.float64):
            piece = halved(piece)
        begin = self._sizes.get(name, 0)
        end = begin + piece.size
        if column is None or column.size == 1:
            value = piece[:1] if column is None else column
            if _is_all(piece, value):
                self._columns[name], self._sizes[name] = np.array(value), end
                return
            column = self._columns[name] = np.full(
                begin, value[0], dtype=piece.dtype if column is None else value.dtype
            )
        if not np.can_cast(piece.dtype, column.dtype):
            column = self._columns[name] = column.astype(np.result_type(piece, column))
        if end > column.size:
            column.resize(max(end, column.size + column.size // _GROWTH), refcheck=False)
        column[begin:end] = piece
        self._sizes[name] = end

    def take(self, name: str) -> npt.NDArray[Any]:
        """Return a column, and forget it here."""
        column, size = self._columns.pop(name), self._sizes.pop(name)
        if column.size == 1:
            column = np.full(size, column[0])
        column.resize(size, refcheck=False)
        return column.astype(np.float64) if column.dtype == np.float32 else column

    def at(self, name: str, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return a copy of some entries of a column, which stays."""
        column = self._columns[name]
        found = column[rows] if column.size > 1 else np.full(rows.shape, column[0])
        return found.astype(np.float64) if found.dtype == np.float32 else found

    def __contains__(self, name: str) -> bool:
        return name in self._columns


def _is_all(piece: npt.NDArray[Any], value: npt.NDArray[Any]) -> bool:
    """Tell whether a piece holds one value and no other; NaN is a value."""
    if piece.dtype.kind == value.dtype.kind == "f" and np.isnan(value).all():
        return bool(np.isnan(piece).all())
    return bool((piece == value).all())


def halved(column: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    """Return a column in half the room if that loses nothing.

    >>> halved(np.array([1.5, np.nan, 2.0**25])).dtype, halved(np.array([2.0**25 + 1])).dtype
    (dtype('float32'), dtype('float64'))
    """
    with np.errstate(over="ignore"):
        half = column.astype(np.float32)
    same = half == column
    return half if same.all() or (same | np.isnan(column)).all() else column
