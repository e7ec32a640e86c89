"""A machine in memory for the controller: nodes that draw what their jobs draw under their caps, jobs that come, run
slower under caps and end, agents that answer at once. Time is a test's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from wattline.live.bus.inbox import Inbox
from wattline.live.bus.inprocess import Hub
from wattline.live.bus.messages import Outbox, decode
from wattline.live.bus.names import Topics
from wattline.live.clock import Clock
from wattline.live.controller.controller import BidStep, Controller, Periods
from wattline.live.controller.ledger import Ledger
from wattline.live.controller.seen.meters import Meters
from wattline.live.controller.seen.mirror import Mirror
from wattline.live.controller.seen.nodes import NodeNames
from wattline.live.controller.wanted.caps import CapSender
from wattline.live.controller.wanted.guard import Guard, GuardRules
from wattline.live.controller.wanted.reconcile import Patience, Reconciler
from wattline.live.machine.base import Abilities, Form, JobSeen, ManagerError, NodeSeen, Snapshot
from wattline.live.signals.base import Sample
from wattline.live.signals.open import SignalsNow
from wattline.live.signals.stale import Now, Rules, Trusted
from wattline.model.cluster import Cluster
from wattline.model.configurations import Configurations
from wattline.model.jobs import JobTable
from wattline.model.kinds import Kind
from wattline.wiring.bound import Bound
from wattline.wiring.newcomers import Desk
from wattline.wiring.options import Options
from wattline.wiring.policies import Policies

EPOCH_S = 1024.0


class Hand:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.at_s = 0.0
        self.clock = Clock(wall=lambda: EPOCH_S + self.at_s, monotonic=lambda: self.at_s, rest=self.move)

    def move(self, seconds: float) -> None:
        """Let time pass."""
        self.at_s += seconds


@dataclass
class Job:
    """A job of the machine."""

    seen: JobSeen
    work_s: float
    draw_w: float
    floor_w: float
    stretch: float
    left_s: float = field(init=False)
    started_s: float = math.nan
    ended_s: float = math.nan
    starts: int = 0
    form: tuple[int, Form] | None = None
    """Nodes and configuration that it was released in."""
    due_s: float = math.nan
    """When its processes are there, while it is starting."""

    def __post_init__(self) -> None:
        self.left_s = self.work_s


@dataclass
class Machine:
    """Jobs and nodes in memory, a ``ResourceManager``."""

    hand: Hand
    names: Sequence[str]
    idle_w: float
    late_s: float = 0.0
    """How long a job takes to be there after it was released."""
    abilities: Abilities = field(default_factory=Abilities)
    jobs: dict[str, Job] = field(default_factory=dict)
    down: set[str] = field(default_factory=set)
    cap_w: dict[str, float] = field(default_factory=dict)
    answers: bool = True
    refuses: set[str] = field(default_factory=set)
    """Jobs whose release is refused."""
    log: list[tuple[float, str, str]] = field(default_factory=list)
    starts_alone: bool = False
    coming: list[Job] = field(default_factory=list)
    energy_j: float = 0.0
    applications: dict[str, Configurations] = field(default_factory=dict)
    """What moldable jobs are in their configurations, by the name of their kind."""

    def now_s(self) -> float:
        """Return the machine's time."""
        return self.hand.clock.now_s()

    # -- nature

    def speed(self, job: Job) -> float:
        """Return how fast a job goes under the caps of its nodes: run time grows linearly as power falls."""
        cap_w = min((self.cap_w.get(name, math.inf) for name in job.seen.on), default=math.inf)
        if cap_w >= job.draw_w or job.draw_w == job.floor_w:
            return 1.0
        depth = (job.draw_w - max(cap_w, job.floor_w)) / (job.draw_w - job.floor_w)
        return 1.0 / (1.0 + depth * (job.stretch - 1.0))

    def node_w(self) -> dict[str, float]:
        """Return what each node draws."""
        watts = {name: 0.0 if name in self.down else self.idle_w for name in self.names}
        for job in self.jobs.values():
            if job.seen.phase == "running":
                for name in job.seen.on:
                    watts[name] = max(min(job.draw_w, self.cap_w.get(name, math.inf)), job.floor_w)
        return watts

    def pass_time(self, seconds: float) -> None:
        """Let jobs come, work and end."""
        end_s = self.now_s() + seconds
        while True:
            ends = [job.left_s / self.speed(job) for job in self.jobs.values() if job.seen.phase == "running"]
            begins = [job.due_s - self.now_s() for job in self.jobs.values() if job.seen.phase == "starting"]
            comes = [self.coming[0].seen.submit_s - self.now_s()] if self.coming else []
            step_s = max(0.0, min([end_s - self.now_s(), *ends, *begins, *comes]))
            self.energy_j += step_s * sum(self.node_w().values())
            for job in self.jobs.values():
                if job.seen.phase == "running":
                    job.left_s -= step_s * self.speed(job)
            self.hand.move(step_s)
            for job in self.jobs.values():
                if job.seen.phase == "running" and job.left_s <= 1e-9:
                    self._become(job, "ended", end_s=self.now_s(), exit=0)
                    job.ended_s = self.now_s()
                elif job.seen.phase == "starting" and job.due_s <= self.now_s() + 1e-9:
                    self._begin(job)
            while self.coming and self.coming[0].seen.submit_s <= self.now_s() + 1e-9:
                job = self.coming.pop(0)
                self.jobs[job.seen.id] = job
            if end_s - self.now_s() <= 1e-9:
                return

    def _become(self, job: Job, phase: str, **more: object) -> None:
        job.seen = replace(job.seen, phase=phase, **more)  # type: ignore[arg-type]

    def _begin(self, job: Job) -> None:
        job.starts += 1
        if math.isnan(job.started_s):
            job.started_s = self.now_s()
        self._become(job, "running", start_s=self.now_s())

    # -- the resource manager

    def snapshot(self) -> Snapshot:
        """Show everything."""
        self._answer()
        nodes = [NodeSeen(name, name not in self.down) for name in self.names]
        return Snapshot(self.now_s(), [job.seen for job in self.jobs.values()], nodes)

    def _answer(self) -> None:
        if not self.answers:
            raise ManagerError("nobody there")

    def release(self, job: str, on: Sequence[str], form: Form | None = None) -> str | None:
        """Start a job, in the configuration that was chosen for it."""
        self._answer()
        one = self.jobs[job]
        if job in self.refuses:
            return "not now"
        if one.seen.phase != "waiting":
            return None
        held = {name for other in self.jobs.values() if other.seen.phase != "ended" for name in other.seen.on}
        assert not held & set(on), f"{job}: {held & set(on)} are held by others"
        assert not self.down & set(on)
        if form is None:
            assert len(on) == one.seen.nodes
        else:
            self._mold(one, len(on), form)
        self.log.append((self.now_s(), "release", job))
        self._become(one, "starting", on=tuple(on))
        one.due_s = self.now_s() + self.late_s
        if self.late_s == 0.0:
            self._begin(one)
        return None

    def _mold(self, job: Job, nodes: int, form: Form) -> None:
        """Let a job be as its application is in a configuration."""
        c = self.applications[job.seen.kind]
        (row,) = np.flatnonzero((c.nodes == nodes) & (c.cores == form.cores) & (c.cap_w == form.cap_w))
        job.form, job.left_s = (nodes, form), float(c.time_s[row])
        job.draw_w = job.floor_w = float(c.power_w[row]) / nodes

    def hold(self, job: str) -> str | None:
        """Let a job wait again."""
        self._answer()
        if self.jobs[job].seen.phase == "starting":
            self._become(self.jobs[job], "waiting", on=())
        self.log.append((self.now_s(), "hold", job))
        return None

    def stop(self, job: str) -> str | None:
        """Stop a job."""
        self._answer()
        if self.jobs[job].seen.phase == "running":
            self._become(self.jobs[job], "paused")
        self.log.append((self.now_s(), "stop", job))
        return None

    def cont(self, job: str) -> str | None:
        """Let a job go on."""
        self._answer()
        if self.jobs[job].seen.phase == "paused":
            self._become(self.jobs[job], "running")
        self.log.append((self.now_s(), "cont", job))
        return None

    def requeue(self, job: str) -> str | None:
        """Take a job's nodes."""
        self._answer()
        if self.jobs[job].seen.phase in ("running", "paused"):
            self._become(self.jobs[job], "waiting", on=(), start_s=math.nan)
            self.jobs[job].left_s = self.jobs[job].work_s
        self.log.append((self.now_s(), "requeue", job))
        return None

    def leave(self, job: str, why: str) -> str | None:
        """Start a job that nobody leads on the first nodes that are free, where the machine starts jobs by itself."""
        self._answer()
        if not self.starts_alone:
            return "it stays where it is"
        self.log.append((self.now_s(), "leave", job))
        one = self.jobs[job]
        held = {name for other in self.jobs.values() if other.seen.phase != "ended" for name in other.seen.on}
        free = [name for name in self.names if name not in held | self.down][: one.seen.nodes]
        if len(free) == one.seen.nodes:
            self._become(one, "starting", on=tuple(free), ours=False)
            self._begin(one)
        else:
            self._become(one, "ineligible", ours=False)
        return None

    def close(self) -> None:
        """Nothing is open."""


