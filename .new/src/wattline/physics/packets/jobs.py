"""What runs on a network: jobs of tasks with a program of steps. Importing this module does not import numba."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Literal

import numpy as np
import numpy.typing as npt

from wattline.arrays import Ints
from wattline.errors import InputError, did_you_mean

PATTERNS = (
    "all-to-all",
    "broadcast",
    "fft3d",
    "halo2d",
    "halo3d",
    "halo3d26",
    "halo4d",
    "allreduce",
    "barrier",
    "random-ring",
    "rma-broadcast",
)
"""Patterns of communication that a step can name; docs/network.md says what each does."""
MOST_MESSAGE_BYTES = 1 << 40
MOST_TASKS, MOST_REPEATS = 1 << 20, 1 << 30
SEEDS = 1 << 63


@dataclass(frozen=True)
class Compute:
    """All tasks compute for so long."""

    seconds: float

    def __post_init__(self) -> None:
        check_seconds("a compute step takes", self.seconds, 1000)


@dataclass(frozen=True)
class Communicate:
    """One pass of a pattern in which every message has ``message_bytes`` (None: the job's).

    With ``wait=False`` tasks go on after posting the pattern's last round; a later ``Wait`` (or any step that
    waits) ends it. ``seed`` sets the ring of ``random-ring``; ``periodic`` closes the grid of a halo pattern;
    ``roots`` is the number of ranks (the first ones) that others read from in ``rma-broadcast``, rank r from rank r
    modulo ``roots``.
    """

    pattern: str
    message_bytes: int | None = None
    wait: bool = True
    seed: int = 0
    periodic: bool = False
    roots: int = 1

    def __post_init__(self) -> None:
        if self.pattern not in PATTERNS:
            raise InputError(f"packets: unknown pattern {self.pattern!r}{did_you_mean(self.pattern, PATTERNS)}")
        if self.message_bytes is not None:
            check_bytes(self.message_bytes)
        check_seed(self.seed)
        check_whole("the number of roots of an rma-broadcast", self.roots, 1, MOST_TASKS)


@dataclass(frozen=True, eq=False)
class Messages:
    """Rounds of messages of one's own: each round an array of rows (sender's rank, receiver's rank, bytes)."""

    rounds: Sequence[npt.ArrayLike]
    wait: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.rounds, Iterable):
            raise InputError(f"packets: messages are given in a list of rounds, got {self.rounds!r:.60}")
        object.__setattr__(self, "rounds", tuple(_rows_of(number, given) for number, given in enumerate(self.rounds)))


@dataclass(frozen=True)
class Wait:
    """Tasks wait until all they asked for has come and all they sent has left."""


Step = Compute | Communicate | Messages | Wait


@dataclass(frozen=True, eq=False)
class PacketJob:
    """Tasks on nodes of a network and the program they run.

    ``program`` is a pattern's name or a sequence of steps and names, run ``repeat`` times. Rank r runs on node
    ``nodes[r // tasks_per_node]``; with ``mapping="random"`` ranks are dealt out by ``seed`` first. A
    ``background`` job repeats its program until all other jobs are done.
    """

    nodes: npt.ArrayLike
    program: str | Sequence[str | Step]
    message_bytes: int = 1024
    tasks_per_node: int = 2
    mapping: Literal["random", "order"] = "random"
    seed: int = 0
    repeat: int = 1
    background: bool = False
    start_s: float = 0.0
    name: str = ""
    steps: tuple[Step, ...] = field(init=False)
    placed: Ints = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", _steps_of(self.program))
        placed = np.asarray(self.nodes)
        if placed.ndim != 1 or placed.size == 0 or placed.dtype.kind not in "iu":
            raise InputError(f"packets: a job runs on a list of at least one node number, got {self.nodes!r:.60}")
        object.__setattr__(self, "placed", placed.astype(np.int64))
        check_bytes(self.message_bytes)
        self._check()

    def _check(self) -> None:
        if not self.steps:
            raise InputError("packets: a job needs at least one step")
        check_whole("the number of tasks per node", self.tasks_per_node, 1, MOST_TASKS)
        check_whole("the number of repetitions", self.repeat, 1, MOST_REPEATS)
        check_seed(self.seed)
        if self.mapping not in ("random", "order"):
            raise InputError(f"packets: mapping is 'random' or 'order', got {self.mapping!r}")
        if np.unique(self.placed).size != self.placed.size:
            raise InputError("packets: a job names the same node twice")
        check_seconds("a job starts at", self.start_s, 1000)

    @property
    def tasks(self) -> int:
        """Number of tasks."""
        return int(self.placed.size) * self.tasks_per_node

    def task_nodes(self) -> Ints:
        """Return the node of every rank."""
        seats = np.repeat(self.placed, self.tasks_per_node)
        if self.mapping == "random":
            np.random.default_rng(self.seed).shuffle(seats)
        return seats


def _steps_of(program: object) -> tuple[Step, ...]:
    """Return the steps of a program: a pattern's name stands for one pass of it."""
    if isinstance(program, str):
        return (Communicate(program),)
    steps = tuple(program) if isinstance(program, Iterable) else (program,)
    found = tuple(Communicate(step) if isinstance(step, str) else step for step in steps)
    for step in found:
        if not isinstance(step, Step):
            raise InputError(f"packets: a program is made of patterns' names and steps, got {step!r:.60}")
    return found


def _rows_of(number: int, given: npt.ArrayLike) -> Ints:
    """Return a round of messages as rows of whole numbers."""
    try:
        rows = np.asarray(given)
    except ValueError:  # rows of several lengths
        rows = np.empty(1)
    if rows.size == 0:
        return np.zeros((0, 3), dtype=np.int64)
    shaped = rows.ndim <= 2 and rows.shape[-1:] == (3,)
    if not shaped or rows.dtype.kind not in "iuf" or not np.all((np.abs(rows) < 1 << 62) & (rows == np.rint(rows))):
        told = "rows of sender's rank, receiver's rank and bytes, three whole numbers each"
        raise InputError(f"packets: round {number} of messages has {told}, got {given!r:.60}")
    return rows.astype(np.int64).reshape(-1, 3)


def check_bytes(size: int) -> None:
    """Refuse a message size that is none."""
    whole = isinstance(size, Real) and not isinstance(size, bool)
    if not whole or not 0 <= size <= MOST_MESSAGE_BYTES or size != int(size):
        raise InputError(f"packets: a message has a whole number of bytes, 0 or more, got {size!r:.60}")


def check_seed(seed: int) -> None:
    """Refuse what is no seed."""
    check_whole("a seed", seed, 0, SEEDS - 1)


def check_whole(what: str, value: object, least: int, most: int) -> None:
    """Refuse what is not a whole number from ``least`` to ``most``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= most:
        raise InputError(f"packets: {what} is a whole number from {least:,} to {most:,}, got {value!r:.60}")


def check_seconds(what: str, value: object, most: float) -> None:
    """Refuse what is no time from 0 to ``most`` seconds."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= most:
        raise InputError(f"packets: {what} 0 to {most:g} s, got {value!r:.60}")
