"""[[kind]] and [kinds]: kinds of job and the service that was promised to them.

They are published ones by name, those of a file, and those of the scenario's own tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from wattline.errors import did_you_mean
from wattline.files import exists
from wattline.formats.tables.kinds import read_kinds
from wattline.formats.tables.responses import SUFFIXES, read_response
from wattline.model.kinds import Kind
from wattline.physics.responses import find_response, response_names
from wattline.physics.responses.base import Given
from wattline.scenario.read.base import KeyPath, Problem, Section
from wattline.scenario.read.quantities import Count, Finite, Name, Power, Rate, Span, Words
from wattline.scenario.read.source import Context
from wattline.scenario.sections.cluster.cluster import ClusterSpec
from wattline.scenario.sections.trace import LIKE, TraceSpec
from wattline.units import show_power

WEIGHT_SLACK = 1e-6
"""By how much weights may miss a sum of 1."""


class KindSpec(Section):
    """A kind of job, and the service that was promised to it.

    The kinds of a scenario are these and those of `kinds`.
    """

    name: Name = Field(description="name; jobs of a trace file are matched by it")
    nodes: Count = Field(description="nodes of every job")
    time: Span = Field(gt=0, description="run time without a cap")
    power: Power | None = Field(
        None, description="power per node without a cap; needed, unless `response` is a file, which says it"
    )
    floor: Power | None = Field(
        None, description="power per node at its lowest cap (default: `power`, it cannot be capped)"
    )
    longest: Span | None = Field(
        None, description="run time at `floor`; it grows linearly in between (default: in proportion to power)"
    )
    response: str | None = Field(
        None,
        exclude_if=lambda value: value is None,  # so that scenarios without it keep their hash
        description="how run time grows as power falls: `linear` (default), or a CSV file that says it in the place of "
        "`power`, `floor` and `longest`, relative to the scenario file ([docs/cap-response.md](cap-response.md))",
    )
    limit: float = Field(
        math.inf,
        gt=0,
        description="QoS limit: of (end − submission − run time) / run time, the job's own without a cap "
        "(default: nothing is promised)",
    )
    share: float = Field(0.1, gt=0, le=1, description="share of the jobs that may reach the limit")
    average: bool = Field(
        False,  # noqa: FBT003
        description="the limit holds for the mean over the jobs, not for a share of them (not for `wattline bid`)",
    )
    weight: Finite | None = Field(
        None, ge=0, description="share of the nodes where a policy shares by weights (default: equal ones)"
    )
    standby: bool = Field(False, description="endless jobs that only fill the target: nothing is promised to them")  # noqa: FBT003
    rate: Rate | None = Field(None, description='arrivals; bids and `generator = "kinds"` need them')


class WorkloadSpec(Section):
    """Kinds of job as published or from a file, instead of `[[kind]]`.

    `kinds = "W4"` is short for `kinds = {workload = "W4"}`, and `kinds = "log.kinds.csv"` for
    `kinds = {file = "log.kinds.csv"}`.
    """

    workload: str | None = Field(
        None, description="W1 to W14 of the AQA study; meggie-like or emmy-like, with the generator of that name"
    )
    file: str | None = Field(
        None, description="CSV file of kinds, relative to the scenario file; `wattline trace kinds` finds them in a log"
    )
    limit: float | None = Field(
        None, gt=0, description="QoS limit of all kinds (default: what is published or in the file)"
    )
    share: float | None = Field(
        None, gt=0, le=1, description="share of the jobs of every kind that may reach it (default: likewise)"
    )
    average: bool | None = Field(
        None, description="the limits hold for means over the jobs of a kind (default: likewise)"
    )
    utilization: Finite | None = Field(
        None, gt=0, description="share of busy nodes they ask for (default: as published)"
    )
    scale: Count = Field(1, description="nodes of every job × this")
    weights: Annotated[dict[str, float], Words("table of numbers")] | None = Field(
        None, description="weight of every kind by name (default: equal ones)"
    )


def named_kinds(value: Any) -> Any:
    """Return what `kinds` says as a table."""
    if not isinstance(value, str):
        return value
    return {"file" if value.endswith((".csv", ".csv.gz")) else "workload": value}


Workload = Annotated[
    WorkloadSpec | None, BeforeValidator(named_kinds), Words('name, like `"W4"`, CSV file, or a table (see below)')
]


def check_kinds(
    kinds: WorkloadSpec | None, own: Sequence[KindSpec], trace: TraceSpec, cluster: ClusterSpec
) -> Iterator[Problem]:
    """Yield every problem of the kinds: one by one, on this machine, together, and with the source of the jobs."""
    for i, kind in enumerate(own):
        yield from _check_kind(("kind", i), kind)
        yield from fits(("kind", i), kind.name, kind.nodes, kind.power or 0.0, cluster)
    yield from _check_workload(kinds, cluster)
    yield from _check_names(own)
    yield from _check_weights(kinds, own)
    if trace.generator == "kinds":
        yield from _check_drawn(kinds, own)


def _check_kind(here: KeyPath, kind: KindSpec) -> Iterator[Problem]:
    if kind.rate == 0:
        yield (*here, "rate"), f"kind {kind.name!r} never arrives: give it a rate above 0, or leave it out"
    yield from _check_response(here, kind)
    if kind.floor is not None and kind.power is not None and kind.floor > kind.power:
        yield (*here, "floor"), f"a cap cannot raise power: it is above power = {show_power(kind.power)}"
    if kind.longest is not None and kind.longest < kind.time:
        yield (*here, "longest"), f"a cap cannot make a job faster: it is below time = {kind.time:g} s"
    if kind.standby and math.isfinite(kind.limit):
        yield (*here, "limit"), "nothing is promised to a standby kind"


def _check_response(here: KeyPath, kind: KindSpec) -> Iterator[Problem]:
    """A response is one by name, with power, floor and longest; or a file, which says these itself."""
    if is_response_file(kind.response):
        for key in ("power", "floor", "longest"):
            if getattr(kind, key) is not None:
                yield (*here, key), f"the file of response, {kind.response}, says it: leave one of them out"
    elif kind.response is not None and kind.response not in (names := response_names()):
        told = f"unknown response to caps {kind.response!r}{did_you_mean(kind.response, names)}"
        yield (*here, "response"), f"{told}; files of one end in {' or '.join(SUFFIXES)}"
    elif kind.power is None:
        yield (*here, "power"), "is missing: give the power per node without a cap, or a file that says it as response"


def is_response_file(response: str | None) -> bool:
    """Tell whether `response` of a kind names a file."""
    return response is not None and response.endswith(SUFFIXES)


def fits(here: KeyPath, name: str, nodes: int, draw_w: float, cluster: ClusterSpec) -> Iterator[Problem]:
    """Yield why a kind of this size and power has no place on the machine."""
    single = len(here) == 1
    count = cluster.nodes if not cluster.class_ else max(c.count for c in cluster.class_)
    most_w = cluster.full_w if not cluster.class_ else max(c.full_w for c in cluster.class_)
    if count is not None and nodes > count:
        yield (here if single else (*here, "nodes")), f"kind {name!r} needs {nodes} nodes, the cluster has {count}"
    if draw_w > most_w:
        where = here if single else (*here, "power")
        yield where, f"kind {name!r} draws {draw_w:g} W a node, [cluster] max allows {most_w:g} W; raise max"


def _check_workload(kinds: WorkloadSpec | None, cluster: ClusterSpec) -> Iterator[Problem]:
    if kinds is None:
        return
    name = kinds.workload
    if (name is None) == (kinds.file is None):
        yield ("kinds",), "needs exactly one of 'workload' and 'file'"
        return
    if name is None:
        for key in ("utilization", "scale"):
            if key in kinds.model_fields_set:
                yield ("kinds", key), "goes with a published workload, not with a file of kinds"
        return
    if name not in workload_names():
        yield ("kinds", "workload"), f"unknown workload {name!r}{did_you_mean(name, workload_names())}"
        return
    if name in LIKE and kinds.scale > 1:
        yield ("kinds", "scale"), f"goes with the workloads of the AQA study, not with {name}"
    for kind in _workload(kinds):
        yield from fits(("kinds",), kind.name, kind.nodes, kind.draw_w, cluster)
    names = [kind.name for kind in _workload(kinds)]
    for given in kinds.weights or ():
        if given not in names:
            yield ("kinds", "weights", given), f"{name} has no kind of this name{did_you_mean(given, names)}"


def _workload(kinds: WorkloadSpec) -> tuple[Kind, ...]:
    return published(str(kinds.workload), scale=kinds.scale)


def _check_names(own: Sequence[KindSpec]) -> Iterator[Problem]:
    seen: set[str] = set()
    for i, kind in enumerate(own):
        if kind.name in seen:
            yield ("kind", i, "name"), f"kind {kind.name!r} is declared twice"
        seen.add(kind.name)


def _check_weights(kinds: WorkloadSpec | None, own: Sequence[KindSpec]) -> Iterator[Problem]:
    """Weights are given to all kinds that are not standby, or to none, and sum to 1."""
    given: dict[str, float | None] = {kind.name: kind.weight for kind in own if not kind.standby}
    first: KeyPath = ("kind", next((i for i, k in enumerate(own) if k.weight is not None), 0), "weight")
    if kinds is not None and kinds.workload is not None:
        named: Mapping[str, float] = kinds.weights or {}
        given |= {kind.name: named.get(kind.name) for kind in _workload(kinds)}
        first = ("kinds", "weights") if named else first
    known = [weight for weight in given.values() if weight is not None]
    missing = [name for name, weight in given.items() if weight is None]
    if known and missing:
        yield first, f"weights are given to some kinds, but not to {missing[0]!r}; give one to all kinds or to none"
    elif known and abs(sum(known) - 1.0) > WEIGHT_SLACK:
        yield first, f"the weights of all kinds that are not standby must sum to 1, they sum to {sum(known):.9g}"


def _check_drawn(kinds: WorkloadSpec | None, own: Sequence[KindSpec]) -> Iterator[Problem]:
    if not own and kinds is None:
        yield ("trace", "generator"), 'there is no kind to draw from: give kinds = "W4" or [[kind]] tables'
    for i, kind in enumerate(own):
        if kind.rate is None and not kind.standby:
            yield ("kind", i), f"kind {kind.name!r} never arrives: give it a rate, or standby = true"


def build_kinds(
    kinds: WorkloadSpec | None,
    own: Sequence[KindSpec],
    context: Context,
    trace: TraceSpec,
    cluster: ClusterSpec,
    nodes: int | None,
) -> tuple[Kind, ...]:
    """Return the kinds of job: the published ones or those of a file first, then those of the scenario itself."""
    found = [] if kinds is None else _named(kinds, context, trace, cluster, nodes)
    weighted = any(kind.weight is not None for kind in own) or any(kind.weight for kind in found)
    found += [_own(kind, ("kind", i), context, cluster) for i, kind in enumerate(own)]
    if not weighted:
        count = sum(not kind.standby for kind in found)
        return tuple(replace(kind, weight=0.0 if kind.standby else 1.0 / count) for kind in found)
    total = sum(kind.weight for kind in found if not kind.standby)
    if abs(total - 1.0) > WEIGHT_SLACK:  # checked with the scenario, but for the weights in a file
        told = f"the weights of all kinds that are not standby must sum to 1, they sum to {total:.9g}"
        raise context.error(("kinds",), told)
    return tuple(found)


def workload_names() -> list[str]:
    """Return the published workloads that `kinds` may name."""
    from wattline.systems.npb import WORKLOADS

    return [*WORKLOADS, *LIKE]


def published(
    name: str, nodes: int | None = None, scale: int = 1, utilization: float | None = None
) -> tuple[Kind, ...]:
    """Return the kinds of a published workload, at its own utilization of its own machine unless told otherwise."""
    from wattline.generate.jobs import GENERATORS, RrzeLike
    from wattline.generate.rrze import kinds_like
    from wattline.systems.npb import NODES, kinds_of

    if name in LIKE:
        law = GENERATORS[name]
        assert issubclass(law, RrzeLike)  # noqa: S101 - what LIKE lists
        return tuple(row.kind for row in kinds_like(law(nodes=nodes, load=utilization)))
    return kinds_of(name, nodes=nodes or NODES, scale=scale, utilization=utilization)


def _named(
    spec: WorkloadSpec, context: Context, trace: TraceSpec, cluster: ClusterSpec, nodes: int | None
) -> list[Kind]:
    """Return the kinds that `kinds` names, with what is promised to all of them, and their weights."""
    if spec.workload is None:
        kinds = _of_file(str(spec.file), context, cluster)
    else:
        same = spec.utilization is None and trace.generator == spec.workload  # kinds come as often as they are drawn
        use = trace.load if same else spec.utilization
        kinds = context.keyed(("kinds",), published, spec.workload, nodes, spec.scale, use)
        kinds = tuple(replace(kind, weight=0.0) for kind in kinds)
    given = {key: value for key in ("limit", "share", "average") if (value := getattr(spec, key)) is not None}
    kinds = tuple(kind if kind.standby else replace(kind, **given) for kind in kinds)
    if spec.weights is None:
        return list(kinds)
    names = [kind.name for kind in kinds]
    for name in spec.weights:
        if name not in names:
            told = f"there is no kind of this name{did_you_mean(name, names)}"
            raise context.error(("kinds", "weights", name), told)
    return [replace(kind, weight=spec.weights.get(kind.name, 0.0)) for kind in kinds]


def _of_file(file: str, context: Context, cluster: ClusterSpec) -> tuple[Kind, ...]:
    """Read kinds; those that the machine has no room or no power for are refused."""
    path = context.base / file
    if not exists(path):
        raise context.error(("kinds", "file"), f"no such file: {path}")
    kinds = read_kinds(path)
    for kind in kinds:
        for _, problem in fits(("kinds",), kind.name, kind.nodes, kind.draw_w, cluster):
            raise context.error(("kinds", "file"), f"{file}: {problem}")
    return kinds


def _own(spec: KindSpec, here: KeyPath, context: Context, cluster: ClusterSpec) -> Kind:
    """Return a kind of the scenario's own; one whose file says more power than the machine allows is refused."""
    key = (*here, "response")
    if is_response_file(spec.response):
        path = context.base / str(spec.response)
        if not exists(path):
            raise context.error(key, f"no such file: {path}")
        response = context.located(key, read_response, path)
        for _, problem in fits(here, spec.name, spec.nodes, response.draw_w, cluster):
            raise context.error(key, f"{spec.response}: {problem}")
    else:
        stretch = None if spec.longest is None else spec.longest / spec.time
        made = find_response(spec.response or "linear")
        response = context.keyed(key, made.of, Given(spec.power, spec.floor, stretch))
    kind = Kind(
        spec.name,
        spec.nodes,
        spec.time,
        response.draw_w,
        response.floor_w,
        limit=spec.limit,
        share=spec.share,
        weight=spec.weight or 0.0,
        standby=spec.standby,
        arrival_per_s=spec.rate or 0.0,
        average=spec.average,
    )
    answered: Kind = response.on(kind)
    return answered
