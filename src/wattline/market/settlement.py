"""What an hour of regulation costs: the papers' flat bill, and a market's bill with hourly prices and a score.

*Flat* (AQA eq. 4): cost = (Π^P·P̄ − Π^R·R + Π^ε·R·ε̄)·h. The last term is Π^ε ∫ |P − P_target| dt (AQA eq. 26), which
exists without a reserve too; so a bid cannot escape its error by offering R = 0, and the cost is continuous in R.

*Without demand response* there are two figures. The honest one charges what was really drawn, Π^P·P_mean·h (QoSG's);
AQA's charges the bid, Π^P·P̄·h, which flatters a bid that promises more than it draws.

*Market*: cost = E·LMP − credit, credit = R·score·(capacity price + mileage ratio·performance price)·h, as PJM settled
regulation (Manual 28 §4) with the performance score of ``market.score``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from wattline.errors import InputError
from wattline.market.tariff import HourPrice, Tariff
from wattline.market.tracking import Tracking
from wattline.model.regulation import Bid

_W_PER_KW = 1e3
_W_PER_MW = 1e6


@dataclass(frozen=True)
class Settlement:
    """A bill in dollars: ``cost`` = energy − reserve + error.

    ``without_drawn`` and ``without_bid`` are the costs without demand response of what was drawn and of what was bid;
    the reductions against them are in per cent, NaN where such a cost is zero. Quote the first.
    """

    cost: float
    energy_cost: float
    reserve_credit: float
    error_cost: float
    without_drawn: float
    without_bid: float

    @property
    def reduction_drawn_pct(self) -> float:
        """Saving in per cent of the cost of the energy really drawn."""
        return _reduction_pct(self.cost, self.without_drawn)

    @property
    def reduction_bid_pct(self) -> float:
        """Saving in per cent of the cost of the mean power that was bid (the AQA paper's figure)."""
        return _reduction_pct(self.cost, self.without_bid)


def settle(tracking: Tracking, bid: Bid, tariff: Tariff | None = None, hours: float | None = None) -> Settlement:
    """Bill a span by flat prices; ``hours`` (its own length if None) scales every term.

    >>> followed = Tracking(3600.0, 28.8e6, 8000.0, 8000.0, 300.0, 0.1, 0.0, 0.02)
    >>> bill = settle(followed, Bid(8000.0, 3000.0))
    >>> round(bill.cost, 6), round(bill.reduction_drawn_pct, 3)
    (0.53, 33.75)
    """
    prices = tariff or Tariff()
    length_h = _hours(tracking, hours)
    energy = prices.energy_price_per_kwh * bid.mean_w / _W_PER_KW * length_h
    reserve = prices.reserve_price_per_kwh * bid.reserve_w / _W_PER_KW * length_h
    error = prices.error_price_per_kwh * tracking.mean_gap_w / _W_PER_KW * length_h
    drawn = prices.energy_price_per_kwh * tracking.mean_power_w / _W_PER_KW * length_h
    return Settlement(energy - reserve + error, energy, reserve, error, drawn, energy)


def regulation_credit(
    bid: Bid, score: float, price: HourPrice, mileage_ratio: float = 1.0, hours: float = 1.0
) -> float:
    """Return what a market pays: R·score·(capacity price + mileage ratio·performance price)·h, in dollars."""
    if not 0.0 <= score <= 1.0:
        raise InputError(f"settlement: a performance score lies between 0 and 1 (got {score})")
    if not (mileage_ratio >= 0 and math.isfinite(mileage_ratio)):
        raise InputError(f"settlement: the mileage ratio must not be negative (got {mileage_ratio})")
    pay = price.capacity_per_mw + mileage_ratio * price.performance_per_mw
    return bid.reserve_w / _W_PER_MW * score * pay * hours


def settle_market(
    tracking: Tracking, bid: Bid, score: float, price: HourPrice, mileage_ratio: float = 1.0, hours: float | None = None
) -> Settlement:
    """Bill an hour by a market's prices: energy as drawn, less the credit; the score stands in for an error price.

    ``energy_cost`` is what was drawn here, so ``without_drawn`` is the same and the saving is the credit.
    """
    length_h = _hours(tracking, hours)
    drawn = tracking.mean_power_w / _W_PER_MW * length_h * price.energy_per_mwh
    bid_cost = bid.mean_w / _W_PER_MW * length_h * price.energy_per_mwh
    credit = regulation_credit(bid, score, price, mileage_ratio, length_h)
    return Settlement(drawn - credit, drawn, credit, 0.0, drawn, bid_cost)


def _hours(tracking: Tracking, hours: float | None) -> float:
    length_h = tracking.span_s / 3600.0 if hours is None else hours
    if not (length_h > 0 and math.isfinite(length_h)):
        raise InputError(f"settlement: hours must be positive (got {length_h})")
    return length_h


def _reduction_pct(cost: float, without: float) -> float:
    return 100.0 * (1.0 - cost / without) if without > 0 else math.nan
