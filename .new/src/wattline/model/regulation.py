"""What a regulation market gives and takes: the signal it sends and the bid it holds us to."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.units import HOUR_S, in_full


@dataclass(frozen=True)
class Signal:
    """A regulation signal y(t) in [-1, 1]: ``values[k]`` holds from ``start_s + k * step_s`` for one step."""

    start_s: float
    step_s: float
    values: Floats

    def __post_init__(self) -> None:
        if not self.step_s > 0 or not np.isfinite(self.step_s) or not np.isfinite(self.start_s):
            raise InputError(f"signal: the step must be a positive time, got {in_full(self.step_s)} s")
        if self.values.ndim != 1 or self.values.size == 0:
            raise InputError("signal: there is no value in it")
        if not np.all((self.values <= 1.0) & (self.values >= -1.0)):
            worst = int(np.argmax(~(np.abs(self.values) <= 1.0)))
            raise InputError(
                f"signal: value {worst} is {in_full(self.values[worst])}; a regulation signal stays within [-1, 1]"
            )

    @property
    def end_s(self) -> float:
        """Time at which the last value ends."""
        return self.start_s + self.step_s * self.values.size

    def at(self, time_s: npt.ArrayLike) -> Floats:
        """Return the values at some times; before the start the first holds, after the end the last."""
        k = np.floor((np.asarray(time_s, dtype=np.float64) - self.start_s) / self.step_s).astype(np.int64)
        return np.asarray(self.values[np.clip(k, 0, self.values.size - 1)], dtype=np.float64)

    def covers(self, begin_s: float, end_s: float) -> bool:
        """Tell whether the signal has a value of its own at every time of an interval."""
        return self.start_s <= begin_s and end_s <= self.end_s


@dataclass(frozen=True)
class Record:
    """A recorded signal of a day or less, from second 0 on, and where it was missing for more than a minute an hour.

    ``gaps`` are (begin, end) in seconds from its beginning: the values there are held ones, and no evidence.
    ``begin_unix_s`` is the Unix time of its beginning, NaN if nobody knows it.
    """

    name: str
    signal: Signal
    gaps: tuple[tuple[float, float], ...] = ()
    begin_unix_s: float = math.nan

    @cached_property
    def digest(self) -> str:
        """What tells this record from others: by its values, whatever its file is called."""
        return hashlib.sha256(np.round(self.signal.values, 9).tobytes()).hexdigest()[:16]

    @property
    def length_s(self) -> float:
        """Seconds from its beginning to its end."""
        return self.signal.end_s - self.signal.start_s

    def missing(self, begin_s: float, end_s: float) -> bool:
        """Tell whether a stretch touches a gap; both are counted from the record's beginning."""
        return any(begin_s < gap_end_s and gap_begin_s < end_s for gap_begin_s, gap_end_s in self.gaps)

    def hours(self) -> list[tuple[float, float]]:
        """Return the whole hours of the record, from its beginning on, as (begin, end) in seconds."""
        count = math.floor(self.length_s / HOUR_S * (1 + 1e-12))
        return [(k * HOUR_S, (k + 1) * HOUR_S) for k in range(count)]

    def usable_hours(self) -> list[tuple[float, float]]:
        """Return the whole hours that touch no gap."""
        return [hour for hour in self.hours() if not self.missing(*hour)]


@dataclass(frozen=True)
class Bid:
    """What is promised for an hour: the mean power P̄ and the reserve R, in watts; the target is P̄ + y(t) R."""

    mean_w: float
    reserve_w: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mean_w) and self.mean_w > 0):
            raise InputError(f"bid: the mean power must be positive, got {in_full(self.mean_w)} W")
        if not (np.isfinite(self.reserve_w) and self.reserve_w >= 0):
            raise InputError(f"bid: the reserve must not be negative, got {in_full(self.reserve_w)} W")

    def target_w(self, y: npt.ArrayLike) -> Floats:
        """Return the power that a signal value asks for."""
        return self.mean_w + np.asarray(y, dtype=np.float64) * self.reserve_w


@dataclass(frozen=True)
class Bidding:
    """When a bid policy is asked: for every period from ``first_s`` on, ``lead_s`` before it begins, until
    ``until_s``.
    """

    first_s: float
    every_s: float = 3600.0
    lead_s: float = 0.0
    until_s: float = np.inf

    def __post_init__(self) -> None:
        if not (np.isfinite(self.every_s) and self.every_s > 0):
            raise InputError(f"bidding: a bid must hold for a positive time, got {in_full(self.every_s)} s")
        if not 0 <= self.lead_s <= self.every_s:
            raise InputError(
                f"bidding: a bid is made 0 to {in_full(self.every_s)} s (the time one holds) ahead, got "
                f"{in_full(self.lead_s)} s"
            )
        if not self.first_s < self.until_s:
            raise InputError(
                f"bidding: it ends at {in_full(self.until_s)} s, not after its beginning at {in_full(self.first_s)} s"
            )
