"""The two kinds of arrays that facts are kept in."""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
"""Numbers: times in seconds, powers in watts, energies in joules, unless a name says otherwise."""

Ints = npt.NDArray[np.int64]
"""Whole numbers: counts, indices, codes."""


def _settle_polars() -> None:
    """Let Polars take numpy now: loaded before it, it would at the first array, and fail where two threads have one."""
    series = getattr(sys.modules.get("polars"), "Series", None)
    if series is not None:
        series(np.zeros(0))


_settle_polars()
