"""On what the watts of a run rest: somebody gave them, a question needs them so they are assumed, or nobody asks for
any.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from wattline.scenario.checks import has_limit
from wattline.units import show_power

if TYPE_CHECKING:
    from wattline.model.cluster import NodeClass
    from wattline.reading.machine import Unit
    from wattline.reading.notes import Trace
    from wattline.scenario.read import Document

Basis = Literal["given", "assumed", "unknown"]

_OWN = ("idle", "max", "levels")
"""Keys that give a node's watts."""

_POWER_COLUMNS = {
    "jobs": ("energy_j",),
    "timeline": ("power_w",),
    "classes": ("busy_energy_j", "idle_energy_j", "sleep_energy_j", "boot_energy_j"),
}
"""What a journal leaves empty where no watts were given."""

_ASSUMED = "ASSUMED POWER"

HOW = "give idle and max of [cluster] (replay: --idle-power, --max-power), both of a node"


@dataclass(frozen=True)
class Watts:
    """The basis of a run's watts, what they are watts of, and by how many processors a node's are divided for that.

    ``words`` say it for people; "" where all of it was given, for nodes.
    """

    basis: Basis = "given"
    unit: Unit = "node"
    divide: int = 1
    words: str = ""

    @property
    def known(self) -> bool:
        """Whether power is reported at all."""
        return self.basis != "unknown"

    def of(self, node_class: NodeClass) -> NodeClass:
        """Return a class whose watts are those of the unit that is scheduled."""
        if self.divide == 1:
            return node_class
        part, sleep = 1.0 / self.divide, node_class.sleep
        return replace(
            node_class,
            idle_w=node_class.idle_w * part,
            max_w=node_class.max_w * part,
            min_cap_w=node_class.min_cap_w * part,
            sleep=None if sleep is None else replace(sleep, power_w=sleep.power_w * part),
            levels=tuple(replace(v, busy_w=v.busy_w * part, idle_w=v.idle_w * part) for v in node_class.levels),
        )


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
        has_limit(spec)
        or spec.prices is not None
        or spec.regulation is not None
        or spec.kind
        or spec.kinds is not None
        or spec.configurations
        or spec.bounds.model_fields_set
        or spec.cluster.variability is not None
        or any(c.sleep is not None or c.min_cap is not None for c in nodes)
        or policies != {"cap": ["none"], "profile": ["known"], "bid": ["given"]}
        or jobs.series is not None
        or np.isfinite(jobs.draw_w).any()
    )


def leave_power_out(tables: Mapping[str, Any], about: dict[str, Any]) -> None:
    """Take power and energy out of the tables and the manifest of a run whose watts nobody knows."""
    for table, columns in _POWER_COLUMNS.items():
        for column in columns:
            tables[table][column] = np.full(len(tables[table][column]), np.nan)
    about["totals"] = dict.fromkeys(about["totals"])
    for node_class in about["cluster"]["classes"]:
        node_class |= {"idle_w": None, "max_w": None}


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
    from wattline.scenario.machine import cluster_nodes

    cluster, stated = document.spec.cluster, cluster_nodes(document)
    count = stated if stated is not None else trace.suggested_nodes
    if count is None:
        return ""
    names = {"idle": cluster.idle, "busy": cluster.max}
    if np.isfinite(trace.jobs.draw_w).all():  # no job draws what a node may
        del names["busy"]
    told = ", ".join(f"{show_power(value * count / divide)} {name}" for name, value in names.items())
    return f"; in all {told}"
