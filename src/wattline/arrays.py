"""The two kinds of arrays that facts are kept in."""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
"""Numbers: times in seconds, powers in watts, energies in joules, unless a name says otherwise."""

Ints = npt.NDArray[np.int64]
"""Whole numbers: counts, indices, codes."""


_POWERS = np.power(10.0, np.arange(23))  # each exact
_DIGITS = 15
"""Decimal digits of which each number has a float of its own."""


def in_units(values: Floats, factor: float) -> Floats:
    """Return numbers times a factor as their decimals say: 2.2 h are 7,920 s, and not a hair more.

    What was rounded twice, and lies beside a number of at most 15 digits, is that number.
    """
    if factor == 1.0:
        return values
    with np.errstate(over="ignore"):  # what is too large is said by those who use it
        found = np.asarray(values * factor, dtype=np.float64)
    if factor == np.rint(factor) and (values == np.rint(values)).all():
        return found  # whole numbers
    with np.errstate(all="ignore"):
        places = _DIGITS - 1 - np.floor(np.log10(np.abs(found)))
        shift = _POWERS[np.where((places >= 0) & (places < _POWERS.size), places, 0).astype(np.int64)]
        near = np.rint(found * shift) / shift
        beside = (places >= 0) & (places < _POWERS.size) & (np.abs(near - found) <= 3 * np.spacing(np.abs(found)))
    return np.where(beside, near, found)


def _settle_polars() -> None:
    """Let Polars take numpy now: loaded before it, it would at the first array, and fail where two threads have one."""
    series = getattr(sys.modules.get("polars"), "Series", None)
    if series is not None:
        series(np.zeros(0))


_settle_polars()
