"""What meters of a real machine said, beside what the model says and what was asked for."""

from __future__ import annotations

import numpy as np

from wattline.journal.journal import Journal
from wattline.report.count.run import Run
from wattline.report.figures.clock import finish_time_axes, time_axis
from wattline.report.figures.over_time import EXACT_STEPS, add_limit, add_steps
from wattline.report.figures.style import AMBER, BLUE, RED, Drawn, new_figure, titled
from wattline.report.show import plural, scale_of, show


def draw_measured(run: Run, journal: Journal) -> Drawn | None:
    """Draw measured power above the model's, with target and limit; None for a run that nobody measured."""
    readings = journal.read("measured")
    known = readings.drop_nulls("power_w")
    if not known.height:
        return None
    time_s, power_w = (known[name].to_numpy() for name in ("time_s", "power_w"))
    scale = scale_of([float(power_w.max()), float(run.steps.power_w.max(initial=0.0))], "W")
    figure, clock = new_figure(320), time_axis(run)
    add_steps(figure, run, run.steps.power_w / scale.factor, "model", BLUE, clock)
    every = -(-known.height // EXACT_STEPS)
    for name, at_s, watts, colour in (
        ("measured", time_s, power_w, AMBER),
        ("target", run.steps.time_s, run.steps.target_w, RED),
    ):
        if np.isfinite(watts).any():
            thin = slice(None, None, every if name == "measured" else -(-at_s.size // EXACT_STEPS) or 1)
            figure.add_scatter(
                x=clock.at(at_s[thin]),
                y=watts[thin] / scale.factor,
                name=name,
                mode="lines",
                line={"shape": "hv", "color": colour, "width": 1.2},
            )
    add_limit(figure, run, scale, clock)
    finish_time_axes(figure, run.start_s, clock)
    figure.update_yaxes(title_text=titled("power", scale.unit))
    figure.update_layout(showlegend=True)
    at = np.clip(np.searchsorted(run.steps.time_s, time_s, "right") - 1, 0, None)
    apart_w = np.abs(power_w - run.steps.power_w[at])
    lost = readings.height - known.height
    how = f"{plural(known.height, 'reading')}{f', one in {every} drawn' if every > 1 else ''}. "
    how += f"Measured and modelled power are {show(float(apart_w.mean()), 'W')} apart on average."
    how += f" {plural(lost, 'reading')} had too few nodes." if lost else ""
    return Drawn(figure, "Measured power", how)
