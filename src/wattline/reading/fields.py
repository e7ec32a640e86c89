"""The notations of Slurm's accounting fields → numbers, a whole column at a time; what cannot be read is NaN."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.reading.calendar import offset_at

if TYPE_CHECKING:
    import polars as pl

MAX_WHOLE = 2.0**53
UNFINISHED = (
    "PENDING",
    "RUNNING",
    "SUSPENDED",
    "CONFIGURING",
    "COMPLETING",
    "RESIZING",
    "STOPPED",
    "SIGNALING",
    "STAGE_OUT",
)
LOST_ITS_NODES = ("NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "REQUEUED")
_NO_VALUES = ("4294967294", "4294967295", "18446744073709551614", "18446744073709551615")
"""Slurm's numbers for no value, and for no bound: the greatest two of 32 and of 64 bits."""
_NO_NUMBERS = [float(text) for text in _NO_VALUES]
_UNKNOWN_WORDS = ("unknown", "none", "n/a", "invalid", "", *_NO_VALUES)
UNLIMITED_WORDS = (*_UNKNOWN_WORDS, "unlimited", "infinite", "partition_limit", "not_set")
"""Slurm's words for no time limit of a job's own, and for no value."""
_SUFFIXES = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_CLOCK = r"^(?:(\d{1,6})-)?(?:(\d{1,6}):)?(\d{1,6}):(\d{1,6}(?:\.\d{1,9})?)$"
LONGEST = 64
"""Longer texts are no number, date or state: cut before any pattern sees them."""
AT_ONCE = 200_000
"""Texts that patterns see at a time: what they find in them takes much memory."""


def numbers(texts: pl.Series) -> Floats:
    """Return plain finite numbers."""
    import polars as pl

    values = texts.str.slice(0, LONGEST).cast(pl.Float64, strict=False).to_numpy().astype(np.float64)
    short = (texts.str.len_bytes() <= LONGEST).fill_null(value=False).to_numpy()
    return np.where(np.isfinite(values) & short, values, np.nan)


def slurm_numbers(texts: pl.Series) -> Floats:
    """Return plain finite numbers; none of those by which Slurm says that it has no value."""
    values = numbers(texts)
    return np.where(np.isin(values, _NO_NUMBERS), np.nan, values)


def leading_integer(texts: pl.Series) -> Floats:
    """Return the number a job number starts with: 123 of ``123_4``, ``123+1`` or ``123.batch``."""
    values = numbers(texts.str.slice(0, LONGEST).str.extract(r"^(\d+)(?:$|[_+.\[])"))
    return np.where(values < MAX_WHOLE, values, np.nan)


def scaled_numbers(texts: pl.Series) -> Floats:
    """Return numbers that may end in K, M, G … (powers of 1000, as Slurm prints energies).

    >>> import polars as pl
    >>> scaled_numbers(pl.Series(["12.5K", "3M", "7", ""])).tolist()
    [12500.0, 3000000.0, 7.0, nan]
    """
    import polars as pl

    short = texts.str.slice(0, LONGEST)
    mantissa = numbers(short.str.strip_suffix("J").str.extract(r"^([-+0-9.eE]+)[KMGTP]?$"))
    factor = short.str.extract(r"([KMGTP])J?$").replace_strict(_SUFFIXES, default=1.0, return_dtype=pl.Float64)
    return np.asarray(mantissa * factor.fill_null(1.0).to_numpy(), dtype=np.float64)


def clock_s(texts: pl.Series) -> Floats:
    """Return seconds of ``[D-]HH:MM:SS[.fff]``, ``D-HH:MM`` or ``MM:SS``; no minute has 60 seconds, no hour 60 minutes,
    no day 24 hours.

    >>> import polars as pl
    >>> clock_s(pl.Series(["1-02:00:00", "05:30", "00:00:07.250", "UNLIMITED"])).tolist()
    [93600.0, 330.0, 7.25, nan]
    >>> clock_s(pl.Series(["00:99:00", "00:00:60", "1-25:00:00", "25:00:00", "90:00"])).tolist()
    [nan, nan, nan, 90000.0, 5400.0]
    >>> clock_s(pl.Series(["1-12:30", "1-24:00", "1-00:30.5"])).tolist()
    [131400.0, nan, nan]
    """
    pieces = [_clocks_in(texts.slice(at, AT_ONCE)) for at in range(0, texts.len(), AT_ONCE)]
    return np.concatenate(pieces) if pieces else np.empty(0)


