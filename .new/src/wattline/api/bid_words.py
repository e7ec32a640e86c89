"""What is said of a tested bid: what it is, what it costs, certified or not and why, in the same words on terminal,
page, in notebooks and files.
"""

from __future__ import annotations

import math
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from wattline.units import in_full

if TYPE_CHECKING:
    from wattline.bidding.across import Margin
    from wattline.bidding.certificate import Certificate
    from wattline.bidding.hours.setting import Setting
    from wattline.bidding.searches.choice import Choice
    from wattline.scenario import Document

WIDTH = 80


def verdict_lines(setting: Setting, found: Certificate) -> list[str]:
    """Say whether the bid is certified; otherwise what is not kept, by how much, and why as far as that can be told."""
    from wattline.report.show import printable, show

    lines = [found.verdict, *([f"  {found.basis}"] if found.certified else [])]
    for doubt in found.evidence.doubts:
        lines += wrap(f"DOUBT: {printable(doubt)}", WIDTH, initial_indent="  ", subsequent_indent="    ")
    if found.choice.bid.reserve_w == 0:
        told = "nothing is offered (R = 0): no tracking error is defined, and what is said of tracking tells nothing"
        lines += wrap(told, WIDTH, initial_indent="  ", subsequent_indent="    ")
    if found.kept:
        return lines
    limits = {kind.name: kind.limit for kind in found.outcome.kinds}
    for promise in (p for p in found.promises if not p.kept):
        rate, name = promise.rate, promise.about
        what = f"of its jobs reach Q ≥ {in_full(limits[name])}" if name in limits else "of the time"
        allowed = f"{promise.limit:.0%} allowed".replace("%", " %")
        lines.append(f"  {promise.state}: {printable(name)}: {percent(rate.share)} {what}, {allowed}")
        if promise.state == "UNSURE" and promise.by_day:
            lines.append(f"    on the next day it may be {percent(rate.next_high)}: offer less, or record more days")
        elif promise.state == "UNSURE":
            lines.append(f"    in the long run it may be {percent(rate.high)}: more hours tell")
    needed_w = setting.idle_total_w + setting.load_w(capped=True)
    if found.choice.bid.mean_w < needed_w:
        lines.append(f"  the jobs need {show(needed_w, 'W')} even at their lowest caps: raise the mean power")
    return lines


def percent(share: float) -> str:
    """Return a share with two digits."""
    return "–" if math.isnan(share) else f"{100 * share:.2f} %"


def mode(document: Document) -> str:
    """Return what a bid may ask of the cluster."""
    market = document.spec.regulation
    return "paper" if market is None else market.reach


def title(document: Document, setting: Setting, choice: Choice) -> str:
    """Return what was chosen by which method for which policy and machine."""
    return f"{document.spec.name}: {choice.method} with {setting.name} on {setting.nodes:,} nodes"


def facts(document: Document, setting: Setting, found: Certificate) -> list[tuple[str, str]]:
    """Return the bid and the policy's parameters, as names and texts."""
    from wattline.report.show import show

    choice = found.choice
    return [
        ("mean power", f"P̄ = {show(choice.bid.mean_w, 'W')}"),
        ("reserve", f"R = {show(choice.bid.reserve_w, 'W')}{_by_hour(setting, choice)}, reach {mode(document)}"),
        *(_weights(setting, choice) if choice.weights is not None else ()),
        *_parameters(setting, choice),
        *((("signal", setting.taken.removeprefix("signal: ")),) if setting.taken else ()),
        *((("late", f"the machine: {setting.late.words()}"),) if setting.late.words() else ()),
        *_tested(document, found),
    ]


def _by_hour(setting: Setting, choice: Choice) -> str:
    """Return how the reserve follows a day's budget, where a policy makes the bids."""
    values = (choice.params or {}).get("bid")
    if values is None:
        return ""
    named = dict(zip(setting.policies.bid.params, values, strict=True))
    return f" at the aim, by the hour what is left of {percent(named['aim'])} of a day"


