"""QoSCap and Adaptive bidding: demand response over days; reproduce its study, and hold our own pair beside it.

Y. Zhang's thesis on intelligent middleware for high-performance computing, §2.8–2.9.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wattline.report.page import Page, table
from wattline.report.show import MISSING
from wattline.systems.qoscap.cases import LAWS, OURS, OUT, PAIRS, PUBLISHED, PUBLISHED_PAIR, THETA
from wattline.systems.qoscap.claims import claims, mean_cost, met
from wattline.systems.qoscap.study import Scale, Study, run_study
from wattline.systems.reproduction import FOOTER, SMALLER, Claim, Reproduction, Table, begin_page
from wattline.systems.work import Work

NAME = "qoscap"
TITLE = "Demand response over days (QoSCap and Adaptive bidding)"
CITATION = (
    "Y. Zhang: intelligent middleware for high-performance computing (thesis), §2.8–2.9: QoSCap and Adaptive bidding"
)
NO_LOG = "The log of Theta is not at hand (set WATTLINE_DATA to a folder with swf/ALCF-Theta-2023H1_norm.swf.gz)."


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
    remarks += [NO_LOG] if study.scale.recorded and THETA not in study.found else []
    path = _page(study, stated, remarks).write(out_dir / f"{NAME}.html")
    return Reproduction(NAME, TITLE, path, stated, remarks, numbers(study), tables(study))


def tables(study: Study) -> dict[str, Table]:
    """Return what the documentation shows: all pairs by machine, narrower caps, and PJM's market."""
    found = {"-".join(case.lower().replace(",", "").split()): Table(DAYS, _rows(study, case)) for case in study.found}
    found["narrow"] = Table(NARROW, _narrow_rows(study))
    return found | ({"market": Table(MARKET, _market_rows(study))} if study.market else {})


DAYS = (
    "policies",
    "published: errors",
    "worst Q",
    "cost",
    "ours: errors",
    "worst Q",
    "cost [$]",
    "both met",
    "P̄ [kW]",
    "R [kW]",
)
NARROW = ("machine", "caps' range", "errors", "worst Q", "cost [$]", "less than without a market", "both met")
MARKET = ("machine", "policies", "errors", "worst Q", "cost [$]", "energy [kWh]", "P̄ [kW]", "R [kW]")


def numbers(study: Study) -> dict[str, Any]:
    """Return machine → pair → published, ours (a list, one a day) for ``--json``."""
    found: dict[str, Any] = {}
    for case, by in study.found.items():
        for pair, outcomes in by.items():
            published = PUBLISHED.get(case, {}).get(pair)
            found.setdefault(case, {})[pair] = {
                "published": None
                if published is None
                else {"exceed": published[0], "worst": published[1], "cost": published[2]},
                "days": [
                    {
                        "cost": o.cost,
                        "energy_kwh": o.energy_kwh,
                        "exceed": o.exceed,
                        "error": o.error,
                        "worst": o.worst,
                        "worst_kind": o.worst_kind,
                        "meets": o.meets,
                        "unfinished": o.unfinished,
                    }
                    for o in outcomes
                ],
                "cost": mean_cost(outcomes),
                "met": met(outcomes),
            }
        if case in LAWS:
            found[case]["narrow"] = {
                f"{part:g}": {"cost": mean_cost(by[case]), "met": met(by[case])} for part, by in study.narrow.items()
            }
        if case in study.market:
            found[case]["market"] = {
                pair: {
                    "cost": mean_cost(outcomes),
                    "exceed": [o.exceed for o in outcomes],
                    "worst": [o.worst for o in outcomes],
                }
                for pair, outcomes in study.market[case].items()
            }
        found[case]["fixed bids"] = {
            pair: {"mean_w": bid.mean_w, "reserve_w": bid.reserve_w} for pair, bid in study.fixed.get(case, {}).items()
        }
    return found


def _page(study: Study, stated: list[Claim], remarks: list[str]) -> Page:
    from wattline.systems.qoscap import figures as draw

    items = [
        ("text", CITATION),
        ("machines", ", ".join(study.found)),
        ("days", f"{study.scale.seeds} a machine, four to warm up before each"),
        ("signal", "Gaussian, std 0.40, time constant 200 s, a value every 2 s, energy-neutral by the hour"),
        ("promise", "average QoS degradation of every kind at most 2; error above 30 % for less than 10 % of the time"),
    ]
    page = begin_page(TITLE, stated, items, remarks)
    for case in study.found:
        page.add(f"<h2>{case}{'' if case == THETA else ' (generated)'}</h2>", _table(study, case))
    page.add("<h2>Narrower caps</h2>", _narrow(study))
    if study.market:
        page.add("<h2>PJM's signal and prices</h2>", _market(study))
    page.add("<h2>Figures</h2>", page.figure(draw.draw_costs(study)))
    shown = next(iter(study.found))
    page.add(page.figure(draw.draw_jobs(shown)))
    for pair in (PUBLISHED_PAIR, OURS.name):
        page.add(page.figure(draw.draw_day(study, shown, pair)), page.figure(draw.draw_service(study, shown, pair)))
    page.add("<h2>How this was done</h2>", HOW, FOOTER)
    return page


