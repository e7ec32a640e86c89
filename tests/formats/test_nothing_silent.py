"""What readers repair or leave unused is counted in notes, and refused by strict reading where a value was changed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from wattline.errors import TraceError
from wattline.formats.jobs import read_trace

ROWS = "1 0 5 100 4 -1 -1 4 200 -1 1 7 1 1 1 1 -1 -1\n2 10 0 50 2 -1 -1 2 60 -1 1 8 1 1 1 1 -1 -1\n"
UNUSED = "is not a whole number from 1 to 1,000,000,000: not used"


@pytest.mark.parametrize(
    ("header", "nodes", "said"),
    [
        ("; MaxNodes: 1,024\n", 1024, {}),
        ("; MaxNodes: 12,34\n", None, {f"the header's MaxNodes {UNUSED}": "MaxNodes: 12,34"}),
        ("; MaxNodes: ten\n; MaxProcs: 16\n", 16, {f"the header's MaxNodes {UNUSED}": "MaxNodes: ten"}),
        ("; MaxProcs: 93 312\n", None, {f"the header's MaxProcs {UNUSED}": "MaxProcs: 93 312"}),
        (
            "; MaxProcs: 1 024 (cores)\n; MaxNodes: 8 nodes\n",
            8,
            {f"the header's MaxProcs {UNUSED}": "MaxProcs: 1 024 (cores)"},
        ),
        ("; MaxProcs: 7.5\n", None, {f"the header's MaxProcs {UNUSED}": "MaxProcs: 7.5"}),
        ("; MaxNodes: 0\n", None, {f"the header's MaxNodes {UNUSED}": "MaxNodes: 0"}),
        (
            "; MaxNodes: 10\n; MaxProcs: 10\n; MaxNodes: 20\n",
            10,
            {"the header says MaxNodes again, and something else: the first is used": "MaxNodes: 20"},
        ),
        ("; MaxNodes: 10\n; MaxNodes: 10\n", 10, {}),
        ("; MaxNodes: -1\n; MaxProcs: 128\n", 128, {}),
        (
            "; MaxNodes: 100\n; MaxProcs: 10\n",
            100,
            {"the header says more nodes than processors (10): a node is taken to have one processor": "MaxNodes: 100"},
        ),
    ],
)
def test_a_header_that_is_odd_is_said(tmp_path: Path, header: str, nodes: int | None, said: dict[str, str]) -> None:
    """Sizes of machines in SWF headers that cannot be used, come twice or contradict each other are said, each by
    itself; thousands may be set apart.
    """
    (tmp_path / "log.swf").write_text(header + ROWS)
    trace = read_trace(tmp_path / "log.swf")
    assert trace.suggested_nodes == nodes
    found = {note.reason: note.example for note in trace.notes if "header" in note.reason}
    assert found == {reason: f"log.swf: {text}" for reason, text in said.items()}
    assert trace.machine is not None
    assert ("that cannot be used" in trace.machine.words) == any("not used" in reason for reason in said)


def test_logs_put_together_are_not_read_as_one(tmp_path: Path) -> None:
    """Below records a header that starts time anew is refused, one of another machine is told; the same one is not."""
    path = tmp_path / "log.swf"
    head = "; Version: 2.2\n; UnixStartTime: 1000000000\n; MaxNodes: 10\n"
    path.write_text(head + ROWS + head + ROWS.replace("1 0", "3 20", 1).replace("\n2 10", "\n4 30"))
    assert [note.reason for note in read_trace(path).notes] == []
    path.write_text(head + ROWS + head.replace(": 10\n", ": 20\n") + ROWS)
    trace = read_trace(path)
    told = "the header says MaxNodes again, and something else: the first is used"
    assert {note.reason: note.example for note in trace.notes}[told] == "log.swf: MaxNodes: 20"
    assert trace.suggested_nodes == 10
    for first in (head, "; MaxNodes: 10\n"):
        path.write_text(first + ROWS + head.replace("1000000000", "1100000000") + ROWS)
        with pytest.raises(TraceError, match=r"log\.swf:\d+: field 'UnixStartTime': a second header, with another"):
            read_trace(path)


def test_sizes_that_stand_in_are_counted(tmp_path: Path) -> None:
    """Requested processors in the place of unknown allocated ones, as 0 or -1, are counted and refused when strict."""
    path = tmp_path / "log.swf"
    path.write_text(
        ROWS.replace("100 4", "100 -1").replace(" 50 2 ", " 50 0 ") + ROWS.replace("1 0", "3 20", 1)[:47] + "\n"
    )
    trace = read_trace(path)
    told = "allocated processors unknown: the requested ones are taken"
    assert [(n.action, n.count) for n in trace.notes if n.reason == told] == [("repaired", 2)]
    with pytest.raises(TraceError, match=f"log.swf:1: field 'allocated processors': {told}"):
        read_trace(path, strict=True)


def dump(path: Path, header: str, *rows: str) -> Path:
    """Write a Slurm dump."""
    (path / "dump.txt").write_text("\n".join([header, *rows]) + "\n")
    return path / "dump.txt"


HEADER = "JobID|Cluster|Submit|Start|ElapsedRaw|AllocNodes|ReqNodes|State"
RAN = "2024-01-01T00:00:00|2024-01-01T00:00:10|100|2|2|COMPLETED"


def test_clusters_number_their_jobs_themselves(tmp_path: Path) -> None:
    """Job 10 of one cluster and job 10 of another are two jobs; that they share a machine here is said."""
    trace = read_trace(dump(tmp_path, HEADER, f"10|A|{RAN}", f"10|B|{RAN}", f"11|B|{RAN}"))
    assert trace.jobs.job_id.tolist() == [10, 12, 11]
    reasons = {n.reason: (n.action, n.count) for n in trace.notes}
    assert reasons["of another cluster: all are taken for one machine"] == ("kept", 2)
    assert trace.count("dropped") == 0


def test_rows_that_come_again_are_no_requeues(tmp_path: Path) -> None:
    """A row that is there twice word for word is dropped as the same row; another run of the job as an earlier run."""
    late = RAN.replace("00:00:10", "00:05:00")
    rows = (f"10|A|{RAN}", f"11|A|{RAN}", f"10|A|{RAN}", f"10|A|{RAN}", f"11|A|{late}")
    trace = read_trace(dump(tmp_path, HEADER, *rows))
    assert trace.jobs.job_id.tolist() == [10, 11]
    reasons = {n.reason: (n.action, n.count) for n in trace.notes if n.action == "dropped"}
    assert reasons == {"the same row again": ("dropped", 2), "an earlier run of a requeued job": ("dropped", 1)}
    assert trace.jobs.recorded_wait_s.tolist() == [10.0, 300.0]


@pytest.mark.parametrize(
    ("row", "told", "field"),
    [
        (
            RAN.replace("|2|2|", "|0|3|"),
            "the size is not in the first column for it: another one is taken",
            "allocnodes",
        ),
        (
            RAN.replace("T00:00:00", "T00:00:20"),
            "started before it was submitted: what it waited is unknown",
            "start",
        ),
    ],
)
def test_repairs_of_slurm_dumps_are_counted(tmp_path: Path, row: str, told: str, field: str) -> None:
    """A size from another column, and a start before the submission, are counted and refused when strict."""
    path = dump(tmp_path, HEADER, f"10|A|{RAN}", f"11|A|{row}")
    trace = read_trace(path)
    assert [(n.action, n.count) for n in trace.notes if n.reason == told] == [("repaired", 1)]
    with pytest.raises(TraceError, match=f"dump.txt:3: field '{field}': {told}"):
        read_trace(path, strict=True)


@pytest.mark.parametrize(
    ("column", "values", "told"),
    [
        ("after", "\n-1\n0\n-7", "after is below 0 and not -1: no link"),
        ("draw_w,floor_w", "\n90,80\n90,90\n80,90", "floor_w is above draw_w: taken as that"),
    ],
)
def test_repairs_of_tables_are_counted(tmp_path: Path, column: str, values: str, told: str) -> None:
    """A link below -1, and a power at the lowest cap above that without a cap, are counted and refused when strict."""
    cells = values.strip("\n").split("\n")
    rows = "".join(f"{i},10,1,{cell}\n" for i, cell in enumerate(cells))
    path = tmp_path / "jobs.csv"
    path.write_text(f"submit_s,work_s,nodes,{column}\n{rows}")
    trace = read_trace(path)
    assert [(n.action, n.count) for n in trace.notes if n.reason == told] == [("repaired", 1)]
    assert trace.jobs.after.tolist() == ([-1, 0, -1] if column == "after" else [-1, -1, -1])
    if column != "after":
        np.testing.assert_array_equal(trace.jobs.floor_w, [80.0, 90.0, 80.0])
    with pytest.raises(TraceError, match=rf"jobs.csv:4: field '{column.split(',')[-1]}': {told}"):
        read_trace(path, strict=True)


def test_processors_of_a_node_that_change_nothing_are_said(tmp_path: Path) -> None:
    """Whoever gives cores_per_node for a log that counts nodes is told that it changes nothing."""
    (tmp_path / "jobs.csv").write_text("submit_s,work_s,nodes\n0,10,8\n")
    logs = {
        "the log counts nodes": tmp_path / "jobs.csv",
        "the dump counts nodes": dump(tmp_path, HEADER, f"10|A|{RAN}"),
    }
    for who, path in logs.items():
        notes = read_trace(path, cores_per_node=4).notes
        assert [(n.action, n.count) for n in notes if n.reason == f"{who}: cores_per_node changes nothing"] == [
            ("kept", 1)
        ]
        assert read_trace(path).notes == tuple(n for n in notes if who not in n.reason)


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ('{"epoch_unix_s": 1' + "0" * 400 + "}", "epoch_unix_s': must be seconds since 1970"),
        ('{"epoch_unix_s": 1e300}', "epoch_unix_s': must be seconds since 1970"),
        ('{"epoch_unix_s": Infinity}', "epoch_unix_s': must be seconds since 1970"),
        ('{"epoch_unix_s": "x"}', "epoch_unix_s': must be seconds since 1970"),
        ('{"suggested_nodes": 1' + "0" * 400 + "}", "suggested_nodes': must be a number of nodes"),
        ('{"suggested_nodes": true}', "suggested_nodes': must be a number of nodes"),
        ('{"suggested_nodes": 0}', "suggested_nodes': must be a number of nodes"),
        ('{"a":' * 3000 + "1" + "}" * 3000, "must be a JSON object"),
    ],
)
def test_what_a_parquet_table_says_of_itself_is_looked_at(about: str, said: str, tmp_path: Path) -> None:
    """A beginning or a size that no log has, and what is no JSON, is refused in a line."""
    table = pl.DataFrame({"submit_s": [0.0, 60.0], "work_s": [100.0, 100.0], "nodes": [1, 2]})
    table.write_parquet(tmp_path / "t.parquet", metadata={"wattline": about})
    with pytest.raises(TraceError) as caught:
        read_trace(tmp_path / "t.parquet")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    table.write_parquet(tmp_path / "t.parquet", metadata={"wattline": '{"epoch_unix_s": NaN, "suggested_nodes": null}'})
    assert len(read_trace(tmp_path / "t.parquet").jobs) == 2


def test_a_pause_after_no_job_is_counted(tmp_path: Path) -> None:
    """A job that comes after none has nothing to pause after; a link that is cut is told once."""
    path = tmp_path / "jobs.csv"
    path.write_text("submit_s,work_s,nodes,after,think_s\n0,10,1,,0\n1,10,1,0,5\n2,10,1,,7\n3,10,1,-1,7\n")
    told = {note.reason: note.count for note in read_trace(path).notes}
    assert told["think_s without after: there is no job to pause after"] == 2
    path.write_text("submit_s,work_s,nodes,think_s\n0,10,1,3\n")
    assert [note.count for note in read_trace(path).notes if "think_s without after" in note.reason] == [1]
