"""Figures of jobs: how long they waited, how they were slowed, how large and long they were, who used the energy."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wattline.report.count.groups import GroupRow, SizeRow, with_slowdowns
from wattline.report.count.run import Run
from wattline.report.figures.figure import Figure
from wattline.report.figures.over_time import escape_label
from wattline.report.figures.reduce import ecdf
from wattline.report.figures.style import (
    AMBER,
    BLUE,
    RED,
    TEAL,
    VIOLET,
    Drawn,
    new_figure,
    soft,
    titled,
)
from wattline.report.show import scale_of, show

if TYPE_CHECKING:
    import polars as pl

POINTS = 800
"""Points of an ECDF that are drawn; each lies on the true curve."""

TOP = 15
"""Bars of a ranking before the rest is summed up."""

TIME_TICKS = {
    1.0: "1 s",
    10.0: "10 s",
    60.0: "1 min",
    600.0: "10 min",
    3600.0: "1 h",
    86400.0: "1 d",
    864000.0: "10 d",
    8640000.0: "100 d",
}


def draw_waits(run: Run) -> Drawn:
    """Draw the shares of jobs that waited and responded within a time."""
    jobs = with_slowdowns(run)
    figure = new_figure(300)
    for name, column, colour in (("wait", "wait_s", BLUE), ("response", "response_s", AMBER)):
        add_ecdf(figure, jobs[column], name, colour, least=1.0, unit="s")
    log_time_axis(figure, "time")
    waits = jobs["wait_s"].drop_nulls().to_numpy()
    at_once = float(np.mean(waits < 1.0)) if waits.size else float("nan")
    caption = f"{show(at_once, 'share')} of the jobs that started waited less than a second (drawn at 1 s)."
    return Drawn(figure, "Wait and response", caption if waits.size else "No job started.")


def draw_slowdowns(run: Run) -> Drawn:
    """Draw the shares of jobs up to a slowdown."""
    jobs = with_slowdowns(run)
    figure = new_figure(300)
    for name, column, colour in (("slowdown", "slowdown", VIOLET), ("bounded slowdown", "bounded_slowdown", TEAL)):
        add_ecdf(figure, jobs[column], name, colour, least=1.0)
    figure.update_xaxes(type="log", title_text="slowdown", dtick=1)
    return Drawn(
        figure,
        "Slowdown",
        "Response over the time alone at full speed; the bounded one takes times below 10 s as 10 s.",
    )


def draw_energies(run: Run) -> Drawn:
    """Draw the shares of jobs up to an energy."""
    energy_j = run.ended["energy_j"].drop_nulls()
    positive = energy_j.filter(energy_j > 0)
    scale = scale_of([float(np.median(positive.to_numpy()))] if positive.len() else [], "J")
    figure = new_figure(300)
    add_ecdf(figure, positive / scale.factor, "energy", AMBER, least=0.0, unit=scale.unit)
    figure.update_xaxes(type="log", title_text=titled("energy of a job", scale.unit), dtick=1)
    none = energy_j.len() - positive.len()
    return Drawn(figure, "Energy per job", "All jobs that ended" + (f"; {none:,} used none." if none else "."))


def draw_sizes(sizes: Sequence[SizeRow], unit: str = "node") -> Drawn:
    """Draw how many jobs there were of each size and how much of the machine's time they took."""
    figure = new_figure(300, bargap=0.25, barmode="group")
    labels = [row.label for row in sizes]
    for name, values, colour in (
        ("jobs", [row.jobs for row in sizes], BLUE),
        (f"{unit}-seconds", [row.node_s for row in sizes], AMBER),
    ):
        total = float(sum(values)) or 1.0
        figure.add_bar(
            x=labels, y=[100 * v / total for v in values], name=name, marker_color=colour, hovertemplate="%{y:.3~r} %"
        )
    figure.update_xaxes(type="category", title_text=f"{unit}s")
    figure.update_yaxes(title_text="share [%]")
    return Drawn(figure, "Job sizes", "Shares of all jobs and of the node-seconds they held.")


