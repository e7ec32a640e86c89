"""Random worlds of moldable jobs: the engine's RMAP, surplus and leftover against their plain twins."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.worlds import policies
from reference.moldable import MoldableJob, MoldableScheduler, MoldableSetup, Nodes, Row
from reference.rmap import Adaptive, Naive, Traditional
from reference.surplus import Surplus
from wattline.arrays import Floats
from wattline.errors import StuckError
from wattline.model import codes
from wattline.model.cluster import Cluster, NodeClass, Outage
from wattline.model.configurations import Configurations, Moldable
from wattline.model.jobs import JobTable
from wattline.model.variability import NodeFactors, Variability
from wattline.sim.simulate import Simulation
from wattline.wiring.options import Options
from wattline.wiring.result import Result

NAME = "moldable"
TURBO_W = 115.0
CAPS = (51.0, 65.0, 80.0, TURBO_W)
TWINS: dict[str, type[MoldableScheduler]] = {
    "rmap-traditional": Traditional,
    "rmap-naive": Naive,
    "rmap-adaptive": Adaptive,
    "surplus": Surplus,
}
BEST_FIT = {"surplus": 1.0}
"""Policies whose ``best_fit`` is on unless it is said otherwise."""
ORDERS: dict[str, Any] = {
    "fcfs": None,
    "lcfs": lambda job, now: -job.seq,
    "priority": lambda job, now: -job.priority,
    "shortest": lambda job, now: job.estimate_left(),
}
skipped = 0
"""Worlds whose decisions hung on rounding: neither right nor wrong."""


@dataclass(frozen=True)
class World:
    """A machine, its limit, applications and jobs."""

    nodes: int
    idle: float
    limit: list[tuple[float, float]]
    """(from time, watts)"""
    tables: list[list[tuple[int, int, float, float, float, float, float]]]
    """nodes, cores, cap, time, power (all nodes), and time and power as told, for each configuration of an application
    """
    told: bool
    jobs: list[tuple[float, float, int, float | None, float, float, int, int, float]]
    """submit, work, nodes, request, watts a node, priority, application (-1: rigid), the job before it (-1), pause
    after that
    """
    select: str
    params: list[tuple[str, float]]
    cap: str = "none"
    order: str = "fcfs"
    outages: list[tuple[float, float, int, int, bool]] | tuple[()] = ()
    kill: bool = False
    requeue: bool = True
    keep_progress: bool = False
    ties: str = "instant"
    factors: list[float] | tuple[()] = ()
    fixed: float = 0.0
    equal_speed: bool = False


# ------------------------------------------------------------------ drawing


def _table(rng: np.random.Generator, nodes: int, idle: float, told: bool, ladder: bool, doubling: bool) -> list[Any]:
    """Draw an application: a grid with caps, ragged rows, or one row; ties and rows that others beat are common.

    On a ``ladder`` a higher cap is nearly always faster, so that caps can be raised; by powers of two where
    ``doubling``.
    """
    ladder = ladder and rng.random() < 0.8
    counts = [int(n) for n in rng.integers(1, nodes + (3 if rng.random() < 0.2 else 1), int(rng.integers(1, 5)))]
    cores = [int(c) for c in rng.choice([4, 8, 16], int(rng.integers(1, 3)))]
    caps = sorted({float(c) for c in rng.choice(CAPS, int(rng.integers(1, 5)) + 3 * ladder)})
    keys = sorted({(n, c, p) for n in counts for c in cores for p in caps})
    if not ladder and rng.random() < 0.3:
        keys = sorted({keys[int(i)] for i in rng.integers(0, len(keys), int(rng.integers(1, len(keys) + 1)))})
    ordered = ladder or rng.random() < 0.6
    slowest = {(n, c): float(rng.integers(4, 9)) for n, c, _ in keys}
    rows = []
    for n, c, p in keys:
        rank = CAPS.index(p)
        each = idle + float(rng.integers(1, 12)) * 5.0 + (20.0 * rank if ordered else 0.0)
        if rng.random() < 0.1:
            each = max(1.0, idle)
        if ladder:
            rung = slowest[n, c] - (rank if rng.random() < 0.9 else 0)
            time = 2.0**rung if doubling else 2.0**rung + float(rng.integers(0, 5)) / 4.0
        elif doubling:
            time = 2.0 ** float(rng.integers(1, 7))
        else:
            time = float(rng.integers(1, 160)) / 4.0 + (10.0 * (3 - rank) if ordered else 0.0)
        told_time, told_power = time, n * each
        if told:
            told_time = time * float(rng.choice([0.5, 1.0, 2.0]))
            told_power = n * max(1.0, idle, each + float(rng.integers(-3, 4)) * 5.0)
        rows.append((n, c, p, time, n * each, told_time, told_power))
    return rows


def _limits(
    rng: np.random.Generator, nodes: int, idle: float, tables: list[Any], submit: Any
) -> list[tuple[float, float]]:
    """Draw a limit: none, wide, tight, so tight that only the least configuration fits, in steps or not."""
    least = min(row[6] - row[0] * idle for rows in tables for row in rows if row[0] <= nodes + 2)
    most = max(row[6] for rows in tables for row in rows)

    def watts() -> float:
        kind = rng.random()
        spare = (
            least + 5.0 * float(rng.integers(0, 3))
            if kind < 0.2
            else most * float(rng.choice([0.5, 1.0, 1.5, 2.0, 4.0]))
        )
        return float(max(8.0, nodes * idle + spare - (50.0 if kind > 0.95 else 0.0)))

    if rng.random() < 0.06:
        return []
    steps = [(0.0 if rng.random() < 0.9 else float(rng.integers(1, 20)), watts())]
    if rng.random() < 0.5:
        count = int(rng.integers(1, 5))
        times = np.floor(rng.choice(submit, count)) + rng.integers(1, 30, count)
        steps += [(float(t), watts()) for t in sorted(set(times.tolist()))]
    return steps


def draw(rng: np.random.Generator, size: str) -> World:
    """Draw a world."""
    deep = size == "deep"
    nodes = int(rng.choice([8, 13, 16, 24, 32] if deep else [2, 3, 4, 5, 7, 8]))
    idle = float(rng.choice([0.0, 0.0, 5.0, 20.0, 100.0]))
    select = str(rng.choice(list(TWINS)))
    varied = rng.random() < 0.15
    leftover = not varied and rng.random() < 0.4
    doubling = leftover and rng.random() < 0.6
    told = rng.random() < 0.2
    tables = [_table(rng, nodes, idle, told, leftover, doubling) for _ in range(int(rng.integers(1, 4)))]
    count = int(rng.integers(30, 140)) if deep else int(rng.integers(1, 15))
    span = float(rng.choice([1, 20, 100, 400])) * (4 if deep else 1)
    submit = np.sort(np.round(rng.uniform(0, span, count) * 4) / 4)
    if rng.random() < 0.5:  # bursts with gaps
        bursts = np.sort(np.round(rng.uniform(0, 4 * span, int(rng.integers(1, 5)))))
        submit = np.sort(rng.choice(bursts, count))
    if (leftover and not doubling) or varied:
        submit = np.sort(submit + rng.integers(0, 1024, count) / 1024)
    rigid = 0.0 if varied or rng.random() < 0.4 else 0.3
    jobs = _jobs(rng, nodes, idle, tables, submit, rigid)
    outages = _outages(rng, nodes, submit)
    params = _params(rng, select)
    return World(
        nodes,
        idle,
        _limits(rng, nodes, idle, tables, submit),
        tables,
        told,
        jobs,
        select,
        params,
        cap="leftover" if leftover else "none",
        order=str(rng.choice(["fcfs", "fcfs", "fcfs", *ORDERS])),
        outages=outages,
        kill=bool(rng.random() < 0.3),
        requeue=bool(rng.random() < 0.8),
        keep_progress=bool(rng.random() < 0.3),
        ties="event" if rng.random() < 0.15 else "instant",
        factors=[float(v) for v in rng.integers(28, 38, nodes) / 32.0] if varied else [],
        fixed=float(rng.choice([0.0, 0.5])) if varied else 0.0,
        equal_speed=bool(rng.random() < 0.5),
    )


def _jobs(
    rng: np.random.Generator, nodes: int, idle: float, tables: list[Any], submit: Floats, rigid: float
) -> list[Any]:
    """Draw a job for every submission; a share ``rigid`` of them chooses no configuration."""
    jobs = []
    for i in range(submit.size):
        app = -1 if rng.random() < rigid else int(rng.integers(0, len(tables)))
        work = float(rng.integers(0, 120)) / 4.0
        row = tables[app][int(rng.integers(0, len(tables[app])))] if app >= 0 else None
        typical = row[3] if row is not None else work
        factor = float(rng.choice([1.0, 1.25, 1.2, 2.0, 0.5, 8.0]))
        request = None if rng.random() < 0.08 else math.ceil(typical * factor * 4.0) / 4.0
        asked = int(rng.integers(1, (nodes if rng.random() < 0.6 else max(1, nodes // 4)) + 1))
        if row is not None and row[0] <= nodes and rng.random() < 0.5:
            asked = int(row[0])
        if rng.random() < 0.02:
            asked = nodes + 1
        after = int(rng.integers(0, i)) if i and rng.random() < 0.05 else -1
        jobs.append(
            (
                float(submit[i]),
                work,
                asked,
                request,
                idle + float(rng.integers(0, 12)) * 10.0,
                float(rng.choice([0.0, 0.0, 0.5, 1.0, 1.5, 2.0])),
                app,
                after,
                float(rng.choice([0.0, 3.0])),
            )
        )
    return jobs


def _outages(rng: np.random.Generator, nodes: int, submit: Floats) -> list[tuple[float, float, int, int, bool]]:
    """Draw outages of nodes, mostly none."""
    outages: list[tuple[float, float, int, int, bool]] = []
    if rng.random() < 0.3:
        for _ in range(int(rng.integers(1, 4))):
            first, t = int(rng.integers(0, nodes)), float(np.floor(rng.choice(submit)) + rng.integers(0, 20))
            length = float(rng.choice([1, 10, 100]))
            outages.append((t, t + length, first, int(rng.integers(1, nodes - first + 1)), bool(rng.random() < 0.4)))
    return outages


def _params(rng: np.random.Generator, select: str) -> list[tuple[str, float]]:
    """Draw parameters of a select policy; those that are left out have their defaults."""
    params = []
    if select in ("rmap-adaptive", "surplus"):
        params.append(("slower", float(rng.choice([0.0, 0.0, 0.25, 1.0, 1e9]))))
    if rng.random() < 0.4:
        params.append(("best_fit", float(rng.integers(0, 2))))
    if select == "rmap-adaptive" and rng.random() < 0.3:
        params.append(("small", float(rng.choice([0.25, 0.5, 1.0]))))
    if select == "rmap-adaptive" and rng.random() < 0.4:
        params.append(("power_only", 1.0))
    return params


# ------------------------------------------------------------------ the engine and its twin


def engine(world: World) -> Result:
    """Run the engine."""
    found = simulation(world)
    try:
        return found.run()
    except StuckError:  # who waits for ever does so in the twin too
        return found.result()


def simulation(world: World, **more: Any) -> Simulation:
    """Return the run of a world, yet to begin; ``more`` are options that no twin knows."""
    names = [f"a{a}" for a in range(len(world.tables))]
    moldable = []
    for name, rows in zip(names, world.tables, strict=True):
        columns = [np.array(column) for column in zip(*rows, strict=True)]
        truth = Configurations(name, columns[0], columns[1], *(c.astype(float) for c in columns[2:5]), TURBO_W)
        told = Configurations(
            name, columns[0], columns[1], *(c.astype(float) for c in (columns[2], *columns[5:])), TURBO_W
        )
        moldable.append(Moldable(truth, told if world.told else None))
    submit, work, nodes, request, watts, priority, app, after, think = zip(*world.jobs, strict=True)
    jobs = JobTable.build(
        submit_s=submit,
        work_s=work,
        nodes=nodes,
        request_s=[math.nan if r is None else r for r in request],
        draw_w=watts,
        priority=priority,
        kind=[a if a >= 0 else len(names) for a in app],
        kinds=(*names, "rigid"),
        after=after,
        think_s=think,
    )
    outages = tuple(Outage(a, b, first, count, drain=drain) for a, b, first, count, drain in world.outages)
    machine = Cluster((NodeClass("node", world.nodes, world.idle, max(world.idle, 300.0)),), outages=outages)
    varied = None
    if world.factors:
        caps = "equal-speed" if world.equal_speed else "equal"
        varied = Variability(NodeFactors(np.array(world.factors)), caps, world.fixed)  # type: ignore[arg-type]
    options = Options(
        limit_w=world.limit,
        configurations=moldable,
        variability=varied,
        kill=world.kill,
        requeue=world.requeue,
        keep_progress=world.keep_progress,
        ties=world.ties,
        log_rows=512,
        **more,
    )
    chosen = policies({"select": dict(world.params)}, order=world.order, select=world.select, cap=world.cap)
    return Simulation(jobs, machine, chosen, options)


def twin(world: World, made: type[MoldableScheduler] | None = None) -> MoldableScheduler:
    """Run the plain twin; ``made`` is another one than the policy's."""
    tables = [[Row(*row) for row in sorted(rows)] for rows in world.tables]
    jobs = []
    for submit, work, nodes, request, watts, priority, app, after, think in world.jobs:
        job = MoldableJob(
            submit,
            work,
            nodes,
            math.inf if request is None else request,
            work if request is None else request,
            draw=watts,
            priority=priority,
            after=after,
            think=think,
            rows=tables[app] if app >= 0 else (),
        )
        jobs.append(job)
    params = dict(world.params)
    setup = MoldableSetup(
        [(world.nodes, world.idle)],
        select=world.select,
        order=ORDERS[world.order],
        limit=world.limit,
        outages=world.outages,
        kill=world.kill,
        requeue=world.requeue,
        keep_progress=world.keep_progress,
        ties=world.ties,
        believes=world.told,
        leftover=world.cap == "leftover",
        different=Nodes(world.factors, world.fixed, world.equal_speed, TURBO_W),
        slower=params.get("slower", 0.0),
        best_fit=params.get("best_fit", BEST_FIT.get(world.select, 0.0)) == 1.0,
        small=params.get("small", 0.0),
        power_only=params.get("power_only", 0.0) == 1.0,
    )
    found = (made or TWINS[world.select])(jobs, setup)
    found.run()
    return found


