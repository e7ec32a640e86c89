"""The page of a question: the answer, figures, its cause, who feels it, all numbers, and the study itself."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

from wattline.report.figures.beside import draw_comparison
from wattline.report.page import Page, folded, table
from wattline.report.pages.comparison import add_overlays, numbers_beside, slim
from wattline.report.show import plural, show

MOST = 8
"""Losers, and gainers, that are named."""


def write_whatif(asked: Any, path: Path) -> Path:
    """Write the page of answers (``wl.whatif``) and return where it is."""
    name, base = asked.study.name, asked.base.summary
    page = Page(f"{name} – Wattline what if")
    page.add(
        f'<header><p class="kicker">Wattline what if</p><h1>{escape(name)}</h1>'
        f'<p class="answer">{escape(asked.sentence)}</p><p class="sub">{plural(base.jobs.total, "job")} on '
        f"{plural(base.nodes, base.unit)}; every answer is against the log as it is.</p>"
    )
    page.add(*(f'<p class="sub warn">{escape(line)}</p>' for line in asked.warnings), "</header>")
    found = replace(asked.comparison.found, labels=tuple(names := _names(asked)))
    if len(names) > 1:
        figures = "".join(page.figure(drawn) for drawn in draw_comparison(found))
        page.add("<h2>At a glance</h2>", f'<div class="grid small">{figures}</div>')
        if any(found.started):
            page.add('<p class="counted">Waits here and under <i>All numbers</i> are of all jobs that start.</p>')
    for title, answer in zip(names[1:] or names, asked.answers, strict=True):
        page.add(f"<h2>{escape(title[:1].upper() + title[1:])}</h2><p>{escape(answer.sentence)}</p>")
        page.add(f"<p>{escape(answer.why)}</p>" if answer.why else "", felt_html(answer.felt, title))
    runs = (asked.base, *(answer.after for answer in asked.answers))
    add_overlays(page, {label: slim(run.loaded) for label, run in zip(names, runs, strict=False)})
    page.add("<h2>All numbers</h2>", numbers_beside(found))
    if not asked.in_memory:
        page.add("<h2>The study</h2>", folded("The study as a scenario", f"<pre>{escape(asked.scenario())}</pre>"))
    return page.write(path)


def _names(asked: Any) -> list[str]:
    """Return what the log as it is and every answer are called on the page: numbered where there are several."""
    changed = [answer for answer in asked.answers if answer.after is not answer.before]
    numbers = [f"{i}: " if len(changed) > 1 else "" for i in range(1, len(changed) + 1)]
    told = [f"{number}{answer.short}" for number, answer in zip(numbers, changed, strict=True)]
    return [asked.comparison.found.labels[0], *told]


def felt_html(felt: Any, title: str) -> str:
    """Return who loses most and who gains most as a table; ``title`` is what they feel."""
    rows = felt_rows(felt)
    if not rows:
        return ""
    header = ("who", "jobs", "wait as it is", "wait with it", "change")
    return table(header, rows, f"Who feels it most – {title}", text=(0,))


def felt_rows(felt: Any, most: int = MOST) -> list[tuple[str, str, str, str, str]]:
    """Return the largest losers, then the largest gainers."""
    losers = [one for one in felt if one.more_s > 0.0][:most]
    gainers = [one for one in reversed(felt) if one.more_s < 0.0][:most]
    return [
        (
            one.name if one.about == "size" else f"{one.about} {one.name}",
            f"{one.jobs:,}",
            show(one.before_s, "s"),
            show(one.after_s, "s"),
            f"{'+' if one.more_s > 0 else '−'}{show(abs(one.more_s), 's')}",
        )
        for one in (*losers, *reversed(gainers))
    ]
