"""Programs compiled to phases: what every rank sends, receives and waits for, in each round of a pattern.

All-to-all and FFT are *shifts*, worked out as they run from (rank, round); all others are lists of messages. Compiled
programs are kept and shared by all jobs with the same steps and number of tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from wattline.arrays import Ints
from wattline.errors import InputError
from wattline.physics.packets.jobs import Communicate, Compute, Messages, PacketJob, Step, check_bytes
from wattline.physics.packets.kernels.codes import P_COMPUTE, P_GET, P_LIST, P_SHIFT, P_WAIT
from wattline.physics.packets.patterns import ROUNDS, most_square

PS_PER_S = 1e12


@dataclass(frozen=True, eq=False)
class Program:
    """Phases (rows: kind, a, b, bytes, first cell, wait) and the lists that they point into; cells a task needs."""

    phases: Ints
    send_first: Ints
    recv_first: Ints
    sends: Ints  # columns: receiver, its cell, bytes
    recvs: Ints  # columns: sender, bytes
    cells: int
    compute_s: float

    def packets(self, tasks: int, packet_bytes: int) -> int:
        """Return how many packets one pass of it sends, headers left out."""
        listed = np.maximum(1, -(-self.sends[:, 2] // packet_bytes)).sum()
        found = int(listed)
        for kind, _, b, size, _, _ in self.phases.tolist():
            messages = tasks * (b - 1) if kind == P_SHIFT else tasks - b if kind == P_GET else 0
            found += messages * max(1, -(-size // packet_bytes))
        return found


class _Builder:
    def __init__(self, tasks: int) -> None:
        self.tasks = tasks
        self.phases: list[tuple[int, int, int, int, int, int]] = []
        self.send_first: list[Ints] = []
        self.recv_first: list[Ints] = []
        self.sends: list[Ints] = []
        self.recvs: list[Ints] = []
        self.rows = 0
        self.messages = 0
        self.cells = 0

    def add(self, kind: int, a: int = 0, b: int = 0, size: int = 0, *, cells: int = 0, wait: bool = True) -> None:
        self.phases.append((kind, a, b, size, self.cells, int(wait)))
        self.cells += cells

    def shift(self, stride: int, size: int, message_bytes: int) -> None:
        if size > 1:
            self.add(P_SHIFT, stride, size, message_bytes, cells=size - 1)

    def listed(self, source: Ints, target: Ints, size: Ints, *, wait: bool = True) -> None:
        """Add a round of messages: every rank posts its receives, then its sends, in the order given."""
        n, count = self.tasks, source.size
        by_target = np.argsort(target, kind="stable")
        by_source = np.argsort(source, kind="stable")
        first_in = np.searchsorted(target[by_target], np.arange(n + 1))
        first_out = np.searchsorted(source[by_source], np.arange(n + 1))
        cell = np.empty(count, dtype=np.int64)
        cell[by_target] = np.arange(count) - first_in[target[by_target]]
        self.add(P_LIST, self.rows, 0, 0, cells=int(cell.max(initial=-1)) + 1, wait=wait)
        self.send_first.append(first_out + self.messages)
        self.recv_first.append(first_in + self.messages)
        self.sends.append(np.stack([target[by_source], cell[by_source], size[by_source]], axis=1))
        self.recvs.append(np.stack([source[by_target], size[by_target]], axis=1))
        self.rows += n + 1
        self.messages += count

    def built(self, compute_s: float) -> Program:
        def joined(parts: list[Ints], columns: int) -> Ints:
            shape = (0,) if columns == 1 else (0, columns)
            return np.concatenate(parts) if parts else np.zeros(shape, dtype=np.int64)

        return Program(
            np.array(self.phases, dtype=np.int64).reshape(-1, 6),
            joined(self.send_first, 1),
            joined(self.recv_first, 1),
            joined(self.sends, 3),
            joined(self.recvs, 2),
            self.cells,
            compute_s,
        )


def program_of(job: PacketJob) -> Program:
    """Return the compiled program of a job."""
    return _compiled(job.steps, job.tasks, job.message_bytes)


@lru_cache(maxsize=512)
def _compiled(steps: tuple[Step, ...], tasks: int, message_bytes: int) -> Program:
    builder = _Builder(tasks)
    compute_s = 0.0
    for step in steps:
        if isinstance(step, Compute):
            builder.add(P_COMPUTE, round(step.seconds * PS_PER_S))
            compute_s += step.seconds
        elif isinstance(step, Messages):
            _add_messages(builder, step)
        elif isinstance(step, Communicate):
            _add_pattern(builder, step, message_bytes if step.message_bytes is None else step.message_bytes)
        else:
            builder.add(P_WAIT)
    return builder.built(compute_s)


def _add_pattern(builder: _Builder, step: Communicate, size: int) -> None:
    n = builder.tasks
    before = len(builder.phases)
    if step.pattern == "all-to-all":
        builder.shift(1, n, size)
    elif step.pattern == "fft3d":
        rows, columns = most_square(n)
        for stride, count in ((columns, rows), (1, columns), (1, columns), (columns, rows)):
            builder.shift(stride, count, size)
    elif step.pattern == "rma-broadcast":
        if n > step.roots:
            builder.add(P_GET, 0, step.roots, size)
    else:
        for source, target in ROUNDS[step.pattern](n, step):
            empty = step.pattern == "barrier"
            builder.listed(source, target, np.full(source.size, 0 if empty else size, dtype=np.int64))
    if not step.wait and len(builder.phases) > before:
        if builder.phases[-1][0] == P_SHIFT:
            raise InputError(f"packets: {step.pattern} waits in every round; it cannot be posted without waiting")
        builder.phases[-1] = (*builder.phases[-1][:5], 0)


def _add_messages(builder: _Builder, step: Messages) -> None:
    for number, given in enumerate(step.rounds):
        rows = np.asarray(given)
        for rank in rows[:, :2].ravel():
            if not 0 <= rank < builder.tasks:
                raise InputError(
                    f"packets: round {number} names rank {rank}, the job has ranks 0 to {builder.tasks - 1}"
                )
        if (rows[:, 0] == rows[:, 1]).any():
            raise InputError(f"packets: round {number} has a message from a rank to itself")
        for size in rows[:, 2]:
            check_bytes(int(size))
        last = number == len(step.rounds) - 1
        builder.listed(rows[:, 0], rows[:, 1], rows[:, 2], wait=step.wait or not last)
