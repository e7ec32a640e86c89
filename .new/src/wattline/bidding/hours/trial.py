"""Hours and recorded days of a setting, kept ready for many bids that a search asks about."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from itertools import accumulate, count
from threading import Event

import numpy as np

from wattline.arrays import Floats
from wattline.bidding.hours.outcome import Hour, Outcome, draws
from wattline.bidding.hours.params import Params
from wattline.bidding.hours.setting import Setting
from wattline.bidding.hours.stretch import Stretch
from wattline.errors import RunError
from wattline.journal.kept import Kept
from wattline.market.tracking import Tracking
from wattline.model.regulation import Bid, Record, Signal
from wattline.sim.ensemble import in_threads
from wattline.units import HOUR_S

FEW_HOURS, FEW_DAYS = 8, 2
"""Draws on which a bid is tried before all are."""

DAY_SEED = 30_000
"""Jobs of recorded days are drawn with seeds from here on: not those of searches or certificates on drawn hours."""


def trial_hour(setting: Setting, seed: int, *, watched: bool = False) -> Stretch:
    """Return one hour whose signal is drawn with a seed, and so are its jobs."""
    kinds, protocol = setting.kinds, setting.protocol
    length_s = protocol.warm(kinds) + HOUR_S + protocol.tail(kinds)
    return Stretch(setting, setting.signal(length_s, seed), 1, seed, watched=watched)


def trial_day(setting: Setting, record: Record, number: int, first_hour: int = 0) -> Stretch:
    """Return the whole hours of a recorded day on end, with jobs of a seed that goes by the day, whatever its place.

    They are charged as the hours of a run from ``first_hour`` on.

    The machine warms up, and finishes its last jobs, under the other end of the record: none of that counts.
    """
    kinds, protocol, step_s = setting.kinds, setting.protocol, record.signal.step_s
    hours = record.hours()
    warm_s = protocol.warm(kinds)
    length_s = warm_s + len(hours) * HOUR_S + protocol.tail(kinds)
    steps = math.ceil(length_s / step_s)
    first = -round(warm_s / step_s)
    values = np.take(record.signal.values, first + np.arange(steps), mode="wrap")
    missing = [record.missing(*hour) for hour in hours]
    seed = DAY_SEED + int(record.digest[:8], 16)
    signal = Signal(0.0, step_s, values)
    return Stretch(setting, signal, len(hours), seed, record=number, missing=missing, first_hour=first_hour)


_Values = tuple[tuple[str, tuple[float, ...]], ...]
_Key = tuple[Bid, bytes | None, _Values | None]
"""What a draw was tried under: the bid, the weights, and the parameters of policies."""


def _is_made(params: _Values | None) -> bool:
    """Tell whether a policy made the bids hour by hour."""
    return any(slot == "bid" for slot, _ in params or ())


class Trial:
    """Hours of a setting, or recorded days, kept ready for many bids.

    What each came to under a bid is remembered, so that searches on some of the days share their work; and kept where
    there is a place for it.
    """

    def __init__(
        self, setting: Setting, seeds: Iterable[int] = (), *, records: Sequence[Record] = (), kept: Kept | None = None
    ) -> None:
        self.setting, self.kept = setting, kept
        self.stretches = in_threads(lambda seed: trial_hour(setting, seed), seeds)
        before = accumulate((len(record.hours()) for record in records), initial=0)
        days = list(zip(records, count(), before, strict=False))
        self.stretches += in_threads(lambda day: trial_day(setting, *day), days)
        self._remembered: dict[tuple[int, _Key], list[Hour]] = {}
        self._ended = Event()

    @property
    def few(self) -> int:
        """How many draws tell whether a bid is far off."""
        return FEW_DAYS if self.stretches[0].is_day else FEW_HOURS

    @property
    def hours(self) -> list[int]:
        """How many hours of every draw have a signal that is whole."""
        return [stretch.missing.count(False) for stretch in self.stretches]

    def only(self, which: Sequence[int]) -> Trial:
        """Return a trial on some of the draws, by their places, that shares what is remembered."""
        part = copy(self)
        part.stretches = [self.stretches[i] for i in which]
        return part

    def end(self) -> None:
        """Let all searches on these draws, and on some of them, end with an error at the next bid that they try."""
        self._ended.set()

    def tried(self, *, made: bool = False) -> list[Outcome]:
        """Return what every bid came to that was tried on all of it; ``made``: bids that a policy made hour by hour."""
        keys = {key for _, key in self._remembered if _is_made(key[2]) == made}
        whole = [key for key in keys if all((s.seed, key) in self._remembered for s in self.stretches)]
        return [
            Outcome(self.setting.kinds, [hour for s in self.stretches for hour in self._remembered[s.seed, key]])
            for key in whole
        ]

    def run(
        self, bid: Bid, weights: Floats | None = None, params: Params | None = None, *, first: int | None = None
    ) -> Outcome:
        """Simulate all hours or days (or the ``first`` few) under a bid."""
        if self._ended.is_set():
            raise RunError("the search was ended")
        key = _key(bid, weights, params)
        these, known = self.stretches[:first], self._remembered

        def try_out(stretch: Stretch) -> None:
            with stretch.busy:  # another search may be at it, and want the same
                if (stretch.seed, key) not in known:
                    known[stretch.seed, key] = _kept(
                        self.kept, stretch.seed, key, lambda: stretch.run(bid, weights, params)
                    )

        in_threads(try_out, [stretch for stretch in these if (stretch.seed, key) not in known])
        return Outcome(self.setting.kinds, [hour for stretch in these for hour in known[stretch.seed, key]])

    def exceed_share(self, bid: Bid, weights: Floats | None = None) -> float:
        """Return the share of time in which the tracking error exceeds its margin, as ``run`` would find it.

        Jobs need not finish for it, and nothing is remembered; where runs are kept it is one of them.
        """
        if self.kept is not None:
            return self.run(bid, weights).exceed.share
        if self._ended.is_set():
            raise RunError("the search was ended")

        def try_out(stretch: Stretch) -> list[Tracking]:
            with stretch.busy:
                return stretch.follow(bid, weights)

        followed = in_threads(try_out, self.stretches)
        draw = draws([stretch.record for stretch in self.stretches for _ in stretch.missing])
        whole = np.flatnonzero([not missing for stretch in self.stretches for missing in stretch.missing])
        shares = np.nan_to_num([here.exceed_share for found in followed for here in found])[whole]
        return float(np.bincount(draw[whole], weights=shares).sum()) / whole.size if whole.size else math.nan


def fresh(
    setting: Setting,
    seeds: Iterable[int],
    bid: Bid,
    weights: Floats | None = None,
    params: Params | None = None,
    *,
    kept: Kept | None = None,
    progress: Callable[[], None] | None = None,
) -> Outcome:
    """Simulate hours under one bid and keep nothing but what they came to; ``progress`` is told of each."""
    key = _key(bid, weights, params)

    def try_out(seed: int) -> list[Hour]:
        found = _kept(kept, seed, key, lambda: trial_hour(setting, seed).run(bid, weights, params))
        if progress is not None:
            progress()
        return found

    hours = in_threads(try_out, seeds)
    return Outcome(setting.kinds, [hour for found in hours for hour in found])


def _key(bid: Bid, weights: Floats | None, params: Params | None) -> _Key:
    tried = None if params is None else tuple((slot, tuple(values)) for slot, values in params.items())
    return bid, None if weights is None else weights.tobytes(), tried


def _kept(kept: Kept | None, seed: int, key: _Key, make: Callable[[], list[Hour]]) -> list[Hour]:
    """Return what a draw comes to under a bid: as it is kept, or made now."""
    if kept is None:
        return make()
    bid, weights, params = key
    told = [float(bid.mean_w).hex(), float(bid.reserve_w).hex(), None if weights is None else weights.hex()]
    values = None if params is None else [[slot, [float(one).hex() for one in some]] for slot, some in params]
    return kept.take(json.dumps([seed, *told, values]), make)
