"""Standard Workload Format: what becomes of each kind of record."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest

from wattline.errors import InputError, TraceError
from wattline.formats.jobs import read_trace
from wattline.formats.jobs.swf.read import read_swf
from wattline.reading.notes import Trace

HEADER = "; Version: 2.2\n; MaxProcs: 64\n; UnixStartTime: 1000000\n; Partition: 2 batch\n"


def record(job: int = 1, submit: float = 0, run: float = 10, procs: int = 4, **other: float) -> str:
    """Write one record; the other fields are unknown unless given."""
    wait, requested, request = other.get("wait", -1), other.get("requested", -1), other.get("request", 100)
    status, user, partition = other.get("status", 1), other.get("user", -1), other.get("partition", -1)
    after, think = other.get("after", -1), other.get("think", -1)
    return (
        f"{job} {submit} {wait} {run} {procs} -1 -1 {requested} {request} -1 {status} {user} -1 -1 "
        f"{other.get('queue', -1)} {partition} {after} {think}\n"
    )


def read(tmp_path: Path, *records: str, header: str = HEADER, **options: object) -> Trace:
    """Write and read a log."""
    path = tmp_path / "log.swf"
    path.write_text(header + "".join(records))
    return read_swf(path, **options)  # type: ignore[arg-type]


def counts(trace: Trace, action: str) -> dict[str, int]:
    """Return how often each reason was given."""
    return {note.reason: note.count for note in trace.notes if note.action == action}


def test_fields_land_in_their_columns(tmp_path: Path) -> None:
    """Submit, run, processors, request, wait, user and partition of a record become the job's."""
    jobs = read(tmp_path, record(7, 5, 10, 4, wait=3, request=60, user=9, partition=2)).jobs
    assert (jobs.job_id[0], jobs.submit_s[0], jobs.work_s[0], jobs.nodes[0]) == (7, 5.0, 10.0, 4)
    assert (jobs.request_s[0], jobs.recorded_wait_s[0]) == (60.0, 3.0)
    assert (jobs.users, jobs.partitions) == (("9",), ("batch",))
    assert jobs.epoch_unix_s == 1_000_000


def test_header_suggests_the_machine(tmp_path: Path) -> None:
    """MaxNodes, or MaxProcs where the header has no other number, is the machine; cores_per_node divides processors."""
    assert read(tmp_path, record()).suggested_nodes == 64
    assert read(tmp_path, record(), cores_per_node=16).suggested_nodes == 4
    assert read(tmp_path, record(), header="; MaxNodes: 9\n").suggested_nodes == 9
    assert read(tmp_path, record(), header="; MaxNodes: -1\n").suggested_nodes is None


def test_requested_processors_stand_in(tmp_path: Path) -> None:
    """A job that ran with unknown allocated processors has its requested ones."""
    assert read(tmp_path, record(procs=-1, requested=8)).jobs.nodes.tolist() == [8]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (record(run=0, status=5), "cancelled before it started"),
        (record(run=-1, status=5), "cancelled before it started"),
        (record(procs=0), "never held processors (zero or unknown)"),
        (record(procs=-1, run=0, requested=4), "never held processors (zero or unknown)"),
        (record(run=-1), "run time unknown"),
        (record(submit=-1), "submit time unknown"),
    ],
)
def test_records_that_are_no_jobs_are_dropped_and_counted(tmp_path: Path, wrong: str, reason: str) -> None:
    """A record that never ran is left out under one reason, with its line as the example."""
    trace = read(tmp_path, record(1), wrong, record(3))
    assert len(trace.jobs) == 2
    assert counts(trace, "dropped") == {reason: 1}
    assert trace.notes[0].example.startswith("log.swf:6: ")
    assert trace.records == 3


@pytest.mark.parametrize(("field", "text"), [("procs", "9" * 23), ("number", "9" * 23), ("run", "1e400")])
def test_a_number_that_is_too_large_is_said_to_be_that(tmp_path: Path, field: str, text: str) -> None:
    """It is a number, and a whole one; what is wrong with it is its size."""
    line = record(2, run=777, procs=888).replace({"procs": "888", "number": "2", "run": "777"}[field], text, 1)
    (note,) = read(tmp_path, record(1), line).notes
    assert "endless or too large a number (got" in note.reason


