"""From a finished or interrupted run to the frames of its journal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints
from wattline.journal.journal import SCHEMA, STATUSES, Coded
from wattline.model import codes
from wattline.model.state.record import State
from wattline.wiring.result import Result
from wattline.wiring.tables_shapes import shape_columns

Columns = dict[str, Any]

_STATUS = np.full(len(codes.STATUS_NAMES), STATUSES.index("unfinished"))
for _name in ("finished", "killed", "failed", "cancelled", "rejected"):
    _STATUS[codes.STATUS_NAMES.index(_name)] = STATUSES.index(_name)

_EVENT_NAMES = (*codes.EVENT_NAMES, "submit", "start", "end", "reject", "cancel")
_SUBMIT, _START, _END, _REJECT, _CANCEL = range(len(codes.EVENT_NAMES), len(_EVENT_NAMES))
EVENTS_OF_JOBS = {"submit": _SUBMIT, "start": _START, "end": _END, "cancel": _CANCEL}
"""Codes of the events that the job table tells."""
_BEFORE_ARRIVALS = np.isin(
    np.arange(len(codes.EVENT_NAMES)),
    [
        codes.EV_KILL,
        codes.EV_FAIL,
        codes.EV_REQUEUE,
        codes.EV_DOWN,
        codes.EV_UP,
        codes.EV_DRAIN,
        codes.EV_LIMIT,
        codes.EV_SLEEP,
        codes.EV_BID,
        codes.EV_RESERVE,
    ],
)
_SLOT_OF_ACTION = np.array([0, 2, 1, 1, 2, 3, 1, 3])
_SLOTS = ("select", "cap", "stop", "bid")
_NUMBERS = {"i64": np.int64, "f64": np.float64}


def frames(result: Result) -> dict[str, Columns]:
    """Return the tables of a run as ``journal.journal.write_journal`` takes them.

    Jobs still running are counted up to now.
    """
    s = result.state
    running_j, waking_j = running_energy_j(s), waking_energy_j(s)
    placements = _placements(result)
    return {
        "jobs": _jobs(result, running_j + waking_j),
        "placements": {**placements, "job_id": result.jobs.job_id[placements["job_id"]]},
        "events": _events(result),
        "timeline": _timeline(result),
        "decisions": _decisions(result),
        "classes": _classes(result, running_j),
        "profiles": _profiles(result, running_j + waking_j),
        "shapes": shape_columns(result, running_j),
        "slowdowns": _slowdowns(result),
        "measured": {},  # of a real machine, which has meters
        "hours": {},  # what has a price is known above: ``scenario`` fills it in
    }


def running_energy_j(s: State) -> Floats:
    """Return what every job that works now has drawn in its current segment."""
    c = s.rate_class
    clock = s.c_e0[c] + s.c_power[c] * (s.now[0] - s.c_t0[c])
    joules: Floats = np.where(s.status == codes.RUNNING, s.nodes * s.now_w * (clock - s.e_start), 0.0)
    return joules


def waking_energy_j(s: State) -> Floats:
    """Return what every job whose nodes wake has been charged since it got them.

    Node classes have it in ``node_j`` already.
    """
    waking_s = np.where(s.status == codes.WAKING, s.now[0] - s.resumed_s, 0.0)
    return np.asarray(s.nodes * s.wake_w * waking_s, dtype=np.float64)


def _jobs(result: Result, open_j: Floats) -> Columns:
    s, jobs = result.state, result.jobs
    held = (s.status == codes.RUNNING) | (s.status == codes.WAKING)  # a pause is no time run
    segment_s = np.where(held, s.now[0] - s.resumed_s, 0.0)
    started = ~np.isnan(s.started_s)
    runtime_s = np.where(started, s.lost_s + s.ran_s + segment_s, np.nan)
    texts = {
        column: Coded(getattr(jobs, column), getattr(jobs, names))
        for column, names in (("user", "users"), ("group", "groups"), ("kind", "kinds"), ("partition", "partitions"))
    }
    return {
        "job_id": jobs.job_id,
        "submit_s": jobs.submit_s,
        "eligible_s": s.eligible_s,
        "start_s": s.started_s,
        "end_s": s.end_s,
        "nodes": jobs.nodes,
        "request_s": jobs.request_s,
        "estimate_s": s.estimate_s,
        "work_s": jobs.work_s,
        **texts,
        "status": Coded(_STATUS[s.status], STATUSES),
        "wait_s": s.started_s - s.eligible_s,
        "runtime_s": runtime_s,
        "energy_j": np.where(started, s.energy_j + open_j, np.nan),
        "preemptions": s.preemptions,
        "restarts": s.restarts,
        **{
            name: getattr(jobs, name)
            for name in ("priority", "after", "think_s", "draw_w", "floor_w", "stretch", "peak_w", "recorded_energy_j")
        },
    }


def _slowdowns(result: Result) -> Columns:
    """Return what the network took from the jobs whose speed depends on it."""
    s = result.state
    if not s.comm.size or not ((s.comm > 0) & ~np.isnan(s.started_s)).any():
        return {}
    who = np.flatnonzero((s.comm > 0) & ~np.isnan(s.started_s))
    held = (s.status == codes.RUNNING) | (s.status == codes.WAKING)
    runtime_s = s.lost_s + s.ran_s + np.where(held, s.now[0] - s.resumed_s, 0.0)
    since_s = np.where(s.status == codes.RUNNING, s.now[0] - s.since_net_s, 0.0)
    lost_s = s.lost_net_s + since_s * (1.0 - s.c_net[s.rate_class])
    spent_s = runtime_s - lost_s
    patterns = {sent.kind: sent.pattern for sent in result.options.communication}
    names = sorted(set(patterns.values()))
    of_kind = [names.index(patterns[name]) if name in patterns else -1 for name in result.jobs.kinds]
    pattern = np.array([*of_kind, -1])[np.where(result.jobs.kind >= 0, result.jobs.kind, len(of_kind))]
    return {
        "job_id": result.jobs.job_id[who],
        "share": s.comm[who],
        "traffic": s.traffic[who].astype(np.float64),
        "pattern": Coded(pattern[who], names),
        "lost_s": lost_s[who],
        "slowdown": np.divide(runtime_s, spent_s, out=np.ones_like(spent_s), where=lost_s > 0)[who],
    }


def _placements(result: Result) -> Columns:
    """Return the extents that jobs held, with job rows instead of numbers; those still held have no end."""
    s, logs = result.state, result.logs
    job, first, count = [logs["px_job"]], [logs["px_first"]], [logs["px_count"]]
    start = [logs["px_from_s"]]
    if result.options.placements:
        who = np.flatnonzero(np.isin(s.status, (codes.STARTING, codes.RUNNING, codes.WAKING, codes.PAUSED)))
        x = s.held[who]
        while x.size:
            job.append(who)
            first.append(x)
            count.append(s.hx_to[x] - x)
            start.append(s.resumed_s[who])
            x = s.hx_next[x]
            who, x = who[x >= 0], x[x >= 0]
    open_ended = sum(len(part) for part in job[1:])
    return {
        "job_id": np.concatenate(job),
        "first_node": np.concatenate(first),
        "count": np.concatenate(count),
        "start_s": np.concatenate(start),
        "end_s": np.concatenate([logs["px_until_s"], np.full(open_ended, np.nan)]),
    }


def _events(result: Result) -> Columns:
    """Return what happened in order of time; within an instant: ends, node changes, arrivals, starts."""
    s, logs = result.state, result.logs
    arrived = int(s.n_arrived[0])
    rejected = s.status == codes.REJECTED
    ended = s.status == codes.FINISHED
    at_once = ended & (s.end_s == s.started_s)
    early = _BEFORE_ARRIVALS[logs["ev_kind"]]
    pieces = [
        _job_events(s.end_s, ended & ~at_once, _END, s.nodes),
        _job_events(s.end_s, s.status == codes.CANCELLED, _CANCEL, s.nodes),
        _logged(logs, early),
        _job_events(s.submit_s, np.arange(len(s.submit_s)) < arrived, _SUBMIT, s.nodes),
        _job_events(s.submit_s, rejected & (np.arange(len(s.submit_s)) < arrived), _REJECT, s.nodes),
        _job_events(s.started_s, ~np.isnan(s.started_s), _START, s.nodes),
        _logged(logs, ~early),
        _job_events(s.end_s, at_once, _END, s.nodes),
    ]
    time_s, kind, job, nodes, value = (np.concatenate(column) for column in zip(*pieces, strict=True))
    order = np.argsort(time_s, kind="stable")
    job = job[order]
    return {
        "time_s": time_s[order],
        "event": Coded(kind[order], _EVENT_NAMES),
        "job_id": np.append(result.jobs.job_id, -1)[job],  # an event of no job, maybe in a run without any
        "nodes": nodes[order],
        "value": value[order],
    }


def _job_events(time_s: Floats, mask: npt.NDArray[np.bool_], kind: int, nodes: Ints) -> tuple[Any, ...]:
    job = np.flatnonzero(mask)
    return time_s[job], np.full(job.size, kind), job, nodes[job], np.full(job.size, np.nan)


def _logged(logs: Mapping[str, npt.NDArray[Any]], mask: npt.NDArray[np.bool_]) -> tuple[Any, ...]:
    nodes = logs["ev_nodes"][mask]
    return (
        logs["ev_time_s"][mask],
        logs["ev_kind"][mask],
        logs["ev_job"][mask],
        np.where(nodes > 0, nodes, -1),
        logs["ev_value"][mask],
    )


def _timeline(result: Result) -> Columns:
    rows = result.logs["timeline"]
    start_s = float(result.state.start_s[0])
    if not len(rows) or rows[0, codes.TL_TIME] > start_s:
        rows = np.vstack([_untouched(result, start_s), rows])
    columns = [c for c in SCHEMA["timeline"] if c.logged is not None]
    logged = {c.name: rows[:, c.logged].astype(_NUMBERS[c.dtype], copy=False) for c in columns}
    idle = result.cluster.nodes - logged["busy_nodes"] - logged["asleep_nodes"] - logged["down_nodes"]
    return logged | {"idle_nodes": idle}


def _untouched(result: Result, start_s: float) -> Floats:
    """Return the row of a machine to which nothing has happened yet."""
    row = np.zeros(codes.TL_COLUMNS)
    row[codes.TL_TIME] = start_s
    row[codes.TL_POWER] = sum(c.count * (c.levels[-1].idle_w if c.levels else c.idle_w) for c in result.cluster.classes)
    in_force = [watts for t, watts in sorted(result.options.limit_w) if t <= start_s]
    row[codes.TL_LIMIT] = in_force[-1] if in_force else np.inf
    first = result.cluster.classes[0]
    row[codes.TL_RATE] = first.levels[-1].rate if first.levels else 1.0
    row[codes.TL_TARGET] = np.nan
    row[codes.TL_BACKLOG] = 0.0 if result.options.backlog else np.nan
    return row


def _decisions(result: Result) -> Columns:
    """Return the decisions, each kind with columns of its own; the reserve of a bid is the log's next row."""
    rows = np.flatnonzero(result.logs["a_kind"] != codes.ACT_RESERVE)
    kind, row, count, watts, why, verdict, time_s = (
        result.logs[f"a_{name}"][rows] for name in ("kind", "job", "nodes", "cap_w", "why", "verdict", "time_s")
    )
    of_job = np.isin(kind, (codes.ACT_START, codes.ACT_STOP, codes.ACT_RESUME, codes.ACT_JOB_CAP))
    known = of_job & (row >= 0) & (row < len(result.jobs))
    of_class, of_level, of_bid = (kind == code for code in (codes.ACT_CAP, codes.ACT_LEVEL, codes.ACT_BID))
    reserve_w = np.full(rows.size, np.nan)
    reserve_w[of_bid] = result.logs["a_cap_w"][rows[of_bid] + 1]
    return {
        "time_s": time_s,
        "slot": Coded(_SLOT_OF_ACTION[kind], _SLOTS),
        "action": Coded(kind, codes.ACTION_NAMES),
        "job_id": np.append(result.jobs.job_id, -1)[np.where(known, row, -1)],
        "nodes": np.where(of_job, count, -1),
        "cap_w": np.where(~of_bid & np.isfinite(watts), watts, np.nan),
        "rate_class": np.where(of_class, row, -1),
        "class_jobs": np.where(of_class, count, -1),
        "node_class": Coded(np.where(of_level, row, -1), [node_class.name for node_class in result.cluster.classes]),
        "level": np.where(of_level, count, -1),
        "mean_w": np.where(of_bid, watts, np.nan),
        "reserve_w": reserve_w,
        "why": Coded(np.clip(why, 0, len(codes.WHY_NAMES) - 1), codes.WHY_NAMES),
        "verdict": Coded(verdict, codes.VERDICT_NAMES),
    }


