"""What was done about a power limit, as the decisions of a journal have it: deadlock starts, caps, stops."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wattline.arrays import Floats
from wattline.journal.journal import Journal, collect
from wattline.model.codes import CLIPPED, EXCEEDS, OK, SHED, VERDICT_NAMES, WHY_NAMES

if TYPE_CHECKING:
    import polars as pl

LEAVES = ("end", "kill", "fail", "preempt", "requeue")
"""Events with which a job gives its nodes back."""


class Actions(NamedTuple):
    """Spans of jobs that were let in above the limit, how many caps were set, and how many jobs were stopped for it."""

    deadlocks: Floats
    """One row (from, until) a job that was let in above the limit, while it ran (inf: it still does)."""
    caps_set: int
    jobs_stopped: int


def read_actions(journal: Journal) -> Actions | None:
    """Return what was done about the limit of a run, or None where it logged no decisions."""
    import polars as pl

    if (journal.manifest.get("power") or {}).get("decisions") is False:
        return None
    path = journal.folder / "decisions.parquet"
    taken = pl.col("verdict").is_in([VERDICT_NAMES[OK], VERDICT_NAMES[CLIPPED]])
    stopped = (pl.col("slot") == "stop") & (pl.col("why") == WHY_NAMES[SHED]) & taken
    capped = (pl.col("slot") == "cap") & pl.col("cap_w").is_not_null() & taken
    counts = collect(journal.decisions.select(caps=capped.sum(), stops=stopped.sum(), rows=pl.len()), path).row(
        0, named=True
    )
    if counts["rows"] == 0 and collect(journal.jobs.select(pl.col("start_s").count()), path).item():
        return None  # a journal that does not say so, but has jobs and no decisions
    let_in = journal.decisions.filter(pl.col("verdict") == VERDICT_NAMES[EXCEEDS]).select("time_s", "job_id")
    return Actions(_spans(journal, collect(let_in, path)), int(counts["caps"]), int(counts["stops"]))


def _spans(journal: Journal, starts: pl.DataFrame) -> Floats:
    """Return from when to when each of some started jobs held its nodes."""
    import polars as pl

    if not starts.height:
        return np.empty((0, 2))
    ids = starts["job_id"].unique().to_list()
    left = collect(
        journal.events.filter(pl.col("job_id").is_in(ids) & pl.col("event").is_in(LEAVES)).select("time_s", "job_id"),
        journal.folder / "events.parquet",
    )
    ends: dict[int, list[float]] = {}
    for time_s, job in left.iter_rows():
        ends.setdefault(job, []).append(time_s)
    spans = []
    for time_s, job in starts.iter_rows():
        later = [at_s for at_s in ends.get(job, ()) if at_s >= time_s]
        spans.append((time_s, min(later, default=np.inf)))
    return np.array(spans)
