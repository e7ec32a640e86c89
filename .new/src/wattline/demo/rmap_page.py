"""The page of RMAP inside Slurm: both runs side by side, job by job, and their power over time."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wattline.demo.rmap import POLICIES, SideBySide
from wattline.report.figures.style import BLUE, GREY, RED, TEAL, Drawn, new_figure, titled
from wattline.report.page import Page, card, table
from wattline.units import show_power

if TYPE_CHECKING:
    from wattline.demo.rmap import Run, Shown

COLOURS = {"Slurm": BLUE, "simulated": GREY, "simulated late": TEAL}


def lines(found: SideBySide) -> list[str]:
    """Return the jobs side by side, and what they came to, for a terminal."""
    names = [run.name for run in found.runs]
    told = [f"{'application':12}{'asks':>5}{'submitted':>11}" + "".join(f"{name:>24}" for name in names)]
    for row, kind in enumerate(found.kinds):
        cells = "".join(f"{_cell(run.jobs[row]):>24}" for run in found.runs)
        told.append(f"{kind:12}{found.asked[row]:5}{found.submit_s[row]:9.1f} s{cells}")
    told.append(
        f"{'mean turnaround':28}" + "".join(f"{run.turnaround_s(found.submit_s):22.1f} s" for run in found.runs)
    )
    told.append(f"{'highest power':28}" + "".join(f"{show_power(run.most_w()):>24}" for run in found.runs))
    median_s, most_s = found.start_late_s
    late = f"{median_s:.2f} s after the decision (median; {most_s:.2f} s for nine of ten)"
    told.append(f"limit {show_power(found.limit_w)}; jobs are there {late}")
    ran = f"{found.ran()} of {len(found.kinds)} jobs ran on Slurm"
    told.append(f"{ran}, {found.same()} of them in the configuration of the simulation with late starts")
    return told


def _cell(job: Shown | None) -> str:
    return "did not run" if job is None else f"{job.start_s:6.1f} s {job.form:>14}"


def write_beside(found: SideBySide, folder: Path) -> Path:
    """Write both runs as data and as a page; return the page."""
    (folder / "rmap.json").write_text(json.dumps(found.data(), indent=1), encoding="utf-8")
    return write_page(found, folder / "rmap.html")


def write_page(found: SideBySide, path: Path) -> Path:
    """Write the page."""
    page = Page("RMAP inside Slurm – Wattline")
    live, simulated, late = found.runs
    cards = [
        card(
            "mean turnaround",
            f"{live.turnaround_s(found.submit_s):.1f} s",
            f"simulated {simulated.turnaround_s(found.submit_s):.1f} s, late {late.turnaround_s(found.submit_s):.1f} s",
        ),
        card(
            "highest power",
            show_power(live.most_w()),
            f"limit {show_power(found.limit_w)}",
            bad=live.most_w() > found.limit_w * 1.01,
        ),
        card("jobs that ran", f"{found.ran()} of {len(found.kinds)}", bad=found.ran() < len(found.kinds)),
        card("same configuration", f"{found.same()}", "as simulated with starts as late as Slurm's"),
    ]
    page.add(
        "<header><h1>RMAP inside Slurm</h1>"
        f"<p>{escape(POLICIES.get(found.policy, found.policy))}. Moldable jobs on a real Slurm under the controller, "
        "and the same trace in the simulator.</p></header>",
        f'<div class="cards">{"".join(cards)}</div>',
        page.figure(power_figure(found)),
        page.figure(start_figure(found)),
        table(
            ["application", "asks for", "submitted", *(head for run in found.runs for head in heads(run))],
            [
                [
                    kind,
                    found.asked[row],
                    f"{found.submit_s[row]:.1f} s",
                    *(cell for run in found.runs for cell in cells(found, run, row)),
                ]
                for row, kind in enumerate(found.kinds)
            ],
            "Each job in each run: start, configuration (nodes x cores, cap of a processor), turnaround",
            text=(0, 4, 7, 10),
        ),
    )
    return page.write(path)


def heads(run: Run) -> list[str]:
    """Return the headings of a run's columns."""
    return [f"{run.name}: start", "configuration", "turnaround"]


def cells(found: SideBySide, run: Run, row: int) -> list[str]:
    """Return a job of a run."""
    job = run.jobs[row]
    if job is None:
        return ["", "did not run", ""]
    return [f"{job.start_s:.1f} s", job.form, f"{job.end_s - float(found.submit_s[row]):.1f} s"]


def power_figure(found: SideBySide) -> Drawn:
    """Draw the power of all runs, and the limit."""
    figure = new_figure(320)
    for run in found.runs:
        step = max(1, run.time_s.size // 2000)
        figure.add_scatter(
            x=run.time_s[::step],
            y=run.power_w[::step] / 1e3,
            mode="lines",
            name=run.name,
            line={"color": COLOURS[run.name], "width": 1.5, "shape": "hv"},
        )
    last_s = max((float(np.max(run.time_s)) for run in found.runs if run.time_s.size), default=0.0)
    figure.add_scatter(
        x=[0.0, last_s], y=[found.limit_w / 1e3] * 2, mode="lines", name="limit", line={"color": RED, "dash": "dash"}
    )
    figure.update_xaxes(title=titled("time since the first submission", "s"))
    figure.update_yaxes(title=titled("power", "kW"))
    return Drawn(figure, "Power", "All nodes; on Slurm as the emulated machine draws it, at most 2,000 points a run.")


def start_figure(found: SideBySide) -> Drawn:
    """Draw when each job started."""
    figure = new_figure(320)
    for run in found.runs:
        rows = [row for row, job in enumerate(run.jobs) if job is not None]
        figure.add_scatter(
            x=[run.jobs[row].start_s for row in rows],  # type: ignore[union-attr]
            y=[row + 1 for row in rows],
            mode="markers",
            name=run.name,
            marker={"color": COLOURS[run.name], "size": 8},
            text=[run.jobs[row].form for row in rows],  # type: ignore[union-attr]
        )
    figure.update_xaxes(title=titled("start since the first submission", "s"))
    figure.update_yaxes(title="job, in the order of submission")
    return Drawn(figure, "Starts", "Hover for the configuration.")
