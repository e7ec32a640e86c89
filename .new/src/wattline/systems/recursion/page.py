"""The service-rate system: reproduce §IV of its paper, and go on where it stops.

A. Rumyantsev, T. Morozova, R. Basmadjian: "Discrete-Event Modeling of a High-Performance Computing Cluster with Service
Rate Control". c servers, customers that hold several at once, two rates for all servers, energies of busy and idle
ones; randomized, count-hysteretic and workload-hysteretic switching; FCFS, LCFS, LPF, SPF and backfilling.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wattline.formats.jobs.krc.read import CORES
from wattline.report.page import Page, card, folded, table
from wattline.report.show import compact, number, show
from wattline.systems.recursion.data import GET, Customers, load_customers
from wattline.systems.recursion.model import (
    DISCIPLINES,
    HIGH,
    LOW,
    SWITCHINGS,
    THRESHOLDS,
    epochs,
    measures,
    run,
)
from wattline.systems.reproduction import FOOTER, SMALLER, Reproduction, Table, begin_page
from wattline.systems.work import Work

NAME = "recursion"
TITLE = "A cluster with service-rate control"
CITATION = (
    "A. Rumyantsev, T. Morozova, R. Basmadjian: Discrete-Event Modeling of a High-Performance Computing Cluster with "
    "Service Rate Control"
)
SEEDS, QUICK_SEEDS = 20, 4


def reproduce(
    out_dir: Path,
    quick: bool,  # noqa: FBT001  # the one signature of all reproductions
    work: Work,
    *,
    data: Path | None = None,
) -> Reproduction:
    """Run the paper's experiments and those it left open; write one page and the journal of the first figure's run."""
    customers, with_gaps = load_customers(data), load_customers(data, keep_gaps=True)
    remarks = ([SMALLER] if quick else []) + _remarks(customers)
    found = _study(customers, with_gaps, QUICK_SEEDS if quick else SEEDS, work)
    from wattline.systems.recursion.claims import claims

    stated = claims(found)
    work.say("writing the page")
    measured = _journal(out_dir / "figure-1", found)
    page = _page(found, stated, remarks, measured)
    path = page.write(out_dir / f"{NAME}.html")
    numbers = {
        "figure_1": measures(found.base),
        "figure_3": {
            "k": found.curve.k.tolist(),
            "energy": found.curve.energy.tolist(),
            "workload": found.curve.workload.tolist(),
            "workload_eq12": found.curve.workload_eq12.tolist(),
        },
    }
    return Reproduction(NAME, TITLE, path, stated, remarks, numbers, tables(found))


def tables(found: Any) -> dict[str, Table]:
    """Return what the documentation shows: Fig. 3 as numbers, its resamples, and all disciplines under all rules."""
    shown = {
        "curve": Table(CURVE, _curve_rows(found.curve)[::EVERY]),
        "resamples": Table(RESAMPLES, _resample_rows(found.ensemble)),
    }
    for key, (title, unit) in GRID.items():
        shown[key.replace("_", "-")] = Table(_grid_head(title), _grid_rows(found.grid, key, unit))
    return shown


EVERY = 5
"""Of the thresholds of Fig. 3, one of so many is shown in the documentation."""
CURVE = ("k", "energy", "energy, e(r) as printed", "workload, exact", "workload, eq. 12")
RESAMPLES = ("k", "energy", "change of energy", "workload, exact", "change of workload")
GRID = {
    "energy": ("Mean energy per unit time", ""),
    "delay_s": ("Mean delay (first start − arrival)", "s"),
    "sojourn_s": ("Mean sojourn time", "s"),
    "workload": ("Mean workload, exact", ""),
}
"""Measures of the runs of all disciplines under all rules: title and unit."""


def _remarks(customers: Customers) -> list[str]:
    if customers.recorded:
        return []
    return [f"NOT THE PAPER'S DATA: HPC_KRC2 was not found, so this is a {customers.source}. To get it: {GET}"]


def _study(customers: Customers, with_gaps: Customers, seeds: int, work: Work) -> Any:
    from wattline.systems.recursion import study
    from wattline.systems.recursion.claims import Findings
    from wattline.theory.stability import stability

    jobs = customers.jobs
    few = THRESHOLDS[:: 5 if seeds == QUICK_SEEDS else 3]
    work.plan(2 * THRESHOLDS.size + seeds + len(study.PAIRS))
    work.say(f"{len(jobs):,} customers on {CORES} servers: figures 1 and 2")
    base, low = run(jobs, log=True), run(jobs, switching=SWITCHINGS["r_L"], log=True)
    work.say(f"figure 3: {THRESHOLDS.size} thresholds")
    curve, printed = study.curve(jobs, work), study.curve(jobs, work, as_printed=True)
    work.say(f"randomized runs: {seeds} sequences at {few.size} thresholds")
    ensemble = study.ensemble(customers, seeds, work, few)
    work.say(f"{len(DISCIPLINES)} disciplines under {len(SWITCHINGS)} rules")
    grid = study.grid(jobs, work)
    slow, fast = (stability(jobs.submit_s, jobs.work_s, jobs.nodes, CORES, level.rate) for level in (LOW, HIGH))
    return Findings(
        customers,
        base,
        epochs(base),
        low,
        study.switches(base),
        study.waiting(base, customers.figure_2),
        study.waiting(run(with_gaps.jobs, log=True), with_gaps.figure_2),
        with_gaps.days,
        study.waiting(low, customers.figure_2),
        study.singles_in_service(base, customers.figure_2),
        curve,
        printed,
        ensemble,
        grid,
        study.started_later(jobs),
        slow,
        fast,
        study.drifts(jobs),
    )


def _journal(folder: Path, found: Any) -> str:
    """Write the journal of the first figure's run; return its measures as the report of any run shows them."""
    from wattline.journal.journal import open_journal, write_journal
    from wattline.report.count.metrics import summarize_run
    from wattline.report.count.run import load
    from wattline.report.pages.sections import service_table
    from wattline.wiring.manifest import manifest
    from wattline.wiring.tables import frames

    folder.parent.mkdir(parents=True, exist_ok=True)
    notes = [
        dict(zip(("action", "reason", "count", "example"), _fields(n), strict=True)) for n in found.customers.notes
    ]
    described = manifest(found.base, name="recursion, figure 1", source=found.customers.source, notes=notes)
    write_journal(folder, frames(found.base), described)
    return service_table(summarize_run(load(open_journal(folder))))


