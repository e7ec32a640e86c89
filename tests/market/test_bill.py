"""Accounts hour by hour: rows computed by hand under both rule books, and what must hold for any run."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.market import mileage, performance_score, pjm_capacity, pjm_cost
from wattline.errors import InputError
from wattline.market.bill import Bids, Book, bill_flat, bill_hours, flat_book, hour_edges
from wattline.market.held import Held, constant
from wattline.market.hour import Hour, total
from wattline.market.products import find
from wattline.market.products.paper import Paper
from wattline.market.products.pjm import Pjm
from wattline.market.score import Scoring
from wattline.market.tariff import Tariff
from wattline.market.tracking import tracking
from wattline.model.regulation import Bid, Signal

FLAT = Signal(0.0, 3600.0, np.zeros(4))
"""A signal that asks for the mean power."""
WAVE = Signal(0.0, 2.0, np.round(np.sin(np.arange(7200) / 37.0), 6))
"""Four hours of a wave."""


def bids(*rows: tuple[float, float, float]) -> Bids:
    """Return bids as steps (time, mean, reserve)."""
    return Bids(*(np.array(column, dtype=np.float64) for column in zip(*rows, strict=True)))


def hourly(*values: float, start_s: float = 0.0) -> Held:
    """Return a price that changes every hour."""
    return Held(start_s + 3600.0 * np.arange(len(values)), np.array(values), start_s + 3600.0 * len(values))


def flat(energy: Held, carbon: Held | None = None) -> Book:
    """Return the papers' rules with a series of energy prices."""
    return Book(Paper(), {"energy": energy, "reserve": constant(0.1), "error": constant(0.1)}, carbon)


def pjm(energy: float = 0.1, capacity: float = 0.1, performance: float = 0.0, ratio: float = 1.0) -> Book:
    """Return PJM's rules at flat prices."""
    prices = {"energy": energy, "capacity": capacity, "performance": performance, "mileage": ratio}
    return Book(Pjm(), {name: constant(value) for name, value in prices.items()})


def test_energy_alone_by_hand() -> None:
    """Two hours without a bid, 30 and 60 kW, at prices and intensities that change: kWh times each."""
    book = flat(hourly(0.20, -0.05), hourly(0.4, 0.1))
    rows = bill_hours(np.array([0.0, 3600.0]), np.array([30e3, 60e3]), hour_edges(0.0, 7200.0, 0.0), book)
    assert [row.energy_kwh for row in rows] == pytest.approx([30.0, 60.0])
    assert [row.cost for row in rows] == pytest.approx([6.0, -3.0])  # a negative price pays for what is drawn
    assert [row.carbon_kg for row in rows] == pytest.approx([12.0, 6.0])
    assert all(math.isnan(row.mean_w) and math.isnan(row.error) and math.isnan(row.score) for row in rows)
    assert total(rows).cost == pytest.approx(3.0)
    assert total(rows).carbon_kg == pytest.approx(18.0)


def test_the_papers_rules_by_hand() -> None:
    """Mean 10 kW and reserve 4 kW, half an hour on target and half 2 kW above it, at three prices."""
    book = flat_book(Tariff(0.2, 0.3, 0.4))
    power = np.array([0.0, 1800.0]), np.array([10e3, 12e3])
    (row,) = bill_hours(*power, hour_edges(0.0, 3600.0, 0.0), book, signal=FLAT, bids=bids((0.0, 10e3, 4e3)))
    assert (row.energy_cost, row.drawn_cost, row.bid_cost) == pytest.approx((2.0, 2.2, 2.0))
    assert (row.capacity_credit, row.performance_credit, row.error_cost) == pytest.approx((1.2, 0.0, 0.4))
    assert row.cost == pytest.approx(2.0 - 1.2 + 0.4)
    assert (row.error, row.exceed_share) == pytest.approx((0.25, 0.5))
    assert (row.mean_power_w, row.mean_target_w) == pytest.approx((11e3, 10e3))


