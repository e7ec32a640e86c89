"""What all generators share: types of jobs, laws of run times, models of users' requests, the seeded random stream."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import InputError
from wattline.memory import require_bytes

Law = Literal["deterministic", "exponential", "lognormal", "uniform"]
LAWS: tuple[Law, ...] = ("deterministic", "exponential", "lognormal", "uniform")

POPULAR_REQUESTS_S = np.array(
    [m * 60.0 for m in (5, 10, 15, 20, 30, 45)]
    + [h * 3600.0 for h in (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 20, 24, 36)]
)
"""Round values that users choose; longer requests are whole days."""


SEEDS = 2**53
"""Seeds below this differ as floats too, which is how policies see them."""

MOST_SHOWN = 1e15
JOB_BYTES = 500
"""What a job takes while it is drawn: the columns of a job table, and as much again on the way."""


def require_jobs(expected: float, job_bytes: float = JOB_BYTES) -> None:
    """Refuse to draw more jobs than this machine's memory could hold."""
    shown = f"{expected:,.0f}" if expected < MOST_SHOWN else f"{expected:.3g}"
    require_bytes(expected * job_bytes, f"drawing {shown} jobs")


def stream(seed: int) -> np.random.Generator:
    """Return the random numbers of a seed: counter-based, the same on every machine."""
    if not 0 <= seed < SEEDS:
        raise InputError(f"a seed is a whole number from 0 to {SEEDS - 1} (2^53 - 1), got {seed}")
    return np.random.Generator(np.random.Philox(seed))


def check_positive(what: str, value: float) -> None:
    """Refuse a parameter that is not a positive finite number."""
    if not (value > 0 and math.isfinite(value)):
        raise InputError(f"{what} must be positive and finite (got {value})")


@dataclass(frozen=True)
class JobType:
    """One type of job: its size and the law of its run time; ``share`` is its weight among all arrivals.

    ``mean_s`` is the mean of the run time, ``min_s`` its least value: *exponential* and *lognormal* (with coefficient
    of variation ``cv`` of the part above ``min_s``) start there, *uniform* spans [min_s, 2 mean_s - min_s].
    ``rate_per_s`` replaces the share where every type has its own arrival rate. Power as in ``JobTable``.
    """

    name: str
    nodes: int
    mean_s: float
    min_s: float = 0.0
    law: Law = "exponential"
    cv: float = 1.0
    share: float = 1.0
    rate_per_s: float | None = None
    draw_w: float = math.nan
    floor_w: float = math.nan
    stretch: float = math.nan

    def __post_init__(self) -> None:
        what = f"job type {self.name!r}:"
        if self.nodes < 1:
            raise InputError(f"{what} nodes must be at least 1 (got {self.nodes})")
        check_positive(f"{what} mean_s", self.mean_s)
        check_positive(f"{what} cv", self.cv)
        if not 0 <= self.min_s <= self.mean_s:
            raise InputError(f"{what} min_s must lie in [0, mean_s = {self.mean_s}] (got {self.min_s})")
        if self.law not in LAWS:
            raise InputError(f"{what} law must be one of {', '.join(LAWS)} (got {self.law!r})")
        if not (self.share >= 0 and math.isfinite(self.share)):
            raise InputError(f"{what} share must not be negative (got {self.share})")
        if self.rate_per_s is not None:
            check_positive(f"{what} rate_per_s", self.rate_per_s)

    def draw_times(self, random: np.random.Generator, count: int) -> Floats:
        """Return run times of this type, in seconds."""
        above = self.mean_s - self.min_s
        if self.law == "deterministic":
            return np.full(count, self.mean_s)
        if self.law == "exponential":
            return self.min_s + random.exponential(above, count)
        if self.law == "uniform":
            return random.uniform(self.min_s, self.mean_s + above, count)
        sigma2 = math.log1p(self.cv**2)
        return self.min_s + above * random.lognormal(-0.5 * sigma2, math.sqrt(sigma2), count)


