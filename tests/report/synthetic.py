"""Journals with known answers: any schedule, given job by job, becomes the frames that an engine would write."""

from __future__ import annotations

import heapq
from pathlib import Path
from typing import Any

import numpy as np

from wattline.journal.journal import Coded, Journal, open_journal, write_journal

IDLE_W, BUSY_W = 100.0, 300.0


def block_schedule(n: int, blocks: int, width: int, seed: int, load: float = 0.9) -> dict[str, Any]:
    """FCFS of ``n`` jobs of up to ``width`` nodes, each in one of ``blocks`` blocks of ``width`` nodes: honest and
    fast.
    """
    rng = np.random.default_rng(seed)
    run_s = np.maximum(rng.lognormal(6.5, 1.6, n).round(), 1.0)
    submit_s = np.cumsum(rng.exponential(run_s.mean() / (blocks * load), n)).round()
    start_s, block = np.empty(n), np.empty(n, dtype=np.int64)
    free = [(0.0, b) for b in range(blocks)]
    for i, (arrived, length) in enumerate(zip(submit_s.tolist(), run_s.tolist(), strict=True)):
        at, b = free[0]
        begin = max(at, arrived)
        start_s[i], block[i] = begin, b
        heapq.heapreplace(free, (begin + length, b))
    return {
        "submit": submit_s,
        "start": start_s,
        "end": start_s + run_s,
        "nodes": rng.integers(1, width + 1, n),
        "first": block * width,
        "total": blocks * width,
        "user": rng.integers(0, 200, n),
        "kind": rng.integers(0, 4, n),
    }


