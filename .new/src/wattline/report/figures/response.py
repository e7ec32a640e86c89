"""Figures of a sweep: how any metric answers to a key."""

from __future__ import annotations

import math
from typing import Any

from wattline.report.count.compare import Estimate, Metric
from wattline.report.count.response import Point, Response, pooled
from wattline.report.figures.style import PALETTE, Drawn, new_figure, titled
from wattline.report.show import scale_of

MOST_LINES = 8
"""Lines of a figure; beyond that the other keys are averaged over."""

Lines = dict[str, list[tuple[Any, list[Point]]]]


def draw_response(found: Response, key: str, first: str) -> Drawn:
    """Draw how each metric answers to one key, with a menu of metrics that begins with the one called ``first``.

    Values with an order are joined by lines; names, which have none, are points beside each other.
    """
    at = found.keys.index(key)
    lines = _lines(found, at)
    averaged = len(lines) > MOST_LINES
    if averaged:
        lines = {"": [(value, [p for p in found.points if p.setting[at] == value]) for value in found.values(key)]}
    shown = sorted(found.moving() or found.metrics, key=lambda metric: metric.path != first)
    height = 360 + (16 * len(lines) if len(lines) > 1 else 0)  # a line of the legend each, where the page is narrow
    figure = new_figure(height, hovermode="x unified", showlegend=len(lines) > 1)
    places, unit = _places(found, key)
    menus = []
    for m, metric in enumerate(shown):
        told = {name: [(places[value], pooled(some, metric)) for value, some in line] for name, line in lines.items()}
        scale = scale_of([one.mean for line in told.values() for _, one in line], metric.unit)
        for i, (name, line) in enumerate(told.items()):
            figure.add_scatter(
                x=[place for place, _ in line],
                y=[one.mean / scale.factor for _, one in line],
                error_y={
                    "type": "data",
                    "symmetric": False,
                    "array": [_reach(one, metric, +1.0) / scale.factor for _, one in line],
                    "arrayminus": [_reach(one, metric, -1.0) / scale.factor for _, one in line],
                    "visible": any(_half(one) > 0 for _, one in line),
                },
                mode="markers" if unit is None else "lines+markers",
                name=name or metric.title,
                marker={"size": 9 if unit is None else 6, "color": PALETTE[i % len(PALETTE)]},
                line_color=PALETTE[i % len(PALETTE)],
                visible=m == 0,
            )
        title = titled(metric.title, scale.unit)
        seen = [j == m for j in range(len(shown)) for _ in lines]
        menus.append(
            {"label": metric.title, "method": "update", "args": [{"visible": seen}, {"yaxis.title.text": title}]}
        )
        if m == 0:
            figure.update_yaxes(title_text=title)
    figure.update_xaxes(title_text=titled(key, unit or ""))
    if unit is None:
        figure.update_xaxes(type="category")
        figure.layout["scattermode"] = "group"  # points of one name stand beside each other
    figure.layout["updatemenus"] = [
        {"buttons": menus, "x": 1, "xanchor": "right", "y": 1.02, "yanchor": "bottom", "active": 0, "showactive": True}
    ]
    figure.layout["legend"] = {"orientation": "h", "x": 0, "y": -0.3, "yanchor": "top"}  # the menu stands above
    figure.layout["margin"] = {"l": 64, "r": 16, "t": 56, "b": 48}
    return Drawn(figure, f"Response to {key}", _caption(found, key, averaged=averaged))


def _places(found: Response, key: str) -> tuple[dict[Any, Any], str | None]:
    """Return where the values of a key stand on its axis, and the axis's unit (None: names, which have no order)."""
    numbers = found.numbers(key)
    if numbers is None:
        return {value: found.words(key, value) for value in found.values(key)}, None
    scale = scale_of(numbers.values(), found.units.get(key, ""))
    return {value: number / scale.factor for value, number in numbers.items()}, scale.unit


def _caption(found: Response, key: str, *, averaged: bool) -> str:
    others = [name for name in found.keys if name != key]
    parts = []
    if averaged:
        parts.append(f"Means over all values of {', '.join(others)}.")
    elif others:
        what = "Points" if found.numbers(key) is None else "A line"
        parts.append(f"{what} for each combination of {', '.join(others)}.")
    if found.seeds > 1:
        parts.append(f"Bars: 95 % Student-t intervals of the mean over {found.seeds} seeds.")
    parts.append("The menu chooses the metric.")
    return " ".join(parts)


def _lines(found: Response, at: int) -> Lines:
    """Return lines by what they are called: for each value of the key the settings that lie there."""
    lines: Lines = {}
    for point in found.points:
        rest = [(name, point.setting[i]) for i, name in enumerate(found.keys) if i != at]
        name = ", ".join(f"{name} {found.words(name, value)}" for name, value in rest)
        lines.setdefault(name, []).append((point.setting[at], [point]))
    return lines


def _half(one: Estimate) -> float:
    return one.half_width if math.isfinite(one.half_width) else 0.0


def _reach(one: Estimate, metric: Metric, sign: float) -> float:
    """Return how far the interval goes up or down: never below 0, shares never above 1."""
    half, mean = _half(one), one.mean
    room = mean if sign < 0.0 else (1.0 - mean if metric.unit == "share" else math.inf)
    return max(0.0, min(half, room)) if mean >= 0.0 else half
