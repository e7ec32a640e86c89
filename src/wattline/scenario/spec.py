"""What a scenario file may say: every section and key, its type, default and meaning.

The reference is printed from here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from wattline.formats.jobs import FORMATS
from wattline.scenario.quantities import (
    Count,
    Duration,
    Finite,
    FolderName,
    Name,
    Period,
    Power,
    Rate,
    Seed,
    Span,
    Words,
)
from wattline.scenario.section import Section
from wattline.scenario.spec_budget import BudgetSpec
from wattline.scenario.spec_configurations import BoundsSpec, ConfigurationsSpec, VariabilitySpec
from wattline.scenario.spec_network import NetworkSpec
from wattline.scenario.spec_power import LimitSpec, ProfilesSpec
from wattline.scenario.spec_prices import PricesSpec
from wattline.scenario.spec_regulation import BidSpec, KindSpec, RegulationSpec, Workload

if TYPE_CHECKING:
    Format = str
else:
    Format = Literal[FORMATS]
"""Names of the formats of job logs."""

SCHEMA = 1
"""Version of the scenario layout that this Wattline reads and writes."""

IDLE_W, MAX_W = 100.0, 300.0
"""Power per node, idle and busy, when nobody gives it: a plain two-socket server."""


class JobTypeSpec(Section):
    """A type of job that a generator draws from."""

    name: Name = Field(description="name of the type; it becomes the job's kind")
    nodes: Count = Field(description="nodes of every job of this type")
    mean: Span = Field(description="mean run time")
    min: Span = Field(0.0, description="least run time")
    law: Literal["deterministic", "exponential", "lognormal", "uniform"] = Field(
        "exponential", description="law of the run time"
    )
    cv: Finite = Field(1.0, gt=0, description="coefficient of variation of a lognormal run time")
    share: Finite = Field(1.0, ge=0, description="weight among all arrivals")
    rate: Rate | None = Field(None, description="arrival rate of this type alone (give it to all types or to none)")
    power: Power | None = Field(None, description="power per node when uncapped (default: `max` of the node class)")
    floor: Power | None = Field(
        None, description="power per node at its lowest cap (default: `min_cap` of the node class)"
    )
    stretch: Finite | None = Field(None, ge=1, description="run time at `floor` over run time uncapped")
    class_: str | None = Field(
        None, alias="class", description="node class that runs it (default: the first wide enough)"
    )


class PhaseSpec(Section):
    """A phase of the bursty generator."""

    rate: Rate = Field(description="arrivals in this phase")
    dwell: Span = Field(gt=0, description="mean time in this phase")


class RequestsSpec(Section):
    """How users set the time limits of generated jobs."""

    model: Literal["none", "exact", "factor", "rounded"] = Field(
        "exact",
        description="`none`, `exact`, run time × U(1, `max_factor`), or that `rounded` up to values people like",
    )
    max_factor: Finite = Field(5.0, ge=1, description="largest overestimate")


class TraceSpec(Section):
    """Where the jobs come from: a `file` or a `generator`."""

    file: str | None = Field(
        None,
        description="job log, or the folder of a journal, relative to the scenario file",
    )
    format: Format | None = Field(None, description="format of the file (default: by content)")
    cores_per_node: Count | None = Field(
        None,
        description="processors of the log that make one node (default: as an SWF header and its jobs say; else 1)",
    )
    strict: bool = Field(False, description="refuse a file with records that would be dropped or repaired")  # noqa: FBT003
    generator: Literal["poisson", "lublin", "bursty", "kinds", "meggie-like", "emmy-like", "mira-like"] | None = Field(
        None, description="draw the jobs instead of reading them"
    )
    duration: Span | None = Field(
        None,
        gt=0,
        description="time in which jobs arrive (kinds: 3 h, and the run ends with it; meggie-like and emmy-like: 5 d; "
        "mira-like: 365 d)",
    )
    jobs: Count | None = Field(
        None, description="jobs to draw (default 1000), or how many to keep from the file's start"
    )
    load: Finite | None = Field(
        None, gt=0, description="offered load; the gaps between submissions are scaled to reach it"
    )
    full_machine: Finite | None = Field(
        None, ge=0, lt=1, description="share of jobs that take the whole machine (mira-like; default 0.001)"
    )
    seed: Seed | None = Field(None, description="seed of the generator (default: the scenario's)")
    rate: Rate | None = Field(None, description="arrivals of all types together (poisson)")
    mix: Literal["combined", "typed"] | None = Field(
        None, description="one stream of jobs, or batch and interactive (lublin)"
    )
    users: Count | None = Field(
        None, le=1_000_000, description="users that submit the generated jobs of each type (default: unknown)"
    )
    requests: RequestsSpec | None = Field(None, description="time limits of generated jobs")
    type: list[JobTypeSpec] = Field(default_factory=list, description="types of jobs (poisson, bursty)")
    phase: list[PhaseSpec] = Field(default_factory=list, description="phases of arrivals (bursty)")


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

    idle: Power = Field(IDLE_W, description="power per idle node")
    max: Power = Field(MAX_W, description="power per busy node whose job says nothing else")
    min_cap: Power | None = Field(None, description="lowest cap the hardware takes (default: cannot be capped)")
    sleep: SleepSpec | None = Field(None, description="sleep state")
    levels: list[LevelSpec] = Field(default_factory=list, description="discrete speeds, slowest first")


class ClassSpec(NodesSpec):
    """A class of equal nodes; jobs whose partition has its name run there."""

    name: Name = Field(description="name of the class")
    count: Count = Field(description="nodes in it")


class OutageSpec(Section):
    """Nodes that are out of service for a while."""

    start: Duration = Field(description="from, since the first submission")
    end: Duration = Field(description="until, since the first submission")
    nodes: Annotated[
        list[str],
        BeforeValidator(lambda v: [v] if isinstance(v, str) else v),
        Words('range `"first-last"` of node numbers from 0, or a list of ranges'),
    ] = Field(description="which nodes")
    drain: bool = Field(False, description="let running jobs finish instead of stopping them")  # noqa: FBT003


class FailuresSpec(Section):
    """Nodes that fail at random, each by itself, until twice the trace's span has passed."""

    mtbf: Duration = Field(gt=0, description="mean time between failures of one node")
    repair: Span = Field(gt=0, description="mean time to repair it")
    seed: Seed | None = Field(None, description="seed of the failures (default: the scenario's)")


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


