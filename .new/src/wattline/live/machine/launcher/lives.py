"""The processes of jobs: how they begin, stop, go on and end, and how they are found again."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wattline.live.machine.launcher.book import Book
from wattline.live.machine.launcher.processes import STOPPED, boot_id, end_strays, look, signal_group, watch
from wattline.live.machine.launcher.record import Job
from wattline.live.machine.launcher.starter import Starter

LOOKS = 100
"""Running jobs that are looked at in one go for a stop that was not ours."""
SETTLE_S = 1.0
"""Seconds of the wall that a signal of ours may take to have its effect; until then nobody else is suspected."""


@dataclass
class Lives:
    """Processes of the jobs in a book.

    Parameters
    ----------
    follow, unfollow
        Called with a handle that becomes readable when a process ends, and when the handle is not needed any more.
    grace_s
        Machine seconds between SIGTERM and SIGKILL.
    """

    book: Book
    starter: Starter
    follow: Callable[[int, str], None]
    unfollow: Callable[[int], None]
    grace_s: float = 10.0
    boot: str = field(default_factory=boot_id)
    _starting: dict[str, Job] = field(default_factory=dict)
    _handles: dict[str, int] = field(default_factory=dict)
    _signalled: dict[str, float] = field(default_factory=dict)
    _looked: int = 0

    def start(self, job: Job, on: Sequence[str], form: Mapping[str, float] | None = None) -> str | None:
        """Give a job its nodes and ask for its process, in the configuration that was chosen for it; return why not.

        Its file is written first: what was answered is not forgotten by whoever comes after us.
        """
        before = job.phase, job.reason
        job.nodes, job.phase, job.reason, job.form = list(on), "starting", "", dict(form or {})
        job.run, job.boot = job.run + 1, self.boot
        try:
            self.book.store.save(job)
        except OSError as problem:
            (job.phase, job.reason), job.nodes, job.form = before, [], {}
            self.book.counts["write_failed"] += 1
            return f"cannot be started now (its file cannot be written: {problem.strerror})"
        self.book.nodes.take(job.id, job.nodes)
        self._begin(job)
        return None

    def _begin(self, job: Job) -> None:
        self._starting[job.run_name()] = job
        self.book.store.exit_path(job.run_name()).unlink(missing_ok=True)  # of a start that nobody wrote down
        self._ask(job)
        self.book.show(job)

    def _start_again(self, job: Job) -> None:
        """Ask once more for the process of a job that has its nodes and never went: it is not released twice."""
        left = self.book.store.exit_path(job.run_name())
        job.phase, job.run, job.pgid, job.keeper = "starting", job.run + 1, 0, 0
        job.start_s, job.since_s, job.used_s = math.nan, math.nan, 0.0
        self.book.save(job)
        left.unlink(missing_ok=True)
        self._begin(job)

    def _ask(self, job: Job) -> None:
        names = {
            "WATTLINE_JOB": job.id,
            "WATTLINE_NODES": str(len(job.nodes)),
            "WATTLINE_NODE_LIST": ",".join(job.nodes),
        }
        if job.form:
            names |= {"WATTLINE_CORES": f"{job.form['cores']:g}", "WATTLINE_CPU_CAP_W": f"{job.form['cap_w']:g}"}
        env, store = {**job.env, **names}, self.book.store
        argv = self.book.nodes.ways[job.nodes[0]].argv(job.nodes[0], job.argv, job.cwd, env)
        out, leaves = store.output_path(job), str(store.exit_path(job.run_name()))
        self.starter.ask("spawn", job.run_name(), argv=argv, env=env, cwd=job.cwd, out=out, err=out, exit=leaves)

    def restart(self) -> None:
        """Ask a new starter for what the last one did not do before it died."""
        for job in self._starting.values():
            self._ask(job)

    def unstart(self, job: Job, reason: str = "") -> None:
        """Let a job that has no process of its own yet wait again."""
        if self._starting.pop(job.run_name(), None) is not None:
            self.starter.ask("void", job.run_name())
        self.book.queue(job, reason)
        self.book.became(job)

    def hear(self, said: dict[str, Any]) -> None:
        """Take note of a process that waits to be told to go, or of why there is none."""
        book, run = self.book, str(said["run"])
        job = self._starting.pop(run, None)
        if job is None:  # held or cancelled meanwhile
            self.starter.ask("void", run)
            return
        if "later" in said:
            book.counts["start_failed"] += 1
            book.log("start-failed", {"job": job.id, "why": said["later"]})
            self.unstart(job, str(said["later"]))
            return
        now_s = book.clock.now_s()
        job.pgid, job.start_ticks = said["pgid"], said["start_ticks"]
        job.keeper, job.keeper_ticks, job.boot = said["keeper"], said["keeper_ticks"], self.boot
        job.phase, job.start_s, job.since_s = "running", now_s, now_s
        try:
            book.store.save(job)  # before it goes: whoever comes after us must find it
        except OSError as problem:
            self.starter.ask("void", run)
            book.counts["write_failed"] += 1
            why = f"cannot be started now (its file cannot be written: {problem.strerror})"
            book.log("start-failed", {"job": job.id, "why": why})
            book.queue(job, why)
            book.became(job)
            return
        self.starter.ask("go", run)
        book.counts["started"] += 1
        book.show(job)
        self._watch(job)
        self._arm_limit(job)

    def stop(self, job: Job) -> str | None:
        """Stop a job's processes; what is known of it is written first, so that others find who is stopped."""
        was = job.used_s, job.since_s
        job.pause_clock(self.book.clock.now_s())
        job.phase = "paused"
        try:
            self.book.store.save(job)
        except OSError as problem:
            (job.used_s, job.since_s), job.phase = was, "running"
            self.book.counts["write_failed"] += 1
            return f"cannot be stopped: its file cannot be written ({problem.strerror})"
        self._send(job, signal.SIGSTOP)
        self.book.counts["stopped"] += 1
        self.book.show(job)
        return None

    def cont(self, job: Job) -> None:
        """Let a job's processes go on."""
        self._send(job, signal.SIGCONT)
        job.phase, job.since_s = "running", self.book.clock.now_s()
        self.book.counts["continued"] += 1
        self.book.became(job)
        self._arm_limit(job)

    def terminate(self, job: Job, reason: str, *, again: bool) -> None:
        """End a job's processes, by force after a while; it then waits again, or has ended."""
        job.phase, job.reason, job.again = "completing", reason, again
        self._send(job, signal.SIGTERM)
        self._send(job, signal.SIGCONT)  # who is stopped does not hear it
        self.book.became(job)
        self.book.arm(job.id, "kill", self.book.clock.now_s() + self.grace_s)

    def kill(self, job: Job) -> None:
        """End by force what did not end when it was asked to."""
        if job.phase == "completing" and self._send(job, signal.SIGKILL):
            self.book.counts["killed"] += 1

    def check_limit(self, job: Job) -> None:
        """End a job that has run for as long as it may."""
        if job.phase == "running":
            if job.ran_s(self.book.clock.now_s()) >= job.limit_s - 1e-6:
                self.book.log("walltime", {"job": job.id})
                self.terminate(job, "TimeLimit", again=False)
            else:
                self._arm_limit(job)

    def _arm_limit(self, job: Job) -> None:
        if job.phase == "running" and math.isfinite(job.limit_s):
            self.book.arm(job.id, "limit", job.since_s + job.limit_s - job.used_s)

    def _send(self, job: Job, number: int) -> bool:
        self._signalled[job.id] = self.book.clock.monotonic()
        return job.boot == self.boot and signal_group(job.pgid, job.start_ticks, number)

    def _watch(self, job: Job) -> None:
        """Wait for the end of a job's keeper, or of the job itself if it has lost its keeper."""
        handle = watch(job.keeper, job.keeper_ticks)
        if handle is None:
            self.over(job)
        else:
            self._handles[job.id] = handle
            self.follow(handle, job.id)

    def over(self, job: Job) -> None:
        """Find out how a job ended whose keeper is gone."""
        self._signalled.pop(job.id, None)
        handle = self._handles.pop(job.id, None)
        if handle is not None:
            self.unfollow(handle)
            os.close(handle)
        book, store = self.book, self.book.store
        left = store.exit_of(job.run_name())
        if left is None and (handle := watch(job.pgid, job.start_ticks)) is not None:
            book.log("keeper-lost", {"job": job.id})
            self._handles[job.id] = handle
            self.follow(handle, job.id)
            return
        now_s, at_s, found = book.clock.now_s(), math.nan, {}
        if left is None:
            end_strays(job.pgid, job.keeper, job.start_ticks)
            book.counts["exit_unknown"] += 1
        else:
            found = left[0]
            at_s = now_s - max(0.0, book.clock.wall() - left[1]) * book.clock.speed
        if found.get("never") and job.phase != "completing":  # whoever was to tell it to go died
            self._start_again(job)
            return
        store.exit_path(job.run_name()).unlink(missing_ok=True)
        if job.again:
            book.queue(job, job.reason)
            book.became(job)
            return
        code = found.get("exit") if isinstance(found.get("exit"), int) else None
        why = "its keeper was killed, so its exit code is not known" if left is None else ""
        book.end(job, at_s if math.isfinite(at_s) else now_s, code, job.reason or why)

    def adopt(self, job: Job) -> None:
        """Find the processes of a job again that was started by a launcher before this one."""
        if job.phase == "starting" and job.boot == self.boot:
            self._start_again(job)
        elif job.boot != self.boot:
            self.book.counts["lost"] += 1
            self.book.log("lost", {"job": job.id, "why": "the machine was restarted"})
            if job.phase == "completing" and not job.again:
                self.book.end(job, self.book.clock.now_s(), None, job.reason)
            else:
                self.book.queue(job, "the machine was restarted while it ran")
                self.book.became(job)
        else:
            self.compare(job)
            self._watch(job)
            self._arm_limit(job)
            if job.phase == "completing":
                self.book.arm(job.id, "kill", self.book.clock.now_s() + self.grace_s)

    def compare(self, job: Job) -> None:
        """Note that others have stopped or continued a job."""
        if self.book.clock.monotonic() - self._signalled.get(job.id, -math.inf) < SETTLE_S:
            return
        letter = look(job.pgid, job.start_ticks)
        now_s = self.book.clock.now_s()
        if job.phase == "paused" and letter and letter not in STOPPED:
            job.phase, job.since_s = "running", now_s
        elif job.phase == "running" and letter and letter in STOPPED:
            job.phase = "paused"
            job.pause_clock(now_s)
        else:
            return
        self.book.counts["changed_by_others"] += 1
        self.book.log("changed-by-others", {"job": job.id, "phase": job.phase})
        self.book.became(job)
        self._arm_limit(job)

    def compare_some(self) -> None:
        """Look at all stopped jobs and, in turns, at running ones."""
        held = [self.book.jobs[job] for job in dict.fromkeys(self.book.nodes.holder.values())]
        running = [job for job in held if job.phase == "running"]
        turn = self._looked % len(running) if running else 0
        self._looked = turn + LOOKS
        for job in [job for job in held if job.phase == "paused"] + (running[turn:] + running[:turn])[:LOOKS]:
            self.compare(job)

    def close(self) -> None:
        """Let go of the handles; processes stay as they are."""
        for handle in self._handles.values():
            self.unfollow(handle)
            os.close(handle)
        self._handles.clear()
