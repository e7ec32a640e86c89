"""Cost, revenue and carbon over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from wattline.market.hour import Hour
from wattline.report.count.accounts import Accounts, DayRow
from wattline.report.figures.figure import Figure
from wattline.report.figures.style import AMBER, BLUE, GREEN, GREY, RED, TEAL, Drawn, split_figure

BARS = 24 * 14
"""Hours that are drawn one by one before days are."""
_MONEY = (
    ("energy", "energy_cost", 1.0, BLUE),
    ("error", "error_cost", 1.0, RED),
    ("capacity", "capacity_credit", -1.0, TEAL),
    ("performance", "performance_credit", -1.0, GREEN),
)


def draw_accounts(found: Accounts) -> Drawn | None:
    """Draw what every hour (or day) cost and earned, its carbon, and the prices in force."""
    rows = found.billed
    if len(rows) < 2:
        return None
    by_day = len(rows) > BARS
    parts: list[Any] = [day.total for day in found.days] if by_day else list(rows)
    x = [_day(day) for day in found.days] if by_day else [_time(row, rows[0]) for row in rows]
    bar = {"x": x, "offset": 0.0, "width": _widths(found, by_day=by_day)}
    carbon, prices = not math.isnan(found.total.carbon_kg), not by_day
    count = 1 + carbon + prices
    figure = split_figure(
        170 + 130 * count,
        count,
        shared_xaxes=True,
        vertical_spacing=0.05,
        row_heights=[2.0, *[1.0] * (count - 1)],
        layout={"barmode": "relative", "hovermode": "x unified", "hoverdistance": -1},
    )
    for name, key, sign, colour in _MONEY:
        values = [sign * getattr(part, key) for part in parts]
        if _say_something(values):
            figure.add_bar(y=_plain(values), name=name, marker_color=colour, row=1, col=1, **bar)
    figure.add_scatter(
        x=x,
        y=_plain([part.cost for part in parts]),
        name="cost",
        mode="lines",
        row=1,
        col=1,
        line={"shape": "hv", "color": GREY, "width": 1.4},
    )
    figure.update_yaxes(title_text="$", rangemode="normal", row=1, col=1)
    if carbon:
        kg = _plain([part.carbon_kg for part in parts])
        figure.add_bar(y=kg, name="carbon", marker_color=AMBER, row=2, col=1, **bar)
        figure.update_yaxes(title_text="kg CO₂", row=2, col=1)
    if prices:
        _add_prices(figure, rows, x, count)
    if not rows[0].clock:
        figure.update_xaxes(title_text="time [d]" if by_day else "time [h]", row=count, col=1)
    figure.update_layout(showlegend=True)
    credit = " Credits are drawn downward, the line is the net cost." if found.total.capacity_credit else ""
    return Drawn(figure, "Cost, revenue and carbon", f"By {'day' if by_day else 'hour'}, billed time only.{credit}")


def _add_prices(figure: Figure, rows: Sequence[Hour], x: list[Any], last: int) -> None:
    named = (("energy price", "energy_price_per_kwh", BLUE), ("capacity price", "capacity_price_per_kwh", TEAL))
    for name, key, colour in named:
        values = [1e3 * getattr(row, key) for row in rows]
        if _say_something(values):
            figure.add_scatter(
                x=x,
                y=_plain(values),
                name=name,
                mode="lines",
                row=last,
                col=1,
                line={"shape": "hv", "color": colour, "width": 1.4},
            )
    figure.update_yaxes(title_text="$/MWh", rangemode="normal", row=last, col=1)


def _widths(found: Accounts, *, by_day: bool) -> list[float]:
    """Return how wide bars are that begin where their hour or day does; dates count milliseconds."""
    unit = 3600e3 if found.billed[0].clock else 1.0
    if by_day:
        return [0.94 * (24 * unit if unit > 1 else 1.0)] * len(found.days)
    return [0.94 * unit * row.span_s / 3600.0 for row in found.billed]


def _say_something(values: Sequence[float]) -> bool:
    return any(value for value in values if not math.isnan(value))


def _time(row: Hour, first: Hour) -> Any:
    """Return where an hour stands on the axis: at a date, or hours since the first."""
    return row.clock[:16] if row.clock else (row.start_s - first.start_s) / 3600.0


def _day(day: DayRow) -> Any:
    return int(day.day.removeprefix("day ")) if day.day.startswith("day ") else day.day


def _plain(values: list[float]) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values]
