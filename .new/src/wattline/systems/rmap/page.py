"""RMAP: power-aware resource management for overprovisioned machines; reproduce its study, and hold our own beside it.

T. Patki's thesis on hardware overprovisioning, ch. 5.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from wattline.arrays import Floats
from wattline.report.figures.style import AMBER, BLUE, GREY, RED, TEAL, VIOLET, Drawn, new_figure
from wattline.report.page import Page, folded, table
from wattline.systems.reproduction import (
    FOOTER,
    HELD,
    NOT_HELD,
    SMALLER,
    Claim,
    Reproduction,
    Table,
    begin_page,
)
from wattline.systems.rmap.claims import claims
from wattline.systems.rmap.figures import draw_errors, draw_jobs, draw_timeline
from wattline.systems.rmap.ours import OURS
from wattline.systems.rmap.study import Scale, Study, policies_of, run_study
from wattline.systems.rmap.tables import MEASURED, machines
from wattline.systems.work import Work

NAME = "rmap"
TITLE = "Power-aware resource management (RMAP)"
CITATION = "T. Patki: The case for hardware overprovisioned supercomputers (thesis), ch. 5"
NO_DATA = (
    "The measured tables are not at hand (set WATTLINE_DATA to a folder with "
    "powercap/rzmerl_powercap_configs.csv.gz): the stand-in alone."
)
SINGLE = (("large", 0, ("Figs. 5.10, 5.11", "as Fig. 5.12")), ("random 2", 4, ("Figs. 1.2, 5.13", "Fig. 5.12")))
"""Traces and bounds that are shown job by job, and the figures of the thesis that they stand for."""

TOLD = {
    "exact": "exact tables",
    "model": "tables by the thesis's model",
    "upper": "tables by our model, upper bounds of power",
    "generous": "exact tables, requests of twice the time",
    "predicted": "the thesis's model is told and is what happens",
}
COLOURS = {
    "Traditional": GREY,
    "Naive": AMBER,
    "Adaptive, 0 %": BLUE,
    "Adaptive, 10 %": BLUE,
    "Adaptive, 20 %": BLUE,
    "Adaptive, 30 %": VIOLET,
    "Adaptive, unbounded": RED,
    "Adaptive, 0 %, power only": GREY,
    "Surplus, 0 %": TEAL,
    "Surplus, unbounded": TEAL,
}


def reproduce(
    out_dir: Path,
    quick: bool,  # noqa: FBT001  # the one signature of all reproductions
    work: Work,
) -> Reproduction:
    """Run the study; write one page."""
    study = run_study(Scale.quick() if quick else Scale(), work)
    stated = list(claims(study))
    remarks = ([SMALLER] if quick else []) + ([] if MEASURED in machines() else [NO_DATA])
    path = _page(study, stated, remarks).write(out_dir / f"{NAME}.html")
    return Reproduction(NAME, TITLE, path, stated, remarks, numbers(study), tables(study, stated))


def tables(study: Study, stated: list[Claim]) -> dict[str, Table]:
    """Return what the documentation shows: whose statements hold, and mean turnaround times by machine and trace."""
    found = {"whose": Table(("statements", HELD, NOT_HELD), _whose(stated))}
    for machine in machines():
        for trace in study.scale.traces:
            pieces = _pieces(study, machine, trace, "exact")
            rows = [
                (name, *(f"{study.found[p].turnaround_s[name].mean():.0f}" for p in pieces))
                for name in policies_of("exact")
            ]
            found[f"{machine.split()[0]}-{trace.replace(' ', '-')}"] = Table(_head(study, machine), rows)
    return found


def _whose(stated: list[Claim]) -> list[tuple[str, str, str]]:
    """Return how many statements of the thesis, on each machine, and of ours have which verdict."""
    by: dict[str, list[str]] = {}
    for claim in stated:
        by.setdefault("ours" if claim.where == OURS else f"the thesis's, {claim.where}", []).append(claim.verdict)
    return [(name, str(verdicts.count(HELD)), str(verdicts.count(NOT_HELD))) for name, verdicts in by.items()]


def _head(study: Study, machine: str) -> tuple[str, ...]:
    return ("mean turnaround [s]", *(f"{machines()[machine].bounds_w[b]:,.0f} W" for b in study.scale.bounds))


def numbers(study: Study) -> dict[str, Any]:
    """Return machine → trace → source → bound → policy → mean turnaround and its interval, for ``--json``."""
    found: dict[str, Any] = {}
    for piece, what in study.found.items():
        bound = str(machines()[piece.machine].bounds_w[piece.bound])
        by = found.setdefault(piece.machine, {}).setdefault(piece.trace, {}).setdefault(piece.source, {})
        by[bound] = {
            name: {
                "turnaround_s": float(values.mean()),
                "interval": _interval(values),
                "highest_over_bound": float(what.highest[name].max()),
                "power_used": float(what.power_use[name].mean()),
            }
            for name, values in what.turnaround_s.items()
        }
    return found


def _interval(values: Floats) -> list[float]:
    """Return the 95 % interval of the mean over seeds."""
    wide = 1.96 * float(values.std(ddof=1)) / np.sqrt(len(values))
    return [float(values.mean() - wide), float(values.mean() + wide)]


def _page(study: Study, stated: list[Claim], remarks: list[str]) -> Page:
    items = [
        ("text", CITATION),
        ("traces", f"30 jobs, {study.scale.seeds} seeds of each kind, requests of 1.2 × the measured time"),
        ("machines", "; ".join(machines())),
    ]
    page = begin_page(TITLE, stated, items, remarks)
    for machine in machines():
        for trace in study.scale.traces:
            page.add(_table(study, machine, trace, "exact"), page.figure(_draw(study, machine, trace)))
            others = "".join(
                _table(study, machine, trace, source)
                for source in study.scale.sources
                if source != "exact" and _pieces(study, machine, trace, source)
            )
            if others:
                page.add(folded(f"{machine}: {trace}, told otherwise", others))
        for trace, bound, figures in SINGLE:
            if trace in study.scale.traces and bound in study.scale.bounds:
                drawn = [
                    *draw_jobs(study, machine, trace, bound, figures[0]),
                    draw_timeline(study, machine, trace, bound, figures[1]),
                ]
                page.add(*(page.figure(one) for one in drawn))
        page.add(*(page.figure(one) for one in draw_errors(machine)))
    page.add("<h2>How this was done</h2>", HOW, FOOTER)
    return page


def _table(study: Study, machine: str, trace: str, source: str) -> str:
    rows = []
    for name in policies_of(source):
        by = [study.found[p].turnaround_s[name] for p in _pieces(study, machine, trace, source)]
        rows.append((name, *(f"{values.mean():.0f} ± {values.mean() - _interval(values)[0]:.0f}" for values in by)))
    caption = f"{machine}: {trace}, {TOLD[source]}"
    return table(_head(study, machine), rows, caption=caption)


def _pieces(study: Study, machine: str, trace: str, source: str) -> list[Any]:
    return sorted(
        (p for p in study.found if (p.machine, p.trace, p.source) == (machine, trace, source)), key=lambda p: p.bound
    )


def _draw(study: Study, machine: str, trace: str) -> Drawn:
    """Draw turnaround over that of Traditional at the highest bound (Figs. 5.6 to 5.9)."""
    figure = new_figure(320)
    pieces = _pieces(study, machine, trace, "exact")
    base = study.found[pieces[-1]].turnaround_s["Traditional"].mean()
    bounds = machines()[machine].bounds_w
    for name, colour in COLOURS.items():
        y = [study.found[p].turnaround_s[name].mean() / base for p in pieces]
        dash = {
            "Adaptive, 10 %": "dot",
            "Adaptive, 20 %": "dash",
            "Adaptive, 30 %": "dashdot",
            "Adaptive, 0 %, power only": "dot",
            "Surplus, unbounded": "dot",
        }.get(name, "solid")
        figure.add_scatter(
            x=[bounds[p.bound] / bounds[-1] for p in pieces],
            y=y,
            name=name,
            mode="lines+markers",
            line={"color": colour, "dash": dash},
        )
    figure.update_xaxes(title_text="power bound over the greatest power", tickformat=".0%")
    figure.update_yaxes(title_text="turnaround over Traditional's", rangemode="tozero")
    figure.update_layout(showlegend=True)
    return Drawn(
        figure,
        f"{trace}, {machine} (Figs. 5.6 to 5.9)",
        "Means over seeds, over Traditional's at the highest bound; below 1 is faster.",
    )


HOW = """<ul class="counted">
<li>Idle nodes count for nothing; a job draws what its configuration draws. Bounds are those of the thesis, halved on 32
nodes.</li>
<li>All policies backfill nodes as EASY does, by estimates and in watts. Where a configuration is slower than what was
asked for, the
deadline moves, as in the thesis.</li>
<li><i>Model</i>: the log-quadratic regression on a tenth of each table tells policies time and power; what happens is
the truth.</li>
<li>Adaptive is node-aware: it takes what is left of power <i>and nodes</i> (§5.1). By the letter of Algorithm 1 it
compares watts alone and waits for nodes (<i>power only</i>).</li>
<li>Arrivals are so dense that 14 of 30 jobs do not wait in the random trace at 14,000 W with Traditional (§5.6.4),
found on seeds of their own.</li>
<li>Surplus starts a job in the configuration that costs all who wait the least time, among those that Adaptive could
give it at the same tolerance: neither takes longer than that tolerance, or than the job's fair share would. Its weights
were found on other seeds.</li>
</ul>"""
