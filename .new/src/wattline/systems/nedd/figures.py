"""Figures of the congestion study: the settings, times, correlations, impact factors and placements (Figs. 3.15 to
3.24).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from wattline.arrays import Floats
from wattline.physics.packets.metrics import correlation
from wattline.report.figures.figure import Figure
from wattline.report.figures.network import Placed, draw_network
from wattline.report.figures.style import AMBER, BLUE, GREY, RED, TEAL, VIOLET, Drawn, kind_colour, new_figure
from wattline.systems.nedd.cases import ALONE, MACHINES, ORDERS, POLICIES, SETTINGS, Study, given, layout_of
from wattline.systems.nedd.claims import by_setting

COLOURS = dict(zip(SETTINGS, (GREY, TEAL, AMBER, RED), strict=True))
METRICS = {
    "ntile ratio": ("stalls a flit of network tiles", "Fig. 3.18"),
    "ntile stalls": ("stalls/s of network tiles", "Fig. 3.19 a, b"),
    "ptile stalls": ("stalls/s of processor tiles", "Fig. 3.19 c, d"),
}


def _boxes(figure: Figure, names: Sequence[str], rows: Mapping[str, tuple[str, list[Floats]]]) -> None:
    """Draw medians with quartiles, and the extremes as thin marks; a row a colour, side by side at every name."""
    for i, (label, (colour, values)) in enumerate(rows.items()):
        x = np.arange(len(names)) + 0.7 * ((i + 0.5) / len(rows) - 0.5)
        first, median, third = (np.array([np.percentile(v, q) for v in values]) for q in (25, 50, 75))
        figure.add_scatter(
            x=x,
            y=median,
            name=label,
            mode="markers",
            marker={"color": colour, "size": 7},
            error_y={"type": "data", "symmetric": False, "array": third - median, "arrayminus": median - first},
        )
        for edge in (np.min, np.max):
            figure.add_scatter(
                x=x,
                y=[float(edge(v)) for v in values],
                name=label,
                showlegend=False,
                mode="markers",
                marker={"color": colour, "symbol": "line-ew-open", "size": 7},
            )
    figure.update_xaxes(tickvals=list(range(len(names))), ticktext=list(names))
    figure.update_layout(showlegend=True)


def draw_setting(machine: str, setting: int) -> Drawn:
    """Draw which nodes application and congestor have in a setting, not rotated (Fig. 3.15)."""
    own, others = layout_of(setting, 0, 10, given(machine, 0))
    network = MACHINES[machine].network
    jobs = [Placed("application", own)] + ([Placed("congestor", others)] if setting >= 2 else [])
    drawn = draw_network(network, jobs, network.nodes)
    return Drawn(drawn.figure, f"Setting {SETTINGS[setting]} (Fig. 3.15)", drawn.caption)


def draw_times(study: Study, machine: str, speed: float) -> Drawn:
    """Draw times in the four settings over the median of setting I (Fig. 3.17)."""
    figure = new_figure(340)
    apps = list(study.scale.applications)
    by = [study.of("settings", machine, speed, app) for app in apps]
    rows = {
        s: (COLOURS[s], [found[f"{s}: time"] / np.median(found[f"{SETTINGS[0]}: time"]) for found in by])
        for s in SETTINGS
    }
    _boxes(figure, apps, rows)
    figure.update_yaxes(title_text="time over setting I", type="log")
    count = study.scale.times(machine, speed, study.scale.rotations)
    caption = f"Medians, quartiles, extremes of {count} rotations; crossbar {speed:g}."
    return Drawn(figure, f"Execution times in four settings, {machine} (Fig. 3.17)", caption)


def draw_metric(study: Study, machine: str, speed: float, metric: str) -> Drawn:
    """Draw a metric against execution time, a point a setting (Figs. 3.18, 3.19)."""
    figure = new_figure(320)
    told = []
    for i, app in enumerate(study.scale.applications):
        x, y = by_setting(study, machine, speed, app, metric)
        rank = np.argsort(x)
        figure.add_scatter(
            x=x[rank],
            y=y[rank] / y[0],
            name=app,
            mode="lines+markers",
            text=[SETTINGS[k] for k in rank],
            line={"color": kind_colour(i), "width": 1},
        )
        told.append(f"{app} {correlation(x, y):+.2f}")
    label, where = METRICS[metric]
    figure.update_xaxes(title_text=label)
    figure.update_yaxes(title_text="time over setting I", type="log")
    figure.update_layout(showlegend=True)
    return Drawn(
        figure,
        f"{label} and execution time, {machine} ({where})",
        f"Means of each setting; correlations: {', '.join(told)}. Crossbar {speed:g}.",
    )


def draw_impact(study: Study, machine: str, speed: float) -> Drawn:
    """Draw the canary's bandwidth ratio against the stall/flit ratio, a point a run (Fig. 3.20)."""
    figure = new_figure(300)
    for i, size in enumerate(study.scale.sizes):
        found = study.of("alone", machine, speed, str(size))
        figure.add_scatter(
            x=found["ntile ratio"],
            y=found["bandwidth"],
            name=f"{size} nodes",
            mode="markers",
            marker={"color": kind_colour(i), "size": 8},
        )
    figure.update_xaxes(title_text="stalls a flit of network tiles")
    figure.update_yaxes(title_text="canary's bandwidth, beside congestor over alone")
    figure.update_layout(showlegend=True)
    return Drawn(
        figure,
        f"Congestor and stall/flit ratio, {machine} (Fig. 3.20)",
        f"Congestor and canary without an application; crossbar {speed:g}.",
    )


def draw_placed(study: Study, machine: str, speed: float) -> Drawn:
    """Draw times of applications by placement, over No-Congestor's mean (Fig. 3.24)."""
    figure = new_figure(360)
    apps = list(study.scale.placed)
    colours = (BLUE, RED, VIOLET, TEAL, AMBER, "#8e3a59", "#2f6f5e", GREY)
    by = [study.of("placed", machine, speed, app) for app in apps]
    rows = {
        name: (colour, [found[name] / found[ALONE].mean() for found in by])
        for name, colour in zip((*POLICIES, ALONE), colours, strict=True)
    }
    _boxes(figure, apps, rows)
    figure.update_yaxes(title_text="time over No-Congestor", type="log")
    return Drawn(
        figure,
        f"Placements beside a congestor, {machine} (Fig. 3.24)",
        f"Medians, quartiles, extremes of {by[0][ALONE].size} seeds; crossbar {speed:g}. NeDD is Low-Traffic for all "
        "but HPCG, for which it is High-Traffic.",
    )


def draw_order(study: Study, machine: str, speed: float) -> Drawn:
    """Draw times of a sensitive and an insensitive job by policy and order of placement."""
    figure = new_figure(320)
    found = study.of("order", machine, speed, "miniMD and HPCG")
    both = {"miniMD": BLUE, "HPCG": GREY}
    _boxes(
        figure,
        list(ORDERS),
        {app: (colour, [found[f"{way}: {app}"] for way in ORDERS]) for app, colour in both.items()},
    )
    figure.update_yaxes(title_text="time over that of an empty machine")
    return Drawn(
        figure,
        f"Two jobs placed one after the other, {machine}",
        f"miniMD on 32 nodes, HPCG on 64, a congestor on 64 of 200; crossbar {speed:g}.",
    )
