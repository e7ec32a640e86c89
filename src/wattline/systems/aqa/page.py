"""AQA: demand response with quality-of-service assurance; reproduce its study, and hold our own policy beside it.

Y. Zhang, D. C. Wilson, I. Ch. Paschalidis, A. K. Coskun: "HPC Data Center Participation in Demand Response: an Adaptive
Policy with QoS Assurance".
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from wattline.bidding.certificate import Certificate
from wattline.bidding.choice import REACHES
from wattline.report.page import Page, table
from wattline.systems.aqa.claims import claims
from wattline.systems.aqa.run import run_study
from wattline.systems.aqa.study import PUBLISHED, Scale, Study, ratio_of
from wattline.systems.npb import HIGHEST_W, IDLE_W, NODES, WORKLOADS
from wattline.systems.reproduction import FOOTER, SMALLER, Claim, Reproduction, begin_page

NAME = "aqa"
TITLE = "Demand response with QoS assurance"
CITATION = (
    "Y. Zhang, D. C. Wilson, I. Ch. Paschalidis, A. K. Coskun: HPC Data Center Participation in Demand Response: an "
    "Adaptive Policy with QoS Assurance"
)


def reproduce(
    out_dir: Path,
    quick: bool,  # noqa: FBT001  # the one signature of all reproductions
    say: Callable[[str], None],
) -> Reproduction:
    """Run the paper's study and ours; write one page."""
    study = run_study(Scale.quick() if quick else Scale(), say)
    stated = claims(study)
    say("drawing hours and distributions, writing the page")
    remarks = [SMALLER] if quick else []
    path = _page(study, stated, remarks, out_dir / f"{NAME}-hours").write(out_dir / f"{NAME}.html")
    return Reproduction(NAME, TITLE, path, stated, remarks, numbers(study))


def numbers(study: Study) -> dict[str, Any]:
    """Return workload → policy → published, ours, interval (and more) for ``--json``."""
    found: dict[str, Any] = {}
    for workload, reaches in study.ours.items():
        found[workload] = {"ratio": {reach: ratio_of(study, workload, reach) for reach in REACHES}}
        for policy in ("AQA", "Slackline"):
            by_reach = {reach: reaches[reach][policy].to_json() for reach in REACHES}
            entry: dict[str, Any] = {
                "ours": by_reach["paper"]["cost"],
                "certificates": by_reach,
                "interval": list(reaches["paper"][policy].cost_interval),
            }
            if policy == "AQA":
                entry["published"] = PUBLISHED[workload][0]
            found[workload][policy] = entry
        for policy, sample in study.in_sample[workload].items():
            found[workload].setdefault(policy, {})["in_sample"] = {
                "cost": sample.choice.outcome.cost,
                "meets": sample.meets,
                "excess": sample.choice.outcome.excess(),
                "others_exceed": sample.others.exceed.share,
                "others_worst": float(sample.others.shares().max()),
            }
    return found


def _page(study: Study, stated: list[Claim], remarks: list[str], folder: Path) -> Page:
    from wattline.systems.aqa.figures import figures

    items = [
        ("paper", CITATION),
        ("machine", f"{NODES} nodes, {IDLE_W:g} W idle, at most {HIGHEST_W:g} W"),
        ("signal", "Gaussian, std 0.40, time constant 200 s, a value every 2 s, energy-neutral by the hour"),
        ("hours", f"{study.scale.fresh_hours} fresh ones for each certificate; intervals clustered by hour"),
    ]
    page = begin_page(TITLE, stated, items, remarks)
    for reach in REACHES:
        page.add(f"<h2>Fresh hours, {reach} reach</h2>", _certificates(study, reach))
    page.add("<h2>The paper's protocol</h2>", _in_sample(study))
    for heading, drawn in figures(study, folder):
        page.add(f"<h2>{heading}</h2>", *map(page.figure, drawn))
    if study.around:
        page.add("<h2>When the world differs from what the bid was made for</h2>", _sensitivity(study))
        page.add("<h2>Recorded signals</h2>", _recorded(study))
    page.add("<h2>How this was done</h2>", HOW)
    page.add(FOOTER)
    return page


def _certificates(study: Study, reach: str) -> str:
    rows = []
    for workload, reaches in study.ours.items():
        for policy, c in reaches[reach].items():
            rows.append((workload, WORKLOADS[workload].about, policy, *_row(c), "yes" if c.kept else "no"))
    header = ("", "", "policy", "P̄ [W]", "R [W]", "cost [$]", "95 %", "mean ε", "ε > 0.3", "worst kind", "all kept")
    return table(header, rows, text=(1, 2))


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


def _in_sample(study: Study) -> str:
    rows = []
    for workload, policies in study.in_sample.items():
        for policy, sample in policies.items():
            one, others = sample.choice.outcome, sample.others
            rows.append(
                (
                    workload,
                    policy,
                    f"{one.cost:.3f}",
                    f"{one.exceed.share:.1%}",
                    f"{one.shares().max():.1%}",
                    "yes" if sample.meets else "no",
                    f"{others.cost:.3f}",
                    f"{others.exceed.share:.1%}",
                    f"{others.shares().max():.1%}",
                )
            )
    header = ("", "policy", "cost [$]", "ε > 0.3", "worst kind", "meets all", "others: cost", "ε > 0.3", "worst kind")
    return table(header, rows, text=(1,), caption="Tuned and tested on one hour that starts empty; then on others.")


def _sensitivity(study: Study) -> str:
    rows = [
        (
            label,
            *(f"${o.cost:.3f}, ε > 0.3 {o.exceed.share:.1%}, worst kind {o.shares().max():.1%}" for o in by.values()),
        )
        for label, by in study.around["sensitivity"].items()
    ]
    return table(("W4", "AQA", "Slackline"), rows, text=(1, 2))


def _recorded(study: Study) -> str:
    if "recorded" not in study.around:
        return "<p>No recorded signals at hand: set WATTLINE_DATA to a folder with regulation/pjm_reg….csv.gz.</p>"
    rows = [
        (signal, policy, *_row(c), f"{c.reach.outside_share:.0%}", "yes" if c.kept else "no")
        for signal, by in study.around["recorded"].items()
        for policy, c in by.items()
    ]
    header = (
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
    return table(
        header,
        rows,
        text=(1, 8),
        caption="Bids made for and tested on hours of the same record, from random places in it: other days are "
        "unknown.",
    )


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
</ul>"""
