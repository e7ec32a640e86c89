"""Hours of a setting, kept ready for many bids that a search asks about."""

from __future__ import annotations

from collections.abc import Iterable

from wattline.arrays import Floats
from wattline.bidding.outcome import Outcome
from wattline.bidding.params import Params
from wattline.bidding.setting import Setting
from wattline.bidding.stretch import Stretch
from wattline.model.regulation import Bid
from wattline.sim.ensemble import in_threads
from wattline.units import HOUR_S


def trial_hour(setting: Setting, seed: int, *, watched: bool = False) -> Stretch:
    """Return one hour whose signal is drawn with a seed, and so are its jobs."""
    kinds, protocol = setting.kinds, setting.protocol
    length_s = protocol.warm(kinds) + HOUR_S + protocol.tail(kinds)
    return Stretch(setting, setting.signal(length_s, seed), 1, seed, watched=watched)


class Trial:
    """Hours of a setting, kept ready for many bids."""

    def __init__(self, setting: Setting, seeds: Iterable[int]) -> None:
        self.setting = setting
        self.hours = in_threads(lambda seed: trial_hour(setting, seed), seeds)

    def run(
        self, bid: Bid, weights: Floats | None = None, params: Params | None = None, *, first: int | None = None
    ) -> Outcome:
        """Simulate all hours (or the ``first`` few) under a bid."""
        hours = in_threads(lambda hour: hour.run(bid, weights, params), self.hours[:first])
        return Outcome(self.setting.kinds, [row for rows in hours for row in rows])


def fresh(
    setting: Setting, seeds: Iterable[int], bid: Bid, weights: Floats | None = None, params: Params | None = None
) -> Outcome:
    """Simulate hours under one bid and keep nothing but what they came to."""
    hours = in_threads(lambda seed: trial_hour(setting, seed).run(bid, weights, params), seeds)
    return Outcome(setting.kinds, [row for rows in hours for row in rows])
