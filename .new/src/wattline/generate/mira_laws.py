"""Laws of a year of Mira: sizes and run times as measured in the log of 2018, and the projects that come and go.

Measured in the job stream of the second half of 2018 (22,508 jobs in 126 days; jobs of 5 minutes or more, sizes rounded
up to the next partition): the share of each size, and percentiles of its run times. Queues let jobs of up to 4,096
nodes run for 12 hours and larger ones for 24. The published year of 2014 has 24,565 jobs. With the run times of 2018
these would fill a third of the machine, so run times are stretched, with what goes beyond the queue's limit cut there,
until the wanted load is offered (about five times). Runs of the whole machine are left as long as they were.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.generate.laws import round_request
from wattline.units import HOUR_S

NODES = 49_152
YEAR_DAYS = 365.0

SIZES = np.array([512, 1024, 2048, 4096, 8192, 12288, 16384, 24576, 32768, NODES])
SHARES = np.array([0.5245, 0.2225, 0.1658, 0.0238, 0.0456, 0.0003, 0.0155, 0.0001, 0.0019, 0.0])
"""Shares of jobs by partition size, but for the whole machine, whose share is a parameter (in the log 0.0029)."""

_POINTS = np.array([0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0])
_HOURS = np.array([
    [0.083, 0.18, 0.43, 1.02, 3.58, 6.01, 12.0],
    [0.083, 0.29, 0.68, 1.28, 3.67, 11.4, 12.0],
    [0.083, 0.26, 0.65, 1.08, 2.24, 6.02, 12.0],
    [0.083, 0.13, 0.51, 2.45, 5.08, 11.0, 12.0],
    [0.083, 0.15, 1.79, 5.62, 13.8, 24.0, 24.0],
    [0.083, 0.12, 0.16, 0.75, 1.55, 13.6, 24.0],
    [0.083, 0.12, 0.16, 0.75, 1.55, 13.6, 24.0],
    [0.083, 0.11, 0.67, 1.94, 2.68, 8.96, 24.0],
    [0.083, 0.11, 0.67, 1.94, 2.68, 8.96, 24.0],
    [0.083, 0.09, 0.35, 1.15, 5.91, 6.00, 24.0],
])  # fmt: skip
"""Run times in hours by size; 12,288 and 24,576 nodes, of which there were 6 jobs and 2, as the next size."""

LIMIT_S = np.where(SIZES <= 4096, 12.0, 24.0) * HOUR_S
LEAST_S = 300.0

WITHIN = 0.2
"""Part of the variance of run times (as normal scores) that lies within a key, as between runs of one user, size and
request.
"""

MARGIN = (1.05, 2.2)
"""Requests are the typical run time of their key times a number in this range, raised to a round time, at most the
queue's.
"""

MOST_STRETCH = 50.0


def run_times(size: Ints, score: Floats, stretch: float) -> Floats:
    """Return run times at normal scores, stretched, before any limit."""
    from scipy.special import ndtr

    rank = ndtr(score)
    log_h = np.empty(rank.size)
    for code, hours in enumerate(np.log(_HOURS)):
        mine = size == code
        log_h[mine] = np.interp(rank[mine], _POINTS, hours)
    times: Floats = np.exp(log_h) * HOUR_S * np.where(SIZES[size] == NODES, 1.0, stretch)
    return times


def limited(size: Ints, typical: Floats, score: Floats, margin: Floats, stretch: float) -> tuple[Floats, Floats]:
    """Return run times and requests: ``typical`` is the score of a job's key, ``score`` its own, ``margin`` its
    key's.
    """
    wanted = run_times(size, typical, stretch) * margin
    request = np.minimum(round_request(wanted), LIMIT_S[size])
    return np.clip(np.round(run_times(size, score, stretch)), LEAST_S, request), request


def find_stretch(node_s: float, size: Ints, typical: Floats, score: Floats, margin: Floats) -> float:
    """Return the stretch at which jobs do this work, or the nearest there is."""
    low, high = 1.0 / MOST_STRETCH, MOST_STRETCH
    for _ in range(40):
        middle = math.sqrt(low * high)
        work, _ = limited(size, typical, score, margin, middle)
        if float((SIZES[size] * work).sum()) < node_s:
            low = middle
        else:
            high = middle
    return high


@dataclass(frozen=True)
class Programme:
    """Projects that share a way to get time on the machine: their share of jobs, how many, when they begin and how long
    they last.

    ``rounds``: days of the year on which ``count`` projects are allocated, for ``lasts`` days. Without rounds they come
    at any time, ``count`` a year, with exponential lives of ``lasts`` days on average; those of before the first day
    are there. A project begins to submit an exponential time of mean ``delay`` days after its allocation.
    """

    name: str
    share: float
    count: int
    lasts: float
    delay: float
    rounds: tuple[float, ...] = ()


PROGRAMMES = (
    Programme("a", 0.62, 32, YEAR_DAYS, 5.0, (0.0,)),
    Programme("b", 0.25, 10, YEAR_DAYS / 2, 5.0, (0.0, YEAR_DAYS / 2)),
    Programme("c", 0.13, 60, 90.0, 5.0),
)
"""Our choice, after how such machines are allocated: yearly awards, awards of half a year, and small ones at any time.
"""

WEIGHT_SIGMA = 0.8
"""Projects of a programme differ in how much they submit (lognormal)."""

CENTRES, WIDTH = (9.0, 13.5), 1.5
"""Projects prefer sizes: base-two logarithm of the nodes, normal with this deviation around a centre in this range."""

MOST_USERS, MOST_NAMES = 6, 4


@dataclass(frozen=True)
class Projects:
    """The projects of some years: arrays with a row each."""

    programme: Ints
    begin_d: Floats
    end_d: Floats
    weight: Floats
    centre: Floats
    users: Ints
    names: Ints
    key_score: Floats
    key_margin: Floats

    def __len__(self) -> int:
        return self.weight.size

    def chances(self, day: Floats, size: Ints) -> Floats:
        """Return the chance of every project (columns) to submit the jobs of these sizes on these days (rows)."""
        active = (self.begin_d <= day[:, None]) & (day[:, None] < self.end_d)
        fits = np.exp(-0.5 * ((np.log2(SIZES[size])[:, None] - self.centre) / WIDTH) ** 2)
        raw = active * self.weight * fits
        raw[~active.any(axis=1)] = np.exp(-self.begin_d)  # before anybody begins the first one does
        of = self.programme == np.arange(len(PROGRAMMES))[:, None]
        sums = raw @ of.T
        share = np.array([p.share for p in PROGRAMMES])
        chances = raw * (share / np.maximum(sums, 1e-300))[:, self.programme]
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def draw_projects(random: np.random.Generator, days: float) -> Projects:
    """Draw the projects of all years that the days touch."""
    years = math.ceil(days / YEAR_DAYS)
    rows: dict[str, list[Any]] = {"programme": [], "begin_d": [], "end_d": []}
    for code, programme in enumerate(PROGRAMMES):
        for allocated, until in _allocations(random, programme, years):
            rows["programme"].append(code)
            rows["begin_d"].append(allocated + random.exponential(programme.delay))
            rows["end_d"].append(max(until, rows["begin_d"][-1] + 7.0))
    n = len(rows["programme"])
    shape = (n, MOST_USERS, MOST_NAMES, SIZES.size)
    return Projects(
        **{name: np.array(values) for name, values in rows.items()},
        weight=random.lognormal(0.0, WEIGHT_SIGMA, n),
        centre=random.uniform(*CENTRES, n),
        users=np.minimum(1 + random.poisson(1.5, n), MOST_USERS),
        names=np.minimum(1 + random.poisson(1.0, n), MOST_NAMES),
        key_score=random.standard_normal(shape),
        key_margin=random.uniform(*MARGIN, shape),
    )


def _allocations(random: np.random.Generator, programme: Programme, years: int) -> list[tuple[float, float]]:
    """Return days from and until which projects may run."""
    if programme.rounds:
        starts = [y * YEAR_DAYS + r for y in range(years) for r in programme.rounds for _ in range(programme.count)]
        return [(start, start + programme.lasts) for start in starts]
    before = random.poisson(programme.count / YEAR_DAYS * programme.lasts)
    came = [-programme.delay * 5] * int(before)  # they have begun already, and last as long again as at any time
    gaps = random.exponential(YEAR_DAYS / programme.count, int(programme.count * years * 2 + 20))
    later = np.cumsum(gaps)
    came += later[later < years * YEAR_DAYS].tolist()
    lives = random.exponential(programme.lasts, len(came))
    return [(day, max(day, 0.0) + life) for day, life in zip(came, lives, strict=True)]
