"""How far below its limits a search stays: by nothing, or until the intervals of its hours end below them.

Tracking is promised by the day, so its interval is that of the *next day*. Service is promised to jobs over time, so
the interval of each kind is that of the long-run rate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from wattline.bidding.hours.outcome import Outcome, is_promised
from wattline.bidding.hours.rates import CONFIDENCE, least_next_high
from wattline.market.tracking import SHARE


@dataclass(frozen=True)
class Aim:
    """What a bid must keep on the hours of a search.

    ``confidence`` is that of the intervals, None for the rates themselves.
    """

    confidence: float | None = None
    sure_service: bool = True
    """Whether the confidence is asked of the service of every kind too, or of tracking alone."""

    def excess(self, outcome: Outcome) -> float:
        """Return the sum of relative violations (0: all is kept)."""
        return sum(max(0.0, bound / limit - 1.0) for bound, limit in self._bounds(outcome))

    def met(self, outcome: Outcome) -> bool:
        """Tell whether all is kept."""
        if self.confidence is None:
            return self.excess(outcome) == 0.0
        return all(bound < limit for bound, limit in self._bounds(outcome))

    def hopeless(self, outcome: Outcome) -> bool:
        """Tell whether a few draws are so far beyond a limit that the others need not be tried."""
        far = HOPELESS_HOURS if not outcome.on_records else HOPELESS_DAYS if self.confidence is None else HOPELESS_SURE
        return any(rate > far * limit for rate, limit in Aim()._bounds(outcome))

    def out_of_reach(self, outcome: Outcome, more: Sequence[float]) -> bool:
        """Tell whether the next day's interval ends beyond the limit whatever the draws to come bring.

        ``more`` is how many hours of each of them count. Nothing is assumed of them: the bound is the least that any
        outcome of theirs would leave, so a bid is given up only if it would be refused in the end.
        """
        if self.confidence is None or not len(more):
            return False
        events, hours = outcome.exceeded
        return least_next_high(events, hours, np.asarray(more), self.confidence) >= SHARE

    def _bounds(self, outcome: Outcome) -> Iterator[tuple[float, float]]:
        sure = self.confidence
        exceed = outcome.exceed_rate(sure or CONFIDENCE)
        yield (exceed.share if sure is None else exceed.next_high), SHARE
        rates = outcome.rates(sure or CONFIDENCE)
        for kind, rate in zip(outcome.kinds, rates, strict=True):
            if is_promised(kind) and rate.count:
                yield (rate.high if sure is not None and self.sure_service else rate.share), kind.share


HOPELESS_HOURS, HOPELESS_DAYS, HOPELESS_SURE = 2.5, 1.4, 1.2
"""How many times its limit a rate may be on the first few draws before a search gives the bid up: two recorded days are
within a fifth of the mean of all, and the mean must stay well below the limit where the search wants to be sure.
"""


def stricter(confidence: float) -> tuple[float, float]:
    """Return the confidences of a search for a certificate of some confidence, the first that can be had counts.

    The cheapest of many bids is a winner: it does better on the days of the search than on others. Intervals of two
    fifths of the risk make up for that.
    """
    return 1.0 - (1.0 - confidence) / 2.5, confidence
