"""The figures of the overprovisioning study, from measured tables, published points and the cost model."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from wattline.market.overprovisioning import Application
from wattline.model.configuration_points import CANONICAL, NONE, under_bound
from wattline.report.count.configurations import row_of
from wattline.report.figures.style import AMBER, BLUE, GREY, PALETTE, RED, TEAL, VIOLET, Drawn, new_figure, split_figure
from wattline.report.pages.plan import draw_sweep
from wattline.systems.overprovisioning.data import NODE_MAX_W, RESTS_ON, TABLE_4_2, TABLE_4_7, TABLE_4_8
from wattline.systems.overprovisioning.study import Study


def draw_power(study: Study) -> Drawn:
    """Draw power per socket without a cap by cores, on 16 nodes (Fig. 3.1)."""
    figure = new_figure(300)
    for cores, colour in ((4, AMBER), (16, BLUE)):
        names, watts = [], []
        for name, t in study.spaces.items():
            row = row_of(t, 16, cores, t.turbo_w)
            if row != NONE:
                names.append(name)
                watts.append(float(t.power_w[row]) / 32)
        figure.add_bar(x=names, y=watts, name=f"{cores} cores, measured on 16 nodes", marker={"color": colour})
    figure.add_scatter(
        x=["SPhot", "SPhot"],
        y=[44.6 + 4.9, 82.1 + 5.7],
        mode="markers",
        name="published (one node; 4 and 16 cores)",
        marker={"color": RED, "size": 9, "symbol": "diamond"},
    )
    figure.update_yaxes(title_text="power per socket [W]")
    figure.update_layout(showlegend=True, barmode="group")
    return Drawn(
        figure,
        "Power per socket under turbo (Fig. 3.1)",
        _rests("Fig. 3.1") + " No application draws the 115 W of the limit and 30 W of memory.",
    )


def draw_caps(study: Study) -> Drawn:
    """Draw time over the cap on one node, by cores (Figs. 3.2 and 3.7)."""
    t = study.single["SPhot"]
    figure = new_figure(300)
    for i, cores in enumerate(np.unique(t.cores)):
        rows = np.flatnonzero((t.cores == cores) & (t.cap_w != t.turbo_w))
        figure.add_scatter(
            x=t.cap_w[rows],
            y=t.time_s[rows],
            mode="lines+markers",
            name=f"{cores} cores",
            line={"color": PALETTE[i % len(PALETTE)], "width": 1.5},
        )
    figure.update_xaxes(title_text="cap of a socket [W]")
    figure.update_yaxes(title_text="time [s]")
    figure.update_layout(showlegend=True)
    return Drawn(
        figure,
        "SPhot on one node: caps and cores (Figs. 3.2, 3.7)",
        _rests("Fig. 3.2") + " More cores at lower power are faster: it computes, and does not wait for memory.",
    )


def draw_turbo(study: Study) -> Drawn:
    """Draw the inferred turbo frequency by active cores (Fig. 3.3)."""
    figure = new_figure(260)
    figure.add_scatter(
        x=list(study.turbo_ghz),
        y=list(study.turbo_ghz.values()),
        mode="lines+markers",
        name="inferred",
        line={"color": TEAL},
    )
    figure.add_scatter(
        x=[4, 16], y=[3.3, 3.3], mode="lines", name="maximum of the processor", line={"color": GREY, "dash": "dot"}
    )
    figure.update_xaxes(title_text="active cores of 16")
    figure.update_yaxes(title_text="frequency [GHz]", rangemode="normal")
    figure.update_layout(showlegend=True)
    return Drawn(
        figure,
        "Turbo by active cores (Fig. 3.3)",
        _rests("Fig. 3.3") + " 2.6 GHz times the speed-up against a cap that does not bite.",
    )


def draw_improvements(study: Study) -> Drawn:
    """Draw how much less time the best configuration takes than packed-max, by bound (Fig. 3.4)."""
    figure = new_figure(320)
    bounds = sorted({i.bound_w for i in study.improvements})
    for bound_w, colour in zip(bounds, (BLUE, TEAL, AMBER, VIOLET, GREY), strict=False):
        shown = [i for i in study.improvements if i.bound_w == bound_w]
        name = "no bound" if math.isinf(bound_w) else f"{bound_w:,.0f} W"
        figure.add_bar(x=[i.application for i in shown], y=[i.less for i in shown], name=name, marker={"color": colour})
    figure.add_scatter(
        x=list(TABLE_4_2),
        y=[1 - by["best"].time_s / by["packed-max"].time_s for by in TABLE_4_2.values()],
        mode="markers",
        name="published, 3,500 W",
        marker={"color": RED, "size": 10, "symbol": "diamond"},
    )
    figure.update_yaxes(title_text="less time than packed-max", tickformat=".0%")
    figure.update_layout(showlegend=True, barmode="group")
    return Drawn(
        figure,
        "What the best configuration gains (Fig. 3.4)",
        _rests("Fig. 3.4")
        + " On three node counts packed-max may have to use far fewer nodes than the bound feeds: gains of SPhot and "
        "the kernels are upper bounds.",
    )


def draw_canonical(study: Study) -> Drawn:
    """Draw the speed of the four canonical configurations over the best one's (Fig. 3.5)."""
    figure = split_figure(320, 1, 3, horizontal_spacing=0.05)
    for col, bound_w in enumerate((2500.0, 3500.0, math.inf), 1):
        for name, colour in zip(CANONICAL, (BLUE, TEAL, AMBER, VIOLET), strict=True):
            x, y = [], []
            for app, t in study.spaces.items():
                found = under_bound(t, bound_w, NODE_MAX_W)
                if NONE not in (found.best, found.canonical[name]):
                    x.append(app)
                    y.append(float(t.time_s[found.best] / t.time_s[found.canonical[name]]))
            figure.add_bar(
                x=x, y=y, name=name, marker={"color": colour}, legendgroup=name, showlegend=col == 1, row=1, col=col
            )
        figure.update_xaxes(title_text="no bound" if math.isinf(bound_w) else f"{bound_w:,.0f} W", row=1, col=col)
    figure.update_yaxes(title_text="speed over the best one's", row=1, col=1)
    figure.update_layout(showlegend=True, barmode="group")
    return Drawn(figure, "Canonical configurations against the best (Fig. 3.5)", _rests("Fig. 3.5"))


