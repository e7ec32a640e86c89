"""Accounts of a run, hour by hour: energy, money and carbon, exact by time from the steps of power, bids and prices.

A row is a clock hour, cut where the run or the billed time begins and ends; its length says whether it is a whole one. All
that changes within a row – power, target, prices of any step, also the bid – is integrated over the pieces between two
changes, so a row may hold several bids: ``mean_w`` and ``reserve_w`` are then averages over the time with a bid, and the
money is each bid's own. With E for energy drawn, P̄, R, ε for the bid and its error, h for the hours of a piece:

*paper* (AQA eq. 4): energy Π^P·P̄·h while a bid holds and Π^P·E otherwise; capacity credit Π^R·R·h; penalty Π^ε·R·ε·h.

*pjm* (Manual 28 §4): energy Π^P·E; capacity credit score·Π^C·R·h; performance credit score·mileage ratio·Π^M·R·h. The
score (``market.score``) is that of the whole row, of (P − P̄)/R against y while there is a reserve. A row without a stretch
of reserve as long as a window of the score cannot be scored and is paid nothing; ``Totals.unscored_s`` says how much.

cost = energy − capacity credit − performance credit + penalty. Nothing is rounded: a total is the exact sum of its rows. A
row that lies not wholly within a series of prices has no cost (NaN) and is left out of totals, ``Totals.unpriced_s`` of it.
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

    ``unscored_s`` is time with a reserve that was not scored, ``unpriced_s`` the time of rows that were left out because
    a price, or carbon where it is known elsewhere, is missing.
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
    time_s: Floats, power_w: Floats, edges: Floats, book: Book, *, signal: Signal | None = None,
    bids: Bids | None = None, billed: Sequence[tuple[float, float]] | None = None,
) -> list[Hour]:  # fmt: skip
    """Return one row between each two edges; power is given as steps, the last of which holds on.

    Rows within one of the ``billed`` spans are marked so, all of them by default. Where a bid holds the signal must too.
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


class _Desk:
    """Where rows are made: every step function of a run, and the rules."""

    def __init__(self, power: Held, book: Book, signal: Signal | None, bids: Bids | None) -> None:
        if bids is not None and bids.time_s.size and signal is None:
            raise InputError("accounts: a bid needs a regulation signal to be held against")
        self.book, self.signal = book, signal
        none = constant(math.nan)
        held = bids is not None and bids.time_s.size > 0
        self.functions = [
            power,
            held_signal(signal) if signal is not None else none,
            Held(bids.time_s, bids.mean_w) if bids is not None and held else none,
            Held(bids.time_s, bids.reserve_w) if bids is not None and held else none,
            *(book.energy, book.capacity, book.performance, book.error, book.mileage_ratio, book.carbon or none),
        ]

    def row(self, begin_s: float, end_s: float, *, billed: int) -> Hour:
        edges, found = cut(begin_s, end_s, self.functions)
        power_w, y, mean_w, reserve_w, energy, capacity, performance, error, ratio, carbon = found
        seconds = np.diff(edges)
        bid = ~np.isnan(mean_w)
        missing = bid & np.isnan(y)
        if self.signal is not None and _sum(seconds[missing]) > _NEAR_S * (end_s - begin_s):
            require(self.signal, float(edges[:-1][bid][0]), float(edges[1:][bid][-1]))
        y = np.where(missing, 0.0, y)  # what rounding leaves between the ends of a signal and of a bid
        kwh, hours = power_w * seconds / _J_PER_KWH, seconds / HOUR_S
        target_w = mean_w + y * reserve_w
        offered = bid & (reserve_w > 0)
        reserve_kwh = (reserve_w / 1e3 * hours)[offered]
        gap_kwh = (np.abs(power_w - target_w) / 1e3 * hours)[bid]
        score = self._score(edges, (power_w - mean_w) / np.where(offered, reserve_w, np.nan), y, offered)
        drawn_cost = _sum(energy * kwh)
        bid_cost = _sum(energy * np.where(bid, mean_w / 1e3 * hours, kwh))
        charged, credit, bonus, penalty = drawn_cost, _sum(capacity[offered] * reserve_kwh), 0.0, 0.0
        if self.book.rules == "paper":
            charged, penalty = bid_cost, _sum(error[bid] * gap_kwh)
        else:
            paid = 0.0 if score is None else score.score
            credit, bonus = paid * credit, paid * _sum((ratio * performance)[offered] * reserve_kwh)
        span_s, bid_s, offered_s = end_s - begin_s, _sum(seconds[bid]), _sum(seconds[offered])
        epsilon = np.abs(power_w - target_w)[offered] / reserve_w[offered]
        moves = np.abs(np.diff(y))[offered[1:] & offered[:-1]]
        energy_kwh = _sum(kwh)
        return Hour(
            begin_s, end_s, billed, energy_kwh, energy_kwh * _J_PER_KWH / span_s, bid_s, offered_s,
            _average(mean_w[bid], seconds[bid]), _average(reserve_w[bid], seconds[bid]),
            _average(target_w[bid], seconds[bid]), _average(epsilon, seconds[offered]),
            _average((epsilon > self.book.margin).astype(np.float64), seconds[offered]),
            *(_parts(score)), _sum(moves) if offered.any() else math.nan,
            charged, drawn_cost, bid_cost, credit, bonus, penalty, charged - credit - bonus + penalty, _sum(carbon * kwh),
            *(_average(price, seconds) for price in (energy, capacity, performance, error, ratio, carbon)),
        )  # fmt: skip

    def _score(self, edges: Floats, response: Floats, y: Floats, offered: npt.NDArray[np.bool_]) -> Score | None:
        """Score the stretches in which a reserve was offered."""
        spans = []
        turns = np.flatnonzero(np.diff(np.concatenate([[0], offered.astype(np.int64), [0]])))
        for first, last in zip(turns[::2].tolist(), turns[1::2].tolist(), strict=True):
            begin_s, end_s = float(edges[first]), float(edges[last])
            if end_s - begin_s < self.book.scoring.window_s:
                continue
            spans.append(tuple(
                averages(edges[first:last], x[first:last], begin_s, end_s, self.book.scoring) for x in (y, response)
            ))  # fmt: skip
        return pooled_score(spans, self.book.scoring)  # type: ignore[arg-type]


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
