"""The rule of the contest: two bids are compared where their worst promises are broken equally often.

The *load* of a bid is the rate of its worst promise over what is allowed: 1 is a promise just kept. Of two bids the one
with the larger load is *tightened*: its reserve is scanned down, at its own mean power, until its load is no larger
than that of the other. Where no reserve does that, it stays, and the other bid is *loosened*: its reserve is scanned up
as long as its load is no larger and its reach allows. Nothing else of a bid is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from wattline.bidding.hours.outcome import Outcome, is_promised
from wattline.bidding.hours.rates import Rate
from wattline.market.tracking import SHARE

STEP = 0.97
"""Part of a reserve to which one step of the scan goes."""

LEAST = 0.3
"""Part of its reserve down to which a bid is tightened."""

MOST = 10.0
"""Multiple of its reserve up to which a bid is loosened."""

NEAR = 0.02
"""Difference of loads that counts as none in the scan: a fiftieth of what is allowed."""


AS_FOUND = "as found"
FIRST_TIGHTENED, SECOND_TIGHTENED = "first tightened", "second tightened"
FIRST_LOOSENED, SECOND_LOOSENED = "first loosened", "second loosened"
"""What was done to make the loads equal."""


class Side(NamedTuple):
    """One of the two bids: its reserve, the most that its reach allows, and the load that any reserve would have."""

    reserve_w: float
    most_w: float
    load: Callable[[float], float]


class Equal(NamedTuple):
    """The reserves at which two bids are compared, and what was done to get there."""

    first_w: float
    second_w: float
    how: str


def equal_reserves(first: Side, second: Side) -> Equal:
    """Return the reserves at which the worst promises of two bids are broken equally often, by the rule above."""
    sides, loads = (first, second), [side.load(side.reserve_w) for side in (first, second)]
    if abs(loads[0] - loads[1]) <= NEAR:
        return Equal(first.reserve_w, second.reserve_w, AS_FOUND)
    loose = 0 if loads[0] > loads[1] else 1
    looser, tighter = sides[loose], sides[1 - loose]
    tight_w, how = tighter.reserve_w, (FIRST_TIGHTENED, SECOND_TIGHTENED)[loose]
    loose_w = next((w for w in _down(looser) if looser.load(w) <= min(loads) + NEAR), None)
    if loose_w is None:
        loose_w, how = looser.reserve_w, (SECOND_LOOSENED, FIRST_LOOSENED)[loose]
        for reserve_w in _up(tighter):
            if tighter.load(reserve_w) > max(loads) + NEAR:
                break
            tight_w = reserve_w
    return Equal(loose_w, tight_w, how) if loose == 0 else Equal(tight_w, loose_w, how)


def _down(side: Side) -> Iterator[float]:
    """Return reserves from that of a bid down."""
    part = 1.0
    while part >= LEAST:
        yield part * side.reserve_w
        part *= STEP


def _up(side: Side) -> Iterator[float]:
    """Return reserves from that of a bid up, the last one the most that is allowed."""
    part = 1.0
    while part <= MOST and part * side.reserve_w < side.most_w:
        yield part * side.reserve_w
        part /= STEP
    if part <= MOST:
        yield side.most_w


class Worst(NamedTuple):
    """The promise that is broken most, over what is allowed."""

    about: str
    rate: Rate
    limit: float

    @property
    def load(self) -> float:
        """The rate over what is allowed."""
        return self.rate.share / self.limit


def worst(outcome: Outcome) -> Worst:
    """Return the worst promise of some hours: tracking, or the service of one kind."""
    found = [Worst("tracking", outcome.exceed, SHARE)]
    for kind, rate in zip(outcome.kinds, outcome.rates(), strict=True):
        if is_promised(kind) and rate.count:
            found.append(Worst(kind.name, rate, kind.share))
    return max(found, key=lambda one: one.load)


def alike(first: Worst, second: Worst) -> bool:
    """Tell whether two loads are equal as far as the hours tell: each lies within the interval (95 %) of the other."""
    return _covers(first, second.load) and _covers(second, first.load)


def _covers(one: Worst, load: float) -> bool:
    return one.rate.low <= load * one.limit <= one.rate.high
