"""Distributions by time: how large a share of the time a step function spends at or below a value."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats
from wattline.errors import InputError


def ecdf(duration_s: Floats, value: Floats) -> tuple[Floats, Floats]:
    """Return the distinct values in order and the share of time spent at or below each.

    >>> ecdf(np.array([1.0, 2.0, 1.0]), np.array([0.5, 0.1, 0.5]))
    (array([0.1, 0.5]), array([0.5, 1. ]))
    """
    held = _held(duration_s, value)
    levels, which = np.unique(value[held], return_inverse=True)
    reached = np.cumsum(np.bincount(which, weights=duration_s[held]))
    return levels, reached / reached[-1]


def quantile(duration_s: Floats, value: Floats, share: npt.ArrayLike) -> Floats:
    """Return the least values at or below which the step function spends at least these shares of the time.

    >>> quantile(np.array([1.0, 3.0]), np.array([10.0, 0.0]), [0.5, 0.9])
    array([ 0., 10.])
    """
    wanted = np.asarray(share, dtype=np.float64)
    if not ((wanted >= 0) & (wanted <= 1)).all():
        raise InputError(f"quantile: shares lie between 0 and 1 (got {wanted})")
    levels, reached = ecdf(duration_s, value)
    # the last share is 1 by division of a number by itself; rounding of the others may not skip a level
    place = np.searchsorted(reached, wanted * (1.0 - 1e-12))
    return np.asarray(levels[place], dtype=np.float64)


def _held(duration_s: Floats, value: Floats) -> npt.NDArray[np.bool_]:
    """Return which pieces have a length; refuse when there is none."""
    if duration_s.shape != value.shape:
        raise InputError(f"distribution by time: {duration_s.size} durations but {value.size} values")
    held = duration_s > 0
    if not held.any():
        raise InputError("distribution by time: no piece has a length")
    return held
