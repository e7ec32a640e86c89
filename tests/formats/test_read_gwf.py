"""The Grid Workload Format: which records are jobs, and what becomes of their fields."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from wattline.errors import TraceError
from wattline.formats.jobs import guess_format, read_trace
from wattline.formats.jobs.gwf import FIELDS
from wattline.formats.jobs.gwf.read import read_gwf
from wattline.reading.notes import Trace


def record(number: int, **more: object) -> str:
    """Return a record; fields that are not given are unknown."""
    known: dict[str, object] = {"JobID": number, "SubmitTime": 10 * number, "RunTime": 60, "NProcs": 2, "Status": 1}
    return "\t".join(str((known | more).get(name, -1)) for name in FIELDS)


def read(tmp_path: Path, *lines: str, **options: object) -> Trace:
    """Write a log and read it."""
    path = tmp_path / "log.gwf"
    path.write_text("\n".join(lines) + "\n")
    return read_gwf(path, **options)  # type: ignore[arg-type]


def test_fields_of_a_record(tmp_path: Path) -> None:
    """Job number, times, processors, request and names are taken from their fields; -1 is unknown."""
    given = {"WaitTime": 5, "ReqTime": 90, "UserID": "U7", "GroupID": "G1", "ExecutableID": "app3", "QueueID": "long"}
    trace = read(tmp_path, "# Grid log", record(4, **given), record(5, WaitTime=-60))
    jobs = trace.jobs
    assert (jobs.job_id.tolist(), jobs.submit_s.tolist(), jobs.work_s.tolist()) == ([4, 5], [40, 50], [60, 60])
    assert (jobs.nodes.tolist(), jobs.request_s[0], jobs.recorded_wait_s[0]) == ([2, 2], 90, 5)
    assert math.isnan(jobs.request_s[1])
    assert math.isnan(jobs.recorded_wait_s[1])
    assert (jobs.users, jobs.groups, jobs.kinds, jobs.partitions) == (("U7",), ("G1",), ("app3",), ("long",))
    assert (jobs.user.tolist(), jobs.partition.tolist()) == ([0, -1], [0, -1])


def test_which_records_are_jobs(tmp_path: Path) -> None:
    """Records that never ran, held no processors or have no submit time are dropped, each for one reason."""
    dropped = {
        "cancelled before it started": {"Status": 5, "RunTime": -1},
        "never held processors (zero or unknown)": {"NProcs": -1},
        "run time unknown": {"RunTime": -1},
        "submit time unknown": {"SubmitTime": -1},
        "malformed: RunTime is not a number": {"RunTime": "long"},
        "malformed: NProcs is not whole": {"NProcs": 1.5},
    }
    lines = [record(i, **more) for i, more in enumerate(dropped.values(), start=2)]
    trace = read(tmp_path, record(1), *lines, record(99, NProcs=-1, ReqNProcs=3), record(100, Status=0))
    assert trace.jobs.job_id.tolist() == [1, 99, 100]
    assert trace.jobs.nodes.tolist() == [2, 3, 2]
    told = {note.reason: note.example for note in trace.notes if note.action == "dropped"}
    assert set(told) == set(dropped)
    assert told["cancelled before it started"].startswith("log.gwf:2: ")
    with pytest.raises(TraceError, match=r"log.gwf:2: field 'Status': cancelled before it started"):
        read(tmp_path, record(1), *lines, strict=True)


def test_unix_times_are_counted_from_the_first(tmp_path: Path) -> None:
    """Submit times of a log in Unix time begin at 0, and the epoch is known; others stay as they are."""
    jobs = read(tmp_path, record(1, SubmitTime=1136073600), record(2, SubmitTime=1136073660)).jobs
    assert (jobs.submit_s.tolist(), jobs.epoch_unix_s) == ([0, 60], 1136073600)
    jobs = read(tmp_path, record(1)).jobs
    assert (jobs.submit_s.tolist(), math.isnan(jobs.epoch_unix_s)) == ([10], True)


def test_sites_are_partitions(tmp_path: Path) -> None:
    """Where the log tells which site ran a job, that is its partition."""
    jobs = read(tmp_path, record(1, LastRunSiteID="fs0", QueueID="q"), record(2, LastRunSiteID="fs3")).jobs
    assert (jobs.partitions, jobs.partition.tolist()) == (("fs0", "fs3"), [0, 1])


def test_header_and_cores_make_nodes(tmp_path: Path) -> None:
    """Comments may say how large the machine is; processors become nodes as the user says."""
    lines = ("# Version: 1.0", "# MaxProcs: 400 (200 dual nodes)", record(1, NProcs=3))
    trace = read(tmp_path, *lines)
    assert (trace.suggested_nodes, trace.jobs.nodes.tolist(), trace.header["Version"]) == (400, [3], "1.0")
    trace = read(tmp_path, *lines, cores_per_node=2)
    assert (trace.suggested_nodes, trace.jobs.nodes.tolist()) == (200, [2])


def test_blanks_and_comments(tmp_path: Path) -> None:
    """Fields may stand between any blanks, comments anywhere; the line of a mistake is that of the file."""
    path = tmp_path / "log"
    path.write_text(f"\n# a\n  {record(1).replace(chr(9), '   ')}  \n# b\n{record(2)}\n1 2 3\n")
    assert guess_format(path) == "gwf"
    trace = read_trace(path)
    assert (len(trace.jobs), trace.records) == (2, 3)
    assert next(note.example for note in trace.notes if note.action == "dropped") == "log:6: 1 2 3"


def test_a_start_that_cannot_be_true_is_not_believed(tmp_path: Path) -> None:
    """A header's start in milliseconds, or submit times far beyond any year, leave the log without a date and say
    so.
    """
    for lines in (
        ("# UnixStartTime: 1711846200000", record(1)),
        (record(1, SubmitTime=99999999999999), record(2, SubmitTime=99999999999999 + 60)),
    ):
        trace = read(tmp_path, *lines)
        assert math.isnan(trace.jobs.epoch_unix_s)
        assert [note.action for note in trace.notes if "not believed, the log has no date" in note.reason] == ["kept"]


def test_numbers_that_are_none_are_told(tmp_path: Path) -> None:
    """A wait, a request or a status that cannot be read is taken as unknown, and counted."""
    bad = {"WaitTime": "long", "ReqNProcs": "few", "ReqTime": "1h", "Status": "done"}
    trace = read(tmp_path, record(1), *(record(i, **{name: text}) for i, (name, text) in enumerate(bad.items(), 2)))
    told = {note.reason: (note.action, note.count) for note in trace.notes}
    assert {f"{name} is not a number: taken as unknown" for name in bad} <= set(told)
    assert all(told[f"{name} is not a number: taken as unknown"] == ("repaired", 1) for name in bad)
    assert math.isnan(trace.jobs.recorded_wait_s[1])
    assert told["requested time unknown"] == ("kept", 4)  # the others say nothing
