"""One run loaded for counting and drawing: the jobs, and the timeline as arrays of a step function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wattline.arrays import Floats
from wattline.errors import TraceError
from wattline.journal.journal import Journal, collect
from wattline.report.count.actions import Actions, read_actions

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Steps:
    """The timeline: row i holds from ``time_s[i]`` for ``duration_s[i]`` seconds, the last row to the run's end."""

    time_s: Floats
    duration_s: Floats
    power_w: Floats
    busy_nodes: Floats
    idle_nodes: Floats
    asleep_nodes: Floats
    down_nodes: Floats
    queued_jobs: Floats
    running_jobs: Floats
    limit_w: Floats
    rate: Floats
    backlog: Floats
    target_w: Floats

    def __len__(self) -> int:
        return len(self.time_s)

    @property
    def seconds(self) -> float:
        """Length of the whole run."""
        return float(self.duration_s.sum())

    @cached_property
    def available_nodes(self) -> Floats:
        """Nodes that are not down."""
        return self.busy_nodes + self.idle_nodes + self.asleep_nodes

    def within(self, start_s: float, end_s: float) -> Floats:
        """Return how many seconds of every row lie between two instants."""
        began = np.maximum(self.time_s, start_s)
        ended = np.minimum(self.time_s + self.duration_s, end_s)
        inside: Floats = np.maximum(ended - began, 0.0)
        return inside

    def part(self, start_s: float, end_s: float) -> tuple[slice, Floats]:
        """Return the rows that may hold between two instants, and how many seconds of each lie there: an hour is few of
        many.
        """
        first = max(0, int(np.searchsorted(self.time_s, start_s, side="right")) - 1)
        rows = slice(first, max(first, int(np.searchsorted(self.time_s, end_s, side="left"))))
        began = np.maximum(self.time_s[rows], start_s)
        ended = np.minimum(self.time_s[rows] + self.duration_s[rows], end_s)
        return rows, np.maximum(ended - began, 0.0)


@dataclass(frozen=True)
class Run:
    """What a report is made of: jobs (all columns of the journal), steps, start and end, manifest."""

    manifest: Mapping[str, Any]
    jobs: pl.DataFrame
    steps: Steps
    classes: pl.DataFrame
    event_counts: Mapping[str, int]
    waking_s: Floats
    """How long each job that was given sleeping nodes waited for them to wake."""
    hours: pl.DataFrame
    """Accounts hour by hour; empty where nothing has a price."""
    start_s: float
    end_s: float
    reserves: tuple[Floats, Floats] = (np.empty(0), np.empty(0))
    """Reserves of the bids as steps: from when, how much."""
    actions: Actions | None = None
    """What was done about the power limit; None where there was none, or where decisions were not logged."""
    profiles: pl.DataFrame | None = None
    """What was believed of the power of jobs; None where it was known."""
    shapes: pl.DataFrame | None = None
    """Configurations that jobs chose; None where there was nothing to choose."""
    chosen_node_s: pl.DataFrame | None = None
    """Node-seconds that jobs held which chose their nodes (``job_id``, ``chosen_node_s``).

    None where there was nothing to choose.
    """

    @property
    def nodes(self) -> int:
        """Nodes of the cluster, in or out of service."""
        return int(self.classes["nodes"].sum())

    @property
    def has_power(self) -> bool:
        """Whether power is known: a log that was replayed without watts has none."""
        return ((self.manifest.get("cluster") or {}).get("power") or {}).get("basis") != "unknown"

    @property
    def unit(self) -> str:
        """What the journal counts as nodes: nodes, or processors where jobs share nodes."""
        machine = (self.manifest.get("cluster") or {}).get("machine") or {}
        return "processor" if machine.get("unit") == "processor" else "node"

    @property
    def full_rate(self) -> float:
        """Full speed of the nodes: 1, or more where the only node class ran faster (a service-rate system)."""
        return max(1.0, float(self.steps.rate.max())) if len(self.steps) and self.classes.height == 1 else 1.0

    @cached_property
    def ended(self) -> pl.DataFrame:
        """The jobs that held nodes and left them: finished, killed or failed for good."""
        import polars as pl

        return self.jobs.filter(pl.col("start_s").is_not_null() & pl.col("end_s").is_not_null())


def load(journal: Journal) -> Run:
    """Load what reports need of a journal."""
    from polars import selectors

    timeline = journal.read("timeline")
    jobs = journal.read("jobs").with_columns(selectors.float().fill_nan(None))
    start_s, end_s = _window(journal.manifest, timeline, jobs)
    steps = to_steps(timeline, end_s, journal.folder / "timeline.parquet")
    profiles, shapes = journal.read("profiles"), read_shapes(journal)
    return Run(
        manifest=journal.manifest,
        jobs=jobs,
        steps=steps,
        classes=journal.read("classes"),
        event_counts=_count_events(journal),
        waking_s=_waking_s(journal, end_s),
        hours=journal.read("hours"),
        start_s=start_s,
        end_s=end_s,
        reserves=_reserves(journal),
        actions=read_actions(journal) if np.isfinite(steps.limit_w).any() else None,
        profiles=profiles if profiles.height else None,
        shapes=shapes,
        chosen_node_s=None if shapes is None else _chosen_node_s(journal, jobs, shapes, end_s),
    )


