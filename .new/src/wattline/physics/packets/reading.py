"""Read times and counters out of the state of a packet simulation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wattline.arrays import Ints
from wattline.physics.packets.jobs import PacketJob
from wattline.physics.packets.kernels import codes as c
from wattline.physics.packets.kernels.state import LANE_BITS, NetState
from wattline.physics.packets.programs import Program
from wattline.physics.packets.result import Counters, JobTimes, PacketResult
from wattline.physics.packets.wiring import PS_PER_S, Wiring

_COUNTERS = ("flits", "packets", "stall_ps", "cross_ps", "sent_flits", "got_flits")


def settle(s: NetState) -> None:
    """Count the stalls that last at this moment up to now."""
    now = s.tally[c.S_NOW]
    since = np.maximum(s.link_free, s.blocked_since)
    stalled = (s.blocked > 0) & (since < now)
    s.stall_ps[stalled] += now - since[stalled]
    s.blocked_since[stalled] = now
    lane = np.flatnonzero(s.in_head >= 0)
    port = lane >> LANE_BITS
    since = s.in_since[lane]
    late = since < now
    np.add.at(s.cross_ps, port[late], now - since[late])
    s.in_since[lane[late]] = now


class Reader:
    """Collects the counters of intervals, and all at the end."""

    def __init__(
        self, wiring: Wiring, jobs: Sequence[PacketJob], programs: Sequence[Program], interval_s: float | None
    ) -> None:
        self._wiring, self._jobs, self._programs, self._interval_s = wiring, jobs, programs, interval_s
        self._rows: list[list[Ints]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def snapshot(self, s: NetState) -> None:
        """Keep what has been counted so far."""
        self._rows.append([getattr(s, name).copy() for name in _COUNTERS])

    def _intervals(self) -> Counters | None:
        if self._interval_s is None:
            return None
        columns = [np.stack(column) for column in zip(*self._rows, strict=True)]
        return _counters([np.diff(column, axis=0, prepend=0) for column in columns])

    def result(self, s: NetState, stopped: str, cpu_s: float) -> PacketResult:
        """Read the end of a run."""
        tally = s.tally
        return PacketResult(
            jobs=tuple(
                _times(s, j, job, program)
                for j, (job, program) in enumerate(zip(self._jobs, self._programs, strict=True))
            ),
            time_s=float(tally[c.S_NOW]) / PS_PER_S,
            stopped=stopped,
            packets_made=int(tally[c.S_MADE] - tally[c.S_LOCAL]),
            packets_delivered=int(s.jb_packets[: len(self._jobs)].sum()),
            hops=int(s.packets.sum()),
            events=int(tally[c.S_EVENTS]),
            local_messages=int(tally[c.S_LOCAL]),
            cpu_s=cpu_s,
            ports=self._wiring,
            counters=_counters([getattr(s, name).copy() for name in _COUNTERS]),
            interval_s=self._interval_s,
            intervals=self._intervals(),
        )


def _counters(columns: list[Ints]) -> Counters:
    flits, packets, stall_ps, cross_ps, sent, got = columns
    return Counters(flits, packets, stall_ps / PS_PER_S, cross_ps / PS_PER_S, sent * c.FLIT_BYTES, got * c.FLIT_BYTES)


def _times(s: NetState, j: int, job: PacketJob, program: Program) -> JobTimes:
    end_ps, first, last = int(s.jb_end[j]), int(s.jb_rounds[j]), int(s.jb_rounds[j + 1])
    ends = s.it_end[first:last]
    end_s = end_ps / PS_PER_S if end_ps >= 0 else float("nan")
    repeat = float("nan") if job.background else job.repeat
    return JobTimes(
        name=job.name,
        tasks=job.tasks,
        start_s=job.start_s,
        end_s=end_s,
        elapsed_s=end_s - job.start_s,
        communication_s=end_s - job.start_s - program.compute_s * repeat,
        iteration_end_s=ends[ends >= 0] / PS_PER_S,
        packets=int(s.jb_packets[j]),
        hops=int(s.jb_hops[j]),
        messages=int(s.jb_messages[j]),
        bytes=int(s.jb_bytes[j]),
        latency_sum_s=float(s.jb_latency[j]) / PS_PER_S,
    )
