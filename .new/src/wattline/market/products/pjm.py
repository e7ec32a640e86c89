"""Regulation in the manner of PJM (Manual 28 §4): energy as drawn, capacity and performance paid by the score.

Capacity credit score·Π^C·R·h; performance credit score·mileage ratio·Π^M·R·h. The score (``market.score``) is that of
the whole span, of (P − P̄)/R against y while there is a reserve. A stretch of reserve that is shorter than a window of
the score cannot be scored: neither score nor credits count it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wattline.market.products.base import Charges, Key, Product
from wattline.market.span import Span


@dataclass(frozen=True)
class Pjm(Product):
    """The rules of PJM."""

    name: ClassVar = "pjm"
    about: ClassVar = "energy as drawn, `capacity` and `performance` by score"
    keys: ClassVar = (
        Key("energy", "energy", column="energy_price_per_kwh", default=None),
        Key("capacity", "reserve, paid to us × score (pjm)", column="capacity_price_per_kwh", default=None),
        Key(
            "performance",
            "following, paid to us × `mileage` × score (pjm; default: 0)",
            column="performance_price_per_kwh",
        ),
        Key(
            "mileage",
            "mileage ratio of the signal (pjm; default: 1)",
            kind="ratio",
            column="mileage_ratio",
            default=1.0,
        ),
    )
    follows: ClassVar = True
    scored: ClassVar = True

    def bill(self, span: Span) -> Charges:
        """Return the energy drawn, and what the score leaves of both credits."""
        paid = 0.0 if span.score is None else span.score.score
        capacity = span.of_reserve(span.prices["capacity"], scored=True)
        performance = span.of_reserve(span.prices["mileage"] * span.prices["performance"], scored=True)
        return Charges(span.drawn_cost, paid * capacity, paid * performance, 0.0)


PRODUCT = Pjm
