"""RMAP: power-aware resource management for overprovisioned machines; reproduce its study, and hold our own beside it.

T. Patki's thesis on hardware overprovisioning, ch. 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from wattline.model.jobs import Floats
from wattline.report.page import Page, table
from wattline.report.style import AMBER, BLUE, GREY, RED, TEAL, VIOLET, Drawn, new_figure
from wattline.systems.reproduction import FOOTER, SMALLER, Claim, Reproduction, begin_page
from wattline.systems.rmap_study import POLICIES, Scale, Study, run_study
from wattline.systems.rmap_tables import MEASURED, machines

NAME = "rmap"
TITLE = "Power-aware resource management (RMAP)"
CITATION = "T. Patki: The case for hardware overprovisioned supercomputers (thesis), ch. 5"
NO_DATA = "The measured tables are not at hand (set WATTLINE_DATA to a folder with powercap/rzmerl_powercap_configs.csv.gz): the stand-in alone."
PUBLISHED = {
    ("large", "Traditional"): (-0.143, -0.246), ("large", "Naive"): (-0.217, -0.473),
    ("random", "Traditional"): (-0.185, -0.312), ("random", "Naive"): (-0.361, -0.538), ("small", "Traditional"): (0.166, 0.211),
}  # fmt: skip
"""Adaptive (0 %) against a policy on a trace: mean and extreme change of the turnaround time over the bounds."""

COLOURS = dict(zip(POLICIES, (GREY, AMBER, BLUE, BLUE, BLUE, VIOLET, RED, TEAL), strict=True))
OTHER = "the traces are not published and neither are the tables: other applications, other jobs"


def reproduce(
    out_dir: Path,
    quick: bool,  # noqa: FBT001  # the one signature of all reproductions
    say: Callable[[str], None],
) -> Reproduction:
    """Run the study; write one page."""
    study = run_study(Scale.quick() if quick else Scale(), say)
    stated = list(claims(study))
    remarks = ([SMALLER] if quick else []) + ([] if MEASURED in machines() else [NO_DATA])
    path = _page(study, stated, remarks).write(out_dir / f"{NAME}.html")
    return Reproduction(NAME, TITLE, path, stated, remarks, numbers(study))


def numbers(study: Study) -> dict[str, Any]:
    """Return machine → trace → source → bound → policy → mean turnaround and its interval, for ``--json``."""
    found: dict[str, Any] = {}
    for piece, what in study.found.items():
        bound = str(machines()[piece.machine].bounds_w[piece.bound])
        by = found.setdefault(piece.machine, {}).setdefault(piece.trace, {}).setdefault(piece.source, {})
        by[bound] = {
            name: {"turnaround_s": float(values.mean()), "interval": _interval(values), "highest_over_bound": what.highest[name],
                   "power_used": what.power_use[name]}
            for name, values in what.turnaround_s.items()
        }  # fmt: skip
    return found


def _interval(values: Floats) -> list[float]:
    """Return the 95 % interval of the mean over seeds."""
    wide = 1.96 * float(values.std(ddof=1)) / np.sqrt(len(values))
    return [float(values.mean() - wide), float(values.mean() + wide)]


def claims(study: Study) -> Iterator[Claim]:
    """Yield all statements with verdicts."""
    for machine in machines():
        for (trace, against), (mean, best) in PUBLISHED.items():
            names = [t for t in study.scale.traces if t.split()[0] == trace]
            if names:
                yield _against(study, machine, names, against, mean, best)
        if "large" in study.scale.traces:
            yield _unbounded(study, machine)
        yield _under(study, machine)
        yield from _ours(study, machine)


def _against(study: Study, machine: str, names: list[str], against: str, mean: float, best: float) -> Claim:
    source = "model" if "model" in study.scale.sources else "exact"
    both = {
        kind: np.concatenate([study.ratio(machine, t, "Adaptive, 0 %", against, kind) for t in names]) - 1
        for kind in dict.fromkeys(("exact", source))
    }
    told = "; ".join(
        f"{values.mean():+.1%} on average ({values.min():+.1%} to {values.max():+.1%}) with {'exact' if kind == 'exact' else 'modelled'} tables"
        for kind, values in both.items()
    )
    ours = both[source]
    holds = bool(np.sign(ours.mean()) == np.sign(mean) and abs(ours.mean()) >= 0.5 * abs(mean))
    return Claim(
        machine.split(",")[0], f"{names[0].split()[0]}: {mean:+.1%} against {against}",
        f"{names[0].split()[0]} traces: Adaptive (0 %) changes the turnaround time by {mean:+.1%} on average, {best:+.1%} at the extreme, against {against}",
        told, holds=holds, because="" if holds else OTHER,
    )  # fmt: skip


def _unbounded(study: Study, machine: str) -> Claim:
    ratio = study.ratio(machine, "large", "Adaptive, unbounded", "Adaptive, 0 %") - 1
    holds = bool(ratio.mean() > 0.1)
    return Claim(
        machine.split(",")[0], "unbounded Adaptive is 33.8 % worse", "large trace: Adaptive without a bound on the slowdown takes 33.8 % longer than with 0 %",
        f"{ratio.mean():+.1%} on average ({ratio.min():+.1%} to {ratio.max():+.1%})", holds=holds,
        because="" if holds else "jobs that start slow and at once leave the queue short; how slow the slowest configuration is decides, and the thesis's tables are not published",
    )  # fmt: skip


def _under(study: Study, machine: str) -> Claim:
    worst = max(
        (
            f.highest[name]
            for p, f in study.found.items()
            if p.machine == machine and p.source == "exact"
            for name in POLICIES
        )
    )
    modelled = [
        f.highest[n] for p, f in study.found.items() if p.machine == machine and p.source == "model" for n in POLICIES
    ]
    more = f"; with modelled tables {max(modelled):.1%} of it (under-prediction)" if modelled else ""
    return Claim(
        machine.split(",")[0], "never above the bound", "no schedule exceeds the power bound",
        f"highest power {worst:.1%} of the bound with exact tables{more}", holds=bool(worst <= 1.0 + 1e-9),
    )  # fmt: skip


def _ours(study: Study, machine: str) -> Iterator[Claim]:
    for trace in study.scale.traces:
        against = study.ratio(machine, trace, "Surplus", "Adaptive, 0 %") - 1
        plain = study.ratio(machine, trace, "Surplus", "Traditional") - 1
        yield Claim(
            "ours", f"{machine.split(',')[0]}, {trace}: ≥ 5 % below Adaptive", f"{machine}, {trace}: Surplus has a mean turnaround time at least 5 % below Adaptive's (0 %)",
            f"{against.mean():+.1%} against Adaptive ({against.min():+.1%} to {against.max():+.1%}), {plain.mean():+.1%} against Traditional",
            holds=bool(against.mean() <= -0.05),
        )  # fmt: skip


def _page(study: Study, stated: list[Claim], remarks: list[str]) -> Page:
    items = [
        ("text", CITATION), ("traces", f"30 jobs, {study.scale.seeds} seeds of each kind, requests of 1.2 × the measured time"),
        ("machines", "; ".join(machines())),
    ]  # fmt: skip
    page = begin_page(TITLE, stated, items, remarks)
    for machine in machines():
        for trace in study.scale.traces:
            page.add(_table(study, machine, trace), page.figure(_draw(study, machine, trace)))
    page.add("<h2>How this was done</h2>", HOW, FOOTER)
    return page


def _table(study: Study, machine: str, trace: str) -> str:
    bounds = [machines()[machine].bounds_w[b] for b in study.scale.bounds]
    rows = []
    for source in study.scale.sources:
        for name in POLICIES:
            by = [study.found[p].turnaround_s[name] for p in _pieces(study, machine, trace, source)]
            rows.append(
                (
                    f"{name} ({source})",
                    *(f"{values.mean():.0f} ± {values.mean() - _interval(values)[0]:.0f}" for values in by),
                )
            )
    return table(("mean turnaround [s]", *(f"{w:,.0f} W" for w in bounds)), rows, caption=f"{machine}: {trace}")


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
        dash = {"Adaptive, 10 %": "dot", "Adaptive, 20 %": "dash", "Adaptive, 30 %": "dashdot"}.get(name, "solid")
        figure.add_scatter(x=[bounds[p.bound] / bounds[-1] for p in pieces], y=y, name=name, mode="lines+markers",
                           line={"color": colour, "dash": dash})  # fmt: skip
    figure.update_xaxes(title_text="power bound over the greatest power", tickformat=".0%")
    figure.update_yaxes(title_text="turnaround over Traditional's", rangemode="tozero")
    figure.update_layout(showlegend=True)
    return Drawn(
        figure,
        f"{trace}, {machine} (Figs. 5.6 to 5.9)",
        "Means over seeds, over Traditional's at the highest bound; below 1 is faster.",
    )


HOW = """<ul class="counted">
<li>Idle nodes count for nothing; a job draws what its configuration draws. Bounds are those of the thesis, halved on 32 nodes.</li>
<li>All policies backfill nodes as EASY does, by estimates and in watts. Where a configuration is slower than what was asked for, the
deadline moves, as in the thesis.</li>
<li><i>Model</i>: the log-quadratic regression on a tenth of each table tells policies time and power; what happens is the truth.</li>
<li>Surplus gives a starting job its fair share of power and nodes and what all who wait would leave over; and it starts a job slowly at once if
that ends sooner than waiting would.</li>
</ul>"""
