"""RMAP inside Slurm: a trace of the thesis' kind on a real Slurm under the controller, beside its simulation.

Moldable jobs are submitted with their application's name. The controller chooses nodes, cores and cap of each, updates
the held job, pins, caps and releases it; the job looks up how long its application takes in that configuration, and
sleeps. The tables are those of ``wattline reproduce rmap``, their times shrunk so that the trace lasts some minutes.
Servers idle at ``IDLE_W``, and the tables' watts come on top of that; so does the limit.
"""

from __future__ import annotations

import csv
import math
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wattline.arrays import Floats
from wattline.demo.beside import late_s, plant_power
from wattline.demo.jobs import Jobs, SlurmJobs
from wattline.demo.layout import FORMS
from wattline.demo.run import Asked, Ran
from wattline.errors import InputError
from wattline.files import shipped_examples
from wattline.model import codes

if TYPE_CHECKING:
    from wattline.model.configurations import Configurations
    from wattline.wiring.result import Result

POLICIES = {
    "rmap-traditional": "Traditional: as asked for, at full power",
    "rmap-naive": "Naive: as asked for, under the cap that its share of the power allows",
    "rmap-adaptive": "Adaptive: the quickest configuration within its share of the power",
    "surplus": "Surplus: the same, and power that is left over is given away",
}
"""Select policies of the demonstration, in the words of its page."""
IDLE_W, BUSY_W = 169.0, 230.0
"""What a server draws idle, and at most on top of that: two sockets at 115 W."""
TIMES, JOBS_FILE, PROLOG = "times.txt", "jobs.csv", "live/task-prolog.sh"
SPARE, MORE_S = 1.5, 20.0
"""The live run may take so many times as long as the simulated one, and so many seconds."""
SCENARIO = """# RMAP inside Slurm: {jobs} moldable jobs on {nodes} servers (wattline live-demo --slurm --rmap).
name = "live-rmap"
seed = {seed}

[trace]
file = "{file}"

[cluster]
nodes = {nodes}
idle = {idle_w}
max = {max_w}

[limit]
power = {limit_w}

[[configurations]]
file = "moldable.csv"
memory = {rest_w}                # all of a server that is not its processors, for each of its two sockets

[policy]
select = "{select}"
"""


@dataclass(frozen=True)
class AskedRmap(Asked):
    """What the demonstration is to be; ``minutes`` is how long the simulated run of the trace lasts."""

    minutes: float = 2.0
    speed: float = 1.0
    nodes: int = 64
    select: str = "rmap-adaptive"
    slurm: bool = True
    trace: str = "random 2"
    bound: int = 3
    """Which of the thesis' power bounds: 12 kW of 14.72 kW."""
    jobs: int = 30

    @property
    def lasts_s(self) -> float:
        """Return how long it may take at most, in machine seconds."""
        return SPARE * 60.0 * self.minutes + MORE_S

    @property
    def ends_early(self) -> bool:
        """Tell that it is over when all jobs have ended."""
        return True

    def manager(self, base: Path) -> Jobs:
        """Return a Slurm whose jobs are told their configurations."""
        examples = shipped_examples(PROLOG)
        if examples is None:
            raise InputError("this installation has no examples; install Wattline again")
        return SlurmMoldable(base, self.nodes, examples / PROLOG, rest=self.rest)

    def scenario(self, base: Path | None = None) -> str:
        """Write jobs and configurations, shrunk so that the simulated run lasts ``minutes``; return the scenario."""
        from wattline.scenario.choices import variants
        from wattline.scenario.documents import read_scenario
        from wattline.scenario.study import wire
        from wattline.systems.rmap.tables import STAND_IN, machines

        assert base is not None  # noqa: S101  (a demonstration has a folder)
        machine = machines()[STAND_IN]
        if self.nodes != machine.nodes:
            raise InputError(f"--nodes {self.nodes}: the trace is one of {machine.nodes} nodes; leave it out")
        text = SCENARIO.format(
            jobs=self.jobs,
            nodes=self.nodes,
            seed=self.seed,
            file=JOBS_FILE,
            idle_w=IDLE_W,
            max_w=IDLE_W + BUSY_W,
            rest_w=IDLE_W / 2.0,
            limit_w=machine.bounds_w[self.bound] + IDLE_W * self.nodes,
            select=self.select,
        )
        (base / "scenario.toml").write_text(text, encoding="utf-8")
        self._write(base, machine.tables, 1.0)
        whole = wire(variants(read_scenario(base / "scenario.toml"))[0]).simulate()
        self._write(base, machine.tables, 60.0 * self.minutes / float(np.max(whole.state.end_s)))
        return text

    def _write(self, base: Path, tables: tuple[Configurations, ...], shrunk: float) -> None:
        """Write what scenario and jobs read."""
        from wattline.systems.rmap.study import draw_trace
        from wattline.systems.rmap.tables import STAND_IN

        jobs = draw_trace(STAND_IN, self.trace, self.seed)
        with (base / JOBS_FILE).open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["submit_s", "nodes", "work_s", "request_s", "kind"])
            for i in range(self.jobs):
                request_s = 60.0 * math.ceil(shrunk * float(jobs.request_s[i]) / 60.0)  # Slurm knows whole minutes
                times = (
                    shrunk * float(jobs.submit_s[i]),
                    int(jobs.nodes[i]),
                    shrunk * float(jobs.work_s[i]),
                    request_s,
                )
                rows.writerow([*times, jobs.kinds[int(jobs.kind[i])]])
        with (
            (base / "moldable.csv").open("w", encoding="utf-8", newline="") as file,
            (base / TIMES).open("w") as times_of,
        ):
            rows = csv.writer(file)
            rows.writerow(["application", "nodes", "cores", "cap_w", "time_s", "power_w", "turbo"])
            for table in tables:
                columns = (table.nodes, table.cores, table.cap_w, table.time_s, table.power_w)
                for n, cores, cap_w, time_s, power_w in zip(*(column.tolist() for column in columns), strict=True):
                    node_w = power_w / n + IDLE_W
                    turbo = "yes" if cap_w == table.turbo_w else "no"
                    rows.writerow([table.application, n, cores, cap_w, shrunk * time_s, n * node_w, turbo])
                    told = f"{n} {cores} {round(cap_w)} {shrunk * time_s:.3f} {node_w:.3f}"
                    times_of.write(f"{table.application} {told}\n")


