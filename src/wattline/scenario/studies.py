"""From a checked scenario to the objects that a simulation takes: trace, cluster, policies, options."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wattline.errors import InputError
from wattline.memory import require_bytes
from wattline.scenario.accounts import Billing, build_billing
from wattline.scenario.configurations import MoldableJobs, build_moldable
from wattline.scenario.kinds import LIKE_DURATION_S, build_kinds
from wattline.scenario.machine import build_cluster, cluster_nodes
from wattline.scenario.network import build_communication
from wattline.scenario.power import LearnedFiles, build_limit, learned_files
from wattline.scenario.read import Document
from wattline.scenario.regulation import DURATION_S, build_market, takes_part
from wattline.scenario.spec import PolicySpec
from wattline.scenario.toml_text import to_toml
from wattline.scenario.watts import Watts, build_watts, leave_power_out

if TYPE_CHECKING:
    from wattline.model.cluster import Cluster
    from wattline.model.kinds import Kind
    from wattline.model.mechanism import Mechanism
    from wattline.model.regulation import Bid
    from wattline.reading.notes import Note, Trace
    from wattline.scenario.regulation import Market
    from wattline.sim.keeping import Keeper
    from wattline.sim.options import Options
    from wattline.sim.simulate import Policies, Progress, Result

MOST_TICKS = 10_000_000
"""Control periods, or samples of power, of a run; whoever asks for more has mistaken a unit."""

MOST_BIDS = 1_000_000
"""Bids of a bid policy in a run."""

MOST_VARIANTS = 1000
"""Combinations of the policies that a scenario lists."""

TICK_BYTES = 200
"""A control period leaves a row of the timeline, which is copied once when the journal is made."""

SLOTS = ("order", "select", "place", "cap", "learn", "profile", "bid")


@dataclass(frozen=True)
class Variant:
    """One choice of policies out of a scenario: its label among the others and the scenario reduced to it."""

    label: str
    document: Document
    baseline: bool = False
    """The run in no market that this choice is held against, in its place."""


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
    billing: Billing | None = None
    baseline: Study | None = None
    """The same jobs once more, in no market, to hold this run against."""
    learned: LearnedFiles = field(default_factory=LearnedFiles)
    watts: Watts = field(default_factory=Watts)
    """On what its watts rest; where they are unknown, the journal has none."""

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
        from wattline.journal.journal import write_journal

        write_journal(folder, *self.tables(result, resume=resume))
        self.learned.leave(result)

    def tables(
        self, result: Result, *, resume: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the tables of a run of this study and what its manifest says, as a journal takes them."""
        from wattline.report.count.statistics import describe
        from wattline.sim.result import frames, manifest

        about = manifest(
            result,
            name=self.name,
            source=self.trace.source,
            notes=[asdict(note) for note in self.trace.notes],
            scenario=self.scenario,
            scenario_sha256=self.scenario_sha256,
            trace_sha256=self.trace_sha256,
        )
        about["cluster"] |= {
            "machine": self._machine(),
            "power": {"basis": self.watts.basis, "words": self.watts.words},
        }
        recorded_s = self.trace.jobs.recorded_wait_s
        if not np.isnan(recorded_s).all():
            about["trace"]["recorded_wait_s"] = asdict(describe(recorded_s))
        about["kinds"] = [asdict(kind) for kind in self.options.kinds]
        about["regulation"] = None if self.market is None else self.market.manifest()
        about["accounts"] = None if self.billing is None else self.billing.manifest()
        about["resume"] = resume
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


