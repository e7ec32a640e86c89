"""Who held which nodes, and when: from a journal, a table of ranges or lists of hosts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import InputError, TraceError
from wattline.model.jobs import JobTable
from wattline.reading.notes import Note, listed
from wattline.telemetry.nodes.hosts import expand_hosts
from wattline.telemetry.nodes.ranges import NodeTable
from wattline.telemetry.sources.columns import SENSOR_NAMES, Times
from wattline.telemetry.sources.source import open_files

if TYPE_CHECKING:
    import polars as pl

_LISTS = ("nodelist", "node_list", "hosts", "hostlist", "nodes", "location")
_NOWHERE = ("", "none assigned", "(null)")
"""What Slurm prints for jobs that never had nodes, in small letters."""
_STARTS, _ENDS = ("start_s", "start", "begin"), ("end_s", "end")


@dataclass(frozen=True)
class Placed:
    """Ranges of nodes by the time they were taken.

    ``job`` is a row of the job table, ``offset_s`` what it had run before (NaN: a stay whose work was lost, which takes
    its part of a sensor and is nobody's power).

    By job: ``run_s`` it held nodes in all (0: nothing known), until ``job_end_s``.
    """

    job: Ints
    first: Ints
    count: Ints
    begin_s: Floats
    end_s: Floats
    offset_s: Floats
    run_s: Floats
    job_end_s: Floats

    def as_spans(self, nodes: Ints) -> Placed:
        """Return one range a stay, of all nodes of the job, for samples that are of jobs."""
        kept = np.flatnonzero(~np.isnan(self.offset_s))
        stays = np.stack([self.job[kept].astype(np.float64), self.begin_s[kept]])
        at = np.sort(kept[np.unique(stays, axis=1, return_index=True)[1]])
        return Placed(
            self.job[at],
            np.zeros(at.size, dtype=np.int64),
            nodes[self.job[at]],
            self.begin_s[at],
            self.end_s[at],
            self.offset_s[at],
            self.run_s,
            self.job_end_s,
        )


def place(frame: pl.DataFrame, jobs: JobTable, last_only: Ints | None = None) -> tuple[Placed, list[Note]]:
    """Sort ranges (job, first, count, begin_s, end_s) by time and lay the stays of every job end to end.

    ``last_only``: jobs that lost what they had done whenever they lost their nodes; only their last stay is counted as
    their run.
    """
    import polars as pl

    notes: list[Note] = []
    timed = frame["end_s"].is_finite() & frame["begin_s"].is_finite() & (frame["end_s"] > frame["begin_s"])
    bad = ~(timed & (frame["count"] > 0) & (frame["first"] >= 0)).fill_null(value=False)
    if bad.any():
        row = frame.filter(bad).row(0, named=True)
        example = f"job {jobs.job_id[row['job']]}: {row['begin_s']:g} s to {row['end_s']:g} s"
        notes.append(Note("kept", "range of nodes without time or nodes: not used", int(bad.sum()), example))
    frame = frame.filter(~bad)
    stays = frame.select("job", "begin_s", "end_s").unique().sort("job", "begin_s", "end_s")
    if last_only is not None and last_only.size:
        again = pl.col("job").is_in(last_only.tolist())
        stays = stays.filter(~again | (pl.col("begin_s") == pl.col("begin_s").max().over("job")))
    length = pl.col("end_s") - pl.col("begin_s")
    stays = stays.with_columns((length.cum_sum().over("job") - length).alias("offset_s"))
    frame = frame.join(stays, on=["job", "begin_s", "end_s"], how="left").sort("begin_s", "job", "first")
    frame = frame.with_columns(pl.col("offset_s").fill_null(float("nan")))
    run_s, job_end_s = np.zeros(len(jobs)), np.full(len(jobs), -np.inf)
    sums = stays.group_by("job").agg(length.sum().alias("run"), pl.col("end_s").max())
    run_s[sums["job"].to_numpy()] = sums["run"].to_numpy()
    job_end_s[sums["job"].to_numpy()] = sums["end_s"].to_numpy()
    whole = {name: frame[name].cast(pl.Int64).to_numpy() for name in ("job", "first", "count")}
    times = {name: frame[name].cast(pl.Float64).to_numpy() for name in ("begin_s", "end_s", "offset_s")}
    return Placed(**whole, **times, run_s=run_s, job_end_s=job_end_s), notes


def from_journal(folder: Path, jobs: JobTable) -> tuple[Placed, list[Note]]:
    """Return who held what in a run that Wattline simulated."""
    import polars as pl

    from wattline.journal.journal import open_journal

    journal = open_journal(folder)
    found = journal.read("placements")
    if found.height == 0:
        raise TraceError.at(folder, "the journal has no placements", hint="run the scenario with placements kept")
    ends = pl.col("end_s").fill_null(float(journal.manifest["end_s"]))
    frame = found.select(
        "job_id", pl.col("first_node").alias("first"), "count", pl.col("start_s").alias("begin_s"), ends
    )
    told = journal.read("jobs", "job_id", "restarts")
    kept = bool(journal.manifest.get("keep_progress"))  # then a stay that was cut off is a part of the run
    again = told.filter((pl.col("restarts") > 0) & ~pl.lit(kept))["job_id"]
    frame, notes = with_rows(frame, jobs, str(folder))
    rows = np.flatnonzero(np.isin(jobs.job_id, again.to_numpy()))
    placed, more = place(frame, jobs, rows)
    return placed, notes + more


def from_times(jobs: JobTable) -> tuple[Placed, list[Note]]:
    """Return stays from the recorded wait and run time of a log, without any node known."""
    import polars as pl

    begin_s = jobs.submit_s + jobs.recorded_wait_s
    known = np.isfinite(begin_s) & (jobs.work_s > 0)
    notes = []
    if not known.all():
        row = int(np.argmin(known))
        notes.append(
            Note("kept", "start not known, or no run time: no power", int((~known).sum()), f"job {jobs.job_id[row]}")
        )
    rows = np.flatnonzero(known)
    frame = pl.DataFrame(
        {
            "job": rows,
            "first": np.zeros(rows.size, dtype=np.int64),
            "count": jobs.nodes[rows],
            "begin_s": begin_s[rows],
            "end_s": (begin_s + jobs.work_s)[rows],
        }
    )
    placed, more = place(frame, jobs)
    return placed, notes + more


def from_table(
    path: Path,
    jobs: JobTable,
    epoch_unix_s: float,
    nodes: int | None = None,
    zone: str | None = None,
    *,
    strict: bool = False,
) -> tuple[Placed, tuple[str, ...], list[Note]]:
    """Return who held what from a table of ranges or of host lists, and the names of nodes if it has names.

    ``nodes``: those of the machine, if that is known. Dates without an offset are of ``zone``, the job log's (None:
    UTC). ``strict``: the first row that cannot be used is an error.
    """
    import polars as pl

    source = open_files(path)
    columns = {name.strip().lower(): name for name in source.columns}
    job = _need(path, columns, SENSOR_NAMES["job"], "job_id")
    start, end = _both(path, columns)
    ranges = "first_node" in columns and "count" in columns
    held = (
        [columns["first_node"], columns["count"]]
        if ranges
        else [_need(path, columns, _LISTS, "first_node and count, or nodelist")]
    )
    rows = NodeTable(path, source, (job, start, end, *held))
    given: dict[str, Any] = {"job_id": rows.numbers_of_jobs(job)}
    for name, column in (("begin_s", start), ("end_s", end)):
        if column is not None:
            times = Times(str(path), column, None, zone)
            given[name] = times.seconds(rows.frame[column]) - to_trace(str(path), times, epoch_unix_s, jobs)
            rows.known_times(column, given[name])
    if ranges:
        given["first"] = rows.whole_numbers(held[0], "number of the first node", 0)
        given["count"] = rows.whole_numbers(held[1], "count of nodes", 1)
        rows.within(given["first"], given["count"], nodes, held[1])
    else:
        given["text"] = texts = rows.frame[held[0]].cast(pl.String).str.strip_chars()
        nowhere = texts.fill_null("").str.to_lowercase().is_in(_NOWHERE)
        rows.drop("no node is named", nowhere.to_numpy(), held[0])
    table = pl.DataFrame(given)
    rows.once(table, job)
    notes = rows.notes(strict=strict)
    sound = table.with_columns(pl.Series("line", rows.lines)).filter(pl.Series(~rows.bad))
    names: tuple[str, ...] = ()
    if not ranges:
        sound, names = _numbered(path, sound, held[0])
    found, more = with_rows(sound, jobs, str(path))
    begin_s = jobs.submit_s + jobs.recorded_wait_s
    stays = {"begin_s": begin_s, "end_s": begin_s + jobs.work_s}
    at = found["job"].to_numpy()
    found = found.with_columns([pl.Series(k, v[at]) for k, v in stays.items() if k not in found.columns])
    found, doubtful = _like_the_jobs(path, found, jobs, strict=strict)
    placed, last = place(found, jobs)
    return placed, names, [*notes, *more, *doubtful, *last]


def _both(path: Path, columns: dict[str, str]) -> tuple[str | None, str | None]:
    """Return the columns of times: both, or none if those of the job log are to be taken."""
    start, end = _pick(columns, _STARTS), _pick(columns, _ENDS)
    if (start is None) != (end is None):
        missing = _STARTS[0] if start is None else _ENDS[0]
        told = f"column {missing!r} is missing: found {listed(columns.values())}"
        raise TraceError.at(path, told, hint="give both times, or none: those of the job log are taken then")
    return start, end


def _like_the_jobs(path: Path, frame: pl.DataFrame, jobs: JobTable, *, strict: bool) -> tuple[pl.DataFrame, list[Note]]:
    """Return the stays that jobs can have had: on as many nodes as they have, and one after the other."""
    import polars as pl

    frame = frame.with_columns(pl.Series("nodes", jobs.nodes[frame["job"].to_numpy()]))
    other = pl.col("count").sum().over("job", "begin_s", "end_s") != pl.col("nodes")
    stays = frame.select("job", "begin_s", "end_s").unique().sort("job", "begin_s", "end_s")
    before = pl.col("end_s").cum_max().shift(1).over("job")
    twice = stays.filter(pl.col("begin_s") < before)["job"].unique()
    notes = []
    for reason, wrong in (
        ("a job on more or fewer nodes than the job log says", other),
        ("a job that is in two places at once", pl.col("job").is_in(twice.to_list())),
    ):
        found = frame.filter(wrong)
        if found.height:
            row = found.row(0, named=True)
            if strict:
                raise TraceError.at(path, reason, line=row["line"], field="job_id", value=row["job_id"])
            told = f"{path.name}:{row['line']}: job {row['job_id']}, {row['nodes']} nodes in the log"
            notes.append(Note("kept", f"{reason}: not used", found.height, told))
        frame = frame.filter(~wrong)
    return frame, notes


def _numbered(path: Path, frame: pl.DataFrame, field: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return ranges of node numbers for lists of names, and the names in the order of their numbers."""
    import polars as pl

    texts = frame["text"]
    different: dict[str, list[str]] = {}
    for text in texts.drop_nulls().unique().to_list():
        try:
            different[text] = expand_hosts(text)
        except InputError as problem:
            line = int(frame["line"][int((texts == text).arg_max() or 0)])
            raise TraceError.at(path, str(problem), line=line, field=field) from None
    names = tuple(sorted({name for found in different.values() for name in found}, key=natural))
    number = {name: i for i, name in enumerate(names)}
    parts: list[tuple[str, int, int]] = []
    for text, found in different.items():
        nodes = np.unique([number[name] for name in found])
        cuts = np.flatnonzero(np.diff(nodes) > 1) + 1
        parts += [(text, int(run[0]), run.size) for run in np.split(nodes, cuts)]
    ranges = pl.DataFrame(parts, schema={"text": pl.String, "first": pl.Int64, "count": pl.Int64}, orient="row")
    return frame.join(ranges, on="text", how="inner").drop("text"), names


