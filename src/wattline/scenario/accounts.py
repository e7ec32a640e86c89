"""From the prices of a scenario to the accounts of a run: series read and placed on its clock, rows for the journal."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from wattline.errors import InputError
from wattline.market.bill import Bids, Book, bill_hours, columns_of, hour_edges
from wattline.market.held import Held, constant
from wattline.market.hour import HOUR_S, Hour
from wattline.market.products import find
from wattline.market.products.base import Product
from wattline.market.score import Scoring
from wattline.scenario.regulation import MOST_HOURS
from wattline.scenario.spec_prices import CARBON_UNITS, PricesSpec, SeriesSpec, kind_of, units_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wattline.formats.series.prices import HeldTrace
    from wattline.model.jobs import JobTable
    from wattline.reading.notes import Note
    from wattline.scenario.read import Document
    from wattline.scenario.spec_regulation import RegulationSpec
    from wattline.sim.simulate import Result

DAY_S = 86400.0
MOST_ROWS = 10_000_000
"""Rows of a repeated series that a run may go through; whoever asks for more has mistaken a unit."""
_MARKET_UNIT = "$/MWh"
"""Unit of the columns that markets publish."""


@dataclass(frozen=True)
class Clock:
    """Which wall clock a run is placed on: the Unix time of its beginning, and the zone in which hours are shown."""

    begin_unix_s: float
    zone: str

    @property
    def local_s(self) -> float:
        """Seconds of the wall clock at the run's beginning, as if it showed Universal Time."""
        from wattline.reading.calendar import offset_at

        return self.begin_unix_s + offset_at(self.begin_unix_s, self.zone)


@dataclass(frozen=True)
class Billing:
    """What turns a run into accounts: the book of prices on the run's clock, and which hours are billed (None: all)."""

    book: Book
    start_s: float
    hours: tuple[tuple[float, float], ...] | None = None
    clock: Clock | None = None
    about: dict[str, Any] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()

    def rows(self, result: Result, timeline: Mapping[str, Any]) -> list[Hour]:
        """Return the accounts of a run from its timeline, up to where it stopped."""
        begin_s, end_s = float(result.state.start_s[0]), float(result.state.now[0])
        if not begin_s < end_s:
            return []
        billed = self.billed(end_s)
        more = [edge for span in billed or () for edge in span]
        edges = hour_edges(begin_s, end_s, self._anchor_s(billed), more)
        return bill_hours(
            np.asarray(timeline["time_s"]),
            np.asarray(timeline["power_w"]),
            edges,
            self.book,
            signal=result.options.signal,
            bids=bids_of(result),
            billed=billed,
        )

    def columns(self, result: Result, timeline: Mapping[str, Any]) -> dict[str, Any]:
        """Return the accounts as columns of the journal."""
        found = columns_of(self.rows(result, timeline))
        return found | {"clock": self._clock(found["start_s"])} if found else {}

    def billed(self, end_s: float) -> list[tuple[float, float]] | None:
        """Return the time of the billed hours that had ended by then, as spans; None where all time is billed."""
        if self.hours is None:
            return None
        spans: list[tuple[float, float]] = []
        for begin, end in self.hours:
            if end > end_s:
                break
            if spans and math.isclose(spans[-1][1], begin, rel_tol=1e-12, abs_tol=1e-6):
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((begin, end))
        return spans

    def manifest(self) -> dict[str, Any]:
        """Return it as plain values for the journal."""
        hours = None if self.hours is None else [list(span) for span in self.billed(math.inf) or ()]
        return self.about | {"billed": hours, "notes": [asdict(note) for note in self.notes]}

    def _anchor_s(self, billed: list[tuple[float, float]] | None) -> float:
        """Return a time at which the clock strikes: without a calendar where billing begins."""
        if self.clock is not None:
            return self.start_s - self.clock.local_s % HOUR_S
        return billed[0][0] if billed else self.start_s

    def _clock(self, start_s: Any) -> list[str]:
        from wattline.reading.calendar import clock_of

        if self.clock is None:
            return [""] * len(start_s)
        return clock_of(self.clock.begin_unix_s + (start_s - self.start_s), self.clock.zone)


def bids_of(result: Result) -> Bids | None:
    """Return the bids that were in force in a run, whoever made them; None if there was none."""
    from wattline.sim.simulate import bid_steps

    steps = bid_steps(*(result.logs[name] for name in ("ev_time_s", "ev_kind", "ev_value")))
    return Bids(*steps) if steps[0].size else None


def build_billing(
    document: Document,
    jobs: JobTable,
    start_s: float,
    least_end_s: float,
    hours: tuple[tuple[float, float], ...] | None,
) -> Billing | None:
    """Return how a run from ``start_s`` to ``least_end_s`` or later is accounted for; None without prices and bid.

    ``hours`` are those that regulation bills (None: it does not take part).
    """
    spec, market = document.spec.prices, document.spec.regulation
    if spec is None and hours is None:
        return None
    if least_end_s - start_s > MOST_HOURS * HOUR_S:
        told = f"accounts of {(least_end_s - start_s) / HOUR_S:,.0f} hours would be kept, more than {MOST_HOURS:,}"
        raise document.source.error(("prices",), f"{told}; end the run earlier ([run] until)")
    given = spec or PricesSpec()
    traces = {name: _read(document, name, series) for name, series in _files(given)}
    clock = _clock(document, given, traces, jobs, start_s)
    held = {name: _place(trace, getattr(given, name), clock, start_s) for name, trace in traces.items()}
    for name, series in held.items():
        _check_length(document, name, series, clock, start_s, least_end_s)
    score = given.score
    book = Book(
        document.located(("prices",), _product, given),
        _prices(given, market, held),
        _find(given, held, "carbon") if given.carbon is not None else None,
        Scoring(score.correlation, score.delay, score.precision, score.interval, score.window, score.longest),
    )
    notes = tuple(note for trace in traces.values() for note in trace.notes)
    return Billing(book, start_s, hours, clock, _about(given, market, traces, clock), notes)


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
    if series.value is None:
        return held[name]
    default = {"carbon": CARBON_UNITS["g/kWh"]}.get(name, 1.0)
    return constant(series.value * (units_of(name)[series.unit] if series.unit is not None else default))