def frames_of(
    submit: Any,
    start: Any,
    end: Any,
    nodes: Any,
    first: Any,
    total: int,
    *,
    user: Any = None,
    kind: Any = None,
    status: Any = None,
    limit_w: float = np.inf,
    run_end_s: float | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return frames and manifest of a schedule; NaN starts and ends mean never; one class of nodes at rate 1."""
    submit, start, end = (np.asarray(a, dtype=np.float64) for a in (submit, start, end))
    nodes, first = np.asarray(nodes, dtype=np.int64), np.asarray(first, dtype=np.int64)
    n = submit.size
    begun, left = ~np.isnan(start), ~np.isnan(end)
    stop_s = float(run_end_s if run_end_s is not None else np.nanmax(end, initial=0.0))
    runtime = np.where(begun, np.where(left, end, stop_s) - start, np.nan)
    status = np.where(left, 0, 4) if status is None else np.asarray(status)
    queued = status != 3
    frames = {
        "jobs": {
            "job_id": np.arange(1, n + 1),
            "submit_s": submit,
            "eligible_s": np.where(queued, submit, np.nan),
            "start_s": start,
            "end_s": end,
            "nodes": nodes,
            "request_s": runtime * 2,
            "estimate_s": runtime * 2,
            "work_s": runtime,
            "user": Coded(np.full(n, -1) if user is None else user, [f"u{i:03}" for i in range(200)]),
            "group": Coded(np.full(n, -1), ()),
            "kind": Coded(np.full(n, -1) if kind is None else kind, ["cfd", "md", "qcd", "ml"]),
            "partition": Coded(np.zeros(n, dtype=np.int64), ["batch"]),
            "status": Coded(status, ["finished", "killed", "failed", "rejected", "unfinished"]),
            "wait_s": start - submit,
            "runtime_s": runtime,
            "energy_j": nodes * BUSY_W * runtime,
            "preemptions": np.zeros(n, dtype=np.int64),
            "restarts": np.zeros(n, dtype=np.int64),
            "priority": np.zeros(n),
            "after": np.full(n, -1),
            "think_s": np.zeros(n),
            **dict.fromkeys(("draw_w", "floor_w", "stretch", "peak_w", "recorded_energy_j"), np.full(n, np.nan)),
        },
        "placements": {
            "job_id": np.flatnonzero(begun) + 1,
            "first_node": first[begun],
            "count": nodes[begun],
            "start_s": start[begun],
            "end_s": end[begun],
        },
        "events": _events(submit, start, end, nodes),
        "timeline": _timeline(
            submit[queued], start[queued], end[queued], nodes[queued], runtime[queued], total, limit_w
        ),
        "decisions": {},
        "profiles": {},
        "shapes": {},
        "slowdowns": {},
        "measured": {},
        "hours": {},
    }
    frames["classes"] = _classes(total, float(np.nansum(nodes * runtime)), stop_s)
    return frames, _manifest(total, stop_s)


def _classes(total: int, busy_s: float, stop_s: float) -> dict[str, Any]:
    """Return the one class of nodes: busy for ``busy_s`` node-seconds, idle otherwise."""
    idle_s = total * stop_s - busy_s
    return {
        "node_class": ["node"],
        "nodes": [total],
        "busy_energy_j": [busy_s * BUSY_W],
        "idle_energy_j": [idle_s * IDLE_W],
        "sleep_energy_j": [0.0],
        "boot_energy_j": [0.0],
        "busy_node_s": [busy_s],
        "idle_node_s": [idle_s],
        "asleep_node_s": [0.0],
        "down_node_s": [0.0],
    }


def _manifest(total: int, stop_s: float) -> dict[str, Any]:
    """Return the manifest of a run that ends at ``stop_s``."""
    return {
        "name": "synthetic",
        "seed": 1,
        "scenario": "# a <scenario>\n",
        "scenario_sha256": "ab" * 32,
        "ties": "instant",
        "policies": {"order": "fcfs", "select": "in-order", "place": "lowest"},
        "start_s": 0.0,
        "end_s": stop_s,
        "cluster": {
            "name": "toy",
            "nodes": total,
            "classes": [{"name": "node", "count": total, "idle_w": IDLE_W, "max_w": BUSY_W}],
        },
        "trace": {
            "source": "synthetic",
            "notes": [{"action": "dropped", "reason": "zero nodes", "count": 2, "example": "7: 0 0"}],
        },
        "wall_s": 0.01,
        "stopped": "done",
    }


def write_synthetic(folder: Path, *args: Any, manifest: dict[str, Any] | None = None, **options: Any) -> Journal:
    """Write the journal of a schedule and open it."""
    frames, made = frames_of(*args, **options)
    write_journal(folder, frames, made | (manifest or {}))
    return open_journal(folder)


def _events(submit: Any, start: Any, end: Any, nodes: Any) -> dict[str, Any]:
    n = submit.size
    time_s = np.concatenate([submit, start, end])
    keep = np.flatnonzero(~np.isnan(time_s))
    rows = keep[np.argsort(time_s[keep], kind="stable")]
    return {
        "time_s": time_s[rows],
        "event": Coded(rows // max(n, 1), ["submit", "start", "end"]),
        "job_id": rows % max(n, 1) + 1,
        "nodes": np.tile(nodes, 3)[rows],
        "value": np.full(rows.size, np.nan),
    }


def _timeline(submit: Any, start: Any, end: Any, nodes: Any, work: Any, total: int, limit_w: float) -> dict[str, Any]:
    begun, left = ~np.isnan(start), ~np.isnan(end)
    time_s = np.unique(np.concatenate([[0.0], submit, start[begun], end[left]]))

    def steps(at: Any, by: Any) -> Any:
        return np.cumsum(np.bincount(np.searchsorted(time_s, at), weights=by, minlength=time_s.size))

    one = np.ones(submit.size)
    busy = steps(start[begun], nodes[begun]) - steps(end[left], nodes[left])
    running = steps(start[begun], one[begun]) - steps(end[left], one[left])
    done = np.concatenate([[0.0], np.cumsum(running[:-1] * np.diff(time_s))])
    return {
        "time_s": time_s,
        "power_w": total * IDLE_W + busy * (BUSY_W - IDLE_W),
        "busy_nodes": busy,
        "idle_nodes": total - busy,
        "asleep_nodes": np.zeros(time_s.size),
        "down_nodes": np.zeros(time_s.size),
        "queued_jobs": steps(submit, one) - steps(start[begun], one[begun]),
        "running_jobs": running,
        "limit_w": np.full(time_s.size, limit_w),
        "rate": np.ones(time_s.size),
        "backlog": steps(submit, np.nan_to_num(work)) - done,
        "target_w": np.full(time_s.size, np.nan),
    }


def decisions_of(**given: Any) -> dict[str, Any]:
    """Return decisions on jobs as the journal takes them: the columns of caps of classes, levels and bids are empty."""
    count = len(given["time_s"])
    whole = dict.fromkeys(("rate_class", "class_jobs", "level"), np.full(count, -1))
    watts = dict.fromkeys(("mean_w", "reserve_w"), np.full(count, np.nan))
    slot = given["slot"]
    action = Coded(slot.codes, ["start" if name == "select" else name for name in slot.names])
    return {"action": action, **whole, **watts, "node_class": [""] * count, **given}
