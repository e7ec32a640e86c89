"""Facts about a trace, computed from its job table alone: what ``wattline trace info`` shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from wattline.model.jobs import JobTable
from wattline.reading.notes import Trace

_PERCENTILES = (5, 25, 50, 75, 95)


def trace_info(trace: Trace, nodes: int | None = None) -> dict[str, Any]:
    """Return facts about a trace, ready for JSON; ``nodes`` (default: the trace's own machine) sets the offered load.

    ``offered_load`` is the work submitted (node-seconds) divided by what ``nodes`` could do from the first submission
    to the last; 1 keeps the machine just busy. NaN becomes None.
    """
    jobs = trace.jobs
    machine = trace.suggested_nodes if nodes is None else nodes
    node_s = float(np.sum(jobs.nodes * jobs.work_s))
    return {
        "source": trace.source,
        "records": trace.records,
        "jobs": len(jobs),
        "dropped": trace.count("dropped"),
        "repaired": trace.count("repaired"),
        "first_submit_s": _at(jobs.submit_s, 0),
        "last_submit_s": _at(jobs.submit_s, -1),
        "span_s": jobs.span_s,
        "epoch_unix_s": _finite(jobs.epoch_unix_s),
        "machine_nodes": machine,
        "machine": None if trace.machine is None else asdict(trace.machine),
        "node_hours": node_s / 3600.0,
        "offered_load": _load(node_s, jobs.span_s, machine),
        "wider_than_machine": int(np.sum(jobs.nodes > machine)) if machine else None,
        "nodes": _summary(jobs.nodes) | _sizes(jobs),
        "work_s": _summary(jobs.work_s),
        "zero_work": int(np.sum(jobs.work_s == 0)),
        "interarrival_s": _interarrivals(jobs),
        "request": _request(jobs),
        "recorded_wait_s": _summary(jobs.recorded_wait_s),
        "draw_w": _summary(jobs.draw_w),
        "series_w": _over_time(jobs),
        "users": _used(jobs.user),
        "groups": _used(jobs.group),
        "kinds": _used(jobs.kind),
        "partitions": _shares(jobs.partition, jobs.partitions),
        "dependent": int(np.sum(jobs.after >= 0)),
        "header": dict(trace.header),
        "notes": [asdict(note) for note in trace.notes],
    }


def _summary(values: npt.NDArray[Any]) -> dict[str, Any]:
    """Return count, extremes, mean, spread and percentiles of what is known in a column."""
    known = values[np.isfinite(values)]
    if not known.size:
        return {"known": 0}
    points = np.percentile(known, _PERCENTILES)
    return {
        "known": int(known.size),
        "min": float(known.min()),
        "max": float(known.max()),
        "mean": float(known.mean()),
        "std": float(known.std()),
        **{f"p{p}": float(v) for p, v in zip(_PERCENTILES, points, strict=True)},
    }


def _over_time(jobs: JobTable) -> dict[str, Any]:
    """Return a summary of all values of power over time (per node), how many jobs have some, and their step."""
    if jobs.series is None:
        return {"known": 0}
    told = int(np.sum(np.diff(jobs.series.first) > 0))
    return _summary(jobs.series.watts.astype(np.float64)) | {"jobs": told, "step_s": jobs.series.step_s}


def _sizes(jobs: JobTable) -> dict[str, Any]:
    if not len(jobs):
        return {}
    powers = (jobs.nodes & (jobs.nodes - 1)) == 0
    return {
        "serial_share": float(np.mean(jobs.nodes == 1)),
        "power_of_two_share": float(np.mean(powers & (jobs.nodes > 1))),
    }


def _interarrivals(jobs: JobTable) -> dict[str, Any]:
    """Return a summary of the gaps with their coefficient of variation: 1 is Poisson, more is bursty."""
    gaps = _summary(np.diff(jobs.submit_s))
    if gaps["known"] and gaps["mean"] > 0:
        gaps["cv"] = gaps["std"] / gaps["mean"]
    return gaps


def _request(jobs: JobTable) -> dict[str, Any]:
    """Return how well users guess: accuracy is run time divided by request, over jobs that have one."""
    known = np.isfinite(jobs.request_s) & (jobs.request_s > 0)
    accuracy = jobs.work_s[known] / jobs.request_s[known]
    exceeded = int(np.sum(accuracy > 1))
    return _summary(jobs.request_s) | {
        "unknown": int(np.sum(~known)),
        "exceeded": exceeded,
        "accuracy": _summary(accuracy),
    }


def _shares(codes: npt.NDArray[np.int64], names: Sequence[str]) -> dict[str, int]:
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    return {name: int(count) for name, count in zip(names, counts, strict=False) if count}


def _used(codes: npt.NDArray[np.int64]) -> int:
    return int(np.unique(codes[codes >= 0]).size)


def _load(node_s: float, span_s: float, machine: int | None) -> float | None:
    return node_s / (span_s * machine) if machine and span_s > 0 else None


def _at(values: npt.NDArray[np.float64], index: int) -> float | None:
    return float(values[index]) if values.size else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