def draw_published(names: Sequence[str]) -> Drawn:
    """Draw the published points of applications without data with their lines (Fig. 4.1)."""
    figure = split_figure(300, 1, len(names), horizontal_spacing=0.07)
    for col, name in enumerate(names, 1):
        line = TABLE_4_8[name]
        x = np.array([10.0, 34.0])
        figure.add_scatter(
            x=x,
            y=line.slope_s * x + line.intercept_s,
            mode="lines",
            name="line of table 4.8",
            line={"color": TEAL, "dash": "dash", "width": 1.5},
            legendgroup="line",
            showlegend=col == 1,
            row=1,
            col=col,
        )
        for kind, colour in (("worst case", AMBER), ("packed-max", RED), ("best", BLUE)):
            point = TABLE_4_2[name][kind]
            figure.add_scatter(
                x=[point.nodes],
                y=[point.time_s],
                mode="markers",
                name=kind,
                marker={"color": colour, "size": 11, "symbol": "triangle-up"},
                legendgroup=kind,
                showlegend=col == 1,
                text=[point.name],
                row=1,
                col=col,
            )
        figure.update_xaxes(title_text=f"nodes, {name}", row=1, col=col)
    figure.update_yaxes(title_text="time [s]", row=1, col=1)
    figure.update_layout(showlegend=True)
    return Drawn(
        figure,
        "Others under 3,500 W, as published (Fig. 4.1)",
        "Published points of table 4.2 and lines of table 4.8; no measured tables of them are at hand.",
    )


def draw_costs(name: str, number: str) -> Drawn:
    """Draw s_ovp over cost ratio, power and advantage for one application (Figs. 4.3 to 4.6)."""
    spans = {"cost_ratio": (1.0, 3.0), "power_w": (3000.0, 14_000.0), "faster": (0.0, 0.5)}
    caption = (
        "The cost model with the published line; each parameter alone, the others as in table 4.7. The curve "
        "ends where the line has no time left."
    )
    return draw_sweep(
        TABLE_4_7,
        [(name, [Application(name, TABLE_4_8[name])])],
        f"{name}: when do more nodes pay? (Fig. {number})",
        caption,
        spans,
    )


def _rests(figure: str) -> str:
    return f"Rests on {RESTS_ON[figure]}."
