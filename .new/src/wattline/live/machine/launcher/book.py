"""All jobs and nodes of a launcher: what is known, what is shown, what is written down, and when to look again."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from wattline.live.clock import Clock
from wattline.live.machine.launcher.changes import Changes
from wattline.live.machine.launcher.machine import Nodes
from wattline.live.machine.launcher.record import HOLDING, Job
from wattline.live.machine.launcher.store import Store

RETRY_S = 1.0
"""Seconds after which a job's file that could not be written is tried again."""

Log = Callable[[str, dict[str, object]], None]


@dataclass
class Book:
    """The jobs of a launcher.

    Parameters
    ----------
    keep_ended_s, keep_unseen_s
        How long a job that has ended is remembered after somebody has acknowledged it, and if nobody does.
    log
        Told of each event and each fault: a word and what belongs to it.
    """

    store: Store
    nodes: Nodes
    clock: Clock
    log: Log
    keep_ended_s: float = 600.0
    keep_unseen_s: float = 86400.0
    jobs: dict[str, Job] = field(default_factory=dict)
    changes: Changes = field(default_factory=Changes)
    counts: Counter[str] = field(default_factory=Counter)
    tokens: dict[str, str] = field(default_factory=dict)
    """What submitters called their submissions, to the job."""
    unsaved: set[str] = field(default_factory=set)
    """Jobs whose file is older than what is known."""
    nodes_changed: int = 0
    """Number of the change after which nodes were last drained or resumed."""
    _followers: dict[str, set[str]] = field(default_factory=dict)
    _timers: list[tuple[float, str, str]] = field(default_factory=list)
    _armed: dict[tuple[str, str], float] = field(default_factory=dict)

    def add(self, job: Job) -> None:
        """Take a job in that was just submitted or read from its file."""
        self.jobs[job.id] = job
        if job.token:
            self.tokens[job.token] = job.id
        for other in job.after:
            self._followers.setdefault(other, set()).add(job.id)
        if job.phase in HOLDING:
            self.nodes.take(job.id, job.nodes)
        if job.phase == "ended":
            self.keep(job)
        self.show(job)

    def show(self, job: Job) -> None:
        """Let clients see how a job is now."""
        if job.acknowledged:
            self.changes.drop(job.id)
        else:
            self.changes.show(job.id, job.row(stoppable=self.nodes.stops(job.nodes if job.phase in HOLDING else ())))

    def save(self, job: Job) -> None:
        """Write a job's file, or try again until it is written."""
        try:
            self.store.save(job)
            self.unsaved.discard(job.id)
        except OSError as problem:
            self.counts["write_failed"] += 1
            self.log("write-failed", {"job": job.id, "why": problem.strerror or str(problem)})
            self.unsaved.add(job.id)
            self.arm("", "save", self.clock.now_s() + RETRY_S)

    def became(self, job: Job) -> None:
        """Show a change and write it down."""
        self.show(job)
        self.save(job)

    def why_ineligible(self, job: Job) -> str:
        """Return why a job may not start yet; nothing when it may."""
        if any(other in self.jobs and self.jobs[other].phase != "ended" for other in job.after):
            return "Dependency"
        return "BeginTime" if job.begin_s > self.clock.now_s() else ""

    def queue(self, job: Job, reason: str = "") -> None:
        """Let a job wait, or wait to be allowed to wait."""
        self.nodes.free(job.id, job.nodes)
        job.nodes, job.form, job.pgid, job.keeper, job.again = [], {}, 0, 0, False
        job.start_s, job.since_s, job.used_s, job.exit = math.nan, math.nan, 0.0, None
        why = self.why_ineligible(job)
        job.phase, job.reason = ("ineligible", why) if why else ("waiting", reason)
        job.eligible_s = math.nan if why else self.clock.now_s()
        if why == "BeginTime":
            self.arm(job.id, "begin", job.begin_s)

    def look_again(self, job: Job) -> None:
        """Let a job that was not to be started yet wait, if it may now."""
        if job.phase == "ineligible":
            self.queue(job)
            self.became(job)

    def end(self, job: Job, end_s: float, exit_code: int | None, reason: str) -> None:
        """Note a job's end, not before its begin, and let those go on that waited for it."""
        end_s = end_s if math.isnan(job.start_s) else max(end_s, job.start_s)
        self.nodes.free(job.id, job.nodes)
        if not math.isnan(job.since_s):
            job.pause_clock(max(end_s, job.since_s))
        job.phase, job.end_s, job.exit, job.reason, job.again = "ended", end_s, exit_code, reason, False
        self.counts["ended"] += 1
        self.log("ended", {"job": job.id, "exit": exit_code, "reason": reason})
        self.became(job)
        self.keep(job)
        for follower in sorted(self._followers.pop(job.id, ()), key=int):
            if follower in self.jobs:
                self.look_again(self.jobs[follower])

    def keep(self, job: Job) -> None:
        """Remember a job that has ended for a while."""
        self.arm(job.id, "prune", job.end_s + (self.keep_ended_s if job.acknowledged else self.keep_unseen_s))

    def forget(self, job: Job) -> None:
        """Forget a job and remove its files."""
        try:
            self.store.forget(job)
        except OSError as problem:
            self.log("remove-failed", {"job": job.id, "why": problem.strerror or str(problem)})
            self.arm(job.id, "prune", self.clock.now_s() + 60.0 * RETRY_S)
            return
        del self.jobs[job.id]
        self.unsaved.discard(job.id)
        self.tokens.pop(job.token, None)
        for other in job.after:
            self._followers.get(other, set()).discard(job.id)
        self._followers.pop(job.id, None)
        self.changes.drop(job.id)

    def arm(self, job: str, what: str, at_s: float) -> None:
        """Look at a job again at a time, unless that was to be done before anyway."""
        if at_s < self._armed.get((job, what), math.inf):
            self._armed[(job, what)] = at_s
            heapq.heappush(self._timers, (at_s, job, what))

    def next_s(self) -> float:
        """Return when to look again."""
        return self._timers[0][0] if self._timers else math.inf

    def due(self, now_s: float) -> list[tuple[str, str]]:
        """Return jobs to look at, and for what."""
        found = []
        while self._timers and self._timers[0][0] <= now_s:
            at_s, job, what = heapq.heappop(self._timers)
            if self._armed.get((job, what)) == at_s:
                del self._armed[(job, what)]
                found.append((job, what))
        return found
