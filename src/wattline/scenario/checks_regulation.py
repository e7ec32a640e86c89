"""What single keys cannot show about kinds of job, the regulation market and the bid."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from wattline.errors import did_you_mean
from wattline.scenario.kinds import LIKE, WEIGHT_SLACK, published, workload_names
from wattline.scenario.lines import Path
from wattline.scenario.spec_regulation import FITTED, GAUSSIAN, KindSpec, RegulationSpec
from wattline.units import show_power

if TYPE_CHECKING:
    from wattline.model.kinds import Kind
    from wattline.scenario.spec import ClusterSpec, Spec

Problem = tuple[Path, str]


def check_regulation(spec: Spec) -> Iterator[Problem]:
    """Yield every problem of the kinds, the market and the bid."""
    for i, kind in enumerate(spec.kind):
        yield from _kind(("kind", i), kind)
        yield from fits(("kind", i), kind.name, kind.nodes, kind.power, spec.cluster)
    yield from _published(spec)
    yield from _names(spec.kind)
    yield from _weights(spec)
    if spec.trace.generator == "kinds":
        yield from _drawn(spec)
    if spec.regulation is not None:
        yield from _market(spec.regulation, spec)
    elif any(pick.name != "given" for pick in spec.policy.bid):
        yield ("policy", "bid"), "bids need a market: add [regulation]"


def _kind(here: Path, kind: KindSpec) -> Iterator[Problem]:
    if kind.rate == 0:
        yield (*here, "rate"), f"kind {kind.name!r} never arrives: give it a rate above 0, or leave it out"
    if kind.floor is not None and kind.floor > kind.power:
        yield (*here, "floor"), f"a cap cannot raise power: it is above power = {show_power(kind.power)}"
    if kind.longest is not None and kind.longest < kind.time:
        yield (*here, "longest"), f"a cap cannot make a job faster: it is below time = {kind.time:g} s"
    if kind.standby and math.isfinite(kind.limit):
        yield (*here, "limit"), "nothing is promised to a standby kind"


def fits(here: Path, name: str, nodes: int, draw_w: float, cluster: ClusterSpec) -> Iterator[Problem]:
    """Yield why a kind of this size and power has no place on the machine."""
    single = len(here) == 1
    count = cluster.nodes if not cluster.class_ else max(c.count for c in cluster.class_)
    most_w = cluster.max if not cluster.class_ else max(c.max for c in cluster.class_)
    if count is not None and nodes > count:
        yield (here if single else (*here, "nodes")), f"kind {name!r} needs {nodes} nodes, the cluster has {count}"
    if draw_w > most_w:
        where = here if single else (*here, "power")
        yield where, f"kind {name!r} draws {draw_w:g} W a node, [cluster] max allows {most_w:g} W; raise max"


def _published(spec: Spec) -> Iterator[Problem]:
    if spec.kinds is None:
        return
    name = spec.kinds.workload
    if (name is None) == (spec.kinds.file is None):
        yield ("kinds",), "needs exactly one of 'workload' and 'file'"
        return
    if name is None:
        for key in ("utilization", "scale"):
            if key in spec.kinds.model_fields_set:
                yield ("kinds", key), "goes with a published workload, not with a file of kinds"
        return
    if name not in workload_names():
        yield ("kinds", "workload"), f"unknown workload {name!r}{did_you_mean(name, workload_names())}"
        return
    if name in LIKE and spec.kinds.scale > 1:
        yield ("kinds", "scale"), f"goes with the workloads of the AQA study, not with {name}"
    for kind in _workload(spec):
        yield from fits(("kinds",), kind.name, kind.nodes, kind.draw_w, spec.cluster)
    names = [kind.name for kind in _workload(spec)]
    for given in spec.kinds.weights or ():
        if given not in names:
            yield ("kinds", "weights", given), f"{name} has no kind of this name{did_you_mean(given, names)}"


def _workload(spec: Spec) -> tuple[Kind, ...]:
    assert spec.kinds is not None  # noqa: S101 - the caller knows
    return published(str(spec.kinds.workload), scale=spec.kinds.scale)


def _names(kinds: list[KindSpec]) -> Iterator[Problem]:
    seen: set[str] = set()
    for i, kind in enumerate(kinds):
        if kind.name in seen:
            yield ("kind", i, "name"), f"kind {kind.name!r} is declared twice"
        seen.add(kind.name)


def _weights(spec: Spec) -> Iterator[Problem]:
    """Weights are given to all kinds that are not standby, or to none, and sum to 1."""
    given: dict[str, float | None] = {kind.name: kind.weight for kind in spec.kind if not kind.standby}
    first: Path = ("kind", next((i for i, k in enumerate(spec.kind) if k.weight is not None), 0), "weight")
    if spec.kinds is not None and spec.kinds.workload is not None:
        named: Mapping[str, float] = spec.kinds.weights or {}
        given |= {kind.name: named.get(kind.name) for kind in _workload(spec)}
        first = ("kinds", "weights") if named else first
    known = [weight for weight in given.values() if weight is not None]
    missing = [name for name, weight in given.items() if weight is None]
    if known and missing:
        yield first, f"weights are given to some kinds, but not to {missing[0]!r}; give one to all kinds or to none"
    elif known and abs(sum(known) - 1.0) > WEIGHT_SLACK:
        yield first, f"the weights of all kinds that are not standby must sum to 1, they sum to {sum(known):.9g}"


def _drawn(spec: Spec) -> Iterator[Problem]:
    if not spec.kind and spec.kinds is None:
        yield ("trace", "generator"), 'there is no kind to draw from: give kinds = "W4" or [[kind]] tables'
    for i, kind in enumerate(spec.kind):
        if kind.rate is None and not kind.standby:
            yield ("kind", i), f"kind {kind.name!r} never arrives: give it a rate, or standby = true"


def _market(market: RegulationSpec, spec: Spec) -> Iterator[Problem]:
    here: Path = ("regulation",)
    if (market.mean is None) != (market.reserve is None):
        given, missing = ("mean", "reserve") if market.reserve is None else ("reserve", "mean")
        yield (*here, given), f"a bid is mean and reserve: {missing} is missing"
    made = [pick.name for pick in spec.policy.bid if pick.name != "given"]
    if market.bids is not None and market.mean is not None:
        yield (*here, "bids"), "bids come from a file or are mean and reserve, not both"
    if made and (market.bids is not None or market.mean is not None):
        key = "bids" if market.bids is not None else "mean"
        yield (*here, key), f'bids are made by policy {made[0]!r}; leave it out, or say [policy] bid = "given"'
    if market.lead > market.every:
        yield (*here, "lead"), f"a bid is made at most as long ahead as it holds, every = {market.every:g} s"
    if not made and ("every" in market.model_fields_set or "lead" in market.model_fields_set):
        key = "every" if "every" in market.model_fields_set else "lead"
        yield (*here, key), 'goes with a bid policy: say [policy] bid = "adaptive", for one'
    if market.until is not None and market.until <= market.from_:
        yield (*here, "until"), "must be after from"
    drawn, set_ = market.signal in (GAUSSIAN, FITTED), market.model_fields_set
    if market.signal == FITTED and market.file is None:
        yield (*here, "signal"), "a fitted signal needs the file it takes after: file = …"
    wrong = {GAUSSIAN: ("file", "column"), FITTED: ("std", "time_constant")}.get(
        market.signal, ("file", "std", "time_constant", "neutral", "seed")
    )
    for key in wrong:
        if key in set_:
            what = f'signal = "{market.signal}"' if drawn else "a signal that is read"
            yield (*here, key), f"does not go with {what}"
    if math.isfinite(spec.run.tick) and spec.run.tick != market.control:
        yield ("run", "tick"), f"the control period is [regulation] control = {market.control:g} s; leave tick out"
