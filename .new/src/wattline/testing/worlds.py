"""Tiny worlds that policies are tried in: each is hard in one way."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from wattline.model.cluster import Cluster, Level, NodeClass, Outage, Sleep
from wattline.model.communication import Communication
from wattline.model.configurations import Configurations, Moldable
from wattline.model.jobs import UNKNOWN, JobTable
from wattline.model.kinds import Kind
from wattline.model.mechanism import Mechanism
from wattline.model.networks.dragonfly import Dragonfly
from wattline.model.regulation import Bid, Bidding, Signal
from wattline.wiring.options import Options

IDLE_W, MAX_W, MIN_CAP_W = 100.0, 300.0, 150.0
LEVELS = (Level(rate=0.5, busy_w=180.0, idle_w=80.0), Level(rate=1.0, busy_w=MAX_W, idle_w=IDLE_W))


@dataclass(frozen=True)
class World:
    """A workload, a machine and how to run them; its name and what it is about, for those who fail in it."""

    jobs: JobTable
    cluster: Cluster
    options: Options = field(default_factory=Options)
    name: str = "its own"
    about: str = "made by hand"
    call: str = ""
    """How ``wattline.testing.worlds`` makes it, as it is typed."""

    @property
    def words(self) -> str:
        """What somebody needs who wants to see it again: its name, its call, its size."""
        size = f"{len(self.jobs)} jobs on {self.cluster.nodes} nodes"
        return f"{self.name!r} ({self.about}; {self.call + ': ' if self.call else ''}{size})"


def named(make: Callable[..., World]) -> Callable[..., World]:
    """Give the worlds that a function makes its name, and what it says of them."""

    @functools.wraps(make)
    def made(*args: Any, **more: Any) -> World:
        about = (make.__doc__ or "").splitlines()[0].rstrip(".")
        given = inspect.signature(make).bind(*args, **more)
        given.apply_defaults()
        plain = {key: value for key, value in given.arguments.items() if key != "options"}
        shown = {**plain, **given.arguments.get("options", {})}
        call = f"{make.__name__}({', '.join(f'{key}={value!r}' for key, value in shown.items())})"
        name = make.__name__.replace("_", "-")
        return replace(make(*args, **more), name=name, about=about[0].lower() + about[1:], call=call)

    return made


def nodes(count: int, name: str = "node", **more: Any) -> NodeClass:
    """Return a node class whose speed can be set and whose power can be capped."""
    return NodeClass(name, count, IDLE_W, MAX_W, min_cap_w=MIN_CAP_W, levels=LEVELS, **more)


def jobs(submit_s: Any, work_s: Any, widths: Any, **columns: Any) -> JobTable:
    """Return a job table with users, requests twice the truth, and powers that differ."""
    n = len(submit_s)
    given = {
        "request_s": 2.0 * np.asarray(work_s, dtype=float) + 1.0,
        "user": np.arange(n) % 2,
        "draw_w": np.where(np.arange(n) % 3 == 0, MAX_W, 220.0),
        "priority": np.arange(n) % 4,
    }
    return JobTable.build(submit_s=submit_s, work_s=work_s, nodes=widths, users=("ann", "bob"), **(given | columns))


@named
def busy(seed: int = 7, count: int = 40, machine: int = 5, **options: Any) -> World:
    """A random workload that keeps a queue, with a node class that can sleep, ticks, and jobs that wait for others.

    Some jobs ask for no certain time (their request is endless), some have no user (the code is -1).
    """
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, 3 * count, count)).astype(float)
    after = np.where(rng.random(count) < 0.15, np.arange(count) - 3, -1)
    work = rng.integers(1, 25, count).astype(float)
    job = np.arange(count)
    table = jobs(
        submit,
        work,
        rng.integers(1, machine + 1, count),
        request_s=np.where(job % 7 == 3, np.nan, 2.0 * work + 1.0),
        user=np.where(job % 5 == 2, UNKNOWN, job % 2),
        after=np.where(after < 0, -1, after),
        think_s=np.full(count, 2.0),
    )
    sleep = Sleep(power_w=10.0, after_s=30.0, entry_s=2.0, exit_s=3.0)
    return World(table, Cluster((nodes(machine, sleep=sleep),)), Options(tick_s=10.0, kill=True, **options))


@named
def empty() -> World:
    """No job at all."""
    return World(jobs([], [], []), Cluster((nodes(2),)))


@named
def all_down() -> World:
    """Every node fails while jobs run, wait and arrive, and comes back."""
    table = jobs([0, 1, 2, 12, 14], [20, 5, 5, 3, 4], [2, 3, 1, 4, 2])
    return World(table, Cluster((nodes(4),), outages=(Outage(10.0, 50.0, 0, 4),)), Options(tick_s=5.0))


@named
def one_node() -> World:
    """A machine of one node."""
    return World(jobs([0, 0, 1, 30], [5, 3, 2, 4], [1, 1, 1, 1]), Cluster((nodes(1),)))


@named
def ties() -> World:
    """Many equal jobs at one instant, whose ends coincide with later arrivals."""
    n = 30
    submit = np.where(np.arange(n) < 20, 0.0, 10.0)
    return World(jobs(submit, np.full(n, 10.0), 1 + np.arange(n) % 3), Cluster((nodes(6),)))


@named
def wide() -> World:
    """Jobs as wide as the machine among narrow ones."""
    return World(jobs([0, 0, 1, 2, 3, 4], [10, 5, 8, 2, 30, 3], [1, 4, 1, 4, 1, 4]), Cluster((nodes(4),)))


@named
def zero_length() -> World:
    """Jobs that take no time, alone and beside others; some ask for none."""
    asked = [0.0, 21.0, 1.0, 0.0, 1.0]
    return World(jobs([0, 0, 0, 5, 5], [0, 10, 0, 0, 0], [2, 3, 4, 4, 1], request_s=asked), Cluster((nodes(4),)))


@named
def limited() -> World:
    """A power limit that allows two busy nodes, then four, then fewer again."""
    limit = [(0.0, 4 * IDLE_W + 2 * 200.0), (40.0, 4 * MAX_W), (60.0, 4 * IDLE_W + 2 * 200.0)]
    table = jobs(np.arange(12) * 6.0, 5.0 + np.arange(12) % 5, 1 + np.arange(12) % 2)
    return World(table, Cluster((nodes(4),)), Options(limit_w=limit))


@named
def several_classes() -> World:
    """Two node classes with lines of their own under one power limit."""
    n = 16
    table = jobs(
        np.arange(n) // 2 * 3.0,
        4.0 + np.arange(n) % 7,
        1 + np.arange(n) % 3,
        partition=np.arange(n) % 2,
        partitions=("cpu", "gpu"),
    )
    limit = [(0.0, 7 * IDLE_W + 4 * 200.0)]
    return World(table, Cluster((nodes(4, "cpu"), nodes(3, "gpu"))), Options(limit_w=limit))


KINDS = (
    Kind("narrow", 1, 10.0, MAX_W, MIN_CAP_W, 1.5, limit=3.0, weight=0.6, arrival_per_s=0.1),
    Kind("wide", 3, 12.0, 220.0, MIN_CAP_W, 1.3, limit=4.0, weight=0.3, arrival_per_s=0.05),
    Kind("spare", 1, 8.0, 220.0, MIN_CAP_W, 1.3, weight=0.1, standby=True),
)


def of_kinds(table: JobTable) -> JobTable:
    """Return jobs that are of the declared kinds in turn."""
    return table.with_columns(kind=np.arange(len(table)) % len(KINDS), kinds=tuple(kind.name for kind in KINDS))


def networked(world: World, share: float = 0.0) -> World:
    """Return a world whose nodes hang on a small dragonfly, on which some kinds of job send (in a share of their time,
    which slows them).
    """
    sends = (Communication("narrow", 1e6, sensitive=True, share=share), Communication("wide", 2e8, share=share))
    network = Dragonfly(nodes_per_router=2, routers_per_group=2, groups=3)
    options = replace(world.options, communication=sends, traffic_s=7.0, router_stalls=[3.0, 1.0, 2.0, 0.0, 5.0, 4.0])
    return replace(world, jobs=of_kinds(world.jobs), cluster=replace(world.cluster, network=network), options=options)


def molded(world: World) -> World:
    """Return a world of plain nodes whose jobs choose among configurations: half of them, the others run as they ask
    for.
    """
    grid = [(n, c, p) for n in range(1, world.cluster.nodes + 1) for c in (1, 2) for p in (MIN_CAP_W, MAX_W)]
    n, c, p = (np.array(column) for column in zip(*grid, strict=True))
    power_w = n * np.minimum(p, 120.0 + 70.0 * c)
    table = Configurations("molded", n, c, p.astype(float), 30.0 / (np.sqrt(n) * c * np.cbrt(p / MAX_W)), power_w)
    which = np.arange(len(world.jobs)) % 2
    plain = Cluster(
        tuple(replace(k, levels=(), sleep=None) for k in world.cluster.classes), outages=world.cluster.outages
    )
    options = replace(world.options, configurations=[Moldable(table)])
    return replace(
        world, jobs=world.jobs.with_columns(kind=which, kinds=("molded", "rigid")), cluster=plain, options=options
    )


def suited(world: World, mechanism: Mechanism) -> World:
    """Return a world in which a mechanism finds what it asks for: kinds of job, a bid and a signal, a network,
    configurations.
    """
    if mechanism.network:
        world = networked(world, 0.25 if mechanism.links else 0.0)
    if mechanism.shapes or mechanism.recaps:
        world = molded(world)
    if not (mechanism.kinds or mechanism.target or mechanism.slot == "bid"):
        return world
    table = of_kinds(world.jobs)
    seconds = np.arange(0.0, 4000.0, 4.0)
    most_w = sum(c.count * c.max_w for c in world.cluster.classes)
    bid = Bid(0.7 * most_w, 0.35 * most_w)
    signal = Signal(0.0, 4.0, np.sin(seconds / 23.0) * np.cos(seconds / 7.0))
    kinds = [replace(kind, nodes=min(kind.nodes, world.cluster.nodes)) for kind in KINDS]
    options = replace(world.options, tick_s=1.0, kinds=kinds, signal=signal, bids=[(0.0, bid)])
    if mechanism.slot == "bid":
        options = replace(options, bidding=Bidding(0.0, every_s=30.0, lead_s=5.0, until_s=3000.0))
    return replace(world, jobs=table, options=options)
