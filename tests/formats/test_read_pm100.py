"""PM100's job table: a small file of the published layout, and everything that may be odd in one."""

from __future__ import annotations

import gzip
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from wattline.errors import InputError, TraceError
from wattline.formats.jobs import guess_format, read_trace
from wattline.formats.jobs.pm100.read import read_pm100
from wattline.generate.kinds_from_log import KindRules, find_kinds
from wattline.reading.notes import Trace

AT = datetime(2020, 5, 5, 12, tzinfo=UTC)


def job(number: int = 1, minute: float = 0, **more: Any) -> dict[str, Any]:
    """Return a record with every column of the published table."""
    start = AT + timedelta(minutes=minute + 5)
    run_s = more.get("run_time", 1200)
    return {
        "cores_alloc_layout": "{}",
        "cores_allocated": "{}",
        "cores_per_task": 32,
        "derived_ec": "0:0",
        "eligible_time": AT + timedelta(minutes=minute),
        "end_time": start + timedelta(seconds=run_s or 0),
        "group_id": 25200,
        "job_id": number,
        "job_state": "COMPLETED",
        "nodes": ["r1", "r2"],
        "num_cores_req": 64,
        "num_cores_alloc": 64,
        "num_gpus_req": 8,
        "num_gpus_alloc": 8,
        "num_nodes_req": 2,
        "num_nodes_alloc": 2,
        "mem_req": 480,
        "mem_alloc": 480,
        "num_tasks": 8,
        "partition": "1",
        "power_flags": 0,
        "priority": 77,
        "qos": "0",
        "req_nodes": None,
        "req_switch": 0,
        "run_time": 1200,
        "shared": "0",
        "start_time": start,
        "state_reason": "None",
        "submit_time": AT + timedelta(minutes=minute),
        "threads_per_core": None,
        "time_limit": 30,
        "user_id": 7,
        "node_power_consumption": [1000, 1400, 1200],
        "cpu_power_consumption": [200, 300, 250],
        "mem_power_consumption": [80, 120, 100],
    } | more


def write(path: Path, *records: dict[str, Any]) -> Path:
    """Write a table."""
    pl.DataFrame(list(records), infer_schema_length=None, strict=False).write_parquet(path)
    return path


def counts(trace: Trace, action: str) -> dict[str, int]:
    """Return how often each reason was given."""
    return {note.reason: note.count for note in trace.notes if note.action == action}


def test_a_job_with_its_power(tmp_path: Path) -> None:
    """Times, limit in minutes, size and people land in the job table; samples are the job's, so power is divided by
    nodes.
    """
    trace = read_trace(write(tmp_path / "job_table.parquet", job(1), job(2, 1, user_id=9, partition="2")))
    jobs = trace.jobs
    assert guess_format(tmp_path / "job_table.parquet") == "pm100"
    assert (jobs.job_id.tolist(), jobs.submit_s.tolist(), jobs.work_s.tolist()) == ([1, 2], [0.0, 60.0], [1200.0] * 2)
    assert (jobs.nodes.tolist(), jobs.request_s.tolist(), jobs.recorded_wait_s.tolist()) == (
        [2, 2],
        [1800.0] * 2,
        [300.0] * 2,
    )
    assert (jobs.draw_w.tolist(), jobs.peak_w.tolist()) == ([600.0] * 2, [700.0] * 2)
    assert (jobs.users, jobs.groups, jobs.partitions, jobs.kinds) == (("7", "9"), ("25200",), ("1", "2"), ())
    assert (jobs.epoch_unix_s, trace.suggested_nodes, trace.notes) == (AT.timestamp(), 980, ())


def test_power_of_processors_and_memory_alone(tmp_path: Path) -> None:
    """On demand, power is that of processors and memory, as the logs of other clusters have it."""
    path = write(tmp_path / "t.parquet", job())
    jobs = read_pm100(path, power="cpu+mem").jobs
    assert (jobs.draw_w[0], jobs.peak_w[0]) == (175.0, 210.0)
    with pytest.raises(InputError, match="power must be one of node, cpu"):
        read_pm100(path, power="gpu")  # type: ignore[arg-type]


