"""Tables of configuration spaces for a terminal of 80 columns, and the page with their figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from wattline.model.configuration_points import NONE, degree, front, under_bound
from wattline.model.configurations import Configurations
from wattline.report.count.configurations import (
    cap_name,
    characterize,
    describe,
    explain,
    named_rows,
    point_name,
)
from wattline.report.figures.configurations import draw_by_nodes, draw_space
from wattline.report.page import Page, table
from wattline.report.show import MISSING, number, plural, printable

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

WIDTH = 80
FRONT_ROWS = 12
"""Rows of the front that a terminal shows; JSON has them all."""


def overview_table(tables: Sequence[Configurations]) -> Table:
    """Return one row an application: what was measured, and how it behaves."""
    rows = _table("application", "rows", "nodes", "cores", "caps [W]", "eff n", "eff c", "sens.", "turbo")
    for t in tables:
        c = characterize(t)
        capped = t.cap_w[t.cap_w != t.turbo_w]
        caps = f"{capped.min():g}–{capped.max():g}" if capped.size else MISSING
        rows.add_row(
            printable(t.application),
            str(len(t)),
            _range(t.nodes),
            _range(t.cores),
            caps,
            _share(c.node_efficiency),
            _share(c.core_efficiency),
            number(c.sensitivity, 2),
            _share(1 - 1 / c.turbo_gain),
        )
    return rows


def front_table(t: Configurations) -> Group:
    """Return an application's character and the front of time and power."""
    from rich.console import Group
    from rich.text import Text

    rows = front(t)
    step = max(1, math.ceil((rows.size - 1) / (FRONT_ROWS - 1)))
    shown = sorted({*range(0, rows.size, step), rows.size - 1})
    lines = _table("nodes × cores", "cap", "time [s]", "power [W]")
    for i in shown:
        row = rows[i]
        lines.add_row(
            f"{t.nodes[row]} × {t.cores[row]}",
            cap_name(t, float(t.cap_w[row])),
            number(t.time_s[row]),
            f"{t.power_w[row]:,.0f}",
        )
    rest = f" ({len(shown)} of them)" if len(shown) < rows.size else ""
    title = (
        f"{printable(t.application)}: {plural(len(t), 'configuration')}; nothing beats {rows.size} of them in "
        f"both time and power{rest}"
    )
    return Group(Text(title, "bold"), lines, *(Text(f"- {sentence}") for sentence in describe(characterize(t), t)))


def bound_table(t: Configurations, bound_w: float, node_max_w: float) -> Group:
    """Return the named points under a bound, and why the best one is the best."""
    from rich.console import Group
    from rich.text import Text

    found = under_bound(t, bound_w, node_max_w)
    lines = _table("", "nodes × cores", "cap", "time [s]", "power [W]", "unused", "time")
    for name, cells in _points(t, bound_w, node_max_w):
        lines.add_row(name, *cells)
    known = degree(t, found)
    worst = f"{plural(found.worst_nodes, 'node')} of {node_max_w:g} W"
    if found.table_nodes != found.worst_nodes:
        worst += f" (the table has {found.table_nodes or 'none as small'})"
    tail = f"Absolute worst case: {worst}. Degree of overprovisioning: {number(known)}."
    title = f"{printable(t.application)} {_under(bound_w)}"
    said = [*explain(t, found), tail]
    return Group(Text(title, "bold"), lines, *(Text(f"- {sentence}") for sentence in said))


def _points(t: Configurations, bound_w: float, node_max_w: float) -> list[tuple[str, list[str]]]:
    found = under_bound(t, bound_w, node_max_w)
    packed, rows = found.canonical["packed-max"], []
    for name, row in named_rows(found).items():
        if row == NONE:
            rows.append((name, [MISSING] * 6))
            continue
        unused = f"{1 - t.power_w[row] / bound_w:.1%}" if math.isfinite(bound_w) else MISSING
        against = f"× {t.time_s[row] / t.time_s[packed]:.2f}" if packed != NONE else MISSING
        rows.append(
            (
                name,
                [
                    f"{t.nodes[row]} × {t.cores[row]}",
                    cap_name(t, float(t.cap_w[row])),
                    number(t.time_s[row]),
                    f"{t.power_w[row]:,.0f}",
                    unused,
                    against,
                ],
            )
        )
    return rows


def configurations_page(
    tables: Sequence[Configurations], bounds_w: Sequence[float], node_max_w: float, source: str, reduced: str
) -> Page:
    """Return a page: every application with its space, its character and what there is under each bound."""
    page = Page("Configurations – Wattline")
    page.add(
        f'<header><p class="kicker">Wattline configurations</p><h1>{escape(source)}</h1><p class="sub">Times are: '
        f"{escape(reduced)}.</p></header>"
    )
    for t in tables:
        page.add(f"<h2>{escape(printable(t.application))}</h2>", _list(describe(characterize(t), t)))
        page.add(page.figure(draw_space(t, bounds_w[0] if bounds_w else math.inf, node_max_w)))
        for bound_w in bounds_w:
            found = under_bound(t, bound_w, node_max_w)
            rows = [(name, *cells) for name, cells in _points(t, bound_w, node_max_w)]
            header = ("", "nodes × cores", "cap", "time [s]", "power [W]", "unused", "time over packed-max")
            page.add(table(header, rows, _under(bound_w)), _list(explain(t, found)))
            if found.best != NONE:
                page.add(page.figure(draw_by_nodes(t, bound_w, node_max_w)))
        shown = [(point_name(t, int(row)), number(t.time_s[row]), f"{t.power_w[row]:,.0f}") for row in front(t)]
        page.add(table(("front", "time [s]", "power [W]"), shown))
    page.add("<footer>Made by Wattline; this file asks nothing of the network.</footer>")
    return page


def _under(bound_w: float) -> str:
    return f"under {bound_w:,.0f} W" if math.isfinite(bound_w) else "without a bound"


def _list(sentences: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(sentence)}</li>' for sentence in sentences)}</ul>"


def _range(values: Any) -> str:
    low, high = int(values.min()), int(values.max())
    return str(low) if low == high else f"{low}–{high}"


def _share(value: float) -> str:
    return MISSING if math.isnan(value) else f"{value:.0%}"


def _table(*names: str) -> Table:
    from rich.table import Table
    from rich.text import Text

    rows = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 0, 0, 1))
    for i, name in enumerate(names):
        rows.add_column(
            Text(name),
            justify="left" if i == 0 else "right",
            style="cyan" if i == 0 else None,
            no_wrap=True,
            overflow="ellipsis",
        )
    return rows
