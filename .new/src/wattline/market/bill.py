"""The one bill: hours of a run, or an hour that a search tries, turned into money by a market product.

A row is a clock hour, cut where the run or the billed time begins and ends; its length says whether it is a whole one.
All that changes within a row – power, target, prices of any step, also the bid – is integrated over the pieces between
two changes, so a row may hold several bids: ``mean_w`` and ``reserve_w`` are then averages over the time with a bid,
and the money is each bid's own.

cost = energy − capacity credit − performance credit + penalty.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.market.held import Held, constant, cut, held_signal
from wattline.market.hour import COLUMNS, Hour
from wattline.market.products.base import Product
from wattline.market.products.paper import Paper
from wattline.market.score import Scoring
from wattline.market.span import J_PER_KWH, Span, total_of
from wattline.market.tariff import Tariff
from wattline.market.tracking import MARGIN, Tracking, require
from wattline.model.regulation import Bid, Signal
from wattline.units import HOUR_S, in_full

_NEAR_S = 1e-6
"""Edges of rows closer than this are one."""
_NOTHING = np.full(1, math.nan)


@dataclass(frozen=True)
class Bill:
    """Money of a span in dollars.

    ``drawn_cost`` and ``bid_cost`` are the costs without demand response of what was drawn and of what was bid. The
    first is the honest one (QoSG's); the second (AQA's) flatters a bid that promises more than it draws.
    """

    energy_cost: float
    capacity_credit: float
    performance_credit: float
    error_cost: float
    drawn_cost: float
    bid_cost: float

    @property
    def cost(self) -> float:
        """What is to be paid."""
        return self.energy_cost - self.capacity_credit - self.performance_credit + self.error_cost

    @property
    def reduction_drawn_pct(self) -> float:
        """Saving in per cent of the cost of the energy really drawn; NaN where that is not above zero."""
        return _reduction_pct(self.cost, self.drawn_cost)

    @property
    def reduction_bid_pct(self) -> float:
        """Saving in per cent of the cost of the mean power that was bid (the AQA paper's figure)."""
        return _reduction_pct(self.cost, self.bid_cost)


def bill(product: Product, span: Span) -> Bill:
    """Bill a span: the only code that turns what happened into money."""
    return Bill(*product.bill(span), drawn_cost=span.drawn_cost, bid_cost=span.bid_cost)


@dataclass(frozen=True)
class Book:
    """A product and its prices as series in $/kWh, by the names of its keys; carbon in kg/kWh (None: not known).

    A key that is left out has its default. ``scoring`` says how rows are scored, ``margin`` which error is too large.
    """

    product: Product
    prices: Mapping[str, Held]
    carbon: Held | None = None
    scoring: Scoring = field(default_factory=Scoring)
    margin: float = MARGIN

    def __post_init__(self) -> None:
        names = [key.name for key in self.product.keys if key.kind != "span"]
        for name in self.prices:
            if name not in names:
                raise InputError(f"accounts: {name} does not go with rules = {self.product.name!r}")
        for key in self.product.keys:
            if key.default is None and key.kind != "span" and key.name not in self.prices:
                raise InputError(f"accounts: rules = {self.product.name!r} needs a price of {key.name}")

    @property
    def flat(self) -> bool:
        """Whether no price changes and nothing is scored: one piece then bills a span of one bid."""
        return not self.product.scored and all(held.always for held in self.prices.values())

    def shifted(self, by_s: float) -> Book:
        """Return the same prices later by some seconds."""
        if self.flat and self.carbon is None:
            return self
        prices = {name: held if held.always else held.shifted(by_s) for name, held in self.prices.items()}
        carbon = self.carbon if self.carbon is None or self.carbon.always else self.carbon.shifted(by_s)
        return replace(self, prices=prices, carbon=carbon)

    def series(self) -> dict[str, Held]:
        """Return what a span is cut by."""
        of_keys = [key for key in self.product.keys if key.kind != "span"]
        given = {key.name: self.prices.get(key.name) or constant(key.default or 0.0) for key in of_keys}
        return dict(self.product.series(given))


def flat_book(tariff: Tariff | None = None, carbon: Held | None = None) -> Book:
    """Return the papers' rules at flat prices."""
    prices = (tariff or Tariff()).prices()
    return Book(Paper(), {name: constant(price) for name, price in prices.items()}, carbon)


@dataclass(frozen=True)
class Bids:
    """The bids of a run as steps: from each time on a mean power (NaN: no bid) and a reserve, until the next time."""

    time_s: Floats
    mean_w: Floats
    reserve_w: Floats


def bill_flat(followed: Tracking, bid: Bid | None, book: Book) -> Bill:
    """Bill a span of one bid (None: out of the market) as one piece, by a book whose prices are flat.

    >>> followed = Tracking(3600.0, 28.8e6, 8000.0, 8000.0, 300.0, 0.1, 0.0, 0.02)
    >>> found = bill_flat(followed, Bid(8000.0, 3000.0), flat_book())
    >>> round(found.cost, 6), round(found.reduction_drawn_pct, 3)
    (0.53, 33.75)
    """
    if not (followed.span_s > 0 and math.isfinite(followed.span_s)):
        raise InputError(f"bill: the span must have a length (got {followed.span_s} s)")
    mean_w, reserve_w = (math.nan, 0.0) if bid is None else (bid.mean_w, bid.reserve_w)
    span = Span(
        np.array([0.0, followed.span_s]),
        np.array([followed.mean_power_w]),
        np.array([mean_w]),
        np.array([reserve_w]),
        np.array([followed.mean_gap_w]),
        _NOTHING,
        {name: held.values for name, held in book.series().items()},
    )
    return bill(book.product, span)


def bill_tried(
    followed: Tracking, bid: Bid, book: Book, time_s: Floats, power_w: Floats, signal: Signal, begin_s: float
) -> Bill:
    """Bill a span that a search tried, of one bid, as a run would be charged for it."""
    if book.flat:
        return bill_flat(followed, bid, book)
    bids = Bids(np.array([begin_s]), np.array([bid.mean_w]), np.array([bid.reserve_w]))
    span, _ = _Desk(Held(time_s, power_w), book, signal, bids).span(begin_s, begin_s + followed.span_s)
    return bill(book.product, span)


def hour_edges(begin_s: float, end_s: float, anchor_s: float, more: Sequence[float] = ()) -> Floats:
    """Return where rows begin and end: at the whole hours of a clock that strikes at ``anchor_s``, and at ``more``.

    >>> hour_edges(100.0, 8000.0, 3600.0).tolist()
    [100.0, 3600.0, 7200.0, 8000.0]
    """
    first, last = math.floor((begin_s - anchor_s) / HOUR_S), math.ceil((end_s - anchor_s) / HOUR_S)
    strikes = anchor_s + HOUR_S * np.arange(first, last + 1, dtype=np.float64)
    inner = np.unique(np.concatenate([strikes, np.asarray(more, dtype=np.float64)]))
    inner = inner[(inner > begin_s + _NEAR_S) & (inner < end_s - _NEAR_S)]
    inner = inner[np.append(True, np.diff(inner) > _NEAR_S)] if inner.size else inner
    return np.concatenate([[begin_s], inner, [end_s]])


def bill_hours(
    time_s: Floats,
    power_w: Floats,
    edges: Floats,
    book: Book,
    *,
    signal: Signal | None = None,
    bids: Bids | None = None,
    billed: Sequence[tuple[float, float]] | None = None,
) -> list[Hour]:
    """Return one row between each two edges; power is given as steps, the last of which holds on.

    Rows within one of the ``billed`` spans are marked so, all of them by default. Where a bid holds the signal must
    too.
    """
    if not (time_s.size and time_s[0] <= edges[0]):
        raise InputError(f"accounts: power is not known at the beginning, {in_full(edges[0])} s")
    desk = _Desk(Held(time_s, power_w), book, signal, bids)
    rows = []
    for begin_s, end_s in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        inside = billed is None or any(a - _NEAR_S <= begin_s and end_s <= b + _NEAR_S for a, b in billed)
        rows.append(desk.row(begin_s, end_s, billed=int(inside)))
    return rows


def columns_of(rows: Sequence[Hour]) -> dict[str, Any]:
    """Return rows as the columns of the journal's table ``hours``; without rows there is no table."""
    return {item.name: np.array([getattr(row, item.name) for row in rows]) for item in COLUMNS} if rows else {}


class _Desk:
    """Where rows are made: every step function of a run, and the book."""

    def __init__(self, power: Held, book: Book, signal: Signal | None, bids: Bids | None) -> None:
        self.book, self.signal = book, signal
        self.series = book.series()
        self.columns = {key.name: key.column for key in book.product.keys if key.column}
        self.drawn = [power, book.carbon or constant(math.nan), *self.series.values()]
        self.bids: list[Held] = []
        if bids is None or not bids.time_s.size:
            return
        if signal is None:
            raise InputError("accounts: a bid needs a regulation signal to be held against")
        self.bids = [held_signal(signal), Held(bids.time_s, bids.mean_w), Held(bids.time_s, bids.reserve_w)]

    def row(self, begin_s: float, end_s: float, *, billed: int) -> Hour:
        span, carbon = self.span(begin_s, end_s)
        money, energy_kwh = bill(self.book.product, span), total_of(span.kwh)
        shown: dict[str, Any] = {column: span.average(span.prices[name]) for name, column in self.columns.items()}
        return Hour(
            start_s=begin_s,
            end_s=end_s,
            billed=billed,
            energy_kwh=energy_kwh,
            mean_power_w=energy_kwh * J_PER_KWH / (end_s - begin_s),
            **span.followed(self.book.margin),
            **vars(money),
            cost=money.cost,
            carbon_kg=total_of(carbon * span.kwh),
            carbon_kg_per_kwh=span.average(carbon),
            **shown,
        )

    def span(self, begin_s: float, end_s: float) -> tuple[Span, Floats]:
        """Cut a row into pieces; return it and the carbon intensity in them."""
        bids = self.bids if self.bids and np.isfinite(self.bids[1].within(begin_s, end_s)[1]).any() else []
        edges, found = cut(begin_s, end_s, [*self.drawn, *bids])
        (power_w, carbon, *prices), held = found[: len(self.drawn)], found[len(self.drawn) :]
        if held:
            y, mean_w, reserve_w = held
            y = self._checked(edges, y, ~np.isnan(mean_w))
        else:
            y, mean_w, reserve_w = np.zeros(power_w.size), np.full(power_w.size, np.nan), np.zeros(power_w.size)
        gap_w = np.abs(power_w - (mean_w + y * reserve_w))
        priced = dict(zip(self.series, prices, strict=True))
        return Span(edges, power_w, mean_w, reserve_w, gap_w, y, priced, self.book.scoring), carbon

    def _checked(self, edges: Floats, y: Floats, bid: npt.NDArray[np.bool_]) -> Floats:
        """Return the signal, which must hold where a bid does, but for what rounding leaves between their ends."""
        missing = bid & np.isnan(y)
        if self.signal is not None and total_of(np.diff(edges)[missing]) > _NEAR_S * (edges[-1] - edges[0]):
            require(self.signal, float(edges[:-1][bid][0]), float(edges[1:][bid][-1]))
        return np.where(missing, 0.0, y)


def _reduction_pct(cost: float, without: float) -> float:
    return 100.0 * (1.0 - cost / without) if without > 0 else math.nan
