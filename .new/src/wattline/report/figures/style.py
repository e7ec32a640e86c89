"""How figures look: one palette that reads on light and dark paper, one bare layout.

The page adds ink and grid colours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from wattline.report.figures.figure import Figure

BLUE, TEAL, AMBER, RED, VIOLET = "#3f7fd1", "#2a9d8f", "#d9932f", "#d1495b", "#8073cf"
GREEN, PINK, GREY = "#6a9f4f", "#c272b0", "#8b919b"
PALETTE = (BLUE, AMBER, TEAL, VIOLET, RED, GREEN, PINK, GREY)

KINDS = (
    *PALETTE[:-1],
    "#49b6d6",
    "#9c6b4a",
    "#b3b13c",
    "#34558b",
    "#e58a77",
    "#b39ddb",
    "#2f6f5e",
    "#8e3a59",
    "#d4b483",
)
"""Colours of kinds of job: more of them, and none grey, which stands for what is nobody's."""


class Drawn(NamedTuple):
    """A figure, its title, and a caption that says how it was reduced."""

    figure: Figure
    title: str
    caption: str


def kind_colour(index: int) -> str:
    """Return the colour of a kind of job by its place among the kinds."""
    return KINDS[index % len(KINDS)]


def soft(colour: str, alpha: float) -> str:
    """Return a colour made transparent.

    >>> soft("#ff0080", 0.5)
    'rgba(255, 0, 128, 0.5)'
    """
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {alpha})"


def new_figure(height: int = 300, **layout: Any) -> Figure:
    """Return an empty figure in the house style; a height in pixels, the width is that of the page."""
    figure = Figure(
        {
            "height": height,
            "margin": {"l": 64, "r": 16, "t": 12, "b": 48},
            "colorway": list(PALETTE),
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "hovermode": "closest",
            "font": {"family": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif", "size": 12},
            "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "bgcolor": "rgba(0,0,0,0)"},
            **layout,
        }
    )
    style_axes(figure)
    return figure


def split_figure(
    height: int, rows: int, columns: int = 1, *, layout: Mapping[str, Any] | None = None, **split: Any
) -> Figure:
    """Return an empty figure in the house style, split into rows and columns as ``Figure.split`` does it."""
    figure = new_figure(height, **(layout or {}))
    figure.split(rows, columns, **split)
    style_axes(figure)
    return figure


def style_axes(figure: Figure) -> None:
    """Give all axes the house style."""
    # 12,000, not 12k and never 1.2e+4
    plain: dict[str, Any] = {"exponentformat": "none", "separatethousands": True}
    figure.update_xaxes(zeroline=False, automargin=True, showline=True, ticks="outside", ticklen=4, **plain)
    figure.update_yaxes(zeroline=False, automargin=True, rangemode="tozero", nticks=7, **plain)


def titled(text: str, unit: str) -> str:
    """Return an axis title with its unit.

    >>> titled("power", "kW"), titled("queue", "")
    ('power [kW]', 'queue')
    """
    return f"{text} [{unit}]" if unit else text
