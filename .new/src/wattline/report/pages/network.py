"""A network for a terminal and as a page: its facts, its picture, and how far the nodes of each job are apart."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from wattline.arrays import Ints
from wattline.model.networks import network_text
from wattline.model.networks.base import Network
from wattline.physics.network_facts import mean_links, network_facts
from wattline.report.figures.network import Placed, draw_network
from wattline.report.page import Page, card, facts, table
from wattline.report.show import show
from wattline.units import show_bandwidth

if TYPE_CHECKING:
    from rich.table import Table

MOST_ROWS = 200
"""Jobs that the table of a page lists."""


def fact_rows(network: Network) -> list[tuple[str, str]]:
    """Return what is known of a network, in words and numbers."""
    found = network_facts(network)
    rows = [("network", network_text(network)), ("nodes", f"{network.nodes:,}")]
    rows += network.describe(found)
    if network.has_links:
        host_bps = network.host_bandwidth_bps
        half = _share(found.bisection_bps / (network.nodes * host_bps / 2))
        rows += [
            ("links of nodes", show_bandwidth(host_bps)),
            ("links between two nodes' routers", f"{found.mean_links:.3f} in the mean, {found.most_links} at most"),
            ("bisection", f"{show_bandwidth(found.bisection_bps)}, {half} of what half the nodes can send"),
            ("uniform traffic, minimal routes", _bound(found.uniform, found.uniform_local, found.uniform_global)),
            ("a group to one other, minimal routes", _bound(found.adversarial)),
        ]
    return rows


def _share(value: float) -> str:
    return str(show(value, "share"))


def _bound(value: float | None, local: float | None = None, across: float | None = None) -> str:
    """Return a saturation bound in words."""
    if value is None:
        return "no link is shared"
    which = ""
    if local is not None and across is not None:
        which = f" (links inside groups {local:.3f}, between groups {across:.3f})"
    return f"links are full at {value:.3f} of a node's bandwidth{which}"


def fact_table(network: Network) -> Table:
    """Return the facts for a terminal."""
    from rich.table import Table

    shown = Table(box=None, pad_edge=False, show_header=False, padding=(0, 0, 0, 2))
    shown.add_column(style="cyan", no_wrap=True)
    shown.add_column(overflow="fold")
    for name, value in fact_rows(network):
        shown.add_row(name, value)
    return shown


def fact_data(network: Network) -> dict[str, Any]:
    """Return the facts as data."""
    found = network_facts(network)
    numbers = {name: None if value == float("inf") else value for name, value in vars(found).items()}
    return {"network": network_text(network), "nodes": network.nodes, "groups": network.groups, **numbers}


def job_rows(network: Network, jobs: Sequence[Placed]) -> list[dict[str, Any]]:
    """Return where each job is: its nodes, routers, groups, and the mean links between the routers of two of its
    nodes.
    """
    return [
        {
            "job": job.name,
            "nodes": int(job.nodes.size),
            "routers": int(np.unique(network.router_of(job.nodes)).size),
            "groups": int(np.unique(network.group_of(job.nodes)).size),
            "mean_links": mean_links(network, job.nodes),
        }
        for job in jobs
    ]


def network_page(
    network: Network, jobs: Sequence[Placed], nodes: int, out: Ints, title: str, said: Sequence[tuple[str, object]] = ()
) -> Page:
    """Return the page of a machine with its jobs; ``said`` tells where they come from."""
    rows = job_rows(network, jobs)
    busy = sum(row["nodes"] for row in rows)
    page = Page(title)
    page.add(f"<h1>{escape(title)}</h1>", facts(said))
    links = np.average([row["mean_links"] for row in rows], weights=[row["nodes"] for row in rows]) if rows else 0.0
    page.add(
        '<section class="cards">',
        card("nodes", f"{nodes:,}", f"{network.routers:,} routers, {network.groups:,} groups"),
        card("busy", f"{100 * busy / nodes:.1f} %", f"{busy:,} nodes, {len(rows):,} jobs"),
        card("links between a job's nodes", f"{links:.2f}", "routers on shortest ways, mean by nodes"),
        "</section>",
        page.figure(draw_network(network, jobs, nodes, out)),
    )
    if rows:
        shown = sorted(rows, key=lambda row: -row["nodes"])
        caption = "Jobs" if len(rows) <= MOST_ROWS else f"The {MOST_ROWS} largest of {len(rows):,} jobs"
        page.add(
            table(
                ("job", "nodes", "routers", "groups", "mean links"),
                [
                    (r["job"], r["nodes"], r["routers"], r["groups"], f"{r['mean_links']:.2f}")
                    for r in shown[:MOST_ROWS]
                ],
                caption,
                text=(0,),
            )
        )
    page.add(table(("the machine", ""), fact_rows(network), text=(0, 1)))
    return page
