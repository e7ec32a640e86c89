"""Logs in which several jobs have one number."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import wattline as wl
from wattline.errors import TraceError
from wattline.formats.jobs import read_trace

TWINS = "job_id,submit_s,work_s,nodes\n7,0,10,1\n8,1,10,1\n7,2,10,1\n7,3,10,1\n"


def test_jobs_of_one_number_have_numbers_of_their_own(tmp_path: Path) -> None:
    """The first keeps its number, the others have numbers above all; the reader says how many, and names one."""
    path = tmp_path / "jobs.csv"
    path.write_text(TWINS)
    trace = read_trace(path)
    note = trace.notes[-1]
    assert (note.action, note.count, note.example) == ("repaired", 2, "jobs.csv: job 7")
    assert "same number: it is given one of its own, from 9 on" in note.reason
    assert trace.jobs.job_id.tolist() == [7, 8, 9, 10]
    with pytest.raises(TraceError, match="another job has the same number"):
        read_trace(path, strict=True)
    path.write_text("job_id,submit_s,work_s,nodes\n7,0,10,1\n8,1,10,1\n")
    assert not read_trace(path).notes
    path.write_text(TWINS.replace("8,", f"{2**53 - 1},"))
    assert read_trace(path).jobs.job_id.tolist() == [7, 2**53 - 1, 1, 2]


def test_a_log_with_twins_is_the_log_without_them(tmp_path: Path) -> None:
    """Starts, summary, learning and page are those of the same jobs with numbers of their own."""
    columns = {"submit_s": [5.0 * i for i in range(20)], "work_s": [10.0 + 7 * i % 90 for i in range(20)]}
    columns |= {"nodes": [1 + i % 3 for i in range(20)], "user": [f"u{i % 3}" for i in range(20)]}
    machine = wl.Machine(nodes=4, idle=10, max=100)
    given = {"profile": "t-test", "limit": "350 W", "settings": {"limit.deadlock": "exceed"}}
    found = []
    for numbers in ([i // 2 for i in range(20)], list(range(20))):
        run = wl.simulate(wl.from_frame(columns | {"job_id": numbers}), machine, progress=False, **given)
        run.report(tmp_path / "page.html")
        assert (tmp_path / "page.html").stat().st_size > 10_000
        found.append((run.jobs.drop("job_id").sort("submit_s"), run.summary.to_dict()))
    assert found[0][0].equals(found[1][0])
    assert isinstance(found[0][0], pl.DataFrame)
    assert found[0][1]["learning"] == found[1][1]["learning"]
