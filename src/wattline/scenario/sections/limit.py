"""[limit]: the power limit of the whole machine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from wattline.formats.series.steps import read_limits
from wattline.scenario.read.base import KeyPath, Problem, Section
from wattline.scenario.read.quantities import Limit, Span
from wattline.scenario.read.source import Context
from wattline.scenario.read.steps import Steps, check_steps, lay_out
from wattline.units import show_power
from wattline.wiring.options import Options

if TYPE_CHECKING:
    from wattline.model.cluster import Cluster, NodeClass


class LimitSpec(Section):
    """A power limit that admission respects."""

    power: Limit = Field(math.inf, description="limit of the whole machine")
    warmup: Span = Field(0.0, description="time since the run began at which `power` comes into force")
    steps: Steps = Field(
        default_factory=list, description="changing limit: `[[time, power], …]`, times since the run began"
    )
    file: str | None = Field(
        None,
        description="changing limit from a CSV file, relative to the scenario: `time_s` since the run began, "
        "`limit_w` (empty: none)",
    )
    repeat: Span | None = Field(
        None,
        gt=0,
        description="begin `steps` anew after this time, until twice the trace's span and its longest job have passed, "
        "and once more; a run that lasts longer says so (default: the last step stays)",
    )
    deadlock: Literal["wait", "exceed"] = Field(
        "wait",
        description="when nothing runs and no job fits under the limit: wait for a higher one, or let the first job "
        "whose nodes are free `exceed` it",
    )
    preempt: bool = Field(
        False,  # noqa: FBT003
        description="stop the jobs started last (of one time: the one further down in the log) when the power is above "
        "the limit and caps do not suffice (they resume later)",
    )


def has_limit(spec: LimitSpec, *, nested: bool) -> bool:
    """Tell whether the power is limited, in whichever way; ``nested``: there are budgets."""
    return bool(spec.steps or spec.file or nested) or spec.power < math.inf


def check_limit(spec: LimitSpec, *, nested: bool) -> Iterator[Problem]:
    """Yield every problem of the limit; ``nested``: there are budgets."""
    here: KeyPath = ("limit",)
    if spec.steps and {"power", "warmup"} & spec.model_fields_set:
        yield (*here, "steps"), "give either power (with warmup) or steps"
    beside = [key for key in ("power", "warmup", "steps", "repeat") if key in spec.model_fields_set]
    if spec.file is not None and beside:
        yield (*here, beside[0]), "goes without file: give power (with warmup), or steps (with repeat), or a file"
    if spec.repeat is not None and not spec.steps:
        yield (*here, "repeat"), "goes with steps, and there are none"
    elif "steps" in spec.model_fields_set and not spec.steps:
        yield (*here, "steps"), "expected at least one [time, power], got an empty list; leave it out for no limit"
    yield from check_steps((*here, "steps"), spec.steps, spec.repeat)
    if "warmup" in spec.model_fields_set and spec.power == math.inf and not spec.steps and spec.file is None:
        yield (*here, "warmup"), "goes with power, and there is none"
    for key in ("deadlock", "preempt"):
        if key in spec.model_fields_set and not has_limit(spec, nested=nested):
            yield (*here, key), "goes with a power limit, and there is none"


def build_limit(spec: LimitSpec, context: Context, run_s: float) -> list[tuple[float, float]]:
    """Return the limit as (seconds since the run began, watts); steps are repeated for ``run_s`` seconds."""
    if spec.file is not None:
        return read_limits(context.base / spec.file)
    if spec.steps:
        found: list[tuple[float, float]] = context.located(("limit", "repeat"), lay_out, spec.steps, spec.repeat, run_s)
        return found
    return [(spec.warmup, spec.power)] if spec.power < math.inf else []


def check_rest(
    spec: LimitSpec,
    context: Context,
    limit: Sequence[tuple[float, float]],
    cluster: Cluster,
    *,
    nested: bool,
    assumed_idle_w: float | None,
) -> None:
    """Refuse a limit below what all nodes draw at rest.

    ``limit`` is (seconds, watts); ``assumed_idle_w`` is the idle power of a node where the scenario gives none.
    """
    lowest_w = sum(node_class.count * _resting_w(node_class) for node_class in cluster.classes)
    if not limit or max(watts for _, watts in limit) >= lowest_w:
        return
    key: KeyPath = ("limit", "file" if spec.file is not None else "steps" if spec.steps else "power")
    key = ("budget",) if nested else key
    told = f"{show_power(max(watts for _, watts in limit))} at most, but all nodes at rest draw {show_power(lowest_w)}"
    assumed = (
        ""
        if assumed_idle_w is None
        else f" ({show_power(assumed_idle_w)} a node is assumed, because no watts were given)"
    )
    raise context.error(key, f"{told}{assumed}: no job could ever start")


def _resting_w(node_class: NodeClass) -> float:
    """Return the least that a node draws without a job."""
    idle_w = min((level.idle_w for level in node_class.levels), default=node_class.idle_w)
    return idle_w if node_class.sleep is None else min(idle_w, node_class.sleep.power_w)


def add_limit(
    options: Options, spec: LimitSpec, limit: Sequence[tuple[float, float]], start_s: float, repeated_until_s: float
) -> Options:
    """Return options with a limit, given as (seconds since ``start_s``, watts), and what happens at it."""
    return replace(
        options,
        limit_w=tuple((start_s + time_s, watts) for time_s, watts in limit),
        limit_until_s=repeated_until_s,
        exceed=spec.deadlock == "exceed",
        shed=spec.preempt,
    )
