"""Figures over time: power under its limit, queue and busy nodes, speed and backlog, and the Gantt of the nodes.

Figures are made of reduced data, and each caption says how; numbers are never read from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.journal.journal import Journal
from wattline.report.count.run import Run
from wattline.report.figures.clock import Clock, finish_time_axes, time_axis
from wattline.report.figures.figure import Figure
from wattline.report.figures.reduce import envelope, raster
from wattline.report.figures.style import (
    AMBER,
    BLUE,
    GREY,
    PALETTE,
    RED,
    TEAL,
    VIOLET,
    Drawn,
    new_figure,
    soft,
    split_figure,
    titled,
)
from wattline.report.show import Scale, compact, number, plural, scale_of, show

if TYPE_CHECKING:
    import polars as pl

EXACT_STEPS = 3000
"""Step functions of up to this many rows are drawn row by row."""

BINS = 900
"""Bins of a longer one: about one a pixel of the page."""

RECTANGLES = 3000
"""A Gantt of up to this many placements is drawn rectangle by rectangle."""

CELLS = (160, 700)
"""Node ranges and time bins of the raster that stands for a longer one."""


def draw_power(run: Run) -> Drawn:
    """Draw power over time and the limit, where there is one."""
    steps = run.steps
    limited = np.isfinite(steps.limit_w)
    scale = scale_of([float(steps.power_w.max(initial=0.0)), *steps.limit_w[limited][:1].tolist()], "W")
    figure = new_figure(320)
    clock = time_axis(run)
    how = add_steps(figure, run, steps.power_w / scale.factor, "power", BLUE, clock)
    add_limit(figure, run, scale, clock)
    finish_time_axes(figure, run.start_s, clock)
    figure.update_yaxes(title_text=titled("power", scale.unit))
    figure.update_layout(showlegend=True)
    return Drawn(figure, "Power", how)


def add_limit(figure: Figure, run: Run, scale: Scale, clock: Clock) -> None:
    """Add the power limit to a figure, where there is one; a gap in the line is a time without."""
    limited = np.isfinite(run.steps.limit_w)
    if not limited.any():
        return
    limit = np.where(limited, run.steps.limit_w, np.nan) / scale.factor
    kept = _changes(limit)
    if kept.size > EXACT_STEPS:  # of a limit that changes all the time, the lowest of a bin is what counts
        kept = _lowest(run.steps.time_s, limit, kept)
    figure.add_scatter(
        x=clock.at(np.append(run.steps.time_s[kept], run.end_s)),
        y=np.append(limit[kept], limit[-1]),
        name="limit",
        mode="lines",
        line={"shape": "hv", "color": RED, "width": 1.5, "dash": "dash"},
    )


def draw_load(run: Run) -> Drawn:
    """Draw the queue above the nodes that are busy, asleep and out of service."""
    figure = split_figure(460, 2, shared_xaxes=True, vertical_spacing=0.06)
    clock = time_axis(run)
    how = add_steps(figure, run, run.steps.queued_jobs, "jobs in the queue", VIOLET, clock, row=1)
    add_steps(figure, run, run.steps.busy_nodes, f"busy {run.unit}s", TEAL, clock, row=2)
    for name, values, colour in (
        ("asleep", run.steps.asleep_nodes, GREY),
        ("out of service", run.steps.down_nodes, RED),
    ):
        if values.any():
            add_steps(figure, run, values, name, colour, clock, row=2)
    figure.add_scatter(
        x=[clock.at(run.start_s), clock.at(run.end_s)],
        y=[run.nodes] * 2,
        name=f"all {run.unit}s",
        mode="lines",
        row=2,
        col=1,
        line={"color": GREY, "width": 1, "dash": "dot"},
        hoverinfo="skip",
    )
    finish_time_axes(figure, run.start_s, clock)
    figure.update_xaxes(title_text="", row=1, col=1)
    figure.update_yaxes(title_text="jobs in the queue", range=[0, 1.05 * max(run.steps.queued_jobs.max(), 1.0)], row=1)
    figure.update_yaxes(title_text=f"{run.unit}s", range=[0, 1.08 * max(run.nodes, 1)], row=2)
    figure.update_layout(showlegend=True)
    return Drawn(figure, "Queue and nodes", how)


def draw_rates(run: Run) -> Drawn | None:
    """Draw speed and remaining work over time; None when the speed never changed."""
    steps = run.steps
    if steps.time_s.size == 0 or np.all(steps.rate == steps.rate[0]):
        return None
    tracked = bool(np.isfinite(steps.backlog).any())
    rows = 2 if tracked else 1
    figure = split_figure(220 + 200 * (rows - 1), rows, shared_xaxes=True, vertical_spacing=0.06)
    clock = time_axis(run)
    how = add_steps(figure, run, steps.rate, "rate", AMBER, clock, row=1)
    figure.update_yaxes(title_text="rate", row=1, col=1)
    if tracked:
        add_steps(figure, run, np.nan_to_num(steps.backlog), "remaining work", BLUE, clock, row=2)
        figure.update_yaxes(title_text="remaining work", row=2, col=1)
    finish_time_axes(figure, run.start_s, clock)
    if tracked:
        figure.update_xaxes(title_text="", row=1, col=1)
    return Drawn(figure, "Service rate", how)


def draw_gantt(run: Run, journal: Journal) -> Drawn:
    """Draw which nodes were held when: a rectangle a placement, or a raster of busy shares where they are too many."""
    placements = journal.read("placements")
    if placements.height <= RECTANGLES:
        return _gantt_rectangles(run, placements)
    return _gantt_raster(run, placements)


def _gantt_rectangles(run: Run, placements: pl.DataFrame) -> Drawn:
    figure = new_figure(420, bargap=0)
    clock = time_axis(run)
    held = placements.join(run.jobs.select("job_id", "user", "kind", "nodes", "wait_s"), on="job_id", how="left")
    start_s, end_s = _intervals(run, placements)
    first, count = placements["first_node"].to_numpy(), placements["count"].to_numpy()
    colours = [PALETTE[i % len(PALETTE)] for i in placements["job_id"].to_list()]
    told = [
        (
            job,
            plural(nodes, run.unit) if nodes is not None else "",
            "" if wait is None else show(wait, "s"),
            show(lasted, "s"),
            " ".join(str(escape_label(name)) for name in (user, kind) if name),
        )
        for job, user, kind, nodes, wait, lasted in zip(
            *(held[name].to_list() for name in ("job_id", "user", "kind", "nodes", "wait_s")),
            (end_s - start_s).tolist(),
            strict=True,
        )
    ]
    figure.add_bar(
        orientation="h",
        base=clock.at(start_s),
        x=clock.lasting(end_s - start_s),
        y=first + (count - 1) / 2,
        width=count.astype(np.float64),
        offset=-count / 2,
        marker={"color": colours, "line": {"width": 0.5, "color": "rgba(255,255,255,0.55)"}},
        customdata=told,
        hovertemplate="job %{customdata[0]}: %{customdata[1]}<br>waited %{customdata[2]}, held them for "
        "%{customdata[3]}<br>%{customdata[4]}<extra></extra>",
    )
    _finish_gantt(figure, run, clock)
    return Drawn(
        figure, "Who held which node", f"{plural(placements.height, 'placement')}; colours tell neighbours apart."
    )


def _gantt_raster(run: Run, placements: pl.DataFrame) -> Drawn:
    figure = new_figure(420)
    clock = time_axis(run)
    start_s, end_s = _intervals(run, placements)
    rows = min(CELLS[0], run.nodes)
    time_edges = np.linspace(run.start_s, run.end_s, CELLS[1] + 1)
    node_edges = np.linspace(0, run.nodes, rows + 1)
    first, count = placements["first_node"].to_numpy(), placements["count"].to_numpy()
    share = raster(start_s, end_s, first, count, time_edges, node_edges)
    figure.add_heatmap(
        x=clock.at(time_edges),
        y=node_edges - 0.5,
        z=np.round(100 * share).astype(np.uint8),
        zmin=0,
        zmax=100,
        colorscale=[[0, soft(TEAL, 0.0)], [1, soft(TEAL, 1.0)]],
        colorbar={
            "title": {"text": "busy [%]", "side": "top"},
            "orientation": "h",
            "thickness": 8,
            "len": 0.24,
            "x": 0,
            "xanchor": "left",
            "y": 1.0,
            "yanchor": "bottom",
            "outlinewidth": 0,
            "tickvals": [0, 50, 100],
        },
        hovertemplate=f"{clock.hover}, {run.unit} " + "%{y:,.0f}<br>%{z} % busy<extra></extra>",
    )
    _finish_gantt(figure, run, clock)
    caption = (
        f"{placements.height:,} placements are too many to draw one by one: each cell is the exact busy share of "
        f"{number(run.nodes / rows, 4)} {run.unit}{'s' if run.nodes > rows else ''} × {hours_of(run, CELLS[1])}."
    )
    return Drawn(figure, "Which nodes were busy", caption)


def add_steps(
    figure: Figure, run: Run, values: Floats, name: str, colour: str, clock: Clock, row: int | None = None
) -> str:
    """Add a step function to a figure, exactly or as an envelope around its mean; return which."""
    steps = run.steps
    place = {} if row is None else {"row": row, "col": 1}
    line = {"color": colour, "width": 1.4}
    if len(steps) <= EXACT_STEPS:
        held = steps.duration_s > 0
        x = np.append(steps.time_s[held], run.end_s)
        y = np.append(values[held], values[held][-1:])
        figure.add_scatter(
            x=clock.at(x[: y.size]),
            y=y,
            name=name,
            mode="lines",
            line=line | {"shape": "hv"},
            fill="tozeroy",
            fillcolor=soft(colour, 0.12),
            **place,
        )
        return f"Every change is drawn ({int(held.sum()):,})."
    found = envelope(steps.time_s, steps.duration_s, values, BINS)
    x = clock.at(found.middle)
    figure.add_scatter(
        x=np.concatenate([x, x[::-1]]),
        y=np.concatenate([found.high, found.low[::-1]]),
        fill="toself",
        fillcolor=soft(colour, 0.28),
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        **place,
    )
    figure.add_scatter(x=x, y=found.mean, name=name, mode="lines", line=line, **place)
    return (
        f"{len(steps):,} changes in {BINS} bins of {hours_of(run, BINS)}: the band reaches from the lowest to the "
        "highest "
        "value in a bin, so that no peak is lost; the line is the mean over time."
    )


def hours_of(run: Run, bins: int) -> str:
    """Return the width of a bin as text."""
    seconds = (run.end_s - run.start_s) / bins
    return compact(seconds, "s")


def escape_label(value: object) -> object:
    """Return a text that plotly, which reads a little HTML in labels, shows as it is."""
    if not isinstance(value, str):
        return value
    return value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _finish_gantt(figure: Figure, run: Run, clock: Clock) -> None:
    finish_time_axes(figure, run.start_s, clock)
    figure.update_yaxes(title_text=run.unit, range=[-0.5, max(run.nodes, 1) - 0.5], showgrid=False)
    figure.update_layout(showlegend=False, hovermode="closest", hoverdistance=20)


def _intervals(run: Run, placements: pl.DataFrame) -> tuple[Floats, Floats]:
    """Return when nodes were taken and given back, in the run; what is still held is held to its end."""
    start_s = placements["start_s"].to_numpy()
    end_s = placements["end_s"].fill_nan(None).fill_null(run.end_s).to_numpy()
    return start_s, np.maximum(np.minimum(end_s, run.end_s), start_s)


def _lowest(time_s: Floats, values: Floats, kept: Ints) -> Ints:
    """Return of rows in order of time the one of the lowest value in every bin of the page.

    Rows without a value come last.
    """
    first, last = float(time_s[kept[0]]), float(time_s[kept[-1]])
    in_bin = np.minimum(BINS - 1, ((time_s[kept] - first) / (last - first) * BINS).astype(np.int64))
    order = np.lexsort((kept, np.where(np.isnan(values[kept]), np.inf, values[kept]), in_bin))
    best = order[np.unique(in_bin[order], return_index=True)[1]]
    return np.sort(kept[best])


def _changes(values: Floats) -> Ints:
    """Return the rows at which a step function changes."""
    different = (values[1:] != values[:-1]) & ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
    return np.flatnonzero(np.concatenate([[True], different])).astype(np.int64)
