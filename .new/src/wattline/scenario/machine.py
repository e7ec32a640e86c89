"""The machine of a scenario with its network, and the power limit that it stays under."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from wattline.scenario.documents import Document
from wattline.scenario.parts import build_kinds, cluster_nodes
from wattline.scenario.read.steps import rounds
from wattline.scenario.sections import limit
from wattline.scenario.sections.budget import build_budgets, system_limit
from wattline.scenario.sections.cluster import cluster
from wattline.scenario.sections.network import build_network
from wattline.scenario.sections.policy import check_caps
from wattline.scenario.sections.trace import clock_of, run_bound_s
from wattline.scenario.watts import build_watts

if TYPE_CHECKING:
    from wattline.model.budget import BudgetTree
    from wattline.model.cluster import Cluster
    from wattline.model.jobs import JobTable
    from wattline.reading.notes import Trace


def build_cluster(document: Document, trace: Trace) -> Cluster:
    """Return the machine: stated, or as large as the trace says its own was; watts are those of what is scheduled."""
    spec, context = document.spec, document.context
    stated = cluster_nodes(document)
    found = cluster.build_cluster(
        spec.cluster,
        context,
        build_watts(document, trace),
        stated if stated is not None else trace.suggested_nodes,
        build_kinds(document, None) if spec.has_kinds else (),
        clock_of(spec.trace, trace.jobs)[0],
        run_bound_s(trace.jobs),
    )
    network = build_network(spec.network, context)
    wired: Cluster = context.located(("network", "topology"), replace, found, network=network)
    return wired


def build_tree(document: Document, jobs: JobTable, machine: Cluster) -> BudgetTree:
    """Return the budgets of a scenario; this machine asks for what all its nodes draw."""
    machine_w = sum(node_class.count * node_class.max_w for node_class in machine.classes)
    return build_budgets(document.spec.budget, document.context, run_bound_s(jobs), machine_w)


def build_limit(document: Document, jobs: JobTable, machine: Cluster) -> list[tuple[float, float]]:
    """Return the power limit as (seconds since the run began, watts); refuse one that means nothing here."""
    spec, context, nested = document.spec, document.context, bool(document.spec.budget)
    if nested:
        steps = system_limit(spec.budget, build_tree(document, jobs, machine))
    else:
        steps = limit.build_limit(spec.limit, context, run_bound_s(jobs))
    check_caps(spec.policy, context, machine, jobs)
    assumed_idle_w = spec.cluster.assumed_idle_w
    limit.check_rest(spec.limit, context, steps, machine, nested=nested, assumed_idle_w=assumed_idle_w)
    return steps


def repeated_s(document: Document, jobs: JobTable, steps: Sequence[tuple[float, float]]) -> float:
    """Return for how long after it began the limit's steps are repeated (infinite: no repetition changes it)."""
    spec, bound_s = document.spec, run_bound_s(jobs)
    changes = [time_s for (time_s, watts), (_, before) in zip(steps[1:], steps, strict=False) if watts != before]
    ends = []
    for every_s in filter(None, (spec.limit.repeat, *(part.repeat for part in spec.budget))):
        end_s = rounds(every_s, bound_s) * every_s
        if any(end_s - every_s <= time_s <= end_s for time_s in changes):  # in the last round, and so in the next ones
            ends.append(end_s)
    return min(ends, default=math.inf)


def failing_s(document: Document, jobs: JobTable) -> float:
    """Return for how long after it began nodes fail at random (infinite: none does)."""
    return math.inf if document.spec.cluster.failures is None else run_bound_s(jobs)
