"""AQA: demand response with quality-of-service assurance; reproduce its study, and hold our own policy beside it.

Y. Zhang, D. C. Wilson, I. Ch. Paschalidis, A. K. Coskun: "HPC Data Center Participation in Demand Response: an Adaptive
Policy with QoS Assurance".
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from wattline.bidding.certificate import Certificate
from wattline.bidding.searches.choice import REACHES
from wattline.report.page import Page, table
from wattline.systems.aqa.claims import claims
from wattline.systems.aqa.run import run_study
from wattline.systems.aqa.spread import TAU_S, Found, met
from wattline.systems.aqa.study import OURS, OWN, PUBLISHED, Scale, Study
from wattline.systems.npb import HIGHEST_W, IDLE_W, NODES, WORKLOADS
from wattline.systems.reproduction import FOOTER, SMALLER, Claim, Reproduction, Table, begin_page
from wattline.systems.work import Work

NAME = "aqa"
TITLE = "Demand response with QoS assurance"
CITATION = (
    "Y. Zhang, D. C. Wilson, I. Ch. Paschalidis, A. K. Coskun: HPC Data Center Participation in Demand Response: an "
    "Adaptive Policy with QoS Assurance"
)


def reproduce(
    out_dir: Path,
    quick: bool,  # noqa: FBT001  # the one signature of all reproductions
    work: Work,
) -> Reproduction:
    """Run the paper's study and ours; write one page."""
    study = run_study(Scale.quick() if quick else Scale(), work)
    stated = claims(study)
    work.say("drawing hours and distributions, writing the page")
    remarks = [SMALLER] if quick else []
    path = _page(study, stated, remarks, out_dir / f"{NAME}-hours").write(out_dir / f"{NAME}.html")
    return Reproduction(NAME, TITLE, path, stated, remarks, numbers(study), tables(study))


def tables(study: Study) -> dict[str, Table]:
    """Return what the documentation shows: fresh hours of one workload, the paper's protocol, AQA's own search hour by
    hour, the published bid of W4, and what lies around them.
    """
    found = {"fresh": Table(FRESH, _certificate_rows(study)), "in-sample": Table(IN_SAMPLE, _in_sample_rows(study))}
    found["spread"] = Table(SPREAD, _spread_rows(study))
    found["spread-workloads"] = Table(("workload", "published", *study.spread), _workload_rows(study))
    found["published-w4"] = Table(PUBLISHED_BID, _published_rows(study))
    if study.around:
        found["sensitivity"] = Table(SENSITIVITY, _sensitivity_rows(study))
        found |= {"recorded": Table(RECORDED, _recorded_rows(study))} if "recorded" in study.around else {}
    return found


FRESH = (
    "reach",
    "policy",
    "bid found by",
    "P̄ [W]",
    "R [W]",
    "cost [$]",
    "95 %",
    "mean ε",
    "ε > 0.3",
    "worst kind",
    "all kept",
)
IN_SAMPLE = (
    "workload",
    "policy",
    "bid found by",
    "cost [$]",
    "ε > 0.3",
    "worst kind",
    "meets all",
    "others: cost",
    "ε > 0.3",
    "worst kind",
)
SPREAD = ("reading", "hours", "median", "range", "each hour")
PUBLISHED_BID = ("reading", "mean ε", "ε > 0.3", "cost [$]", "sum of relative violations", "worst kind")
SENSITIVITY = ("W4", "AQA", "Slackline")
RECORDED = (
    "W1",
    "policy",
    "P̄ [W]",
    "R [W]",
    "cost [$]",
    "95 %",
    "mean ε",
    "ε > 0.3",
    "worst kind",
    "out of reach",
    "kept on the record",
)


