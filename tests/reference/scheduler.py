"""A slow scheduler in plain Python that shares nothing with the engine: sets of nodes, lists, no index, no clocks.

It is written from the definitions. Within an instant: ends and kills, node changes, nodes that fall asleep, envelope,
arrivals (and jobs that waited for another one), one pass. What a select policy starts is in ``selects``: one file a rule.

Readings where the documentation says no more:

* Jobs that end at one instant leave in the order of their node classes, then of their numbers; those that are killed follow.
* With ``ties = "event"`` changes of nodes and of the limit make no pass of their own where a job is submitted at the same
  instant: they share the pass of the first one.
* A learner sees jobs when they are submitted, also those that are held back, and those that end or are killed, not those
  that fail.
* A job that lost its nodes or was stopped keeps its place in time: it enters the line with the sequence number it had.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

ENDED, KILLED, FAILED = "finished", "killed", "failed"
END, NODE, ENVELOPE, ARRIVAL, AGAIN = "end", "node", "envelope", "arrival", "again"

LIMIT_SLACK = 1e-9
"""A power limit is kept to within a billionth of it."""


@dataclass(eq=False)  # two jobs that look alike are still two
class Job:
    """One job; times in seconds, power per node in watts. ``estimate`` is in seconds of work."""

    submit: float
    work: float
    nodes: int
    request: float = math.inf
    estimate: float = 0.0
    pool: int = 0
    draw: float = 0.0
    priority: float = 0.0
    after: int = -1
    think: float = 0.0
    user: int = -1
    # what happens to it
    number: int = -1
    status: str = "future"
    seq: int = -1
    key: float = 0.0
    eligible: float = math.nan
    started: float = math.nan
    ended: float = math.nan
    energy: float = 0.0
    left: float = 0.0
    ran: float = 0.0
    since: float = 0.0
    expected: float = 0.0
    in_pass: int = -1
    restarts: int = 0
    preemptions: int = 0
    held: tuple[int, ...] = ()
    places: list[tuple[float, float, tuple[int, ...]]] = field(default_factory=list)

    def estimate_left(self) -> float:
        """Estimated seconds of work still to do when it starts now."""
        return max(0.0, self.estimate - (self.work - self.left))


Place = Callable[[list[int], int], list[int]]
"""Free nodes in order, how many are wanted → which."""


@dataclass(frozen=True)
class Setup:
    """The machine and the rules: classes are (nodes, idle watts); outages (from, until, first, count, drain)."""

    classes: Sequence[tuple[int, float]]
    select: str = "easy"
    params: Mapping[str, float] = field(default_factory=dict)
    order: Callable[[Job, float], float] | None = None
    dynamic_order: bool = False
    place: Place | None = None
    learn: str = "request"
    limit: Sequence[tuple[float, float]] = ()
    outages: Sequence[tuple[float, float, int, int, bool]] = ()
    kill: bool = False
    requeue: bool = True
    keep_progress: bool = False
    exceed: bool = False
    ties: str = "instant"


class Scheduler:
    """Runs the jobs to the end; afterwards they carry their starts, ends, energies and places."""

    def __init__(self, jobs: Sequence[Job], setup: Setup) -> None:
        from reference.selects import SELECTS

        self.jobs, self.setup = list(jobs), setup
        self.rules = SELECTS
        self.now = self.jobs[0].submit if jobs else 0.0
        self.free: list[set[int]] = []
        self.pool_of: dict[int, int] = {}
        first = 0
        for p, (count, _) in enumerate(setup.classes):
            self.free.append(set(range(first, first + count)))
            self.pool_of.update(dict.fromkeys(range(first, first + count), p))
            first += count
        self.outages_of = dict.fromkeys(self.pool_of, 0)
        self.down: set[int] = set()
        self.limit_w = math.inf
        self.queue: list[Job] = []
        self.running: list[Job] = []
        self.children: dict[int, list[Job]] = {}
        self.idle_energy = 0.0
        self.stamp = self.passes = 0
        self.again = math.inf
        self.memory: dict[str, object] = {}
        self.seen: dict[int, list[float]] = {}
        self.due: list[tuple[float, int, Job]] = []
        leave = [(o[0], 0, i, o) for i, o in enumerate(setup.outages)]
        self.changes = sorted(leave + [(o[1], 1, i, o) for i, o in enumerate(setup.outages)], key=lambda c: c[:3])
        self.steps = sorted(setup.limit)
        while self.steps and self.steps[0][0] <= self.now:
            self.limit_w = self.steps.pop(0)[1]
        for number, job in enumerate(self.jobs):
            job.number = number
            if job.after >= 0:
                self.children.setdefault(job.after, []).append(job)
        self.reject()
        self.future = [j for j in self.jobs if j.status != "rejected"]

    def reject(self) -> None:
        """Turn away who can never run, and who waits for one of those."""
        idle_w = sum(count * w for count, w in self.setup.classes)
        most_w = max([self.limit_w, *(w for _, w in self.steps)]) if not self.setup.exceed else math.inf
        for job in self.jobs:
            wide = job.nodes > self.setup.classes[job.pool][0]
            thirsty = idle_w + self.increase(job) > most_w * (1 + LIMIT_SLACK)
            if wide or thirsty or (job.after >= 0 and self.jobs[job.after].status == "rejected"):
                job.status = "rejected"

    # -- time

    def run(self) -> None:
        """Simulate until every job has left, or nothing can happen any more."""
        while True:
            times = [self.end_of(j) for j in self.running] + [due[0] for due in self.due[:1]]
            times += [j.submit for j in self.future[:1]] + [c[0] for c in self.changes[:1] + self.steps[:1]]
            times += [self.again] if self.again < math.inf else []
            if not times or not (self.future or self.queue or self.running or self.due):
                return
            self.to(max(self.now, min(times)))
            self.instant()

    def to(self, t: float) -> None:
        """Let time pass."""
        for p, (_, idle_w) in enumerate(self.setup.classes):
            self.idle_energy += len(self.free[p]) * idle_w * (t - self.now)
        self.now = t

    def end_of(self, job: Job) -> float:
        """When a running job will leave: its work is done, or its request is over."""
        done = job.since + job.left
        if self.setup.kill and job.request < math.inf:
            return min(done, job.since + max(0.0, job.request - job.ran))
        return done

    def instant(self) -> None:
        """Let everything of this instant happen, with a pass after it (or after each single event)."""
        happened: set[str] = set()
        for what in self.events():
            happened |= what
            if self.setup.ties == "event":
                break
        if happened:
            self.do_pass(happened)

    def events(self) -> Iterator[set[str]]:
        """Let the events of this instant happen, one by one; a job that is submitted but held back is none."""
        due = [j for j in self.running if self.end_of(j) <= self.now]
        if due:
            late = {j.number: j.since + j.left > self.now for j in due}
            for job in sorted(due, key=lambda j: (late[j.number], 0 if late[j.number] else j.pool, j.number)):
                self.learn(job)
                self.leave(job, KILLED if late[job.number] else ENDED)
                yield {END}
        happened = set()
        while self.changes and self.changes[0][0] <= self.now:
            self.change(*self.changes.pop(0)[1:])
            happened.add(NODE)
        while self.steps and self.steps[0][0] <= self.now:
            self.limit_w = self.steps.pop(0)[1]
            happened.add(ENVELOPE)
        if self.again <= self.now:
            self.again = math.inf
            happened.add(AGAIN)
        while self.future and self.future[0].submit <= self.now:
            if self.arrive(self.future.pop(0)):
                happened.add(ARRIVAL)
            if happened:
                yield happened
                happened = set()
        while self.due and self.due[0][0] <= self.now:
            self.enter(heapq.heappop(self.due)[2])
            yield happened | {ARRIVAL}
            happened = set()
        if happened:
            yield happened

    # -- jobs come and go

    def arrive(self, job: Job) -> bool:
        """Take a submitted job in, or hold it back until the job it depends on has left; tell which."""
        last = self.seen.get(job.user, [])
        if self.setup.learn == "recent" and job.user >= 0 and len(last) > 1:
            asked = job.request if job.request < math.inf else job.work
            job.estimate = min((last[-2] + last[-1]) / 2, asked)
        if job.after >= 0:
            first = self.jobs[job.after]
            if math.isnan(first.ended):
                job.status = "held"
                return False
            if first.ended + job.think > self.now:
                self.hold(job, first.ended + job.think)
                return False
        self.enter(job)
        return True

    def hold(self, job: Job, until: float) -> None:
        """Let a job enter the queue later."""
        job.status = "held"
        heapq.heappush(self.due, (until, job.number, job))

    def enter(self, job: Job) -> None:
        """Put a job in the queue."""
        if job.seq < 0:
            job.eligible, job.left = self.now, job.work
            job.seq, self.stamp = self.stamp, self.stamp + 1
        job.status = "waiting"
        job.key = self.setup.order(job, self.now) if self.setup.order else 0.0
        self.queue.append(job)

    def learn(self, job: Job) -> None:
        """Remember how long a job ran that leaves."""
        self.seen.setdefault(job.user, []).append(job.ran + (self.now - job.since))

    def leave(self, job: Job, status: str) -> None:
        """End a job for good."""
        self.stop(job)
        job.status, job.ended = status, self.now
        for other in self.children.get(job.number, ()):
            if other.status == "held":
                self.hold(other, self.now + other.think)

    def stop(self, job: Job) -> None:
        """Take a job off its nodes."""
        self.running.remove(job)
        took = self.now - job.since
        job.energy += job.nodes * job.draw * took
        job.left = max(0.0, job.since + job.left - self.now)
        job.ran += took
        job.places.append((job.since, self.now, job.held))
        for node in job.held:
            (self.down if self.outages_of[node] else self.free[job.pool]).add(node)
        job.held = ()

    def preempt(self, job: Job) -> None:
        """Stop a job, which keeps its progress and waits again."""
        self.stop(job)
        job.preemptions += 1
        self.enter(job)

    def change(self, up: int, _number: int, outage: tuple[float, float, int, int, bool]) -> None:
        """Nodes leave (their jobs lose them unless they drain) or return."""
        nodes = range(outage[2], outage[2] + outage[3])
        for node in nodes:
            self.outages_of[node] += -1 if up else 1
            pool = self.free[self.pool_of[node]]
            if up and not self.outages_of[node] and node in self.down:
                self.down.remove(node)
                pool.add(node)
            if not up and node in pool:
                pool.remove(node)
                self.down.add(node)
        if not up and not outage[4]:
            for job in [j for j in self.running if set(j.held) & set(nodes)]:
                self.fail(job)

    def fail(self, job: Job) -> None:
        """A job lost a node."""
        if not self.setup.requeue:
            self.leave(job, FAILED)
            return
        self.stop(job)
        job.restarts += 1
        if not self.setup.keep_progress:
            job.left, job.ran = job.work, 0.0
        self.enter(job)

    # -- the pass

    def expect_anew(self) -> None:
        """Give jobs that outlived their estimate a new one: twice what they ran, a minute more at least, the request at most."""
        for job in self.running:
            if job.expected < self.now:
                ran = job.ran + self.now - job.since
                job.expected = self.now + max(ran, 60.0)
                asked = self.now + job.request - ran
                if self.now < asked < job.expected:
                    job.expected = asked

    def power(self) -> float:
        """Watts drawn now."""
        idle = sum(len(self.free[p]) * w for p, (_, w) in enumerate(self.setup.classes))
        return idle + sum(j.nodes * j.draw for j in self.running)

    def headroom(self) -> float:
        """Watts that starts may add."""
        return math.inf if self.limit_w == math.inf else self.limit_w * (1 + LIMIT_SLACK) - self.power()

    def increase(self, job: Job) -> float:
        """Watts that a start adds."""
        return job.nodes * (job.draw - self.setup.classes[job.pool][1])

    def fits(self, job: Job) -> bool:
        """Whether a job may start now."""
        return job.nodes <= len(self.free[job.pool]) and self.increase(job) <= self.headroom()

    def do_pass(self, happened: set[str]) -> None:
        """Sort the queue and start what the rule allows; nothing running, nothing started: one may exceed the limit."""
        if not self.queue:
            return
        if self.setup.dynamic_order and self.setup.order:
            for job in self.queue:
                job.key = self.setup.order(job, self.now)
        self.queue.sort(key=lambda j: (j.key, j.seq))
        self.expect_anew()
        self.passes += 1
        self.rules[self.setup.select](self, happened)
        if self.setup.exceed and not self.running:
            job = next((j for j in self.queue if j.nodes <= len(self.free[j.pool])), None)
            if job is not None and not self.fits(job):
                self.start(job)

    def lines(self) -> list[list[Job]]:
        """Return the waiting jobs of each node class, in order."""
        if len(self.setup.classes) == 1:
            return [list(self.queue)]
        return [[j for j in self.queue if j.pool == p] for p in range(len(self.setup.classes))]

    def start(self, job: Job) -> None:
        """Put a job on free nodes: the lowest, or those that the place policy picks."""
        self.queue.remove(job)
        free = sorted(self.free[job.pool])
        job.held = tuple(self.setup.place(free, job.nodes) if self.setup.place else free[: job.nodes])
        self.free[job.pool] -= set(job.held)
        job.since, job.in_pass = self.now, self.passes
        job.expected = self.now + job.estimate_left()
        if math.isnan(job.started):
            job.started = self.now
        job.status = "running"
        self.running.append(job)