def _fields(note: Any) -> tuple[str, str, int, str]:
    return note.action, note.reason, note.count, note.example


# ------------------------------------------------------------------ the page


def _page(found: Any, stated: Any, remarks: list[str], measured: str) -> Page:
    from wattline.systems.recursion import figures as draw

    page = begin_page(TITLE, stated, _facts(found), remarks, _cards(found))
    page.add("<h2>The paper's figures</h2>", page.figure(draw.draw_workload(found.base_epochs)))
    first = found.customers.figure_2
    page.add(page.figure(draw.draw_schedule(found.base, first, "with the thresholds of Fig. 1")))
    page.add(page.figure(draw.draw_schedule(found.low, first, "at the constant low rate")))
    page.add(
        page.figure(draw.draw_curve(found.curve, found.printed_curve)),
        folded("Fig. 3 as numbers", _curve_table(found.curve)),
    )
    page.add("<h2>Beyond the paper</h2>", page.figure(draw.draw_ensemble(found.ensemble)))
    page.add(_grid_table(found.grid), page.figure(draw.draw_trade(found.grid, found.curve)), _drift_table(found))
    page.add("<h2>All measures of the run of Fig. 1</h2>", measured, "<h2>How this was done</h2>", HOW)
    page.add(FOOTER)
    return page


def _facts(found: Any) -> list[tuple[str, object]]:
    notes = "; ".join(f"{n.action} {n.count:,}: {n.reason}" for n in found.customers.notes)
    return [
        ("paper", CITATION),
        ("data", found.customers.source),
        ("cleaning", notes),
        ("servers", f"{CORES}, rates {LOW.rate:g} and {HIGH.rate:g}"),
        ("energies", f"busy {LOW.busy_w:g} and {HIGH.busy_w:g}, idle {LOW.idle_w:g} and {HIGH.idle_w:g} per server"),
        ("ties", "one pass an event, as in the recursion"),
    ]


