"""Worlds of the classic family: how they are drawn to be nasty, and how they are made smaller."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from differential.shrinking import each, fewer, simpler
from policies.naive_places import NAIVE
from reference.at_random import AT_RANDOM

SUBMIT, WORK, NODES, REQUEST, DRAW, CLASS, AFTER, THINK, PRIORITY, USER = range(10)
"""Columns of a world's jobs."""


@dataclass(frozen=True)
class World:
    """One world; jobs are rows of (submit, work, nodes, request or None, draw, class, after, think, priority, user)."""

    jobs: list[tuple[Any, ...]]
    classes: list[tuple[int, float]]
    select: str = "easy"
    params: dict[str, float] = field(default_factory=dict)
    order: str = "fcfs"
    truth: int = 0
    place: str = "lowest"
    network: tuple[int, int, int] | None = None
    learn: str = "request"
    limit: list[tuple[float, float]] = field(default_factory=list)
    outages: list[tuple[float, float, int, int, bool]] = field(default_factory=list)
    ties: str = "instant"
    kill: bool = False
    requeue: bool = True
    keep_progress: bool = False
    exceed: bool = False
    sleep: list[tuple[float, float, float, float] | None] = field(default_factory=list)
    """For each class: watts asleep, seconds free before it begins, to fall asleep, to wake."""
    tick: float = 0.0
    """Seconds between two passes (0: one whenever something happens)."""
    seed: int = 0
    profile: str = "known"
    shed: bool = False
    slow: tuple[float, float, float] | None = None
    """The low of two speeds: rate, and parts of the power of jobs and of idle nodes (None: there is one speed)."""
    switch: tuple[float, float] = (0.0, math.inf)
    """Jobs in the system up to which nodes are slow, and beyond which they are fast."""


# ------------------------------------------------------------------ drawing

SELECTS = ("in-order", "first-fit", "easy", "easy", "backfill-by-end", "conservative", "reselect", "window")
INDEXED = (
    "easy",
    "easy",
    "backfill-by-end",
    "backfill-by-end",
    "first-fit",
    "in-order",
    "reselect",
    "window",
    "conservative",
)
ORDERS = ("fcfs", "fcfs", "lcfs", "shortest", "longest", "priority", "wfp")
MACHINES: tuple[list[tuple[int, float]], ...] = (
    [(1, 100.0)], [(4, 100.0)], [(6, 100.0)], [(12, 0.0)], [(4, 100.0), (3, 50.0)], [(2, 100.0), (6, 100.0), (4, 0.0)],
)  # fmt: skip
SPEEDS = ((0.5, 0.5, 0.5), (0.5, 0.75, 0.5), (0.25, 0.5, 0.0), (0.5, 1.0, 0.5))
NETWORKS = ((2, 2, 3), (3, 1, 4), (1, 4, 3), (12, 1, 1), (2, 1, 6))
WATTS, ODD_WATTS = (100.0, 120.0, 200.0, 300.0), (133.3, 120.7, 199.9, 300.0)
LOW_WATTS = (20.0, 60.0, 120.0, 300.0)


