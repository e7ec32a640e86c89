"""[trace]: where the jobs come from, read or drawn, cut, and scaled to a wanted load."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from wattline.errors import InputError, did_you_mean
from wattline.files import exists, refuse_name
from wattline.formats.jobs import FORMATS, TABLE, read_trace
from wattline.model.jobs import JobTable
from wattline.reading.notes import BEYOND, Note, Trace
from wattline.scenario.built.cut_off import make_readable
from wattline.scenario.read.base import KeyPath, Problem, Section
from wattline.scenario.read.quantities import Count, Finite, Name, Power, Rate, Seed, Span
from wattline.scenario.read.source import Context
from wattline.scenario.sections.series import check_zone_of
from wattline.units import show_duration, show_power

if TYPE_CHECKING:
    from wattline.generate.jobs import JobType

    Format = str
else:
    Format = Literal[FORMATS]
"""Names of the formats of job logs."""

Handed = Callable[[int | None], tuple[Trace, str]]
"""Jobs that a program has in memory: asked with the machine's nodes, it returns them and the hash of their file."""

LIKE = ("meggie-like", "emmy-like")
"""Workloads whose jobs a generator of the same name draws."""

YEARS = ("mira-like",)
"""Generators of whole years, whose jobs belong to projects and not to kinds to which something is promised."""

LIKE_DURATION_S = {**dict.fromkeys(LIKE, 5 * 86400.0), **dict.fromkeys(YEARS, 365 * 86400.0)}
"""How long their jobs arrive unless told otherwise: days have four to warm up and one that counts."""

DURATION_S = 3 * 3600.0
"""How long jobs of kinds arrive unless told otherwise: an hour to warm up, one that is sold, one to run on."""

_FOR = {
    "format": ("file",),
    "cores_per_node": ("file",),
    "zone": ("file",),
    "columns": ("file",),
    "strict": ("file",),
    "rate": ("poisson",),
    "mix": ("lublin",),
    "users": ("poisson", "lublin", "bursty"),
    "requests": ("poisson", "lublin", "bursty"),
    "seed": ("poisson", "lublin", "bursty", "kinds", *LIKE, *YEARS),
    "type": ("poisson", "bursty"),
    "phase": ("bursty",),
    "duration": ("kinds", *LIKE, *YEARS),
    "full_machine": YEARS,
    "jobs": ("file", "poisson", "lublin", "bursty"),
    "nodes": ("poisson", "lublin", "bursty", *LIKE, *YEARS),
    "load": ("file", "poisson", "lublin", "bursty", *LIKE, *YEARS),
}
"""Keys of [trace] that only some sources of jobs know."""

_USERS_KEY = 0x55
"""Keeps the random stream of users apart from those of failures and generators."""


class JobTypeSpec(Section):
    """A type of job that a generator draws from."""

    name: Name = Field(description="name of the type; it becomes the job's kind")
    nodes: Count = Field(description="nodes of every job of this type")
    mean: Span = Field(gt=0, description="mean run time")
    min: Span = Field(0.0, description="least run time")
    law: Literal["deterministic", "exponential", "lognormal", "uniform"] = Field(
        "exponential", description="law of the run time"
    )
    cv: Finite = Field(
        1.0, gt=0, description="coefficient of variation of a lognormal run time, of the part above `min`"
    )
    share: Finite = Field(1.0, ge=0, description="weight among all arrivals, where types have no `rate`")
    rate: Rate | None = Field(
        None, gt=0, description="arrival rate of this type alone (poisson; give it to all types or to none)"
    )
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
    max_factor: Finite = Field(5.0, ge=1, description="largest overestimate (factor, rounded)")


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
    zone: str | None = Field(
        None,
        description="zone of the log's times where they are local, as those of `sacct`, like `Europe/Paris` (default: "
        "they are taken as UTC)",
    )
    columns: dict[str, str] | None = Field(
        None,
        description="which columns of any CSV or Parquet table are which of Wattline's, with a unit behind a colon: "
        '`{submit_s = "submit", request_s = "limit:h"}` ([how](traces.md#any-table))',
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
        None,
        gt=0,
        description="offered load; the gaps between submissions are scaled to reach it (poisson, bursty, meggie-like, "
        "emmy-like: their rates are, so that it holds in the long run)",
    )
    full_machine: Finite | None = Field(
        None, ge=0, lt=1, description="share of jobs that take the whole machine (mira-like; default 0.001)"
    )
    nodes: Count | None = Field(
        None, description="nodes of the machine that jobs are drawn for (default: those of the cluster)"
    )
    seed: Seed | None = Field(None, description="seed of the generator (default: the scenario's)")
    rate: Rate | None = Field(None, gt=0, description="arrivals of all types together (poisson)")
    mix: Literal["combined", "typed"] | None = Field(
        None, description="one stream of jobs, or batch and interactive (lublin)"
    )
    users: Count | None = Field(
        None, le=1_000_000, description="users that submit the generated jobs of each type (default: unknown)"
    )
    requests: RequestsSpec | None = Field(None, description="time limits of generated jobs")
    type: list[JobTypeSpec] = Field(default_factory=list, description="types of jobs (poisson, bursty)")
    phase: list[PhaseSpec] = Field(default_factory=list, description="phases of arrivals (bursty)")


