"""The jobs of a scenario and the failures of its nodes: read or drawn, cut, and scaled to a wanted load."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wattline.errors import InputError
from wattline.model.cluster import Outage
from wattline.model.jobs import Ints, JobTable
from wattline.reading.notes import BEYOND, Note, Trace, quote
from wattline.scenario.kinds import LIKE_DURATION_S
from wattline.scenario.spec import FailuresSpec, TraceSpec

if TYPE_CHECKING:
    from wattline.model.kinds import Kind
    from wattline.scenario.read import Document

_USERS_KEY, _FAILURES_KEY = 0x55, 0xFA
"""Keep the random streams of users, failures and generators apart."""


POWER_SLACK = 0.1
"""How far the power of a job may lie outside what caps do to its kind before that is mentioned."""

MOST_FAILURES = 1_000_000
"""Whoever asks for more has mistaken a unit."""


def build_trace(document: Document, seed: int) -> tuple[Trace, str]:
    """Return the jobs of a scenario, and the hash of the file they came from."""
    from wattline.scenario.machine import cluster_nodes

    spec = document.spec.trace
    nodes = cluster_nodes(document)
    if document.given.trace is not None:
        trace, sha256 = document.given.trace(nodes)
        if spec.generator is not None:  # drawn to the load that was wanted
            return trace if spec.generator == "kinds" else _with_kinds(document, trace), sha256
        trace = _cut(spec, trace)
    elif spec.generator == "kinds":
        return _draw_kinds(document, seed, nodes), ""
    elif spec.file is None:
        return _with_kinds(document, _generate(document, seed, nodes)), ""
    else:
        path = document.base / spec.file
        if (
            not path.exists() and document.source.where(("trace", "file")) != spec.file
        ):  # a log given by itself says so itself
            raise document.source.error(("trace", "file"), f"no such file: {path}")
        trace, sha256 = _cut(spec, read(spec, path, nodes)), file_sha256(path)
    machine = nodes if nodes is not None else trace.suggested_nodes
    if spec.load is not None:
        if machine is None:
            raise document.source.error(("trace", "load"), "a wanted load needs [cluster] nodes")
        trace = scale_load(trace, spec.load, machine)
    return _with_kinds(document, trace), sha256


def read(spec: TraceSpec, path: Path, nodes: int | None) -> Trace:
    """Read a job log as a scenario says; the journal of a run that was cut off is made first."""
    from wattline.formats.jobs import read_trace
    from wattline.scenario.resume import make_readable

    cut = make_readable(path)
    trace = read_trace(path, format=spec.format, strict=spec.strict, cores_per_node=spec.cores_per_node, nodes=nodes)
    if cut:
        trace = replace(trace, notes=(*trace.notes, Note("kept", cut, len(trace.jobs), "")))
    return trace


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


def scale_load(trace: Trace, load: float, nodes: int) -> Trace:
    """Stretch or squeeze the gaps between submissions so that the trace offers a load to so many nodes."""
    jobs = trace.jobs
    fits = jobs.nodes <= nodes
    offered = float(np.sum((jobs.nodes * jobs.work_s)[fits]))
    if jobs.span_s <= 0 or offered <= 0:
        raise InputError(f"{trace.source}: its load cannot be scaled: all jobs come at once or none does any work")
    factor = offered / (jobs.span_s * nodes) / load
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


def _generate(document: Document, seed: int, nodes: int | None) -> Trace:
    from wattline.generate.jobs import GENERATORS, Phase, generate

    spec = document.spec.trace
    kind = str(spec.generator)
    if nodes is None and (kind == "lublin" or (spec.load is not None and kind not in LIKE_DURATION_S)):
        raise document.source.error(
            ("cluster",), f"key 'nodes' is missing: generator = \"{kind}\" needs the machine's size"
        )
    given: dict[str, Any] = {"seed": seed, "jobs": spec.jobs, "load": spec.load, "nodes": nodes, "mix": spec.mix}
    if kind in LIKE_DURATION_S:
        given["days"] = (spec.duration or LIKE_DURATION_S[kind]) / 86400.0
    if spec.full_machine is not None:
        given["full_machine"] = spec.full_machine
    if kind == "poisson":
        given["rate_per_s"] = spec.rate
    if spec.requests is not None:
        from wattline.generate.jobs import Requests

        given["requests"] = Requests(spec.requests.model, spec.requests.max_factor)
    try:
        if kind in ("poisson", "bursty"):
            given["types"] = tuple(_job_type(t) for t in spec.type)
        if kind == "bursty":
            given["phases"] = tuple(Phase(p.rate, p.dwell) for p in spec.phase)
        trace = generate(GENERATORS[kind](**{key: value for key, value in given.items() if value is not None}))
    except InputError as problem:
        raise document.source.error(("trace",), str(problem)) from None
    jobs = _with_classes(trace.jobs, spec)
    return trace.with_jobs(_with_users(jobs, spec.users, seed) if spec.users else jobs)


def _draw_kinds(document: Document, seed: int, nodes: int | None) -> Trace:
    """Draw jobs of the declared kinds, as the hours are drawn on which bids are tested."""
    from wattline.bidding.setting import Setting, draw_jobs
    from wattline.scenario.kinds import build_kinds
    from wattline.scenario.regulation import DURATION_S

    spec = document.spec
    if nodes is None:
        raise document.source.error(
            ("cluster",), "key 'nodes' is missing: generator = \"kinds\" needs the machine's size"
        )
    try:
        setting = Setting(build_kinds(document, nodes), nodes, spec.cluster.idle, spec.cluster.max)
        jobs = draw_jobs(setting, spec.trace.duration or DURATION_S, seed)
    except InputError as problem:
        raise document.source.error(("trace",), str(problem)) from None
    if not len(jobs):
        raise document.source.error(("trace", "duration"), "no job arrives in so short a time")
    return Trace(jobs, source="drawn from kinds", suggested_nodes=nodes)


def _with_kinds(document: Document, trace: Trace) -> Trace:
    """Hold the jobs against the declared kinds; what a job does not say of its power, its kind says."""
    spec = document.spec
    if not spec.kind and spec.kinds is None:
        return trace
    from wattline.model.kinds import column
    from wattline.scenario.kinds import build_kinds
    from wattline.sim.subjects.regulation import kind_codes

    kinds = build_kinds(document, trace.suggested_nodes)
    jobs = trace.jobs
    try:
        code = kind_codes(jobs, kinds)
    except InputError as problem:
        key = "kind" if spec.kind else "kinds"
        raise InputError(f"{document.source.where((key,))}: {trace.source}: {problem}") from None
    filled = {
        name: np.where(np.isnan(getattr(jobs, name)), column(kinds, name)[code], getattr(jobs, name))
        for name in ("draw_w", "floor_w", "stretch")
    }
    notes = (*trace.notes, *_unlike(jobs, kinds, code))
    return replace(trace, jobs=jobs.with_columns(**filled), notes=notes)


def _unlike(jobs: JobTable, kinds: Sequence[Kind], code: Ints) -> Iterator[Note]:
    """Yield notes on jobs that are not what their kind says; pools of types are of different nodes by their nature."""
    from wattline.model.kinds import column

    pooled = np.array([kind.name.startswith("*") for kind in kinds])[code]
    nodes, floor_w, draw_w = (column(kinds, name)[code] for name in ("nodes", "floor_w", "draw_w"))
    beyond = (jobs.draw_w > draw_w * (1 + POWER_SLACK)) | (jobs.draw_w < floor_w * (1 - POWER_SLACK))
    for reason, which, said, meant in (
        ("asks for other nodes than its kind has", (jobs.nodes != nodes) & ~pooled, jobs.nodes, nodes),
        (f"draws {POWER_SLACK:.0%} more or less than its kind can", beyond, jobs.draw_w, draw_w),
    ):
        if which.any():
            j = int(np.argmax(which))
            example = f"job {jobs.job_id[j]} of kind {kinds[code[j]].name!r}: {said[j]:g}, not {meant[j]:g}"
            yield Note("kept", reason, int(which.sum()), quote(example))


def _job_type(spec: Any) -> Any:
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


def run_bound_s(jobs: JobTable) -> float:
    """Return how long after the first submission failures and repeated steps still come: twice the span and a job."""
    return 2 * jobs.span_s + float(jobs.work_s.max())


def random_outages(
    spec: FailuresSpec, seed: int, nodes: int, jobs: JobTable, planned: Sequence[Outage]
) -> list[Outage]:
    """Return failures of single nodes: exponential times between them, exponential repairs.

    A failure of a node that is out of service already, as planned, is left out.
    """
    expected = nodes * run_bound_s(jobs) / (spec.mtbf + spec.repair)
    if expected > MOST_FAILURES:
        raise InputError(f"that would be about {expected:,.0f} failures over this trace, more than {MOST_FAILURES:,}")
    random = np.random.Generator(np.random.Philox(key=[seed, _FAILURES_KEY]))
    start_s = float(jobs.submit_s[0])
    until_s = start_s + run_bound_s(jobs)
    clock = np.full(nodes, start_s)
    found: list[Outage] = []
    while np.any(clock < until_s):
        fails = clock + random.exponential(spec.mtbf, nodes)
        clock = fails + random.exponential(spec.repair, nodes)
        found += [Outage(float(fails[i]), float(clock[i]), int(i), 1) for i in np.flatnonzero(fails < until_s)]
    return sorted((o for o in found if not any(_overlap(o, p) for p in planned)), key=lambda o: (o.start_s, o.first))


def _overlap(a: Outage, b: Outage) -> bool:
    shared = a.first < b.first + b.count and b.first < a.first + a.count
    return shared and a.start_s <= b.end_s and b.start_s <= a.end_s
