"""Bills of a search by hand, with the papers' flat tariff; and the score that bills of a market hang on."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reference.market import performance_score
from wattline.errors import InputError
from wattline.market.bill import bill_flat, flat_book
from wattline.market.score import Scoring
from wattline.market.tariff import Tariff
from wattline.market.tracking import Tracking, tracking
from wattline.model.regulation import Bid, Signal

W4 = Bid(8434.0, 3435.0)


def hour(mean_power_w: float, gap_w: float, bid: Bid, hours: float = 1.0) -> Tracking:
    """Return an hour (or so many) that drew some power and missed its target by a mean gap."""
    span_s = 3600.0 * hours
    return Tracking(span_s, mean_power_w * span_s, mean_power_w, bid.mean_w, gap_w, gap_w / bid.reserve_w, 0.0, 0.05)


def test_the_published_hour() -> None:
    """AQA's W4: at ε̄ = 22.5 % the bid costs $0.58 against $0.84 without demand response, 31 % less."""
    bill = bill_flat(hour(W4.mean_w, 0.225 * W4.reserve_w, W4), W4, flat_book())
    assert bill.cost == pytest.approx(0.8434 - 0.3435 + 0.225 * 0.3435)
    assert round(bill.cost, 2) == 0.58
    assert round(bill.bid_cost, 2) == 0.84
    assert round(bill.reduction_bid_pct) == 32  # from the rounded dollars the paper has 31


def test_every_term_by_hand() -> None:
    """Two hours at three prices: each term is its price times kilowatts times hours."""
    bid = Bid(10_000.0, 4_000.0)
    bill = bill_flat(hour(9_000.0, 500.0, bid, 2.0), bid, flat_book(Tariff(0.2, 0.3, 0.4)))
    assert (bill.energy_cost, bill.capacity_credit, bill.error_cost) == pytest.approx((4.0, 2.4, 0.4))
    assert bill.cost == pytest.approx(2.0)
    assert bill.drawn_cost == pytest.approx(3.6)
    assert bill.bid_cost == pytest.approx(4.0)
    assert bill.reduction_drawn_pct == pytest.approx(100 * (1 - 2.0 / 3.6))
    assert bill.reduction_bid_pct == pytest.approx(50.0)


def test_promising_more_than_is_drawn_flatters_only_one_figure() -> None:
    """A bid far above the consumption saves against the bid, not against what was drawn."""
    bid = Bid(10_000.0, 1_000.0)
    bill = bill_flat(hour(8_000.0, 100.0, bid), bid, flat_book())
    assert bill.reduction_bid_pct > 0 > bill.reduction_drawn_pct


def test_the_bill_is_continuous_in_the_reserve() -> None:
    """A bid without reserve pays for its gap like one with a tiny reserve: R·ε̄ is the gap."""
    signal, steps = Signal(0.0, 3600.0, np.zeros(1)), (np.zeros(1), np.array([900.0]))
    costs = [
        bill_flat(tracking(*steps, signal, Bid(1000.0, reserve), 0.0, 3600.0), Bid(1000.0, reserve), flat_book()).cost
        for reserve in (0.0, 1e-9)
    ]
    assert costs[0] == pytest.approx(0.11)
    assert costs[0] == pytest.approx(costs[1], abs=1e-9)


def test_out_of_the_market_the_energy_drawn_is_paid() -> None:
    """Without a bid an hour costs what was drawn, whatever the gap to a target."""
    bill = bill_flat(hour(9_000.0, 500.0, W4), None, flat_book(Tariff(0.2, 0.3, 0.4)))
    assert bill.cost == bill.drawn_cost == bill.bid_cost == pytest.approx(1.8)


RAMP = Signal(0.0, 2.0, np.round(np.sin(np.arange(1800) / 40.0), 6))
"""A wave of about 500 s, an hour long."""


