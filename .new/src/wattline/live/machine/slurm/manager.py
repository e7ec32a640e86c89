"""Slurm as a resource manager: jobs start on the nodes that we name, stop and go on with their nodes and time."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from wattline.live.machine.base import Form, ManagerError
from wattline.live.machine.slurm.commands import is_gone
from wattline.live.machine.slurm.judge import PENDING, Known, is_entry, is_held, is_put_back_held
from wattline.live.machine.slurm.marks import Mark
from wattline.live.machine.slurm.molding import asked_for, molded, sized
from wattline.live.machine.slurm.watching import MOST_AT_ONCE, Watching

UNANSWERED = 3
"""After so many commands in a row without an answer the others are not given, in this round."""


@dataclass
class SlurmManager(Watching):
    """A resource manager by Slurm's commands."""

    def release(self, job: str, on: Sequence[str], form: Form | None = None) -> str | None:
        """Let a waiting job start on these nodes; with a form, on as many as they are, with the form's time limit."""
        known = self._jobs.get(job)
        if known is None or known.row is None:
            return "no such job"
        if known.phase in ("running", "paused", "completing", "starting") and known.mark.word != "held":
            return None if set(known.on) == set(on) else f"it is {known.phase} on other nodes"
        if known.phase != "waiting":
            return self._not("released", known)
        asked, row = self._nodes(known.row, known.mark), known.row
        nodes = asked if form is None else len(on)
        if len(set(on)) != nodes:
            return f"it asks for {nodes} nodes, not {len(set(on))}"
        misplaced = self._machine.why_not(on, row.partitions)
        if misplaced:
            return misplaced
        fits = self._fits.of(row, nodes, known.excluded)
        if fits is not None and not fits.issuperset(on):
            unfit = ",".join(sorted(set(on) - fits)[:4])
            return f"nodes {unfit} do not suit it (memory, CPUs, generic resources, or excluded)"
        self._count(2)
        mark = known.mark.waits("run") if form is None else molded(known.mark, asked, row.limit_s, form)
        changes = {"reqnodelist": ",".join(on), "numnodes": f"{nodes}-{nodes}"}
        if mark.asked:
            changes |= asked_for(mark, row) | sized(row, nodes)
        if form is not None and math.isfinite(form.limit_s):
            changes["timelimit"] = str(math.ceil(form.limit_s / 60.0))
        known.tried, known.tried_mark = tuple(on), mark
        why = self.commands.update(job, **changes, admincomment=str(mark))
        if why is None:
            why = self.commands.release(job)
        if why is None:
            known.mark, known.on, known.phase = mark, tuple(on), "starting"
        return why

    def hold(self, job: str) -> str | None:
        """Let a job that was released and has not started wait again."""
        known = self._jobs.get(job)
        if known is None:
            return "no such job"
        if known.phase == "waiting":
            return None
        if known.phase != "starting" or known.row is None or known.row.state not in PENDING:
            return self._not("held", known)
        self._count(1)
        why = self.commands.update(job, **self._waiting(known))
        if why is None:
            self._held(job)
            known.phase = "waiting"
        return why

    def stop(self, job: str) -> str | None:
        """Stop the processes of a running job; it keeps its nodes."""
        known = self._jobs.get(job)
        if known is None or known.row is None:
            return "no such job"
        if known.phase == "paused" and known.mark.word == "stopped":
            self._count(1)
            why = self.commands.signal(job, "STOP")  # its node's agent may have let it go on, which Slurm does not know
            known.over = why is not None and is_gone(why)
            return why
        if known.phase == "paused":
            return None
        if known.phase != "running":
            return self._not("stopped", known)
        if not self.rules.may_stop(known.row):
            return "jobs of several tasks or nodes are not stopped unless the site or the job says so"
        now_s = self.clock.now_s()
        if now_s - known.went_on_s < self.rules.stop_again_s:
            return f"it went on {now_s - known.went_on_s:.0f} s ago, stops are {self.rules.stop_again_s:g} s apart"
        self._count(2 if self.rules.stop == "all" else 3)
        if self.rules.stop != "all" and self.commands.steps(job):
            return "it has job steps (srun), which may be MPI"
        mark = known.mark if known.mark.word == "stopped" else known.mark.stopped(now_s)
        why = self.commands.update(job, admincomment=str(mark)) or self.commands.signal(job, "STOP")
        if why is None:
            known.mark, known.phase = mark, "paused"
        return why

    def cont(self, job: str) -> str | None:
        """Let a stopped job go on; its time limit is extended by the pause."""
        known = self._jobs.get(job)
        if known is None:
            return "no such job"
        if known.phase == "running" and known.mark.word != "stopped":
            return None
        if known.phase not in ("running", "paused"):
            return self._not("continued", known)
        if known.mark.word != "stopped":
            return "it was stopped by others"
        now_s = self.clock.now_s()
        self._count(3, wait=False)
        why = self.commands.signal(job, "CONT")  # first of all: whatever else fails, it goes on
        if why is not None:
            known.over = is_gone(why)
            return why
        owed_min = known.mark.owed_min(now_s)
        if owed_min and known.row is not None and math.isfinite(known.row.limit_s):
            self._extend(job, known, owed_min)
        known.mark = known.mark.goes_on(now_s)
        known.phase, known.went_on_s = "running", now_s
        self.commands.update(job, admincomment=str(known.mark))
        return None

    def requeue(self, job: str) -> str | None:
        """Take a running job from its nodes and let it wait again."""
        known = self._jobs.get(job)
        if known is None or known.row is None:
            return "no such job"
        if known.phase == "waiting" or (known.mark.word == "requeued" and known.phase in ("completing", "ineligible")):
            return None
        if known.phase == "starting" and known.row.state in PENDING:
            return self.hold(job)
        if known.phase not in ("running", "paused", "starting"):
            return self._not("requeued", known)
        self._count(2)
        mark = known.mark.waits("requeued")
        why = self.commands.update(job, admincomment=str(mark)) or self.commands.requeue(job)
        if why is None:
            known.mark, known.phase = mark, "ineligible"
        return why

    def _not(self, done: str, known: Known) -> str:
        reason = known.row.reason if known.row is not None and known.phase == "ineligible" else ""
        return f"it is {known.phase}{f' ({reason})' if reason else ''} and cannot be {done}"

    def _count(self, commands: int, *, wait: bool = True) -> None:
        """Count the commands of an action; where they are too many in a second, all of them have to wait."""
        now_s = self.clock.now_s()
        while self._acted_s and self._acted_s[0] <= now_s - 1.0:
            self._acted_s.popleft()
        if wait and self._acted_s and len(self._acted_s) + commands > self.rules.most_per_s:
            raise ManagerError(f"more than {self.rules.most_per_s:g} commands in a second, the others wait")
        self._acted_s.extend([now_s] * commands)
        self.commands.begin()

    def leave(self, job: str, why: str) -> str | None:
        """Let Slurm start a waiting job when and where it likes; it is left alone from now on, by all controllers."""
        known = self._jobs.get(job)
        if known is None or known.row is None:
            return "no such job"
        if known.mark.word == "theirs":
            return None
        if known.phase not in ("waiting", "starting") or known.row.state not in PENDING:
            return self._not("given back", known)
        self._count(2)
        left = f"{Mark('left')} {why}".rstrip()
        changes = {"reqnodelist": "", "admincomment": left, **asked_for(known.mark, known.row)}
        refused = self.commands.update(job, **changes) or self.commands.release(job)
        if refused is None:
            known.mark, known.left, known.phase = Mark("theirs"), why, "ineligible"
        return refused

    def explain(self, job: str, why: str) -> str | None:
        """Note at a job under our hold why it waits, behind our mark in its AdminComment."""
        known = self._jobs.get(job)
        if known is None or known.row is None:
            return "no such job"
        if known.phase != "waiting" or known.mark.word != "held":
            return self._not("given a reason", known)
        self._count(1)
        return self.commands.update(job, admincomment=f"{known.mark} {why}".rstrip())

    def give_back(self) -> dict[str, str | None]:
        """Let Slurm schedule all jobs that wait under our hold (``wattline off``); return each, and why not."""
        self.snapshot()
        entry: list[str] = []
        plain: list[str] = []
        other: list[str] = []
        for job, known in self._jobs.items():
            row = known.row
            pending = row is not None and row.state in PENDING  # not CONFIGURING: it has its nodes
            if row is None or not pending or (known.left and not is_held(row)) or is_put_back_held(row):
                continue
            if known.mark.word in ("held", "run", "requeued"):
                (other if known.mark.asked or row.wanted or known.tried else plain).append(job)
            elif known.mark.word == "" and is_entry(row):  # seen by nobody yet
                entry.append(job)
        found: dict[str, str | None] = {}
        unanswered = 0
        line = deque([*_parts(entry, MOST_AT_ONCE), *_parts(plain, MOST_AT_ONCE), *([job] for job in other)])
        while line:
            jobs = line.popleft()
            if unanswered == UNANSWERED:
                found |= dict.fromkeys(jobs, "not tried: Slurm does not answer")
                continue
            try:
                self._give(jobs, found)
                unanswered = 0
            except ManagerError as problem:  # the others are tried all the same
                unanswered += 1
                left = [job for job in jobs if job not in found]
                if len(jobs) == 1:
                    found |= dict.fromkeys(left, str(problem))
                else:
                    line.extendleft([job] for job in reversed(left))
        return found

    def _give(self, jobs: Sequence[str], found: dict[str, str | None]) -> None:
        """Give jobs back that are alike, with few commands; one by one where Slurm refuses that."""
        known = self._jobs[jobs[0]]
        names, marked = ",".join(jobs), bool(known.mark.word)  # nobody has touched the others yet
        self.commands.begin()
        free = {"reqnodelist": ""} if marked and len(jobs) == 1 else {}  # Slurm changes these of one job at a time
        changes = {**free, **asked_for(known.mark, known.row)} if marked else {}
        why = (self.commands.update(names, **changes) if changes else None) or self.commands.release(names)
        if why is not None and len(jobs) > 1:
            for job in jobs:
                self._give([job], found)
            return
        if why is not None:
            if not is_gone(why):
                found[names] = why
            return
        # last of all: without its mark nobody would know that we held it
        self.commands.update(names, admincomment=str(Mark("free")))
        for job in jobs:
            self._jobs[job].mark, self._jobs[job].left = Mark("theirs"), "given back to Slurm"
            found[job] = None

    def close(self) -> None:
        """Nothing is open; jobs stay as they are."""


def _parts(jobs: Sequence[str], most: int) -> list[Sequence[str]]:
    """Return jobs in parts of so many at most."""
    return [jobs[at : at + most] for at in range(0, len(jobs), most)]
