"""The figures of the AQA paper, under its protocol and beside it under ours: hours, distributions, weights, the
theory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from wattline.bidding.choose import untried
from wattline.bidding.hours.observed import Observed, observe
from wattline.bidding.hours.setting import Setting
from wattline.bidding.searches.choice import PAPER, Choice
from wattline.bidding.searches.qosg import first_bid
from wattline.bidding.tails import delay_tails
from wattline.model.kinds import Kind
from wattline.model.regulation import Bid
from wattline.report.figures.bid import draw_tails, draw_weights
from wattline.report.figures.shares import Curve, Service, draw_error_shares, draw_services
from wattline.report.figures.style import BLUE, GREY, TEAL, Drawn, new_figure
from wattline.systems.aqa.around import large_setting, preemption_case, standby_case
from wattline.systems.aqa.study import (
    AROUND_SEED,
    OTHER_SEEDS,
    PUBLISHED,
    Study,
    setting_of,
)
from wattline.systems.followers import AQA, ENERGYQARE, SLACKLINE, TRACKING_ONLY, Follower
from wattline.systems.hours import draw_hour
from wattline.systems.npb import kinds_of
from wattline.systems.tuned import HOUR_SEED, Tuned

PUBLISHED_POLICIES = (AQA, ENERGYQARE, TRACKING_ONLY)
HOURS = 8
"""Hours over which distributions are pooled; for tails, which live of rare jobs, a fifth of those of a certificate."""


def figures(study: Study, folder: Path) -> Iterator[tuple[str, list[Drawn]]]:
    """Yield the figures in sections with headings; journals of the hours that are shown go into the folder."""
    shown = study.scale.shown
    yield "Costs", [draw_costs(study)]
    yield (
        f"The paper's protocol: {shown} on the hour everything was tuned on",
        [
            draw_tuned(study, shown, AQA, "Fig. 6", folder),
            draw_tuned(study, shown, ENERGYQARE, "Fig. 14", folder),
            draw_errors(study, shown),
            draw_qos(study, shown),
            *draw_search(study, shown),
            *draw_levels(study),
            *draw_full(study),
        ],
    )
    yield "Standby jobs and preemption", [*draw_standby(folder), *draw_preemption(folder)]
    yield (
        "Our protocol: fresh hours, warmed up",
        [
            draw_fresh(study, shown, SLACKLINE, folder),
            draw_fresh_errors(study, shown),
            *draw_large(study, folder),
        ],
    )
    yield "Delays, and what the theory says of them", draw_theory(study, shown)


# ------------------------------------------------------------------ the paper's protocol


def draw_tuned(study: Study, workload: str, policy: Follower, number: str, folder: Path) -> Drawn:
    """Draw the hour on which a policy was tuned, which starts empty."""
    setting = setting_of(workload, policy, paper=True)
    choice = study.in_sample[workload][policy.name].choice
    title = f"{number}: {policy.name} on {workload}"
    return draw_hour(folder / _slug(number), setting, HOUR_SEED, choice, title)


def draw_errors(study: Study, workload: str) -> Drawn:
    """Draw the tracking error of the three policies on the hour they were tuned on, and on others (Fig. 7, left)."""
    curves = {}
    for policy in PUBLISHED_POLICIES:
        setting, tuned = setting_of(workload, policy, paper=True), study.in_sample[workload][policy.name]
        for name, seeds, dash in (("", [HOUR_SEED], "solid"), (", other hours", OTHER_SEEDS[:HOURS], "dot")):
            found = _observe(setting, seeds, tuned.choice)
            curves[policy.name + name] = Curve(found.seconds, found.error, policy.name, dash)
    return draw_error_shares(
        curves,
        f"Fig. 7: tracking error on {workload}",
        f"Solid: the hour everything was tuned on. Dotted: {HOURS} others with the same bids. Curves must pass above "
        "the corner.",
    )


def draw_qos(study: Study, workload: str) -> Drawn:
    """Draw the QoS degradation of every kind under the three policies (Fig. 7, right, and Fig. 15)."""
    seen = {
        policy.name: _tuned(setting_of(workload, policy, paper=True), study.in_sample[workload][policy.name])
        for policy in PUBLISHED_POLICIES
    }
    kinds = setting_of(workload, AQA).kinds
    return draw_services(
        _services(kinds, seen),
        f"Figs. 7 and 15: QoS degradation on {workload}",
        "Jobs that finish within the hour everything was tuned on. A curve must pass above the corner of its limit "
        "and 90 %.",
    )


def draw_search(study: Study, workload: str) -> list[Drawn]:
    """Draw how AQA's weights move over the steps of its search on the one hour (Fig. 8)."""
    choice = study.in_sample[workload]["AQA"].choice
    names = [kind.name for kind in choice.outcome.kinds]
    drawn = draw_weights(names, choice.history, choice.bid, f"Fig. 8: weights over the iterations, {workload}")
    return [] if drawn is None else [drawn]


