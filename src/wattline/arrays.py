"""The two kinds of arrays that facts are kept in."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
"""Numbers: times in seconds, powers in watts, energies in joules, unless a name says otherwise."""

Ints = npt.NDArray[np.int64]
"""Whole numbers: counts, indices, codes."""
