"""Jobs of the clusters emmy and meggie (Erlangen) with their power (Patel et al., IPDPS 2020), in the published text
layouts.

The set (Zenodo record 3666632) unpacks to ``ipdps20-paper-hpc-power-traces/data/cluster_characteristics/CLUSTER/``,
where ``job_traces/rrze-traces-CLUSTER-jobs-MM.txt`` are the jobs of a month and
``pwr_traces/rrze-traces-CLUSTER-avg-pwr-MM.txt`` the mean power of their nodes. Names and lines are known from programs
of others that read them (MaximeGonthier/batch-simulator):

* emmy ran Torque, and its jobs are accounting events (``torque``); its power lines read
  ``1033693  average power consumption (CPU+DRAM)      :      163.7 W``.
* meggie ran Slurm, and its jobs are an ``sacct`` dump to the minute (``slurm``); it has two power lines a job,
  ``349988  average chip RAPL-power  :  110.5 W`` and ``average dram RAPL-power``, which are added.

Give one file of jobs (its power is found beside it), or the folder of a cluster for all months. A requeued job counts
from when it was first queued; a job that was deleted before it started is none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from wattline.arrays import Floats
from wattline.errors import TraceError
from wattline.formats.jobs.rrze.layout import EVENT, job_files
from wattline.formats.jobs.rrze.log import Job, Log
from wattline.formats.jobs.rrze.slurm import read_slurm_jobs
from wattline.formats.jobs.rrze.torque import read_torque_events
from wattline.formats.jobs.sacct.read import MAX_DRAW_W
from wattline.model.jobs import JobTable
from wattline.reading.notes import Trace, build_jobs, quote, refuse_empty
from wattline.reading.source import read_text

TIME_ZONE = "Europe/Berlin"
EMMY, MEGGIE = 560, 728
"""Nodes of the two clusters."""

_POWER = re.compile(rb"^\s*(\d{1,15})\S*\s+average\s+(.{1,60}?)\s*:\s*(\S{1,40})\s*W\s*$")


def read_rrze(path: Path | str, *, strict: bool = False) -> Trace:
    """Read a file of jobs, or all of a cluster's folder; the first queued job is second 0."""
    where = Path(path)
    files = job_files(where) if where.is_dir() else [where]
    if not files:
        raise TraceError.at(path, "is a directory without files of jobs (job_traces/rrze-traces-CLUSTER-jobs-MM.txt)")
    log, texts = Log(), [read_text(file) for file in files]
    torque = [EVENT.match(text.lstrip()) is not None for text in texts]
    if any(torque) != all(torque):
        raise TraceError.at(path, "holds files of jobs of both clusters", hint="give the folder of one cluster")
    if torque[0]:
        read_torque_events(log, list(zip(files, texts, strict=True)))
    else:
        for file, text in zip(files, texts, strict=True):
            read_slurm_jobs(log, file, text)
    return _to_trace(path, log, _read_power(log, files), EMMY if torque[0] else MEGGIE, strict=strict)


def _power_files(jobs: Path) -> list[Path]:
    """Return the files of power that go with a file of jobs: beside it, or in the folder for power beside its own."""
    name = jobs.name.replace("-jobs-", "-avg-pwr-")
    places = (jobs.parent.parent / "pwr_traces", jobs.parent)
    return [place / name for place in places if name != jobs.name and (place / name).is_file()][:1]


def _read_power(log: Log, files: Sequence[Path]) -> dict[int, float]:
    """Return the mean power per node of jobs; what processors and memory draw is added."""
    parts: dict[tuple[int, bytes], float] = {}
    for file in (power for jobs in files for power in _power_files(jobs)):
        for number, line in enumerate(read_text(file).split(b"\n"), start=1):
            if not line.strip():
                continue
            found = _POWER.match(line)
            watts = _float(found[3]) if found else float("nan")
            if found is None:
                log.note("kept", "a line that is not the power of a job", file, number, quote(line))
            elif 0 < watts <= MAX_DRAW_W:
                parts[int(found[1]), found[2].lower()] = watts
            else:
                log.note(
                    "kept", "a power that is no number, or cannot be true: unknown", file, number, quote(line), "power"
                )
    power: dict[int, float] = {}
    for (job, _), watts in parts.items():
        power[job] = power.get(job, 0.0) + watts
    return power


def _float(text: bytes) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _to_trace(path: Path | str, log: Log, power: dict[int, float], nodes: int, *, strict: bool) -> Trace:
    queued, started = (_instants(path, log.jobs, name) for name in ("queued", "started"))
    for job, timed in zip(log.jobs, np.isfinite(queued) | np.isfinite(started), strict=True):
        job.lost = job.lost or ("" if timed else "times cannot be read")
        if job.lost:
            log.note_job("dropped", job.lost, job)
    rows = np.array([not job.lost for job in log.jobs], dtype=np.bool_)
    kept = [job for job in log.jobs if not job.lost]
    records = len(log.jobs) + log.malformed
    if not kept:
        raise refuse_empty(path, records, log.settle(strict=strict))
    jobs = _build(log, kept, queued[rows], started[rows], np.array([power.get(job.number, np.nan) for job in kept]))
    header = {"Installation": "RRZE " + ("emmy" if nodes == EMMY else "meggie"), "Power": "CPU and DRAM, per node"}
    return Trace(jobs, log.settle(strict=strict), str(path), header, nodes, records, zone=TIME_ZONE)


def _instants(path: Path | str, jobs: list[Job], name: str) -> Floats:
    import polars as pl

    from wattline.reading.fields import instants

    return instants(pl.Series([getattr(job, name) for job in jobs], dtype=pl.String), TIME_ZONE, path)


def _build(log: Log, kept: list[Job], queued: Floats, started: Floats, draw_w: Floats) -> JobTable:
    import polars as pl

    from wattline.reading.coder import codes

    late = np.isnan(queued) | (queued > started)
    for job, moved, watts in zip(kept, late, draw_w, strict=True):
        if moved:
            log.note_job("repaired", "queued before the log begins: counts from its start", job)
        if np.isnan(watts):
            log.note_job("kept", "no power of it beside the log: power unknown", job)
        log.note_limit(job)
        if job.run_s == 0:
            log.note_job("kept", "run time 0: ends the instant it starts", job)
    queued = np.where(late, started, queued)
    epoch = float(queued.min())
    user, users = codes(pl.Series([job.user for job in kept], dtype=pl.String))
    kind, kinds = codes(pl.Series([job.name for job in kept], dtype=pl.String))
    return build_jobs(
        kept[0].file,
        job_id=[job.number for job in kept],
        submit_s=queued - epoch,
        work_s=[job.run_s for job in kept],
        nodes=[job.nodes for job in kept],
        request_s=[job.limit_s for job in kept],
        recorded_wait_s=started - queued,
        draw_w=draw_w,
        user=user,
        users=users,
        kind=kind,
        kinds=kinds,
        epoch_unix_s=epoch,
    )
