"""Side by side: means over seeds with confidence intervals, and paired differences against the first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from wattline.errors import InputError
from wattline.report.count.metrics import Summary
from wattline.report.count.statistics import NAN
from wattline.units import show_duration

CONFIDENCE = 0.95


class Metric(NamedTuple):
    """A number worth comparing: path in a summary, title, unit (as ``show`` takes it), and which way is better."""

    path: str
    title: str
    unit: str
    better: str = "lower"


CARBON = "accounts.total.carbon_kg"

METRICS: tuple[Metric, ...] = (
    Metric("jobs.finished", "jobs finished", "jobs", "higher"),
    Metric("jobs.rejected", "jobs rejected", "jobs"),
    Metric("jobs.unfinished", "jobs unfinished", "jobs"),
    Metric("jobs.killed", "jobs killed", "jobs"),
    Metric("jobs.failed", "jobs failed", "jobs"),
    Metric("wait_s.mean", "wait, mean", "s"),
    Metric("wait_s.median", "wait, median", "s"),
    Metric("wait_s.p95", "wait, p95", "s"),
    Metric("wait_s.max", "wait, longest", "s"),
    Metric("response_s.mean", "response, mean", "s"),
    Metric("slowdown.mean", "slowdown, mean", ""),
    Metric("bounded_slowdown.mean", "bounded slowdown, mean", ""),
    Metric("bounded_slowdown.p95", "bounded slowdown, p95", ""),
    Metric("utilization", "utilization", "share", "higher"),
    Metric("utilization_submitting", "utilization, submitting", "share", "higher"),
    Metric("throughput_per_h", "throughput", "jobs/h", "higher"),
    Metric("span.makespan_s", "makespan", "s"),
    Metric("queued_jobs.mean", "queue length, mean", "jobs"),
    Metric("energy.total_j", "energy", "J"),
    Metric("energy.idle_j", "energy of idle nodes", "J"),
    Metric("energy.per_ended_job_j", "energy per job", "J"),
    Metric("power.mean_w", "power, mean", "W"),
    Metric("power.peak_w", "power, peak", "W"),
    Metric("power.above_limit_share", "time above the limit", "share"),
    Metric("capping.whole.intervals.success", "capping success", "share", "higher"),
    Metric("capping.apart.intervals.success", "success but for deadlocks", "share", "higher"),
    Metric("capping.whole.worst_w", "worst excess", "W"),
    Metric("capping.whole.longest_s", "longest excess", "s"),
    Metric("capping.deadlock_starts", "deadlock starts", ""),
    Metric("capping.caps_set", "caps set", ""),
    Metric("capping.jobs_stopped", "jobs stopped at the limit", ""),
    Metric("learning.known", "profiles known on arrival", "share", "higher"),
    Metric("learning.settled_day", "days until 94 % were known", ""),
    Metric("learning.errors.overcount", "profiles above power", "share"),
    Metric("learning.errors.under_peak", "peaks above profiles", "share"),
    Metric("jobs.preemptions", "preemptions", ""),
    Metric("cost", "cost", "$"),
    Metric("accounts.total.score", "performance score", "", "higher"),
    Metric(CARBON, "carbon", "kg CO₂"),
    Metric("regulation.reserve_w", "reserve, mean", "W", "higher"),
    Metric("regulation.error", "tracking error, mean", "share"),
    Metric("regulation.exceed_share", "tracking error above 30 %", "share"),
    Metric("worst_violation", "worst kind beyond its limit", "share"),
    Metric("worst_mean_q", "worst mean degradation Q", ""),
)


DEADLOCKS = "capping.deadlock_starts"
ACTIONS = (DEADLOCKS, "capping.caps_set", "capping.jobs_stopped")
"""Counts that nobody misses where all of them are 0."""


LEFT_OUT = {"cost": "accounts.total.unpriced_s", CARBON: "accounts.total.no_carbon_s"}
"""Totals that leave time out where a series ends → how much; totals of other parts of a run do not compare."""


@dataclass(frozen=True)
class Estimate:
    """A mean over ``count`` runs and half the width of its 95 % Student-t interval (NaN for a single run)."""

    count: int
    mean: float
    half_width: float

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval is known and does not hold 0."""
        return math.isfinite(self.half_width) and abs(self.mean) > self.half_width


