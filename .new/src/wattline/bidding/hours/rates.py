"""Shares of time or of jobs, and what is known of them: as found, in the long run, and on the next day.

What was simulated falls into *draws* that are independent of each other: recorded days, or hours of a drawn signal.
Student's t law of the draws gives both intervals. The long-run rate is that of ever more days; the rate of the next day
varies about it as the days so far have varied. Hours of one recorded day are not independent, and never count as draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wattline.arrays import Floats

CONFIDENCE = 0.95
HOURS_A_DAY = 24


@dataclass(frozen=True)
class Rate:
    """A share with the interval of its long-run value, and with that of its value on the next day."""

    share: float
    low: float
    high: float
    count: int
    next_low: float = 0.0
    next_high: float = 1.0
    draws: int = 0
    """Independent draws that it rests on."""

    def within(self, limit: float) -> bool:
        """Tell whether the whole interval of the long-run rate lies below a limit."""
        return self.high < limit

    def next_within(self, limit: float) -> bool:
        """Tell whether the whole interval of the next day's rate lies below a limit."""
        return self.next_high < limit


def rate_of(events: Floats, trials: Floats, *, hours: int, a_day: float = 1.0, confidence: float = CONFIDENCE) -> Rate:
    """Return events over trials, pooled over draws, with both intervals.

    ``events`` and ``trials`` are sums over each draw; a day has ``a_day`` draws. The variance is that of a ratio of two
    sums. Where no event was seen (or nothing else), the draws say nothing of their spread: the intervals then end where
    that many ``hours`` without one would still be likely, however many trials an hour has: events come in clusters.
    They do not end before that where all events are of one draw, either.
    """
    total, draws = float(trials.sum()), int(np.count_nonzero(trials))
    if total == 0:
        return Rate(math.nan, 0.0, 1.0, 0)
    share, count = float(events.sum()) / total, int(total)
    none_seen = 1.0 - (1.0 - confidence) ** (1.0 / max(hours, 1))
    if share == 0.0:
        return Rate(share, 0.0, none_seen, count, 0.0, none_seen, draws)
    if share == 1.0:
        return Rate(share, 1.0 - none_seen, 1.0, count, 1.0 - none_seen, 1.0, draws)
    if draws < 2:
        return Rate(share, 0.0, 1.0, count, 0.0, 1.0, draws)
    spread = math.sqrt(draws / (draws - 1) * float(np.sum((events - share * trials) ** 2))) / total
    student = _student(draws - 1, confidence)
    half = student * spread
    next_half = student * spread * math.sqrt(1.0 + draws / a_day)
    least = none_seen if np.count_nonzero(events) == 1 else 0.0
    return Rate(
        share,
        max(0.0, share - half),
        max(min(1.0, share + half), least),
        count,
        max(0.0, share - next_half),
        max(min(1.0, share + next_half), least),
        draws,
    )


def least_next_high(events: Floats, trials: Floats, more: Floats, confidence: float = CONFIDENCE) -> float:
    """Return the least end that the next day's interval can have once draws of ``more`` trials are known too.

    With the pooled share m given, the end is m plus a multiple of the length of the residuals (events − m · trials),
    which sum to zero. Those of the draws to come are shortest if all are equal. What is left is convex in m.
    """
    known, new = trials > 0, more[more > 0]
    events, trials = events[known], trials[known]
    draws, total = events.size + new.size, float(trials.sum() + new.sum())
    if new.size == 0 or draws < 2:
        return 0.0
    part = _student(draws - 1, confidence) * math.sqrt(draws / (draws - 1) * (1.0 + draws)) / total

    def end(share: float) -> float:
        rest = float((events - share * trials).sum())
        return share + part * math.sqrt(float(np.sum((events - share * trials) ** 2)) + rest * rest / new.size)

    low, high = float(events.sum()) / total, 1.0  # nothing more, or everything
    for _ in range(60):
        third = (high - low) / 3.0
        low, high = (low, high - third) if end(low + third) <= end(high - third) else (low + third, high)
    return min(1.0, end(0.5 * (low + high)))


def _student(freedom: int, confidence: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + 0.5 * confidence))