@dataclass(frozen=True)
class Requests:
    """How users set the time limit of a job that runs for ``t`` seconds.

    * *none*: no limit. *exact*: t.
    * *factor*: t · U(1, max_factor), the f-model (Mu'alem and Feitelson, TPDS 12(6), 2001; Zhang et al., IPDPS 2000).
    * *rounded*: the same, raised to the next value that users like (5 min … 36 h, then whole days): few distinct
      values, as in every log (Tsafrir, Etsion and Feitelson, JSSPP 2005; this is a simplification of their model).
    """

    model: Literal["none", "exact", "factor", "rounded"] = "exact"
    max_factor: float = 5.0

    def __post_init__(self) -> None:
        if self.model not in ("none", "exact", "factor", "rounded"):
            raise InputError(f"requests: model must be none, exact, factor or rounded (got {self.model!r})")
        if not (self.max_factor >= 1 and math.isfinite(self.max_factor)):
            raise InputError(f"requests: max_factor must be at least 1 (got {self.max_factor})")

    def draw(self, random: np.random.Generator, work_s: Floats) -> Floats:
        """Return the requests of jobs with these run times; NaN for none."""
        if self.model == "none":
            return np.full(work_s.size, np.nan)
        if self.model == "exact":
            return work_s.copy()
        wanted = work_s * random.uniform(1.0, self.max_factor, work_s.size)
        return round_request(wanted) if self.model == "rounded" else wanted


def round_request(wanted_s: Floats) -> Floats:
    """Raise times to the next popular value, above the largest to the next whole day."""
    place = np.searchsorted(POPULAR_REQUESTS_S, wanted_s)
    popular = POPULAR_REQUESTS_S[np.minimum(place, POPULAR_REQUESTS_S.size - 1)]
    return np.where(place < POPULAR_REQUESTS_S.size, popular, np.ceil(wanted_s / 86400.0) * 86400.0)


@dataclass(frozen=True)
class Mix:
    """A choice of job types: which type each arrival has, and everything that follows from it."""

    types: tuple[JobType, ...]
    shares: Floats = field(init=False)

    def __post_init__(self) -> None:
        if not self.types:
            raise InputError("a generator needs at least one job type")
        names = [t.name for t in self.types]
        if len(set(names)) != len(names):
            raise InputError(f"job types must have distinct names (got {', '.join(names)})")
        rated = [t.rate_per_s is not None for t in self.types]
        if any(rated) and not all(rated):
            raise InputError(
                f"job type {names[rated.index(False)]!r} has no rate_per_s but others have: give all or none"
            )
        weights = np.array([t.rate_per_s if t.rate_per_s is not None else t.share for t in self.types])
        if weights.sum() <= 0:
            raise InputError("the shares of the job types add up to zero")
        object.__setattr__(self, "shares", weights / weights.sum())

    @property
    def rate_per_s(self) -> float | None:
        """Total arrival rate if the types state theirs."""
        rates = [t.rate_per_s for t in self.types if t.rate_per_s is not None]
        return sum(rates) if rates else None

    @property
    def mean_node_s(self) -> float:
        """Mean work of a job in node-seconds."""
        return float(sum(p * t.nodes * t.mean_s for p, t in zip(self.shares, self.types, strict=True)))

    def draw(self, random: np.random.Generator, count: int) -> dict[str, Any]:
        """Return the columns of ``count`` jobs that depend on their types."""
        kind: Ints = random.choice(len(self.types), size=count, p=self.shares).astype(np.int64)
        work = np.empty(count)
        for code, job_type in enumerate(self.types):
            mine = kind == code
            work[mine] = job_type.draw_times(random, int(mine.sum()))
        columns: dict[str, Any] = {"kind": kind, "work_s": work}
        for name in ("nodes", "draw_w", "floor_w", "stretch"):
            columns[name] = np.array([getattr(t, name) for t in self.types])[kind]
        return columns


def rate_for_load(load: float, nodes: int | None, mean_node_s: float) -> float:
    """Return the arrival rate at which jobs of this mean work offer ``load`` to ``nodes`` nodes."""
    check_positive("load", load)
    if nodes is None or nodes < 1:
        raise InputError(f"a wanted load needs the machine's nodes (got nodes = {nodes})")
    return load * nodes / mean_node_s
