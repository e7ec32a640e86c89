"""On what the watts of a run rest: they are given, or assumed because a question needs them, or not known."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from wattline.scenario.built.watts import Basis, Watts
from wattline.scenario.documents import Document
from wattline.scenario.parts import cluster_nodes
from wattline.units import show_power

if TYPE_CHECKING:
    from wattline.reading.machine import Unit
    from wattline.reading.notes import Trace

_OWN = ("idle", "max", "levels")
"""Keys that give a node's watts."""

_ASSUMED = "ASSUMED POWER"

HOW = "give idle and max of [cluster] (replay: --idle-power, --max-power), both of a node"


def build_watts(document: Document, trace: Trace) -> Watts:
    """Return the basis of a scenario's watts.

    A log that is replayed without watts, and without a question that needs any, has none. Watts that are given are a
    node's where the size of the machine comes from the log's header; where the user counts nodes, they are of what the
    user counts.
    """
    cluster = document.spec.cluster
    given = {key for c in (cluster, *cluster.class_) for key in _OWN if key in c.model_fields_set}
    basis: Basis = "given" if given else "assumed"
    if not given and document.spec.trace.file is not None and not asks_for_watts(document, trace):
        basis = "unknown"
    machine = trace.machine
    unit: Unit = "node" if machine is None or cluster.class_ else machine.unit
    from_header = cluster.nodes is None and not cluster.class_ and document.spec.network is None
    divide = machine.per_node if machine is not None and unit == "processor" and (from_header or not given) else 1
    words = _words(document, trace, basis, given, unit, divide)
    return Watts("assumed" if words.startswith(_ASSUMED) else basis, unit, divide, words)


def asks_for_watts(document: Document, trace: Trace) -> bool:
    """Tell whether something in a scenario depends on watts: a limit, a bill, sleep, caps, jobs that say what they
    draw.
    """
    spec, jobs = document.spec, trace.jobs
    nodes = (spec.cluster, *spec.cluster.class_)
    policies = {slot: [m.name for m in getattr(spec.policy, slot)] for slot in ("cap", "profile", "bid")}
    return bool(
        spec.limited
        or spec.prices is not None
        or spec.regulation is not None
        or spec.has_kinds
        or spec.configurations
        or spec.bounds.model_fields_set
        or spec.cluster.variability is not None
        or any(c.sleep is not None or c.min_cap is not None for c in nodes)
        or policies != {"cap": ["none"], "profile": ["known"], "bid": ["given"]}
        or jobs.series is not None
        or np.isfinite(jobs.draw_w).any()
    )


def _words(document: Document, trace: Trace, basis: Basis, given: set[str], unit: Unit, divide: int) -> str:
    cluster = document.spec.cluster
    if basis == "unknown":
        return f"power: not reported, because no watts were given; {HOW}"
    if cluster.class_ or "levels" in given:
        return ""
    known = int(np.isfinite(trace.jobs.draw_w).sum())
    own = f"; {known:,} of {len(trace.jobs):,} jobs say what they draw themselves" if known else ""
    watts = {"idle": cluster.idle, "max": cluster.max if known < len(trace.jobs) else math.nan}
    names = {"idle": "idle", "max": "busy"}

    def told(keys: set[str]) -> str:
        shown = {key: value for key, value in watts.items() if key in keys and not math.isnan(value)}
        if not shown:
            return ""
        each = " and ".join(f"{show_power(value)} {names[key]}" for key, value in shown.items())
        less = " and ".join(show_power(value / divide) for value in shown.values())
        return f"{each} a node, {less} a processor (÷ {divide})" if divide > 1 else f"{each} a {unit}"

    assumed = told(set(watts) - given)
    if assumed:
        also = f"; {told(given)} as given" if told(given) else ""
        return f"{_ASSUMED}: {assumed}, because none was given{also}{own}{_in_all(document, trace, divide)}; {HOW}"
    return f"power: {told(given)}, as given{own}" if unit == "processor" else ""


def _in_all(document: Document, trace: Trace, divide: int) -> str:
    """Return the watts of the whole machine, which show at a glance whether those of a node can be right."""
    cluster, stated = document.spec.cluster, cluster_nodes(document)
    count = stated if stated is not None else trace.suggested_nodes
    if count is None:
        return ""
    names = {"idle": cluster.idle, "busy": cluster.max}
    if np.isfinite(trace.jobs.draw_w).all():  # no job draws what a node may
        del names["busy"]
    told = ", ".join(f"{show_power(value * count / divide)} {name}" for name, value in names.items())
    return f"; in all {told}"
