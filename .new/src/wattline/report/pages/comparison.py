"""The page of a comparison: a sentence, what differs, runs laid over each other, who loses and who gains."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path

from wattline.report.count.compare import Comparison, Row, compare
from wattline.report.count.differing import Written, as_it_is, differing_keys
from wattline.report.count.effects import Effect, Effects, find_effects
from wattline.report.count.metrics import Summary
from wattline.report.count.run import Run
from wattline.report.figures.beside import (
    MOST,
    draw_comparison,
    draw_powers,
    draw_queues,
    draw_size_effects,
    draw_wait_shares,
)
from wattline.report.page import Page, Raw, folded, table
from wattline.report.show import Shown, compact, number, show_estimate
from wattline.report.tables.answer import answer, effect_words
from wattline.report.tables.summary import change, is_rounding

LISTED = 8
"""Users that are shown of those who lose and of those who gain."""

BESIDE = 4
"""Labels beside the first one in a table that must not be too wide."""

Loaders = Mapping[str, Callable[[], Run]]
"""How one run of each label is loaded, for what is drawn over time."""


def write_comparison(
    runs: Mapping[str, Sequence[Summary]],
    path: Path,
    *,
    title: str = "Comparison",
    comparison: Comparison | None = None,
    loaders: Loaders | None = None,
    written: Written = as_it_is,
) -> Path:
    """Write a page that compares labelled sets of runs and return where it is.

    With ``loaders`` it also says in what the runs differ, and lays them over each other; ``written`` is how values of
    keys are written there.
    """
    found = comparison or compare(runs)
    effects = find_effects(runs, loaders)
    page = Page(f"{title} – Wattline")
    first = found.labels[0]
    page.add(
        f'<header><p class="kicker">Wattline comparison</p><h1>{escape(title)}</h1>'
        f'<p class="answer">{escape(answer(found, effects))}</p>'
        f'<p class="sub">{len(found.labels)} sets of runs, {sum(found.runs)} runs; differences are against '
        f"<b>{escape(first)}</b>, run by run, paired by {found.paired_by}.</p></header>"
    )
    page.add(*(f'<p class="sub warn">{escape(note)}</p>' for note in found.notes))
    loaded = {label: slim(load()) for label, load in list((loaders or {}).items())[:MOST]}
    _add_differences(page, loaded, len(found.labels), written)
    figures = "".join(page.figure(drawn) for drawn in draw_comparison(found))
    page.add("<h2>At a glance</h2>", f'<div class="grid small">{figures}</div>')
    add_overlays(page, loaded)
    _add_effects(page, found, effects, runs[first][0].unit)
    page.add("<h2>All numbers</h2>", comparison_html(found))
    page.add("<h2>What was run</h2>", _run_table(runs), "<h2>How these were counted</h2>", _comparison_notes(found))
    return page.write(Path(path))


def comparison_html(found: Comparison) -> str:
    """Return all numbers of a comparison as an HTML table."""
    runs = (f"{label} ({n} run{'s' if n > 1 else ''})" for label, n in zip(found.labels, found.runs, strict=True))
    header = ["", *runs, *(f"Δ {label}" for label in found.labels[1:])]
    rows = []
    for row in found.rows:
        values = [
            show_estimate(e.mean, e.half_width, row.metric.unit, row.interval(i)) for i, e in enumerate(row.estimates)
        ]
        rows.append([row.metric.title, *values, *(_delta(row, i) for i in range(1, len(found.labels)))])
    return table(header, rows)


def numbers_beside(found: Comparison) -> str:
    """Return all numbers as HTML tables of few columns: the first label, some others, each with its change."""
    others = range(1, len(found.labels))
    blocks = [others[i : i + BESIDE] for i in range(0, len(others), BESIDE)] or [others]
    parts = []
    for block in blocks:
        columns = (0, *block)
        rows = [[row.metric.title, *(_with_change(row, i) for i in columns)] for row in found.rows]
        parts.append(table(["", *(found.labels[i] for i in columns)], rows))
    return f'<div class="wrap">{"".join(parts)}</div>'


def _with_change(row: Row, column: int) -> Shown | Raw:
    """Return the value of a label, and after it by how much it differs from the first one."""
    told = row.estimates[column]
    shown = show_estimate(told.mean, told.half_width, row.metric.unit, row.interval(column))
    mark = change(row, column) if column else ""
    return Raw(f'{escape(shown)} <span class="{_style(row, column)}">{escape(mark)}</span>', shown) if mark else shown


def _delta(row: Row, column: int) -> Raw:
    difference = row.differences[column]
    if difference is None or difference.count == 0:
        return Raw("–")
    same = is_rounding(row, column)
    shown = (
        Shown("0", 0.0, row.metric.unit)
        if same
        else show_estimate(difference.mean, difference.half_width, row.metric.unit)
    )
    mark = change(row, column)
    return Raw(f'{escape(shown)} <span class="{_style(row, column)}">{escape(mark)}</span>', shown)


def _style(row: Row, column: int) -> str:
    """Return the style of a difference: worse or better beyond chance, or neither."""
    difference = row.differences[column]
    if difference is None or not difference.excludes_zero:
        return "mild"
    return "up" if (difference.mean > 0) == (row.metric.better == "lower") else "down"


def slim(run: Run) -> Run:
    """Return a run with what is drawn of it alone: several of a million jobs are in memory at once."""
    return replace(run, jobs=run.jobs.select("start_s", "wait_s"), profiles=None, shapes=None, chosen_node_s=None)


def _add_differences(page: Page, loaded: Mapping[str, Run], labels: int, written: Written) -> None:
    """Add the keys in which the scenarios differ."""
    if len(loaded) < 2:
        return
    keys = differing_keys({label: run.manifest for label, run in loaded.items()}, written)
    page.add("<h2>What differs</h2>")
    if not keys:
        page.add('<p class="counted">The scenarios say the same; only seeds or the jobs themselves can differ.</p>')
        return
    page.add(table(("key", *loaded), [(key.name, *key.values) for key in keys], text=range(len(loaded) + 1)))
    if labels > len(loaded):
        page.add(f'<p class="counted">Of {len(loaded)} of the {labels} sets of runs.</p>')


def add_overlays(page: Page, loaded: Mapping[str, Run]) -> None:
    """Add power, queue and waits of one run a label in common figures."""
    ran = {label: run for label, run in loaded.items() if run.jobs["start_s"].is_not_null().any()}
    if len(ran) < 2:
        return
    page.add("<h2>Laid over each other</h2>", page.figure(draw_powers(ran)), page.figure(draw_queues(ran)))
    page.add(page.figure(draw_wait_shares(ran)))


def _add_effects(page: Page, found: Comparison, effects: Mapping[str, Effects], unit: str) -> None:
    """Add who waits longer and who less than in the first label."""
    shown = {
        label: named
        for label, named in effects.items()
        if any(row.loses or row.gains for rows in named.values() for row in rows)
    }
    if not shown:
        return
    first = found.labels[0]
    page.add("<h2>Who loses, who gains</h2>")
    if any(found.started):
        told = "Where runs start different jobs, only those that start in both count, of one run each."
        page.add(f'<p class="counted">{told}</p>')
    for i, (label, named) in enumerate(shown.items()):
        words = f"<p>{escape(effect_words(label, first, named))}</p>"
        drawn = draw_size_effects(named["size"], label, first, unit) if i == 0 and "size" in named else None
        body = words + "".join(_effect_table(rows, what, label, first, unit) for what, rows in named.items())
        body += page.figure(drawn)
        # the first other label is what most people came for
        page.add(body if i == 0 else folded(f"{label} against {first}", body))


def _effect_table(rows: Sequence[Effect], what: str, label: str, first: str, unit: str) -> str:
    """Return waits in both labels of everybody, or of those who lose and gain most."""
    losers = [row for row in rows if row.loses]
    gainers = [row for row in rows if row.gains][::-1]
    kept = list(rows) if what == "size" or len(rows) <= 2 * LISTED else [*losers[:LISTED], *gainers[:LISTED][::-1]]
    header = (f"{unit}s" if what == "size" else what, "jobs", first, label, "change a job", "change in all")
    body = [
        (
            row.name or "(unknown)",
            number(row.jobs),
            compact(row.before_s, "s"),
            compact(row.after_s, "s"),
            _signed(row),
            compact(row.total_s, "s"),
        )
        for row in kept
    ]
    left = len(rows) - len(kept)
    note = f'<p class="counted">{left:,} others lie between them.</p>' if left else ""
    caption = f"Mean wait by {what}: {label} against {first}"
    return table(header, body, caption=caption) + note


def _signed(row: Effect) -> Raw:
    style = "up" if row.loses else "down" if row.gains else "mild"
    shown = compact(row.change_s, "s")
    return Raw(f'<span class="{style}">{"+" if row.change_s > 0 else ""}{escape(shown)}</span>', shown)


def _run_table(runs: Mapping[str, Sequence[Summary]]) -> str:
    rows = []
    for label, summaries in runs.items():
        seeds = ", ".join(str(s.seed) for s in summaries if s.seed is not None)
        policies = "; ".join(dict.fromkeys(", ".join(f"{k} {v}" for k, v in s.policies.items()) for s in summaries))
        rows.append(
            (label, summaries[0].name, f"{summaries[0].jobs.total:,}", f"{summaries[0].nodes:,}", policies, seeds)
        )
    return table(("", "name", "jobs", "nodes", "policies", "seeds"), rows, text=(1, 4, 5))


def _comparison_notes(found: Comparison) -> str:
    """Return what the signs on the page mean, as far as they occur."""
    if max(found.runs) > 1:
        notes = [
            "± is half the 95 % Student-t interval of the mean over runs; a single run has none.",
            "An interval that would leave what a share can be, 0 to 100 %, is cut there and shown by its ends.",
            "Δ is the mean of the differences of paired runs. ▲▼: its interval excludes 0; ≈: it does not.",
            "A signed number without these: one pair only, so nothing is known about chance.",
        ]
    else:
        notes = ["Δ is the difference of two single runs: nothing is known about chance."]
    notes += [
        "Green and red say which way is usually better, not whether it matters.",
        "Who loses is counted by mean waits; the order is that of the hours that all jobs of a user wait more.",
    ]
    return f'<ul class="counted">{"".join(f"<li>{note}</li>" for note in notes)}</ul>'