def test_pjms_rules_by_hand() -> None:
    """2 MW at $50/MWh and 0.5 MW of reserve followed half as far: score 5/6 of $20 capacity and 3 × $1 performance."""
    starts = 2.0 * np.arange(WAVE.values.size)
    power_w = 2e6 + 0.5 * 0.5e6 * WAVE.values
    book = pjm(0.050, 0.020, 0.001, 3.0)
    row = bill_hours(starts, power_w, hour_edges(0.0, 3600.0, 0.0), book, signal=WAVE, bids=bids((0.0, 2e6, 0.5e6)))[0]
    assert (row.correlation, row.delay, row.precision) == pytest.approx((1.0, 1.0, 0.5))
    assert row.score == pytest.approx(5 / 6)
    assert row.capacity_credit == pytest.approx(5 / 6 * 500 * 0.020)
    assert row.performance_credit == pytest.approx(5 / 6 * 500 * 3 * 0.001)
    assert row.energy_cost == pytest.approx(row.energy_kwh * 0.05)
    assert row.cost == pytest.approx(row.energy_cost - 5 / 6 * 11.5)
    assert row.error_cost == 0.0
    assert row.mileage == pytest.approx(mileage(WAVE, 0.0, 3600.0))


def test_weights_of_the_score_are_the_books() -> None:
    """With precision alone the same hour is paid half."""
    starts, power_w = 2.0 * np.arange(WAVE.values.size), 2e6 + 0.25e6 * WAVE.values
    book = replace(pjm(), scoring=Scoring(0.0, 0.0, 1.0))
    row = bill_hours(starts, power_w, hour_edges(0.0, 3600.0, 0.0), book, signal=WAVE, bids=bids((0.0, 2e6, 0.5e6)))[0]
    assert row.capacity_credit == pytest.approx(0.5 * 500 * 0.10)


def test_prices_may_change_at_any_time() -> None:
    """A price of five minutes within the hour is charged for what was drawn in those minutes; the row shows its
    mean.
    """
    price = Held(np.array([0.0, 600.0, 900.0]), np.array([0.1, 1.0, 0.1]), 3600.0)
    power = np.array([0.0, 700.0]), np.array([36e3, 72e3])
    (row,) = bill_hours(*power, hour_edges(0.0, 3600.0, 0.0), flat(price))
    assert row.cost == pytest.approx(0.01 * (0.1 * 600 + 1.0 * 100) + 0.02 * (1.0 * 200 + 0.1 * 2700))
    assert row.energy_price_per_kwh == pytest.approx((0.1 * 3300 + 1.0 * 300) / 3600)


def test_a_bid_that_changes_within_an_hour() -> None:
    """The row shows averages; each bid's own money is in it; nothing is promised before the first and after the
    last.
    """
    steps = bids((600.0, 10e3, 2e3), (1800.0, 20e3, 4e3), (3000.0, math.nan, 0.0))
    (row,) = bill_hours(
        np.zeros(1), np.array([15e3]), hour_edges(0.0, 3600.0, 0.0), flat_book(), signal=FLAT, bids=steps
    )
    assert (row.bid_s, row.offered_s) == (2400.0, 2400.0)
    assert (row.mean_w, row.reserve_w) == pytest.approx((15e3, 3e3))
    third = 1 / 3
    assert row.energy_cost == pytest.approx(0.1 * (third * 15 + third * 10 + third * 20))  # as drawn without a bid
    assert row.capacity_credit == pytest.approx(0.1 * third * (2 + 4))
    assert row.error_cost == pytest.approx(0.1 * third * (5 + 5))
    assert row.error == pytest.approx((2.5 + 1.25) / 2)


def test_a_score_spans_bids_by_what_each_promised() -> None:
    """Power that follows its changing bids perfectly scores 1, though it jumps when the bid does."""
    starts = 2.0 * np.arange(1800)
    mean_w, reserve_w = np.where(starts < 1700.0, 10e3, 30e3), np.where(starts < 1700.0, 2e3, 9e3)
    power_w = mean_w + reserve_w * WAVE.values[:1800]
    rows = bill_hours(
        starts,
        power_w,
        hour_edges(0.0, 3600.0, 0.0),
        pjm(),
        signal=WAVE,
        bids=bids((0.0, 10e3, 2e3), (1700.0, 30e3, 9e3)),
    )
    assert rows[0].score == pytest.approx(1.0)


def test_what_is_too_short_to_be_scored_is_not_paid() -> None:
    """A reserve held for less than a window has no score and no credit, and the total says for how long."""
    steps = bids((0.0, 10e3, 2e3), (200.0, math.nan, 0.0))
    rows = bill_hours(np.zeros(1), np.array([10e3]), hour_edges(0.0, 3600.0, 0.0), pjm(), signal=FLAT, bids=steps)
    assert math.isnan(rows[0].score)
    assert (rows[0].capacity_credit, rows[0].offered_s) == (0.0, 200.0)
    assert total(rows).unscored_s == 200.0


