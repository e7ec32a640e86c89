"""What is written can be read back, exactly; what a format cannot hold is said."""

from __future__ import annotations

import math
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wattline.errors import InputError, TraceError
from wattline.formats.jobs import read_trace
from wattline.formats.jobs.export import write_swf, write_trace
from wattline.formats.jobs.swf.read import read_swf
from wattline.model.jobs import ARRAY_COLUMNS, JobTable
from wattline.reading.notes import Note, Trace

CODED = {"user": "users", "group": "groups", "kind": "kinds", "partition": "partitions"}
times = st.one_of(st.integers(0, 10**9).map(float), st.floats(0, 1e12, allow_nan=False))
maybe_times = st.one_of(st.just(float("nan")), st.floats(1e-3, 1e9))
names = st.lists(st.text(min_size=1, max_size=12), max_size=4, unique=True)
numbers = st.lists(st.integers(0, 2000).map(str), max_size=4, unique=True)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Any job table: all columns filled, names odd, links to earlier rows."""
    count = draw(st.integers(1, 12))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=count, max_size=count))

    listed = {plural: tuple(draw(names | numbers)) for plural in CODED.values()}
    draw_w, floor_w = np.array(column(maybe_times)), np.array(column(maybe_times))
    coded = {name: column(st.integers(-1, len(listed[plural]) - 1)) for name, plural in CODED.items()}
    jobs = JobTable.build(
        job_id=draw(st.permutations(range(1, count + 1))),
        submit_s=sorted(column(times)),
        work_s=column(times),
        nodes=column(st.integers(1, 2**40)),
        request_s=column(maybe_times),
        recorded_wait_s=column(maybe_times),
        priority=column(st.floats(-1e9, 1e9)),
        draw_w=draw_w,
        floor_w=np.where(floor_w > draw_w, draw_w, floor_w),
        peak_w=column(maybe_times),
        stretch=column(st.just(float("nan")) | st.floats(1, 1e3)),
        think_s=column(st.floats(0, 1e6)),
        after=[draw(st.integers(-1, row - 1)) for row in range(count)],
        epoch_unix_s=draw(st.one_of(st.just(float("nan")), st.floats(1, 1e10))),
        **coded,
        **listed,
    )
    dropped = Note("dropped", "for a reason", draw(st.integers(0, 9)), "x.swf:1: text")
    return Trace(jobs, (dropped,), "somewhere", {"Computer": "any"}, draw(st.none() | st.integers(1, 10**6)))


def assert_same(left: JobTable, right: JobTable, columns: list[str]) -> None:
    """Compare columns; names by what they say, not by their codes."""
    for name in columns:
        if name in CODED:
            mine, other = (decoded(table, name) for table in (left, right))
            assert mine == other, name
        else:
            assert np.array_equal(getattr(left, name), getattr(right, name), equal_nan=True), name


def decoded(table: JobTable, name: str) -> list[str | None]:
    """Return the names of a coded column."""
    listed = getattr(table, CODED[name])
    return [listed[code] if code >= 0 else None for code in getattr(table, name)]


@given(traces())
@settings(max_examples=60, deadline=None)
def test_parquet_is_exact(trace: Trace) -> None:
    """Parquet gives back every column, name, note and header; nothing is rounded."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.parquet"
        assert write_trace(trace, path) == ()
        back = read_trace(path)
    assert_same(trace.jobs, back.jobs, list(ARRAY_COLUMNS))
    for plural in CODED.values():
        assert getattr(back.jobs, plural) == getattr(trace.jobs, plural)
    assert np.array_equal(back.jobs.epoch_unix_s, trace.jobs.epoch_unix_s, equal_nan=True)
    assert back.notes[0] == trace.notes[0]
    assert (back.source, back.header, back.suggested_nodes) == (trace.source, trace.header, trace.suggested_nodes)
    assert back.records == trace.records


