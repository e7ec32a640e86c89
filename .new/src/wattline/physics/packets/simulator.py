"""Run jobs on a dragonfly, packet by packet. Importing this module imports numba: import it where it is needed."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from wattline.arrays import Ints
from wattline.errors import InputError, StuckError
from wattline.model.networks.dragonfly import Dragonfly
from wattline.physics.packets.jobs import PacketJob, check_seconds, check_seed
from wattline.physics.packets.kernels import codes as c
from wattline.physics.packets.kernels.engine import advance, begin_tasks
from wattline.physics.packets.kernels.state import NetState
from wattline.physics.packets.layout import grow, make_state, reset, setting_of
from wattline.physics.packets.programs import Program, program_of
from wattline.physics.packets.reading import Reader, settle
from wattline.physics.packets.result import PacketResult
from wattline.physics.packets.wiring import PS_PER_S, Buffers, Latencies, Protocol, wire

SLICE = 2_000_000
"""Events between two looks at the keyboard."""
MOST_INTERVALS = 10_000
"""Intervals whose counters are kept: each has six numbers a port."""
MOST_PACKETS = 500_000_000
"""Packets of a run that is not told when to end: a good half hour of simulating."""
BACKGROUND_ROWS = 4096
"""Iterations of a background job whose times are kept."""


class Simulator:
    """A network with its state, used for one run after the other: what a run needs beyond it is filled in, not made.

    ``crossbar`` is the crossbar's speed over that of a local link. With ``inside=False`` routes inside a group are
    always direct.
    """

    def __init__(
        self,
        network: Dragonfly,
        *,
        routing: str = "minimal",
        crossbar: float = 1.0,
        buffers: Buffers | None = None,
        latencies: Latencies | None = None,
        protocol: Protocol | None = None,
        inside: bool = True,
    ) -> None:
        for kind, given in ((Buffers, buffers), (Latencies, latencies), (Protocol, protocol)):
            if given is not None and not isinstance(given, kind):
                raise InputError(
                    f"packets: {kind.__name__.lower()} must be an object of {kind.__name__}, got {given!r:.60}"
                )
        if not isinstance(network, Dragonfly):
            raise InputError(f"packets: simulated on dragonflies only, got {getattr(network, 'kind', network)!r:.60}")
        self.network = network
        self.setting = setting_of(
            wire(network),
            network.local_bps,
            routing=routing,
            crossbar=crossbar,
            buffers=buffers or Buffers(),
            latencies=latencies or Latencies(),
            protocol=protocol or Protocol(),
            inside=inside,
        )
        self._room = {
            "T": 1,
            "J": 2,
            "I": 1,
            "F": 1,
            "U": 1,
            "V": 1,
            "C": 1,
            "K": max(4096, 16 * network.nodes),
            "M": max(4096, 64 * network.nodes),
        }
        self.state: NetState = make_state(self.setting, self._room)

    def run(
        self, jobs: Sequence[PacketJob], *, seed: int = 0, until: float | None = None, interval: float | None = None
    ) -> PacketResult:
        """Run jobs from an empty network until all that are not background are done, or for ``until`` seconds.

        With ``interval`` seconds, the counters of every interval are kept too: of 10,000 at most. Without ``until`` the
        jobs may send 500 million packets.
        """
        self._check(jobs, until, interval)
        check_seed(seed)
        programs = [program_of(job) for job in jobs]
        if until is None:
            self._refuse_many(jobs, programs)
        self._lay_out(jobs, programs, seed)
        reader = Reader(self.setting.wiring, jobs, programs, interval)
        end = c.MOST_PS if until is None else round(until * PS_PER_S)
        step = end if interval is None else max(1, round(interval * PS_PER_S))
        stop, began = min(end, step), time.thread_time()
        while True:
            why = self.advance(stop)
            if interval is not None:
                settle(self.state)
                reader.snapshot(self.state)
                if len(reader) > MOST_INTERVALS:
                    told = f"the run has more than {MOST_INTERVALS:,} intervals of {interval:g} s"
                    raise InputError(f"packets: {told}; take longer ones")
            if why != c.UNTIL or stop >= end:
                break
            stop = min(end, stop + step)
        cpu_s = time.thread_time() - began
        settle(self.state)
        self._refuse_stuck(jobs, why, until)
        return reader.result(self.state, "done" if why == c.DONE else "until", cpu_s)

    def advance(self, until_ps: int) -> int:
        """Go on up to a time; return why it ended (codes.DONE, UNTIL or IDLE)."""
        while True:
            why = int(advance(self.state, until_ps, SLICE))
            if why == c.GROW:
                self._room = {**self._room, "K": 2 * self._room["K"], "M": 2 * self._room["M"]}
                self.state = grow(self.state, self.setting, self._room)
            elif why != c.BUDGET:
                return why

    def _check(self, jobs: Sequence[PacketJob], until: float | None, interval: float | None) -> None:
        if not isinstance(jobs, Sequence):
            raise InputError(f"packets: jobs are a list of PacketJobs, got {jobs!r:.60}")
        if not jobs:
            raise InputError("packets: no job to run")
        for job in jobs:
            if not isinstance(job, PacketJob):
                raise InputError(f"packets: jobs are PacketJobs, got {job!r:.60}")
        if until is None and all(job.background for job in jobs):
            raise InputError("packets: only background jobs, which never end; say until when to run")
        for name, value in (("until", until), ("interval", interval)):
            if value is not None:
                check_seconds(f"{name} is", value, c.MOST_PS / PS_PER_S)
                if value == 0:
                    raise InputError(f"packets: {name} must be above 0 s")
        nodes = self.network.nodes
        for job in jobs:
            low, high = int(job.placed.min()), int(job.placed.max())
            if low < 0 or high >= nodes:
                raise InputError(
                    f"packets: job {job.name!r} is on node {low if low < 0 else high}, the network has nodes 0 to "
                    f"{nodes - 1}"
                )

    def _refuse_many(self, jobs: Sequence[PacketJob], programs: Sequence[Program]) -> None:
        """Refuse what would take hours: more packets than anybody waits for."""
        count = sum(
            job.repeat * program.packets(job.tasks, self.setting.protocol.packet_bytes)
            for job, program in zip(jobs, programs, strict=True)
            if not job.background
        )
        if count > MOST_PACKETS:
            told = f"these jobs send {count:,} packets, more than {MOST_PACKETS:,}"
            raise InputError(f"packets: {told}; take smaller messages, fewer repetitions, or say until when to run")

    def _refuse_stuck(self, jobs: Sequence[PacketJob], why: int, until: float | None) -> None:
        left = [job.name or str(i) for i, job in enumerate(jobs) if self.state.jb_end[i] < 0 and not job.background]
        if why == c.IDLE and left:
            raise StuckError(
                f"packets: nothing is left to happen, but job {left[0]!r} waits for messages that nobody sends; "
                "every rank must receive what its program asks for"
            )
        if why == c.UNTIL and until is None:
            raise StuckError(
                f"packets: job {left[0]!r} has not ended after {c.MOST_PS / PS_PER_S:.0f} simulated seconds"
            )

    def _lay_out(self, jobs: Sequence[PacketJob], programs: Sequence[Program], seed: int) -> None:
        """Reset the state and write jobs, tasks and programs into it."""
        unique: dict[int, tuple[Program, Ints]] = {}
        need = dict.fromkeys("TJIFUVC", 0)
        for job, program in zip(jobs, programs, strict=True):
            need["T"] += job.tasks
            need["C"] += job.tasks * program.cells
            need["I"] += BACKGROUND_ROWS if job.background else job.repeat
            if id(program) not in unique:
                unique[id(program)] = (program, np.array([need["F"], need["U"], need["V"]]))
                need["F"] += len(program.phases)
                need["U"] += program.send_first.size
                need["V"] += len(program.sends)
        need["J"] = len(jobs) + 1
        self._make_room(need)
        s = self.state
        reset(s, self.setting, seed)
        for program, first in unique.values():
            _write_program(s, program, first)
        s.cell[: need["C"]] = 0
        s.it_done[: need["I"]] = 0
        s.it_end[: need["I"]] = -1
        s.tally[c.S_LEFT] = sum(not job.background for job in jobs) + all(job.background for job in jobs)
        _write_jobs(s, jobs, programs, {key: int(first[0]) for key, (_, first) in unique.items()})

    def _make_room(self, need: dict[str, int]) -> None:
        short = {letter: size for letter, size in need.items() if size > self._room[letter]}
        if short:
            self._room.update({letter: size + size // 2 for letter, size in short.items()})
            self.state = make_state(self.setting, self._room)


def _write_program(s: NetState, program: Program, first: Ints) -> None:
    """Write phases and lists at their first rows; what points into the lists is moved along."""
    phase, row, message = (int(x) for x in first)
    rows = program.phases.copy()
    rows[rows[:, 0] == c.P_LIST, 1] += row
    s.blocks["phase"][phase : phase + len(rows)] = rows
    count = program.send_first.size
    s.ls_send[row : row + count] = program.send_first + message
    s.ls_recv[row : row + count] = program.recv_first + message
    count = len(program.sends)
    s.blocks["message_list"][message : message + count, :3] = program.sends
    s.blocks["message_list"][message : message + count, 3:] = program.recvs


def _write_jobs(
    s: NetState, jobs: Sequence[PacketJob], programs: Sequence[Program], first_phase: dict[int, int]
) -> None:
    """Write jobs and tasks; every task begins at its job's start."""
    task = cell = row = 0
    s.blocks["job"][: len(jobs) + 1] = 0
    for j, (job, program) in enumerate(zip(jobs, programs, strict=True)):
        n, first = job.tasks, first_phase[id(program)]
        s.jb_first[j], s.jb_last[j] = first, first + len(program.phases)
        s.jb_task[j], s.jb_tasks[j], s.jb_left[j] = task, n, n
        s.jb_repeat[j] = 0 if job.background else job.repeat
        s.jb_rounds[j], s.jb_end[j] = row, -1
        here = slice(task, task + n)
        s.blocks["task"][here] = 0
        s.tk_node[here], s.tk_job[here] = job.task_nodes(), j
        s.tk_cell[here] = cell + np.arange(n) * program.cells
        s.tk_phase[here], s.tk_round[here] = first, 1
        s.tk_began[here] = round(job.start_s * PS_PER_S)
        task, cell, row = task + n, cell + n * program.cells, row + (BACKGROUND_ROWS if job.background else job.repeat)
    s.jb_rounds[len(jobs)] = row
    begin_tasks(s, task)


def run(
    network: Dragonfly,
    jobs: Sequence[PacketJob],
    *,
    routing: str = "minimal",
    crossbar: float = 1.0,
    seed: int = 0,
    buffers: Buffers | None = None,
    latencies: Latencies | None = None,
    protocol: Protocol | None = None,
    inside: bool = True,
    until: float | None = None,
    interval: float | None = None,
) -> PacketResult:
    """Run jobs once on a network; see ``Simulator``, which is faster for many runs on the same one."""
    simulator = Simulator(
        network,
        routing=routing,
        crossbar=crossbar,
        buffers=buffers,
        latencies=latencies,
        protocol=protocol,
        inside=inside,
    )
    return simulator.run(jobs, seed=seed, until=until, interval=interval)
