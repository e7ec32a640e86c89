"""PM100: jobs of CINECA's Marconi100 with their power (Antici et al., SC-W 2023), from ``job_table.parquet`` as
published.

The columns are those of ``documentation/job_features.md`` in the authors' repository (francescoantici/PM100-data), and
of the published file as other people's programs read it: ``node_power_consumption``, ``cpu_power_consumption`` and
``mem_power_consumption`` (in the first version only ``power_consumption``) are lists of samples, one every 20 s. The
authors' ``extract_data.py`` sums every sample over the nodes of the job, so power per node is that divided by
``num_nodes_alloc``. ``time_limit`` is in minutes. There are no job names: kinds of job go by user and nodes.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from wattline.arrays import Floats
from wattline.errors import InputError, TraceError
from wattline.formats.jobs.pm100 import NEEDED
from wattline.formats.jobs.sacct.read import MAX_DRAW_W
from wattline.model.jobs import JobTable
from wattline.reading.fields import UNFINISHED
from wattline.reading.notes import Trace, build_jobs, listed, refuse_empty, settle
from wattline.reading.parquet import reading_parquet, refuse_long
from wattline.reading.rows import Mask, Rows, whole
from wattline.reading.source import PARQUET_MAGIC, read_bytes

if TYPE_CHECKING:
    import polars as pl

NODES = 980
"""Compute nodes of Marconi100."""

INFINITE = 2**31
"""Time limits of so many minutes are Slurm's words for *none*."""

USED = (
    "job_id",
    *NEEDED,
    "start_time",
    "end_time",
    "time_limit",
    "user_id",
    "group_id",
    "partition",
    "priority",
    "job_state",
)
SERIES = {
    "node": ("node_power_consumption", "power_consumption"),
    "cpu+mem": ("cpu_power_consumption", "mem_power_consumption"),
}
"""What power means → the columns of samples it is taken from: the first that is there, or the sum of both."""


def read_pm100(
    path: Path | str, *, strict: bool = False, power: Literal["node", "cpu+mem"] = "node", raw: bytes | None = None
) -> Trace:
    """Read the jobs with mean and greatest power per node: of whole nodes, or of processors and memory alone.

    ``raw``: the file's content, if somebody has read it already.
    """
    if power not in SERIES:
        raise InputError(f"power must be one of {', '.join(SERIES)} (got {power!r})")
    frame = _frame(path, read_bytes(path) if raw is None else raw)
    rows = Rows(path, frame, np.arange(1, frame.height + 1))
    submit, start, end = (_instants(rows, name) for name in ("submit_time", "start_time", "end_time"))
    run_s, nodes = _numbers(rows, "run_time"), _numbers(rows, "num_nodes_alloc")
    keep = _keep(rows, submit, start, run_s, nodes)
    if not keep.any():
        raise refuse_empty(path, frame.height, settle(path, rows.findings, strict=strict))
    rows.note(
        "kept",
        "run_time is not end_time - start_time: run_time is used",
        keep & (np.abs(end - start - run_s) > 1),
        "run_time",
    )
    mean_w, peak_w = _power(rows, keep, nodes, SERIES[power])
    jobs = _build(rows, keep, submit, start, run_s, nodes, mean_w, peak_w)
    header = {"Installation": "CINECA Marconi100", "Power": f"{power}, per node"}
    return Trace(jobs, settle(path, rows.findings, strict=strict), str(path), header, NODES, frame.height)


def _frame(path: Path | str, raw: bytes) -> pl.DataFrame:
    """Return the columns that are used, with lists of samples reduced to mean and maximum."""
    import polars as pl

    if not raw.startswith(PARQUET_MAGIC):
        raise TraceError.at(path, "is no Parquet file", hint="PM100 is published as job_table.parquet")
    with reading_parquet(path):
        found = list(pl.read_parquet_schema(raw))
        for name in NEEDED:
            if name not in found:
                raise TraceError.at(path, f"column {name!r} is missing: found {listed(found)}")
        series = [name for names in SERIES.values() for name in names if name in found]
    used = [*(name for name in USED if name in found), *series]
    refuse_long(path, raw, used)
    with reading_parquet(path):
        frame = pl.read_parquet(raw, columns=used)
    return frame.with_columns(*(part for name in series for part in _reduced(path, frame, name))).drop(series)


def _reduced(path: Path | str, frame: pl.DataFrame, name: str) -> list[pl.Expr]:
    import polars as pl

    dtype = frame.schema[name]
    if dtype == pl.Null:  # not a single job has any
        return [pl.lit(None, dtype=pl.Float64).alias(f"{name}.{what}") for what in ("mean", "max")] + [
            pl.lit(0).alias(f"{name}.{what}") for what in ("missing", "wrong")
        ]
    if not (isinstance(dtype, pl.List) and (dtype.inner.is_numeric() or dtype.inner == pl.Null)):
        raise TraceError.at(path, f"column must hold lists of samples, not {dtype}"[:200], field=name)
    samples = pl.col(name).cast(pl.List(pl.Float64))
    there = samples.list.eval(pl.element().filter(pl.element().is_not_nan()))  # null is not "not NaN"
    sound = there.list.eval(pl.element().filter((pl.element() >= 0) & pl.element().is_finite()))
    return [
        sound.list.mean().alias(f"{name}.mean"),
        sound.list.max().alias(f"{name}.max"),
        (samples.list.len() - there.list.len()).fill_null(0).alias(f"{name}.missing"),
        (there.list.len() - sound.list.len()).fill_null(0).alias(f"{name}.wrong"),
    ]