def numbers(study: Study) -> dict[str, Any]:
    """Return workload → policy → published, ours, interval (and more) for ``--json``."""
    found: dict[str, Any] = {}
    for workload, tuned in study.in_sample.items():
        found[workload] = {"AQA": {"published": PUBLISHED[workload][0]}}
        for policy, sample in tuned.items():
            found[workload].setdefault(policy, {})["in_sample"] = {
                "cost": sample.choice.outcome.cost,
                "search": sample.choice.method,
                "meets": sample.meets,
                "excess": sample.choice.outcome.excess(),
                "others_exceed": sample.others.exceed.share,
                "others_worst": float(sample.others.shares().max()),
            }
    for policy in study.ours["paper"]:
        by_reach = {reach: study.ours[reach][policy].to_json() for reach in REACHES}
        found[study.scale.shown].setdefault(policy, {}).update(
            {
                "ours": by_reach["paper"]["cost"],
                "certificates": by_reach,
                "search": {reach: study.ours[reach][policy].choice.method for reach in REACHES},
                "interval": list(study.ours["paper"][policy].cost_interval),
            }
        )
    found["spread"] = {
        name: {"met": met(by), "hours": {w: [asdict(one) for one in ones] for w, ones in by.items()}}
        for name, by in study.spread.items()
    }
    found["published_w4"] = {
        label: {"cost": o.cost, "error": o.error, "exceed": o.exceed.share, "excess": o.excess()}
        for label, o in study.published_w4.items()
    }
    return found


def _page(study: Study, stated: list[Claim], remarks: list[str], folder: Path) -> Page:
    from wattline.systems.aqa.figures import figures

    items = [
        ("paper", CITATION),
        ("machine", f"{NODES} nodes, {IDLE_W:g} W idle, at most {HIGHEST_W:g} W"),
        (
            "signal",
            f"Gaussian, std 0.40, time constant {TAU_S:g} s (our assumption), every 2 s, energy-neutral by the hour",
        ),
        ("hours", f"{study.scale.fresh_hours} fresh ones for each certificate; intervals clustered by hour"),
    ]
    page = begin_page(TITLE, stated, items, remarks)
    page.add("<h2>The paper's protocol</h2>", _in_sample(study))
    page.add("<h2>AQA's own search, hour by hour</h2>", *spread_tables(study))
    page.add("<h2>The published bid of W4, by every reading</h2>", _published(study))
    caption = (
        f"{WORKLOADS[study.scale.shown].about} jobs. The contest (wattline reproduce contest) compares all fourteen at "
        "equal rates of broken promises."
    )
    fresh = table(FRESH, _certificate_rows(study), text=(0, 1, 2), caption=caption)
    page.add(f"<h2>Fresh hours: {study.scale.shown}</h2>", fresh)
    for heading, drawn in figures(study, folder):
        page.add(f"<h2>{heading}</h2>", *map(page.figure, drawn))
    if study.around:
        differs = table(SENSITIVITY, _sensitivity_rows(study), text=(1, 2))
        page.add("<h2>When the world differs from what the bid was made for</h2>", differs)
        page.add("<h2>Recorded signals</h2>", _recorded(study))
    page.add("<h2>How this was done</h2>", HOW)
    page.add(FOOTER)
    return page


def _certificate_rows(study: Study) -> list[tuple[str, ...]]:
    return [
        (reach, policy, SEARCHES.get(c.choice.method, "our search"), *_row(c), "yes" if c.kept else "no")
        for reach in REACHES
        for policy, c in study.ours[reach].items()
    ]


SEARCHES = {OWN: "its own gradient", OURS: "our search of its weights"}
"""Who found AQA's bid, in words."""


def _spread_rows(study: Study) -> list[tuple[str, ...]]:
    """Return how many workloads meet all constraints on hours of their own, by reading."""
    counts = {name: met(by) for name, by in study.spread.items()}
    return [
        (name, str(len(of)), f"{np.median(of):g}", f"{min(of)}…{max(of)}", _listed(of)) for name, of in counts.items()
    ]


def _workload_rows(study: Study) -> list[tuple[str, ...]]:
    """Return the hours that each workload meets, and the median cost of these, by reading."""
    return [
        (w, f"${PUBLISHED[w][0]:.2f}", *(_hours_met(by[w]) for by in study.spread.values()))
        for w in study.scale.workloads
    ]


def _hours_met(found: list[Found]) -> str:
    costs = [one.cost for one in found if one.meets]
    return f"{len(costs)}/{len(found)}" + (f", ${np.median(costs):.2f}" if costs else "")


def spread_tables(study: Study) -> list[str]:
    """Return both as HTML."""
    most = len(study.scale.workloads)
    caption = f"Workloads of {most} that meet all constraints on the hour on which AQA's own search chose."
    told = "Hours that are met, and their median cost."
    return [
        table(SPREAD, _spread_rows(study), text=(0, 4), caption=caption),
        table(("workload", "published", *study.spread), _workload_rows(study), caption=told),
    ]


