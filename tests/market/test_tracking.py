"""Tracking of a regulation target: exact by time, checked by hand and against fine sampling."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.market import share_above
from wattline.errors import InputError
from wattline.market.shares import ecdf, quantile
from wattline.market.tracking import error_steps, require, tracking
from wattline.model.regulation import Bid, Signal

BID = Bid(1000.0, 100.0)


def steps(*rows: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return times and powers of a step function."""
    times, powers = zip(*rows, strict=True)
    return np.array(times, dtype=np.float64), np.array(powers, dtype=np.float64)


def test_an_hour_by_hand() -> None:
    """Half an hour on target, a quarter 20 W off, a quarter 50 W off: ε̄ = 0.175 and a quarter of the time above
    0.3.
    """
    power = steps((0.0, 1100.0), (1800.0, 880.0), (2700.0, 950.0))
    signal = Signal(0.0, 1800.0, np.array([1.0, -1.0]))
    found = tracking(*power, signal, BID, 0.0, 3600.0)
    assert found.mean_error == pytest.approx(0.25 * 0.2 + 0.25 * 0.5)
    assert found.exceed_share == pytest.approx(0.25)
    # below target at −20 W, above it at +50 W
    assert found.signed_error == pytest.approx(-0.25 * 0.2 + 0.25 * 0.5)
    assert found.mean_gap_w == pytest.approx(17.5)
    assert found.mean_power_w == pytest.approx(0.5 * 1100 + 0.25 * 880 + 0.25 * 950)
    assert found.energy_j == pytest.approx(found.mean_power_w * 3600)
    assert found.mean_target_w == pytest.approx(1000.0)
    assert not found.meets()
    assert found.meets(0.3)


def test_power_and_signal_change_at_other_times() -> None:
    """Pieces are cut where either side changes, and the last row of power holds to the end."""
    power = steps((-5.0, 1000.0), (3.0, 1050.0))
    signal = Signal(-4.0, 4.0, np.array([0.3, 0.0, 0.5, -1.0]))
    durations, errors = error_steps(*power, signal, BID, 1.0, 10.0)
    held = durations > 0
    assert durations[held].tolist() == [2.0, 1.0, 4.0, 2.0]
    assert errors[held] == pytest.approx([0.0, 0.5, 0.0, 1.5])


def test_the_margin_itself_does_not_exceed() -> None:
    """An error equal to the margin is within it."""
    flat = Signal(0.0, 10.0, np.zeros(1))
    assert tracking(*steps((0.0, 1050.0)), flat, BID, 0.0, 10.0, margin=0.5).exceed_share == 0.0
    assert tracking(*steps((0.0, 1051.0)), flat, BID, 0.0, 10.0, margin=0.5).exceed_share == 1.0


def test_no_reserve_has_no_error() -> None:
    """Without a reserve the gap in watts is reported, the relative error is not a number and no constraint applies."""
    signal = Signal(0.0, 10.0, np.array([1.0]))
    found = tracking(*steps((0.0, 1030.0), (5.0, 1000.0)), signal, Bid(1000.0, 0.0), 0.0, 10.0)
    assert found.mean_gap_w == 15.0
    assert found.mean_target_w == 1000.0
    assert math.isnan(found.mean_error)
    assert math.isnan(found.signed_error)
    assert math.isnan(found.exceed_share)
    assert not found.applies
    assert found.meets()
    with pytest.raises(InputError, match="holds no reserve"):
        error_steps(*steps((0.0, 1.0)), signal, Bid(1000.0, 0.0), 0.0, 10.0)


def test_a_span_of_one_rounding_step_at_the_very_end() -> None:
    """A span too short to be told from the signal's end has the signal's last value."""
    signal = Signal(0.0, 0.1, np.array([0.0, 0.0, 1.0]))
    begin_s = float(np.nextafter(signal.end_s, 0.0))
    assert tracking(*steps((0.0, 1100.0)), signal, BID, begin_s, signal.end_s).mean_error == 0.0


