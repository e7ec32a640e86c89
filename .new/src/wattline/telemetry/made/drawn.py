"""What a journal says that nodes drew: every stay in which a job worked, also those whose work was lost, and the nodes
out of service.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from wattline.arrays import Floats
from wattline.model.jobs import JobTable
from wattline.telemetry.made.stays import stay_powers
from wattline.telemetry.nodes.out import idle_of_nodes, out_of_service
from wattline.telemetry.nodes.placed import Placed, place, with_rows

if TYPE_CHECKING:
    import polars as pl

    from wattline.journal.journal import Journal


@dataclass(frozen=True)
class Drawn:
    """Stays in which jobs worked, what each idle node draws, and nodes that were out of service and held no job."""

    placed: Placed
    idle_w: Floats
    out: Placed
    """Ranges of nodes; ``job`` is of no meaning."""
    stay_w: dict[tuple[int, float], float] = field(default_factory=dict)
    """Power per node by job and begin of a stay, where it is not the job's mean."""


def drawn_by(journal: Journal, jobs: JobTable, energy_j: Floats) -> Drawn:
    """Return what a journal tells; nodes of a job that is paused on them idle, so that no stay is there."""
    import polars as pl

    end_s = float(journal.manifest["end_s"])
    held = journal.read("placements").select(
        "job_id",
        pl.col("first_node").alias("first"),
        "count",
        pl.col("start_s").alias("begin_s"),
        pl.col("end_s").fill_null(end_s),
    )
    held = with_rows(held, jobs, str(journal.folder))[0]
    events = journal.read("events", "time_s", "event", "job_id", "nodes", "value").with_row_index("row")
    stays = _stays(held.filter(pl.col("end_s") > pl.col("begin_s")), events)
    placed = place(stays, jobs)[0]
    idle_w = idle_of_nodes(journal.manifest["cluster"])
    out = out_of_service(events, held, idle_w.size, end_s)
    worked = placed if journal.manifest.get("keep_progress") else _began_anew(placed, stays)
    return Drawn(worked, idle_w, out, _stay_w(journal, jobs, placed, out, idle_w, energy_j))


def _stay_w(
    journal: Journal, jobs: JobTable, placed: Placed, out: Placed, idle_w: Floats, energy_j: Floats
) -> dict[tuple[int, float], float]:
    """Return the powers of stays that the timeline tells apart from the means of their jobs."""
    told = journal.read("timeline", "time_s", "power_w").drop_nulls()
    spans = placed.as_spans(jobs.nodes)
    if not told.height or np.unique(spans.job).size == spans.job.size:
        return {}
    time_s = np.append(told["time_s"].to_numpy(), float(journal.manifest["end_s"]))
    if np.any(np.diff(time_s) < 0):
        return {}
    nodes = jobs.nodes[spans.job].astype(np.float64)
    mean_w = energy_j[spans.job] / (nodes * placed.run_s[spans.job])
    below = np.concatenate([[0.0], np.cumsum(idle_w)])
    steps = np.zeros(time_s.size)
    for ranges, watts in (
        (placed, below[placed.first + placed.count] - below[placed.first]),
        (out, below[out.first + out.count] - below[out.first]),
        (spans, -mean_w * nodes),
    ):
        for when_s, sign in ((ranges.begin_s, -1.0), (ranges.end_s, 1.0)):
            at = np.minimum(np.searchsorted(time_s, when_s), time_s.size - 1)
            steps += np.bincount(at, weights=sign * watts, minlength=time_s.size)
    rest_w = told["power_w"].to_numpy() - below[-1] - np.cumsum(steps)[:-1]
    found = stay_powers(spans.job, nodes, spans.begin_s, spans.end_s, mean_w, time_s, rest_w)
    other = np.flatnonzero(found != mean_w)
    return {(int(spans.job[i]), float(spans.begin_s[i])): float(found[i]) for i in other}


def _stays(held: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Return the ranges of nodes on which jobs worked, each with how often its job had lost its work before."""
    import polars as pl

    turns = events.filter(pl.col("event").is_in(["start", "preempt", "resume", "requeue"])).select(
        "job_id",
        "time_s",
        (pl.col("event") == "preempt").alias("paused"),
        (pl.col("event") == "requeue").cum_sum().over("job_id").alias("lost"),
    )
    found = held.sort("begin_s").join_asof(
        turns.sort("time_s", maintain_order=True),
        left_on="begin_s",
        right_on="time_s",
        by="job_id",
        check_sortedness=False,
    )
    return found.filter(~pl.col("paused").fill_null(value=False)).with_columns(pl.col("lost").fill_null(0))


def _began_anew(placed: Placed, stays: pl.DataFrame) -> Placed:
    """Return stays whose offset is what was worked since the work was lost last: a power series begins anew, too."""
    import polars as pl

    lost = stays.select("job", "begin_s", "lost").unique(["job", "begin_s"])
    mine = pl.DataFrame({"job": placed.job, "begin_s": placed.begin_s, "offset_s": placed.offset_s})
    since = mine.join(lost, on=["job", "begin_s"], how="left", maintain_order="left").select(
        pl.col("offset_s") - pl.col("offset_s").min().over("job", "lost")
    )
    return replace(placed, offset_s=since["offset_s"].to_numpy())