def _profiles(result: Result, open_j: Floats) -> Columns:
    """Return what was believed of the power of jobs and what came of it, where that was not known before."""
    s = result.state
    if not result.policies.profile.wake:
        return {}
    started = np.flatnonzero(~np.isnan(s.started_s))
    held = (s.status == codes.RUNNING) | (s.status == codes.WAKING)
    ran_s = (s.lost_s + s.ran_s + np.where(held, s.now[0] - s.resumed_s, 0.0))[started]
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_w = np.where(ran_s > 0, (s.energy_j + open_j)[started] / (ran_s * s.nodes[started]), np.nan)
    return {
        "job_id": result.jobs.job_id[started],
        "submit_level": s.submit_profile_from[started],
        "start_level": s.start_profile_from[started],
        "start_w": s.start_profile_w[started],
        "mean_w": mean_w,
        "seen_w": np.where(s.seen_w[started] > 0, s.seen_w[started], np.nan),
    }


def _classes(result: Result, running_j: Floats) -> Columns:
    s, classes = result.state, result.cluster.classes
    busy_j = s.node_j[:, 0] + np.bincount(s.pool, running_j, minlength=len(classes))
    return {
        "node_class": [c.name for c in classes],
        "nodes": np.array([c.count for c in classes]),
        "busy_energy_j": busy_j,
        "idle_energy_j": s.node_j[:, 1],
        "sleep_energy_j": s.node_j[:, 2],
        "boot_energy_j": s.node_j[:, 3],
        "busy_node_s": s.node_s[:, 0],
        "idle_node_s": s.node_s[:, 1],
        "asleep_node_s": s.node_s[:, 2],
        "down_node_s": s.node_s[:, 3],
    }
