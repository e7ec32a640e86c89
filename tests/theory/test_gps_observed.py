"""Observed delays beside predicted ones: they meet at the promise, and everything drawn lies on the true curves."""

from __future__ import annotations

import numpy as np
import pytest

from wattline.model.regulation import Bid
from wattline.theory.gps_moments import Gaussian
from wattline.theory.gps_observed import Tail, observed_tails
from wattline.theory.gps_tails import Theory, Types

LAWS = {"as published": Gaussian(0.4), "corrected": Gaussian.correlated(0.4, 200.0)}
THEORY = Theory(Types([4, 1], [27, 84], [287, 380], [0.02, 0.1], [3.1, 2.8], [0.1, 0.1], ("wide", "narrow")), 36, 169.0)
WEIGHTS = np.array([0.3, 0.7])


def tails(bid: Bid, late: int = 30) -> tuple[Tail, ...]:
    """Two types: of the first ``late`` of 1000 jobs reach their limit, of the second none, one of them never held
    up.
    """
    wide = np.append(np.linspace(0.0, 3.0, 1000 - late), np.full(late, np.inf))
    narrow = np.append(np.linspace(0.0, 2.0, 499), -1e-15)
    return observed_tails(THEORY, LAWS, bid, WEIGHTS, np.concatenate([narrow, wide]), np.repeat([1, 0], [500, 1000]))


def test_predictions_meet_the_jobs_at_the_promise() -> None:
    """At D_max every prediction is the observed share, or 10⁻³ where no job was late: that is how α is chosen."""
    wide, narrow = tails(Bid(11_000.0, 1_500.0))
    assert (wide.name, wide.limit_s, wide.late) == ("wide", pytest.approx(3.1 * 27), 0.03)
    assert narrow.late == 0.0
    for law in LAWS:
        assert wide.predicted[law].tail(wide.limit_s) == pytest.approx(0.03)
        assert narrow.predicted[law].tail(narrow.limit_s) == pytest.approx(1e-3)


def test_a_signal_that_remembers_has_the_heavier_tail() -> None:
    """With the asymptotic variance delays fall off more slowly, so beyond the promise more are predicted, before it
    fewer.
    """
    for tail in tails(Bid(11_000.0, 1_500.0)):
        published, corrected = (tail.predicted[law] for law in LAWS)
        assert 0.0 < corrected.rate_per_s < published.rate_per_s
        assert corrected.tail(2 * tail.limit_s) > published.tail(2 * tail.limit_s)
        assert corrected.tail(0.9 * tail.limit_s) < published.tail(0.9 * tail.limit_s)


def test_without_enough_servers_the_prediction_is_flat() -> None:
    """In Case III θ* is 0 and the observed share stands for every delay."""
    for tail in tails(Bid(7_000.0, 300.0)):
        for predicted in tail.predicted.values():
            assert (predicted.case, predicted.rate_per_s) == (3, 0.0)
            np.testing.assert_allclose(predicted.tail([0.0, 1.0, 1e6]), max(tail.late, 1e-3))


def test_survival_has_true_points() -> None:
    """Each point is the share of jobs with at least its delay; thinning keeps the first and the last; it never
    rises.
    """
    wide, narrow = tails(Bid(11_000.0, 1_500.0))
    for tail in (wide, narrow):
        delay_s, share = tail.survival(60)
        assert 40 < delay_s.size <= 60
        assert share[0] == 1.0
        assert np.all(np.diff(share) < 0)
        for d, s in zip(delay_s, share, strict=True):
            assert s == np.mean(tail.delay_s >= d)
    # jobs that never finished are in every share, and at no delay
    assert wide.survival(60)[0][-1] == pytest.approx(3.0 * 27)
    assert wide.survival(60)[1].min() == pytest.approx(31 / 1000)
    assert narrow.survival(60)[0][-1] == pytest.approx(2.0 * 84)


def test_a_type_without_jobs_has_no_curve() -> None:
    """No job: nothing observed, and no violation at the promise."""
    found = observed_tails(THEORY, LAWS, Bid(11_000.0, 1_500.0), WEIGHTS, np.array([0.5]), [0])
    assert found[1].survival(10)[0].size == 0
    assert found[1].late == 0.0
    assert found[1].predicted["corrected"].tail(found[1].limit_s) == pytest.approx(1e-3)
