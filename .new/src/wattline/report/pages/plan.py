"""A plan for a terminal and as a page: both machines, times, costs, and break-even plots of each parameter."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from wattline.market.break_even import TITLES, Parameter, higher, sweep
from wattline.market.overprovisioning import Application, Question
from wattline.report.count.plan import Answered, verdict
from wattline.report.figures.style import AMBER, BLUE, PALETTE, RED, TEAL, Drawn, new_figure, split_figure
from wattline.report.page import Page, card, facts, table
from wattline.report.show import MISSING, number

if TYPE_CHECKING:
    from rich.console import Group

POINTS = 241
TOP = 3.0
"""Ratios above this are not drawn: lines near zero say nothing."""


def plan_table(found: Answered, name: str) -> Group:
    """Return the answer for 80 columns: the verdict first, then both machines."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    head, *rest = verdict(found)
    parts: list[Any] = [Text(name, "bold"), Text(head, "bold green" if found.plan.speedup >= 1 else "bold"), Text("")]
    rows = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 0, 0, 2))
    for i, title in enumerate(("", "high-end", "older, more")):
        rows.add_column(title, justify="left" if i == 0 else "right", style="cyan" if i == 0 else None)
    for row in machine_rows(found):
        rows.add_row(*(Text(cell) for cell in row))
    return Group(*parts, rows, Text(""), *(Text(f"- {sentence}") for sentence in rest))


def machine_rows(found: Answered) -> list[tuple[str, str, str]]:
    """Return both machines side by side: nodes, power, times, money."""
    plan, q = found.plan, found.plan.question
    rows = [
        ("nodes", f"{plan.worst_case_nodes:,}", f"{plan.nodes:,}"),
        ("power of a node [W]", f"{q.node_max_w:,.0f}", f"{q.power_w / plan.nodes:,.0f}"),
    ]
    rows += [
        (f"time, {o.name} [s]", number(o.worst_case_s), f"{number(o.overprovisioned_s)} (× {o.speedup:.2f})")
        for o in plan.outcomes
    ]
    if len(plan.outcomes) > 1:
        rows.append(("all, weighted", "1", f"× {plan.speedup:.2f}"))
    bills = q.bills(plan.nodes)
    if bills is not None:
        for part in ("nodes", "racks", "maintenance", "energy", "total"):
            high, older = (float(getattr(b, part)) for b in bills)
            if high or older:
                title = {"nodes": "price of nodes", "energy": "electricity, cooling"}.get(part, part)
                rows.append((title, f"${high:,.0f}", f"${older:,.0f}"))
    return rows


def draw_sweep(
    question: Question,
    series: Sequence[tuple[str, Sequence[Application]]],
    title: str,
    caption: str,
    spans: dict[str, tuple[float, float]] | None = None,
) -> Drawn:
    """Draw s_ovp over cost ratio, power budget and advantage, others held (as Figs. 4.3–4.6); red: break even."""
    here = {"cost_ratio": _ratio(question), "power_w": question.power_w, "faster": question.faster}
    spans = spans or {
        "cost_ratio": (1.0, max(3.0, 1.5 * here["cost_ratio"])),
        "power_w": (0.4 * question.power_w, 2 * question.power_w),
        "faster": (0.0, max(0.6, higher(question, "faster", question.faster))),
    }
    figure = split_figure(340, 1, 3, horizontal_spacing=0.07)
    names: tuple[Parameter, ...] = ("cost_ratio", "power_w", "faster")
    lowest, highest = 1.0, 1.0
    for col, parameter in enumerate(names, 1):
        x = np.linspace(*spans[parameter], POINTS)
        scale = 1e-3 if parameter == "power_w" else 1.0
        for i, (name, applications) in enumerate(series):
            y = sweep(question, applications, parameter, x)
            known = [1.0, *y[np.isfinite(y)].tolist()]
            lowest, highest = min(lowest, *known), max(highest, *known)
            figure.add_scatter(
                x=x * scale,
                y=y,
                mode="lines",
                name=name,
                line={"color": _colour(i), "width": 1.6},
                showlegend=col == 1 and len(series) > 1,
                legendgroup=name,
                row=1,
                col=col,
            )
        figure.add_scatter(
            x=[spans[parameter][0] * scale, spans[parameter][1] * scale],
            y=[1, 1],
            mode="lines",
            name="break even",
            line={"color": RED, "width": 1, "dash": "dot"},
            showlegend=False,
            row=1,
            col=col,
        )
        figure.add_scatter(
            x=[here[parameter] * scale],
            y=sweep(question, series[0][1], parameter, np.array([here[parameter]])),
            mode="markers",
            marker={"color": _colour(0), "size": 8},
            showlegend=False,
            name="here",
            row=1,
            col=col,
        )
        unit = {"power_w": " [kW]"}.get(parameter, "")
        figure.update_xaxes(title_text=TITLES[parameter] + unit, row=1, col=col)
    figure.update_xaxes(tickformat=".0%", row=1, col=3)
    figure.update_yaxes(rangemode="normal", range=[0.95 * lowest, min(1.05 * highest, TOP)])
    figure.update_yaxes(title_text="s_ovp", row=1, col=1)
    return Drawn(figure, title, caption)


def _even_ratio(found: Answered) -> tuple[str, str]:
    """Return the cost ratio that breaks even, and which one it is: where more nodes slow the work, the end counts."""
    ranges, worst = found.even.node_ranges, found.plan.worst_case_nodes
    if not ranges:
        return MISSING, "least cost ratio"
    least, most = ranges[0][0], ranges[-1][1]
    if least == 1 and most < found.plan.node_limit:
        return f"r_c {(most + 1) / worst:.2f}", "cost ratio must be below"
    return f"r_c {least / worst:.2f}", "least cost ratio"


