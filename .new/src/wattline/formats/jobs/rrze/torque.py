"""Torque's accounting events, as published of emmy: one line an event, several events a job.

``01/01/2019 00:01:33;Q;1033693.eadm;queue=devel`` queued, ``S`` started, ``E`` ended, ``D`` deleted, ``A`` aborted,
``R`` run again; ``S`` and ``E`` go on after a blank (or a semicolon) with ``Resource_List.nodes=4:ppn=40
Resource_List.walltime=00:59:00`` and, at the end, ``resources_used.walltime=00:26:03 account=… jobstr=…``. A job is
queued several times on its way through queues.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

from wattline.formats.jobs.rrze.log import Job, Log
from wattline.reading.notes import quote

_LINE = re.compile(r"^(\d\d)/(\d\d)/(\d{4}) (\d\d:\d\d:\d\d);([A-Z]);(\d{1,15})([^\s;]*)[\s;]*(.*)$", re.DOTALL)
_FIELD = re.compile(r"([\w.]+)=(\S*)")
_CLOCK = re.compile(r"(?:(?:(?:(\d{1,4}):)?(\d{1,5}):)?(\d{1,7}):)?(\d{1,9}(?:\.\d{1,3})?)")


def read_torque_events(log: Log, files: list[tuple[Path, bytes]]) -> None:
    """Gather the events of all files into jobs, whatever order the files come in."""
    events: list[tuple[str, int, str, int, str, str, Path, int, str]] = []
    for file, text in files:
        for number, line in enumerate(log.texts(file, text), start=1):
            if not line.strip():
                continue
            found = _LINE.match(line)
            if found is None:
                log.malformed += 1
                log.note("dropped", "malformed: not an accounting event", file, number, quote(line))
                continue
            month, day, year, clock, event, job, _, message = found.groups()
            events.append(
                (
                    f"{year}-{month}-{day}T{clock}",
                    len(events),
                    event,
                    int(job),
                    found[6] + found[7],
                    message,
                    file,
                    number,
                    line,
                )
            )
    jobs: dict[str, Job] = {}
    for time, _, event, number, name, message, file, line_number, line in sorted(events, key=lambda e: e[:2]):
        job = jobs.setdefault(name, Job(number, file, line_number, quote(line)))
        _apply(job, event, time, message, (file, line_number))
    for job in jobs.values():
        _finish(log, job)
    log.jobs += jobs.values()


def _apply(job: Job, event: str, time: str, message: str, at: tuple[Path, int]) -> None:
    fields = dict(_FIELD.findall(message[:2000]))
    if event == "Q":
        job.queued = job.queued or time
    elif event == "S":
        job.started, job.starts = time, job.starts + 1
    elif event == "E":
        job.ended = time
        job.run_s = clock_s(fields.get("resources_used.walltime", ""))
    elif event in ("D", "A") and not job.starts:
        job.lost = "deleted before it started" if event == "D" else "aborted before it started"
    if event in ("S", "E"):
        job.lost = ""
        job.nodes = (
            count_nodes(fields.get("Resource_List.nodect") or fields.get("Resource_List.nodes", "")) or job.nodes
        )
        if asked := fields.get("Resource_List.walltime", ""):
            limit_s = clock_s(asked)
            job.limit_s = limit_s if limit_s > 0 else float("nan")
            job.limit_unread = None if limit_s >= 0 else (*at, "Resource_List.walltime", asked)
        job.user, job.name = fields.get("account", job.user), fields.get("jobstr", job.name)


def _finish(log: Log, job: Job) -> None:
    """Tell whether it is a job of the trace, and complete what it lacks."""
    if job.lost:
        return
    if not job.ended:
        job.lost = "not finished when the log ends" if job.started else "never started in the log"
        return
    if not job.run_s >= 0:
        if not job.started:
            job.lost = "run time unknown"
            return
        job.run_s = _between_s(job.started, job.ended)
        log.note_job("repaired", "no run time at its end: taken from start and end", job)
    if not job.started:
        job.started = _before(job.ended, job.run_s)
    if job.nodes < 1:
        job.lost = "nodes unknown"
    elif job.starts > 1:
        log.note_job("repaired", "requeued: counts from when it was first queued", job)


def clock_s(text: str) -> float:
    """Return seconds of ``[[[DD:]HH:]MM:]SS[.fff]``, as PBS and Torque take a time; NaN for anything else.

    >>> clock_s("24:00:00"), clock_s("1:00:00:30"), clock_s("3600"), clock_s("01:00"), clock_s("1-00:00:00")
    (86400.0, 86430.0, 3600.0, 60.0, nan)
    """
    found = _CLOCK.fullmatch(text)
    if found is None:
        return float("nan")
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    crowded = (found[3] and seconds >= 60) or (found[2] and minutes >= 60) or (found[1] and hours >= 24)
    return float("nan") if crowded else ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def count_nodes(text: str) -> int:
    """Return the nodes that a request means: parts joined by ``+``, each a number of nodes or the name of one.

    0 if unknown.

    >>> [count_nodes(text) for text in ("4:ppn=40", "e0101:ppn=40+e0102:ppn=40", "2:ppn=40+1:ppn=20", "")]
    [4, 2, 3, 0]
    """
    parts = [part.split(":")[0] for part in text.split("+") if part]
    return sum(int(part) if part.isascii() and part.isdigit() and len(part) < 10 else 1 for part in parts)


def _between_s(first: str, last: str) -> float:
    try:
        return max(0.0, (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds())
    except ValueError:
        return float("nan")


def _before(time: str, seconds: float) -> str:
    try:
        return (datetime.fromisoformat(time) - timedelta(seconds=seconds)).isoformat()
    except (ValueError, OverflowError):
        return time
