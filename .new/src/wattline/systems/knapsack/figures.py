"""The figures of the power-capping study: learning, power under caps, waits and use by month, and what a cap costs."""

from __future__ import annotations

import numpy as np

from wattline.report.figures.style import BLUE, GREY, RED, TEAL, VIOLET, Drawn, new_figure
from wattline.systems.knapsack.claims import LEARNED, LEARNED_DAY
from wattline.systems.knapsack.study import CURVE_KW, FIXED_KW, NAIVE, OURS, PAPER, STRICT, UNCAPPED, Study, careful

COLOURS = {NAIVE: GREY, PAPER: BLUE, OURS: TEAL}


def draw_learning(study: Study) -> Drawn:
    """Draw the share of known profiles over time (Fig. 5)."""
    figure = new_figure(300)
    for scheme, colour in ((PAPER, BLUE), (OURS, TEAL)):
        year = study.get(study.scale.orders[-1], scheme, 3000.0)
        if year is not None:
            day = np.arange(1, len(year.known) + 1)
            figure.add_scatter(
                x=day, y=year.known, name=scheme.name, mode="lines", line={"color": colour, "width": 1.5}
            )
    figure.add_scatter(
        x=[LEARNED_DAY], y=[LEARNED], name="published", mode="markers", marker={"color": RED, "size": 10}
    )
    figure.update_xaxes(title_text="day")
    figure.update_yaxes(title_text="known profiles", tickformat=".0%", range=[0, 1])
    figure.update_layout(showlegend=True)
    return Drawn(
        figure, "Learning rate (Fig. 5)", "Share of all jobs submitted so far whose key or project was known then."
    )


def draw_power(study: Study, limit: float | str, title: str) -> Drawn:
    """Draw the power over the year without a cap, with the paper's scheme and with ours (Figs. 6 and 7)."""
    figure = new_figure(360)
    bare = study.get("wfp", UNCAPPED, None)
    shown = [("without a cap", bare, GREY)] + [
        (s.name, study.get("wfp", s, limit), c) for s, c in ((PAPER, RED), (OURS, TEAL))
    ]
    for name, year, colour in shown:
        if year is not None and year.curve is not None:
            figure.add_scatter(
                x=year.curve[0] / 24,
                y=year.curve[1] / 1e3,
                name=name,
                mode="lines",
                line={"color": colour, "width": 0.8, "shape": "hv"},
            )
    capped = study.get("wfp", PAPER, limit)
    if capped is not None and capped.curve is not None:
        figure.add_scatter(
            x=capped.curve[0] / 24,
            y=capped.curve[2] / 1e3,
            name="limit",
            mode="lines",
            line={"color": "black", "width": 1.5, "shape": "hv", "dash": "dot"},
        )
    figure.update_xaxes(title_text="day")
    figure.update_yaxes(title_text="power [kW]", rangemode="tozero")
    figure.update_layout(showlegend=True)
    return Drawn(
        figure,
        title,
        "Thinned out; points above the limit are jobs that were let in to break deadlocks, and samples above what was "
        "counted with.",
    )


def draw_months(study: Study, order: str, limit: float, *, use: bool) -> Drawn:
    """Draw the change against no cap by month: of waits (Figs. 8 and 9), or of utilization (Figs. 10 and 11)."""
    figure = new_figure(280)
    base = study.get(order, STRICT, None)
    for scheme, colour in COLOURS.items():
        year = study.get(order, scheme, limit)
        if year is None or base is None:
            continue
        y = year.monthly_use / base.monthly_use - 1.0 if use else year.monthly_wait_s / base.monthly_wait_s
        figure.add_bar(x=np.arange(1, len(y) + 1), y=y, name=scheme.name, marker={"color": colour})
    figure.update_xaxes(title_text="month", dtick=1)
    if use:
        figure.update_yaxes(title_text="change", tickformat=".0%")
    else:
        figure.update_yaxes(title_text="wait over wait without a cap", type="log")
    figure.update_layout(showlegend=True, barmode="group")
    what = "Utilization" if use else "Waits"
    published = {("wfp", False): "8", ("fcfs", False): "9", ("wfp", True): "10", ("fcfs", True): "11"}[order, use]
    return Drawn(
        figure,
        f"{what} at {limit:,.0f} kW, {order} (Fig. {published})",
        "Relative change by month against strict order without a cap."
        if use
        else "Mean wait by month of submission over that of strict order without a cap; below 1 is shorter.",
    )


def draw_trade_off(study: Study) -> Drawn:
    """Draw mean wait against the cap, and against capping success at 3,000 kW."""
    figure = new_figure(340)
    caps = sorted({*CURVE_KW, *FIXED_KW})
    for scheme, colour in ((PAPER, BLUE), (OURS, TEAL)):
        years = [(kw, study.get("wfp", scheme, kw)) for kw in caps]
        known = [(kw, year) for kw, year in years if year is not None and year.capping is not None]
        figure.add_scatter(
            x=[kw for kw, _ in known],
            y=[year.wait_s / 3600 for _, year in known],
            name=scheme.name,
            mode="lines+markers",
            line={"color": colour},
            text=[f"success {year.capping.whole.success:.2%}" for _, year in known if year.capping is not None],
        )
    figure.update_xaxes(title_text="cap [kW]")
    figure.update_yaxes(title_text="mean wait [h]", type="log")
    figure.update_layout(showlegend=True)
    return Drawn(figure, "What a cap costs", "Mean wait over the year, wfp; hover for the capping success rate.")


def draw_success(study: Study) -> Drawn:
    """Draw mean wait against capping success at 3,000 kW for stated miss probabilities of our learner."""
    figure = new_figure(320)
    for (profile, schemes), colour in zip(careful().items(), (TEAL, VIOLET), strict=True):
        years = [(scheme, study.get("wfp", scheme, 3000.0)) for scheme in schemes]
        known = [
            (scheme, year, year.capping) for scheme, year in years if year is not None and year.capping is not None
        ]
        figure.add_scatter(
            x=[capping.whole.success for _, _, capping in known],
            y=[year.wait_s / 3600 for _, year, _ in known],
            text=[scheme.name.split(", ")[-1] for scheme, _, _ in known],
            name=f"window 100, {profile}",
            mode="lines+markers+text",
            textposition="top center",
            line={"color": colour},
        )
    paper = study.get("wfp", PAPER, 3000.0)
    if paper is not None and paper.capping is not None:
        figure.add_scatter(
            x=[paper.capping.whole.success],
            y=[paper.wait_s / 3600],
            name=PAPER.name,
            mode="markers",
            marker={"color": BLUE, "size": 10},
        )
    figure.update_xaxes(title_text="capping success rate (intervals)", tickformat=".2%")
    figure.update_yaxes(title_text="mean wait [h]", rangemode="tozero")
    figure.update_layout(showlegend=True)
    return Drawn(
        figure,
        "Waits against success at 3,000 kW",
        "wfp; our learners with several stated miss probabilities. Right and low is good.",
    )
