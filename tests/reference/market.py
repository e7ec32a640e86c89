"""Plain twins of what the market's bill counts: the score of one bid, a signal's mileage, shares of time, a normal
law.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist

import numpy as np

from wattline.arrays import Floats
from wattline.market.score import Score, Scoring, averages, pooled_score
from wattline.model.regulation import Bid, Signal


def performance_score(
    time_s: Floats,
    power_w: Floats,
    signal: Signal,
    bid: Bid,
    begin_s: float,
    end_s: float,
    scoring: Scoring | None = None,
) -> Score:
    """Score how power followed the signal of one bid over [begin_s, end_s], cut into no pieces."""
    rules = scoring or Scoring()
    starts = signal.start_s + signal.step_s * np.arange(float(signal.values.size))
    wanted = averages(starts, signal.values, begin_s, end_s, rules)
    given = (averages(time_s, power_w, begin_s, end_s, rules) - bid.mean_w) / bid.reserve_w
    found = pooled_score([(wanted, given)], rules)
    assert found is not None, "the span must hold a window"
    return found


def mileage(signal: Signal, begin_s: float, end_s: float) -> float:
    """Return how far a signal moves within a span: the sum of its absolute changes, in units of the reserve."""
    first = int((begin_s - signal.start_s) / signal.step_s + 1e-9)
    last = math.ceil((end_s - signal.start_s) / signal.step_s - 1e-9)
    return float(np.abs(np.diff(signal.values[first:last])).sum())


def pjm_cost(
    mean_power_w: float, bid: Bid, score: float, prices: tuple[float, float, float], ratio: float, hours: float
) -> float:
    """Return the bill of a span by PJM's rules, with prices of energy, capacity and performance in $/kWh."""
    energy, capacity, performance = prices
    drawn = mean_power_w / 1e3 * hours * energy
    return drawn - bid.reserve_w / 1e3 * hours * score * (capacity + ratio * performance)


def pjm_capacity(
    steps: Sequence[tuple[float, float, float]], end_s: float, score: float, price: float, rules: Scoring
) -> tuple[float, float]:
    """Return the capacity credit of bids as (from, to, reserve in W) by PJM's rules, and the seconds that are not paid.

    Bids that follow each other without a pause are one stretch; one that is shorter than a window is not paid.
    """
    stretches: list[list[tuple[float, float, float]]] = []
    for begin, end, reserve_w in steps:
        if reserve_w <= 0 or begin >= end_s:
            continue
        bid = begin, min(end, end_s), reserve_w
        if stretches and stretches[-1][-1][1] == begin:
            stretches[-1].append(bid)
        else:
            stretches.append([bid])
    credit = unpaid_s = 0.0
    for stretch in stretches:
        if stretch[-1][1] - stretch[0][0] < rules.window_s:
            unpaid_s += stretch[-1][1] - stretch[0][0]
        else:
            credit += sum(score * price * watts / 1e3 * (end - begin) / 3600.0 for begin, end, watts in stretch)
    return credit, unpaid_s


def share_above(duration_s: Floats, value: Floats, limit: float) -> float:
    """Return the share of time spent above a limit."""
    return float(duration_s[value > limit].sum() / duration_s.sum())


@cache
def normal_values(std: float = 0.40, count: int = 2000) -> Floats:
    """Return equally likely values of a normal signal of mean 0, clipped to [−1, 1]: the papers' distribution."""
    law = NormalDist(0.0, std)
    return np.clip([law.inv_cdf((i + 0.5) / count) for i in range(count)], -1.0, 1.0)
