"""What a certificate rests on: drawn hours or recorded days, and how they were kept from the search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wattline.bidding.hours.laws import RecordedLaw
from wattline.bidding.hours.outcome import Outcome, is_promised
from wattline.bidding.hours.setting import Setting
from wattline.bidding.searches.choice import Choice
from wattline.market.tracking import SHARE

DRAWN, LEFT_OUT, APART, UNSEARCHED, SEARCHED = "drawn", "left out in turn", "apart", "unsearched", "searched"
"""How evidence was kept from the search."""

UNTRIED = ("given", "heuristic")
"""Methods that look at no hour of the signal."""

HOW = {
    DRAWN: "hours drawn from the law of the signal, that no search has seen",
    LEFT_OUT: "every day in turn left out of a search, and tried under the bid that was found without it",
    APART: "days that the search has not seen",
    UNSEARCHED: "days that no search has looked at",
    SEARCHED: "days that the search has seen",
}

MODELS = {
    "hours": (
        "hours as draws, Student's t",
        "Hours of other days are drawn from the same law, independently of each other.",
    ),
    "days": (
        "days as draws, Student's t",
        "Rates of other days come from the same normal law as those of the recorded days, independently of each other.",
    ),
}
"""The statistical model by name, and its assumption in a sentence."""


DAY_LEAST_HOURS = 12
"""Whole hours of signal that a record must have to count as a day."""


@dataclass(frozen=True)
class Day:
    """A recorded day of a certificate: the bid it was tried under, and what that came to."""

    name: str
    mean_w: float
    reserve_w: float
    hours: int
    left_out: int
    """Hours that touch missing signal."""
    exceed: float
    hours_beyond: float
    worst_service: float
    """The rate of the kind that comes closest to its limit, in parts of that limit."""
    cost: float
    plain_exceed: float = math.nan
    plain_cost: float = math.nan
    """The same under the bid that a search without a margin finds on the other days (NaN: not looked for)."""

    @property
    def kept(self) -> bool:
        """Whether the day by itself keeps the promises of tracking and of service."""
        return not self.exceed >= SHARE and not self.worst_service >= 1.0


@dataclass(frozen=True)
class Evidence:
    """What a certificate rests on."""

    how: str = DRAWN
    days: int = 0
    """Recorded days, 0 for drawn hours."""
    whole: int | None = None
    """How many of them have as many whole hours as a day is taken for (None: all)."""
    table: tuple[Day, ...] = ()
    doubts: tuple[str, ...] = ()
    """Why it may not be taken for other days, whatever the rates are."""

    @property
    def model(self) -> tuple[str, str]:
        """The statistical model by name, and its assumption."""
        return MODELS["days" if self.days else "hours"]

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        name, assumption = self.model
        days = [vars(day) | {"kept": day.kept} for day in self.table]
        return {
            "evidence": self.how,
            "records": self.days,
            "model": name,
            "assumption": assumption,
            "doubts": list(self.doubts),
            "days": days,
        }


def evidence_of(setting: Setting, choice: Choice) -> Evidence:
    """Return what hours drawn by a setting's law are: new ones, or cut out of the one record that it plays."""
    if not isinstance(setting.signal, RecordedLaw):
        return Evidence(doubts=setting.doubts)
    return Evidence(UNSEARCHED if choice.method in UNTRIED else SEARCHED, 1, doubts=setting.doubts)


def day_of(name: str, choice: Choice, outcome: Outcome, plain: Outcome | None = None) -> Day:
    """Return the row of a day; ``plain`` is what it came to without a margin."""
    promised = [
        float(share) / kind.share
        for kind, share in zip(outcome.kinds, outcome.shares(), strict=True)
        if is_promised(kind)
    ]
    return Day(
        name,
        choice.bid.mean_w,
        outcome.reserve_w,
        len(outcome.hours),
        outcome.left_out,
        outcome.exceed.share,
        outcome.exceed_hours,
        max(promised, default=0.0),
        outcome.cost,
        math.nan if plain is None else plain.exceed.share,
        math.nan if plain is None else plain.cost,
    )


def on_days(how: str, rows: Sequence[Day], doubts: Sequence[str] = ()) -> Evidence:
    """Return the evidence of recorded days; those without a whole hour of signal are none."""
    known = [row.hours - row.left_out for row in rows if row.left_out < row.hours]
    whole = sum(hours >= DAY_LEAST_HOURS for hours in known)
    return Evidence(how, len(known), whole, tuple(rows), tuple(doubts))
