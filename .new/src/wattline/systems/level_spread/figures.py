"""Figures of the Level-Spread study, numbered as in the thesis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from wattline.report.figures.style import (
    AMBER,
    BLUE,
    GREEN,
    GREY,
    PINK,
    RED,
    TEAL,
    VIOLET,
    Drawn,
    new_figure,
    split_figure,
)
from wattline.systems.level_spread.cases import (
    BASELINES,
    BEYOND,
    GROUPING,
    JOKANOVIC,
    LARGE,
    LEVEL_SPREAD,
    POLICIES,
    SMALL,
    SPREADING,
    Setting,
    jobs_of,
)
from wattline.systems.level_spread.fixed import by_pattern
from wattline.systems.level_spread.points import level_of, points
from wattline.systems.level_spread.study import PORTS, Found, Study

COLOURS = {
    LEVEL_SPREAD: GREEN,
    "Simple": AMBER,
    "Slurm": RED,
    "RDG": PINK,
    "RDR": BLUE,
    "RRR": TEAL,
    "RDN": VIOLET,
    "RRN": GREY,
    "Jokanovic": AMBER,
    "Jokanovic, released": RED,
    BEYOND: BLUE,
}
SYMBOLS = (
    {LEVEL_SPREAD: "star", BEYOND: "star"}
    | dict.fromkeys((*GROUPING, *JOKANOVIC), "diamond")
    | dict.fromkeys(SPREADING, "circle")
)
ABOVE: dict[str, Any] = {
    "showlegend": True,
    "legend": {"yref": "container", "y": 1, "yanchor": "top"},
    "margin": {"t": 56},
}
"""Legends of split figures stand above the headings of their cells."""
FAR = 4.0
"""Beyond so many times Level-Spread's, points are drawn at the edge."""


def figures(study: Study) -> Iterator[Drawn]:
    """Yield all figures for which the study has the settings."""
    for crossbar in study.scale.crossbars:
        base = Setting(crossbar=crossbar)
        yield from _motivation(study, base)
        for workload, size, name in (("16", SMALL, "3.4(a)"), ("64", LARGE, "3.4(b)")):
            yield from _homogeneous(study, replace(base, workload=workload), size, name)
        for workload, name in (("16", "3.5"), ("64", "3.6")):
            found = study.found.get(replace(base, workload=workload, pattern="all-to-all"))
            if found is not None:
                yield _links(found, replace(base, workload=workload), name)
        mixed = replace(base, workload="16+64")
        yield from _scatters(study, [(f"ratio {r:g}", replace(mixed, ratio=r)) for r in study.scale.ratios], "3.7(a)")
        yield from _scatters(study, [(f"{m} nodes", replace(mixed, machine=m)) for m in study.scale.machines], "3.7(b)")
        mixes = [
            (f"{s} KB small, {b} KB large", replace(base, workload="3x16+3x64", small_kib=s, large_kib=b))
            for s, b in study.scale.mixes
        ]
        yield from _scatters(study, mixes, "3.8")
        if crossbar == study.scale.crossbars[0] and base in study.found:
            yield _sizes(study.found[base].time_s.shape[1])
        for policies, names in (
            (BASELINES, ("Fig. 3.10", "Fig. 3.11")),
            (JOKANOVIC, ("Fig. 3.12", "Fig. 3.13")),
            ((BEYOND,), ("ours", "ours")),
        ):
            for name, large_first in zip(names, (False, True), strict=True):
                found = study.found.get(replace(base, large_first=large_first))
                if found is not None:
                    yield _cloud(found, policies, name, crossbar, large_first=large_first)


def _speed(setting: Setting) -> str:
    return f"crossbar {setting.crossbar:g}"


