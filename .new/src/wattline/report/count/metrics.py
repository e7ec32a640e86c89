"""Everything that is counted of one run, from its journal alone and from every row of it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from wattline.finite import to_finite
from wattline.journal.journal import STATUSES, Journal
from wattline.report.count.accounts import Accounts, count_accounts
from wattline.report.count.capping import Capping, count_capping
from wattline.report.count.energy import ClassRow, Energy, Power, count_classes, count_energy, count_power
from wattline.report.count.groups import (
    GroupRow,
    ResourceRow,
    SizeRow,
    count_groups,
    count_resources,
    count_sizes,
    with_slowdowns,
)
from wattline.report.count.learning import Learning, count_learning
from wattline.report.count.plausibility import find_doubts
from wattline.report.count.recorded import RecordedPower, count_recorded
from wattline.report.count.regulation import QosRow, Regulation, count_qos, count_regulation
from wattline.report.count.run import Run, load
from wattline.report.count.service import ServiceMeasures, service_measures
from wattline.report.count.shapes import Shapes, count_shapes
from wattline.report.count.statistics import NAN, Distribution, TimeDistribution, describe, describe_steps, integral

PER_JOB = ("wait_s", "response_s", "slowdown", "bounded_slowdown")
WORKLOAD = ("submit_s", "nodes", "work_s", "request_s")
GROUPINGS = ("user", "group", "kind", "partition")


@dataclass(frozen=True)
class JobCounts:
    """Jobs by what became of them; ``started`` ever held nodes, ``ended`` left them.

    Interruptions are sums over jobs.
    """

    total: int
    finished: int
    killed: int
    failed: int
    cancelled: int
    rejected: int
    unfinished: int
    started: int
    ended: int
    preemptions: int
    restarts: int


@dataclass(frozen=True)
class Span:
    """Instants of the run; ``makespan_s`` is from the first submission to the last end."""

    start_s: float
    end_s: float
    duration_s: float
    first_submit_s: float
    last_submit_s: float
    makespan_s: float


@dataclass(frozen=True)
class Summary:
    """All numbers of one run; ``to_dict`` is JSON-able, ``value("wait_s.mean")`` finds one by its path.

    Waits are over jobs that started; response and slowdowns over jobs that ended; ``waking_s`` is the part of the run
    time in which nodes woke, over jobs that were given sleeping ones; ``recorded_wait_s`` is what the log says its own
    machine made jobs wait. ``stopped`` is "done", "until" or "interrupted". ``utilization`` is busy over available
    node-seconds of the whole run, ``utilization_submitting`` the same between the first and the last submission.
    ``recorded_power`` is what the log says its jobs drew, beside what they drew here. ``unit`` is what is counted as
    nodes ("node", or "processor" where jobs share nodes); ``doubts`` say what is hard to believe; ``workload`` is a
    checksum of the jobs that were handed in, the same whatever became of them.
    """

    name: str
    seed: int | None
    policies: dict[str, str]
    nodes: int
    unit: str
    jobs: JobCounts
    span: Span
    stopped: str
    wait_s: Distribution
    recorded_wait_s: Distribution
    response_s: Distribution
    runtime_s: Distribution
    waking_s: Distribution
    slowdown: Distribution
    bounded_slowdown: Distribution
    utilization: float
    utilization_submitting: float
    throughput_per_h: float
    queued_jobs: TimeDistribution
    running_jobs: TimeDistribution
    busy_nodes: TimeDistribution
    energy: Energy
    power: Power
    service: ServiceMeasures
    sizes: tuple[SizeRow, ...]
    users: tuple[GroupRow, ...]
    groups: tuple[GroupRow, ...]
    kinds: tuple[GroupRow, ...]
    partitions: tuple[GroupRow, ...]
    classes: tuple[ClassRow, ...]
    events: dict[str, int]
    qos: tuple[QosRow, ...] = ()
    regulation: Regulation | None = None
    accounts: Accounts | None = None
    capping: Capping | None = None
    learning: Learning | None = None
    shapes: Shapes | None = None
    recorded_power: RecordedPower | None = None
    resources: tuple[ResourceRow, ...] = ()
    doubts: tuple[str, ...] = ()
    workload: str = ""

    @property
    def wait(self) -> Distribution:
        """Waits of jobs that started, in seconds: ``wait_s`` under the word that people use."""
        return self.wait_s

    @property
    def has_power(self) -> bool:
        """Whether power and energy are known: not where no watts were given."""
        return not math.isnan(self.energy.total_j)

    @property
    def cost(self) -> float:
        """What the billed time cost in dollars; NaN where nothing has a price."""
        if self.accounts is not None:
            return self.accounts.total.cost
        return NAN if self.regulation is None else self.regulation.cost

    @property
    def worst_violation(self) -> float:
        """Largest share of jobs of a kind that reached their QoS limit; NaN where nothing was promised."""
        shares = [row.violation_share for row in self.qos if math.isfinite(row.limit) and row.jobs]
        return max(shares, default=NAN)

    @property
    def worst_mean_q(self) -> float:
        """Largest mean QoS degradation of a kind to which something was promised; NaN where nothing was."""
        means = [row.q.mean for row in self.qos if math.isfinite(row.limit) and row.q.count]
        return max(means, default=NAN)

    def to_dict(self) -> dict[str, Any]:
        """Return nested plain data; what is not a finite number becomes None, as JSON knows no NaN."""
        return dict(to_finite(self))

    def value(self, path: str) -> float:
        """Return the number at a dotted path, NaN where it does not exist for this run."""
        item: Any = self
        for part in path.split("."):
            if item is None:  # a part that this run does not have
                return NAN
            item = item.get(part, NAN) if isinstance(item, Mapping) else getattr(item, part)
        return float(item)


def summarize(journal: Journal) -> Summary:
    """Count everything there is to count in a journal."""
    return summarize_run(load(journal))


def summarize_run(run: Run) -> Summary:
    """Count everything of a run that is loaded already."""
    jobs = with_slowdowns(run)
    steps, seconds = run.steps, run.steps.duration_s
    span = _span(run)
    counts = _count_jobs(run)
    by_job: dict[str, Any] = {name: describe(jobs[name].to_numpy()) for name in PER_JOB}
    recorded_s = _recorded(run.manifest)
    tables: dict[str, Any] = {f"{name}s": count_groups(jobs, name, watts=run.has_power) for name in GROUPINGS}
    return Summary(
        name=str(run.manifest.get("name") or ""),
        seed=run.manifest.get("seed"),
        policies={slot: str(name) for slot, name in (run.manifest.get("policies") or {}).items() if name},
        nodes=run.nodes,
        unit=run.unit,
        jobs=counts,
        span=span,
        stopped=str(run.manifest.get("stopped") or "done"),
        recorded_wait_s=recorded_s,
        **by_job,
        runtime_s=describe(run.ended["runtime_s"].to_numpy()),
        waking_s=describe(run.waking_s),
        utilization=_utilization(run, run.start_s, run.end_s),
        utilization_submitting=_utilization(run, span.first_submit_s, span.last_submit_s),
        throughput_per_h=counts.ended / span.makespan_s * 3600.0 if span.makespan_s > 0 else NAN,
        queued_jobs=describe_steps(steps.queued_jobs, seconds),
        running_jobs=describe_steps(steps.running_jobs, seconds),
        busy_nodes=describe_steps(steps.busy_nodes, seconds),
        energy=count_energy(run),
        power=count_power(steps),
        service=service_measures(run),
        sizes=count_sizes(jobs),
        **tables,
        classes=count_classes(run),
        events=dict(run.event_counts),
        qos=count_qos(run),
        regulation=count_regulation(run),
        accounts=count_accounts(run),
        capping=count_capping(run),
        learning=count_learning(run),
        shapes=count_shapes(run),
        recorded_power=count_recorded(run),
        resources=count_resources(run),
        doubts=find_doubts(run, by_job["wait_s"], recorded_s),
        workload=_workload(run),
    )


def _workload(run: Run) -> str:
    """Return a checksum of what users handed in: when, how many nodes, how much work, which request."""
    sha = hashlib.sha256()
    for name in WORKLOAD:
        sha.update(np.asarray(run.jobs[name].to_numpy(), np.float64).tobytes())
    return sha.hexdigest()[:16]


def _count_jobs(run: Run) -> JobCounts:
    by_status = dict(run.jobs["status"].value_counts().iter_rows())
    return JobCounts(
        total=run.jobs.height,
        **{status: int(by_status.get(status, 0)) for status in STATUSES},
        started=run.jobs["start_s"].drop_nulls().len(),
        ended=run.ended.height,
        preemptions=int(run.jobs["preemptions"].sum()),
        restarts=int(run.jobs["restarts"].sum()),
    )


def _span(run: Run) -> Span:
    first, last = _number(run.jobs["submit_s"].min()), _number(run.jobs["submit_s"].max())
    return Span(
        start_s=run.start_s,
        end_s=run.end_s,
        duration_s=run.end_s - run.start_s,
        first_submit_s=first,
        last_submit_s=last,
        makespan_s=_number(run.ended["end_s"].max()) - first,
    )


def _utilization(run: Run, start_s: float, end_s: float) -> float:
    """Return busy over available node-seconds between two instants; NaN when there were none."""
    if math.isnan(start_s) or math.isnan(end_s):
        return NAN
    seconds = run.steps.within(start_s, end_s)
    available = integral(run.steps.available_nodes, seconds)
    return integral(run.steps.busy_nodes, seconds) / available if available > 0 else NAN


def _recorded(manifest: Mapping[str, Any]) -> Distribution:
    """Return the waits that the log itself recorded, if the journal says so."""
    told = (manifest.get("trace") or {}).get("recorded_wait_s") or {}
    known = {f.name: told[f.name] for f in fields(Distribution) if told.get(f.name) is not None}
    return Distribution(**known)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else NAN
