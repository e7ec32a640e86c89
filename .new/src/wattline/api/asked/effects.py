"""Who feels a change, and what it comes from: jobs of two runs held against each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wattline.units import show_power

if TYPE_CHECKING:
    import polars as pl

    from wattline.api.runs import Run

DOMINANT = 0.5
"""A cause dominates where without it at least this part of the effect is gone."""

NOTICED_S, NOTICED = 10.0, 0.05
"""A change of the mean wait below one of them is none: seconds, and the part of the wait before."""

_FIRST = ("user", "group", "size")

ALIKE = 0.9
"""Suspects who explain at least this part of what the first one does are alike: the one of the fewest jobs is it."""

LEAST_JOBS = 5
"""Jobs that a user, group or size must have to be named."""

WIDE = 3
"""Wide jobs that are looked at together."""


@dataclass(frozen=True)
class Cause:
    """What an effect comes from: words, and the part of the effect that is gone without it."""

    words: str
    part: float
    pronoun: str = "it"
    jobs: int = 0
    """How many jobs it is about (0: it is about none)."""


@dataclass(frozen=True)
class Felt:
    """How a group of jobs feels a change."""

    about: str
    """user, group or size."""
    name: str
    jobs: int
    before_s: float
    after_s: float

    @property
    def more_s(self) -> float:
        """Seconds that its jobs wait longer on average."""
        return self.after_s - self.before_s


def waits(run: Run) -> pl.DataFrame:
    """Return the jobs of a run that started in it, with their waits."""
    import polars as pl

    return run.jobs.filter(pl.col("wait_s").is_not_null())


def in_both(before: Run, after: Run) -> pl.DataFrame:
    """Return the jobs that started in both runs, with their waits ``before_s`` and ``after_s``."""
    ours = waits(before).select("job_id", "user", "group", "nodes", before_s="wait_s")
    return ours.join(waits(after).select("job_id", after_s="wait_s"), on="job_id", how="inner")


def mean_waits_s(before: Run, after: Run) -> tuple[float, float]:
    """Return the mean waits in two runs of the jobs that started in both (NaN: none did): others have no partner."""
    both = in_both(before, after)
    if both.is_empty():
        return math.nan, math.nan
    return float(both["before_s"].to_numpy().mean()), float(both["after_s"].to_numpy().mean())


def more_wait_s(before: Run, after: Run) -> float:
    """Return by how many seconds the jobs that started in both runs wait longer in the second, on average."""
    old_s, new_s = mean_waits_s(before, after)
    return new_s - old_s


def is_noticed(before_s: float, after_s: float) -> bool:
    """Tell whether a mean wait changed by more than a trifle."""
    return abs(after_s - before_s) > max(NOTICED_S, NOTICED * max(before_s, 0.0))


def choose(found: Sequence[Cause]) -> Cause | None:
    """Return the cause that dominates: of those that explain about as much, the one of the fewest jobs (None: none)."""
    most = max((cause.part for cause in found), default=0.0)
    if most < DOMINANT:
        return None
    alike = [cause for cause in found if cause.part >= max(DOMINANT, ALIKE * most)]
    return min(alike, key=lambda cause: (cause.jobs, -cause.part))


def felt(before: Run, after: Run) -> list[Felt]:
    """Return how users, groups and sizes feel a change, who loses most first."""
    import polars as pl

    both = in_both(before, after).with_columns(
        size=pl.col("nodes").cast(pl.Float64).log(2).ceil().cast(pl.Int64, strict=False)
    )
    found: list[Felt] = []
    for about in _FIRST:
        known = both.filter(pl.col(about).is_not_null())
        if about != "size":
            known = known.filter(pl.col(about).cast(pl.String) != "")
        table = known.group_by(about).agg(pl.len().alias("jobs"), pl.col("before_s").mean(), pl.col("after_s").mean())
        if table.height < 2:
            continue
        for row in table.filter(pl.col("jobs") >= LEAST_JOBS).iter_rows(named=True):
            name = _size(row[about], before.summary.unit) if about == "size" else str(row[about])
            found.append(Felt(about, name, row["jobs"], row["before_s"], row["after_s"]))
    ranked = sorted(found, key=lambda one: (-one.more_s, _FIRST.index(one.about), one.name))
    alone = {(one.jobs, one.before_s, one.after_s): one for one in reversed(ranked)}  # a group of one user is that user
    return [one for one in ranked if alone[one.jobs, one.before_s, one.after_s] is one]


def _size(power: int, unit: str) -> str:
    if power <= 0:
        return f"1 {unit}"
    low, high = 2 ** (power - 1) + 1, 2**power
    return f"{low}–{high} {unit}s" if low < high else f"{high} {unit}s"


def without_jobs(
    before: Run, after: Run, ids: Sequence[Any], again: Callable[[set[Any]], tuple[Run, Run]]
) -> float | None:
    """Return which part of the longer waits of all jobs is gone where some jobs were never submitted.

    Their own waits count too: an effect that one user bears alone goes with him. ``again`` makes both runs without
    them. None: nobody waits longer.
    """
    whole_s = _more_s(before, after)
    if not whole_s > 0.0:
        return None
    return 1.0 - _more_s(*again(set(ids))) / whole_s


def _more_s(before: Run, after: Run) -> float:
    """Return how many seconds the jobs that started in both runs waited longer in the second, all together."""
    import polars as pl

    both = in_both(before, after)
    return float(both.select((pl.col("after_s") - pl.col("before_s")).sum()).item() or 0.0)


def widest(run: Run, count: int = WIDE) -> list[Any]:
    """Return the jobs that stand out: at most so many, at least twice as wide as the next ones; else none."""
    jobs = waits(run).sort("nodes", descending=True).select("job_id", "nodes").head(count + 1)
    if jobs.height <= 1:
        return []
    nodes = jobs["nodes"].to_list()
    for k in range(1, min(count, jobs.height - 1) + 1):
        if nodes[k - 1] >= 2 * nodes[k]:
            return jobs["job_id"].to_list()[:k]
    return []


def heaviest_user(run: Run) -> tuple[str, list[Any], float] | None:
    """Return the user with the most node-seconds, his jobs and his part of all; None where users are not known."""
    import polars as pl

    jobs = waits(run).with_columns(node_s=pl.col("nodes") * pl.col("runtime_s"))
    known = jobs.filter(pl.col("user").is_not_null() & (pl.col("user").cast(pl.String) != ""))
    table = known.group_by("user").agg(pl.col("node_s").sum()).sort("node_s", descending=True)
    total = jobs["node_s"].sum()
    if table.height < 2 or not total:
        return None
    name, node_s = table.row(0)
    return str(name), known.filter(pl.col("user") == name)["job_id"].to_list(), float(node_s) / float(total)


def whose_never_start(before: Run, after: Run) -> str:
    """Return in words whose jobs start in the first run only, where most of them are one user's ("": they are not)."""
    import polars as pl

    gone = waits(before).join(waits(after).select("job_id"), on="job_id", how="anti")
    known = gone.filter(pl.col("user").is_not_null() & (pl.col("user").cast(pl.String) != ""))
    counts = known.group_by("user").len().sort("len", "user", descending=[True, False])
    if counts.is_empty() or 2 * counts["len"][0] <= gone.height:
        return ""
    count = counts["len"][0]
    how_many = f"{count:,}" if count < gone.height else "all" if count > 1 else ""
    return f"{how_many} of user {counts['user'][0]}".strip()


