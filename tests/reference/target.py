"""A cluster that follows a power target, in plain Python and from the definitions: job by job, no clocks, no classes.

Written from docs/demand-response.md (the run-time rules), docs/systems/aqa.md, docs/slackline.md and docs/design.md.
The rule that starts jobs is handed in (``gps.py``, ``slackline.py``, ``track.py``, ``qoscap.py``); what they share
stands here: time, the target, one cap ratio for all, pauses, standby jobs, the power limit.

Floats of two programs differ in their last digits. Where a decision hangs on such digits ``Unclear`` is raised, and the
world proves nothing. A tie of numbers that floats hold exactly is no such case: then the rule for ties decides.

The file is long because one machine has one state: jobs, nodes, target and caps are read together to be believed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from reference.target_facts import (
    CLOSE,
    LEAST_WORK_S,
    SLACK,
    Job,
    Kind,
    Plan,
    Setup,
    UnclearError,
    held_exactly,
    longer,
    one_by_one,
)

__all__ = [
    "CLOSE",
    "LEAST_WORK_S",
    "Job",
    "Kind",
    "Machine",
    "Plan",
    "Setup",
    "UnclearError",
    "held_exactly",
    "longer",
    "one_by_one",
]


class Machine:
    """Runs the jobs; afterwards they, ``actions`` and ``rows`` say what happened."""

    def __init__(
        self, jobs: Sequence[Job], setup: Setup, select: Callable[[Machine], Plan], holds: bool = True
    ) -> None:
        self.jobs, self.setup, self.select, self.holds = list(jobs), setup, select, holds
        self.start = self.now = self.jobs[0].submit
        self.free = set(range(setup.nodes))
        self.down: set[int] = set()
        self.outages = [0] * setup.nodes
        self.queue: list[Job] = []
        self.on_nodes: list[Job] = []
        self.gamma = 1.0
        self.spared: set[int] = set()
        self.in_force: dict[tuple[float, ...], float] = {}
        self.coming: dict[tuple[float, ...], list[tuple[float, float]]] = {}
        self.set_for: tuple[object, ...] = ()
        self.limit_w = math.inf
        self.target: float | None = None
        self.reserve = 0.0
        self.ticks = 0
        self.stamp = 0
        self.actions: list[tuple[float, str, int]] = []
        self.rows: list[tuple[float, float, float, int, int, int]] = []
        self.noisy: set[tuple[float, ...]] = set()
        changes = [(o[0], 0 if o[4] else 1, o[2], o[3]) for o in setup.outages]
        self.changes = sorted(changes + [(o[1], 2, o[2], o[3]) for o in setup.outages])
        self.signal_times = [setup.signal_from + k * setup.signal_step for k in range(len(setup.signal))]
        self.future = list(self.jobs)
        steps = sorted(setup.limits)
        over = [watts for t, watts in steps if t <= self.start]  # but for the last of these, which is in force
        ever = max([*(over[-1:] or [math.inf]), *(watts for t, watts in steps if t > self.start)])
        for job in self.jobs:
            alone = setup.nodes * setup.idle + self.rise(job)
            if job.nodes > setup.nodes or alone > ever * (1 + SLACK):
                job.status = "rejected"

    # -- comparisons that say when they cannot be trusted

    def most(self, a: float | Fraction, b: float | Fraction, *parts: float | Fraction) -> bool:
        """Tell whether a ≤ b."""
        return not self.beyond(a, b, *parts)

    def beyond(self, a: float | Fraction, b: float | Fraction, *parts: float | Fraction, sure: bool = False) -> bool:
        """Tell whether a > b; a tie counts where floats hold both, and all ``parts`` that they are made of, exactly."""
        if math.isinf(a) or math.isinf(b):
            return a > b
        gap = Fraction(a) - Fraction(b)
        if gap == 0:
            if not sure and not (self.setup.dyadic and held_exactly(a, b, *parts)):
                raise UnclearError(f"{float(a)} and {float(b)} at {self.now}")
            return False
        if abs(gap) <= CLOSE * max(1.0, abs(a), abs(b)):
            raise UnclearError(f"{float(a)} and {float(b)} at {self.now}")
        return gap > 0

    # -- powers, added up job by job

    def lowest(self, job: Job) -> float:
        """Return what a node of a job draws at its lowest cap."""
        return min(job.draw, max(job.floor, self.setup.lowest_cap)) if self.setup.caps else job.draw

    def working(self) -> list[Job]:
        """Return the jobs that hold nodes and are not paused."""
        return [j for j in self.on_nodes if j.status == "running"]

    def in_service(self) -> int:
        """Return how many nodes are there."""
        return self.setup.nodes - len(self.down)

    def resting(self) -> float:
        """Return the power of the nodes in service on which nobody works."""
        return (self.in_service() - sum(j.nodes for j in self.working())) * self.setup.idle

    def starting(self) -> list[Job]:
        """Return the jobs that were told to start and are not there yet."""
        return [j for j in self.on_nodes if j.status == "starting"]

    def low(self) -> float:
        """Return the power with every working job at its lowest cap; those that are starting count as working."""
        there = self.resting() + sum(j.nodes * self.lowest(j) for j in self.working())
        return there + sum(j.nodes * (self.lowest(j) - self.setup.idle) for j in self.starting())

    def high(self) -> float:
        """Return the power with no cap at all, likewise."""
        return self.resting() + sum(j.nodes * j.draw for j in self.working()) + sum(map(self.rise, self.starting()))

    def power(self) -> float:
        """Return the power drawn now."""
        return self.resting() + sum(j.nodes * j.watts for j in self.working())

    def rise(self, job: Job) -> float:
        """Return by how much power without caps rises when a job begins to work."""
        return job.nodes * (job.draw - self.setup.idle)

    def rise_in_force(self, job: Job) -> float:
        """Return by how much power rises then under the caps in force, or a higher one that is on its way."""
        return job.nodes * (self.watts_at(job, self.highest(job)) - self.setup.idle)

    def watts_at(self, job: Job, ratio: float) -> float:
        """Return what a node of a job draws at a ratio, spared or not."""
        return job.draw if ratio == 1.0 else self.lowest(job) + ratio * (job.draw - self.lowest(job))

    def wanted(self, job: Job) -> float:
        """Return the ratio that jobs like this one shall have."""
        return 1.0 if job.kind in self.spared or self.lowest(job) == job.draw else self.gamma

    def found(self, job: Job) -> float:
        """Return the ratio that a job finds when it begins: that of its like, or what it is told where there are
        none.
        """
        alike = any(self.profile(j) == self.profile(job) for j in self.working())
        return self.in_force[self.profile(job)] if alike else self.wanted(job)

    def highest(self, job: Job) -> float:
        """Return the highest ratio that it finds, or that is on its way to its like."""
        return max([self.found(job), *(ratio for _, ratio in self.coming.get(self.profile(job), []))])

    def committed(self) -> float:
        """Return the power when those that are starting are there and higher caps are in force."""
        rising = sum(j.nodes * (self.watts_at(j, self.highest(j)) - j.watts) for j in self.working())
        return self.power() + rising + sum(map(self.rise_in_force, self.starting()))

    def under_limit(self, rise: float, taken: float = 0.0) -> bool:
        """Tell whether the power limit allows a rise, beside ``taken`` watts of others."""
        if math.isinf(self.limit_w):
            return True
        # what is compared is sums of watts; a sum that meets the limit but for a billionth of it is below
        over = self.committed() + taken + rise - self.limit_w
        if abs(over) < 1e-3 * CLOSE * self.limit_w:
            return True
        if abs(over) < 10 * SLACK * self.limit_w:
            raise UnclearError(f"{over} W over the limit at {self.now}")
        return over < 0

    # -- what users suffer

    def left(self, job: Job) -> float:
        """Return the work that a job has left now."""
        return job.left - job.rate * (self.now - job.at) if job.status == "running" else job.left

    def degradation(self, job: Job) -> float:
        """Return the QoS degradation a job would have if it ran at full speed from now on."""
        return (self.now - job.submit + self.left(job) - job.work) / max(job.work, LEAST_WORK_S)

    def danger(self, job: Job) -> float:
        """Return the part of its limit that a job has used up: nothing where nothing was promised."""
        kind = self.setup.kinds[job.kind]
        return 0.0 if kind.standby or math.isinf(kind.limit) else self.degradation(job) / kind.limit

    # -- what select rules share

    def waiting(self, *, standby: bool = False) -> list[Job]:
        """Return the waiting jobs in the order of the queue, standby ones or the others."""
        return [j for j in self.queue if self.setup.kinds[j.kind].standby == standby]

    def add_standby(self, plan: Plan, room: float | None) -> None:
        """Start standby jobs, in order, that fit on the free nodes, below the target and under the limit."""
        if room is None:
            return  # no target to fill
        free, taken = (
            len(self.free) - sum(j.nodes for j in plan.starts),
            sum(map(self.rise_in_force, plan.starts + plan.resumes)),
        )
        for job in self.waiting(standby=True):
            fits = (
                job.nodes <= free
                and self.most(self.rise(job), room)
                and self.under_limit(self.rise_in_force(job), taken)
            )
            if fits:
                plan.starts.append(job)
                free, room, taken = free - job.nodes, room - self.rise(job), taken + self.rise_in_force(job)

    def pause_or_resume(self, plan: Plan) -> None:
        """Pause jobs where even the lowest caps exceed the target; otherwise resume paused ones that the lowest caps
        leave room for.
        """
        if self.target is None:
            room = math.inf
        else:
            room = self.target - self.low()
            self.beyond(room, 0.0)
        net = {j: j.nodes * (self.lowest(j) - self.setup.idle) for j in self.on_nodes}
        if room < 0.0:
            others = [j for j in self.working() if net[j] > 0.0]
            by_need = self.by_danger([j for j in others if self.setup.kinds[j.kind].standby], 1)
            by_need += self.by_danger([j for j in others if not self.setup.kinds[j.kind].standby], 1)
            for job in by_need:
                if self.beyond(room + 0.5 * net[job], 0.0):
                    return
                plan.stops.append(job)
                room += net[job]
            return
        taken = 0.0
        for job in self.by_danger([j for j in self.on_nodes if j.status == "paused"], -1):
            if self.beyond(net[job], room) or not self.under_limit(self.rise_in_force(job), taken):
                return
            plan.resumes.append(job)
            room, taken = room - net[job], taken + self.rise_in_force(job)

    def by_danger(self, jobs: list[Job], sign: int) -> list[Job]:
        """Return jobs by their danger, the least first (sign 1) or the most (-1); of equals the first in the trace."""
        return one_by_one(jobs, lambda job: -sign * self.danger(job))

    # -- time

    def run(self) -> None:
        """Simulate until all jobs have left or the time is over."""
        while not self.over():
            then = self.next_time()
            if then > self.setup.until:
                self.now = self.setup.until
                return
            self.now = max(self.now, then)
            self.instant()

    def over(self) -> bool:
        """Tell whether every job has left."""
        return all(j.status == "rejected" or not math.isnan(j.ended) for j in self.jobs)

    def end_of(self, job: Job) -> float:
        """Return when a working job will have done its work."""
        return job.at + max(0.0, job.left) / job.rate

    def kill_at(self, job: Job) -> float:
        """Return when a working job has run for as long as it asked for."""
        return job.since + max(0.0, job.request - job.ran) if self.setup.kill else math.inf

    def next_time(self) -> float:
        """Return the time of the next instant; two that are apart by rounding alone are unclear."""
        s = self.setup
        steady = [self.start + self.ticks * s.tick]
        steady += [j.submit for j in self.future[:1]]
        steady += [c[0] for c in self.changes[:1]]
        steady += [b[0] for b in sorted(s.bids, key=lambda b: b[0]) if b[0] > self.now][:1]
        steady += [t for t, _ in sorted(s.limits) if t > self.now][:1]
        steady += [t for t in self.signal_times if t > self.now][:1]
        steady = [t for t in steady if t >= self.now]
        late = [j.due for j in self.starting()] + [line[0][0] for line in self.coming.values() if line]
        if any(0 < abs(t - u) <= CLOSE * max(1.0, abs(t)) for t in late for u in [*steady, *late]):
            raise UnclearError(f"something late gets there just before or after something else, after {self.now}")
        kills = [self.kill_at(j) for j in self.working()]
        if any(abs(t - u) <= CLOSE * max(1.0, abs(t)) for t in late for u in kills):
            raise UnclearError(f"a job is killed when something late gets there, after {self.now}")
        steady += late
        for job in self.working():
            end, kill = self.end_of(job), self.kill_at(job)
            if 0 < end - self.now <= CLOSE * max(1.0, abs(end)):
                raise UnclearError(f"job {job.number} ends at {end}, and something happened just before")
            for t in [*steady, kill, self.setup.until]:
                near = t < math.inf and abs(t - end) <= CLOSE * max(1.0, abs(t))
                exact = t == end and self.profile(job) not in self.noisy and s.start_delay is None
                if near and not exact:
                    raise UnclearError(f"job {job.number} ends at {end}, and something happens at {t}")
            if any(0 < abs(t - kill) <= CLOSE * max(1.0, abs(t)) for t in steady):
                raise UnclearError(f"job {job.number} is killed at {kill}, and something else happens then")
        return min([*steady, *(min(self.end_of(j), self.kill_at(j)) for j in self.working())])

    @staticmethod
    def profile(job: Job) -> tuple[float, ...]:
        """Return what jobs of one speed have in common."""
        return (job.kind, job.draw, job.floor, job.stretch)

    def instant(self) -> None:
        """Let everything of this instant happen: ends, node changes, limit, bid and signal, the tick, arrivals, a
        pass.
        """
        happened = False
        for job in self.working():
            if self.end_of(job) <= self.now or self.kill_at(job) <= self.now:
                self.leave(job, "finished" if self.end_of(job) <= self.now else "killed")
                happened = True
        for job in sorted(self.starting(), key=lambda j: j.number):
            if job.due <= self.now:
                self.begin(job)
                happened = True
                if self.end_of(job) <= self.now:
                    self.leave(job, "finished")
        if self.setup.event and self.over():
            self.log()  # the end was an event of its own, and the last
            return
        while self.changes and self.changes[0][0] <= self.now:
            self.change(*self.changes.pop(0)[1:])
            happened = True
        happened = self.land() or happened
        self.step_envelope()
        tick = self.start + self.ticks * self.setup.tick <= self.now
        self.ticks += tick
        coming = [j for j in self.future if j.submit <= self.now]
        steps = [b[0] for b in self.setup.bids] + [x[0] for x in self.setup.limits] + self.signal_times
        happened = happened or tick or self.now in steps or any(j.status != "rejected" for j in coming)
        # with a pass after each single event the tick goes with the first arrival of its instant
        comes = [i for i, j in enumerate(coming) if j.status != "rejected"]
        first = coming[: comes[0] + 1] if self.setup.event and tick and comes else coming
        self.arrive(first)
        if tick:
            self.do_pass()
        self.arrive(coming[len(first) :])
        for job in self.working():  # of no length: they end in the instant they begin
            if self.end_of(job) <= self.now:
                self.leave(job, "finished")
        if happened:
            self.log()

    def step_envelope(self) -> None:
        """Bring limit, bid and signal up to now."""
        s = self.setup
        for t, watts in sorted(s.limits):
            if t <= self.now:
                self.limit_w = watts
        mean: float | None = None
        for t, bid, reserve in sorted(s.bids, key=lambda b: b[0]):
            if t <= self.now:
                mean, self.reserve = bid, 0.0 if bid is None else reserve
        k = max(0, sum(t <= self.now for t in self.signal_times) - 1)
        self.target = None if mean is None else mean + self.reserve * s.signal[k]

    def log(self) -> None:
        """Note the power from now on; later in the same instant counts."""
        if self.rows and self.rows[-1][0] == self.now:
            self.rows.pop()
        target = math.nan if self.target is None else self.target
        busy = sum(j.nodes for j in self.on_nodes)
        self.rows.append((self.now, self.power(), target, busy, len(self.queue), len(self.on_nodes)))

    # -- jobs come and go

    def arrive(self, jobs: list[Job]) -> None:
        """Take submitted jobs in; those that can never run are turned away."""
        for job in jobs:
            self.future.remove(job)
            if job.status != "rejected":
                self.enter(job)

    def enter(self, job: Job) -> None:
        """Put a job in the queue, at the place that its arrival gives it."""
        if job.seq < 0:
            job.seq, self.stamp, job.left = self.stamp, self.stamp + 1, job.work
        job.status = "waiting"
        self.queue.append(job)
        self.queue.sort(key=lambda j: -j.seq if self.setup.newest_first else j.seq)

    def begin(self, job: Job) -> None:
        """Let a job that has its nodes work, for now under the caps in force."""
        ratio = self.found(job)
        if not any(self.profile(j) == self.profile(job) for j in self.working()):
            self.coming[self.profile(job)] = []
        self.in_force[self.profile(job)] = ratio
        if math.isnan(job.started):
            job.started = self.now
        job.status, job.since, job.at = "running", self.now, self.now
        self.set_ratio(job, ratio)

    def land(self) -> bool:
        """Put the caps of this instant in force; tell whether there were any."""
        landed = False
        for profile, line in self.coming.items():
            there = [ratio for due, ratio in line if due <= self.now]
            self.coming[profile] = [(due, ratio) for due, ratio in line if due > self.now]
            if there:
                landed = True
                self.in_force[profile] = there[-1]
                for job in self.working():
                    if self.profile(job) == profile:
                        self.set_ratio(job, there[-1])
        return landed

    def rest(self, job: Job) -> None:
        """Let a job stop working."""
        self.settle(job)
        job.ran += self.now - job.since
        if [j for j in self.working() if self.profile(j) == self.profile(job)] == [job]:
            self.coming[self.profile(job)] = []  # nobody is left to get them

    def settle(self, job: Job) -> None:
        """Count what a job has done and drawn up to now."""
        job.energy += job.nodes * job.watts * (self.now - job.at)
        job.left, job.at = self.left(job), self.now

    def set_ratio(self, job: Job, gamma: float) -> None:
        """Set a working job's cap ratio: run time grows as power falls."""
        watts = self.watts_at(job, gamma)
        if watts != job.watts or job.at == self.now:
            self.settle(job)
            job.watts, job.rate = watts, float(1 / longer(job, watts))
            if not held_exactly(job.rate):
                self.noisy.add(self.profile(job))

    def give_back(self, job: Job) -> None:
        """Take a job off its nodes; those that drain go out of service."""
        if job.status == "running":
            self.rest(job)
        self.on_nodes.remove(job)
        for node in job.held:
            (self.down if self.outages[node] else self.free).add(node)
        job.held = ()

    def leave(self, job: Job, status: str) -> None:
        """End a job for good."""
        self.give_back(job)
        job.status, job.ended = status, self.now

    def change(self, what: int, first: int, count: int) -> None:
        """Nodes drain (0), are lost (1) or return (2)."""
        nodes = range(first, first + count)
        for node in nodes:
            self.outages[node] += -1 if what == 2 else 1
            if what == 2 and not self.outages[node] and node in self.down:
                self.down.remove(node)
                self.free.add(node)
            elif what < 2 and node in self.free:
                self.free.remove(node)
                self.down.add(node)
        for job in [j for j in self.on_nodes if what == 1 and set(j.held) & set(nodes)]:
            if not self.setup.requeue:
                self.leave(job, "failed")
                continue
            self.give_back(job)
            job.restarts += 1
            job.story += (("lost", self.now),)
            if not self.setup.keep_progress:
                job.left, job.ran = job.work, 0.0
            self.enter(job)

    # -- the pass of a tick

    def do_pass(self) -> None:
        """Let the rule choose; stop, resume and start as it wants; then set the caps."""
        plan = self.select(self)
        for job in plan.stops:
            self.actions.append((self.now, "stop", job.number))
            job.stops += 1
            job.story += (("stop", self.now),)
            self.rest(job)
            job.left += self.setup.stop_cost
            job.status = "paused"
            if not self.holds:
                self.give_back(job)
                self.enter(job)
        for job in plan.resumes:
            self.actions.append((self.now, "resume", job.number))
            job.story += (("go", self.now),)
            self.begin(job)
        for job in plan.starts:
            self.actions.append((self.now, "start", job.number))
            job.story += (("go", self.now),)
            self.queue.remove(job)
            job.held = tuple(sorted(self.free)[: job.nodes])
            assert len(job.held) == job.nodes, "a rule started a job without nodes"
            self.free -= set(job.held)
            self.on_nodes.append(job)
            if self.setup.start_delay is None:
                self.begin(job)
            else:
                job.status = "starting"
                job.due = self.now + self.setup.start_delay(job.number, job.stops + job.restarts)
        if self.setup.caps:
            self.match_target(uncapped=plan.uncapped, spared=plan.spared)

    def match_target(self, *, uncapped: bool, spared: set[int]) -> None:
        """Set the one ratio, for all but the spared kinds, for which the power is the target, or the limit where that
        is lower. Nobody is spared while even the lowest caps of the others would leave power above the limit.
        """
        resting = self.resting() + sum(map(self.rise, (j for j in self.starting() if j.kind in spared)))
        resting += sum(j.nodes * (self.lowest(j) - self.setup.idle) for j in self.starting() if j.kind not in spared)
        surely = resting + sum(j.nodes * (j.draw if j.kind in spared else self.lowest(j)) for j in self.working())
        if surely > self.limit_w * (1 + 1e-9):
            spared = set()
        goal = self.limit_w
        if not uncapped and self.target is not None:
            goal = min(goal, self.target)
        full = sum(j.nodes * (j.draw - self.lowest(j)) for j in self.working() if j.kind in spared)
        low = self.resting() + sum(j.nodes * self.lowest(j) for j in self.working()) + full
        high = self.resting() + sum(j.nodes * j.draw for j in self.working())
        more = sum(map(self.rise, self.starting()))
        least = sum(
            self.rise(j) if j.kind in spared else j.nodes * (self.lowest(j) - self.setup.idle) for j in self.starting()
        )
        before, self.set_for = self.set_for, (goal, low, high, frozenset(spared), more, least, self.limit_w)
        self.gamma = min(self.meeting(goal, low, high), self.meeting(self.limit_w, low + least, high + more))
        self.spared = spared
        profiles = {self.profile(j): j for j in self.working()}
        for profile, like in profiles.items():
            if self.setup.cap_delay is not None:
                self.send(profile, self.wanted(like), surely=before == self.set_for)
                continue
            self.in_force[profile] = self.wanted(like)
            for job in self.working():
                if self.profile(job) == profile:
                    self.set_ratio(job, self.wanted(like))

    @staticmethod
    def meeting(goal: float, low: float, high: float) -> float:
        """Return the ratio at which power meets a goal."""
        if high <= goal:
            return 1.0
        return max(0.0, (goal - low) / (high - low)) if high > low else 0.0

    def send(self, profile: tuple[float, ...], ratio: float, *, surely: bool) -> None:
        """Let jobs have a cap after a while; what was set before and would come after it counts no more."""
        line = self.coming.setdefault(profile, [])
        last = line[-1][1] if line else self.in_force[profile]
        if ratio == last and (surely or not line or ratio == 1.0):
            return
        if line and abs(ratio - last) <= CLOSE:
            raise UnclearError(f"a cap on its way is set again, or almost, at {self.now}")
        assert self.setup.cap_delay is not None
        due = self.now + self.setup.cap_delay(self.now)
        if abs(ratio - last) > CLOSE:
            self.coming[profile] = [*(entry for entry in line if entry[0] < due), (due, ratio)]