def check_trace(spec: TraceSpec) -> Iterator[Problem]:
    """Yield keys that do not go with the source of the jobs, or that it lacks."""
    here: KeyPath = ("trace",)
    if (spec.file is None) == (spec.generator is None):
        yield here, "needs exactly one of 'file' and 'generator'"
        return
    kind = "file" if spec.file is not None else str(spec.generator)
    for key in sorted(spec.model_fields_set):
        if key in _FOR and kind not in _FOR[key]:
            yield (*here, key), f"goes with {' or '.join(map(_source, _FOR[key]))}, not with {_source(kind)}"
    if spec.zone is not None:
        yield from check_zone_of((*here, "zone"), spec.zone)
    if spec.columns is not None:
        yield from _check_columns((*here, "columns"), spec)
    if kind in ("poisson", "bursty") and not spec.type:
        yield here, f'generator = "{kind}" needs at least one [[trace.type]]'
    yield from _check_types((*here, "type"), spec.type)
    yield from _check_rates(here, spec)
    asked = spec.requests
    if asked is not None and asked.model in ("none", "exact") and "max_factor" in asked.model_fields_set:
        told = f'goes with model = "factor" or model = "rounded", not with model = "{asked.model}"'
        yield (*here, "requests", "max_factor"), told
    if kind == "bursty" and len(spec.phase) < 2:
        yield here, 'generator = "bursty" needs at least two [[trace.phase]]'


def check_classes(spec: TraceSpec, context: Context, classes: Sequence[str]) -> None:
    """Refuse types of jobs for node classes that the machine does not have."""
    for i, one in enumerate(spec.type):
        if one.class_ is not None and one.class_ not in classes:
            told = f"there is no node class {one.class_!r}{did_you_mean(one.class_, classes)}"
            raise context.error(("trace", "type", i, "class"), told)


def _check_types(here: KeyPath, types: Sequence[JobTypeSpec]) -> Iterator[Problem]:
    """Yield what contradicts itself in types of jobs, or says nothing."""
    for i, one in enumerate(types):
        if one.name in [other.name for other in types[:i]]:
            yield (*here, i, "name"), f"{one.name!r} is the name of another type"
        if one.min > one.mean:
            yield (*here, i, "min"), f"the least run time is above the mean = {show_duration(one.mean)}"
        if "cv" in one.model_fields_set and one.law != "lognormal":
            yield (*here, i, "cv"), f'goes with law = "lognormal", not with law = "{one.law}"'
        if one.floor is not None and one.power is not None and one.floor > one.power:
            yield (*here, i, "floor"), f"a cap cannot raise power: it is above power = {show_power(one.power)}"
    if types and all(one.rate is None and one.share == 0 for one in types):
        yield (*here, 0, "share"), "the shares of all types add up to zero"


def _check_rates(here: KeyPath, spec: TraceSpec) -> Iterator[Problem]:
    """Yield rates of arrivals that are said in two ways, or in none."""
    rated = [one.rate is not None for one in spec.type]
    if spec.generator == "bursty" and any(rated):
        told = "arrivals are those of the phases; give the types shares"
        yield (*here, "type", rated.index(True), "rate"), told
    if spec.generator != "poisson" or not spec.type:
        return
    if any(rated) and not all(rated):
        i = rated.index(False)
        yield (*here, "type", i), f"{spec.type[i].name!r} has no rate, and other types have one: give all or none"
        return
    for i, one in enumerate(spec.type):
        if one.rate is not None and "share" in one.model_fields_set:
            yield (*here, "type", i, "share"), "the type has a rate of its own: give shares or rates"
    told = 'arrivals of generator = "poisson" are said by a rate, by a rate of every type, or by a load'
    given = [key for key, value in (("load", spec.load), ("rate", spec.rate)) if value is not None]
    if len(given) + all(rated) != 1:
        yield (*here, *given[:1]), f"{told}: give one of them"


