"""Figures of a power limit and of learned power: deadlock starts, learning rate over time, errors of profiles."""

from __future__ import annotations

import numpy as np

from wattline.report.count.learning import Learning, known_profiles, learning_rate, profile_columns
from wattline.report.count.run import Run
from wattline.report.figures.clock import finish_time_axes, time_axis
from wattline.report.figures.jobs import POINTS
from wattline.report.figures.over_time import add_limit, add_steps, escape_label
from wattline.report.figures.reduce import ecdf
from wattline.report.figures.style import AMBER, BLUE, GREY, RED, TEAL, VIOLET, Drawn, new_figure, soft, titled
from wattline.report.show import plural, scale_of, show

LEVEL_COLOURS = (TEAL, BLUE, VIOLET, AMBER, RED)
WIDEST = 1.0
"""Errors beyond this share are counted at the edge of the figure."""


def draw_limit(run: Run) -> Drawn:
    """Draw power under its limit, with the starts that were let in above it."""
    steps = run.steps
    scale = scale_of([float(steps.power_w.max(initial=0.0))], "W")
    figure = new_figure(360)
    clock = time_axis(run)
    how = add_steps(figure, run, steps.power_w / scale.factor, "power", BLUE, clock)
    add_limit(figure, run, scale, clock)
    if run.actions is not None and len(run.actions.deadlocks):
        begin_s, end_s = run.actions.deadlocks.T
        row = np.maximum(np.searchsorted(steps.time_s, begin_s, side="right") - 1, 0)
        lasted = [show(float(length), "s") for length in np.minimum(end_s, run.end_s) - begin_s]
        figure.add_scatter(
            x=clock.at(begin_s),
            y=steps.power_w[row] / scale.factor,
            mode="markers",
            name="deadlock starts",
            marker={"color": AMBER, "symbol": "triangle-down", "size": 9, "line": {"width": 1, "color": "white"}},
            customdata=lasted,
            hovertemplate="let in above the limit, ran %{customdata}<extra></extra>",
        )
        how += (
            " A triangle is a job that was let in above the limit because nothing ran and nothing fitted "
            f"({len(row):,})."
        )
    finish_time_axes(figure, run.start_s, clock)
    figure.update_yaxes(title_text=titled("power", scale.unit))
    figure.update_layout(showlegend=True)
    return Drawn(figure, "Power under the limit", how)


def draw_learning(run: Run, found: Learning) -> Drawn | None:
    """Draw the share of jobs whose profile was known when they entered the queue; None for less than two days."""
    if run.profiles is None or not found.learns:
        return None
    columns = profile_columns(run.profiles, run.jobs)
    known = known_profiles(columns["submit_level"], found.groupings)
    rate = learning_rate(columns["submit_s"], known, run.start_s, found.trailing_days)
    if rate.jobs.size < 2:
        return None
    figure = new_figure(320)
    day = np.arange(1, rate.jobs.size + 1)
    figure.add_scatter(
        x=day, y=100 * rate.daily, name="of the day", mode="markers", marker={"color": soft(GREY, 0.6), "size": 4}
    )
    for name, values, colour in (
        (f"of the last {found.trailing_days} days", rate.trailing, TEAL),
        ("of all so far", rate.cumulative, BLUE),
    ):
        figure.add_scatter(x=day, y=100 * values, name=name, mode="lines", line={"color": colour, "width": 1.8})
    figure.add_scatter(
        x=[0, day[-1]],
        y=[100 * found.threshold] * 2,
        name=show(found.threshold, "share"),
        mode="lines",
        line={"color": RED, "width": 1, "dash": "dot"},
        hoverinfo="skip",
    )
    figure.update_xaxes(title_text="days since the start of the run", range=[0, day[-1]])
    figure.update_yaxes(title_text="jobs with a known profile [%]", range=[0, 102], hoverformat=",.3~r")
    figure.update_layout(showlegend=True, hovermode="x unified", hoverdistance=-1)
    caption = f"Counted when jobs enter the queue, over {plural(found.jobs, 'job')} that started."
    return Drawn(figure, "Learning rate", caption)


def draw_profile_errors(run: Run, found: Learning) -> Drawn | None:
    """Draw how far profiles at the start of jobs were from their greatest samples, by level.

    None where nothing was sampled.
    """
    if run.profiles is None:
        return None
    columns = profile_columns(run.profiles, run.jobs)
    figure = new_figure(320)
    every = np.ones(columns["start_w"].size, dtype=np.bool_)
    curves = [
        (row.name, columns["start_level"] == v, "seen_w", "solid", LEVEL_COLOURS[v % len(LEVEL_COLOURS)])
        for v, row in enumerate(found.levels)
    ]
    for name, these, against, dash, colour in (*curves, ("all, against the mean", every, "mean_w", "dot", GREY)):
        rows = these & (columns[against] > 0)
        if not rows.any():
            continue
        error = columns["start_w"][rows] / columns[against][rows] - 1.0
        x, part = ecdf(np.clip(error, -WIDEST, WIDEST), POINTS)
        x, part = np.insert(x, 0, x[0]), np.insert(part, 0, 0.0)
        figure.add_scatter(
            x=100 * x,
            y=100 * part,
            name=escape_label(name),
            mode="lines",
            line={"shape": "hv", "color": colour, "width": 1.8, "dash": dash},
        )
    if not figure.data:
        return None
    figure.add_scatter(
        x=[0, 0],
        y=[0, 100],
        mode="lines",
        showlegend=False,
        hoverinfo="skip",
        name="exact",
        line={"color": GREY, "width": 1},
    )
    figure.update_xaxes(title_text="(profile − power) / power [%]", range=[-100 * WIDEST, 100 * WIDEST])
    figure.update_yaxes(title_text="share of jobs [%]", range=[0, 102])
    figure.update_layout(showlegend=True)
    caption = "Profiles at the start of jobs against their greatest sample, by level; left of 0 a profile was too low."
    return Drawn(figure, "Errors of profiles", caption)
