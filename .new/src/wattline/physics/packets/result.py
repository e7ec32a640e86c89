"""What a packet simulation tells: times and traffic of jobs, counters of ports and nodes, all in SI units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.physics.packets.wiring import Wiring


@dataclass(frozen=True, eq=False)
class Counters:
    """What ports and nodes counted, from the beginning or (rows of) an interval each.

    The last axis of the first four is the port: row i of ``PacketResult.ports``. ``flits`` and ``packets`` crossed
    the link away from the port; ``stall_s``: that link was idle and a packet for it lacked credits;
    ``crossbar_stall_s``: packets at the head of the port's input buffers waited for the crossbar (another channel
    of the port had its turn, their output was busy or full), added over the channels. The last axis of the others
    is the node.
    """

    flits: Ints
    packets: Ints
    stall_s: Floats
    crossbar_stall_s: Floats
    injected_bytes: Ints
    received_bytes: Ints


@dataclass(frozen=True, eq=False)
class JobTimes:
    """One job: when it ended, how long it took and what it sent. Times of unfinished jobs are NaN."""

    name: str
    tasks: int
    start_s: float
    end_s: float
    elapsed_s: float
    communication_s: float  # elapsed time without the program's computation
    iteration_end_s: Floats  # when all tasks had finished an iteration
    packets: int
    hops: int
    messages: int
    bytes: int
    latency_sum_s: float

    @property
    def mean_latency_s(self) -> float:
        """Mean time from a message's post to its arrival."""
        return self.latency_sum_s / self.messages if self.messages else float("nan")

    @property
    def mean_hops(self) -> float:
        """Mean number of links that a packet crossed, host links included."""
        return self.hops / self.packets if self.packets else float("nan")

    @property
    def iteration_s(self) -> Floats:
        """How long each iteration took, from the end of the one before it."""
        return np.diff(self.iteration_end_s, prepend=self.start_s)


@dataclass(frozen=True, eq=False)
class PacketResult:
    """A run. ``hops`` counts every crossing of a link by a packet, between routers or to and from a node."""

    jobs: tuple[JobTimes, ...]
    time_s: float
    stopped: str  # "done" or "until"
    packets_made: int
    packets_delivered: int
    hops: int
    events: int
    local_messages: int
    cpu_s: float  # of the simulation alone, by the process's clock
    ports: Wiring
    counters: Counters
    interval_s: float | None = None
    intervals: Counters | None = None  # one row an interval

    @property
    def communication_s(self) -> Floats:
        """Communication time of every job."""
        return np.array([job.communication_s for job in self.jobs])
