"""Accounts of a run, hour by hour: energy, money and carbon, exact by time from the steps of power, bids and prices.

A row is a clock hour, cut where the run or the billed time begins and ends; its length says whether it is a whole one.
All that changes within a row – power, target, prices of any step, also the bid – is integrated over the pieces between
two changes, so a row may hold several bids: ``mean_w`` and ``reserve_w`` are then averages over the time with a bid,
and the money is each bid's own. With E for energy drawn, P̄, R, ε for the bid and its error, h for the hours of a
piece:

*paper* (AQA eq. 4): energy Π^P·P̄·h while a bid holds and Π^P·E otherwise; capacity credit Π^R·R·h; penalty Π^ε·R·ε·h.

*pjm* (Manual 28 §4): energy Π^P·E; capacity credit score·Π^C·R·h; performance credit score·mileage ratio·Π^M·R·h. The
score (``market.score``) is that of the whole row, of (P − P̄)/R against y while there is a reserve. A row without a
stretch of reserve as long as a window of the score cannot be scored and is paid nothing; ``Totals.unscored_s`` says how
much.

cost = energy − capacity credit − performance credit + penalty. Nothing is rounded: a total is the exact sum of its
rows. A row that lies not wholly within a series of prices has no cost (NaN) and is left out of totals,
``Totals.unpriced_s`` of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Literal

import numpy as np
import numpy.typing as npt

from wattline.errors import InputError
from wattline.market.held import Held, constant, cut, held_signal
from wattline.market.score import Score, Scoring, averages, pooled_score
from wattline.market.tracking import MARGIN, require
from wattline.model.jobs import Floats
from wattline.model.regulation import Signal

Rules = Literal["paper", "pjm"]
RULES: tuple[Rules, ...] = ("paper", "pjm")
HOUR_S = 3600.0
_J_PER_KWH = 3.6e6
_NEAR_S = 1e-6
"""Edges of rows closer than this are one."""


@dataclass(frozen=True)
class Book:
    """Rules and prices: $/kWh of energy (also: of a kW of reserve for an hour), carbon in kg/kWh (None: not known)."""

    rules: Rules = "paper"
    energy: Held = field(default_factory=lambda: constant(0.10))
    capacity: Held = field(default_factory=lambda: constant(0.10))
    error: Held = field(default_factory=lambda: constant(0.10))
    performance: Held = field(default_factory=lambda: constant(0.0))
    mileage_ratio: Held = field(default_factory=lambda: constant(1.0))
    carbon: Held | None = None
    scoring: Scoring = field(default_factory=Scoring)
    margin: float = MARGIN

    def __post_init__(self) -> None:
        if self.rules not in RULES:
            raise InputError(f"accounts: rules must be paper or pjm (got {self.rules!r})")


@dataclass(frozen=True)
class Bids:
    """The bids of a run as steps: from each time on a mean power (NaN: no bid) and a reserve, until the next time."""

    time_s: Floats
    mean_w: Floats
    reserve_w: Floats


@dataclass(frozen=True)
class Hour:
    """One row; NaN where something does not exist (no bid, no score, no price). Money in dollars, prices in $/kWh.

    ``bid_s`` and ``offered_s`` are the seconds with a bid and with a reserve; ``error`` and ``exceed_share`` are of the
    latter. ``energy_cost`` is what is charged, ``drawn_cost`` what the energy drawn would cost without demand response,
    ``bid_cost`` that of the mean power bid. Prices are averages over time.
    """

    start_s: float
    end_s: float
    billed: int
    energy_kwh: float
    mean_power_w: float
    bid_s: float
    offered_s: float
    mean_w: float
    reserve_w: float
    mean_target_w: float
    error: float
    exceed_share: float
    score: float
    correlation: float
    delay: float
    precision: float
    mileage: float
    energy_cost: float
    drawn_cost: float
    bid_cost: float
    capacity_credit: float
    performance_credit: float
    error_cost: float
    cost: float
    carbon_kg: float
    energy_price_per_kwh: float
    capacity_price_per_kwh: float
    performance_price_per_kwh: float
    error_price_per_kwh: float
    mileage_ratio: float
    carbon_kg_per_kwh: float

    @property
    def span_s(self) -> float:
        """Length of the row."""
        return self.end_s - self.start_s


@dataclass(frozen=True)
class Totals:
    """Sums over rows; ``error`` and ``exceed_share`` over the time with a reserve, ``score`` by reserve and time.

    ``unscored_s`` is time with a reserve that was not scored, ``unpriced_s`` the time of rows that were left out
    because a price, or carbon where it is known elsewhere, is missing.
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
    error: float
    exceed_share: float
    score: float
    unscored_s: float
    unpriced_s: float

    @property
    def revenue(self) -> float:
        """What regulation was paid, less its penalty."""
        return self.capacity_credit + self.performance_credit - self.error_cost


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


