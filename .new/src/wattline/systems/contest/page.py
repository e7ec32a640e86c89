"""The contest: Slackline against AQA, compared at equal rates of broken promises; one page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wattline.bidding.searches.choice import PAPER, STRICT
from wattline.report.page import table
from wattline.systems.contest.claims import Results, claims, day_ratios, of_world
from wattline.systems.contest.match import Scale
from wattline.systems.contest.run import run_contest
from wattline.systems.contest.worlds import CAPS, GAUSSIAN, PAUSES, TWELVE
from wattline.systems.followers import AQA, SLACKLINE
from wattline.systems.reproduction import FOOTER, SMALLER, Reproduction, Table, begin_page
from wattline.systems.work import Work

NAME = "contest"
TITLE = "Slackline against AQA at equal rates"

SHOWN = {
    "paper": (GAUSSIAN, PAPER, "Gaussian signal, the paper's reach"),
    "strict": (GAUSSIAN, STRICT, "Gaussian signal, strict reach"),
    "pauses": (PAUSES, PAPER, "both may pause jobs, the paper's reach"),
    "caps": (CAPS, PAPER, "measured responses to caps, the paper's reach"),
    "twelve": (TWELVE, STRICT, "QoSG's jobs on twelve servers, strict reach"),
}
"""Tables by name: world, reach, and what it is."""


def reproduce(
    out_dir: Path,
    quick: bool,  # noqa: FBT001  # the one signature of all reproductions
    work: Work,
) -> Reproduction:
    """Carry the contest out; write one page."""
    scale = Scale.quick() if quick else Scale()
    results = run_contest(scale, work, quick=quick)
    stated = claims(results)
    remarks = [SMALLER] if quick else []
    shown = tables(results)
    size = (
        f"search {scale.search_hours}, safety {scale.proof_hours}, equal rates {scale.equal_hours}, "
        f"judged {scale.judge_hours}; no two sets share one"
    )
    effort = (
        f"{scale.rounds} rounds over the whole range of mean powers for both; AQA by two roundings and up to three "
        "sets of weights"
    )
    items = [("hours", size), ("effort", effort)]
    page = begin_page(TITLE, stated, items, remarks)
    for name, one in shown.items():
        heading = SHOWN[name][2] if name in SHOWN else "Recorded days, each judged by bids of other days"
        page.add(f"<h2>{heading}</h2>", table(one.header, one.rows, text=(0,)))
    page.add(FOOTER)
    path = page.write(out_dir / f"{NAME}.html")
    numbers = {str(case): found for case, found in results.items()}
    return Reproduction(NAME, TITLE, path, stated, remarks, numbers, shown)


def tables(results: Results) -> dict[str, Table]:
    """Return the tables of the page and of the documentation."""
    found = {}
    for name, (world, reach, _) in SHOWN.items():
        by = of_world(results, world, reach)
        if by:
            found[name] = Table(HEADER, [_row(workload, one) for workload, one in by.items()])
    days = day_ratios(results)
    if days:
        names = list(next(iter(days.values())))
        found["days"] = Table(
            ("", *(name[-5:] for name in names)), [(w, *(f"{of[n]:.2f}" for n in names)) for w, of in days.items()]
        )
    return found


HEADER = (
    "",
    "AQA as found: P̄, R, cost",
    "load",
    "Slackline as found",
    "load",
    "ratio",
    "both keep all",
    "AQA compared: R, cost",
    "load",
    "Slackline compared",
    "load",
    "ratio at equal rates (95 %)",
    "alike",
)


def _row(workload: str, one: dict[str, Any]) -> tuple[str, ...]:
    cells = [workload]
    for at in ("own", "equal"):
        for policy in (AQA.name, SLACKLINE.name):
            here = one[at][policy]
            mean = f"{here['mean_w'] / 1000:.2f} kW, " if at == "own" else ""
            unsafe = "" if here["safe"] or at == "equal" else " (not safe)"
            cells.append(f"{mean}{here['reserve_w'] / 1000:.2f} kW, ${here['cost']:.3f}{unsafe}")
            cells.append(f"{here['load']:.2f} ({here['worst']})")
        part, low, high = one[at]["ratio"]
        if at == "own":
            cells += [f"{part:.2f}", _told(one[at]["both keep"])]
        else:
            cells += [f"{part:.2f} ({low:.2f}…{high:.2f})", _told(one[at]["alike"])]
    return tuple(cells)


def _told(yes: bool) -> str:  # noqa: FBT001
    return "yes" if yes else "no"
