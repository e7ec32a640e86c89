"""Data-driven power capping: learned profiles and window scheduling; reproduce its study, and hold our own beside it.

S. Wallace et al.: A data driven scheduling approach for power management on HPC systems, SC 2016.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from wattline.report.page import Page, table
from wattline.report.show import MISSING
from wattline.systems.knapsack.claims import claims
from wattline.systems.knapsack.data import FULL_MACHINE, LOAD, MACHINES, PUBLISHED_JOBS
from wattline.systems.knapsack.profiles import draw_projects, draw_sizes, draw_users
from wattline.systems.knapsack.study import CHANGING, FEWER_FULL, NOISE, SWEEP, Piece, Scale, Study, Year, run_study
from wattline.systems.reproduction import FOOTER, SMALLER, Claim, Reproduction, Table, begin_page
from wattline.systems.work import Work

NAME = "knapsack"
TITLE = "Data-driven power capping (learned profiles and window scheduling)"
CITATION = (
    "S. Wallace, X. Yang, V. Vishwanath, W. Allcock, S. Coghlan, M. Papka, Z. Lan: A data driven scheduling approach "
    "for power management on HPC systems (SC 2016)"
)
NO_LOG = (
    "The logs of Mira and Theta are not at hand (set WATTLINE_DATA to a folder with swf/ALCF-Mira-2018H2_norm.swf.gz)."
)


def reproduce(
    out_dir: Path,
    quick: bool,  # noqa: FBT001  # the one signature of all reproductions
    work: Work,
) -> Reproduction:
    """Run the study; write one page."""
    study = run_study(Scale.quick() if quick else Scale(), work)
    stated = claims(study)
    work.say("writing the page")
    remarks = [SMALLER] if quick else []
    remarks += [NO_LOG] if study.scale.recorded and not any(m.at_hand() for m in MACHINES.values()) else []
    path = _page(study, stated, remarks).write(out_dir / f"{NAME}.html")
    return Reproduction(NAME, TITLE, path, stated, remarks, numbers(study), tables(study))


def tables(study: Study) -> dict[str, Table]:
    """Return what the documentation shows: a table for each cap and order, and those beside them, by their titles."""
    return {_name(title): Table(HEADER, _rows(study, pieces)) for title, pieces in _groups(study)}


def _name(title: str) -> str:
    """Return a title as the name of a table: small letters and digits, joined.

    >>> _name("Cap of 2,000 kW, fcfs")
    'cap-of-2000-kw-fcfs'
    """
    return "-".join(re.findall(r"[a-z0-9]+", title.lower().replace(",", "").replace(".", "")))


def numbers(study: Study) -> dict[str, Any]:
    """Return machine → order → limit → scheme → what was found, for ``--json``."""
    found: dict[str, Any] = {}
    for piece, year in study.found.items():
        name = piece.machine if piece.load == LOAD else f"{piece.machine}, load {piece.load:g}"
        name += f", runs {piece.noise:.1%} apart" if piece.noise else ""
        name += f", {piece.full:.1%} on all racks" if piece.full != FULL_MACHINE else ""
        limit = "none" if piece.limit is None else str(piece.limit)
        found.setdefault(name, {}).setdefault(piece.order, {}).setdefault(limit, {})[piece.scheme.name] = _plain(year)
    return found


def _plain(year: Year) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "wait_s": year.wait_s,
        "median_wait_s": year.median_s,
        "widest_wait_s": year.widest_wait_s,
        "utilization": year.use,
        "monthly_wait_s": year.monthly_wait_s.tolist(),
        "monthly_utilization": year.monthly_use.tolist(),
        "known_at_end": float(year.known[-1]) if len(year.known) else None,
        "under_predicted": year.under,
        "over_counted": year.over,
        "simulated_in_s": year.wall_s,
    }
    if year.capping is not None:
        c = year.capping
        plain["capping"] = {
            "intervals": c.whole.success,
            "time": c.whole.seconds.success,
            "samples": c.whole.samples.success,
            "without_deadlocks": {
                "intervals": c.apart.success,
                "time": c.apart.seconds.success,
                "samples": c.apart.samples.success,
            },
            "deadlock_starts": c.deadlock_starts,
            "longest_excess_s": c.apart.longest_s,
            "worst_excess_w": c.apart.worst_w,
        }
    return plain


def _page(study: Study, stated: list[Claim], remarks: list[str]) -> Page:
    from wattline.systems.knapsack import figures as draw

    items = [
        ("text", CITATION),
        ("machine", "48 racks, 49,152 nodes, 4.8 MW; idle nodes count for nothing"),
        (
            "jobs",
            (
                f"a Mira-like stream of {study.scale.days:g} days at {LOAD:.0%} load (published: "
                f"{PUBLISHED_JOBS:,} jobs "
                "in a year)"
            ),
        ),
        ("decisions", "every 10 s; power sampled every 5 minutes; deadlocks are broken by the first job"),
    ]
    page = begin_page(TITLE, stated, items, remarks)
    page.add(f"<p>{COLUMNS}</p>")
    page.add(*(table(HEADER, _rows(study, pieces), caption=title) for title, pieces in _groups(study)))
    page.add("<h2>Figures</h2>", page.figure(draw.draw_learning(study)))
    page.add(*(page.figure(drawn(study)) for drawn in (draw_projects, draw_users, draw_sizes)))
    page.add(page.figure(draw.draw_power(study, 3000.0, "Power under a cap of 3,000 kW (Fig. 6)")))
    if CHANGING in study.scale.limits:
        page.add(page.figure(draw.draw_power(study, CHANGING, "Power under a changing cap (Fig. 7)")))
    for use in (False, True):
        for order in study.scale.orders[::-1]:
            for limit in study.scale.limits:
                if isinstance(limit, float):
                    page.add(page.figure(draw.draw_months(study, order, limit, use=use)))
    if study.scale.curve:
        page.add(page.figure(draw.draw_trade_off(study)), page.figure(draw.draw_success(study)))
    page.add("<h2>How this was done</h2>", HOW, FOOTER)
    return page


def _groups(study: Study) -> list[tuple[str, list[Piece]]]:
    """Return the tables by title: each order under each cap, and those beside them."""
    found = []
    for order in study.scale.orders:
        for limit in (None, *study.scale.limits):
            main = ("mira-like", order, limit, LOAD, 0.0, FULL_MACHINE)
            pieces = [p for p in study.found if (p.machine, p.order, p.limit, p.load, p.noise, p.full) == main]
            found.append((f"{_limit(limit)}, {order}", pieces))
    return found + _others(study)


def _others(study: Study) -> list[tuple[str, list[Piece]]]:
    """Return the tables beside the main ones: loads, shares of full-machine jobs, runs less alike, recorded logs."""
    found = []
    for order in study.scale.orders:
        for load in SWEEP:
            here = [p for p in study.found if (p.load, p.order) == (load, order)]
            found.append((f"{load:.0%} load, {order}, with its caps", here))
        few = [p for p in study.found if (p.full, p.order) == (FEWER_FULL, order)]
        found.append((f"{FEWER_FULL:.1%} of full-machine jobs, {order}, with its caps", few))
    found.append((f"Runs {NOISE:.1%} apart, 3,000 kW, wfp", [p for p in study.found if p.noise == NOISE]))
    found += [
        (f"{name}: jobs as recorded, cap of 62.5 %", [p for p in study.found if p.machine == name])
        for name in MACHINES
        if name != "mira-like"
    ]
    return [(title, pieces) for title, pieces in found if pieces]


def _limit(limit: float | str | None) -> str:
    if limit is None:
        return "No cap"
    return "Cap of 2 → 3 → 4 → 2 → 3 MW" if isinstance(limit, str) else f"Cap of {limit:,.0f} kW"


HEADER = (
    "scheme",
    "mean wait [h]",
    "widest third [h]",
    "utilization",
    "success",
    "… apart",
    "deadlocks",
    "known",
    "too low",
    "beyond drawn",
)


def _rows(study: Study, pieces: list[Piece]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for piece in pieces:
        year = study.found[piece]
        c = year.capping
        learned = piece.scheme.profile not in ("known", "maximum", "measured", "oracle")
        rows.append(
            (
                piece.scheme.name
                + (f", {_limit(piece.limit)}" if piece.load != LOAD or piece.full != FULL_MACHINE else ""),
                f"{year.wait_s / 3600:,.2f}",
                f"{year.widest_wait_s / 3600:,.1f}",
                f"{year.use:.1%}",
                *(
                    (MISSING,) * 3
                    if c is None
                    else (f"{c.whole.success:.2%}", f"{c.apart.success:.3%}", f"{c.deadlock_starts:.0f}")
                ),
                f"{year.known[-1]:.1%}" if learned else MISSING,
                f"{year.under:.1%}" if learned else MISSING,
                f"{year.over:+.1%}" if c is not None else MISSING,
            )
        )
    return rows


COLUMNS = (
    "In the tables: <i>widest third</i> is the mean wait of jobs on a third of the machine or more; <i>success</i> "
    "the share of "
    "10-second intervals under the cap, and the same apart from deadlock starts; <i>too low</i> the share of jobs "
    "with a sample above the profile they started "
    "with; <i>beyond drawn</i> how much more than was drawn profiles at the start counted with."
)

HOW = """<ul class="counted">
<li>The log and the telemetry of Mira in 2014 were never published. A year is drawn with the sizes, run times and
requests of the
public log of 2018 and with power whose statistics are those of the paper's table I (docs/traces.md, <i>mira-like</i>);
recorded
logs of Mira and Theta get power from the same model.</li>
<li>The window is solved exactly (the printed recurrence is not exact); of equal choices the earliest jobs win.</li>
<li>The load was fixed before the run: as many jobs as published in a year; so was the share of jobs on all 48 racks,
which is that of the public log. Statements that do not hold are tested at lower loads and with fewer such jobs.</li>
<li>Waits and utilization are relative to strict order without a cap, as in the text; EASY without a cap is shown
beside.</li>
<li>Naive capping starts jobs strictly in order, counts 100 kW a rack for one that would start, and what was measured
last for those that run.</li>
<li>A profile stays until the t-test of 20 new samples of one running job rejects it; then older samples are forgotten.
The text does not say how a profile comes back: <i>rejected for good</i> is the other reading.</li>
<li>A full window each of whose jobs exceeds the cap alone starts its first one beside those that run; a job that
exceeds the cap alone also starts when nothing runs and nothing fits.</li>
<li>An interval fails if the power is above the cap at any time in it.</li>
<li>How alike runs of a job are was chosen so that the t-test, as the paper says, is rarely contradicted; with runs set
1.5 % apart more is doubted: both are shown.</li>
</ul>"""
