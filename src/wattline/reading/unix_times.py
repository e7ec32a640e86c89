"""Numbers that are times: Unix times in their units, and dates without anything between their parts."""

from __future__ import annotations

import numpy as np

from wattline.arrays import Floats, in_units

UNIX_S = 1e8
"""Times from here on, in seconds, are counted from 1970: it is March 1973."""
MOST_EPOCH_S = 1e11
"""Seconds since 1970 beyond which nobody has data (the year 5138); milliseconds lie beyond."""
FACTORS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
"""Seconds of the units that Unix times are written in."""

_MOST_LIKELY_S = 1e10
"""Unix times in parts of a second are believed up to here (the year 2286): dates without anything between their parts,
20240131235900, lie beyond.
"""
_YEARS, _MONTHS, _DAYS = (1970, 2100), (1, 12), (1, 31)
_CLOCK = ((0, 23), (0, 59), (0, 60))
_LOOKED_AT = 10_000


def unit_of(size: float) -> str:
    """Return the unit of a time of such a size: from 1973 to the year 5138 the ranges do not overlap.

    >>> unit_of(3600.0), unit_of(1.7e9), unit_of(1.7e12), unit_of(1.7e18)
    ('s', 's', 'ms', 'ns')
    """
    return next((unit for unit, factor in FACTORS.items() if size * factor < MOST_EPOCH_S), "ns")


def unix_times(values: Floats, *, said: bool) -> tuple[Floats, str, bool]:
    """Return times that are numbers as seconds, the unit that they were in ("": mixed), and whether they count from
    1970.

    ``said``: somebody gave their unit, so that they are seconds already.
    """
    known = np.abs(values[np.isfinite(values)])
    if not known.size:
        return values, "s", False
    least, most = float(known.min()), float(known.max())
    unit = "s" if said else unit_of(most)
    from_1970 = least * FACTORS[unit] >= UNIX_S
    if unit == "s":
        return values, "s", from_1970
    if not from_1970 or most * FACTORS[unit] >= _MOST_LIKELY_S:
        return values, "", False
    return in_units(values, FACTORS[unit]), unit, True


def may_be_dates(values: Floats) -> bool:
    """Tell whether most numbers read as dates without anything between their parts: year, month and day, and as much
    of the time of day as their digits hold.

    >>> may_be_dates(np.array([20240101.0, 20240229.0])), may_be_dates(np.array([20240177.0, 20240178.0]))
    (True, False)
    >>> may_be_dates(np.array([202401012359.0])), may_be_dates(np.array([20240101235960.0]))
    (True, True)
    """
    known = values[np.isfinite(values)]
    known = known[:: 1 + known.size // _LOOKED_AT]
    for clock in range(len(_CLOCK) + 1):
        rest, right = known, known == np.floor(known)
        for least, most in (*reversed(_CLOCK[:clock]), _DAYS, _MONTHS):
            right &= (rest % 100 >= least) & (rest % 100 <= most)
            rest = rest // 100
        right &= (rest >= _YEARS[0]) & (rest <= _YEARS[1])
        if 2 * np.count_nonzero(right) > known.size:
            return True
    return False
