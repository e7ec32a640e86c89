"""Flat prices of the papers; ``market.held`` has series."""

from __future__ import annotations

import math
from dataclasses import dataclass

from wattline.errors import InputError


@dataclass(frozen=True)
class Tariff:
    """Flat prices in dollars per kWh: energy Π^P, reserve Π^R (paid to us) and tracking error Π^ε (AQA eq. 4)."""

    energy_price_per_kwh: float = 0.10
    reserve_price_per_kwh: float = 0.10
    error_price_per_kwh: float = 0.10

    def __post_init__(self) -> None:
        for name in ("energy_price_per_kwh", "reserve_price_per_kwh", "error_price_per_kwh"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise InputError(f"tariff: {name} must not be negative (got {value})")

    def prices(self) -> dict[str, float]:
        """Return them by the keys of the papers' product."""
        return {
            "energy": self.energy_price_per_kwh,
            "reserve": self.reserve_price_per_kwh,
            "error": self.error_price_per_kwh,
        }
