"""Samples in the order they came → stretches of time with a known power, sensor by sensor, and every fault counted.

A sample holds until the next one of its sensor, bad ones included, at most ``hold`` times the sensor's period: after
that the power is missing. What is kept in memory is as long as the patience, the time after which a value counts as
stuck and one hold together, whatever the length of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.telemetry.cleaning.faults import Fault, Mask, Tally
from wattline.telemetry.cleaning.order import BLOCK, Clocks, ahead, jumped, late
from wattline.telemetry.cleaning.rules import Rules, Settled, settle
from wattline.units import MOST_S

WINDOW = 1 << 19
"""Samples that are looked at together."""
_OF_TIME = [Fault.NO_TIME, Fault.AHEAD, Fault.CLOCK, Fault.TOO_LATE]
"""Faults of samples that are dropped for their time."""
_MOST_LOST = 1e12
"""Samples that a sensor can be said not to have sent at once."""


@dataclass(frozen=True)
class Stretches:
    """Power known from ``begin_s`` to ``end_s``, sorted by sensor and time.

    Nothing more will come before ``until_s``.
    """

    code: Ints
    begin_s: Floats
    end_s: Floats
    power_w: Floats
    until_s: float


class Cleaner:
    """Takes samples in the order they came; gives stretches, each as soon as it is certain."""

    def __init__(self, rules: Rules, tally: Tally, *, lasting: bool = True, window: int = WINDOW) -> None:
        self.rules, self.tally, self.lasting, self.window = rules, tally, lasting, window
        self.moves: Callable[[Ints, Floats, Floats], Mask] | None = None
        """Tells of stretches from one time to another whether the power should move there.

        Without it, it should everywhere.
        """
        self.remarks: list[str] = []
        self.first_s, self.last_s = np.inf, -np.inf
        self.period_s: Floats = np.empty(0)
        self._pending: list[tuple[Ints, Floats, Floats]] = []
        self._waiting = 0
        self._held: tuple[Ints, Floats, Floats] = (np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))
        self._recent_s: Floats = np.empty(0)
        self._clocks = Clocks(tally)
        self._last_s: Floats = np.empty(0)  # by sensor: of what was given out: time, and run of equal values
        self._run_s: Floats = np.empty(0)
        self._run_w: Floats = np.empty(0)
        self._settled: Settled | None = None

    def feed(self, code: Ints, time_s: Floats, power_w: Floats) -> Iterator[Stretches]:
        """Take samples; give what became certain."""
        self.tally.samples += code.size
        self._pending.append((code, time_s, power_w))
        self._waiting += code.size
        # what is held is sorted again each time, so it must not outweigh what is new
        if self._waiting >= max(self.window, self._held[0].size // 2):
            yield from self._work(last=False)

    def close(self) -> Iterator[Stretches]:
        """Give the rest: no sample will come any more."""
        yield from self._work(last=True)
        self._clocks.close()
        if self.lasting:
            self._count_silence()

    def _work(self, *, last: bool) -> Iterator[Stretches]:
        code, time_s, power_w = self._in_time()
        if self._settled is None and code.size:
            self._settled = settle(self.rules, code, time_s, power_w, self.tally)
            self.rules = self._settled.rules
            self.remarks.extend(self._settled.remarks)
        if self._settled is None:
            return
        self._grow()
        code, time_s, power_w = self._in_order(code, time_s, power_w)
        if not code.size:
            return
        until_s = np.inf if last else self.last_s - self._settled.depth_s
        yield self._release(code, time_s, power_w, until_s)

    def _in_time(self) -> tuple[Ints, Floats, Floats]:
        """Return what waited, but for samples without sensor or time and those from the far future."""
        code, time_s, power_w = (np.concatenate([part[i] for part in self._pending] or [np.empty(0)]) for i in range(3))
        code = code.astype(np.int64)
        self._pending, self._waiting = [], 0
        timeless = ~(np.abs(time_s) < MOST_S)  # also where it is no number
        strange = ~timeless & (code < 0)
        self.tally.add(Fault.NO_TIME, code[timeless], time_s[timeless], power_w[timeless])
        self.tally.add(Fault.UNKNOWN, code[strange], time_s[strange], power_w[strange])
        keep = ~timeless & ~strange
        code, time_s, power_w = code[keep], time_s[keep], power_w[keep]
        # the end of the window before says what time it is at the beginning of this one
        far = ahead(np.concatenate([self._recent_s, time_s]), self.rules.ahead_s)[self._recent_s.size :]
        self._recent_s = np.concatenate([self._recent_s, time_s[~far]])[-BLOCK:]
        self.tally.add(Fault.AHEAD, code[far], time_s[far], power_w[far])
        return code[~far], time_s[~far], power_w[~far]

    def _in_order(self, code: Ints, time_s: Floats, power_w: Floats) -> tuple[Ints, Floats, Floats]:
        """Return what is held and new, sorted by sensor and time, one sample a time."""
        if code.size:
            far = jumped(time_s, self.last_s, self.rules.patience_s or 0.0)
            self.tally.add(Fault.AHEAD, code[far], time_s[far], power_w[far])
            code, time_s, power_w = code[~far], time_s[~far], power_w[~far]
        if code.size:
            before = np.maximum.accumulate(np.concatenate([[self.last_s], time_s]))
            beyond = before[:-1] - time_s > (self.rules.patience_s or 0.0)
            self._clocks.judge(code, time_s, power_w, beyond)
            self.last_s = float(before[-1])
            code, time_s, power_w = code[~beyond], time_s[~beyond], power_w[~beyond]
            self.first_s = min(self.first_s, float(time_s.min(initial=np.inf)))
        held = self._held[0].size
        came = np.concatenate([np.zeros(held, dtype=np.int64), np.arange(1, code.size + 1)])
        code, time_s, power_w = (
            np.concatenate([a, b]) for a, b in zip(self._held, (code, time_s, power_w), strict=True)
        )
        order = np.lexsort((time_s, code))
        code, time_s, power_w, came = code[order], time_s[order], power_w[order], came[order]
        twice = np.zeros(code.size, dtype=bool)
        twice[1:] = (code[1:] == code[:-1]) & (time_s[1:] == time_s[:-1])
        after = late(code, came) & ~twice & (came > 0)
        self.tally.add(Fault.DUPLICATE, code[twice], time_s[twice], power_w[twice])
        self.tally.add(Fault.LATE, code[after], time_s[after], power_w[after])
        return (code[~twice], time_s[~twice], power_w[~twice]) if twice.any() else (code, time_s, power_w)

    def _release(self, code: Ints, time_s: Floats, power_w: Floats, until_s: float) -> Stretches:
        """Give out what lies before a time and keep the rest."""
        same = code[1:] == code[:-1]
        previous_s = np.concatenate([[0.0], time_s[:-1]])
        first = np.concatenate([[True], ~same])
        previous_s[first] = self._last_s[code[first]]
        hold_s = self.rules.hold * self.period_s[code]
        next_s = np.concatenate([np.where(same, time_s[1:], np.inf), [np.inf]])
        gap_s = time_s - previous_s
        lost = gap_s > hold_s * (1 + 1e-9)  # false for the first of a sensor, where it is NaN
        end_s = np.minimum(next_s, time_s + hold_s)
        stuck = self._stuck(code, time_s, power_w, end_s, first, lost)
        out = time_s <= until_s
        self._count(code, time_s, power_w, out, stuck, np.where(lost, gap_s, 0.0))
        good = out & (power_w >= 0) & (power_w < np.inf) & ~stuck
        self._held = code[~out], time_s[~out], power_w[~out]
        self.tally.used += int(good.sum())
        clipped = np.minimum(power_w[good], self.rules.most_w)
        return Stretches(code[good], time_s[good], end_s[good], clipped, until_s)

    def _stuck(self, code: Ints, time_s: Floats, power_w: Floats, held_s: Floats, first: Mask, lost: Mask) -> Mask:
        """Return which samples repeat a value for longer than is allowed; remember the runs that are given out."""
        new = np.concatenate([[True], power_w[1:] != power_w[:-1]]) | lost  # NaN differs from itself
        new[first] = (power_w[first] != self._run_w[code[first]]) | lost[first]
        began = np.maximum.accumulate(np.where(new | first, np.arange(code.size), 0))
        # a run that began before what is held goes on in the first samples of its sensor
        carried = first[began] & ~new[began]
        start_s = np.where(carried, self._run_s[code], time_s[began])
        self._runs = start_s
        ends = np.concatenate([np.flatnonzero((new | first)[1:]), [code.size - 1]])
        end_s = time_s[ends][np.searchsorted(ends, np.arange(code.size))]
        # sensors that send less often than the others have longer
        limit_s = (self.rules.stuck_s or np.inf) * np.maximum(self.period_s[code] / (self.rules.period_s or 1.0), 1.0)
        stuck: Mask = (end_s - start_s > limit_s) & (time_s > start_s) & (power_w > 0) & (power_w < np.inf)
        if self.moves is not None and stuck.any():
            stuck[stuck] = self.moves(code[stuck], time_s[stuck], held_s[stuck])
        return stuck

    def _count(self, code: Ints, time_s: Floats, power_w: Floats, out: Mask, stuck: Mask, gap_s: Floats) -> None:
        bad = out & ~np.isfinite(power_w)
        below = out & (power_w < 0) & ~bad
        over = out & (power_w > self.rules.most_w) & ~bad
        for fault, hit in (
            (Fault.NAN, bad),
            (Fault.NEGATIVE, below),
            (Fault.OVER, over & ~stuck),
            (Fault.STUCK, out & stuck),
        ):
            self.tally.add(fault, code[hit], time_s[hit], power_w[hit])
        gone = out & (gap_s > 0)
        period_s = self.period_s[code[gone]]
        lost = _lost(gap_s[gone], period_s)
        self.tally.add(Fault.MISSING, code[gone], time_s[gone] - gap_s[gone], power_w[gone], lost)
        self.tally.missing_s += float((gap_s[gone] - self.rules.hold * period_s).sum())
        last = np.flatnonzero(out & np.concatenate([~(out[1:] & (code[1:] == code[:-1])), [True]]))
        self._last_s[code[last]] = time_s[last]
        self._run_w[code[last]], self._run_s[code[last]] = power_w[last], self._runs[last]

    def _count_silence(self) -> None:
        """Count what sensors did not send that fell silent before the end, or that sent nothing of its time."""
        dropped = self.tally.counts[_OF_TIME, : self._last_s.size].sum(axis=0) > 0
        silent = dropped & np.isnan(self._last_s)
        since_s = np.where(silent, self.first_s, self._last_s)
        silent_s = self.last_s - since_s
        gone = np.flatnonzero(silent | (silent_s > self.rules.hold * self.period_s * (1 + 1e-9)))  # false for NaN
        # one that never sent in time misses the first and the last sample too
        lost = _lost(silent_s[gone], self.period_s[gone]) + 2 * silent[gone]
        held_s = np.where(silent[gone], 0.0, self.rules.hold * self.period_s[gone])
        self.tally.add(Fault.MISSING, gone, since_s[gone], self._run_w[gone], lost)
        self.tally.missing_s += float((silent_s[gone] - held_s).sum())

    def _grow(self) -> None:
        """Make room for sensors that are new."""
        new = len(self.tally.names) - self.period_s.size
        if new > 0 and self._settled is not None:
            self.period_s = np.concatenate([self.period_s, self._settled.periods(self.period_s.size, new)])
            nothing = np.full(new, np.nan)
            self._last_s, self._run_s, self._run_w = (
                np.concatenate([x, nothing]) for x in (self._last_s, self._run_s, self._run_w)
            )
        self._clocks.grow(len(self.tally.names))


def _lost(silent_s: Floats, period_s: Floats) -> Ints:
    """Return how many samples a sensor did not send in a time; a number that can be added up, however long that was."""
    return np.maximum(np.rint(np.minimum(silent_s / period_s, _MOST_LOST)).astype(np.int64) - 1, 1)
