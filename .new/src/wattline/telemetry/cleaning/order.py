"""Samples out of order: late ones, clocks that go back and clocks far ahead, told apart."""

from __future__ import annotations

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.telemetry.cleaning.faults import Fault, Mask, Tally

BLOCK = 256
"""Samples around one that say what time it is."""
LAST = 8
"""Samples at the end of a window that say what time it is there."""


def ahead(time_s: Floats, ahead_s: float) -> Mask:
    """Return which samples are far ahead of those that came with and after them.

    One such clock must not make all others late.

    After a pause of the whole machine later samples agree with the first after it, so that nothing is ahead.
    """
    far = np.zeros(time_s.size, dtype=bool)
    if time_s.size < 2 or float(time_s.max() - time_s.min()) <= ahead_s:
        return far
    # sensors that send rarely fill a block with more time than that
    ahead_s = max(ahead_s, BLOCK * float(np.median(np.abs(np.diff(time_s)))))
    whole = time_s.size // BLOCK * BLOCK
    middle = np.median(time_s[:whole].reshape(-1, BLOCK), axis=1)
    if whole < time_s.size:
        middle = np.append(middle, np.median(time_s[-BLOCK:]))
    later = np.append(middle[1:], np.median(time_s[-LAST:]))
    limit = np.repeat(np.maximum(middle, later), BLOCK)[: time_s.size] + ahead_s
    return np.asarray(time_s > limit)


def jumped(time_s: Floats, last_s: float, patience_s: float) -> Mask:
    """Return which samples are more than the patience ahead of all before them and of half of the next ones.

    ``last_s`` is the latest time before the first of them. So neither a clock that is an hour ahead nor a single wrong
    time makes all others late.
    """
    far = np.zeros(time_s.size, dtype=bool)
    if not (np.diff(time_s) < -patience_s).any():
        return far
    behind = np.zeros(time_s.size, dtype=np.int64)
    for step in range(1, min(LAST, time_s.size - 1) + 1):
        behind[:-step] += time_s[step:] < time_s[:-step] - patience_s
    following = np.minimum(LAST, np.arange(time_s.size)[::-1])
    alone = (following > 0) & (2 * behind >= following)
    seen_s = np.maximum.accumulate(np.where(alone, -np.inf, time_s))
    for i in np.flatnonzero(alone).tolist():  # those that are not ahead say what time it is to those that follow
        last_s = max(last_s, float(seen_s[i]))
        if time_s[i] > last_s + patience_s:
            far[i] = True
        else:
            last_s = max(last_s, float(time_s[i]))
    return far


def late(code: Ints, came: Ints) -> Mask:
    """Return which samples came after a later one of their sensor.

    Rows are sorted by sensor and time, ``came`` is their order.
    """
    if not code.size:
        return np.zeros(0, dtype=bool)
    # from the end, groups come with ever smaller keys, so one running minimum serves them all
    group = np.cumsum(np.concatenate([[0], code[1:] != code[:-1]])) * (int(came.max()) + 2)
    earliest = np.minimum.accumulate((came + group)[::-1])[::-1]
    after = np.concatenate([earliest[1:], [np.iinfo(np.int64).max]])
    return np.asarray(came + group > after)


class Clocks:
    """Samples beyond the patience: two and more of a sensor in a row, their times rising, are a clock set back.

    A single such sample came too late.
    """

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        self.beyond: Mask = np.zeros(0, dtype=bool)  # by sensor: was its last sample beyond, when was it, is it judged
        self.open: Mask = np.zeros(0, dtype=bool)
        self.time_s: Floats = np.empty(0)
        self.power_w: Floats = np.empty(0)

    def grow(self, sensors: int) -> None:
        """Make room for sensors."""
        new = sensors - self.beyond.size
        if new > 0:
            self.beyond = np.concatenate([self.beyond, np.zeros(new, dtype=bool)])
            self.open = np.concatenate([self.open, np.zeros(new, dtype=bool)])
            self.time_s = np.concatenate([self.time_s, np.zeros(new)])
            self.power_w = np.concatenate([self.power_w, np.zeros(new)])

    def judge(self, code: Ints, time_s: Floats, power_w: Floats, beyond: Mask) -> None:
        """Look at samples in the order they came; count those beyond the patience."""
        if not beyond.any() and not self.beyond.any():
            return
        order = np.argsort(code, kind="stable")
        s, t, w, b = code[order], time_s[order], power_w[order], beyond[order]
        first = np.concatenate([[True], s[1:] != s[:-1]])
        last = np.concatenate([first[1:], [True]])
        was, was_s = np.concatenate([[False], b[:-1]]), np.concatenate([[0.0], t[:-1]])
        was[first], was_s[first] = self.beyond[s[first]], self.time_s[s[first]]
        linked = b & was & (t > was_s)
        pulls = np.concatenate([linked[1:] & ~first[1:], [False]])
        clock, alone = b & (linked | pulls), b & ~linked & ~pulls & ~last
        # the last sample of each sensor in the window before waits for its successor here
        opened = s[first][self.open[s[first]]]
        went_on = linked[first][self.open[s[first]]]
        self._count(Fault.CLOCK, opened[went_on])
        self._count(Fault.TOO_LATE, opened[~went_on])
        self.tally.add(Fault.CLOCK, s[clock], t[clock], w[clock])
        self.tally.add(Fault.TOO_LATE, s[alone], t[alone], w[alone])
        ends = np.flatnonzero(last)
        self.beyond[s[ends]], self.time_s[s[ends]], self.power_w[s[ends]] = b[ends], t[ends], w[ends]
        self.open[s[ends]] = (b & ~linked)[ends]

    def close(self) -> None:
        """Count what nothing came after."""
        self._count(Fault.TOO_LATE, np.flatnonzero(self.open))

    def _count(self, fault: Fault, sensors: Ints) -> None:
        self.tally.add(fault, sensors, self.time_s[sensors], self.power_w[sensors])
        self.open[sensors] = False
