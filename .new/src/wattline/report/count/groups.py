"""Tables of jobs by user, group, kind, partition and size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.report.count.run import Run
from wattline.report.count.statistics import describe

if TYPE_CHECKING:
    import polars as pl

BOUND_S = 10.0
"""Times alone below this count as this long in the bounded slowdown, so that one-second jobs do not decide the mean."""


@dataclass(frozen=True)
class GroupRow:
    """The jobs of one user, group, kind or partition, and how many of them ``started``.

    ``energy_share`` is of the energy charged to all jobs; means are over those that have a value.
    """

    name: str
    jobs: int
    started: int
    node_s: float
    energy_j: float
    energy_share: float
    wait_mean_s: float
    bounded_slowdown_mean: float


@dataclass(frozen=True)
class SizeRow:
    """The jobs that asked for ``low`` to ``high`` nodes (powers of two) and how long they waited."""

    low: int
    high: int
    jobs: int
    started: int
    node_s: float
    wait_mean_s: float
    wait_median_s: float
    wait_p95_s: float
    wait_max_s: float
    bounded_slowdown_mean: float

    @property
    def label(self) -> str:
        """The range of sizes as text."""
        return str(self.high) if self.low == self.high else f"{self.low}–{self.high}"


@dataclass(frozen=True)
class ResourceRow:
    """A resource of the whole machine: how much there is, how many jobs wanted some, how much was in use."""

    name: str
    total: int
    jobs: int
    mean: float
    peak: int


def count_resources(run: Run) -> tuple[ResourceRow, ...]:
    """Return the resources of a run, as its manifest has them."""
    rows = run.manifest.get("resources") or ()
    return tuple(ResourceRow(**{key: row[key] for key in ("name", "total", "jobs", "mean", "peak")}) for row in rows)


def with_slowdowns(run: Run) -> pl.DataFrame:
    """Return the jobs with ``response_s``, ``slowdown``, ``bounded_slowdown`` and ``node_s``, null where a job has
    none.

    A slowdown is response over the time that the job would have taken alone, at full speed on nodes that are awake:
    what slows a job down, be it a queue, a cap, a waking node or a restart, must never make the ratio better.
    """
    import polars as pl

    ran = pl.col("start_s").is_not_null()
    response, held = pl.col("end_s") - pl.col("eligible_s"), pl.col("runtime_s")
    alone = _alone_s(run.full_rate)
    jobs, node_s = run.jobs, pl.col("nodes") * held.fill_null(0.0)
    if run.chosen_node_s is not None:  # the journal's jobs have the nodes that were asked for
        jobs = jobs.join(run.chosen_node_s, on="job_id", how="left", maintain_order="left")
        node_s = pl.col("chosen_node_s").fill_null(node_s)
    return jobs.with_columns(
        response_s=pl.when(ran).then(response),
        slowdown=pl.when(ran & (alone > 0)).then(response / alone),
        bounded_slowdown=pl.when(ran).then((response / alone.clip(BOUND_S)).clip(1.0)),
        node_s=node_s,
    )


def _alone_s(full_rate: float) -> pl.Expr:
    """Return the run time alone at full speed.

    That of a killed job ends at its request, that of a failed one at its failure.
    """
    import polars as pl

    whole, status = pl.col("work_s") / full_rate, pl.col("status")
    killed, failed = pl.min_horizontal(whole, "request_s"), pl.min_horizontal(whole, "runtime_s")
    return pl.when(status == "killed").then(killed).when(status == "failed").then(failed).otherwise(whole)


def count_groups(jobs: pl.DataFrame, column: str, *, watts: bool) -> tuple[GroupRow, ...]:
    """Return one row per value of a text column, the largest energy first; ``jobs`` as from ``with_slowdowns``.

    Without ``watts`` energies are NaN. Jobs that never started used none.

    Sums are numpy's, in the order of the rows: those of a parallel group-by differ in the last bit from run to run.
    """
    names, code = _encode(jobs[column])
    counts = np.bincount(code, minlength=len(names))
    energy_j, node_s = (_sums(code, jobs[name], len(names)) for name in ("energy_j", "node_s"))
    wait_s, slowdown = (_means(code, jobs[name], len(names)) for name in ("wait_s", "bounded_slowdown"))
    if not watts:
        energy_j = np.full(len(names), np.nan)
    total_j = float(energy_j.sum())
    share = energy_j / total_j if total_j else np.full(len(names), np.nan)
    begun = np.bincount(code, weights=np.isfinite(_floats(jobs["wait_s"])), minlength=len(names))
    columns = (counts, begun.astype(np.int64), node_s, energy_j, share, wait_s, slowdown)
    rows = [GroupRow(*row) for row in zip(names, *(column.tolist() for column in columns), strict=True)]
    return tuple(
        sorted(
            rows, key=lambda row: (0.0 if math.isnan(row.energy_j) else -row.energy_j, -row.node_s, -row.jobs, row.name)
        )
    )


def count_sizes(jobs: pl.DataFrame) -> tuple[SizeRow, ...]:
    """Return one row per power of two of nodes, smallest first; ``jobs`` as from ``with_slowdowns``."""
    # Exponent of (nodes - 1): 1 → 0, 2 → 1, 3…4 → 2, 5…8 → 3; exact, unlike a logarithm.
    bits = np.frexp(np.maximum(jobs["nodes"].to_numpy(), 1) - 1)[1]
    wait_s, slowdown, node_s = (_floats(jobs[name]) for name in ("wait_s", "bounded_slowdown", "node_s"))
    rows = []
    for size in np.unique(bits).tolist():
        mine = np.flatnonzero(bits == size)
        waits, slowed = describe(wait_s[mine]), describe(slowdown[mine])
        low = 1 if size == 0 else (1 << (size - 1)) + 1
        rows.append(
            SizeRow(
                low,
                1 << size,
                mine.size,
                waits.count,
                float(node_s[mine].sum()),
                waits.mean,
                waits.median,
                waits.p95,
                waits.max,
                slowed.mean,
            )
        )
    return tuple(rows)


def _encode(column: pl.Series) -> tuple[list[str], Ints]:
    """Return the distinct texts of a column and, for every row, the index of its own."""
    import polars as pl

    physical = column.cast(pl.Categorical).to_physical().to_numpy()
    _, first, code = np.unique(physical, return_index=True, return_inverse=True)
    return [str(column[int(row)]) for row in first], code.astype(np.int64)


def _floats(column: pl.Series) -> Floats:
    """Return the numbers of a column, NaN where it has none."""
    return np.asarray(column.to_numpy(), dtype=np.float64)


def _sums(code: Ints, column: pl.Series, groups: int) -> Floats:
    return np.bincount(code, weights=np.nan_to_num(_floats(column)), minlength=groups).astype(np.float64)


def _means(code: Ints, column: pl.Series, groups: int) -> Floats:
    known = column.is_not_null().to_numpy()
    counts = np.bincount(code[known], minlength=groups)
    sums = _sums(code, column, groups)
    means: Floats = np.divide(sums, counts, out=np.full(groups, np.nan), where=counts > 0)
    return means
