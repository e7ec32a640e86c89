"""Drawings of networks: every node once, in the colour of its job, and the numbers beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wattline.model.networks.base import Network
from wattline.model.networks.dragonfly import Dragonfly
from wattline.model.networks.fat_tree import FatTree
from wattline.model.networks.flat import Flat
from wattline.policies.place.allocate import allocate
from wattline.report.figures.network import Placed, draw_network
from wattline.report.pages.network import fact_data, fact_rows, job_rows, network_page

NETWORKS = [
    Dragonfly(4, 4, 17),
    Dragonfly(4, 8, 33, "circulant"),
    Dragonfly(2, 16, 65),
    FatTree(8, 12, 4),
    Flat(50),
    Dragonfly(3, 5, 1),
]


def placed(network: Network, count: int = 5) -> list[Placed]:
    """Place jobs of different sizes."""
    free = np.ones(network.nodes, dtype=bool)
    jobs = []
    for i in range(count):
        nodes = allocate("rdn", network, free, 1 + i, 1, job=i)
        free[nodes] = False
        jobs.append(Placed(f"job <{i}>", nodes))
    return jobs


def node_traces(figure: Any) -> list[dict[str, Any]]:
    """Return the traces whose points are nodes."""
    return [t for t in figure.data if t.get("text") is not None and str(t["text"][0]).startswith("node")]


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_every_node_is_drawn_once(network: Network) -> None:
    """Each node of the machine is one point, at a place of its own, and says where it is and whose it is."""
    jobs, out = placed(network), np.array([network.nodes - 1])
    jobs = [Placed(job.name, job.nodes[job.nodes != network.nodes - 1]) for job in jobs]
    drawn = draw_network(network, [job for job in jobs if job.nodes.size], network.nodes, out)
    traces = node_traces(drawn.figure)
    texts = [text for trace in traces for text in trace["text"]]
    numbers = sorted(int(text.split(",")[0].removeprefix("node ")) for text in texts)
    assert numbers == list(range(network.nodes))
    points = {(round(float(x), 6), round(float(y), 6)) for t in traces for x, y in zip(t["x"], t["y"], strict=True)}
    assert len(points) == network.nodes
    by_name = {trace["name"]: len(trace["text"]) for trace in traces}
    assert by_name["out of service"] == 1
    assert all(by_name[f"{job.name}: {job.nodes.size}"] == job.nodes.size for job in jobs if job.nodes.size)


def test_ports_without_nodes_are_left_out() -> None:
    """Only the ports that hold a node are drawn."""
    drawn = draw_network(Dragonfly(4, 4, 17), [], 250)
    assert sum(len(trace["text"]) for trace in node_traces(drawn.figure)) == 250


def test_plotly_takes_the_figures() -> None:
    """Plotly's own objects accept every attribute used."""
    from plotly.graph_objects import Figure

    for network in NETWORKS:
        figure = draw_network(network, placed(network, 4), network.nodes).figure
        Figure({"data": figure.data, "layout": figure.layout})


def test_many_jobs_differ_in_colour_or_shape() -> None:
    """Forty-eight jobs can be told apart, and the legend names the largest."""
    network = Dragonfly(4, 8, 33)
    drawn = draw_network(network, placed(network, 40), network.nodes)
    jobs = [t for t in node_traces(drawn.figure) if t["name"].startswith("job")]
    assert len({(t["marker"]["color"], t["marker"]["symbol"]) for t in jobs}) == 40
    assert sum(t["showlegend"] for t in jobs) == 24
    assert "The legend names the 24 largest." in drawn.caption


def test_the_page_says_how_far_jobs_are_apart() -> None:
    """The table counts routers and groups of each job, and the mean links between its nodes; names are escaped."""
    network = Dragonfly(2, 2, 3)
    jobs = [Placed("in one router", np.array([0, 1])), Placed("<wide>", np.array([2, 6, 10]))]
    rows = job_rows(network, jobs)
    assert [(row["routers"], row["groups"]) for row in rows] == [(1, 1), (3, 3)]
    assert rows[0]["mean_links"] == 0.0
    assert rows[1]["mean_links"] == pytest.approx((2 + 2 + 2) / 3)
    page = network_page(network, jobs, 12, np.empty(0, dtype=np.int64), "a machine").content().decode()
    assert "&lt;wide&gt;" in page
    assert "<wide>" not in page
    assert "41.7 %" in page


def test_facts_name_what_is_asked() -> None:
    """The facts of a machine say its bounds in words, and as data for programs."""
    rows = dict(fact_rows(Dragonfly(4, 4, 17, global_bps=2e9)))
    assert rows["links between groups"] == "136 of 2 Gbit/s, 4 a router"
    assert rows["uniform traffic, minimal routes"].startswith("links are full at 0.265")
    assert fact_data(FatTree(16, 20, 8))["mean_links"] == pytest.approx(2 * 304 / 319)
    assert fact_data(Flat(3))["bisection_bps"] is None