def variants(document: Document) -> list[Variant]:
    """Return one variant for each combination of the policies that the slots list, labelled by what differs."""
    chosen = {slot: getattr(document.spec.policy, slot) for slot in SLOTS}
    varied = varied_slots(document)
    if not varied:
        return [Variant(document.spec.name, document)]
    count = math.prod(len(chosen[slot]) for slot in varied)
    if count > MOST_VARIANTS:
        raise document.source.error(
            ("policy", varied[0]), f"{count:,} combinations of policies are listed, more than {MOST_VARIANTS:,}"
        )
    found = []
    for picks in itertools.product(*(chosen[slot] for slot in varied)):
        given = {slot: _plain_pick(pick) for slot, pick in zip(varied, picks, strict=True)}
        label = ", ".join(_label(pick) for pick in picks)
        data = {**document.data, "policy": {**document.data["policy"], **given}}
        picked = PolicySpec(**{s: [chosen[s][0]] for s in SLOTS} | {s: [p] for s, p in zip(varied, picks, strict=True)})
        spec = document.spec.model_copy(update={"policy": picked})
        found.append(Variant(label, replace(document, data=data, spec=spec, text=to_toml(data))))
    return found


def varied_slots(document: Document) -> list[str]:
    """Return the slots of which a scenario lists several policies."""
    return [slot for slot in SLOTS if len(getattr(document.spec.policy, slot)) > 1]


def in_no_market(document: Document) -> Variant | None:
    """Return the run in no market that those of a scenario are held against, if it asks for one.

    Policies that several are listed of, other than those of the market, are the first of their lists.
    """
    asked = document.spec.regulation
    if asked is None or asked.baseline is None or not takes_part(document):
        return None
    return Variant(f"no market ({asked.baseline})", variants(document)[0].document, baseline=True)


def _plain_pick(pick: Any) -> Any:
    return {"name": pick.name, **pick.params} if pick.params else pick.name


def _label(pick: Any) -> str:
    name = Path(pick.name).stem if ".py" in pick.name and ":" not in pick.name else pick.name.rpartition(":")[2]
    params = ", ".join(f"{key} = {value:g}" for key, value in pick.params.items())
    return f"{name} ({params})" if params else str(name)


def wire(variant: Variant, *, seed: int | None = None, traces: TraceCache | None = None) -> Study:
    """Make a study of a variant; ``seed`` replaces the scenario's, ``traces`` shares traces among studies."""
    document = variant.document
    spec = document.spec if seed is None else document.spec.model_copy(update={"seed": seed})
    document = replace(document, spec=spec)
    from wattline.sim.subjects.shapes import check_moldable

    policies = build_policies(document)
    trace, trace_sha256 = (traces or TraceCache()).get(document)
    cluster = build_cluster(document, trace)
    market = _market(document, trace, cluster, policies)
    limit = build_limit(document, trace.jobs, cluster)
    moldable = build_moldable(document, trace, cluster, policies, limit)
    trace = moldable.trace
    options = _options(document, trace, market, limit, moldable)
    document.located(("configurations",), check_moldable, cluster, policies.slots(), options)
    _check_kinds(document, policies, options.kinds)
    start_s, arriving_s = _clock(document, trace)
    hours = None if market is None else market.hours
    billing = build_billing(document, trace.jobs, start_s, min(options.until_s, start_s + arriving_s), hours)
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
        billing=billing,
        learned=learned_files(document),
        watts=build_watts(document, trace),
    )
    baseline = build_baseline(document, study, start_s)
    return baseline if variant.baseline and baseline is not None else replace(study, baseline=baseline)


def build_baseline(document: Document, study: Study, start_s: float) -> Study | None:
    """Return the run of the same jobs that takes part in no market, if one is asked for and there is a bid.

    It has neither target nor caps nor standby jobs, which only fill a target; everything else is as in the study.
    """
    from wattline.control.catalog import find

    select = baseline_select(document)
    if select is None or study.market is None:
        return None
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
    options = replace(study.options, signal=None, bids=(), bidding=None, tick_s=document.spec.run.tick, start_s=start_s)
    return replace(
        study,
        name=f"{study.name}, in no market",
        trace=study.trace.with_jobs(jobs.take(np.flatnonzero(wanted))),
        policies=policies,
        options=options,
        market=None,
    )


