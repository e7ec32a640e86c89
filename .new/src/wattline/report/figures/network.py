"""Draw a machine with its jobs: groups round a circle, leaves below their spines, or blocks where it is too large for
that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.model.networks.base import Network
from wattline.model.networks.dragonfly import Dragonfly
from wattline.model.networks.fat_tree import FatTree
from wattline.report.figures.figure import Figure
from wattline.report.figures.style import GREY, KINDS, Drawn, new_figure, soft

MOST_ROUTERS = 400
"""Routers beyond which a circle, or a row of leaves, has no room for its nodes."""
MOST_LEGEND = 24
SYMBOLS = ("square", "circle", "diamond")
HEIGHT = 760
EMPTY = -1
OUT = -2


@dataclass(frozen=True)
class Placed:
    """A job and the nodes it is on."""

    name: str
    nodes: Ints


@dataclass(frozen=True)
class _Layout:
    """Where nodes, routers and links are drawn; sizes of nodes in pixels."""

    nodes: Floats
    routers: Floats
    links: Sequence[tuple[Floats, Floats]]
    size: float
    what: str
    equal: bool = False
    labels: Floats | None = None


def draw_network(network: Network, jobs: Sequence[Placed], nodes: int, out: Ints | None = None) -> Drawn:
    """Draw the nodes, coloured by their jobs.

    ``nodes`` of the network's ports hold one, those of ``out`` are out of service.
    """
    layout = _lay_out(network)
    owner = np.full(network.nodes, EMPTY)
    if out is not None:
        owner[out] = OUT
    order = sorted(range(len(jobs)), key=lambda i: (-jobs[i].nodes.size, i))
    for i in order:
        owner[jobs[i].nodes] = i
    figure = new_figure(HEIGHT, margin={"l": 8, "r": 8, "t": 8, "b": 8})
    _hide_axes(figure, equal=layout.equal)
    for x, y in layout.links:
        figure.add_scatter(
            x=x, y=y, mode="lines", line={"color": soft(GREY, 0.22), "width": 0.7}, hoverinfo="skip", showlegend=False
        )
    if len(layout.routers):
        figure.add_scatter(
            x=layout.routers[:, 0],
            y=layout.routers[:, 1],
            mode="markers",
            name="router",
            hovertemplate="%{text}<extra></extra>",
            text=[f"router {r}, group {network.group_of_router(r)}" for r in range(network.routers)]
            + ["spine"] * (len(layout.routers) - network.routers),
            marker={"color": GREY, "size": max(3.0, 0.6 * layout.size), "symbol": "circle"},
            showlegend=False,
        )
    if layout.labels is not None:
        figure.add_scatter(
            x=layout.labels[:, 0],
            y=layout.labels[:, 1],
            mode="text",
            text=[str(g) for g in range(network.groups)],
            textfont={"size": 11, "color": GREY},
            hoverinfo="skip",
            showlegend=False,
        )
    there = np.arange(network.nodes) < nodes
    _add_nodes(figure, layout, network, np.flatnonzero((owner == EMPTY) & there), "free", "free", GREY, "square-open")
    _add_nodes(
        figure, layout, network, np.flatnonzero(owner == OUT), "out of service", "out of service", GREY, "x-thin-open"
    )
    for rank, i in enumerate(order):
        shown = rank < MOST_LEGEND
        name = f"{jobs[i].name}: {jobs[i].nodes.size}"
        style = KINDS[rank % len(KINDS)], SYMBOLS[rank // len(KINDS) % len(SYMBOLS)]
        _add_nodes(figure, layout, network, np.sort(jobs[i].nodes), name, jobs[i].name, *style, legend=shown)
    busy = sum(job.nodes.size for job in jobs)
    more = f" The legend names the {MOST_LEGEND} largest." if len(jobs) > MOST_LEGEND else ""
    caption = f"{layout.what} {busy:,} of {nodes:,} nodes are busy with {len(jobs):,} jobs.{more}"
    return Drawn(figure, "Where jobs are", caption)


def _add_nodes(
    figure: Figure,
    layout: _Layout,
    network: Network,
    which: Ints,
    name: str,
    job: str,
    colour: str,
    symbol: str,
    *,
    legend: bool = True,
) -> None:
    if not which.size:
        return
    router = network.router_of(which)
    text = [
        f"node {n}, router {r}, group {network.group_of_router(r)}: {job}"
        for n, r in zip(which.tolist(), router.tolist(), strict=True)
    ]
    marker: dict[str, Any] = {"color": colour, "size": layout.size, "symbol": symbol}
    if symbol.endswith("-open"):
        marker |= {"opacity": 0.55, "line": {"width": 1}}
    figure.add_scatter(
        x=layout.nodes[which, 0],
        y=layout.nodes[which, 1],
        mode="markers",
        name=name,
        marker=marker,
        text=text,
        hovertemplate="%{text}<extra></extra>",
        showlegend=legend,
    )


def _hide_axes(figure: Figure, *, equal: bool) -> None:
    figure.update_xaxes(visible=False, showgrid=False)
    figure.update_yaxes(visible=False, showgrid=False, rangemode="normal")
    if equal:
        figure.update_yaxes(scaleanchor="x")
    figure.update_layout(legend={"orientation": "v", "x": 1, "xanchor": "left", "y": 1, "yanchor": "top"})


def _lay_out(network: Network) -> _Layout:
    if network.routers > MOST_ROUTERS or network.routers < 2:
        return _blocks(network)
    return DRAWINGS.get(network.kind, _blocks)(network)


def _circle(network: Dragonfly) -> _Layout:
    """Routers on a circle, group by group, nodes outside, global links as chords."""
    a, p = network.routers_per_group, network.nodes_per_router
    slots = network.groups * (a + 0.6)  # a gap between groups
    router = np.arange(network.routers)
    angle = np.pi / 2 - 2 * np.pi * ((router // a) * (a + 0.6) + router % a + 0.5) / slots
    step = 2 * np.pi / slots  # arc of a router on the unit circle
    size = float(np.clip(0.4 * HEIGHT * step * 0.62 / (1 + 0.5 * p * step), 3.0, 15.0))
    gap = min(step, 0.11)
    out = np.column_stack([np.cos(angle), np.sin(angle)])
    nodes = np.repeat(out, p, axis=0) * (1 + gap * (1 + np.tile(np.arange(p), network.routers)))[:, None]
    middle = angle.reshape(-1, a).mean(axis=1)
    labels = np.column_stack([np.cos(middle), np.sin(middle)]) * (1 + gap * (p + 1.1))
    upper = [(i, j) for i in range(network.groups) for j in range(i + 1, network.groups)]
    both = [np.stack([network.gateways[i, j], network.gateways[j, i]], axis=1) for i, j in upper]
    ends = np.array(both, dtype=np.int64).reshape(-1, 2)
    what = (
        "Groups stand round the circle, the routers of a group (linked all to all) side by side, nodes outside, "
        "global links inside."
    )
    return _Layout(nodes, out, [_segments(out[ends[:, 0]], out[ends[:, 1]])], size, what, equal=True, labels=labels)


def _tree(network: FatTree) -> _Layout:
    """Spines on top, leaves below them, nodes hanging down."""
    leaves, p, spines = network.leaves, network.nodes_per_leaf, network.spines
    x = np.arange(leaves, dtype=np.float64)
    top = np.column_stack([(np.arange(spines) + 0.5) * leaves / spines - 0.5, np.full(spines, 0.35 * p)])
    leaf = np.column_stack([x, np.zeros(leaves)])
    nodes = np.column_stack([np.repeat(x, p), np.tile(-1.0 - np.arange(p), leaves)])
    links = _segments(np.repeat(leaf, spines, axis=0), np.tile(top, (leaves, 1)))
    size = float(np.clip(0.7 * min(850 / leaves, 0.65 * HEIGHT / p), 3.0, 15.0))
    return _Layout(
        nodes,
        np.vstack([leaf, top]),
        [links],
        size,
        "Spines on top, leaves below them, nodes hanging from their leaves.",
    )


def _blocks(network: Network) -> _Layout:
    """Groups as blocks of a grid, a column a router (or, where there is one, rows of its nodes)."""
    a, p = network.routers_per_group, network.nodes_per_router
    if network.routers == 1:
        a, p = int(np.ceil(np.sqrt(2 * network.nodes))), 0
        node = np.arange(network.nodes)
        place = np.column_stack([node % a, -(node // a)]).astype(np.float64)
        columns, width, height = 1, a, int(np.ceil(network.nodes / a))
    else:
        columns = max(1, round(np.sqrt(1.3 * network.groups * (p + 1.5) / (a + 1.5))))
        node = np.arange(network.nodes)
        group, router = node // (a * p), node // p % a
        x = (group % columns) * (a + 1.5) + router
        y = -(group // columns) * (p + 1.5) - node % p
        place = np.column_stack([x, y]).astype(np.float64)
        width, height = columns * (a + 1.5), -(-network.groups // columns) * (p + 1.5)
    size = float(np.clip(0.75 * min(850 / width, HEIGHT / height), 1.5, 15.0))
    what = (
        "Groups are blocks, their routers columns, a router's nodes one below the other."
        if network.routers > 1
        else "All nodes, in rows."
    )
    return _Layout(place, np.empty((0, 2)), [], size, what)


DRAWINGS: dict[str, Callable[[Any], _Layout]] = {Dragonfly.kind: _circle, FatTree.kind: _tree}
"""Drawings of certain kinds of network; all others are drawn as blocks."""


def _segments(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return lines from each a to its b as one trace, parted by gaps."""
    gaps = np.full(len(a), np.nan)
    return np.column_stack([a[:, 0], b[:, 0], gaps]).ravel(), np.column_stack([a[:, 1], b[:, 1], gaps]).ravel()
