"""Jobs of given kinds: arrivals of every kind by a Poisson process, or in bursts; standby jobs at once."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import InputError
from wattline.generate.laws import require_jobs
from wattline.model.jobs import JobTable
from wattline.model.kinds import Kind, column

SPELL_S = 600.0
"""How long rates stay high or low where arrivals come in bursts."""


def check_kinds(kinds: Sequence[Kind], nodes: int) -> None:
    """Refuse kinds of which no job can be drawn for a machine of so many nodes."""
    if not any(not kind.standby for kind in kinds):
        raise InputError("a bid needs at least one kind of job that is not standby")
    for kind in kinds:
        if kind.nodes > nodes:
            raise InputError(f"kind {kind.name!r} needs {kind.nodes} nodes, the machine has {nodes}")
        if not kind.standby and not kind.arrival_per_s > 0:
            raise InputError(f"kind {kind.name!r} never arrives: give it an arrival rate above 0, or leave it out")


def draw_jobs(kinds: Sequence[Kind], nodes: int, horizon_s: float, seed: int, *, burst: float = 0.0) -> JobTable:
    """Draw the jobs of a stretch of time on a machine of so many nodes.

    ``burst``: every kind's rate swings by this part up and down, in spells of ten minutes (0: Poisson).

    Standby jobs are endless: one chain of them a node, each link entering the queue when the one before it ends.
    """
    check_kinds(kinds, nodes)
    require_jobs(sum(_expected(kind, nodes, horizon_s) for kind in kinds) + horizon_s / SPELL_S)
    random = np.random.default_rng([seed, 3])
    submit: list[Floats] = []
    kind_of: list[Ints] = []
    after: list[Ints] = []
    rows = 0
    for k, kind in enumerate(kinds):
        if kind.standby:
            links = math.ceil(horizon_s / kind.work_s) + 1
            chains = nodes // kind.nodes
            previous = np.arange(rows, rows + links * chains).reshape(links, chains) - chains
            previous[0] = -1
            times, before = np.zeros(links * chains), previous.ravel()
        else:
            times = _arrivals(random, kind.arrival_per_s, horizon_s, burst)
            before = np.full(times.size, -1)
        submit.append(times)
        kind_of.append(np.full(times.size, k, dtype=np.int64))
        after.append(before)
        rows += times.size
    which = np.concatenate(kind_of).astype(np.int64)
    work_s, draw_w, floor_w, stretch = (
        column(kinds, name)[which] for name in ("work_s", "draw_w", "floor_w", "stretch")
    )
    return JobTable.build(
        submit_s=np.concatenate(submit),
        work_s=work_s,
        nodes=column(kinds, "nodes")[which],
        kind=which,
        after=np.concatenate(after),
        request_s=work_s,
        draw_w=draw_w,
        floor_w=floor_w,
        stretch=stretch,
        kinds=tuple(kind.name for kind in kinds),
    )


def _expected(kind: Kind, nodes: int, horizon_s: float) -> float:
    """Return how many jobs of a kind there will be, on average."""
    return (horizon_s / kind.work_s + 2) * (nodes // kind.nodes) if kind.standby else kind.arrival_per_s * horizon_s


def _arrivals(random: np.random.Generator, rate_per_s: float, horizon_s: float, burst: float) -> Floats:
    spells = math.ceil(horizon_s / SPELL_S)
    swing = 1.0 + burst * np.where(random.random(spells) < 0.5, 1.0, -1.0) if burst else np.ones(spells)
    counts = random.poisson(rate_per_s * SPELL_S * swing)
    first = np.repeat(np.arange(spells) * SPELL_S, counts)
    times = np.sort(first + SPELL_S * random.random(int(counts.sum())))
    inside: Floats = times[times < horizon_s]
    return inside