def _files(given: PricesSpec) -> list[tuple[str, SeriesSpec]]:
    named = [(name, getattr(given, name)) for name in PricesSpec.model_fields]
    return [(name, item) for name, item in named if isinstance(item, SeriesSpec) and item.file is not None]


def _read(document: Document, name: str, spec: SeriesSpec) -> HeldTrace:
    """Read a series in the units of a book."""
    from dataclasses import replace

    from wattline.formats.series import prices

    path = document.base / str(spec.file)
    if not path.exists():
        raise document.source.error(("prices", name), f"no such file: {path}")
    known = {"energy": prices.ENERGY, "carbon": prices.CARBON, "performance": prices.PERFORMANCE}.get(name, ())
    known = prices.CAPACITY if name in ("capacity", "reserve") else known
    how = prices.Reading(spec.column, spec.time, spec.zone, spec.where, spec.step, spec.order, spec.gaps, spec.twice)
    least = 0.0 if name == "carbon" or kind_of(name) != "price" else -math.inf
    try:
        trace = prices.read_held(path, how, known=known, least=least)
    except InputError as problem:
        raise type(problem)(f"{document.source.where(('prices', name))}: {problem}") from None
    unit = spec.unit or {"carbon": "g/kWh"}.get(name) or {"power": "W"}.get(kind_of(name), "")
    unit = unit or (_MARKET_UNIT if trace.column in known else "")
    if not unit and kind_of(name) != "ratio":
        raise document.source.error(
            ("prices", name), f'the unit of column {trace.column!r} is not known: say unit = "$/MWh" or "$/kWh"'
        )
    return replace(trace, held=trace.held.scaled(units_of(name).get(unit, 1.0)))


def _clock(
    document: Document, given: PricesSpec, traces: Mapping[str, HeldTrace], jobs: JobTable, start_s: float
) -> Clock | None:
    """Return when the run takes place: as told, or where a series has dates as the trace says; None if nobody asks."""
    from wattline.reading.calendar import unix_of

    if given.start is not None:
        try:
            begin = unix_of(given.start, given.zone or "UTC")
        except InputError as problem:
            raise document.source.error(("prices", "start"), str(problem)) from None
        offset = given.start.strip()[-6:]
        own = offset if len(given.start) > 11 and offset[0] in "+-" else "UTC"
        return Clock(begin, given.zone or own)
    dated = next((name for name, trace in traces.items() if trace.placed == "date"), None)
    if dated is None:
        return None
    if math.isnan(jobs.epoch_unix_s):
        span = _span(traces[dated].held, given.zone or "UTC")
        raise document.source.error(
            ("prices",),
            f"{dated} is a series of dates ({span}) and the jobs have none: say when the run begins, start = …",
        )
    return Clock(jobs.epoch_unix_s + start_s, given.zone or "UTC")


def _place(trace: HeldTrace, spec: SeriesSpec, clock: Clock | None, start_s: float) -> Held:
    """Return a series on the run's clock, to be repeated if told."""
    held = trace.held
    if trace.placed == "day" and spec.repeat and held.start_s > 0:  # before the first row of a day the last one holds
        held = Held(np.append(0.0, held.time_s), np.append(held.values[-1], held.values), held.end_s)
    zero_s = start_s
    if trace.placed == "date" and clock is not None:
        zero_s = start_s - clock.begin_unix_s
    elif trace.placed == "day" and clock is not None:
        zero_s = start_s - clock.local_s % DAY_S
    return Held(held.time_s + zero_s, held.values, held.end_s + zero_s, repeat=spec.repeat)


def _check_length(document: Document, name: str, held: Held, clock: Clock | None, start_s: float, end_s: float) -> None:
    """Refuse a series that ends before the run can have ended, begins after it, or repeats without end."""
    spec: SeriesSpec = getattr(document.spec.prices, name)
    if held.repeat:
        rounds = (end_s - start_s) / (held.end_s - held.start_s)
        if rounds * held.time_s.size > MOST_ROWS:
            told = (
                f"{spec.file} would begin anew {rounds:,.0f} times in the run: it lasts {held.end_s - held.start_s:g} s"
            )
            raise document.source.error(("prices", name), told)
    if held.covers(start_s, end_s):
        return
    run = Held(np.array([start_s]), np.zeros(1), end_s)
    if clock is None:
        said = [f"{h.start_s - start_s:g} s to {h.end_s - start_s:g} s of the run" for h in (held, run)]
    else:
        by_s = clock.begin_unix_s - start_s
        said = [_span(h.shifted(by_s), clock.zone) for h in (held, run)]
    raise document.source.error(
        ("prices", name),
        f"{spec.file} holds {said[0]}, but the run takes (at least) {said[1]}; give another start, a longer series, or repeat = true",
    )


def _span(held: Held, zone: str) -> str:
    from wattline.reading.calendar import clock_of

    return " to ".join(clock_of(np.array([held.start_s, held.end_s]), zone))


def _about(
    given: PricesSpec, market: RegulationSpec | None, traces: Mapping[str, HeldTrace], clock: Clock | None
) -> dict[str, Any]:
    """Return what the journal says about the origin of prices."""
    from wattline.reading.calendar import clock_of

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
