"""Hourly market prices from tables: energy ($/MWh), regulation capability and performance ($/MW), as PJM publishes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wattline.errors import InputError, TraceError
from wattline.market.tariff import HourlyPrices
from wattline.model.jobs import Floats
from wattline.traces.notes import Finding, Note, listed, settle
from wattline.traces.signal_columns import Series, find_columns, read_series, times_of, values_of

ENERGY = ("energy_per_mwh", "total_lmp_rt", "total_lmp_da", "lmp", "energy_price")
CAPACITY = ("capacity_per_mw", "reg_ccp", "rmccp", "capacity_price")
PERFORMANCE = ("performance_per_mw", "reg_pcp", "rmpcp", "performance_price")
_HOUR_S = 3600.0


@dataclass(frozen=True)
class PriceTrace:
    """Prices with their origin."""

    prices: HourlyPrices
    notes: tuple[Note, ...]
    source: str


@dataclass(frozen=True)
class _Column:
    """The prices of one column, by the hour since 1970 in which they hold."""

    series: Series
    name: str
    hour: Floats
    price: Floats


def read_prices(paths: Sequence[Path | str], *, energy_column: str | None = None, strict: bool = False) -> PriceTrace:
    """Read the three prices from one or several tables and match them by hour.

    ``energy_column`` chooses among several energy prices (real-time before day-ahead otherwise). Hours that lack one of
    the prices are dropped and counted; the others must follow each other without a break.
    """
    if not paths:
        raise InputError("prices: give at least one file")
    tables = [read_series(path) for path in paths]
    wanted = (("energy", (energy_column.lower(),) if energy_column else ENERGY), ("capacity", CAPACITY),
              ("performance", PERFORMANCE))  # fmt: skip
    columns = [_find(tables, what, names) for what, names in wanted]
    common = columns[0].hour
    for column in columns[1:]:
        common = np.intersect1d(common, column.hour)
    notes: tuple[Note, ...] = ()
    for table in tables:
        lost = [found for column in columns if column.series is table for found in _left_out(column, common)]
        notes += settle(table.path, [*table.wrong, *lost], strict=strict)
    if not common.size:
        raise InputError(f"prices: no hour has all three prices in {listed(str(path) for path in paths)}")
    breaks = np.flatnonzero(np.diff(common) != 1)
    if breaks.size:
        before, after = (np.datetime64(int(common[breaks[0] + k] * _HOUR_S), "s") for k in (0, 1))
        raise InputError(f"prices: hours are missing between {before} and {after} in {listed(map(str, paths))}")
    energy, capacity, performance = (c.price[np.searchsorted(c.hour, common)] for c in columns)
    prices = HourlyPrices(energy, capacity, performance, 0.0, float(common[0]) * _HOUR_S)
    return PriceTrace(prices, notes, ", ".join(str(path) for path in paths))


def _find(tables: list[Series], what: str, names: tuple[str, ...]) -> _Column:
    """Return the first column of one of these names, in order of the names."""
    for name in names:
        for table in tables:
            if name in table.frame.columns:
                return _column(table, name)
    found = listed(name for table in tables for name in table.frame.columns)
    where = tables[0].path if len(tables) == 1 else "prices"
    raise TraceError.at(where, f"no column of {what} prices ({', '.join(names)}) among {found}")


def _column(table: Series, name: str) -> _Column:
    time, _ = find_columns(table, None, name)
    if time is None:
        raise TraceError.at(table.path, f"no column of times in {listed(table.frame.columns)}")
    seconds, epoch = times_of(table, time)
    hour, price = np.round((seconds + epoch) / _HOUR_S, 6), values_of(table.frame[name])
    for bad, what, field in (
        (~np.isfinite(hour) | (hour != np.floor(hour)), "is not the beginning of an hour with its date", time),
        (~np.isfinite(price), "is not a price", name),
    ):
        rows = np.flatnonzero(bad)
        if rows.size:
            line, value = int(table.lines[rows[0]]), table.frame[field][int(rows[0])]
            raise TraceError.at(table.path, what, line=line, field=field, value=value)
    order = np.argsort(hour, kind="stable")
    again = np.flatnonzero(np.diff(hour[order]) == 0)
    if again.size:
        row = int(order[again[0] + 1])
        hint = "give a file with one node or product only"
        value = table.frame[time][row]
        raise TraceError.at(
            table.path, "hour is listed twice", line=int(table.lines[row]), field=time, value=value, hint=hint
        )
    return _Column(table, name, hour[order], price[order])


def _left_out(column: _Column, common: Floats) -> list[Finding]:
    missing = np.flatnonzero(~np.isin(column.hour, common))
    if not missing.size:
        return []
    at = np.datetime64(int(column.hour[missing[0]] * _HOUR_S), "s")
    reason = f"hour lacks another price beside {column.name}"
    return [Finding("dropped", reason, int(missing.size), None, column.name, str(at), f"{at} UTC")]