def baseline_select(document: Document) -> Mechanism | None:
    """Return the select policy of the run in no market, if there is to be one."""
    asked = document.spec.regulation
    if asked is None or asked.baseline is None:
        return None
    return find_policy(document, ("regulation", "baseline"), "select", asked.baseline)


def find_policy(document: Document, path: tuple[str, ...], slot: str, name: str) -> Mechanism:
    """Return a policy that a key names: one that was handed over, a built-in one, or that of a file."""
    from wattline.control.catalog import find

    handed = document.given.policies.get((slot, name))
    if handed is not None:
        return handed
    found: Mechanism = document.located(path, find, slot, name, base=document.base)
    return found


def content_sha256(document: Document) -> str:
    """Return the hash of what was run: the resolved keys in SI units, defaults included, whatever is written where."""
    content = document.spec.model_dump(mode="python", by_alias=True, exclude={"output"})
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class TraceCache:
    """Traces that were read or drawn already: policies compared on the same seed share one."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, Any], tuple[Trace, str]] = {}

    def get(self, document: Document) -> tuple[Trace, str]:
        """Return the trace of a scenario and the hash of its file ("" if it was drawn)."""
        from wattline.scenario.jobs import build_trace

        spec = document.spec
        seed = spec.trace.seed if spec.trace.seed is not None else spec.seed
        machine = (cluster_nodes(document), spec.kinds, spec.kind)
        key = (repr((spec.trace, seed, machine, str(document.base))), document.given.trace)
        if key not in self._found:
            self._found[key] = build_trace(document, seed)
        return self._found[key]


def build_policies(document: Document) -> Policies:
    """Find the policy of every slot and check its parameters."""
    from wattline.sim.simulate import Policies

    chosen: dict[str, Any] = {}
    params: dict[str, Mapping[str, float]] = {}
    for slot in SLOTS:
        pick = getattr(document.spec.policy, slot)[0]
        mechanism = find_policy(document, ("policy", slot), slot, pick.name)
        document.located(("policy", slot), mechanism.values, pick.params)
        chosen[slot], params[slot] = mechanism, _prices(document, mechanism) | pick.params
    return Policies(**chosen, params=params)


def _prices(document: Document, mechanism: Mechanism) -> dict[str, float]:
    """Return the flat prices of the market for a bid policy that takes them as parameters."""
    market = document.spec.regulation
    if mechanism.slot != "bid" or market is None:
        return {}
    return {name: price for name, price in market.prices.model_dump().items() if name in mechanism.params}


def _check_kinds(document: Document, policies: Policies, kinds: Sequence[Kind]) -> None:
    """Refuse kinds that a policy cannot work with, or their absence, where the scenario names it."""
    from wattline.sim.subjects.regulation import check_rates

    for m in policies.slots():
        if m.kinds and not kinds:
            told = f"{m.name!r} treats jobs by their kinds: give [[kind]] tables, or kinds = … (wattline trace kinds finds them in a log)"
            raise document.source.error(("policy", m.slot), told)
        if m.rates:
            document.located(("policy", m.slot), check_rates, m, kinds)


def _clock(document: Document, trace: Trace) -> tuple[float, float]:
    """Return when the run begins and for how long jobs arrive."""
    spec = document.spec.trace
    if spec.generator == "kinds":
        return 0.0, spec.duration or DURATION_S
    if spec.generator in LIKE_DURATION_S:  # days begin at midnight, whenever the first job comes
        return 0.0, spec.duration or LIKE_DURATION_S[spec.generator]
    return float(trace.jobs.submit_s[0]), trace.jobs.span_s


def _market(document: Document, trace: Trace, cluster: Cluster, policies: Policies) -> Market | None:
    """Return what the run has to follow; a policy that follows something needs a bid."""
    market = build_market(document, cluster, *_clock(document, trace))
    followers = [m for m in policies.slots() if m.target]
    if market is None and followers:
        m = followers[0]
        raise document.source.error(
            ("regulation",) if document.spec.regulation else ("policy", m.slot),
            f"{m.slot} policy {m.name!r} follows a power target: give [regulation] mean and reserve, "
            "let wattline bid choose them (--write), or name a [policy] bid that makes them",
        )
    return market


def _options(
    document: Document,
    trace: Trace,
    market: Market | None,
    limit: Sequence[tuple[float, float]],
    moldable: MoldableJobs,
) -> Options:
    from wattline.sim.options import Options

    run, output, regulation = document.spec.run, document.spec.output, document.spec.regulation
    start_s, arriving_s = _clock(document, trace)
    drawn = document.spec.trace.generator == "kinds"
    until_s = start_s + (arriving_s if drawn and math.isinf(run.until) else run.until)
    bids: list[tuple[float, Bid | None]] = [] if market is None else list(market.bids)
    if market is not None and market.until_s < until_s:
        bids.append((market.until_s, None))
    tick_s = run.tick if regulation is None else regulation.control
    key = ("run", "tick") if regulation is None else ("regulation", "control")
    length_s = _least_length_s(document, trace, start_s, arriving_s, until_s)
    document.located(key, _check_ticks, tick_s, length_s, "control periods")
    if document.spec.profiles.sample is not None:
        document.located(
            ("profiles", "sample"), _check_ticks, document.spec.profiles.sample, length_s, "samples of power"
        )
    if (
        regulation is not None
        and document.spec.policy.bid[0].name != "given"
        and length_s / regulation.every > MOST_BIDS
    ):
        told = f"{length_s / regulation.every:,.0f} bids would be made, more than {MOST_BIDS:,}"
        raise document.source.error(("regulation", "every"), told)
    return Options(
        ties=run.ties,
        kill=run.kill,
        requeue=run.requeue,
        keep_progress=run.keep_progress,
        tick_s=tick_s,
        kinds=build_kinds(document, cluster_nodes(document)),
        signal=None if market is None else market.signal,
        bids=bids,
        bidding=None if market is None else market.bidding,
        start_s=start_s if drawn or document.spec.trace.generator in LIKE_DURATION_S else None,
        stop_cost_s=0.0 if regulation is None else regulation.stop_cost,
        until_s=until_s,
        backlog=run.backlog,
        placements=output.placements,
        decisions=output.decisions,
        limit_w=tuple((start_s + time_s, watts) for time_s, watts in limit),
        sample_s=document.spec.profiles.sample,
        profiles=document.spec.profiles.levels,
        quantum=run.passes == "ticks",
        exceed=document.spec.limit.deadlock == "exceed",
        shed=document.spec.limit.preempt,
        configurations=moldable.tables,
        chooses=moldable.chooses,
        variability=moldable.variability,
        communication=build_communication(document),
        traffic_s=60.0 if document.spec.network is None else document.spec.network.window,
    )


def _least_length_s(document: Document, trace: Trace, start_s: float, arriving_s: float, until_s: float) -> float:
    """Return how long a run takes at least: until jobs have arrived, the longest of them is done, and all fit in."""
    jobs, nodes = trace.jobs, cluster_nodes(document)
    least_s = arriving_s
    if len(jobs):
        least_s = max(least_s, float((jobs.submit_s + jobs.work_s).max()) - start_s)
        if nodes:
            least_s = max(least_s, float((jobs.work_s * jobs.nodes).sum()) / nodes)
    return min(until_s - start_s, least_s)


def _check_ticks(tick_s: float, length_s: float, what: str) -> None:
    """Refuse control periods that would fill the memory with rows of the timeline."""
    ticks = length_s / tick_s
    told = f"{ticks:,.0f} {what} of {tick_s:g} s"
    require_bytes(ticks * TICK_BYTES, told)
    if ticks > MOST_TICKS:
        raise InputError(
            f"{told} would be made, more than {MOST_TICKS:,}; take a longer period, or end the run earlier"
        )
