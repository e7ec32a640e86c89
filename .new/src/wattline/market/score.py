"""A performance score from correlation, delay and precision, in the manner of PJM (Manual 12 §4.5.6).

Signal y and response (P − P̄)/R are averaged over intervals of 10 s, exactly. For every window of 5 min of the signal
and every delay δ of 0 to 5 min, as far as the response reaches:

* correlation(δ) = Pearson's r of the window and the response δ later, at least 0. Where the signal stands still there
  is no r: 1 − |a − b| stands in, a and b the slopes of signal and response (fitted changes over one window), at least
  0.
* delay(δ) = 1 − δ / 5 min.

The δ with the largest sum of the two is the window's; both are averaged over all windows. The third part is

* precision = 1 − mean |response − signal| / mean |signal| over all intervals, at least 0.

score = w_c·correlation + w_d·delay + w_p·precision; PJM's weights are 1/3 each. What PJM does beyond that (a latency
allowance for the signal's way, rounding) is left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats
from wattline.errors import InputError

_STILL = 1e-9
"""Standard deviation, in units of the reserve (and of the level, if that is larger), below which a window stands still.
"""


@dataclass(frozen=True)
class Scoring:
    """How the score is built: the weights (they sum to 1), the averaging interval, the window and the longest delay."""

    correlation: float = 1.0 / 3.0
    delay: float = 1.0 / 3.0
    precision: float = 1.0 / 3.0
    interval_s: float = 10.0
    window_s: float = 300.0
    max_delay_s: float = 300.0

    def __post_init__(self) -> None:
        weights = (self.correlation, self.delay, self.precision)
        if min(weights) < 0 or not math.isclose(sum(weights), 1.0, abs_tol=1e-9):
            raise InputError(f"score: the three weights must not be negative and sum to 1 (got {weights})")
        if not all(map(math.isfinite, (self.interval_s, self.window_s, self.max_delay_s))):
            raise InputError("score: interval, window and longest delay must end, got inf")
        if not (self.interval_s > 0 and 2 * self.interval_s <= self.window_s and self.max_delay_s > 0):
            raise InputError(
                "score: the window must hold at least two intervals and the longest delay be positive "
                f"(got {self.interval_s} s, {self.window_s} s, {self.max_delay_s} s)"
            )

    @property
    def width(self) -> int:
        """Intervals of a window."""
        return round(self.window_s / self.interval_s)

    def intervals(self, span_s: float) -> int:
        """Return the whole intervals of a span."""
        return math.floor(span_s / self.interval_s + 1e-9)

    def holds_window(self, span_s: float) -> bool:
        """Tell whether a stretch is long enough to be scored."""
        return self.intervals(span_s) >= self.width


@dataclass(frozen=True)
class Score:
    """A performance score and its parts, each within [0, 1]; ``delay_s`` is the mean delay of the windows."""

    score: float
    correlation: float
    delay: float
    precision: float
    delay_s: float


def pooled_score(spans: Sequence[tuple[Floats, Floats]], rules: Scoring) -> Score | None:
    """Score spans as one, each given by signal and response averaged over intervals; None if none holds a window.

    A window lies within one span, and so does the response held against it; every window and interval counts once.
    """
    scored = [span for span in spans if span[0].size >= rules.width]
    if not scored:
        return None
    parts = [_windows(wanted, given, rules.width, rules) for wanted, given in scored]
    likeness, waiting, delay_s = (float(np.concatenate(part).mean()) for part in zip(*parts, strict=True))
    wanted, given = (np.concatenate(part) for part in zip(*scored, strict=True))
    missed = float(np.abs(given - wanted).mean())
    asked = float(np.abs(wanted).mean())
    precise = max(0.0, 1.0 - missed / (asked if asked > 0 else 1.0))  # a silent signal: relative to the reserve
    total = rules.correlation * likeness + rules.delay * waiting + rules.precision * precise
    return Score(min(total, 1.0), likeness, waiting, precise, delay_s)


def averages(time_s: Floats, value: Floats, begin_s: float, end_s: float, rules: Scoring) -> Floats:
    """Return the exact averages of a step function over the whole intervals of a span; the last value holds on."""
    edges = begin_s + rules.interval_s * np.arange(rules.intervals(end_s - begin_s) + 1.0)
    area = np.concatenate([[0.0], np.cumsum(value[:-1] * np.diff(time_s))])
    place = np.searchsorted(time_s, edges, side="right") - 1
    reached = area[place] + value[place] * (edges - time_s[place])
    return np.asarray(np.diff(reached) / np.diff(edges), dtype=np.float64)


def _windows(wanted: Floats, given: Floats, width: int, rules: Scoring) -> tuple[Floats, Floats, Floats]:
    """Return correlation, delay score and delay in seconds of every window."""
    view = np.lib.stride_tricks.sliding_window_view
    asked, drawn = view(wanted, width), view(given, width)
    count = asked.shape[0]
    shifts = min(round(rules.max_delay_s / rules.interval_s) + 1, count)
    shape_asked, still = _shapes(asked)
    shape_drawn, _ = _shapes(drawn)
    beyond = np.zeros((shifts - 1, width))  # of windows that would begin after the last
    later = view(np.concatenate([shape_drawn, beyond]), shifts, axis=0)  # window, place in it, delay
    alike = np.einsum("ij,ijk->ik", shape_asked, later)
    if still.any():
        slopes = view(np.concatenate([_slopes(drawn), beyond[:, 0]]), shifts)
        flat = 1.0 - np.abs(_slopes(asked)[:, None] - slopes)
        alike = np.where(still[:, None], flat, alike)
    alike = np.clip(alike, 0.0, 1.0)
    delays_s = rules.interval_s * np.arange(shifts)
    late = 1.0 - np.minimum(delays_s / rules.max_delay_s, 1.0)
    reached = np.arange(count)[:, None] + np.arange(shifts) < count
    best = np.where(reached, alike + late, -1.0).argmax(axis=1)  # of equals the shortest delay
    return alike[np.arange(count), best], late[best], delays_s[best]


def _shapes(windows: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return windows less their means, of length 1, so that a product is Pearson's r; and which ones stand still."""
    level = windows.mean(axis=1, keepdims=True)
    moved = windows - level
    size = np.sqrt(np.einsum("ij,ij->i", moved, moved))
    # far off the mean power, rounding alone moves a response that stands still: it must not correlate
    still = size <= _STILL * math.sqrt(windows.shape[1]) * (1.0 + np.abs(level[:, 0]))
    return moved / np.where(still, np.inf, size)[:, None], still


def _slopes(windows: Floats) -> Floats:
    """Return the change over each window of the straight line that fits it best."""
    at = np.arange(windows.shape[1]) - (windows.shape[1] - 1) / 2.0
    return np.asarray(windows @ at / (at @ at) * windows.shape[1], dtype=np.float64)