def _motivation(study: Study, base: Setting) -> Iterator[Drawn]:
    figure = split_figure(300, 1, 2, horizontal_spacing=0.1)
    for column, (workload, size) in enumerate((("17x16", SMALL), ("4x68", LARGE)), 1):
        by = by_pattern(study, replace(base, workload=workload))
        if not by:
            return
        for policy in ("RDG", "RDN"):
            levels = [level_of(found, policy, size, "RDG") for found in by.values()]
            figure.add_bar(
                x=list(by),
                y=[e.mean for e in levels],
                name=policy,
                marker_color=COLOURS[policy],
                showlegend=column == 1,
                error_y={"type": "data", "array": [e.wide for e in levels]},
                row=1,
                col=column,
            )
        figure.add_heading(workload.replace("x", " jobs of ") + " nodes", row=1, col=column)
    figure.update_layout(barmode="group", **ABOVE)
    figure.update_yaxes(title_text="time over RDG's", col=1)
    yield Drawn(
        figure,
        f"Small jobs want groups, large ones do not, {_speed(base)} (Fig. 3.2)",
        "Mean communication time over repetitions, bars: 95 % intervals of paired ratios.",
    )


def _homogeneous(study: Study, base: Setting, size: int, name: str) -> Iterator[Drawn]:
    rows = [(ratio, by_pattern(study, replace(base, ratio=ratio))) for ratio in study.scale.ratios]
    if not all(by for _, by in rows):
        return
    figure = split_figure(200 * len(rows) + 60, len(rows), vertical_spacing=0.1)
    for row, (ratio, by) in enumerate(rows, 1):
        for policy in (LEVEL_SPREAD, *BASELINES, "Jokanovic"):
            levels = [level_of(found, policy, size) for found in by.values()]
            figure.add_bar(
                x=list(by),
                y=[e.mean for e in levels],
                name=policy,
                marker_color="#9c6b4a" if policy == "Jokanovic" else COLOURS[policy],
                showlegend=row == 1,
                error_y={"type": "data", "array": [e.wide for e in levels]},
                row=row,
                col=1,
            )
        figure.add_heading(f"global links × {ratio:g}", row=row, col=1)
    figure.update_layout(barmode="group", **ABOVE)
    figure.update_yaxes(title_text="time over Simple's")
    yield Drawn(
        figure,
        f"{base.workload}-node jobs, {_speed(base)} (Fig. {name})",
        f"272 nodes, {base.used:.0%} used, 1 KB; bars: 95 % intervals of paired ratios.",
    )


def _links(found: Found, setting: Setting, name: str) -> Drawn:
    """Draw packets and stalls of links: median, quartiles, least and most."""
    figure = split_figure(480, 2, 3, horizontal_spacing=0.07, vertical_spacing=0.14)
    order = list(POLICIES)
    shown = (LEVEL_SPREAD, *BASELINES)
    for row, (what, array, unit) in enumerate(
        (("packets", found.packets, 1.0), ("wait at the crossbar [µs]", found.held_s, 1e6)), 1
    ):
        for column, kind in enumerate(PORTS):
            low, first, median, third, most = (
                array[[order.index(p) for p in shown], :, column, 1:].mean(axis=1).T * unit
            )
            for y, other, style in ((median, (first, third), 6), (median, (low, most), 0)):
                figure.add_scatter(
                    x=list(shown),
                    y=y,
                    mode="markers",
                    marker={"size": 8 if style else 1, "color": [COLOURS[p] for p in shown]},
                    showlegend=False,
                    error_y={
                        "type": "data",
                        "symmetric": False,
                        "array": other[1] - y,
                        "arrayminus": y - other[0],
                        "thickness": style or 1,
                        "width": 0 if style else 5,
                    },
                    row=row,
                    col=column + 1,
                )
            figure.add_heading(f"{kind} ports: {what}", row=row, col=column + 1)
    return Drawn(
        figure,
        f"Links under {setting.workload}-node all-to-all jobs, {_speed(setting)} (Fig. {name})",
        "Median, quartiles (thick), least and most over all ports of routers, means over repetitions. Packets sent "
        "over the link; how long packets that came over it waited for the crossbar.",
    )


