"""A performance score from correlation, delay and precision, in the manner of PJM (Manual 12 §4.5.6), and mileage.

Signal y and response (P − P̄)/R are averaged over intervals of 10 s, exactly. For every window of 5 min of the signal and
every delay δ of 0 to 5 min, as far as the response reaches:

* correlation(δ) = Pearson's r of the window and the response δ later, at least 0. Where the signal stands still there is
  no r: 1 − |a − b| stands in, a and b the slopes of signal and response (fitted changes over one window), at least 0.
* delay(δ) = 1 − δ / 5 min.

The δ with the largest sum of the two is the window's; both are averaged over all windows. The third part is

* precision = 1 − mean |response − signal| / mean |signal| over all intervals, at least 0.

score = w_c·correlation + w_d·delay + w_p·precision; PJM's weights are 1/3 each. What PJM does beyond that (a latency
allowance for the signal's way, rounding) is left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wattline.errors import InputError
from wattline.market.tracking import require
from wattline.model.jobs import Floats
from wattline.model.regulation import Bid, Signal

_STILL = 1e-9
"""Standard deviation, in units of the reserve, below which a window stands still."""


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
        if not (self.interval_s > 0 and 2 * self.interval_s <= self.window_s and self.max_delay_s > 0):
            raise InputError(
                "score: the window must hold at least two intervals and the longest delay be positive "
                f"(got {self.interval_s} s, {self.window_s} s, {self.max_delay_s} s)"
            )


@dataclass(frozen=True)
class Score:
    """A performance score and its parts, each within [0, 1]; ``delay_s`` is the mean delay of the windows."""

    score: float
    correlation: float
    delay: float
    precision: float
    delay_s: float


def performance_score(
    time_s: Floats, power_w: Floats, signal: Signal, bid: Bid, begin_s: float, end_s: float,
    scoring: Scoring | None = None,
) -> Score:  # fmt: skip
    """Score how power followed the signal of a bid over [begin_s, end_s]; see the module's text for the formula."""
    rules = scoring or Scoring()
    if not bid.reserve_w > 0:
        raise InputError("score: the bid holds no reserve, so there is no performance to score")
    require(signal, begin_s, end_s)
    if not (time_s.size and time_s[0] <= begin_s):
        raise InputError(f"score: power is not known at the beginning, {begin_s:g} s")
    edges = begin_s + rules.interval_s * np.arange(math.floor((end_s - begin_s) / rules.interval_s + 1e-9) + 1.0)
    width = round(rules.window_s / rules.interval_s)
    if edges.size <= width:
        raise InputError(f"score: the span must hold a window of {rules.window_s:g} s (got {end_s - begin_s:g} s)")
    starts = signal.start_s + signal.step_s * np.arange(float(signal.values.size))
    wanted = _averages(starts, signal.values, edges)
    given = (_averages(time_s, power_w, edges) - bid.mean_w) / bid.reserve_w
    likeness, waiting, delay_s = _windows(wanted, given, width, rules)
    missed = float(np.abs(given - wanted).mean())
    asked = float(np.abs(wanted).mean())
    precise = max(0.0, 1.0 - missed / (asked if asked > 0 else 1.0))  # a silent signal: relative to the reserve
    total = rules.correlation * likeness + rules.delay * waiting + rules.precision * precise
    return Score(min(total, 1.0), likeness, waiting, precise, delay_s)


def mileage(signal: Signal, begin_s: float | None = None, end_s: float | None = None) -> float:
    """Return how far a signal moves within a span: the sum of its absolute changes, in units of the reserve.

    The ratio of a fast signal's mileage to a slow one's is the *mileage ratio* of the credit.
    """
    values = signal.values
    if begin_s is not None or end_s is not None:
        begin = signal.start_s if begin_s is None else begin_s
        end = signal.end_s if end_s is None else end_s
        require(signal, begin, end)
        first = int((begin - signal.start_s) / signal.step_s + 1e-9)
        last = math.ceil((end - signal.start_s) / signal.step_s - 1e-9)
        values = values[first:last]
    return float(np.abs(np.diff(values)).sum())


def _averages(time_s: Floats, value: Floats, edges: Floats) -> Floats:
    """Return the exact averages of a step function between edges; the last value holds on."""
    area = np.concatenate([[0.0], np.cumsum(value[:-1] * np.diff(time_s))])
    place = np.searchsorted(time_s, edges, side="right") - 1
    reached = area[place] + value[place] * (edges - time_s[place])
    return np.asarray(np.diff(reached) / np.diff(edges), dtype=np.float64)


def _windows(wanted: Floats, given: Floats, width: int, rules: Scoring) -> tuple[float, float, float]:
    """Return the means over all windows of correlation, delay score and delay in seconds."""
    asked, drawn = (np.lib.stride_tricks.sliding_window_view(x, width) for x in (wanted, given))
    count = asked.shape[0]
    shape_asked, still = _shapes(asked)
    shape_drawn, _ = _shapes(drawn)
    slope_asked, slope_drawn = _slopes(asked), _slopes(drawn)
    best = np.full(count, -1.0)
    likeness, waiting, delay = np.zeros(count), np.zeros(count), np.zeros(count)
    for shift in range(min(round(rules.max_delay_s / rules.interval_s) + 1, count)):
        reach = slice(0, count - shift)
        alike = np.einsum("ij,ij->i", shape_asked[reach], shape_drawn[shift:])
        flat = 1.0 - np.abs(slope_asked[reach] - slope_drawn[shift:])
        alike = np.clip(np.where(still[reach], flat, alike), 0.0, 1.0)
        late = 1.0 - min(shift * rules.interval_s / rules.max_delay_s, 1.0)
        better = alike + late > best[reach]
        for kept, new in ((best, alike + late), (likeness, alike)):
            kept[reach] = np.where(better, new, kept[reach])
        waiting[reach] = np.where(better, late, waiting[reach])
        delay[reach] = np.where(better, shift * rules.interval_s, delay[reach])
    return float(likeness.mean()), float(waiting.mean()), float(delay.mean())


def _shapes(windows: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return windows less their means, of length 1, so that a product is Pearson's r; and which ones stand still."""
    moved = windows - windows.mean(axis=1, keepdims=True)
    size = np.sqrt(np.einsum("ij,ij->i", moved, moved))
    still = size <= _STILL * math.sqrt(windows.shape[1])
    return moved / np.where(still, np.inf, size)[:, None], still


def _slopes(windows: Floats) -> Floats:
    """Return the change over each window of the straight line that fits it best."""
    at = np.arange(windows.shape[1]) - (windows.shape[1] - 1) / 2.0
    return np.asarray(windows @ at / (at @ at) * windows.shape[1], dtype=np.float64)