def check(world: World) -> str | None:
    """Run both; return the first difference in a line, or None. Worlds that rounding decides are counted in
    ``skipped``.
    """
    return difference(world, twin(world))


def difference(world: World, plain: MoldableScheduler) -> str | None:
    """Return the first difference between the engine's run of a world and a twin's in a line, or None."""
    global skipped
    if plain.doubtful:
        skipped += 1
        return None
    result = engine(world)
    s = result.state
    events = result.logs
    for j, job in enumerate(plain.jobs):
        status = codes.STATUS_NAMES[s.status[j]]
        if status != job.status:
            return f"job {j}: the engine says {status}, the twin {job.status}"
        rows = sorted(world.tables[world.jobs[j][6]]) if job.rows else []
        first = int(s.app_first[s.app[j]]) if job.rows else 0
        own, began = (rows[int(x) - first][:3] if x >= 0 else None for x in (s.shape[j], s.start_shape[j]))
        expected_rows = [
            None if r is None else (r.nodes, r.cores, r.cap) for r in (job.row, job.first_row if job.row else None)
        ]
        pairs = (
            ("start", float(s.started_s[j]), job.started),
            ("configuration at its start", began, expected_rows[1]),
            ("configuration", own, expected_rows[0]),
            ("end", float(s.end_s[j]), job.ended),
            ("restarts", int(s.restarts[j]), job.restarts),
            ("energy", float(s.energy_j[j]), job.energy),
            ("reservation", float(s.reserved_s[j]), job.reserved),
        )
        for what, got, want in pairs:
            if not _same(got, want):
                return f"job {j}: {what}: the engine has {got}, the twin {want}"
        mine = events["px_job"] == j
        got_nodes = sorted(
            (float(t0), float(t1), node)
            for a, n, t0, t1 in zip(
                *(events[c][mine] for c in ("px_first", "px_count", "px_from_s", "px_until_s")), strict=True
            )
            for node in range(int(a), int(a + n))
        )
        want_nodes = sorted((t0, t1, node) for t0, t1, held in job.places for node in held)
        if len(got_nodes) != len(want_nodes) or not all(
            _same(x, y) for a, b in zip(got_nodes, want_nodes, strict=True) for x, y in zip(a, b, strict=True)
        ):
            return f"job {j}: nodes: the engine has {got_nodes}, the twin {want_nodes}"
    stuck = any(job.status in ("waiting", "held") for job in plain.jobs)  # then time goes on to jobs that are rejected
    if not stuck and not _same(float(s.node_j[0, 1]), plain.idle_energy):
        return f"idle energy: the engine has {s.node_j[0, 1]}, the twin {plain.idle_energy}"
    return None