def test_instants_repeated_in_the_timeline_have_no_length() -> None:
    """Of two rows at one instant the later one holds."""
    signal = Signal(0.0, 10.0, np.zeros(1))
    found = tracking(*steps((0.0, 1.0), (0.0, 900.0), (5.0, 7.0), (5.0, 1100.0)), signal, BID, 0.0, 10.0)
    assert (found.mean_power_w, found.mean_gap_w) == (1000.0, 100.0)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, Signal, float, float]:
    """Draw steps of power, a signal of any step and phase, and a span inside both; often with coinciding instants."""
    step_s = draw(st.sampled_from([0.5, 1.0, 2.0, 3.0, 0.1]))
    start_s = draw(st.sampled_from([0.0, -1.5, 0.3]))
    values = draw(st.lists(st.sampled_from([-1.0, -0.25, 0.0, 0.4, 1.0]), min_size=1, max_size=12))
    signal = Signal(start_s, step_s, np.array(values))
    instants = st.one_of(
        st.integers(0, len(values)).map(lambda k: start_s + k * step_s),
        st.floats(start_s, signal.end_s, allow_nan=False),
    )
    begin_s, end_s = sorted(draw(st.tuples(instants, instants)))
    times = [start_s - 1.0, *sorted(draw(st.lists(instants, max_size=20)))]
    powers = draw(st.lists(st.floats(0.0, 300.0), min_size=len(times), max_size=len(times)))
    return np.array(times), np.array(powers), signal, begin_s, end_s


@settings(max_examples=150, deadline=None)
@given(worlds())
def test_against_fine_sampling(world: tuple[np.ndarray, np.ndarray, Signal, float, float]) -> None:
    """Every figure is the mean of very many samples of the same two step functions, up to the sampling error."""
    times, powers, signal, begin_s, end_s = world
    if not (signal.covers(begin_s, end_s) and end_s - begin_s > 1e-6):
        return
    bid = Bid(120.0, 60.0)
    found = tracking(times, powers, signal, bid, begin_s, end_s)
    count = 40_000
    at = begin_s + (np.arange(count) + 0.5) * ((end_s - begin_s) / count)
    power = powers[np.searchsorted(times, at, side="right") - 1]
    target = bid.target_w(signal.at(at))
    error = np.abs(power - target) / 60.0
    slack = (times.size + signal.values.size + 2) / count  # one sample at each edge may fall on the wrong side
    assert found.mean_power_w == pytest.approx(power.mean(), abs=300 * slack + 1e-9)
    assert found.mean_target_w == pytest.approx(target.mean(), abs=120 * slack + 1e-9)
    assert found.mean_error == pytest.approx(error.mean(), abs=5 * slack + 1e-9)
    assert found.signed_error == pytest.approx(((power - target) / 60.0).mean(), abs=5 * slack + 1e-9)
    assert found.exceed_share == pytest.approx((error > 0.3).mean(), abs=slack + 1e-9)


