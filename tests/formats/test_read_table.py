"""Job tables in Parquet and CSV, and journals as traces."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from wattline.errors import TraceError
from wattline.formats.jobs import read_trace
from wattline.formats.jobs.table.read import read_table
from wattline.journal.journal import SCHEMA, write_journal


def test_csv_with_quotes_and_unknowns(tmp_path: Path) -> None:
    """A CSV table may quote names; empty fields are unknown."""
    path = tmp_path / "jobs.csv"
    path.write_text('submit_s,work_s,nodes,user,kind,request_s\n0,10,2,"Doe, Jane",lu,20\n5,1.5,1,,,\n')
    jobs = read_trace(path).jobs
    assert jobs.users == ("Doe, Jane",)
    assert jobs.user.tolist() == [0, -1]
    assert jobs.work_s.tolist() == [10.0, 1.5]
    assert np.isnan(jobs.request_s[1])


def test_numbers_may_name_users(tmp_path: Path) -> None:
    """Whole numbers are names too; negative ones mean unknown."""
    path = tmp_path / "jobs.parquet"
    pl.DataFrame({"submit_s": [0, 1], "work_s": [1, 1], "nodes": [1, 1], "user": [17, -1]}).write_parquet(path)
    jobs = read_trace(path).jobs
    assert (jobs.users, jobs.user.tolist()) == (("17",), [0, -1])


def test_a_journal_is_a_trace(tmp_path: Path) -> None:
    """The jobs of a journal can be run again: its folder or its jobs.parquet."""
    frame = pl.DataFrame(
        {
            "job_id": [3, 4],
            "submit_s": [0.0, 9.0],
            "eligible_s": [0.0, 9.0],
            "start_s": [1.0, None],
            "end_s": [5.0, None],
            "nodes": [2, 1],
            "request_s": [10.0, None],
            "estimate_s": [10.0, None],
            "work_s": [4.0, 7.0],
            "user": ["a", ""],
            "group": ["", ""],
            "kind": ["", ""],
            "partition": ["", ""],
            "status": ["finished", "unfinished"],
            "wait_s": [1.0, None],
            "runtime_s": [4.0, None],
            "energy_j": [800.0, None],
            "preemptions": [0, 0],
            "restarts": [0, 0],
            "priority": [0.0, 3.0],
            "after": [None, 0],
            "think_s": [0.0, 2.0],
            "draw_w": [150.0, None],
            "floor_w": [110.0, None],
            "stretch": [2.0, None],
            "peak_w": [160.0, None],
            "recorded_energy_j": [None, None],
        }
    )
    journal = tmp_path / "j"
    write_journal(journal, {name: {} for name in SCHEMA} | {"jobs": frame}, {"cluster": {"nodes": 7}})
    for path in (journal, journal / "jobs.parquet"):
        jobs = read_trace(path).jobs
        assert jobs.work_s.tolist() == [4.0, 7.0]
        assert jobs.recorded_wait_s[0] == 1.0
        assert jobs.user.tolist() == [0, -1]
        assert (jobs.priority.tolist(), jobs.after.tolist(), jobs.think_s.tolist()) == ([0, 3], [-1, 0], [0, 2])
        assert [getattr(jobs, name)[0] for name in ("draw_w", "floor_w", "stretch", "peak_w")] == [150, 110, 2, 160]
    assert read_trace(journal).suggested_nodes == 7


def test_a_journal_is_checked_before_it_is_replayed(tmp_path: Path) -> None:
    """As for reports: a journal of another layout, or with a foreign table, is refused."""
    journal, manifest = tmp_path / "j", tmp_path / "j" / "manifest.json"
    jobs = {c.name: ["x"] if c.dtype == "str" else [1] for c in SCHEMA["jobs"]}
    write_journal(journal, {name: {} for name in SCHEMA} | {"jobs": pl.DataFrame(jobs)}, {})
    assert len(read_trace(journal).jobs) == 1
    whole = manifest.read_text()
    for version, said in ((99, "written by a newer Wattline"), (0, "must be a version number")):
        manifest.write_text(json.dumps(json.loads(whole) | {"journal": version}))
        with pytest.raises(TraceError, match=said) as caught:
            read_trace(journal)
        assert "\n" not in str(caught.value)
    manifest.write_text(whole)
    pl.read_parquet(journal / "jobs.parquet").with_columns(submit_s=2.0).write_parquet(journal / "jobs.parquet")
    with pytest.raises(TraceError, match=r"jobs\.parquet: is not the table that the run wrote"):
        read_trace(journal)


def test_numbers_that_no_job_can_have_are_unknown(tmp_path: Path) -> None:
    """Negative or endless power, a slowdown below 1, a negative wait: counted, and unknown from then on."""
    path = tmp_path / "jobs.csv"
    path.write_text(
        "submit_s,work_s,nodes,draw_w,floor_w,stretch,recorded_wait_s,think_s\n"
        "0,9,1,-5,10,0.5,-1,-3\n1,9,1,inf,-1,2,5,0\n2,9,1,200,100,1.5,6,\n"
    )
    trace = read_table(path)
    assert np.isnan(trace.jobs.draw_w).tolist() == [True, True, False]
    assert np.isnan(trace.jobs.floor_w).tolist() == [False, True, False]
    assert np.isnan(trace.jobs.stretch).tolist() == [True, False, False]
    assert np.isnan(trace.jobs.recorded_wait_s).tolist() == [True, False, False]
    assert trace.jobs.think_s.tolist() == [0.0, 0.0, 0.0]
    assert {n.reason: n.count for n in trace.notes} == {
        "draw_w is below 0 or endless: taken as unknown": 2,
        "floor_w is below 0 or endless: taken as unknown": 1,
        "stretch is below 1 or endless: taken as unknown": 1,
        "think_s is below 0 or endless: taken as unknown": 1,
        "recorded_wait_s is below 0 or endless: taken as unknown": 1,
    }
    with pytest.raises(TraceError, match=r"jobs\.csv:2: field 'draw_w': draw_w is below 0"):
        read_table(path, strict=True)


@pytest.mark.parametrize("text", ["-5", "0", "-1"])
def test_a_request_that_is_no_time_is_counted(tmp_path: Path, text: str) -> None:
    """An empty field is an unknown request; a number that is none is repaired, which strict reading refuses."""
    path = tmp_path / "jobs.csv"
    path.write_text(f"submit_s,work_s,nodes,request_s\n0,10,2,{text}\n5,10,1,\n")
    trace = read_trace(path)
    assert np.isnan(trace.jobs.request_s).all()
    assert [(n.action, n.reason, n.count) for n in trace.notes] == [
        ("repaired", "request_s is not above 0: taken as unknown", 1),
        ("kept", "requested time unknown", 1),
    ]
    with pytest.raises(TraceError, match=r"jobs.csv:2: field 'request_s': request_s is not above 0"):
        read_trace(path, strict=True)


def test_run_time_stands_in_for_work(tmp_path: Path) -> None:
    """Where work_s is missing, the measured run time is the work."""
    path = tmp_path / "jobs.csv"
    path.write_text("submit_s,runtime_s,nodes\n0,12,1\n")
    assert read_table(path).jobs.work_s.tolist() == [12.0]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (
            "submit_s,nodes",
            "column 'work_s' is missing: found submit_s, nodes; a job table needs submit_s, work_s and nodes",
        ),
        ("submit_s,work_s,nodes,usr", "field 'usr': unknown column; did you mean 'user'?"),
        ("submit_s,work_s,nodes,nodes", "field 'nodes': column is named twice"),
    ],
)
def test_wrong_columns_are_one_clear_line(tmp_path: Path, header: str, message: str) -> None:
    """Missing, unknown and repeated columns are refused by name."""
    path = tmp_path / "jobs.csv"
    path.write_text(header + "\n" + ",".join("1" for _ in header.split(",")) + "\n")
    with pytest.raises(TraceError) as caught:
        read_table(path)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("x,1,1", "malformed: not a number"),
        ("nan,1,1", "submit time unknown"),
        ("inf,1,1", "submit time is endless or too large a number"),
        ("0,-1,1", "run time is below 0"),
        ("0,1e400,1", "run time is endless or too large a number"),
        ("0,,1", "run time unknown"),
        ("0,1,0", "nodes are not a positive whole number"),
        ("0,1,99999999999999999999", "number of nodes is too large a number"),
        ("0,1,1.5", "nodes are not a positive whole number"),
        ("0,1", "malformed: expected 3 columns like the header (got 2 in the first)"),
    ],
)
def test_wrong_rows_are_dropped_and_counted(tmp_path: Path, row: str, reason: str) -> None:
    """A row that is no job is dropped once, with its line; strict reading refuses it."""
    path = tmp_path / "jobs.csv"
    path.write_text(f"submit_s,work_s,nodes\n0,1,1\n{row}\n")
    trace = read_table(path)
    assert [(n.action, n.reason, n.count) for n in trace.notes] == [("dropped", reason, 1)]
    assert (trace.records, len(trace.jobs)) == (2, 1)
    with pytest.raises(TraceError, match=r"jobs.csv:3: field"):
        read_table(path, strict=True)


def test_names_that_differ_only_in_blanks_are_one_with_a_count(tmp_path: Path) -> None:
    """Blanks around names do not count; where that makes two names one, it is said. Blanks beside commas are not."""
    path = tmp_path / "jobs.csv"
    path.write_text('submit_s,work_s,nodes,user\n0,5,1,"a"\n1,5,1,"a "\n2,5,1," a"\n3,5,1, b\n4,5,1,  \n5,5,1,\n')
    trace = read_table(path)
    assert trace.jobs.users == ("a", "b")
    assert trace.jobs.user.tolist() == [0, 0, 0, 1, -1, -1]
    assert [(n.action, n.reason, n.count) for n in trace.notes] == [
        ("repaired", "blanks around a name do not count: taken for the same without them", 2)
    ]
    assert "jobs.csv:3" in trace.notes[0].example
    path.write_text("submit_s, work_s, nodes, user\n0, 5, 1, a\n1, 5, 1, b\n2, 5, 1, a\n")
    assert (read_table(path).notes, read_table(path).jobs.users) == ((), ("a", "b"))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("text", ["inf", "-inf"])
def test_an_endless_priority_is_counted(tmp_path: Path, text: str, suffix: str) -> None:
    """It is taken as 0, with a count, not in silence; strict reading refuses it. One that is not known is 0."""
    path = tmp_path / f"jobs.{suffix}"
    frame = pl.DataFrame({"submit_s": [0, 1, 2], "work_s": 1, "nodes": 1, "priority": [2.0, float(text), None]})
    frame.write_csv(path) if suffix == "csv" else frame.write_parquet(path)
    trace = read_table(path)
    assert trace.jobs.priority.tolist() == [2.0, 0.0, 0.0]
    assert [(n.action, n.reason, n.count) for n in trace.notes] == [
        ("repaired", "priority is endless or too large a number: taken as 0", 1)
    ]
    with pytest.raises(TraceError, match=r"jobs\.\w+:\d: field 'priority': .*endless"):
        read_table(path, strict=True)


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("mapped", [False, True])
def test_rows_of_the_wrong_width_count_for_links(tmp_path: Path, quote: str, mapped: bool) -> None:
    """``after`` is a row of the file: rows that were left out for their width count, and nobody waits for them."""
    rows = ["0,10,1", "0,10,1,,2", "0,10,1,,3", "", "1,10,1,1,4", "2,10,1,0,5", "3,10", "4,10,1,5,6", "5,10,1,6,7"]
    path = tmp_path / "t.csv"
    lines = [*rows[:-1], rows[-1].replace("7", f"{quote}7{quote}")]
    path.write_text("\n".join(["submit_s,work_s,nodes,after,job_id", *lines, ""]))
    columns = {name: name for name in ("submit_s", "work_s", "nodes", "after", "job_id")} if mapped else None
    trace = read_trace(path, columns=columns)
    assert trace.jobs.job_id.tolist() == [2, 3, 4, 5, 6, 7]
    assert trace.jobs.after.tolist() == [-1, -1, 0, -1, -1, 4]
    cut = {n.reason: n.count for n in trace.notes if n.action == "repaired"}
    assert cut == {"after is not the row of an earlier job: link cut": 2}


def test_unsorted_rows_keep_their_links(tmp_path: Path) -> None:
    """Links follow the rows when a table is sorted; a link to a later or absent job is cut and counted."""
    path = tmp_path / "jobs.csv"
    path.write_text("submit_s,work_s,nodes,after\n9,1,1,1\n0,1,1,\n10,1,1,77\n11,1,1,3\n")
    trace = read_table(path)
    assert trace.jobs.after.tolist() == [-1, 0, -1, -1]
    assert {n.reason: n.count for n in trace.notes if n.action == "repaired"} == {
        "out of order: sorted by submit time": 1,
        "after is not the row of an earlier job: link cut": 2,
    }


def test_newer_layouts_are_refused(tmp_path: Path) -> None:
    """A table written by a newer Wattline says so instead of being misread."""
    path = tmp_path / "jobs.parquet"
    frame = pl.DataFrame({"submit_s": [0.0], "work_s": [1.0], "nodes": [1]})
    frame.write_parquet(path, metadata={"wattline": '{"trace": 99}'})
    with pytest.raises(TraceError, match="table of version 99"):
        read_table(path)


def test_columns_of_the_wrong_type(tmp_path: Path) -> None:
    """A column that cannot be numbers or names is refused by name."""
    path = tmp_path / "jobs.parquet"
    pl.DataFrame({"submit_s": [[0.0]], "work_s": [1.0], "nodes": [1]}).write_parquet(path)
    with pytest.raises(TraceError, match="field 'submit_s': column must hold numbers"):
        read_table(path)
    pl.DataFrame({"submit_s": [0.0], "work_s": [1.0], "nodes": [1], "user": [0.5]}).write_parquet(path)
    with pytest.raises(TraceError, match="field 'user': column must hold names"):
        read_table(path)


def test_a_power_of_zero_was_not_measured(tmp_path: Path) -> None:
    """A sensor that is off writes 0: the power of such a job is not known, and the reader says so."""
    path = tmp_path / "jobs.csv"
    path.write_text("submit_s,work_s,nodes,draw_w,recorded_energy_j\n0,60,1,0,0\n1,60,1,200,12000\n")
    trace = read_table(path)
    assert np.isnan(trace.jobs.draw_w[0])
    assert trace.jobs.draw_w[1] == 200.0
    assert np.isnan(trace.jobs.recorded_energy_j[0])
    assert {note.reason: note.count for note in trace.notes} == {
        "draw_w is 0: not measured, taken as unknown": 1,
        "recorded_energy_j is 0: not measured, taken as unknown": 1,
    }


def test_an_empty_category_is_no_name(tmp_path: Path) -> None:
    """An empty text among the categories of an Enum is unknown, as everywhere; the others keep their order."""
    kinds = pl.Series("kind", ["", "b", "a", None], dtype=pl.Enum(["b", "", "a", "unused"]))
    frame = pl.DataFrame({"submit_s": [0.0] * 4, "work_s": [1.0] * 4, "nodes": [1] * 4}).with_columns(kinds)
    frame.write_parquet(tmp_path / "t.parquet")
    jobs = read_trace(tmp_path / "t.parquet").jobs
    assert (jobs.kind.tolist(), tuple(jobs.kinds)) == ([-1, 0, 1, -1], ("b", "a", "unused"))


def test_numbers_below_0_are_no_names_and_said(tmp_path: Path) -> None:
    """A user whose number is below 0 is unknown, and the jobs are counted."""
    frame = pl.DataFrame({"submit_s": [0.0] * 3, "work_s": [1.0] * 3, "nodes": [1] * 3, "user": [-3, 5, None]})
    frame.write_parquet(tmp_path / "t.parquet")
    trace = read_trace(tmp_path / "t.parquet")
    assert (trace.jobs.user.tolist(), tuple(trace.jobs.users)) == ([-1, 0, -1], ("5",))
    assert {n.reason: n.count for n in trace.notes} == {"a number below 0 is no name: taken as unknown": 1}


def test_columns_that_are_not_looked_at_are_told(tmp_path: Path) -> None:
    """Starts, ends and energies are a journal's own; another table's are said to be passed over."""
    path = tmp_path / "jobs.csv"
    path.write_text("submit_s,start_s,work_s,nodes,energy_j\n0,5,60,2,1000\n")
    (note,) = read_table(path).notes
    assert (
        note.reason == "not looked at: start_s, energy_j; say what they are to have them, like --column start_s=start_s"
    )
    told = read_trace(path, columns={"start_s": "start_s"})
    assert told.jobs.recorded_wait_s.tolist() == [5.0]
    path.write_text("submit_s,start_s,work_s,nodes,energy_j,eligible_s,status\n0,5,60,2,1000,0,finished\n")
    assert read_table(path).notes == ()
