"""What single keys cannot show: keys that do not go together, ranges outside the machine, steps that are no steps."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator

from wattline.errors import InputError
from wattline.scenario.checks_moldable import check_budget, check_moldable
from wattline.scenario.checks_nodes import check_nodes
from wattline.scenario.checks_prices import check_prices
from wattline.scenario.checks_regulation import Problem, check_regulation
from wattline.scenario.kinds import LIKE, YEARS
from wattline.scenario.lines import Path
from wattline.scenario.spec import ClusterSpec, Spec, TraceSpec
from wattline.scenario.spec_power import LimitSpec
from wattline.units import duration_s, power_w

_FOR = {
    "format": ("file",),
    "cores_per_node": ("file",),
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
    "load": ("file", "poisson", "lublin", "bursty", *LIKE, *YEARS),
}
"""Keys of [trace] that only some sources of jobs know."""

MOST_STEPS = 1_000_000
"""Steps of a repeated limit; whoever asks for more has mistaken a unit."""

_RANGE = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?")


def cross_check(spec: Spec, overrides: Collection[Path] = ()) -> Iterator[Problem]:
    """Yield every problem of a spec whose keys are right one by one.

    Of two keys the one that was overridden is blamed.
    """
    yield from _trace(spec.trace)
    yield from _cluster(spec.cluster)
    yield from check_nodes(("cluster",), spec.cluster, overrides)
    for i, node_class in enumerate(spec.cluster.class_):
        yield from check_nodes(("cluster", "class", i), node_class, overrides)
    yield from _limit(spec.limit)
    yield from _power(spec)
    yield from check_budget(spec, parse_step)
    yield from check_moldable(spec)
    yield from check_regulation(spec)
    yield from check_prices(spec)


def node_ranges(texts: list[str]) -> list[tuple[int, int]]:
    """Return (first, count) of node ranges.

    >>> node_ranges(["0-3", "8"])
    [(0, 4), (8, 1)]
    """
    found = []
    for text in texts:
        match = _RANGE.fullmatch(text)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if last < first:
            raise InputError(f"expected a range of nodes like '0-15', got {text!r}")
        found.append((first, last - first + 1))
    return found


def limit_steps(limit: LimitSpec, until_s: float) -> list[tuple[float, float]]:
    """Return the limit as (seconds since the first submission, watts), repeated up to a time if that is asked for."""
    if limit.steps:
        steps = [parse_step(step) for step in limit.steps]
        rounds = 1 if limit.repeat is None else max(1, math.ceil(until_s / limit.repeat))
        if rounds * len(steps) > MOST_STEPS:
            raise InputError(f"that would be {rounds * len(steps):,} steps over this trace, more than {MOST_STEPS:,}")
        return [(i * (limit.repeat or 0.0) + time_s, watts) for i in range(rounds) for time_s, watts in steps]
    return [(limit.warmup, limit.power)] if limit.power < float("inf") else []


def parse_step(step: list[object]) -> tuple[float, float]:
    """Return a step of a changing power as seconds and watts."""
    if len(step) != 2 or not all(isinstance(part, str | int | float) for part in step):
        raise InputError(f"expected [time, power] like ['6 h', '8 MW'], got {step!r}")
    time, power = step
    time_s, watts = duration_s(time), math.inf if power == "off" else power_w(power)  # type: ignore[arg-type]
    if not (0 <= time_s < math.inf and watts >= 0):
        raise InputError(f"time and power must be numbers that are not negative, got {step!r}")
    return time_s, watts


def has_limit(spec: Spec) -> bool:
    """Tell whether a scenario limits the power, in whichever way."""
    return bool(spec.limit.steps or spec.limit.file or spec.budget) or spec.limit.power < math.inf


def _source(kind: str) -> str:
    return "a file" if kind == "file" else f'generator = "{kind}"'


def _trace(trace: TraceSpec) -> Iterator[Problem]:
    here: Path = ("trace",)
    if (trace.file is None) == (trace.generator is None):
        yield here, "needs exactly one of 'file' and 'generator'"
        return
    kind = "file" if trace.file is not None else str(trace.generator)
    for key in sorted(trace.model_fields_set):
        if key in _FOR and kind not in _FOR[key]:
            yield (*here, key), f"goes with {' or '.join(map(_source, _FOR[key]))}, not with {_source(kind)}"
    if kind in ("poisson", "bursty") and not trace.type:
        yield here, f'generator = "{kind}" needs at least one [[trace.type]]'
    if kind == "bursty" and len(trace.phase) < 2:
        yield here, 'generator = "bursty" needs at least two [[trace.phase]]'


def _cluster(cluster: ClusterSpec) -> Iterator[Problem]:
    here: Path = ("cluster",)
    if cluster.class_:
        for key in ("nodes", "idle", "max", "min_cap", "sleep", "levels"):
            if key in cluster.model_fields_set:
                yield (*here, key), "belongs into [[cluster.class]] when there are classes"
    for i, outage in enumerate(cluster.outage):
        if outage.end <= outage.start:
            yield (*here, "outage", i, "end"), "must be after start"
        try:
            node_ranges(outage.nodes)
        except InputError as problem:
            yield (*here, "outage", i, "nodes"), str(problem)


def _power(spec: Spec) -> Iterator[Problem]:
    limited = has_limit(spec)
    for key in ("deadlock", "preempt"):
        if key in spec.limit.model_fields_set and not limited:
            yield ("limit", key), "goes with a power limit, and there is none"
    if spec.run.passes == "ticks" and math.isinf(spec.run.tick) and spec.regulation is None:
        yield ("run", "passes"), "decisions at ticks need a period: give tick"
    learns = any(m.name not in ("known", "maximum", "oracle") for m in spec.policy.profile)
    for i, level in enumerate(spec.profiles.levels):
        if not level:
            yield ("profiles", "levels", i), "a level must name at least one column, got an empty list"
        twice = [name for at, name in enumerate(level) if name in level[:at]]
        if twice:
            yield ("profiles", "levels", i), f"a level names a column once, got {twice[0]!r} twice"
        elif any(set(level) == set(earlier) for earlier in spec.profiles.levels[:i]):
            yield ("profiles", "levels", i), f"the level {' + '.join(level)} is there already: leave it out"
    if not spec.profiles.levels:
        yield ("profiles", "levels"), "expected at least one list of columns, got an empty list"
    for key in ("load", "save"):
        if getattr(spec.profiles, key) is not None and not learns:
            yield ("profiles", key), "goes with a [policy] profile that learns"


def _limit(limit: LimitSpec) -> Iterator[Problem]:
    here: Path = ("limit",)
    if limit.steps and {"power", "warmup"} & limit.model_fields_set:
        yield (*here, "steps"), "give either power (with warmup) or steps"
    if limit.file is not None and {"power", "warmup", "steps", "repeat"} & limit.model_fields_set:
        yield (*here, "file"), "give either power, steps or a file"
    if limit.repeat is not None and not limit.steps:
        yield (*here, "repeat"), "goes with steps, and there are none"
    elif "steps" in limit.model_fields_set and not limit.steps:
        yield (*here, "steps"), "expected at least one [time, power], got an empty list; leave it out for no limit"
    last_s = -1.0
    for i, step in enumerate(limit.steps):
        try:
            time_s, _ = parse_step(step)
        except InputError as problem:
            yield (*here, "steps", i), str(problem)
            return
        if time_s <= last_s:
            yield (*here, "steps", i), "times must increase"
        if limit.repeat is not None and time_s >= limit.repeat:
            yield (*here, "steps", i), "comes after the steps begin anew (repeat)"
        last_s = time_s
