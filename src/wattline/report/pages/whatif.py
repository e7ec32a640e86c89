"""The page of a question: the answer in a sentence, its cause, who feels it, all numbers, and the study itself."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from wattline.report.page import Page, table
from wattline.report.pages.comparison import comparison_html
from wattline.report.show import plural, show

MOST = 8
"""Losers, and gainers, that are named."""


def write_whatif(asked: Any, path: Path) -> Path:
    """Write the page of answers (``wl.whatif``) and return where it is."""
    name = asked.study.name
    page = Page(f"{name} – Wattline what if")
    page.add(
        f'<header><p class="kicker">Wattline what if</p><h1>{escape(name)}</h1>'
        f'<p class="sub">{plural(asked.base.summary.jobs.total, "job")} on '
        f"{plural(asked.base.summary.nodes, asked.base.summary.unit)}; every answer is against the log as it is.</p>"
    )
    page.add(*(f'<p class="sub warn">{escape(line)}</p>' for line in asked.warnings), "</header>")
    for answer in asked.answers:
        page.add(f"<h2>{escape(answer.label[:1].upper() + answer.label[1:])}</h2><p>{escape(answer.sentence)}</p>")
        page.add(f"<p>{escape(answer.why)}</p>" if answer.why else "", felt_html(answer.felt))
    page.add("<h2>All numbers</h2>", comparison_html(asked.comparison.found))
    page.add(f"<details><summary>The study as a scenario</summary><pre>{escape(asked.scenario())}</pre></details>")
    return page.write(path)


def felt_html(felt: Any) -> str:
    """Return who loses most and who gains most as a table."""
    rows = felt_rows(felt)
    if not rows:
        return ""
    return table(("who", "jobs", "wait before", "wait after", "change"), rows, "Who feels it most", text=(0,))


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
