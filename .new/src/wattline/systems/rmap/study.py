"""The RMAP study: traces of thirty moldable jobs under power bounds, by its rules, on many seeds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace

import numpy as np

from wattline.arrays import Floats
from wattline.control.catalog import find
from wattline.model import codes
from wattline.model.cluster import Cluster, NodeClass
from wattline.model.configurations import Configurations
from wattline.model.jobs import JobTable
from wattline.sim.ensemble import World
from wattline.systems.rmap.tables import TURBO_W, machines, moldable
from wattline.systems.work import Work
from wattline.wiring.options import Options
from wattline.wiring.policies import Policies

JOBS, SLACK, GENEROUS = 30, 1.2, 2.0
"""Jobs of a trace; requested over measured time, as decided and where users ask for more."""

USE = 0.52
"""Part of the nodes that the jobs would use as they ask. The rule: in the random trace at 14,000 W, 14 of the 30 jobs
do not wait with Traditional (§5.6.4), in the mean over seeds 5000 to 5059, which nothing else uses."""

TRACES = {"large": (0.625, 1.0), "small": (0.0, 0.375), "random 1": (0.0, 1.0), "random 2": (0.0, 1.0)}
"""Shares of the machine that jobs ask for, at least and at most."""

UNBOUNDED = 1e9


@dataclass(frozen=True)
class Way:
    """A policy of the study: which select, its parameters in their order, which cap."""

    select: str
    params: tuple[float, ...] = ()
    cap: str = "none"


FIRST_FIT = 0.0
SMALL_SHARE = 0.375
"""Jobs of the small traces ask for at most this part of the machine."""

THRESHOLDS = {"0 %": 0.0, "10 %": 0.1, "20 %": 0.2, "30 %": 0.3, "unbounded": UNBOUNDED}
"""Parts by which jobs may take longer than was asked for."""

POWER_ONLY = "power only"
"""Adaptive by the letter of Algorithm 1, which compares watts alone; where this is not said, it is node-aware."""

RAISED = "caps raised"

POLICIES = {
    "Traditional": Way("rmap-traditional"),
    "Naive": Way("rmap-naive"),
    **{f"Adaptive, {name}": Way("rmap-adaptive", (part,)) for name, part in THRESHOLDS.items()},
    **{
        f"Adaptive, {name}, {POWER_ONLY}": Way("rmap-adaptive", (part, FIRST_FIT, 0.0, 1.0))
        for name, part in THRESHOLDS.items()
    },
    "Adaptive, best fit": Way("rmap-adaptive", (0.0, 1.0)),
    "Adaptive, small as Traditional": Way("rmap-adaptive", (0.0, FIRST_FIT, SMALL_SHARE)),
    f"Adaptive, {RAISED}": Way("rmap-adaptive", (0.0,), "leftover"),
    **{f"Surplus, {name}": Way("surplus", (part,)) for name, part in THRESHOLDS.items()},
    f"Surplus, {RAISED}": Way("surplus", (0.0,), "leftover"),
}
SOURCES = ("exact", "model", "upper", "generous", "predicted")
"""What policies are told: the truth; the means of the thesis's model; times and upper bounds of power by ours; the
truth where users ask for twice the time they need. Predicted: the thesis's model is told *and* is what happens
(§5.6.1).
"""

FEWER = {
    "model": ("Traditional", "Naive", "Adaptive, "),
    "upper": ("Adaptive, 0 %", "Surplus, 0 %", f"Adaptive, {RAISED}", f"Surplus, {RAISED}"),
    "predicted": ("Traditional", "Naive", "Adaptive, 0 %"),
}
"""Beginnings of the names of the policies that are run with a source, where not all are."""

PREDICTED_TRACE = "random 1"
"""The trace of §5.6.1."""


def policies_of(source: str) -> list[str]:
    """Return the names of the policies that are run with a source."""
    return [name for name in POLICIES if name.startswith(FEWER.get(source, ""))]


AT_ONCE, FEW = 20, 8
"""Seeds that a process takes at once; so few pieces are not worth a second process."""


@dataclass(frozen=True)
class Scale:
    """How much is done."""

    seeds: int = 100
    traces: tuple[str, ...] = tuple(TRACES)
    bounds: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    sources: tuple[str, ...] = SOURCES

    @classmethod
    def quick(cls) -> Scale:
        """Return a version that takes seconds."""
        return cls(16, ("large", "small"), (0, 3), ("exact",))


@dataclass(frozen=True)
class Piece:
    """All policies of a trace under a bound, with tables from one source."""

    machine: str
    trace: str
    bound: int
    source: str


@dataclass(frozen=True)
class Task:
    """Some seeds of a trace, under all bounds and policies, with tables from one source."""

    machine: str
    trace: str
    source: str
    bounds: tuple[int, ...]
    seeds: range

    def __str__(self) -> str:
        return f"{self.machine}: {self.trace}, seeds {self.seeds.start} to {self.seeds.stop - 1}, {self.source} tables"


@dataclass(frozen=True)
class Found:
    """By policy, a row a seed and a column a job: turnaround time, wait and power.

    A number a seed: highest power over the bound, power used.
    """

    job_s: dict[str, Floats]
    wait_s: dict[str, Floats]
    job_w: dict[str, Floats]
    highest: dict[str, Floats]
    power_use: dict[str, Floats]
    """Energy over what the bound allowed while the trace lasted."""

    @property
    def turnaround_s(self) -> dict[str, Floats]:
        """By policy: mean turnaround time, a number a seed."""
        return {name: values.mean(axis=1) for name, values in self.job_s.items()}

    def joined(self, other: Found) -> Found:
        """Return these seeds and those of another together."""
        return Found(
            *(
                {
                    name: np.concatenate([values, getattr(other, f.name)[name]])
                    for name, values in getattr(self, f.name).items()
                }
                for f in fields(self)
            )
        )


@dataclass
class Study:
    """Everything that was found, by piece."""

    scale: Scale
    found: dict[Piece, Found] = field(default_factory=dict)

    def ratio(self, machine: str, trace: str, a: str, b: str, source: str = "exact", against: str = "exact") -> Floats:
        """Return the mean turnaround of one policy over another's, a number a bound, means over seeds first."""
        out = []
        for bound in self.scale.bounds:
            by = {
                p.source: f for p, f in self.found.items() if (p.machine, p.trace, p.bound) == (machine, trace, bound)
            }
            if source in by and against in by:
                out.append(by[source].turnaround_s[a].mean() / by[against].turnaround_s[b].mean())
        return np.array(out)


