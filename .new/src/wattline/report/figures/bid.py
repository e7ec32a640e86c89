"""Figures of a bid's making: how the search moved weights and bid, and delays beside the theory that led it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wattline.model.regulation import Bid
from wattline.report.figures.figure import Figure
from wattline.report.figures.over_time import escape_label
from wattline.report.figures.shares import panels
from wattline.report.figures.style import AMBER, BLUE, GREY, RED, TEAL, Drawn, kind_colour, split_figure, titled
from wattline.report.show import scale_of
from wattline.theory.gps_observed import Tail
from wattline.theory.gps_roots import NONE
from wattline.units import in_full

POINTS = 160
"""Points of an observed tail that are drawn."""

TICKS = {10.0**-i: f"{in_full(10.0 ** (2 - i))} %" for i in range(7)}

LAW_LOOKS = ((AMBER, "dash"), (TEAL, "solid"))


def draw_tails(tails: Sequence[Tail], title: str, about: str) -> Drawn:
    """Draw, in one panel a kind, the share of jobs delayed by a time or longer beside what the theory says.

    The scale is logarithmic.
    """
    figure, places = panels([tail.name for tail in tails])
    for tail, (row, column) in zip(tails, places, strict=True):
        _add_tail(figure, tail, row, column, first=row == column == 1)
    figure.update_yaxes(title_text="share of jobs", col=1)
    figure.update_xaxes(title_text="delay [s]", row=places[-1][0])
    starved = [tail.name for tail in tails if any(p.case == NONE for p in tail.predicted.values())]
    told = (
        f" Case III (the share does not carry the load: θ* = 0, a flat line): {', '.join(starved)}." if starved else ""
    )
    caption = (
        f"{about} Share of jobs with a delay Q·T of so many seconds or more, and α·exp(−θ*·d). α is fitted so that "
        "the theory "
        f"meets the jobs at the limit (red; the mark is what was promised); its slope θ* is not fitted.{told}"
    )
    return Drawn(figure, title, caption)


def _add_tail(figure: Figure, tail: Tail, row: int, column: int, *, first: bool) -> None:
    place: dict[str, Any] = {"row": row, "col": column, "mode": "lines"}
    seen, share = tail.survival(POINTS)
    longest_s = float(np.clip(seen[-1] if seen.size else 0.0, 1.5 * tail.limit_s, 3.0 * tail.limit_s))
    # a share just below a delay is that of the next longer one: the line falls first, then goes on
    figure.add_scatter(
        x=np.append(0.0, seen),
        y=np.append(1.0, share),
        name="simulated",
        legendgroup="simulated",
        showlegend=first,
        line={"shape": "vh", "color": BLUE, "width": 1.8},
        **place,
    )
    for (name, predicted), (colour, dash) in zip(tail.predicted.items(), LAW_LOOKS, strict=False):
        # straight on this scale but for the corner where it leaves 1
        bend_s = predicted.log_alpha / predicted.rate_per_s if 0.0 < predicted.rate_per_s < math.inf else 0.0
        x = np.array([0.0, min(max(bend_s, 0.0), longest_s), longest_s])
        hover = f"θ* = {in_full(predicted.rate_per_s, 3)} per s<extra>{escape_label(name)}</extra>"
        figure.add_scatter(
            x=x,
            y=predicted.tail(x),
            name=escape_label(name),
            legendgroup=name,
            showlegend=first,
            line={"color": colour, "width": 1.6, "dash": dash},
            hovertemplate=hover,
            **place,
        )
    least = 0.5 / (tail.delay_s.size + 1)
    figure.add_scatter(
        x=[tail.limit_s] * 2,
        y=[least, 1.0],
        showlegend=False,
        hoverinfo="skip",
        line={"color": RED, "width": 1, "dash": "dot"},
        **place,
    )
    figure.add_scatter(
        x=[tail.limit_s],
        y=[tail.share],
        name="promised share",
        legendgroup="promise",
        showlegend=first,
        marker={"color": RED, "symbol": "line-ew", "size": 12, "line": {"width": 2, "color": RED}},
        **(place | {"mode": "markers"}),
    )
    figure.update_yaxes(
        type="log",
        range=[math.log10(least), 0.1],
        row=row,
        col=column,
        tickvals=list(TICKS),
        ticktext=list(TICKS.values()),
    )
    figure.update_xaxes(range=[0, longest_s], row=row, col=column)


def draw_weights(names: Sequence[str], history: Sequence[Mapping[str, Any]], chosen: Bid, title: str) -> Drawn | None:
    """Draw how the weights, and the bid below them, moved over the steps of a search; None where there were no weights.

    A step has ``weights`` (one a name), ``mean_w``, ``reserve_w`` and its number as ``iteration`` or ``fit``.
    """
    steps = [step for step in history if step.get("weights")]
    if not steps:
        return None
    unit = "iteration" if "iteration" in steps[0] else "fit"
    x = np.array([step[unit] for step in steps])
    figure = split_figure(440, 2, shared_xaxes=True, vertical_spacing=0.06, row_heights=[0.62, 0.38])
    weights = np.array([step["weights"] for step in steps])
    for k, name in enumerate(names):
        figure.add_scatter(
            x=x,
            y=weights[:, k],
            name=escape_label(name),
            mode="lines",
            row=1,
            col=1,
            line={"color": kind_colour(k), "width": 1.6},
        )
    watts = {key: np.array([step[key] for step in steps]) for key in ("mean_w", "reserve_w")}
    scale = scale_of([float(watts["mean_w"].max())], "W")
    for name, key, dash in (("P̄", "mean_w", "solid"), ("R", "reserve_w", "dash")):
        figure.add_scatter(
            x=x,
            y=watts[key] / scale.factor,
            name=name,
            mode="lines",
            row=2,
            col=1,
            line={"color": GREY, "width": 1.8, "dash": dash},
        )
    taken = np.flatnonzero((watts["mean_w"] == chosen.mean_w) & (watts["reserve_w"] == chosen.reserve_w))
    for i in taken[:1]:
        figure.add_vrect(float(x[i]), float(x[i]), line={"color": RED, "width": 1, "dash": "dot"})
    figure.update_yaxes(title_text="weight", row=1, col=1)
    figure.update_yaxes(title_text=titled("bid", scale.unit), row=2, col=1)
    figure.update_xaxes(title_text=unit, row=2, col=1)
    figure.update_layout(showlegend=True)
    told = "the dotted line marks the step that was taken" if taken.size else "what was taken is none of these steps"
    return Drawn(figure, title, f"{len(steps)} steps; {told}.")
