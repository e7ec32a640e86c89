"""A whole scenario: every section, and the checks across them.

The reference (``docs/scenario.md``) is printed from here. A key belongs into the file of its section.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from pydantic import Field

from wattline.scenario.read.base import KeyPath, Problem, Section
from wattline.scenario.read.quantities import FolderName, Seed
from wattline.scenario.sections.bid import BidSpec
from wattline.scenario.sections.bounds import BoundsSpec, check_bounds
from wattline.scenario.sections.budget import BudgetSpec, check_budgets
from wattline.scenario.sections.cluster.cluster import ClusterSpec, check_cluster
from wattline.scenario.sections.cluster.variability import check_variability
from wattline.scenario.sections.configurations import ConfigurationsSpec, check_configurations
from wattline.scenario.sections.kinds import KindSpec, Workload, check_kinds
from wattline.scenario.sections.late import LateSpec, check_late
from wattline.scenario.sections.limit import LimitSpec, check_limit, has_limit
from wattline.scenario.sections.network import NetworkSpec
from wattline.scenario.sections.output import OutputSpec
from wattline.scenario.sections.policy import PolicySpec, check_policy
from wattline.scenario.sections.prices import PricesSpec, check_prices
from wattline.scenario.sections.profiles import ProfilesSpec, check_profiles
from wattline.scenario.sections.regulation.regulation import RegulationSpec, check_regulation
from wattline.scenario.sections.resources import ResourceSpec, check_resources
from wattline.scenario.sections.run import RunSpec, check_run
from wattline.scenario.sections.sweep import Swept
from wattline.scenario.sections.trace import TraceSpec, check_trace, end_of_drawing_s

SCHEMA = 1
"""Version of the scenario layout that this Wattline reads and writes."""


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
    late: LateSpec | None = Field(None, description="how late the machine is")
    limit: LimitSpec = Field(default_factory=LimitSpec, description="the power limit")
    budget: list[BudgetSpec] = Field(default_factory=list, description="budgets that nest, in the place of a limit")
    configurations: list[ConfigurationsSpec] = Field(
        default_factory=list, description="tables of moldable applications"
    )
    resource: list[ResourceSpec] = Field(
        default_factory=list,
        exclude_if=lambda value: not value,  # a scenario without any keeps its hash
        description="what jobs share beside nodes and watts",
    )
    bounds: BoundsSpec = Field(default_factory=BoundsSpec, description="what a job and a node may draw")
    profiles: ProfilesSpec = Field(default_factory=ProfilesSpec, description="how the power of jobs is learned")
    output: OutputSpec = Field(default_factory=OutputSpec, description="what is written")
    kinds: Workload = Field(None, description="published kinds of job, or a file of them")
    kind: list[KindSpec] = Field(default_factory=list, description="kinds of job")
    regulation: RegulationSpec | None = Field(None, description="the regulation market")
    bid: BidSpec = Field(default_factory=BidSpec, description="how a bid is chosen")
    prices: PricesSpec | None = Field(None, description="prices and carbon over time")
    sweep: Swept = Field(
        None,
        exclude_if=lambda value: value is None,  # a single run has none, and keeps its hash
        description="values that keys take in turn, for `wattline sweep` and `compare`; also `seeds` (runs of each "
        "combination) and `zipped` (lists of keys that move together)",
    )

    @property
    def limited(self) -> bool:
        """Whether the power is limited, in whichever way."""
        return has_limit(self.limit, nested=bool(self.budget))

    @property
    def has_kinds(self) -> bool:
        """Whether kinds of job are declared."""
        return bool(self.kind) or self.kinds is not None


def cross_check(spec: Spec, overrides: Collection[KeyPath] = ()) -> Iterator[Problem]:
    """Yield every problem of a spec whose keys are right one by one.

    Of two keys the one that was overridden is blamed.
    """
    regulated, moldable = spec.regulation is not None, bool(spec.configurations)
    by_priority = any(m.name == "priority" for m in spec.policy.order)
    yield from check_trace(spec.trace)
    yield from check_cluster(spec.cluster, overrides)
    yield from check_limit(spec.limit, nested=bool(spec.budget))
    yield from check_run(spec.run, regulated=regulated)
    yield from check_profiles(spec.profiles, learns=spec.policy.learns_power)
    yield from check_budgets(spec.budget, spec.limit)
    yield from check_configurations(spec.configurations)
    yield from check_resources(spec.resource, moldable=moldable)
    yield from check_bounds(spec.bounds, moldable=moldable, by_priority=by_priority)
    yield from check_variability(spec.cluster.variability, moldable=moldable)
    yield from check_kinds(spec.kinds, spec.kind, spec.trace, spec.cluster)
    ends_s = end_of_drawing_s(spec.trace, spec.run.until)
    yield from check_regulation(spec.regulation, spec.policy, spec.run, ends_s)
    yield from check_policy(spec.policy, regulated=regulated)
    yield from check_prices(spec.prices, regulated=regulated)
    yield from check_late(spec.late, [m.name for m in spec.policy.cap if m.name == "leftover"])