def _tested(document: Document, found: Certificate) -> list[tuple[str, str]]:
    """Return what the certificate rests on."""
    from wattline.bidding.evidence import HOW

    evidence, outcome = found.evidence, found.outcome
    model, assumption = evidence.model
    hours = f"{len(outcome.hours)} {document.spec.bid.protocol} hours"
    if evidence.days:
        hours = f"{evidence.days} recorded day{'s' if evidence.days > 1 else ''}, {hours}"
    gone = outcome.left_out
    left = f"; {gone} hour{'s' if gone > 1 else ''} with missing signal do not count" if gone else ""
    return [("tested on", f"{hours}: {HOW[evidence.how]}{left}"), ("model", f"{model}. {assumption}")]


def _weights(setting: Setting, choice: Choice) -> list[tuple[str, str]]:
    weights = choice.weights
    assert weights is not None  # noqa: S101 - the caller knows
    named = [f"{kind.name} {w:.3f}" for kind, w in zip(setting.kinds, weights, strict=True) if not kind.standby]
    return [("weights", ", ".join(named))]


def _parameters(setting: Setting, choice: Choice) -> list[tuple[str, str]]:
    rows = []
    policies = setting.policies
    for m in (policies.select, policies.cap, *((policies.bid,) if "bid" in (choice.params or {}) else ())):
        chosen = (choice.params or {}).get(m.slot) or m.values(policies.params.get(m.slot, {}))
        named = ", ".join(f"{name} {in_full(value)}" for name, value in zip(m.params, chosen, strict=False))
        if named:
            rows.append((m.name, named))
    return rows


def amount(dollars: float, digits: int = 4) -> str:
    """Return an amount of money to so many digits, large ones in full."""
    from wattline.report.show import number

    return f"${number(dollars, digits)}"


def money(found: Certificate) -> list[tuple[str, str]]:
    """Return what the bid costs and how well it is kept, as names and texts."""
    from wattline.bidding.evidence import LEFT_OUT
    from wattline.report.show import number, show

    data = found.to_json()
    cost, drawn, given = data["cost"], data["without_drawn"], data["without_bid"]
    broken, alone = percent(data["hours_beyond_tracking"]), percent(data["unreachable_exceed"])
    days = "" if math.isnan(data["days_beyond_tracking"]) else f"{percent(data['days_beyond_tracking'])} of days and "
    half = 0.5 * (data["cost_high"] - data["cost_low"])
    spread = f"hours differ by {number(data['cost_sd'], 2)} (1 sd)"
    told = (
        f"{amount(cost)} an hour ± {number(half, 2)} (95 %); {spread}"
        if math.isfinite(half)
        else f"{amount(cost)} an hour; {spread}"
    )
    rows = [("cost", told)]
    if found.evidence.how == LEFT_OUT:
        own, reserves = found.choice.outcome.cost, [day.reserve_w for day in found.evidence.table]
        rows = [("cost", f"{amount(own)} an hour for this bid, on all the days"), ("left out", told)]
        rows += [("", f"the bids tested had R = {show(min(reserves), 'W')} to {show(max(reserves), 'W')}")]
    tracking = f"error {percent(data['error'])} of R on average; {days}{broken} of hours break the limit"
    if found.choice.bid.reserve_w == 0:
        tracking = "no error is defined: nothing is offered (R = 0)"
    rows += [
        ("without it", f"{amount(drawn)} for the power that was drawn: {_less(cost, drawn)}"),
        ("", f"{amount(given)} for the mean power that was bid: {_less(cost, given)}"),
        ("tracking", tracking),
        (
            "out of reach",
            f"{percent(data['unreachable_share'])} of the signal, which alone exceeds 30 % for {alone} of time",
        ),
    ]
    if data["standby_share"]:
        rows.append(("standby", f"{percent(data['standby_share'])} of the jobs' energy"))
    return [*rows, ("limits R", found.limits)]


