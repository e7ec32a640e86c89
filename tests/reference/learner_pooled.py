"""A plain machine under a power limit whose jobs' powers are learned and pooled: lists of samples, all subsets tried.

Written from docs/learner.md (``pooled``), not from the learner or the margin: the margin is the least over all ways to
part the jobs, one after the other.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

ENOUGH, OWN_WEIGHT = 20, 3.0
TOLERANCE = 1.0 + 1e-9


def margin_w(rooms: Sequence[float], variances: Sequence[float], z: float) -> float:
    """Return the least margin: some jobs are counted with the most they draw, the others share a deviation."""
    jobs = range(len(rooms))
    ways = itertools.chain.from_iterable(itertools.combinations(jobs, n) for n in range(len(rooms) + 1))
    return min(
        sum(rooms[i] for i in whole) + z * math.sqrt(sum(variances[i] for i in jobs if i not in whole))
        for whole in ways
    )


@dataclass
class PlainJob:
    """A job; ``watts`` are those of a node, one value for each step of its run."""

    submit: float
    work: float
    nodes: int
    levels: tuple[int, ...]
    watts: Sequence[float]
    started: float = math.nan
    mean: float = 0.0
    spread: float = 0.0
    own: list[float] = field(default_factory=list)


@dataclass
class Machine:
    """Nodes that are alike, a limit, samples at a step, and the parameters of the learner."""

    nodes: int
    idle: float
    most: float
    limit: float
    step: float
    miss: float
    rate: float
    z: float
    in_order: bool
    samples: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    late: int = 0

    def tell(self, job: PlainJob) -> None:
        """Set mean and spread of a job by the first level that is known."""
        job.mean, job.spread = self.most, 0.0
        for level in job.levels:
            known = self.samples[level]
            if len(known) >= ENOUGH:
                whole = OWN_WEIGHT * float(np.mean(known)) + math.fsum(job.own)
                job.mean = min(whole / (OWN_WEIGHT + len(job.own)), self.most)
                job.spread = float(np.std(known, ddof=1))
                return

    def counted(self, running: Iterable[PlainJob]) -> float:
        """Return the power that is counted with while these jobs run."""
        jobs = list(running)
        spread = [j for j in jobs if j.spread > 0.0 and j.mean < self.most]
        margin = margin_w(
            [j.nodes * (self.most - j.mean) for j in spread], [(j.nodes * j.spread) ** 2 for j in spread], self.z
        )
        idle = self.idle * (self.nodes - sum(j.nodes for j in jobs))
        return sum(j.nodes * j.mean for j in jobs) + margin + idle

    def sampled(self, now: float, running: Sequence[PlainJob], waiting: Sequence[PlainJob]) -> None:
        """Calibrate the margin by what running jobs draw, and learn from it."""
        drawn = [j.watts[min(len(j.watts) - 1, int((now - j.started) / self.step + 1e-6))] for j in running]
        if any(j.spread > 0.0 and j.mean < self.most for j in running):
            idle = self.idle * (self.nodes - sum(j.nodes for j in running))
            late = (
                sum(j.nodes * w for j, w in zip(running, drawn, strict=True))
                > (self.counted(running) - idle) * TOLERANCE
            )
            self.late += late
            self.z = max(0.0, self.z + self.rate * (late - self.miss))
        for j, watts in zip(running, drawn, strict=True):
            j.own.append(watts)
            for level in j.levels:
                self.samples[level].append(watts)
        for j in [*running, *waiting]:
            self.tell(j)

    def start(self, now: float, running: list[PlainJob], waiting: list[PlainJob]) -> None:
        """Start waiting jobs as nodes and the limit allow; what several of them add is summed."""
        base = self.counted(running)
        room, free = self.limit * TOLERANCE - base, self.nodes - sum(j.nodes for j in running)
        begun: list[PlainJob] = []
        for job in list(waiting):
            adds = self.counted([*running, job]) - base
            if job.nodes <= free and adds <= room:
                room, free = room - adds, free - job.nodes
                job.started = now
                begun.append(job)
                waiting.remove(job)
            elif self.in_order:
                break
        running += begun

    def run(self, jobs: Sequence[PlainJob], watch: Callable[[float], None] = lambda _: None) -> None:
        """Let all jobs come, run and end; ``watch`` is told what is counted after every change.

        Samples are counted from when the first job comes.
        """
        coming, waiting, running = sorted(jobs, key=lambda j: j.submit), list[PlainJob](), list[PlainJob]()
        begin = coming[0].submit
        sample = begin + self.step
        while coming or waiting or running:
            ends = [j.started + j.work for j in running]
            now = min([*ends, *(j.submit for j in coming[:1]), sample])
            running = [j for j in running if j.started + j.work > now]
            if now == sample:
                self.sampled(now, running, waiting)
                sample += self.step
            while coming and coming[0].submit <= now:
                self.tell(coming[0])
                waiting.append(coming.pop(0))
            self.start(now, running, waiting)
            watch(self.counted(running))
