"""A slow scheduler in plain Python that shares nothing with the engine: sets of nodes, lists, no index, no clocks.

It is written from the definitions. Within an instant: ends and kills, node changes, nodes that fall asleep, envelope,
arrivals (and jobs that waited for another one), one pass. What a select policy starts is in ``selects``: one file a
rule.

Readings where the documentation says no more:

* Jobs that end at one instant leave in the order of their node classes, then of their numbers; those that are killed
  follow.
* With ``ties = "event"`` changes of nodes and of the limit make no pass of their own where a job is submitted at the
  same instant: they share the pass of the first one.
* A learner sees jobs when they are submitted, also those that are held back, and those that end or are killed, not
  those that fail.
* Nodes sleep once they have been free for ``after`` and ``entry``, and are awake when a job or an outage gives them
  back: if both are 0, until the pass of that instant; when the run begins all have been free before. Waking is no run
  time for requests and learners. A job whose nodes have woken makes no select; only estimates that ran out are renewed.
* A start counts, under a limit, as if it got as many sleeping nodes as there were when the pass began; while the pass
  lasts, as if it began to work at once.
* Speeds: a pass chooses the level last, and starts of the same pass count with the level that was. The rise of a level
  counts as admission counts: what working jobs and idle nodes draw more.
* A job that lost its nodes or was stopped keeps its place in time: it enters the line with the sequence number it had.

The file is long because one machine has one state: time, nodes, sleep and power are read together to be believed.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from reference.plan_times import Time

SAME_S, SAME_SHARE = 1e-6, 1e-14
"""Times that are computed apart and differ by less (in seconds, of the time) are one instant."""
ENDED, KILLED, FAILED = "finished", "killed", "failed"
END, NODE, ENVELOPE, ARRIVAL, AGAIN, AWAKE, SAMPLE = "end", "node", "envelope", "arrival", "again", "awake", "sample"

SAMPLE_S, QUIET_SAMPLES, QUIET_TICKS = 1e6, 3, 100_000
"""How often power is sampled where it is not known; after how many samples that start nobody none ever will, and after
how many ticks in which nothing runs.
"""

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
    begun: float = 0.0
    """Work that was left when it began."""
    ran: float = 0.0
    since: float = 0.0
    """When it began to work, or will where its nodes wake."""
    taken: float = 0.0
    """When it took its nodes."""
    wakes: bool = False
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
    sleep: Sequence[tuple[float, float, float, float] | None] = ()
    """For each class: watts asleep, seconds free before it begins, to fall asleep, to wake."""
    tick: float = 0.0
    """Seconds between the times at which control passes; 0: whenever something happens."""
    highest_w: float = 300.0
    """What a node draws while it wakes, at least."""
    shed: bool = False
    """Whether jobs are stopped while power is above the limit, the last started first."""
    profile: str = "known"
    """What admission counts for a node of a job: what it draws (known, oracle) or the greatest power (maximum)."""
    slow: tuple[float, float, float] | None = None
    """The low speed of all nodes: rate, and parts of the power of a job and of an idle node (None: one speed only)."""
    switch: tuple[float, float] = (0.0, math.inf)
    """Jobs in the system up to which nodes are slow, and beyond which they are fast."""


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
        self.idle_since = dict.fromkeys(self.pool_of, self.now)
        self.asleep: set[int] = set()
        self.asleep_before = [0] * len(setup.classes)
        self.counted_w = 0.0
        self.start_s, self.ticked, self.pending = self.now, -1, set[str]()
        self.limit_w = math.inf
        self.queue: list[Job] = []
        self.running: list[Job] = []
        self.children: dict[int, list[Job]] = {}
        self.idle_energy = 0.0
        self.stamp = self.passes = 0
        self.again = math.inf
        self.high = False
        self.low = [False] * len(setup.classes)
        self.once_more = -math.inf
        self.samples, self.quiet, self.busy_until = 1, 0, self.now
        self.memory: dict[str, object] = {}
        self.promised: dict[Job, Time] = {}
        self.heads: dict[int, tuple[Job, Time, float]] = {}
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
        _, share, idle = self.setup.slow or (1.0, 1.0, 1.0)
        rest = [min(1.0, idle) * self.rest_w(p) for p in range(len(self.setup.classes))]
        rest_w = sum(count * w for (count, _), w in zip(self.setup.classes, rest, strict=True))
        known = self.setup.profile == "known" and not self.setup.exceed
        most_w = max([self.limit_w, *(w for _, w in self.steps)]) if known else math.inf
        for job in self.jobs:
            wide = job.nodes > self.setup.classes[job.pool][0]
            may_wake = self.sleep_of(job.pool)[3] > 0
            watts = max(job.draw, self.setup.highest_w) if may_wake else job.draw
            rise = job.nodes * (share * watts - rest[job.pool])
            thirsty = rest_w + rise > most_w * (1 + LIMIT_SLACK)
            if wide or thirsty or (job.after >= 0 and self.jobs[job.after].status == "rejected"):
                job.status = "rejected"

    def sleep_of(self, pool: int) -> tuple[float, float, float, float]:
        """Return a class's sleep state; one that never sleeps waits for ever."""
        return (self.setup.sleep[pool] if self.setup.sleep else None) or (0.0, math.inf, 0.0, 0.0)

    def rest_w(self, pool: int) -> float:
        """Return the least that a node of a class draws without a job: asleep, if it may sleep."""
        asleep_w, after, _, _ = self.sleep_of(pool)
        idle = self.setup.classes[pool][1]
        return min(asleep_w, idle) if after < math.inf else idle

    def sleepy(self) -> dict[int, float]:
        """Return when each free node that is awake will sleep."""
        if not self.setup.sleep:
            return {}
        delays = [after + entry for _, after, entry, _ in map(self.sleep_of, range(len(self.free)))]
        return {
            n: self.idle_since[n] + delay
            for free, delay in zip(self.free, delays, strict=True)
            for n in free
            if delay < math.inf and n not in self.asleep
        }

    # -- time

    def run(self) -> None:
        """Simulate until every job has left, or nothing can happen any more."""
        while True:
            times = [self.end_of(j) for j in self.running] + [due[0] for due in self.due[:1]]
            times += [j.submit for j in self.future[:1]] + [c[0] for c in self.changes[:1] + self.steps[:1]]
            times += [min(sleepy.values())] if (sleepy := self.sleepy()) else []
            times += [self.start_s + (self.ticked + 1) * self.setup.tick] if self.pending else []
            times += [self.again] if self.again < math.inf else []
            times += [t for t in (self.next_sample(),) if t < math.inf and not self.gives_up(t)]
            if not times or not (self.future or self.queue or self.running or self.due):
                return
            self.to(max(self.now, min(times)))
            self.instant()

    def next_sample(self) -> float:
        """Return when power is sampled next; select is asked then, too, where admission does not know it."""
        return self.start_s + self.samples * SAMPLE_S if self.setup.profile != "known" else math.inf

    def gives_up(self, t: float) -> bool:
        """Whether it is clear before a sample that nobody will ever start, if nothing else is to come."""
        too_late = self.setup.tick > 0.0 and t > self.busy_until + QUIET_TICKS * self.setup.tick
        nothing_comes = not (self.future or self.running or self.due or self.changes or self.steps)
        return self.quiet >= QUIET_SAMPLES or (nothing_comes and too_late)

    def to(self, t: float) -> None:
        """Let time pass."""
        if self.running or not self.queue:
            self.busy_until = t
        for p, (_, idle_w) in enumerate(self.setup.classes):
            self.idle_energy += len(self.free[p] - self.asleep) * idle_w * self.idle_share(p) * (t - self.now)
        self.now = t

    def end_of(self, job: Job) -> float:
        """When a running job will leave: its work is done, or its request is over; or begin to work, where its nodes
        wake.
        """
        if job.wakes:
            return job.since
        done = job.since + job.left / self.rate(job.pool)
        if self.setup.kill and job.request < math.inf:
            over = job.since + max(0.0, job.request - job.ran)
            if done - over > SAME_S + SAME_SHARE * abs(over):  # else both are one instant, and it ends
                return over
        return done

    def instant(self) -> None:
        """Let everything of this instant happen, with a pass after it (or after each single event)."""
        happened: set[str] = set()
        for what in self.events():
            happened |= what
            if self.setup.ties == "event":
                break
        if self.setup.tick:
            self.pending |= happened
            last = math.floor((self.now - self.start_s) / self.setup.tick)
            on_tick = self.start_s + last * self.setup.tick == self.now and last > self.ticked
            self.ticked = max(self.ticked, last)
            happened, self.pending = (self.pending, set()) if on_tick else (set(), self.pending)
        if happened:
            self.do_pass(happened)

    def events(self) -> Iterator[set[str]]:
        """Let the events of this instant happen, one by one; a job that is submitted but held back is none."""
        ended = False
        while due := [j for j in self.running if self.end_of(j) <= self.now]:
            done = [j for j in due if not j.wakes and j.since + j.left / self.rate(j.pool) <= self.now]
            if not done and (job := min(due, key=lambda j: j.number)).wakes:
                job.wakes, job.expected = False, self.now + job.estimate_left()
                job.energy += job.nodes * self.waking_w(job) * (self.now - job.taken)
                yield {AWAKE}
                continue
            ended = True
            job = min(done or due, key=lambda j: (j.pool if done else 0, j.number))
            self.learn(job)
            self.leave(job, ENDED if done else KILLED)
            yield {END}
        happened = set()
        while self.changes and self.changes[0][0] <= self.now:
            self.change(*self.changes.pop(0)[1:])
            happened.add(NODE)
        fresh = ended or bool(happened)
        tired = {node for node, t in self.sleepy().items() if t <= self.now}
        fresh = fresh and self.now > self.start_s  # when the run begins, all have been free before
        if slept := {node for node in tired if not (fresh and self.idle_since[node] == self.now)}:
            self.asleep |= slept
            happened.add(NODE)
        while self.steps and self.steps[0][0] <= self.now:
            self.limit_w = self.steps.pop(0)[1]
            happened.add(ENVELOPE)
        if self.again <= self.now:
            self.again = math.inf
            happened.add(AGAIN)
        if self.next_sample() <= self.now:
            self.samples, self.quiet = self.samples + 1, self.quiet + 1
            happened.add(SAMPLE)
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
        if job.wakes:
            job.energy += job.nodes * self.waking_w(job) * (self.now - job.taken)
        else:
            self.settle(job)
        job.wakes = False
        job.places.append((job.taken, self.now, job.held))
        for node in job.held:
            self.idle_since[node] = self.now
            (self.down if self.outages_of[node] else self.free[job.pool]).add(node)
        job.held = ()

    def settle(self, job: Job) -> None:
        """Count what a job has done since it began, or since the speed changed."""
        took = self.now - job.since
        job.energy += job.nodes * job.draw * self.drawn_share(job.pool) * took
        rate = self.rate(job.pool)
        job.left = max(0.0, job.since + job.left / rate - self.now) * rate
        job.ran += took
        job.since = self.now

    def preempt(self, job: Job) -> None:
        """Stop a job, which keeps its progress and waits again."""
        self.stop(job)
        job.preemptions += 1
        self.enter(job)

    def shed(self) -> None:
        """Stop jobs until power is below the limit, the last started first; one alone may be above it where the rule
        says so.
        """
        while self.running and self.power(drawn=True) > self.limit_w * (1 + LIMIT_SLACK):
            if len(self.running) == 1 and self.setup.exceed:
                return
            self.preempt(max(self.running, key=lambda j: (j.taken, j.number)))

    def change(self, up: int, _number: int, outage: tuple[float, float, int, int, bool]) -> None:
        """Nodes leave (their jobs lose them unless they drain) or return."""
        nodes = range(outage[2], outage[2] + outage[3])
        for node in nodes:
            self.outages_of[node] += -1 if up else 1
            pool = self.free[self.pool_of[node]]
            if up and not self.outages_of[node] and node in self.down:
                self.down.remove(node)
                pool.add(node)
                self.idle_since[node] = self.now
            if not up and node in pool:
                pool.remove(node)
                self.asleep.discard(node)
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
        """Give jobs that outlived their estimate a new one: twice what they ran, a minute more at least, the request at
        most.
        """
        for job in self.running:
            if job.expected < self.now and not job.wakes:
                ran = job.ran + self.now - job.since
                job.expected = self.now + max(ran, 60.0)
                asked = self.now + job.request - ran
                if self.now < asked < job.expected:
                    job.expected = asked

    def power(self, *, drawn: bool = False) -> float:
        """Watts drawn now, as admission counts them or (drawn) as they are."""
        awake = sum(len(self.free[p] - self.asleep) * self.idle_w(p) for p in range(len(self.free)))
        asleep = sum(self.sleep_of(self.pool_of[n])[0] for n in self.asleep)
        works = (lambda j: j.draw * self.drawn_share(j.pool)) if drawn else self.believed
        busy = sum(j.nodes * (self.waking_w(j) if j.wakes else works(j)) for j in self.running)
        return awake + asleep + busy

    def believed(self, job: Job) -> float:
        """Watts that admission counts for a node of a job that works."""
        return (self.setup.highest_w if self.setup.profile == "maximum" else job.draw) * self.drawn_share(job.pool)

    # -- speeds

    def rate(self, pool: int) -> float:
        """Work that a node of a class does in a second."""
        return self.setup.slow[0] if self.setup.slow and self.low[pool] else 1.0

    def wall_s(self, job: Job) -> float:
        """Seconds that a job is estimated to run from now on, at the speed that its nodes have."""
        return job.estimate_left() / self.rate(job.pool)

    def drawn_share(self, pool: int) -> float:
        """Part of a job's power at full speed that it draws now."""
        return self.setup.slow[1] if self.setup.slow and self.low[pool] else 1.0

    def idle_share(self, pool: int) -> float:
        """Part of the idle power at full speed that a node draws now."""
        return self.setup.slow[2] if self.setup.slow and self.low[pool] else 1.0

    def idle_w(self, pool: int) -> float:
        """Watts of an idle node now."""
        return self.setup.classes[pool][1] * self.idle_share(pool)

    def choose_speed(self) -> None:
        """Switch by the number of jobs, class by class; a speed that would break the limit is not taken. Where less
        power is needed and somebody waits under a limit, another pass follows.
        """
        present = len(self.queue) + len(self.running)
        if present <= self.setup.switch[0]:
            self.high = False
        elif present > self.setup.switch[1]:
            self.high = True
        falls = False
        for p, was_low in enumerate(list(self.low)):
            if was_low != self.high:
                continue  # it has that speed
            before, needs_w = self.power(), (self.drawn_share(p), self.idle_w(p))
            self.low[p] = not was_low
            if self.power() - before > max(0.0, self.limit_w - before) + LIMIT_SLACK * self.limit_w:
                self.low[p] = was_low
                continue
            self.low[p] = was_low
            for job in [j for j in self.running if j.pool == p]:
                self.settle(job)
            slower = self.rate(p)
            self.low[p] = not was_low
            slower /= self.rate(p)
            for job in [j for j in self.running if j.pool == p]:
                job.expected = self.now + (job.expected - self.now) * slower
            falls |= self.drawn_share(p) < needs_w[0] or self.idle_w(p) < needs_w[1]
        if falls and self.queue and self.limit_w < math.inf and self.once_more < self.now:
            self.once_more = self.now
            if self.setup.tick:
                self.pending.add(ENVELOPE)
            else:
                self.do_pass({ENVELOPE})

    # -- what starts add
    def waking_w(self, job: Job) -> float:
        """Watts of a node of a job while its nodes wake."""
        return max(job.draw, self.setup.highest_w)

    def headroom(self) -> float:
        """Watts that starts may add."""
        return (
            math.inf if self.limit_w == math.inf else self.limit_w * (1 + LIMIT_SLACK) - self.power() - self.counted_w
        )

    def counted(self, job: Job) -> float:
        """Watts that count for a node of a job that starts now, some of whose nodes may have to wake."""
        wakes = self.asleep_before[job.pool] > 0 and self.sleep_of(job.pool)[3] > 0
        return self.waking_w(job) if wakes else self.believed(job)

    def increase(self, job: Job) -> float:
        """Watts that a start adds at most: it may get all the nodes that slept when the pass began."""
        idle = self.idle_w(job.pool)
        asleep = min(job.nodes, self.asleep_before[job.pool])
        return job.nodes * (self.counted(job) - idle) + asleep * (idle - self.sleep_of(job.pool)[0])

    def gives_back(self, job: Job) -> float:
        """Watts by which power falls when a running job ends."""
        runs = self.waking_w(job) if job.wakes else self.believed(job)
        watts = self.counted(job) if job.in_pass == self.passes else runs
        idle = self.idle_w(job.pool)
        return job.nodes * (watts - idle) + (job.nodes - self.frees(job)) * idle

    def frees(self, job: Job) -> int:
        """Nodes that others may have when a running job ends: those of its own that do not drain."""
        return job.nodes - sum(self.outages_of[node] > 0 for node in job.held)

    def fits(self, job: Job) -> bool:
        """Whether a job may start now."""
        return job.nodes <= len(self.free[job.pool]) and self.increase(job) <= self.headroom()

    def do_pass(self, happened: set[str]) -> None:
        """Stop and start what the rules allow, then choose the speed."""
        if self.setup.shed:
            self.shed()
        if self.queue:
            self.start_some(happened)
        if self.setup.slow and happened & {ARRIVAL, END, NODE}:
            self.choose_speed()

    def start_some(self, happened: set[str]) -> None:
        """Sort the queue and start what the rule allows; nothing running, nothing started: one may exceed the limit."""
        if happened == {AWAKE}:
            self.expect_anew()
            return
        self.asleep_before = [len(free & self.asleep) for free in self.free]
        if self.setup.dynamic_order and self.setup.order and (happened != {SAMPLE} or self.setup.tick):
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
        self.counted_w = 0.0
        for job in self.running:
            if job.wakes and job.in_pass == self.passes:
                job.expected = job.since + job.estimate_left()

    def shares_watts(self) -> bool:
        """Whether several node classes are under one power limit."""
        return len(self.setup.classes) > 1 and self.limit_w < math.inf

    def lines(self) -> list[list[Job]]:
        """Return the waiting jobs of each node class, in order."""
        if len(self.setup.classes) == 1:
            return [list(self.queue)]
        return [[j for j in self.queue if j.pool == p] for p in range(len(self.setup.classes))]

    def start(self, job: Job) -> None:
        """Put a job on free nodes: the lowest, or those that the place policy picks. What it was promised is kept."""
        self.quiet = 0
        self.promised.pop(job, None)
        for p in [p for p, (head, _, _) in self.heads.items() if head is job]:
            del self.heads[p]
        self.queue.remove(job)
        before = self.power() + self.increase(job)
        free = sorted(self.free[job.pool])
        job.held = tuple(self.setup.place(free, job.nodes) if self.setup.place else free[: job.nodes])
        self.free[job.pool] -= set(job.held)
        job.since, job.taken, job.in_pass = self.now, self.now, self.passes
        if self.asleep & set(job.held) and self.sleep_of(job.pool)[3] > 0:
            job.wakes, job.since = True, self.now + self.sleep_of(job.pool)[3]
        self.asleep -= set(job.held)
        job.expected, job.begun = self.now + self.wall_s(job), job.left
        if math.isnan(job.started):
            job.started = self.now
        job.status = "running"
        self.running.append(job)
        if self.setup.sleep:
            self.counted_w += before - self.power()