class MechanismSpec(Section):
    """One policy: its name or path and its parameters."""

    name: str
    params: dict[str, float] = Field(default_factory=dict)


def _mechanisms(value: Any) -> Any:
    """Normalise a name, a table with a name, or a list of these."""
    items = value if isinstance(value, list) else [value]
    out: list[dict[str, Any]] = []
    for item in items:
        if isinstance(item, str):
            out.append({"name": item})
        elif isinstance(item, dict) and isinstance(item.get("name"), str):
            out.append({"name": item["name"], "params": {k: v for k, v in item.items() if k != "name"}})
        elif isinstance(item, MechanismSpec):
            out.append({"name": item.name, "params": item.params})
        else:
            raise PydanticCustomError("policy", "{text}", {"text": f"expected a policy's name, got {item!r}"})
    if not out:
        raise PydanticCustomError("policy", "{text}", {"text": "expected at least one policy, got an empty list"})
    return out


Mechanisms = Annotated[
    list[MechanismSpec],
    BeforeValidator(_mechanisms),
    Words(
        "name, path of a `.py` file (`file.py` or `file.py:name`), table `{name = …, parameter = …}`, or a list to compare"
    ),
]


def _default(name: str) -> Any:
    return lambda: [MechanismSpec(name=name)]


class PolicySpec(Section):
    """Who decides. A list of policies in a slot makes a scenario to `compare`."""

    order: Mechanisms = Field(default_factory=_default("fcfs"), description="order of the queue")
    select: Mechanisms = Field(default_factory=_default("easy"), description="which waiting jobs start")
    place: Mechanisms = Field(default_factory=_default("lowest"), description="on which nodes")
    cap: Mechanisms = Field(default_factory=_default("none"), description="caps and speeds")
    learn: Mechanisms = Field(default_factory=_default("request"), description="estimates of run times")
    profile: Mechanisms = Field(
        default_factory=_default("known"), description="the power of jobs that admission counts with"
    )
    bid: Mechanisms = Field(
        default_factory=_default("given"),
        description="what to promise the grid every hour (`given`: as [regulation] says)",
    )


