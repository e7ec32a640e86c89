"""QoSG's choice: where α is fitted, what fitting it again is good for, and what a signal with memory changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wattline.bidding.hours.setting import Setting
from wattline.bidding.hours.trial import Trial
from wattline.bidding.searches.aqa import load_weights, start_bid, theory_of
from wattline.bidding.searches.choice import STRICT
from wattline.bidding.searches.qosg import first_bid, qosg_bid
from wattline.bidding.searches.search import mean_power_w
from wattline.systems.followers import AQA
from wattline.systems.qosg.jobs import setting_of
from wattline.theory.gps_moments import Gaussian
from wattline.theory.gps_roots import NONE
from wattline.theory.gps_tails import active_servers, decay


def made(**case: Any) -> Setting:
    """Return a small machine of the QoSG study under the paper's protocol."""
    return setting_of(AQA, paper=True, **{"nodes": 20, **case})


def test_alpha_is_fitted_where_the_theory_has_rates() -> None:
    """At the load itself no kind has a rate (Case III); where QoSG fits α first, all have one, and it lies within
    reach.
    """
    setting = made()
    theory, rows = theory_of(setting)
    weights = load_weights(setting.kinds)[rows]
    at_load = decay(theory, active_servers(theory, start_bid(setting, STRICT), weights), weights)
    assert (at_load.case == NONE).all()
    bid = first_bid(setting, STRICT)
    assert (decay(theory, active_servers(theory, bid, weights), weights).rate_per_s > 0.0).all()
    assert setting.idle_total_w <= bid.mean_w - bid.reserve_w
    assert bid.mean_w + bid.reserve_w <= setting.max_total_w


@pytest.mark.parametrize("utilization", [0.25, 0.5, 0.9])
def test_the_first_bid_leaves_room_at_any_utilization(utilization: float) -> None:
    """The first fit is made above the load and below the greatest power, however full the machine is."""
    setting = made(utilization=utilization)
    mean_w = first_bid(setting, STRICT).mean_w
    assert setting.idle_total_w + setting.load_w() < mean_w < setting.max_total_w


def test_fitting_again_finds_a_bid_that_keeps_its_promises() -> None:
    """One fit gives a bid that breaks promises in its own simulation; fits on what came out give one that keeps all."""
    trial = Trial(made(), [30_000])
    once, again = qosg_bid(trial, points=20, fits=1), qosg_bid(trial, points=20, fits=4)
    assert not once.feasible
    assert once.outcome.excess() > 1.0
    assert again.feasible
    assert again.outcome.excess() == 0.0
    assert again.bid.mean_w > once.bid.mean_w
    assert len(again.history) == 4
    assert again.weights is not None
    assert again.weights.sum() == pytest.approx(1.0)
    assert again.weights[-1] == 0.0  # standby jobs are promised nothing


def test_a_signal_with_memory_holds_the_reserve_back() -> None:
    """The paper's theory offers all that reach allows; with the signal's memory the first search offers less."""
    trial = Trial(made(), [30_000])
    paper, corrected = (
        qosg_bid(trial, points=20, fits=1, signal=signal) for signal in (None, Gaussian.correlated(0.40, 200.0))
    )
    most_w = min(paper.bid.mean_w - 1800.0, 20 * 309.0 - paper.bid.mean_w)
    assert paper.bid.reserve_w == pytest.approx(most_w)
    assert corrected.bid.reserve_w < 0.7 * paper.bid.reserve_w


def test_where_no_weights_exist_the_choice_says_so() -> None:
    """Limits that not even the whole machine keeps leave no bid, and no bid is made up."""
    choice = qosg_bid(Trial(made(utilization=0.999), [1]), points=8, fits=2)
    assert not choice.feasible
    assert choice.limits.startswith("the theory finds no weights")
    assert choice.runs == 1


def test_standby_jobs_let_a_search_bid_beyond_the_load() -> None:
    """With standby jobs the places of a search reach up to the machine's greatest power, without them to the load."""
    with_them, without = made(), made(standby=False)
    assert mean_power_w(with_them, 1.0) == pytest.approx(with_them.max_total_w)
    load_w = without.idle_total_w + without.load_w()
    assert mean_power_w(without, 1.0) == pytest.approx(load_w)
    places = np.array([mean_power_w(without, place) for place in (0.0, 0.5)])
    assert (np.diff(places) > 0.03 * without.load_w()).all()
