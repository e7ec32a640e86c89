"""Promises: α from observations, the rate a promise needs, and the least weights, by closed form and by search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from wattline.model.regulation import Bid
from wattline.theory.gps_bounds import (
    exceedance,
    fit_log_alpha,
    fit_log_alpha_to_curve,
    least_shares,
    needed_rate,
    weight_bound,
)
from wattline.theory.gps_moments import Blocks, Bursts, GammaBatch, Gaussian, LogMgf, PerType, PoissonBatch
from wattline.theory.gps_tails import Flow, Theory, Types, active_servers, decay, delay_tail

NODES, TIME_S, LIMIT = np.array([1.0, 4.0, 8.0]), np.array([150.0, 30.0, 90.0]), np.array([3.0, 5.0, 2.0])
RATE = 0.5 * 36 / (3 * NODES * TIME_S)
TYPES = Types(NODES, TIME_S, np.array([250.0, 300.0, 400.0]), RATE, LIMIT, np.array([0.1, 0.05, 0.2]))
SIGNALS = {"paper": Gaussian(0.4), "corrected": Gaussian.correlated(0.4, 150.0), "steady": Gaussian(0.0)}


def test_alpha_makes_the_tail_pass_through_what_was_observed() -> None:
    """α·e^{−θ*·D_max} is the observed share of late jobs, however few jobs there were; without a late job it is a
    thousandth, or what one says. No α overflows.
    """
    observed, rate = np.array([0.07, 0.0, 0.0, 1.0]), np.array([0.02, 3.0, 0.0, np.inf])
    limit_s = np.array([100.0, 500.0, 70.0, 20.0])
    log_alpha = fit_log_alpha(observed, rate, limit_s)
    assert log_alpha[:3] == pytest.approx([np.log(0.07) + 2.0, 1500.0 + np.log(1e-3), np.log(1e-3)])
    assert delay_tail(rate, log_alpha, limit_s) == pytest.approx([0.07, 1e-3, 1e-3, 0.0])
    cautious = fit_log_alpha(observed, rate, limit_s, 1.0 / np.array([201, 50, 1, 11]))
    assert delay_tail(rate, cautious, limit_s) == pytest.approx([0.07, 0.02, 1.0, 0.0])


def test_no_promise_seems_broken_where_no_job_was_late() -> None:
    """A kind of which nine jobs ended in time needs no rate at all: its promise of 10 % holds at any."""
    log_alpha = fit_log_alpha([0.0, 0.0, 0.0], np.zeros(3), TYPES.limit_s)
    assert np.all(needed_rate(Theory(TYPES, 36, 169.0), log_alpha) < 0.0)


@settings(max_examples=50, deadline=None)
@given(st.floats(0.0, 0.05), st.floats(0.01, 2.0), st.floats(20.0, 200.0))
def test_a_curve_of_the_theorys_own_form_gives_its_own_alpha(rate: float, alpha: float, limit_s: float) -> None:
    """Where delays fall off as α·e^{−θ*·d} the fit to the curve is α, and so is the fit at the promise."""
    delay_s = np.linspace(0.5, 1.5, 11)[:, None] * limit_s
    tail = alpha * np.exp(-rate * delay_s)
    assume(tail.min() >= 1e-3)
    assert fit_log_alpha_to_curve(tail, [rate], delay_s)[0] == pytest.approx(np.log(alpha), abs=1e-9)
    assert fit_log_alpha(tail[5], [rate], [limit_s])[0] == pytest.approx(np.log(alpha), abs=1e-9)


def test_the_curve_is_fitted_by_least_squares() -> None:
    """No other height of the line is nearer to the logarithm of the curve; delays that nobody had count as 10⁻³."""
    curve, delay_s = np.array([0.5, 0.5, 0.2, 0.0]), np.array([30.0, 50.0, 70.0, 90.0])
    found = fit_log_alpha_to_curve(curve[:, None], [0.03], delay_s[:, None])[0]

    def miss(log_alpha: float) -> float:
        return float(np.sum((np.log(np.maximum(curve, 1e-3)) - log_alpha + 0.03 * delay_s) ** 2))

    assert all(miss(found) < miss(found + step) for step in (-0.1, -1e-3, 1e-3, 0.1))


def test_late_jobs_are_counted_by_type() -> None:
    """A job is late at Q ≥ limit, the limit included; a type without jobs has a share of 0 of none."""
    share, count = exceedance([3.0, 2.9, 7.0, 0.0, 5.0], [0, 0, 0, 0, 1], LIMIT)
    assert (share.tolist(), count.tolist()) == ([0.5, 1.0, 0.0], [4, 1, 0])


@settings(max_examples=50, deadline=None)
@given(st.floats(0.2, 50.0))
def test_the_needed_rate_is_where_the_tail_is_the_share(ratio: float) -> None:
    """At θ* = δ_D the tail at D_max is δ; δ_D ≤ 0 exactly where α ≤ δ."""
    log_alpha = np.log(ratio * TYPES.share)
    needed = needed_rate(Theory(TYPES, 36, 169.0), log_alpha)
    assert np.all((needed <= 0) == (log_alpha <= np.log(TYPES.share)))
    if ratio > 1 and np.all(log_alpha <= 0):
        assert delay_tail(needed, log_alpha, TYPES.limit_s) == pytest.approx(TYPES.share)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(sorted(SIGNALS)),
    st.floats(5.0, 30.0),
    st.floats(0.0, 12.0),
    st.lists(st.floats(-3.0, 6.0), min_size=3, max_size=3),
)
def test_the_least_weight_is_exactly_where_the_promise_begins_to_hold(
    signal: str, mean: float, spread: float, above: list[float]
) -> None:
    """At w* the tail at D_max is δ; a little less breaks it, any more keeps it; inf where no weight is enough."""
    theory, flow = Theory(TYPES, 36, 169.0, SIGNALS[signal]), Flow(mean, spread, 1.0)
    above = [round(a, 6) for a in above]  # a promise just beyond keeping is kept by any digit of w*
    log_alpha = np.log(TYPES.share) + np.array(above)
    least, needed = weight_bound(theory, flow, log_alpha), needed_rate(theory, log_alpha)
    for j in range(3):

        def rate(weight: float, j: int = j) -> float:
            return float(decay(theory, flow, np.full(3, weight)).rate_per_s[j])

        if above[j] <= 0.0:
            assert least[j] == pytest.approx(theory.load[j] / mean)
        elif np.isinf(least[j]):
            assert SIGNALS[signal].variance * spread**2 > mean**2 / (2.0 * needed[j])  # thesis eq. 2.42
            assert rate(1e6) < needed[j]
        else:
            assert rate(least[j]) == pytest.approx(needed[j], rel=1e-8)
            assert rate(0.999 * least[j]) < needed[j]
            assert rate(3.0 * least[j]) >= needed[j] * (1 - 1e-12)


def test_the_printed_bound_for_one_node() -> None:
    """With one node a job w* is the thesis' eq. 2.43 as printed."""
    ones = Types(np.ones(3), TIME_S, TYPES.power_w, RATE, LIMIT, TYPES.share)
    theory, flow, log_alpha = Theory(ones, 36, 169.0), Flow(15.0, 9.0, 1.0), np.array([0.0, 1.0, 0.5])
    d, n_sigma = -np.log(ones.share / np.exp(log_alpha)) / ones.limit_s, 0.4 * 9.0
    printed = 2.0 * d * TIME_S / ((15.0 + np.sqrt(225.0 - 2.0 * d * n_sigma**2)) * np.log(1.0 + d / RATE))
    assert weight_bound(theory, flow, log_alpha) == pytest.approx(printed, rel=1e-12)
    assert np.all(np.isinf(weight_bound(theory, Flow(0.0, 9.0, 1.0), log_alpha)))