def margin(found: Margin | None, choice: Choice) -> list[tuple[str, str]]:
    """Return what the margin costs, as names and texts."""
    from wattline.report.show import show

    if found is None:
        return []
    if not choice.feasible:
        return [("margin", "none: no bid that was tried is sure of the next day, on these days")]
    plain = f"{amount(found.plain_cost)} an hour at R = {show(found.plain_reserve_w, 'W')}"
    rows = [("margin", f"costs {100 * found.part:+.1f} %: without it {plain}, no day being sure")]
    if saved := _saved(found):
        rows.append(("", f"more days like these would save {', '.join(saved)}"))
    return rows


def _saved(found: Margin) -> list[str]:
    """Return what more days would save, each part once: with the fewest days that save it."""
    parts: dict[str, list[int]] = {}
    for days, cost in sorted(found.more):
        if cost < found.cost:
            parts.setdefault(f"{100 * (1 - cost / found.cost):.1f} %", []).append(days)
    return [f"{part} with {days[0]}{' or more' if len(days) > 1 else ''} days" for part, days in parts.items()]


def _less(cost: float, without: float) -> str:
    if not without > 0:
        return "–"
    part = 100 * (1 - cost / without)
    return f"{abs(part):.1f} % {'less' if part >= 0 else 'more'} with it"


def promises(found: Certificate) -> Any:
    """Return the constraints as a table for a terminal."""
    from rich.table import Table
    from rich.text import Text

    from wattline.report.show import printable

    table = Table(box=None, pad_edge=False, header_style="bold", width=WIDTH)
    table.add_column("constraint", style="cyan", overflow="fold")
    for name in ("allowed", "found", f"{in_full(100 * found.confidence)} % interval", "of"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", width=8, no_wrap=True)
    limits = {kind.name: kind.limit for kind in found.outcome.kinds}
    for i, promise in enumerate(found.promises):
        about = f"{promise.about}, Q ≥ {in_full(limits[promise.about])}" if i else "tracking, ε > 30 %"
        about = f"next day: {about}" if promise.by_day else about
        rate = promise.rate
        count = f"{rate.count:,} {'hours' if i == 0 else 'jobs'}"
        low, high = (rate.next_low, rate.next_high) if promise.by_day else (rate.low, rate.high)
        state = Text(promise.state, "green" if promise.kept else "bold red")
        table.add_row(
            Text(printable(about)),
            percent(promise.limit),
            percent(rate.share),
            f"{percent(low)} – {percent(high)}",
            count,
            state,
        )
    return table


def days(found: Certificate) -> Any:
    """Return the recorded days as a table for a terminal: the bid that each was tried under, and what it came to.

    Service is that of the kind that came closest to its limit, in parts of that limit.
    """
    from rich.table import Table
    from rich.text import Text

    from wattline.report.show import printable, show

    rows = found.evidence.table
    compared = any(not math.isnan(day.plain_cost) for day in rows)
    narrow = (0, 1, 0, 0) if compared else (0, 1)
    table = Table(box=None, pad_edge=False, padding=narrow, header_style="bold", width=WIDTH)
    table.add_column("left out", style="cyan", overflow="fold")
    heads = ["P̄", "R", "hours", "ε > 30 %", "service", "cost", *(["no margin", "cost"] if compared else []), ""]
    for name in heads:
        table.add_column(name, justify="right", no_wrap=True)
    for day in rows:
        plain = [percent(day.plain_exceed), amount(day.plain_cost, 3)] if compared else []
        state = Text("kept" if day.kept else "BROKEN", "green" if day.kept else "bold red")
        table.add_row(
            Text(printable(day.name)),
            show(day.mean_w, "W"),
            show(day.reserve_w, "W"),
            str(day.hours - day.left_out),
            percent(day.exceed),
            f"{day.worst_service:.2f} ×",
            amount(day.cost, 3),
            *plain,
            state,
        )
    return table


def table(rows: list[tuple[str, str]]) -> Any:
    """Return names and texts as a table for a terminal."""
    from rich.table import Table
    from rich.text import Text

    made = Table(show_header=False, box=None, pad_edge=False, width=WIDTH)
    made.add_column(style="cyan", no_wrap=True, width=13)
    made.add_column(overflow="fold", ratio=1)
    for name, text in rows:
        made.add_row(name, Text(text))
    return made