def test_only_the_stretches_that_are_scored_are_paid() -> None:
    """Half an hour of reserve is scored and paid; four minutes of twice as much later in the hour are neither."""
    steps = bids((0.0, 10e3, 1e3), (1800.0, math.nan, 0.0), (2400.0, 10e3, 2e3), (2640.0, math.nan, 0.0))
    edges = hour_edges(0.0, 3600.0, 0.0)
    rows = bill_hours(np.zeros(1), np.array([10e3]), edges, pjm(), signal=FLAT, bids=steps)
    alone = bids((0.0, 10e3, 1e3), (1800.0, math.nan, 0.0))
    (first,) = bill_hours(np.zeros(1), np.array([10e3]), edges, pjm(), signal=FLAT, bids=alone)
    assert first.capacity_credit > 0
    assert (rows[0].score, rows[0].capacity_credit, rows[0].performance_credit) == (
        first.score,
        first.capacity_credit,
        first.performance_credit,
    )
    assert (rows[0].offered_s, rows[0].scored_s) == (2040.0, 1800.0)
    assert (total(rows).unscored_s, total([first]).unscored_s) == (240.0, 0.0)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([60, 180, 240, 290, 300, 400, 900]), st.sampled_from([-1, 0, 1000, 2500])),
        min_size=1,
        max_size=12,
    )
)
def test_credits_of_any_bids_are_those_of_the_twin(lengths: list[tuple[int, int]]) -> None:
    """However bids come and go in an hour, stretches as long as a window are paid and the others are counted."""
    starts = np.concatenate([[0.0], np.cumsum([length for length, _ in lengths])])
    held = [(float(a), float(b), float(w)) for a, b, (_, w) in zip(starts, starts[1:], lengths, strict=False)]
    told = [(begin, math.nan if watts < 0 else 10e3, max(watts, 0.0)) for begin, _, watts in held]
    steps = bids(*told, (float(starts[-1]), math.nan, 0.0))
    rows = bill_hours(
        WAVE.start_s + 2.0 * np.arange(1800),
        10e3 + 800.0 * WAVE.values[:1800],
        hour_edges(0.0, 3600.0, 0.0),
        pjm(),
        signal=WAVE,
        bids=steps,
    )
    score = 0.0 if math.isnan(rows[0].score) else rows[0].score
    credit, unpaid_s = pjm_capacity(held, 3600.0, score, 0.1, Scoring())
    assert rows[0].capacity_credit == pytest.approx(credit, abs=1e-12)
    assert total(rows).unscored_s == pytest.approx(unpaid_s, abs=1e-6)


def test_a_total_score_counts_every_kilowatt_and_hour_of_reserve_alike() -> None:
    """An hour with a reserve for a quarter of it, and a bid without one after that, counts for a quarter of an hour."""
    steps = bids((0.0, 10e3, 2500.0), (4500.0, 10e3, 0.0))
    power_w = 10e3 + np.where(np.arange(3600) < 1800, 2300.0, 900.0) * WAVE.values[:3600]
    rows = bill_hours(2.0 * np.arange(3600), power_w, hour_edges(0.0, 7200.0, 0.0), pjm(), signal=WAVE, bids=steps)
    first, second = rows
    assert first.score > second.score + 0.05
    assert (first.scored_kwh, second.scored_kwh) == pytest.approx((2.5, 0.625))
    assert total(rows).score == pytest.approx((2.5 * first.score + 0.625 * second.score) / 3.125)
    assert total(rows).capacity_credit == pytest.approx(0.1 * 3.125 * total(rows).score)


def test_a_window_that_is_no_whole_number_of_intervals() -> None:
    """Money and score leave out the same stretches also where a window's intervals are rounded up."""
    odd = replace(pjm(), scoring=Scoring(window_s=26.0, interval_s=10.0))
    steps = bids((0.0, 10e3, 1e3), (27.0, math.nan, 0.0), (100.0, 10e3, 1e3), (130.0, math.nan, 0.0))
    (row,) = bill_hours(np.zeros(1), np.array([10e3]), np.array([0.0, 3600.0]), odd, signal=FLAT, bids=steps)
    assert (row.offered_s, row.scored_s) == (57.0, 30.0)


def test_a_bid_without_reserve_pays_for_its_gap() -> None:
    """R = 0 has no error relative to it and no score, but Π^ε ∫|P − P̄| dt."""
    (row,) = bill_hours(
        np.zeros(1), np.array([900.0]), np.array([0.0, 3600.0]), flat_book(), signal=FLAT, bids=bids((0.0, 1000.0, 0.0))
    )
    assert row.cost == pytest.approx(0.11)
    assert math.isnan(row.error)
    assert math.isnan(row.score)
    assert row.offered_s == 0.0


