"""A recorded signal played again: from a start time on, once or over and over."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from pathlib import Path

from wattline.errors import InputError
from wattline.live.signals.base import Sample
from wattline.units import in_full


class Replay:
    """Values that come one after another, each true from its own time until the next.

    Parameters
    ----------
    values
        What was recorded: any plain sequence of numbers.
    start_s
        Machine time of the first value; there is no sample before it.
    step_s
        Seconds between values; or ``times_s``, seconds from the start for each value, rising from 0.
    length_s
        Seconds until the record begins again, or ends; by default one step after the last value.
    loop
        True: over and over. False: no new sample comes after the last, so that it grows old as a source does that
        went silent.
    """

    def __init__(
        self,
        values: Sequence[float],
        *,
        start_s: float,
        step_s: float | None = None,
        times_s: Sequence[float] | None = None,
        length_s: float | None = None,
        loop: bool = False,
    ) -> None:
        if not len(values):
            raise InputError("signal replay: no values in it")
        if (step_s is None) == (times_s is None):
            raise InputError("signal replay: give either the step or a time for each value")
        if step_s is not None and not 0.0 < step_s < math.inf:
            raise InputError(f"signal replay: step must be above 0 s (got {step_s})")
        if times_s is not None and not _rising(times_s, len(values)):
            raise InputError("signal replay: one time for each value is needed, rising from 0")
        wrong = next((i for i in range(len(values)) if not math.isfinite(values[i])), None)
        if wrong is not None:
            raise InputError(f"signal replay: value {wrong + 1} is not a number (got {values[wrong]})")
        if not math.isfinite(start_s):
            raise InputError(f"signal replay: start must be a time (got {start_s})")
        self._values, self._step_s, self._times_s = values, step_s, times_s
        self._start_s, self._loop = start_s, loop
        last_s = self._offset_s(len(values) - 1)
        usual_s = last_s + (step_s or (last_s - self._offset_s(len(values) - 2) if len(values) > 1 else 1.0))
        self.length_s = usual_s if length_s is None else length_s
        if not last_s < self.length_s < math.inf:
            raise InputError(
                f"signal replay: length must be above {in_full(last_s)} s, the last value's time (got {length_s})"
            )

    def last(self, now_s: float) -> Sample | None:
        """Return the value that holds now, and since when; None before the start."""
        if not now_s >= self._start_s:
            return None
        round_ = math.floor((now_s - self._start_s) / self.length_s) if self._loop else 0
        while round_ > 0 and self._start_s + round_ * self.length_s > now_s:  # rounding
            round_ -= 1
        while self._loop and self._start_s + (round_ + 1) * self.length_s <= now_s:
            round_ += 1
        begin_s = self._start_s + round_ * self.length_s
        at = self._index(now_s, begin_s)
        return Sample(float(self._values[at]), begin_s + self._offset_s(at))

    def ends_s(self) -> float:
        """Return when the record is over: never if it is played over and over."""
        return math.inf if self._loop else self._start_s + self.length_s

    def problems(self) -> dict[str, int]:
        """Return nothing: what is wrong with a record is said when it is read."""
        return {}

    def close(self) -> None:
        """Nothing is open."""

    def _offset_s(self, index: int) -> float:
        return self._times_s[index] if self._times_s is not None else index * (self._step_s or 0.0)

    def _index(self, now_s: float, begin_s: float) -> int:
        """Return the last value whose time is not after now."""
        most = len(self._values) - 1
        if self._times_s is not None:
            at = bisect.bisect_right(self._times_s, now_s - begin_s) - 1
        else:
            at = math.floor((now_s - begin_s) / (self._step_s or 1.0))
        at = max(0, min(most, at))
        while at < most and begin_s + self._offset_s(at + 1) <= now_s:
            at += 1
        while at > 0 and begin_s + self._offset_s(at) > now_s:
            at -= 1
        return at


def _rising(times_s: Sequence[float], count: int) -> bool:
    if len(times_s) != count or times_s[0] != 0.0 or not math.isfinite(times_s[-1]):
        return False
    return all(times_s[i] < times_s[i + 1] for i in range(count - 1))


def read_replay(
    path: Path | str,
    *,
    start_s: float,
    skip_s: float = 0.0,
    column: str | None = None,
    step_s: float | None = None,
    loop: bool = False,
) -> tuple[Replay, tuple[str, ...]]:
    """Read a regulation signal (CSV or Parquet) to be played from a machine time on; return what was repaired too.

    ``skip_s`` leaves out the beginning of the record. It loads numpy and polars, as the simulator's reader does.
    """
    from array import array

    from wattline.formats.series.signals import read_signal

    found = read_signal(path, column=column, step_s=step_s)
    step = float(found.signal.step_s)
    first = math.ceil(skip_s / step - 1e-9) if skip_s > 0.0 else 0
    values = array("d", found.signal.values[first:].tobytes())
    if not values:
        raise InputError(f"{path}: the record is shorter than the {in_full(skip_s)} s to be skipped")
    notes = tuple(f"{note.action} {note.count}: {note.reason}" for note in found.notes)
    return Replay(values, start_s=start_s, step_s=step, loop=loop), notes
