"""A plain scheduler of jobs that need a vector: nodes of a class, watts, and resources of the whole machine.

Written from docs/scenario.md and docs/resources.md, not from the engine: dictionaries, a list for the line, and every
pass looked at from the beginning.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Vector = dict[str, float]

LEAST_S = 60.0
"""A running job whose estimate has passed counts as lasting as long again as it has run, at least this."""


@dataclass
class PlainJob:
    """A job: what it needs is ``need`` by name; its node class is ``nodes_of``."""

    submit_s: float
    work_s: float
    estimate_s: float
    nodes_of: str
    need: Vector
    start_s: float = math.nan
    end_s: float = math.inf
    expected_s: float = math.inf
    """When it ends by its estimate; one that has run out is renewed (docs/design.md)."""


@dataclass
class Plain:
    """The machine: what is left of everything, who waits in the order of arrival, who runs."""

    left: Vector
    select: str
    depth: int = 0
    waiting: list[PlainJob] = field(default_factory=list)
    running: list[PlainJob] = field(default_factory=list)

    def choose(self, now: float) -> list[PlainJob]:
        """Return whom to start now."""
        for job in self.running if self.waiting else ():
            if job.expected_s < now:
                job.expected_s = now + max(now - job.start_s, LEAST_S)
        return {"in-order": self._in_order, "first-fit": self._first_fit, "easy": self._easy}[self.select](now)

    def _in_order(self, now: float) -> list[PlainJob]:
        left, chosen, blocked = dict(self.left), [], set()
        for job in self.waiting:
            if job.nodes_of in blocked:
                continue
            if job.need[job.nodes_of] > left[job.nodes_of]:
                blocked.add(job.nodes_of)
            elif fits(job, left):
                take(job, left)
                chosen.append(job)
            else:
                break
        return chosen

    def _first_fit(self, now: float) -> list[PlainJob]:
        left, chosen = dict(self.left), []
        for job in self.waiting:
            if fits(job, left):
                take(job, left)
                chosen.append(job)
        return chosen

    def _easy(self, now: float) -> list[PlainJob]:
        left, chosen = dict(self.left), []
        line = list(self.waiting)
        while line and fits(line[0], left):
            job = line.pop(0)
            take(job, left)
            chosen.append(job)
        if not line:
            return chosen
        head = line.pop(0)
        shadow_s, extra = self._reserve(head, left, chosen, now)
        for looked, job in enumerate(line, 1):
            if self.depth and looked > self.depth:
                break
            if not fits(job, left):
                continue
            if job.estimate_s > shadow_s - now:
                if not fits(job, extra):
                    continue
                take(job, extra)
            take(job, left)
            chosen.append(job)
        return chosen

    def _reserve(
        self, head: PlainJob, left: Mapping[str, float], chosen: Sequence[PlainJob], now: float
    ) -> tuple[float, Vector]:
        """Return when the head can start by the estimates, and what is left beside it then."""
        ends = [(job.expected_s, job) for job in self.running]
        ends += [(now + job.estimate_s, job) for job in chosen]
        free = dict(left)
        for time_s in sorted({now, *(end for end, _ in ends)}):
            for end, job in ends:
                if end == time_s:
                    give(job, free)
            if fits(head, free):
                take(head, free)
                return time_s, free
        return math.inf, free


def fits(job: PlainJob, left: Mapping[str, float]) -> bool:
    """Tell whether there is enough of everything."""
    return all(amount <= left[name] for name, amount in job.need.items())


def take(job: PlainJob, left: Vector) -> None:
    """Take what a job needs."""
    for name, amount in job.need.items():
        left[name] -= amount


def give(job: PlainJob, left: Vector) -> None:
    """Give back what a job took."""
    for name, amount in job.need.items():
        left[name] += amount


def schedule(jobs: Sequence[PlainJob], totals: Vector, select: str, depth: int = 0) -> list[float]:
    """Return when every job starts; all pass what there is in all."""
    machine = Plain(dict(totals), select, depth)
    coming = list(jobs)
    while coming or machine.running:
        now = min([job.submit_s for job in coming[:1]] + [job.end_s for job in machine.running])
        for job in [job for job in machine.running if job.end_s <= now]:
            machine.running.remove(job)
            give(job, machine.left)
        while coming and coming[0].submit_s <= now:
            machine.waiting.append(coming.pop(0))
        for job in machine.choose(now):
            job.start_s, job.end_s, job.expected_s = now, now + job.work_s, now + job.estimate_s
            take(job, machine.left)
            machine.waiting.remove(job)
            machine.running.append(job)
    assert not machine.waiting
    return [job.start_s for job in jobs]