def _check_columns(here: KeyPath, spec: TraceSpec) -> Iterator[Problem]:
    """Yield what is wrong with columns that are told, as far as that shows without the table."""
    from wattline.formats.jobs.table.columns import check_columns

    if spec.format not in (None, TABLE):
        yield here, f'goes with tables (CSV, Parquet), not with format = "{spec.format}"'
    try:
        check_columns(spec.columns or {})
    except InputError as problem:
        yield here, str(problem)


def _source(kind: str) -> str:
    return "a file" if kind == "file" else f'generator = "{kind}"'


def build_trace(
    spec: TraceSpec, context: Context, nodes: int | None, handed: Handed | None = None
) -> tuple[Trace, str]:
    """Return the jobs for a machine of so many nodes, if they are known, and the hash of the file they came from.

    Jobs that a program has in memory are ``handed`` over. Those of ``generator = "kinds"`` are drawn elsewhere.
    """
    if handed is not None:
        trace, sha256 = handed(nodes)
        if spec.generator is not None:  # drawn to the load that was wanted
            return trace, sha256
        trace = _cut(spec, trace)
    elif spec.file is None:
        return _generate(spec, context, nodes), ""
    else:
        path = context.base / spec.file
        context.located(("trace", "file"), refuse_name, path)
        if (
            not exists(path) and context.source.where(("trace", "file")) != spec.file
        ):  # a log given by itself says so itself
            raise context.error(("trace", "file"), f"no such file: {path}")
        trace, sha256 = read_log(spec, path, nodes), file_sha256(path)
    machine = nodes if nodes is not None else trace.suggested_nodes
    if spec.load is not None:
        if machine is None:
            raise context.error(("trace", "load"), "a wanted load needs [cluster] nodes")
        trace = scale_load(trace, spec.load, machine)
    return trace, sha256


def clock_of(spec: TraceSpec, jobs: JobTable) -> tuple[float, float]:
    """Return when the run begins and for how long jobs arrive, in seconds."""
    if spec.generator == "kinds":
        return 0.0, spec.duration or DURATION_S
    if spec.generator in LIKE_DURATION_S:  # days begin at midnight, whenever the first job comes
        return 0.0, spec.duration or LIKE_DURATION_S[spec.generator]
    return float(jobs.submit_s[0]), jobs.span_s


def end_of_drawing_s(spec: TraceSpec, run_until_s: float) -> float:
    """Return how long after it began a run ends because its jobs are drawn no further (infinite: it does not)."""
    drawn = spec.generator == "kinds" and math.isinf(run_until_s)
    return (spec.duration or DURATION_S) if drawn else math.inf


def run_bound_s(jobs: JobTable) -> float:
    """Return how long after it began failures and repeated steps still come: twice the span and a job."""
    return 2 * jobs.span_s + float(jobs.work_s.max())


def read_log(spec: TraceSpec, path: Path, nodes: int | None) -> Trace:
    """Read a job log as a scenario says; the journal of a run that was cut off is made first."""
    cut = make_readable(path)
    trace = read_trace(
        path,
        format=spec.format,
        strict=spec.strict,
        cores_per_node=spec.cores_per_node,
        nodes=nodes,
        zone=spec.zone,
        columns=spec.columns,
    )
    if cut:
        trace = replace(trace, notes=(*trace.notes, Note("kept", cut, len(trace.jobs), "")))
    return _cut(spec, trace)


def _cut(spec: TraceSpec, trace: Trace) -> Trace:
    """Keep as many jobs from the start as are asked for."""
    left_out = len(trace.jobs) - (spec.jobs or len(trace.jobs))
    if left_out <= 0:
        return trace
    first = int(trace.jobs.job_id[spec.jobs])
    note = Note("dropped", f"{BEYOND} {spec.jobs} jobs that were asked for", left_out, f"job {first}")
    return replace(
        trace, jobs=trace.jobs.take(np.arange(len(trace.jobs) - left_out)), notes=(*trace.notes, note), records=None
    )


