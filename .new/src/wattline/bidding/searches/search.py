"""Search the cheapest bid that keeps every promise: the largest reserve at each mean power, scanned from above.

The rate of an error that is too large is not monotone in the reserve: with a small reserve every watt beside the
target counts, so a bid may fail with less reserve and hold with more. The reserve is therefore scanned on a ladder from
the largest down, and then looked for more closely between the first rung that holds and the one above it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from wattline.arrays import Floats
from wattline.bidding.hours.outcome import Outcome, is_promised
from wattline.bidding.hours.params import Params, tried
from wattline.bidding.hours.setting import Setting
from wattline.bidding.hours.trial import Trial
from wattline.bidding.searches.aim import Aim
from wattline.bidding.searches.choice import PAPER, Choice, bottleneck, largest_reserve_w
from wattline.market.tracking import SHARE
from wattline.model.regulation import Bid

SEARCH_SEEDS = range(10_000, 10_024)
PROOF_SEEDS = range(20_000, 20_128)
"""Hours of the search, and others on which its result is made safe; certificates use neither."""

RUNGS = (2.0, 1.6, 1.28, 1.0, 0.8, 0.64, 0.5, 0.4, 0.32, 0.25, 0.2, 0.16)
"""Reserves that are looked at, in parts of the way from the mean power to idle power."""

FIRST_RUNG = RUNGS.index(1.0)
"""Where the first scan begins."""

BETWEEN = 3
"""Bisections between the rung that holds and the one above it."""

GUARD = 0.94
"""Part of the limits below which the intervals must end where a bid is made safe: a bid pushed to the edge of one
sample of hours lies beyond the edge of the next one more often than not.
"""

SAFE_STEPS = 8
"""Bisections of the reserve where a bid is made safe."""

OTHER_PLACES = 4
"""Other mean powers that are looked at where the cheapest one cannot be made safe."""

DEARER = 0.004
"""Part of its cost by which a bid must be beaten on the first few draws before it is not looked at more closely."""

FIRST_STEP = 0.2
FIRST_PLACES, FURTHER_PLACES = (0.6, 0.4, 0.8, 0.2), (1.0, 1.2, 0.0)


def search_bid(
    setting: Setting,
    *,
    mode: str = PAPER,
    settings_of_policy: Sequence[Params] | None = None,
    aim: Aim | None = None,
    rounds: int = 3,
    trial: Trial | None = None,
    proof: Trial | None = None,
    weights: Floats | None = None,
    safe: bool = True,
    quick: bool = False,
    wide: bool = False,
) -> Choice:
    """Return the cheapest bid that keeps what is aimed at, on the hours or days of a trial.

    A mean power is named by its place between what the jobs need at their lowest caps (0) and uncapped (1). At each one
    the largest reserve is looked for, with common random numbers; mean powers are tried ever closer around the best,
    then other settings of the policy there; the result is made ``safe`` on other hours. If none keeps all, that of
    least violation is returned as not feasible. A ``quick`` search looks at fewer bids. A ``wide`` one looks at the
    ends of the range and beyond also where it has found something between them.
    """
    trial = trial or Trial(setting, SEARCH_SEEDS)
    scan = _Scan(trial, mode, aim or Aim(), weights, between=1 if quick else BETWEEN)
    choices = list(settings_of_policy or tried(setting.policies))[: 1 if quick else None]
    first = FIRST_PLACES[: 2 if quick else None]
    place, found = scan.cheapest([(place, choices[0]) for place in first])
    if found is None or wide:
        further = [(place, choices[0]) for place in FURTHER_PLACES]
        place, found = scan.cheapest(further if found is None else [(place, choices[0]), *further])
    for i in range(1, 1 if quick else rounds):
        step = FIRST_STEP / 2**i
        near = (place, round(place - step, 6), round(place + step, 6))
        place, found = scan.cheapest([(other, choices[0]) for other in near])
    _, found = scan.cheapest([(place, params) for params in choices])
    if found is None:
        return scan.least_bad()
    found = replace(found, runs=scan.runs)
    return _safe_somewhere(setting, found, scan, proof) if safe else found


def _safe_somewhere(setting: Setting, found: Choice, scan: _Scan, proof: Trial | None) -> Choice:
    """Return a bid made safe; where no reserve is safe at its mean power, the cheapest one of another mean power.

    A mean power that the jobs cannot fill in some hours breaks the tracking promise whatever the reserve is.
    """
    best = make_safe(setting, found, proof)
    if best.feasible:
        return best
    others = [c for c in scan.found.values() if c is not None and c.bid.mean_w != found.bid.mean_w]
    for other in sorted(others, key=lambda c: c.outcome.cost)[:OTHER_PLACES]:
        made = make_safe(setting, replace(other, runs=scan.runs), proof)
        if made.feasible:
            return made
    return best


def mean_power_w(setting: Setting, place: float) -> float:
    """Return the mean power at a place between what the jobs need at their lowest caps (0) and what they draw without
    (1).

    Standby jobs take whatever is offered beyond that: with them place 1 is the greatest power of the machine. Where
    caps save next to no energy the places are spread over a tenth of the load.
    """
    low, high = setting.load_w(capped=True), setting.load_w()
    low = min(low, high)
    if any(kind.standby for kind in setting.kinds):
        high = setting.max_total_w - setting.idle_total_w
    elif high - low < 0.02 * high:
        low = 0.9 * high
    return float(min(setting.idle_total_w + max(low + place * (high - low), 0.0), setting.max_total_w))


Key = tuple[tuple[str, tuple[float, ...]], ...]
"""Parameters of policies as a key."""


def _key(params: Params) -> Key:
    return tuple((slot, tuple(values)) for slot, values in params.items())


class _Scan:
    """The largest reserve at every mean power and setting of the policy that was asked about."""

    def __init__(self, trial: Trial, mode: str, aim: Aim, weights: Floats | None, *, between: int) -> None:
        self.trial, self.mode, self.aim, self.weights, self.between = trial, mode, aim, weights, between
        self.tries: dict[tuple[Bid, Key], tuple[float, float]] = {}
        """What every bid that was tried came to on the first few draws: violation and cost."""
        self.found: dict[tuple[float, Key], Choice | None] = {}
        self.runs = 0
        self._guess = FIRST_RUNG + 1
        """Rung that held last: the next scan begins a little above it."""

    def cheapest(self, asked: Sequence[tuple[float, Params]]) -> tuple[float, Choice | None]:
        """Return the cheapest of the best bids at some places and settings of the policy, the first where none is kept.

        Where one can be found to be dearer than another before it was looked at closely, it is not.
        """
        place, best = asked[0][0], self.largest(*asked[0])
        for other, params in asked[1:]:
            found = self.largest(other, params, best)
            if found is not None and (best is None or found.outcome.cost < best.outcome.cost):
                place, best = other, found
        return place, best

    def largest(self, place: float, params: Params, than: Choice | None = None) -> Choice | None:
        """Return the choice with the largest reserve that is kept at a place, None if there is none.

        None too if it is dearer ``than`` another choice by so much that the steps between two rungs cannot make up
        for it.
        """
        key = place, _key(params)
        if key not in self.found:
            found, dearer = self._largest(mean_power_w(self.trial.setting, place), params, than)
            if dearer:
                return None
            self.found[key] = found
        return self.found[key]

    def _largest(self, mean_w: float, params: Params, than: Choice | None) -> tuple[Choice | None, bool]:
        """Return the choice with the largest reserve; or none, and whether that is because it would be dearer."""
        setting = self.trial.setting
        if not setting.idle_total_w < mean_w <= setting.max_total_w:
            return None, False
        way_w, most_w = mean_w - setting.idle_total_w, largest_reserve_w(setting, mean_w, self.mode)
        rungs = [min(way_w * rung, most_w) for rung in RUNGS]
        rungs = [watts for i, watts in enumerate(rungs) if watts > 0 and watts not in rungs[:i]]
        if not rungs:
            return None, False
        outcomes: dict[float, Outcome | None] = {}

        def held(reserve_w: float) -> Outcome | None:
            if reserve_w not in outcomes:
                outcomes[reserve_w] = self._held(Bid(mean_w, reserve_w), params)
            return outcomes[reserve_w]

        at = min(max(0, self._guess - 1), len(rungs) - 1)
        if held(rungs[at]) is not None:
            while at > 0 and held(rungs[at - 1]) is not None:
                at -= 1
        else:
            at = next((i for i in range(at + 1, len(rungs)) if held(rungs[i]) is not None), -1)
            if at < 0:
                return None, False
        self._guess = at
        low_w, high_w = rungs[at], rungs[at - 1] if at else rungs[at]
        if than is not None and self._is_dearer(mean_w, (low_w, high_w), params, than):
            return None, True
        for _ in range(self.between if high_w > low_w else 0):
            middle_w = float(np.sqrt(low_w * high_w))
            low_w, high_w = (middle_w, high_w) if held(middle_w) is not None else (low_w, middle_w)
        outcome = held(low_w)
        assert outcome is not None  # noqa: S101 - low_w is the largest that held
        bid = Bid(mean_w, low_w)
        return Choice("search", bid, outcome, self.weights, params, limits=bottleneck(outcome)), False

    def _is_dearer(self, mean_w: float, rungs_w: Sequence[float], params: Params, than: Choice) -> bool:
        """Tell whether both rungs, and so what lies between them, are clearly dearer than a choice, on the first few
        draws: what an hour costs goes all but straight from one rung to the next.
        """
        costs = [self.tries[Bid(mean_w, watts), _key(params)][1] for watts in rungs_w]
        known = self.tries[than.bid, _key(than.params or {})][1]
        return min(costs) - known > DEARER * abs(known)

    def least_bad(self) -> Choice:
        """Return the bid with the least total violation of all that were tried, when none keeps what is aimed at."""
        nothing: tuple[Bid, Key] = Bid(self.trial.setting.max_total_w, 0.0), ()  # no mean power has a reserve in reach
        bid, params = min(self.tries, key=lambda key: self.tries[key], default=nothing)
        given = dict(params)
        outcome = self.trial.run(bid, self.weights, given)
        limits = bottleneck(outcome)
        return Choice("search", bid, outcome, self.weights, given, feasible=False, limits=limits, runs=self.runs)

    def _held(self, bid: Bid, params: Params) -> Outcome | None:
        """Return what a bid comes to if it keeps what is aimed at; a bid that is far off is given up early."""
        self.runs += 1
        few = self.trial.run(bid, self.weights, params, first=self.trial.few)
        self.tries[bid, _key(params)] = few.excess(), few.cost
        if self.aim.hopeless(few):
            return None
        hours, step = self.trial.hours, self.trial.few
        if self.aim.confidence is not None and few.on_records:
            for first in range(step, len(hours), step):
                few = self.trial.run(bid, self.weights, params, first=first)
                if self.aim.out_of_reach(few, hours[first:]):
                    return None
        outcome = self.trial.run(bid, self.weights, params)
        return outcome if self.aim.met(outcome) else None


def make_safe(setting: Setting, choice: Choice, proof: Trial | None = None) -> Choice:
    """Find the largest reserve for which, on other hours, the intervals of all rates end below their limits."""
    proof = proof or Trial(setting, PROOF_SEEDS)
    reserve_w, low_w, high_w = choice.bid.reserve_w, 0.0, choice.bid.reserve_w
    safe: Choice | None = None
    for _ in range(SAFE_STEPS):
        bid = Bid(choice.bid.mean_w, reserve_w)
        outcome = proof.run(bid, weights=choice.weights, params=choice.params)
        here = replace(choice, bid=bid, outcome=outcome, limits=bottleneck(outcome), feasible=is_safe(outcome, GUARD))
        if here.feasible:
            safe, low_w = here, reserve_w
            if reserve_w >= choice.bid.reserve_w:
                break
        else:
            high_w = reserve_w
        reserve_w = 0.9 * reserve_w if safe is None else 0.5 * (low_w + high_w)
    return safe or here


def is_safe(outcome: Outcome, part: float = 1.0) -> bool:
    """Tell whether the intervals of all rates end below their limits (or below a part of them)."""
    promised = [
        rate.within(part * kind.share)
        for kind, rate in zip(outcome.kinds, outcome.rates(), strict=True)
        if is_promised(kind)
    ]
    return outcome.exceed.within(part * SHARE) and all(promised)
