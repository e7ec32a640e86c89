"""Step functions of time – prices, carbon intensity, bids – that are cut together exactly, never sampled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.model.regulation import Signal
from wattline.units import in_full


@dataclass(frozen=True)
class Held:
    """A step function: ``values[i]`` holds from ``time_s[i]`` to the next time, the last one to ``end_s``.

    Outside there is no value (NaN), unless it is to ``repeat``: then it begins anew at its end, and before its
    beginning.
    """

    time_s: Floats
    values: Floats
    end_s: float = math.inf
    repeat: bool = False

    def __post_init__(self) -> None:
        if self.time_s.size != self.values.size or not self.time_s.size:
            raise InputError(f"step function: {self.time_s.size} times but {self.values.size} values")
        if not (np.diff(self.time_s) >= 0).all() or not self.time_s[-1] <= self.end_s:
            raise InputError("step function: its times must not go back")
        if self.repeat and not (math.isfinite(self.end_s) and self.time_s[0] < self.end_s):
            raise InputError("step function: what repeats must begin and end")

    @property
    def start_s(self) -> float:
        """When the first value begins."""
        return float(self.time_s[0])

    @property
    def always(self) -> bool:
        """Whether it has one value at all times."""
        return self.time_s.size == 1 and self.time_s[0] == -math.inf and self.end_s == math.inf

    def covers(self, begin_s: float, end_s: float) -> bool:
        """Tell whether there is a value at every time of a span."""
        return self.repeat or (self.start_s <= begin_s and end_s <= self.end_s)

    def shifted(self, by_s: float) -> Held:
        """Return the same function later by some seconds."""
        return replace(self, time_s=self.time_s + by_s, end_s=self.end_s + by_s)

    def scaled(self, factor: float) -> Held:
        """Return the function times a factor."""
        return replace(self, values=self.values * factor)

    def at(self, time_s: float) -> float:
        """Return the value at a time, NaN where there is none.

        >>> Held(np.array([0.0, 10.0]), np.array([1.0, 2.0]), 20.0, repeat=True).at(25.0)
        1.0
        """
        return float(self.within(time_s, math.nextafter(time_s, math.inf))[1][0])

    def within(self, begin_s: float, end_s: float) -> tuple[Floats, Floats]:
        """Return the steps of a span: when each begins, the first of them at ``begin_s``, and its value."""
        if self.repeat:
            return self._rounds(begin_s, end_s)
        if not (begin_s < self.end_s and end_s > self.start_s):
            return np.array([begin_s]), np.array([np.nan])
        times, values = self._steps(max(begin_s, self.start_s), min(end_s, self.end_s), 0.0)
        if begin_s < self.start_s:  # nothing is known yet
            times, values = np.append(begin_s, times), np.append(np.nan, values)
        if self.end_s < end_s:  # nothing is known any more
            times, values = np.append(times, self.end_s), np.append(values, np.nan)
        return times, values

    def _rounds(self, begin_s: float, end_s: float) -> tuple[Floats, Floats]:
        length_s = self.end_s - self.start_s
        first = math.floor((begin_s - self.start_s) / length_s)
        last = max(first, math.ceil((end_s - self.start_s) / length_s) - 1)
        later_s = [k * length_s for k in range(first, last + 1)]
        begins = [begin_s, *(self.start_s + later for later in later_s[1:])]
        parts = [self._steps(*span) for span in zip(begins, [*begins[1:], end_s], later_s, strict=True)]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def _steps(self, begin_s: float, end_s: float, later_s: float) -> tuple[Floats, Floats]:
        """Return the steps of a span within one round; rounding at its borders cannot leave the round."""
        first = max(int(self.time_s.searchsorted(begin_s - later_s, side="right")) - 1, 0)
        last = max(first + 1, int(self.time_s.searchsorted(end_s - later_s, side="left")))
        times = self.time_s[first:last] + later_s
        times[0] = begin_s
        return times, self.values[first:last]


def constant(value: float) -> Held:
    """Return what has one value at all times."""
    return Held(np.array([-math.inf]), np.array([value]))


def held_signal(signal: Signal) -> Held:
    """Return a regulation signal as a step function; each value begins where tracking takes it to begin."""
    starts = signal.start_s + signal.step_s * np.arange(signal.values.size, dtype=np.float64)
    return Held(starts, signal.values, signal.end_s)


def cut(begin_s: float, end_s: float, functions: Sequence[Held]) -> tuple[Floats, list[Floats]]:
    """Cut a span wherever one of the functions changes: the edges of all pieces, and each function's value in them.

    >>> cut(0.0, 4.0, [Held(np.array([0.0, 1.0]), np.array([5.0, 6.0])), constant(7.0)])
    (array([0., 1., 4.]), [array([5., 6.]), array([7., 7.])])
    """
    if not begin_s < end_s:
        raise InputError(f"a span must have a length, got {in_full(begin_s)} s to {in_full(end_s)} s")
    steps = [(None, h.values) if h.always else h.within(begin_s, end_s) for h in functions]
    edges = np.unique(np.concatenate([[begin_s], *(times for times, _ in steps if times is not None)]))
    found = [
        np.full(edges.size, values[0])
        if times is None or times.size == 1
        else values[times.searchsorted(edges, side="right") - 1]
        for times, values in steps
    ]
    return np.append(edges, end_s), found