def _scatters(study: Study, rows: list[tuple[str, Setting]], name: str) -> Iterator[Drawn]:
    """Draw small-job over large-job times by pattern, a row a setting, over Simple's."""
    found = [(title, by) for title, setting in rows if (by := by_pattern(study, setting))]
    if not found:
        return
    patterns = list(found[0][1])
    figure = split_figure(
        210 * len(found) + 80,
        len(found),
        len(patterns),
        horizontal_spacing=0.035,
        vertical_spacing=0.4 / (len(found) + 2),
    )
    for row, (title, by) in enumerate(found, 1):
        for column, pattern in enumerate(patterns, 1):
            for policy in (LEVEL_SPREAD, *BASELINES):
                figure.add_scatter(
                    x=[by[pattern].mean_over(policy, SMALL, "Simple")],
                    y=[by[pattern].mean_over(policy, LARGE, "Simple")],
                    name=policy,
                    mode="markers",
                    marker={
                        "color": COLOURS[policy],
                        "symbol": SYMBOLS[policy],
                        "size": 12 if policy == LEVEL_SPREAD else 8,
                    },
                    showlegend=row == column == 1,
                    row=row,
                    col=column,
                )
            figure.add_heading(f"{pattern}, {title}" if column == 1 else pattern, row=row, col=column)
    figure.update_layout(**ABOVE)
    yield Drawn(
        figure,
        f"16- and 64-node jobs at once, {_speed(rows[0][1])} (Fig. {name})",
        "Across: small-job time over Simple's; upward: large-job time over Simple's. Star: Level-Spread; diamonds "
        "group, circles spread.",
    )


def _sizes(count: int) -> Drawn:
    sizes = [job.nodes for seed in range(count) for job in jobs_of(Setting(), seed)]
    counts = np.bincount(sizes)
    figure = new_figure(260)
    figure.add_bar(x=np.arange(counts.size), y=counts, marker_color=BLUE)
    figure.update_xaxes(title_text="nodes of a job")
    figure.update_yaxes(title_text="jobs", type="log", rangemode="normal")
    return Drawn(
        figure, "Sizes of jobs in the random workloads (Fig. 3.9)", f"{len(sizes):,} jobs of {count} workloads."
    )


def _cloud(found: Found, policies: tuple[str, ...], name: str, crossbar: float, *, large_first: bool) -> Drawn:
    """Draw every policy in every workload, over Level-Spread's."""
    figure = new_figure(460)
    small, large = points(found, policies)
    for policy, x, y in zip(policies, small, large, strict=True):
        figure.add_scatter(
            x=np.minimum(x, FAR),
            y=np.minimum(y, FAR),
            name=policy,
            mode="markers",
            marker={"color": COLOURS[policy], "symbol": SYMBOLS[policy], "size": 4, "opacity": 0.5},
        )
    for line in (([0, FAR], [1, 1]), ([1, 1], [0, FAR])):
        figure.add_scatter(x=line[0], y=line[1], mode="lines", line={"color": GREEN, "dash": "dash"}, showlegend=False)
    parts = {
        "upper right": (small > 1) & (large > 1),
        "upper left": (small <= 1) & (large > 1),
        "lower right": (small > 1) & (large <= 1),
        "lower left": (small < 1) & (large < 1),
    }
    figure.update_xaxes(title_text="small jobs' time over Level-Spread's")
    figure.update_yaxes(title_text="large jobs' time over Level-Spread's")
    figure.update_layout(showlegend=True)
    order = "large" if large_first else "small"
    return Drawn(
        figure,
        f"{small.shape[1]} random workloads, {order} jobs first, crossbar {crossbar:g} ({name})",
        ", ".join(f"{where} {share.mean():.1%}" for where, share in parts.items())
        + f"; upper right: Level-Spread is better for both. Beyond {FAR:g}: at the edge.",
    )
