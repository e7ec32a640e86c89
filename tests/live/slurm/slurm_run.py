"""A controller that leads a real Slurm: EASY under a power limit, agents in memory, every job accounted for."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from engine.worlds import cluster as machine_of
from engine.worlds import policies
from wattline.demo.slurm_cluster import SlurmCluster
from wattline.live.bus.inbox import Inbox
from wattline.live.bus.inprocess import Hub
from wattline.live.bus.messages import Outbox, decode
from wattline.live.bus.names import Topics
from wattline.live.clock import Clock
from wattline.live.controller.controller import Controller
from wattline.live.controller.ledger import Ledger
from wattline.live.controller.seen.meters import Meters
from wattline.live.controller.seen.mirror import Mirror
from wattline.live.controller.seen.nodes import NodeNames
from wattline.live.controller.wanted.caps import CapSender
from wattline.live.controller.wanted.reconcile import Patience, Reconciler
from wattline.live.machine.slurm.commands import Commands
from wattline.live.machine.slurm.manager import SlurmManager
from wattline.live.machine.slurm.rules import Rules
from wattline.live.machine.slurm.text import hosts
from wattline.live.signals.open import SignalsNow
from wattline.live.signals.stale import Now
from wattline.model.cluster import Cluster
from wattline.model.configurations import Moldable
from wattline.model.jobs import JobTable
from wattline.wiring.bound import Bound
from wattline.wiring.newcomers import Desk
from wattline.wiring.options import Options

IDLE_W, MAX_W = 100.0, 400.0


@dataclass
class Told:
    """A command that the controller gave."""

    at_s: float
    what: str
    job: str
    note: str


@dataclass
class SlurmRun:
    """A controller on a Slurm.

    Parameters
    ----------
    limit
        Power limit as a part of what all nodes draw at most.
    """

    slurm: SlurmCluster
    limit: float = 0.7
    seed: int = 1
    select: str = "easy"
    configurations: tuple[Moldable, ...] = ()
    """Applications whose jobs choose their configuration; nodes then draw what the cap of their job's allows."""
    idle_w: float = IDLE_W
    floor_w: float = math.nan
    """Lowest cap of a node; caps then keep the machine under its limit."""
    timeout_s: float = 5.0
    cap: str = "under-limit"
    """Policy of the caps, where nodes have a lowest one."""
    lease_s: float = 10.0
    """How long a cap is valid."""
    silent_s: float = 5.0
    """A node that was not heard for so long is silent."""
    machine: Cluster | None = None
    """Node classes; none given: all nodes are alike."""
    told: list[Told] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    jobs: dict[str, int] = field(default_factory=dict)
    """Jobs that were submitted, and how many nodes they ask for."""
    again: set[str] = field(default_factory=set)
    """Jobs that were put back into the queue: they begin twice."""
    theirs: set[str] = field(default_factory=set)
    """Jobs that were started by others, where they liked."""
    stops: int = 0
    most_w: float = 0.0
    turns_s: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.marks = self.slurm.base / "marks"
        self.marks.mkdir(exist_ok=True)
        self.marks.chmod(0o777)  # jobs of other users note something, too
        self.random = random.Random(self.seed)
        self.reigns = 0
        self.controller = self.start()

    # ------------------------------------------------------------------ parts

    def start(self) -> Controller:
        """Start a controller; one that is started again knows nothing but what Slurm tells."""
        names = self.slurm.names
        clock, topics = self.made_clock(), Topics("here")
        self.reigns += 1
        nodes = self.machine or machine_of(len(names), idle_w=self.idle_w, max_w=MAX_W, min_cap_w=self.floor_w)
        cap = "none" if math.isnan(self.floor_w) else self.cap
        how = replace(
            Options(),
            spare_rows=64,
            outside=True,
            late_start_s=(0.0, 1.0),
            tick_s=1.0,
            start_s=0.0,
            timeline=False,
            placements=False,
            configurations=self.configurations,
            limit_w=[(0.0, self.limit_w)],
        )
        nobody = JobTable.build(submit_s=np.zeros(0), work_s=np.zeros(0), nodes=np.zeros(0, dtype=np.int64))
        ledger = Ledger(Bound(nobody, nodes, policies(select=self.select, cap=cap), how))
        manager = SlurmManager(Commands(self.slurm.conf, timeout_s=self.timeout_s), Rules(stop_again_s=0.0), clock)
        mirror = Mirror(
            ledger,
            NodeNames(names),
            Desk(nodes, applications=[m.truth.application for m in self.configurations]),
            clock.now_s(),
        )
        hub = self.staff(clock, topics)
        who = f"controller{self.reigns}"
        bus = hub.attach("controller", who)
        for topic in topics.reads("controller", "controller"):
            bus.subscribe(topic)
        reconciler = Reconciler(ledger, mirror, manager, Patience(start_s=20.0))
        reconciler.tell = lambda what, job, note: self.told.append(Told(time.time(), what, job, note))
        made = Controller(
            clock=clock,
            ledger=ledger,
            mirror=mirror,
            reconciler=reconciler,
            manager=manager,
            bus=bus,
            inbox=Inbox(topics, clock, nodes=names),
            meters=Meters(
                names,
                np.concatenate([np.full(c.count, c.max_w) for c in nodes.classes]),
                stale_s=self.silent_s,
                idle_w=np.concatenate([np.full(c.count, c.idle_w) for c in nodes.classes]),
            ),
            caps=CapSender(bus, Outbox(who, clock), topics, names, self.lease_s),
            signals=self,
        )
        made.on_say = self.said.append
        return made

    def made_clock(self) -> Clock:
        """Return the clock of a controller that starts."""
        return Clock()

    def staff(self, clock: Clock, topics: Topics) -> Hub:
        """Return the bus of a controller that starts, with an agent for each node."""
        names, hub = self.slurm.names, Hub("here", clock)
        self.agents = {name: (hub.attach("agent", name), Outbox(name, clock)) for name in names}
        for name, (bus, _) in self.agents.items():
            bus.subscribe(topics.cap(name))
        self.topics, self.cap_w = topics, dict.fromkeys(names, math.inf)
        return hub

    def now(self, now_s: float) -> SignalsNow:
        """Return what is asked of the site: its limit."""
        return SignalsNow(None, self.limit_w, Now(self.limit_w, 0.0, "fresh"), self.limit_w)

    @property
    def limit_w(self) -> float:
        """The limit of the site."""
        return self.limit * MAX_W * self.slurm.nodes

    def _agents_turn(self) -> None:
        """Let agents tell what their nodes draw: a running job all that a node can."""
        busy = {
            name
            for job in self.controller.mirror.seen.values()
            if job.phase in ("running", "starting")
            for name in job.on
        }
        watts = {name: min(MAX_W, self.cap_w[name]) if name in busy else self.idle_w for name in self.agents}
        self.most_w = max(self.most_w, sum(watts.values()))
        for name, (bus, outbox) in self.agents.items():
            for arrived in bus.poll(0.0):
                told = decode(arrived.payload).body["cap_w"]
                self.cap_w[name] = math.inf if told is None else told
            w = watts[name]
            body = {"w": w, "age": 0.0, "cpu_w": None, "mem_w": None, "limit_w": None, "mode": "led", "cap_w": None}
            body |= {"lease": 5.0, "term": 1, "faults": [], "safe_w": None, "min_w": None, "max_w": None}
            bus.publish(self.topics.status(name), outbox.encode("status", body))

    # ------------------------------------------------------------------ use

    def submit(self, seconds: float, nodes: int = 1, *options: str, tasks: int = 0) -> list[str]:
        """Submit a job that notes where and when it runs (an array of so many tasks); return the names."""
        name = "${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}_${SLURM_ARRAY_TASK_ID:-0}"
        line = f"$SLURM_JOB_NODELIST $(date +%s.%N) >> {self.marks}/{name}"
        script = f"echo begin {line}; sleep {seconds}; echo end {line}"
        array = [f"--array=1-{tasks}"] if tasks else []
        number = self.slurm.submit(script, "-t", "5", *array, *options, nodes=nodes)
        names = [f"{number}_{k + 1}" for k in range(tasks)] if tasks else [number]
        self.jobs.update(dict.fromkeys(names, nodes))
        return names

    def turn(self) -> None:
        """Let the controller turn once, and agents answer."""
        began = time.monotonic()
        self._agents_turn()
        self.controller.turn(self.controller.clock.now_s())
        self.turns_s.append(time.monotonic() - began)

    def stop_one(self, job: str = "") -> str | None:
        """Stop a running job behind the controller's back, which lets it go on; return who it was."""
        c = self.controller
        run = [seen.id for seen in c.mirror.seen.values() if seen.phase == "running" and seen.stoppable]
        job = job or (self.random.choice(run) if run else "")
        if not job or c.manager.stop(job) is not None:
            return None
        self.stops += 1
        return job

    def phases(self) -> dict[str, int]:
        """Return how many of our jobs are in which phase, by the last look."""
        seen = self.controller.mirror.seen
        found: dict[str, int] = {}
        for job in self.jobs:
            word = seen[job].phase if job in seen else "gone"
            found[word] = found.get(word, 0) + 1
        return found

    def over(self) -> bool:
        """Tell whether all jobs are over."""
        done = {path.name for path in self.marks.iterdir() if "end " in path.read_text()}
        return all((job if "_" in job else f"{job}_0") in done for job in self.jobs)

    def lines(self, job: str, word: str) -> list[tuple[str, float]]:
        """Return nodes and time of each line that a job wrote."""
        path = self.marks / (job if "_" in job else f"{job}_0")
        text = path.read_text() if path.exists() else ""
        found = [line.split() for line in text.splitlines()]
        return [(parts[1], float(parts[2])) for parts in found if parts[0] == word]

    def account(self) -> dict[str, list[object]]:
        """Return what is wrong: jobs lost, begun twice, elsewhere than they were placed, or left stopped."""
        placed = {one.job: sorted(one.note.split(",")) for one in self.told if one.what == "release"}
        begun = {job: self.lines(job, "begin") for job in self.jobs}
        ours = [job for job in self.jobs if job not in self.theirs and begun[job]]
        return {
            "lost": [job for job in self.jobs if not self.lines(job, "end")],
            "doubled": [job for job, lines in begun.items() if len(lines) > 1 + (job in self.again)],
            "elsewhere": [job for job in ours if sorted(hosts(begun[job][-1][0])) != placed.get(job)],
            "left stopped": [job.id for job in self.controller.manager.snapshot().jobs if job.phase == "paused"],
        }

    def delays_s(self) -> list[float]:
        """Return the times from a decision to the first line of the job."""
        first = {}
        for told in self.told:
            if told.what == "release":
                first.setdefault(told.job, told.at_s)
        return sorted(self.lines(job, "begin")[0][1] - at for job, at in first.items() if self.lines(job, "begin"))


@contextmanager
def leading(slurm: SlurmCluster, **how: object) -> Iterator[SlurmRun]:
    """Lead a Slurm; its jobs are ended at the end."""
    run = SlurmRun(slurm, **how)  # type: ignore[arg-type]
    try:
        yield run
    finally:
        slurm.cancel_all()
