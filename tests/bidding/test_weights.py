"""Weights that are searched: who cannot wait gets more, and balancing helps who suffers most."""

from __future__ import annotations

import numpy as np
import pytest

from wattline.bidding.hours.setting import Setting
from wattline.bidding.hours.trial import Trial
from wattline.bidding.searches.weights import balance, need_weights, search_weights
from wattline.model.regulation import Bid
from wattline.systems.followers import AQA
from wattline.systems.npb import HIGHEST_W, IDLE_W, NODES, kinds_of, standby


def setting(workload: str) -> Setting:
    """Return the setting of a published workload under AQA."""
    return Setting.alike(kinds_of(workload), NODES, IDLE_W, HIGHEST_W, AQA.select)


def test_need_by_hand() -> None:
    """Weights are m / (Q_thres T) over their sum; standby kinds have none."""
    kinds = (*kinds_of("W4"), standby())
    found = need_weights(kinds)
    by_hand = np.array([k.nodes / (k.limit * k.work_s) for k in kinds[:-1]])
    assert found[:-1] == pytest.approx(by_hand / by_hand.sum())
    assert found[-1] == 0.0
    assert kinds[int(found.argmax())].name == "is.D.64"  # as the paper finds on W4


def test_balancing_helps_who_suffers_most() -> None:
    """At one bid, balanced weights break promises less than equal ones do, and still sum to one."""
    trial = Trial(setting("W8"), range(10_000, 10_003))
    equal = np.full(len(trial.setting.kinds), 1 / len(trial.setting.kinds))
    bid = Bid(NODES * IDLE_W + trial.setting.load_w(), 1500.0)
    balanced = balance(trial, bid, equal, steps=12)
    before, after = (float(np.maximum(trial.run(bid, w).shares() / 0.1 - 1, 0).sum()) for w in (equal, balanced))
    assert before > 0
    assert after < before
    assert balanced.sum() == pytest.approx(1.0)


def test_search_finds_bid_and_weights() -> None:
    """On W2 bid and weights are found that keep all promises on the hours of the search, with a reserve worth
    having.
    """
    found = search_weights(Trial(setting("W2"), range(10_000, 10_003)))
    assert found.feasible
    assert found.weights is not None
    assert found.outcome.excess() == 0.0
    assert found.bid.reserve_w > 700