def _cards(found: Any) -> str:
    got = measures(found.base)
    cards = (
        card("mean energy per unit time", number(got["energy"], 4), "k_L = 1e5, k_H = 3e5, FCFS"),
        card("time at the high rate", show(got["share_high"], "share"), f"{got['switches']} changes"),
        card("mean workload", number(got["workload"]), f"by eq. 12 {number(got['workload_eq12'])}"),
        card("mean delay", compact(got["delay_s"], "s"), f"sojourn {compact(got['sojourn_s'], 's')}"),
        card(
            "stability",
            f"{found.stable_high.load:.2f}",
            f"at r_H; {found.stable_low.load:.2f} at r_L (below 1: stable)",
        ),
    )
    return f'<section class="cards">{"".join(cards)}</section>'


def _curve_table(curve: Any) -> str:
    return table(CURVE, _curve_rows(curve))


def _curve_rows(curve: Any) -> list[tuple[str, ...]]:
    return [
        (f"{k:,.0f}", f"{e:.4f}", f"{p:.4f}", f"{w:,.0f}", f"{q:,.0f}")
        for k, e, p, w, q in zip(
            curve.k, curve.energy, curve.energy_printed, curve.workload, curve.workload_eq12, strict=True
        )
    ]


def _resample_rows(ensemble: Any) -> list[tuple[str, ...]]:
    """Return means over resampled sequences with half their 95 % intervals, and changes against k = 0, paired."""
    columns = (
        (ensemble.energy, "{:.4f} ± {:.4f}"),
        (ensemble.energy_change, "{:+.1%} ± {:.1%}"),
        (ensemble.workload, "{:,.0f} ± {:,.0f}"),
        (ensemble.workload_change, "{:+.1%} ± {:.1%}"),
    )
    return [
        (f"{k:,.0f}", *(form.format(mean[i], half[i]) for (mean, half), form in columns))
        for i, k in enumerate(ensemble.k)
    ]


def _grid_table(grid: dict[tuple[str, str], dict[str, Any]]) -> str:
    return "".join(table(_grid_head(title), _grid_rows(grid, key, unit)) for key, (title, unit) in GRID.items())


def _grid_head(title: str) -> tuple[str, ...]:
    return (title, *(rule.name for rule in SWITCHINGS.values()))


def _grid_rows(grid: dict[tuple[str, str], dict[str, Any]], key: str, unit: str) -> list[tuple[str, ...]]:
    rows = []
    for line, known in DISCIPLINES.items():
        values = (grid[line, rule][key] for rule in SWITCHINGS)
        told = (compact(v, unit) if unit else f"{v:.4f}" if v < 100 else f"{v:,.0f}" for v in values)
        rows.append((known.name, *told))
    return rows


def _drift_table(found: Any) -> str:
    rows = [(f"{d.load:g}", f"{d.measured:.4f}", f"{d.expected:g}") for d in found.drifts]
    title = f"Stability criterion, C = {found.stable_high.coefficient:.5f}: growth of the delay per second of arrivals"
    return table(("load (λ/μ)·C", "growth of the delay", "expected"), rows, caption=title)


HOW = """<ul class="counted">
<li>Every run is one of the general engine: order, select and cap policies, one control pass an event. Tests hold it
against
the paper's recursion written out literally: starts, departures, energy budgets, and rate, workload and power of each
epoch.</li>
<li>Records without cores or service are dropped as a whole, with their interarrival times, which is the plain meaning
of the paper's "cleared". Where a statement depends on it, it is also given with these times kept.</li>
<li>Job amount is recorded seconds × 2.66, because the log ran at that speed. #7000 counts the records of the raw
file.</li>
<li>Before the first arrival the system is empty at r_L. W sums the amounts of all customers present, not weighted by
servers.</li>
<li>Energies are in the paper's unit, per server and unit of time.</li>
<li>Resamples are circular block bootstraps of 150 consecutive records; common sequences at all thresholds make the
changes
paired.</li>
</ul>"""
