"""What was done about a power limit, as the decisions of a journal have it: deadlock starts, caps, stops."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
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
    exceeds = pl.col("verdict") == VERDICT_NAMES[EXCEEDS]
    let_in = collect(journal.decisions.filter(exceeds).select("job_id").unique(), path)["job_id"].to_list()
    started = (pl.col("action") == "start") & (taken | exceeds) & pl.col("job_id").is_in(let_in)
    starts = collect(journal.decisions.filter(started).select("time_s", "job_id", exceeds=exceeds), path)
    return Actions(_spans(journal, starts), int(counts["caps"]), int(counts["stops"]))


def _spans(journal: Journal, starts: pl.DataFrame) -> Floats:
    """Return from when to when jobs held their nodes that were let in above the limit (``exceeds``).

    ``starts`` are all starts of these jobs, in their order: each is ended by the next event with which its job leaves.
    """
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
    begun: dict[int, list[float]] = {}
    for time_s, job, _ in starts.iter_rows():
        begun.setdefault(job, []).append(time_s)
    until = {job: iter(until_s(begins_s, ends.get(job, ()))) for job, begins_s in begun.items()}
    spans = [(time_s, next(until[job]), exceeds) for time_s, job, exceeds in starts.iter_rows()]
    return np.array([(time_s, end_s) for time_s, end_s, exceeds in spans if exceeds])


def until_s(begins_s: Sequence[float], leaves_s: Sequence[float]) -> list[float]:
    """Return until when each stay of a job lasted, by when it began and when the job left (inf: it did not).

    A leave before the first start ends a stay of an earlier journal. A start that is followed by another before the job
    left was taken back.

    >>> until_s([246.0, 260.0], [260.0, 272.0]), until_s([20.0, 30.0, 40.0], [5.0, 35.0])
    ([260.0, 272.0], [30.0, 35.0, inf])
    """
    found: list[float] = []
    at = 0
    for begin_s, next_s in pairwise([*begins_s, np.inf]):
        while at < len(leaves_s) and leaves_s[at] < begin_s:
            at += 1
        left_s = leaves_s[at] if at < len(leaves_s) else np.inf
        found.append(min(left_s, next_s))
        at += left_s <= next_s
    return found
