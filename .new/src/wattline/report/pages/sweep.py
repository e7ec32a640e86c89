"""The page of a sweep: what was varied, how every metric answers to each key, and all settings in a table."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from wattline.report.count.compare import Metric, interval_of
from wattline.report.count.response import Point, Response, respond
from wattline.report.figures.response import draw_response
from wattline.report.page import Page, folded, table
from wattline.report.show import plural, scale_of, show, show_within
from wattline.report.tables.response import MAIN, settings_rows

if TYPE_CHECKING:
    import polars as pl

MOST_ROWS = 500
"""Settings that the table of the page shows; the Parquet file holds all."""


def write_sweep(
    frame: pl.DataFrame,
    keys: Iterable[str],
    path: Path,
    *,
    title: str,
    scenario: str = "",
    units: Mapping[str, str] | None = None,
) -> Path:
    """Write the page of a sweep and return where it is; ``units`` are the SI units of keys that have one."""
    found = respond(frame, list(keys), units)
    page = Page(f"{title} – Wattline sweep")
    page.add(
        f'<header><p class="kicker">Wattline sweep</p><h1>{escape(title)}</h1>'
        f'<p class="sub">{plural(frame.height, "run")}, {plural(len(found.points), "setting")}.</p>'
        f'<p class="answer">{escape(sentence(found))}</p></header>'
    )
    moving = [name for name in found.keys if len(found.values(name)) > 1]
    first = leading(found)
    figures = [page.figure(draw_response(found, name, "" if first is None else first.path)) for name in moving]
    page.add("<h2>Responses</h2>" if figures else "", *figures)
    page.add("<h2>All settings</h2>", settings_table(found))
    if scenario:
        page.add("<h2>The scenario</h2>", folded("The scenario, as it was read", f"<pre>{escape(scenario)}</pre>"))
    return page.write(path)


def leading(found: Response) -> Metric | None:
    """Return the metric of which the sentence speaks, and with which all figures begin: the mean wait, or another one
    that differs.
    """
    moving = found.moving()
    ranked = sorted(moving, key=lambda metric: MAIN.index(metric.path) if metric.path in MAIN else len(MAIN))
    return next(iter(ranked), None)


def sentence(found: Response) -> str:
    """Say which key matters most, for the mean wait or for what there is; of one setting what its seeds give."""
    if len(found.points) == 1:
        return _one(found, found.points[0])
    metric = leading(found)
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
    most = f"{told}; {ranked[0]} changes it most." if len(ranked) > 1 and not _are_tied(found, keys) else f"{told}."
    return f"{most}{_rejected(found)}"


def _are_tied(found: Response, keys: Sequence[str]) -> bool:
    """Tell whether two keys always changed together: what each of them does cannot be told then."""
    names = list(found.keys)
    columns = [[point.setting[names.index(name)] for point in found.points] for name in keys]
    return any(
        len(set(zip(one, other, strict=True))) == len(set(one)) == len(set(other))
        for one, other in itertools.combinations(columns, 2)
    )


def _one(found: Response, point: Point) -> str:
    known = [m for m in found.told() if m.path in MAIN]
    metric = next((m for m in known if m.path == "wait_s.mean"), None) or next(iter(known), None)
    if metric is None:
        return "One setting, of which no metric is known."
    told = point.estimates[metric.path]
    scale = scale_of([told.mean], metric.unit)
    value = show_within(told.mean, told.half_width, interval_of(metric, told), scale)
    return (
        f"One setting, {plural(found.seeds, 'seed')}; {metric.title}: {value}{f' {scale.unit}' if scale.unit else ''}."
    )


def _rejected(found: Response) -> str:
    """Warn of settings in which some jobs can never run: means of the others may look better for it."""
    counts = {p.setting: p.estimates["jobs.rejected"].mean for p in found.points if "jobs.rejected" in p.estimates}
    if len(set(counts.values())) < 2:
        return ""
    jobs = plural(max(1, round(max(counts.values()))), "job")
    each = "of a run" if found.seeds == 1 else "a run, on average over its seeds,"
    return f" In some settings up to {jobs} {each} can never start and count in no mean: see the rejected jobs."


def settings_table(found: Response) -> str:
    """Return the settings and their main metrics as an HTML table."""
    header, rows = settings_rows(found)
    note = ""
    if len(found.points) > MOST_ROWS:
        note = f'<p class="sub">The first {MOST_ROWS:,} of {len(found.points):,}; the Parquet file holds all.</p>'
    return note + table(header, rows[:MOST_ROWS], text=tuple(range(len(found.keys))))


def _words(found: Response, point: Point) -> str:
    return ", ".join(f"{key} {found.words(key, value)}" for key, value in zip(found.keys, point.setting, strict=True))
