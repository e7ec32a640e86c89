"""A Slurm in memory, as far as its commands show it: jobs and nodes that tests move by hand."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from wattline.live.clock import Clock
from wattline.live.machine.base import JobSeen, ManagerError
from wattline.live.machine.slurm.commands import Commands
from wattline.live.machine.slurm.manager import SlurmManager
from wattline.live.machine.slurm.rules import Rules
from wattline.live.machine.slurm.text import JobRow, NodeRow

NOW_S = 1_790_000_000.0
CONFIG = {
    "SLURM_VERSION": "22.05.8",
    "SchedulerParameters": "batch_sched_delay=0,sched_interval=1",
    "JobSubmitPlugins": "lua",
    "MinJobAge": "300 sec",
    "PreemptMode": "OFF",
}


@dataclass
class FakeSlurm(Commands):
    """Commands that act on jobs in memory; a released job stays pending until a test starts it."""

    rows: dict[str, JobRow] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)
    machine: list[NodeRow] = field(default_factory=list)
    said: dict[str, str] = field(default_factory=lambda: dict(CONFIG))
    done: list[tuple[str, ...]] = field(default_factory=list)
    running_steps: dict[str, list[str]] = field(default_factory=dict)
    refuses: set[str] = field(default_factory=set)
    """Commands, or jobs, that are refused."""
    shares: list[str] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    """Jobs that have ended, though they are shown as stopped."""
    excludes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Nodes that jobs exclude."""
    set_s: float = 0.0
    """By how much the wall's clock was set."""
    answers: bool = True
    loses_answers: bool = False
    """A release is done, and nobody hears of it."""
    at_s: float = 0.0

    def clock(self) -> Clock:
        """Return a clock that the test moves (``at_s``)."""
        return Clock(wall=lambda: NOW_S + self.at_s + self.set_s, monotonic=lambda: self.at_s)

    def job(self, name: str, **more: object) -> None:
        """Add a job, or change one."""
        if name not in self.rows:
            self.rows[name] = JobRow(
                id=name,
                number=name.partition("_")[0],
                state="PENDING",
                reason="Priority",
                priority=100.0,
                nodes=1,
                cpus=1,
                tasks=1,
                submit_s=NOW_S,
                eligible_s=math.nan,
                start_s=math.nan,
                end_s=math.nan,
                limit_s=600.0,
                user="ada",
                account="physics",
                partitions=("main",),
                dependency="",
                batch=True,
                exit=0,
                wanted=(),
                on=(),
                het=False,
                features="",
                reservation="",
                comment="",
            )
        self.rows[name] = replace(self.rows[name], **more)  # type: ignore[arg-type]

    def starts(self, name: str, *on: str) -> None:
        """Let a job run."""
        now_s = NOW_S + self.at_s
        self.job(name, state="RUNNING", reason="", on=on, start_s=now_s, end_s=now_s + self.rows[name].limit_s)

    def names(self) -> list[str]:
        """Return the verbs and jobs of all commands that changed something."""
        return [" ".join(words[:2]) for words in self.done]

    # -- commands

    def _answer(self, *words: str) -> str | None:
        if not self.answers:
            raise ManagerError("squeue: Unable to contact slurm controller")
        self.done.append(words)
        return "refused" if self.refuses & set(words) else None

    def jobs(self) -> list[JobRow]:
        """Show the jobs."""
        self._answer("look")
        self.done.pop()
        return list(self.rows.values())

    def nodes(self) -> list[NodeRow]:
        """Show the nodes."""
        return self.machine

    def excluded(self) -> dict[str, tuple[str, ...]]:
        """Show which nodes jobs exclude."""
        return self.excludes

    def admin_comments(self) -> dict[str, str]:
        """Show what was noted."""
        return dict(self.comments)

    def steps(self, job: str) -> list[str]:
        """Show steps."""
        return self.running_steps.get(job, [])

    def config(self) -> dict[str, str]:
        """Show the configuration."""
        return self.said

    def shared_partitions(self) -> list[str]:
        """Show partitions."""
        return self.shares

    def update(self, jobs: str, **values: str) -> str | None:
        """Change jobs."""
        why = self._answer("update", jobs, *(f"{key}={value}" for key, value in values.items()))
        if why is not None:
            return why
        if "reqnodelist" in values and "," in jobs:
            return f"Invalid job ID {jobs}"
        for job in jobs.split(","):
            if job not in self.rows:
                return "Invalid job id specified"
            self.comments[job] = values.get("admincomment", self.comments.get(job, ""))
            if values.get("priority") == "0" and self.rows[job].state == "PENDING":
                self.job(job, priority=0.0, reason="JobHeldAdmin")
            if "reqnodelist" in values:
                self.job(job, wanted=tuple(values["reqnodelist"].split(",")) if values["reqnodelist"] else ())
            if "numnodes" in values:
                self.job(job, nodes=int(values["numnodes"].partition("-")[0]))
            for key, name in (("numtasks", "tasks"), ("numcpus", "cpus")):
                if key in values:
                    self.job(job, **{name: int(values[key])})
            if (said := values.get("timelimit", "")).startswith("+"):
                more_s = 60.0 * int(said)
                self.job(job, limit_s=self.rows[job].limit_s + more_s, end_s=self.rows[job].end_s + more_s)
            elif said:
                self.job(job, limit_s=math.inf if said == "UNLIMITED" else 60.0 * int(said))
        return None

    def release(self, jobs: str) -> str | None:
        """End holds."""
        why = self._answer("release", jobs)
        for job in jobs.split(",") if why is None else ():
            self.job(job, priority=100.0, reason="Priority")
        if self.loses_answers:
            raise ManagerError("scontrol: no answer within 5 s")
        return why

    def requeue(self, job: str) -> str | None:
        """Put a job back."""
        why = self._answer("requeue", job)
        if why is None:
            later_s = NOW_S + self.at_s + 120.0
            self.job(job, state="PENDING", reason="BeginTime", on=(), start_s=math.nan, eligible_s=later_s)
        return why

    def signal(self, job: str, name: str) -> str | None:
        """Stop or continue a job."""
        why = self._answer("signal", job, name)
        if job in self.gone:
            return "Invalid job id specified"
        if why is None:
            self.job(job, state="STOPPED" if name == "STOP" else "RUNNING")
        return why


def slurm(**nodes: str) -> FakeSlurm:
    """Return a Slurm of four nodes n1 … n4 of four CPUs; ``n2="idle+drain"`` gives one another state."""
    states = {f"n{k}": "idle" for k in range(1, 5)} | nodes
    made = FakeSlurm()
    made.machine = [NodeRow(name, tuple(state.split("+")), "main", 4, "") for name, state in states.items()]
    return made


def manager(fake: FakeSlurm, *, act: bool = True, **rules: object) -> SlurmManager:
    """Return a manager of that Slurm."""
    return SlurmManager(fake, Rules(**rules), fake.clock(), act)  # type: ignore[arg-type]


def look(made: SlurmManager) -> dict[str, JobSeen]:
    """Return all jobs by name."""
    return {job.id: job for job in made.snapshot().jobs}
