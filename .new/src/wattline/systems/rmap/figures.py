"""Figures of single traces in the RMAP study: what each job waited and drew, how power was used, how far models are
off.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from wattline.arrays import Floats
from wattline.model import codes
from wattline.report.figures.style import AMBER, BLUE, GREY, TEAL, VIOLET, Drawn, new_figure
from wattline.systems.rmap.study import JOBS, POLICIES, Study, Task, worlds
from wattline.systems.rmap.tables import MODEL, machines

SHOWN = {"Traditional": GREY, "Adaptive, 0 %": BLUE, "Adaptive, 20 %": VIOLET, "Surplus, 0 %": TEAL}
"""Policies of the figures of single traces."""

EDGE, STEP = 0.4, 0.05
"""Errors beyond the edge are drawn in the last bin."""

DRAWS = 40
"""Draws of a tenth of each table for the figures of errors."""


def typical_seed(study: Study, machine: str, trace: str, bound: int) -> int:
    """Return the seed whose change from Traditional to Adaptive is the median one: neither the best nor the worst case
    is shown.
    """
    found = next(
        f for p, f in study.found.items() if (p.machine, p.trace, p.bound, p.source) == (machine, trace, bound, "exact")
    )
    change = found.turnaround_s["Adaptive, 0 %"] / found.turnaround_s["Traditional"]
    return int(np.argsort(change)[(change.size - 1) // 2])


@functools.lru_cache(maxsize=4)
def one_trace(machine: str, trace: str, bound: int, seed: int) -> dict[str, tuple[Floats, Floats, Floats, Floats]]:
    """Return by policy: waits, run times and powers of the jobs, and the timeline, of one trace under a bound."""
    found = {}
    task = Task(machine, trace, "exact", (bound,), range(seed, seed + 1))
    for names, world in worlds(task, seed):
        for name in set(names) & set(SHOWN):
            world.start_over(limit_w=machines()[machine].bounds_w[bound], params={"select": POLICIES[name].params})
            world.run_until(np.inf)
            s = world.state
            took_s = s.end_s - s.started_s
            found[name] = (s.started_s - s.submit_s, took_s, s.energy_j / took_s, world.timeline().copy())
    return {name: found[name] for name in SHOWN}


def draw_jobs(study: Study, machine: str, trace: str, bound: int, figures: str) -> list[Drawn]:
    """Draw turnaround and power of each job of one trace, by policy."""
    seed = typical_seed(study, machine, trace, bound)
    found = one_trace(machine, trace, bound, seed)
    bound_w = machines()[machine].bounds_w[bound]
    where = f"{trace} trace of seed {seed} under {bound_w:,.0f} W, {machine}"
    number = np.arange(1, JOBS + 1)
    times, power = new_figure(300), new_figure(300)
    for name, (wait_s, took_s, watts, _) in found.items():
        times.add_bar(
            x=number,
            y=wait_s + took_s,
            name=name,
            marker_color=SHOWN[name],
            customdata=np.column_stack([wait_s, took_s]),
            hovertemplate="job %{x}: waited %{customdata[0]:.0f} s, ran %{customdata[1]:.0f} s",
        )
        power.add_bar(x=number, y=watts, name=name, marker_color=SHOWN[name])
    for figure, label in ((times, "turnaround [s]"), (power, "power [W]")):
        figure.update_xaxes(title_text="job")
        figure.update_yaxes(title_text=label, rangemode="tozero")
        figure.update_layout(showlegend=True, barmode="group")
    better = ", ".join(
        f"{int(np.sum(sum(found[name][:2]) < sum(found['Traditional'][:2]) * (1 - 1e-9)))} of {JOBS} with {name}"
        for name in found
        if name != "Traditional"
    )
    return [
        Drawn(times, f"Turnaround of each job: {where} ({figures})", f"Sooner done than under Traditional: {better}."),
        Drawn(power, f"Power of each job: {where} ({figures})", "Mean power while the job ran."),
    ]


def draw_timeline(study: Study, machine: str, trace: str, bound: int, figures: str) -> Drawn:
    """Draw the power of the machine over time by policy."""
    seed = typical_seed(study, machine, trace, bound)
    bound_w = machines()[machine].bounds_w[bound]
    figure = new_figure(280)
    found = one_trace(machine, trace, bound, seed)
    for name, (_, _, _, rows) in found.items():
        figure.add_scatter(
            x=rows[:, codes.TL_TIME],
            y=rows[:, codes.TL_POWER],
            name=name,
            mode="lines",
            line={"color": SHOWN[name], "shape": "hv", "width": 1},
        )
    last_s = max(float(rows[-1, codes.TL_TIME]) for _, _, _, rows in found.values())
    figure.add_scatter(
        x=[0.0, last_s], y=[bound_w, bound_w], name="bound", mode="lines", line={"color": AMBER, "dash": "dash"}
    )
    figure.update_xaxes(title_text="time [s]")
    figure.update_yaxes(title_text="power [W]", rangemode="tozero")
    figure.update_layout(showlegend=True)
    return Drawn(
        figure,
        f"Power over time: {trace} trace of seed {seed}, {machine} ({figures})",
        "Dashed: the bound. Idle nodes count for nothing.",
    )


def draw_errors(machine: str) -> list[Drawn]:
    """Draw quartiles of the errors of the log-quadratic model by application, and histograms of both errors (Figs. 5.4,
    5.5).
    """
    from wattline.learn.configs import fit
    from wattline.learn.configs.errors import draw, histogram, quartiles, sample_size, signed_errors, unseen

    boxes, bins = new_figure(300), new_figure(300)
    every: Sequence[list[Floats]] = ([], [])
    names, found = [], []
    for i, table in enumerate(machines()[machine].tables):
        of_app = []
        for k in range(DRAWS):
            rows = draw(table, sample_size(len(table), 0.1), np.random.default_rng([11, i, k]))
            if unseen(table, rows).size == 0:
                continue
            errors = signed_errors(fit(table, rows, MODEL), table, unseen(table, rows))
            of_app.append(errors[0])
            for kept, error in zip(every, errors, strict=True):
                kept.append(error)
        if of_app:
            names.append(table.application)
            found.append(quartiles(np.concatenate(of_app)))
    _, first, median, third, most = np.array(found).T
    boxes.add_scatter(
        x=names,
        y=median,
        name="median, quartiles",
        mode="markers",
        marker={"color": BLUE, "size": 8},
        error_y={"type": "data", "symmetric": False, "array": third - median, "arrayminus": median - first},
    )
    boxes.add_scatter(
        x=names, y=most, name="greatest", mode="markers", marker={"color": GREY, "symbol": "line-ew-open"}
    )
    for kept, name, colour in zip(every, ("time", "power"), (BLUE, AMBER), strict=True):
        edges, counts = np.array(histogram(np.clip(np.concatenate(kept), -EDGE, EDGE), STEP)).T
        bins.add_bar(x=edges + 0.5 * STEP, y=counts / counts.sum(), name=name, marker_color=colour)
    boxes.update_layout(showlegend=True)
    boxes.update_yaxes(title_text="error of time, absolute", tickformat=".0%", rangemode="tozero")
    bins.update_xaxes(title_text="(predicted − true) / true; below 0: under-predicted", tickformat=".0%")
    bins.update_yaxes(title_text="part of predictions", tickformat=".0%")
    bins.update_layout(showlegend=True, barmode="group")
    below = np.concatenate(every[1])
    return [
        Drawn(
            boxes,
            f"Errors of the log-quadratic model, {machine} (Fig. 5.4)",
            f"{DRAWS} draws of a tenth of each table (35 points at least); the greatest error of all draws above.",
        ),
        Drawn(
            bins,
            f"Under- and over-prediction, {machine} (Fig. 5.5)",
            f"Power is under-predicted by more than 10 % for {np.mean(below < -0.1):.1%} of the configurations "
            "(published: 4 %).",
        ),
    ]
