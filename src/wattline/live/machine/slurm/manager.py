"""Slurm as a resource manager: jobs wait under our hold, start on the nodes we name, stop and go on with their nodes.

A snapshot takes one squeue and one sinfo; jobs that came are put under an administrator's hold in the same turn. What
we did to a job is noted at the job itself (``marks.py``), so that a controller that is started anew knows it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from wattline.live.clock import Clock
from wattline.live.machine.base import Abilities, Form, JobSeen, ManagerError, Phase, Snapshot, one_line
from wattline.live.machine.slurm.commands import Commands, is_gone
from wattline.live.machine.slurm.depend import Others
from wattline.live.machine.slurm.judge import ENDED, PENDING, Known, is_held, judge_pending, judge_present, seen
from wattline.live.machine.slurm.marks import Mark, read_mark
from wattline.live.machine.slurm.rules import Rules
from wattline.live.machine.slurm.site import Machine, notes_of
from wattline.live.machine.slurm.text import JobRow

MOST_AT_ONCE, MOST_HELD = 100, 500
"""Jobs that one scontrol holds, and that are held in one look."""
SETTLE_S = 5.0
"""Slurm may show the state before a signal for so long."""
LOST_S = 60.0
"""A job that stands still this soon after it was told to go on was not stopped by others."""
NEVER_S = 3600.0
"""A job whose dependency can never be satisfied is tried again after this."""
SOON_S = 90.0
"""A stopped job whose limit is nearer than this gets two minutes more: Slurm's clock runs on for it."""