def _instants(rows: Rows, name: str) -> Floats:
    """Return Unix seconds of a column of times; NaN where there is none."""
    import polars as pl

    if name not in rows.frame.columns:
        return np.full(rows.frame.height, np.nan)
    series = rows.frame[name]
    if isinstance(series.dtype, pl.Datetime):
        return np.asarray(series.dt.epoch("us").cast(pl.Float64).to_numpy(), dtype=np.float64) / 1e6
    if series.dtype == pl.Null:
        return np.full(rows.frame.height, np.nan)
    raise TraceError.at(rows.path, f"column must hold times, not {series.dtype}"[:200], field=name)


def _numbers(rows: Rows, name: str, *, needed: bool = True) -> Floats:
    values = rows.numbers(name, needed=needed)
    return np.full(rows.frame.height, np.nan) if values is None else values


def _keep(rows: Rows, submit: Floats, start: Floats, run_s: Floats, nodes: Floats) -> Mask:
    """Return which records are jobs that ran to an end."""
    import polars as pl

    if "job_state" in rows.frame.columns:
        state = rows.frame["job_state"].cast(pl.String).fill_null("").str.to_uppercase().to_numpy().astype(np.str_)
        rows.drop("not finished when the log was made", np.isin(state, UNFINISHED), "job_state")
        never = (state == "CANCELLED") & (~(run_s > 0) | ~np.isfinite(start))
        rows.drop("cancelled before it started", never, "job_state")
    rows.drop_unusable("submit time", submit, "submit_time")
    rows.drop_unusable("run time", run_s, "run_time", 0.0)
    not_whole = "nodes are not a positive whole number"
    rows.drop_not_whole("number of nodes", nodes, "num_nodes_alloc", 1, not_whole)
    keep = ~rows.bad
    rows.note("kept", "run time 0: ends the instant it starts", keep & (run_s == 0), "run_time")
    return keep


def _power(rows: Rows, keep: Mask, nodes: Floats, names: tuple[str, ...]) -> tuple[Floats, Floats]:
    """Return mean and greatest power per node; NaN where there are no samples, or none that can be true."""
    there = [name for name in names if f"{name}.mean" in rows.frame.columns]
    added = there[:1] if names == SERIES["node"] else there if len(there) == len(names) else []
    if not added:
        rows.note("kept", f"no column {' or '.join(names)}: power unknown", keep, names[0])
        return np.full(keep.size, np.nan), np.full(keep.size, np.nan)
    sharers = np.where(keep, nodes, np.nan)
    mean_w, peak_w = (
        np.sum([_numbers(rows, f"{name}.{what}") for name in added], axis=0) / sharers for what in ("mean", "max")
    )
    for name in added:
        missing, wrong = (keep & (_numbers(rows, f"{name}.{what}") > 0) for what in ("missing", "wrong"))
        told = "samples below 0 or endless: they do not count"
        rows.note("repaired", told, wrong, f"{name}.wrong")
        told = "samples are missing: mean and maximum are those of the others"
        rows.note("kept", told, missing & np.isfinite(_numbers(rows, f"{name}.mean")), f"{name}.missing")
    shown = f"{added[0]}.mean"
    rows.note("kept", "no power samples: power unknown", keep & ~np.isfinite(mean_w), shown)
    absurd = np.isfinite(mean_w) & ((mean_w <= 0) | (peak_w > MAX_DRAW_W))
    told = f"samples mean no power, or more than {MAX_DRAW_W:g} W a node: power unknown"
    rows.note("repaired", told, keep & absurd, shown)
    return np.where(absurd, np.nan, mean_w), np.where(absurd, np.nan, peak_w)


def _build(
    rows: Rows, keep: Mask, submit: Floats, start: Floats, run_s: Floats, nodes: Floats, mean_w: Floats, peak_w: Floats
) -> JobTable:
    epoch = float(submit[keep].min())
    limit_min = _numbers(rows, "time_limit", needed=False)
    limit_s = np.where((limit_min > 0) & (limit_min < INFINITE), limit_min * 60.0, np.nan)
    job_id, priority = (rows.numbers(name, needed=False) for name in ("job_id", "priority"))
    more: dict[str, Any] = {}
    if job_id is not None:
        more["job_id"] = rows.number_jobs(np.where(whole(job_id, 0), job_id, np.nan))[keep]
    if priority is not None:
        more["priority"] = rows.finite("priority", priority, keep, 0.0)[keep]
    names: dict[str, Any] = {}
    for column, source in (("user", "user_id"), ("group", "group_id"), ("partition", "partition")):
        code, known = rows.codes(source)
        names |= {column: code[keep], f"{column}s": known}
    rows.note("kept", "ran longer than its time limit", keep & (run_s > limit_s), "time_limit")
    wait_s = start - submit
    return build_jobs(
        rows.path,
        submit_s=submit[keep] - epoch,
        work_s=run_s[keep],
        nodes=nodes[keep],
        epoch_unix_s=epoch,
        request_s=limit_s[keep],
        draw_w=mean_w[keep],
        peak_w=peak_w[keep],
        recorded_wait_s=np.where(wait_s >= 0, wait_s, np.nan)[keep],
        **names,
        **more,
    )