def test_strict_refuses_the_first_drop(tmp_path: Path) -> None:
    """Strict reading names file, line, field and value of the first record it would drop."""
    with pytest.raises(TraceError, match=r"log.swf:6: field 'run time': run time unknown \(got '-1'\)"):
        read(tmp_path, record(1), record(2, run=-1), record(3, procs=0), strict=True)


def test_strict_accepts_oddities_that_change_nothing(tmp_path: Path) -> None:
    """Records that are kept as they stand do not stop strict reading."""
    trace = read(tmp_path, record(run=0), record(2, run=200, request=100), strict=True)
    assert len(trace.jobs) == 2


def test_parts_of_a_checkpointed_job_count_once(tmp_path: Path) -> None:
    """Lines for the runs of a checkpointed job are dropped when a line sums it up, and kept when none does."""
    trace = read(
        tmp_path, record(1, run=30), record(1, run=10, status=2), record(1, run=20, status=3), record(2, status=2)
    )
    assert trace.jobs.work_s.tolist() == [30.0, 10.0]
    assert counts(trace, "dropped") == {"a part of a job that has a line of its own": 2}


def test_zero_run_time_is_kept(tmp_path: Path) -> None:
    """A job that started and ended at once stays a job."""
    trace = read(tmp_path, record(run=0))
    assert counts(trace, "kept") == {"run time 0: ends the instant it starts": 1}


def test_oddities_are_counted(tmp_path: Path) -> None:
    """Missing requests, overruns and repeated job numbers are kept and counted."""
    trace = read(tmp_path, record(1, request=-1), record(2, run=9, request=5), record(1))
    assert counts(trace, "kept") == {
        "requested time unknown": 1,
        "ran longer than requested": 1,
        "job number used before": 1,
    }
    assert math.isnan(trace.jobs.request_s[0])


def test_unsorted_records_are_sorted(tmp_path: Path) -> None:
    """Out-of-order records are put in order of submission, counted; strict reading refuses."""
    records = (record(1, 50), record(2, 20), record(3, 20))
    trace = read(tmp_path, *records)
    assert trace.jobs.job_id.tolist() == [2, 3, 1]
    assert counts(trace, "repaired") == {"out of order: sorted by submit time": 1}
    with pytest.raises(TraceError, match="out of order"):
        read(tmp_path, *records, strict=True)


def test_processors_become_whole_nodes(tmp_path: Path) -> None:
    """Processors are divided by cores_per_node, rounded up and said so."""
    trace = read(tmp_path, record(procs=16), record(2, procs=17), cores_per_node=16)
    assert trace.jobs.nodes.tolist() == [1, 2]
    assert counts(trace, "kept") == {"not whole nodes of 16 processors: rounded up": 1}
    with pytest.raises(InputError, match="cores_per_node"):
        read(tmp_path, record(), cores_per_node=0)


def test_dependencies_only_when_asked(tmp_path: Path) -> None:
    """Preceding job and think time become links only with dependencies=True; links to nowhere are cut."""
    records = (record(1, 0), record(2, 5, after=1, think=7), record(3, 6, after=99, think=1))
    plain = read(tmp_path, *records)
    assert plain.jobs.after.tolist() == [-1, -1, -1]
    assert counts(plain, "kept") == {"names a preceding job: the recorded submit time is used instead": 2}
    linked = read(tmp_path, *records, dependencies=True)
    assert linked.jobs.after.tolist() == [-1, 0, -1]
    assert linked.jobs.think_s.tolist() == [0.0, 7.0, 0.0]
    assert counts(linked, "repaired") == {"preceding job is not an earlier job of the trace: link cut": 1}


def test_queue_stands_in_for_partition(tmp_path: Path) -> None:
    """Without partitions the queue is the partition; partition_from chooses."""
    header = "; Queue: 1 night\n; Partition: 2 batch\n"
    assert read(tmp_path, record(queue=1), header=header).jobs.partitions == ("night",)
    both = record(queue=1, partition=2)
    assert read(tmp_path, both, header=header).jobs.partitions == ("batch",)
    assert read(tmp_path, both, header=header, partition_from="queue").jobs.partitions == ("night",)


