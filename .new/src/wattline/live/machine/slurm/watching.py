"""How Slurm is looked at: jobs are taken for what they are, and those that came are put under our hold.

A snapshot takes one squeue and one sinfo. What was done to a job is noted at the job itself (``marks.py``), so that a
controller that is started anew knows it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from wattline.live.clock import Clock
from wattline.live.machine.base import Abilities, JobSeen, Phase, Snapshot
from wattline.live.machine.slurm.commands import Commands, is_gone
from wattline.live.machine.slurm.depend import Others
from wattline.live.machine.slurm.fits import Fits
from wattline.live.machine.slurm.judge import BAD, ENDED, PENDING, Known, is_held, judge_pending, judge_present, seen
from wattline.live.machine.slurm.marks import Mark, read_mark
from wattline.live.machine.slurm.molding import asked_for
from wattline.live.machine.slurm.rules import Rules
from wattline.live.machine.slurm.site import Machine, notes_of
from wattline.live.machine.slurm.text import JobRow

MOST_AT_ONCE, MOST_HELD, MOST_SINGLE = 100, 500, 20
"""Jobs that one scontrol holds or gives back, that are held in one look, and that take a command each in it."""
MOST_BAD = 3
"""A job that does not suit the nodes that were named for it so many times is given back to Slurm."""
SET_S = 1.0
"""A wall clock that is farther from machine time was set: Slurm's times are the wall's."""
SETTLE_S = 5.0
"""Slurm may show the state before a signal for so long."""
LOST_S = 60.0
"""A job that stands still this soon after it was told to go on was not stopped by others."""
NEVER_S = 3600.0
"""A job whose dependency can never be satisfied is tried again after this."""
SOON_S = 90.0
"""A stopped job whose limit is nearer than this gets two minutes more: Slurm's clock runs on for it."""