def as_much_of_others(run: Run, ids: Sequence[Any]) -> list[Any]:
    """Return jobs of others that do as much work as the given ones, spread over the log ([]: the others do less).

    What goes with any jobs of that much work comes from the load, and from nobody's jobs in particular.
    """
    import polars as pl

    jobs = waits(run).select("job_id", node_s=pl.col("nodes") * pl.col("runtime_s"))
    mine = jobs["job_id"].is_in(list(ids))
    work, rest = float(jobs.filter(mine)["node_s"].sum()), jobs.filter(~mine)
    left = float(rest["node_s"].sum())
    if not 0.0 < work <= left:
        return []
    reached = rest["node_s"].cum_sum().to_numpy() * (work / left)  # how much should have been taken up to each job
    taken, found = 0.0, []
    for job, own, due in zip(rest["job_id"].to_list(), rest["node_s"].to_list(), reached.tolist(), strict=True):
        if taken + own / 2 <= due:
            found.append(job)
            taken += own
    return found


def idle_words(nodes: int, idle_w: float, limit_w: float, unit: str, *, added: bool) -> str:
    """Return the words for idle watts under a limit."""
    drawn_w = nodes * idle_w
    which = f"the {nodes:,} added {unit}s" if added else f"{nodes:,} {unit}s"
    return f"the idle power of {which}: {show_power(drawn_w)}, {drawn_w / limit_w:.0%} of the limit"
