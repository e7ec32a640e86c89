"""Moldable jobs of a scenario: tables read or modelled, cut to what machine and bounds allow, held against the jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from wattline.errors import InputError, did_you_mean
from wattline.model.configurations import Configurations, Moldable
from wattline.scenario.checks import has_limit
from wattline.traces.notes import Note, listed, quote
from wattline.units import show_power

if TYPE_CHECKING:
    from wattline.model.cluster import Cluster
    from wattline.model.jobs import JobTable
    from wattline.model.variability import Variability
    from wattline.scenario.read import Document
    from wattline.scenario.spec_configurations import BoundsSpec, ConfigurationsSpec
    from wattline.sim.simulate import Policies
    from wattline.traces.notes import Trace

SAME_TIME = 1e-3
"""Times that differ by less than this share are the same."""

MOST_WEIGHT = 100.0
"""Priorities beyond this cannot be meant as factors of a share of power."""


@dataclass(frozen=True)
class MoldableJobs:
    """Tables by kind of job, the trace with what has to be known of its jobs, and how nodes differ."""

    tables: tuple[Moldable, ...]
    trace: Trace
    variability: Variability | None = None


def build_moldable(
    document: Document, trace: Trace, cluster: Cluster, policies: Policies, limit: Sequence[tuple[float, float]]
) -> MoldableJobs:
    """Return what jobs may choose among; every reason why they could not is said here."""
    spec = document.spec
    _check_policy(document, policies)
    if not spec.configurations:
        return MoldableJobs((), trace)
    if len(cluster.classes) > 1:
        raise document.source.error(("configurations",), "jobs that choose their configuration need nodes of one class")
    # until a limit comes into force there is none
    highest_w = max(watts for _, watts in limit) if limit and limit[0][0] <= 0 else np.inf
    notes: list[Note] = []
    tables: dict[str, Moldable] = {}
    whole: dict[str, Configurations] = {}
    for i, given in enumerate(spec.configurations):
        for m in document.located(("configurations", i), _read, document, given, i, notes):
            name = m.truth.application
            if name in tables:
                raise document.source.error(
                    ("configurations", i), f"a table for jobs of kind {name!r} is given already"
                )
            whole[name] = m.truth
            tables[name] = document.located(("configurations", i), _cut, m, cluster, spec.bounds, highest_w, notes)
    jobs = _weighted(document, trace.jobs, notes)
    jobs = _without_series(jobs, notes)
    _hold_against(document, jobs, tables, notes)
    jobs = _as_measured(jobs, whole, notes)
    if not policies.select.shapes and policies.select.builtin:  # somebody's own policy may know them
        told = f"tables of configurations, among which select policy {policies.select.name!r} does not choose: jobs run as they ask"
        notes.append(Note("kept", told, len(tables), ""))
        if spec.cluster.variability is not None:
            told = f"nodes that differ need a select policy that chooses configurations, not {policies.select.name!r}"
            raise document.source.error(("cluster", "variability"), told)
        tables = {}
    found = replace(trace.with_jobs(jobs), notes=(*trace.notes, *notes))
    return MoldableJobs(tuple(tables.values()), found, _variability(document, cluster))


def _check_policy(document: Document, policies: Policies) -> None:
    """Refuse a policy that shares out power among configurations where there is no power to share, or none of them."""
    select = policies.select
    if not select.shapes:
        return
    if not document.spec.configurations:
        told = f"{select.name!r} chooses among configurations of moldable jobs: give [[configurations]] (or --configs)"
        raise document.source.error(("policy", "select"), told)
    if not has_limit(document.spec):
        told = f"{select.name!r} shares out a power limit: give [limit] power (or --power-limit), or [[budget]] tables"
        raise document.source.error(("policy", "select"), told)


# ------------------------------------------------------------------ tables


def _read(document: Document, spec: ConfigurationsSpec, place: int, notes: list[Note]) -> list[Moldable]:
    """Read a file; return its tables under the kinds of their jobs, with what policies are told."""
    from wattline.traces.configuration_rows import Socketed
    from wattline.traces.configurations import read_configurations
    from wattline.traces.job_details import read_names

    names = None if spec.names is None else read_names(document.base / spec.names)
    read = read_configurations(
        document.base / spec.file, reduce=spec.reduce, node=Socketed(spec.sockets, spec.memory), turbo_w=spec.turbo,
        names=names,
    )  # fmt: skip
    if spec.kind is not None or spec.application is not None:
        wanted = [read.table(spec.application)]
    else:
        wanted = list(read.tables.values())
    known = tuple(f"{table.application}:" for table in wanted)
    notes += [n for n in read.notes if n.reason.startswith(known) or ": " not in n.reason]
    found = []
    for i, table in enumerate(wanted):
        rows = np.flatnonzero(table.nodes >= spec.least_nodes)
        if not rows.size:
            raise InputError(
                f"{spec.file}: {table.application} has no configuration on {spec.least_nodes} nodes or more"
            )
        truth = replace(table.take(rows), application=spec.kind or table.application)
        seed = document.spec.seed if spec.seed is None else spec.seed
        found.append(_told(truth, spec, np.random.default_rng([seed, place, i]), notes))
    return found


def _told(truth: Configurations, spec: ConfigurationsSpec, rng: np.random.Generator, notes: list[Note]) -> Moldable:
    """Return a table with what a model of a sample of it says, where one is asked for."""
    if spec.source == "measured":
        return Moldable(truth)
    from wattline.learn.configs import fit
    from wattline.learn.configs.errors import draw, sample_size

    count = sample_size(len(truth), spec.sample)
    fitted = fit(truth, draw(truth, count, rng), spec.source)
    rows = np.flatnonzero(fitted.covers(truth.cap_w))
    truth = truth.take(rows)
    time_s, power_w = fitted.predict(truth.nodes, truth.cores, truth.cap_w)
    if spec.power == "upper":
        power_w = fitted.interval(truth.nodes, truth.cores, truth.cap_w, spec.miss).most_w
    sure = np.isfinite(power_w)
    if not sure.any():
        raise InputError(f"{truth.application}: {count} measurements promise nothing about its power; raise sample")
    told = replace(truth, time_s=time_s, power_w=np.where(sure, power_w, 1.0)).take(np.flatnonzero(sure))
    truth = truth.take(np.flatnonzero(sure))
    low = float((told.power_w < 0.9 * truth.power_w).mean())
    what = "upper bounds of power" if spec.power == "upper" else "expected power"
    notes.append(
        Note("kept", f"{truth.application}: configurations as the {spec.source} model tells them ({what}); {low:.1%} more than 10 % too low",
             len(told), f"fitted to {count} of them")
    )  # fmt: skip
    return Moldable(truth, told)


def _cut(m: Moldable, cluster: Cluster, bounds: BoundsSpec, highest_w: float, notes: list[Note]) -> Moldable:
    """Leave out what machine and bounds do not allow; refuse a table of which nothing is left or nothing ever fits."""
    told, name = m.told or m.truth, m.truth.application
    node = cluster.classes[0]
    each_w = told.power_w / told.nodes
    low = int(np.argmin(m.truth.power_w / m.truth.nodes))
    if m.truth.power_w[low] / m.truth.nodes[low] < node.idle_w:
        drawn = f"{show_power(m.truth.power_w[low] / m.truth.nodes[low])} a node, less than an idle one, {show_power(node.idle_w)}"
        raise InputError(
            f"{name}: {describe(m.truth, low)} draws {drawn}; if the table counts processors only, set [cluster] idle to what is theirs"
        )
    keep = np.ones(len(told), dtype=bool)
    for reason, fits, least in (
        (f"wider than the machine of {cluster.nodes} nodes", told.nodes <= cluster.nodes, told.nodes.min()),
        (f"above [bounds] node = {_shown(bounds.node)}", each_w <= (bounds.node or np.inf), each_w.min()),
        (f"above [bounds] job = {_shown(bounds.job)}", told.power_w <= (bounds.job or np.inf), told.power_w.min()),
    ):
        if not (keep & fits).any():
            unit = "nodes" if reason.startswith("wider") else "W"
            raise InputError(f"{name}: every configuration is {reason}; the least has {least:,.6g} {unit}")
        if not fits.all():
            example = describe(told, int(np.argmax(~fits)))
            notes.append(Note("kept", f"{name}: configurations left out, {reason}", int((keep & ~fits).sum()), example))
        keep &= fits
    rows = np.flatnonzero(keep)
    rest_w = (cluster.nodes - told.nodes[rows]) * node.idle_w
    least_w = float((told.power_w[rows] + rest_w).min())
    if least_w > highest_w:
        row = int(rows[np.argmin(told.power_w[rows] + rest_w)])
        raise InputError(
            f"{name}: no configuration ever fits under the limit: {describe(told, row)} needs {show_power(least_w)} with the idle "
            f"nodes beside it, the limit is {show_power(highest_w)} at most"
        )
    return Moldable(m.truth.take(rows), None if m.told is None else m.told.take(rows))


def _shown(watts: float | None) -> str:
    return show_power(watts) if watts is not None else ""


def describe(table: Configurations, row: int) -> str:
    """Return a configuration in words.

    >>> describe(Configurations("x", np.array([8]), np.array([12]), np.array([65.0]), np.array([9.0]), np.array([900.0])), 0)
    '8 × 12 at 65 W'
    """
    cap_w = float(table.cap_w[row])
    cap = "uncapped" if cap_w == table.turbo_w else f"at {cap_w:g} W"
    return f"{int(table.nodes[row])} × {int(table.cores[row])} {cap}"


# ------------------------------------------------------------------ jobs


def _weighted(document: Document, jobs: JobTable, notes: list[Note]) -> JobTable:
    """Return jobs whose priority is the factor of their share of power, as the scenario says."""
    bounds = document.spec.bounds
    if bounds.by is not None:
        names = getattr(
            jobs, {"user": "users", "group": "groups", "kind": "kinds", "partition": "partitions"}[bounds.by]
        )
        for name in bounds.weight:
            if name not in names:
                told = f"no job is of {bounds.by} {name!r}{did_you_mean(name, names)}"
                raise document.source.error(("bounds", "weight", name), told)
        factor = np.array([*(bounds.weight.get(name, 1.0) for name in names), 1.0])
        return jobs.with_columns(priority=factor[getattr(jobs, bounds.by)])
    if bounds.priorities == "ignore":
        return jobs.with_columns(priority=np.zeros(len(jobs)))
    weighing = jobs.priority > 0
    if weighing.any():
        top = int(np.argmax(jobs.priority))
        if jobs.priority[top] > MOST_WEIGHT:
            told = (
                f"job {jobs.job_id[top]} has priority {jobs.priority[top]:g}, which would multiply its share of power"
            )
            raise document.source.error(("bounds",), f'{told}: give [bounds] priorities = "ignore", or weight')
        told = "priorities, which weigh a job's share of power"
        notes.append(Note("kept", told, int(weighing.sum()), f"job {jobs.job_id[top]}: {jobs.priority[top]:g}"))
    return jobs


def _without_series(jobs: JobTable, notes: list[Note]) -> JobTable:
    if jobs.series is None:
        return jobs
    notes.append(Note("kept", "power over time is left out: configurations say what jobs draw", len(jobs), ""))
    return jobs.with_columns(series=None)


def _hold_against(document: Document, jobs: JobTable, tables: dict[str, Moldable], notes: list[Note]) -> None:
    """Note which jobs have no table, which tables no job, and which node counts were not measured; refuse if none match."""
    names = [*jobs.kinds, ""]
    kind = np.where(jobs.kind >= 0, jobs.kind, len(jobs.kinds))
    has = np.array([name in tables for name in names])[kind]
    if not has.any():
        first = next(iter(tables))
        known = [name for name in jobs.kinds if name]
        hint = did_you_mean(first, known) if known else "; the trace names no applications: give each table its kind"
        told = f"no job of the trace is of kind {listed(tables)}{hint}"
        raise document.source.error(("configurations",), told)
    if not has.all():
        j = int(np.argmin(has))
        told = "jobs run as they ask: there is no table of their application"
        notes.append(Note("kept", told, int((~has).sum()), quote(f"job {jobs.job_id[j]} of kind {names[kind[j]]!r}")))
    notes += _unused(tables, {names[k] for k in np.unique(kind)})
    notes += _unmeasured(jobs, tables, [names[k] for k in kind])


def _as_measured(jobs: JobTable, tables: dict[str, Configurations], notes: list[Note]) -> JobTable:
    """Let jobs take, as asked for, the time and power that their table has for that: a job cannot be two lengths at once."""
    work_s, draw_w = jobs.work_s.copy(), jobs.draw_w.copy()
    changed = np.zeros(len(jobs), dtype=bool)
    for code, name in enumerate(jobs.kinds):
        if name not in tables:
            continue
        truth = tables[name]
        for nodes in np.unique(jobs.nodes[jobs.kind == code]):
            rows = np.flatnonzero(truth.nodes == nodes)
            if rows.size:
                row = rows[np.lexsort((truth.cap_w[rows], truth.cores[rows]))[-1]]
                mine = (jobs.kind == code) & (jobs.nodes == nodes)
                changed |= mine & (np.abs(work_s - truth.time_s[row]) > SAME_TIME * truth.time_s[row])
                work_s[mine], draw_w[mine] = truth.time_s[row], truth.power_w[row] / nodes
    if changed.any():
        j = int(np.argmax(changed))
        told = "take, as asked for, the time that their table has, not that of the trace"
        notes.append(
            Note(
                "repaired", told, int(changed.sum()), f"job {jobs.job_id[j]}: {work_s[j]:g} s, not {jobs.work_s[j]:g} s"
            )
        )
    return jobs.with_columns(work_s=work_s, draw_w=draw_w)


def _unused(tables: dict[str, Moldable], present: set[str]) -> Iterator[Note]:
    unused = [name for name in tables if name not in present]
    if unused:
        yield Note("kept", "tables of applications that no job runs", len(unused), listed(unused))


def _unmeasured(jobs: JobTable, tables: dict[str, Moldable], kinds: Sequence[str]) -> Iterator[Note]:
    measured = {name: set(m.truth.nodes.tolist()) for name, m in tables.items()}
    odd = [j for j, name in enumerate(kinds) if name in measured and int(jobs.nodes[j]) not in measured[name]]
    if odd:
        counts = sorted(measured[kinds[odd[0]]])
        example = (
            f"job {jobs.job_id[odd[0]]} asks for {jobs.nodes[odd[0]]}, {kinds[odd[0]]!r} has {listed(map(str, counts))}"
        )
        yield Note("kept", "ask for a number of nodes that their table does not have: it counts for their share of power, and as asked "
                   "the next smaller one is taken", len(odd), quote(example))  # fmt: skip


def _variability(document: Document, cluster: Cluster) -> Variability | None:
    from wattline.model.variability import NodeFactors, Variability
    from wattline.traces.node_factors import read_factors

    spec = document.spec.cluster.variability
    if spec is None:
        return None
    here = ("cluster", "variability")
    if spec.file is not None:
        _, nodes = document.located((*here, "file"), read_factors, document.base / spec.file)
    else:
        seed = document.spec.seed if spec.seed is None else spec.seed
        nodes = NodeFactors.drawn(cluster.nodes, float(spec.spread or 0.0), seed)
    if len(nodes) != cluster.nodes:
        raise document.source.error((*here, "file"), f"it has {len(nodes)} nodes, the cluster {cluster.nodes}")
    return Variability(nodes, spec.caps, spec.fixed)
