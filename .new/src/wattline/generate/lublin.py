"""The Lublin–Feitelson model of rigid parallel jobs, as published and as its authors' program computes it.

U. Lublin and D. G. Feitelson, "The workload on parallel supercomputers: modeling the characteristics of rigid jobs",
JPDC 63(11), 2003. Sizes: serial with a fixed probability, else 2^x with x two-stage uniform, often rounded to a power
of two. Run times: the logarithm is one of two gammas, chosen by a probability that is linear in the size. Arrivals: the
logarithm of the gap in rush hours is gamma; gaps are spent in 48 half-hour slots a day whose weights follow another
gamma, so that the same gap lasts longer at night.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import InputError
from wattline.generate.laws import Requests, check_positive, require_jobs, stream
from wattline.model.jobs import JobTable
from wattline.reading.notes import Trace

SLOTS = 48
SLOT_S = 1800.0
FIRST_SLOT = 11
"""The fitted day starts at this slot; later slots wrap around midnight."""

MAX_LOG_RUN_TIME = 12.0
MAX_LOG_GAP = 13.0
"""Larger draws (more than two days of run time, five days of gap) are drawn again."""

_MAX_LOG_FACTOR, _BISECTIONS = 30.0, 100


@dataclass(frozen=True)
class LublinClass:
    """Constants of one class of jobs, named as in the authors' program; sizes are log2 of nodes.

    ``arar`` (arrive-rush-all ratio) multiplies ``aarr`` so that it describes the whole day instead of the rush hours.
    """

    name: str
    serial_prob: float
    pow2_prob: float
    ulow: float
    umed: float
    uhi: float
    uprob: float
    a1: float
    b1: float
    a2: float
    b2: float
    pa: float
    pb: float
    aarr: float
    barr: float
    anum: float
    bnum: float
    arar: float

    def on_machine(self, nodes: int) -> LublinClass:
        """Return the class fitted to a machine: limits move with log2 of its size, as the authors advise."""
        top = self.uhi - 7.0 + math.log2(nodes)
        # On small machines the authors keep the break in the upper half (1.5 for 8 nodes).
        break_ = max(top - (self.uhi - self.umed), top / 2)
        low = min(self.ulow, max(top, 0.0))
        return replace(self, ulow=low, uhi=max(top, low), umed=min(max(break_, low), max(top, low)))


BATCH = LublinClass(
    "batch", 0.2927, 0.6686, 1.2, 5.0, 7.0, 0.875, 6.57, 0.823, 639.1, 0.0156, -0.003, 0.6986,
    6.0415, 0.8531, 6.1271, 5.2740, 1.0519,
)  # fmt: skip
INTERACTIVE = LublinClass(
    "interactive", 0.1541, 0.625, 1.0, 3.0, 5.5, 0.705, 3.8351, 0.6605, 7.073, 0.6856, -0.0118, 0.9156,
    6.5510, 0.6621, 8.9186, 3.6680, 0.9797,
)  # fmt: skip
COMBINED = LublinClass(
    "combined", 0.244, 0.576, 0.8, 4.5, 7.0, 0.86, 4.2, 0.94, 312.0, 0.03, -0.0054, 0.78,
    10.2303, 0.4871, 8.1737, 3.9631, 1.0225,
)  # fmt: skip
"""The three published sets of constants, for a machine of 128 nodes."""


@dataclass(frozen=True)
class Lublin:
    """``jobs`` jobs for a machine of ``nodes`` nodes, from second 0 = midnight.

    ``mix``: *combined* draws from the constants of all jobs together, *typed* from batch and interactive jobs, two
    independent streams. ``load`` scales the gaps (before the daily cycle, which keeps its 24 hours) so that the work
    submitted is this share of what the machine can do between the first and the last submission.
    """

    nodes: int = 128
    jobs: int = 1000
    mix: Literal["combined", "typed"] = "combined"
    load: float | None = None
    requests: Requests = field(default_factory=Requests)
    seed: int = 1

    def __post_init__(self) -> None:
        if self.nodes < 1 or self.jobs < 1:
            raise InputError(f"lublin: nodes and jobs must be at least 1 (got {self.nodes} and {self.jobs})")
        if self.mix not in ("combined", "typed"):
            raise InputError(f"lublin: mix must be combined or typed (got {self.mix!r})")
        if self.load is not None:
            check_positive("lublin: load", self.load)

    def classes(self) -> tuple[LublinClass, ...]:
        """Return the classes of the mix, fitted to the machine."""
        chosen = (COMBINED,) if self.mix == "combined" else (INTERACTIVE, BATCH)
        return tuple(c.on_machine(self.nodes) for c in chosen)


def generate_lublin(law: Lublin) -> Trace:
    """Draw a Lublin–Feitelson workload."""
    require_jobs(law.jobs)
    random = stream(law.seed)
    classes = law.classes()
    kind, points = _merge([_points(random, c, law.jobs) for c in classes], [_day(c) for c in classes])
    nodes = np.empty(law.jobs, dtype=np.int64)
    work = np.empty(law.jobs)
    for code, lublin_class in enumerate(classes):
        mine = kind == code
        nodes[mine] = draw_sizes(random, lublin_class, int(mine.sum()), law.nodes)
        work[mine] = draw_run_times(random, lublin_class, nodes[mine])
    submit = _calibrate(law, kind, points, [_day(c) for c in classes], float(np.sum(nodes * work)))
    jobs = JobTable.build(
        submit_s=submit,
        work_s=work,
        nodes=nodes,
        request_s=law.requests.draw(random, work),
        kind=kind,
        kinds=[c.name for c in classes],
    )
    header = {
        "Generator": "Lublin-Feitelson 2003",
        "Seed": str(law.seed),
        "Mix": law.mix,
        "Load": "as published" if law.load is None else f"{law.load:g}",
    }
    return Trace(jobs, (), f"generated: lublin, seed {law.seed}", header, law.nodes)


def draw_sizes(random: np.random.Generator, c: LublinClass, count: int, machine: int) -> Ints:
    """Return numbers of nodes; powers of two stay within the machine."""
    choice = random.random(count)
    low = random.random(count) <= c.uprob
    uniform = random.random(count)
    exponent = np.where(low, c.ulow + uniform * (c.umed - c.ulow), c.umed + uniform * (c.uhi - c.umed))
    rounded = np.minimum(np.floor(exponent + 0.5), math.floor(math.log2(machine)))
    exponent = np.where(choice <= c.serial_prob + c.pow2_prob, rounded, exponent)
    sizes = np.where(choice <= c.serial_prob, 1.0, np.floor(np.exp2(exponent) + 0.5))
    return np.clip(sizes, 1, machine).astype(np.int64)


def draw_run_times(random: np.random.Generator, c: LublinClass, nodes: Ints) -> Floats:
    """Return run times in whole seconds (at least 1) of jobs of these sizes."""
    first = np.clip(c.pa * nodes + c.pb, 0.0, 1.0)
    logs = np.full(nodes.size, np.inf)
    redo = np.arange(nodes.size)
    while redo.size:
        is_first = random.random(redo.size) <= first[redo]
        shape, scale = np.where(is_first, c.a1, c.a2), np.where(is_first, c.b1, c.b2)
        logs[redo] = random.standard_gamma(shape) * scale
        redo = redo[logs[redo] > MAX_LOG_RUN_TIME]
    return np.asarray(np.floor(np.exp(logs)), dtype=np.float64)


def slot_weights(c: LublinClass) -> Floats:
    """Return how many average half hours' worth of arrivals fall into each of the 48 half hours from midnight."""
    from scipy.special import gammainc

    slots = np.arange(FIRST_SLOT, FIRST_SLOT + SLOTS)
    share = gammainc(c.anum, (slots + 0.5) / c.bnum) - gammainc(c.anum, (slots - 0.5) / c.bnum)
    weights = np.empty(SLOTS)
    weights[(slots - 1) % SLOTS] = share
    return np.asarray(weights / weights.mean(), dtype=np.float64)


