"""Runs of a comparison in one figure: power, queue and waits laid over each other, and the waits of every size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from wattline.arrays import Floats
from wattline.report.count.compare import Comparison, Row
from wattline.report.count.effects import Effect
from wattline.report.count.run import Run
from wattline.report.figures.clock import clock_of, finish_time_axes
from wattline.report.figures.jobs import add_ecdf, cut, log_time_axis
from wattline.report.figures.over_time import BINS, EXACT_STEPS, escape_label, hours_of
from wattline.report.figures.reduce import envelope
from wattline.report.figures.style import GREEN, GREY, PALETTE, RED, Drawn, new_figure, titled
from wattline.report.show import compact, plural, scale_of, show

MOST = len(PALETTE)
"""Runs that are laid over each other; more would not be told apart."""

COMPARED = (
    "wait_s.mean",
    "wait_s.p95",
    "bounded_slowdown.mean",
    "utilization",
    "energy.total_j",
    "power.peak_w",
    "power.above_limit_share",
)
"""Metrics that the bars of a comparison show."""


def draw_powers(runs: Mapping[str, Run]) -> Drawn | None:
    """Draw the power of all runs over time; None where no watts are known."""
    known = {label: run for label, run in runs.items() if run.has_power}
    if len(known) < 2:
        return None
    scale = scale_of([float(run.steps.power_w.max(initial=0.0)) for run in known.values()], "W")
    drawn = _over_time(known, {label: run.steps.power_w / scale.factor for label, run in known.items()}, "Power")
    drawn.figure.update_yaxes(title_text=titled("power", scale.unit))
    return drawn


def draw_queues(runs: Mapping[str, Run]) -> Drawn:
    """Draw the jobs in the queue of all runs over time."""
    drawn = _over_time(runs, {label: run.steps.queued_jobs for label, run in runs.items()}, "Jobs in the queue")
    drawn.figure.update_yaxes(title_text="jobs in the queue")
    return drawn


def draw_wait_shares(runs: Mapping[str, Run]) -> Drawn:
    """Draw the shares of jobs that waited up to a time, for all runs."""
    drawn = list(runs.items())[:MOST]
    figure = new_figure(20 + _height(len(drawn)), hovermode="x")
    for i, (label, run) in enumerate(drawn):
        add_ecdf(figure, run.jobs["wait_s"], str(escape_label(label)), PALETTE[i], least=1.0, unit="s")
    log_time_axis(figure, "wait")
    figure.update_layout(showlegend=True)
    return Drawn(figure, "Waits", "Jobs that started; waits of less than a second are drawn at 1 s.")


def draw_size_effects(rows: Sequence[Effect], label: str, first: str, unit: str = "node") -> Drawn:
    """Draw how much longer jobs of every size wait than in the first label."""
    scale = scale_of([row.change_s for row in rows], "s")
    figure = new_figure(300, bargap=0.3)
    figure.add_bar(
        x=[row.name for row in rows],
        y=[row.change_s / scale.factor for row in rows],
        marker_color=[RED if row.loses else GREEN if row.gains else GREY for row in rows],
        customdata=[
            f"{show(row.after_s, 's')} instead of {show(row.before_s, 's')}, {plural(round(row.jobs), 'job')}"
            for row in rows
        ],
        hovertemplate="%{customdata}<extra></extra>",
    )
    figure.update_xaxes(type="category", title_text=f"{unit}s")
    figure.update_yaxes(title_text=titled("mean wait, longer by", scale.unit), rangemode="normal", zeroline=True)
    title = f"Wait by size, {label} against {first}"
    return Drawn(figure, title, "Above 0 jobs of this size wait longer than in the first.")


def draw_comparison(comparison: Comparison) -> list[Drawn]:
    """Draw bars with 95 % intervals, one small figure for each of the metrics people ask for first."""
    rows = [row for row in comparison.rows if row.metric.path in COMPARED]
    # a limit that all of them kept needs no bars
    return [
        _draw_metric(comparison, row) for row in rows if not row.metric.path.endswith("above_limit_share") or _any(row)
    ]


def _over_time(runs: Mapping[str, Run], values: Mapping[str, Floats], title: str) -> Drawn:
    drawn = dict(list(runs.items())[:MOST])
    figure = new_figure(_height(len(drawn)))
    clock = clock_of(drawn.values())
    longest = max(drawn.values(), key=lambda run: run.end_s - run.start_s)
    binned = any(len(run.steps) > EXACT_STEPS for run in drawn.values())
    for i, (label, run) in enumerate(drawn.items()):
        steps, line = run.steps, {"color": PALETTE[i], "width": 1.4}
        if binned:
            found = envelope(steps.time_s, steps.duration_s, values[label], BINS)
            x, y = found.middle, found.mean
        else:
            held = steps.duration_s > 0
            x, y = np.append(steps.time_s[held], run.end_s), np.append(values[label][held], values[label][held][-1:])
            x, line = x[: y.size], {**line, "shape": "hv"}
        figure.add_scatter(x=clock.at(x), y=y, name=escape_label(label), mode="lines", line=line)
    finish_time_axes(figure, min(run.start_s for run in drawn.values()), clock)
    figure.update_layout(showlegend=True)
    left = f" The first {MOST} of {len(runs)} are drawn." if len(runs) > MOST else ""
    how = f"Means over bins of {hours_of(longest, BINS)}." if binned else "Every change is drawn."
    return Drawn(figure, title, f"One run of each. {how}{left}")


def _height(labels: int) -> int:
    """Return the height of a figure whose legend has so many labels, each in a line of its own on a narrow page."""
    return 320 + 14 * max(0, labels - 2)


def _any(row: Row) -> bool:
    return any(e.mean > 0 for e in row.estimates)


def _draw_metric(comparison: Comparison, row: Row) -> Drawn:
    scale = scale_of([e.mean for e in row.estimates], row.metric.unit)
    places = list(range(len(comparison.labels)))
    means = [e.mean for e in row.estimates]
    least = -np.inf if row.metric.unit == "$" else 0.0  # a bar may not reach below what can be
    ends = [(max(low, least) if np.isfinite(low) else low, high) for low, high in map(row.interval, places)]
    less, more = (
        [abs(end - mean) / scale.factor if np.isfinite(end) else 0.0 for end, mean in zip(side, means, strict=True)]
        for side in zip(*ends, strict=True)
    )
    figure = new_figure(76 + 30 * len(places), bargap=0.3)
    figure.add_bar(
        orientation="h",
        y=places,
        x=[mean / scale.factor for mean in means],
        marker_color=[PALETTE[i % len(PALETTE)] for i in places],
        error_x={
            "type": "data",
            "symmetric": False,
            "array": more,
            "arrayminus": less,
            "thickness": 1.2,
            "width": 4,
            "color": GREY,
        },
        customdata=[compact(mean, row.metric.unit) for mean in means],
        hovertemplate="%{customdata}<extra></extra>",
    )
    labels = [escape_label(cut(label)) for label in comparison.labels]
    figure.update_yaxes(tickvals=places, ticktext=labels, autorange="reversed", showgrid=False)
    figure.update_xaxes(title_text=scale.unit, showline=False, ticks="", rangemode="tozero")
    known = max(e.count for e in row.estimates) > 1
    return Drawn(figure, row.metric.title, "Mean and 95 % interval." if known else "One run each: no interval.")
