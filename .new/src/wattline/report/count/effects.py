"""Who waits longer and who less than in the runs a comparison is held against: users, groups, kinds, sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from wattline.report.count.compare import more_started, pair
from wattline.report.count.groups import GroupRow, SizeRow, count_groups, count_sizes, with_slowdowns
from wattline.report.count.metrics import Summary
from wattline.report.count.run import Run

ROUNDING_S = 0.5
"""Mean waits that differ by less are the same."""


@dataclass(frozen=True)
class Effect:
    """The jobs of one user (or group, kind, size) in two labels: how many of them start, and their mean waits."""

    name: str
    jobs: float
    before_s: float
    after_s: float

    @property
    def change_s(self) -> float:
        """How much longer a job waits."""
        return self.after_s - self.before_s

    @property
    def total_s(self) -> float:
        """How much longer all of its jobs wait together."""
        return self.change_s * self.jobs

    @property
    def loses(self) -> bool:
        """Whether it waits longer by more than rounding."""
        return self.change_s > ROUNDING_S

    @property
    def gains(self) -> bool:
        """Whether it waits less by more than rounding."""
        return self.change_s < -ROUNDING_S


Effects = Mapping[str, tuple[Effect, ...]]
"""What jobs are told apart by (user, group, kind, size) → effects, who loses most first; sizes from small to large."""


def find_effects(
    runs: Mapping[str, Sequence[Summary]], loaded: Mapping[str, Callable[[], Run]] | None = None
) -> dict[str, Effects]:
    """Return for every label but the first what it changed for whom, over the runs that have a partner.

    Where other jobs start than with the first label, only those that start in both count. Summaries do not know them:
    they are those of the runs that can be loaded, one a label, and nothing is told where there are none.
    """
    first, *others = runs
    _, pairs = pair(runs)
    found: dict[str, Effects] = {}
    for label in others:
        both: list[tuple[Counted, Counted]] = [(runs[first][i], runs[label][j]) for i, j in pairs[label]]
        if more_started(runs[first], runs[label], pairs[label]):
            known = loaded is not None and first in loaded and label in loaded
            both = [in_both(loaded[first](), loaded[label]())] if known and loaded is not None else []
        named: dict[str, tuple[Effect, ...]] = {}
        for what in ("user", "group", "kind", "size"):
            rows = _effects(*zip(*((_rows(a, what), _rows(b, what)) for a, b in both), strict=True)) if both else []
            if len(rows) > 1:
                named[what] = tuple(rows if what == "size" else sorted(rows, key=lambda row: (-row.total_s, row.name)))
        found[label] = named
    return found


@dataclass(frozen=True)
class Tables:
    """Jobs of a run by who they belong to, as a summary has them."""

    users: tuple[GroupRow, ...]
    groups: tuple[GroupRow, ...]
    kinds: tuple[GroupRow, ...]
    sizes: tuple[SizeRow, ...]


Counted = Summary | Tables


def in_both(before: Run, after: Run) -> tuple[Tables, Tables]:
    """Return the tables of two runs over the jobs that start in both."""
    import polars as pl

    ids = [run.jobs.filter(pl.col("wait_s").is_not_null())["job_id"] for run in (before, after)]
    common = ids[0].filter(ids[0].is_in(ids[1].implode()))

    def counted(run: Run) -> Tables:
        jobs = with_slowdowns(replace(run, jobs=run.jobs.filter(pl.col("job_id").is_in(common.implode()))))
        users, groups, kinds = (count_groups(jobs, name, watts=False) for name in ("user", "group", "kind"))
        return Tables(users, groups, kinds, count_sizes(jobs))

    return counted(before), counted(after)


def _rows(summary: Counted, what: str) -> list[tuple[str, int, float]]:
    found: Iterable[GroupRow | SizeRow] = getattr(summary, f"{what}s")
    return [(row.label if isinstance(row, SizeRow) else row.name, row.started, row.wait_mean_s) for row in found]


def _effects(
    before: Sequence[list[tuple[str, int, float]]], after: Sequence[list[tuple[str, int, float]]]
) -> list[Effect]:
    """Return the effects on everybody whose jobs started in both, in the order of the first."""
    one, other = _together(before), _together(after)
    runs = len(before)
    return [
        Effect(name, jobs / runs, waited / jobs, other[name][1] / other[name][0])
        for name, (jobs, waited) in one.items()
        if name in other
    ]


def _together(runs: Sequence[list[tuple[str, int, float]]]) -> dict[str, tuple[int, float]]:
    """Return jobs that started and seconds waited of everybody, over all runs."""
    found: dict[str, tuple[int, float]] = {}
    for rows in runs:
        for name, jobs, wait_s in rows:
            if jobs and not math.isnan(wait_s):
                had, waited = found.get(name, (0, 0.0))
                found[name] = had + jobs, waited + jobs * wait_s
    return found
