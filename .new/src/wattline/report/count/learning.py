"""What was learned of the power of jobs: the share of known profiles over time, and how far profiles were off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints
from wattline.model.profiles import DEFAULT
from wattline.report.count.run import Run
from wattline.report.count.statistics import NAN, Distribution, describe
from wattline.units import DAY_S

if TYPE_CHECKING:
    import polars as pl


SETTLED = 0.94
"""Learning rate that counts as having learned the workload (knapsack §VIII-A)."""

TRAILING_DAYS = 7
"""Days of the trailing learning rate."""

ROUNDING = 1e-9
"""Share by which power may lie above a profile without being under-predicted."""

OWN, MAXIMUM, DOUBTED = "own", "maximum", "doubted"


@dataclass(frozen=True)
class LearningRate:
    """Share of jobs whose profile was known when they entered the queue, day by day since the start of the run.

    ``cumulative`` is over all jobs up to the end of a day, ``trailing`` over those of the last days. A day without jobs
    has no rate of its own (NaN).
    """

    jobs: Ints
    known: Ints
    daily: Floats
    cumulative: Floats
    trailing: Floats


@dataclass(frozen=True)
class Errors:
    """Profiles at the start of jobs against what they drew.

    Errors are (profile - power) / power, so below 0 is too low.

    ``mean`` is against the mean power of a job, ``peak`` against its greatest sample, ``under_mean`` and ``under_peak``
    are the shares of jobs that drew more than their profile. ``overcount`` is what profiles counted with beyond what
    was drawn, over all node-seconds.
    """

    jobs: int
    mean: Distribution
    peak: Distribution
    under_mean: float
    under_peak: float
    overcount: float


@dataclass(frozen=True)
class LevelRow:
    """A level of profiles: jobs that entered the queue with it, their share, and the errors of those that started with
    it.
    """

    name: str
    submitted: int
    share: float
    errors: Errors


@dataclass(frozen=True)
class Learning:
    """Learning over a run: jobs that started, the share whose profile was known on entering the queue, and errors by
    level.

    ``settled_day`` and ``settled_trailing_day`` say after how many days the cumulative and the trailing learning rate
    stay at ``threshold`` or above (NaN: never).
    """

    learner: str
    jobs: int
    known: float
    threshold: float
    settled_day: float
    settled_trailing_day: float
    trailing_days: int
    errors: Errors
    levels: tuple[LevelRow, ...]

    @property
    def groupings(self) -> int:
        """How many levels profiles are kept at: all but the maximum and the doubted ones."""
        return len(self.levels) - 2

    @property
    def learns(self) -> bool:
        """Whether profiles come from samples; otherwise a learning rate says nothing."""
        return self.learner not in (MAXIMUM, "measured", "oracle")


def learning_rate(
    submit_s: Floats, known: npt.NDArray[np.bool_], start_s: float, trailing_days: int = TRAILING_DAYS
) -> LearningRate:
    """Count by day which jobs had a known profile when they entered the queue.

    >>> at = np.array([0.0, 10.0, 90000.0, 90001.0])
    >>> learning_rate(at, np.array([False, True, True, True]), 0.0).cumulative.tolist()
    [0.5, 0.75]
    """
    day = np.floor((submit_s - start_s) / DAY_S).astype(np.int64)
    days = int(day.max()) + 1 if day.size else 0
    jobs = np.bincount(day, minlength=days).astype(np.int64)
    hits = np.bincount(day[known], minlength=days).astype(np.int64)
    summed = [np.concatenate([[0], np.cumsum(counts)]) for counts in (hits, jobs)]
    since = np.maximum(np.arange(1, days + 1) - trailing_days, 0)
    trailing = [total[1:] - total[since] for total in summed]
    return LearningRate(
        jobs, hits, _ratio(hits, jobs), _ratio(summed[0][1:], summed[1][1:]), _ratio(trailing[0], trailing[1])
    )


def settled_day(rate: Floats, threshold: float = SETTLED) -> float:
    """Return after how many days a daily rate stays at a threshold or above (NaN: never).

    Days without a rate do not count.

    >>> settled_day(np.array([0.5, 0.95, 0.9, 0.94, np.nan, 0.99])), settled_day(np.array([0.95, 0.9]))
    (4.0, nan)
    """
    known = np.flatnonzero(~np.isnan(rate))
    below = known[rate[known] < threshold]
    after = known[known > below[-1]] if below.size else known
    return float(after[0] + 1) if after.size else NAN


def profile_errors(profile_w: Floats, mean_w: Floats, seen_w: Floats, node_s: Floats) -> Errors:
    """Hold profiles per node against mean power and greatest sample of jobs (NaN: not known); ``node_s`` weighs jobs.

    >>> told, mean, peak = np.array([60.0, 50.0]), np.array([50.0, 40.0]), np.array([60.0, 80.0])
    >>> found = profile_errors(told, mean, peak, np.array([1.0, 1.0]))
    >>> found.under_peak, round(found.overcount, 3)
    (0.5, 0.222)
    """
    drawn = (mean_w > 0) & np.isfinite(node_s)
    counted_j, drawn_j = (float((w[drawn] * node_s[drawn]).sum()) for w in (profile_w, mean_w))
    return Errors(
        int(profile_w.size),
        describe(_relative(profile_w, mean_w)),
        describe(_relative(profile_w, seen_w)),
        _share_above(profile_w, mean_w),
        _share_above(profile_w, seen_w),
        counted_j / drawn_j - 1.0 if drawn_j > 0 else NAN,
    )


def measure_learning(
    learner: str,
    levels: Sequence[Sequence[str]],
    start_s: float,
    *,
    submit_s: Floats,
    submit_level: Ints,
    start_level: Ints,
    start_w: Floats,
    mean_w: Floats,
    seen_w: Floats,
    node_s: Floats,
    threshold: float = SETTLED,
    trailing_days: int = TRAILING_DAYS,
) -> Learning:
    """Return what was learned over a run, of columns with a row a job."""
    known = known_profiles(submit_level, len(levels))
    rate = learning_rate(submit_s, known, start_s, trailing_days)
    rows = []
    for v, name in enumerate(level_names(levels)):
        at, begun = submit_level == v, start_level == v
        errors = profile_errors(start_w[begun], mean_w[begun], seen_w[begun], node_s[begun])
        rows.append(LevelRow(name, int(at.sum()), float(at.mean()) if at.size else NAN, errors))
    return Learning(
        learner,
        int(submit_s.size),
        float(known.mean()) if known.size else NAN,
        threshold,
        settled_day(rate.cumulative, threshold),
        settled_day(rate.trailing, threshold),
        trailing_days,
        profile_errors(start_w, mean_w, seen_w, node_s),
        tuple(rows),
    )


def known_profiles(level: Ints, groupings: int) -> npt.NDArray[np.bool_]:
    """Tell which jobs have a known profile; one that is doubted, so that the maximum is counted with, is known too."""
    return np.asarray(level != groupings, dtype=np.bool_)


def profile_columns(profiles: pl.DataFrame, jobs: pl.DataFrame) -> dict[str, Any]:
    """Return the columns of profiles and of their jobs as ``measure_learning`` takes them."""
    import polars as pl

    of_job = jobs.select("job_id", "submit_s", node_s=pl.col("nodes") * pl.col("runtime_s"))
    rows = profiles.join(of_job, on="job_id", how="left", maintain_order="left")
    whole = {name: rows[name].to_numpy() for name in ("submit_level", "start_level")}
    floats = ("submit_s", "start_w", "mean_w", "seen_w", "node_s")
    return whole | {name: rows[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in floats}


def count_learning(run: Run) -> Learning | None:
    """Return what was learned of the power of jobs in a run; None where it was known."""
    if run.profiles is None:
        return None
    learner = str((run.manifest.get("policies") or {}).get("profile") or "")
    levels = (run.manifest.get("power") or {}).get("levels") or DEFAULT
    return measure_learning(learner, levels, run.start_s, **profile_columns(run.profiles, run.jobs))


def level_names(levels: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return what the levels are called: a job's own, the columns of the groups that stand in for it, the maximum, and
    doubted ones.

    >>> level_names([["group", "user", "kind"], ["group", "user"], ["group"]])
    ('own', 'group+user', 'group', 'maximum', 'doubted')
    """
    return (OWN, *("+".join(level) for level in levels[1:]), MAXIMUM, DOUBTED)


def _relative(profile_w: Floats, power_w: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        error: Floats = np.where(power_w > 0, (profile_w - power_w) / power_w, np.nan)
    return error


def _share_above(profile_w: Floats, power_w: Floats) -> float:
    known = ~np.isnan(power_w)
    above = power_w[known] > profile_w[known] * (1.0 + ROUNDING)
    return float(above.mean()) if above.size else NAN


def _ratio(part: npt.NDArray[np.integer], whole: npt.NDArray[np.integer]) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        share: Floats = np.where(whole > 0, part / whole, np.nan)
    return share
