"""Figures of a sweep: how any metric answers to a key."""

from __future__ import annotations

import math
from typing import Any

from wattline.report.count.compare import Metric
from wattline.report.count.response import Point, Response
from wattline.report.figures.style import PALETTE, Drawn, new_figure, titled
from wattline.report.show import scale_of

MOST_LINES = 8
"""Lines of a figure; beyond that the other keys are averaged over."""

Lines = dict[str, list[tuple[Any, list[Point]]]]


def draw_response(found: Response, key: str, first: str) -> Drawn:
    """Draw how each metric answers to one key, with a menu of metrics that begins with the one called ``first``."""
    at = found.keys.index(key)
    lines = _lines(found, at)
    averaged = len(lines) > MOST_LINES
    if averaged:
        lines = {"": [(value, [p for p in found.points if p.setting[at] == value]) for value in found.values(key)]}
    shown = sorted(found.moving() or found.metrics, key=lambda metric: metric.path != first)
    figure = new_figure(360, hovermode="x unified", showlegend=len(lines) > 1)
    menus = []
    numeric = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in found.values(key))
    for m, metric in enumerate(shown):
        scale = scale_of(
            [one for line in lines.values() for _, some in line for one in _means(some, metric)], metric.unit
        )
        for i, (name, line) in enumerate(lines.items()):
            figure.add_scatter(
                x=[value if numeric else str(value) for value, _ in line],
                y=[_mean(some, metric) / scale.factor for _, some in line],
                error_y={
                    "type": "data",
                    "array": [_reach(some, metric, +1.0) / scale.factor for _, some in line],
                    "arrayminus": [_reach(some, metric, -1.0) / scale.factor for _, some in line],
                    "visible": any(_half(some, metric) > 0 for _, some in line),
                },
                mode="lines+markers",
                name=name or metric.title,
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
    figure.update_xaxes(title_text=key)
    if not numeric:
        figure.update_xaxes(type="category")
    figure.layout["updatemenus"] = [
        {"buttons": menus, "x": 1, "xanchor": "right", "y": 1.02, "yanchor": "bottom", "active": 0, "showactive": True}
    ]
    figure.layout["margin"] = {"l": 64, "r": 16, "t": 56, "b": 48}
    return Drawn(figure, f"Response to {key}", _caption(found, key, averaged=averaged))


def _caption(found: Response, key: str, *, averaged: bool) -> str:
    others = [name for name in found.keys if name != key]
    parts = []
    if averaged:
        parts.append(f"Means over all values of {', '.join(others)}.")
    elif others:
        parts.append(f"A line for each combination of {', '.join(others)}.")
    if found.seeds > 1 and not averaged:
        parts.append(f"Bars: 95 % Student-t intervals of the mean over {found.seeds} seeds.")
    parts.append("The menu chooses the metric.")
    return " ".join(parts)


def _lines(found: Response, at: int) -> Lines:
    """Return lines by what they are called: for each value of the key the settings that lie there."""
    lines: Lines = {}
    for point in found.points:
        rest = [(name, point.setting[i]) for i, name in enumerate(found.keys) if i != at]
        name = ", ".join(f"{name} {value}" for name, value in rest)
        lines.setdefault(name, []).append((point.setting[at], [point]))
    return lines


def _means(points: list[Point], metric: Metric) -> list[float]:
    return [point.estimates[metric.path].mean for point in points]


def _mean(points: list[Point], metric: Metric) -> float:
    known = [mean for mean in _means(points, metric) if math.isfinite(mean)]
    return sum(known) / len(known) if known else math.nan


def _half(points: list[Point], metric: Metric) -> float:
    """Return half the interval of a single setting; that of a mean over settings is not known."""
    half = points[0].estimates[metric.path].half_width if len(points) == 1 else math.nan
    return half if math.isfinite(half) else 0.0


def _reach(points: list[Point], metric: Metric, sign: float) -> float:
    """Return how far the interval goes up or down: never below 0, shares never above 1."""
    half, mean = _half(points, metric), _mean(points, metric)
    room = mean if sign < 0.0 else (1.0 - mean if metric.unit == "share" else math.inf)
    return max(0.0, min(half, room)) if mean >= 0.0 else half
