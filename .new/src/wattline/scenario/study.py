"""From a checked scenario to a run that is wired and ready: trace, machine, policies, options."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wattline.control.catalog import find
from wattline.errors import InputError
from wattline.files import refuse_journal_file
from wattline.journal.journal import write_journal
from wattline.report.count.recorded import recorded_entry
from wattline.report.count.statistics import describe
from wattline.scenario.built.billing import Billing
from wattline.scenario.built.watts import Watts, leave_power_out
from wattline.scenario.choices import Variant
from wattline.scenario.documents import Document
from wattline.scenario.inputs import refuse_input
from wattline.scenario.machine import build_cluster, build_limit, failing_s, repeated_s
from wattline.scenario.parts import baseline_select, build_kinds, build_policies, cluster_nodes
from wattline.scenario.read.base import KeyPath
from wattline.scenario.read.source import Context
from wattline.scenario.read.toml_text import to_toml
from wattline.scenario.sections.cluster.variability import build_variability
from wattline.scenario.sections.configurations import MoldableJobs, add_moldable, build_moldable, check_chooser
from wattline.scenario.sections.late import add_late, build_late
from wattline.scenario.sections.limit import add_limit
from wattline.scenario.sections.network import add_network
from wattline.scenario.sections.output import add_output
from wattline.scenario.sections.prices import build_billing
from wattline.scenario.sections.profiles import LearnedFiles, add_profiles, build_learned
from wattline.scenario.sections.regulation.regulation import Market, add_market, build_market, doubting, takes_part
from wattline.scenario.sections.resources import build_resources
from wattline.scenario.sections.run import add_run, check_ticks
from wattline.scenario.sections.trace import LIKE_DURATION_S, check_classes, clock_of, end_of_drawing_s
from wattline.scenario.traces import TraceCache
from wattline.scenario.watts import build_watts
from wattline.wiring.options import Options

if TYPE_CHECKING:
    from wattline.model.cluster import Cluster
    from wattline.model.mechanism import Mechanism
    from wattline.reading.notes import Note, Trace
    from wattline.sim.keeping import Keeper
    from wattline.sim.simulate import Progress
    from wattline.wiring.policies import Policies
    from wattline.wiring.result import Result

_KINDS = (
    "{m.called!r} treats jobs by their kinds: give [[kind]] tables, or kinds = … "
    "(wattline trace kinds finds them in a log)"
)
_TARGET = (
    "{m.slot} policy {m.called!r} follows a power target: give [regulation] mean and reserve, "
    "let wattline bid choose them (--write), or name a [policy] bid that makes them"
)
"""What the writer of a scenario can do, where the simulator refuses a policy."""

Steps = Sequence[tuple[float, float]]
"""A power limit as (seconds since the run began, watts)."""


@dataclass(frozen=True)
class Study:
    """A run, wired and ready: everything ``simulate`` takes, and what the journal says about where it came from."""

    name: str
    label: str
    seed: int
    trace: Trace
    cluster: Cluster
    policies: Policies
    options: Options
    scenario: str
    scenario_sha256: str
    trace_sha256: str = ""
    market: Market | None = None
    no_bid: bool = False
    """Whether there is a signal to follow, and no bid."""
    billing: Billing | None = None
    baseline: Study | None = None
    """The same jobs once more, in no market, to hold this run against."""
    learned: LearnedFiles = field(default_factory=LearnedFiles)
    watts: Watts = field(default_factory=Watts)
    """On what its watts rest; where they are unknown, the journal has none."""
    recorded: Mapping[str, Any] | None = None
    """The power that the log recorded of its jobs, if it did."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was done to the trace, to the signal and to series of prices before the run."""
        found = [*self.trace.notes]
        found += self.market.notes if self.market is not None else ()
        found += self.billing.notes if self.billing is not None else ()
        return tuple(found)

    def simulate(self, progress: Progress | None = None, keeper: Keeper | None = None) -> Result:
        """Run it, or carry it on from where its keeper has it."""
        from wattline.sim.simulate import Simulation

        run = Simulation(self.trace.jobs, self.cluster, self.policies, self.options, seed=self.seed)
        self.learned.begin(run)
        if keeper is not None:
            keeper.carry_on(run)
        result = run.run(progress, keeper)
        if keeper is not None and result.stopped != "interrupted":
            keeper.forget()
        return result

    def write(self, result: Result, folder: Path, *, resume: Mapping[str, Any] | None = None) -> None:
        """Write the journal of a run of this study; ``resume`` is the flush that carries on an interrupted one."""
        with self.learned.saving(result, folder):
            write_journal(folder, *self.tables(result, resume=resume))

    def tables(
        self, result: Result, *, resume: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the tables of a run of this study and what its manifest says, as a journal takes them."""
        from wattline.wiring.manifest import Known, manifest
        from wattline.wiring.tables import frames

        known = Known(
            machine=self._machine(),
            watts={"basis": self.watts.basis, "words": self.watts.words},
            kinds=self.options.kinds,
            regulation=None if self.market is None else self.market.manifest(),
            accounts=None if self.billing is None else self.billing.manifest(),
            resume=resume,
        )
        recorded_s = self.trace.jobs.recorded_wait_s
        if not np.isnan(recorded_s).all():
            known["recorded_wait_s"] = asdict(describe(recorded_s))
        if self.recorded is not None:
            known["recorded_power"] = dict(self.recorded)
        if self.trace.columns:
            known["columns"] = dict(self.trace.columns)
        if self.trace.zone is not None and not self.trace.zone_assumed:
            known["zone"] = self.trace.zone
        about = manifest(
            result,
            name=self.name,
            source=self.trace.source,
            notes=[asdict(note) for note in self.trace.notes],
            scenario=self.scenario,
            scenario_sha256=self.scenario_sha256,
            trace_sha256=self.trace_sha256,
            known=known,
        )
        tables = frames(result)
        if not self.watts.known:
            leave_power_out(tables, about)
        if self.billing is not None:
            tables["hours"] = self.billing.columns(result, tables["timeline"])
        return tables, about

    def _machine(self) -> dict[str, Any]:
        """Return what is scheduled, and what the log says of its machine."""
        found = self.trace.machine
        if found is None:
            return {"unit": self.watts.unit, "per_node": 1, "words": ""}
        return {"unit": self.watts.unit, "per_node": found.per_node, "words": found.words}


def wire(variant: Variant, *, seed: int | None = None, traces: TraceCache | None = None) -> Study:
    """Make a study of a variant; ``seed`` replaces the scenario's, ``traces`` shares traces among studies."""
    document = variant.document
    spec = document.spec if seed is None else document.spec.model_copy(update={"seed": seed})
    document = replace(document, spec=spec)
    context = document.context
    policies = build_policies(document)
    trace, trace_sha256 = (traces or TraceCache()).get(document)
    recorded = recorded_entry(trace.jobs, own_power=not spec.has_kinds) if spec.trace.file is not None else None
    cluster = build_cluster(document, trace)
    check_classes(spec.trace, context, [one.name for one in cluster.classes])
    market = _market(document, trace, cluster, policies)
    limit = build_limit(document, trace.jobs, cluster)
    moldable = _moldable(document, trace, cluster, policies, limit)
    trace = moldable.trace
    options = _options(document, trace, cluster, market, limit, moldable)
    resources, said = build_resources(spec.resource, context, trace.jobs)
    options, trace = replace(options, resources=resources), replace(trace, notes=(*trace.notes, *said))
    _check_needs(document, cluster, policies, options)
    start_s, arriving_s = clock_of(spec.trace, trace.jobs)
    hours = None if market is None else market.hours
    least_end_s = min(options.until_s, _last_that_fits_s(spec.trace.file, trace, cluster, start_s + arriving_s))
    text = document.text
    if seed is not None and seed != document.data.get("seed", 1):
        text = to_toml({**document.data, "seed": seed})
    study = Study(
        name=spec.name,
        label=variant.label,
        seed=spec.seed,
        trace=trace,
        cluster=cluster,
        policies=policies,
        options=options,
        scenario=text,
        scenario_sha256=content_sha256(document),
        trace_sha256=trace_sha256,
        market=market,
        no_bid=document.spec.regulation is not None and market is None,
        billing=build_billing(spec.prices, spec.regulation, context, trace, start_s, least_end_s, hours),
        learned=_learned(document, context, policies.profile),
        watts=build_watts(document, trace),
        recorded=recorded,
    )
    baseline = build_baseline(document, study, start_s)
    return baseline if variant.baseline and baseline is not None else replace(study, baseline=baseline)


def _learned(document: Document, context: Context, learner: Mechanism) -> LearnedFiles:
    """Return the files of profiles; a run may leave anew what it begins with, and no other file that it reads."""
    learned = build_learned(document.spec.profiles, context, learner)
    if learned.save is not None:
        where = document.source.where(("profiles", "save"))
        refuse_input(document, learned.save, where, but=(("profiles", "load"),))
        refuse_journal_file(learned.save)
    return learned


def build_baseline(document: Document, study: Study, start_s: float) -> Study | None:
    """Return the run of the same jobs that takes part in no market, if one is asked for and there is a bid.

    It has neither target nor caps nor standby jobs, which only fill a target; everything else is as in the study.
    """
    select = baseline_select(document)
    if select is None or study.market is None:
        return None
    from wattline.wiring.subjects.resources import check_counted

    document.context.located(("regulation", "baseline"), check_counted, select, study.options.resources)
    standby = [kind.name for kind in study.options.kinds if kind.standby]
    jobs = study.trace.jobs
    wanted = np.array([name not in standby for name in jobs.kinds] or [True], dtype=bool)[jobs.kind]
    if not wanted.any():
        raise document.source.error(("regulation", "baseline"), "there is nothing to run: all jobs are standby ones")
    policies = replace(
        study.policies,
        select=select,
        cap=find("cap", "none"),
        bid=find("bid", "given"),
        params={slot: given for slot, given in study.policies.params.items() if slot not in ("select", "cap", "bid")},
    )
    rows = np.flatnonzero(wanted)
    run = document.spec.run
    tick_s = run.tick if run.passes == "events" else study.options.tick_s  # passes at the ticks of both runs
    options = replace(study.options, signal=None, bids=(), bidding=None, tick_s=tick_s, start_s=start_s)
    options = replace(options, resources=[supply.take(rows) for supply in options.resources])
    return replace(
        study,
        name=f"{study.name}, in no market",
        trace=study.trace.with_jobs(jobs.take(rows)),
        policies=policies,
        options=options,
        market=None,
        recorded=None,
    )


def content_sha256(document: Document) -> str:
    """Return the hash of what was run: the resolved keys in SI units, defaults included, whatever is written where."""
    without: dict[str, Any] = {"output": True}
    if document.spec.late is None:
        without["late"] = True
    unsaid = {key for key in ("columns", "nodes") if getattr(document.spec.trace, key) is None}
    if unsaid:
        without["trace"] = unsaid
    content = document.spec.model_dump(mode="python", by_alias=True, exclude=without)
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _market(document: Document, trace: Trace, cluster: Cluster, policies: Policies) -> Market | None:
    """Return what the run has to follow; a policy that follows something needs a bid."""
    from wattline.wiring.subjects.regulation import check_target

    spec = document.spec
    market = None
    if spec.regulation is not None and takes_part(spec.regulation, spec.policy):
        start_s, span_s = clock_of(spec.trace, trace.jobs)
        market = build_market(spec.regulation, document.context, cluster, start_s, span_s, made=spec.policy.makes_bids)
        market = doubting(market, spec.regulation, build_late(spec.late))
    for m in policies.slots():
        key = ("regulation",) if spec.regulation else ("policy", m.slot)
        _refuse(document, key, _TARGET.format(m=m), check_target, m, followed=market is not None)
    return market


def _moldable(document: Document, trace: Trace, cluster: Cluster, policies: Policies, limit: Steps) -> MoldableJobs:
    spec, context = document.spec, document.context
    moldable, varied = bool(spec.configurations), spec.cluster.variability is not None
    check_chooser(policies.select, context, moldable=moldable, limited=spec.limited)
    # until a limit comes into force there is none
    highest_w = max(watts for _, watts in limit) if limit and limit[0][0] <= 0 else math.inf
    return build_moldable(
        spec.configurations, spec.bounds, context, trace, cluster, policies.select, highest_w, varied=varied
    )


def _options(
    document: Document, trace: Trace, cluster: Cluster, market: Market | None, limit: Steps, moldable: MoldableJobs
) -> Options:
    spec, context = document.spec, document.context
    start_s, arriving_s = clock_of(spec.trace, trace.jobs)
    drawn = spec.trace.generator == "kinds"
    until_s = start_s + min(end_of_drawing_s(spec.trace, spec.run.until), spec.run.until)
    length_s = _least_length_s(document, trace, start_s, arriving_s, until_s)
    key, tick_s = ("run", "tick"), spec.run.tick
    if spec.regulation is not None:
        key, tick_s = ("regulation", "control"), spec.regulation.control
    context.located(key, check_ticks, tick_s, length_s, "control periods")
    if spec.late is not None and spec.late.noise > 0:
        context.located(("late", "noise_every"), check_ticks, spec.late.noise_every, length_s, "deviations of power")
    if spec.profiles.sample is not None:
        context.located(("profiles", "sample"), check_ticks, spec.profiles.sample, length_s, "samples of power")
    elif trace.jobs.series is not None and trace.jobs.series.watts.size:
        origin = " (series_step_s of the trace; [profiles] sample sets another period)"
        context.located(("trace",), check_ticks, trace.jobs.series.step_s, length_s, "samples of power", origin)
    options = Options(
        kinds=build_kinds(document, cluster_nodes(document)),
        start_s=start_s if drawn or spec.trace.generator in LIKE_DURATION_S else None,
    )
    options = add_run(options, spec.run, until_s)
    options = add_late(options, spec.late)
    options = add_market(options, spec.regulation, context, market, length_s)
    options = add_output(options, spec.output)
    options = add_limit(options, spec.limit, limit, start_s, start_s + repeated_s(document, trace.jobs, limit))
    options = replace(options, failures_until_s=start_s + failing_s(document, trace.jobs))
    options = add_profiles(options, spec.profiles)
    options = add_moldable(options, moldable, build_variability(spec.cluster.variability, context, cluster.nodes))
    return add_network(options, spec.network, context)


def _last_that_fits_s(file: str | None, trace: Trace, cluster: Cluster, arrived_s: float) -> float:
    """Return when the last job of a log comes that the machine is wide enough for: a run need not last longer."""
    fits = trace.jobs.nodes <= max(one.count for one in cluster.classes)
    if file is None or fits.all():
        return arrived_s
    return float(trace.jobs.submit_s[fits].max(initial=trace.jobs.submit_s[0]))


def _least_length_s(document: Document, trace: Trace, start_s: float, arriving_s: float, until_s: float) -> float:
    """Return how long a run takes at least: until jobs have arrived, the longest of them is done, and all fit in."""
    jobs, nodes = trace.jobs, cluster_nodes(document)
    least_s = arriving_s
    if len(jobs):
        least_s = max(least_s, float((jobs.submit_s + jobs.work_s).max()) - start_s)
        if nodes:
            least_s = max(least_s, float((jobs.work_s * jobs.nodes).sum()) / nodes)
    return min(until_s - start_s, least_s)


def _check_needs(document: Document, cluster: Cluster, policies: Policies, options: Options) -> None:
    """Refuse what policies cannot work with, where the scenario names it; the checks are those of the simulator."""
    from wattline.wiring.subjects.regulation import check_kinds, check_rates
    from wattline.wiring.subjects.resources import check_counted
    from wattline.wiring.subjects.shapes import check_moldable

    context = document.context
    context.located(("configurations",), check_moldable, cluster, policies.slots(), options)
    for m in policies.slots():
        _refuse(document, ("policy", m.slot), _KINDS.format(m=m), check_kinds, m, options.kinds)
        context.located(("policy", m.slot), check_rates, m, options.kinds)
        context.located(("policy", m.slot), check_counted, m, options.resources)


def _refuse(
    document: Document, path: KeyPath, words: str, check: Callable[..., None], *args: Any, **named: Any
) -> None:
    """Call a check of the simulator; what it refuses is said of a key, in the words of a scenario."""
    try:
        check(*args, **named)
    except InputError:
        raise document.source.error(path, words) from None
