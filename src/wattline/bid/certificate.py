"""What a bid is worth on hours that no search has seen: every constraint with its interval, the cost and its spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wattline.bid.choice import Choice, bottleneck, reach_of
from wattline.bid.outcome import Outcome, Rate
from wattline.bid.search import is_safe
from wattline.bid.setting import Setting
from wattline.bid.trial import fresh
from wattline.market.reach import Reach
from wattline.market.tracking import SHARE

FRESH_SEEDS = range(200)


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


@dataclass(frozen=True)
class Certificate:
    """A choice tested on fresh hours."""

    choice: Choice
    outcome: Outcome
    promises: Sequence[Promise]
    reach: Reach
    limits: str

    @property
    def kept(self) -> bool:
        """Whether every promise is kept, with confidence."""
        return is_safe(self.outcome)

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
            "method": choice.method, "mean_w": choice.bid.mean_w, "reserve_w": choice.bid.reserve_w,
            "weights": None if choice.weights is None else dict(zip(names, choice.weights.tolist(), strict=True)),
            "params": {slot: list(values) for slot, values in (choice.params or {}).items()},
            "hours": len(outcome.hours), "kept": self.kept, "limits": self.limits,
            "cost": outcome.cost, "cost_low": low, "cost_high": high, "cost_sd": float(outcome.costs.std()),
            "without_drawn": float(np.mean([bill.without_drawn for bill in bills])),
            "without_bid": float(np.mean([bill.without_bid for bill in bills])),
            "error": outcome.error, "power_w": outcome.power_w, "hours_beyond_tracking": outcome.exceed_hours,
            "standby_share": outcome.standby_share, "unreachable_share": self.reach.outside_share,
            "unreachable_exceed": self.reach.exceed_share, "search_runs": choice.runs,
            "promises": [
                {"about": p.about, "limit": p.limit, "rate": p.rate.share, "low": p.rate.low, "high": p.rate.high,
                 "count": p.rate.count, "kept": p.kept}
                for p in self.promises
            ],
        }  # fmt: skip


def certify(setting: Setting, choice: Choice, seeds: Sequence[int] = FRESH_SEEDS) -> Certificate:
    """Test a choice on hours never used in its search."""
    outcome = fresh(setting, seeds, choice.bid, choice.weights, choice.params)
    promises = [Promise("tracking error above 30 %", SHARE, outcome.exceed)]
    promises += [
        Promise(kind.name, kind.share, rate)
        for kind, rate in zip(outcome.kinds, outcome.rates(), strict=True)
        if not kind.standby and math.isfinite(kind.limit)
    ]
    limits = bottleneck(outcome)
    return Certificate(choice, outcome, promises, reach_of(setting, choice.bid), limits)