def row_asked(table: Configurations, nodes: int) -> int:
    """Return the configuration that a user asks for: these nodes, all cores, the highest cap."""
    rows = np.flatnonzero(table.nodes == nodes)
    return int(rows[np.lexsort((table.cap_w[rows], table.cores[rows]))[-1]])


def draw_trace(name: str, trace: str, seed: int, slack: float = SLACK) -> JobTable:
    """Draw thirty jobs: application and size uniform, Poisson arrivals at a rate that uses ``USE`` of the nodes.

    In the first random trace half of the jobs arrive in the first fifth of the time.
    """
    machine = machines()[name]
    random = np.random.default_rng([seed, list(TRACES).index(trace)])
    low, high = (share * machine.nodes for share in TRACES[trace])
    app = random.integers(0, len(machine.tables), JOBS)
    nodes, work_s = np.empty(JOBS, dtype=np.int64), np.empty(JOBS)
    for i, a in enumerate(app):
        table = machine.tables[a]
        sizes = np.unique(table.nodes)
        fitting = sizes[(sizes >= low) & (sizes <= high)]
        nodes[i] = random.choice(fitting if fitting.size else sizes)
        work_s[i] = table.time_s[row_asked(table, int(nodes[i]))]
    gap_s = random.exponential(float((nodes * work_s).mean()) / (USE * machine.nodes), JOBS)
    if trace == "random 1":
        gap_s *= np.where(np.arange(JOBS) < JOBS // 2, 0.4, 1.6)
    return JobTable.build(
        submit_s=np.cumsum(gap_s),
        work_s=work_s,
        nodes=nodes,
        request_s=slack * work_s,
        kind=app,
        kinds=tuple(table.application for table in machine.tables),
    )


def worlds(task: Task, seed: int) -> Iterator[tuple[list[str], World]]:
    """Yield a prepared world for each select and cap of the study, with the names of the policies that differ in
    parameters alone.
    """
    machine = machines()[task.machine]
    cluster = Cluster((NodeClass("node", machine.nodes, 0.0, 2 * TURBO_W),))
    options = Options(
        limit_w=[(0.0, max(machine.bounds_w))],
        configurations=moldable(task.machine, "exact" if task.source == "generous" else task.source),
        log_rows=256,
        placements=False,
        decisions=False,
    )
    jobs = draw_trace(task.machine, task.trace, seed, GENEROUS if task.source == "generous" else SLACK)
    by: dict[tuple[str, str], list[str]] = {}
    for name in policies_of(task.source):
        by.setdefault((POLICIES[name].select, POLICIES[name].cap), []).append(name)
    for (select, cap), names in by.items():
        policies = Policies(
            find("order", "fcfs"),
            find("select", select),
            find("place", "lowest"),
            find("cap", cap),
            find("learn", "request"),
        )
        yield names, World(jobs, cluster, policies, options)


def carry_out(task: Task) -> dict[int, Found]:
    """Run every policy on every seed under every bound; return what was found by bound."""
    number = {name: i for i, name in enumerate(policies_of(task.source))}
    shape = (len(task.bounds), len(number), len(task.seeds))
    job_s, wait_s, job_w = (np.empty((*shape, JOBS)) for _ in range(3))
    highest, used = np.empty(shape), np.empty(shape)
    for k, seed in enumerate(task.seeds):
        for names, world in worlds(task, seed):
            for b, bound in enumerate(task.bounds):
                bound_w = machines()[task.machine].bounds_w[bound]
                for name in names:
                    world.start_over(limit_w=bound_w, params={"select": POLICIES[name].params})
                    world.run_until(np.inf)
                    s, at = world.state, (b, number[name], k)
                    job_s[at] = s.end_s - s.submit_s
                    wait_s[at] = s.started_s - s.submit_s
                    job_w[at] = s.energy_j / (s.end_s - s.started_s)
                    highest[at] = world.timeline()[:, codes.TL_POWER].max() / bound_w
                    used[at] = s.energy_j.sum() / (bound_w * (s.now[0] - s.start_s[0]))
    every = (job_s, wait_s, job_w, highest, used)
    return {
        bound: Found(*({name: values[b, i] for name, i in number.items()} for values in every))
        for b, bound in enumerate(task.bounds)
    }


def run_study(scale: Scale, work: Work) -> Study:
    """Carry everything out."""
    study = Study(scale)
    parts = [range(first, min(first + AT_ONCE, scale.seeds)) for first in range(0, scale.seeds, AT_ONCE)]
    todo = [
        Task(machine, trace, source, scale.bounds, seeds)
        for machine in machines()
        for trace in scale.traces
        for source in scale.sources
        if source != "predicted" or trace == PREDICTED_TRACE
        for seeds in parts
    ]
    runs = sum(len(task.seeds) * len(task.bounds) * len(policies_of(task.source)) for task in todo)
    work.say(f"{runs:,} runs of {JOBS} jobs")
    work.plan(len(todo))
    workers = 1 if len(todo) <= FEW else None
    made = work.each(carry_out, todo, workers=workers, first=lambda: carry_out(replace(todo[0], seeds=range(1))))
    for task, by in zip(todo, made, strict=True):
        for bound, found in by.items():
            piece = Piece(task.machine, task.trace, bound, task.source)
            study.found[piece] = study.found[piece].joined(found) if piece in study.found else found
    return study