@dataclass
class Watching:
    """What is known of Slurm's jobs and nodes.

    Parameters
    ----------
    act
        False: hold nothing, only look (a dry run, ``--check``).
    """

    commands: Commands
    rules: Rules = field(default_factory=Rules)
    clock: Clock = field(default_factory=Clock)
    act: bool = True
    abilities: Abilities = field(default_factory=lambda: Abilities(molds=True, explains=True))
    problems: dict[str, str] = field(default_factory=dict)
    """Jobs that are not led though nobody asked for that, could not be held or not be given more time, and why."""
    _jobs: dict[str, Known] = field(default_factory=dict, init=False, repr=False)
    _machine: Machine = field(default_factory=Machine, init=False, repr=False)
    _said: dict[str, str] = field(default_factory=dict, init=False, repr=False)
    _told: bool = field(default=False, init=False, repr=False)
    _acted_s: deque[float] = field(default_factory=deque, init=False, repr=False)
    """When commands were given that change something."""
    _fits: Fits = field(default_factory=Fits, init=False, repr=False)
    _set_s: float = field(default=0.0, init=False, repr=False)
    """By how much the wall's clock was set since we began."""
    _single: int = field(default=0, init=False, repr=False)
    """Commands for one job alone that are still to be given in this look."""

    # ------------------------------------------------------------------ looking

    def snapshot(self) -> Snapshot:
        """Return all jobs and nodes as they are now; hold those that came."""
        self._begin()
        self.commands.begin()
        rows = self.commands.jobs()
        nodes = self.commands.nodes()
        machine = Machine.of(nodes)
        if self._fits.look(nodes):  # jobs may need other nodes, or other numbers of them
            for known in self._jobs.values():
                known.told = None
        self._machine = machine
        now_s, set_s = self.clock.now_s(), self.clock.wall_jump_s()
        self._set_s = set_s if abs(set_s) > SET_S else 0.0
        jobs = self._take(rows, now_s)
        new = [f"job {job}: {why}" for job, why in self.problems.items() if self._said.get(job) != why]
        self._said = dict(self.problems)
        return Snapshot(now_s, jobs, self._machine.seen(), new)

    def look_at_site(self) -> Abilities:
        """Ask how Slurm is configured and say what it cannot do."""
        self.abilities = replace(
            self.abilities, notes=notes_of(self.commands.config(), self.commands.shared_partitions(), self.rules)
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
        self._ask_excluded(rows)
        self._single = MOST_SINGLE
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
                in_time = replace(row, eligible_s=row.eligible_s - self._set_s) if self._set_s else row
                verdict = judge_pending(in_time, known, now_s, others)
                phase, reason, do = verdict.phase, verdict.reason, verdict.do
                if verdict.do == "hold":
                    hold.append(row.id)
                    known.bad += reason.startswith(BAD)
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
            nodes = self._nodes(row, known.mark)
            fits = self._fits.of(row, nodes, known.excluded) if row.state in PENDING else None
            found.append(seen(row, known, phase, reason, self.rules, nodes, fits, self._set_s))
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

    def _ask_excluded(self, rows: Sequence[JobRow]) -> None:
        """Ask which nodes pending jobs exclude, where one of them is new or was changed."""
        jobs = self._jobs
        pending = [row for row in rows if row.state in PENDING]
        if any(row.id not in jobs or jobs[row.id].row is not row for row in pending):
            excluded = self.commands.excluded()
            for row in pending:
                known = jobs.get(row.id)
                if known is None and row.id in excluded:
                    known = jobs[row.id] = Known()
                if known is not None and known.excluded != excluded.get(row.id, ()):
                    known.excluded, known.told = excluded.get(row.id, ()), None

    def _meet(self, row: JobRow, known: Known) -> None:
        """Look at a job that is seen for the first time."""
        known.on = row.on or row.wanted
        if known.mark.word == "left":
            known.mark, known.left = Mark("theirs"), "was given back to Slurm"
        if row.state not in PENDING:
            known.left = self.rules.why_left(row)
        elif row.wanted and known.mark.word in ("", "free"):
            known.named = f"asks for nodes by name ({','.join(row.wanted[:4])})"
        elif known.mark.word == "run" and row.priority == 0.0:
            known.mark = known.mark.waits("held")  # we were cut off between the two commands of a release

    def _see_pending(self, row: JobRow, known: Known) -> None:
        """Look again whether a job is led; notice one that was put back into the queue."""
        if known.mark.word != "theirs":
            bad = f"Slurm finds no suitable nodes ({BAD})" if known.bad >= MOST_BAD else ""
            known.left = self.rules.why_left(row) or known.named or bad
            if known.left and (row.het or known.named or bad or row.contiguous):
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
        if mark.word == "held" and phase != "ended":
            # An administrator released it, or the answer to our release got lost.
            ours = bool(known.tried) and set(row.wanted) == set(known.tried)
            known.mark = known.tried_mark if ours else Mark("theirs")
            known.left = "" if ours else "released by an administrator"
        if phase == "paused" and (known.over or self._is_over(row, known, now_s)):
            return "ended"
        if phase == "running" and mark.word == "stopped" and not abs(now_s - mark.since_s) <= SETTLE_S:
            # Somebody let it go on, or a slurmctld that was restarted forgot the stop: its processes may stand still.
            if self.act and self.commands.signal(row.id, "CONT") is None:
                known.mark = mark.goes_on(now_s)
        elif phase == "paused" and mark.word == "stopped" and row.end_s - self._set_s - now_s < SOON_S and self.act:
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
        if known.mark.word == "stopped" and row.end_s - self._set_s <= now_s and self.act:
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
            chunk = jobs[at : at + MOST_AT_ONCE]
            alike = [job for job in chunk if not self._jobs[job].mark.asked and not self._jobs[job].tried]
            rest = list(chunk)
            if alike and self.commands.update(",".join(alike), priority="0", admincomment=str(Mark("held"))) is None:
                for job in alike:
                    self._held(job)
                rest = [job for job in chunk if job not in alike]
            for job in rest[: self._single]:  # the others at the next look
                why = self.commands.update(job, **self._waiting(self._jobs[job]))
                if why is None:
                    self._held(job)
                else:
                    self.problems[job] = f"could not be held: {why}"
            self._single -= min(self._single, len(rest))

    def _held(self, job: str) -> None:
        self._jobs[job].mark = self._jobs[job].mark.waits("held")
        self._jobs[job].on = self._jobs[job].tried = ()
        self.problems.pop(job, None)

    def _give_back(self, jobs: Sequence[str]) -> None:
        """Let jobs that are left alone be scheduled by Slurm itself, those that we named no nodes for at once."""
        plain = [job for job in jobs if not self._jobs[job].tried][:MOST_AT_ONCE]
        if len(plain) > 1 and self.commands.release(",".join(plain)) is None:
            self.commands.update(",".join(plain), admincomment=str(Mark("free")))
            for job in plain:
                self._jobs[job].mark = Mark("theirs")
        for job in [job for job in jobs if self._jobs[job].mark.word != "theirs"][: self._single]:
            free = {"reqnodelist": ""} if self._jobs[job].tried else {}
            why = (self.commands.update(job, **free) if free else None) or self.commands.release(job)
            if why is not None:
                self.problems[job] = f"could not be given back: {why}"
            else:
                self.commands.update(job, admincomment=str(Mark("free")))
                self._jobs[job].mark = Mark("theirs")

    @staticmethod
    def _waiting(known: Known) -> dict[str, str]:
        """Return what makes a job wait under our hold, as it asked to run."""
        free = {"reqnodelist": ""} if known.tried else {}  # nodes that we named, not its user
        held = {"priority": "0", "admincomment": str(known.mark.waits("held"))}
        return {**held, **free, **asked_for(known.mark, known.row)}

    def _extend(self, job: str, known: Known, minutes: int) -> None:
        """Give a job minutes for the time in which it was stopped."""
        why = self.commands.update(job, timelimit=f"+{minutes}")
        if why is None:
            known.mark = replace(known.mark, given_min=known.mark.given_min + minutes)
        elif is_gone(why):
            known.over = True
        else:
            self.problems[job] = f"its time limit could not be extended by {minutes} min: {why}"
