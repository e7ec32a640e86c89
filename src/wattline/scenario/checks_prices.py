"""What single keys cannot show about prices: keys that do not go with the rules, series that are no series, clocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from wattline.errors import InputError, did_you_mean
from wattline.formats.series.prices import MOST
from wattline.market.products import find, known
from wattline.scenario.lines import Path
from wattline.scenario.spec_prices import KEYS, SERIES, PricesSpec, SeriesSpec, kind_of, units_of

if TYPE_CHECKING:
    from wattline.scenario.spec import Spec

Problem = tuple[Path, str]
_OF_FILES = ("column", "time", "zone", "where", "step", "repeat", "gaps", "twice", "order")


def check_prices(spec: Spec) -> Iterator[Problem]:
    """Yield every problem of the prices, and of what is only there to be compared."""
    yield from _baseline(spec)
    prices = spec.prices
    if prices is None:
        return
    here: Path = ("prices",)
    yield from _rules(prices, regulated=spec.regulation is not None)
    for name in SERIES:
        series: SeriesSpec | None = getattr(prices, name)
        if series is not None:
            yield from _series((*here, name), name, series)
    yield from _score(prices)
    yield from _clock(prices)


def _rules(prices: PricesSpec, *, regulated: bool) -> Iterator[Problem]:
    here: Path = ("prices",)
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


def _series(here: Path, name: str, series: SeriesSpec) -> Iterator[Problem]:
    if (series.value is None) == (series.file is None):
        yield here, "needs exactly one of 'value' and 'file'"
        return
    for key in _OF_FILES if series.value is not None else ():
        if key in series.model_fields_set:
            yield (*here, key), "goes with a file, not with a value"
    if (name == "carbon" or kind_of(name) != "price") and series.value is not None and not series.value >= 0:
        yield here, f"must not be negative, got {series.value:g}"
    if series.value is not None and not abs(series.value) <= MOST:
        yield here, f"must be a number, at most {MOST:g}, got {series.value:g}"
    units = units_of(name)
    if series.unit is not None and series.unit not in units:
        known = did_you_mean(series.unit, units) if units else "; a ratio has no unit"
        yield (*here, "unit"), f"unknown unit {series.unit!r}{known}"
    if series.zone is not None:
        yield from _zone((*here, "zone"), series.zone)


def _score(prices: PricesSpec) -> Iterator[Problem]:
    from wattline.market.score import Scoring

    score = prices.score
    try:
        Scoring(score.correlation, score.delay, score.precision, score.interval, score.window, score.longest)
    except InputError as problem:
        yield ("prices", "score"), str(problem).removeprefix("score: ")


def _clock(prices: PricesSpec) -> Iterator[Problem]:
    from wattline.reading.calendar import unix_of

    if prices.zone is not None:
        yield from _zone(("prices", "zone"), prices.zone)
    if prices.start is not None:
        try:
            unix_of(prices.start, "UTC")
        except InputError as problem:
            yield ("prices", "start"), str(problem)


def _zone(here: Path, zone: str) -> Iterator[Problem]:
    from wattline.reading.calendar import check_zone

    try:
        check_zone(zone)
    except InputError as problem:
        yield here, str(problem)


def _baseline(spec: Spec) -> Iterator[Problem]:
    """The baseline follows nothing: it must be a policy that needs no target."""
    if spec.regulation is None or spec.regulation.baseline is None:
        return
    from wattline.control.catalog import catalog

    name, known = spec.regulation.baseline, catalog()["select"]
    here: Path = ("regulation", "baseline")
    if name not in known:
        yield here, f"unknown select policy {name!r}{did_you_mean(name, known)}"
    elif known[name].target:
        yield here, f"{name!r} follows a power target; the baseline takes part in no market"
