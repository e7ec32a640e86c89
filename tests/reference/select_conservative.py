"""Conservative backfilling: a reservation for every waiting job, kept as a list of steps of what is free.

Readings: a running job is expected to be gone at its estimated end, which may be now: a job that is promised its nodes
begins when they are free. Nodes that drain come back to nobody. A
reservation of no length takes its instant: nobody may run across it, and others begin once it is over. The plan is
repaired in its own order, by reserved start and then by the line at the pass before; a job whose nodes or watts no
reservation can give yet has none and tries again at every pass: in its turn of the line where something changed, after
those with a promise where nothing did. A start keeps its promise: a job that loses its nodes is a newcomer.
"""

from __future__ import annotations

import bisect
import math
from typing import TYPE_CHECKING

from reference.plan_times import NEVER, Time, until

if TYPE_CHECKING:
    from reference.scheduler import Job, Scheduler


class Steps:
    """What is free from now on, as a step function: ``amount[i]`` from ``time[i]`` on."""

    def __init__(self, now: Time, amount: float) -> None:
        self.time, self.amount = [now], [amount]

    def add(self, start: Time, end: Time, amount: float) -> None:
        """Free an amount between two times (a negative one is taken)."""
        first, last = self.cut(start), self.cut(end)
        for i in range(first, last):
            self.amount[i] += amount

    def cut(self, t: Time) -> int:
        """Let a step begin at a time; return its number."""
        if t == NEVER:
            return len(self.time)
        i = bisect.bisect_left(self.time, t)
        if i == len(self.time) or self.time[i] != t:
            self.time.insert(i, t)
            self.amount.insert(i, self.amount[i - 1])
        return i

    def holds(self, need: float, start: Time, length: float) -> bool:
        """Whether so much is free at a time, and until the end of a span that begins then."""
        begins = bisect.bisect_right(self.time, start) - 1
        ends = bisect.bisect_left(self.time, until(start, length))
        return all(amount >= need for amount in self.amount[begins:ends])


class Plan:
    """The nodes of each class and the watts that are free, and the reservations cut out of them."""

    def __init__(self, m: Scheduler) -> None:
        self.m, self.now = m, (m.now, 0)
        self.nodes = [Steps(self.now, len(free)) for free in m.free]
        self.watts = Steps(self.now, m.headroom()) if m.limit_w < math.inf else None
        for job in m.running:
            gone = (max(job.expected, m.now), 0)
            self.nodes[job.pool].add(gone, NEVER, m.frees(job))
            if self.watts:
                self.watts.add(gone, NEVER, m.gives_back(job))

    def holds(self, job: Job, at: Time) -> bool:
        """Whether a job may begin at a time and run as long as it is estimated to."""
        left = self.m.wall_s(job)
        if not self.nodes[job.pool].holds(job.nodes, at, left):
            return False
        return self.watts is None or self.watts.holds(self.m.increase(job), at, left)

    def hole(self, job: Job) -> Time:
        """The first time at which a job may begin (``NEVER``: none)."""
        times = self.nodes[job.pool].time
        if self.watts:
            times = sorted({*times, *self.watts.time})
        return next((t for t in times if self.holds(job, t)), NEVER)

    def book(self, job: Job, at: Time, sign: int = -1) -> None:
        """Take (or give back) what a job needs that begins at a time."""
        if at < NEVER:
            end = until(at, self.m.wall_s(job))
            self.nodes[job.pool].add(at, end, sign * job.nodes)
            if self.watts:
                self.watts.add(at, end, sign * self.m.increase(job))


def conservative(m: Scheduler, happened: set[str]) -> None:
    """Keep the promises, let jobs move forward where something changed, promise newcomers the first hole, start who is
    due.
    """
    starts = m.promised
    plan = Plan(m)
    changed = bool(happened & {"end", "node", "envelope"})
    for job, at in starts.items():  # in the order of the plan
        starts[job] = max(at, plan.now)
        if at == NEVER and changed:
            continue
        if at == NEVER or not plan.holds(job, starts[job]):
            starts[job] = plan.hole(job)
        plan.book(job, starts[job])
    if changed:
        for job in m.queue:
            if job in starts and plan.now < starts[job]:
                plan.book(job, starts[job], 1)
                starts[job] = min(starts[job], plan.hole(job))
                plan.book(job, starts[job])
    depth = int(m.setup.params.get("depth", 0))
    for job in m.queue:
        planned = sum(j.pool == job.pool for j in starts) if depth else 0
        if job not in starts and (not depth or planned < depth):
            starts[job] = plan.hole(job)
            plan.book(job, starts[job])
    in_plan = sorted(starts, key=lambda j: (starts[j], j.key, j.seq))
    again = {job: starts[job] for job in in_plan}
    starts.clear()
    starts.update(again)
    for p in range(len(m.setup.classes)):
        for job in in_plan:
            if job.pool == p and starts[job] == plan.now and m.fits(job):
                m.start(job)
