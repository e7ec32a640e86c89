"""From [cluster] to the machine: node classes, outages, failures."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from wattline.errors import ScenarioError
from wattline.scenario.checks import node_ranges
from wattline.scenario.kinds import build_kinds
from wattline.scenario.network import build_network
from wattline.scenario.read import Document
from wattline.scenario.spec import NodesSpec

if TYPE_CHECKING:
    from wattline.model.cluster import Cluster, NodeClass, Outage
    from wattline.reading.notes import Trace


def cluster_nodes(document: Document) -> int | None:
    """Return the number of nodes that the scenario states, if it does."""
    cluster = document.spec.cluster
    if cluster.class_:
        return sum(c.count for c in cluster.class_)
    network = build_network(document) if cluster.nodes is None else None
    return cluster.nodes if network is None else network.nodes


def build_cluster(document: Document, trace: Trace) -> Cluster:
    """Return the machine: stated, or as large as the trace says its own was; watts are those of what is scheduled."""
    from wattline.model.cluster import Cluster
    from wattline.scenario.watts import build_watts

    spec = document.spec.cluster
    if spec.class_:
        classes = [
            document.located(("cluster", "class", i), _node_class, c, c.name, c.count)
            for i, c in enumerate(spec.class_)
        ]
    else:
        stated = cluster_nodes(document)
        count = stated if stated is not None else trace.suggested_nodes
        if count is None:
            raise ScenarioError(
                f"{document.source.where(('cluster',))}: the trace does not say how large its machine was; "
                "give nodes in [cluster] (or --nodes)"
            )
        watts = build_watts(document, trace)
        classes = [watts.of(document.located(("cluster",), _node_class, spec, watts.unit, count))]
    if document.spec.kind or document.spec.kinds is not None:  # jobs of kinds say how far they can be capped
        lowest_w = min(kind.floor_w for kind in build_kinds(document, None))
        classes = [replace(c, min_cap_w=min(c.max_w, lowest_w)) if math.isnan(c.min_cap_w) else c for c in classes]
    cluster: Cluster = document.located(("cluster", "class"), Cluster, tuple(classes), spec.name)
    cluster = replace(cluster, outages=tuple(_outages(document, trace, cluster.nodes)))
    network = build_network(document)
    wired: Cluster = document.located(("network", "topology"), replace, cluster, network=network)
    return wired


def _node_class(spec: NodesSpec, name: str, count: int) -> NodeClass:
    from wattline.model.cluster import Level, NodeClass, Sleep

    sleep = spec.sleep
    return NodeClass(
        name=name,
        count=count,
        idle_w=spec.idle,
        max_w=spec.max,
        min_cap_w=math.nan if spec.min_cap is None else spec.min_cap,
        sleep=None if sleep is None else Sleep(sleep.power, sleep.after, sleep.entry, sleep.exit),
        levels=tuple(Level(level.rate, level.busy, level.idle) for level in spec.levels),
    )


def _outages(document: Document, trace: Trace, nodes: int) -> list[Outage]:
    from wattline.model.cluster import Outage
    from wattline.scenario.jobs import random_outages

    spec = document.spec.cluster
    start_s = float(trace.jobs.submit_s[0])
    planned = []
    for i, outage in enumerate(spec.outage):
        for first, count in node_ranges(outage.nodes):
            if first + count > nodes:
                raise document.source.error(
                    ("cluster", "outage", i, "nodes"),
                    f"the cluster has nodes 0-{nodes - 1}, got {first}-{first + count - 1}",
                )
            times_s = (start_s + outage.start, start_s + outage.end)
            planned.append(document.located(("cluster", "outage", i), Outage, *times_s, first, count, outage.drain))
    if spec.failures is None:
        return planned
    seed = spec.failures.seed if spec.failures.seed is not None else document.spec.seed
    found: list[Outage] = document.located(
        ("cluster", "failures", "mtbf"), random_outages, spec.failures, seed, nodes, trace.jobs, planned
    )
    return planned + found