def natural(name: str) -> tuple[tuple[str, int], ...]:
    """Return a key that sorts node9 before node10."""
    return tuple((text, int(digits or -1)) for text, digits in re.findall(r"(\D*)(\d*)", name))


def with_rows(frame: pl.DataFrame, jobs: JobTable, where: str) -> tuple[pl.DataFrame, list[Note]]:
    """Return ranges with the rows of their jobs; ranges of jobs that are not in the table are said."""
    import polars as pl

    if np.unique(jobs.job_id).size != len(jobs):
        values, counts = np.unique(jobs.job_id, return_counts=True)
        raise TraceError.at(
            where,
            "two jobs share a number, so samples cannot be told apart",
            field="job_id",
            value=int(values[counts > 1][0]),
        )
    known = pl.DataFrame({"job_id": jobs.job_id, "job": np.arange(len(jobs), dtype=np.int64)})
    found = frame.join(known, on="job_id", how="left")
    strange = found.filter(pl.col("job").is_null())
    notes = []
    if strange.height:
        notes.append(
            Note("kept", "nodes held by a job that is not in the table", strange.height, f"job {strange['job_id'][0]}")
        )
    return found.filter(pl.col("job").is_not_null()), notes


def to_trace(where: str, times: Times, epoch_unix_s: float, jobs: JobTable) -> float:
    """Return what must be taken from times to count from where the jobs' times do."""
    if not times.unix or (len(jobs) and jobs.submit_s[-1] >= 1e8):
        return 0.0
    if np.isnan(epoch_unix_s):
        raise TraceError.at(
            where,
            "times count from 1970, those of the jobs do not, and nothing says when they began",
            field=times.column,
            hint="give --epoch, the date or Unix time of second 0 of the jobs",
        )
    return epoch_unix_s


def _pick(columns: dict[str, str], names: tuple[str, ...]) -> str | None:
    return next((columns[name] for name in names if name in columns), None)


def _need(path: Path, columns: dict[str, str], names: tuple[str, ...], word: str) -> str:
    found = _pick(columns, names)
    if found is None:
        raise TraceError.at(path, f"column {word!r} is missing: found {listed(columns.values())}")
    return found
