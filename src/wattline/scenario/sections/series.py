"""Prices and carbon as numbers or as series of files: how a key gives them, how a file is read and placed in time."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from wattline.errors import InputError, did_you_mean
from wattline.files import exists
from wattline.market.held import Held, constant
from wattline.market.products import keys
from wattline.market.products.base import Kind
from wattline.reading.calendar import check_zone, clock_of
from wattline.scenario.built.billing import Clock
from wattline.scenario.read.base import KeyPath, Problem, Section
from wattline.scenario.read.quantities import Period, Words
from wattline.scenario.read.source import Context
from wattline.units import DAY_S, in_full

if TYPE_CHECKING:
    from wattline.formats.series.prices import HeldTrace

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

KEYS = keys()
"""Keys of all products, without energy."""
SERIES = ("energy", *(name for name, key in KEYS.items() if key.kind != "span"), "carbon")
"""Keys that take a number or a table."""

MOST_ROWS = 10_000_000
"""Rows of a repeated series that a run may go through; more of them mean a mistaken unit."""
_MARKET_UNIT = "$/MWh"
"""Unit of the columns that markets publish."""

_NUMBER = re.compile(
    r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([^\s\d/][^\s/]*/[kMG]?W(?:h|-min)?|[kMG]?W)\s*"
)
_OF_FILES = ("column", "time", "zone", "where", "step", "repeat", "gaps", "twice", "order")


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
        description="`$/kWh`, `$/MWh`, `$/MW`, `ct/kWh`; `g/kWh`, `kg/MWh` (default: $/kWh of a number, g/kWh of "
        "carbon; a file of prices must say it unless the column is a market's)",
    )
    where: Annotated[dict[str, str], Words("table of texts")] | None = Field(
        None, description='only the rows with these texts, like `{pnode_name = "PJM-RTO"}`'
    )
    step: Period | None = Field(
        None, allow_inf_nan=False, description="how long a row holds at most (default: the most frequent distance)"
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


def units_of(name: str) -> dict[str, float]:
    """Return the units that a series may have."""
    return CARBON_UNITS if name == "carbon" else _UNITS[kind_of(name)]


def kind_of(name: str) -> Kind:
    """Return what a key takes."""
    return KEYS[name].kind if name in KEYS else "price"


def check_series(here: KeyPath, name: str, series: SeriesSpec) -> Iterator[Problem]:
    """Yield every problem of the series of this name."""
    from wattline.formats.series.prices import MOST

    if (series.value is None) == (series.file is None):
        yield here, "needs exactly one of 'value' and 'file'"
        return
    for key in _OF_FILES if series.value is not None else ():
        if key in series.model_fields_set:
            yield (*here, key), "goes with a file, not with a value"
    if (name == "carbon" or kind_of(name) != "price") and series.value is not None and not series.value >= 0:
        yield here, f"must not be negative, got {in_full(series.value)}"
    if series.value is not None and not abs(series.value) <= MOST:
        yield here, f"must be a number, at most {in_full(MOST)}, got {in_full(series.value)}"
    units = units_of(name)
    if series.unit is not None and series.unit not in units:
        known = did_you_mean(series.unit, units) if units else "; a ratio has no unit"
        yield (*here, "unit"), f"unknown unit {series.unit!r}{known}"
    if series.zone is not None:
        yield from check_zone_of((*here, "zone"), series.zone)


def check_zone_of(here: KeyPath, zone: str) -> Iterator[Problem]:
    """Yield the problem of a time zone that does not exist."""
    try:
        check_zone(zone)
    except InputError as problem:
        yield here, str(problem)


def read_series(name: str, spec: SeriesSpec, context: Context) -> HeldTrace:
    """Read a series in the units of a book."""
    from wattline.formats.series import prices as files

    path = context.base / str(spec.file)
    if not exists(path):
        raise context.error(("prices", name), f"no such file: {path}")
    known = {"energy": files.ENERGY, "carbon": files.CARBON, "performance": files.PERFORMANCE}.get(name, ())
    known = files.CAPACITY if name in ("capacity", "reserve") else known
    how = files.Reading(spec.column, spec.time, spec.zone, spec.where, spec.step, spec.order, spec.gaps, spec.twice)
    least = 0.0 if name == "carbon" or kind_of(name) != "price" else -math.inf
    trace: HeldTrace = context.located(("prices", name), files.read_held, path, how, known=known, least=least)
    unit = spec.unit or {"carbon": "g/kWh"}.get(name) or {"power": "W"}.get(kind_of(name), "")
    unit = unit or (_MARKET_UNIT if trace.column in known else "")
    if not unit and kind_of(name) != "ratio":
        raise context.error(
            ("prices", name), f'the unit of column {trace.column!r} is not known: say unit = "$/MWh" or "$/kWh"'
        )
    return replace(trace, held=trace.held.scaled(units_of(name).get(unit, 1.0)))


def place_series(trace: HeldTrace, spec: SeriesSpec, clock: Clock | None, start_s: float) -> Held:
    """Return a series on the clock of a run that begins at ``start_s``, to be repeated if told."""
    held = trace.held
    if trace.placed == "day" and spec.repeat and spec.step is None:
        held = _of_one_day(held)
    if trace.placed == "day" and spec.repeat and held.start_s > 0:  # before the first row of a day the last one holds
        held = Held(np.append(0.0, held.time_s), np.append(held.values[-1], held.values), held.end_s)
    zero_s = start_s
    if trace.placed == "date" and clock is not None:
        zero_s = start_s - clock.begin_unix_s
    elif trace.placed == "day" and clock is not None:
        zero_s = start_s - clock.local_s % DAY_S
    return Held(held.time_s + zero_s, held.values, held.end_s + zero_s, repeat=spec.repeat)


def _of_one_day(held: Held) -> Held:
    """Return a table of the day whose rows pass midnight, as 22:00 and then 06:00, from midnight on."""
    if held.end_s <= DAY_S or held.time_s[-1] - held.time_s[0] >= DAY_S:
        return held
    clock_s = held.time_s % DAY_S
    order = np.argsort(clock_s, kind="stable")
    return Held(clock_s[order], held.values[order], DAY_S)


def constant_series(name: str, spec: SeriesSpec) -> Held:
    """Return a number that holds for all times, in the units of a book."""
    assert spec.value is not None  # noqa: S101 - the caller knows
    default = {"carbon": CARBON_UNITS["g/kWh"]}.get(name, 1.0)
    return constant(spec.value * (units_of(name)[spec.unit] if spec.unit is not None else default))


def check_length(
    name: str, spec: SeriesSpec, context: Context, held: Held, clock: Clock | None, start_s: float, end_s: float
) -> None:
    """Refuse a series that ends before the run can have ended, begins after it, or repeats without end."""
    if held.repeat:
        rounds = (end_s - start_s) / (held.end_s - held.start_s)
        if rounds * held.time_s.size > MOST_ROWS:
            told = (
                f"{spec.file} would begin anew {rounds:,.0f} times in the run: it lasts "
                f"{in_full(held.end_s - held.start_s)} s"
            )
            raise context.error(("prices", name), told)
    if held.covers(start_s, end_s):
        return
    run = Held(np.array([start_s]), np.zeros(1), end_s)
    if clock is None:
        said = [f"{in_full(h.start_s - start_s)} s to {in_full(h.end_s - start_s)} s of the run" for h in (held, run)]
    else:
        by_s = clock.begin_unix_s - start_s
        said = [span_text(h.shifted(by_s), clock.zone) for h in (held, run)]
    raise context.error(
        ("prices", name),
        f"{spec.file} holds {said[0]}, but the run takes (at least) {said[1]}; give another start, a longer series, "
        "or repeat = true",
    )


def span_text(held: Held, zone: str) -> str:
    """Return when a series begins and ends, on the clock of a zone."""
    return " to ".join(clock_of(np.array([held.start_s, held.end_s]), zone))
