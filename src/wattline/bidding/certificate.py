"""What a bid is worth on hours and days that its search has not seen: every promise with its intervals, and a verdict.

The tracking promise is per *day*: over the sold hours of a day, hours with missing signal left out, the error exceeds
its margin for at most a tenth of the time. It is *kept* where the prediction interval for the next day ends below that
tenth. The promise to a kind of job is about its jobs over time: it is kept where the interval of the long-run rate
ends below the limit. Both hold for days like those that were drawn or recorded, and for no others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wattline.bidding.evidence import DAY_LEAST_HOURS, Evidence, evidence_of
from wattline.bidding.hours.outcome import Outcome, is_promised
from wattline.bidding.hours.rates import CONFIDENCE, Rate
from wattline.bidding.hours.setting import Setting
from wattline.bidding.hours.trial import fresh
from wattline.bidding.searches.choice import Choice, bottleneck, reach_of
from wattline.journal.kept import Kept
from wattline.market.reach import Reach
from wattline.market.tracking import SHARE

FRESH_SEEDS = range(200)
CERTIFIED, UNSURE, BROKEN, NOTHING = "CERTIFIED", "UNSURE", "BROKEN", "NOTHING KNOWN ABOUT OTHER DAYS"
"""Verdicts."""

LEAST_RECORDS = 5
"""Fewer recorded days say too little of how days differ."""


@dataclass(frozen=True)
class Promise:
    """One constraint: what it is about, its limit, the rate found; tracking is promised ``by_day``."""

    about: str
    limit: float
    rate: Rate
    by_day: bool = False
    beyond: tuple[float, float] = (math.nan, math.nan)
    """Shares of recorded days and of hours that by themselves are beyond the limit (NaN: there are none)."""

    @property
    def kept(self) -> bool:
        """Whether the rate, with confidence, is below its limit: on the next day, or in the long run."""
        return self.rate.next_within(self.limit) if self.by_day else self.rate.within(self.limit)

    @property
    def state(self) -> str:
        """Kept, beyond the limit, or not surely below it: the word that terminal, page and JSON use."""
        return "kept" if self.kept else BROKEN if self.rate.share >= self.limit else UNSURE


@dataclass(frozen=True)
class Certificate:
    """A choice tested on other hours than those of its search."""

    choice: Choice
    outcome: Outcome
    promises: Sequence[Promise]
    reach: Reach
    limits: str
    evidence: Evidence = field(default_factory=Evidence)
    """What its hours are, and how they were kept from the search."""
    confidence: float = CONFIDENCE

    @property
    def kept(self) -> bool:
        """Whether every promise is kept with confidence: its interval, too, lies below the limit."""
        return all(promise.kept for promise in self.promises)

    @property
    def certified(self) -> bool:
        """Whether that may be taken for other days too."""
        return self.word == CERTIFIED

    @property
    def word(self) -> str:
        """The verdict."""
        if any(promise.state == BROKEN for promise in self.promises):
            return BROKEN
        if self.evidence.days == 1:
            return NOTHING
        few = self.evidence.days > 0 and self._whole_days < LEAST_RECORDS
        return CERTIFIED if self.kept and not few and not self.evidence.doubts else UNSURE

    @property
    def verdict(self) -> str:
        """Say in a line what the verdict is."""
        word, days, sure = self.word, self.evidence.days, f"{100 * self.confidence:g} %"
        if word == CERTIFIED:
            return f"{CERTIFIED}: all promises are kept, with {sure} confidence each"
        if word == BROKEN:
            return f"{BROKEN}: a promise is not kept on the hours that were simulated"
        if word == NOTHING:
            return f"{NOTHING}: one recorded day does not tell how days differ"
        if self.evidence.doubts:
            return f"{UNSURE}: nothing is certified on this signal"
        if days and self._whole_days < LEAST_RECORDS:
            kept = "" if self.evidence.whole is None else f" of {DAY_LEAST_HOURS} whole hours"
            return f"{UNSURE}: {self._whole_days} recorded days{kept} are fewer than the {LEAST_RECORDS} needed"
        return f"{UNSURE}: on another day a promise may be broken" if days else f"{UNSURE}: a promise may be broken"

    @property
    def _whole_days(self) -> int:
        whole = self.evidence.whole
        return self.evidence.days if whole is None else whole

    @property
    def basis(self) -> str:
        """Say in a line for what days the verdict holds."""
        days = self.evidence.days
        if not days:
            return "for hours drawn from the law of this signal; a real day may be of another"
        return f"for days like the {days} tested{self._model_words(days)}"

    def _model_words(self, days: int) -> str:
        """Say that a model is needed, where it is: without one, days that kept the promise are n in n + 1 sure."""
        beyond = self.outcome.exceed_days
        sure = 0.0 if math.isnan(beyond) else (days - round(beyond * days)) / (days + 1)
        return "" if sure >= self.confidence else f", by a model of days (without one: {100 * sure:.1f} % sure)"

    @property
    def cost_interval(self) -> tuple[float, float]:
        """Interval of the mean cost (95 %)."""
        from scipy.special import stdtrit

        costs = self.outcome.draw_costs
        half = (
            float(stdtrit(costs.size - 1, 0.975) * costs.std(ddof=1) / math.sqrt(costs.size))
            if costs.size > 1
            else math.inf
        )
        return self.outcome.cost - half, self.outcome.cost + half

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        choice, outcome = self.choice, self.outcome
        names = [kind.name for kind in outcome.kinds]
        bills = [hour.bill for hour in outcome.hours]
        low, high = self.cost_interval
        return {
            "method": choice.method,
            "mean_w": choice.bid.mean_w,
            "reserve_w": choice.bid.reserve_w,
            "weights": None if choice.weights is None else dict(zip(names, choice.weights.tolist(), strict=True)),
            "params": {slot: list(values) for slot, values in (choice.params or {}).items()},
            "hours": len(outcome.hours),
            "hours_left_out": outcome.left_out,
            "certified": self.certified,
            "word": self.word,
            "verdict": self.verdict,
            "holds": self.basis if self.certified else None,
            "confidence": self.confidence,
            "kept": self.kept,
            "limits": self.limits,
            **self.evidence.to_json(),
            "cost": outcome.cost,
            "cost_low": low,
            "cost_high": high,
            "cost_sd": float(outcome.costs.std(ddof=1)) if outcome.costs.size > 1 else 0.0,
            "without_drawn": float(np.mean([bill.drawn_cost for bill in bills])),
            "without_bid": float(np.mean([bill.bid_cost for bill in bills])),
            "error": outcome.error,
            "power_w": outcome.power_w,
            "hours_beyond_tracking": outcome.exceed_hours,
            "days_beyond_tracking": outcome.exceed_days,
            "standby_share": outcome.standby_share,
            "unreachable_share": self.reach.outside_share,
            "unreachable_exceed": self.reach.exceed_share,
            "search_runs": choice.runs,
            "promises": [
                {
                    "about": p.about,
                    "limit": p.limit,
                    "rate": p.rate.share,
                    "low": p.rate.low,
                    "high": p.rate.high,
                    "next_day_low": p.rate.next_low,
                    "next_day_high": p.rate.next_high,
                    "by_day": p.by_day,
                    "draws": p.rate.draws,
                    "count": p.rate.count,
                    "days_beyond": p.beyond[0],
                    "hours_beyond": p.beyond[1],
                    "kept": p.kept,
                    "state": p.state,
                }
                for p in self.promises
            ],
        }


def certify(
    setting: Setting,
    choice: Choice,
    seeds: Sequence[int] = FRESH_SEEDS,
    confidence: float = CONFIDENCE,
    *,
    kept: Kept | None = None,
    progress: Callable[[], None] | None = None,
) -> Certificate:
    """Test a choice on hours with other seeds than those of its search; ``progress`` is told of each."""
    outcome = fresh(setting, seeds, choice.bid, choice.weights, choice.params, kept=kept, progress=progress)
    return certificate_of(setting, choice, outcome, confidence=confidence)


def certificate_of(
    setting: Setting,
    choice: Choice,
    outcome: Outcome,
    evidence: Evidence | None = None,
    confidence: float = CONFIDENCE,
) -> Certificate:
    """Return the certificate of what simulated hours came to."""
    by_day, beyond = outcome.on_records, (outcome.exceed_days, outcome.exceed_hours)
    promises = [Promise("tracking error above 30 %", SHARE, outcome.exceed_rate(confidence), by_day, beyond)]
    promises += [
        Promise(kind.name, kind.share, rate, beyond=outcome.beyond(k))
        for k, (kind, rate) in enumerate(zip(outcome.kinds, outcome.rates(confidence), strict=True))
        if is_promised(kind)
    ]
    found = reach_of(setting, choice.bid)
    return Certificate(
        choice, outcome, promises, found, bottleneck(outcome), evidence or evidence_of(setting, choice), confidence
    )
