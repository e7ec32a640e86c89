"""Regulation as the papers settle it: the mean power bid is charged, the reserve paid, the tracking error penalised.

AQA eq. 4: cost = (Π^P·P̄ − Π^R·R + Π^ε·R·ε̄)·h. The last term is Π^ε ∫ |P − P_target| dt (AQA eq. 26), which exists
without a reserve too; so a bid cannot escape its error by offering R = 0, and the cost is continuous in R. Without
a bid the energy drawn is charged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wattline.market.products.base import Charges, Key, Product
from wattline.market.span import Span


@dataclass(frozen=True)
class Paper(Product):
    """The rules of the papers."""

    name: ClassVar = "paper"
    about: ClassVar = "energy as bid, `reserve` and `error`"
    keys: ClassVar = (
        Key("energy", "energy", column="energy_price_per_kwh", flat="energy"),
        Key(
            "reserve",
            "reserve, paid to us (paper; default: that of `[regulation] prices`)",
            column="capacity_price_per_kwh",
            flat="reserve",
        ),
        Key(
            "error",
            "gap between power and target, charged to us (paper; default: that of `[regulation] prices`)",
            column="error_price_per_kwh",
            flat="error",
        ),
    )
    follows: ClassVar = True
    scored: ClassVar = False

    def bill(self, span: Span) -> Charges:
        """Return the mean power at the price of energy, the reserve and the gap at theirs."""
        reserve, gap = span.of_reserve(span.prices["reserve"]), span.of_gap(span.prices["error"])
        return Charges(span.bid_cost, reserve, 0.0, gap)


PRODUCT = Paper