def _points(random: np.random.Generator, c: LublinClass, count: int) -> Floats:
    """Return the points spent before each arrival: one is an average half hour."""
    logs = random.standard_gamma(c.aarr * c.arar, count) * c.barr
    redo = np.flatnonzero(logs > MAX_LOG_GAP)
    while redo.size:
        logs[redo] = random.standard_gamma(c.aarr * c.arar, redo.size) * c.barr
        redo = redo[logs[redo] > MAX_LOG_GAP]
    return np.cumsum(np.exp(logs)) / SLOT_S


def _day(c: LublinClass) -> Floats:
    """Return the points spent from midnight to the end of each slot, starting with 0; a whole day is 48."""
    day = np.concatenate([[0.0], np.cumsum(slot_weights(c))])
    day[-1] = SLOTS
    return day


def _times(points: Floats, day: Floats) -> Floats:
    """Return the seconds at which so many points have been spent."""
    days = np.floor(points / SLOTS)
    within = np.interp(points - days * SLOTS, day, np.arange(SLOTS + 1) * SLOT_S)
    return np.asarray(days * (SLOTS * SLOT_S) + within, dtype=np.float64)


def _merge(points: list[Floats], days: list[Floats]) -> tuple[Ints, list[Floats]]:
    """Let the streams run side by side until there are enough jobs.

    Return each job's stream and each stream's points.
    """
    count = points[0].size
    times = np.concatenate([_times(p, day) for p, day in zip(points, days, strict=True)])
    kind = np.repeat(np.arange(len(points)), count)
    first = np.argsort(times, kind="stable")[:count]
    kind = kind[first]
    return kind.astype(np.int64), [p[: int(np.sum(kind == code))] for code, p in enumerate(points)]


def _calibrate(law: Lublin, kind: Ints, points: list[Floats], days: list[Floats], node_s: float) -> Floats:
    """Return submit times in whole seconds, stretched so that the jobs offer the wanted load."""
    factor = 1.0
    if law.load is not None and law.jobs > 1:
        factor = _stretch(points, days, node_s / (law.nodes * law.load))
    return np.asarray(np.floor(_submit(kind, points, days, factor)), dtype=np.float64)


def _stretch(points: list[Floats], days: list[Floats], span_s: float) -> float:
    """Return the factor on all points at which the last submission comes ``span_s`` after the first."""
    ends = [(p[[0, -1]], day) for p, day in zip(points, days, strict=True) if p.size]

    def excess(log_factor: float) -> float:
        at = np.array([_times(p * math.exp(log_factor), day) for p, day in ends])
        return float(at.max() - at.min()) - span_s

    low, high = -_MAX_LOG_FACTOR, _MAX_LOG_FACTOR
    for _ in range(_BISECTIONS):  # nights make time a steep function of points: only bisection is safe
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return math.exp(high)


def _submit(kind: Ints, points: list[Floats], days: list[Floats], factor: float) -> Floats:
    submit = np.empty(kind.size)
    for code, (spent, day) in enumerate(zip(points, days, strict=True)):
        submit[kind == code] = _times(spent * factor, day)
    return submit