@settings(max_examples=150, deadline=None)
@given(worlds())
def test_pieces_fill_the_span(world: tuple[np.ndarray, np.ndarray, Signal, float, float]) -> None:
    """Pieces never run backward, add up to the span, and give the same figures as ``tracking``."""
    times, powers, signal, begin_s, end_s = world
    if not (signal.covers(begin_s, end_s) and end_s - begin_s > 1e-9):
        return
    bid = Bid(120.0, 60.0)
    durations, errors = error_steps(times, powers, signal, bid, begin_s, end_s)
    found = tracking(times, powers, signal, bid, begin_s, end_s)
    assert durations.min() >= 0
    assert durations.sum() == pytest.approx(end_s - begin_s)
    assert found.mean_error == pytest.approx(durations @ errors / found.span_s)
    assert found.exceed_share == pytest.approx(share_above(durations, errors, 0.3), abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(worlds(), st.floats(0.1, 0.9))
def test_parts_make_the_whole(world: tuple[np.ndarray, np.ndarray, Signal, float, float], part: float) -> None:
    """A span cut in two, each part by its length, is the span."""
    times, powers, signal, begin_s, end_s = world
    if not (signal.covers(begin_s, end_s) and end_s - begin_s > 1e-3):
        return
    middle = begin_s + part * (end_s - begin_s)
    bid = Bid(120.0, 60.0)
    halves = [tracking(times, powers, signal, bid, *span) for span in ((begin_s, middle), (middle, end_s))]
    whole = tracking(times, powers, signal, bid, begin_s, end_s)
    assert sum(half.energy_j for half in halves) == pytest.approx(whole.energy_j, rel=1e-9, abs=1e-9)
    for name in ("mean_power_w", "mean_gap_w", "mean_error", "signed_error", "exceed_share"):
        mean = sum(getattr(half, name) * half.span_s for half in halves) / (end_s - begin_s)
        assert mean == pytest.approx(getattr(whole, name), rel=1e-9, abs=1e-9)


def test_distributions_by_time() -> None:
    """A quantile is the least value that holds for at least that share of time; pieces without length do not count."""
    duration, value = np.array([1.0, 0.0, 2.0, 1.0]), np.array([0.5, 9.0, 0.1, 0.5])
    levels, reached = ecdf(duration, value)
    assert (levels.tolist(), reached.tolist()) == ([0.1, 0.5], [0.5, 1.0])
    assert quantile(duration, value, [0.0, 0.5, 0.500001, 1.0]).tolist() == [0.1, 0.1, 0.5, 0.5]
    with pytest.raises(InputError, match="no piece has a length"):
        ecdf(np.zeros(2), np.zeros(2))
    with pytest.raises(InputError, match="2 durations but 3 values"):
        ecdf(np.zeros(2), np.zeros(3))
    with pytest.raises(InputError, match="between 0 and 1"):
        quantile(duration, value, 1.5)


SIGNAL = Signal(0.0, 2.0, np.zeros(5))


@pytest.mark.parametrize(
    ("times", "powers", "span", "said"),
    [
        ([0.0], [1.0, 2.0], (0, 5), "1 times but 2 powers"),
        ([3.0], [1.0], (0, 5), "known from 3 s on, but the span begins at 0 s"),
        ([], [], (0, 5), "known at no time"),
        ([0.0, 4.0, 2.0], [1.0, 1.0, 1.0], (0, 5), "must not go back"),
        ([0.0, 2.0], [1.0, math.nan], (0, 5), "not a number somewhere between 0 s and 5 s"),
        ([0.0], [1.0], (5, 5), "must have a length, got 5 s to 5 s"),
        ([0.0], [1.0], (0, 11), "signal: lasts from 0 s to 10 s, but 0 s to 11 s is asked for"),
        ([-9.0], [1.0], (-1, 5), "lasts from 0 s to 10 s, but -1 s"),
    ],
)
def test_bad_input_is_one_line(times: list[float], powers: list[float], span: tuple[int, int], said: str) -> None:
    """Whatever is wrong with times, powers or the span is said in one line."""
    with pytest.raises(InputError, match=said) as caught:
        tracking(np.array(times), np.array(powers), SIGNAL, BID, *map(float, span))
    assert "\n" not in str(caught.value)


def test_a_nan_outside_the_span_does_not_matter() -> None:
    """Only rows that hold within the span are looked at."""
    found = tracking(np.array([0.0, 2.0, 4.0]), np.array([1.0, 5.0, math.nan]), SIGNAL, BID, 0.0, 4.0)
    assert found.mean_power_w == 3.0


def test_a_signal_may_be_required() -> None:
    """A signal shorter than the hour asked for is refused; one that lasts just long enough is not."""
    require(SIGNAL, 0.0, 10.0)
    with pytest.raises(InputError, match="0 s to 3600 s is asked for; give a longer signal"):
        require(SIGNAL, 0.0, 3600.0)


def test_it_is_quick_enough_for_a_search() -> None:
    """An hour of 5,000 rows and 1,800 values takes far less than a simulated hour (a loose bound; about 0.1 ms)."""
    random = np.random.default_rng(1)
    times = np.sort(np.concatenate([np.arange(3600.0), random.uniform(0.0, 3600.0, 1400)]))
    powers, signal = random.uniform(500.0, 1500.0, times.size), Signal(0.0, 2.0, random.uniform(-1.0, 1.0, 1800))
    taken = []
    for _ in range(30):
        began = time.perf_counter()
        tracking(times, powers, signal, BID, 0.0, 3600.0)
        taken.append(time.perf_counter() - began)
    assert min(taken) < 1e-3
