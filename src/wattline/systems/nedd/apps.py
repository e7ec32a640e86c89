"""Stand-ins for the eight applications of the congestion study: phase programs whose parts of the time match published
profiles.

A program is made of exchanges with neighbours, allreduces and computation. An exchange and an allreduce are timed on
the empty network; their numbers are in the ratio of the published times and computation fills the rest. From the
published number of calls follows how much of a collective's time is the network's: a small allreduce takes 30 µs in
LAMMPS, the application that calls it most; what the others take longer is waiting for the slowest task, which a network
does not change: computation to us.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from wattline.arrays import Ints
from wattline.physics.packets.jobs import Communicate, Compute, PacketJob, Step, Wait
from wattline.physics.packets.sensitivity import MpiProfile

if TYPE_CHECKING:
    from wattline.physics.packets.result import JobTimes
    from wattline.physics.packets.simulator import Simulator

CALL_S = 0.254 * 15 / 125_170
"""An allreduce of LAMMPS on 64 nodes: 30 µs."""
RANK_BYTES_PER_S, ROUNDS = 10e9 / 32, 11
"""A task's share of a node's link (10 GB/s, 32 tasks), rounds of an allreduce of 2048 tasks: what larger ones take
more.
"""
MOST_RATIO = 40
"""Exchanges an allreduce, or the other way round, at most: beyond it the rarer one is left out."""
SHOWN_S = 100e-6
"""Computation at one go that is simulated.

All tasks compute alike, so that the rest only shifts what follows: it is added to the time.
"""
SMALL = 0.002
"""Exchanges or collectives that take less than this part of the other's time are left out."""
MAPPING: Literal["random", "order"] = "order"
"""Ranks are placed node by node, as srun does it unless told otherwise."""
PROBES = 4
"""Task mappings over which the building blocks are timed."""


@dataclass(frozen=True)
class Application:
    """A published profile and what the stand-in sends."""

    profile: MpiProfile
    time_s: float
    allreduces: int  # calls a task
    pattern: str
    message_bytes: int
    reduced_bytes: int = 8

    @property
    def network_collective(self) -> float:
        """Part of the time that allreduces and broadcasts spend in the network."""
        call_s = CALL_S + (ROUNDS * self.reduced_bytes / RANK_BYTES_PER_S if self.reduced_bytes > 1000 else 0.0)
        return min(self.profile.allreduce + self.profile.broadcast, self.allreduces * call_s / self.time_s)


def _percent(
    mpi: float, allreduce: float, send: float, broadcast: float, test: float, wait: float, barrier: float
) -> MpiProfile:
    return MpiProfile(*(x / 100 for x in (mpi, allreduce, send, broadcast, test, wait, barrier)))


APPLICATIONS = {
    "Graph500": Application(_percent(31.4, 2.3, 2.6, 0.2, 21.3, 0.05, 4.4), 122, 7_251, "random-ring", 9_216),
    "HACC": Application(_percent(67.1, 0.05, 0.2, 0, 0, 66.2, 0), 69, 41, "halo3d", 65_536),
    "HPCG": Application(_percent(3.7, 0.2, 2.1, 0, 0, 1.2, 0), 68, 555, "halo3d26", 4_096),
    "LAMMPS": Application(_percent(47.3, 25.4, 8.6, 0.05, 0, 12.2, 0.05), 15, 125_170, "halo3d", 84),
    "MILC": Application(_percent(61.9, 1.9, 0.6, 0.05, 0, 58.5, 0.05), 87, 13_224, "halo3d", 4_096),
    "miniAMR": Application(_percent(26.8, 9.2, 0.5, 0.05, 0, 14.2, 0), 23, 10_326, "halo3d", 51_200),
    "miniMD": Application(_percent(83.4, 0.5, 82.5, 0, 0, 0, 0.2), 65, 4_810, "halo3d", 3_072),
    "QMCPACK": Application(_percent(6.0, 5.4, 0.05, 0.05, 0.05, 0.05, 0.5), 67, 2_004, "halo3d", 13_312, 13_312),
}  # fmt: skip
"""Tables 3.4 and 3.5. Message sizes: published; where missing, data rate × time / sends (LAMMPS, miniAMR).

HACC's 4.6 MB cut to 64 KB; MILC's not published.
"""

