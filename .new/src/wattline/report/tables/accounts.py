"""Tables of the accounts – energy, money, carbon by hour and by day – for the terminal and for the report."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from wattline.market.hour import Hour, Totals
from wattline.report.count.accounts import Accounts, DayRow
from wattline.report.page import folded, table
from wattline.report.show import MISSING, dollars, number, plural, show

if TYPE_CHECKING:
    from wattline.report.count.metrics import Summary

HOURS = 48
"""Rows that a report shows hour by hour before it shows days, and the hours behind a line that opens them."""

LISTED = 24 * 31
"""Hours that a report lists at all; of longer runs they are in the journal only."""

_COLUMNS: tuple[tuple[str, Callable[[Any], str], str], ...] = (
    ("energy", lambda t: f"{number(t.energy_kwh, 4)} kWh", ""),
    ("mean power", lambda t: show(_power_w(t), "W"), ""),
    ("error", lambda t: show(t.error, "share"), "error"),
    ("above 30 %", lambda t: show(t.exceed_share, "share"), "error"),
    ("score", lambda t: number(t.score), "score"),
    ("energy cost", lambda t: dollars(t.energy_cost), "energy_cost"),
    ("− capacity", lambda t: dollars(t.capacity_credit), "capacity_credit"),
    ("− performance", lambda t: dollars(t.performance_credit), "performance_credit"),
    ("+ error", lambda t: dollars(t.error_cost), "error_cost"),
    ("= cost", lambda t: dollars(t.cost), ""),
    ("without, as drawn", lambda t: dollars(t.drawn_cost), "sold"),
    ("as bid", lambda t: dollars(t.bid_cost), "sold"),
    ("carbon", lambda t: carbon(t.carbon_kg), "carbon_kg"),
)
"""Title, text, and what must be neither unknown nor 0 in the total, or *sold*, for the column to be shown."""


def carbon(kg: float) -> str:
    """Return a mass of carbon dioxide.

    >>> carbon(12.345), carbon(45600.0)
    ('12.3 kg', '45.6 t')
    """
    if math.isnan(kg):
        return MISSING
    return f"{number(kg)} kg" if kg < 9999.5 else f"{number(kg / 1e3)} t"


def accounts_facts(summary: Summary) -> list[tuple[str, str]]:
    """Return the totals as (title, text): what the cost is made of, the score, carbon, and what is not in it."""
    found = summary.accounts
    if found is None:
        return []
    whole = found.total
    rows = []
    if summary.regulation is None:  # otherwise it stands with the bill
        rows.append(("cost", f"{dollars(whole.cost)} for {hours_words(whole)}: {parts_words(whole)}"))
    if found.scored and not math.isnan(whole.score):
        rows.append(("score", number(whole.score)))
    if not math.isnan(whole.carbon_kg):
        rows.append(("carbon", carbon_words(whole)))
    rows += [("", text) for text in missing_words(found)]
    return rows


def hours_words(whole: Totals) -> str:
    """Return how long was billed."""
    return f"{number(whole.hours)} hour{'' if whole.hours == 1 else 's'}"


def parts_words(whole: Totals) -> str:
    """Return what a cost is made of."""
    parts = [f"energy {dollars(whole.energy_cost)}"]
    for sign, name, value in (
        ("−", "capacity", whole.capacity_credit),
        ("−", "performance", whole.performance_credit),
        ("+", "error", whole.error_cost),
    ):
        parts += [f"{sign} {name} {dollars(value)}"] if value else []
    return " ".join(parts)


def carbon_words(whole: Totals) -> str:
    """Return carbon, and per kWh."""
    per = f", {number(1e3 * whole.carbon_kg / whole.carbon_kwh)} g/kWh" if whole.carbon_kwh > 0 else ""
    return f"{carbon(whole.carbon_kg)} CO₂{per}"


def missing_words(found: Accounts) -> list[str]:
    """Return what a reader of the totals must know is not in them."""
    whole, words = found.total, []
    if whole.unpriced_s > 0:
        words.append(
            f"{show(whole.unpriced_s, 's')} of rows that reach beyond the series of prices are not in the cost"
        )
    if found.has_carbon and math.isnan(whole.carbon_kg):
        words.append("no row of the billed time lies wholly in the series of carbon, so none is counted")
    elif whole.no_carbon_s > 0 and not math.isnan(whole.carbon_kg):
        words.append(
            f"{show(whole.no_carbon_s, 's')} of rows that reach beyond the series of carbon are not in the carbon"
        )
    if found.scored and whole.unscored_s > 0:
        words.append(f"{show(whole.unscored_s, 's')} of reserve were too short to be scored and not paid")
    return words


def accounts_table(found: Accounts) -> str:
    """Return the accounts for a page: by hour, or by day with the hours behind a line that opens them."""
    notes = "".join(f" {text[0].upper()}{text[1:]}." for text in missing_words(found))
    left = len(found.hours) - len(found.billed)
    warm = (
        f" {plural(left, 'row')} outside the billed time {'is' if left == 1 else 'are'} in the journal only."
        if left
        else ""
    )
    note = (
        f'<p class="counted">Nothing is rounded but what is shown: the total is the sum of the rows.{warm}{notes}</p>'
    )
    if len(found.billed) <= HOURS:
        return _rows(found, found.billed, "hour") + note
    if len(found.billed) > LISTED:
        return _rows(found, found.days, "day") + note
    by_hour = folded(f"Hour by hour ({len(found.billed):,})", _rows(found, found.billed, "hour"))
    return _rows(found, found.days, "day") + note + by_hour


def _rows(found: Accounts, rows: Sequence[Hour] | Sequence[DayRow], what: str) -> str:
    sold = any(row.bid_s > 0 for row in found.billed)
    shown = [
        (title, text)
        for title, text, key in _COLUMNS
        if not key or (sold if key == "sold" else _known(found.total, key))
    ]
    offered = sold and what == "hour"
    priced = what == "hour" and any(
        row.energy_price_per_kwh != found.billed[0].energy_price_per_kwh for row in found.billed
    )
    header = [
        what,
        *(["bid"] if offered else []),
        *(["energy price"] if priced else []),
        *(title for title, _ in shown),
    ]
    body = []
    for row in rows:
        if isinstance(row, DayRow):
            body.append([row.day, *(text(row.total) for _, text in shown)])
            continue
        bid = [f"{show(row.mean_w, 'W')} ± {show(row.reserve_w, 'W')}" if row.bid_s else MISSING] if offered else []
        price = [f"{number(1e3 * row.energy_price_per_kwh, 4)} $/MWh"] if priced else []
        body.append([when(row), *bid, *price, *(text(row) for _, text in shown)])
    if len(body) > 1:
        extra = [""] * (offered + priced)
        body.append(["all", *extra, *(text(found.total) for _, text in shown)])
    return table(header, body)


def when(row: Hour) -> str:
    """Return when an hour is: on the wall clock, or since the run began; of a part of one, how long."""
    part = "" if abs(row.span_s - 3600.0) < 1e-3 else f" ({show(row.span_s, 's')})"
    if row.clock:
        return row.clock[:16].replace("T", " ") + part
    return f"{show(row.start_s, 's')} – {show(row.end_s, 's')}"


def _power_w(found: Any) -> float:
    hours = found.span_s / 3600.0 if isinstance(found, Hour) else found.hours
    return float(1e3 * found.energy_kwh / hours) if hours > 0 else math.nan


def _known(whole: Totals, key: str) -> bool:
    value = getattr(whole, key)
    return not math.isnan(value) and (value != 0 or key == "energy_cost")
