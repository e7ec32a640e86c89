"""Power over the run of jobs in a table: column ``series_w`` (a list a job), its step in the metadata of a Parquet
file or in column ``series_step_s``, the same in all rows, as a frame has it.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wattline.arrays import Floats
from wattline.errors import TraceError
from wattline.model.jobs import MOST_W
from wattline.model.series import PowerSeries
from wattline.units import in_full

if TYPE_CHECKING:
    import polars as pl

COLUMN, STEP_KEY = "series_w", "series_step_s"
CANNOT_HOLD = "has no place for power over time (series_w): Parquet has"


LEAST_S = 1e-9
"""Run times below this are none: products with them lose their digits."""


def mean_over_run(series: PowerSeries, work_s: Floats) -> Floats:
    """Return the mean power per node of each job over its work; NaN where the series says nothing.

    >>> mean_over_run(PowerSeries.build(60.0, [[10.0, 40.0], []]), np.array([180.0, 60.0])).tolist()
    [30.0, nan]
    """
    counts = np.diff(series.first)
    begin = (np.arange(series.watts.size) - np.repeat(series.first[:-1], counts)) * series.step_s
    lasts = np.clip(np.repeat(work_s, counts) - begin, 0.0, series.step_s)
    filled = counts > 0
    last = series.first[1:][filled] - 1
    lasts[last] = np.maximum(work_s[filled] - (counts[filled] - 1) * series.step_s, 0.0)  # the last value stays
    sums = np.zeros((2, counts.size))
    if filled.any():
        starts = series.first[:-1][filled]
        sums[0, filled] = np.add.reduceat(lasts * series.watts, starts)
        sums[1, filled] = np.add.reduceat(lasts, starts)
    instant = filled & (sums[1] < LEAST_S)  # it ends the instant it starts: its first value is all there is
    sums[0, instant], sums[1, instant] = series.watts[series.first[:-1][instant]], 1.0
    mean: Floats = np.divide(sums[0], sums[1], out=np.full(counts.size, math.nan), where=filled)
    return mean


def to_column(series: PowerSeries) -> pl.Series:
    """Return the lists of all jobs, null for jobs that have none."""
    import polars as pl

    rows = np.arange(len(series))
    values = pl.DataFrame({"row": np.repeat(rows, np.diff(series.first)), COLUMN: series.watts})
    lists = values.group_by("row", maintain_order=True).agg(COLUMN)
    return pl.DataFrame({"row": rows}).join(lists, on="row", how="left", maintain_order="left")[COLUMN]


def with_series(frame: pl.DataFrame, series: PowerSeries | None) -> pl.DataFrame:
    """Return a frame of jobs with their power over time and its step, where that is known."""
    import polars as pl

    return frame if series is None else frame.with_columns(to_column(series), pl.lit(series.step_s).alias(STEP_KEY))


def split_series(
    path: Path | str, frame: pl.DataFrame, about: dict[str, Any]
) -> tuple[pl.DataFrame, PowerSeries | None]:
    """Return a table without its power over time, and that power, checked."""
    if COLUMN not in frame.columns:
        return frame.drop(STEP_KEY, strict=False), None
    if STEP_KEY in frame.columns:
        about, frame = _step_of(path, frame, about), frame.drop(STEP_KEY)
    lists = _lists(path, frame[COLUMN])
    counts = lists.list.len().fill_null(0).to_numpy().astype(np.int64)
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    values = lists.filter(counts > 0).explode()
    watts = np.asarray(values.cast(_float32()).fill_null(math.nan).to_numpy(), dtype=np.float32)
    wrong = ~((watts >= 0) & (watts <= MOST_W))  # true for NaN
    if wrong.any():
        at = int(np.argmax(wrong))
        row = int(np.searchsorted(first, at, side="right"))
        told = f"every value must be a power of 0 to {in_full(MOST_W)} W a node"
        raise TraceError.at(path, told, line=row, field=COLUMN, value=_shown(values[at]))
    if not watts.size and STEP_KEY not in about:
        return frame.drop(COLUMN), None
    return frame.drop(COLUMN), PowerSeries(_step_s(path, about), first, watts)


def _lists(path: Path | str, column: pl.Series) -> pl.Series:
    import polars as pl

    if column.dtype == pl.Null:
        return column.cast(pl.List(pl.Float32))
    if isinstance(column.dtype, pl.Array) and len(column.dtype.shape) == 1:
        column = column.arr.to_list()
    inner: pl.DataType | None = getattr(column.dtype, "inner", None)
    if not isinstance(column.dtype, pl.List) or inner is None or not (inner.is_numeric() or inner == pl.Null):
        raise TraceError.at(path, f"column must hold lists of powers, not {column.dtype}"[:200], field=COLUMN)
    return column


def _float32() -> Any:
    import polars as pl

    return pl.Float32


def _shown(value: object) -> str:
    return "null" if value is None else f"{value:g}"


def _step_of(path: Path | str, frame: pl.DataFrame, about: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of a table with the step that one of its columns tells."""
    column = frame[STEP_KEY].drop_nulls()
    if column.len() and not column.dtype.is_numeric():
        raise TraceError.at(path, f"column must hold numbers, not {column.dtype}"[:200], field=STEP_KEY)
    said = {float(step) for step in column.unique().to_list()}
    told = about.get(STEP_KEY)
    said |= {float(told)} if isinstance(told, int | float) else set()
    if len(said) > 1:
        shown = " and ".join(f"{step:g}" for step in sorted(said)[:2])
        raise TraceError.at(path, "one step for all jobs is needed", field=STEP_KEY, value=shown)
    return about | {STEP_KEY: next(iter(said), None)} if said else about


def _step_s(path: Path | str, about: dict[str, Any]) -> float:
    step = about.get(STEP_KEY)
    if isinstance(step, int | float) and not isinstance(step, bool) and 0 < step < math.inf:
        return float(step)
    told = "is missing" if step is None else "must be a positive number of seconds"
    hint = f'a column {STEP_KEY} tells it, or the key "wattline" of the file\'s metadata as JSON: {{"{STEP_KEY}": 300}}'
    raise TraceError.at(path, f"the step of {COLUMN} {told}", field=f"metadata {STEP_KEY}", value=step, hint=hint)