ABOVE_ONE = ("learning.errors.overcount", "learning.errors.under_peak", "regulation.error", "worst_violation")
"""Shares of something that may be more than all of it."""


@dataclass(frozen=True)
class Row:
    """One metric: an estimate per label, and its difference to the first label over the runs both have (or None).

    ``references`` are means of the first label over the runs that each difference is of (NaN: there are none).
    ``whole``: no run leaves out a part of its time. ``ends`` are the labels with the best and the worst mean (the first
    where several have it), ``between`` is their difference over the runs that pair.
    """

    metric: Metric
    estimates: tuple[Estimate, ...]
    differences: tuple[Estimate | None, ...]
    references: tuple[float, ...]
    whole: bool
    ends: tuple[int, int]
    between: Estimate

    def interval(self, column: int) -> tuple[float, float]:
        """Return the 95 % interval of a label's mean, within what the metric can be: a share lies between 0 and 1.

        NaN where there is none.
        """
        return interval_of(self.metric, self.estimates[column])


def interval_of(metric: Metric, found: Estimate) -> tuple[float, float]:
    """Return the 95 % interval of a mean, within what the metric can be (NaN: there is none)."""
    low, high = found.mean - found.half_width, found.mean + found.half_width
    if metric.unit != "share" or math.isnan(low):
        return low, high
    return max(low, 0.0), high if metric.path in ABOVE_ONE else min(high, 1.0)


@dataclass(frozen=True)
class Comparison:
    """All metrics of several labelled sets of runs.

    ``runs`` is how many each label has, ``paired_by`` how they pair, ``notes`` what a reader of differences must know:
    runs without a partner, and partners that ran other jobs. ``started`` is how many more jobs start in a run than with
    the first label, the largest difference of all pairs: where it is not 0, waits are means of other jobs. ``pairs`` is
    how many runs of each label have a partner.
    """

    labels: tuple[str, ...]
    runs: tuple[int, ...]
    paired_by: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    started: tuple[float, ...] = ()
    pairs: tuple[int, ...] = ()

    @property
    def all_pair(self) -> bool:
        """Whether every run has a partner, so that means of labels differ as their runs do."""
        return all(count == runs == self.runs[0] for count, runs in zip(self.pairs, self.runs, strict=True))

    def row(self, path: str) -> Row:
        """Return the row of a metric by its path."""
        return next(row for row in self.rows if row.metric.path == path)

    def to_dict(self) -> dict[str, Any]:
        """Return nested plain data for JSON; NaN becomes None."""
        return {
            "labels": list(self.labels),
            "runs": list(self.runs),
            "paired_by": self.paired_by,
            "notes": list(self.notes),
            "confidence": CONFIDENCE,
            "metrics": [
                row.metric._asdict()
                | {
                    "estimates": [(_plain(e) or {}) | _ends(row, i) for i, e in enumerate(row.estimates)],
                    "differences": [_plain(d) for d in row.differences],
                }
                for row in self.rows
            ],
        }


