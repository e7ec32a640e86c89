"""The kinds of job of a scenario: published ones by name, those of a file, and those of its own tables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wattline.errors import did_you_mean
from wattline.scenario.spec_regulation import KindSpec, WorkloadSpec

if TYPE_CHECKING:
    from wattline.model.kinds import Kind
    from wattline.scenario.read import Document

WEIGHT_SLACK = 1e-6
"""By how much weights may miss a sum of 1."""

LIKE = ("meggie-like", "emmy-like")
"""Workloads whose jobs a generator of the same name draws."""

YEARS = ("mira-like",)
"""Generators of whole years, whose jobs belong to projects and not to kinds to which something is promised."""

LIKE_DURATION_S = {**dict.fromkeys(LIKE, 5 * 86400.0), **dict.fromkeys(YEARS, 365 * 86400.0)}
"""How long their jobs arrive unless told otherwise: days have four to warm up and one that counts."""


def build_kinds(document: Document, nodes: int | None) -> tuple[Kind, ...]:
    """Return the kinds of job: the published ones or those of a file first, then those of the scenario itself."""
    spec = document.spec
    found = [] if spec.kinds is None else _named(document, spec.kinds, nodes)
    weighted = any(kind.weight is not None for kind in spec.kind) or any(kind.weight for kind in found)
    found += [_own(kind) for kind in spec.kind]
    if not weighted:
        count = sum(not kind.standby for kind in found)
        return tuple(replace(kind, weight=0.0 if kind.standby else 1.0 / count) for kind in found)
    total = sum(kind.weight for kind in found if not kind.standby)
    if abs(total - 1.0) > WEIGHT_SLACK:  # checked with the scenario, but for the weights in a file
        told = f"the weights of all kinds that are not standby must sum to 1, they sum to {total:.9g}"
        raise document.source.error(("kinds",), told)
    return tuple(found)


def workload_names() -> list[str]:
    """Return the published workloads that `kinds` may name."""
    from wattline.systems.npb import WORKLOADS

    return [*WORKLOADS, *LIKE]


def published(
    name: str, nodes: int | None = None, scale: int = 1, utilization: float | None = None
) -> tuple[Kind, ...]:
    """Return the kinds of a published workload, at its own utilization of its own machine unless told otherwise."""
    if name in LIKE:
        from wattline.generate.jobs import GENERATORS, RrzeLike
        from wattline.generate.rrze import kinds_like

        law = GENERATORS[name]
        assert issubclass(law, RrzeLike)  # noqa: S101 - what LIKE lists
        return tuple(row.kind for row in kinds_like(law(nodes=nodes, load=utilization)))
    from wattline.systems.npb import NODES, kinds_of

    return kinds_of(name, nodes=nodes or NODES, scale=scale, utilization=utilization)


def _named(document: Document, spec: WorkloadSpec, nodes: int | None) -> list[Kind]:
    """Return the kinds that `kinds` names, with what is promised to all of them, and their weights."""
    if spec.workload is None:
        kinds = _of_file(document, str(spec.file))
    else:
        trace = document.spec.trace
        same = spec.utilization is None and trace.generator == spec.workload  # kinds come as often as they are drawn
        kinds = published(spec.workload, nodes, spec.scale, trace.load if same else spec.utilization)
        kinds = tuple(replace(kind, weight=0.0) for kind in kinds)
    given = {key: value for key in ("limit", "share", "average") if (value := getattr(spec, key)) is not None}
    kinds = tuple(kind if kind.standby else replace(kind, **given) for kind in kinds)
    if spec.weights is None:
        return list(kinds)
    names = [kind.name for kind in kinds]
    for name in spec.weights:
        if name not in names:
            told = f"there is no kind of this name{did_you_mean(name, names)}"
            raise document.source.error(("kinds", "weights", name), told)
    return [replace(kind, weight=spec.weights.get(kind.name, 0.0)) for kind in kinds]


def _of_file(document: Document, file: str) -> tuple[Kind, ...]:
    """Read kinds; those that the machine has no room or no power for are refused."""
    from wattline.formats.tables.kinds import read_kinds
    from wattline.scenario.checks_regulation import fits

    path = document.base / file
    if not path.exists():
        raise document.source.error(("kinds", "file"), f"no such file: {path}")
    kinds = read_kinds(path)
    for kind in kinds:
        for _, problem in fits(("kinds",), kind.name, kind.nodes, kind.draw_w, document.spec.cluster):
            raise document.source.error(("kinds", "file"), f"{file}: {problem}")
    return kinds


def _own(spec: KindSpec) -> Kind:
    from wattline.model.kinds import Kind

    floor_w = spec.power if spec.floor is None else spec.floor
    if spec.longest is not None:
        stretch = spec.longest / spec.time
    else:  # as everywhere without a measurement: speed in proportion to power
        stretch = spec.power / floor_w if floor_w > 0 else 1.0
    return Kind(
        spec.name,
        spec.nodes,
        spec.time,
        spec.power,
        floor_w,
        stretch if floor_w < spec.power else 1.0,
        spec.limit,
        spec.share,
        spec.weight or 0.0,
        spec.standby,
        spec.rate or 0.0,
        spec.average,
    )
