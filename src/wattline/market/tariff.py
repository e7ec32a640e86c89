"""What things cost: flat prices of the papers, or hourly prices as a market publishes them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wattline.errors import InputError
from wattline.model.jobs import Floats


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


@dataclass(frozen=True)
class HourlyPrices:
    """Prices hour by hour from ``start_s`` on; prices may be negative, as they sometimes are.

    ``epoch_unix_s`` is the Unix time of second 0, NaN if unknown.
    """

    energy_per_mwh: Floats
    capacity_per_mw: Floats
    performance_per_mw: Floats
    start_s: float = 0.0
    epoch_unix_s: float = math.nan

    def __post_init__(self) -> None:
        sizes = {self.energy_per_mwh.size, self.capacity_per_mw.size, self.performance_per_mw.size}
        if len(sizes) != 1 or 0 in sizes:
            counts = f"{self.energy_per_mwh.size}, {self.capacity_per_mw.size} and {self.performance_per_mw.size}"
            raise InputError(f"prices: energy, capacity and performance need one value an hour each (got {counts})")
        for name in ("energy_per_mwh", "capacity_per_mw", "performance_per_mw"):
            wrong = np.flatnonzero(~np.isfinite(getattr(self, name)))
            if wrong.size:
                raise InputError(f"prices: {name} of hour {int(wrong[0])} is not a number")

    def __len__(self) -> int:
        return int(self.energy_per_mwh.size)

    def at(self, time_s: float) -> HourPrice:
        """Return the prices of the hour that holds at a time."""
        hour = math.floor((time_s - self.start_s) / 3600.0)
        if not 0 <= hour < len(self):
            last = self.start_s + 3600.0 * len(self)
            raise InputError(f"prices: known from {self.start_s:g} s to {last:g} s, but {time_s:g} s is asked for")
        return HourPrice(
            float(self.energy_per_mwh[hour]), float(self.capacity_per_mw[hour]), float(self.performance_per_mw[hour])
        )
