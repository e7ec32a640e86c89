"""Figures of configuration spaces: all configurations in time and power with their front, and the best by node
count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from wattline.model.configuration_points import NONE, best_by_nodes, front, under_bound
from wattline.model.configurations import Configurations
from wattline.report.count.configurations import cap_name, point_name
from wattline.report.figures.style import AMBER, BLUE, GREY, RED, TEAL, Drawn, new_figure, soft

TICKS = [digit * 10.0**power for power in range(-3, 7) for digit in (1, 2, 5)]
"""Labels of logarithmic axes, written out: plotly.js would write 2 for 20."""


def draw_space(table: Configurations, bound_w: float = math.inf, node_max_w: float = 290.0, title: str = "") -> Drawn:
    """Draw time against power of every configuration, the front of both, and the named points under a bound."""
    figure = new_figure(360)
    caps = np.unique(table.cap_w)
    for i, cap_w in enumerate(caps):
        rows = np.flatnonzero(table.cap_w == cap_w)
        shade = soft(BLUE if cap_w != table.turbo_w else AMBER, 0.25 + 0.6 * (i + 1) / caps.size)
        figure.add_scatter(
            x=table.power_w[rows],
            y=table.time_s[rows],
            mode="markers",
            name=cap_name(table, float(cap_w)),
            marker={"color": shade, "size": 5},
            text=[point_name(table, int(r)) for r in rows],
            hoverinfo="text+x+y",
        )
    rows = front(table)
    figure.add_scatter(
        x=table.power_w[rows], y=table.time_s[rows], mode="lines", name="front", line={"color": TEAL, "width": 1.5}
    )
    if math.isfinite(bound_w):
        found = under_bound(table, bound_w, node_max_w)
        for name, row, colour in (
            ("best", found.best, TEAL),
            ("packed-max", found.canonical["packed-max"], RED),
            ("worst case", found.worst_case, GREY),
        ):
            if row != NONE:
                figure.add_scatter(
                    x=table.power_w[[row]],
                    y=table.time_s[[row]],
                    mode="markers",
                    name=f"{name} {point_name(table, row)}",
                    marker={"color": colour, "size": 12, "symbol": "diamond"},
                )
        top = float(table.time_s.max())
        figure.add_scatter(
            x=[bound_w, bound_w],
            y=[float(table.time_s.min()), top],
            mode="lines",
            name="bound",
            line={"color": RED, "dash": "dot", "width": 1},
        )
    figure.update_xaxes(title_text="power of the job [W]")
    figure.update_yaxes(
        title_text="time [s]", type="log", tickvals=TICKS, ticktext=[f"{v:g}" for v in TICKS], rangemode="normal"
    )
    figure.update_layout(showlegend=True, margin={"t": 60})
    return Drawn(
        figure,
        title or f"{table.application}: every configuration",
        "A point a configuration; hover for nodes × cores and cap. Nothing beats the front in both.",
    )


def draw_by_nodes(
    table: Configurations,
    bound_w: float,
    node_max_w: float = 290.0,
    title: str = "",
    lines: Mapping[str, tuple[float, float]] | None = None,
) -> Drawn:
    """Draw the best time on each node count under a bound, packed-max, the worst case, and straight lines if given."""
    figure = new_figure(320)
    rows = best_by_nodes(table, bound_w)
    found = under_bound(table, bound_w, node_max_w)
    figure.add_scatter(
        x=table.nodes[rows],
        y=table.time_s[rows],
        mode="lines+markers",
        name="best on so many nodes",
        line={"color": GREY, "width": 1},
        marker={"symbol": "triangle-up-open", "size": 9, "color": GREY},
        text=[point_name(table, int(r)) for r in rows],
        hoverinfo="text+y",
    )
    for name, row, colour in (
        ("best", found.best, BLUE),
        ("packed-max", found.canonical["packed-max"], RED),
        ("worst case", found.worst_case, AMBER),
    ):
        if row != NONE:
            figure.add_scatter(
                x=table.nodes[[row]],
                y=table.time_s[[row]],
                mode="markers",
                name=f"{name} {point_name(table, row)}",
                marker={"symbol": "triangle-up", "size": 12, "color": colour},
            )
    for (name, (slope, intercept)), colour in zip((lines or {}).items(), (TEAL, AMBER), strict=False):
        x = table.nodes[rows][[0, -1]].astype(np.float64)
        figure.add_scatter(
            x=x, y=slope * x + intercept, mode="lines", name=name, line={"color": colour, "dash": "dash", "width": 1.5}
        )
    figure.update_xaxes(title_text="nodes")
    figure.update_yaxes(title_text="time [s]")
    figure.update_layout(showlegend=True, margin={"t": 60})
    return Drawn(
        figure,
        title or f"{table.application} under {bound_w:,.0f} W, by nodes",
        "Each node count with its best cores and cap; hover for them.",
    )
