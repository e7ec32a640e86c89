"""A plan in plain words: the verdict, what it rests on, what would turn it, and all of it as data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from wattline.market.break_even import (
    EVEN,
    STEP,
    TITLES,
    BreakEven,
    break_even,
    higher,
    price_of,
    sensitivities,
    speedup,
)
from wattline.market.overprovisioning import Application, Line, Measured, Plan, solve
from wattline.report.show import number, plural
from wattline.units import show_power

LARGE_W = 1e6
"""From here on powers are written with three digits."""
MOST_SPANS = 6
"""More spans than this are counted, not told one by one."""
CLOSE = 0.03
"""Differences below this share are within what such a model can tell."""


@dataclass(frozen=True)
class Answered:
    """A plan with its break-even points, its sensitivities, and the same plan under the other reading of "faster"."""

    plan: Plan
    even: BreakEven
    tenth: dict[str, tuple[float, float]]
    other: Plan | None
    """None: nothing can be so much faster under that reading."""
    applications: tuple[Application, ...]


def answer(question: Any, applications: Sequence[Application]) -> Answered:
    """Solve a question, and find what would turn the answer."""
    plan = solve(question, applications)
    reading = "speed" if question.reading == "time" else "time"
    other = replace(question, reading=reading) if reading == "speed" or question.faster < 1 else None
    return Answered(
        plan,
        break_even(question, applications),
        sensitivities(question, applications),
        None if other is None else solve(other, applications),
        tuple(applications),
    )


def verdict(found: Answered) -> list[str]:
    """Return what to buy and why, then what would change the advice."""
    return [_advice(found), *_applications(found), *_reasons(found), *_turns(found)]


def _advice(found: Answered) -> str:
    plan = found.plan
    gain = plan.speedup - 1
    each_w = plan.question.power_w / plan.nodes
    share = each_w / plan.question.node_max_w
    older = (
        f"{plan.nodes:,} older nodes that share {watts(plan.question.power_w)} ({each_w:.0f} W each, {share:.0%} "
        "of what a high-end one may draw)"
    )
    high = f"{plan.worst_case_nodes:,} high-end nodes of {plan.question.node_max_w:.0f} W"
    if abs(gain) < CLOSE:
        return f"A draw: {older} and {high} are equally fast for the same money ({gain:+.1%})."
    if gain > 0:
        return f"Buy {older}: {_faster(gain)} than {high} for the same money."
    return f"Buy {high}: {_faster(1 / plan.speedup - 1)} than {older} for the same money."


def watts(power_w: float) -> str:
    """Return a power to the watt, large ones with a prefix.

    >>> watts(7000.0), watts(2e7)
    ('7,000 W', '20 MW')
    """
    return f"{power_w:,.0f} W" if power_w < LARGE_W else show_power(power_w)


def _faster(gain: float) -> str:
    return f"{gain:.0%} faster"


def _applications(found: Answered) -> list[str]:
    """Name those that win and lose, where they differ."""
    by = {True: [], False: []}  # type: dict[bool, list[str]]
    for outcome in found.plan.outcomes:
        by[outcome.speedup >= 1 - EVEN].append(f"{outcome.name} ({outcome.speedup - 1:+.0%})")
    if len(found.plan.outcomes) < 2 or not by[True] or not by[False]:
        return []
    return [f"More nodes are as fast or faster for {', '.join(by[True])}, slower for {', '.join(by[False])}."]


def _reasons(found: Answered) -> list[str]:
    plan = found.plan
    if plan.limited_by == "power":
        left = plan.affordable_nodes - plan.nodes
        told = (
            f"Power is the limit: the money would buy {plan.affordable_nodes:,} older nodes, but only "
            f"{plan.node_limit:,} can be kept "
            f"on at {plan.question.node_min_w:.0f} W; the price of {left:,} is left over."
        )
        return [told]
    return [
        (
            f"Money is the limit: power would keep {plan.node_limit:,} older nodes on, the money buys "
            f"{plan.affordable_nodes:,}."
        )
    ]


def _turns(found: Answered) -> list[str]:
    even, plan = found.even, found.plan
    said = []
    said.append(_nodes(found))
    if even.faster is None or even.faster < 0.005:
        said.append("Even against high-end nodes that are no faster, more nodes do not win.")
    else:
        said.append(
            f"More nodes win while a high-end node is less than {even.faster:.0%} faster (here "
            f"{plan.question.faster:.0%})."
        )
    said.append(_powers(found))
    said.append(_other(found))
    telling = next(iter(found.tenth))
    low, high = found.tenth[telling]
    most = higher(plan.question, "faster", plan.question.faster)
    within = telling == "faster" and most < plan.question.faster * (1 + STEP)
    more = f"{most:.1%} (a tenth more would take no time)" if within else "a tenth more"
    said.append(
        f"Most depends on the {TITLES[telling]}: a tenth less gives a ratio of {number(low)}, {more} "
        f"{number(high)} (now {number(plan.speedup)})."
    )
    return [*said, *(told for a in found.applications for told in _law(a, max(plan.nodes, plan.worst_case_nodes)))]


def _law(application: Application, nodes: int) -> list[str]:
    """Say where an application's law ends before the machine does, or never ends."""
    law, name = application.law, application.name
    if isinstance(law, Measured):
        last = int(law.table.nodes.max())
        return (
            [f"{name}: measured up to {last} nodes only; the others are taken to gain nothing."] if last < nodes else []
        )
    if not isinstance(law, Line):
        return []
    if law.most_nodes and law.most_nodes < nodes:
        return [f"{name}: its line holds up to {law.most_nodes} nodes; the others are taken to gain nothing."]
    if not law.most_nodes and law.slope_s < 0:
        end = -law.intercept_s / law.slope_s
        return [f"{name}: its line is taken to go on without end; it would reach zero at {end:,.0f} nodes."]
    return []


