"""The accounts of an hour: every column with its unit and meaning, declared once, and totals of many hours.

The journal takes its table ``hours`` from here, so do the documentation and the reports. Nothing is rounded: a total is
the exact sum of its rows. A row that lies not wholly within a series of prices has no cost (NaN) and is left out of
all totals but that of carbon; one not wholly within a series of carbon is left out of that total alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import Field, dataclass, field, fields
from typing import Any

from wattline.units import HOUR_S

MOST_HOURS = 1_000_000
"""Hours of accounts, more than a century; more of them mean a mistaken unit."""


def _column(unit: str, meaning: str, *, null: bool = False, default: Any = None) -> Any:
    about = {"unit": unit, "meaning": meaning, "null": null}
    return field(metadata=about) if default is None else field(metadata=about, default=default)


@dataclass(frozen=True, kw_only=True)
class Hour:
    """One row; NaN where something does not exist (no bid, no score, no price). Money in dollars, prices in $/kWh."""

    start_s: float = _column(
        "s", "when the row begins: at a whole hour, or where the run or the billed time begins or ends"
    )
    end_s: float = _column("s", "when it ends; a row shorter than an hour is a part of one")
    clock: str = _column("", 'start_s on the wall clock, with its zone ("" where the run has no calendar)', default="")
    billed: int = _column("", "1 if it counts in totals, 0 in a warm-up or after the billed hours")
    energy_kwh: float = _column("kWh", "energy drawn")
    mean_power_w: float = _column("W", "mean power")
    bid_s: float = _column("s", "seconds in which a bid held")
    offered_s: float = _column("s", "seconds in which it held a reserve")
    scored_s: float = _column("s", "those of them that are scored: stretches of reserve as long as a window")
    scored_kwh: float = _column("kWh", "reserve times hours of scored_s: what the score counts for in totals")
    mean_w: float = _column("W", "mean power of the bid (over bid_s if it changed)", null=True)
    reserve_w: float = _column("W", "its reserve (over bid_s if it changed)", null=True)
    mean_target_w: float = _column("W", "mean of the target", null=True)
    error: float = _column("", "mean tracking error, relative to the reserve", null=True)
    exceed_share: float = _column("", "share of the time with a reserve in which the error was above 0.3", null=True)
    score: float = _column("", "performance score; null where the reserve was held too shortly for one", null=True)
    correlation: float = _column("", "part of the score", null=True)
    delay: float = _column("", "part of the score", null=True)
    precision: float = _column("", "part of the score", null=True)
    mileage: float = _column("", "way that the signal went while there was a reserve, in reserves", null=True)
    energy_cost: float = _column("$", "charged for energy; null, as all money, where a price is not known", null=True)
    drawn_cost: float = _column("$", "what the energy drawn costs without demand response", null=True)
    bid_cost: float = _column(
        "$", "what the mean power bid costs (where there was no bid: the energy drawn)", null=True
    )
    capacity_credit: float = _column("$", "paid to us for what is held ready: the reserve", null=True)
    performance_credit: float = _column(
        "$", "paid to us for what is done: following the signal, or a reduction that was due", null=True
    )
    error_cost: float = _column(
        "$", "penalty for what is missed: the tracking error, or a part of the reduction", null=True
    )
    cost: float = _column("$", "energy_cost - capacity_credit - performance_credit + error_cost", null=True)
    carbon_kg: float = _column("kg", "CO2 of the energy drawn; null where the intensity is not known", null=True)
    energy_price_per_kwh: float = _column("$/kWh", "price of energy (mean over time, as all prices)", null=True)
    capacity_price_per_kwh: float = _column("$/kWh", "price of a kW of reserve for an hour", null=True, default=0.0)
    performance_price_per_kwh: float = _column(
        "$/kWh", "price of following with a kW of reserve, or of a kW of reduction, for an hour", null=True, default=0.0
    )
    error_price_per_kwh: float = _column("$/kWh", "price of what is missed", null=True, default=0.0)
    mileage_ratio: float = _column("", "factor of the performance price", null=True, default=1.0)
    carbon_kg_per_kwh: float = _column("kg/kWh", "carbon intensity", null=True)

    @property
    def span_s(self) -> float:
        """Length of the row."""
        return self.end_s - self.start_s


COLUMNS: tuple[Field[Any], ...] = fields(Hour)
"""The columns in order; ``metadata`` has ``unit``, ``meaning`` and ``null`` (whether it may be unknown)."""


@dataclass(frozen=True)
class Totals:
    """Sums over rows; ``error`` and ``exceed_share`` over the time with a reserve, ``score`` over the reserve
    times the time in which it was scored.

    ``unscored_s`` is time with a reserve that was not scored, ``unpriced_s`` the time of rows that were left out
    because a price is missing. ``carbon_kg`` is a total of its own: of all rows whose carbon is known, which drew
    ``carbon_kwh``; ``no_carbon_s`` is the time of the others.
    """

    hours: float
    energy_kwh: float
    energy_cost: float
    drawn_cost: float
    bid_cost: float
    capacity_credit: float
    performance_credit: float
    error_cost: float
    cost: float
    carbon_kg: float
    carbon_kwh: float
    error: float
    exceed_share: float
    score: float
    unscored_s: float
    unpriced_s: float
    no_carbon_s: float

    @property
    def revenue(self) -> float:
        """What was paid to us, less the penalty."""
        return self.capacity_credit + self.performance_credit - self.error_cost


def total(rows: Sequence[Hour]) -> Totals:
    """Add up rows: exact sums, so that the total is the same in whatever order they are added."""
    whole = [row for row in rows if not math.isnan(row.cost)]
    carbon = [row for row in rows if not math.isnan(row.carbon_kg)]
    offered = [(row, row.offered_s) for row in whole if row.offered_s > 0]
    scored = [(row, row.scored_kwh) for row in whole if not math.isnan(row.score)]

    def add(name: str) -> float:
        return math.fsum(getattr(row, name) for row in whole)

    return Totals(
        hours=add("span_s") / HOUR_S,
        energy_kwh=add("energy_kwh"),
        energy_cost=add("energy_cost"),
        drawn_cost=add("drawn_cost"),
        bid_cost=add("bid_cost"),
        capacity_credit=add("capacity_credit"),
        performance_credit=add("performance_credit"),
        error_cost=add("error_cost"),
        cost=add("cost"),
        carbon_kg=math.fsum(row.carbon_kg for row in carbon) if carbon else math.nan,
        carbon_kwh=math.fsum(row.energy_kwh for row in carbon),
        error=_mean("error", offered),
        exceed_share=_mean("exceed_share", offered),
        score=_mean("score", scored),
        unscored_s=math.fsum(seconds - row.scored_s for row, seconds in offered),
        unpriced_s=math.fsum(row.span_s for row in rows if math.isnan(row.cost)),
        no_carbon_s=math.fsum(row.span_s for row in rows if math.isnan(row.carbon_kg)),
    )


def _mean(name: str, weighted: Sequence[tuple[Hour, float]]) -> float:
    weight = math.fsum(w for _, w in weighted)
    return math.fsum(getattr(row, name) * w for row, w in weighted) / weight if weight > 0 else math.nan
