"""Tables for a terminal of 80 columns, made of a summary or a comparison."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from wattline.journal.journal import SCHEMA
from wattline.report.count.compare import Comparison, Row
from wattline.report.count.metrics import Summary
from wattline.report.count.statistics import NAN, Distribution
from wattline.report.show import Scale, compact, number, plural, scale_of, show, show_estimate, show_within
from wattline.report.tables.accounts import accounts_facts
from wattline.report.tables.power import power_facts, recorded_facts
from wattline.report.tables.regulation import hours_terminal, qos_terminal, regulation_facts
from wattline.report.tables.shapes import shape_facts

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

WIDTH = 80

GIVEN = "given"
"""The bid policy of runs in which nobody makes bids."""

ROUNDING = 1e-9
"""Share of a difference below which what it is compared with counts as 0, and the other way round."""

LEAST_IN_UNIT = 0.1
"""Below this in the unit of its row a number of a comparison gets a unit of its own."""

OTHERS = 2
"""Labels beside the first one in a table of a comparison."""


def summary_table(summary: Summary) -> Group:
    """Return the numbers of one run: what became of the jobs, how long they took, what the machine did and drew."""
    from rich.console import Group

    more = (hours_terminal(summary), qos_terminal(summary))
    return Group(_facts(summary), _distributions(summary), *(part for part in more if part is not None))


def fact_rows(summary: Summary) -> list[tuple[str, str]]:
    """Return the single numbers of a run as (title, text), leaving out what it does not have."""
    jobs, energy, power = summary.jobs, summary.energy, summary.power
    parts = [
        (name, getattr(jobs, name)) for name in ("finished", "killed", "failed", "cancelled", "rejected", "unfinished")
    ]
    submitting = show(summary.utilization_submitting, "share")
    rows = [
        ("jobs", f"{jobs.total:,}: " + ", ".join(f"{n:,} {name}" for name, n in parts if n or name == "finished")),
        ("makespan", f"{show(summary.span.makespan_s, 's')}, {show(summary.throughput_per_h, 'jobs/h')}"),
        (
            "utilization",
            (
                f"{show(summary.utilization, 'share')} of {plural(summary.nodes, summary.unit)} ({submitting} while "
                "submitting)"
            ),
        ),
        ("queue", f"{number(summary.queued_jobs.mean)} jobs on average, {number(summary.queued_jobs.max)} at most"),
    ]
    rows += [
        (row.name, f"{number(row.mean)} of {row.total:,} in use on average, {row.peak:,} at most")
        for row in summary.resources
    ]
    if summary.has_power:
        rows += [
            ("energy", f"{show(energy.total_j, 'J')}: {energy_parts(summary)}"),
            ("power", f"{show(power.mean_w, 'W')} on average, {show(power.peak_w, 'W')} at most"),
            *recorded_facts(summary),
        ]
    if power.limited_s:
        rows.append(("power limit", limit_words(summary)))
    rows += [*power_facts(summary), *shape_facts(summary)]
    if stopped := stopped_words(summary):
        rows.append(("not the end", stopped))
    if jobs.preemptions or jobs.restarts:
        rows.append(("stopped jobs", f"{jobs.preemptions:,} preemptions, {jobs.restarts:,} restarts"))
    return [*rows, *regulation_facts(summary), *accounts_facts(summary)]


def stopped_words(summary: Summary) -> str:
    """Return why and when a run stopped before its end ("" if it did not)."""
    if summary.stopped == "done":
        return ""
    why = {"until": "stopped when it was told to"}.get(summary.stopped, summary.stopped)
    after = f"{why} after {show(summary.span.duration_s, 's')}"
    return after + (f"; {summary.jobs.unfinished:,} jobs had not ended" if summary.jobs.unfinished else "")


def limit_words(summary: Summary) -> str:
    """Return the limit of a run and how power kept to it.

    What an earlier start draws under a later limit is no breach.
    """
    power = summary.power
    scale = scale_of([power.highest_limit_w], "W")
    low, high = (number(watts / scale.factor) for watts in (power.lowest_limit_w, power.highest_limit_w))
    limit = f"{low}{'' if low == high else '–' + high} {scale.unit}"
    part = power.limited_s / summary.span.duration_s
    when = "" if part > 0.9995 else f" in {show(part, 'share')} of the time"
    if not power.above_limit_s:
        return f"{limit}{when}; never above it"
    above = f"{limit}{when}; above it {show(power.above_limit_share, 'share')} of {'that' if when else 'the'} time"
    return above if power.rises_above_limit else f"{above}; no start raised power above it"


def energy_parts(summary: Summary) -> str:
    """Return what the energy went into, leaving out what did not occur; beside it what the log recorded of its
    jobs.
    """
    energy, found = summary.energy, summary.recorded_power
    beside = "" if found is None else f" (recorded {show(found.recorded.energy_j, 'J')}"
    if found is not None:
        beside += ")" if found.jobs == summary.jobs.total else f" of {found.jobs:,} of {summary.jobs.total:,} jobs)"
    named = (("busy", energy.busy_j), ("idle", energy.idle_j), ("asleep", energy.sleep_j), ("waking", energy.boot_j))
    said = {"busy": beside}
    return ", ".join(
        f"{name} {show(joules, 'J')}{said.get(name, '')}"
        for name, joules in named
        if joules or name in ("busy", "idle")
    )


def comparison_table(comparison: Comparison) -> Group:
    """Return tables with one column a label: the first one beside one or two others, as fit into 80 columns
    unbroken.
    """
    from rich.console import Group
    from rich.text import Text

    others = range(1, len(comparison.labels))
    beside = OTHERS if _fits(comparison, OTHERS) else 1
    chunks = [others[i : i + beside] for i in range(0, len(others), beside)] or [others]
    notes = _legend(comparison)
    return Group(
        *(_comparison_part(comparison, [0, *chunk]) for chunk in chunks), *(Text(n, style="dim") for n in notes)
    )


def _legend(comparison: Comparison) -> list[str]:
    """Return what the signs of a comparison mean, as far as they occur."""
    intervals = any(e.half_width > 0 for row in comparison.rows for e in row.estimates)
    marks = {change(row, i)[:1] for row in comparison.rows for i in range(1, len(comparison.labels))}
    notes = ["± is half the 95 % Student-t interval of the mean over runs"] if intervals else []
    if marks - {""}:
        text = f"% is the change against {comparison.labels[0]!r}"
        if marks & set("▲▼≈"):
            text += f", paired by {comparison.paired_by}; ▲▼ certain at 95 %, ≈ not"
        if marks & set("+-"):
            text += "; without ▲▼≈ from one run only" if marks & set("▲▼≈") else ", from one run each"
        notes.append(text)
    return [*notes, *comparison.notes]


def change(row: Row, column: int) -> str:
    """Return how a label differs from the first one: ``▼45 %`` beyond doubt, ``≈`` within it, ``-45 %`` for one run."""
    difference, reference = row.differences[column], row.references[column]
    if difference is None or math.isnan(difference.mean) or is_rounding(row, column):
        return ""
    known = abs(reference) > ROUNDING * abs(
        difference.mean
    )  # a part of nothing, or of what rounding left, says nothing
    relative = difference.mean / abs(reference) if known else NAN
    percent = abs(100 * relative)
    size = f"{percent:{'.0f' if percent >= 9.95 else '.2g'}} %" if percent < 999.5 else f"×{number(1 + relative)}"
    size = size if math.isfinite(relative) else ""
    if math.isnan(difference.half_width):
        sign = "+" if difference.mean > 0 else "-"
        return sign + size if size.endswith("%") else size
    return ("▲" if difference.mean > 0 else "▼") + size if difference.excludes_zero else "≈"


def is_rounding(row: Row, column: int) -> bool:
    """Tell whether a label differs from the first one by nothing but the rounding of sums."""
    difference = row.differences[column]
    return difference is not None and abs(difference.mean) <= ROUNDING * abs(row.references[column])


def _fits(comparison: Comparison, others: int) -> bool:
    """Tell whether the first label and so many others fit side by side without a broken header or cell."""
    widths = [len(label) for label in comparison.labels]
    for row in comparison.rows:
        cells = _cells(row, range(len(comparison.labels)))
        widths = [max(width, len(cell)) for width, cell in zip(widths, cells, strict=True)]
    titles = max(len(_row_title(row)) for row in comparison.rows)
    return titles + widths[0] + sum(sorted(widths[1:])[-others:]) + 2 * (others + 2) <= WIDTH


def _row_title(row: Row) -> str:
    scale = _row_scale(row)
    return row.metric.title + (f" [{scale.unit}]" if scale and scale.unit and scale.unit != "jobs" else "")


def _row_scale(row: Row) -> Scale | None:
    """Return the one unit that fits all of a row; None where a label would have no digits left in it."""
    scale = scale_of((e.mean for e in row.estimates), row.metric.unit)
    known = [abs(e.mean) / scale.factor for e in row.estimates if math.isfinite(e.mean) and e.mean]
    return None if known and min(known) < LEAST_IN_UNIT and row.metric.unit in ("s", "W", "J") else scale


def _cells(row: Row, columns: Iterable[int]) -> list[str]:
    scale = _row_scale(row)
    return [f"{_cell(row, i, scale)} {change(row, i)}".strip() for i in columns]


def _comparison_part(comparison: Comparison, columns: Sequence[int]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, width=WIDTH, header_style="bold")
    table.add_column("", style="cyan", no_wrap=True, max_width=30)
    for i in columns:
        runs = comparison.runs[i]
        table.add_column(
            Text(f"{comparison.labels[i]}\n{runs} run{'s' if runs > 1 else ''}"), justify="right", overflow="fold"
        )
    for row in comparison.rows:
        table.add_row(Text(_row_title(row)), *(Text(cell) for cell in _cells(row, columns)))
    return table


def _cell(row: Row, column: int, scale: Scale | None) -> str:
    found = row.estimates[column]
    if scale is None:
        return show_estimate(found.mean, found.half_width, row.metric.unit)
    return show_within(found.mean, found.half_width, row.interval(column), scale)


def schema_markdown() -> str:
    """Return the columns of a journal as Markdown tables, one a file: the documentation prints this."""
    parts = []
    for name, columns in SCHEMA.items():
        rows = "\n".join(
            f"| `{c.name}` | {c.dtype} | {c.unit} | {c.meaning}{' (may be null)' if c.null else ''} |" for c in columns
        )
        parts.append(f"### `{name}.parquet`\n\n| column | type | unit | meaning |\n|---|---|---|---|\n{rows}\n")
    return "\n".join(parts)


def _facts(summary: Summary) -> Table:
    from rich.table import Table
    from rich.text import Text

    bids = summary.policies.get("bid", GIVEN)
    named = [summary.policies[slot] for slot in ("order", "select") if slot in summary.policies]
    policies = ", ".join([*named, *([f"bids {bids}"] if bids != GIVEN else [])])
    seed = "" if summary.seed is None else f", seed {summary.seed}"
    title = Text(f"{summary.name or 'run'}" + _if(policies, f" ({policies}{seed})"), style="bold")
    table = Table(title=title, title_justify="left", show_header=False, box=None, pad_edge=False)
    table.add_column(style="cyan", no_wrap=True, width=12)
    table.add_column(overflow="fold")
    for name, text in fact_rows(summary):
        table.add_row(name, Text(text))
    return table


def _distributions(summary: Summary) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, width=WIDTH, header_style="bold")
    table.add_column("", style="cyan", no_wrap=True, width=16)
    for name in ("mean", "median", "p90", "p95", "p99", "max"):
        table.add_column(name, justify="right", no_wrap=True)
    named = (
        ("wait", "s"),
        ("recorded wait", "s"),
        ("response", "s"),
        ("runtime", "s"),
        ("waking", "s"),
        ("slowdown", ""),
        ("bounded slowdown", ""),
    )
    for title, unit in named:
        found: Distribution = getattr(summary, title.replace(" ", "_") + ("_s" if unit else ""))
        if title in ("recorded wait", "waking") and not found.count:
            continue
        values = (found.mean, found.median, found.p90, found.p95, found.p99, found.max)
        table.add_row(title, *(compact(value, unit) for value in values))
    return table


def _if(condition: object, text: str) -> str:
    wanted = bool(condition) and not (isinstance(condition, float) and math.isnan(condition))
    return text if wanted else ""
