"""Nodes of the run of a journal that held no job: what idle ones drew, and those out of service, which drew nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.journal.occupancy import OUT_BY
from wattline.telemetry.nodes.placed import Placed

if TYPE_CHECKING:
    import polars as pl

    from wattline.journal.journal import Journal


def idle_of_nodes(cluster: Mapping[str, Any]) -> Floats:
    """Return what each idle node of a manifest's cluster draws."""
    classes = cluster["classes"]
    return np.repeat([float(c["idle_w"] or 0.0) for c in classes], [int(c["count"]) for c in classes])


def out_in(journal: Journal) -> Placed:
    """Return ranges of nodes that a journal says were out of service and held no job."""
    import polars as pl

    end_s = float(journal.manifest["end_s"])
    held = journal.read("placements").select(
        pl.col("first_node").alias("first"),
        "count",
        pl.col("start_s").alias("begin_s"),
        pl.col("end_s").fill_null(end_s),
    )
    events = journal.read("events", "time_s", "event", "nodes", "value")
    return out_of_service(events, held, int(journal.manifest["cluster"]["nodes"]), end_s)


def out_of_service(events: pl.DataFrame, held: pl.DataFrame, nodes: int, end_s: float) -> Placed:
    """Return ranges of nodes that were out of service; a node that drains is so once its job has left it."""
    import polars as pl

    depth, since_s = np.zeros(nodes, dtype=np.int64), np.zeros(nodes)
    parts: list[tuple[Ints, Floats, float]] = []
    changes = events.filter(pl.col("event").is_in(list(OUT_BY))).select("time_s", "event", "nodes", "value")
    for time_s, event, count, first in changes.iter_rows():
        these = np.arange(int(first), min(int(first) + int(count), nodes), dtype=np.int64)
        before, after = depth[these], np.maximum(depth[these] + OUT_BY[event], 0)
        depth[these] = after
        since_s[these[(before == 0) & (after > 0)]] = time_s
        back = these[(before > 0) & (after == 0)]
        parts.append((back, since_s[back], time_s))
    still = np.flatnonzero(depth).astype(np.int64)
    parts.append((still, since_s[still], end_s))
    node = np.concatenate([at for at, _, _ in parts])
    begin_s = np.concatenate([since for _, since, _ in parts])
    until_s = np.concatenate([np.full(at.size, end) for at, _, end in parts])
    if "drain" in changes["event"]:
        begin_s = _left(held, node, begin_s, until_s)
    keep = until_s > begin_s
    node, begin_s, until_s = node[keep], begin_s[keep], until_s[keep]
    order = np.argsort(begin_s, kind="stable")
    none = np.zeros(node.size, dtype=np.int64)
    return Placed(
        none, node[order], none + 1, begin_s[order], until_s[order], np.zeros(node.size), np.zeros(0), np.zeros(0)
    )


def _left(held: pl.DataFrame, node: Ints, begin_s: Floats, until_s: Floats) -> Floats:
    """Return when each node that went out of service was left by the job on it."""
    first, count = held["first"].to_numpy(), held["count"].to_numpy()
    from_s, to_s = held["begin_s"].to_numpy(), held["end_s"].to_numpy()
    found = begin_s.copy()
    for begin, until in np.unique(np.stack([begin_s, until_s]), axis=1).T.tolist():
        at = np.flatnonzero((begin_s == begin) & (until_s == until))
        for row in np.flatnonzero((from_s < until) & (to_s > begin)).tolist():
            mine = at[(node[at] >= first[row]) & (node[at] < first[row] + count[row])]
            found[mine] = np.maximum(found[mine], to_s[row])
    return found
