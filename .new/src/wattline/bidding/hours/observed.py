"""What distributions are made of: tracking error by time and QoS degradation by job, pooled over simulated hours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.bidding.hours.params import Params
from wattline.bidding.hours.setting import Setting
from wattline.bidding.hours.stretch import Stretch
from wattline.bidding.hours.trial import trial_day, trial_hour
from wattline.market.tracking import error_steps
from wattline.model import codes
from wattline.model.kinds import Kind
from wattline.model.regulation import Bid, Record
from wattline.sim.ensemble import in_threads


@dataclass(frozen=True)
class Observed:
    """Hours under one bid: how long (``seconds``) each tracking error held, and Q (inf: never ended) and kind of each
    job.

    Jobs are those that the protocol counts. Without a reserve there is no error.
    """

    kinds: tuple[Kind, ...]
    seconds: Floats
    error: Floats
    degradation: Floats
    kind: Ints

    def of(self, name: str) -> Floats:
        """Return Q of the jobs of a kind."""
        k = [kind.name for kind in self.kinds].index(name)
        found: Floats = self.degradation[self.kind == k]
        return found


def observe(
    setting: Setting, seeds: Iterable[int], bid: Bid, weights: Floats | None = None, params: Params | None = None
) -> Observed:
    """Simulate drawn hours under a bid and keep their distributions."""
    return _observe(setting, [partial(trial_hour, setting, seed) for seed in seeds], bid, weights, params)


def observe_days(
    setting: Setting, records: Sequence[Record], bid: Bid, weights: Floats | None = None, params: Params | None = None
) -> Observed:
    """Simulate recorded days under a bid and keep their distributions."""
    made = [partial(trial_day, setting, record, number) for number, record in enumerate(records)]
    return _observe(setting, made, bid, weights, params)


def _observe(
    setting: Setting,
    made: Sequence[Callable[[], Stretch]],
    bid: Bid,
    weights: Floats | None,
    params: Params | None,
) -> Observed:
    def one(make: Callable[[], Stretch]) -> tuple[Floats, Floats, Floats, Ints]:
        stretch = make()
        stretch.run(bid, weights, params)
        return (*errors_of(stretch, bid), *stretch.counted())

    parts = zip(*in_threads(one, made), strict=True)
    seconds, error, degradation, kind = (np.concatenate(part) for part in parts)
    return Observed(setting.kinds, seconds, error, degradation, kind)


def errors_of(hour: Stretch, bid: Bid) -> tuple[Floats, Floats]:
    """Return the tracking error in the bid hour of a run: how long each value held, and the value."""
    if not bid.reserve_w > 0:
        return np.empty(0), np.empty(0)
    rows = hour.world.timeline()
    time_s, power_w = rows[:, codes.TL_TIME], rows[:, codes.TL_POWER]
    return error_steps(time_s, power_w, hour.signal, bid, hour.begin_s, hour.end_s)
