"""Random worlds in which energy is counted: what there is on a machine, and the run that comes of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.regulated import FILLER, FIRM, SMALL, WIDE
from engine.worlds import policies
from wattline.model import codes
from wattline.model.cluster import Cluster, Level, NodeClass, Outage, Sleep
from wattline.model.communication import Communication
from wattline.model.configurations import Configurations, Moldable
from wattline.model.jobs import JobTable
from wattline.model.kinds import Kind
from wattline.model.mechanism import Mechanism, policy
from wattline.model.networks.dragonfly import Dragonfly
from wattline.model.regulation import Bid, Signal
from wattline.model.series import PowerSeries
from wattline.model.variability import NodeFactors, Variability
from wattline.policies.helpers import uniform
from wattline.sim.simulate import Simulation
from wattline.wiring.options import Options

KINDS: tuple[Kind, ...] = (SMALL, WIDE, FIRM, FILLER)
FAMILIES = ("rigid", "capped", "series", "paused", "target", "moldable", "varied", "network")

Row = tuple[float, float, int, float | None, float, int, tuple[float, ...]]
"""Of a job: submit, work, nodes, request, power per node, number of its class or kind, power over time."""


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
    tick: float | None = None
    sample: float = 0.0
    stop_cost: float = 0.0
    begin: float | None = None
    """When the run begins, if before the first job."""
    until: float | None = None
    cut: float | None = None
    """Where the run is cut off, kept and carried on."""
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


# ------------------------------------------------------------------ running


def simulation(world: World, **more: Any) -> Simulation:
    """Return the run of a world, yet to begin."""
    chosen = {
        name: OWN.get(value, value)
        for name, value in (
            ("select", world.select),
            ("cap", world.cap),
            ("profile", world.profile),
            ("order", world.order),
        )
    }
    place = {"network": "rdn", "varied": "frugal"}.get(world.family, "lowest")
    unit = world.unit
    options = Options(
        ties=world.ties,
        kill=world.kill,
        requeue=world.requeue,
        keep_progress=world.keep,
        tick_s=times(world.tick, unit),
        limit_w=[(t * unit, watts) for t, watts in world.limit],
        sample_s=world.sample * unit or None,
        quantum=world.quantum,
        exceed=world.exceed,
        shed=world.shed,
        stop_cost_s=world.stop_cost * unit,
        log_rows=world.log_rows,
        until_s=times(world.until, unit),
        start_s=None if world.begin is None else world.begin * unit,
        **_family_options(world),
    )
    return Simulation(
        _table(world), _machine(world), policies(None, place=place, **chosen), replace(options, **more), seed=world.seed
    )


def times(value: float | None, unit: float) -> float:
    """Return a time in seconds; nothing is never."""
    return math.inf if value is None else value * unit


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
    submit, work = ([value * world.unit for value in columns[i]] for i in (0, 1))
    request = [math.nan if value is None else value * world.unit for value in columns[3]]
    nodes, watts, which, series = (columns[i] for i in (2, 4, 5, 6))
    users = {"user": [i % 3 for i in range(len(submit))], "users": ("a", "b", "c")}
    if world.family == "target":
        of = [_kinds(world.unit)[k] for k in which]
        return JobTable.build(
            submit_s=submit,
            work_s=[k.work_s for k in of],
            nodes=[k.nodes for k in of],
            draw_w=[k.draw_w for k in of],
            floor_w=[k.floor_w for k in of],
            stretch=[k.stretch for k in of],
            kind=which,
            kinds=tuple(k.name for k in KINDS),
            **users,
        )
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