def draw(rng: np.random.Generator, size: str) -> World:
    """Return a random world."""
    deep = size == "deep"
    pick = rng.random(24).tolist()  # one number a decision: cheap, and a decision more changes no other
    select = _one(INDEXED if deep else SELECTS, pick[0])
    flood = deep and select in ("easy", "backfill-by-end") and pick[23] < 0.5  # nothing keeps the index from being used
    classes = [(int(rng.integers(3, 33)), 100.0)] if deep else list(_one(MACHINES, pick[1]))
    if deep and pick[1] < 0.25 and not flood:
        classes.append((int(rng.integers(2, 17)), 50.0))
    count = _deep_count(rng, select, flood=flood) if deep else _one((1, 3, 6, 10, 16, 24), pick[2])
    order = "fcfs" if flood else _one(ORDERS, pick[3])
    learn = _one(("request", "request", "exact", "recent"), pick[4])
    kind = _one(("whole", "whole", "quarters", "tenths"), pick[5])
    links = pick[6] < 0.2
    watts = WATTS
    if pick[18] < 0.15:  # sums of these depend on their order
        watts, classes = ODD_WATTS, [(n, 33.3) for n, _ in classes]
    if pick[18] > 0.85:  # some are below the power of idle nodes
        watts = LOW_WATTS
    jobs = _jobs(rng, count, classes, kind, watts, links=links, deep=deep, flood=flood)
    total = sum(n for n, _ in classes)
    network = place = None
    if pick[7] < 0.25:
        network = _one([n for n in NETWORKS if math.prod(n) >= total] or [(total, 1, 1)], pick[8])
        place = _one((*NAIVE, *AT_RANDOM), pick[9])
    limit = _limit(rng, classes, jobs) if pick[11] < (0.15 if deep else 0.35) and not flood else []
    sleep = _sleep(rng, classes) if pick[19] < 0.2 else []
    ties = _one(("instant", "event"), pick[13])
    tick = float(_one((1, 2, 5, 10), pick[20] * 5)) if pick[20] < 0.2 and ties == "instant" and kind == "whole" else 0.0
    plain = not flood and not sleep and kind != "tenths"
    slow = _one(SPEEDS, pick[13] * 100 % 1) if plain and pick[15] * 100 % 1 < 0.25 else None
    low = int(pick[14] * 100 % 1 * 6)
    return World(
        jobs=jobs,
        classes=classes,
        select=select,
        params={} if flood else _params(rng, select, order),
        order=order,
        truth=int(order in ("shortest", "longest") and pick[10] < 0.3),
        place=place or _one(("lowest", "lowest", "lowest", "frugal", "rdn"), pick[9]),
        network=network,
        learn=learn,
        limit=limit,
        outages=_outages(rng, total, jobs) if pick[12] < 0.3 else [],
        ties=ties,
        sleep=sleep,
        tick=tick,
        seed=int(pick[21] * 2**53) if pick[22] < 0.5 else 0,
        kill=pick[14] < 0.3,
        requeue=pick[15] < 0.8,
        keep_progress=pick[16] < 0.4,
        exceed=pick[17] < 0.3,
        shed=bool(limit) and pick[16] * 100 % 1 < 0.25,
        profile=_one(("known", "known", "known", "maximum", "oracle"), pick[17] * 100 % 1),
        slow=slow,
        switch=(float(low), float(low + int(pick[12] * 100 % 1 * 8))),
    )


def _sleep(
    rng: np.random.Generator, classes: list[tuple[int, float]]
) -> list[tuple[float, float, float, float] | None]:
    """Return a sleep state for most classes: fallen into soon, woken from at once or slowly."""
    states: list[tuple[float, float, float, float] | None] = []
    for _, idle_w in classes:
        wake = float(rng.choice((0.0, 1.0, 3.0, 8.0, 30.0)))
        state = (
            min(idle_w, float(rng.choice((0.0, 10.0, 100.0)))),
            float(max(0, rng.integers(-3, 17))),
            float(rng.choice((0.0, 0.0, 2.0))),
            wake,
        )
        states.append(state if rng.random() < 0.8 else None)
    return states if any(states) else []


def _one(choices: Any, u: float) -> Any:
    return choices[int(u * len(choices))]


def _deep_count(rng: np.random.Generator, select: str, *, flood: bool) -> int:
    """Return how many jobs a deep world has: fewer where the twin plans for all of them at every pass."""
    if select == "conservative":
        return int(rng.integers(130, 161))
    return int(rng.integers(280, 601) if flood or rng.random() < 0.4 else rng.integers(130, 281))