def to_steps(timeline: pl.DataFrame, end_s: float, path: Path) -> Steps:
    """Return the timeline as float arrays with the seconds that every row held."""
    arrays = {name: np.asarray(timeline[name].to_numpy(), np.float64) for name in timeline.columns}
    time_s = arrays["time_s"]
    late = np.flatnonzero(np.diff(time_s) < 0)
    if late.size:
        row = int(late[0]) + 1
        raise TraceError.at(
            path, f"row {row} is earlier than the row before it", field="time_s", value=float(time_s[row])
        )
    arrays["duration_s"] = np.diff(np.minimum(np.append(time_s, end_s), end_s))
    return Steps(**{field.name: arrays[field.name] for field in fields(Steps)})


def _window(manifest: Mapping[str, Any], timeline: pl.DataFrame, jobs: pl.DataFrame) -> tuple[float, float]:
    """Return start and end of the run: the manifest's, or those of what was recorded."""
    seen = [value for value in (timeline["time_s"].min(), jobs["submit_s"].min()) if value is not None]
    last = [value for value in (timeline["time_s"].max(), jobs["end_s"].max()) if value is not None]
    start_s = manifest.get("start_s")
    end_s = manifest.get("end_s")
    first = min((float(v) for v in seen), default=0.0) if start_s is None else float(start_s)  # type: ignore[arg-type]
    final = max((float(v) for v in last), default=first) if end_s is None else float(end_s)  # type: ignore[arg-type]
    return first, final


def _count_events(journal: Journal) -> dict[str, int]:
    import polars as pl

    counts = collect(journal.events.group_by("event").agg(pl.len().alias("rows")), journal.folder / "events.parquet")
    return dict(sorted(zip(counts["event"].to_list(), counts["rows"].to_list(), strict=True)))


def _reserves(journal: Journal) -> tuple[Floats, Floats]:
    import polars as pl

    rows = collect(journal.events.filter(pl.col("event") == "reserve"), journal.folder / "events.parquet")
    return rows["time_s"].to_numpy(), rows["value"].to_numpy()


def read_shapes(journal: Journal) -> pl.DataFrame | None:
    """Return the configurations of a journal with the nodes that were asked for.

    None where there was nothing to choose.
    """
    import polars as pl

    found = journal.read("shapes")
    if not found.height:
        return None
    asked = journal.read("jobs", "job_id", "nodes").rename({"nodes": "asked_nodes"})
    return found.join(asked, on="job_id", how="left", maintain_order="left").with_columns(
        pl.col("asked_nodes").fill_null(pl.col("nodes"))
    )


def _chosen_node_s(journal: Journal, jobs: pl.DataFrame, shapes: pl.DataFrame, end_s: float) -> pl.DataFrame:
    """Return the node-seconds of jobs that chose their nodes: as placed, or where that was not kept in the last
    configuration.
    """
    import polars as pl

    until = pl.col("end_s").fill_null(end_s)
    placed = journal.frames["placements"].select("job_id", chosen_node_s=pl.col("count") * (until - pl.col("start_s")))
    found = collect(placed, journal.folder / "placements.parquet")
    if found.height:
        ids, job = np.unique(found["job_id"].to_numpy(), return_inverse=True)  # sums in the order of the rows
        return pl.DataFrame({"job_id": ids, "chosen_node_s": np.bincount(job, found["chosen_node_s"].to_numpy())})
    last = shapes.select("job_id", "nodes").join(jobs.select("job_id", "runtime_s"), on="job_id", how="left")
    return last.select("job_id", chosen_node_s=pl.col("nodes") * pl.col("runtime_s"))


def _waking_s(journal: Journal, end_s: float) -> Floats:
    """Return for how long the nodes of each job woke that was given sleeping ones.

    A stop or the run's end may cut it short.
    """
    import polars as pl

    ends = ("preempt", "requeue", "fail", "kill", "end")
    told = journal.events.filter(pl.col("event").is_in(("wake", *ends)), pl.col("job_id").is_not_null())
    woken = told.filter(pl.col("event") == "wake").select("job_id").unique()
    rows = told.join(woken, on="job_id", how="semi", maintain_order="left").sort("job_id", maintain_order=True)
    next_s = pl.col("time_s").shift(-1).over("job_id").fill_null(end_s).clip(upper_bound=end_s)
    asked = rows.select(
        "job_id", "event", waking_s=pl.min_horizontal(pl.col("value").fill_null(0.0), next_s - pl.col("time_s"))
    )
    found = collect(asked.filter(pl.col("event") == "wake"), journal.folder / "events.parquet")
    _, job = np.unique(found["job_id"].to_numpy(), return_inverse=True)
    return np.bincount(job, weights=found["waking_s"].to_numpy()).astype(np.float64)
