"""What things cost: flat prices of the papers, or an hour's as a market publishes them; ``market.held`` has series."""

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


@dataclass(frozen=True)
class HourPrice:
    """Prices of one hour: energy in $/MWh, regulation capability and performance in $/MW of reserve and hour."""

    energy_per_mwh: float
    capacity_per_mw: float
    performance_per_mw: float = 0.0