def _published_rows(study: Study) -> list[tuple[str, ...]]:
    return [
        (
            label,
            f"{o.error:.1%}",
            f"{o.exceed.share:.1%}",
            f"{o.cost:.3f}",
            f"{o.excess():.1f}",
            f"{o.shares().max():.0%}",
        )
        for label, o in study.published_w4.items()
    ]


def _published(study: Study) -> str:
    caption = "P̄ = 8,434 W, R = 3,435 W, is.D.64 31.3 %, the other weights equal; hours that start empty."
    return table(PUBLISHED_BID, _published_rows(study), text=(0,), caption=caption)


def _listed(counts: list[int]) -> str:
    return " ".join(str(count) for count in sorted(counts))


def _row(c: Certificate) -> tuple[str, ...]:
    outcome, (low, high) = c.outcome, c.cost_interval
    worst = max(c.promises[1:], key=lambda p: p.rate.share / p.limit)
    return (
        f"{c.choice.bid.mean_w:,.0f}",
        f"{c.choice.bid.reserve_w:,.0f}",
        f"{outcome.cost:.3f}",
        f"{low:.3f}…{high:.3f}",
        f"{outcome.error:.1%}",
        f"{outcome.exceed.share:.1%} (≤ {outcome.exceed.high:.1%})",
        f"{worst.about} {worst.rate.share:.1%}",
    )


def _in_sample_rows(study: Study) -> list[tuple[str, ...]]:
    return [
        (
            workload,
            policy,
            SEARCHES.get(sample.choice.method, sample.choice.method),
            f"{sample.choice.outcome.cost:.3f}",
            f"{sample.choice.outcome.exceed.share:.1%}",
            f"{sample.choice.outcome.shares().max():.1%}",
            "yes" if sample.meets else "no",
            f"{sample.others.cost:.3f}",
            f"{sample.others.exceed.share:.1%}",
            f"{sample.others.shares().max():.1%}",
        )
        for workload, policies in study.in_sample.items()
        for policy, sample in policies.items()
    ]


def _in_sample(study: Study) -> str:
    caption = "Tuned and tested on one hour that starts empty; then on others."
    return table(IN_SAMPLE, _in_sample_rows(study), text=(1, 2), caption=caption)


def _sensitivity_rows(study: Study) -> list[tuple[str, ...]]:
    return [
        (
            label,
            *(f"${o.cost:.3f}, ε > 0.3 {o.exceed.share:.1%}, worst kind {o.shares().max():.1%}" for o in by.values()),
        )
        for label, by in study.around["sensitivity"].items()
    ]


def _recorded_rows(study: Study) -> list[tuple[str, ...]]:
    return [
        (signal, policy, *_row(c), f"{c.reach.outside_share:.0%}", "yes" if c.kept else "no")
        for signal, by in study.around["recorded"].items()
        for policy, c in by.items()
    ]


def _recorded(study: Study) -> str:
    if "recorded" not in study.around:
        return "<p>No recorded signals at hand: set WATTLINE_DATA to a folder with regulation/pjm_reg….csv.gz.</p>"
    caption = "Bids made for and tested on hours of the same record, from random places in it: other days are unknown."
    return table(RECORDED, _recorded_rows(study), text=(1, 8), caption=caption)


HOW = """<ul class="counted">
<li>One hour: warm up at least an hour and twice the longest run time; measure the jobs that arrive in the bid hour; run
on until
they have finished. The paper's protocol: an empty machine, and only jobs that finish within the hour.</li>
<li>Arrival rates are λ = ηN/(m T J): utilization counts busy nodes (the printed equation lacks m).</li>
<li>Bids are searched on hours that the certificates never see (of recorded signals: on hours of the same record).
Strict reach keeps the whole target between the machine's idle and
greatest power; the paper's does not, and what cannot be reached counts as tracking error.</li>
<li>Published dollars come from 35 servers whose tracking error was 22–25 %; a simulated cost below them is no evidence
of a better
policy. Policies are compared in one simulator only.</li>
<li>AQA's bid is the better one of two searches: its own gradient, and one of ours for its weights; tables say which.
Both choose on the hours on which Slackline chooses, ours in as many rounds and over the whole range of mean powers, and
the bid is made safe on the same hours as Slackline's.</li>
<li>EnergyQARE's bid has the least QoS degradation and tracking error of a grid (AQA §4.3), or is the cheapest that
meets tracking (thesis §2.5.1: <i>cheapest</i>). Tracking-only takes EnergyQARE's (AQA §4.3), or its own rule of thumb
(thesis).</li>
</ul>"""
