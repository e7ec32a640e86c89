"""The page of a bid: its certificate, how errors and delays are distributed, and where its weights come from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from wattline.api.bid_words import amount, percent, verdict_lines
from wattline.errors import InputError
from wattline.units import in_full

if TYPE_CHECKING:
    from wattline.bidding.certificate import Certificate
    from wattline.bidding.hours.observed import Observed
    from wattline.bidding.hours.setting import Setting
    from wattline.report.figures.style import Drawn
    from wattline.report.page import Page

HOURS = 24
"""Fresh hours whose distributions are drawn."""

DAYS = 2
"""Recorded days whose distributions are drawn."""


def write_page(path: Path, title: str, setting: Setting, found: Certificate, told: Sequence[tuple[str, str]]) -> Path:
    """Write the page of a certificate; ``told`` are names and values that stand in its head."""
    from wattline.bidding.hours.observed import observe, observe_days
    from wattline.report.page import Page, facts

    choice = found.choice
    tried = choice.bid, choice.weights, choice.params
    if setting.records:
        seen = observe_days(setting, setting.records[:DAYS], *tried)
    else:
        seen = observe(setting, [hour.seed for hour in found.outcome.hours[:HOURS]], *tried)
    page = Page(f"{title} – Wattline bid")
    style = "sub" if found.certified else "sub warn"
    verdict = "".join(f'<p class="{style}">{escape(line)}</p>' for line in verdict_lines(setting, found))
    page.add(
        f'<header><p class="kicker">Wattline bid</p><h1>{escape(title)}</h1>{verdict}{facts(told)}</header>',
        "<h2>Certificate</h2>",
        promise_table(found),
        day_table(found),
        "<h2>Figures</h2>",
        *map(page.figure, figures(setting, found, seen)),
        _theory(page, setting, found, seen),
        "<footer>Made by Wattline; this file asks nothing of the network.</footer>",
    )
    return page.write(path)


def promise_table(found: Certificate) -> str:
    """Return the constraints as an HTML table."""
    from wattline.report.page import table
    from wattline.report.show import show

    limits = {kind.name: f", Q ≥ {in_full(kind.limit)}" for kind in found.outcome.kinds}
    rows = [
        (
            p.about + limits.get(p.about, ""),
            show(p.limit, "share"),
            show(p.rate.share, "share"),
            f"{show(p.rate.low, 'share')} – {show(p.rate.high, 'share')}",
            f"{show(p.rate.next_low, 'share')} – {show(p.rate.next_high, 'share')}",
            f"{p.rate.count:,}",
            *map(percent, p.beyond),
            p.state,
        )
        for p in found.promises
    ]
    sure = f"{in_full(100 * found.confidence)} %"
    intervals = (f"long run, {sure}", f"next day, {sure}")
    heads = ("constraint", "allowed", "found", *intervals, "of", "days beyond", "hours beyond", "state")
    return table(heads, rows, text=(0,))


def day_table(found: Certificate) -> str:
    """Return the recorded days as an HTML table: the bid that each was tried under, and what it came to."""
    from wattline.bidding.evidence import HOW
    from wattline.report.page import table
    from wattline.report.show import show

    if not found.evidence.table:
        return ""
    rows = [
        (
            day.name,
            show(day.mean_w, "W"),
            show(day.reserve_w, "W"),
            f"{day.hours - day.left_out}",
            show(day.exceed, "share"),
            show(day.hours_beyond, "share"),
            show(day.worst_service, "share"),
            amount(day.cost),
            "kept" if day.kept else "BROKEN",
        )
        for day in found.evidence.table
    ]
    heads = ("day", "P̄", "R", "hours", "ε > 30 %", "hours beyond", "service, of its limit", "cost an hour", "state")
    told = escape(HOW[found.evidence.how])
    return f'<h2>Days</h2><p class="sub">{told[:1].upper()}{told[1:]}.</p>{table(heads, rows, text=(0,))}'


def figures(setting: Setting, found: Certificate, seen: Observed) -> Iterator[Drawn | None]:
    """Yield the figures of any bid: errors and degradations on some fresh hours, and how weights moved if any did."""
    from wattline.report.figures.bid import draw_weights
    from wattline.report.figures.shares import Curve, Service, draw_error_shares, draw_services

    choice, policy = found.choice, setting.name
    if seen.seconds.size:
        curves = {policy: Curve(seen.seconds, seen.error)}
        yield draw_error_shares(curves, "Tracking error", f"{_hours(found)}; the curve must pass above the corner.")
    kinds = [kind for kind in setting.kinds if not kind.standby and math.isfinite(kind.limit)]
    services = [Service(kind.name, kind.limit, kind.share, {policy: seen.of(kind.name)}) for kind in kinds]
    if services:
        caption = f"{_hours(found)}; every curve must pass above the corner of its promise."
        yield draw_services(services, "Service by kind", caption)
    names = [kind.name for kind in setting.kinds]
    yield draw_weights(names, choice.history, choice.bid, f"Weights over the steps of {choice.method}")


def _theory(page: Page, setting: Setting, found: Certificate, seen: Observed) -> str:
    """Return delays beside the theory for a policy that shares nodes by weights, or why there is no theory of it."""
    from wattline.bidding.tails import delay_tails
    from wattline.report.figures.bid import draw_tails

    if not setting.policies.select.weights:
        return ""
    try:
        tails = delay_tails(setting, seen, found.choice.bid, found.choice.weights)
    except InputError as reason:
        return f'<p class="sub">The theory of delays says nothing here: {escape(str(reason))}</p>'
    return page.figure(draw_tails(tails, "Delays, and what the theory says of them", f"{_hours(found)}."))


def _hours(found: Certificate) -> str:
    if found.evidence.table:
        return f"{min(DAYS, len(found.evidence.table))} of the recorded days"
    return f"{min(HOURS, len(found.outcome.hours))} of the certificate's {len(found.outcome.hours)} hours"
