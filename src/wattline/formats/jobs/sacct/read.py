"""Slurm accounting dumps (``sacct --parsable2 --allusers -o …``), any choice and order of columns, as a trace.

Needed are a job number, ``Submit``, a run time (``ElapsedRaw``, ``Elapsed`` or ``Start`` and ``End``) and a size
(``AllocNodes``, ``NNodes``, ``AllocTRES``, ``ReqNodes``, or CPUs divided by ``cores_per_node``). Used if there: time
limit, user, account, partition, job name (as the job's kind), priority, consumed energy (as its power per node).

A job is a record that ran and ended. Steps are not jobs; jobs cancelled before they started, jobs still pending or
running, and earlier runs of a requeued job (``sacct --duplicates`` prints them) are dropped and counted. A requeued job
counts from its first submission: Slurm gives it a new submit time with every requeue. A job number that comes again for
another user, or after its job had ended, or lost its nodes more than a day before, is another job. Times are local to
the machine that printed them: ``timezone`` (such as ``Europe/Paris``) makes them absolute; without it they are taken as
UTC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints
from wattline.errors import InputError, TraceError
from wattline.formats.jobs.sacct.columns import CPUS, NAMED, NODES, Columns
from wattline.formats.jobs.sacct.requeues import repeated, tell_apart
from wattline.model.jobs import UNKNOWN, JobTable
from wattline.reading import fields
from wattline.reading.coder import Codes
from wattline.reading.delimited import AGAIN, Delimited
from wattline.reading.notes import ROUNDED, Action, Finding, Trace, build_jobs, listed, refuse_empty, settle
from wattline.reading.rows import out_of_order

Mask = npt.NDArray[np.bool_]

EXAMPLE = (
    "sacct -a -P -X -S 2024-01-01 -o "
    "JobID,JobIDRaw,Submit,Start,ElapsedRaw,AllocNodes,TimelimitRaw,User,Account,Partition,JobName,State"
)
MAX_DRAW_W = 1e5
"""No node draws more: energy counters that say so have overflowed or mean "not available"."""


def read_sacct(
    path: Path | str, *, strict: bool = False, cores_per_node: int = 1, timezone: str | None = None
) -> Trace:
    """Read a Slurm accounting dump, plain or gzip; the first submission is second 0."""
    if cores_per_node < 1:
        raise InputError(f"cores_per_node must be at least 1 (got {cores_per_node})")
    dump = _Dump(Delimited(path, "|"), cores_per_node, timezone)
    if not dump.table.lines.size:
        raise refuse_empty(path, dump.table.records, settle(path, dump.findings, strict=strict))
    job_id, whole = _job_numbers(dump)
    submit = _submits(dump)
    elapsed = _elapsed(dump)
    dump.require(*(dump.among(*NODES) or CPUS))
    nodes = dump.column("nodes")
    keep, earlier, job = _drop_what_did_not_run(dump, whole, submit, elapsed, nodes)
    if "rounded" in dump.read.pieces:
        told = f"not whole nodes of {cores_per_node} CPUs: {ROUNDED}"
        dump.note("kept", told, keep & dump.column("rounded"), dump.first_of(*CPUS) or "")
    elif cores_per_node > 1:
        told, example = "the dump counts nodes: cores_per_node changes nothing", f"cores_per_node = {cores_per_node}"
        dump.findings.append(Finding("kept", told, int(keep.sum()), None, "cores_per_node", cores_per_node, example))
    elif not dump.among(*NODES) and keep.any():
        told = "the dump counts CPUs, no nodes: each is taken as a node (cores_per_node says how many make one)"
        dump.note("kept", told, keep, dump.first_of(*CPUS) or "")
    if "stood in" in dump.read.pieces:
        told = "the size is not in the first column for it: another one is taken"
        dump.note("repaired", told, keep & dump.column("stood in"), dump.first_of(*NODES) or "")
    if keep.any():
        submit = _first_submissions(dump, keep, earlier, submit, job)
        del job, earlier, whole
        jobs = _build(dump, keep, job_id, submit, elapsed, nodes)
    notes = settle(path, dump.findings, strict=strict)
    if not keep.any():
        raise refuse_empty(path, dump.table.records, notes)
    about = {"columns": ", ".join(dump.table.names)}
    local = (timezone or "UTC", timezone is None) if dump.read.local else (None, False)
    return Trace(jobs, notes, str(path), about, None, dump.table.records, None, *local)


class _Dump:
    """The dump and what has been found in it so far."""

    def __init__(self, table: Delimited, cores_per_node: int, timezone: str | None) -> None:
        self.table = table
        self.read = table.read(lambda: Columns(table.path, cores_per_node, timezone))
        self.findings: list[Finding] = [
            *table.wrong,
            *(replace(found, benign=found.reason == AGAIN) for found in table.said),
        ]

    def has(self, name: str) -> bool:
        return name in self.table.names

    def among(self, *names: str) -> tuple[str, ...]:
        return tuple(name for name in names if self.has(name))

    def first_of(self, *names: str) -> str | None:
        return next(iter(self.among(*names)), None)

    def require(self, *names: str) -> None:
        """Refuse a dump with none of these columns."""
        if self.among(*names):
            return
        found = self.table.names
        problem = f"no column {' or '.join(names)}: found {listed(found)}"
        if found and found[0][:1].isdigit():  # no column of Slurm's is called like a job number
            problem = f"the first line must name the columns, but it is a job: {listed(found)} (was it `sacct -n`?)"
        raise TraceError.at(self.table.path, problem, line=1, hint=f"make the dump with `{EXAMPLE}`")

    def column(self, name: str) -> npt.NDArray[Any]:
        """Return what was read of all records, once."""
        return self.read.pieces.take(name)

    def note(self, action: Action, reason: str, which: Mask, column: str, *, benign: bool = False) -> None:
        found = self.table.finding(action, reason, which, column, benign=benign)
        if found is not None:
            self.findings.append(found)


def _job_numbers(dump: _Dump) -> tuple[Floats, Mask]:
    """Return the job number of every record (NaN if it has none) and which records are jobs rather than steps."""
    dump.require("jobid", "jobidraw")
    step = dump.column("step")
    dump.note("dropped", "a step of a job, not a job", step, "jobid" if dump.has("jobid") else "jobidraw", benign=True)
    if dump.has("jobid"):
        dump.note("kept", "part of a heterogeneous job: a job of its own", dump.column("part") & ~step, "jobid")
    return dump.column("number"), ~step


def _submits(dump: _Dump) -> Floats:
    dump.require("submit")
    if dump.read.refused is not None:
        raise dump.read.refused
    return dump.column("submit")


def _elapsed(dump: _Dump) -> Floats:
    if not (dump.has("start") and dump.has("end")):
        dump.require("elapsedraw", "elapsed")
    return dump.column("elapsed")


def _drop_what_did_not_run(
    dump: _Dump, whole: Mask, submit: Floats, elapsed: Floats, nodes: Floats
) -> tuple[Mask, Mask, Ints]:
    """Return which records are jobs, which are earlier runs of one, and the key of each.

    Those that are no jobs are counted once.
    """
    keep = whole.copy()
    requeued, lost, goes_on, never = (np.zeros_like(keep) for _ in range(4))

    def drop(reason: str, hit: Mask, column: str, *, benign: bool = False) -> None:
        dump.note("dropped", reason, hit & keep, column, benign=benign)
        np.logical_and(keep, ~hit, out=keep)

    if dump.has("state"):
        column = dump.read.coders["state"]
        state, names = column.codes, column.names
        lost = _is_one_of(state, names, fields.LOST_ITS_NODES)
        goes_on = whole & _is_one_of(state, names, fields.UNFINISHED)
        drop("not finished when the dump was made", goes_on, "state")
        requeued |= _is_one_of(state, names, ("REQUEUED",)) & keep
        drop("an earlier run of a requeued job", requeued, "state")
        cancelled = _is_one_of(state, names, ("CANCELLED",))
        never = cancelled & ~(elapsed > 0)
        if dump.has("start"):
            never |= cancelled & dump.column("start unknown")
        never &= whole
        drop("cancelled before it started", never, "state")
    drop("submit time cannot be read", dump.column("submit unread"), "submit")
    drop("submit time unknown", ~np.isfinite(submit), "submit")
    blamed = dump.first_of("elapsedraw", "elapsed", "end") or "elapsed"
    drop("run time cannot be read", dump.column("elapsed unread"), blamed)
    drop("ends before it starts" if blamed == "end" else "run time is below 0", elapsed < 0, blamed)
    drop("run time unknown", ~np.isfinite(elapsed), blamed)
    sized = dump.first_of(*NODES, *CPUS) or "nodes"
    drop("number of nodes is too large a number", nodes >= fields.MAX_WHOLE, sized)
    drop("number of nodes cannot be read", ~(nodes >= 1) & dump.column("nodes unread"), sized)
    drop("number of nodes is not whole", (nodes >= 1) & (nodes != np.floor(nodes)), sized)
    drop("never held nodes (zero or unknown)", ~(nodes >= 1), sized)
    job = _of_cluster(dump, dump.read.job_keys())
    again = _same_rows(keep, job, dump.column("row"))
    drop("the same row again", again, dump.first_of("jobidraw", "jobid") or "jobid")
    rows = repeated(whole & ~again & np.isfinite(submit), job)
    begun = _begun(dump, rows, keep.size)
    user = dump.read.coders["user"].codes[rows] if rows.size and dump.among(*NAMED["user"]) else None
    key = dump.read.submit_keys() if dump.read.odd_submits else submit
    job = tell_apart(rows, job, user, (submit, begun, elapsed), key, lost, goes_on)
    later = (goes_on | never) & np.isfinite(submit)
    old = _superseded(keep, job, (submit, begun, elapsed))
    old |= keep & _came_again(later, never, job, (submit, begun), lost)
    drop("an earlier run of a requeued job", old, dump.first_of("jobidraw", "jobid") or "jobid")
    return keep, requeued | old, job


def _is_one_of(coded: Codes, names: Sequence[str], words: tuple[str, ...]) -> Mask:
    return np.isin(coded, [code for code, name in enumerate(names) if name in words])


def _of_cluster(dump: _Dump, job: Ints) -> Ints:
    """Return keys of jobs that differ where the clusters do, each of which numbers its jobs itself."""
    count = len(dump.read.coders["cluster"].names)
    if count < 2:
        return job
    cluster = dump.read.coders["cluster"].codes
    dump.note("kept", "of another cluster: all are taken for one machine", cluster != cluster[0], "cluster")
    codes = np.unique(job, return_inverse=True)[1]
    return np.asarray(codes * (count + 1) + cluster + 1, dtype=np.int64)


def _same_rows(keep: Mask, job: Ints, row: npt.NDArray[Any]) -> Mask:
    """Return which kept records are an earlier one word for word, as where two dumps overlap."""
    import polars as pl

    rows = np.flatnonzero(keep)
    if np.unique(job[rows]).size == rows.size:
        return np.zeros_like(keep)
    again = np.zeros_like(keep)
    again[rows] = (
        ~pl.DataFrame({"job": job[rows], "row": row[rows]})
        .select(pl.struct("job", "row").is_first_distinct())
        .to_series()
        .to_numpy()
    )
    return again


def _begun(dump: _Dump, rows: Ints, count: int) -> Floats:
    """Return when records of jobs that are there more than once started (the others: not asked; unknown: never)."""
    begun = np.full(count, np.inf) if rows.size else np.broadcast_to(np.inf, count)
    if rows.size and dump.has("start"):
        found = dump.read.pieces.at("start", rows)
        begun[rows] = np.where(np.isfinite(found), found, np.inf)
    return begun


def _superseded(keep: Mask, job: Ints, times: tuple[Floats, Floats, Floats]) -> Mask:
    """Return which kept records are followed by another of the same job, by the times of submission, start and run."""
    import polars as pl

    if np.unique(job[keep]).size == np.count_nonzero(keep):  # no job is there twice
        return np.zeros_like(keep)
    submit, begun, elapsed = times
    rows = pl.DataFrame({"job": job, "row": np.arange(keep.size), "at": submit, "begun": begun, "ran": elapsed})
    # a later run may stand before an earlier one
    rows = rows.filter(pl.Series(keep)).sort("at", "begun", "ran", maintain_order=True)
    old = keep.copy()
    old[rows.unique(["job"], keep="last", maintain_order=True)["row"].to_numpy()] = False
    return old


def _came_again(later: Mask, over: Mask, job: Ints, times: tuple[Floats, Floats], lost: Mask) -> Mask:
    """Return which records are runs of jobs that were submitted again and have not run to an end since.

    ``later`` are the records of the jobs that were, and ``over`` those of them that were cancelled in the queue. Where
    Slurm kept the submit time, those that lost their nodes and started before the later record, or stand before it
    where that has not started; a record that is over is the last of its job wherever it stands.
    """
    import polars as pl

    if not later.any():
        return np.zeros_like(later)
    submit, begun = times
    rows = np.arange(later.size)
    frame = pl.DataFrame({"job": job, "at": submit, "over": over, "start": begun, "behind": rows})
    waits = pl.col("start").is_infinite()
    last = (
        frame.filter(pl.Series(later))
        .filter(pl.col("at") == pl.col("at").max().over("job"))
        .group_by("job")
        .agg(
            pl.col("at").first(),
            pl.col("over").any(),
            pl.col("start").filter(~waits).max(),
            pl.col("behind").filter(waits).max(),
        )
    )
    known = frame.select("job").join(last, on="job", how="left", maintain_order="left")
    again, start = known["at"].to_numpy(), known["start"].to_numpy()
    behind, closed = known["behind"].fill_null(-1).to_numpy(), known["over"].fill_null(value=False).to_numpy()
    follows = closed | (start > begun) | (behind > rows)
    came: Mask = (again > submit) | ((again == submit) & lost & follows)
    return came


def _first_submissions(dump: _Dump, keep: Mask, earlier: Mask, submit: Floats, job: Ints) -> Floats:
    """Return submit times in which a requeued job has that of its first run."""
    import polars as pl

    if not earlier.any():
        return submit
    rows = pl.DataFrame({"job": job, "submit": submit})
    first = rows.filter(pl.Series(earlier & np.isfinite(submit))).group_by("job").agg(first=pl.col("submit").min())
    told = rows.join(first, on="job", how="left", maintain_order="left")["first"].to_numpy()
    moved = keep & (told < submit)  # false where there was no earlier run
    dump.note("repaired", "requeued: counts from its first submission", moved, "submit")
    return np.where(moved, told, submit)


def _build(dump: _Dump, keep: Mask, job_id: Floats, submit: Floats, elapsed: Floats, nodes: Floats) -> JobTable:
    epoch = float(submit[keep].min())
    numbered = np.where(np.isfinite(job_id), job_id, UNKNOWN)
    _mention_oddities(dump, keep, numbered, submit, elapsed)
    (user, users), (group, groups), (kind, kinds), (partition, partitions) = (
        dump.read.taken(name, keep) for name in NAMED
    )
    columns: dict[str, npt.ArrayLike] = {}
    if dump.has("priority"):
        priority = dump.column("priority")
        told = "priority is no finite number: taken as 0"
        dump.note("repaired", told, keep & dump.column("priority unread"), "priority")
        columns["priority"] = np.where(np.isfinite(priority), priority, 0.0)[keep]
    if dump.has("start"):
        wait = dump.column("start")[keep] - submit[keep]
        columns["recorded_wait_s"] = np.where(wait >= 0, wait, np.nan)
        early = np.zeros_like(keep)
        early[keep] = wait < 0
        dump.note("repaired", "started before it was submitted: what it waited is unknown", early, "start")
    return build_jobs(
        dump.table.path,
        job_id=numbered[keep],
        submit_s=submit[keep] - epoch,
        work_s=elapsed[keep],
        nodes=nodes[keep],
        request_s=_limits(dump, keep, elapsed),
        draw_w=_draw_w(dump, keep, elapsed, nodes),
        user=user,
        group=group,
        kind=kind,
        partition=partition,
        users=users,
        groups=groups,
        kinds=kinds,
        partitions=partitions,
        epoch_unix_s=epoch,
        **columns,
    )


def _mention_oddities(dump: _Dump, keep: Mask, job_id: Floats, submit: Floats, elapsed: Floats) -> None:
    late = out_of_order(submit, keep)
    dump.note("repaired", "out of order: sorted by submit time", late, "submit", benign=True)
    blamed = dump.first_of("elapsedraw", "elapsed", "end") or "elapsed"
    dump.note("kept", "run time 0: ends the instant it starts", keep & (elapsed == 0), blamed)
    unknown = keep & ~(job_id >= 0)
    dump.note("kept", "job number unknown", unknown, dump.first_of("jobidraw", "jobid") or "jobid")
    again = keep & ~unknown
    rows = np.flatnonzero(again)
    again[rows[np.unique(job_id[rows], return_index=True)[1]]] = False
    told = "job number used before"
    if not dump.has("jobidraw"):
        told += " (array tasks share one unless the dump has JobIDRaw)"
    dump.note("kept", told, again, dump.first_of("jobid", "jobidraw") or "jobid")


def _limits(dump: _Dump, keep: Mask, elapsed: Floats) -> Floats:
    """Return the jobs' own time limits; NaN for "unlimited" and for those that only their partition limits."""
    name = dump.first_of("timelimitraw", "timelimit")
    if name is None:
        return np.full(int(keep.sum()), np.nan)
    limit = dump.column("limit")
    known = (limit > 0) & np.isfinite(limit)
    unread = dump.column("limit unread")
    dump.note("repaired", "time limit cannot be read: taken as none", keep & unread, name)
    dump.note("kept", "no time limit of its own", keep & ~known & ~unread, name)
    dump.note("kept", "ran longer than its time limit", keep & known & (elapsed > limit), name)
    return np.where(known, limit, np.nan)[keep]


def _draw_w(dump: _Dump, keep: Mask, elapsed: Floats, nodes: Floats) -> Floats:
    """Return mean power per node from the consumed energy; NaN where there is none or it cannot be true."""
    name = dump.first_of("consumedenergyraw", "consumedenergy")
    if name is None:
        return np.full(int(keep.sum()), np.nan)
    energy_j = dump.column("energy")
    dump.note("repaired", "energy cannot be read: power unknown", keep & dump.column("energy unread"), name)
    usable = keep & (energy_j > 0) & (elapsed > 0)
    draw = np.full(keep.size, np.nan)
    with np.errstate(over="ignore"):  # what is endless is absurd, too
        draw[usable] = energy_j[usable] / elapsed[usable] / nodes[usable]
    absurd = draw > MAX_DRAW_W
    dump.note("repaired", f"energy means more than {MAX_DRAW_W:g} W a node: power unknown", absurd, name)
    draw[absurd] = np.nan
    return draw[keep]