ARRIVALS: dict[str, LogMgf] = {
    "one by one": PerType(tuple(PoissonBatch(RATE[j : j + 1], TYPES.work[j : j + 1]) for j in range(3))),
    "gamma": GammaBatch(RATE, TYPES.work, np.array([0.5, 1.0, 2.0])),
    "bursts": Bursts(0.5 * RATE, 3.0 * RATE, np.full(3, 400.0), np.full(3, 100.0), TYPES.work),
}


@pytest.mark.parametrize("arrivals", ARRIVALS)
@pytest.mark.parametrize("spread", [2.0, 14.0])
def test_other_laws_have_a_least_weight_too(arrivals: str, spread: float) -> None:
    """Where laws have no closed form, w* is still where θ* reaches the needed rate, or inf where none does."""
    y = np.clip(np.random.default_rng(1).normal(0.0, 0.4, 2_000), -1.0, 1.0)
    for signal in (Blocks.of(y, 2.0, 2.0), Gaussian(0.4)):
        theory, flow = Theory(TYPES, 36, 169.0, signal, ARRIVALS[arrivals]), Flow(12.0, spread, 1.0)
        log_alpha = np.log(TYPES.share) + np.array([0.5, 2.0, 4.0])
        least = weight_bound(theory, flow, log_alpha)
        assert np.isfinite(least).all()
        assert decay(theory, flow, least).rate_per_s == pytest.approx(needed_rate(theory, log_alpha), rel=1e-8)