SENSITIVE = frozenset(APPLICATIONS) - {"Graph500", "HPCG"}
"""Those that the text found sensitive."""

NEDD_APPLICATIONS = ("miniMD", "LAMMPS", "MILC", "miniAMR", "QMCPACK", "HPCG")
"""Those of Fig. 3.24, in its order."""


@dataclass(frozen=True)
class StandIn:
    """A program, how long an iteration takes on the empty network by design, and the parts that were aimed at and
    reached.
    """

    name: str
    steps: tuple[Step, ...]
    iteration_s: float
    skipped_s: float  # computation of an iteration that is not simulated
    exchanges: int
    allreduces: int
    wanted: tuple[float, float]  # parts of the time: exchanges, collectives in the network
    made: tuple[float, float]

    def job(self, nodes: Ints, seed: int, *, at_least_s: float, start_s: float = 0.0) -> PacketJob:
        """Return a job that is simulated for at least so long on the empty network."""
        repeat = max(1, int(np.ceil(at_least_s / (self.iteration_s - self.skipped_s))))
        return PacketJob(nodes, self.steps, mapping=MAPPING, repeat=repeat, seed=seed, start_s=start_s, name=self.name)

    def time_s(self, job: JobTimes) -> float:
        """Return how long an iteration of such a job took, with the computation that was not simulated."""
        return job.elapsed_s / job.iteration_end_s.size + self.skipped_s


def stand_in(name: str, simulator: Simulator, nodes: Ints) -> StandIn:
    """Build the stand-in of an application for these nodes, with its building blocks timed on the empty network."""
    app = APPLICATIONS[name]
    exchange = Communicate(app.pattern, app.message_bytes)
    exchange_s, reduce_s = (_timed(simulator, nodes, step) for step in (exchange, _reduction(app)))
    p, c = app.profile.coupled, app.network_collective
    p, c = (p if p > SMALL * c else 0.0), (c if c > SMALL * p else 0.0)
    exchanges, reductions = _counts(p / exchange_s, c / reduce_s)
    busy_s = exchanges * exchange_s + reductions * reduce_s
    iteration_s = busy_s / (p + c)
    made = (exchanges * exchange_s / iteration_s, reductions * reduce_s / iteration_s)
    parts = exchanges + reductions
    each_s = (iteration_s - busy_s) / parts
    steps = _steps(app, exchanges, reductions, min(each_s, SHOWN_S))
    skipped_s = parts * max(0.0, each_s - SHOWN_S)
    return StandIn(name, steps, iteration_s, skipped_s, exchanges, reductions, (p, c), made)


def _counts(exchanges: float, reductions: float) -> tuple[int, int]:
    """Return whole numbers in the ratio of two rates, the smaller one 1 (or 0 where it is next to nothing)."""
    low, high = sorted((exchanges, reductions))
    if high > MOST_RATIO * low:
        return (1, 0) if exchanges > reductions else (0, 1)
    return (max(1, round(exchanges / low)), max(1, round(reductions / low)))


def _reduction(app: Application) -> Communicate:
    return Communicate("allreduce", app.reduced_bytes)


def _timed(simulator: Simulator, nodes: Ints, step: Communicate, repeat: int = 5) -> float:
    """Return how long a step takes on the empty network, a mean over task mappings."""
    runs = [
        simulator.run([PacketJob(nodes, [step], mapping=MAPPING, repeat=repeat, seed=seed)], seed=seed)
        for seed in range(PROBES)
    ]
    return float(np.mean([run.jobs[0].elapsed_s for run in runs])) / repeat


def _steps(app: Application, exchanges: int, reductions: int, compute_s: float) -> tuple[Step, ...]:
    """Deal computation out between the parts; where MPI is mostly tests, messages are under way while tasks compute."""
    parts = exchanges + reductions
    compute = Compute(compute_s)
    loose = app.profile.test > 0.5 * app.profile.mpi
    exchange = Communicate(app.pattern, app.message_bytes, wait=not loose)
    steps: list[Step] = []
    for k in range(parts):
        # collectives evenly among the exchanges
        reducing = (k + 1) * reductions // parts > k * reductions // parts
        if reducing:
            steps += [compute, _reduction(app)]
        else:
            steps += [exchange, compute, Wait()] if loose else [compute, exchange]
    return tuple(steps)
