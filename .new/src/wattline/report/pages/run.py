"""The report of a run: one HTML file with everything in it and nothing fetched."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from wattline.journal.journal import REPORT, Journal
from wattline.market.tracking import SHARE
from wattline.report.count.accounts import Accounts
from wattline.report.count.baseline import baseline_of, beside
from wattline.report.count.metrics import Summary, summarize_run
from wattline.report.count.regulation import Regulation
from wattline.report.count.run import Run, load
from wattline.report.figures.accounts import draw_accounts
from wattline.report.figures.hour import draw_regulation
from wattline.report.figures.jobs import (
    draw_energies,
    draw_ranking,
    draw_run_times,
    draw_sizes,
    draw_slowdowns,
    draw_waits,
    draw_waits_by_size,
)
from wattline.report.figures.measured import draw_measured
from wattline.report.figures.over_time import draw_gantt, draw_load, draw_power, draw_rates
from wattline.report.figures.power import draw_learning, draw_limit, draw_profile_errors
from wattline.report.figures.regulation import draw_errors, draw_qos
from wattline.report.page import Page, card, facts, folded, table
from wattline.report.pages.comparison import comparison_html
from wattline.report.pages.sections import (
    class_table,
    counted,
    distribution_table,
    event_table,
    group_table,
    loud,
    service_table,
    size_table,
)
from wattline.report.show import MISSING, dollars, number, plural, show
from wattline.report.tables.accounts import accounts_table, carbon_words, hours_words, parts_words
from wattline.report.tables.power import capping_cards, capping_table, learning_cards, learning_table
from wattline.report.tables.regulation import qos_table, reach_note, reduction_words, settlement_table
from wattline.report.tables.shapes import shapes_section
from wattline.report.tables.summary import energy_parts, limit_words, stopped_words


def write_report(journal: Journal, path: Path | None = None) -> Path:
    """Write the report of a journal (into the journal itself unless told otherwise) and return where it is."""
    run = load(journal)
    page = report_page(run, summarize_run(run), journal, baseline_of(journal.folder))
    return page.write(Path(path) if path else journal.folder / REPORT)


def report_page(run: Run, summary: Summary, journal: Journal, baseline: Summary | None = None) -> Page:
    """Return the page of a run, and of what it is held against, whose numbers are counted already."""
    page = Page(f"{summary.name or 'Run'} – Wattline report")
    page.add(_header(run, summary), _cards(summary))
    page.add(_trace_notes(run.manifest))
    if summary.jobs.started == 0:
        page.add('<h2>Over time</h2><p class="empty">No job was started, so there is nothing to draw.</p>')
    else:
        _add_regulation(page, run, summary, journal)
        _add_baseline(page, summary, baseline)
        _add_limit(page, run, summary)
        _add_learning(page, run, summary)
        if summary.shapes is not None and run.shapes is not None:
            page.add("<h2>Configurations</h2>", shapes_section(summary.shapes, run.shapes))
        _add_time(page, run, summary, journal)
        _add_jobs(page, run, summary)
    _add_energy(page, summary)
    _add_service(page, summary)
    page.add("<h2>How these were counted</h2>", counted(run, summary))
    if run.manifest.get("scenario"):
        sha = f"<p>sha256 <code>{escape(str(run.manifest.get('scenario_sha256') or MISSING))}</code></p>"
        page.add(folded("The scenario", f"{sha}<pre>{escape(str(run.manifest['scenario']))}</pre>"))
    page.add(_footer(run.manifest))
    return page


def _header(run: Run, summary: Summary) -> str:
    manifest = run.manifest
    cluster = manifest.get("cluster") or {}
    versions = ", ".join(
        f"{n} {manifest[n]}" for n in ("wattline", "python", "numba", "numpy", "polars") if manifest.get(n)
    )
    policies = ", ".join(f"{slot} {name}" for slot, name in summary.policies.items())
    stopped = stopped_words(summary)
    warning = f'<p class="sub warn">The run did not reach its end: {escape(stopped)}.</p>' if stopped else ""
    items = [
        ("policies", policies),
        ("ties", manifest.get("ties")),
        ("seed", summary.seed),
        ("cluster", f"{cluster.get('name') or 'cluster'}, {plural(summary.nodes, summary.unit)}"),
        ("machine of the log", (cluster.get("machine") or {}).get("words")),
        ("trace", (manifest.get("trace") or {}).get("source")),
        ("versions", versions),
        ("scenario sha256", str(manifest.get("scenario_sha256") or "")[:16]),
        ("written", manifest.get("created")),
        ("simulated in", show(float(manifest["wall_s"]), "s") if manifest.get("wall_s") is not None else None),
    ]
    return (
        f'<header><p class="kicker">Wattline report</p><h1>{escape(summary.name or "Run")}</h1>'
        f'<p class="sub">{plural(summary.jobs.total, "job")} on {plural(summary.nodes, summary.unit)} over '
        f"{show(summary.span.duration_s, 's')}</p>{warning}{loud(run, summary)}{facts(items)}</header>"
    )


def _cards(summary: Summary) -> str:
    jobs, power, energy = summary.jobs, summary.power, summary.energy
    lost = ", ".join(
        f"{getattr(jobs, n):,} {n}"
        for n in ("killed", "failed", "cancelled", "rejected", "unfinished")
        if getattr(jobs, n)
    )
    limit = f"limit {limit_words(summary)}" if power.limited_s else f"mean {show(power.mean_w, 'W')}, no limit"
    powered = (
        (
            card("energy", show(energy.total_j, "J"), energy_parts(summary)),
            card("peak power", show(power.peak_w, "W"), limit, bad=power.rises_above_limit > 0),
        )
        if summary.has_power
        else ()
    )
    cards = (
        card("jobs finished", f"{jobs.finished:,}", lost or ("all of them" if jobs.total else "there were none")),
        card("mean wait", show(summary.wait_s.mean, "s"), f"95 % within {show(summary.wait_s.p95, 's')}"),
        card(
            "bounded slowdown",
            number(summary.bounded_slowdown.mean),
            f"median {number(summary.bounded_slowdown.median)}",
        ),
        card(
            "utilization",
            show(summary.utilization, "share"),
            f"{show(summary.utilization_submitting, 'share')} while submitting",
        ),
        *(
            card(row.name, f"{number(row.mean)} of {row.total:,}", f"in use on average, {row.peak:,} at most")
            for row in summary.resources
        ),
        *powered,
        card("makespan", show(summary.span.makespan_s, "s"), show(summary.throughput_per_h, "jobs/h")),
        card(
            "queue length",
            number(summary.queued_jobs.mean),
            f"mean over time, at most {number(summary.queued_jobs.max)}",
        ),
    )
    return f'<section class="cards">{"".join(cards)}</section>'


def _trace_notes(manifest: Mapping[str, Any]) -> str:
    notes = (manifest.get("trace") or {}).get("notes") or []
    if not notes:
        return ""
    rows = [(n.get("action", ""), f"{n.get('count', 0):,}", n.get("reason", ""), n.get("example", "")) for n in notes]
    return "<h2>What to know about the jobs</h2>" + table(("", "records", "why", "example"), rows, text=(2, 3))


def _add_regulation(page: Page, run: Run, summary: Summary, journal: Journal) -> None:
    found = summary.regulation
    if found is not None:
        page.add(
            "<h2>Demand response</h2>",
            _regulation_cards(found, summary.accounts),
            page.figure(draw_regulation(run, journal)),
        )
        page.add(settlement_table(found) if summary.accounts is None else "")
    if summary.accounts is not None:
        page.add("" if found else "<h2>Cost and carbon</h2>", _accounts_cards(summary.accounts, sold=found is not None))
        page.add(page.figure(draw_accounts(summary.accounts)), accounts_table(summary.accounts))
        page.add(reach_note(found) if found else "")
    if summary.qos:
        page.add("" if found else "<h2>Service by kind</h2>")
        drawn = (draw_errors(run) if found else None, draw_qos(run))
        page.add(f'<div class="grid">{"".join(page.figure(figure) for figure in drawn)}</div>', qos_table(summary))


def _regulation_cards(found: Regulation, accounts: Accounts | None) -> str:
    hours = plural(len(found.hours), "hour") if accounts is None else hours_words(accounts.total)
    cards = (
        card(
            "mean power bid",
            show(found.mean_w, "W"),
            f"reserve {show(found.reserve_w, 'W')}{', means of changing bids' if found.changing else ''}",
        ),
        card(
            "cost",
            dollars(found.cost),
            f"{hours}; {reduction_words(found)} than {dollars(found.without_drawn)} without",
        ),
        card(
            "tracking error",
            show(found.error, "share"),
            f"above 30 % for {show(found.exceed_share, 'share')} of the time",
            bad=found.exceed_share >= SHARE,
        ),
    )
    return f'<section class="cards">{"".join(cards)}</section>'


def _accounts_cards(found: Accounts, *, sold: bool) -> str:
    """Return the total of the accounts; what is sold has its cost on a card already."""
    whole = found.total
    cost = (
        card("revenue", dollars(whole.revenue), parts_words(whole))
        if sold
        else (card("cost", dollars(whole.cost), parts_words(whole)))
    )
    cards = [cost, card("billed", hours_words(whole), f"{number(whole.energy_kwh)} kWh, {found.rules} rules")]
    if found.scored:
        cards.append(card("performance score", number(whole.score), "mean by reserve and time"))
    if not math.isnan(whole.carbon_kg):
        mass, _, per = carbon_words(whole).partition(", ")
        cards.append(card("carbon", mass, per))
    return f'<section class="cards">{"".join(cards)}</section>'


def _add_baseline(page: Page, summary: Summary, baseline: Summary | None) -> None:
    if baseline is None:
        return
    note = "The same jobs without target, caps and standby jobs; cost and energy are of the same billed time, as drawn."
    page.add("<h2>Against no participation</h2>", comparison_html(beside(summary, baseline)))
    page.add(f'<p class="counted">{note}</p>')


def _add_limit(page: Page, run: Run, summary: Summary) -> None:
    if summary.capping is None:
        return
    page.add("<h2>Under the power limit</h2>", capping_cards(summary.capping), page.figure(draw_limit(run)))
    page.add(capping_table(summary.capping))


def _add_learning(page: Page, run: Run, summary: Summary) -> None:
    found = summary.learning
    if found is None:
        return
    drawn = (draw_learning(run, found), draw_profile_errors(run, found))
    page.add("<h2>Learned power</h2>", learning_cards(found))
    page.add(f'<div class="grid">{"".join(page.figure(figure) for figure in drawn)}</div>', learning_table(found))


def _add_time(page: Page, run: Run, summary: Summary, journal: Journal) -> None:
    shown = summary.has_power and summary.capping is None  # under a limit it has a section of its own
    power = draw_power(run) if shown else None
    page.add("<h2>Over time</h2>", page.figure(draw_measured(run, journal)), page.figure(power))
    page.add(page.figure(draw_load(run)), page.figure(draw_rates(run)))
    page.add(page.figure(draw_gantt(run, journal)))


def _add_jobs(page: Page, run: Run, summary: Summary) -> None:
    figures = (
        draw_waits(run),
        draw_slowdowns(run),
        draw_waits_by_size(summary.sizes, summary.unit),
        draw_sizes(summary.sizes, summary.unit),
        draw_run_times(run),
        draw_energies(run) if summary.has_power else None,
    )
    page.add("<h2>Jobs</h2>", distribution_table(summary))
    page.add(f'<div class="grid">{"".join(page.figure(f) for f in figures)}</div>')
    page.add("<h2>Jobs by size</h2>", size_table(summary.sizes, summary.unit))
    page.add(event_table(summary))


def _add_energy(page: Page, summary: Summary) -> None:
    groups = (
        ("user", summary.users),
        ("group", summary.groups),
        ("kind", summary.kinds),
        ("partition", summary.partitions),
    )
    known = summary.has_power
    page.add("<h2>Energy</h2>" if known else f"<h2>Use of {summary.unit}s</h2>", class_table(summary))
    figures = "".join(page.figure(draw_ranking(rows, what)) for what, rows in groups) if known else ""
    if figures:
        page.add(f'<div class="grid">{figures}</div><p></p>')
    page.add(
        *(
            folded(f"Jobs by {what} ({len(rows):,})", group_table(rows, what, summary.unit))
            for what, rows in groups
            if len(rows) > 1
        )
    )


def _add_service(page: Page, summary: Summary) -> None:
    measures = service_table(summary)
    varied = len(summary.service.rate_shares) > 1
    page.add("<h2>As a queue with service rates</h2>", measures if varied else folded("At one constant rate", measures))


def _footer(manifest: Mapping[str, Any]) -> str:
    made = f"Wattline {manifest['wattline']}" if manifest.get("wattline") else "Wattline"
    return f"<footer>Made by {escape(made)} from the journal alone; this file asks nothing of the network.</footer>"