class SlurmMoldable(SlurmJobs):
    """Jobs whose work is to wait for as long as their application takes in the configuration that they were given."""

    def __init__(self, base: Path, nodes: int, prolog: Path, *, rest: bool = False) -> None:
        super().__init__(base, nodes, rest=rest)
        self.cluster.task_prolog = prolog

    def submit(self, work_s: float, nodes: int, kind: str, speed: float, request_s: float = math.inf) -> str:  # noqa: ARG002
        """Submit a job, which notes when it began, in which configuration, and what a node of it draws."""
        at, forms = shlex.quote(str(self.base / "times")), shlex.quote(str(self.base / FORMS))
        table = shlex.quote(str(self.base / TIMES))
        script = (
            f"date +%s.%N >> {at}/$SLURM_JOB_ID.start\n"
            f"echo $SLURM_JOB_NUM_NODES $WATTLINE_CORES $WATTLINE_CPU_CAP_W > {at}/$SLURM_JOB_ID.form\n"
            f"set -- $(awk -v a={shlex.quote(kind)} -v n=$SLURM_JOB_NUM_NODES -v c=$WATTLINE_CORES "
            f"-v p=$WATTLINE_CPU_CAP_W '$1==a && $2==n && $3==c && $4==p {{print $5, $6; exit}}' {table})\n"
            f"echo $2 > {forms}/$SLURM_JOB_ID\n"
            f"sleep ${{1:?no configuration}} && date +%s.%N > {at}/$SLURM_JOB_ID.end\n"
        )
        minutes = [] if math.isinf(request_s) else ["-t", str(math.ceil(request_s / 60.0))]
        return self.cluster.submit(script, f"--comment=kind={kind}", *minutes, nodes=nodes)


@dataclass(frozen=True)
class Shown:
    """A job in one of the runs."""

    start_s: float
    end_s: float
    form: str
    """Like ``16 x 12, 80 W``: nodes, cores of each, cap of a processor."""


@dataclass(frozen=True)
class Run:
    """One of the runs side by side; times are seconds since the first submission."""

    name: str
    jobs: tuple[Shown | None, ...]
    """In the order of the trace (None: it never ran, or not to its end)."""
    time_s: Floats
    power_w: Floats
    """Power holds until the next time."""

    def turnaround_s(self, submit_s: Floats) -> float:
        """Return the mean time from submission to end."""
        took = [job.end_s - float(at_s) for job, at_s in zip(self.jobs, submit_s, strict=True) if job is not None]
        return float(np.mean(took)) if took else math.nan

    def most_w(self) -> float:
        """Return the highest power, as the mean of a second."""
        return float(second_means(self.time_s, self.power_w).max()) if self.time_s.size else math.nan


