"""From a journal to a file of samples, with faults on demand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from wattline.arrays import Floats
from wattline.errors import InputError, TraceError
from wattline.model.jobs import JobTable
from wattline.model.series import PowerSeries
from wattline.telemetry.made.drawn import drawn_by
from wattline.telemetry.made.inject import inject, parse_faults
from wattline.telemetry.made.sample import Plan, draw_samples, write_samples
from wattline.telemetry.nodes.work import Machine, load_work


def make_samples(
    journal: Path,
    out: Path,
    plan: Plan,
    per_rack: int | None = None,
    faults: str | None = None,
    trace: Path | None = None,
    epoch_unix_s: float = math.nan,
) -> dict[str, Any]:
    """Write samples of a journal's run; return how many there are, and how many faults of each class."""
    from wattline.journal.journal import open_journal

    shares = {} if faults is None else parse_faults(faults)
    if shares and plan.edges:
        raise InputError("--faults and --edges: faults need sensors that send at regular times")
    opened = open_journal(journal)
    if trace is None and opened.manifest["cluster"].get("power", {}).get("basis") == "unknown":
        hint = "run it again with watts (--idle-power and --max-power, or [cluster] idle and max)"
        raise TraceError.at(journal, "holds no power: its run was given no watts", hint=hint)
    if per_rack is not None and plan.by != "rack":
        raise InputError(f"--nodes-per-rack is for samples of racks; these are of {plan.by}s")
    work = load_work(journal, None, Machine(per_rack=per_rack))
    jobs = work.trace.jobs
    table = opened.read("jobs", "job_id", "energy_j")
    energy_j = _by_job(jobs, table["job_id"].to_numpy(), table["energy_j"].fill_null(0.0).to_numpy())
    series = None if trace is None else _series(jobs, trace)
    samples = draw_samples(
        work,
        energy_j,
        plan,
        float(opened.manifest["start_s"]),
        float(opened.manifest["end_s"]),
        series,
        drawn_by(opened, jobs, energy_j),
    )
    counts: dict[str, int] = {}
    most_w = math.nan
    if shares:
        spoilt = inject(samples, shares, plan.every_s, plan.seed)
        samples, counts, most_w = spoilt.samples, spoilt.counts, spoilt.most_w
    write_samples(samples.frame(jobs, 0.0 if math.isnan(epoch_unix_s) else epoch_unix_s), out)
    return {
        "file": str(out),
        "by": plan.by,
        "samples": int(samples.code.size),
        "sensors": samples.sensors,
        "faults": counts,
        "max_w": None if math.isnan(most_w) else most_w,
    }


def _by_job(jobs: JobTable, ids: Any, values: Floats) -> Floats:
    order = np.argsort(ids)
    place = np.minimum(np.searchsorted(ids[order], jobs.job_id), ids.size - 1)
    return np.where(ids[order][place] == jobs.job_id, values[order][place], 0.0)


def _series(jobs: JobTable, path: Path) -> PowerSeries:
    """Return the power series of another table for these jobs, by their numbers."""
    from wattline.formats.jobs import read_trace

    given = read_trace(path).jobs
    if given.series is None:
        raise TraceError.at(
            path,
            "has no power over the run of its jobs",
            field="series_w",
            hint="leave --trace away for the mean power",
        )
    place = {int(number): row for row, number in enumerate(given.job_id)}
    nothing = given.series.watts[:0]
    rows = [given.series.of(place[int(i)]) if int(i) in place else nothing for i in jobs.job_id]
    return PowerSeries.build(given.series.step_s, rows)
