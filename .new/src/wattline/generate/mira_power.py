"""Power of jobs on a machine like Mira: a level for every job, by project, user and key, and how it changes over the
run.

Known (Wallace et al., *A data driven scheduling approach for power management on HPC systems*, SC 2016): the
distribution of job power per rack (table I; ``TABLE_I``), that projects differ in median and spread (fig. 1), that
users within a project differ slightly (fig. 2), that phases of little power last less than 80 minutes and that after 20
samples it takes a drastic change of an application to contradict its profile, so that runs of a key must be much alike.
Its maximum of 160.6 kW a rack contradicts the machine's 4.8 MW and is cut to 100 kW.

Chosen by us: everything else. The level of a job is Q(Φ(z)), where Q is table I's quantile function, Φ the normal
distribution and z a sum of independent normal scores of its project, its user, its *key* (project, user, job name,
nodes) and the job itself, whose variances (``PROJECT`` …) add up to 1. A project's keys spread by a factor of its own
around that. Over the run a job ramps up, dips (input and output) with a period of its key, drifts, and fluctuates as an
autoregressive process.

Scores and shapes are functions of a seed and of names alone: the same key has the same profile in every log. A
generated year takes the ranks of its jobs' scores instead of Φ(z): a few large projects would else decide what its
table I looks like.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints
from wattline.errors import InputError
from wattline.model.series import PowerSeries
from wattline.reading.series_column import mean_over_run

RACK_NODES = 1024
RACK_KW = 100.0
"""4.8 MW over 48 racks: what a rack draws at most."""

MAX_W = RACK_KW * 1e3 / RACK_NODES
"""97.65625 W: what a node draws at most."""

STEP_S = 300.0
"""A value of power every five minutes, as the machine's own monitoring has it (4 to 6 minutes)."""

TABLE_I = {
    "min": 36.48,
    "mean": 65.76,
    "max": 160.60,
    "p5": 56.60,
    "p25": 61.20,
    "p75": 71.03,
    "p95": 74.57,
    "p99": 77.99,
    "std": 6.18,
}
"""Published statistics of job power in kW a rack."""

_QUANTILES = (
    (0.0, 36.48), (0.001, 47.0), (0.01, 53.2), (0.05, 56.60), (0.25, 61.20), (0.5, 65.4), (0.75, 71.03), (0.95, 74.57),
    (0.99, 77.99), (0.999, 82.0), (0.9999, 85.0), (1.0, RACK_KW),
)  # fmt: skip
"""Table I's percentiles; the median and what lies beyond 1 and 99 % are chosen so that mean and deviation come out too.
"""

PROJECT, USER, KEY, JOB = 0.70, 0.04, 0.2595, 0.0005
"""Variances of the scores; in kW a rack about 5.2, 1.2, 3.1 and 0.15 of standard deviation."""

SPREAD = 0.4
"""Projects differ in spread: the scores of their keys are stretched by exp(0.4 n - 0.16), n normal (mean square 1)."""

RAMP, RAMP_STEPS = (0.03, 0.10), (1, 2)
"""A run begins by this part below its level and reaches it in so many steps (by key)."""

FULL_RAMP_STEPS = 12
"""In runs of less than an hour the ramp is shallower in proportion: else it would be most of their mean."""

DIP, DIP_STEPS = (0.02, 0.06), (3, 8)
"""Every 15 to 40 minutes one step of input and output, by this part below (by key)."""

NOISE, MEMORY = (0.006, 0.014), 0.2
"""Relative fluctuation (by key), and how much of it is left after a step."""

DRIFT = 0.002
"""Standard deviation of the relative change from the beginning to the end of a run."""

_LAGS = 16
_WORDS = 6


@dataclass(frozen=True)
class Keys:
    """Who runs what: for every job the codes of project, user and key, and the texts that these stand for."""

    project: Ints
    user: Ints
    key: Ints
    projects: Sequence[str]
    users: Sequence[str]
    keys: Sequence[str]


