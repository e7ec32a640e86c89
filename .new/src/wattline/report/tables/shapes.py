"""Tables of the configurations that jobs chose, for the terminal and for the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wattline.report.count.shapes import Shapes, shape_words, why_words
from wattline.report.page import card, folded, table
from wattline.report.show import compact, number, plural, printable, show

if TYPE_CHECKING:
    import polars as pl

    from wattline.report.count.metrics import Summary

SHOWN = 500
"""Jobs of which a report says why they took their configuration."""

RULES = {
    "share": "fastest under their fair share of power",
    "room": "fastest with what was left",
    "asked": "as asked for",
    "least": "of least power",
    "other": "least time for all who waited",
}


def shape_facts(summary: Summary) -> list[tuple[str, str]]:
    """Return what to know about configurations as (title, text)."""
    found = summary.shapes
    if found is None:
        return []
    rows = [("shapes", rule_words(found))]
    if found.time_error > 1e-9 or found.power_too_low > 0:
        rows.append(("told", told_words(found)))
    return rows


def rule_words(found: Shapes) -> str:
    """Return how many jobs took their configuration for which reason."""
    counts = [(getattr(found, rule), text) for rule, text in RULES.items()]
    return f"of {plural(found.jobs, 'moldable job')}: " + ", ".join(f"{n:,} {text}" for n, text in counts if n)


def told_words(found: Shapes) -> str:
    """Return how wrong times and powers were that policies were told."""
    text = f"times {show(found.time_error, 'share')} off on average; "
    if not found.power_too_low:
        return text + "power never too low"
    return (
        text + f"power too low for {show(found.power_too_low, 'share')} of jobs, at worst by "
        f"{show(found.power_lowest, 'share')}"
    )


def shapes_section(found: Shapes, rows: pl.DataFrame) -> str:
    """Return the part of a report on configurations: numbers, applications, and why each job took its own."""
    cards = (
        card("moldable jobs", f"{found.jobs:,}", rule_words(found).partition(": ")[2]),
        card("times told", show(found.time_error, "share"), "mean error"),
        card(
            "power told too low",
            show(found.power_too_low, "share"),
            f"of jobs, at worst by {show(found.power_lowest, 'share')}",
            bad=found.power_too_low > 0,
        ),
    )
    header = ("application", "jobs", "nodes asked", "nodes", "cores", "capped", "time over that as asked")
    apps = [
        (
            a.application,
            f"{a.jobs:,}",
            number(a.asked_nodes),
            number(a.nodes),
            number(a.cores),
            show(a.capped, "share"),
            number(a.time_over_asked),
        )
        for a in found.applications
    ]
    said = table(
        ("job", "application", "start", "asked", "configuration", "why"),
        [
            (
                str(r["job_id"]),
                r["application"],
                compact(r["start_s"], "s"),
                str(r["asked_nodes"]),
                shape_words(r),
                why_words(r),
            )
            for r in rows.head(SHOWN).iter_rows(named=True)
        ],
        text=(1, 4, 5),
    )
    title = f"Why each job took its configuration ({min(SHOWN, rows.height):,} of {rows.height:,})"
    return f'<section class="cards">{"".join(cards)}</section>' + table(header, apps, text=(0,)) + folded(title, said)


def chosen_lines(rows: pl.DataFrame) -> list[str]:
    """Return a line for each job: its configuration and why."""
    return [
        f"job {r['job_id']} ({printable(r['application'])}, asked for {plural(r['asked_nodes'], 'node')}): "
        f"{shape_words(r)}: {why_words(r)}"
        for r in rows.iter_rows(named=True)
    ]