def _same(got: Any, want: Any) -> bool:
    """Whether two results are the same; times and energies, which are sums, to within rounding."""
    if isinstance(got, float) and isinstance(want, float):
        return (
            (math.isnan(got) and math.isnan(want))
            or got == want
            or abs(got - want) <= 1e-9 * max(1.0, abs(got), abs(want))
        )
    return bool(got == want)


# ------------------------------------------------------------------ shrinking


def shrink(world: World) -> Iterator[World]:
    """Yield smaller worlds, the most drastic first."""
    n = len(world.jobs)
    for part in (2, 4, 8, n):
        size = n // part
        if size >= 1 and (part < n or part == n):
            for first in range(0, n, size):
                if n - size >= 1:
                    yield _without(world, set(range(first, min(n, first + size))))
    plain: dict[str, Any] = {
        "outages": [],
        "factors": [],
        "order": "fcfs",
        "cap": "none",
        "kill": False,
        "requeue": True,
        "keep_progress": False,
        "ties": "instant",
        "params": [],
        "fixed": 0.0,
    }
    for name, value in plain.items():
        if getattr(world, name) != value:
            yield replace(world, **{name: value})
    for i in range(len(world.outages)):
        yield replace(world, outages=[*world.outages[:i], *world.outages[i + 1 :]])
    for i in range(len(world.params)):
        yield replace(world, params=[*world.params[:i], *world.params[i + 1 :]])
    for i in range(len(world.limit)):
        yield replace(world, limit=[*world.limit[:i], *world.limit[i + 1 :]])
    for a, rows in enumerate(world.tables):
        for i in range(len(rows)):
            if len(rows) > 1:
                yield replace(world, tables=[*world.tables[:a], [*rows[:i], *rows[i + 1 :]], *world.tables[a + 1 :]])
    if world.told:
        same = [[(*row[:5], row[3], row[4]) for row in rows] for rows in world.tables]
        yield replace(world, told=False, tables=same)
    if world.idle:
        yield replace(world, idle=0.0)
    for i, job in enumerate(world.jobs):
        for at, value in ((7, -1), (5, 0.0), (8, 0.0), (3, None)):
            if job[at] != value:
                simpler = (*job[:at], value, *job[at + 1 :])
                yield replace(world, jobs=[*world.jobs[:i], simpler, *world.jobs[i + 1 :]])  # type: ignore[list-item]


def _without(world: World, gone: set[int]) -> World:
    """Return a world without some jobs; who waited for one of them waits for nobody."""
    kept = [i for i in range(len(world.jobs)) if i not in gone]
    place = {old: new for new, old in enumerate(kept)}
    jobs = [(*world.jobs[i][:7], place.get(world.jobs[i][7], -1), world.jobs[i][8]) for i in kept]
    return replace(world, jobs=jobs)