def test_rows_are_hours_of_the_clock_and_parts_of_them() -> None:
    """The clock may strike within the run; billed time that begins between two strikes cuts an hour in two."""
    assert hour_edges(0.0, 9000.0, 1000.0).tolist() == [0.0, 1000.0, 4600.0, 8200.0, 9000.0]
    assert hour_edges(0.0, 7200.0, 0.0, (1800.0, 7200.0)).tolist() == [0.0, 1800.0, 3600.0, 7200.0]
    assert hour_edges(5.0, 7.0, 0.0).tolist() == [5.0, 7.0]
    assert hour_edges(0.0, 7200.0, 1e-9).tolist() == [0.0, pytest.approx(3600.0), 7200.0]
    rows = bill_hours(
        np.zeros(1), np.ones(1), hour_edges(0.0, 7200.0, 0.0, (1800.0,)), flat_book(), billed=[(1800.0, 7200.0)]
    )
    assert [(row.billed, row.span_s) for row in rows] == [(0, 1800.0), (1, 1800.0), (1, 3600.0)]


def test_an_hour_without_a_price_has_no_cost() -> None:
    """Where a series has ended the row says so, and totals speak of the others, and of how much is missing."""
    rows = bill_hours(np.zeros(1), np.array([1e3]), hour_edges(0.0, 9000.0, 0.0), flat(hourly(0.1, 0.2)))
    assert [row.cost for row in rows[:2]] == pytest.approx([0.1, 0.2])
    assert math.isnan(rows[2].cost)
    assert rows[2].energy_kwh == pytest.approx(0.5)
    found = total(rows)
    assert (found.cost, found.energy_kwh, found.hours) == pytest.approx((0.3, 2.0, 2.0))
    assert found.unpriced_s == pytest.approx(1800.0)


def test_cost_and_carbon_are_totals_of_their_own() -> None:
    """An hour without carbon keeps its cost, one without a price its carbon; each total says what it lacks."""
    rows = bill_hours(np.zeros(1), np.array([1e3]), hour_edges(0.0, 7200.0, 0.0), flat_book(carbon=hourly(0.5)))
    found = total(rows)
    assert (found.cost, found.hours, found.energy_kwh, found.unpriced_s) == pytest.approx((0.2, 2.0, 2.0, 0.0))
    assert (found.carbon_kg, found.carbon_kwh, found.no_carbon_s) == pytest.approx((0.5, 1.0, 3600.0))
    assert math.isnan(total([replace(row, carbon_kg=math.nan) for row in rows]).carbon_kg)
    unpriced = total([replace(rows[0], cost=math.nan), rows[1]])
    assert (unpriced.cost, unpriced.unpriced_s, unpriced.carbon_kg) == pytest.approx((0.1, 3600.0, 0.5))


@st.composite
def runs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, Signal, Bid, float]:
    """Draw power as steps, a signal, a bid and the end of a run of up to four hours."""
    seed, steps = draw(st.integers(0, 10**6)), draw(st.integers(1, 400))
    end_s = draw(st.floats(100.0, 14400.0))
    random = np.random.default_rng(seed)
    time_s = np.append(0.0, np.sort(random.uniform(0.0, end_s, steps)))
    signal = Signal(0.0, draw(st.sampled_from([2.0, 4.0, 7.3])), np.clip(random.normal(0.0, 0.4, 7300), -1.0, 1.0))
    bid = Bid(draw(st.floats(1e3, 1e6)), draw(st.one_of(st.just(0.0), st.floats(1.0, 1e5))))
    return time_s, random.uniform(0.0, 2e5, time_s.size), signal, bid, end_s