@dataclass(frozen=True)
class SideBySide:
    """The runs of one trace."""

    policy: str
    limit_w: float
    kinds: tuple[str, ...]
    asked: tuple[int, ...]
    submit_s: Floats
    runs: tuple[Run, Run, Run]
    """On Slurm, simulated, and simulated with starts as late as Slurm's."""
    start_late_s: tuple[float, float]
    doubled: tuple[str, ...]
    """Jobs that began more than once."""

    def same(self) -> int:
        """Return how many jobs have on Slurm the configuration of the simulation with late starts."""
        pairs = zip(self.runs[0].jobs, self.runs[2].jobs, strict=True)
        return sum(a is not None and b is not None and a.form == b.form for a, b in pairs)

    def ran(self) -> int:
        """Return how many jobs ran on Slurm, to their ends."""
        return sum(job is not None for job in self.runs[0].jobs)

    def data(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "policy": self.policy,
            "limit_w": self.limit_w,
            "jobs": len(self.kinds),
            "ran": self.ran(),
            "same_configuration": self.same(),
            "began_twice": list(self.doubled),
            "start_late_s": {"median": self.start_late_s[0], "p90": self.start_late_s[1]},
            "runs": {
                run.name: {
                    "mean_turnaround_s": run.turnaround_s(self.submit_s),
                    "highest_w": run.most_w(),
                    "jobs": [None if job is None else vars(job) for job in run.jobs],
                }
                for run in self.runs
            },
        }


def second_means(time_s: Floats, power_w: Floats) -> Floats:
    """Return the mean power of each second that begins within the times."""
    at_s = np.arange(math.floor(float(time_s[0])), math.ceil(float(time_s[-1])) + 1.0)
    if at_s.size < 2 or time_s.size < 2:
        return power_w
    energy = np.concatenate([[0.0], np.cumsum(power_w[:-1] * np.diff(time_s))])
    return np.diff(np.interp(at_s, time_s, energy))


def beside(ran: Ran) -> SideBySide:
    """Hold the run on Slurm against the simulation."""
    study, jobs = ran.study, ran.study.trace.jobs
    late = late_s(ran)
    how = study.options
    if late[1] > 0.0:
        how = replace(how, late_start_s=(late[0] / 2.0, max(late)), tick_s=1.0)
    time_s, power_w = plant_power(ran)
    within = (time_s >= 0.0) & (time_s <= ran.end_s - ran.begin_s)
    shown: list[Shown | None] = []
    doubled = []
    for _, seen in ran.jobs:
        found = None if seen is None or math.isnan(seen.start_s) or math.isnan(seen.end_s) else seen
        shown.append(None if found is None else _on_slurm(ran, found.id, found.start_s, found.end_s))
        if seen is not None and _begins(ran, seen.id) > 1:
            doubled.append(seen.id)
    shown += [None] * (len(jobs) - len(shown))
    return SideBySide(
        policy=study.policies.select.name,
        limit_w=float(study.options.limit_w[0][1]),
        kinds=tuple(jobs.kinds[k] for k in jobs.kind.tolist()),
        asked=tuple(jobs.nodes.tolist()),
        submit_s=jobs.submit_s,
        runs=(
            Run("Slurm", tuple(shown), time_s[within], power_w[within]),
            _simulated("simulated", study.simulate()),
            _simulated("simulated late", replace(study, options=how).simulate()),
        ),
        start_late_s=late,
        doubled=tuple(doubled),
    )


def _begins(ran: Ran, job: str) -> int:
    path = ran.base / "times" / f"{job}.start"
    return len(path.read_text(encoding="ascii").split()) if path.exists() else 0


def _on_slurm(ran: Ran, job: str, start_s: float, end_s: float) -> Shown:
    words = (ran.base / "times" / f"{job}.form").read_text(encoding="ascii").split()
    form = f"{words[0]} x {words[1]}, {words[2]} W" if len(words) == 3 else " ".join(words)
    return Shown(start_s - ran.begin_s, end_s - ran.begin_s, form)


def _simulated(name: str, result: Result) -> Run:
    s, rows = result.state, result.logs["timeline"]
    jobs = []
    for row in range(len(result.jobs)):
        shape = int(s.shape[row])
        form = f"{s.sh_nodes[shape]} x {s.sh_cores[shape]}, {s.sh_cap_w[shape]:.0f} W"
        jobs.append(Shown(float(s.started_s[row]), float(s.end_s[row]), form))
    return Run(name, tuple(jobs), rows[:, codes.TL_TIME], rows[:, codes.TL_POWER])
