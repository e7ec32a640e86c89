"""QoSG without standby jobs under other QoS limits and other signals: the two things that the thesis leaves open."""

from __future__ import annotations

from dataclasses import dataclass

from wattline.bidding.hours.laws import GaussianLaw
from wattline.bidding.hours.trial import Trial
from wattline.bidding.searches.choice import STRICT, Choice
from wattline.bidding.searches.qosg import qosg_bid
from wattline.bidding.searches.weights import search_weights
from wattline.systems.followers import QOSG
from wattline.systems.qosg.jobs import STEP_S, setting_of
from wattline.systems.tuned import HOUR_SEED


@dataclass(frozen=True)
class Point:
    """Limits times ``factor``, a signal with a time constant; what QoSG chose, and what our search of bid and weights
    found for the same policy on the same hour.
    """

    factor: float
    tau_s: float
    own: Choice
    searched: Choice


def sweep_point(factor: float, tau_s: float, *, points: int, fits: int) -> Point:
    """Let QoSG, and our search, choose on one hour that starts empty, without standby jobs."""
    law = GaussianLaw(time_constant_s=tau_s, step_s=STEP_S)
    trial = Trial(setting_of(QOSG, paper=True, signal=law, standby=False, factor=factor), [HOUR_SEED])
    own = qosg_bid(trial, mode=STRICT, points=points, fits=fits)
    return Point(factor, tau_s, own, search_weights(trial, mode=STRICT, closer=3, wide=True))
