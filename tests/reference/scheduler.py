"""A slow scheduler in plain Python that shares nothing with the engine: sets of nodes, lists, no index, no clocks.

It is written from the definitions. Within an instant: ends and kills, node changes, envelope, arrivals (and jobs that
waited for another one), one pass. EASY computes the head's reservation from scratch at every pass by letting the running
jobs leave at their estimated ends.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

ENDED, KILLED, FAILED = "finished", "killed", "failed"


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
    # what happens to it
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
    restarts: int = 0
    held: tuple[int, ...] = ()
    places: list[tuple[float, float, tuple[int, ...]]] = field(default_factory=list)
    reserved: float = math.inf

    def estimate_left(self) -> float:
        """Estimated seconds of work still to do when it starts now."""
        return max(0.0, self.estimate - (self.work - self.left))


Booked = list[tuple[float, float, float, Job]]
"""Watts that were promised: from, until, how many, to whom."""


@dataclass(frozen=True)
class Setup:
    """The machine and the rules: classes are (nodes, idle watts); outages (from, until, first, count, drain)."""

    classes: Sequence[tuple[int, float]]
    select: str = "easy"
    order: Callable[[Job, float], float] | None = None
    dynamic_order: bool = False
    limit: Sequence[tuple[float, float]] = ()
    outages: Sequence[tuple[float, float, int, int, bool]] = ()
    kill: bool = False
    requeue: bool = True
    keep_progress: bool = False
    ties: str = "instant"


class Scheduler:
    """Runs the jobs to the end; afterwards they carry their starts, ends, energies and places."""

    def __init__(self, jobs: Sequence[Job], setup: Setup) -> None:
        self.jobs, self.setup = list(jobs), setup
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
        self.idle_energy = 0.0
        self.stamp = 0
        self.heads: dict[int, tuple[Job, float, float]] = {}
        self.future = [j for j in self.jobs if j.status != "rejected"]
        self.due: list[tuple[float, int, Job]] = []
        leave = [(o[0], 0, i, o) for i, o in enumerate(setup.outages)]
        self.changes = sorted(leave + [(o[1], 1, i, o) for i, o in enumerate(setup.outages)], key=lambda c: c[:3])
        self.steps = sorted(setup.limit)

    # -- time

    def run(self) -> None:
        """Simulate until every job has left, or nothing can happen any more."""
        while True:
            times = [self.end_of(j) for j in self.running] + [due[0] for due in self.due[:1]]
            times += [j.submit for j in self.future[:1]] + [c[0] for c in self.changes[:1] + self.steps[:1]]
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
        happened = False
        for _ in self.events():
            happened = True
            if self.setup.ties == "event":
                break
        if happened:
            self.do_pass()

    def events(self) -> Iterator[None]:
        """Let the events of this instant happen, one by one; a job that is submitted but held back is none."""
        for job in sorted(self.running, key=lambda j: (self.end_of(j), self.jobs.index(j))):
            if self.end_of(job) <= self.now:
                killed = job.since + job.left > self.now
                yield self.leave(job, KILLED if killed else ENDED)
        rare = bool(self.changes and self.changes[0][0] <= self.now) or bool(
            self.steps and self.steps[0][0] <= self.now
        )
        while self.changes and self.changes[0][0] <= self.now:
            self.change(*self.changes.pop(0)[1:])
        while self.steps and self.steps[0][0] <= self.now:
            self.limit_w = self.steps.pop(0)[1]
        if rare:
            yield
        while self.future and self.future[0].submit <= self.now:
            if self.arrive(self.future.pop(0)):
                yield
        while self.due and self.due[0][0] <= self.now:
            yield self.enter(heapq.heappop(self.due)[2])

    # -- jobs come and go

    def arrive(self, job: Job) -> bool:
        """Take a submitted job in, or hold it back until the job it depends on has left; tell which."""
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
        heapq.heappush(self.due, (until, self.jobs.index(job), job))

    def enter(self, job: Job) -> None:
        """Put a job in the queue."""
        if job.seq < 0:
            job.eligible, job.left = self.now, job.work
            job.seq, self.stamp = self.stamp, self.stamp + 1
        job.status = "waiting"
        job.key = self.setup.order(job, self.now) if self.setup.order else 0.0
        self.queue.append(job)

    def leave(self, job: Job, status: str) -> None:
        """End a job for good."""
        self.stop(job)
        job.status, job.ended = status, self.now
        for other in self.jobs:
            if other.after >= 0 and self.jobs[other.after] is job and other.status == "held":
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

    def increase(self, job: Job) -> float:
        """Watts that a start adds."""
        return job.nodes * (job.draw - self.setup.classes[job.pool][1])

    def fits(self, job: Job) -> bool:
        """Whether a job may start now."""
        return job.nodes <= len(self.free[job.pool]) and self.power() + self.increase(job) <= self.limit_w

    def do_pass(self) -> None:
        """Sort the queue and start what the rule allows."""
        if self.setup.dynamic_order and self.setup.order:
            for job in self.queue:
                job.key = self.setup.order(job, self.now)
        self.queue.sort(key=lambda j: (j.key, j.seq))
        if self.queue:
            self.expect_anew()
        if self.setup.select == "easy" and len(self.setup.classes) > 1 and self.limit_w < math.inf:
            self.pass_of_classes_that_share_watts()
            return
        for p in range(len(self.setup.classes)):
            line = [j for j in self.queue if j.pool == p]
            while line and (self.fits(line[0]) or self.setup.select == "first-fit"):
                job = line.pop(0)
                if self.fits(job):
                    self.start(job)
            if line and self.setup.select == "easy":
                self.backfill(line[0], line[1:])

    def start(self, job: Job) -> None:
        """Put a job on the lowest free nodes."""
        self.queue.remove(job)
        job.held = tuple(sorted(self.free[job.pool])[: job.nodes])
        self.free[job.pool] -= set(job.held)
        job.since = self.now
        job.expected = self.now + job.estimate_left()
        if math.isnan(job.started):
            job.started = self.now
        job.status = "running"
        self.running.append(job)

    def reservation(self, head: Job) -> tuple[float, float, float]:
        """When the head can start by the estimates, and the nodes and watts left over then."""
        nodes, watts = len(self.free[head.pool]), self.limit_w - self.power()
        for t in sorted({j.expected for j in self.running} | {self.now}):
            gone = [j for j in self.running if j.expected <= t]
            n = nodes + sum(j.nodes for j in gone if j.pool == head.pool)
            w = watts + sum(self.increase(j) for j in gone)
            if n >= head.nodes and w >= self.increase(head):
                return t, n - head.nodes, w - self.increase(head)
        return math.inf, math.inf, math.inf

    def backfill(self, head: Job, others: list[Job]) -> None:
        """Start who does not delay the head: done by its reservation, or content with what is left over."""
        at, extra, extra_w = self.reservation(head)
        head.reserved = min(head.reserved, at)
        for job in others:
            if not self.fits(job):
                continue
            if self.now + job.estimate_left() > at:
                if job.nodes > extra or self.increase(job) > extra_w:
                    continue
                extra -= job.nodes
                extra_w -= self.increase(job)
            self.start(job)

    # -- EASY where classes share a limit: one walk over the line, one reservation a class, of nodes and watts

    def pass_of_classes_that_share_watts(self) -> None:
        """Start, in the order of the line, who leaves all who were promised something, of any class, what they need."""
        booked: Booked = []
        first = {job.pool: job for job in reversed(self.queue)}
        before = sorted((at, p) for p, (job, at, _) in self.heads.items() if first.get(p) is job)
        self.heads = {p: self.promise(first[p], booked) for _, p in before}
        met: set[int] = set()
        for job in list(self.queue):
            mine = job.pool in self.heads and self.heads[job.pool][0] is job
            if mine:
                may = self.heads[job.pool][1] == self.now
            else:
                may = self.has_watts(job, self.now, booked)
            may = may and job.nodes <= len(self.free[job.pool])
            if job.pool not in met:
                if may:
                    booked = [b for b in booked if b[3] is not job]  # it runs, and counts as running from here on
                    self.start(job)
                    continue
                met.add(job.pool)
                if not mine:
                    self.heads[job.pool] = self.promise(job, booked)
                continue
            head, at, extra = self.heads[job.pool]
            late = self.now + job.estimate_left() > at
            if may and (not late or job.nodes <= extra):
                self.heads[job.pool] = (head, at, extra - job.nodes if late else extra)
                self.start(job)

    def gone_at(self, job: Job) -> float:
        """When a running job is expected to be gone: after now."""
        return max(job.expected, math.nextafter(self.now, math.inf))

    def has_watts(self, job: Job, at: float, booked: Booked) -> bool:
        """Whether the limit holds from a time on for as long as a job runs, with all that was promised before."""
        until = max(at + job.estimate_left(), math.nextafter(at, math.inf))
        times = {at} | {t for b in booked for t in b[:2]} | {self.gone_at(j) for j in self.running}
        for t in times:
            if at <= t < until:
                gone = sum(self.increase(j) for j in self.running if self.gone_at(j) <= t)
                promised = sum(w for a, b, w, _ in booked if a <= t < b)
                if self.power() - gone + promised + self.increase(job) > self.limit_w:
                    return False
        return True

    def promise(self, head: Job, booked: Booked) -> tuple[Job, float, float]:
        """Book nodes and watts for a job at the first time it can have both; return it and the nodes left over then."""
        for t in sorted({self.gone_at(j) for j in self.running} | {until for _, until, _, _ in booked} | {self.now}):
            back = [j.nodes for j in self.running if j.pool == head.pool and self.gone_at(j) <= t]
            extra = len(self.free[head.pool]) + sum(back) - head.nodes
            if extra >= 0 and self.has_watts(head, t, booked):
                head.reserved = min(head.reserved, t)
                until = max(t + head.estimate_left(), math.nextafter(t, math.inf))
                booked.append((t, until, self.increase(head), head))
                return head, t, extra
        return head, math.inf, math.inf
