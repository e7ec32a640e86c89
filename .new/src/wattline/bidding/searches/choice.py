"""What a search returns: the bid, weights and parameters it chose, on how many hours, and how it got there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wattline.arrays import Floats
from wattline.bidding.hours.outcome import Outcome
from wattline.bidding.hours.params import Params
from wattline.bidding.hours.setting import Setting
from wattline.market.reach import Reach, reach
from wattline.market.tracking import SHARE
from wattline.model.regulation import Bid

STRICT, PAPER = "strict", "paper"
REACHES = (STRICT, PAPER)


@dataclass(frozen=True)
class Choice:
    """A bid, the weights and parameters that go with it, and what it came to on the hours of the search."""

    method: str
    bid: Bid
    outcome: Outcome
    weights: Floats | None = None
    params: Params | None = None
    feasible: bool = True
    limits: str = ""
    """What holds a larger reserve back."""
    runs: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)


def largest_reserve_w(setting: Setting, mean_w: float, mode: str) -> float:
    """Return the most that may be offered at a mean power: strict reach keeps the whole target between idle and
    maximum.
    """
    if mode == STRICT:
        return max(0.0, min(mean_w - setting.idle_total_w, setting.max_total_w - mean_w))
    return setting.max_total_w


def reach_of(setting: Setting, bid: Bid, hours: int = 8) -> Reach:
    """Return the share of the signal that the machine cannot reach, whatever it runs."""
    import numpy as np

    values = np.concatenate([setting.signal(3600.0, seed).values for seed in range(hours)])
    return reach(bid, values, setting.idle_total_w, setting.max_total_w)


def bottleneck(outcome: Outcome) -> str:
    """Return the constraint that is closest to being broken, in words."""
    exceed = outcome.exceed.share
    worst, name = exceed / SHARE, f"tracking: the error exceeds 30 % for {100 * exceed:.1f} % of the time"
    for kind, share in zip(outcome.kinds, outcome.shares(), strict=True):
        if not kind.standby and share / kind.share > worst:
            worst, name = share / kind.share, f"{kind.name}: {100 * share:.1f} % of its jobs reach their limit"
    return name