def draw_run_times(run: Run) -> Drawn:
    """Draw a histogram of run times in bins of equal width on the logarithmic axis."""
    seconds = np.maximum(run.ended["runtime_s"].drop_nulls().to_numpy(), 1.0)
    figure = new_figure(300, bargap=0.02)
    if seconds.size:
        top = max(np.log10(seconds.max()), 1.0)
        edges = np.logspace(0, np.ceil(top * 8) / 8, int(np.ceil(top * 8)) + 1)
        edges[-1] *= 1.0 + 1e-9
        counts, _ = np.histogram(seconds, edges)
        figure.add_bar(
            x=np.sqrt(edges[:-1] * edges[1:]),
            y=counts,
            width=np.diff(edges),
            marker_color=TEAL,
            name="jobs",
            customdata=[f"{show(low, 's')} to {show(high, 's')}" for low, high in itertools.pairwise(edges.tolist())],
            hovertemplate="%{customdata}: %{y:,} jobs<extra></extra>",
        )
    log_time_axis(figure, "run time")
    figure.update_yaxes(title_text="jobs")
    return Drawn(
        figure, "Run times", "All jobs that ended, eight bins a decade; shorter ones than 1 s are drawn at 1 s."
    )


def draw_waits_by_size(sizes: Sequence[SizeRow], unit: str = "node") -> Drawn:
    """Draw mean, median and 95th percentile of the wait for every size of jobs."""
    shown = [row for row in sizes if not np.isnan(row.wait_mean_s)]
    scale = scale_of([row.wait_p95_s for row in shown] + [row.wait_mean_s for row in shown], "s")
    figure = new_figure(300, bargap=0.35)
    labels = [row.label for row in shown]
    figure.add_bar(
        x=labels, y=[row.wait_mean_s / scale.factor for row in shown], name="mean", marker_color=soft(BLUE, 0.75)
    )
    for name, values, colour, symbol in (
        ("median", [row.wait_median_s for row in shown], AMBER, "line-ew"),
        ("95th percentile", [row.wait_p95_s for row in shown], RED, "diamond"),
    ):
        marker = {"color": colour, "symbol": symbol, "size": 9, "line": {"width": 2, "color": colour}}
        figure.add_scatter(x=labels, y=[v / scale.factor for v in values], name=name, mode="markers", marker=marker)
    figure.update_xaxes(type="category", title_text=f"{unit}s")
    figure.update_yaxes(title_text=titled("wait", scale.unit))
    return Drawn(figure, "Wait by size", "Over the jobs that started.")


def draw_ranking(rows: Sequence[GroupRow], what: str) -> Drawn | None:
    """Draw the energy of the largest users (or kinds, …) and of the rest; None when there is only one."""
    if len(rows) < 2:
        return None
    rest = rows[TOP:]
    named = [(row.name or "(unknown)", row.energy_j) for row in rows[:TOP]]
    scale = scale_of([joules for _, joules in named], "J")
    figure = new_figure(max(200, 90 + 22 * len(named)), bargap=0.25)
    # Numbered positions with texts beside them: two labels that look alike stay two bars.
    figure.add_bar(
        orientation="h",
        y=list(range(len(named))),
        x=[joules / scale.factor for _, joules in named],
        marker_color=BLUE,
        hovertemplate="%{x:,.4~r} " + scale.unit + "<extra></extra>",
    )
    labels = [escape_label(cut(name)) for name, _ in named]
    figure.update_yaxes(tickvals=list(range(len(named))), ticktext=labels, autorange="reversed", showgrid=False)
    figure.update_xaxes(title_text=titled("energy", scale.unit), showgrid=True, showline=False, ticks="")
    more = f" {len(rest):,} more used {show(sum(row.energy_j for row in rest), 'J')} together." if rest else ""
    return Drawn(figure, f"Energy by {what}", f"Energy charged to jobs.{more}")


def add_ecdf(figure: Figure, column: pl.Series, name: str, colour: str, least: float, unit: str = "") -> None:
    """Add the shares of a sample up to each value; a label names the value in a unit that fits it."""
    x, share = ecdf(np.maximum(column.drop_nulls().to_numpy(), least), POINTS)
    if x.size == 0:
        return
    # A rise from zero, so that the share at the least value can be read off.
    x, share = np.insert(x, 0, x[0]), np.insert(share, 0, 0.0)
    figure.add_scatter(
        x=x,
        y=100 * share,
        name=name,
        mode="lines",
        line={"shape": "hv", "color": colour, "width": 1.8},
        customdata=[show(value, unit) for value in x.tolist()],
        hovertemplate="%{y:.3~r} % up to %{customdata}",
    )
    figure.update_yaxes(title_text="share of jobs [%]", range=[0, 102])


def log_time_axis(figure: Figure, title: str) -> None:
    """Let an axis of seconds be logarithmic, with ticks at times that people know."""
    figure.update_xaxes(type="log", tickvals=list(TIME_TICKS), ticktext=list(TIME_TICKS.values()), title_text=title)


def cut(label: str, limit: int = 24) -> str:
    """Return a label short enough for an axis, cut in the middle: what tells names apart is often at the end."""
    return label if len(label) <= limit else f"{label[: limit - 9]}…{label[-8:]}"