def test_equal_names_stay_apart(tmp_path: Path) -> None:
    """Two partitions of the same name are told apart by their numbers."""
    header = "; Partition: 1 UNKNOWN\n; Partition: 2 UNKNOWN\n"
    jobs = read(tmp_path, record(partition=1), record(2, partition=2), header=header).jobs
    assert jobs.partitions == ("UNKNOWN (1)", "UNKNOWN (2)")


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        (record(2).replace(" 10 ", " ten ", 1), "run time", "ten"),
        (record(2).replace(" 10 ", " nan ", 1), "run time", "nan"),
        (record(2).replace(" 10 ", " inf ", 1), "run time", "inf"),
        (record(2).replace(" 10 ", " 1_0 ", 1), "run time", "1_0"),
        (record(2, procs=4).replace(" 4 ", " 4.5 ", 1), "allocated processors", "4.5"),
        ("1 2 3\n", "record", 3),
        (record(2).rstrip() + " 5\n", "record", 19),
    ],
)
def test_malformed_line_names_field_and_value(tmp_path: Path, line: str, field: str, value: object) -> None:
    """A line that is not 18 numbers is dropped with file, line, field and value; strict reading refuses it."""
    trace = read(tmp_path, record(1), line, record(3))
    (note,) = (n for n in trace.notes if n.action == "dropped")
    assert (note.count, len(trace.jobs), trace.records) == (1, 2, 3)
    assert f"field {field!r}" in note.reason
    assert repr(value) in note.reason
    assert note.example.startswith("log.swf:6: ")
    with pytest.raises(TraceError, match=f"log.swf:6: field {field!r}"):
        read(tmp_path, record(1), line, record(3), strict=True)


def test_mostly_malformed_is_not_this_format(tmp_path: Path) -> None:
    """A file most of whose lines are no records is refused, naming the first."""
    with pytest.raises(TraceError, match=r"log.swf:5: field 'record': expected 18 fields \(got 2\); 2 of 3 lines"):
        read(tmp_path, "hello world\n", "good bye\n", record())


def test_comments_blank_lines_tabs_and_crlf_are_layout(tmp_path: Path) -> None:
    """Comments anywhere, blank lines, tabs, indentation and CRLF change nothing."""
    text = HEADER + record(1) + "\n; in between\n   " + record(2).replace(" ", "\t  ") + "  \n"
    for variant in (text, text.replace("\n", "\r\n"), text.replace("\n", "\r"), "\ufeff" + text):
        path = tmp_path / "log.swf"
        path.write_bytes(variant.encode())
        trace = read_swf(path)
        assert trace.jobs.job_id.tolist() == [1, 2]
        assert counts(trace, "dropped") == {}
        assert trace.suggested_nodes == 64


def test_gzip_by_content_not_by_name(tmp_path: Path) -> None:
    """A gzip file is unpacked whatever its name; a plain file named .gz is read plain."""
    text = (HEADER + record()).encode()
    (tmp_path / "packed.swf").write_bytes(gzip.compress(text))
    (tmp_path / "plain.swf.gz").write_bytes(text)
    assert len(read_swf(tmp_path / "packed.swf").jobs) == 1
    assert len(read_swf(tmp_path / "plain.swf.gz").jobs) == 1


def test_bulk_and_careful_parsing_agree(tmp_path: Path) -> None:
    """The fast path and the line-by-line path give the same columns."""
    random = np.random.default_rng(1)
    records = [record(i, int(random.integers(0, 99)), int(random.integers(0, 50)), i) for i in range(1, 60)]
    fast = read(tmp_path, *records).jobs
    slow = read(tmp_path, *records, "; a comment sends the file down the careful path\n").jobs
    for name in ("job_id", "submit_s", "work_s", "nodes", "request_s"):
        assert np.array_equal(getattr(fast, name), getattr(slow, name))


