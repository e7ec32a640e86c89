"""Wall clocks and Unix time: local times of a zone → seconds since 1970 and back.

Zones are those of the IANA database.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints
from wattline.errors import InputError, shorten

if TYPE_CHECKING:
    import polars as pl

Mask = npt.NDArray[np.bool_]
NEAR_S = 43200.0
"""Rows so near to a change of clocks say in which order the table stands."""
_OFFSET = re.compile(r"([+-])(0\d|1[0-4]):([0-5]\d)")


def check_zone(zone: str) -> None:
    """Refuse a name that is neither that of a zone nor an offset like ``+02:00``."""
    import polars as pl

    if _OFFSET.fullmatch(zone):
        return
    try:
        # an empty name is polars' word for no zone at all
        pl.Series([datetime(2000, 1, 1, tzinfo=UTC)]).dt.convert_time_zone(zone.strip() or "none")
    except (pl.exceptions.PolarsError, UnicodeError):
        raise InputError(
            f"no such time zone: {shorten(zone)}; expected a name like 'America/New_York' or 'UTC'"
        ) from None


def local_to_unix(local_s: Floats, zone: str) -> tuple[Floats, Mask, Mask, Mask]:
    """Return Unix times of local ones (given as if they were UTC), and which were guessed, which do not exist, and
    which of two they are cannot be told.

    Of two equal local times in the hour that clocks show twice, the first in the file is the earlier where times rise
    around them, the later where they fall; where they do neither, it cannot be told. One that stands alone is taken as
    the earlier, and marked. A time that clocks skip is NaN, and marked.
    """
    check_zone(zone)
    shift_s = _offset_s(zone)
    nowhere = np.zeros(local_s.size, dtype=bool)
    if shift_s is not None:
        return local_s - shift_s, nowhere, nowhere, nowhere
    import polars as pl

    readable = np.isfinite(local_s)
    micros = pl.Series(np.where(readable, local_s, 0.0) * 1e6).round().cast(pl.Int64).cast(pl.Datetime("us"))
    early, late = (
        _seconds(micros.dt.replace_time_zone(zone, ambiguous=which, non_existent="null"))
        for which in ("earliest", "latest")
    )
    exists = readable & np.isfinite(early)
    twice = exists & (early != late)
    second, alone, unclear = (np.zeros(local_s.size, dtype=bool) for _ in range(3))
    for rows in _around_changes(local_s, exists, twice):
        order, later, told = _which_are_later(rows, local_s, twice, early, late)
        second[order] = later
        _, places, counts = np.unique(local_s[rows], return_inverse=True, return_counts=True)
        alone[rows] |= twice[rows] & (counts[places] == 1)
        unclear[rows] |= twice[rows] & (counts[places] == 2) & (not told)
    found = np.where(readable, np.where(second, late, early), np.nan)
    return found, alone, readable & ~np.isfinite(early), unclear


def unix_to_local(unix_s: Floats, zone: str) -> Floats:
    """Return what the clocks of a zone show at Unix times, as if they showed UTC."""
    shift_s = _offset_s(zone)
    if shift_s is not None:
        return unix_s + shift_s
    import polars as pl

    micros = pl.Series(np.round(unix_s * 1e6)).cast(pl.Int64)
    return _seconds(
        pl.from_epoch(micros, "us").dt.replace_time_zone("UTC").dt.convert_time_zone(zone).dt.replace_time_zone(None)
    )


def _around_changes(local_s: Floats, exists: Mask, twice: Mask) -> Iterator[Ints]:
    """Yield the rows within half a day of each hour that clocks show twice, in the order of the file."""
    values = np.unique(local_s[twice])
    for hour in np.split(values, np.flatnonzero(np.diff(values) > NEAR_S) + 1):
        if hour.size:
            yield np.flatnonzero(exists & (local_s >= hour[0] - NEAR_S) & (local_s <= hour[-1] + NEAR_S))


def _which_are_later(rows: Ints, local_s: Floats, twice: Mask, early: Floats, late: Floats) -> tuple[Ints, Mask, bool]:
    """Return rows in the order in which time goes on, which of them are the second of two, and whether time does go on
    in that order.
    """
    for order in (rows, rows[::-1]):
        later = twice[order].copy()
        later[np.unique(local_s[order], return_index=True)[1]] = False
        if np.all(np.diff(np.where(later, late[order], early[order])) >= 0):
            return order, later, True
    return order, later, False


def unix_of(text: str, zone: str) -> float:
    """Return the Unix time of a date, with or without a time, in ISO's notation; without an offset it is of the zone.

    >>> unix_of("2022-07-01T00:00:00-04:00", "UTC"), unix_of("2022-07-01", "America/New_York")
    (1656648000.0, 1656648000.0)
    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InputError(f"expected a date and time like 2022-07-01T00:00:00-04:00, got {text!r}") from None
    if moment.tzinfo is not None:
        return moment.timestamp()
    found, _, skipped, _ = local_to_unix(np.array([moment.replace(tzinfo=UTC).timestamp()]), zone)
    if skipped.any():
        raise InputError(f"clocks of {zone} skip {text}")
    return float(found[0])


def clock_of(unix_s: Floats, zone: str) -> list[str]:
    """Return times on the wall clock of a zone, with the offset; seconds, to the millisecond, where they are not 0.

    >>> clock_of(np.array([1656648000.0, 1656648030.5]), "America/New_York")
    ['2022-07-01T00:00-04:00', '2022-07-01T00:00:30.5-04:00']
    >>> clock_of(np.array([0.0]), "+05:30")
    ['1970-01-01T05:30+05:30']
    """
    import polars as pl

    shift_s = _offset_s(zone)
    millis = pl.Series(np.round((unix_s + (shift_s or 0.0)) * 1e3)).cast(pl.Int64)
    moments = pl.from_epoch(millis, "ms").dt.replace_time_zone("UTC")
    if shift_s is None:
        moments = moments.dt.convert_time_zone(zone)
    offsets = moments.dt.strftime("%:z") if shift_s is None else pl.repeat(zone, moments.len(), eager=True)
    minutes, seconds = (moments.dt.strftime(form) for form in ("%Y-%m-%dT%H:%M", ":%S%.3f"))
    rests = seconds.str.strip_suffix(".000").str.replace(r"(\.\d+?)0+$", "$1").str.replace(r"^:00$", "")
    return (minutes + rests + offsets).to_list()


def offset_at(unix_s: float, zone: str) -> float:
    """Return by how many seconds the clocks of a zone are ahead of UTC at a time."""
    if (fixed := _offset_s(zone)) is not None:
        return fixed
    text = clock_of(np.array([unix_s]), zone)[0]
    return float(_offset_s(text[-6:]) or 0.0)


def _offset_s(zone: str) -> float | None:
    match = _OFFSET.fullmatch(zone)
    if match is None:
        return None
    seconds = int(match[2]) * 3600.0 + int(match[3]) * 60.0
    return math.copysign(seconds, -1.0 if match[1] == "-" else 1.0)


def _seconds(moments: pl.Series) -> Floats:
    import polars as pl

    return moments.dt.epoch("us").cast(pl.Float64).to_numpy().astype(np.float64) / 1e6