def compare(runs: Mapping[str, Sequence[Summary]], metrics: Sequence[Metric] = METRICS) -> Comparison:
    """Compare labelled sets of runs.

    Runs pair by seed; where a label has a seed twice, by seed and jobs; in their order when none has a seed. Metrics
    that no run has (time above a limit, without one) and events that never happened are left out.
    """
    if not runs or not all(runs.values()):
        raise InputError("nothing to compare: every label needs at least one run")
    labels = tuple(runs)
    first = labels[0]
    paired_by, pairs = pair(runs)
    rows = []
    deadlocks = any(s.value(DEADLOCKS) > 0 for summaries in runs.values() for s in summaries)
    for metric in metrics:
        if metric.path.startswith("capping.apart.") and not deadlocks:
            continue  # there is nothing to be counted apart
        values = {label: [s.value(metric.path) for s in summaries] for label, summaries in runs.items()}
        if not _says_something(metric, [v for column in values.values() for v in column]):
            continue
        left_s = {label: [_left_out_s(s, metric.path) for s in summaries] for label, summaries in runs.items()}
        differences, references = [], []
        for label in runs:
            alike = [(i, j) for i, j in pairs[label] if left_s[first][i] == left_s[label][j]]
            beside = [(values[first][i], values[label][j]) for i, j in alike]
            differences.append(None if label == first else estimate([other - one for one, other in beside]))
            references.append(estimate([one for one, other in beside if math.isfinite(other - one)]).mean)
        estimates = tuple(estimate(values[label]) for label in runs)
        whole = not any(any(column) for column in left_s.values())
        ends = _extremes(metric, estimates)
        best, worst = ({i: values[label][j] for i, j in pairs[label]} for label in (labels[place] for place in ends))
        between = estimate([best[i] - worst[i] for i in best if i in worst])
        rows.append(Row(metric, estimates, tuple(differences), tuple(references), whole, ends, between))
    counts, notes = tuple(len(s) for s in runs.values()), _notes(runs, pairs)
    started = tuple(more_started(runs[first], runs[label], pairs[label]) for label in runs)
    paired = tuple(len(pairs[label]) for label in runs)
    return Comparison(labels, counts, paired_by, tuple(rows), notes, started, paired)


def _extremes(metric: Metric, estimates: Sequence[Estimate]) -> tuple[int, int]:
    """Return which labels have the best and the worst mean."""
    sign = -1.0 if metric.better == "higher" else 1.0
    means = [sign * found.mean for found in estimates]
    known = [i for i, mean in enumerate(means) if not math.isnan(mean)] or [0]
    return min(known, key=means.__getitem__), max(known, key=means.__getitem__)


def _left_out_s(summary: Summary, path: str) -> float:
    """Return how much time of a run a metric leaves out: hours beyond a series of prices or of carbon."""
    if path not in LEFT_OUT or summary.accounts is None or (path == CARBON and not summary.accounts.has_carbon):
        return 0.0
    left_s = summary.value(LEFT_OUT[path])
    return 0.0 if math.isnan(left_s) else left_s


def more_started(reference: Sequence[Summary], others: Sequence[Summary], pairs: Sequence[tuple[int, int]]) -> float:
    """Return how many more jobs start a run than in its partner, the largest difference: 0 where all start as many."""
    found = (float(others[j].jobs.started - reference[i].jobs.started) for i, j in pairs)
    return max(found, key=abs, default=0.0)


def pair(runs: Mapping[str, Sequence[Summary]]) -> tuple[str, dict[str, list[tuple[int, int]]]]:
    """Return by what runs pair, and for each label which of its runs belongs to which of the first label's."""
    first, *_ = runs
    paired_by = _pairing(runs)
    return paired_by, {label: _pairs(runs[first], summaries, paired_by) for label, summaries in runs.items()}


def estimate(values: Sequence[float]) -> Estimate:
    """Return mean and interval of the values that are numbers.

    >>> round(estimate([1.0, 2.0, 3.0]).half_width, 3)
    2.484
    """
    sample = np.array([v for v in values if math.isfinite(v)])
    if sample.size == 0:
        return Estimate(0, NAN, NAN)
    if sample.size == 1:
        return Estimate(1, float(sample[0]), NAN)
    if np.all(sample == sample[0]):  # the spread of equal numbers is 0, not the rounding of their sum
        return Estimate(int(sample.size), float(sample[0]), 0.0)
    from scipy.special import stdtrit  # scipy.stats would take a second to import

    t = float(stdtrit(sample.size - 1, 0.5 + CONFIDENCE / 2))
    return Estimate(int(sample.size), float(sample.mean()), t * float(sample.std(ddof=1)) / math.sqrt(sample.size))


