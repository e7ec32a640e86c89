"""Reach: what a bid may ask beyond the cluster's power range, and which bids are refused for it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.market import normal_values
from wattline.errors import InputError
from wattline.market.reach import check_bid, reach
from wattline.market.tracking import tracking
from wattline.model.regulation import Bid, Signal

IDLE_W, MAX_W = 36 * 169.0, 36 * 400.0
W4 = Bid(8434.0, 3435.0)


def test_by_hand() -> None:
    """Of five equal parts one lies below by 30 W, one above by 10 W; R = 50: only the first exceeds 0.3 R = 15 W."""
    signal = Signal(0.0, 2.0, np.array([-1.0, -0.4, 0.0, 0.4, 1.0]))
    found = reach(Bid(100.0, 50.0), signal, 80.0, 140.0)
    assert (found.below_share, found.above_share, found.outside_share) == pytest.approx((0.2, 0.2, 0.4))
    assert found.exceed_share == pytest.approx(0.2)
    assert found.mean_error == pytest.approx((30.0 + 10.0) / 5 / 50)


@settings(deadline=None)
@given(
    st.lists(st.floats(-1, 1), min_size=1, max_size=30),
    st.floats(60, 140),
    st.floats(1, 80),
    st.floats(0, 100),
    st.floats(100, 200),
)
def test_it_is_the_tracking_of_a_perfect_policy(
    values: list[float], mean_w: float, reserve_w: float, low_w: float, high_w: float
) -> None:
    """Power that is the target clipped to the range has exactly the error that reach alone adds."""
    signal, bid = Signal(0.0, 2.0, np.array(values)), Bid(mean_w, reserve_w)
    power = np.clip(bid.target_w(signal.values), low_w, high_w)
    best = tracking(2.0 * np.arange(len(values)), power, signal, bid, 0.0, signal.end_s)
    found = reach(bid, signal, low_w, high_w)
    assert found.mean_error == pytest.approx(best.mean_error, abs=1e-9)
    assert found.exceed_share == pytest.approx(best.exceed_share, abs=1e-9)


def test_no_reserve_adds_no_error() -> None:
    """A bid without a reserve may be out of reach but has no error for it."""
    found = reach(Bid(50.0, 0.0), np.zeros(3), 80.0, 140.0)
    assert (found.below_share, found.exceed_share, found.mean_error) == (1.0, 0.0, 0.0)


def test_the_published_bid_is_refused_by_one_rule_and_kept_by_the_other() -> None:
    """AQA's W4 asks for less than the idle power 4 % of the time, and for 0.3 R less hardly ever."""
    with pytest.raises(InputError, match=r"8434 W − reserve 3435 W = 4999 W is below the 6084 W .* at most 2350 W"):
        check_bid(W4, normal_values(), IDLE_W, MAX_W)
    found = check_bid(W4, normal_values(), IDLE_W, MAX_W, "paper")
    assert found.below_share == pytest.approx(0.0436, abs=0.001)  # Φ(−0.684 / 0.4)
    assert found.exceed_share == pytest.approx(0.0069, abs=0.001)  # Φ(−0.984 / 0.4)


def test_a_bid_at_the_very_bound_is_kept() -> None:
    """Bounds belong to the range, whatever rounding does."""
    mean = 0.5 * (IDLE_W + MAX_W)
    assert check_bid(Bid(mean, mean - IDLE_W), normal_values(), IDLE_W, MAX_W).outside_share == 0.0
    assert check_bid(Bid(3 * 0.1, 0.1), normal_values(), 0.2, 0.4).exceed_share == 0.0


@pytest.mark.parametrize(
    ("bid", "mode", "said"),
    [
        (Bid(6000.0, 0.0), "strict", "mean power 6000 W is outside what the cluster can draw, 6084 W"),
        (Bid(15000.0, 0.0), "paper", "mean power 15000 W is outside"),
        (Bid(13000.0, 1500.0), "strict", "13000 W \\+ reserve 1500 W = 14500 W is above the 14400 W .* at most 1400 W"),
        (
            Bid(6500.0, 4000.0),
            "paper",
            r"more than 0.3 R outside 6084 W to 14400 W for \d+\.\d% of the signal, and 10%",
        ),
        (W4, "loose", "reach must be strict or paper"),
    ],
)
def test_bids_out_of_reach_are_one_line(bid: Bid, mode: str, said: str) -> None:
    """A bid that cannot be kept is refused with its values, the bound and what to do."""
    with pytest.raises(InputError, match=said) as caught:
        check_bid(bid, normal_values(), IDLE_W, MAX_W, mode)
    assert "\n" not in str(caught.value)


def test_a_range_that_runs_backward_is_refused() -> None:
    """Idle power above full power is a mistake."""
    with pytest.raises(InputError, match="must run upward"):
        reach(W4, normal_values(), 100.0, 50.0)