@pytest.mark.parametrize(
    ("name", "records", "jobs", "nodes"),
    [
        ("schedules/kth_norm.swf.gz", 28_489, 28_489, 100),
        ("swf/CEA-Curie-2011-2.1-cln.swf.gz", 312_826, 296_970, 93_312),
        ("swf/LLNL-Thunder-2007-1.1-cln.swf.gz", 121_039, 118_754, 1_002),
        ("swf/KTH-SP2-1996-2.1-cln.swf.gz", 27_992, 27_992, 100),
        ("swf/HPC2N-2002-2.2-cln.swf.gz", 202_871, 202_871, 240),
        ("swf/SDSC-SP2_pyss-EASY-simulated.swf.gz", 54_006, 54_006, 128),
        ("swf/ALCF-Mira-2018H2_norm.swf.gz", 22_508, 22_508, 49_152),
        ("swf/ALCF-Theta-2023H1_norm.swf.gz", 23_387, 23_387, 4_392),
        ("swf/lublin_256.swf.gz", 10_000, 10_000, 256),
    ],
)
def test_real_logs(data_dir: Path, name: str, records: int, jobs: int, nodes: int) -> None:
    """The archive's logs read with every record accounted for."""
    trace = read_trace(data_dir / name)
    assert (trace.records, len(trace.jobs), trace.suggested_nodes) == (records, jobs, nodes)
    assert np.all(np.diff(trace.jobs.submit_s) >= 0)


def test_curie_drops(data_dir: Path) -> None:
    """Curie's zero run times: cancelled and never-allocated records go, the 1,430 that did start stay."""
    trace = read_swf(data_dir / "swf/CEA-Curie-2011-2.1-cln.swf.gz")
    assert counts(trace, "dropped") == {
        "cancelled before it started": 14_730,
        "never held processors (zero or unknown)": 1_126,
    }
    assert counts(trace, "kept")["run time 0: ends the instant it starts"] == 1_430
    assert trace.jobs.submit_s[0] == 31_656_837


@pytest.mark.parametrize(
    "began", ["99999999999999999999", "abc", "-5", "12 34", "1711846200000", "Mon Jan 1 1996", "1e400"]
)
def test_a_start_that_cannot_be_true_is_not_believed(tmp_path: Path, began: str) -> None:
    """A header whose UnixStartTime is no number of seconds leaves the log without a date, and a note says so."""
    path = tmp_path / "a.swf"
    path.write_text(f"; UnixStartTime: {began}\n; MaxNodes: 8\n1 0 0 300 4 -1 -1 4 600 -1 1 1 1 1 1 1 -1 -1\n")
    trace = read_swf(path, strict=True)
    assert math.isnan(trace.jobs.epoch_unix_s)
    (note,) = (note for note in trace.notes if "UnixStartTime" in note.reason)
    assert (note.action, note.count) == ("kept", 1)
    assert "not believed" in note.reason
    assert began in note.example


@pytest.mark.parametrize(
    ("began", "epoch"), [("0", math.nan), ("-1", math.nan), ("", math.nan), ("856648000.5", 856648000.5)]
)
def test_a_start_that_is_sound_or_not_known_needs_no_note(tmp_path: Path, began: str, epoch: float) -> None:
    """0 and -1 mean that the start is not known, as the archive writes it."""
    path = tmp_path / "a.swf"
    path.write_text(f"; UnixStartTime: {began}\n; MaxNodes: 8\n1 0 0 300 4 -1 -1 4 600 -1 1 1 1 1 1 1 -1 -1\n")
    trace = read_swf(path)
    assert trace.jobs.epoch_unix_s == pytest.approx(epoch, nan_ok=True)
    assert not [note for note in trace.notes if "UnixStartTime" in note.reason]


def test_a_start_that_is_said_twice(tmp_path: Path) -> None:
    """Of two different starts the first is used, and a note says that there is another."""
    path = tmp_path / "a.swf"
    head = "; UnixStartTime: 1711846200\n; UnixStartTime: 17\n"
    path.write_text(f"{head}1 0 0 300 4 -1 -1 4 600 -1 1 1 1 1 1 1 -1 -1\n")
    trace = read_swf(path)
    assert trace.jobs.epoch_unix_s == 1711846200.0
    assert "the header says UnixStartTime again, and something else: the first is used" in [
        n.reason for n in trace.notes
    ]
