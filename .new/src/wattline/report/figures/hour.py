"""The hour of following a target that papers show: target and power, waiting jobs, arrivals, and who held which
node.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats
from wattline.journal.journal import Journal, collect
from wattline.report.count.regulation import billed_hours
from wattline.report.count.run import Run
from wattline.report.figures.figure import Figure
from wattline.report.figures.over_time import RECTANGLES, escape_label
from wattline.report.figures.style import BLUE, GREY, RED, TEAL, VIOLET, Drawn, kind_colour, soft, split_figure, titled
from wattline.report.show import plural, scale_of, show

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
    figure = split_figure(
        340 + 260 * stripes,
        len(heights),
        shared_xaxes=True,
        vertical_spacing=0.03,
        row_heights=heights,
        layout={"bargap": 0, "barmode": "overlay"},
    )
    _add_power(figure, run, begin_s, end_s)
    standby = [kind["name"] for kind in run.manifest.get("kinds") or () if kind["standby"]]
    jobs = run.jobs.filter(~run.jobs["kind"].is_in(standby))
    _add_waiting(figure, run, jobs if standby else None, begin_s, end_s)
    _add_arrivals(figure, jobs, begin_s, end_s)
    paused = 0
    if stripes:
        paused = _add_stripes(figure, run, journal, placements, begin_s, end_s)
    last = len(heights)
    figure.update_xaxes(range=[0, (end_s - begin_s) / MINUTE_S], showgrid=False)
    figure.update_xaxes(title_text="time since the hour began [min]", row=last, col=1)
    whole = {"name": "hour", "unit": "min", "seconds": MINUTE_S, "span": [0.0, (end_s - begin_s) / MINUTE_S]}
    figure.update_layout(showlegend=True, meta={"clock": whole})
    if stripes:
        more = f"{plural(placements.height, 'placement')}, coloured by kind."
        more += f" Grey: jobs paused on their nodes ({plural(paused, 'time')})." if paused else ""
    else:
        more = f"{placements.height:,} placements are too many to draw here."
    more += f" Standby jobs ({', '.join(standby)}) are left out of waiting jobs and arrivals." if standby else ""
    began = f"from {show(begin_s, 's')} on, " if begin_s > 0 else ""
    caption = f"The first billed hour, {began}every change of it. Arrivals are by the minute. {more}"
    return Drawn(figure, "Target and power", caption)


def _add_power(figure: Figure, run: Run, begin_s: float, end_s: float) -> None:
    x, power_w = _steps(run, run.steps.power_w, begin_s, end_s)
    _, target_w = _steps(run, run.steps.target_w, begin_s, end_s)
    scale = scale_of([float(np.nanmax(power_w))], "W")
    for name, watts, colour, width in (("target", target_w, RED, 1.6), ("power", power_w, BLUE, 1.0)):
        figure.add_scatter(
            x=_short(x),
            y=_short(watts / scale.factor),
            name=name,
            mode="lines",
            row=1,
            col=1,
            line={"shape": "hv", "color": colour, "width": width},
        )
    figure.update_yaxes(title_text=titled("power", scale.unit), rangemode="normal", row=1, col=1)


def _add_waiting(figure: Figure, run: Run, jobs: pl.DataFrame | None, begin_s: float, end_s: float) -> None:
    """Draw how many jobs wait: all of them, or the given ones, counted from queueing to the first start."""
    if jobs is None:
        x, queued = _steps(run, run.steps.queued_jobs, begin_s, end_s)
    else:
        came_s, left_s = (jobs[name].drop_nulls().to_numpy() for name in ("eligible_s", "start_s"))
        time_s = np.unique(np.concatenate([[begin_s], came_s, left_s, [end_s]]))
        time_s = time_s[(time_s >= begin_s) & (time_s <= end_s)]
        came, left = (np.searchsorted(np.sort(at_s), time_s, "right") for at_s in (came_s, left_s))
        queued = (came - left).astype(np.float64)
        x = (time_s - begin_s) / MINUTE_S
    figure.add_scatter(
        x=_short(x),
        y=_short(queued),
        name="waiting",
        mode="lines",
        line={"shape": "hv", "color": VIOLET, "width": 1.2},
        showlegend=False,
        row=2,
        col=1,
    )
    figure.update_yaxes(title_text="waiting", nticks=4, row=2, col=1)


def _add_arrivals(figure: Figure, jobs: pl.DataFrame, begin_s: float, end_s: float) -> None:
    edges = np.arange(begin_s, end_s + 1e-6, MINUTE_S)
    counts, _ = np.histogram(jobs["submit_s"].to_numpy(), edges)
    figure.add_bar(
        x=(edges[:-1] - begin_s) / MINUTE_S + 0.5,
        y=counts,
        width=0.9,
        marker_color=TEAL,
        name="arrivals",
        showlegend=False,
        row=3,
        col=1,
    )
    figure.update_yaxes(title_text="arrivals", nticks=4, row=3, col=1)


def _add_stripes(
    figure: Figure, run: Run, journal: Journal, placements: pl.DataFrame, begin_s: float, end_s: float
) -> int:
    """Draw a bar a placement, coloured by kind, and grey over the times in which its job paused.

    Return their number.
    """
    held = placements.join(run.jobs.select("job_id", "kind", "nodes", "wait_s"), on="job_id", how="left")
    declared = {kind["name"]: kind["standby"] for kind in run.manifest.get("kinds") or ()}
    names = list(dict.fromkeys([*declared, *held["kind"].to_list()]))
    for i, name in enumerate(names):
        mine = held.filter(held["kind"] == name)
        label = str(escape_label(name or "of no kind"))
        colour = soft(GREY, 0.4) if declared.get(name) else kind_colour(i)
        hover = f"job %{{customdata[0]}}, {label}<br>%{{customdata[1]}}, waited %{{customdata[2]}}<extra></extra>"
        told = [
            (job, plural(nodes or 0, run.unit), show(math.nan if wait is None else wait, "s"))
            for job, nodes, wait in mine.select("job_id", "nodes", "wait_s").iter_rows()
        ]
        _bars(figure, mine, begin_s, label, colour, told, hover)
    pauses = _pauses(journal, begin_s, end_s)
    found = _cut(placements.join(pauses, on="job_id", how="inner"))
    _bars(figure, found, begin_s, "paused", GREY, found["job_id"].to_list(), "job %{customdata} paused<extra></extra>")
    figure.update_yaxes(title_text="node", range=[-0.5, max(run.nodes, 1) - 0.5], showgrid=False, row=4, col=1)
    return found.height


def _bars(
    figure: Figure, rows: pl.DataFrame, begin_s: float, name: str, colour: str, told: Sequence[object], hover: str
) -> None:
    """Draw rectangles of one colour; ``told`` is what the hover text names of each."""
    if not rows.height:
        return
    start_s, stop_s, first, count = (rows[c].to_numpy() for c in ("start_s", "end_s", "first_node", "count"))
    figure.add_bar(
        orientation="h",
        base=_short((start_s - begin_s) / MINUTE_S),
        x=_short((stop_s - start_s) / MINUTE_S),
        y=_short(first + (count - 1) / 2),
        width=count,
        offset=_short(-count / 2),
        row=4,
        col=1,
        name=name,
        customdata=told,
        marker={"color": colour, "line": {"width": 0.3, "color": "rgba(255,255,255,0.55)"}},
        hovertemplate=hover,
    )


def _short(values: Floats) -> npt.NDArray[np.float32]:
    """Return numbers with the seven digits that are more than a screen shows, in half the space."""
    return np.asarray(values, dtype=np.float32)


def _pauses(journal: Journal, begin_s: float, end_s: float) -> pl.DataFrame:
    """Return when jobs were paused and went on, from the events.

    One that never did is paused to the end of the hour.
    """
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