class RunSpec(Section):
    """How the run is carried out."""

    ties: Literal["instant", "event"] = Field(
        "instant", description="one scheduling pass per instant, or after every single event"
    )
    kill: bool = Field(False, description="end jobs at their requested time")  # noqa: FBT003
    requeue: bool = Field(True, description="queue jobs again that lost a node (otherwise they fail)")  # noqa: FBT003
    keep_progress: bool = Field(False, description="queued again, a job keeps the work it has done")  # noqa: FBT003
    tick: Period = Field(
        math.inf, description="period of the control tick (default: none, or `control` of the regulation)"
    )
    passes: Literal["events", "ticks"] = Field(
        "events", description="decide whenever something happens, or at ticks only (a scheduling quantum)"
    )
    until: Duration = Field(
        math.inf, gt=0, description="stop this long after the first submission (default: when all is done)"
    )
    backlog: bool = Field(False, description="log the remaining work over time (slower)")  # noqa: FBT003


class OutputSpec(Section):
    """What is written, and where."""

    folder: str | None = Field(
        None,
        description="folder of the journal (default: `out/` and the scenario's name); `compare` adds `-comparison`",
    )
    report: bool = Field(True, description="write the HTML report")  # noqa: FBT003
    placements: bool = Field(True, description="log which nodes every job held (the Gantt chart needs it)")  # noqa: FBT003
    decisions: bool = Field(True, description="log what policies proposed and what became of it")  # noqa: FBT003


class Spec(Section):
    """A whole scenario."""

    schema_: int = Field(SCHEMA, alias="schema", description="version of this layout")
    name: FolderName = Field("", description="name of the run (default: the file's name)")
    seed: Seed = Field(1, description="seed of everything random")
    trace: TraceSpec = Field(description="the jobs")
    cluster: ClusterSpec = Field(default_factory=ClusterSpec, description="the machine")
    network: NetworkSpec | None = Field(None, description="the network between the nodes")
    policy: PolicySpec = Field(default_factory=PolicySpec, description="the policies")
    run: RunSpec = Field(default_factory=RunSpec, description="how it is run")
    limit: LimitSpec = Field(default_factory=LimitSpec, description="the power limit")
    budget: list[BudgetSpec] = Field(default_factory=list, description="budgets that nest, in the place of a limit")
    configurations: list[ConfigurationsSpec] = Field(
        default_factory=list, description="tables of moldable applications"
    )
    bounds: BoundsSpec = Field(default_factory=BoundsSpec, description="what a job and a node may draw")
    profiles: ProfilesSpec = Field(default_factory=ProfilesSpec, description="how the power of jobs is learned")
    output: OutputSpec = Field(default_factory=OutputSpec, description="what is written")
    kinds: Workload = Field(None, description="published kinds of job, or a file of them")
    kind: list[KindSpec] = Field(default_factory=list, description="kinds of job")
    regulation: RegulationSpec | None = Field(None, description="the regulation market")
    bid: BidSpec = Field(default_factory=BidSpec, description="how a bid is chosen")
    prices: PricesSpec | None = Field(None, description="prices and carbon over time")
