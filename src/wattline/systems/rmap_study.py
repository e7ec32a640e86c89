"""The RMAP study: traces of thirty moldable jobs under power bounds, by its rules, on many seeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from wattline.model import codes
from wattline.model.cluster import Cluster, NodeClass
from wattline.model.configurations import Configurations
from wattline.model.jobs import Floats, JobTable
from wattline.sim.ensemble import in_processes
from wattline.sim.setup import Options
from wattline.sim.simulate import Policies, Simulation
from wattline.systems.rmap_tables import TURBO_W, machines, moldable

JOBS, SLACK, USE = 30, 1.2, 0.6
"""Jobs of a trace; requested over measured time; utilization of Traditional at the highest bound."""

TRACES = {"large": (0.625, 1.0), "small": (0.0, 0.375), "random 1": (0.0, 1.0), "random 2": (0.0, 1.0)}
"""Shares of the machine that jobs ask for, at least and at most."""

UNBOUNDED = 1e9
POLICIES: dict[str, tuple[str, dict[str, float]]] = {
    "Traditional": ("rmap-traditional", {}), "Naive": ("rmap-naive", {}), "Adaptive, 0 %": ("rmap-adaptive", {}),
    "Adaptive, 10 %": ("rmap-adaptive", {"slower": 0.1}), "Adaptive, 20 %": ("rmap-adaptive", {"slower": 0.2}),
    "Adaptive, 30 %": ("rmap-adaptive", {"slower": 0.3}), "Adaptive, unbounded": ("rmap-adaptive", {"slower": UNBOUNDED}),
    "Surplus": ("surplus", {}),
}  # fmt: skip
MODEL = "log-quadratic"
SOURCES = {"exact": "", "model": MODEL}
Say = Callable[[str], None]


@dataclass(frozen=True)
class Scale:
    """How much is done."""

    seeds: int = 60
    traces: tuple[str, ...] = tuple(TRACES)
    bounds: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    sources: tuple[str, ...] = tuple(SOURCES)

    @classmethod
    def quick(cls) -> Scale:
        """Return a version that takes seconds."""
        return cls(12, ("large", "small"), (0, 3), ("exact",))


@dataclass(frozen=True)
class Piece:
    """All policies and seeds of a trace under a bound, with tables from one source."""

    machine: str
    trace: str
    bound: int
    source: str
    seeds: int

    def __str__(self) -> str:
        return f"{self.machine}: {self.trace}, {machines()[self.machine].bounds_w[self.bound]:,.0f} W, {self.source} tables"


@dataclass(frozen=True)
class Found:
    """Mean turnaround time by policy and seed, and the highest power over the bound by policy."""

    turnaround_s: dict[str, Floats]
    highest: dict[str, float]
    power_use: dict[str, float]


@dataclass
class Study:
    """Everything that was found, by piece."""

    scale: Scale
    found: dict[Piece, Found] = field(default_factory=dict)

    def ratio(
        self, machine: str, trace: str, a: str, b: str, source_a: str = "exact", source_b: str = "exact"
    ) -> Floats:
        """Return the mean turnaround of one policy over another's, a number a bound, means over seeds first."""
        out = []
        for bound in self.scale.bounds:
            by = {
                p.source: f for p, f in self.found.items() if (p.machine, p.trace, p.bound) == (machine, trace, bound)
            }
            if source_a in by and source_b in by:
                out.append(by[source_a].turnaround_s[a].mean() / by[source_b].turnaround_s[b].mean())
        return np.array(out)


def row_asked(table: Configurations, nodes: int) -> int:
    """Return the configuration that a user asks for: these nodes, all cores, the highest cap."""
    rows = np.flatnonzero(table.nodes == nodes)
    return int(rows[np.lexsort((table.cap_w[rows], table.cores[rows]))[-1]])


def draw_trace(name: str, trace: str, seed: int) -> JobTable:
    """Draw thirty jobs: application and size uniform, Poisson arrivals at a rate that uses 60 % of the nodes.

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
        submit_s=np.cumsum(gap_s), work_s=work_s, nodes=nodes, request_s=SLACK * work_s, kind=app,
        kinds=tuple(table.application for table in machine.tables),
    )  # fmt: skip


def carry_out(piece: Piece) -> Found:
    """Run every policy on every seed."""
    from wattline.control.catalog import find

    machine = machines()[piece.machine]
    bound_w = machine.bounds_w[piece.bound]
    cluster = Cluster((NodeClass("node", machine.nodes, 0.0, 2 * TURBO_W),))
    options = Options(
        limit_w=[(0.0, bound_w)], configurations=moldable(piece.machine, SOURCES[piece.source]), log_rows=256, placements=False,
        decisions=False,
    )  # fmt: skip
    turnaround: dict[str, list[float]] = {name: [] for name in POLICIES}
    highest = dict.fromkeys(POLICIES, 0.0)
    used: dict[str, list[float]] = {name: [] for name in POLICIES}
    for seed in range(piece.seeds):
        jobs = draw_trace(piece.machine, piece.trace, seed)
        for name, (select, params) in POLICIES.items():
            policies = Policies(
                find("order", "fcfs"), find("select", select), find("place", "lowest"), find("cap", "none"),
                find("learn", "request"), params={"select": params},
            )  # fmt: skip
            result = Simulation(jobs, cluster, policies, options).run()
            s, rows = result.state, result.logs["timeline"]
            turnaround[name].append(float(np.mean(s.end_s - s.submit_s)))
            highest[name] = max(highest[name], float(rows[:, codes.TL_POWER].max()) / bound_w)
            used[name].append(float(s.energy_j.sum() / (bound_w * (s.now[0] - s.start_s[0]))))
    return Found(
        {name: np.array(values) for name, values in turnaround.items()}, highest,
        {name: float(np.mean(values)) for name, values in used.items()},
    )  # fmt: skip


def run_study(scale: Scale, say: Say) -> Study:
    """Carry everything out."""
    study = Study(scale)
    todo = [
        Piece(machine, trace, bound, source, scale.seeds)
        for machine in machines()
        for trace in scale.traces
        for bound in scale.bounds
        for source in scale.sources
    ]
    done = 0

    def tell(piece: Piece) -> None:
        nonlocal done
        done += 1
        say(f"{done} of {len(todo)}: {piece}")

    say(f"{len(todo)} pieces of {scale.seeds} traces under {len(POLICIES)} policies")
    workers = 1 if len(todo) <= 8 else None
    carry_out(Piece(todo[0].machine, todo[0].trace, todo[0].bound, "exact", 1))  # compiled once, not by every process
    for piece, found in zip(todo, in_processes(carry_out, todo, done=tell, workers=workers), strict=True):
        study.found[piece] = found
    return study
