"""Figures of demand response over all billed hours: how far off the target power was, and the service of every kind."""

from __future__ import annotations

import numpy as np

from wattline.market.tracking import MARGIN
from wattline.report.count.regulation import degradations, error_steps, limit_of
from wattline.report.count.run import Run
from wattline.report.figures.jobs import POINTS
from wattline.report.figures.over_time import escape_label
from wattline.report.figures.reduce import ecdf
from wattline.report.figures.shares import Curve, draw_error_shares
from wattline.report.figures.style import GREY, Drawn, kind_colour, new_figure
from wattline.report.show import show


def draw_errors(run: Run) -> Drawn | None:
    """Draw the share of time up to a tracking error, with the market's constraint."""
    seconds, error = error_steps(run)
    if not seconds.size or np.isnan(error).any():
        return None
    beyond = float(seconds[error > MARGIN].sum() / seconds.sum())
    caption = f"All billed hours, by time: above 30 % for {show(beyond, 'share')} of it; 10 % are allowed."
    return draw_error_shares({"error": Curve(seconds, error)}, "Tracking error", caption)


def draw_qos(run: Run) -> Drawn | None:
    """Draw the share of jobs up to a QoS degradation for every kind to which something was promised."""
    kinds = [kind for kind in run.manifest.get("kinds") or () if not kind["standby"] and kind["limit"] is not None]
    if not kinds:
        return None
    figure = new_figure(340)
    for i, kind in enumerate(kinds):
        q, at_least = degradations(run, kind)
        if not q.size:
            continue
        # a job without an end lies beyond all others
        values, share = ecdf(np.where(np.isnan(q), np.inf, q), POINTS)
        finite, colour = np.isfinite(values), kind_colour(i)
        if finite.any():
            figure.add_scatter(
                x=np.maximum(values[finite], 0.0),
                y=100 * share[finite],
                name=escape_label(kind["name"]),
                mode="lines",
                line={"shape": "hv", "color": colour, "width": 1.6},
            )
        limit = limit_of(kind)
        below = float(np.mean(np.where(np.isnan(q), at_least, q) < limit))
        figure.add_scatter(
            x=[limit],
            y=[100 * below],
            mode="markers",
            showlegend=False,
            name=escape_label(kind["name"]),
            marker={"color": colour, "size": 9, "symbol": "diamond", "line": {"width": 1, "color": colour}},
            hovertemplate="limit %{x:g}: %{y:.2f} % stay below it<extra></extra>",
        )
    allowed = 100 * (1 - max(float(kind["share"]) for kind in kinds))
    top = 1.15 * max(limit_of(kind) for kind in kinds)
    figure.add_scatter(
        x=[0, top],
        y=[allowed] * 2,
        mode="lines",
        name=f"{allowed:g} %",
        hoverinfo="skip",
        line={"color": GREY, "width": 1, "dash": "dot"},
    )
    figure.update_xaxes(title_text="QoS degradation Q", range=[0, top])
    figure.update_yaxes(title_text="share of jobs [%]", range=[0, 102])
    figure.update_layout(showlegend=True)
    return Drawn(figure, "Service by kind", "A diamond marks each kind's limit; it must not lie below the dotted line.")
