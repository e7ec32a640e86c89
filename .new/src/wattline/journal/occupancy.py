"""Who is where at an instant of a journal: the nodes of every job, and the nodes out of service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wattline.arrays import Ints
from wattline.errors import InputError, TraceError
from wattline.units import show_duration

if TYPE_CHECKING:
    from wattline.journal.journal import Journal

OUT_BY = {"node-down": 1, "drain": 1, "node-up": -1}
"""Events after which nodes are out of service once more often, or less."""


@dataclass(frozen=True)
class Occupancy:
    """Jobs (their numbers, kinds and nodes) that hold nodes at a time, and the nodes that are out of service then."""

    time_s: float
    job_id: tuple[int, ...]
    kind: tuple[str, ...]
    nodes: tuple[Ints, ...]
    out: Ints


def occupancy(journal: Journal, after_s: float) -> Occupancy:
    """Return who is where ``after_s`` seconds into a run."""
    import polars as pl

    start_s, end_s = float(journal.manifest["start_s"]), float(journal.manifest["end_s"])
    if not 0 <= after_s <= end_s - start_s:
        raise InputError(
            f"{journal.folder}: the run lasts {show_duration(end_s - start_s)}; there is nothing at "
            f"{show_duration(after_s)}"
        )
    time_s = start_s + after_s
    held = journal.read("placements", "job_id", "first_node", "count", "start_s", "end_s")
    if held.is_empty() and journal.read("jobs", "start_s")["start_s"].is_not_null().any():
        raise TraceError.at(
            journal.folder, "placements were not logged", hint="run the scenario with [output] placements = true"
        )
    now = held.filter((pl.col("start_s") <= time_s) & (pl.col("end_s") > time_s)).sort("job_id", "first_node")
    kinds = dict(journal.read("jobs", "job_id", "kind").iter_rows())
    found: dict[int, list[Ints]] = {}
    for job, first, count in now.select("job_id", "first_node", "count").iter_rows():
        found.setdefault(job, []).append(np.arange(first, first + count, dtype=np.int64))
    nodes = tuple(np.concatenate(pieces) for pieces in found.values())
    return Occupancy(
        time_s, tuple(found), tuple(kinds.get(job) or "" for job in found), nodes, _out(journal, time_s, nodes)
    )


def _out(journal: Journal, time_s: float, busy: tuple[Ints, ...]) -> Ints:
    """Return the nodes that are out of service and hold no job."""
    import polars as pl

    depth = np.zeros(int(journal.manifest["cluster"]["nodes"]) + 1, dtype=np.int64)
    events = journal.read("events", "time_s", "event", "nodes", "value").filter(pl.col("time_s") <= time_s)
    for event, count, first in events.select("event", "nodes", "value").iter_rows():
        change = OUT_BY.get(event, 0)
        if change:
            depth[int(first)] += change
            depth[int(first) + count] -= change
    off = np.cumsum(depth)[:-1] > 0
    for nodes in busy:
        off[nodes] = False
    return np.flatnonzero(off).astype(np.int64)
