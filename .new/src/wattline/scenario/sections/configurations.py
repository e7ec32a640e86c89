"""[[configurations]]: moldable jobs and the tables of what they may look like.

Tables are read or modelled, cut to what machine and bounds allow, and held against the jobs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from wattline.arrays import Ints
from wattline.errors import InputError
from wattline.formats.tables.configuration_rows import Socketed
from wattline.formats.tables.configurations import read_configurations
from wattline.formats.tables.job_details import read_names
from wattline.learn.configs import fit
from wattline.model.configurations import Configurations, Moldable
from wattline.reading.notes import Note
from wattline.scenario.built.moldable_jobs import as_measured, hold_against, kinds_of, without_series
from wattline.scenario.built.scaled_tables import scale_tables
from wattline.scenario.read.base import Problem, Section
from wattline.scenario.read.quantities import Count, Finite, Name, Power, Seed
from wattline.scenario.read.source import Context
from wattline.scenario.sections.bounds import BoundsSpec, weigh_jobs
from wattline.units import show_power
from wattline.wiring.options import Options

if TYPE_CHECKING:
    from wattline.model.cluster import Cluster
    from wattline.model.mechanism import Mechanism
    from wattline.model.variability import Variability
    from wattline.reading.notes import Trace

MODELLED = ("sample", "power", "miss", "seed")
"""Keys of a table that only a model knows."""


class ConfigurationsSpec(Section):
    """Configurations (nodes × cores, cap) among which jobs of an application may choose.

    Jobs of other kinds run as they ask.
    """

    file: str = Field(
        description="table of one or several applications, relative to the scenario (.csv, .csv.gz, .parquet, or a "
        "job_details_table)"
    )
    application: Name | None = Field(None, description="only this application of the file (default: all of them)")
    kind: Name | None = Field(
        None, description="kind of the jobs that it is the table of (default: the application's name)"
    )
    names: str | None = Field(
        None, description="names of the applications of a job_details_table: CSV file with `job_id` and `application`"
    )
    reduce: Literal["median", "min"] = Field("median", description="time over trials")
    sockets: Count = Field(2, description="sockets of a node, to check its powers")
    memory: Power = Field(30.0, description="what the memory of a socket draws at most, beside its cap")
    turbo: Power | None = Field(None, description="the cap that means: none, and turbo (default: as the table says)")
    least_nodes: Count = Field(1, description="leave out smaller node counts, e.g. of another problem size")
    times: Literal["table", "scaled"] = Field(
        "table",
        description="every job takes the table's time, or the table says how its own run time changes with the "
        "configuration: "
        "as asked for, it takes what the trace says",
    )
    source: Literal["measured", "mixed", "physical", "log-quadratic"] = Field(
        "measured",
        description="what policies are told: the table itself, or what a model fitted to a sample of it says",
    )
    sample: Finite = Field(
        0.1, gt=0, lt=1, description="share of the table that a model is fitted to (at least 35 rows)"
    )
    power: Literal["mean", "upper"] = Field(
        "mean", description="power that a model tells: the expected one, or the upper bound of its interval"
    )
    miss: Finite = Field(
        0.1, gt=0, lt=1, description="probability that the interval is missed, on either side half of it"
    )
    seed: Seed | None = Field(None, description="seed of the sample (default: the scenario's)")


def check_configurations(tables: Sequence[ConfigurationsSpec]) -> Iterator[Problem]:
    """Yield keys of tables that do not go together."""
    for i, table in enumerate(tables):
        for key in MODELLED:
            if key in table.model_fields_set and table.source == "measured":
                yield ("configurations", i, key), 'goes with a model (source = "mixed"), not with source = "measured"'
        if "miss" in table.model_fields_set and table.power == "mean":
            yield ("configurations", i, "miss"), 'goes with power = "upper"'


@dataclass(frozen=True)
class MoldableJobs:
    """Tables by kind of job, the trace with what has to be known of its jobs, and how nodes differ."""

    tables: tuple[Moldable, ...]
    trace: Trace
    chooses: Ints | None = None
    """Which table each job chooses from (None: that of its kind)."""


def check_chooser(select: Mechanism, context: Context, *, moldable: bool, limited: bool) -> None:
    """Refuse a policy that shares out power among configurations where there is no power to share, or none of them."""
    if not select.shapes:
        return
    if not moldable:
        told = (
            f"{select.called!r} chooses among configurations of moldable jobs: give [[configurations]] (or --configs)"
        )
        raise context.error(("policy", "select"), told)
    if not limited:
        told = (
            f"{select.called!r} shares out a power limit: give [limit] power (or --power-limit), or [[budget]] tables"
        )
        raise context.error(("policy", "select"), told)


def build_moldable(
    tables: Sequence[ConfigurationsSpec],
    bounds: BoundsSpec,
    context: Context,
    trace: Trace,
    cluster: Cluster,
    select: Mechanism,
    highest_w: float,
    *,
    varied: bool,
) -> MoldableJobs:
    """Return what jobs may choose among; every reason why they could not is said here.

    ``select`` is the policy that chooses, ``highest_w`` the highest limit of the run. ``varied``: nodes differ in
    power.
    """
    from wattline.wiring.subjects.shapes import check_one_class

    if not tables:
        return MoldableJobs((), trace)
    context.keyed(("configurations",), check_one_class, cluster)
    notes: list[Note] = []
    found: dict[str, Moldable] = {}
    whole: dict[str, Configurations] = {}
    scaled: set[str] = set()
    names: list[str] = []
    present = kinds_of(trace.jobs)
    for i, given in enumerate(tables):
        here = ("configurations", i)
        for k, truth in enumerate(context.located(here, _read, context, given, present, notes)):
            name = truth.application
            if name in names:
                raise context.error(here, f"a table for jobs of kind {name!r} is given already")
            names.append(name)
            if name not in present:
                continue
            whole[name] = truth
            scaled |= {name} if given.times == "scaled" else set()
            rng = np.random.default_rng([context.seed_of(given.seed), i, k])
            told = context.located(here, _told, truth, given, rng, notes)
            found[name] = context.located(here, _cut, told, cluster, bounds, highest_w, notes)
    jobs = weigh_jobs(bounds, context, trace.jobs, notes)
    jobs = without_series(jobs, notes)
    hold_against(context, jobs, found, names, notes)
    jobs = as_measured(jobs, whole, scaled, notes)
    if not select.shapes and select.builtin:  # a user's own policy may choose in ways that its flags do not tell
        who = f"select policy {select.called!r}"
        said = f"tables of configurations, among which {who} does not choose: jobs run as they ask"
        notes.append(Note("kept", said, len(found), ""))
        if varied:
            said = f"nodes that differ need a select policy that chooses configurations, not {select.called!r}"
            raise context.error(("cluster", "variability"), said)
        found, scaled = {}, set()
    noted = replace(trace.with_jobs(jobs), notes=(*trace.notes, *notes))
    if not scaled:
        return MoldableJobs(tuple(found.values()), noted)
    every, chooses = context.located(("configurations",), scale_tables, jobs, found, whole, scaled)
    return MoldableJobs(every, noted, chooses)


def add_moldable(options: Options, moldable: MoldableJobs, variability: Variability | None) -> Options:
    """Return options with what jobs may choose among, and how nodes differ."""
    return replace(options, configurations=moldable.tables, chooses=moldable.chooses, variability=variability)


def _read(
    context: Context, spec: ConfigurationsSpec, present: Collection[str], notes: list[Note]
) -> list[Configurations]:
    """Read a file; return its tables under the kinds of their jobs.

    What is said of tables that no job needs is left out.
    """
    read = read_configurations(
        context.base / spec.file,
        reduce=spec.reduce,
        node=Socketed(spec.sockets, spec.memory),
        turbo_w=spec.turbo,
        names=None if spec.names is None else read_names(context.base / spec.names),
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
            f"{truth.application}: configurations as the {spec.source} model tells them ({what}); {low:.1%} more than "
            "10 % too low",
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
        own_w = m.truth.power_w[low] / m.truth.nodes[low]
        drawn = f"{show_power(own_w)} a node, less than an idle one, {show_power(node.idle_w)}"
        raise InputError(
            f"{name}: {describe(m.truth, low)} draws {drawn}; if the table counts processors only, set [cluster] idle "
            "to what is theirs"
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
            f"{name}: no configuration ever fits under the limit: {describe(told, row)} needs {show_power(least_w)} "
            "with the idle "
            f"nodes beside it, the limit is {show_power(highest_w)} at most"
        )
    return Moldable(m.truth.take(rows), None if m.told is None else m.told.take(rows))


def _shown(watts: float | None) -> str:
    return show_power(watts) if watts is not None else ""


def describe(table: Configurations, row: int) -> str:
    """Return a configuration in words.

    >>> one = (np.array([value]) for value in (8, 12, 65.0, 9.0, 900.0))
    >>> describe(Configurations("x", *one), 0)
    '8 × 12 at 65 W'
    """
    cap_w = float(table.cap_w[row])
    cap = "uncapped" if cap_w == table.turbo_w else f"at {cap_w:g} W"
    return f"{int(table.nodes[row])} × {int(table.cores[row])} {cap}"
