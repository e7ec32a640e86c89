"""A Slurm dump to the minute, as published of meggie.

The header is ``JobID|Submit|Start|End|ReqNodes|Timelimit|Elapsed|User|JobName|`` and a row
``349988|2018-12-31T08:27|2018-12-31T08:27|2019-01-01T08:27|7|1-00:00|1-00:00|5c8e3240|b7ef4ccd``: times without
seconds, durations as ``[D-]HH:MM`` (not MM:SS as in other dumps), and a bar too many at the end of the header. A time
limit may also be what Slurm takes for one: ``30`` is minutes, ``1-12`` a day and 12 hours.
"""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

from wattline.formats.jobs.rrze.log import Job, Log
from wattline.reading.fields import UNLIMITED_WORDS
from wattline.reading.notes import quote
from wattline.units import HOUR_S

WIDTH = 9
UNFINISHED = ("unknown", "none", "n/a")
"""What Slurm writes for the end of a job that runs."""
EITHER_S = 60.0
"""How far times to the minute may be off together."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?")
_MINUTES = re.compile(r"\d{1,8}")
_DAYS = re.compile(r"\d{1,4}-\d{1,2}")
_SPAN = re.compile(r"(?:(\d{1,4})-)?(\d{1,5}):(\d\d)(?::(\d\d))?")


def read_slurm_jobs(log: Log, file: Path, text: bytes) -> None:
    """Add the jobs of a file; a job number that comes again is the job run again."""
    before = {job.number: job for job in log.jobs}
    for number, line in enumerate(log.texts(file, text), start=1):
        if not line.strip() or line.lower().startswith("jobid|"):
            continue
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == WIDTH + 1 and not cells[-1]:
            cells.pop()
        if len(cells) != WIDTH or not (cells[0].isascii() and cells[0].isdigit() and len(cells[0]) < 16):
            log.malformed += 1
            log.note(
                "dropped", f"malformed: expected {WIDTH} fields that begin with a job number", file, number, quote(line)
            )
            continue
        job = _job(file, number, line, cells)
        if _contradicts(job):
            log.note_job("kept", "the run time is not the end less the start: the run time counts", job)
        _add(log, before, job)


def _job(file: Path, number: int, line: str, cells: list[str]) -> Job:
    job_id, submit, start, end, nodes, limit, elapsed, user, name = cells
    job = Job(
        int(job_id),
        file,
        number,
        quote(line),
        _time(submit),
        _time(start),
        _time(end),
        span_s(elapsed),
        limit_s(limit),
        int(nodes) if nodes.isascii() and nodes.isdigit() and len(nodes) < 10 else 0,
        user,
        name,
        starts=1,
    )
    if not job.started:
        job.lost = "deleted before it started"
    elif not job.queued:
        job.lost = "submit time unknown"
    elif not job.ended:
        runs = not end or end.lower() in UNFINISHED
        job.lost = "not finished when the log ends" if runs else "end time cannot be read"
    elif not job.run_s >= 0:
        job.lost = "run time unknown"
    elif job.nodes < 1:
        job.lost = "nodes are not a positive whole number"
    if not (job.limit_s >= 0 or limit.lower() in UNLIMITED_WORDS):
        job.limit_unread = (file, number, "Timelimit", limit)
    if not job.limit_s > 0:
        job.limit_s = float("nan")
    return job


def _contradicts(job: Job) -> bool:
    """Tell whether the run time is not the time from start to end: times to the minute, but for a change of clocks."""
    if job.lost:
        return False
    try:
        took_s = (datetime.fromisoformat(job.ended) - datetime.fromisoformat(job.started)).total_seconds()
    except ValueError:  # no day of the calendar
        return True
    return all(abs(took_s - job.run_s + shift_s) > EITHER_S for shift_s in (-HOUR_S, 0.0, HOUR_S))


def _add(log: Log, before: dict[int, Job], job: Job) -> None:
    """Add a job; of two runs of one the later counts, from the first submission (months overlap: equal rows are
    one).
    """
    old = before.get(job.number)
    before[job.number] = job
    log.jobs.append(job)
    if old is None or old.lost or job.lost:
        return
    if (old.queued, old.started, old.ended) == (job.queued, job.started, job.ended):
        job.lost = "the same row again"
        before[job.number] = old
        return
    first, last = sorted((old, job), key=lambda run: run.started)
    first.lost = "an earlier run of a requeued job"
    if first.queued < last.queued:
        last.queued = first.queued
        log.note_job("repaired", "requeued: counts from when it was first queued", last)
    before[job.number] = last


def _time(text: str) -> str:
    found = _TIME.fullmatch(text)
    return "" if found is None else text if found[1] else f"{text}:00"


def span_s(text: str) -> float:
    """Return seconds of ``[D-]HH:MM`` or ``[D-]HH:MM:SS``; NaN for anything else, as an hour of 60 minutes.

    >>> span_s("1-00:00"), span_s("14:51"), span_s("UNLIMITED"), span_s("01:60")
    (86400.0, 53460.0, nan, nan)
    """
    found = _SPAN.fullmatch(text)
    if found is None:
        return float("nan")
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    if seconds >= 60 or minutes >= 60 or (found[1] and hours >= 24):
        return float("nan")
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def limit_s(text: str) -> float:
    """Return seconds of a time limit: as a run time, or plain minutes, or ``D-HH``; NaN for anything else.

    >>> limit_s("17:00"), limit_s("30"), limit_s("1-12"), limit_s("junk")
    (61200.0, 1800.0, 129600.0, nan)
    """
    if _MINUTES.fullmatch(text):
        return 60.0 * int(text)
    return span_s(f"{text}:00" if _DAYS.fullmatch(text) else text)
