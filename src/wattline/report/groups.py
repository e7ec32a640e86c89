"""Tables of jobs by user, group, kind, partition and size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

BOUND_S = 10.0
"""Run times below this count as this long in the bounded slowdown, so that one-second jobs do not decide the mean."""


@dataclass(frozen=True)
class GroupRow:
    """The jobs of one user, group, kind or partition; ``energy_share`` is of the energy charged to all jobs."""

    name: str
    jobs: int
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


def with_slowdowns(jobs: pl.DataFrame) -> pl.DataFrame:
    """Add ``response_s``, ``slowdown``, ``bounded_slowdown`` and ``node_s``, null where a job has none."""
    import polars as pl

    ran = pl.col("start_s").is_not_null()
    response, runtime = pl.col("end_s") - pl.col("eligible_s"), pl.col("runtime_s")
    return jobs.with_columns(
        response_s=pl.when(ran).then(response),
        slowdown=pl.when(ran & (runtime > 0)).then(response / runtime),
        bounded_slowdown=pl.when(ran).then((response / runtime.clip(BOUND_S)).clip(1.0)),
        node_s=pl.col("nodes") * runtime.fill_null(0.0),
    )


def count_groups(jobs: pl.DataFrame, column: str) -> tuple[GroupRow, ...]:
    """Return one row per value of a text column, the largest energy first; ``jobs`` as from ``with_slowdowns``."""
    import polars as pl

    total_j = float(jobs["energy_j"].sum())
    table = (
        jobs.group_by(pl.col(column).alias("name"))
        .agg(
            pl.len().alias("jobs"),
            pl.col("node_s").sum(),
            pl.col("energy_j").sum(),
            pl.col("wait_s").mean().alias("wait_mean_s"),
            pl.col("bounded_slowdown").mean().alias("bounded_slowdown_mean"),
        )
        .sort(["energy_j", "node_s", "jobs", "name"], descending=[True, True, True, False])
    )
    rows = table.to_dicts()
    return tuple(
        GroupRow(**_no_nulls(row), energy_share=row["energy_j"] / total_j if total_j else float("nan")) for row in rows
    )


def count_sizes(jobs: pl.DataFrame) -> tuple[SizeRow, ...]:
    """Return one row per power of two of nodes, smallest first; ``jobs`` as from ``with_slowdowns``."""
    import polars as pl

    # Bits of (nodes - 1): 1 → 0, 2 → 1, 3…4 → 2, 5…8 → 3; exact, unlike a logarithm of floats.
    bits = pl.lit(64) - pl.col("nodes").clip(1).sub(1).bitwise_leading_zeros().cast(pl.Int64)
    table = (
        jobs.group_by(bits.alias("bits"))
        .agg(
            pl.len().alias("jobs"),
            pl.col("node_s").sum(),
            pl.col("wait_s").mean().alias("wait_mean_s"),
            pl.col("wait_s").median().alias("wait_median_s"),
            pl.col("wait_s").quantile(0.95, "linear").alias("wait_p95_s"),
            pl.col("wait_s").max().alias("wait_max_s"),
            pl.col("bounded_slowdown").mean().alias("bounded_slowdown_mean"),
        )
        .sort("bits")
    )
    rows = []
    for row in table.to_dicts():
        size = row.pop("bits")
        rows.append(SizeRow(low=1 if size == 0 else (1 << (size - 1)) + 1, high=1 << size, **_no_nulls(row)))
    return tuple(rows)


def _no_nulls(row: dict[str, Any]) -> dict[str, Any]:
    return {name: float("nan") if value is None else value for name, value in row.items()}