def _jobs(
    rng: np.random.Generator,
    count: int,
    classes: list[tuple[int, float]],
    kind: str,
    some_w: tuple[float, ...],
    *,
    links: bool,
    deep: bool,
    flood: bool,
) -> list[tuple[Any, ...]]:
    """Return jobs in bursts with gaps: ties, no length, requests missing or too short, jobs as wide as their class."""
    bursts = int(rng.integers(1, 5))
    if deep and not flood and rng.random() < 0.7:
        bursts = max(1, count // 150)  # each deep by itself
    begin = np.cumsum(rng.integers(0, 4000 if deep else 60, bursts))
    span = int(rng.integers(1, 40))
    burst = rng.integers(0, bursts, count)
    if flood:  # the first burst is deep; who comes when its queue has emptied meets what it left behind
        begin, span = np.arange(bursts) * int(rng.integers(1000, 6000)), 1 + span // 8
        burst = np.where(rng.random(count) < 0.5, 0, burst)
    submit = np.sort(begin[burst] + rng.integers(0, span, count)).astype(float)
    longest = int(rng.integers(1, 40 if deep else 15))
    work = rng.integers(0, longest + 1, count).astype(float)
    slack = rng.choice((0, 5, 40) if flood else (0, 0, 1, 5, 40, -3, -8), count)
    if kind != "whole":
        grain = 4 if kind == "quarters" else 10
        submit = np.sort(submit + rng.integers(0, grain, count) / grain)
        work = work + rng.integers(0, grain, count) / grain
    request = np.maximum(0.0, work + slack)
    missing = rng.random(count) < 0.1
    pool = rng.integers(0, len(classes), count)
    sizes = np.array([n for n, _ in classes])[pool]
    narrow = 1 + rng.geometric(0.4, count) - 1
    width = np.where(rng.random(count) < 0.5, np.minimum(narrow, sizes), 1 + (rng.random(count) * sizes).astype(int))
    width = np.where(rng.random(count) < 0.02, sizes + 1, width)
    watts = np.array(some_w)[rng.integers(0, len(some_w), count)]
    after = np.where(links & (rng.random(count) < 0.4), (rng.random(count) * np.arange(count)).astype(int), -1)
    after[0] = -1
    think = rng.choice((0.0, 0.0, 3.0), count)
    columns = (
        submit,
        work,
        width,
        request,
        watts,
        pool,
        after,
        think,
        rng.integers(0, 3, count),
        rng.integers(-1, 3, count),
    )
    rows = zip(*(column.tolist() for column in columns), missing.tolist(), strict=True)
    return [(*row[:3], None if row[-1] else row[3], *row[4:-1]) for row in rows]


def _params(rng: np.random.Generator, select: str, order: str) -> dict[str, float]:
    some = rng.random() < 0.4
    if select in ("easy", "backfill-by-end", "conservative"):
        return {"depth": float(rng.integers(1, 5))} if some else {}
    if select == "reselect":
        drift = {"shortest": -1.0, "longest": 1.0}.get(order, 0.0) if rng.random() < 0.7 else 0.0
        return {"preempt": float(rng.random() < 0.7), "at_arrivals": float(some), "drift": drift}
    if select == "window":
        return {
            "window": float(rng.integers(1, 7)),
            "widen": float(some),
            **({"patience": float(rng.integers(0, 30))} if rng.random() < 0.6 else {}),
            **({"plugged": 1.0} if rng.random() < 0.4 else {}),
        }
    return {}


def _limit(
    rng: np.random.Generator, classes: list[tuple[int, float]], jobs: list[tuple[Any, ...]]
) -> list[tuple[float, float]]:
    """Return one to three steps of a limit, the last of which lets most jobs run."""
    idle_w = sum(n * w for n, w in classes)
    most_w = idle_w + sum(n * (300.0 - w) for n, w in classes)
    last_s = jobs[-1][SUBMIT] + 20
    steps = []
    for _ in range(2):
        watts = idle_w + 50 * int(rng.integers(0, 1 + (most_w - idle_w) // 50))
        if rng.random() < 0.4:  # exactly what some jobs need
            some = [jobs[i] for i in rng.integers(0, len(jobs), int(rng.integers(1, 4)))]
            watts = idle_w + sum(job[NODES] * (job[DRAW] - classes[job[CLASS]][1]) for job in some)
        steps.append((float(rng.integers(0, last_s)), max(0.0, float(watts))))
    high = (float(last_s), float(most_w)) if rng.random() < 0.7 else (0.0, float(idle_w + (most_w - idle_w) // 2))
    return sorted([*steps[: int(rng.integers(0, 3))], high])


def _outages(
    rng: np.random.Generator, nodes: int, jobs: list[tuple[Any, ...]]
) -> list[tuple[float, float, int, int, bool]]:
    out = []
    for _ in range(int(rng.integers(1, 4))):
        begin, first = float(rng.integers(0, jobs[-1][SUBMIT] + 20)), int(rng.integers(0, nodes))
        many = int(rng.integers(1, nodes - first + 1))
        out.append(
            (
                begin,
                begin + float(rng.integers(0, 25)),
                first,
                many if rng.random() < 0.3 else min(2, many),
                bool(rng.random() < 0.5),
            )
        )
    return out


# ------------------------------------------------------------------ shrinking

PLAIN: dict[str, Any] = {
    "limit": [],
    "outages": [],
    "order": "fcfs",
    "learn": "request",
    "place": "lowest",
    "network": None,
    "truth": 0,
    "params": {},
    "ties": "instant",
    "kill": False,
    "requeue": True,
    "keep_progress": False,
    "exceed": False,
    "sleep": [],
    "tick": 0.0,
    "seed": 0,
    "profile": "known",
    "shed": False,
    "slow": None,
    "switch": (0.0, math.inf),
}


def shrink(world: World) -> Iterator[World]:
    """Yield smaller worlds: fewer jobs, plainer rules, fewer nodes, simpler numbers."""
    for kept in fewer(len(world.jobs)):
        yield replace(world, jobs=_kept(world.jobs, kept))
    for name, plain in PLAIN.items():
        if getattr(world, name) != plain:
            more = {"place": "lowest"} if name == "network" else {}
            yield replace(world, **{name: plain, **more})
    if len(world.classes) > 1 and not world.outages:
        for p in range(len(world.classes)):
            jobs = [_put(job, CLASS, job[CLASS] - (job[CLASS] > p)) for job in world.jobs if job[CLASS] != p]
            if len(jobs) == len(world.jobs):
                rest = {"sleep": [x for i, x in enumerate(world.sleep) if i != p]}
                yield replace(world, jobs=jobs, classes=[c for i, c in enumerate(world.classes) if i != p], **rest)
    for name in ("limit", "outages"):
        for kept in fewer(len(getattr(world, name))):
            yield replace(world, **{name: [getattr(world, name)[i] for i in kept]})
    for name in world.params:
        for value in simpler(world.params[name]):
            if value > 0 or name != "window":
                yield replace(world, params={**world.params, name: value})
    least = max([1, *(first + count for _, _, first, count, _ in world.outages)])
    for p, (count, idle_w) in enumerate(world.classes):
        if count > 1 and (len(world.classes) > 1 or count > least) and not (world.outages and len(world.classes) > 1):
            classes = [*world.classes[:p], (count - 1, idle_w), *world.classes[p + 1 :]]
            yield replace(world, classes=classes, network=None, place="lowest" if world.network else world.place)
    for jobs in each(world.jobs, _simpler_job):
        if all(a[SUBMIT] <= b[SUBMIT] for a, b in itertools.pairwise(jobs)):
            yield replace(world, jobs=jobs)
    for name in ("limit", "outages"):
        for rows in each(getattr(world, name), lambda row: (_put(row, i, x) for i in (0, 1) for x in simpler(row[i]))):
            if name == "limit" or all(row[0] <= row[1] for row in rows):
                yield replace(world, **{name: sorted(rows)})


def _kept(jobs: list[tuple[Any, ...]], kept: list[int]) -> list[tuple[Any, ...]]:
    """Return some of the jobs; links to those left out are cut."""
    where = {old: new for new, old in enumerate(kept)}
    return [_put(jobs[i], AFTER, where.get(jobs[i][AFTER], -1)) for i in kept]


def _put(row: tuple[Any, ...], column: int, value: Any) -> tuple[Any, ...]:
    return (*row[:column], value, *row[column + 1 :])


def _simpler_job(job: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    plain = {AFTER: -1, THINK: 0.0, PRIORITY: 0, USER: -1, DRAW: 300.0, REQUEST: None}
    for column, value in plain.items():
        if job[column] != value:
            yield _put(job, column, value)
    for column in (SUBMIT, WORK, NODES, REQUEST):
        if job[column] is not None:
            for value in simpler(job[column]):
                if column != NODES or value > 0:
                    yield _put(job, column, value)
