"""The plain scheduler with moldable jobs: configurations, what is told of them, nodes that are not alike, caps that are
raised.

Written from docs/moldable-jobs.md and docs/systems/rmap.md (the reading, exactly). Which configuration a job gets is
decided by ``choose`` in ``rmap.py`` and ``surplus.py``. All powers of a configuration are those of all its nodes
together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from reference.scheduler import ENVELOPE, LIMIT_SLACK, Job, Scheduler, Setup

SLACK = 1e-9
"""Power may exceed the limit by a billionth of it: sums of floats are off by less."""

CLOSE = 1e-9
"""Times nearer to each other than this may come in either order once rounding has touched them."""


@dataclass(frozen=True)
class Row:
    """A configuration: what it takes and draws, and what policies are told of that."""

    nodes: int
    cores: int
    cap: float
    time: float
    power: float
    told_time: float
    told_power: float


@dataclass(eq=False)
class MoldableJob(Job):
    """A job that chooses among the rows of its application; without rows it is rigid."""

    rows: Sequence[Row] = ()
    row: Row | None = None
    first_row: Row | None = None
    rough: bool = False
    """Rounding has touched its times."""
    began: float = 0.0
    told: float = 0.0
    """What admission counts for it while it runs, all nodes together."""
    reserved: float = math.inf
    """The earliest time that was promised to it."""

    def __post_init__(self) -> None:
        self.asked = self.nodes
        self.own = (self.work, self.request, self.estimate, self.draw)

    def begin_again(self) -> None:
        """Forget the configuration and all that was done in it."""
        self.nodes = self.asked
        self.work, self.request, self.estimate, self.draw = self.own
        self.left, self.ran, self.row = self.work, 0.0, None

    def as_asked(self) -> Row:
        """A rigid job, seen as the one configuration it has."""
        power = self.nodes * self.draw
        return Row(self.nodes, 0, math.inf, self.work, power, self.estimate_left(), power)


@dataclass(frozen=True)
class Nodes:
    """A factor of power a node, the part of its power that is alike in all, and how a job's power is shared among its
    nodes.
    """

    factors: Sequence[float] = ()
    fixed: float = 0.0
    equal_speed: bool = False
    turbo: float = 115.0


@dataclass(frozen=True)
class MoldableSetup(Setup):
    """Rules of a run with moldable jobs; ``believes``: admission counts with what it is told."""

    believes: bool = False
    leftover: bool = False
    different: Nodes = field(default_factory=Nodes)
    slower: float = 0.0
    best_fit: bool = False
    small: float = 0.0
    power_only: bool = False
    """Who has the power of its share waits for nodes."""


class MoldableScheduler(Scheduler):
    """Runs rigid and moldable jobs on one class of nodes."""

    setup: MoldableSetup
    jobs: list[MoldableJob]  # type: ignore[assignment]
    queue: list[MoldableJob]  # type: ignore[assignment]
    running: list[MoldableJob]  # type: ignore[assignment]

    def __init__(self, jobs: Sequence[MoldableJob], setup: MoldableSetup) -> None:
        super().__init__(jobs, setup)
        self.count, self.idle = setup.classes[0]
        self.caps: list[tuple[float, int, float]] = []
        self.rough = self.doubtful = False

    def reject(self) -> None:
        """Turn away who can never run: too wide, as asked or in every configuration, or rigid and too thirsty; and who
        waits for such.
        """
        nodes, idle = self.setup.classes[0]
        most_w = max([self.limit_w, *(w for _, w in self.steps)]) * (1 + LIMIT_SLACK)
        for job in self.jobs:
            wide = job.nodes > nodes or (job.rows and min(r.nodes for r in job.rows) > nodes)
            thirsty = not job.rows and nodes * idle + self.increase(job) > most_w
            if wide or thirsty or (job.after >= 0 and self.jobs[job.after].status == "rejected"):
                job.status = "rejected"

    # -- doubts

    def doubt(self, a: float, b: float) -> None:
        """Note that a decision hung on two times so near to each other that rounding decides."""
        if self.rough and a != math.inf and abs(a - b) <= CLOSE * max(1.0, abs(a), abs(b)):
            self.doubtful = True

    def instant(self) -> None:
        """Let an instant happen; ends that rounding touched must not fall together with anything else."""
        near = [j for j in self.running if abs(self.end_of(j) - self.now) <= CLOSE * max(1.0, self.now)]
        others = [j.submit for j in self.future[:1]] + [c[0] for c in self.changes[:1] + self.steps[:1]]
        others += [due[0] for due in self.due[:1]]
        together = len(near) + sum(abs(t - self.now) <= CLOSE * max(1.0, self.now) for t in others)
        if together > 1 and any(j.rough for j in near):
            self.doubtful = True
        for job in near:  # done and over its request at once: ended or killed
            if job.rough and self.setup.kill and job.request < math.inf:
                self.doubt(job.since + job.left, job.since + job.request - job.ran)
        super().instant()

    # -- what a configuration does

    def told_power(self, job: MoldableJob, row: Row) -> float:
        """What admission counts for a start: where no cap holds nodes back, as if it got the thirstiest nodes."""
        nodes = self.setup.different
        if not nodes.factors or self.binds(job, row):
            return row.told_power
        worst = sorted(nodes.factors, reverse=True)[: row.nodes]
        fixed = row.nodes * nodes.fixed
        return fixed + (row.told_power - fixed) * max(1.0, sum(worst) / len(worst))

    def points(self, job: MoldableJob, row: Row) -> list[tuple[float, float]]:
        """Power of a node and speed, measured on the same nodes and cores without turbo; only what is faster at more
        power.
        """
        same = [
            r for r in job.rows if (r.nodes, r.cores) == (row.nodes, row.cores) and r.cap != self.setup.different.turbo
        ]
        kept: list[tuple[float, float]] = []
        for watts, speed in sorted((r.power / r.nodes, 1.0 / r.time) for r in same):
            if not kept or (watts > 1.01 * kept[-1][0] and speed > kept[-1][1]):
                kept.append((watts, speed))
        return kept

    def binds(self, job: MoldableJob, row: Row) -> bool:
        """Whether a configuration's cap lowers what its nodes draw."""
        if row.cap == self.setup.different.turbo:
            return False
        return row.power / row.nodes < 0.99 * self.points(job, row)[-1][0]

    def on_nodes(self, job: MoldableJob, row: Row) -> tuple[float, float]:
        """Run time and power (all nodes) of a job in a configuration on the nodes it holds."""
        different = self.setup.different
        if not different.factors:
            return row.time, row.power
        job.rough = self.rough = True
        factors, fixed = [different.factors[node] for node in job.held], different.fixed
        each = row.power / row.nodes
        if not self.binds(job, row):
            return row.time, sum(fixed + v * (each - fixed) for v in factors)
        points = self.points(job, row)
        full = points[-1][0]

        def speed(watts: float) -> float:
            if watts <= points[0][0]:
                return points[0][1] * watts / points[0][0]
            for (a, low), (b, high) in itertools.pairwise(points):
                if watts <= b:
                    return low + (watts - a) / (b - a) * (high - low)
            return points[-1][1]

        if different.equal_speed:
            typical = min(full, fixed + (each - fixed) * len(factors) / sum(factors))
            slowest, drawn = speed(typical), sum(fixed + v * (typical - fixed) for v in factors)
        else:  # every node has the same cap; the thirstiest is the slowest
            slowest = min(speed(min(full, fixed + (each - fixed) / v)) for v in factors)
            drawn = sum(min(each, fixed + v * (full - fixed)) for v in factors)
        return row.time * speed(each) / slowest, drawn

    # -- power that admission counts with

    def power(self) -> float:
        """Watts that count now: what is told where policies are told something else than the truth."""
        drawn = sum(j.told if self.setup.believes else j.nodes * j.draw for j in self.running)
        return len(self.free[0]) * self.idle + drawn

    def headroom(self) -> float:
        """Watts that starts may add."""
        return self.limit_w * (1.0 + SLACK) - self.power() if self.limit_w < math.inf else math.inf

    def gives_back(self, job: MoldableJob) -> float:
        """Watts by which power falls when a running job ends."""
        drains_w = (job.nodes - self.frees(job)) * self.idle  # nodes that idle no more
        return (job.told if self.setup.believes else job.nodes * job.draw) - job.nodes * self.idle + drains_w

    def adds(self, job: MoldableJob, row: Row) -> float:
        """Watts that a start in a configuration adds."""
        return self.told_power(job, row) - row.nodes * self.idle

    # -- jobs start, lose nodes, leave

    def begin(self, job: MoldableJob, row: Row) -> None:
        """Start a job in a configuration."""
        if job.rows:
            job.row = job.first_row = row
            job.nodes, job.work, job.estimate = row.nodes, row.time, row.told_time
            job.left, job.request = job.work, max(job.request, row.told_time)
        self.start(job)
        job.began, job.told = self.now, self.told_power(job, row)
        if job.rows:
            job.work, drawn = self.on_nodes(job, row)
            job.left, job.draw = job.work, drawn / row.nodes
            if self.setup.different.factors:
                job.request = max(job.request, job.work)
                self.doubt(job.request, job.work)

    def stop(self, job: MoldableJob) -> None:  # type: ignore[override]
        """Take a job off its nodes: it held them from its start, whatever its caps were."""
        super().stop(job)
        job.places[-1] = (job.began, *job.places[-1][1:])

    def fail(self, job: MoldableJob) -> None:  # type: ignore[override]
        """Let a job that lost a node begin again and choose again, if it may choose."""
        if not job.rows or not self.setup.requeue:
            super().fail(job)
            return
        self.stop(job)
        job.restarts += 1
        job.begin_again()
        self.enter(job)

    # -- caps that are raised with power left over

    def change_cap(self, job: MoldableJob, row: Row) -> None:
        """Let a running job go on in another configuration: the same part of its work is left."""
        assert job.row is not None
        took = self.now - job.since
        job.energy += job.nodes * job.draw * took
        job.ran += took
        job.left = max(0.0, job.since + job.left - self.now) * row.time / job.row.time
        job.expected = self.now + max(0.0, job.expected - self.now) * row.told_time / job.row.told_time
        job.since = self.now
        if any(math.frexp(t)[0] != 0.5 for r in (row, job.row) for t in (r.time, r.told_time)):
            job.rough = self.rough = True
        job.row, job.draw, job.told = row, row.power / row.nodes, row.told_power
        self.caps.append((self.now, self.jobs.index(job), row.cap))

    def reclaim(self) -> None:
        """Let all go on as they started."""
        for job in self.running:
            if job.row is not None and job.first_row is not None and job.row is not job.first_row:
                self.change_cap(job, job.first_row)

    def next_step(self, job: MoldableJob, row: Row) -> Row | None:
        """The configuration of the same nodes and cores that draws least among those that draw more and are faster."""
        higher = [
            r
            for r in job.rows
            if (r.nodes, r.cores) == (row.nodes, row.cores)
            and r.told_power > row.told_power
            and r.told_time < row.told_time
        ]
        return min(higher, key=lambda r: (r.told_power, r.told_time, r.cap)) if higher else None

    def raise_caps(self) -> None:
        """Give away what is left, step by step, where a watt saves most time; who ends first, then the first in the
        trace, at ties.
        """
        watts = self.headroom()
        wanted = {job: job.row for job in self.running if job.row is not None}
        while True:
            steps = []
            for job, row in wanted.items():
                higher = self.next_step(job, row)
                if higher is None or higher.told_power - row.told_power > watts:
                    continue
                assert job.row is not None
                left = max(0.0, job.expected - self.now) * row.told_time / job.row.told_time
                gain = left * (1.0 - higher.told_time / row.told_time) / (higher.told_power - row.told_power)
                if gain > 0.0:
                    steps.append((-gain, job.expected, self.jobs.index(job), job, higher))
            if not steps:
                break
            steps.sort(key=lambda step: step[:3])
            for other in steps[1:2]:
                self.doubt(steps[0][0], other[0])
            job, higher = steps[0][3:]
            watts -= higher.told_power - wanted[job].told_power
            wanted[job] = higher
        for job, row in wanted.items():
            if row is not job.row:
                self.change_cap(job, row)

    # -- the pass

    def do_pass(self, happened: set[str]) -> None:
        """Take raised caps back if somebody waits or the limit changed, start who may start, then raise caps."""
        changed = ENVELOPE in happened
        if self.setup.dynamic_order and self.setup.order:
            for job in self.queue:
                job.key = self.setup.order(job, self.now)
        self.queue.sort(key=lambda j: (j.key, j.seq))
        if self.queue or self.setup.leftover:
            for job in self.running:
                self.doubt(job.expected, self.now)
            self.expect_anew()
        if self.setup.leftover and (self.queue or changed):
            self.reclaim()
        if self.queue:
            self.plan()
        if self.setup.leftover:
            self.raise_caps()

    def plan(self) -> None:
        """Start who may start."""
        raise NotImplementedError