def accounts(
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
        raise InputError(f"accounts: power is not known at the beginning, {edges[0]:g} s")
    desk = _Desk(Held(time_s, power_w), book, signal, bids)
    rows = []
    for begin_s, end_s in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        inside = billed is None or any(a - _NEAR_S <= begin_s and end_s <= b + _NEAR_S for a, b in billed)
        rows.append(desk.row(begin_s, end_s, billed=int(inside)))
    return rows


def total(rows: Sequence[Hour]) -> Totals:
    """Add up rows: exact sums, so that the total is the same in whatever order they are added."""
    carbon = any(not math.isnan(row.carbon_kg) for row in rows)
    whole = [row for row in rows if not math.isnan(row.cost) and not (carbon and math.isnan(row.carbon_kg))]
    offered = [(row, row.offered_s) for row in whole if row.offered_s > 0]
    scored = [(row, seconds * row.reserve_w) for row, seconds in offered if not math.isnan(row.score)]

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
        carbon_kg=add("carbon_kg") if carbon else math.nan,
        error=_mean("error", offered),
        exceed_share=_mean("exceed_share", offered),
        score=_mean("score", scored),
        unscored_s=math.fsum(seconds for row, seconds in offered if math.isnan(row.score)),
        unpriced_s=math.fsum(row.span_s for row in rows) - add("span_s"),
    )


def _mean(name: str, weighted: Sequence[tuple[Hour, float]]) -> float:
    weight = math.fsum(w for _, w in weighted)
    return math.fsum(getattr(row, name) * w for row, w in weighted) / weight if weight > 0 else math.nan


@dataclass(frozen=True)
class _Sold:
    """The part of a row that comes of a bid; ``capacity`` and ``performance`` are before the score."""

    bid_s: float = 0.0
    offered_s: float = 0.0
    mean_w: float = math.nan
    reserve_w: float = math.nan
    mean_target_w: float = math.nan
    error: float = math.nan
    exceed_share: float = math.nan
    score: Score | None = None
    mileage: float = math.nan
    capacity: float = 0.0
    performance: float = 0.0
    penalty: float = 0.0
    bid_cost: float = 0.0