def _ratio(question: Question) -> float:
    return question.cost_ratio or question.affordable_nodes / question.worst_case_nodes


def _colour(index: int) -> str:
    shown = [TEAL, *(colour for colour in PALETTE if colour not in (RED, TEAL))]  # red is for breaking even
    return shown[index % len(shown)]


def draw_tornado(found: Answered) -> Drawn:
    """Draw what a tenth less or more of each parameter does to the ratio."""
    figure = new_figure(70 + 42 * len(found.tenth))
    now = found.plan.speedup
    names = [TITLES[name] for name in found.tenth][::-1]
    for label, place, colour in (("a tenth less", 0, AMBER), ("a tenth more", 1, BLUE)):
        change = [pair[place] - now for pair in found.tenth.values()][::-1]
        figure.add_bar(x=change, y=names, base=now, orientation="h", name=label, marker={"color": colour})
    figure.update_xaxes(title_text="s_ovp")
    figure.update_yaxes(rangemode="normal")
    figure.update_layout(showlegend=True, barmode="overlay", margin={"l": 220})
    return Drawn(
        figure,
        "What it depends on",
        "Each parameter alone, a tenth less and a tenth more (of an advantage near 100 %, half of what is left to it); "
        "nodes are whole, so there are steps.",
    )


def draw_nodes(found: Answered) -> Drawn:
    """Draw the ratio over the number of older nodes, with where it breaks even and where power ends it."""
    from wattline.market.break_even import speedup

    plan = found.plan
    x = np.unique(np.round(np.linspace(1, plan.node_limit, min(plan.node_limit, POINTS))))
    y = np.array([speedup(plan.question, found.applications, int(n)) for n in x])
    figure = new_figure(280)
    figure.add_scatter(x=x, y=y, mode="lines", name="all, weighted", line={"color": TEAL, "width": 2})
    if len(found.applications) > 1:
        for i, a in enumerate(found.applications):
            each = np.array([speedup(plan.question, [a], int(n)) for n in x])
            figure.add_scatter(x=x, y=each, mode="lines", name=a.name, line={"color": _colour(i + 1), "width": 1})
    figure.add_scatter(
        x=[1, plan.node_limit],
        y=[1, 1],
        mode="lines",
        name="break even",
        line={"color": RED, "dash": "dot", "width": 1},
    )
    figure.add_scatter(
        x=[plan.nodes], y=[plan.speedup], mode="markers", name="the plan", marker={"color": TEAL, "size": 10}
    )
    figure.update_xaxes(title_text="older nodes")
    figure.update_yaxes(title_text="s_ovp")
    figure.update_layout(showlegend=True)
    return Drawn(figure, "How many nodes?", f"Up to {plan.node_limit}, which the power keeps on.")


def plan_page(found: Answered, name: str, notes: Sequence[str]) -> Page:
    """Return the page of a plan."""
    plan, q = found.plan, found.plan.question
    head, *rest = verdict(found)
    page = Page(f"{name} – Wattline plan")
    items = [
        ("power budget", f"{q.power_w:,.0f} W"),
        ("high-end node", f"at most {q.node_max_w:,.0f} W, {q.faster:.0%} faster ({q.reading})"),
        ("older node", f"at least {q.node_min_w:,.0f} W"),
        ("cost ratio", f"{_ratio(q):.2f}" + ("" if q.prices is None else ", from prices")),
    ]
    page.add(
        f'<header><p class="kicker">Wattline plan</p><h1>{escape(name)}</h1><p '
        f'class="sub"><b>{escape(head)}</b></p>{facts(items)}</header>'
    )
    bills = q.bills(plan.nodes)
    cards = [
        card("older nodes", f"{plan.nodes:,}", f"instead of {plan.worst_case_nodes:,} high-end ones"),
        card("ratio of times", f"{plan.speedup:.2f}", "above 1: more nodes are faster", bad=plan.speedup < 1),
        card(
            "break even",
            *_even_ratio(found),
        ),
        card(
            "break even",
            MISSING if found.even.faster is None else f"{found.even.faster:.0%}",
            "greatest advantage of a high-end node",
        ),
    ]
    if bills is not None:
        cards.append(card("money", f"${bills[0].total:,.0f}", f"left over: ${bills[0].total - bills[1].total:,.0f}"))
    page.add(f'<div class="cards">{"".join(cards)}</div><p></p>')
    page.add(f"<ul>{''.join(f'<li>{escape(sentence)}</li>' for sentence in rest)}</ul>")
    page.add("<h2>Both machines</h2>", table(("", "high-end", "older, more"), machine_rows(found)))
    page.add("<h2>What would turn it</h2>", page.figure(draw_nodes(found)))
    series: list[tuple[str, Sequence[Application]]] = [
        ("all, weighted" if len(found.applications) > 1 else found.applications[0].name, found.applications)
    ]
    series += [(a.name, [a]) for a in found.applications] if len(found.applications) > 1 else []
    caption = (
        "Each parameter alone, the others as in the plan; above the dotted line more nodes win. Steps are whole nodes."
    )
    page.add(page.figure(draw_sweep(q, series, "Break-even plots", caption)), page.figure(draw_tornado(found)))
    if notes:
        page.add(f'<p class="sub">{"<br>".join(escape(note) for note in notes)}</p>')
    page.add("<footer>Made by Wattline; this file asks nothing of the network.</footer>")
    return page