def draw_levels(study: Study) -> list[Drawn]:
    """Draw is.D.64 under medium and halved limits (Fig. 12)."""
    if not study.tight:
        return []
    services = []
    for label, policies in (("medium", study.in_sample["W4"]), ("tight", study.tight)):
        kinds = policies["AQA"].choice.outcome.kinds
        seen = {
            policy.name: _tuned(setting_of("W4", policy, paper=True, kinds=kinds), policies[policy.name])
            for policy in (AQA, ENERGYQARE)
        }
        kind = next(kind for kind in kinds if kind.name == "is.D.64")
        services += [one._replace(kind=f"{label}: {one.kind}") for one in _services([kind], seen)]
    return [
        draw_services(services, "Fig. 12: W4 with medium and tight limits", "Tight limits are half of the medium ones.")
    ]


def draw_full(study: Study) -> list[Drawn]:
    """Draw ep.D.100 and mg.D.8 of W13, where 90 % of the nodes are busy, under AQA and EnergyQARE (Fig. 9)."""
    if "W13" not in study.in_sample:
        return []
    seen = {
        policy.name: _tuned(setting_of("W13", policy, paper=True), study.in_sample["W13"][policy.name])
        for policy in (AQA, ENERGYQARE)
    }
    names = [kind.name for kind in kinds_of("W13")]
    kinds = [kinds_of("W13")[names.index(name)] for name in ("ep.D.100", "mg.D.8")]
    weights = study.in_sample["W13"]["AQA"].choice.weights
    told = (
        ""
        if weights is None
        else " AQA's weights: "
        + ", ".join(f"{kind.name} {weights[names.index(kind.name)]:.1%}" for kind in kinds)
        + " (published: 38.8 % and 4.2 %)."
    )
    return [draw_services(_services(kinds, seen), "Fig. 9: QoS degradation on W13", f"The hour of the search.{told}")]


# ------------------------------------------------------------------ standby jobs, preemption, size, our protocol


def draw_standby(folder: Path) -> list[Drawn]:
    """Draw an hour of W3 without and with standby jobs, under one bid (Fig. 10)."""
    bid, settings = standby_case()
    return _pair(folder, "Fig. 10", "AQA on W3, {} standby jobs", settings, bid)


def draw_preemption(folder: Path) -> list[Drawn]:
    """Draw an hour of W5 without and with preemption, under one bid (Fig. 11)."""
    bid, settings = preemption_case()
    return _pair(folder, "Fig. 11", "AQA on W5, {} preemption", settings, bid)


def _pair(folder: Path, number: str, about: str, settings: Mapping[str, Setting], bid: Bid) -> list[Drawn]:
    found = []
    for letter, (label, setting) in zip("ab", settings.items(), strict=True):
        title = f"{number}({letter}): {about.format(label)}"
        choice = untried(setting, "given", bid)
        found.append(draw_hour(folder / f"{_slug(number)}{letter}", setting, AROUND_SEED, choice, title))
    return found


def draw_fresh(study: Study, workload: str, policy: Follower, folder: Path) -> Drawn:
    """Draw an hour of a certificate."""
    choice = study.ours[PAPER][policy.name].choice
    title = f"{policy.name} on {workload}"
    return draw_hour(folder / f"fresh-{policy.select}", setting_of(workload, policy), 0, choice, title)


