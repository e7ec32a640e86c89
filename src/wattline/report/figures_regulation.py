"""Figures of demand response: target and power with queue, arrivals and nodes; how far off, and how long jobs waited."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wattline.market.shares import ecdf as time_ecdf
from wattline.market.tracking import MARGIN, SHARE
from wattline.model.jobs import Floats
from wattline.report.figure import Figure
from wattline.report.figures import RECTANGLES, escape_label
from wattline.report.figures_jobs import POINTS
from wattline.report.reduce import ecdf
from wattline.report.regulation import billed_hours, degradations, error_steps, limit_of
from wattline.report.run import Run
from wattline.report.show import plural, scale_of, show
from wattline.report.style import BLUE, GREY, PALETTE, RED, TEAL, VIOLET, Drawn, new_figure, split_figure, titled
from wattline.traces.journal import Journal, collect

if TYPE_CHECKING:
    import polars as pl

MINUTE_S = 60.0


def draw_regulation(run: Run, journal: Journal) -> Drawn | None:
    """Draw the first billed hour: target and power, jobs waiting, arrivals, and who held which node."""
    hours = billed_hours(run)
    if not hours:
        return None
    begin_s, end_s = hours[0]
    placements = _within(journal.read("placements"), begin_s, end_s, run.end_s)
    stripes = placements.height <= RECTANGLES
    heights = [3.0, 1.2, 1.2] + [3.0] * stripes
    figure = split_figure(340 + 260 * stripes, len(heights), shared_xaxes=True, vertical_spacing=0.03, row_heights=heights,
                          layout={"bargap": 0, "barmode": "overlay"})  # fmt: skip
    _add_power(figure, run, begin_s, end_s)
    x, queued = _steps(run, run.steps.queued_jobs, begin_s, end_s)
    figure.add_scatter(x=x, y=queued, name="waiting", mode="lines", line={"shape": "hv", "color": VIOLET, "width": 1.2},
                       showlegend=False, row=2, col=1)  # fmt: skip
    figure.update_yaxes(title_text="waiting", row=2, col=1)
    _add_arrivals(figure, run, begin_s, end_s)
    paused = 0
    if stripes:
        paused = _add_stripes(figure, run, journal, placements, begin_s, end_s)
    last = len(heights)
    figure.update_xaxes(range=[0, (end_s - begin_s) / MINUTE_S], showgrid=False)
    figure.update_xaxes(title_text="time since the hour began [min]", row=last, col=1)
    figure.update_layout(showlegend=True)
    told = f" Grey: jobs paused on their nodes ({plural(paused, 'time')})." if paused else ""
    more = f"{plural(placements.height, 'placement')}, coloured by kind.{told}" if stripes else (
        f"{placements.height:,} placements are too many to draw here.")  # fmt: skip
    caption = (
        f"The first billed hour, from {show(begin_s, 's')} on, every change of it. Arrivals are by the minute. {more}"
    )
    return Drawn(figure, "Target and power", caption)


def draw_errors(run: Run) -> Drawn | None:
    """Draw the share of time up to a tracking error, with the market's constraint."""
    seconds, error = error_steps(run)
    if not seconds.size or np.isnan(error).any():
        return None
    levels, share = time_ecdf(seconds, error)
    kept = np.unique(np.linspace(0, levels.size - 1, min(POINTS, levels.size)).round().astype(np.int64))
    figure = new_figure(300)
    figure.add_scatter(x=100 * levels[kept], y=100 * share[kept], name="error", mode="lines",
                       line={"color": BLUE, "width": 1.8})  # fmt: skip
    top = max(100 * float(levels[-1]), 100 * MARGIN * 1.2)
    _add_lines(figure, 100 * MARGIN, 100 * (1 - SHARE), top)
    figure.update_xaxes(title_text="tracking error [% of the reserve]", range=[0, top])
    figure.update_yaxes(title_text="share of time [%]", range=[0, 102])
    beyond = float(seconds[error > MARGIN].sum() / seconds.sum())
    caption = f"All billed hours, by time: above 30 % for {show(beyond, 'share')} of it; 10 % are allowed."
    return Drawn(figure, "Tracking error", caption)


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
        finite, colour = np.isfinite(values), PALETTE[i % len(PALETTE)]
        if finite.any():
            figure.add_scatter(x=np.maximum(values[finite], 0.0), y=100 * share[finite], name=escape_label(kind["name"]),
                               mode="lines", line={"shape": "hv", "color": colour, "width": 1.6})  # fmt: skip
        limit = limit_of(kind)
        below = float(np.mean(np.where(np.isnan(q), at_least, q) < limit))
        figure.add_scatter(
            x=[limit], y=[100 * below], mode="markers", showlegend=False, name=escape_label(kind["name"]),
            marker={"color": colour, "size": 9, "symbol": "diamond", "line": {"width": 1, "color": colour}},
            hovertemplate="limit %{x:g}: %{y:.2f} % stay below it<extra></extra>",
        )  # fmt: skip
    allowed = 100 * (1 - max(float(kind["share"]) for kind in kinds))
    top = 1.15 * max(limit_of(kind) for kind in kinds)
    figure.add_scatter(x=[0, top], y=[allowed] * 2, mode="lines", name=f"{allowed:g} %", hoverinfo="skip",
                       line={"color": GREY, "width": 1, "dash": "dot"})  # fmt: skip
    figure.update_xaxes(title_text="QoS degradation Q", range=[0, top])
    figure.update_yaxes(title_text="share of jobs [%]", range=[0, 102])
    figure.update_layout(showlegend=True)
    return Drawn(figure, "Service by kind", "A diamond marks each kind's limit; it must not lie below the dotted line.")


