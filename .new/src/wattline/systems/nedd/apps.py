"""Stand-ins for the eight applications of the congestion study: phase programs whose parts of the time match published
profiles.

A program is made of exchanges with neighbours, allreduces and computation. An exchange and an allreduce are timed on
the empty network; their numbers are in the ratio of the published times and computation fills the rest. Small
allreduces take as long in all applications, 30 µs a call as in LAMMPS, which calls them most; what they take longer is
waiting for the slowest task, which a network does not change: computation to us. Of long ones (QMCPACK's) nothing of
the kind is known: all their time is the network's. READINGS has both ends of either.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from wattline.arrays import Ints
from wattline.physics.packets.jobs import Communicate, Compute, Messages, PacketJob, Step, Wait
from wattline.physics.packets.sensitivity import MpiProfile

if TYPE_CHECKING:
    from wattline.physics.packets.result import JobTimes
    from wattline.physics.packets.simulator import Simulator

CALL_S = 0.254 * 15 / 125_170
"""An allreduce of LAMMPS on 64 nodes: 30 µs."""
RANK_BYTES_PER_S = 10e9 / 32
"""A task's share of a node's link (10 GB/s, 32 tasks): what larger allreduces take more."""
SHORT_BYTES = 2048
"""Longer vectors are reduced in halves and gathered again (R. Thakur et al., Optimization of collective communication
operations in MPICH, 2005): twice the rounds, twice the vector's bytes.
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
    whole: bool | None = None
    """All the time of its collectives is the network's; unless it is said, that of long ones is."""

    @property
    def collective(self) -> float:
        """Part of the time that allreduces and broadcasts spend in the network."""
        spent = self.profile.allreduce + self.profile.broadcast
        long = self.reduced_bytes > SHORT_BYTES
        call_s = 2 * (CALL_S + self.reduced_bytes / RANK_BYTES_PER_S) if long else CALL_S
        whole = long if self.whole is None else self.whole
        return spent if whole else min(spent, self.allreduces * call_s / self.time_s)


def _percent(
    mpi: float, allreduce: float, send: float, broadcast: float, test: float, wait: float, barrier: float
) -> MpiProfile:
    return MpiProfile(*(x / 100 for x in (mpi, allreduce, send, broadcast, test, wait, barrier)))


APPLICATIONS = {
    "Graph500": Application(_percent(31.4, 2.3, 2.6, 0.2, 21.3, 0.05, 4.4), 122, 7_251, "random-ring", 9_216),
    "HACC": Application(_percent(67.1, 0.05, 0.2, 0, 0, 66.2, 0), 69, 41, "fft3d", 8_192),
    "HPCG": Application(_percent(3.7, 0.2, 2.1, 0, 0, 1.2, 0), 68, 555, "halo3d26", 4_096),
    "LAMMPS": Application(_percent(47.3, 25.4, 8.6, 0.05, 0, 12.2, 0.05), 15, 125_170, "halo2d", 84),
    "MILC": Application(_percent(61.9, 1.9, 0.6, 0.05, 0, 58.5, 0.05), 87, 13_224, "halo4d", 4_096),
    "miniAMR": Application(_percent(26.8, 9.2, 0.5, 0.05, 0, 14.2, 0), 23, 10_326, "halo3d", 51_200),
    "miniMD": Application(_percent(83.4, 0.5, 82.5, 0, 0, 0, 0.2), 65, 4_810, "halo3d", 3_072),
    "QMCPACK": Application(_percent(6.0, 5.4, 0.05, 0.05, 0.05, 0.05, 0.5), 67, 2_004, "halo3d", 13_312, 13_312),
}  # fmt: skip
"""Tables 3.4 and 3.5. Patterns: LAMMPS runs a two-dimensional input, MILC exchanges with neighbours in four dimensions
at once (both by §3.6.1), HACC solves for forces by a distributed FFT.

Message sizes: published; where missing, data rate × time / sends (LAMMPS, miniAMR); HACC's 4.6 MB are cut; MILC's are
not published.
"""