def draw_fresh_errors(study: Study, workload: str) -> Drawn:
    """Draw the tracking error of AQA and Slackline on some hours of their certificates."""
    curves = {}
    for policy in (AQA, SLACKLINE):
        found = _observe(setting_of(workload, policy), range(HOURS), study.ours[PAPER][policy.name].choice)
        curves[policy.name] = Curve(found.seconds, found.error)
    caption = f"{HOURS} fresh hours each; the bid of each policy under the paper's reach."
    return draw_error_shares(curves, f"Tracking error on {workload}, fresh hours", caption)


def draw_large(study: Study, folder: Path) -> list[Drawn]:
    """Draw a fresh hour of 10,000 nodes under AQA (Fig. 13)."""
    if "large" not in study.around:
        return []
    choice = study.around["large"]["AQA"].choice
    title = "Fig. 13: AQA on 10,000 nodes, W1 with sizes × 100"
    return [draw_hour(folder / "fig-13", large_setting(AQA), 0, choice, title)]


# ------------------------------------------------------------------ theory, costs


def draw_theory(study: Study, workload: str) -> list[Drawn]:
    """Draw simulated delays beside predicted ones: at AQA's bid, and where every share carries its load."""
    setting = setting_of(workload, AQA)
    choice = study.ours[PAPER]["AQA"].choice
    roomy = first_bid(setting, PAPER)
    hours = study.scale.fresh_hours // 5
    found = []
    for label, bid, weights in (
        ("at AQA's bid and weights", choice.bid, choice.weights),
        ("with power to spare", roomy, None),
    ):
        tails = delay_tails(setting, observe(setting, range(hours), bid, weights), bid, weights)
        equal = " (equal weights)" if weights is None else ""
        about = f"{hours} fresh hours; P̄ = {bid.mean_w:,.0f} W, R = {bid.reserve_w:,.0f} W{equal}."
        found.append(draw_tails(tails, f"Delays on {workload} {label}", about))
    return found


def draw_costs(study: Study) -> Drawn:
    """Draw what AQA costs on all workloads beside what the paper prints: on its one hour, and on many by its own
    search.
    """
    names = list(study.in_sample)
    figure = new_figure(340)
    published = [PUBLISHED[w][0] for w in names]
    figure.add_bar(x=names, y=published, name="published AQA (hardware)", marker={"color": GREY})
    tuned = [study.in_sample[w]["AQA"].choice.outcome.cost for w in names]
    figure.add_bar(x=names, y=tuned, name="on the hour it is tuned on", marker={"color": BLUE})
    found = {w: [one.cost for one in study.spread["nearest"][w] if one.meets] for w in names}
    met = {w: costs for w, costs in found.items() if costs}
    middle = {w: float(np.median(costs)) for w, costs in met.items()}
    figure.add_bar(
        x=list(met),
        y=list(middle.values()),
        name="by its own search, on hours that it meets",
        marker={"color": TEAL},
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [max(costs) - middle[w] for w, costs in met.items()],
            "arrayminus": [middle[w] - min(costs) for w, costs in met.items()],
            "visible": True,
        },
    )
    figure.update_yaxes(title_text="$ per hour")
    figure.update_layout(showlegend=True, barmode="group")
    counts = ", ".join(f"{w} {len(costs)}" for w, costs in found.items())
    hours = study.scale.spread_hours
    caption = f"Median and range of its own search, shares rounded to the nearest; hours met of {hours}: {counts}."
    return Drawn(figure, "Cost of an hour", caption)


def _observe(setting: Setting, seeds: Sequence[int], choice: Choice) -> Observed:
    return observe(setting, seeds, choice.bid, choice.weights, choice.params)


def _tuned(setting: Setting, tuned: Tuned) -> Observed:
    return _observe(setting, [HOUR_SEED], tuned.choice)


def _services(kinds: Sequence[Kind], seen: Mapping[str, Observed]) -> list[Service]:
    return [
        Service(kind.name, kind.limit, kind.share, {policy: found.of(kind.name) for policy, found in seen.items()})
        for kind in kinds
    ]


def _slug(number: str) -> str:
    return number.lower().replace(". ", "-")
