"""What a bid is worth on other hours than those of its search: every constraint with its interval, the cost and its
spread.

Hours of a law (generated signals) are new ones. Hours of a recorded signal are cut out of the record that the search
has used too, so nothing is certified there: what holds on them says nothing of other days.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wattline.bidding.choice import Choice, bottleneck, reach_of
from wattline.bidding.outcome import Outcome, Rate
from wattline.bidding.search import is_safe
from wattline.bidding.setting import Setting
from wattline.bidding.trial import fresh
from wattline.market.reach import Reach
from wattline.market.tracking import SHARE

FRESH_SEEDS = range(200)
UNSEARCHED = ("given", "heuristic")
"""Methods that look at no hour of the signal."""


@dataclass(frozen=True)
class Promise:
    """One constraint: what it is about, its limit, the rate found, whether the whole interval lies below the limit."""

    about: str
    limit: float
    rate: Rate

    @property
    def kept(self) -> bool:
        """Whether the rate, with confidence, is below its limit."""
        return self.rate.within(self.limit)

    @property
    def state(self) -> str:
        """Kept, beyond the limit, or not surely below it: the word that terminal, page and JSON use."""
        return "kept" if self.kept else "BROKEN" if self.rate.share >= self.limit else "UNSURE"


@dataclass(frozen=True)
class Certificate:
    """A choice tested on other hours than those of its search."""

    choice: Choice
    outcome: Outcome
    promises: Sequence[Promise]
    reach: Reach
    limits: str
    on_record: bool = False
    """Whether its hours are cut out of one recorded signal."""

    @property
    def kept(self) -> bool:
        """Whether every promise is kept, with confidence, on the hours that were simulated."""
        return is_safe(self.outcome)

    @property
    def certified(self) -> bool:
        """Whether that may be taken for other hours too: not where all hours are of one record."""
        return self.kept and not self.on_record

    @property
    def hours_from(self) -> str:
        """Where its hours come from: the law of the signal, the record that was searched, or a record."""
        if not self.on_record:
            return "law"
        return "record" if self.choice.method in UNSEARCHED else "searched record"

    @property
    def verdict(self) -> str:
        """Say in a line whether the bid is certified, and why not where no single promise is to blame."""
        if self.certified:
            return "CERTIFIED: all constraints are kept, with 95 % confidence each"
        if self.on_record:
            which = "the record that was searched" if self.hours_from == "searched record" else "hours of one record"
            return f"NOT CERTIFIED: tested on {which}; other days are unknown"
        return "NOT CERTIFIED" + (": no bid that was tried keeps all constraints" if not self.choice.feasible else "")

    @property
    def cost_interval(self) -> tuple[float, float]:
        """Interval of the mean cost (95 %)."""
        from scipy.special import stdtrit

        costs = self.outcome.costs
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
            "hours_from": self.hours_from,
            "certified": self.certified,
            "verdict": self.verdict,
            "kept": self.kept,
            "limits": self.limits,
            "cost": outcome.cost,
            "cost_low": low,
            "cost_high": high,
            "cost_sd": float(outcome.costs.std()),
            "without_drawn": float(np.mean([bill.drawn_cost for bill in bills])),
            "without_bid": float(np.mean([bill.bid_cost for bill in bills])),
            "error": outcome.error,
            "power_w": outcome.power_w,
            "hours_beyond_tracking": outcome.exceed_hours,
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
                    "count": p.rate.count,
                    "kept": p.kept,
                    "state": p.state,
                }
                for p in self.promises
            ],
        }


def certify(setting: Setting, choice: Choice, seeds: Sequence[int] = FRESH_SEEDS) -> Certificate:
    """Test a choice on hours with other seeds than those of its search.

    A recorded signal has no others, and that is noted.
    """
    outcome = fresh(setting, seeds, choice.bid, choice.weights, choice.params)
    promises = [Promise("tracking error above 30 %", SHARE, outcome.exceed)]
    promises += [
        Promise(kind.name, kind.share, rate)
        for kind, rate in zip(outcome.kinds, outcome.rates(), strict=True)
        if not kind.standby and math.isfinite(kind.limit)
    ]
    limits = bottleneck(outcome)
    return Certificate(choice, outcome, promises, reach_of(setting, choice.bid), limits, setting.on_record)
