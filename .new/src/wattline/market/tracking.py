"""How well power followed a regulation target: exact by time, from the steps of power and the held signal.

Power is a step function (row i holds until row i + 1), so is the target P̄ + y(t)·R; nothing is sampled. The error of
the AQA paper (eq. 3) is ε(t) = |P(t) − P_target(t)| / R, its constraint (eq. 2) Prob[ε > 0.3] < 10 %.

*No reserve.* With R = 0 there is no ε. ``Tracking`` then reports the gap |P − P_target| in watts as always, NaN for
whatever is relative to R, and the constraint, which speaks of a reserve, does not apply.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.model.regulation import Bid, Signal
from wattline.units import in_full

MARGIN = 0.3
"""Error that the market tolerates (AQA eq. 2)."""

SHARE = 0.10
"""Share of time in which the error may exceed the margin (AQA eq. 2)."""


@dataclass(frozen=True)
class Tracking:
    """What a span of following a target came to; relative figures are NaN without a reserve.

    ``mean_gap_w`` is the mean of |P − P_target| (R·ε̄ of eq. 4), ``signed_error`` the mean of (P − P_target) / R:
    positive where too much was drawn. ``exceed_share`` is the share of time with ε > ``margin``.
    """

    span_s: float
    energy_j: float
    mean_power_w: float
    mean_target_w: float
    mean_gap_w: float
    mean_error: float
    signed_error: float
    exceed_share: float
    margin: float = MARGIN

    @property
    def applies(self) -> bool:
        """Whether there is a reserve, hence an error and a constraint on it."""
        return not math.isnan(self.exceed_share)

    def meets(self, share: float = SHARE) -> bool:
        """Tell whether the error exceeds the margin for less than ``share`` of the time; true without a reserve."""
        return not self.applies or self.exceed_share < share


def tracking(
    time_s: Floats, power_w: Floats, signal: Signal, bid: Bid, begin_s: float, end_s: float, margin: float = MARGIN
) -> Tracking:
    """Hold power against the target of a bid over [begin_s, end_s].

    >>> steps = np.array([0.0, 4.0]), np.array([100.0, 80.0])
    >>> found = tracking(*steps, Signal(0.0, 2.0, np.array([0.0, 1.0, 0.0])), Bid(100.0, 20.0), 0.0, 6.0)
    >>> found.mean_gap_w, round(found.mean_error, 3), round(found.exceed_share, 3)
    (13.333333333333334, 0.667, 0.667)
    """
    duration, power, target = _pieces(time_s, power_w, signal, bid, begin_s, end_s)
    gap = np.abs(power - target)
    span = float(end_s - begin_s)
    energy, aimed, missed = _weighted(duration, power), _weighted(duration, target), _weighted(duration, gap)
    if not math.isfinite(energy):
        raise InputError(
            f"tracking: power is not a number somewhere between {in_full(begin_s)} s and {in_full(end_s)} s"
        )
    reserve = bid.reserve_w if bid.reserve_w > 0 else math.nan
    beyond = _weighted(duration, (gap > margin * reserve).astype(np.float64)) if bid.reserve_w > 0 else math.nan
    return Tracking(
        span,
        energy,
        energy / span,
        aimed / span,
        missed / span,
        missed / (span * reserve),
        (energy - aimed) / (span * reserve),
        beyond / span,
        margin,
    )


def error_steps(
    time_s: Floats, power_w: Floats, signal: Signal, bid: Bid, begin_s: float, end_s: float
) -> tuple[Floats, Floats]:
    """Return the error ε as a step function: how long each piece lasts, and ε in it."""
    if not bid.reserve_w > 0:
        raise InputError("tracking error: the bid holds no reserve, so an error relative to it is not defined")
    duration, power, target = _pieces(time_s, power_w, signal, bid, begin_s, end_s)
    return duration, np.abs(power - target) / bid.reserve_w


def require(signal: Signal, begin_s: float, end_s: float) -> None:
    """Refuse a signal that does not last from ``begin_s`` to ``end_s``."""
    if not signal.covers(begin_s, end_s):
        raise InputError(
            f"signal: lasts from {in_full(signal.start_s)} s to {in_full(signal.end_s)} s, but "
            f"{in_full(begin_s)} s to {in_full(end_s)} s is asked "
            "for; give a longer signal or a shorter span"
        )


def _weighted(duration: Floats, value: Floats) -> float:
    # not a matrix product: that may add in another order on another number of threads
    return float(np.einsum("i,i->", duration, value))


def _pieces(
    time_s: Floats, power_w: Floats, signal: Signal, bid: Bid, begin_s: float, end_s: float
) -> tuple[Floats, Floats, Floats]:
    """Cut a span wherever power or target changes: duration, power and target of every piece (some have no length)."""
    if not begin_s < end_s:
        raise InputError(f"tracking: the span must have a length, got {in_full(begin_s)} s to {in_full(end_s)} s")
    require(signal, begin_s, end_s)
    rows = _rows(time_s, power_w, begin_s, end_s)
    steps, edges = _signal_steps(signal, begin_s, end_s)
    count, total = rows.stop - rows.start, rows.stop - rows.start + edges.size
    cuts = np.concatenate([time_s[rows], edges])
    cuts[0] = cuts[count] = begin_s
    # two sorted runs: a stable sort merges them, several times as fast as searching one in the other
    order = cuts.argsort(kind="stable")
    bounds = np.empty(total + 1)
    cuts.take(order, out=bounds[:-1], mode="clip")
    bounds[-1] = end_s
    changes = np.empty(edges.size + 1, dtype=np.int64)  # pieces at which the target changes
    changes[:-1] = (order >= count).nonzero()[0]
    # what is left of the order are rows of power; where the target changes the row before still holds
    order[changes[:-1]] = changes[:-1] - np.arange(1, edges.size + 1)
    power = power_w[rows].take(order, mode="clip")
    changes[0], changes[-1] = 0, total
    target = bid.target_w(signal.values[steps]).repeat(changes[1:] - changes[:-1])
    return bounds[1:] - bounds[:-1], power, target


def _rows(time_s: Floats, power_w: Floats, begin_s: float, end_s: float) -> slice:
    """Return the rows that hold at some time of the span, the one in force at its beginning first."""
    if time_s.size != power_w.size:
        raise InputError(f"tracking: {time_s.size} times but {power_w.size} powers")
    first = int(time_s.searchsorted(begin_s, side="right")) - 1
    if first < 0:
        known = f"from {in_full(time_s[0])} s on" if time_s.size else "at no time"
        raise InputError(f"tracking: power is known {known}, but the span begins at {in_full(begin_s)} s")
    rows = slice(first, int(time_s.searchsorted(end_s, side="left")))
    inside = time_s[rows]
    if not (inside[1:] >= inside[:-1]).all():
        raise InputError(
            f"tracking: times of power must not go back between {in_full(begin_s)} s and {in_full(end_s)} s"
        )
    return rows


def _signal_steps(signal: Signal, begin_s: float, end_s: float) -> tuple[slice, Floats]:
    """Return which values of the signal hold within the span, and when each begins."""
    most = signal.values.size - 1
    first = min(int((begin_s - signal.start_s) / signal.step_s), most)
    last = max(first, min(math.ceil((end_s - signal.start_s) / signal.step_s) - 1, most))
    # rounding may put an edge that belongs to a border of the span just beside it
    if first < last and signal.start_s + signal.step_s * (first + 1) <= begin_s:
        first += 1
    if first < last and signal.start_s + signal.step_s * last >= end_s:
        last -= 1
    edges = signal.start_s + signal.step_s * np.arange(first, last + 1, dtype=np.float64)
    return slice(first, last + 1), edges
