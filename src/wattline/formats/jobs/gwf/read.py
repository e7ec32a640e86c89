"""Grid Workload Format (the Grid Workloads Archive's text form): read a log as a trace.

A record has 29 fields; -1 means unknown. Times are in seconds, users and the like are texts. A record is a job by the
same rules as in the Standard Workload Format: it ran for a known time and held processors.

Processors are ``NProcs``, else ``ReqNProcs``; comments such as ``# MaxProcs: 400`` may say how large the machine is.
Submit times that are Unix times are counted from the first of them. A grid has many sites: where the log tells them, a
job's partition is the site that ran it (``LastRunSiteID``), else its ``PartitionID``, else its ``QueueID``.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.formats.jobs.gwf import FIELDS
from wattline.model.jobs import JobTable
from wattline.reading.began import header_epoch
from wattline.reading.coder import Coder
from wattline.reading.delimited import Delimited
from wattline.reading.fields import MAX_WHOLE, numbers
from wattline.reading.machine import size_machine
from wattline.reading.notes import ROUNDED, Action, Finding, Trace, build_jobs, refuse_empty, settle
from wattline.reading.parts import squeeze
from wattline.reading.pieces import Pieces
from wattline.reading.rows import out_of_order
from wattline.reading.source import as_text, peek
from wattline.reading.unix_times import MOST_EPOCH_S, UNIX_S

if TYPE_CHECKING:
    import polars as pl

Mask = npt.NDArray[np.bool_]

NUMBERS = ("JobID", "SubmitTime", "WaitTime", "RunTime", "NProcs", "ReqNProcs", "ReqTime", "Status")
NEEDED = ("JobID", "SubmitTime", "RunTime", "NProcs")
"""Fields that must be numbers; the others of ``NUMBERS`` are unknown where they are none."""
NAMED = {"user": "UserID", "group": "GroupID", "kind": "ExecutableID"}
PARTITIONS = ("LastRunSiteID", "PartitionID", "QueueID")
CANCELLED = 5
_HEADER_LINE = re.compile(rb"#\s*([A-Za-z]\w{0,40})\s*:\s*(.{0,2000})")


def read_gwf(
    path: Path | str, *, strict: bool = False, cores_per_node: int | None = None, nodes: int | None = None
) -> Trace:
    """Read a Grid Workload Format log, plain or gzip.

    Parameters
    ----------
    path
        The file.
    strict
        Refuse a file with records that would be dropped or repaired.
    cores_per_node
        Processors that make one node (default: as the header says, else 1).
    nodes
        Nodes of the machine that the jobs are for; one of the header's two numbers tells what is counted.
    """
    if cores_per_node is not None and cores_per_node < 1:
        raise InputError(f"cores_per_node must be at least 1 (got {cores_per_node})")
    log = _Log(path)
    keep = log.jobs()
    processors = np.where(log.number["NProcs"] > 0, log.number["NProcs"], log.number["ReqNProcs"])
    header = _header(path)
    machine = size_machine(header, processors[keep], cores_per_node, nodes)
    log.mention_oddities(keep, processors, machine.divide)
    jobs = log.build(keep, np.ceil(processors / machine.divide), header) if keep.any() else None
    notes = settle(path, log.findings, strict=strict)
    if jobs is None:
        raise refuse_empty(path, log.table.records, notes)
    return Trace(jobs, notes, str(path), header, machine.count, log.table.records, machine)


class _Columns:
    """Numbers, and codes of names, of every record so far."""

    def __init__(self) -> None:
        self.pieces = Pieces()
        self.coders = {name: Coder() for name in (*NAMED.values(), *PARTITIONS)}

    def __call__(self, frame: pl.DataFrame) -> None:
        """Take a part of the log."""
        for name in NUMBERS:
            self.pieces.add(name, numbers(frame[name]))
        for name, coder in self.coders.items():
            coder.add(frame[name].replace("-1", ""))


class _Log:
    """The log and what has been found in it so far."""

    def __init__(self, path: Path | str) -> None:
        self.path = path
        self.table = Delimited(path, " ", names=FIELDS, squeeze=_without_comments)
        read = self.table.read(_Columns)
        self.findings: list[Finding] = list(self.table.wrong)
        self.number: dict[str, Floats] = {name: read.pieces.take(name) for name in NUMBERS}
        self.unread: dict[str, Mask] = {}
        for name in NUMBERS:
            if name not in NEEDED and (unread := np.isnan(self.number[name])).any():
                self.number[name][unread] = -1.0
                self.unread[name] = unread
        self.codes = {name: (coder.codes, coder.names) for name, coder in read.coders.items()}

    def note(self, action: Action, reason: str, which: Mask, column: str) -> None:
        found = self.table.finding(action, reason, which, column)
        if found is not None:
            self.findings.append(found)

    def jobs(self) -> Mask:
        """Return which records are jobs; each other one is counted once, under the first reason that fits."""
        number = self.number
        ran, held, asked = number["RunTime"], number["NProcs"], number["ReqNProcs"]
        reasons: list[tuple[str, Mask, str]] = [
            *((f"malformed: {name} is not a number", np.isnan(number[name]), name) for name in NEEDED),
            *((f"malformed: {name} is not whole", ~_is_whole(number[name]), name) for name in ("JobID", "NProcs")),
            ("cancelled before it started", (number["Status"] == CANCELLED) & (ran <= 0), "Status"),
            (
                "never held processors (zero or unknown)",
                (held <= 0) & ((asked <= 0) | ~_is_whole(asked) | (ran == 0)),
                "NProcs",
            ),
            ("run time unknown", ran < 0, "RunTime"),
            ("submit time unknown", number["SubmitTime"] < 0, "SubmitTime"),
        ]
        keep = np.ones(ran.size, dtype=np.bool_)
        for reason, hit, column in reasons:
            self.note("dropped", reason, hit & keep, column)
            keep &= ~hit
        return keep

    def mention_oddities(self, keep: Mask, processors: Floats, cores_per_node: int) -> None:
        """Count records that are jobs but should be known of."""
        submit, run, request = (self.number[name] for name in ("SubmitTime", "RunTime", "ReqTime"))
        self.note("repaired", "out of order: sorted by submit time", out_of_order(submit, keep), "SubmitTime")
        self.note("kept", "run time 0: ends the instant it starts", keep & (run == 0), "RunTime")
        for name, unread in self.unread.items():
            self.note("repaired", f"{name} is not a number: taken as unknown", keep & unread, name)
        unknown = (request <= 0) & ~self.unread.get("ReqTime", np.zeros(1, dtype=np.bool_))
        self.note("kept", "requested time unknown", keep & unknown, "ReqTime")
        self.note("kept", "ran longer than requested", keep & (request > 0) & (run > request), "RunTime")
        uneven = keep & (processors % cores_per_node != 0)
        self.note("kept", f"not whole nodes of {cores_per_node} processors: {ROUNDED}", uneven, "NProcs")

    def build(self, keep: Mask, nodes: Floats, header: dict[str, str]) -> JobTable:
        """Return the job table."""
        submit, wait, request = (self.number[name][keep] for name in ("SubmitTime", "WaitTime", "ReqTime"))
        first = float(submit.min())
        epoch = first
        undated: list[tuple[str, str, str]] = []
        if first < UNIX_S:
            epoch, undated = header_epoch(header)
        elif first > MOST_EPOCH_S:
            why = "submit times are no seconds since 1970: not believed, the log has no date"
            epoch, undated = math.nan, [("SubmitTime", f"{first:.16g}", why)]
        self.findings += [Finding("kept", why, 1, None, key, value, f"{key}: {value}") for key, value, why in undated]
        told = next((name for name in PARTITIONS if (self.codes[name][0][keep] >= 0).any()), PARTITIONS[-1])
        names: dict[str, Any] = {}
        for column, source in (*NAMED.items(), ("partition", told)):
            codes, known = self.codes[source]
            names |= {column: codes[keep], f"{column}s": known}
        return build_jobs(
            self.path,
            job_id=self.number["JobID"][keep],
            submit_s=submit - first if first >= UNIX_S else submit,
            work_s=self.number["RunTime"][keep],
            nodes=nodes[keep],
            request_s=np.where(request > 0, request, np.nan),
            recorded_wait_s=np.where(wait >= 0, wait, np.nan),
            epoch_unix_s=epoch,
            **names,
        )


def _is_whole(values: Floats) -> Mask:
    whole: Mask = (values == np.floor(values)) & (np.abs(values) < MAX_WHOLE)
    return whole


def _without_comments(text: bytes) -> bytes:
    """Return lines of fields between single blanks, with empty lines in the place of comments."""
    tidy = squeeze(text)
    if b"#" in tidy:
        tidy = b"\n".join(b"" if line.startswith(b"#") else line for line in tidy.split(b"\n"))
    return tidy


def _header(path: Path | str) -> dict[str, str]:
    """Return what comments above the records say in the form ``# MaxProcs: 400``."""
    header: dict[str, str] = {}
    for line in as_text(path, peek(path)).split(b"\n"):
        if line.strip() and not line.lstrip().startswith(b"#"):
            break
        found = _HEADER_LINE.match(line.lstrip())
        if found:
            key, value = (part.decode("utf-8", errors="replace").strip() for part in found.groups())
            header.setdefault(key, value)
    return header