def test_the_first_version_had_one_column_of_power(tmp_path: Path) -> None:
    """``power_consumption`` is read where ``node_power_consumption`` is not there; without both, power is unknown."""
    record = {k: v for k, v in job().items() if not k.endswith("power_consumption")}
    old = read_trace(write(tmp_path / "old.parquet", record | {"power_consumption": [800, 900]}))
    assert (old.jobs.draw_w[0], old.jobs.peak_w[0]) == (425.0, 450.0)
    none = read_trace(write(tmp_path / "none.parquet", record))
    assert math.isnan(none.jobs.draw_w[0])
    assert counts(none, "kept") == {"no column node_power_consumption or power_consumption: power unknown": 1}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"job_state": "RUNNING"}, "not finished when the log was made"),
        ({"job_state": "CANCELLED", "run_time": 0}, "cancelled before it started"),
        ({"job_state": "CANCELLED", "start_time": None}, "cancelled before it started"),
        ({"submit_time": None}, "submit time unknown"),
        ({"run_time": None}, "run time unknown"),
        ({"run_time": -5}, "run time is below 0"),
        ({"num_nodes_alloc": 0}, "nodes are not a positive whole number"),
        ({"num_nodes_alloc": None}, "nodes are not a positive whole number"),
    ],
)
def test_records_that_are_no_jobs(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    """A record that did not run to an end is dropped and counted; strict reading refuses it."""
    path = write(tmp_path / "t.parquet", job(1), job(2, 1, **change))
    trace = read_trace(path)
    assert counts(trace, "dropped") == {reason: 1}
    assert (trace.records, trace.jobs.job_id.tolist()) == (2, [1])
    with pytest.raises(TraceError, match=r"t.parquet:2: field"):
        read_trace(path, strict=True)


def test_an_endless_priority_is_counted(tmp_path: Path) -> None:
    """It is taken as 0, with a count; strict reading refuses it."""
    path = write(tmp_path / "t.parquet", job(1, priority=3.0), job(2, 1, priority=math.inf))
    trace = read_trace(path)
    assert trace.jobs.priority.tolist() == [3.0, 0.0]
    assert counts(trace, "repaired") == {"priority is endless or too large a number: taken as 0": 1}
    with pytest.raises(TraceError, match=r"t.parquet:2: field 'priority'"):
        read_trace(path, strict=True)


@pytest.mark.parametrize(
    ("change", "action", "reason"),
    [
        ({"node_power_consumption": None}, "kept", "no power samples: power unknown"),
        ({"node_power_consumption": []}, "kept", "no power samples: power unknown"),
        ({"node_power_consumption": [math.nan, None]}, "kept", "no power samples: power unknown"),
        (
            {"node_power_consumption": [0, 0]},
            "repaired",
            "samples mean no power, or more than 100000 W a node: power unknown",
        ),
        (
            {"node_power_consumption": [900, 10**9]},
            "repaired",
            "samples mean no power, or more than 100000 W a node: power unknown",
        ),
    ],
)
def test_power_that_is_not_there(tmp_path: Path, change: dict[str, Any], action: str, reason: str) -> None:
    """A job without samples, or with ones that cannot be true, is a job of unknown power."""
    trace = read_trace(write(tmp_path / "t.parquet", job(1), job(2, 1, **change)))
    assert trace.jobs.draw_w[0] == 600.0
    assert math.isnan(trace.jobs.draw_w[1])
    assert math.isnan(trace.jobs.peak_w[1])
    assert counts(trace, action) == {reason: 1}


@pytest.mark.parametrize("column", ["time_limit", "job_id", "priority"])
def test_text_where_a_number_is_not_needed(tmp_path: Path, column: str) -> None:
    """A limit, number or priority that is no number is unknown, and counted; the job stays a job."""
    trace = read_pm100(write(tmp_path / "t.parquet", job(1, **{column: "x"}), job(2, **{column: "7"})))
    assert len(trace.jobs) == 2
    given = {"job number unknown: it is given one, from 8 on": 1} if column == "job_id" else {}
    assert counts(trace, "repaired") == {"malformed: not a number: taken as unknown": 1} | given


def test_a_table_in_which_nobody_has_samples(tmp_path: Path) -> None:
    """A column of nulls has no type: power is unknown, as where it is empty."""
    trace = read_pm100(write(tmp_path / "t.parquet", job(1, node_power_consumption=None)))
    assert counts(trace, "kept") == {"no power samples: power unknown": 1}
    assert math.isnan(trace.jobs.draw_w[0])


def test_a_packed_table_is_known_by_its_columns(tmp_path: Path) -> None:
    """Gzip around Parquet changes nothing."""
    raw = write(tmp_path / "t.parquet", job(1)).read_bytes()
    (tmp_path / "t.parquet.gz").write_bytes(gzip.compress(raw))
    assert read_trace(tmp_path / "t.parquet.gz").jobs.draw_w.tolist() == [600.0]


def test_samples_that_are_missing_do_not_count(tmp_path: Path) -> None:
    """Missing samples within a list are left out of mean and maximum, and the job is counted."""
    trace = read_trace(write(tmp_path / "t.parquet", job(node_power_consumption=[1000.0, None, math.nan, 1400.0])))
    assert (trace.jobs.draw_w[0], trace.jobs.peak_w[0]) == (600.0, 700.0)
    assert counts(trace, "kept") == {"samples are missing: mean and maximum are those of the others": 1}
    assert counts(trace, "repaired") == {}


def test_samples_that_cannot_be_true_do_not_count(tmp_path: Path) -> None:
    """No node draws less than nothing: such samples are left out of the mean, and counted; strict refuses them."""
    odd = [job(1, node_power_consumption=[1000.0, -500.0, 1400.0]), job(2, node_power_consumption=[math.inf, 800.0])]
    path = write(tmp_path / "t.parquet", *odd, job(3, node_power_consumption=[-1.0, -2.0]))
    trace = read_trace(path)
    assert trace.jobs.draw_w.tolist()[:2] == [600.0, 400.0]
    assert trace.jobs.peak_w.tolist()[:2] == [700.0, 400.0]
    assert math.isnan(trace.jobs.draw_w[2])
    assert counts(trace, "repaired") == {"samples below 0 or endless: they do not count": 3}
    assert counts(trace, "kept") == {"no power samples: power unknown": 1}
    with pytest.raises(TraceError, match=r"t.parquet:1: field 'node_power_consumption.wrong'"):
        read_trace(path, strict=True)


def test_jobs_whose_number_is_none_are_numbered(tmp_path: Path) -> None:
    """A number that is missing or not whole is replaced by one above all others, with a count."""
    trace = read_trace(write(tmp_path / "t.parquet", job(41.0), job(1.5), job(None), job(-3.0)))  # type: ignore[arg-type]
    assert trace.jobs.job_id.tolist() == [41, 42, 43, 44]
    assert counts(trace, "repaired") == {"job number unknown: it is given one, from 42 on": 3}


def test_odd_times_are_said(tmp_path: Path) -> None:
    """A run time unlike end minus start is used and counted; so is one beyond the limit; no limit is none."""
    trace = read_trace(
        write(tmp_path / "t.parquet", job(1, end_time=AT), job(2, 1, run_time=2400), job(3, 2, time_limit=2**32 - 1))
    )
    assert counts(trace, "kept") == {
        "run_time is not end_time - start_time: run_time is used": 1,
        "ran longer than its time limit": 1,
    }
    assert trace.jobs.request_s.tolist()[:2] == [1800.0, 1800.0]
    assert math.isnan(trace.jobs.request_s[2])


def test_kinds_go_by_user_and_nodes(tmp_path: Path) -> None:
    """There are no names, so jobs of one user on one number of nodes are a kind, with the power that was measured."""
    records = [job(i, i, user_id=i % 2, node_power_consumption=[1000 + 10 * i]) for i in range(12)]
    found = find_kinds(read_trace(write(tmp_path / "t.parquet", *records)), KindRules())
    assert {(row.kind.name, row.jobs, row.power_from) for row in found.rows} == {
        ("user 0@2", 6, "observed"),
        ("user 1@2", 6, "observed"),
    }
    assert {(kind.floor_w, kind.draw_w) for kind in found.kinds} == {(500.0, 550.0), (505.0, 555.0)}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"node_power_consumption": 700},
            "field 'node_power_consumption': column must hold lists of samples, not Int64",
        ),
        ({"submit_time": "noon"}, "field 'submit_time': column must hold times, not String"),
        ({"num_nodes_alloc": ["r1"]}, "field 'num_nodes_alloc': column must hold numbers, not List"),
    ],
)
def test_columns_of_another_type_are_refused(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    """A column that holds something else is refused by name, in one line."""
    with pytest.raises(TraceError, match=r"t.parquet: field .*") as caught:
        read_trace(write(tmp_path / "t.parquet", job(**change)))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_such_table_is_refused(tmp_path: Path) -> None:
    """Text, tables without the needed columns, cut files and tables without a job are refused for what they are."""
    (tmp_path / "a.txt").write_text("hello")
    with pytest.raises(TraceError, match=r"is no Parquet file; PM100 is published as job_table.parquet"):
        read_pm100(tmp_path / "a.txt")
    record = {k: v for k, v in job().items() if k != "run_time"}
    with pytest.raises(TraceError, match="column 'run_time' is missing: found cores_alloc_layout"):
        read_pm100(write(tmp_path / "b.parquet", record))
    whole = write(tmp_path / "c.parquet", job()).read_bytes()
    (tmp_path / "c.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TraceError, match="not a whole Parquet file"):
        read_pm100(tmp_path / "c.parquet")
    with pytest.raises(TraceError, match=r"none of its 1 record is usable .1 × cancelled before it started"):
        read_pm100(write(tmp_path / "d.parquet", job(job_state="CANCELLED", run_time=0)))
