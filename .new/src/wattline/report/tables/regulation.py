"""Tables of demand response, for the terminal and for the report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wattline.report.count.regulation import HourRow, QosRow, Regulation
from wattline.report.page import Raw, table
from wattline.report.show import MISSING, dollars, number, printable, scale_of, show
from wattline.report.tables.accounts import hours_words, parts_words

if TYPE_CHECKING:
    from rich.table import Table

    from wattline.report.count.metrics import Summary

WIDTH = 80
HOURS = 8
"""Billed hours that a terminal shows one by one."""

KINDS = 16
"""Kinds of job that a terminal shows: of more of them, those nearest to their limits."""


def regulation_facts(summary: Summary) -> list[tuple[str, str]]:
    """Return the single numbers of demand response as (title, text)."""
    found = summary.regulation
    if found is None:
        return []
    count = len(found.hours)
    rows = [("bid", bid_words(found))]
    if not count:
        return [*rows, ("", "no billed hour was simulated to its end")]
    if 0 < found.out_hours < count:
        hours = "hours" if found.whole_hours else "hours and parts of hours"
        rows.append(("", f"no bid in {found.out_hours:,} of {count:,} billed {hours}: energy is paid as drawn"))
    span = hours_words(summary.accounts.total) if summary.accounts else f"{count} hour{'s' if count > 1 else ''}"
    what = f"{dollars(found.cost)} for {span}"
    beyond = show(found.exceed_share, "share")
    rows += [
        ("bill", f"{what}; {dollars(found.without_drawn)} without demand response: {reduction_words(found)}"),
        *([("of it", parts_words(summary.accounts.total))] if summary.accounts else []),
        (
            "tracking",
            MISSING
            if math.isnan(found.error)
            else f"error {show(found.error, 'share')} of the reserve, above 30 % for {beyond} of the time",
        ),
    ]
    if found.standby_j:
        rows.append(("standby", f"{show(found.standby_j, 'J')} in the whole run"))
    return rows


def bid_words(found: Regulation) -> str:
    """Return the bid, or what is to be said in its place."""
    if found.out_hours and found.out_hours == len(found.hours):
        return f"none in any of {len(found.hours):,} billed hours: energy is paid as drawn"
    changing = " (means of bids that change)" if found.changing else ""
    return f"mean {show(found.mean_w, 'W')}, reserve {show(found.reserve_w, 'W')}{changing}"


def reduction_words(found: Regulation) -> str:
    """Return the saving in words."""
    part = found.reduction_drawn
    return MISSING if math.isnan(part) else f"{show(abs(part), 'share')} {'less' if part >= 0 else 'more'}"


def qos_terminal(summary: Summary) -> Table | None:
    """Return the service of every kind for a terminal; None where nothing was promised."""
    from rich.table import Table
    from rich.text import Text

    if not summary.qos:
        return None
    out = Table(box=None, pad_edge=False, width=WIDTH, header_style="bold")
    out.add_column("degradation Q of", style="cyan", overflow="fold")
    for name in ("jobs", "mean", "median", "p90", "limit", "reached", "allowed"):
        out.add_column(name, justify="right", no_wrap=True)
    rows = summary.qos if len(summary.qos) <= KINDS else sorted(summary.qos, key=_suffers, reverse=True)[:KINDS]
    for row in rows:
        cells = [Text(cell) for cell in qos_cells(row)]
        cells[1 if row.average else -2].stylize("bold red" if row.broken else "")
        out.add_row(Text(_name(row)), *cells)
    if left := len(summary.qos) - len(rows):
        broken = sum(row.broken for row in summary.qos) - sum(row.broken for row in rows)
        out.add_row(Text(f"and {left:,} more" + (f", {broken:,} beyond limits" if broken else "")), *[""] * 7)
    return out


def _suffers(row: QosRow) -> tuple[bool, float]:
    """Return how far a kind is towards what it was promised, broken promises first."""
    if row.standby or not math.isfinite(row.limit) or not row.jobs:
        return False, -1.0
    far = row.mean_at_least / row.limit if row.average else row.violation_share / row.share
    return row.broken, far


def hours_terminal(summary: Summary) -> Table | None:
    """Return the bill hour by hour for a terminal, if there are several."""
    from rich.table import Table

    found = summary.regulation
    if found is None or len(found.hours) < 2:
        return None
    out = Table(box=None, pad_edge=False, width=WIDTH, header_style="bold")
    out.add_column("billed hour from", style="cyan", no_wrap=True)
    for name in ("bid" if found.changing else "target", "power", "error", "> 30 %", "cost", "without"):
        out.add_column(name, justify="right", no_wrap=True)
    for hour in found.hours[:HOURS]:
        promised = _bid(hour) if found.changing else show(hour.mean_target_w, "W")
        out.add_row(
            hour.clock[:16].replace("T", " ") or show(hour.begin_s, "s"),
            promised,
            show(hour.mean_power_w, "W"),
            _percent(hour.error),
            _percent(hour.exceed_share),
            dollars(hour.cost),
            dollars(hour.without_drawn),
        )
    if len(found.hours) > HOURS:
        out.add_row(f"and {len(found.hours) - HOURS:,} more", *[""] * 6)
    return out


def _bid(hour: HourRow) -> str:
    """Return mean power and reserve of an hour in one unit."""
    if math.isnan(hour.mean_w):
        return MISSING
    scale = scale_of([hour.mean_w], "W")
    return f"{number(hour.mean_w / scale.factor)} ± {number(hour.reserve_w / scale.factor)} {scale.unit}"


def _percent(share: float) -> str:
    return MISSING if math.isnan(share) else f"{100 * share:.1f} %"


def qos_cells(row: QosRow) -> list[str]:
    """Return one kind: jobs, mean, median and 90th percentile of Q, limit, shares beyond it and allowed."""
    promised = not row.standby and math.isfinite(row.limit)
    shared = promised and not row.average
    return [
        f"{row.jobs:,}",
        number(row.q.mean),
        number(row.q.median),
        number(row.q.p90),
        number(row.limit) if promised else MISSING,
        show(row.violation_share, "share") if promised else MISSING,
        show(row.share, "share") if shared else "mean" if promised else MISSING,
    ]


def qos_table(summary: Summary) -> str:
    """Return the service of every kind for a page."""
    header = ("kind", "jobs", "Q mean", "median", "p90", "limit", "reached it", "allowed", "energy, whole run")
    rows = []
    for row in summary.qos:
        cells: list[object] = [_name(row), *qos_cells(row), show(row.energy_j, "J")]
        if row.broken:
            at = 2 if row.average else 6
            cells[at] = Raw(f'<span class="up">{cells[at]}</span>')
        rows.append(cells)
    still = sum(row.open_jobs for row in summary.qos)
    note = (
        "Q = (end − submission − run time alone) / run time alone, of the jobs submitted in a billed hour"
        if summary.regulation is not None
        else "Q = (end − submission − run time alone) / run time alone"
    )
    more = f"; {still:,} of them had not ended when the run stopped" if still else ""
    return table(header, rows) + f'<p class="counted">{note}{more}.</p>'


def settlement_table(found: Regulation) -> str:
    """Return the bill of every hour for a page, and their sum."""
    header = (
        "billed hour",
        "mean power",
        "mean target",
        "error",
        "above 30 %",
        "energy",
        "− reserve",
        "+ error",
        "= cost",
        "without, as drawn",
        "as bid",
    )
    rows = [
        (
            f"{show(h.begin_s, 's')} – {show(h.end_s, 's')}",
            show(h.mean_power_w, "W"),
            show(h.mean_target_w, "W"),
            show(h.error, "share"),
            show(h.exceed_share, "share"),
            *(
                dollars(v)
                for v in (h.energy_cost, h.reserve_credit, h.error_cost, h.cost, h.without_drawn, h.without_bid)
            ),
        )
        for h in found.hours
    ]
    if len(rows) > 1:
        sums = [sum(getattr(h, name) for h in found.hours) for name in ("energy_cost", "reserve_credit", "error_cost")]
        total = [*sums, found.cost, found.without_drawn, found.without_bid]
        rows.append(
            ("all", "", "", show(found.error, "share"), show(found.exceed_share, "share"), *map(dollars, total))
        )
    return table(header, rows) + reach_note(found)


def reach_note(found: Regulation) -> str:
    """Return for a page what the cluster cannot follow, and what standby jobs drew."""
    outside = (
        ""
        if math.isnan(found.outside_share)
        else (
            f"{show(found.outside_share, 'share')} of the signal lies beyond what the cluster can draw; that "
            "alone puts "
            f"{show(found.outside_exceed_share, 'share')} of the time above an error of 30 %."
        )
    )
    standby = f" Standby jobs drew {show(found.standby_j, 'J')} in the whole run." if found.standby_j else ""
    return f'<p class="counted">{outside}{standby}</p>'


def _name(row: QosRow) -> str:
    return printable(f"{row.name} (standby)" if row.standby else row.name)