def test_a_recorded_signal_may_be_too_violent_for_any_weight() -> None:
    """Servers that are often all idle allow only so small a delay rate: w* is inf for a promise beyond it."""
    signal = Blocks.of(np.tile([-1.0, -1.0, 1.0, 1.0], 500), 2.0, 2.0)
    theory, flow = Theory(TYPES, 36, 169.0, signal), Flow(12.0, 40.0, 1.0)
    assert np.all(np.isinf(weight_bound(theory, flow, np.full(3, 500.0))))
    closed = weight_bound(theory, flow, np.log(TYPES.share))
    assert closed == pytest.approx(theory.load / 12.0)


@settings(max_examples=60, deadline=None)
@given(st.floats(6500.0, 12000.0), st.floats(0.0, 5000.0), st.lists(st.floats(-2.0, 3.0), min_size=3, max_size=3))
def test_least_shares_need_no_search(mean_w: float, reserve_w: float, above: list[float]) -> None:
    """w* depends on w through D, yet the sum decides exactly whether weights that keep all promises exist.

    Against a linear programme: the least weights are D·c, so w ≥ (w·p − p_idle)·c is linear in w.
    """
    theory, bid = Theory(TYPES, 36, 169.0, Gaussian.correlated(0.4, 20.0)), Bid(mean_w, reserve_w)
    log_alpha = np.log(TYPES.share) + np.array(above)
    shares = least_shares(theory, bid, log_alpha)
    assume(abs(shares.total - 1.0) > 1e-6)
    if np.isinf(shares.total):
        assert np.isnan(shares.weights).all()
        assert np.isinf(weight_bound(theory, active_servers(theory, bid, np.full(3, 1 / 3)), log_alpha)).any()
        return
    assert shares.weights.sum() == pytest.approx(1.0)
    least = weight_bound(theory, active_servers(theory, bid, shares.weights), log_alpha)
    assert least.sum() == pytest.approx(shares.total)
    assert shares.weights == pytest.approx(least / shares.total)
    per_watt = least / (shares.weights @ TYPES.power_w - 169.0)
    found = linprog(
        np.zeros(3),
        A_ub=np.outer(per_watt, TYPES.power_w) - np.eye(3),
        b_ub=169.0 * per_watt,
        A_eq=np.ones((1, 3)),
        b_eq=[1],
    )
    assert (found.status == 0) == (shares.total <= 1.0)
