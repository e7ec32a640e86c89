"""What a scenario file may say about prices and carbon: numbers or series of files, the keys of the product that is sold,
and when the run takes place.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, create_model
from pydantic_core import PydanticCustomError

from wattline.market.products import keys, known
from wattline.market.products.base import Kind
from wattline.scenario.quantities import Period, Span, Words
from wattline.scenario.section import Section

PRICE_UNITS = {
    "$/kWh": 1.0,
    "$/MWh": 1e-3,
    "$/kW": 1.0,
    "$/MW": 1e-3,
    "$/kW-min": 60.0,
    "ct/kWh": 0.01,
    "¢/kWh": 0.01,
}
"""Units of prices in $/kWh; a price of reserve is per kW or MW and hour."""
CARBON_UNITS = {"g/kWh": 1e-3, "kg/kWh": 1.0, "kg/MWh": 1e-3, "t/MWh": 1.0}
"""Units of carbon intensity in kg/kWh."""
POWER_UNITS = {"W": 1.0, "kW": 1e3, "MW": 1e6}
_UNITS: dict[Kind, dict[str, float]] = {"price": PRICE_UNITS, "ratio": {}, "power": POWER_UNITS}
_NUMBER = re.compile(
    r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([^\s\d/][^\s/]*/[kMG]?W(?:h|-min)?|[kMG]?W)\s*"
)


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
Power = Annotated[
    SeriesSpec | None,
    _series(POWER_UNITS, "'200 kW'"),
    Words('power, like `"200 kW"`, the path of a table, or `{file = …}`'),
]
_TYPES: dict[Kind, Any] = {"price": Price, "ratio": Ratio, "power": Power, "span": Span | None}

KEYS = keys()
"""Keys of all products, without energy."""
SERIES = ("energy", *(name for name, key in KEYS.items() if key.kind != "span"), "carbon")
"""Keys that take a number or a table."""


def units_of(name: str) -> dict[str, float]:
    """Return the units that a series may have."""
    return CARBON_UNITS if name == "carbon" else _UNITS[kind_of(name)]


def kind_of(name: str) -> Kind:
    """Return what a key takes."""
    return KEYS[name].kind if name in KEYS else "price"


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


_RULES: Any = Literal.__getitem__(tuple(known()))


class _Common(Section):
    """Prices and carbon over time: a run with this section keeps accounts hour by hour (`hours.parquet`)."""

    rules: str = Field(
        "paper",
        description="how what is sold is settled: "
        + "; ".join(f"`{name}`: {product.about}" for name, product in known().items()),
    )
    start: Moment = Field(
        None, description="when the run begins, on the clock of the series (default: when the trace says it did)"
    )
    zone: str | None = Field(
        None, description="zone of `start` and of the accounts' clock (default: the offset of `start`, or UTC)"
    )
    energy: Price = Field(None, description="energy (default: `energy` of `[regulation] prices`)")
    carbon: Carbon = Field(None, description="carbon intensity (default: not accounted for)")
    score: ScoreSpec = Field(default_factory=ScoreSpec, description="how the score is built (pjm)")


if TYPE_CHECKING:
    PricesSpec = _Common
else:
    PricesSpec = create_model(
        "PricesSpec",
        __base__=_Common,
        __doc__=_Common.__doc__,
        rules=(_RULES, _Common.model_fields["rules"]),
        **{name: (_TYPES[key.kind], Field(None, description=key.about)) for name, key in KEYS.items()},
    )
