"""QoSG: demand response with a QoS guarantee by generalized processor sharing; reproduce its study.

Y. Zhang's thesis on intelligent middleware for high-performance computing, §2.4–2.5 ("The QoS-Guarantee policy").
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wattline.bidding.hours.setting import Protocol
from wattline.bidding.searches.choice import Choice
from wattline.bidding.searches.search import is_safe
from wattline.report.page import Page, table
from wattline.systems.qosg.claims import PUBLISHED_SAVINGS, claims
from wattline.systems.qosg.jobs import APPLICATIONS, LEVELS, NAMES
from wattline.systems.qosg.study import Scale, Study, run_study, saving, standby_share
from wattline.systems.qosg.words import minus
from wattline.systems.reproduction import FOOTER, SMALLER, Claim, Reproduction, Table, begin_page
from wattline.systems.tuned import Tuned
from wattline.systems.work import Work

NAME = "qosg"
TITLE = "Demand response with a QoS guarantee (QoSG)"
CITATION = (
    "Y. Zhang: intelligent middleware for high-performance computing (thesis), §2.4–2.5: the QoS-Guarantee policy"
)
GENERATED = (
    "The recorded PJM days are not at hand (set WATTLINE_DATA to a folder with "
    "regulation/pjm_regd_2020-07-16_2s.csv.gz): "
    "all signals are generated."
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
    remarks += [] if study.has_recorded else [GENERATED]
    path = _page(study, stated, remarks, out_dir / f"{NAME}-hours").write(out_dir / f"{NAME}.html")
    return Reproduction(NAME, TITLE, path, stated, remarks, numbers(study), tables(study))


def tables(study: Study) -> dict[str, Table]:
    """Return what the documentation shows: our limits, all cases, other signals, and the sweep by who searched."""
    return {
        "limits": Table(LIMITS, _limit_rows()),
        "cases": Table(CASES, _case_rows(study)),
        "signals": Table(SIGNALS, _signal_rows(study)),
        **{f"sweep-{search}": Table(_sweep_head(study), _sweep_rows(study, search)) for search in SEARCHES},
    }


LIMITS = ("", "T [s]", *LEVELS, "(1 + Q)·T, medium [s]")
SIGNALS = ("signal", "saving", "mean ε", "ε > 0.3", "worst kind")
CASES = (
    "case",
    "policy",
    "P̄ [W]",
    "R [W]",
    "published",
    "its hour",
    "against the bid",
    "mean ε",
    "ε > 0.3",
    "worst kind",
    "meets all",
    "fresh hours",
    "ε > 0.3",
    "worst kind",
    "all kept",
    "standby",
)
SEARCHES = {
    "own": "The bid of QoSG's own search.",
    "searched": "The bid of our search of bid and weights for the same policy: the cheapest that meets all constraints "
    "on its hour, or the one that breaks them least.",
}
"""Who searched the bids of the sweep: fields of a point, and what they hold."""


def numbers(study: Study) -> dict[str, Any]:
    """Return study → policy → published, ours, interval (savings against what was drawn) and more, for ``--json``."""
    found: dict[str, Any] = {
        case: {policy: _numbers(f, PUBLISHED_SAVINGS.get(case, {}).get(policy)) for policy, f in by.items()}
        for case, by in study.found.items()
    }
    found["signals"] = {
        name: {"ours": saving(o)[0], "error": o.error, "exceed": o.exceed.share, "worst": float(o.shares().max())}
        for name, o in study.signals.items()
    }
    found["sweep"] = {
        f"limits × {point.factor:g}, τ = {point.tau_s:g} s": {
            name: {
                "ours": saving(choice.outcome)[0],
                "meets": choice.outcome.excess() == 0.0,
                "exceed": choice.outcome.exceed.share,
                "worst": float(choice.outcome.shares().max()),
                "mean_w": choice.bid.mean_w,
                "reserve_w": choice.bid.reserve_w,
            }
            for name, choice in (("QoSG", point.own), ("searched", point.searched))
        }
        for point in study.sweep
    }
    return found


def _numbers(found: Tuned, published: float | None) -> dict[str, Any]:
    choice, here, there = found.choice, found.choice.outcome, found.others
    hour = _protocol(found)
    _, low, high = saving(there)
    names = [kind.name for kind in here.kinds]
    rates = {
        kind.name: [r.share, r.low, r.high]
        for kind, r in zip(there.kinds, there.rates(), strict=True)
        if not kind.standby
    }
    return {
        "published": published,
        "ours": saving(here)[0],
        "fresh": saving(there)[0],
        "interval": [low, high],
        "against_bid": saving(here, "bid_cost")[0],
        "mean_w": choice.bid.mean_w,
        "reserve_w": choice.bid.reserve_w,
        "weights": None if choice.weights is None else dict(zip(names, choice.weights.tolist(), strict=True)),
        "cost": here.cost,
        "error": here.error,
        "exceed": here.exceed.share,
        "meets": found.meets,
        "standby_share": standby_share(here, protocol=hour),
        "standby_share_above_idle": standby_share(here, above_idle=True, protocol=hour),
        "worst": float(here.shares().max()),
        "fresh_hours": len(there.hours),
        "fresh_cost": there.cost,
        "fresh_exceed": [there.exceed.share, there.exceed.low, there.exceed.high],
        "fresh_rates": rates,
        "fresh_kept": is_safe(there),
        "search_runs": choice.runs,
    }


def _protocol(found: Tuned) -> Protocol:
    """Return what an hour meant where a bid was chosen: ours was chosen on stationary ones."""
    return Protocol(paper=found.policy != "Slackline")


def _page(study: Study, stated: list[Claim], remarks: list[str], folder: Path) -> Page:
    from wattline.systems.qosg import figures as draw

    items = [
        ("source", CITATION),
        ("machine", "100 nodes (or 12, 20 … 2500), 90 W idle, at most 309 W"),
        ("jobs", "six applications of one node, half of the nodes busy; standby jobs: ft"),
        ("signal", "Gaussian, std 0.40, time constant 200 s (assumed), every 4 s, energy-neutral by the hour"),
        ("reach", "strict (eqs. 2.22–2.23)"),
    ]
    page = begin_page(TITLE, stated, items, remarks)
    page.add("<h2>All cases</h2>", table(CASES, _case_rows(study), text=(0, 1)))
    page.add("<h2>Other signals under the bid of the default</h2>", table(SIGNALS, _signal_rows(study), text=(0,)))
    page.add("<h2>Without standby jobs: limits and signals</h2>", _sweep(study))
    page.add("<h2>Figures</h2>", *map(page.figure, draw.draw_hours(study, folder)))
    for case, where, errors, qos in (("default", "", "2.5", "2.6"), ("12 servers", " on 12 servers", "2.8", "2.9")):
        seen = draw.observed(study, case)
        page.add(page.figure(draw.draw_errors(seen, f"Fig. {errors}: tracking error{where}")))
        page.add(page.figure(draw.draw_qos(seen, f"Fig. {qos}: QoS degradation{where}")))
    page.add(page.figure(draw.draw_savings(study)), page.figure(draw.draw_weights(study)))
    page.add(page.figure(draw.draw_signals(study)))
    page.add(
        "<h2>What was assumed</h2>",
        table(LIMITS, _limit_rows(), text=(0,), caption="QoS limits (chosen by us)"),
        HOW,
    )
    page.add(FOOTER)
    return page


def _case_rows(study: Study) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for case, by in study.found.items():
        for policy, f in by.items():
            published = PUBLISHED_SAVINGS.get(case, {}).get(policy)
            here, there, (part, low, high) = f.choice.outcome, f.others, saving(f.others)
            rows.append(
                (
                    case,
                    policy,
                    f"{f.choice.bid.mean_w:,.0f}",
                    f"{f.choice.bid.reserve_w:,.0f}",
                    "" if published is None else minus(published),
                    minus(saving(here)[0]),
                    minus(saving(here, "bid_cost")[0]),
                    f"{here.error:.1%}",
                    f"{here.exceed.share:.1%}",
                    f"{here.shares().max():.1%}",
                    "yes" if f.meets else "no",
                    f"{minus(part)} ({low:.1%}…{high:.1%})",
                    f"{there.exceed.share:.1%}",
                    f"{there.shares().max():.1%}",
                    "yes" if is_safe(there) else "no",
                    f"{standby_share(here, protocol=_protocol(f)):.1%}",
                )
            )
    return rows


def _signal_rows(study: Study) -> list[tuple[str, ...]]:
    return [
        (name, minus(saving(o)[0]), f"{o.error:.1%}", f"{o.exceed.share:.1%}", f"{o.shares().max():.1%}")
        for name, o in study.signals.items()
    ]


def _sweep_head(study: Study) -> tuple[str, ...]:
    return ("", *(f"τ = {tau_s:g} s" for tau_s in study.scale.taus_s))


def _sweep_rows(study: Study, search: str) -> list[tuple[str, ...]]:
    """Return what one of the searches found: a row a factor on the limits, a column a signal."""
    rows: dict[str, list[str]] = {}
    for point in study.sweep:
        choice: Choice = getattr(point, search)
        o = choice.outcome
        held = "all met" if o.excess() == 0.0 else f"ε > 0.3 {o.exceed.share:.0%}, worst {o.shares().max():.0%}"
        rows.setdefault(f"limits × {point.factor:g}", []).append(f"{minus(saving(o)[0])} ({held})")
    return [(told, *cells) for told, cells in rows.items()]


def _sweep(study: Study) -> str:
    header = _sweep_head(study)
    text = tuple(range(1, len(header)))
    return "".join(
        table(header, _sweep_rows(study, search), text=text, caption=caption) for search, caption in SEARCHES.items()
    )


def _limit_rows() -> list[tuple[str, ...]]:
    return [
        (
            name,
            f"{APPLICATIONS[name].work_s:g}",
            *(f"{LEVELS[level][name]:g}" for level in LEVELS),
            f"{(1 + LEVELS['medium'][name]) * APPLICATIONS[name].work_s:.0f}",
        )
        for name in NAMES
    ]


HOW = """<ul class="counted">
<li>Bids are chosen and first tested on one hour that starts empty, counting jobs that finish within it, as in the
thesis; then
on fresh hours: warmed up, all jobs that arrive in the bid hour counted, intervals clustered by hour.</li>
<li>α is fitted on a simulation of a bid above the load, then again on each bid that comes out; of all bids tried, the
cheapest that
keeps every promise in its simulation is taken. <i>One fit</i> is the text to the letter, <i>corrected</i> the theory
with the
asymptotic variance of a signal that remembers 200 s, <i>filled</i> the same fitted to an hour that does not start
empty.</li>
<li>Savings are against the cost of the energy really drawn (the thesis' baseline); against the bid beside it. The
thesis' dollars
are printed × 3600.</li>
<li>The medium QoS limits were chosen so that the published bid and weights just keep them in our simulator. That QoSG
then chooses a
bid close to the published one is therefore no independent evidence; what it costs and how well it tracks is.</li>
<li>EnergyQARE: cheapest point of a grid that meets tracking (thesis §2.5.1), whatever QoS comes to; Tracking-only: its
rule of thumb.</li>
<li>Slackline searches on stationary hours; its <i>its hour</i> columns are those of the hours on which it was made
safe.</li>
</ul>"""
