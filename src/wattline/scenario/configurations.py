"""Moldable jobs of a scenario: tables read or modelled, cut to what machine and bounds allow, held against the jobs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from wattline.errors import InputError
from wattline.model.configurations import Configurations, Ints, Moldable
from wattline.reading.notes import Note
from wattline.scenario.checks import has_limit
from wattline.scenario.moldable_jobs import as_measured, hold_against, kinds_of, weighted, without_series
from wattline.scenario.scaled_tables import scale_tables
from wattline.units import show_power

if TYPE_CHECKING:
    from wattline.model.cluster import Cluster
    from wattline.model.variability import Variability
    from wattline.reading.notes import Trace
    from wattline.scenario.read import Document
    from wattline.scenario.spec_configurations import BoundsSpec, ConfigurationsSpec
    from wattline.sim.simulate import Policies


@dataclass(frozen=True)
class MoldableJobs:
    """Tables by kind of job, the trace with what has to be known of its jobs, and how nodes differ."""

    tables: tuple[Moldable, ...]
    trace: Trace
    chooses: Ints | None = None
    """Which table each job chooses from (None: that of its kind)."""
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
    scaled: set[str] = set()
    names: list[str] = []
    present = kinds_of(trace.jobs)
    for i, given in enumerate(spec.configurations):
        here = ("configurations", i)
        for k, truth in enumerate(document.located(here, _read, document, given, present, notes)):
            name = truth.application
            if name in names:
                raise document.source.error(here, f"a table for jobs of kind {name!r} is given already")
            names.append(name)
            if name not in present:
                continue
            whole[name] = truth
            scaled |= {name} if given.times == "scaled" else set()
            seed = spec.seed if given.seed is None else given.seed
            told = document.located(here, _told, truth, given, np.random.default_rng([seed, i, k]), notes)
            tables[name] = document.located(here, _cut, told, cluster, spec.bounds, highest_w, notes)
    jobs = weighted(document, trace.jobs, notes)
    jobs = without_series(jobs, notes)
    hold_against(document, jobs, tables, names, notes)
    jobs = as_measured(jobs, whole, scaled, notes)
    if not policies.select.shapes and policies.select.builtin:  # somebody's own policy may know them
        said = f"tables of configurations, among which select policy {policies.select.name!r} does not choose: jobs run as they ask"
        notes.append(Note("kept", said, len(tables), ""))
        if spec.cluster.variability is not None:
            said = f"nodes that differ need a select policy that chooses configurations, not {policies.select.name!r}"
            raise document.source.error(("cluster", "variability"), said)
        tables, scaled = {}, set()
    found = replace(trace.with_jobs(jobs), notes=(*trace.notes, *notes))
    variability = _variability(document, cluster)
    if not scaled:
        return MoldableJobs(tuple(tables.values()), found, variability=variability)
    every, chooses = document.located(("configurations",), scale_tables, jobs, tables, whole, scaled)
    return MoldableJobs(every, found, chooses, variability)


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


def _read(
    document: Document, spec: ConfigurationsSpec, present: Collection[str], notes: list[Note]
) -> list[Configurations]:
    """Read a file; return its tables under the kinds of their jobs.

    What is said of tables that no job needs is left out.
    """
    from wattline.formats.tables.configuration_rows import Socketed
    from wattline.formats.tables.configurations import read_configurations
    from wattline.formats.tables.job_details import read_names

    read = read_configurations(
        document.base / spec.file,
        reduce=spec.reduce,
        node=Socketed(spec.sockets, spec.memory),
        turbo_w=spec.turbo,
        names=None if spec.names is None else read_names(document.base / spec.names),
    )
    one = spec.kind is not None or spec.application is not None
    wanted = [read.table(spec.application)] if one else list(read.tables.values())
    needed = tuple(f"{t.application}:" for t in wanted if (spec.kind or t.application) in present)
    every = tuple(f"{name}:" for name in read.tables)
    notes += [n for n in read.notes if n.reason.startswith(needed) or not n.reason.startswith(every)]
    found = []
    for table in wanted:
        rows = np.flatnonzero(table.nodes >= spec.least_nodes)
        if not rows.size:
            raise InputError(
                f"{spec.file}: {table.application} has no configuration on {spec.least_nodes} nodes or more"
            )
        found.append(replace(table.take(rows), application=spec.kind or table.application))
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
        try:
            power_w = fitted.interval(truth.nodes, truth.cores, truth.cap_w, spec.miss).most_w
        except InputError as problem:
            raise InputError(f"{truth.application}: {problem}; measure more, or raise sample or miss") from None
    sure = np.isfinite(power_w)
    if not sure.any():
        raise InputError(f"{truth.application}: {count} measurements promise nothing about its power; raise sample")
    told = replace(truth, time_s=time_s, power_w=np.where(sure, power_w, 1.0)).take(np.flatnonzero(sure))
    truth = truth.take(np.flatnonzero(sure))
    low = float((told.power_w < 0.9 * truth.power_w).mean())
    what = "upper bounds of power" if spec.power == "upper" else "expected power"
    notes.append(
        Note(
            "kept",
            f"{truth.application}: configurations as the {spec.source} model tells them ({what}); {low:.1%} more than 10 % too low",
            len(told),
            f"fitted to {count} of them",
        )
    )
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
        (
            f"above [bounds] node = {_shown(bounds.node)}",
            each_w <= (np.inf if bounds.node is None else bounds.node),
            each_w.min(),
        ),
        (
            f"above [bounds] job = {_shown(bounds.job)}",
            told.power_w <= (np.inf if bounds.job is None else bounds.job),
            told.power_w.min(),
        ),
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


def _variability(document: Document, cluster: Cluster) -> Variability | None:
    from wattline.formats.tables.node_factors import read_factors
    from wattline.model.variability import NodeFactors, Variability

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
