"""The classic select policies × orders × places × learners, on machines with classes, limits, outages, kills and
links.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

from differential.classic_worlds import (
    AFTER,
    CLASS,
    DRAW,
    NODES,
    PRIORITY,
    REQUEST,
    SUBMIT,
    THINK,
    USER,
    WORK,
    World,
    draw,
    shrink,
)
from differential.fast import STATUS, policies, run, segments
from policies.naive_places import NAIVE
from reference.at_random import AT_RANDOM
from reference.scheduler import SAMPLE_S, Job, Scheduler, Setup
from wattline.model.cluster import Cluster, Level, NodeClass, Outage, Sleep
from wattline.model.jobs import JobTable
from wattline.model.networks.flat import Flat
from wattline.wiring.options import Options
from wattline.wiring.result import Result

__all__ = ["NAME", "World", "check", "draw", "scheduled", "shrink", "simulate"]

NAME = "classic"


# ------------------------------------------------------------------ the engine


@dataclass(frozen=True)
class Hierarchy(Flat):
    """Routers in groups, of any number: all that place policies look at. Nothing is between them."""

    routers_per_group: int = 1
    groups: int = 1


def speeds(world: World, idle_w: float) -> tuple[Level, ...]:
    """Return the levels of a node class: two, or none."""
    if world.slow is None:
        return ()
    rate, busy, idle = world.slow
    return Level(rate, busy * 300.0, idle * idle_w), Level(1.0, 300.0, idle_w)


def simulate(world: World, params: dict[str, float] | None = None) -> tuple[Result, bool]:
    """Run the engine on a world; tell also whether it got stuck."""
    columns = [list(column) for column in zip(*world.jobs, strict=True)]
    names = [f"c{p}" for p in range(len(world.classes))]
    jobs = JobTable.build(
        submit_s=columns[SUBMIT],
        work_s=columns[WORK],
        nodes=columns[NODES],
        request_s=[math.nan if r is None else r for r in columns[REQUEST]],
        draw_w=columns[DRAW],
        partition=columns[CLASS],
        partitions=names,
        after=columns[AFTER],
        think_s=columns[THINK],
        priority=columns[PRIORITY],
        user=columns[USER],
        users=("a", "b", "c"),
    )
    cluster = Cluster(
        tuple(
            NodeClass(name, n, w, 300.0, sleep=Sleep(*state) if state else None, levels=speeds(world, w))
            for name, (n, w), state in zip(names, world.classes, world.sleep or [None] * len(names), strict=True)
        ),
        outages=tuple(Outage(*outage) for outage in world.outages),
        network=Hierarchy(*world.network) if world.network else None,
    )
    options = Options(
        ties=world.ties,
        kill=world.kill,
        requeue=world.requeue,
        keep_progress=world.keep_progress,
        limit_w=world.limit,
        exceed=world.exceed,
        shed=world.shed,
        tick_s=world.tick or math.inf,
        quantum=world.tick > 0.0,
        sample_s=SAMPLE_S,
        log_rows=64 if len(world.jobs) < 64 else 4096,
        decisions=False,
        timeline=False,
    )
    chosen = policies(
        order=world.order,
        select=world.select,
        place=world.place,
        learn=world.learn,
        profile=world.profile,
        cap="count-hysteresis" if world.slow else "none",
    )
    given = {
        "select": world.params if params is None else params,
        "order": {"truth": float(world.truth)} if world.truth else {},
        "cap": {"k_low": world.switch[0], "k_high": world.switch[1]} if world.slow else {},
    }
    return run(jobs, cluster, chosen, options, seed=world.seed, params=given)


# ------------------------------------------------------------------ the twin


def _key(world: World) -> Any:
    left = (lambda j: j.left) if world.truth else (lambda j: j.estimate_left())
    return {
        "fcfs": None,
        "lcfs": lambda j, _t: -float(j.seq),
        "shortest": lambda j, _t: left(j),
        "longest": lambda j, _t: -left(j),
        "priority": lambda j, _t: -j.priority,
        "wfp": _wfp,
    }[world.order]


def _wfp(job: Job, now: float) -> float:
    ratio = (now - job.eligible) / max(1.0, job.request if job.request < math.inf else job.estimate)
    return -job.nodes * ratio * ratio * ratio


def scheduled(world: World) -> Scheduler:
    """Run the plain scheduler on a world."""
    jobs = []
    for submit, work, nodes, request, watts, pool, after, think, priority, user in world.jobs:
        told = work if request is None or world.learn == "exact" else request
        jobs.append(
            Job(
                submit,
                work,
                nodes,
                math.inf if request is None else request,
                told,
                pool,
                watts,
                priority,
                after,
                think,
                user,
            )
        )
    network = Hierarchy(*world.network) if world.network else None
    pick = None
    if world.place in AT_RANDOM:
        chance, starts = AT_RANDOM[world.place], itertools.count()
        pick = lambda free, n: chance(network, free, n, world.seed, next(starts))  # noqa: E731
    elif network is not None:
        naive = NAIVE[world.place]
        pick = lambda free, n: naive(network, free, n)  # noqa: E731
    slow = Scheduler(
        jobs,
        Setup(
            classes=world.classes,
            select=world.select,
            params=world.params,
            order=_key(world),
            dynamic_order=world.order == "wfp",
            place=pick,
            learn=world.learn,
            limit=world.limit,
            outages=world.outages,
            kill=world.kill,
            requeue=world.requeue,
            keep_progress=world.keep_progress,
            exceed=world.exceed,
            ties=world.ties,
            sleep=world.sleep,
            tick=world.tick,
            profile=world.profile,
            shed=world.shed,
            slow=world.slow,
            switch=world.switch,
        ),
    )
    slow.run()
    return slow


# ------------------------------------------------------------------ the comparison


def check(world: World) -> str | None:
    """Return the first difference in starts, ends, counts or nodes, or None."""
    result, stuck = simulate(world)
    slow = scheduled(world)
    told = _difference(world, result, stuck, slow)
    if told is None and len(world.jobs) > 128 and world.select in ("easy", "backfill-by-end") and not world.params:
        starts = result.state.started_s.tolist()
        walk, _ = simulate(world, {"depth": 1e9})
        told = _first(world, "started with the index", "by walking", starts, walk.state.started_s.tolist())
    return told


def _difference(world: World, result: Result, stuck: bool, slow: Scheduler) -> str | None:
    s = result.state
    ended = all(j.status in ("finished", "killed", "failed", "rejected") for j in slow.jobs)
    if stuck == ended:
        return f"the engine {'gets stuck' if stuck else 'ends'}, the twin {'ends' if ended else 'gets stuck'}"
    pairs = {
        "starts": (s.started_s, [j.started for j in slow.jobs]),
        "ends": (s.end_s, [j.ended for j in slow.jobs]),
        "is eligible": (s.eligible_s, [j.eligible for j in slow.jobs]),
        "has restarts": (s.restarts, [j.restarts for j in slow.jobs]),
        "has stops": (s.preemptions, [j.preemptions for j in slow.jobs]),
        "is": (STATUS[s.status], [j.status for j in slow.jobs]),
    }
    for what, (got, wanted) in pairs.items():
        told = _first(world, f"{what} (engine)", "twin", got.tolist(), wanted)
        if told is not None:
            return told
    mine = sorted((j, t0, t1, sorted(nodes)) for j, t0, t1, nodes in segments(result))
    theirs = sorted((i, t0, t1, sorted(nodes)) for i, j in enumerate(slow.jobs) for t0, t1, nodes in j.places)
    for a, b in zip(mine, theirs, strict=False):
        if a != b:
            return f"places (engine) {a}, twin {b}"
    return None if len(mine) == len(theirs) else f"{len(mine)} segments (engine), {len(theirs)} (twin)"


def _first(world: World, mine: str, theirs: str, got: list[Any], wanted: list[Any]) -> str | None:
    """Return the difference whose job's time comes first."""
    rows = [i for i, (a, b) in enumerate(zip(got, wanted, strict=True)) if a != b and not (a != a and b != b)]
    if not rows:
        return None
    i = min(rows, key=lambda i: min((x for x in (got[i], wanted[i]) if isinstance(x, float) and x == x), default=0.0))
    return f"{world.select} {world.order}: job {i} {mine} {got[i]}, {theirs} {wanted[i]}"
