"""What a plain machine that follows a power target is told: kinds, jobs, the machine, and what a rule may want."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

CLOSE = 1e-9
LEAST_WORK_S = 0.001
SLACK = 1e-9
"""Part of a power limit by which sums may exceed it."""


class UnclearError(Exception):
    """A decision hangs on the last digits of a sum."""


@dataclass(frozen=True)
class Kind:
    """What was promised to jobs of a kind; ``limit`` is infinite where nothing was."""

    nodes: int
    work: float
    draw: float
    limit: float
    weight: float
    standby: bool


@dataclass(eq=False)
class Job:
    """One job: what it asks for, and what happens to it."""

    number: int
    submit: float
    kind: int
    work: float
    nodes: int
    draw: float
    floor: float
    stretch: float
    request: float = math.inf
    status: str = "future"
    seq: int = -1
    started: float = math.nan
    ended: float = math.nan
    left: float = 0.0
    rate: float = 1.0
    watts: float = 0.0
    at: float = 0.0
    due: float = math.inf
    ran: float = 0.0
    since: float = 0.0
    energy: float = 0.0
    stops: int = 0
    restarts: int = 0
    held: tuple[int, ...] = ()
    story: tuple[tuple[str, float], ...] = ()
    curve: tuple[tuple[float, float], ...] = ()
    """Powers between floor and draw at which run time over the uncapped one was measured, and that."""


def longer(job: Job, watts: float) -> Fraction:
    """Return run time over the uncapped one at a power of a node: straight lines between the points that are known."""
    if job.draw <= job.floor:
        return Fraction(1)
    points = [(job.floor, job.stretch), *job.curve, (job.draw, 1.0)]
    for (low, slow), (high, fast) in pairwise(points):
        if watts <= high:
            share = (Fraction(high) - Fraction(watts)) / (Fraction(high) - Fraction(low))
            return Fraction(fast) + (Fraction(slow) - Fraction(fast)) * share
    return Fraction(1)


@dataclass(frozen=True)
class Setup:
    """The machine, its target and the rules; steps are (from time, value), bids (from time, mean or None, reserve)."""

    nodes: int
    idle: float
    lowest_cap: float
    kinds: Sequence[Kind]
    tick: float
    signal_from: float
    signal_step: float
    signal: Sequence[float]
    bids: Sequence[tuple[float, float | None, float]]
    limits: Sequence[tuple[float, float]] = ()
    outages: Sequence[tuple[float, float, int, int, bool]] = ()
    caps: bool = True
    newest_first: bool = False
    kill: bool = False
    requeue: bool = True
    keep_progress: bool = False
    event: bool = False
    stop_cost: float = 0.0
    until: float = math.inf
    dyadic: bool = False
    start_delay: Callable[[int, int], float] | None = None
    """How long a job takes to be there, by its number and how often it was stopped or sent back (None: no time)."""
    cap_delay: Callable[[float], float] | None = None
    """How long caps take to get into force that are set at a time (None: no time)."""


def held_exactly(*numbers: float | Fraction) -> bool:
    """Tell whether a float with bits to spare holds each of some numbers."""
    return all(
        Fraction(x).denominator <= 2**24 and (Fraction(x).denominator & (Fraction(x).denominator - 1)) == 0
        for x in numbers
    )


@dataclass
class Plan:
    """What a select rule wants in one pass."""

    starts: list[Job] = field(default_factory=list)
    stops: list[Job] = field(default_factory=list)
    resumes: list[Job] = field(default_factory=list)
    uncapped: bool = False
    spared: set[int] = field(default_factory=set)
    """Kinds whose jobs get no cap."""


EQUAL = 1e-9
"""Needs of jobs that differ by no more than this (or this part) are equal: the engine rounds times."""


def one_by_one(jobs: Sequence[Job], value: Callable[[Job], Fraction | float]) -> list[Job]:
    """Return jobs by a value, the largest first; of equals the first in the trace.

    Where rounding could make equals of others, or others of equals, nobody knows.
    """
    left, line = list(jobs), []
    while left:
        values = {job.number: value(job) for job in left}
        most = max(values.values())
        near = 0.0 if math.isinf(most) else EQUAL * max(1.0, abs(float(most)))
        gaps = {number: 0.0 if own == most else float(most - own) for number, own in values.items()}
        if any(near / 1000 < gap < 1000 * near for gap in gaps.values()):
            raise UnclearError(f"needs of jobs {sorted(values)} are nearly equal")
        line.append(min((job for job in left if gaps[job.number] <= near), key=lambda job: job.number))
        left.remove(line[-1])
    return line
