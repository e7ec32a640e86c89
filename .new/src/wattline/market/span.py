"""A span of time as a bill sees it: cut wherever power, target, bid or a price changes, one value a piece.

A search bills an hour as one piece, with its mean power and its mean gap to the target: under flat prices and one bid
every sum here is the same, whatever the number of pieces.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats
from wattline.market.score import Score, Scoring, averages, pooled_score
from wattline.market.tracking import MARGIN
from wattline.units import HOUR_S

J_PER_KWH = 3.6e6
_W_PER_KW = 1e3


@dataclass(frozen=True)
class Span:
    """Pieces of a span: ``edges_s`` has one value more than the others.

    ``mean_w`` is NaN where no bid holds; ``gap_w`` is |P − P_target| there where one does, ``signal`` the value y of
    the regulation signal. ``prices`` has the series of a product by the names of its keys, and ``energy``.
    """

    edges_s: Floats
    power_w: Floats
    mean_w: Floats
    reserve_w: Floats
    gap_w: Floats
    signal: Floats
    prices: Mapping[str, Floats]
    scoring: Scoring = field(default_factory=Scoring)

    @cached_property
    def seconds(self) -> Floats:
        """Length of every piece."""
        return np.diff(self.edges_s)

    @cached_property
    def hours(self) -> Floats:
        """The same in hours."""
        return self.seconds / HOUR_S

    @cached_property
    def kwh(self) -> Floats:
        """Energy drawn in every piece."""
        return self.power_w * self.seconds / J_PER_KWH

    @cached_property
    def bid(self) -> npt.NDArray[np.bool_]:
        """In which pieces a bid holds."""
        return ~np.isnan(self.mean_w)

    @cached_property
    def offered(self) -> npt.NDArray[np.bool_]:
        """In which pieces it holds a reserve."""
        return self.bid & (self.reserve_w > 0)

    @cached_property
    def drawn_cost(self) -> float:
        """What the energy drawn costs."""
        return total_of(self.prices["energy"] * self.kwh)

    @cached_property
    def bid_cost(self) -> float:
        """What the mean power bid costs, and where there is no bid the energy drawn."""
        if not self.bid.any():
            return self.drawn_cost
        watts = np.where(self.bid, self.mean_w, self.power_w)
        return total_of(self.prices["energy"] * watts / _W_PER_KW * self.hours)

    def of_reserve(self, price: Floats, *, scored: bool = False) -> float:
        """Return a price per kW and hour of the reserve, over the time in which one is held (or only ``scored``)."""
        held = self.scored if scored else self.offered
        reserve_kwh = (self.reserve_w / _W_PER_KW * self.hours)[held]
        return total_of(price[held] * reserve_kwh)

    def of_gap(self, price: Floats) -> float:
        """Return a price per kWh of the gap between power and target, over the time with a bid."""
        return total_of((price * self.gap_w / _W_PER_KW * self.hours)[self.bid])

    @cached_property
    def _stretches(self) -> list[tuple[int, int]]:
        """Pieces from and to which a reserve is held for at least a window of the score."""
        turns = np.flatnonzero(np.diff(np.concatenate([[0], self.offered.astype(np.int64), [0]])))
        pairs = zip(turns[::2].tolist(), turns[1::2].tolist(), strict=True)
        return [
            pair for pair in pairs if self.scoring.holds_window(float(self.edges_s[pair[1]] - self.edges_s[pair[0]]))
        ]

    @cached_property
    def scored(self) -> npt.NDArray[np.bool_]:
        """In which pieces a reserve is held that can be scored: its stretch is as long as a window."""
        found = np.zeros(self.offered.size, dtype=np.bool_)
        for first, last in self._stretches:
            found[first:last] = True
        return found

    @cached_property
    def score(self) -> Score | None:
        """Score of the stretches in which a reserve was offered; None where none is as long as a window."""
        rules, spans = self.scoring, []
        response = (self.power_w - self.mean_w) / np.where(self.offered, self.reserve_w, np.nan)
        for first, last in self._stretches:
            begin_s, end_s = float(self.edges_s[first]), float(self.edges_s[last])
            wanted, given = (
                averages(self.edges_s[first:last], x[first:last], begin_s, end_s, rules)
                for x in (self.signal, response)
            )
            spans.append((wanted, given))
        return pooled_score(spans, rules)

    def average(self, values: Floats) -> float:
        """Return an average by time."""
        return average(values, self.seconds)

    def followed(self, margin: float = MARGIN) -> dict[str, Any]:
        """Return what an hour's row says about the bid and how it was followed."""
        bid, offered, seconds = self.bid, self.offered, self.seconds
        if not bid.any():
            return dict.fromkeys(_HELD, 0.0) | dict.fromkeys(_FOLLOWED, math.nan)
        target_w = self.mean_w + self.signal * self.reserve_w
        held_s, error = seconds[offered], self.gap_w[offered] / self.reserve_w[offered]
        moves = np.abs(np.diff(self.signal))[offered[1:] & offered[:-1]]
        parts = [getattr(self.score, name) if self.score is not None else math.nan for name in _SCORE]
        return {
            "bid_s": total_of(seconds[bid]),
            "offered_s": total_of(held_s),
            "scored_s": total_of(seconds[self.scored]),
            "scored_kwh": self.of_reserve(np.ones(seconds.size), scored=True),
            "mean_w": average(self.mean_w[bid], seconds[bid]),
            "reserve_w": average(self.reserve_w[bid], seconds[bid]),
            "mean_target_w": average(target_w[bid], seconds[bid]),
            "error": average(error, held_s),
            "exceed_share": average((error > margin).astype(np.float64), held_s),
            **dict(zip(_SCORE, parts, strict=True)),
            "mileage": total_of(moves) if offered.any() else math.nan,
        }


_SCORE = ("score", "correlation", "delay", "precision")
_HELD = ("bid_s", "offered_s", "scored_s", "scored_kwh")
_FOLLOWED = ("mean_w", "reserve_w", "mean_target_w", "error", "exceed_share", *_SCORE, "mileage")


def total_of(values: Floats) -> float:
    """Return a sum as a plain number."""
    return float(values.sum())


def average(values: Floats, seconds: Floats) -> float:
    """Return an average by time; one value that holds throughout is itself, not the rounding of a sum."""
    if not values.size:
        return math.nan
    if (values == values[0]).all():
        return float(values[0])
    return float(np.einsum("i,i->", values, seconds) / seconds.sum())
