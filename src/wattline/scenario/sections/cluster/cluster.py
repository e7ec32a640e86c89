"""[cluster]: the machine, its node classes and what their nodes draw."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import Field

from wattline.errors import ScenarioError
from wattline.model.cluster import Cluster, Level, NodeClass, Sleep
from wattline.scenario.built.watts import Watts
from wattline.scenario.read.base import KeyPath, Problem, Section
from wattline.scenario.read.quantities import Count, Duration, Finite, Name, Power, Span
from wattline.scenario.read.source import Context
from wattline.scenario.sections.cluster.outages import FailuresSpec, OutageSpec, build_outages, check_outages
from wattline.scenario.sections.cluster.variability import VariabilitySpec
from wattline.units import show_power

if TYPE_CHECKING:
    from wattline.model.kinds import Kind

IDLE_W, MAX_W = 100.0, 300.0
"""Power per node, idle and busy, where the scenario gives none: a plain two-socket server."""


class SleepSpec(Section):
    """A sleep state that idle nodes enter by themselves."""

    power: Power = Field(description="power per node asleep")
    after: Duration = Field(description="idle time before a node goes to sleep")
    entry: Span = Field(0.0, description="time to fall asleep, at idle power")
    exit: Span = Field(0.0, description="time to wake, at `max` power")


class LevelSpec(Section):
    """A speed of the nodes, slowest first."""

    rate: Finite = Field(gt=0, description="progress per second (1: full speed)")
    busy: Power = Field(description="power per busy node")
    idle: Power = Field(description="power per idle node")


class NodesSpec(Section):
    """Power of the nodes of a class."""

    idle: Power = Field(IDLE_W, description="power per idle node (with `levels`, theirs)")
    max: Power = Field(
        MAX_W,
        description="power per busy node whose job says nothing else, at full speed (with `levels` the default is that "
        "of rate 1, or else of the fastest)",
    )
    min_cap: Power | None = Field(
        None,
        description="lowest cap the hardware takes, in watts of the whole node, `idle` or more (default: only jobs "
        "with a `floor` of their own can be capped)",
    )
    sleep: SleepSpec | None = Field(None, description="sleep state")
    levels: list[LevelSpec] = Field(
        default_factory=list,
        description="discrete speeds, slowest first; a job that says what it draws draws `busy` ÷ `max` of that",
    )

    @property
    def full_speed(self) -> LevelSpec | None:
        """The level of rate 1, or else the fastest (None: there are no levels)."""
        return next((level for level in self.levels if level.rate == 1.0), self.levels[-1] if self.levels else None)

    @property
    def rest_w(self) -> float:
        """Power of an idle node with which a run begins."""
        return self.levels[-1].idle if self.levels else self.idle

    @property
    def full_w(self) -> float:
        """Power of a busy node whose job says nothing else, at full speed."""
        return self.full_speed.busy if self.full_speed and "max" not in self.model_fields_set else self.max


class ClassSpec(NodesSpec):
    """A class of equal nodes; jobs whose partition has its name run there."""

    name: Name = Field(description="name of the class")
    count: Count = Field(description="nodes in it")


class ClusterSpec(NodesSpec):
    """The machine: `nodes` equal ones, or classes."""

    name: Name = Field("cluster", description="name, for the report")
    nodes: Count | None = Field(
        None, description="number of nodes (default: those of the network, or what the trace's header says)"
    )
    class_: list[ClassSpec] = Field(default_factory=list, alias="class", description="node classes, instead of `nodes`")
    outage: list[OutageSpec] = Field(default_factory=list, description="planned outages")
    failures: FailuresSpec | None = Field(None, description="random failures")
    variability: VariabilitySpec | None = Field(None, description="nodes that differ in power")

    @property
    def nodes_change(self) -> bool:
        """Whether nodes go out of service or to sleep."""
        classes: list[NodesSpec] = [self, *self.class_]
        return bool(self.outage) or self.failures is not None or any(c.sleep is not None for c in classes)

    @property
    def stated_nodes(self) -> int | None:
        """Number of nodes, where the section states it."""
        return sum(c.count for c in self.class_) if self.class_ else self.nodes

    @property
    def assumed_idle_w(self) -> float | None:
        """Idle power of a node, where the scenario gives none and it is assumed; None where it is given."""
        return None if {"idle", "levels", "class_"} & self.model_fields_set else self.idle


def check_cluster(spec: ClusterSpec, overrides: Collection[KeyPath]) -> Iterator[Problem]:
    """Yield every problem of the machine; of two keys that contradict each other the overridden one is blamed."""
    if spec.class_:
        for key in ("nodes", "idle", "max", "min_cap", "sleep", "levels"):
            if key in spec.model_fields_set:
                yield ("cluster", key), "belongs into [[cluster.class]] when there are classes"
    yield from check_outages(spec.outage)
    yield from _check_nodes(("cluster",), spec, overrides)
    for i, node_class in enumerate(spec.class_):
        yield from _check_nodes(("cluster", "class", i), node_class, overrides)


def _check_nodes(here: KeyPath, nodes: NodesSpec, overrides: Collection[KeyPath]) -> Iterator[Problem]:
    """Yield every problem of the nodes of a class; of two keys the one that was overridden is blamed."""
    yield from _powers(here, nodes, overrides)
    yield from _levels(here, nodes)
    yield from _sleep(here, nodes)
    if nodes.min_cap is not None and nodes.min_cap > nodes.full_w:
        yield (*here, "min_cap"), f"the lowest cap ({show_power(nodes.min_cap)}) is above {_told(nodes, 'max')}"
    if nodes.min_cap is not None and nodes.min_cap < nodes.rest_w <= nodes.full_w:
        key = "idle" if (*here, "idle") in overrides and (*here, "min_cap") not in overrides else "min_cap"
        told = f"no cap ({show_power(nodes.min_cap)}) holds a busy node below an idle one ({_told(nodes, 'idle')})"
        yield (*here, key), told


def _powers(here: KeyPath, nodes: NodesSpec, overrides: Collection[KeyPath]) -> Iterator[Problem]:
    if nodes.rest_w <= nodes.full_w or (nodes.levels and "max" not in nodes.model_fields_set):
        return  # what is wrong within a level is told there
    key = min(("max", "idle"), key=lambda k: ((*here, k) not in overrides, k not in nodes.model_fields_set))
    told = f"a busy node ({_told(nodes, 'max')}) cannot draw less than an idle one ({_told(nodes, 'idle')})"
    yield (*here, key), told


def _told(nodes: NodesSpec, key: str) -> str:
    default = "" if key in nodes.model_fields_set else ", the default"
    watts = nodes.full_w if key == "max" else nodes.rest_w
    return f"{key} = {show_power(watts)}{default}"


def _levels(here: KeyPath, nodes: NodesSpec) -> Iterator[Problem]:
    rate = 0.0
    for i, level in enumerate(nodes.levels):
        if not level.rate > rate:
            told = f"levels come slowest first: rate = {level.rate:g} follows {rate:g}"
            yield (*here, "levels", i, "rate"), told
        if level.idle > level.busy:
            told = (
                f"a busy node ({show_power(level.busy)}) cannot draw less than an idle one ({show_power(level.idle)})"
            )
            yield (*here, "levels", i, "busy"), told
        rate = level.rate
    full = nodes.full_speed
    if full is None:
        return
    for key, watts in (("idle", full.idle), ("max", full.busy)):
        said = getattr(nodes, key)
        slower = key == "max" and full.rate != 1.0  # then max is the power at a speed that nodes are never run at
        if key in nodes.model_fields_set and said != watts and not slower:
            told = f"{show_power(said)}, but the level of rate {full.rate:g} says {show_power(watts)}; leave {key} out"
            yield (*here, key), told


def _sleep(here: KeyPath, nodes: NodesSpec) -> Iterator[Problem]:
    if nodes.sleep is None:
        return
    idle_w = max((level.idle for level in nodes.levels), default=nodes.idle)
    if nodes.sleep.power > idle_w:
        told = (
            f"a node asleep ({show_power(nodes.sleep.power)}) cannot draw more than an idle one ({show_power(idle_w)})"
        )
        yield (*here, "sleep", "power"), told


def build_cluster(
    spec: ClusterSpec,
    context: Context,
    watts: Watts,
    count: int | None,
    kinds: Sequence[Kind],
    start_s: float,
    run_s: float,
) -> Cluster:
    """Return the machine without its network.

    ``count`` nodes are those that are stated, or those that the trace's own machine had (None: not known). Watts are
    those of what is scheduled. ``kinds`` say how far their jobs can be capped. Nodes fail until ``run_s`` seconds after
    ``start_s``.
    """
    if spec.class_:
        classes = [
            context.located(("cluster", "class", i), _node_class, c, c.name, c.count) for i, c in enumerate(spec.class_)
        ]
    elif count is None:
        raise ScenarioError(
            f"{context.source.where(('cluster',))}: the trace does not say how large its machine was; "
            "give nodes in [cluster] (or --nodes)"
        )
    else:
        classes = [watts.of(context.located(("cluster",), _node_class, spec, watts.unit, count))]
    if kinds:  # jobs of kinds say how far they can be capped
        lowest_w = min(kind.floor_w for kind in kinds)
        classes = [replace(c, min_cap_w=min(c.max_w, lowest_w)) if math.isnan(c.min_cap_w) else c for c in classes]
    cluster: Cluster = context.located(("cluster", "class"), Cluster, tuple(classes), spec.name)
    outages = build_outages(spec.outage, spec.failures, context, cluster.nodes, start_s, run_s)
    return replace(cluster, outages=tuple(outages))


def _node_class(spec: NodesSpec, name: str, count: int) -> NodeClass:
    sleep = spec.sleep
    return NodeClass(
        name=name,
        count=count,
        idle_w=spec.rest_w,
        max_w=spec.full_w,
        min_cap_w=math.nan if spec.min_cap is None else spec.min_cap,
        sleep=None if sleep is None else Sleep(sleep.power, sleep.after, sleep.entry, sleep.exit),
        levels=tuple(Level(level.rate, level.busy, level.idle) for level in spec.levels),
    )
