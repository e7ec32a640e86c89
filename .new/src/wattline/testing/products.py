"""Conformance of market products: what every one must satisfy, as checks that outsiders run on their own.

The checks bill random hours: power that changes, a bid that is followed more or less well, and a series for every key.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields

import numpy as np

from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.market.bill import Bids, Book, bill_hours, hour_edges
from wattline.market.held import Held, constant
from wattline.market.hour import COLUMNS, Hour
from wattline.market.products.base import Product
from wattline.model.regulation import Signal
from wattline.testing.report import CheckError, Report, Row

HOURS = 3
SEEDS = range(4)
_MONEY = ("energy_cost", "capacity_credit", "performance_credit", "error_cost", "cost")
_TYPICAL = {"price": 0.1, "ratio": 2.0, "power": 30e3}


def declares_itself(product: Product) -> None:
    """It has a name and a line, keys with lines of their own, columns that accounts have, defaults for settings."""
    if not (product.name and product.about and "\n" not in product.about):
        raise CheckError("needs a name, and a line that says how it is settled (about)")
    names, columns = [key.name for key in product.keys], {item.name for item in COLUMNS}
    if len(set(names)) < len(names) or "energy" not in names:
        raise CheckError(f"its keys must be different and have energy among them (got {', '.join(names)})")
    for key in product.keys:
        if not key.about or (key.column and key.column not in columns):
            raise CheckError(f"key {key.name}: needs a line (about) and a column of the accounts, or none")
    settings = sorted(key.name for key in product.keys if key.kind == "span")
    if settings != sorted(item.name for item in fields(product)):  # type: ignore[arg-type]
        raise CheckError(f"its fields must be its keys of kind span ({', '.join(settings) or 'none'})")


def bills_are_numbers(product: Product) -> None:
    """Money is finite where prices are known, and the same when the same hours are billed again."""
    for seed in SEEDS:
        first, again = (_bill(product, seed) for _ in range(2))
        for row in first:
            if not all(math.isfinite(getattr(row, name)) for name in _MONEY):
                raise CheckError(f"a bill is not a number, with all prices known: {_money(row)}")
        if list(map(_money, first)) != list(map(_money, again)):
            raise CheckError("the same hours were billed twice, with two results")


def charges_energy_alone_for_nothing(product: Product) -> None:
    """Without a bid and with all but the price of energy at zero the energy drawn is charged, nothing else."""
    for seed in SEEDS:
        series = {name: held if name == "energy" else constant(0.0) for name, held in _series(product, seed).items()}
        for row in _bill(product, seed, series, sold=False):
            if _money(row) != {**dict.fromkeys(_MONEY, 0.0), "energy_cost": row.drawn_cost, "cost": row.drawn_cost}:
                raise CheckError(f"nothing was sold, {row.drawn_cost:g} $ were drawn, and the bill says {_money(row)}")


def doubles_with_prices(product: Product) -> None:
    """Twice the prices are twice the bill."""
    priced = {key.name for key in product.keys if key.kind == "price"}
    for seed in SEEDS:
        series = _series(product, seed)
        twice = {name: held.scaled(2.0) if name in priced else held for name, held in series.items()}
        for one, two in zip(_bill(product, seed, series), _bill(product, seed, twice), strict=True):
            for name in _MONEY:
                _same(f"{name} at twice the prices", getattr(two, name), 2.0 * getattr(one, name))


def is_the_same_however_cut(product: Product) -> None:
    """Pieces are cut where something changes: a step that changes nothing changes no bill."""
    for seed in SEEDS:
        series, (time_s, power_w) = _series(product, seed), _power(seed)
        more_s = np.sort(np.append(time_s, np.random.default_rng(seed).uniform(0.0, HOURS * 3600.0, 50)))
        finer = power_w[np.searchsorted(time_s, more_s, side="right") - 1]
        rows = _bill(product, seed, series), _bill(product, seed, series, power=(more_s, finer))
        for one, two in zip(*rows, strict=True):
            for name in _MONEY:
                _same(f"{name} of hours cut anew", getattr(two, name), getattr(one, name))


def knows_no_cost_without_a_price(product: Product) -> None:
    """Where a price of energy is missing there is no cost."""
    short = Held(np.zeros(1), np.array([0.1]), 1.5 * 3600.0)
    rows = _bill(product, 0, _series(product, 0) | {"energy": short})
    if [math.isnan(row.cost) for row in rows] != [False, True, True]:
        raise CheckError(f"the price of energy ends within the second of three hours; costs: {[r.cost for r in rows]}")


def leaves_its_hours_alone(product: Product) -> None:
    """It writes into nothing that it is handed."""
    series = _series(product, 0)
    for held in series.values():
        held.time_s.setflags(write=False)
        held.values.setflags(write=False)
    _bill(product, 0, series)


CHECKS: tuple[Callable[[Product], None], ...] = (
    declares_itself,
    bills_are_numbers,
    charges_energy_alone_for_nothing,
    doubles_with_prices,
    is_the_same_however_cut,
    knows_no_cost_without_a_price,
    leaves_its_hours_alone,
)


def check_product(product: Product) -> Report:
    """Run every check on a market product; a failed one is a row of the report."""
    report = Report(f"market product {product.name!r}")
    for check in CHECKS:
        title = check.__name__.replace("_", " ")
        try:
            check(product)
        except (CheckError, InputError, ValueError, TypeError, KeyError, AttributeError, ArithmeticError) as problem:
            report.rows.append(Row(title, passed=False, detail=f"{type(problem).__name__}: {problem}"))
        else:
            report.rows.append(Row(title, passed=True))
    return report


def _bill(
    product: Product,
    seed: int,
    series: dict[str, Held] | None = None,
    *,
    sold: bool = True,
    power: tuple[Floats, Floats] | None = None,
) -> list[Hour]:
    """Bill three hours; those of a product that follows a signal have a bid in all but the first half hour."""
    random = np.random.default_rng([seed, 1])
    book = Book(product, _series(product, seed) if series is None else series)
    edges = hour_edges(0.0, HOURS * 3600.0, 0.0)
    signal = Signal(0.0, 4.0, np.clip(random.normal(0.0, 0.4, HOURS * 900), -1.0, 1.0))
    bids = Bids(np.array([1800.0, 5000.0]), np.array([40e3, 45e3]), np.array([10e3, 5e3]))
    return bill_hours(
        *(power or _power(seed)),
        edges,
        book,
        signal=signal if product.follows and sold else None,
        bids=bids if product.follows and sold else None,
    )


def _power(seed: int) -> tuple[Floats, Floats]:
    random = np.random.default_rng([seed, 2])
    time_s = np.append(0.0, np.sort(random.uniform(0.0, HOURS * 3600.0, 200)))
    return time_s, random.uniform(20e3, 60e3, time_s.size)


def _series(product: Product, seed: int) -> dict[str, Held]:
    """Return a series for every key but settings, with a step somewhere in the first hours."""
    random, found = np.random.default_rng([seed, 3]), {}
    for key in product.keys:
        if key.kind != "span":
            values = _TYPICAL[key.kind] * random.uniform(0.5, 1.5, 4)
            found[key.name] = Held(np.append(0.0, np.sort(random.uniform(0.0, 9000.0, 3))), values)
    return found


def _money(row: Hour) -> dict[str, float]:
    return {name: getattr(row, name) for name in _MONEY}


def _same(what: str, found: float, wanted: float) -> None:
    if not math.isclose(found, wanted, rel_tol=1e-6, abs_tol=1e-9):
        raise CheckError(f"{what}: {found!r}, not {wanted!r}")