def _powers(found: Answered) -> str:
    spans = found.even.powers_w
    top = 2 * found.plan.question.power_w
    unknown = found.even.unknown_w
    top = min(top, unknown or top)
    ends = f" From {watts(unknown)} on a law has no answer (a line is at zero)." if unknown is not None else ""
    if not spans:
        return f"At no power budget up to {watts(top)} do more nodes win or draw.{ends}"
    spans = tuple((a, b) for a, b in spans if a < top)
    about = "" if found.even.powers_exact else ", looked at in steps"
    words = [f"from {watts(a)} on" if b >= top else f"{watts(a)} to {watts(b)}" for a, b in spans]
    if len(spans) > MOST_SPANS:
        longest = max(range(len(spans)), key=lambda i: spans[i][1] - spans[i][0])
        words = [
            f"{len(spans)} spans from {watts(spans[0][0])} on (whole nodes make steps), the longest {words[longest]}"
        ]
    return f"Power budgets at which more nodes win or draw, up to {watts(top)}{about}: {', '.join(words)}.{ends}"


def _nodes(found: Answered) -> str:
    """Say which numbers of older nodes break even, and with one range which cost ratios and prices buy them."""
    even, plan = found.even, found.plan
    worst, here = plan.worst_case_nodes, plan.question.cost_ratio or plan.effective_ratio
    if not even.node_ranges:
        return "No number of older nodes that the power keeps on breaks even."
    if len(even.node_ranges) > 1:
        words = [f"{a:,}" if a == b else f"{a:,} to {b:,}" for a, b in even.node_ranges]
        if len(words) > MOST_SPANS:
            words = [f"{len(words)} ranges between {even.node_ranges[0][0]:,} and {even.node_ranges[-1][1]:,}"]
        return f"It breaks even with {', '.join(words)} older nodes only (here {plan.nodes:,})."
    least, most = even.node_ranges[0]
    ends = most < plan.node_limit
    ratios, prices = [], []
    if least > 1 or not ends:
        ratios.append(f"of {math.ceil(100 * least / worst - 1e-9) / 100:.2f} or more")
        if even.older_price is not None:
            prices.append(f"at ${math.floor(even.older_price + 1e-9):,} or less")
    if ends:
        ratios.append(f"below {math.floor(100 * (most + 1) / worst + 1e-9) / 100:.2f}")
        dearer = price_of(plan.question, most + 1)
        if dearer is not None:
            prices.append(f"above ${math.ceil(dearer - 1e-9):,}")
    price = f", a node {' and '.join(prices)}" if prices else ""
    if not ends:
        nodes = f"from {plural(least, 'older node')} on"
    else:
        nodes = (
            f"up to {plural(most, 'older node')} only" if least == 1 else f"with {least:,} to {most:,} older nodes only"
        )
    if ends and math.isnan(speedup(plan.question, found.applications, most + 1)):
        nodes = f"with {least:,} to {most:,} older nodes (of more a law has no answer)"
    return f"It breaks even {nodes}: a cost ratio {' and '.join(ratios)}{price} (here {here:.2f})."


def _other(found: Answered) -> str:
    if found.other is None:
        return f'"{found.plan.question.faster:.0%} faster" can only mean more speed: nothing takes less than no time.'
    mine, other = found.plan.speedup, found.other.speedup
    turned = (mine >= 1 - EVEN) != (other >= 1 - EVEN)
    how = "more speed" if found.plan.question.reading == "time" else "less time"
    tail = "which turns the verdict" if turned else "the verdict stays"
    return (
        f'If "{found.plan.question.faster:.0%} faster" means {how}, the ratio is {number(other)} instead of '
        f"{number(mine)}: {tail}."
    )


def plan_facts(found: Answered) -> dict[str, Any]:
    """Return the whole answer, ready for JSON."""
    plan, even = found.plan, found.even
    bills = plan.question.bills(plan.nodes)
    return {
        "verdict": verdict(found),
        "speedup": plan.speedup,
        "n_wc": plan.worst_case_nodes,
        "n_lim": plan.node_limit,
        "c_wc": plan.cost_units if plan.question.cost_ratio is not None else None,
        "affordable": plan.affordable_nodes,
        "n_ovp": plan.nodes,
        "limited_by": plan.limited_by,
        "effective_cost_ratio": plan.effective_ratio,
        "power_per_node_w": plan.question.power_w / plan.nodes,
        "applications": [
            {
                "name": o.name,
                "weight": o.weight,
                "t_wc_s": o.worst_case_s,
                "t_ovp_s": o.overprovisioned_s,
                "s_ovp": o.speedup,
            }
            for o in plan.outcomes
        ],
        "break_even": {**asdict(even), "powers_w": [list(span) for span in even.powers_w]},
        "other_reading": None
        if found.other is None
        else {"reading": found.other.question.reading, "speedup": found.other.speedup},
        "sensitivities": {name: [None if math.isnan(v) else v for v in pair] for name, pair in found.tenth.items()},
        "bills": None
        if bills is None
        else {
            name: {**asdict(b), "purchase": b.purchase, "total": b.total}
            for name, b in zip(("high_end", "older"), bills, strict=True)
        },
    }