@dataclass(frozen=True)
class MiraPower:
    """The model for nodes of ``max_w``; ``seed`` names a draw of all profiles."""

    seed: int = 1
    max_w: float = MAX_W

    def __post_init__(self) -> None:
        if not 0 < self.max_w < np.inf:
            raise InputError(f"power model: the greatest power of a node must be positive, got {self.max_w:g} W")

    def series(
        self,
        keys: Keys,
        work_s: Floats,
        random: np.random.Generator,
        *,
        ranked: bool = False,
        most_w: Floats | None = None,
    ) -> PowerSeries:
        """Return the power of jobs over their runs (``ranked``: see ``levels``); ``mean_over_run`` gives ``draw_w``.

        ``most_w`` bounds the level of every job.
        """
        level_w = self.levels(keys, random, ranked=ranked)
        if most_w is not None:
            level_w = np.minimum(level_w, most_w)
        counts = np.maximum(np.ceil(work_s / STEP_S), 1.0).astype(np.int64)
        first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        shape = _shapes(_uniforms(self.seed, "key", keys.keys)[keys.key], counts, first, random)
        mean = mean_over_run(PowerSeries(STEP_S, first, shape), work_s)
        watts = np.minimum(shape * np.repeat(level_w / mean, counts), self.max_w).astype(np.float32)
        return PowerSeries(STEP_S, first, watts)

    def levels(self, keys: Keys, random: np.random.Generator, *, ranked: bool = False) -> Floats:
        """Return the mean power per node of every job, in watts.

        ``ranked``: the rank of a job's score among these jobs takes the place of Φ, so that table I comes out over just
        these.
        """
        from scipy.special import ndtr, ndtri

        project = _uniforms(self.seed, "project", keys.projects)
        spread = np.exp(SPREAD * ndtri(project[:, 1]) - SPREAD**2)
        user = ndtri(_uniforms(self.seed, "user", keys.users)[:, 0])
        key = ndtri(_uniforms(self.seed, "key", keys.keys)[:, 0])
        total = (
            np.sqrt(PROJECT) * ndtri(project[:, 0])[keys.project]
            + np.sqrt(USER) * user[keys.user]
            + np.sqrt(KEY) * (spread[keys.project] * key[keys.key])
            + np.sqrt(JOB) * random.standard_normal(keys.key.size)
        )
        at, kw = np.array(_QUANTILES).T
        rank = _ranks(total) if ranked else ndtr(total)
        levels: Floats = np.interp(rank, at, kw) / RACK_KW * self.max_w
        return levels


def key_text(project: str, user: str, name: str, nodes: int) -> str:
    """Return the text by which a key is known."""
    return f"{project}\0{user}\0{name}\0{nodes}"


def _ranks(values: Floats) -> Floats:
    rank = np.empty(values.size)
    rank[np.argsort(values, kind="stable")] = (np.arange(values.size) + 0.5) / values.size
    return rank


def _uniforms(seed: int, level: str, names: Sequence[str]) -> Floats:
    """Return random numbers in (0, 1) for every name, which depend on seed, level and name alone."""
    digests = [hashlib.blake2b(f"{seed}\0{level}\0{name}".encode(), digest_size=8 * _WORDS).digest() for name in names]
    words = np.frombuffer(b"".join(digests), dtype="<u8").reshape(len(names), _WORDS)
    return np.asarray(((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53)


def _between(bounds: tuple[float, float], uniform: Floats) -> npt.NDArray[np.float32]:
    return (bounds[0] + (bounds[1] - bounds[0]) * uniform).astype(np.float32)


def _steps(bounds: tuple[int, int], uniform: Floats) -> npt.NDArray[np.int32]:
    return (bounds[0] + np.floor((bounds[1] - bounds[0] + 1) * uniform)).astype(np.int32)


def _shapes(uniform: Floats, counts: Ints, first: Ints, random: np.random.Generator) -> npt.NDArray[np.float32]:
    """Return relative power around 1 for every step of every job; ``uniform`` are the numbers of its key."""

    def each(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        return np.repeat(values, counts)

    at = (np.arange(first[-1]) - np.repeat(first[:-1], counts)).astype(np.int32)
    shape = 1.0 + each(_between(NOISE, uniform[:, 1])) * _fluctuation(counts, random)
    drift = (DRIFT * random.standard_normal(counts.size)).astype(np.float32)
    shape += each(drift) * (at / each(counts.astype(np.float32)) - np.float32(0.5))
    ramp = each(_steps(RAMP_STEPS, uniform[:, 2]).astype(np.float32))
    deep = _between(RAMP, uniform[:, 3]) * np.minimum(counts / FULL_RAMP_STEPS, 1.0).astype(np.float32)
    shape -= each(deep) * np.maximum(1.0 - at / ramp, 0.0, dtype=np.float32)
    period = np.repeat(_steps(DIP_STEPS, uniform[:, 4]), counts)
    shape -= np.where(at % period == period - 1, each(_between(DIP, uniform[:, 5])), np.float32(0.0))
    return shape.astype(np.float32)


def _fluctuation(counts: Ints, random: np.random.Generator) -> npt.NDArray[np.float32]:
    """Return an autoregressive process of variance 1 for every job, independent of the others'."""
    total = int(counts.sum()) + _LAGS * counts.size
    shocks = random.standard_normal(total, dtype=np.float32)
    sums = np.zeros(total - _LAGS, dtype=np.float32)
    for lag in range(_LAGS):
        sums += np.float32(MEMORY**lag) * shocks[_LAGS - lag : total - lag]
    own = np.arange(counts.sum()) + np.repeat(np.arange(counts.size) * _LAGS, counts)
    scale = np.sqrt((1.0 - MEMORY**2) / (1.0 - MEMORY ** (2 * _LAGS)))
    return np.asarray(sums[own] * np.float32(scale))
