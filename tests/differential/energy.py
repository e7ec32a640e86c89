"""Energy on every path: random worlds in which jobs, classes, totals, timeline, journal, summary and bill must have the same joules.

The engine is held against a plain accountant that watches the same run (tests/reference/accountant.py). ``check`` returns what
differs in one line, or None.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from differential.energy_paths import disagreements
from engine.regulated import FILLER, FIRM, SMALL, WIDE
from engine.worlds import digest, policies
from reference.accountant import Accountant, Progress
from wattline.model import codes
from wattline.model.cluster import Cluster, Level, NodeClass, Outage, Sleep
from wattline.model.configurations import Configurations, Moldable
from wattline.model.jobs import JobTable
from wattline.model.kinds import Kind
from wattline.model.mechanism import Mechanism, policy
from wattline.model.network import Communication, Dragonfly
from wattline.model.regulation import Bid, Signal
from wattline.model.series import PowerSeries
from wattline.model.variability import NodeFactors, Variability
from wattline.policy.helpers import uniform
from wattline.sim.keeping import _at, _pieces, cut_result, layout, restore
from wattline.sim.setup import Options
from wattline.sim.simulate import Simulation
from wattline.traces.unfinished import Flush

NAME = "energy"
KINDS: tuple[Kind, ...] = (SMALL, WIDE, FIRM, FILLER)
FAMILIES = ("rigid", "capped", "series", "paused", "target", "moldable", "varied", "network")
MOST_INSTANTS = 20_000

Row = tuple[float, float, int, float, float, int, tuple[float, ...]]
"""Of a job: submit, work, nodes, request (NaN: none), power per node, number of its class or kind, power over time."""


@dataclass(frozen=True)
class World:
    """A machine, a workload and policies; times in units of ``unit`` seconds, powers in watts."""

    family: str
    jobs: tuple[Row, ...]
    select: str = "easy"
    order: str = "fcfs"
    cap: str = "none"
    profile: str = "known"
    limit: tuple[tuple[float, float], ...] = ()
    outages: tuple[tuple[float, float, int, int, bool], ...] = ()
    sleeps: bool = False
    kill: bool = False
    requeue: bool = True
    keep: bool = False
    shed: bool = False
    exceed: bool = False
    quantum: bool = False
    ties: str = "instant"
    tick: float = math.inf
    sample: float = 0.0
    stop_cost: float = 0.0
    begin: float = math.inf
    """When the run begins, if before the first job."""
    until: float = math.inf
    cut: float = math.inf
    """Where the run is cut off, kept and carried on (inf: nowhere)."""
    log_rows: int = 65536
    unit: float = 1.0
    """What all times are multiplied by: hours of a bill are long."""
    seed: int = 0


# ------------------------------------------------------------------ policies of whims


@policy("cap", wake="arrival end tick timer", caps=True, solo_caps=True, memory=1)
def whims(s, arg, param, memory):
    """Cap classes and single jobs, set levels and timers, at random."""
    memory[0] += 8
    coin = [uniform(param[-1], 11, int(memory[0]) + i) for i in range(8)]
    for c in range(s.want_cap_w.size):
        s.want_cap_w[c] = np.inf if coin[0] < 0.3 else 400.0 * uniform(param[-1], 12 + c, int(memory[0]))
    for p in range(s.want_level.size):
        s.want_level[p] = int(coin[1] * (s.n_levels[p] + 1))
    return _recap(s, coin)


@policy("cap", wake="arrival end tick timer", solo_caps=True, memory=1)
def lone_whims(s, arg, param, memory):
    """Cap single jobs at random: those whose power changes too."""
    memory[0] += 8
    return _recap(s, [uniform(param[-1], 11, int(memory[0]) + i) for i in range(8)])


def _recap(s, coin):
    n = min(int(coin[2] * 4), int(s.n_running[0]))
    for i in range(n):
        s.recap_job[i] = s.running[(int(coin[3] * s.n_running[0]) + i) % s.n_running[0]]
        s.recap_w[i] = np.inf if coin[4] < 0.3 else 350.0 * coin[5]
    s.n_recap[0] = n
    period_s = min(s.tick_s[0], s.sample_s[0])
    s.wake_at_s[codes.CAP] = s.now[0] + period_s * (0.4 + 2.0 * coin[6]) if coin[7] < 0.5 else np.inf
    return 1


@policy("select", wake="arrival end tick timer node", memory=1)
def fickle(s, arg, param, memory):
    """Stop, pause, resume and start at random."""
    memory[0] += 1
    for i in range(int(s.n_running[0])):
        j = int(s.running[i])
        coin = uniform(param[-1], 21 + j, int(memory[0]))
        if s.status[j] == codes.PAUSED and coin < 0.6:
            s.resume_job[s.n_resume[0]] = j
            s.n_resume[0] += 1
        elif coin < 0.25:
            s.stop_job[s.n_stop[0]] = j
            s.stop_holds[s.n_stop[0]] = int(coin < 0.18)
            s.n_stop[0] += 1
    n, free = 0, s.free.copy()
    for i in range(int(s.q_head[0]), int(s.q_tail[0])):
        j = int(s.queue[i])
        if j >= 0 and s.nodes[j] <= free[s.pool[j]] and n < s.p_job.size:
            free[s.pool[j]] -= s.nodes[j]
            s.p_job[n], s.p_nodes[n], s.p_cap_w[n], s.p_why[n] = j, s.nodes[j], np.inf, codes.CHOSEN
            n += 1
    s.wake_at_s[codes.SELECT] = s.now[0] + s.tick_s[0] * (0.4 + 3.6 * uniform(param[-1], 20, int(memory[0])))
    return n


OWN: dict[str, Mechanism] = {"whims": whims, "lone-whims": lone_whims, "fickle": fickle}


# ------------------------------------------------------------------ drawing


def draw(rng: np.random.Generator, size: int = 14, family: str = "") -> World:
    """Return a random world of at most so many jobs, of a family or of any."""
    family = family or str(rng.choice(FAMILIES))
    world = World(family, _jobs(rng, family, size), seed=int(rng.integers(0, 10_000)))
    some = {
        "kill": rng.random() < 0.4, "requeue": rng.random() < 0.7, "keep": rng.random() < 0.4,
        "ties": "event" if rng.random() < 0.2 else "instant", "log_rows": 1 if rng.random() < 0.2 else 65536,
        "outages": tuple(_outage(rng) for _ in range(rng.integers(0, 3))),
        "order": str(rng.choice(["fcfs", "lcfs", "shortest", "wfp"])), "unit": float(rng.choice([1.0, 97.0])),
    }  # fmt: skip
    if rng.random() < 0.5:
        some["until"] = _soon(rng, world)
    if rng.random() < 0.15:
        some["begin"] = float(rng.integers(-9, 1))
    if rng.random() < 0.25:
        some["cut"] = _soon(rng, world)
    if rng.random() < 0.5:
        some["limit"] = (
            (0.0, float(rng.integers(14, 26) * 100)),
            (20.0, float(rng.integers(11, 20) * 100)),
            (60.0, 2600.0),
        )
    return replace(world, **some | _of_family(rng, family, limited="limit" in some))


def _of_family(rng: np.random.Generator, family: str, *, limited: bool) -> dict[str, Any]:
    """Return what is told of a family: they exclude each other."""
    pick = lambda *names: str(rng.choice(names))  # noqa: E731
    tick = float(rng.choice([math.inf, 2.5, 7.0]))
    selects = ("in-order", "first-fit", "easy", "backfill-by-end", "conservative", "window", "reselect")
    if family == "rigid":
        return {
            "select": pick(*selects),
            "sleeps": rng.random() < 0.8,
            "tick": tick,
            "stop_cost": float(rng.integers(0, 3)),
        }
    if family == "capped":
        return {"select": pick(*selects), "cap": "whims", "sleeps": rng.random() < 0.5, "tick": 2.5}
    if family == "series":
        shed = limited and rng.random() < 0.4
        quantum = rng.random() < 0.2
        return {
            "select": pick(*selects), "cap": pick("none", "under-limit", "lone-whims"), "sleeps": rng.random() < 0.4,
            "profile": pick("known", "known", "maximum", "oracle", "t-test", "quantile", "pooled"), "sample": float(rng.choice([0.0, 3.0, 7.5])),
            "shed": shed, "exceed": limited, "quantum": quantum, "tick": 2.5 if quantum else tick, "stop_cost": float(rng.integers(0, 3)),
        }  # fmt: skip
    if family == "paused":
        return {"select": "fickle", "sleeps": rng.random() < 0.5, "cap": pick("none", "lone-whims"), "tick": 2.5, "stop_cost": float(rng.integers(0, 3)), "limit": (), "sample": 5.0}  # fmt: skip
    if family == "target":
        return {"select": pick("gps", "tracking-only", "energyqare", "slackline"), "cap": "match-target", "tick": 1.0, "limit": (), "until": float(rng.integers(20, 160)), "stop_cost": float(rng.integers(0, 2)), "ties": "instant", "order": "fcfs"}  # fmt: skip
    if family == "network":
        return {"select": pick("easy", "first-fit", "conservative"), "limit": ()}
    shapes = ("rmap-traditional", "rmap-naive", "rmap-adaptive", "surplus")
    cap = "none" if family == "varied" or rng.random() < 0.3 else "leftover"
    return {
        "select": pick(*shapes),
        "cap": cap,
        "limit": ((0.0, 700.0), (30.0, 1100.0)),
        "kill": False,
        "order": "fcfs",
        "ties": "instant",
    }


def _jobs(rng: np.random.Generator, family: str, size: int) -> tuple[Row, ...]:
    rows = []
    for t in sorted(rng.integers(0, 60, rng.integers(1, size + 1)).tolist()):
        work = float(rng.choice([0.0, *rng.integers(0, 25, 3), np.round(rng.uniform(0, 25), 2)]))
        which = int(rng.integers(0, 4 if family in ("target", "network") else 2))
        slack = float(rng.choice([math.nan, 0.0, 1.0, 5.0, 30.0, -3.0]))
        series: tuple[float, ...] = ()
        if family in ("series", "paused") and rng.random() < 0.8:
            series = tuple(np.round(rng.uniform(90.0, 320.0, int(work / 4.0) + 1), 1).tolist())
        most = {"moldable": 8, "varied": 8, "network": 9}.get(family, 4 - which if which < 2 else 1)
        watts = float(np.mean(series)) if series else float(rng.choice([120.0, 200.0, 300.0, 350.0, 400.0]))
        request = slack if math.isnan(slack) else max(0.0, work + slack)
        rows.append((float(t), work, int(rng.integers(1, most + 1)), request, watts, which, series))
    return tuple(rows)


def _soon(rng: np.random.Generator, world: World) -> float:
    """Return a time at which jobs wake, run or have ended: some time after one was submitted."""
    submit = world.jobs[int(rng.integers(0, len(world.jobs)))][0]
    if rng.random() < 0.03:
        return 0.0
    return float(np.round(submit + rng.uniform(0.1, rng.choice([6.0, 12.0, 40.0])), 1))


def _outage(rng: np.random.Generator) -> tuple[float, float, int, int, bool]:
    begin = float(rng.integers(0, 60))
    return (
        begin,
        begin + float(rng.integers(1, 15)),
        int(rng.integers(0, 6)),
        int(rng.integers(1, 3)),
        rng.random() < 0.4,
    )


# ------------------------------------------------------------------ running


def simulation(world: World, **more: Any) -> Simulation:
    """Return the run of a world, yet to begin."""
    chosen = {name: OWN.get(value, value) for name, value in
              (("select", world.select), ("cap", world.cap), ("profile", world.profile), ("order", world.order))}  # fmt: skip
    place = {"network": "rdn", "varied": "frugal"}.get(world.family, "lowest")
    unit = world.unit
    options = Options(
        ties=world.ties, kill=world.kill, requeue=world.requeue, keep_progress=world.keep, tick_s=world.tick * unit,
        limit_w=[(t * unit, watts) for t, watts in world.limit], sample_s=world.sample * unit or None, quantum=world.quantum,
        exceed=world.exceed, shed=world.shed, stop_cost_s=world.stop_cost * unit, log_rows=world.log_rows,
        until_s=world.until * unit, start_s=world.begin * unit if world.begin < math.inf else None, **_family_options(world),
    )  # fmt: skip
    return Simulation(
        _table(world), _machine(world), policies(None, place=place, **chosen), replace(options, **more), seed=world.seed
    )


def _family_options(world: World) -> dict[str, Any]:
    if world.family == "target":
        y, unit = np.random.default_rng(world.seed).uniform(-1, 1, 60), world.unit
        bids = ((5.0 * unit, Bid(1500.0, 300.0)), (60.0 * unit, None), (90.0 * unit, Bid(1200.0, 200.0)))
        return {"kinds": _kinds(unit), "signal": Signal(0.0, 4.0 * unit, y), "bids": bids}
    if world.family == "network":
        sends = (Communication("a", 3e8, share=0.4), Communication("b", 2e8, share=0.25), Communication("c", 4e8))
        return {"communication": sends}
    if world.family in ("moldable", "varied"):
        nodes = NodeFactors.drawn(8, 0.2, world.seed)
        varied = (
            Variability(nodes, ("equal", "equal-speed")[world.seed % 2], 20.0) if world.family == "varied" else None
        )
        told = _told(world.unit, world.seed) if world.family == "moldable" and world.seed % 3 == 0 else None
        return {"configurations": (Moldable(_application(world.unit), told),), "variability": varied}
    return {}


def _kinds(unit: float) -> tuple[Kind, ...]:
    return tuple(replace(kind, work_s=kind.work_s * unit) for kind in KINDS)


def _application(unit: float) -> Configurations:
    rows = []
    for n in (1, 2, 3, 5, 8):
        for cap in (51.0, 65.0, 80.0, 115.0):
            node_w = 190.0 if cap == 115.0 else 2.0 * cap
            rows.append((n, 8, cap, 60.0 * unit / (n * ((node_w - 40.0) / 130.0) ** 0.5), n * node_w))
    n, c, p, t, w = (np.array(column) for column in zip(*rows, strict=True))
    return Configurations("x", n, c, p.astype(float), t.astype(float), w.astype(float), 115.0)


def _told(unit: float, seed: int) -> Configurations:
    """Return the table as a model might tell it: off by some."""
    truth, rng = _application(unit), np.random.default_rng(seed)
    return replace(
        truth,
        time_s=truth.time_s * rng.uniform(0.8, 1.25, len(truth)),
        power_w=truth.power_w * rng.uniform(0.9, 1.1, len(truth)),
    )


def _machine(world: World) -> Cluster:
    unit = world.unit
    lost = tuple(Outage(begin * unit, end * unit, *which) for begin, end, *which in world.outages)
    asleep = Sleep(10.0, 2.0 * unit, 0.5 * unit, 6.0 * unit) if world.sleeps else None
    if world.family in ("moldable", "varied"):
        return Cluster((NodeClass("node", 8, 20.0, 230.0),), outages=lost)
    if world.family == "target":
        return Cluster((NodeClass("node", 8, 100.0, 320.0, min_cap_w=140.0),), outages=lost)
    if world.family == "network":
        return Cluster((NodeClass("node", 20, 100.0, 300.0),), outages=lost, network=Dragonfly(2, 2, 5))
    two = (Level(0.5, 180.0, 80.0), Level(1.0, 300.0, 100.0)) if world.cap == "whims" else ()
    first = NodeClass("a", 4, 100.0, 300.0, min_cap_w=150.0, levels=two, sleep=asleep)
    return Cluster((first, NodeClass("b", 3, 50.0, 320.0, min_cap_w=110.0)), outages=lost)


def _table(world: World) -> JobTable:
    columns = [list(column) for column in zip(*world.jobs, strict=True)] if world.jobs else [[] for _ in range(7)]
    submit, work, request = ([value * world.unit for value in columns[i]] for i in (0, 1, 3))
    nodes, watts, which, series = (columns[i] for i in (2, 4, 5, 6))
    users = {"user": [i % 3 for i in range(len(submit))], "users": ("a", "b", "c")}
    if world.family == "target":
        of = [_kinds(world.unit)[k] for k in which]
        return JobTable.build(
            submit_s=submit, work_s=[k.work_s for k in of], nodes=[k.nodes for k in of], draw_w=[k.draw_w for k in of],
            floor_w=[k.floor_w for k in of], stretch=[k.stretch for k in of], kind=which, kinds=tuple(k.name for k in KINDS), **users,
        )  # fmt: skip
    more: dict[str, Any] = {"partition": which, "partitions": ("a", "b")}
    if world.family in ("moldable", "varied"):
        more = {"kind": [0] * len(submit), "kinds": ("x",)}
        request = [400.0 * world.unit] * len(submit)
    elif world.family == "network":
        more = {"kind": which, "kinds": ("a", "b", "c", "d")}
    elif any(series):
        more["series"] = PowerSeries.build(4.0 * world.unit, series)
        more["group"], more["groups"] = which, ("p", "q")
    return JobTable.build(submit_s=submit, work_s=work, nodes=nodes, request_s=request, draw_w=watts, **more, **users)


# ------------------------------------------------------------------ checking


def check(world: World) -> str | None:
    """Run a world, watched by the accountant; return what differs, or None."""
    watched = simulation(world)
    books, progress = Accountant(), Progress()
    books.look(watched.state)
    with watched:
        code, instants = codes.BUDGET, 0
        while code in (codes.BUDGET, codes.LOG_FULL):
            code = watched.advance(1)
            if code == codes.BUDGET:
                books.look(watched.state)
                progress.look(watched.state)
                instants += 1
                if instants > MOST_INSTANTS:
                    return "the run does not come to an end"
        if code == codes.STUCK:
            return None  # a job that nothing lets start: said elsewhere, and no matter of energy
        watched.explain(code)
    stopped = "until" if code == codes.UNTIL else "done"
    result = watched.result(stopped)
    ledger = books.close(float(result.state.now[0]))
    wrong = [*books.wrong, *progress.wrong]
    if wrong:
        return wrong[0]
    with tempfile.TemporaryDirectory() as folder:
        found = disagreements(result, ledger, Path(folder))
        if found is None and world.cut < math.inf:
            found = _cut_and_carried_on(world, Path(folder), digest(result))
    return found or _without_logs(world, watched)


def _without_logs(world: World, logged: Simulation) -> str | None:
    """Say whether a run that logs nothing has other energies, bit for bit."""
    quiet = simulation(world, timeline=False, placements=False, decisions=False)
    quiet.run()
    for name in ("energy_j", "node_j", "node_s", "now", "end_s"):
        if not np.array_equal(getattr(quiet.state, name), getattr(logged.state, name), equal_nan=True):
            return f"without logs {name} differs"
    return None


def _cut_and_carried_on(world: World, folder: Path, whole: str) -> str | None:
    """Cut a run off, keep it, look at what was kept, carry it on: the same books at the cut, the same bits at the end."""
    first = simulation(world)
    cut_s = float(first.state.start_s[0]) + world.cut * world.unit
    books = Accountant()
    books.look(first.state)
    with first:
        code = codes.BUDGET
        while code in (codes.BUDGET, codes.LOG_FULL):
            code = first.advance(1, until_s=min(cut_s, world.until * world.unit), short=True)
            if code == codes.BUDGET:
                books.look(first.state)
        if code != codes.UNTIL or cut_s > world.until * world.unit:
            return None
        first.empty_logs()
        arrays = {name: array.copy() for name, array in {**_pieces(first), **_at(first, cut_s)}.items()}
        logs = {name: list(pieces) for name, pieces in first.chunks.items()}
    record = {"cut_s": cut_s, "start_s": float(first.state.start_s[0]), "wall_s": 0.0, "layout_of_state": layout()}
    flush = Flush(record, arrays, logs)
    kept = cut_result(flush, first.jobs, first.cluster, first.policies, first.options, first.seed)
    found = disagreements(kept, books.close(cut_s), folder / "cut")
    if found is not None:
        return f"cut at {cut_s} s: {found}"
    again = simulation(world)
    restore(again, flush)
    return None if digest(again.run()) == whole else f"cut at {cut_s} s and carried on: other bits"


def shrink(world: World) -> Iterator[World]:
    """Yield smaller worlds: fewer jobs, shorter ones, less that is switched on."""
    n = len(world.jobs)
    for size in (n // 2, n // 4, 1):
        for first in range(0, n, max(1, size)) if size else ():
            yield replace(world, jobs=world.jobs[:first] + world.jobs[first + size :])
    for name, value in vars(World(world.family, ())).items():
        if name not in ("family", "jobs", "tick", "select", "cap", "until") and getattr(world, name) != value:
            yield replace(world, **{name: value})
    if world.until != math.inf and world.family != "target":
        yield replace(world, until=math.inf)
    for i, row in enumerate(world.jobs):
        for smaller in ((0.0, *row[1:]), (row[0], math.floor(row[1] / 2), *row[2:]), (*row[:2], 1, *row[3:])):
            if smaller != row and not row[6]:
                yield replace(world, jobs=(*world.jobs[:i], smaller, *world.jobs[i + 1 :]))