@settings(max_examples=60, deadline=None)
@given(runs(), st.floats(-3600.0, 3600.0), st.tuples(*[st.floats(0.0, 1.0)] * 3))
def test_hours_add_up_to_the_settlement_of_the_whole(
    run: tuple[np.ndarray, np.ndarray, Signal, Bid, float], anchor_s: float, prices: tuple[float, float, float]
) -> None:
    """Under flat prices, wherever the clock strikes, the rows' money and tracking are those of the run as a whole."""
    time_s, power_w, signal, bid, end_s = run
    book = flat_book(Tariff(*prices))
    rows = bill_hours(
        time_s,
        power_w,
        hour_edges(0.0, end_s, anchor_s),
        book,
        signal=signal,
        bids=bids((0.0, bid.mean_w, bid.reserve_w)),
    )
    whole = tracking(time_s, power_w, signal, bid, 0.0, end_s)
    bill, found = bill_flat(whole, bid, flat_book(Tariff(*prices))), total(rows)
    assert found.cost == pytest.approx(bill.cost, rel=1e-9, abs=1e-9)
    assert found.energy_cost == pytest.approx(bill.energy_cost, rel=1e-9, abs=1e-9)
    assert found.capacity_credit == pytest.approx(bill.capacity_credit, rel=1e-9, abs=1e-9)
    assert found.error_cost == pytest.approx(bill.error_cost, rel=1e-9, abs=1e-9)
    assert found.drawn_cost == pytest.approx(bill.drawn_cost, rel=1e-9, abs=1e-9)
    assert found.energy_kwh * 3.6e6 == pytest.approx(whole.energy_j, rel=1e-9)
    assert found.error == pytest.approx(whole.mean_error, rel=1e-9, nan_ok=True)
    assert found.exceed_share == pytest.approx(whole.exceed_share, abs=1e-9, nan_ok=True)


@settings(max_examples=40, deadline=None)
@given(runs(), st.sampled_from(["paper", "pjm"]), st.randoms(use_true_random=False))
def test_a_total_is_the_sum_of_its_rows_to_the_last_bit(
    run: tuple[np.ndarray, np.ndarray, Signal, Bid, float], rules: str, random: object
) -> None:
    """Rows in any order give the same total; its parts make its cost; shown to the cent, rows miss it by half a cent
    each.
    """
    time_s, power_w, signal, bid, end_s = run
    rows = bill_hours(
        time_s,
        power_w,
        hour_edges(0.0, end_s, 0.0),
        flat_book() if rules == "paper" else pjm(),
        signal=signal,
        bids=bids((0.0, bid.mean_w, bid.reserve_w)),
    )
    found, shuffled = total(rows), list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert total(shuffled).cost == found.cost == math.fsum(row.cost for row in rows)
    parts = found.energy_cost - found.capacity_credit - found.performance_credit + found.error_cost
    assert found.cost == pytest.approx(parts, rel=1e-12, abs=1e-9)
    assert abs(sum(round(row.cost, 2) for row in rows) - found.cost) <= 0.005 * len(rows) + 1e-9


@settings(max_examples=15, deadline=None)
@given(runs())
def test_a_market_hour_is_the_settlement_of_that_hour(run: tuple[np.ndarray, np.ndarray, Signal, Bid, float]) -> None:
    """Under PJM's rules each whole hour is what its score and tracking come to by themselves."""
    time_s, power_w, signal, bid, end_s = run
    if bid.reserve_w == 0 or end_s < 3600.0:
        return
    book = pjm(0.03, 0.02, 0.001, 2.0)
    rows = bill_hours(
        time_s, power_w, hour_edges(0.0, end_s, 0.0), book, signal=signal, bids=bids((0.0, bid.mean_w, bid.reserve_w))
    )
    for row in (row for row in rows if row.span_s == 3600.0):
        span = row.start_s, row.end_s
        score = performance_score(time_s, power_w, signal, bid, *span)
        mean_power_w = tracking(time_s, power_w, signal, bid, *span).mean_power_w
        cost = pjm_cost(mean_power_w, bid, score.score, (0.03, 0.02, 0.001), 2.0, 1.0)
        assert row.score == pytest.approx(score.score, abs=1e-6)  # averages over 10 s round differently
        assert row.cost == pytest.approx(cost, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: find("ercot"), "rules must be .*paper or pjm"),
        (lambda: Book(Pjm(), {"energy": constant(0.1)}), "rules = 'pjm' needs a price of capacity"),
        (lambda: Book(Paper(), {"capacity": constant(0.1)}), "capacity does not go with rules = 'paper'"),
        (lambda: bill_hours(np.ones(1), np.ones(1), np.array([0.0, 9.0]), flat_book()), "not known at the beginning"),
        (lambda: _short(None), "a bid needs a regulation signal"),
        (lambda: _short(Signal(0.0, 2.0, np.zeros(10))), "lasts from 0 s to 20 s, but 0 s to 3600 s is asked for"),
    ],
)
def test_what_cannot_be_accounted_for_is_refused(make: object, said: str) -> None:
    """A bid needs a signal as long as itself, and power must be known from the beginning."""
    with pytest.raises(InputError, match=said):
        make()  # type: ignore[operator]


def _short(signal: Signal | None) -> list[Hour]:
    edges = np.array([0.0, 3600.0])
    return bill_hours(np.zeros(1), np.ones(1), edges, flat_book(), signal=signal, bids=bids((0.0, 10.0, 1.0)))