@dataclass
class SlurmManager:
    """A resource manager by Slurm's commands.

    Parameters
    ----------
    act
        False: hold nothing, only look (a dry run, ``--check``).
    """

    commands: Commands
    rules: Rules = field(default_factory=Rules)
    clock: Clock = field(default_factory=Clock)
    act: bool = True
    abilities: Abilities = field(default_factory=Abilities)
    problems: dict[str, str] = field(default_factory=dict)
    """Jobs that are not led though nobody asked for that, could not be held or not be given more time, and why."""
    _jobs: dict[str, Known] = field(default_factory=dict, init=False, repr=False)
    _machine: Machine = field(default_factory=Machine, init=False, repr=False)
    _said: dict[str, str] = field(default_factory=dict, init=False, repr=False)
    _told: bool = field(default=False, init=False, repr=False)
    _acted_s: deque[float] = field(default_factory=deque, init=False, repr=False)

    # ------------------------------------------------------------------ looking

    def snapshot(self) -> Snapshot:
        """Return all jobs and nodes as they are now; hold those that came."""
        self._begin()
        self.commands.begin()
        rows = self.commands.jobs()
        machine = Machine.of(self.commands.nodes())
        if machine.least_cpus != self._machine.least_cpus:  # jobs may need other numbers of nodes
            for known in self._jobs.values():
                known.told = None
        self._machine = machine
        now_s = self.clock.now_s()
        jobs = self._take(rows, now_s)
        new = [f"job {job}: {why}" for job, why in self.problems.items() if self._said.get(job) != why]
        self._said = dict(self.problems)
        return Snapshot(now_s, jobs, self._machine.seen(), new)

    def look_at_site(self) -> Abilities:
        """Ask how Slurm is configured and say what it cannot do."""
        self.abilities = replace(
            Abilities(molds=True), notes=notes_of(self.commands.config(), self.commands.shared_partitions(), self.rules)
        )
        return self.abilities

    def _begin(self) -> None:
        """Read what an earlier controller noted, once."""
        if self._told:
            return
        self.commands.begin(2.0)
        self.look_at_site()
        for job, text in self.commands.admin_comments().items():
            mark = read_mark(text)
            if mark.word:
                self._jobs[job] = Known(mark)
        self._told = True

    def _take(self, rows: Sequence[JobRow], now_s: float) -> list[JobSeen]:
        found: list[JobSeen] = []
        hold: list[str] = []
        back: list[str] = []
        others = Others(rows, PENDING, ENDED)
        for row in rows:
            known = self._jobs.get(row.id)
            if known is not None and (told := known.same(row)) is not None:
                known.phase = told.phase
                found.append(told)
                continue
            fresh = known is None or known.row is None
            known = self._jobs.setdefault(row.id, Known()) if known is None else known
            if fresh:
                self._meet(row, known)
            reason, do = row.reason, ""
            if row.state in PENDING:
                self._see_pending(row, known)
                verdict = judge_pending(row, known, now_s, others)
                phase, reason, do = verdict.phase, verdict.reason, verdict.do
                if verdict.do == "hold":
                    hold.append(row.id)
                    if known.mark.word == "run":
                        never = NEVER_S if "NeverSatisfied" in reason else 0.0
                        known.limited_until_s = now_s + max(never, self.rules.limit_again_s)
                        known.limit = reason
                elif verdict.do == "give back":
                    back.append(row.id)
                elif reason == "released by an administrator":
                    known.mark, known.left = Mark("theirs"), reason
            else:
                phase = self._present(row, known, now_s)
            known.row, known.phase = row, phase
            found.append(seen(row, known, phase, reason, self.rules, self._nodes(row, known.mark)))
            known.settle(row, found[-1], do=do)
        found += self._vanished({row.id for row in rows}, now_s)
        if self.act:
            self._hold_all(hold[:MOST_HELD])  # the others at the next look
            self._give_back(back)
        unheld = {job for job in hold if self.act and self._jobs[job].mark.word != "held"}
        if unheld:  # not ours yet: nobody is to start it
            found = [replace(job, phase="ineligible") if job.id in unheld else job for job in found]
            for job in unheld:
                self._jobs[job].phase = "ineligible"
        return found

    def _meet(self, row: JobRow, known: Known) -> None:
        """Look at a job that is seen for the first time."""
        known.on = row.on or row.wanted
        if row.state not in PENDING:
            known.left = self.rules.why_left(row)
        elif row.wanted and known.mark.word == "":
            known.named = f"asks for nodes by name ({','.join(row.wanted[:4])})"
        elif known.mark.word == "run" and row.priority == 0.0:
            known.mark = known.mark.waits("held")  # we were cut off between the two commands of a release

    def _see_pending(self, row: JobRow, known: Known) -> None:
        """Look again whether a job is led; notice one that was put back into the queue."""
        if known.mark.word != "theirs":
            known.left = self.rules.why_left(row) or known.named
            if known.left and (row.het or known.named):
                self.problems[row.id] = known.left
        if known.mark.word == "held" and not is_held(row) and known.tried and set(row.wanted) == set(known.tried):
            known.mark, known.on = known.tried_mark, known.tried  # our release, whose answer got lost
        came_back = known.phase in ("running", "paused", "completing") or row.reason == "BeginTime"
        if known.mark.word in ("run", "stopped") and came_back:
            known.mark = known.mark.waits("requeued")

    def _nodes(self, row: JobRow, mark: Mark) -> int:
        """Return how many nodes a job needs: as it says, or as its CPUs take; of a moldable one, what it asked for."""
        if row.state not in PENDING and row.on:
            return max(len(row.on), row.nodes)
        if mark.asked:
            return mark.asked
        return max(1, row.nodes, self._machine.nodes_for(row.cpus, row.partitions[0]))

    def _present(self, row: JobRow, known: Known, now_s: float) -> Phase:
        """Look at a job that has nodes, or is over."""
        phase = judge_present(row)
        mark = known.mark
        if phase == "completing" and known.phase in ("running", "paused", "completing"):
            return phase  # Slurm shows only the nodes that are not yet cleaned; all of them are still its own
        if row.on:
            known.on = row.on
        if (
            mark.word == "held" and phase != "ended"
        ):  # an administrator released it, or the answer to our release got lost
            known.mark = Mark("run") if known.tried and set(row.wanted) == set(known.tried) else Mark("theirs")
            known.left = "" if known.mark.word == "run" else "released by an administrator"
        if phase == "paused" and (known.over or self._is_over(row, known, now_s)):
            return "ended"
        if phase == "running" and mark.word == "stopped" and not now_s - mark.since_s <= SETTLE_S:
            # Somebody let it go on, or a slurmctld that was restarted forgot the stop: its processes may stand still.
            if self.act and self.commands.signal(row.id, "CONT") is None:
                known.mark = mark.goes_on(now_s)
        elif phase == "paused" and mark.word == "stopped" and row.end_s - now_s < SOON_S and self.act:
            self._extend(row.id, known, 2)
        elif phase == "paused" and mark.word == "run" and row.state == "STOPPED":
            since_s = now_s - known.went_on_s
            if since_s < SETTLE_S:
                return "running"
            if since_s < LOST_S:
                known.mark = mark.stopped(known.went_on_s)  # our signal got lost: it is to be sent again
        return phase

    def _is_over(self, row: JobRow, known: Known, now_s: float) -> bool:
        """Tell whether a job ended as it was stopped: Slurm goes on to show it as stopped, and does not know it."""
        if known.mark.word == "stopped" and row.end_s <= now_s and self.act:
            why = self.commands.signal(row.id, "STOP")
            known.over = why is not None and is_gone(why)
        return known.over

    def _vanished(self, there: set[str], now_s: float) -> list[JobSeen]:
        """Tell the end of jobs that Slurm does not know any more; forget them."""
        found = []
        for job in [job for job in self._jobs if job not in there]:
            known = self._jobs.pop(job)
            self.problems.pop(job, None)
            if known.row is not None and known.phase != "ended":
                last = seen(known.row, known, known.phase, "vanished", self.rules, known.row.nodes)
                found.append(replace(last, phase="ended", on=(), end_s=now_s, exit=None, reason="vanished"))
        return found

    # ------------------------------------------------------------------ holding

    def _hold_all(self, jobs: Sequence[str]) -> None:
        """Put jobs under our hold, many with one command; one that Slurm refuses does not keep the others."""
        for at in range(0, len(jobs), MOST_AT_ONCE):
            some = [job for job in jobs[at : at + MOST_AT_ONCE] if not self._jobs[job].mark.asked]
            if some and self.commands.update(",".join(some), priority="0", admincomment=str(Mark("held"))) is None:
                for job in some:
                    self._held(job)
                some = []
            for job in [job for job in jobs[at : at + MOST_AT_ONCE] if job in some or self._jobs[job].mark.asked]:
                why = self.commands.update(job, **self._waiting(self._jobs[job]))
                if why is None:
                    self._held(job)
                else:
                    self.problems[job] = f"could not be held: {why}"

    def _held(self, job: str) -> None:
        self._jobs[job].mark = self._jobs[job].mark.waits("held")
        self._jobs[job].on = ()
        self.problems.pop(job, None)

    @staticmethod
    def _waiting(known: Known) -> dict[str, str]:
        """Return what makes a job wait under our hold, as it asked to run."""
        return {"priority": "0", "admincomment": str(known.mark.waits("held")), **_asked(known.mark, known.row)}

    def _give_back(self, jobs: Sequence[str]) -> None:
        """Let jobs that are left alone be scheduled by Slurm itself."""
        for job in jobs:
            why = self.commands.release(job)
            if why is not None:
                self.problems[job] = f"could not be given back: {why}"
            else:
                self._jobs[job].mark = Mark("theirs")

    def give_back(self) -> list[str]:
        """Let Slurm schedule all jobs that wait under our hold (``wattline off``); return what was done."""
        self.snapshot()
        refused: dict[str, str] = {}
        given = 0
        for job, known in self._jobs.items():
            waits = known.phase in ("waiting", "ineligible", "starting") and known.mark.word in (
                "held",
                "run",
                "requeued",
            )
            entry = known.mark.word == "" and known.phase == "waiting"  # held at submission, seen by nobody yet
            if known.left or not (waits or entry):
                continue
            self.commands.begin()
            changes = {"reqnodelist": "", "admincomment": "", **_asked(known.mark, known.row)}
            why = self.commands.update(job, **changes) or self.commands.release(job)
            if why is None:
                known.mark, known.left, given = Mark("theirs"), "given back to Slurm", given + 1
            else:
                refused[job] = why
        lines = [f"{given} jobs that were held are Slurm's again"] if given else []
        return [*lines, *([f"not given back: {one_line(refused)}"] if refused else [])]

    # ------------------------------------------------------------------ acting

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
        self._count()
        mark = known.mark.waits("run") if form is None else _molded(known.mark, asked, row.limit_s, form)
        changes = {"reqnodelist": ",".join(on), "numnodes": f"{nodes}-{nodes}"}
        if mark.asked:
            changes |= _asked(mark, row) | _sized(row, nodes)
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
        self._count()
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
        if known.phase == "paused":
            return None
        if known.phase != "running":
            return self._not("stopped", known)
        if not self.rules.may_stop(known.row):
            return "jobs of several tasks or nodes are not stopped unless the site or the job says so"
        now_s = self.clock.now_s()
        if now_s - known.went_on_s < self.rules.stop_again_s:
            return f"it went on {now_s - known.went_on_s:.0f} s ago, stops are {self.rules.stop_again_s:g} s apart"
        self._count()
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
        self.commands.begin()
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

    def _extend(self, job: str, known: Known, minutes: int) -> None:
        """Give a job minutes for the time in which it was stopped."""
        why = self.commands.update(job, timelimit=f"+{minutes}")
        if why is None:
            known.mark = replace(known.mark, given_min=known.mark.given_min + minutes)
        elif is_gone(why):
            known.over = True
        else:
            self.problems[job] = f"its time limit could not be extended by {minutes} min: {why}"

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
        self._count()
        mark = known.mark.waits("requeued")
        why = self.commands.update(job, admincomment=str(mark)) or self.commands.requeue(job)
        if why is None:
            known.mark, known.phase = mark, "ineligible"
        return why

    def _not(self, done: str, known: Known) -> str:
        reason = known.row.reason if known.row is not None and known.phase == "ineligible" else ""
        return f"it is {known.phase}{f' ({reason})' if reason else ''} and cannot be {done}"

    def _count(self) -> None:
        """Count a command; too many in a second have to wait."""
        now_s = self.clock.now_s()
        while self._acted_s and self._acted_s[0] <= now_s - 1.0:
            self._acted_s.popleft()
        if len(self._acted_s) >= self.rules.most_per_s:
            raise ManagerError(f"more than {self.rules.most_per_s:g} commands in a second, the others wait")
        self._acted_s.append(now_s)
        self.commands.begin()

    def close(self) -> None:
        """Nothing is open; jobs stay as they are."""


def _asked(mark: Mark, row: JobRow | None) -> dict[str, str]:
    """Return what a moldable job asked for, to be written back; nothing for others."""
    if not mark.asked or row is None:
        return {}
    return {**_sized(row, mark.asked), "timelimit": str(mark.limit_min) if mark.limit_min else "UNLIMITED"}


def _sized(row: JobRow, nodes: int) -> dict[str, str]:
    """Return a job's new number of nodes, and tasks and CPUs in proportion: those that it has might not fit."""
    before = max(row.nodes, 1)
    tasks, cpus = (max(1, math.ceil(count * nodes / before)) for count in (row.tasks, row.cpus))
    return {"numnodes": f"{nodes}-{nodes}", "numtasks": str(tasks), "numcpus": str(cpus)}


def _molded(before: Mark, nodes: int, limit_s: float, form: Form) -> Mark:
    """Return the mark of a job that starts in a configuration: what it asked for is kept from the first time on."""
    minutes = math.ceil(limit_s / 60.0) if math.isfinite(limit_s) else 0
    asked, limit_min = (before.asked, before.limit_min) if before.asked else (nodes, minutes)
    return Mark("run", asked=asked, limit_min=limit_min, cores=form.cores, cap_w=round(form.cap_w))
