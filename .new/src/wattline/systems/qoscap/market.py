"""The days of the QoSCap study in a real market: PJM's recorded RegD signal, and its hourly prices of July 2022."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wattline.arrays import Floats
from wattline.bidding.hours.days import Days
from wattline.bidding.hours.laws import recorded
from wattline.errors import InputError
from wattline.formats.series import prices
from wattline.formats.series.signals import read_signal
from wattline.market.bill import Book
from wattline.market.held import Held
from wattline.market.products.pjm import Pjm
from wattline.systems.at_hand import data_file
from wattline.systems.qoscap.cases import OURS, OUT, PAIRS
from wattline.units import DAY_S, HOUR_S

SIGNAL = "regulation/pjm_regd_2020-07-16_2s.csv.gz"
ENERGY = "regulation/pjm_rt_hourly_lmp_PJM-RTO_2022-07.csv"
RESULTS = "regulation/pjm_regulation_market_results_2022-07_hourly.csv"
REGULATION = {"service": "REG"}

MARKET_OURS = replace(OURS, params={"bid": {"energy": 0.09, "reserve": 0.02, "error": 0.02}})
"""Our pair with the mean prices of that month: there reserve is worth a quarter of energy, and error what it costs in
score.
"""

MARKET_PAIRS = (*(pair for pair in PAIRS if pair.bid in ("adaptive", "fixed-heuristic")), MARKET_OURS, OUT)


def market_days(days: Days, seed: int) -> Days:
    """Return days under the recorded signal, from a place that the seed picks, and the prices of a day that it
    picks.
    """
    path = data_file(SIGNAL)
    if path is None:
        raise InputError(f"no recorded signal at hand: set WATTLINE_DATA to a folder with {SIGNAL}")
    signal = recorded(read_signal(path, start_s=0.0).signal)(days.last_s, seed)
    shift_s = DAY_S * (2 * seed)
    book = Book(
        Pjm(),
        {
            "energy": _series(ENERGY, prices.ENERGY, None, shift_s),
            "capacity": _series(RESULTS, prices.CAPACITY, REGULATION, shift_s),
            "performance": _series(RESULTS, prices.PERFORMANCE, REGULATION, shift_s),
        },
    )
    return replace(days, signal=signal, book=book)


def _series(name: str, known: tuple[str, ...], where: dict[str, str] | None, shift_s: float) -> Held:
    """Return an hourly series in $/kWh on the clock of a run that begins some days into it, to be repeated."""
    path = data_file(name)
    if path is None:
        raise InputError(f"no prices at hand: set WATTLINE_DATA to a folder with {name}")
    held = prices.read_held(path, prices.Reading(where=where, gaps="hold", twice="first"), known=known).held
    count = int((held.end_s - held.start_s) // HOUR_S)
    time_s: Floats = HOUR_S * np.arange(count, dtype=np.float64)
    values = held.values[np.searchsorted(held.time_s, held.start_s + time_s, side="right") - 1]
    return Held(time_s - shift_s, values / 1e3, HOUR_S * count - shift_s, repeat=True)
