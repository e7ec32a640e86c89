"""Rates and their intervals: by hand, and on draws whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student

from wattline.bidding.hours.rates import least_next_high, rate_of

REPEATS = 500


def test_equal_days_by_hand() -> None:
    """With days of equal length both intervals are those of the textbook, with n − 1 degrees of freedom."""
    rates = np.array([0.05, 0.07, 0.09, 0.06, 0.08])
    found = rate_of(24 * rates, np.full(5, 24.0), hours=120)
    sd, quantile = rates.std(ddof=1), student.ppf(0.975, 4)
    assert found.share == pytest.approx(0.07)
    half = quantile * sd / np.sqrt(5)
    assert (found.low, found.high) == pytest.approx((0.07 - half, 0.07 + half))
    assert found.next_high == pytest.approx(0.07 + quantile * sd * np.sqrt(1.2))
    assert (found.count, found.draws) == (120, 5)


@pytest.mark.parametrize("confidence", [0.80, 0.95])
@pytest.mark.parametrize("count", [5, 7, 20])
def test_days_that_differ_are_covered_as_often_as_stated(count: int, confidence: float) -> None:
    """Days with rates of their own and hours that scatter about them: both intervals hold as often as they say.

    Days are of 18 to 24 hours, as recorded ones are. Two points of confidence are two standard errors of 500 repeats.
    """
    random = np.random.default_rng(count)
    kept_long, kept_next = [], []
    for _ in range(REPEATS * 4):
        hours = random.integers(18, 25, size=count + 1)
        days = random.normal(0.3, 0.02, size=count + 1)
        sums = np.array([random.normal(day, 0.05, size=n).sum() for day, n in zip(days, hours, strict=True)])
        found = rate_of(sums[:-1], hours[:-1].astype(float), hours=int(hours.sum()), confidence=confidence)
        kept_long.append(found.low < 0.3 < found.high)
        kept_next.append(found.next_low < sums[-1] / hours[-1] < found.next_high)
    assert np.mean(kept_long) == pytest.approx(confidence, abs=0.02)
    assert np.mean(kept_next) == pytest.approx(confidence, abs=0.02)


def test_hours_that_are_draws_are_covered_as_often_as_stated() -> None:
    """Hours of a law are draws of their own, and the next day has twenty-four of them."""
    random = np.random.default_rng(3)
    kept_long, kept_next = [], []
    for _ in range(REPEATS * 4):
        hours, day = random.normal(0.3, 0.1, size=40), random.normal(0.3, 0.1, size=24).mean()
        found = rate_of(hours, np.ones(40), hours=40, a_day=24.0)
        kept_long.append(found.low < 0.3 < found.high)
        kept_next.append(found.next_low < day < found.next_high)
    assert np.mean(kept_long) == pytest.approx(0.95, abs=0.02)
    assert np.mean(kept_next) == pytest.approx(0.95, abs=0.02)


def test_hours_of_one_day_are_not_taken_for_draws() -> None:
    """A day's hours that are all alike say nothing of other days: the interval is as wide as the days differ."""
    days = np.array([0.02, 0.12, 0.04, 0.10, 0.07])
    wide = rate_of(24 * days, np.full(5, 24.0), hours=120)
    narrow = rate_of(np.repeat(days, 24), np.ones(120), hours=120, a_day=24.0)
    assert wide.high - wide.low > 4 * (narrow.high - narrow.low)


def test_nothing_seen_and_nothing_tried() -> None:
    """Without an event the intervals end where that many hours without one are still likely."""
    none = rate_of(np.zeros(7), np.full(7, 24.0), hours=168)
    assert (none.low, none.next_low) == (0.0, 0.0)
    assert none.high == none.next_high == pytest.approx(1 - 0.05 ** (1 / 168))
    many = np.full(7, 3000.0)
    late = rate_of(np.eye(7)[0], many, hours=168)
    assert rate_of(np.zeros(7), many, hours=168).high <= late.high
    nothing = rate_of(np.zeros(2), np.zeros(2), hours=0)
    assert np.isnan(nothing.share)
    assert (nothing.low, nothing.high, nothing.next_high) == (0.0, 1.0, 1.0)
    one = rate_of(np.array([2.0]), np.array([24.0]), hours=24)
    assert (one.low, one.high, one.next_high) == (0.0, 1.0, 1.0)


@pytest.mark.parametrize("hours", [5, 20, 40])
def test_late_jobs_that_come_in_clusters_are_covered_where_none_was_seen(hours: int) -> None:
    """One hour in thirty is bad, and half its jobs are late: hours that saw no such one, or one, do not rule it out."""
    random = np.random.default_rng(hours)
    held = []
    for _ in range(REPEATS):
        late = np.where(random.random(hours) < 1 / 30, 100.0, 0.0)
        found = rate_of(late, np.full(hours, 200.0), hours=hours, a_day=24.0)
        held.append(found.high >= 0.5 / 30)
    assert np.mean(held) >= 0.95
    few = rate_of(np.eye(hours)[0], np.full(hours, 200.0), hours=hours, a_day=24.0)
    assert few.high == few.next_high == rate_of(np.zeros(hours), np.full(hours, 200.0), hours=hours).high


def test_the_least_end_of_the_next_day_is_a_bound_that_is_reached() -> None:
    """Whatever further days bring, the interval of the next day ends no lower; equal residuals bring it there."""
    draw = np.random.default_rng(8)
    near = 0
    for _ in range(200):
        known, new = int(draw.integers(1, 6)), int(draw.integers(1, 6))
        trials, more = draw.integers(0, 25, known).astype(float), draw.integers(1, 25, new).astype(float)
        trials[0] = max(trials[0], 1.0)
        events = trials * draw.beta(2.0, 20.0, known)
        least = least_next_high(events, trials, more, 0.98)
        ends = []
        for k in range(400):
            share = draw.uniform(0.0, 0.3) if k % 2 else events.sum() / trials.sum() * draw.uniform(0.5, 1.5)
            spread = draw.normal(0.0, 0.01, new) if k % 4 < 2 else 0.0
            told = np.append(events, np.clip(share + spread, 0.0, 1.0) * more), np.append(trials, more)
            if 0 < told[0].sum() < told[1].sum():
                ends.append(rate_of(*told, hours=int(told[1].sum()), confidence=0.98).next_high)
        assert least <= min(ends) + 1e-12
        near += min(ends) < 1.02 * least
    assert near > 150