@dataclass
class World:
    """A machine and its controller."""

    cluster: Cluster
    policies: Policies
    options: Options = field(default_factory=Options)
    kinds: Sequence[Kind] = ()
    signal: Sequence[float] = ()
    """A value every two seconds."""
    bids: Sequence[BidStep] = ()
    rules: GuardRules = field(default_factory=GuardRules)
    patience: Patience = field(default_factory=Patience)
    periods: Periods = field(default_factory=Periods)
    rows: int = 32
    late_s: float = 0.0
    act: bool = True
    limit_w: float = math.inf

    def __post_init__(self) -> None:
        self.hand = Hand()
        clock = self.hand.clock
        names = [f"n{i:03d}" for i in range(self.cluster.nodes)]
        node = self.cluster.classes[0]
        self.machine = Machine(self.hand, names, node.idle_w, self.late_s)
        self.machine.applications = {m.truth.application: m.truth for m in self.options.configurations}
        hub, topics = Hub("here", clock), Topics("here")
        self.hub = hub
        self.agents = {name: (hub.attach("agent", name), Outbox(name, clock)) for name in names}
        for name, (bus, _) in self.agents.items():
            bus.subscribe(topics.cap(name))
        self.topics = topics
        self.leases: dict[str, float] = {}
        self.terms: dict[str, int] = dict.fromkeys(names, 0)
        self.samples: list[tuple[float, float, float]] = []
        self.limits_w: set[float] = set()
        self.reigns = 0
        self.controller = self.start()

    def start(self) -> Controller:
        """Start a controller (again)."""
        clock, names = self.hand.clock, self.machine.names
        self.reigns += 1
        how = replace(
            self.options,
            kinds=tuple(self.kinds),
            spare_rows=self.rows,
            outside=True,
            late_start_s=(0.0, self.late_s),
            tick_s=1.0,
            start_s=0.0,
            timeline=False,
            placements=False,
            signal=self.options.signal,
            bids=(),
        )
        nobody = JobTable.build(submit_s=np.zeros(0), work_s=np.zeros(0), nodes=np.zeros(0, dtype=np.int64))
        bound = Bound(nobody, self.cluster, self.policies, how)
        ledger, nodes = Ledger(bound), NodeNames(tuple(names))
        mirror = Mirror(
            ledger, nodes, Desk(self.cluster, self.kinds, applications=list(self.machine.applications)), clock.now_s()
        )
        bus = self.hub.attach("controller", f"controller{self.reigns}")
        for topic in self.topics.reads("controller", "controller"):
            bus.subscribe(topic)
        most_w = np.full(len(names), self.cluster.classes[0].max_w)
        return Controller(
            clock=clock,
            ledger=ledger,
            mirror=mirror,
            reconciler=Reconciler(ledger, mirror, self.machine, self.patience, act=self.act),
            manager=self.machine,
            bus=bus,
            inbox=Inbox(self.topics, clock, nodes=names),
            meters=Meters(names, most_w, idle_w=np.full(len(names), self.cluster.classes[0].idle_w)),
            caps=CapSender(bus, Outbox(f"controller{self.reigns}", clock), self.topics, names, act=self.act),
            guard=Guard(self.rules),
            signals=_Asked(self),
            bids=self.bids,
            periods=self.periods,
        )

    def submit(
        self, name: str, nodes: int, work_s: float, at_s: float, *, request_s: float = math.inf, kind: str = ""
    ) -> None:
        """Let a job come at a time."""
        of = next((k for k in self.kinds if k.name == kind), None)
        node = self.cluster.classes[0]
        seen = JobSeen(name, "waiting", nodes, EPOCH_S + at_s, request_s, kind=kind, eligible_s=EPOCH_S + at_s)
        least_w = node.max_w if math.isnan(node.min_cap_w) else node.min_cap_w
        power = (of.draw_w, of.floor_w, of.stretch) if of else (node.max_w, least_w, node.max_w / least_w)
        self.machine.coming.append(Job(seen, work_s, *power))
        self.machine.coming.sort(key=lambda job: job.seen.submit_s)

    def agents_turn(self) -> None:
        """Let agents take their caps and tell their power."""
        now_s, watts = self.hand.clock.now_s(), self.machine.node_w()
        for name, (bus, outbox) in self.agents.items():
            for arrived in bus.poll(0.0):
                message = decode(arrived.payload)
                if message.kind == "cap" and message.body["term"] >= self.terms[name]:
                    told = message.body["cap_w"]
                    self.machine.cap_w[name] = math.inf if told is None else told
                    self.terms[name] = message.body["term"]
                    self.leases[name] = now_s + message.body["lease"]
            cap_w = self.machine.cap_w.get(name, math.inf)
            body = {"w": watts[name], "age": 0.0, "cpu_w": None, "mem_w": None, "limit_w": None, "mode": "led"}
            body |= {"cap_w": None if math.isinf(cap_w) else cap_w, "lease": 5.0, "term": self.terms[name]}
            body |= {"faults": [], "safe_w": None, "min_w": None, "max_w": None}
            bus.publish(self.topics.status(name), outbox.encode("status", body))

    def run(self, seconds: float, step_s: float = 0.25) -> None:
        """Let the world and its controller go on."""
        self.machine.pass_time(0.0)
        for _ in range(round(seconds / step_s)):
            tick = self.controller.turn(self.hand.clock.now_s())
            self.agents_turn()
            self.samples.append((tick.now_s, sum(self.machine.node_w().values()), tick.target_w))
            self.limits_w.add(tick.limit_w)
            self.machine.pass_time(step_s)


class _Asked:
    """What is asked of the site: the signal of the world and its limit."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.y = Trusted(_Steps(world.signal), Rules()) if world.signal else None

    def now(self, now_s: float) -> SignalsNow:
        y = None if self.y is None else self.y.now(now_s)
        limit_w = self.world.limit_w
        return SignalsNow(y, limit_w, Now(limit_w, 0.0, "fresh"), limit_w)


class _Steps:
    """A signal with a value every two seconds."""

    def __init__(self, values: Sequence[float]) -> None:
        self.values = values

    def last(self, now_s: float) -> Sample | None:
        at = int((now_s - EPOCH_S) // 2)
        return Sample(self.values[at], EPOCH_S + 2.0 * at) if 0 <= at < len(self.values) else None

    def problems(self) -> dict[str, int]:
        return {}

    def close(self) -> None:
        pass