def offered_load(trace: Trace, nodes: int) -> float:
    """Return the load that the jobs which fit offer to so many nodes (0: they come all at once, or do no work)."""
    jobs = trace.jobs
    node_s = float(np.sum((jobs.nodes * jobs.work_s)[jobs.nodes <= nodes]))
    return node_s / (jobs.span_s * nodes) if jobs.span_s > 0 else 0.0


def scale_load(trace: Trace, load: float, nodes: int) -> Trace:
    """Stretch or squeeze the gaps between submissions so that the trace offers a load to so many nodes."""
    jobs = trace.jobs
    offered = offered_load(trace, nodes)
    if offered <= 0:
        raise InputError(f"{trace.source}: its load cannot be scaled: all jobs come at once or none does any work")
    factor = offered / load
    first = jobs.submit_s[0]
    note = Note("repaired", f"gaps between submissions × {factor:.6g} to offer load {load:g}", len(jobs), "")
    scaled = jobs.with_columns(submit_s=first + (jobs.submit_s - first) * factor)
    return replace(trace, jobs=scaled, notes=(*trace.notes, note))


def file_sha256(path: Path) -> str:
    """Return the hash of a log's file ("" if it is a folder)."""
    if not path.is_file():  # a journal used as a trace is a folder
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _generate(spec: TraceSpec, context: Context, nodes: int | None) -> Trace:
    from wattline.generate.jobs import GENERATORS, Phase, Requests, generate

    seed = context.seed_of(spec.seed)
    kind = str(spec.generator)
    nodes = nodes if spec.nodes is None else spec.nodes
    if nodes is None and (kind == "lublin" or (spec.load is not None and kind not in LIKE_DURATION_S)):
        raise context.error(("cluster",), f"key 'nodes' is missing: generator = \"{kind}\" needs the machine's size")
    given: dict[str, Any] = {"seed": seed, "jobs": spec.jobs, "load": spec.load, "nodes": nodes, "mix": spec.mix}
    if kind in LIKE_DURATION_S:
        given["days"] = (spec.duration or LIKE_DURATION_S[kind]) / 86400.0
    if spec.full_machine is not None:
        given["full_machine"] = spec.full_machine
    if kind == "poisson":
        given["rate_per_s"] = spec.rate
    if spec.requests is not None:
        given["requests"] = Requests(spec.requests.model, spec.requests.max_factor)
    try:
        if kind in ("poisson", "bursty"):
            given["types"] = tuple(_job_type(t) for t in spec.type)
        if kind == "bursty":
            given["phases"] = tuple(Phase(p.rate, p.dwell) for p in spec.phase)
        trace = generate(GENERATORS[kind](**{key: value for key, value in given.items() if value is not None}))
    except InputError as problem:
        raise context.error(("trace",), str(problem)) from None
    jobs = _with_classes(trace.jobs, spec)
    return trace.with_jobs(_with_users(jobs, spec.users, seed) if spec.users else jobs)


def _job_type(spec: JobTypeSpec) -> JobType:
    from wattline.generate.jobs import JobType

    def known(value: float | None) -> float:
        return math.nan if value is None else value

    return JobType(
        name=spec.name,
        nodes=spec.nodes,
        mean_s=spec.mean,
        min_s=spec.min,
        law=spec.law,
        cv=spec.cv,
        share=spec.share,
        rate_per_s=spec.rate,
        draw_w=known(spec.power),
        floor_w=known(spec.floor),
        stretch=known(spec.stretch),
    )


def _with_classes(jobs: JobTable, spec: TraceSpec) -> JobTable:
    """Send types to the node class they name: a job's partition is the name of its class."""
    names = list(dict.fromkeys(t.class_ for t in spec.type if t.class_ is not None))
    if not names:
        return jobs
    code = np.array([names.index(t.class_) if t.class_ is not None else -1 for t in spec.type], dtype=np.int64)
    return jobs.with_columns(partition=code[jobs.kind], partitions=tuple(names))


def _with_users(jobs: JobTable, users: int, seed: int) -> JobTable:
    """Give every type its own users; the k-th submits in proportion to 1/k, as a few users do in every log."""
    random = np.random.Generator(np.random.Philox(key=[seed, _USERS_KEY]))
    weights = 1.0 / np.arange(1, users + 1)
    one_of = random.choice(users, size=len(jobs), p=weights / weights.sum())
    kind = np.maximum(jobs.kind, 0)
    kinds = jobs.kinds or ("user",)
    names = tuple(f"{name}-{i + 1}" for name in kinds for i in range(users))
    return jobs.with_columns(user=kind * users + one_of, users=names)
