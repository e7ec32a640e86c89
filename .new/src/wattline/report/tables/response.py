"""The settings of a sweep as a table for a terminal of 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wattline.report.count.compare import interval_of
from wattline.report.count.response import Response
from wattline.report.show import MISSING, scale_of, show_within

if TYPE_CHECKING:
    from rich.console import Group

MAIN = (
    "wait_s.mean",
    "wait_s.p95",
    "bounded_slowdown.mean",
    "utilization",
    "energy.total_j",
    "power.mean_w",
    "power.peak_w",
    "power.above_limit_share",
    "cost",
    "jobs.finished",
    "jobs.rejected",
)
"""Metrics of the table, as far as they differ between settings (or are known, where there is one setting)."""

METRICS = 4
"""Metrics beside the keys: more do not fit."""


def response_table(found: Response, most: int) -> Group:
    """Return the settings and the first metrics that differ; the middle is left out where there are too many."""
    from rich.console import Group
    from rich.markup import escape
    from rich.table import Table

    header, rows = settings_rows(found)
    width = len(found.keys) + METRICS
    table = Table(box=None, pad_edge=False, header_style="bold")
    for i, name in enumerate(header[:width]):
        table.add_column(escape(name), justify="left" if i < len(found.keys) else "right", overflow="fold")
    cut = len(rows) > most
    for row in rows[: most // 2] if cut else rows:
        table.add_row(*row[:width])
    if cut:
        table.add_row(*["…"] * len(header[:width]))
        for row in rows[-(most // 2) :]:
            table.add_row(*row[:width])
    left = f"{len(rows) - 2 * (most // 2):,} settings are left out here; the table and the page hold all" if cut else ""
    return Group(table, *([left] if left else []))


def settings_rows(found: Response) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the settings; one unit a column."""
    metrics = [metric for metric in found.told() if metric.path in MAIN]
    scales = [scale_of([p.estimates[m.path].mean for p in found.points], m.unit) for m in metrics]
    units = [f" [{scale.unit}]" if scale.unit else "" for scale in scales]
    header = [*found.keys, *(f"{m.title}{unit}" for m, unit in zip(metrics, units, strict=True))]
    rows = []
    for point in found.points:
        cells = [
            show_within(one.mean, one.half_width, interval_of(m, one), scale)
            for m, scale in zip(metrics, scales, strict=True)
            for one in (point.estimates[m.path],)
        ]
        told = zip(found.keys, point.setting, strict=True)
        rows.append([*(MISSING if value is None else found.words(key, value) for key, value in told), *cells])
    return header, rows