def response(signal: Signal, bid: Bid, delay_s: float = 0.0, factor: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return power that follows a signal late and by a factor."""
    times = signal.start_s + signal.step_s * np.arange(signal.values.size)
    return times, bid.mean_w + factor * bid.reserve_w * signal.at(times - delay_s)


def test_a_perfect_response_scores_one() -> None:
    """Power on target throughout has full marks in each part."""
    score = performance_score(*response(RAMP, W4), RAMP, W4, 0.0, 3600.0)
    assert (score.score, score.correlation, score.delay, score.precision) == pytest.approx((1.0, 1.0, 1.0, 1.0))
    assert score.delay_s == pytest.approx(0.0)


def test_a_late_response_loses_delay_and_precision() -> None:
    """Power that follows a lively signal a minute late keeps its correlation and loses a fifth of the delay score."""
    lively = Signal(0.0, 10.0, np.random.default_rng(1).uniform(-1.0, 1.0, 360))
    score = performance_score(*response(lively, W4, delay_s=60.0), lively, W4, 0.0, 3600.0)
    assert score.delay_s == pytest.approx(60.0, abs=3.0)  # the last windows have no minute left
    assert score.delay == pytest.approx(0.8, abs=0.01)
    assert score.correlation > 0.97
    assert score.precision < 0.5


def test_delay_and_correlation_are_weighed_together() -> None:
    """On a slow signal a shorter delay that correlates a little less is taken, as PJM does."""
    score = performance_score(*response(RAMP, W4, delay_s=60.0), RAMP, W4, 0.0, 3600.0)
    assert 0.0 < score.delay_s < 50.0
    assert score.correlation < 1.0


def test_a_weak_response_loses_precision_alone() -> None:
    """Half the movement correlates fully and has half the precision: score 5/6."""
    score = performance_score(*response(RAMP, W4, factor=0.5), RAMP, W4, 0.0, 3600.0)
    assert (score.correlation, score.delay, score.precision) == pytest.approx((1.0, 1.0, 0.5))
    assert score.score == pytest.approx(5 / 6)
    heavy = Scoring(0.0, 0.0, 1.0)
    assert performance_score(*response(RAMP, W4, factor=0.5), RAMP, W4, 0.0, 3600.0, heavy).score == pytest.approx(0.5)


def test_no_response_scores_next_to_nothing() -> None:
    """Constant power correlates with nothing and misses the whole signal."""
    score = performance_score(np.zeros(1), np.array([W4.mean_w]), RAMP, W4, 0.0, 3600.0)
    assert (score.correlation, score.precision) == pytest.approx((0.0, 0.0), abs=1e-9)


def test_power_that_stands_still_far_off_correlates_with_nothing() -> None:
    """Power thousands of reserves away has no shape but that of rounding, which is not scored."""
    tiny = Bid(1000.0, 0.7)
    steps = np.array([0.0, 2293.06207436]), np.array([57800.30547841, 2510.84141157])
    score = performance_score(*steps, RAMP, tiny, 2400.0, 3600.0)
    assert (score.correlation, score.delay) == (0.0, 1.0)


def test_a_signal_that_stands_still_is_scored_by_slopes() -> None:
    """Held at the limit, the signal is matched by power that stands still too."""
    still = Signal(0.0, 2.0, np.ones(1800))
    score = performance_score(np.zeros(1), np.array([W4.mean_w + 0.9 * W4.reserve_w]), still, W4, 0.0, 3600.0)
    assert (score.correlation, score.delay, score.precision) == pytest.approx((1.0, 1.0, 0.9))
    silent = Signal(0.0, 2.0, np.zeros(1800))
    assert performance_score(np.zeros(1), np.array([W4.mean_w]), silent, W4, 0.0, 3600.0).score == pytest.approx(1.0)


def test_the_score_agrees_with_plain_loops() -> None:
    """The arrays compute what the formula says, window by window and delay by delay."""
    random = np.random.default_rng(3)
    signal = Signal(0.0, 2.0, np.clip(np.cumsum(random.normal(0, 0.05, 600)), -1, 1))
    times = np.sort(random.uniform(0.0, 1200.0, 900))
    times[0] = 0.0
    powers = W4.target_w(signal.at(times - 25.0)) + random.normal(0, 400.0, times.size)
    fine = np.arange(0.0, 1200.0, 0.01) + 0.005
    power = powers[np.searchsorted(times, fine, side="right") - 1].reshape(120, -1).mean(axis=1)
    asked, given = signal.at(fine).reshape(120, -1).mean(axis=1), (power - W4.mean_w) / W4.reserve_w
    parts = []
    for first in range(120 - 30 + 1):
        options = []
        for shift in range(31):
            if first + shift + 30 <= 120:
                r = np.corrcoef(asked[first : first + 30], given[first + shift : first + shift + 30])[0, 1]
                options.append((max(r, 0.0) + 1 - shift / 30, max(r, 0.0), 1 - shift / 30))
        parts.append(max(options))
    score = performance_score(times, powers, signal, W4, 0.0, 1200.0)
    assert score.correlation == pytest.approx(np.mean([p[1] for p in parts]), abs=2e-3)
    assert score.delay == pytest.approx(np.mean([p[2] for p in parts]), abs=2e-3)
    assert score.precision == pytest.approx(1 - np.abs(given - asked).mean() / np.abs(asked).mean(), abs=2e-3)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Tariff(energy_price_per_kwh=-0.1), "tariff: energy_price_per_kwh must not be negative"),
        (lambda: Tariff(error_price_per_kwh=math.nan), "tariff: error_price_per_kwh"),
        (lambda: bill_flat(hour(1.0, 0.0, W4, 0.0), W4, flat_book()), "the span must have a length"),
        (lambda: Scoring(0.5, 0.5, 0.5), "sum to 1"),
        (lambda: Scoring(interval_s=200.0), "at least two intervals"),
    ],
)
def test_wrong_parameters_are_named(make: object, said: str) -> None:
    """A price, weight or span outside its range is refused in one line."""
    with pytest.raises(InputError, match=said):
        make()  # type: ignore[operator]
