"""Distributions and the lines that they must not cross: tracking error by time, QoS degradation of kinds under
policies.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from wattline.arrays import Floats
from wattline.market.shares import ecdf as time_ecdf
from wattline.market.tracking import MARGIN, SHARE
from wattline.report.figures.figure import Figure
from wattline.report.figures.over_time import escape_label
from wattline.report.figures.reduce import ecdf
from wattline.report.figures.style import PALETTE, RED, Drawn, new_figure, split_figure

POINTS = 400
"""Points of a distribution that are drawn; each lies on the true curve."""

ACROSS = 4
"""Panels side by side."""


class Curve(NamedTuple):
    """How long each tracking error held and the error; curves of one ``group`` (a policy, say) share a colour."""

    seconds: Floats
    error: Floats
    group: str = ""
    dash: str = "solid"


class Service(NamedTuple):
    """A kind of job: its limit of Q, the share of jobs that may reach it, and Q of the jobs (inf: never ended) by
    policy.
    """

    kind: str
    limit: float
    share: float
    degradation: Mapping[str, Floats]


def draw_error_shares(curves: Mapping[str, Curve], title: str, caption: str) -> Drawn:
    """Draw the share of time up to a tracking error, with the market's constraint; ``curves`` by name."""
    figure = new_figure(320)
    groups = list(dict.fromkeys(curve.group or name for name, curve in curves.items()))
    top = 1.2 * MARGIN
    for name, curve in curves.items():
        levels, share = time_ecdf(curve.seconds, curve.error)
        # what lies beyond is told by how far the curve is from the top
        last = min(float(levels[-1]), 5 * MARGIN)
        top = max(top, last)
        kept = np.unique(np.searchsorted(levels, np.linspace(levels[0], last, POINTS), "right") - 1)
        colour = PALETTE[groups.index(curve.group or name) % len(PALETTE)]
        figure.add_scatter(
            x=100 * levels[kept],
            y=100 * share[kept],
            name=escape_label(name),
            mode="lines",
            line={"color": colour, "width": 1.8, "dash": curve.dash},
        )
    _add_corner(figure, 100 * MARGIN, 100 * (1 - SHARE), 100 * top)
    figure.update_xaxes(title_text="tracking error [% of the reserve]", range=[0, 100 * top])
    figure.update_yaxes(title_text="share of time [%]", range=[0, 102])
    return Drawn(figure, title, caption)


def draw_services(services: Sequence[Service], title: str, caption: str) -> Drawn:
    """Draw, in one panel a kind, the share of jobs up to a QoS degradation under every policy, and the promise."""
    figure, places = panels([service.kind for service in services])
    policies = list(dict.fromkeys(policy for service in services for policy in service.degradation))
    for service, (row, column) in zip(services, places, strict=True):
        _add_service(figure, service, policies, row, column, first=row == column == 1)
    figure.update_yaxes(range=[0, 102], nticks=5)
    figure.update_yaxes(title_text="share of jobs [%]", col=1)
    figure.update_xaxes(title_text="QoS degradation Q", row=places[-1][0])
    return Drawn(figure, title, caption)


def panels(names: Sequence[str]) -> tuple[Figure, list[tuple[int, int]]]:
    """Return a figure with a panel for each name, which stands above it, and the panels' places."""
    columns = 3 if len(names) in (3, 5, 6, 9) else min(ACROSS, len(names))
    rows = math.ceil(len(names) / columns)
    height = 120 + 180 * rows
    figure = split_figure(height, rows, columns, horizontal_spacing=0.06, vertical_spacing=54 / height)
    figure.update_layout(margin={"t": 32})
    places = [(i // columns + 1, i % columns + 1) for i in range(len(names))]
    for name, (row, column) in zip(names, places, strict=True):
        figure.add_heading(str(escape_label(name)), row=row, col=column)
    for left in range(len(names), rows * columns):
        row, column = left // columns + 1, left % columns + 1
        figure.update_xaxes(visible=False, row=row, col=column)
        figure.update_yaxes(visible=False, row=row, col=column)
    # above the headings
    figure.update_layout(showlegend=True, legend={"y": 1.0 + 24 / (height - 80)})
    return figure, places


def _add_service(
    figure: Figure, service: Service, policies: Sequence[str], row: int, column: int, *, first: bool
) -> None:
    """Draw the curves of a kind in its panel, and the corner which they must pass above."""
    top = 2.0 * service.limit
    for policy, q in service.degradation.items():
        values, share = ecdf(np.maximum(q, 0.0), POINTS)
        kept = values <= top
        # from the left edge to the right one, where the curve may still be on its way
        x = np.concatenate([[0.0], values[kept], [top]])
        y = np.concatenate([[0.0], share[kept], share[kept][-1:] if kept.any() else [0.0]])
        colour = PALETTE[policies.index(policy) % len(PALETTE)]
        figure.add_scatter(
            x=x,
            y=100 * y,
            name=escape_label(policy),
            legendgroup=policy,
            showlegend=first,
            mode="lines",
            line={"shape": "hv", "color": colour, "width": 1.6},
            row=row,
            col=column,
        )
    allowed = 100 * (1 - service.share)
    for x_line, y_line in (([service.limit] * 2, [0, 102]), ([0, top], [allowed] * 2)):
        figure.add_scatter(
            x=x_line,
            y=y_line,
            mode="lines",
            showlegend=False,
            hoverinfo="skip",
            row=row,
            col=column,
            line={"color": RED, "width": 1, "dash": "dot"},
        )
    figure.update_xaxes(range=[0, top], row=row, col=column)


def _add_corner(figure: Figure, x: float, y: float, right: float) -> None:
    """Draw the corner that a distribution must not pass below: a vertical and a horizontal line."""
    line = {"color": RED, "width": 1.2, "dash": "dash"}
    figure.add_scatter(x=[x, x], y=[0, 102], mode="lines", name=f"{x:g} %", line=line, hoverinfo="skip")
    figure.add_scatter(
        x=[0, right], y=[y, y], mode="lines", name=f"{y:g} % of the time", line=line | {"dash": "dot"}, hoverinfo="skip"
    )
    figure.update_layout(showlegend=True)