def _add_power(figure: Figure, run: Run, begin_s: float, end_s: float) -> None:
    x, power_w = _steps(run, run.steps.power_w, begin_s, end_s)
    _, target_w = _steps(run, run.steps.target_w, begin_s, end_s)
    scale = scale_of([float(np.nanmax(power_w))], "W")
    for name, watts, colour, width in (("target", target_w, RED, 1.6), ("power", power_w, BLUE, 1.0)):
        figure.add_scatter(x=x, y=watts / scale.factor, name=name, mode="lines", row=1, col=1,
                           line={"shape": "hv", "color": colour, "width": width})  # fmt: skip
    figure.update_yaxes(title_text=titled("power", scale.unit), rangemode="normal", row=1, col=1)


def _add_arrivals(figure: Figure, run: Run, begin_s: float, end_s: float) -> None:
    edges = np.arange(begin_s, end_s + 1e-6, MINUTE_S)
    counts, _ = np.histogram(run.jobs["submit_s"].to_numpy(), edges)
    figure.add_bar(x=(edges[:-1] - begin_s) / MINUTE_S + 0.5, y=counts, width=0.9, marker_color=TEAL, name="arrivals",
                   showlegend=False, row=3, col=1)  # fmt: skip
    figure.update_yaxes(title_text="arrivals", row=3, col=1)


def _add_stripes(
    figure: Figure, run: Run, journal: Journal, placements: pl.DataFrame, begin_s: float, end_s: float
) -> int:
    """Draw a bar a placement, coloured by kind, and grey over the times in which its job paused; return their number."""
    held = placements.join(run.jobs.select("job_id", "kind", "nodes", "wait_s"), on="job_id", how="left")
    names = list(dict.fromkeys(held["kind"].to_list()))
    colours = [PALETTE[names.index(name) % len(PALETTE)] for name in held["kind"].to_list()]
    labels = [[escape_label(v) for v in row] for row in held.select("job_id", "kind", "nodes", "wait_s").rows()]
    _bars(figure, held, begin_s, colours, labels, "job %{customdata[0]}, %{customdata[1]}<br>%{customdata[2]} nodes, "
          "waited %{customdata[3]:.0f} s<extra></extra>")  # fmt: skip
    pauses = _pauses(journal, begin_s, end_s)
    found = _cut(placements.join(pauses, on="job_id", how="inner"))
    if found.height:
        _bars(figure, found, begin_s, [GREY] * found.height, [[job] for job in found["job_id"].to_list()],
              "job %{customdata[0]} paused<extra></extra>")  # fmt: skip
    figure.update_yaxes(title_text="node", range=[-0.5, max(run.nodes, 1) - 0.5], showgrid=False, row=4, col=1)
    return found.height