BY_CALLS, WHOLE = "by calls", "all in the network"
UNDECIDED = ("Graph500", "QMCPACK")
"""Applications whose few allreduces take long: how much of that is waiting is not published."""
READINGS = {
    f"{name}, {how}": replace(APPLICATIONS[name], whole=how == WHOLE) for name in UNDECIDED for how in (BY_CALLS, WHOLE)
}
"""Both ends of what the time of an application's collectives may be."""

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
    wanted: tuple[float, float]  # parts of the time: exchanges, collectives
    made: tuple[float, float]

    def job(self, nodes: Ints, seed: int, *, at_least_s: float, start_s: float = 0.0) -> PacketJob:
        """Return a job that is simulated for at least so long on the empty network."""
        repeat = max(1, int(np.ceil(at_least_s / (self.iteration_s - self.skipped_s))))
        return PacketJob(nodes, self.steps, mapping=MAPPING, repeat=repeat, seed=seed, start_s=start_s, name=self.name)

    def endless(self, nodes: Ints, seed: int) -> PacketJob:
        """Return a job that goes on until the others are done: somebody else's."""
        return PacketJob(nodes, self.steps, mapping=MAPPING, background=True, seed=seed, name=self.name)

    def time_s(self, job: JobTimes) -> float:
        """Return how long an iteration of such a job took, with the computation that was not simulated."""
        return job.elapsed_s / job.iteration_end_s.size + self.skipped_s


def stand_in(name: str, simulator: Simulator, nodes: Ints) -> StandIn:
    """Build the stand-in of an application for these nodes, with its building blocks timed on the empty network."""
    app = (APPLICATIONS | READINGS)[name]
    exchange = Communicate(app.pattern, app.message_bytes)
    reduction = reduce_steps(app.reduced_bytes, 2 * nodes.size)
    exchange_s, reduce_s = (_timed(simulator, nodes, step) for step in (exchange, reduction))
    p, c = app.profile.coupled, app.collective
    p, c = (p if p > SMALL * c else 0.0), (c if c > SMALL * p else 0.0)
    exchanges, reductions = _counts(p / exchange_s, c / reduce_s)
    busy_s = exchanges * exchange_s + reductions * reduce_s
    iteration_s = busy_s / (p + c)
    made = (exchanges * exchange_s / iteration_s, reductions * reduce_s / iteration_s)
    parts = exchanges + reductions
    each_s = (iteration_s - busy_s) / parts
    steps = _steps(app, reduction, (exchanges, reductions), min(each_s, SHOWN_S))
    skipped_s = parts * max(0.0, each_s - SHOWN_S)
    return StandIn(name, steps, iteration_s, skipped_s, exchanges, reductions, (p, c), made)


def _counts(exchanges: float, reductions: float) -> tuple[int, int]:
    """Return whole numbers in the ratio of two rates, the smaller one 1 (or 0 where it is next to nothing)."""
    low, high = sorted((exchanges, reductions))
    if high > MOST_RATIO * low:
        return (1, 0) if exchanges > reductions else (0, 1)
    return (max(1, round(exchanges / low)), max(1, round(reductions / low)))


def reduce_steps(size: int, tasks: int) -> Communicate | Messages:
    """Return an allreduce of so many bytes: short ones double, long ones halve and gather.

    With a number of tasks that is no power of two the first ones fold in pairs before and unfold after.
    """
    if size <= SHORT_BYTES:
        return Communicate("allreduce", size)
    power = 1 << (tasks.bit_length() - 1)
    extra = tasks - power
    virtual = np.arange(power)
    real = np.where(virtual < extra, 2 * virtual + 1, virtual + extra)
    halves = []
    distance, part = power // 2, size / 2
    while distance:
        halves.append(np.stack([real, real[virtual ^ distance], np.full(power, max(1, round(part)))], axis=1))
        distance, part = distance // 2, part / 2
    even = 2 * np.arange(extra)
    fold = np.stack([even, even + 1, np.full(extra, size)], axis=1)
    before, after = ([fold], [fold[:, [1, 0, 2]]]) if extra else ([], [])
    return Messages([*before, *halves, *reversed(halves), *after])


def _timed(simulator: Simulator, nodes: Ints, step: Communicate | Messages, repeat: int = 5) -> float:
    """Return how long a step takes on the empty network, a mean over task mappings."""
    runs = [
        simulator.run([PacketJob(nodes, [step], mapping=MAPPING, repeat=repeat, seed=seed)], seed=seed)
        for seed in range(PROBES)
    ]
    return float(np.mean([run.jobs[0].elapsed_s for run in runs])) / repeat


def _steps(app: Application, reduction: Step, counts: tuple[int, int], compute_s: float) -> tuple[Step, ...]:
    """Deal computation out between exchanges and allreduces; where MPI is mostly tests, messages are under way while
    tasks compute.
    """
    parts, reductions = sum(counts), counts[1]
    compute = Compute(compute_s)
    loose = app.profile.test > 0.5 * app.profile.mpi
    exchange = Communicate(app.pattern, app.message_bytes, wait=not loose)
    steps: list[Step] = []
    for k in range(parts):
        # collectives evenly among the exchanges
        reducing = (k + 1) * reductions // parts > k * reductions // parts
        if reducing:
            steps += [compute, reduction]
        else:
            steps += [exchange, compute, Wait()] if loose else [compute, exchange]
    return tuple(steps)
