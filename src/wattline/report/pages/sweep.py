"""The page of a sweep: what was varied, how every metric answers to each key, and all settings in a table."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wattline.report.count.compare import Metric
from wattline.report.count.response import Point, Response, respond
from wattline.report.figures.response import draw_response
from wattline.report.page import Page, table
from wattline.report.show import plural, show
from wattline.report.tables.response import MAIN, settings_rows

if TYPE_CHECKING:
    import polars as pl

MOST_ROWS = 500
"""Settings that the table of the page shows; the Parquet file holds all."""


def write_sweep(frame: pl.DataFrame, keys: dict[str, list[Any]], path: Path, *, title: str, scenario: str = "") -> Path:
    """Write the page of a sweep and return where it is."""
    found = respond(frame, list(keys))
    page = Page(f"{title} – Wattline sweep")
    page.add(
        f'<header><p class="kicker">Wattline sweep</p><h1>{escape(title)}</h1>'
        f'<p class="sub">{plural(frame.height, "run")}, {plural(len(found.points), "setting")}.</p>'
        f"<p>{escape(sentence(found))}</p></header>"
    )
    moving = [name for name in found.keys if len(found.values(name)) > 1]
    figures = [page.figure(draw_response(found, name, leading(found, name).path)) for name in moving]
    page.add("<h2>Responses</h2>" if figures else "", *figures)
    page.add("<h2>All settings</h2>", settings_table(found))
    if scenario:
        page.add(f"<details><summary>The scenario</summary><pre>{escape(scenario)}</pre></details>")
    return page.write(path)


def leading(found: Response, key: str) -> Metric:
    """Return the metric with which the figure of a key begins: among the main ones that which changes the most."""
    moving = [metric for metric in found.moving() if metric.path in MAIN] or found.moving() or list(found.metrics)
    return max(moving, key=lambda metric: found.largest(metric, key))


def sentence(found: Response) -> str:
    """Say which key matters most, for the mean wait or for what there is."""
    metric = next((m for m in found.moving() if m.path == "wait_s.mean"), None) or next(iter(found.moving()), None)
    keys = [name for name in found.keys if len(found.values(name)) > 1]
    if metric is None or not keys:
        return "Nothing that was varied changed any metric."
    ranked = sorted(keys, key=lambda key: -found.largest(metric, key))
    means = [(point.estimates[metric.path].mean, point) for point in found.points]
    known = [(mean, point) for mean, point in means if mean == mean]
    low, high = min(known, key=lambda one: one[0]), max(known, key=lambda one: one[0])
    told = (
        f"{metric.title}: from {show(low[0], metric.unit)} ({_words(found, low[1])}) to {show(high[0], metric.unit)} "
        f"({_words(found, high[1])})"
    )
    return f"{told}; {ranked[0]} changes it most." if len(ranked) > 1 else f"{told}."


def settings_table(found: Response) -> str:
    """Return the settings and their main metrics as an HTML table."""
    header, rows = settings_rows(found)
    note = ""
    if len(found.points) > MOST_ROWS:
        note = f'<p class="sub">The first {MOST_ROWS:,} of {len(found.points):,}; the Parquet file holds all.</p>'
    return note + table(header, rows[:MOST_ROWS], text=tuple(range(len(found.keys))))


def _words(found: Response, point: Point) -> str:
    return ", ".join(f"{key} {value}" for key, value in zip(found.keys, point.setting, strict=True))
