"""[[cluster.outage]] and [cluster.failures]: nodes that go out of service, as planned or at random."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field

from wattline.errors import InputError
from wattline.model.cluster import Outage
from wattline.scenario.read.base import KeyPath, Problem, Section
from wattline.scenario.read.quantities import Duration, Seed, Span, Words
from wattline.scenario.read.source import Context

MOST_FAILURES = 1_000_000
"""Failures of a run; more of them mean a mistaken unit."""

_FAILURES_KEY = 0xFA
"""Keeps the random stream of failures apart from those of users and generators."""

_RANGE = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?")


def _texts(value: Any) -> Any:
    """Return a number, a text or a list of them as texts, and all else as it is."""
    parts = value if isinstance(value, list) else [value]
    known = all(isinstance(part, int | str) and not isinstance(part, bool) for part in parts)
    return [str(part) for part in parts] if known else value


class OutageSpec(Section):
    """Nodes that are out of service for a while."""

    start: Duration = Field(description="from, since the run began")
    end: Duration = Field(description="until, since the run began")
    nodes: Annotated[
        list[str],
        BeforeValidator(_texts),
        Words('node number from 0, range `"first-last"` of them, or a list of these'),
    ] = Field(description="which nodes")
    drain: bool = Field(
        False,  # noqa: FBT003
        description="let running jobs finish instead of stopping them; nobody else starts on these nodes meanwhile",
    )


class FailuresSpec(Section):
    """Nodes that fail at random, each by itself, until twice the trace's span and its longest job have passed; a run
    that lasts longer says so.
    """

    mtbf: Duration = Field(gt=0, description="mean time between failures of one node")
    repair: Span = Field(gt=0, description="mean time to repair it")
    seed: Seed | None = Field(None, description="seed of the failures (default: the scenario's)")


def check_outages(outages: Sequence[OutageSpec]) -> Iterator[Problem]:
    """Yield every problem of the planned outages."""
    for i, outage in enumerate(outages):
        here: KeyPath = ("cluster", "outage", i)
        if outage.end <= outage.start:
            yield (*here, "end"), "must be after start"
        if not outage.nodes:
            yield (*here, "nodes"), "expected at least one node, got an empty list"
        try:
            node_ranges(outage.nodes)
        except InputError as problem:
            yield (*here, "nodes"), str(problem)


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


def build_outages(
    outages: Sequence[OutageSpec],
    failures: FailuresSpec | None,
    context: Context,
    nodes: int,
    start_s: float,
    run_s: float,
) -> list[Outage]:
    """Return outages of a machine of so many nodes: those that are planned, and failures until ``start_s + run_s``."""
    planned: list[Outage] = []
    for i, outage in enumerate(outages):
        for first, count in node_ranges(outage.nodes):
            if first + count > nodes:
                raise context.error(
                    ("cluster", "outage", i, "nodes"),
                    f"the cluster has nodes 0-{nodes - 1}, got {first}-{first + count - 1}",
                )
            times_s = (start_s + outage.start, start_s + outage.end)
            planned.append(context.located(("cluster", "outage", i), Outage, *times_s, first, count, outage.drain))
    if failures is None:
        return planned
    seed = context.seed_of(failures.seed)
    found: list[Outage] = context.located(
        ("cluster", "failures", "mtbf"), _random_outages, failures, seed, nodes, start_s, run_s, planned
    )
    return planned + found


def _random_outages(
    spec: FailuresSpec, seed: int, nodes: int, start_s: float, run_s: float, planned: Sequence[Outage]
) -> list[Outage]:
    """Return failures of single nodes: exponential times between them, exponential repairs.

    A failure of a node that is out of service already, as planned, is left out.
    """
    expected = nodes * run_s / (spec.mtbf + spec.repair)
    if expected > MOST_FAILURES:
        raise InputError(f"that would be about {expected:,.0f} failures over this trace, more than {MOST_FAILURES:,}")
    random = np.random.Generator(np.random.Philox(key=[seed, _FAILURES_KEY]))
    until_s = start_s + run_s
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
