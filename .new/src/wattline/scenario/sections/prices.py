"""[prices]: prices and carbon over time, the rules by which regulation is settled, and when the run takes place."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, create_model
from pydantic_core import PydanticCustomError

from wattline.errors import InputError
from wattline.market.bill import Book
from wattline.market.held import Held, constant
from wattline.market.hour import MOST_HOURS
from wattline.market.products import find, known
from wattline.market.products.base import Kind, Product
from wattline.market.score import Scoring
from wattline.reading.calendar import clock_of, unix_of
from wattline.scenario.built.billing import Billing, Clock
from wattline.scenario.read.base import KeyPath, Problem, Section
from wattline.scenario.read.quantities import Period, Span, Words
from wattline.scenario.read.source import Context
from wattline.scenario.sections.regulation.regulation import RegulationSpec
from wattline.scenario.sections.series import (
    KEYS,
    SERIES,
    Carbon,
    Power,
    Price,
    Ratio,
    SeriesSpec,
    check_length,
    check_series,
    check_zone_of,
    constant_series,
    place_series,
    read_series,
    span_text,
)
from wattline.units import HOUR_S

if TYPE_CHECKING:
    from wattline.formats.series.prices import HeldTrace
    from wattline.reading.notes import Trace

_TYPES: dict[Kind, Any] = {"price": Price, "ratio": Ratio, "power": Power, "span": Span | None}


ASSUMED_UTC = (
    "prices by date or time of day: the log's times have no zone and are taken as UTC, so that hours may be charged "
    "prices of others; "
    'say their zone: [trace] zone = "Europe/Paris" (replay --zone, read_trace(zone=…)), or "UTC"'
)
NO_DATE = "[prices] zone changes nothing: neither the log nor start says when the run begins; say it: start = …"


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
        None,
        description="zone of `start` and of the accounts' clock (default: the offset of `start`, the zone of the log, "
        "or UTC)",
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


def check_prices(prices: PricesSpec | None, *, regulated: bool) -> Iterator[Problem]:
    """Yield every problem of the prices; ``regulated``: the scenario takes part in a regulation market."""
    if prices is None:
        return
    here: KeyPath = ("prices",)
    yield from _check_rules(prices, regulated=regulated)
    for name in SERIES:
        series: SeriesSpec | None = getattr(prices, name)
        if series is not None:
            yield from check_series((*here, name), name, series)
    yield from _check_score(prices)
    yield from _check_clock(prices)


def _check_rules(prices: PricesSpec, *, regulated: bool) -> Iterator[Problem]:
    here: KeyPath = ("prices",)
    given, product = prices.model_fields_set, find(prices.rules)
    if not regulated and product.follows:
        regulation = {key.name for one in known().values() if one.follows for key in one.keys} - {"energy"}
        for name in ("rules", *KEYS, "score"):
            if name in given and name in {"rules", "score"} | regulation:
                yield (*here, name), "settles regulation, and there is no [regulation]"
            elif name in given:
                yield (*here, name), f'does not go with rules = "{prices.rules}"'
        if prices.energy is None:
            yield here, "needs energy: a price like 0.1 ($/kWh), or a table (0 if only carbon counts)"
        return
    if regulated and not product.follows:
        yield (*here, "rules"), f'rules = "{prices.rules}" settles no bid, and there is a [regulation]'
    own = {key.name: key for key in product.keys}
    for name in (*KEYS, "score"):
        if name in given and name not in own and not (name == "score" and product.scored):
            yield (*here, name), f'does not go with rules = "{prices.rules}"'
    for name, key in own.items():
        if key.default is None and getattr(prices, name) is None:
            what = "a price of " if key.kind == "price" else ""
            yield (*here, "rules"), f'rules = "{prices.rules}" needs {what}{name}: {name} = …'


def _scoring(score: ScoreSpec) -> Scoring:
    return Scoring(score.correlation, score.delay, score.precision, score.interval, score.window, score.longest)


def _check_score(prices: PricesSpec) -> Iterator[Problem]:
    try:
        _scoring(prices.score)
    except InputError as problem:
        yield ("prices", "score"), str(problem).removeprefix("score: ")


def _check_clock(prices: PricesSpec) -> Iterator[Problem]:
    if prices.zone is not None:
        yield from check_zone_of(("prices", "zone"), prices.zone)
    if prices.start is not None:
        try:
            unix_of(prices.start, "UTC")
        except InputError as problem:
            yield ("prices", "start"), str(problem)


def build_billing(
    spec: PricesSpec | None,
    market: RegulationSpec | None,
    context: Context,
    trace: Trace,
    start_s: float,
    least_end_s: float,
    hours: tuple[tuple[float, float], ...] | None,
) -> Billing | None:
    """Return how a run from ``start_s`` to ``least_end_s`` or later is accounted for; None without prices and bid.

    ``hours`` are those that regulation bills (None: it does not take part).
    """
    if spec is None and hours is None:
        return None
    if least_end_s - start_s > MOST_HOURS * HOUR_S:
        told = f"accounts of {(least_end_s - start_s) / HOUR_S:,.0f} hours would be kept, more than {MOST_HOURS:,}"
        raise context.error(("prices",), f"{told}; end the run earlier ([run] until)")
    given = spec or PricesSpec()
    traces = {name: read_series(name, series, context) for name, series in _files(given)}
    clock = _clock(given, context, traces, trace, start_s) if spec is not None else None
    held = {name: place_series(series, getattr(given, name), clock, start_s) for name, series in traces.items()}
    for name, series in held.items():
        check_length(name, getattr(given, name), context, series, clock, start_s, least_end_s)
    book = Book(
        context.located(("prices",), _product, given),
        _prices(given, market, held),
        _find(given, held, "carbon") if given.carbon is not None else None,
        _scoring(given.score),
    )
    notes = tuple(note for series in traces.values() for note in series.notes)
    warnings = _doubts(given, traces, trace, clock)
    about = {**_about(given, market, traces, clock), "warnings": list(warnings)}
    return Billing(book, start_s, hours, clock, about, notes, warnings)


def _product(given: PricesSpec) -> Product:
    """Return what is sold, with the settings that are given."""
    product = find(given.rules)
    settings = {key.name: getattr(given, key.name) for key in product.keys if key.kind == "span"}
    return product(**{name: value for name, value in settings.items() if value is not None})


def _prices(given: PricesSpec, market: RegulationSpec | None, held: dict[str, Held]) -> dict[str, Held]:
    """Return the series that are given, and flat prices of the regulation for those that fall back to them."""
    found = {}
    for key in find(given.rules).keys:
        if key.kind == "span":
            continue
        if getattr(given, key.name) is not None:
            found[key.name] = _find(given, held, key.name)
        elif market is not None and key.flat:
            found[key.name] = constant(getattr(market.prices, key.flat))
    return found


def _find(given: PricesSpec, held: dict[str, Held], name: str) -> Held:
    series: SeriesSpec = getattr(given, name)
    return held[name] if series.value is None else constant_series(name, series)


def _files(given: PricesSpec) -> list[tuple[str, SeriesSpec]]:
    named = [(name, getattr(given, name)) for name in PricesSpec.model_fields]
    return [(name, item) for name, item in named if isinstance(item, SeriesSpec) and item.file is not None]


def _clock(
    given: PricesSpec, context: Context, traces: Mapping[str, HeldTrace], trace: Trace, start_s: float
) -> Clock | None:
    """Return when the run takes place: at `start`, or when the trace did; None if neither says it.

    Its clock shows the time of `zone`, or else of `start`, or else of the log.
    """
    if given.start is not None:
        try:
            begin = unix_of(given.start, given.zone or "UTC")
        except InputError as problem:
            raise context.error(("prices", "start"), str(problem)) from None
        offset = given.start.strip()[-6:]
        own = offset if len(given.start) > 11 and offset[0] in "+-" else "UTC"
        return Clock(begin, given.zone or own)
    if math.isfinite(trace.jobs.epoch_unix_s):
        return Clock(trace.jobs.epoch_unix_s + start_s, given.zone or trace.zone or "UTC")
    dated = next((name for name, series in traces.items() if series.placed == "date"), None)
    if dated is not None:
        span = span_text(traces[dated].held, given.zone or "UTC")
        raise context.error(
            ("prices",),
            f"{dated} is a series of dates ({span}) and the jobs have none: say when the run begins, start = …",
        )
    return None


def _doubts(given: PricesSpec, traces: Mapping[str, HeldTrace], trace: Trace, clock: Clock | None) -> tuple[str, ...]:
    """Return what is to be said loudly of the clock: a zone that was assumed, or one that changes nothing."""
    if clock is None:
        return () if given.zone is None else (NO_DATE,)
    if given.start is not None or not trace.zone_assumed:
        return ()
    placed = {series.placed for series in traces.values()}
    moved = given.zone is not None and given.zone != trace.zone  # a log's own time of day needs no zone
    return (ASSUMED_UTC,) if "date" in placed or ("day" in placed and moved) else ()


def _about(
    given: PricesSpec, market: RegulationSpec | None, traces: Mapping[str, HeldTrace], clock: Clock | None
) -> dict[str, Any]:
    """Return what the journal says about the origin of prices."""
    series: dict[str, Any] = {}
    for name in PricesSpec.model_fields:
        item = getattr(given, name)
        if isinstance(item, SeriesSpec):
            series[name] = item.model_dump(exclude_defaults=True)
            if name in traces:
                series[name]["column"] = traces[name].column
    for key in find(given.rules).keys if market is not None else ():
        if key.flat:
            series.setdefault(key.name, {"value": getattr(market.prices, key.flat)})  # type: ignore[union-attr]
    begin = None if clock is None else clock_of(np.array([clock.begin_unix_s]), clock.zone)[0]
    return {
        "rules": given.rules,
        "start": begin,
        "start_unix_s": None if clock is None else clock.begin_unix_s,
        "zone": None if clock is None else clock.zone,
        "series": series,
        "score": given.score.model_dump(),
    }