def _bars(
    figure: Figure, rows: pl.DataFrame, begin_s: float, colours: list[str], labels: list[list[object]], hover: str
) -> None:
    start_s, stop_s, first, count = (rows[c].to_numpy() for c in ("start_s", "end_s", "first_node", "count"))
    figure.add_bar(
        orientation="h", base=(start_s - begin_s) / MINUTE_S, x=(stop_s - start_s) / MINUTE_S, y=first + (count - 1) / 2,
        width=count.astype(np.float64), offset=-count / 2, row=4, col=1, showlegend=False, customdata=labels,
        marker={"color": colours, "line": {"width": 0.3, "color": "rgba(255,255,255,0.55)"}}, hovertemplate=hover,
    )  # fmt: skip


def _pauses(journal: Journal, begin_s: float, end_s: float) -> pl.DataFrame:
    """Return when jobs were paused and went on, from the events; one that never did is paused to the end of the hour."""
    import polars as pl

    switches = journal.events.filter(
        pl.col("event").is_in(["preempt", "resume", "requeue", "end", "kill"]), pl.col("job_id").is_not_null()
    )
    rows = collect(switches.select("time_s", "event", "job_id"), journal.folder / "events.parquet")
    rows = rows.sort("job_id", "time_s", maintain_order=True).with_columns(
        pl.col("time_s").shift(-1).over("job_id").fill_null(end_s).alias("went_on_s")
    )
    paused = rows.filter(pl.col("event") == "preempt", pl.col("time_s") < end_s, pl.col("went_on_s") > begin_s)
    return paused.select("job_id", pl.col("time_s").alias("paused_s"), "went_on_s")


def _cut(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the parts of placements in which their job was paused."""
    import polars as pl

    return rows.with_columns(
        pl.max_horizontal("start_s", "paused_s").alias("start_s"),
        pl.min_horizontal("end_s", "went_on_s").alias("end_s"),
    ).filter(pl.col("end_s") > pl.col("start_s"))


def _within(placements: pl.DataFrame, begin_s: float, end_s: float, run_end_s: float) -> pl.DataFrame:
    """Return the placements of an hour, cut to it."""
    import polars as pl

    return placements.with_columns(
        pl.max_horizontal("start_s", pl.lit(begin_s)).alias("start_s"),
        pl.min_horizontal(pl.col("end_s").fill_nan(None).fill_null(run_end_s), pl.lit(end_s)).alias("end_s"),
    ).filter(pl.col("end_s") > pl.col("start_s"))


def _steps(run: Run, values: Floats, begin_s: float, end_s: float) -> tuple[Floats, Floats]:
    """Return an hour of a step function, in minutes since it began."""
    held = run.steps.within(begin_s, end_s) > 0
    time_s = np.append(np.maximum(run.steps.time_s[held], begin_s), end_s)
    return (time_s - begin_s) / MINUTE_S, np.append(values[held], values[held][-1:])


def _add_lines(figure: Figure, x: float, y: float, right: float) -> None:
    """Draw the corner that a distribution must not pass below: a vertical and a horizontal line."""
    line = {"color": RED, "width": 1.2, "dash": "dash"}
    figure.add_scatter(x=[x, x], y=[0, 102], mode="lines", name=f"{x:g} %", line=line, hoverinfo="skip")
    figure.add_scatter(x=[0, right], y=[y, y], mode="lines", name=f"{y:g} % of the time", line=line | {"dash": "dot"},
                       hoverinfo="skip")  # fmt: skip
    figure.update_layout(showlegend=True)
