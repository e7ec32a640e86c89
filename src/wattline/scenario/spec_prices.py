"""What a scenario file may say about prices and carbon: numbers or series of files, rule books, and when the run takes
place.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from wattline.scenario.quantities import Period, Span, Words
from wattline.scenario.section import Section

PRICE_UNITS = {
    "$/kWh": 1.0,
    "$/MWh": 1e-3,
    "$/kW": 1.0,
    "$/MW": 1e-3,
    "ct/kWh": 0.01,
    "¢/kWh": 0.01,
}
"""Units of prices in $/kWh; a price of reserve is per kW or MW and hour."""
CARBON_UNITS = {"g/kWh": 1e-3, "kg/kWh": 1.0, "kg/MWh": 1e-3, "t/MWh": 1.0}
"""Units of carbon intensity in kg/kWh."""

PAPER_KEYS, PJM_KEYS = ("reserve", "error"), ("capacity", "performance", "mileage", "score")
_NUMBER = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([^\s\d/][^\s/]*/[kMG]?Wh?)\s*")


class SeriesSpec(Section):
    """A number, or a series: the rows of a table (CSV or Parquet, also .gz), each holding until the next."""

    value: float | None = Field(None, description="a number for all times, instead of a file")
    file: str | None = Field(None, description="table, relative to the scenario file")
    column: str | None = Field(
        None, description="column of the numbers (default: the one that markets publish, or the only one)"
    )
    time: str | None = Field(
        None, description="column of the times: dates, Unix times, seconds since the run began or times of day"
    )
    zone: str | None = Field(
        None, description='zone of dates that name none, like `"America/New_York"` (default: UTC, and that is said)'
    )
    unit: str | None = Field(
        None,
        description="`$/kWh`, `$/MWh`, `$/MW`, `ct/kWh`; `g/kWh`, `kg/MWh` (default: $/kWh of a number, g/kWh of carbon; a file of prices must say it unless the column is a market's)",
    )
    where: Annotated[dict[str, str], Words("table of texts")] | None = Field(
        None, description='only the rows with these texts, like `{pnode_name = "PJM-RTO"}`'
    )
    step: Span | None = Field(
        None, gt=0, description="how long a row holds at most (default: the most frequent distance)"
    )
    repeat: bool = Field(False, description="begin anew at the end of the table")  # noqa: FBT003
    gaps: Literal["refuse", "hold"] = Field(
        "refuse", description="missing rows and numbers: an error, or hold the value before"
    )
    twice: Literal["refuse", "first", "last", "mean"] = Field(
        "refuse", description="several rows for one time: an error, or which of them holds"
    )
    order: Literal["sort", "refuse"] = Field("sort", description="times that go back: sort, or an error")


def is_price(text: str) -> bool:
    """Tell whether a text is a number with a unit, not the path of a table."""
    return _NUMBER.fullmatch(text) is not None


def _series(units: dict[str, float], example: str) -> Any:
    def check(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return value
        if not isinstance(value, str):
            return {"value": float(value)}
        match = _NUMBER.fullmatch(value)
        if match is None:
            return {"file": value}
        if match[2] not in units:
            known = ", ".join(units) or "none"
            text = (
                f"unknown unit {match[2]!r} in {value!r}: expected a number like {example} (units: {known}), or a file"
            )
            raise PydanticCustomError("quantity", "{text}", {"text": text})
        return {"value": float(match[1]), "unit": match[2]}

    return BeforeValidator(check)


Price = Annotated[
    SeriesSpec | None,
    _series(PRICE_UNITS, "'50 $/MWh'"),
    Words('price, like `0.1` ($/kWh) or `"50 $/MWh"`, the path of a table, or `{file = …}` (see below)'),
]
Carbon = Annotated[
    SeriesSpec | None,
    _series(CARBON_UNITS, "'350 g/kWh'"),
    Words("intensity, like `350` (g/kWh), the path of a table, or `{file = …}`"),
]
Ratio = Annotated[SeriesSpec | None, _series({}, "2.5"), Words("number, the path of a table, or `{file = …}`")]


def _moment(value: Any) -> Any:
    """Take TOML's own dates, and texts that are checked with the zone in view."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if not isinstance(value, str | None):
        text = f"expected a date and time like 2022-07-01T00:00:00-04:00, got {value}"
        raise PydanticCustomError("quantity", "{text}", {"text": text})
    return value


Moment = Annotated[
    str | None, BeforeValidator(_moment), Words("date, or date and time, like `2022-07-01T00:00:00-04:00`")
]


class ScoreSpec(Section):
    """How the performance score is built of correlation, delay and precision; the weights sum to 1."""

    correlation: float = Field(1 / 3, ge=0, le=1, description="weight of correlation")
    delay: float = Field(1 / 3, ge=0, le=1, description="weight of delay")
    precision: float = Field(1 / 3, ge=0, le=1, description="weight of precision")
    interval: Period = Field(10.0, ge=0.1, description="signal and power are averaged over this")
    window: Period = Field(300.0, description="length of the windows that are correlated")
    longest: Period = Field(300.0, description="longest delay that is tried, with a delay score of 0")


class PricesSpec(Section):
    """Prices and carbon over time: a run with this section keeps accounts hour by hour (`hours.parquet`)."""

    rules: Literal["paper", "pjm"] = Field(
        "paper",
        description="how regulation is settled: energy, `reserve` and `error`, or `capacity` and `performance` by score",
    )
    start: Moment = Field(
        None, description="when the run begins, on the clock of the series (default: when the trace says it did)"
    )
    zone: str | None = Field(
        None, description="zone of `start` and of the accounts' clock (default: the offset of `start`, or UTC)"
    )
    energy: Price = Field(None, description="energy (default: `energy` of `[regulation] prices`)")
    reserve: Price = Field(None, description="reserve, paid to us (paper; default: that of `[regulation] prices`)")
    error: Price = Field(
        None, description="gap between power and target, charged to us (paper; default: that of `[regulation] prices`)"
    )
    capacity: Price = Field(None, description="reserve, paid to us × score (pjm)")
    performance: Price = Field(None, description="following, paid to us × `mileage` × score (pjm; default: 0)")
    mileage: Ratio = Field(None, description="mileage ratio of the signal (pjm; default: 1)")
    carbon: Carbon = Field(None, description="carbon intensity (default: not accounted for)")
    score: ScoreSpec = Field(default_factory=ScoreSpec, description="how the score is built (pjm)")