def _says_something(metric: Metric, values: Sequence[float]) -> bool:
    known = [v for v in values if not math.isnan(v)]
    counts = metric.path.startswith("jobs.") or metric.path in ACTIONS
    return any(known) if counts else bool(known)


BY_SEED, BY_BOTH, BY_ORDER = "seed", "seed and jobs", "order"


def _pairing(runs: Mapping[str, Sequence[Summary]]) -> str:
    """Return what tells partners: a seed says which run is meant only where no label has it twice."""
    seeds = [[s.seed for s in summaries if s.seed is not None] for summaries in runs.values()]
    if not any(seeds):
        return BY_ORDER
    return BY_SEED if all(len(set(some)) == len(some) for some in seeds) else BY_BOTH


def _pairs(reference: Sequence[Summary], others: Sequence[Summary], paired_by: str) -> list[tuple[int, int]]:
    """Return which runs of two sets belong together; equal runs of equal jobs pair in their order."""
    if paired_by == BY_ORDER:
        return [(i, i) for i in range(min(len(reference), len(others)))]
    rows: dict[tuple[Any, str], list[int]] = {}
    for i, s in enumerate(reference):
        rows.setdefault(_key(s, paired_by), []).append(i)
    found = []
    for j, s in enumerate(others):
        if s.seed is not None and (free := rows.get(_key(s, paired_by))):
            found.append((free.pop(0), j))
    return found


def _key(s: Summary, paired_by: str) -> tuple[Any, str]:
    return s.seed, s.workload if paired_by == BY_BOTH else ""


def _notes(runs: Mapping[str, Sequence[Summary]], pairs: Mapping[str, Sequence[tuple[int, int]]]) -> tuple[str, ...]:
    first, *others = runs
    notes = _unpriced(runs)
    for label in others:
        alone = max(len(runs[first]), len(runs[label])) - len(pairs[label])
        if alone:
            runs_of = f"{len(pairs[label])} of {len(runs[label])} runs of {label!r} have a partner"
            notes.append(f"{runs_of} among the {len(runs[first])} of {first!r}; the others are in no difference")
        if any(runs[first][i].workload != runs[label][j].workload for i, j in pairs[label]):
            notes.append(f"{label!r} and {first!r} ran different jobs: a difference is not that of settings alone")
        elif more := more_started(runs[first], runs[label], pairs[label]):
            jobs = f"{abs(more):,.0f} {'fewer' if more < 0 else 'more'} {'job' if abs(more) == 1 else 'jobs'}"
            several = len(pairs[label]) > 1
            words = f"up to {jobs} of a run start" if several else f"{jobs} {'starts' if abs(more) == 1 else 'start'}"
            notes.append(f"with {label!r} {words} than with {first!r}: mean waits of both are of different jobs")
    return tuple(notes)


def _unpriced(runs: Mapping[str, Sequence[Summary]]) -> list[str]:
    """Say whose totals leave hours out, where not all leave out the same."""
    notes = []
    for path, what in (("cost", "cost"), (CARBON, "carbon")):
        left_s = {label: max(_left_out_s(s, path) for s in some) for label, some in runs.items()}
        if len(set(left_s.values())) == 1:
            continue
        most = ", ".join(f"{show_duration(seconds)} of {label!r}" for label, seconds in left_s.items() if seconds)
        series = "prices" if what == "cost" else "carbon"
        notes.append(
            f"the {what} leaves out rows of the bill that reach beyond the series of {series}: {most}; "
            "no difference is told"
        )
    return notes


def _ends(row: Row, column: int) -> dict[str, float | None]:
    """Return the ends of a label's interval for JSON."""
    return dict(zip(("low", "high"), (None if math.isnan(end) else end for end in row.interval(column)), strict=True))


def _plain(found: Estimate | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in asdict(found).items()}
