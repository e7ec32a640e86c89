"""What the terminal says of a bid's margin, and of what more days would save."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from wattline.api.bid_words import margin
from wattline.bidding.across import Margin
from wattline.bidding.searches.choice import Choice

FOUND = cast("Choice", SimpleNamespace(feasible=True))


def said(*more: tuple[int, float]) -> list[str]:
    """Return what is said of more days under a margin that costs a quarter."""
    (_, first), *rest = margin(Margin(8000.0, 2000.0, plain_cost=0.8, cost=1.0, more=more), FOUND)
    assert first == "costs +25.0 %: without it $0.8 an hour at R = 2 kW, no day being sure"
    return [text for _, text in rest]


def test_what_more_days_would_save_is_said_once() -> None:
    """Numbers of days that save the same are told as one; what saves nothing is not told."""
    assert said() == []
    assert said((14, 1.0), (30, 1.2)) == []
    assert said((14, 1.0), (30, 0.9), (60, 0.85)) == [
        "more days like these would save 10.0 % with 30 days, 15.0 % with 60 days"
    ]
    assert said((14, 0.9), (30, 0.9), (60, 0.9)) == ["more days like these would save 10.0 % with 14 or more days"]