def _clocks_in(texts: pl.Series) -> Floats:
    import polars as pl

    short = texts.str.slice(0, LONGEST)
    distinct = short.unique()  # a dump repeats few durations many times, and patterns are slow
    parts = distinct.str.extract_groups(_CLOCK).struct
    days, hours, minutes, seconds = (numbers(parts.field(name)) for name in parts.fields)
    two = ~np.isnan(days) & np.isnan(hours)  # after days, two numbers are hours and minutes
    hours, minutes, seconds = (
        np.where(two, found, given) for found, given in ((minutes, hours), (seconds, minutes), (0.0, seconds))
    )
    minutes[minutes != np.floor(minutes)] = np.nan
    total = np.nan_to_num(days) * 86400.0 + np.nan_to_num(hours) * 3600.0 + minutes * 60.0 + seconds
    total[(seconds >= 60) | ((minutes >= 60) & ~np.isnan(hours)) | ((hours >= 24) & ~np.isnan(days))] = np.nan
    spread = short.replace_strict(distinct, pl.Series(total), return_dtype=pl.Float64)
    return np.asarray(spread.to_numpy(), dtype=np.float64)


def instants(texts: pl.Series, timezone: str | None, path: Path | str) -> Floats:
    """Return Unix seconds of ISO times (or of Unix seconds, as ``SLURM_TIME_FORMAT=%s`` prints them).

    ``timezone`` is a name or an offset like ``+02:00`` (None: UTC).
    """
    import polars as pl

    short = texts.str.slice(0, LONGEST)
    local = short.str.replace(" ", "T", literal=True).str.to_datetime(
        "%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False
    )
    shift_us = 0.0
    if timezone is not None and timezone[:1] in ("+", "-"):
        shift_us = offset_at(0.0, timezone) * 1e6
    elif timezone is not None:
        try:
            # The hour that daylight saving repeats is read as its first; the one it skips does not exist.
            local = local.dt.replace_time_zone(timezone, ambiguous="earliest", non_existent="null")
        except pl.exceptions.PolarsError:
            raise InputError(f"{path}: unknown time zone {timezone!r}; expected a name like 'Europe/Paris'") from None
    micros = local.dt.epoch("us").cast(pl.Float64).to_numpy().astype(np.float64) - shift_us
    unix = numbers(short.str.extract(r"^(\d{9,11})$"))
    return np.where(np.isnan(micros), unix, micros / 1e6)


def state(texts: pl.Series) -> pl.Series:
    """Return the first word of states, in capitals: CANCELLED of ``CANCELLED by 1000`` and ``CANCELLED+``."""
    return texts.str.slice(0, LONGEST).str.to_uppercase().str.extract(r"^([A-Z_]+)").fill_null("")


def is_unlimited(texts: pl.Series) -> npt.NDArray[np.bool_]:
    """Return which texts are one of Slurm's words for *no time limit of its own*."""
    known = texts.fill_null("").str.slice(0, LONGEST).str.to_lowercase()
    answer: npt.NDArray[np.bool_] = known.is_in(UNLIMITED_WORDS).to_numpy()
    return answer


def is_unknown(texts: pl.Series) -> npt.NDArray[np.bool_]:
    """Return which texts are one of Slurm's words for *no value*."""
    known = texts.fill_null("").str.slice(0, LONGEST).str.to_lowercase()
    answer: npt.NDArray[np.bool_] = known.is_in(_UNKNOWN_WORDS).to_numpy()
    return answer