def _table(study: Study, case: str) -> str:
    about = "" if case not in LAWS else f" Load {LAWS[case][1]:.0%} in the long run."
    caption = f"Least … greatest over the days; P̄ and R are means over the hours.{about}"
    return table(DAYS, _rows(study, case), caption=caption)


def _rows(study: Study, case: str) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for pair in (*(p.name for p in PAIRS), OURS.name, OUT.name):
        outcomes = study.found[case][pair]
        exceed, worst, cost = PUBLISHED.get(case, {}).get(pair, (None, None, None))
        bids = [hour.bid for outcome in outcomes for hour in outcome.hours if hour.bid is not None]
        rows.append(
            (
                pair,
                MISSING if exceed is None else f"{exceed:.1%}",
                MISSING if worst is None else f"{worst:g}",
                MISSING if cost is None else f"${cost:g}",
                _range([o.exceed for o in outcomes], "{:.1%}") if bids else MISSING,
                _range([o.worst for o in outcomes], "{:.2f}"),
                _range([o.cost for o in outcomes], "{:.0f}"),
                f"{met(outcomes)} of {len(outcomes)}",
                f"{sum(b.mean_w for b in bids) / len(bids) / 1e3:.1f}" if bids else MISSING,
                f"{sum(b.reserve_w for b in bids) / len(bids) / 1e3:.1f}" if bids else MISSING,
            )
        )
    return rows


def _narrow(study: Study) -> str:
    caption = f"{PUBLISHED_PAIR} on the same days, where the lowest caps take a part of what they took."
    return table(NARROW, _narrow_rows(study), text=(0,), caption=caption)


def _narrow_rows(study: Study) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for case in study.scale.cases:
        out = mean_cost(study.found[case][OUT.name])
        parts = {1.0: study.found[case][PUBLISHED_PAIR], **{part: by[case] for part, by in study.narrow.items()}}
        for part, days in parts.items():
            rows.append(
                (
                    case,
                    f"{part:.0%}",
                    _range([o.exceed for o in days], "{:.1%}"),
                    _range([o.worst for o in days], "{:.2f}"),
                    _range([o.cost for o in days], "{:.0f}"),
                    f"{1.0 - mean_cost(days) / out:.1%}",
                    f"{met(days)} of {len(days)}",
                )
            )
    return rows


def _market(study: Study) -> str:
    caption = "RegD of 16 July 2020, hourly prices of July 2022; PJM's settlement with its performance score."
    return table(MARKET, _market_rows(study), text=(1,), caption=caption)


def _market_rows(study: Study) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for case, by in study.market.items():
        for pair, outcomes in by.items():
            bids = [hour.bid for outcome in outcomes for hour in outcome.hours if hour.bid is not None]
            rows.append(
                (
                    case,
                    pair,
                    _range([o.exceed for o in outcomes], "{:.1%}") if bids else MISSING,
                    _range([o.worst for o in outcomes], "{:.2f}"),
                    f"{mean_cost(outcomes):.1f}",
                    f"{sum(o.energy_kwh for o in outcomes) / len(outcomes):,.0f}",
                    f"{sum(b.mean_w for b in bids) / len(bids) / 1e3:.1f}" if bids else MISSING,
                    f"{sum(b.reserve_w for b in bids) / len(bids) / 1e3:.1f}" if bids else MISSING,
                )
            )
    return rows


def _range(values: list[float], how: str) -> str:
    low, high = how.format(min(values)), how.format(max(values))
    return low if low == high else f"{low} … {high}"


HOW = """<ul class="counted">
<li>A day: four days before it warm the machine up; jobs that arrive in it count, and the run goes on until they have
finished.</li>
<li>The logs of meggie and emmy cannot be shipped: days are drawn with their sizes, run times, powers and bursts; what
caps do is a
stated model (docs/traces.md). Theta's jobs are real, their power is not.</li>
<li>Fixed bids (FES) are searched on other jobs and another signal, drawn at the known arrival rates; the cheapest that
meets all
constraints, or the one that violates least.</li>
<li>EnergyQARE acts on the mean over all jobs; with nobody to start it stays with the target (the flow chart is not
printed).</li>
<li>Our pair uses what the rules allow: an error of up to 30 % at any time and a larger one for a tenth of it, at the
price of the
error. A market that pays by a score rewards that less.</li>
</ul>"""
