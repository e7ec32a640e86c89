"""Rows of long series: looked at in parts, so that what this takes beside is small."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints

AT_ONCE = 1 << 20
"""Rows that are looked at together."""


def rows_of(mask: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """Return the rows of a mask, as small numbers where all are meant."""
    return (
        np.arange(mask.size, dtype=np.int32 if mask.size < 1 << 31 else np.int64)
        if mask.all()
        else np.flatnonzero(mask)
    )


def is_run(rows: npt.NDArray[Any]) -> bool:
    """Tell whether rows are one after the other from the first."""
    return not rows.size or bool(rows[0] == 0 and rows[-1] == rows.size - 1 and (rows[1:] > rows[:-1]).all())


def distances(at: Floats) -> tuple[Floats, Ints]:
    """Return the distinct distances of times one after the other, to the microsecond, and how often there is each."""
    sizes, counts = [], []
    for begin in range(0, max(at.size - 1, 0), AT_ONCE):
        found, count = np.unique(np.round(np.diff(at[begin : begin + AT_ONCE + 1]), 6), return_counts=True)
        sizes.append(found)
        counts.append(count)
    if not sizes:
        return np.empty(0), np.empty(0, dtype=np.int64)
    distinct, which = np.unique(np.concatenate(sizes), return_inverse=True)
    return distinct, np.bincount(which, weights=np.concatenate(counts)).astype(np.int64)