class _Desk:
    """Where rows are made: every step function of a run, and the rules."""

    def __init__(self, power: Held, book: Book, signal: Signal | None, bids: Bids | None) -> None:
        self.book, self.signal, self.bids = book, signal, None
        carbon = book.carbon or constant(math.nan)
        self.drawn = [power, book.energy, book.capacity, book.performance, book.error, book.mileage_ratio, carbon]
        if bids is None or not bids.time_s.size:
            return
        if signal is None:
            raise InputError("accounts: a bid needs a regulation signal to be held against")
        self.bids = [held_signal(signal), Held(bids.time_s, bids.mean_w), Held(bids.time_s, bids.reserve_w)]

    def row(self, begin_s: float, end_s: float, *, billed: int) -> Hour:
        bids = self.bids if self.bids and np.isfinite(self.bids[1].within(begin_s, end_s)[1]).any() else []
        edges, found = cut(begin_s, end_s, [*self.drawn, *bids])
        (power_w, energy, *others), held = found[: len(self.drawn)], found[len(self.drawn) :]
        seconds = np.diff(edges)
        kwh = power_w * seconds / _J_PER_KWH
        energy_kwh, drawn_cost = _sum(kwh), _sum(energy * kwh)
        sold = self._sold(edges, power_w, [energy, *others], held) if held else _Sold(bid_cost=drawn_cost)
        charged, credit, bonus, penalty = self._settle(sold, drawn_cost)
        return Hour(
            begin_s,
            end_s,
            billed,
            energy_kwh,
            energy_kwh * _J_PER_KWH / (end_s - begin_s),
            sold.bid_s,
            sold.offered_s,
            sold.mean_w,
            sold.reserve_w,
            sold.mean_target_w,
            sold.error,
            sold.exceed_share,
            *_parts(sold.score),
            sold.mileage,
            charged,
            drawn_cost,
            sold.bid_cost,
            credit,
            bonus,
            penalty,
            charged - credit - bonus + penalty,
            _sum(others[-1] * kwh),
            *(_average(price, seconds) for price in (energy, *others)),
        )

    def _settle(self, sold: _Sold, drawn_cost: float) -> tuple[float, float, float, float]:
        """Return what the rules charge for energy, pay for capacity and performance, and charge for the error."""
        if self.book.rules == "paper":
            return sold.bid_cost, sold.capacity, 0.0, sold.penalty
        paid = 0.0 if sold.score is None else sold.score.score
        return drawn_cost, paid * sold.capacity, paid * sold.performance, 0.0

    def _sold(self, edges: Floats, power_w: Floats, prices: list[Floats], held: list[Floats]) -> _Sold:
        energy, capacity, performance, error, ratio, _ = prices
        y, mean_w, reserve_w = held
        seconds, bid = np.diff(edges), ~np.isnan(mean_w)
        y = self._checked(edges, y, bid)
        offered = bid & (reserve_w > 0)
        target_w, hours = mean_w + y * reserve_w, seconds / HOUR_S
        gap_w, held_s = np.abs(power_w - target_w), seconds[offered]
        reserve_kwh = (reserve_w / 1e3 * hours)[offered]
        epsilon = gap_w[offered] / reserve_w[offered]
        moves = np.abs(np.diff(y))[offered[1:] & offered[:-1]]
        return _Sold(
            _sum(seconds[bid]),
            _sum(held_s),
            _average(mean_w[bid], seconds[bid]),
            _average(reserve_w[bid], seconds[bid]),
            _average(target_w[bid], seconds[bid]),
            _average(epsilon, held_s),
            _average((epsilon > self.book.margin).astype(np.float64), held_s),
            self._score(edges, (power_w - mean_w) / np.where(offered, reserve_w, np.nan), y, offered),
            _sum(moves) if offered.any() else math.nan,
            _sum(capacity[offered] * reserve_kwh),
            _sum((ratio * performance)[offered] * reserve_kwh),
            _sum((error * gap_w / 1e3 * hours)[bid]),
            _sum(energy * np.where(bid, mean_w, power_w) / 1e3 * hours),
        )

    def _checked(self, edges: Floats, y: Floats, bid: npt.NDArray[np.bool_]) -> Floats:
        """Return the signal, which must hold where a bid does, but for what rounding leaves between their ends."""
        missing = bid & np.isnan(y)
        if self.signal is not None and _sum(np.diff(edges)[missing]) > _NEAR_S * (edges[-1] - edges[0]):
            require(self.signal, float(edges[:-1][bid][0]), float(edges[1:][bid][-1]))
        return np.where(missing, 0.0, y)

    def _score(self, edges: Floats, response: Floats, y: Floats, offered: npt.NDArray[np.bool_]) -> Score | None:
        """Score the stretches in which a reserve was offered."""
        rules, spans = self.book.scoring, []
        turns = np.flatnonzero(np.diff(np.concatenate([[0], offered.astype(np.int64), [0]])))
        for first, last in zip(turns[::2].tolist(), turns[1::2].tolist(), strict=True):
            begin_s, end_s = float(edges[first]), float(edges[last])
            if end_s - begin_s >= rules.window_s:
                wanted, given = (
                    averages(edges[first:last], x[first:last], begin_s, end_s, rules) for x in (y, response)
                )
                spans.append((wanted, given))
        return pooled_score(spans, rules)


def _parts(score: Score | None) -> tuple[float, float, float, float]:
    if score is None:
        return math.nan, math.nan, math.nan, math.nan
    return score.score, score.correlation, score.delay, score.precision


def _sum(values: Floats) -> float:
    return float(values.sum())


def _average(values: Floats, seconds: Floats) -> float:
    """Return an average by time; one value that holds throughout is itself, not the rounding of a sum."""
    if not values.size:
        return math.nan
    if (values == values[0]).all():
        return float(values[0])
    return float(np.einsum("i,i->", values, seconds) / seconds.sum())


COLUMNS = tuple(item.name for item in fields(Hour))
"""Names of what a row holds, in order."""
