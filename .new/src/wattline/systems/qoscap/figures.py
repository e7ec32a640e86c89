"""The figures of the QoSCap study: what a day costs, a day of following changing bids, and the service of every
kind.
"""

from __future__ import annotations

import numpy as np

from wattline.bidding.hours.days import DayTrial
from wattline.model import codes
from wattline.report.figures.style import BLUE, GREY, PALETTE, RED, TEAL, Drawn, new_figure, split_figure
from wattline.systems.qoscap.cases import OURS, OUT, PAIRS, PUBLISHED, PUBLISHED_PAIR
from wattline.systems.qoscap.claims import LIMIT, mean_cost
from wattline.systems.qoscap.study import Study, days_of
from wattline.units import DAY_S, HOUR_S

POINTS = 6000
"""Points that a curve is thinned out to."""


def draw_costs(study: Study) -> Drawn:
    """Draw the mean cost of a day on every machine."""
    names = list(study.found)
    figure = new_figure(340)
    published = [PUBLISHED.get(case, {}).get(PUBLISHED_PAIR, (0.0, 0.0, None))[2] for case in names]
    figure.add_bar(x=names, y=published, name=f"published {PUBLISHED_PAIR}", marker={"color": GREY})
    for pair, colour in ((PUBLISHED_PAIR, BLUE), (OURS.name, TEAL), (OUT.name, RED)):
        y = [mean_cost(study.found[case][pair]) for case in names]
        figure.add_bar(x=names, y=y, name=pair, marker={"color": colour})
    figure.update_yaxes(title_text="$ a day")
    figure.update_layout(showlegend=True, barmode="group")
    return Drawn(
        figure, "Cost of a day", "Means over the days; flat prices of 0.10 $/kWh for energy, reserve and error."
    )


KINDS_NAMED = 7
"""Kinds of job that have a colour of their own, those with most jobs first."""


def draw_jobs(case: str, seed: int = 1) -> Drawn:
    """Draw power and run time of the jobs of a machine's days, by kind (Fig. 2.33)."""
    days = days_of(case, seed)
    jobs = days.jobs
    counts = np.bincount(jobs.kind, minlength=len(jobs.kinds))
    most = np.argsort(-counts, kind="stable")[:KINDS_NAMED]
    figure = new_figure(360)
    rows = [(np.flatnonzero(~np.isin(jobs.kind, most)), "others", GREY)]
    rows += [(np.flatnonzero(jobs.kind == k), jobs.kinds[k], PALETTE[i % len(PALETTE)]) for i, k in enumerate(most)]
    for where, name, colour in rows:
        if where.size:
            figure.add_scatter(
                x=jobs.work_s[where] / HOUR_S,
                y=jobs.draw_w[where],
                name=str(name),
                mode="markers",
                marker={"color": colour, "size": 5, "opacity": 0.6},
            )
    figure.update_xaxes(title_text="run time [h]", type="log")
    figure.update_yaxes(title_text="power [W a node]")
    figure.update_layout(showlegend=True)
    law = f"drawn by the law of {case.partition(',')[0]}"
    caption = f"{len(jobs):,} jobs of {days.last_s / DAY_S:.0f} days, {law}; a colour a kind."
    return Drawn(figure, f"Fig. 2.33: power and run time of jobs, {case}", caption)


def draw_day(study: Study, case: str, name: str, seed: int = 1) -> Drawn:
    """Draw target and power over a measured day, the bids that made it, and the jobs waiting (Fig. 2.34)."""
    pair = next(pair for pair in (*PAIRS, OURS) if pair.name == name)
    days = days_of(case, seed)
    trial = DayTrial(days, pair)
    outcome = trial.run(study.fixed.get(case, {}).get(name))
    rows = trial.world.timeline()
    rows = rows[(rows[:, codes.TL_TIME] >= days.begin_s) & (rows[:, codes.TL_TIME] < days.end_s)]
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), POINTS)).astype(int))]
    hours = (rows[:, codes.TL_TIME] - days.begin_s) / HOUR_S
    figure = split_figure(440, 2, shared_xaxes=True, vertical_spacing=0.06, row_heights=[0.75, 0.25])
    for column, label, colour in ((codes.TL_TARGET, "target", RED), (codes.TL_POWER, "power", BLUE)):
        figure.add_scatter(
            x=hours,
            y=rows[:, column] / 1e3,
            name=label,
            mode="lines",
            row=1,
            col=1,
            line={"shape": "hv", "color": colour, "width": 1.0},
        )
    edges = np.append([hour.begin_s for hour in outcome.hours], days.end_s) / HOUR_S - days.begin_s / HOUR_S
    mean = [np.nan if hour.bid is None else hour.bid.mean_w / 1e3 for hour in outcome.hours]
    figure.add_scatter(
        x=edges,
        y=[*mean, mean[-1]],
        name="P̄",
        mode="lines",
        row=1,
        col=1,
        line={"shape": "hv", "color": GREY, "width": 2.0},
    )
    figure.add_scatter(
        x=hours,
        y=rows[:, codes.TL_QUEUED],
        name="jobs waiting",
        mode="lines",
        row=2,
        col=1,
        line={"shape": "hv", "color": TEAL, "width": 1.2},
    )
    figure.update_yaxes(title_text="power [kW]", row=1, col=1)
    figure.update_yaxes(title_text="waiting", row=2, col=1)
    figure.update_xaxes(title_text="hours of the day", row=2, col=1)
    figure.update_layout(showlegend=True)
    return Drawn(
        figure,
        f"{name} on {case}",
        f"One measured day; ${outcome.cost:.0f}, error above 30 % for {outcome.exceed:.1%} of the time, worst average "
        f"Q {outcome.worst:.2f}.",
    )


def draw_service(study: Study, case: str, name: str) -> Drawn:
    """Draw the average QoS degradation of every kind, with the limit."""
    outcome = study.found[case][name][0]
    seen = np.flatnonzero(outcome.count > 0)
    order = seen[np.argsort(outcome.degradation[seen])]
    figure = new_figure(300)
    figure.add_bar(
        x=[outcome.kinds[k].name for k in order], y=outcome.degradation[order], name="average Q", marker={"color": BLUE}
    )
    figure.add_scatter(
        x=[outcome.kinds[order[0]].name, outcome.kinds[order[-1]].name],
        y=[LIMIT, LIMIT],
        mode="lines",
        name="limit",
        line={"color": RED, "width": 1.2, "dash": "dot"},
    )
    figure.update_yaxes(title_text="average Q")
    figure.update_layout(showlegend=True)
    return Drawn(figure, f"Service of every kind: {name} on {case}", "Jobs that arrived in the first measured day.")