@given(traces())
@settings(max_examples=60, deadline=None)
def test_swf_is_exact_in_what_it_can_hold(trace: Trace) -> None:
    """Standard Workload Format gives back times, sizes, names and links; power and priority are reported as lost."""
    held = ["job_id", "submit_s", "work_s", "nodes", "request_s", "recorded_wait_s", *CODED, "after"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.swf.gz"
        lost = write_swf(trace, path)
        back = read_swf(path, dependencies=True)
    assert_same(trace.jobs, back.jobs, held)
    linked = trace.jobs.after >= 0
    assert np.array_equal(trace.jobs.think_s[linked], back.jobs.think_s[linked])
    assert np.array_equal(back.jobs.epoch_unix_s, trace.jobs.epoch_unix_s, equal_nan=True)
    assert back.suggested_nodes == trace.suggested_nodes
    reasons = " ".join(note.reason for note in lost)
    for name, default in (
        ("priority", 0.0),
        ("draw_w", np.nan),
        ("floor_w", np.nan),
        ("stretch", np.nan),
        ("peak_w", np.nan),
    ):
        column = getattr(trace.jobs, name)
        assert (name in reasons) == bool(np.any((column != default) & ~np.isnan(column)))


def test_swf_says_that_links_are_not_waited_for(tmp_path: Path) -> None:
    """Links are written where the format has them, and read as a remark only: who converts is told."""
    jobs = JobTable.build(
        submit_s=[0, 5, 9], work_s=[1, 1, 1], nodes=[1, 1, 1], job_id=[1, 2, 3], after=[-1, 0, -1], think_s=[0, 4, 0]
    )
    told = write_trace(Trace(jobs), tmp_path / "x.swf")
    assert [(note.action, note.count) for note in told] == [("kept", 1)]
    assert told[0].reason.startswith("after: written as preceding job and think time, for which Wattline does not wait")
    assert read_trace(tmp_path / "x.swf").jobs.after.tolist() == [-1, -1, -1]
    assert write_trace(Trace(jobs), tmp_path / "x.parquet") == ()


def test_csv_keeps_the_jobs(tmp_path: Path) -> None:
    """CSV holds all columns; that it holds no epoch is said."""
    jobs = JobTable.build(
        submit_s=[0.5, 1], work_s=[0.1, 2], nodes=[1, 2], user=[0, -1], users=["a, b"], epoch_unix_s=5.0
    )
    (note,) = write_trace(Trace(jobs), tmp_path / "t.csv.gz")
    assert note.reason == "written without the date of second 0: CSV has no place for it, Parquet has"
    sized = Trace(replace(jobs, epoch_unix_s=math.nan), header={"MaxNodes": "4"}, suggested_nodes=4)
    (header,) = write_trace(sized, tmp_path / "sized.csv")
    lost = "written without the log's header and the size of the machine: CSV has no place for them, Parquet has"
    assert header.reason == lost
    assert (note.action, note.count) == ("kept", 2), "no job was dropped"
    assert_same(jobs, read_trace(tmp_path / "t.csv.gz").jobs, list(ARRAY_COLUMNS))


def test_csv_says_that_blanks_around_names_are_lost(tmp_path: Path) -> None:
    """Parquet and Standard Workload Format keep them; CSV is read without them, which its writer counts."""
    names = (" lead", "trail ", "in side")
    trace = Trace(JobTable.build(submit_s=[0, 1, 2], work_s=[1, 1, 1], nodes=[1, 1, 1], user=[0, 1, 2], users=names))
    for ending in ("parquet", "swf"):
        assert write_trace(trace, tmp_path / f"t.{ending}") == ()
        assert read_trace(tmp_path / f"t.{ending}").jobs.users == names
    said = write_trace(trace, tmp_path / "t.csv")
    assert [(n.action, n.reason, n.count) for n in said] == [("kept", "CSV is read without the blanks around names", 2)]
    assert read_trace(tmp_path / "t.csv").jobs.users == ("lead", "trail", "in side")


def test_real_log_survives(data_dir: Path, tmp_path: Path) -> None:
    """A real log written as SWF and as Parquet reads back the same."""
    trace = read_trace(data_dir / "swf/LLNL-Thunder-2007-1.1-cln.swf.gz")
    for name in ("t.swf", "t.parquet"):
        write_trace(trace, tmp_path / name)
        back = read_trace(tmp_path / name)
        assert_same(trace.jobs, back.jobs, list(ARRAY_COLUMNS))
        assert back.header.get("Computer") == trace.header["Computer"]


def test_unwritable_places_and_formats(tmp_path: Path) -> None:
    """A missing folder, an unknown ending and a negative time are refused in one line, leaving nothing behind."""
    trace = Trace(JobTable.build(submit_s=[-1], work_s=[1], nodes=[1]))
    with pytest.raises(TraceError, match="cannot be written"):
        write_trace(trace, tmp_path / "no/such/t.parquet")
    with pytest.raises(InputError, match=r"end the name in one of .swf"):
        write_trace(trace, tmp_path / "t.xlsx")
    with pytest.raises(TraceError, match="no negative submit times"):
        write_trace(trace, tmp_path / "t.swf")
    assert list(tmp_path.iterdir()) == []
