"""Logs in which several jobs have one number."""

from __future__ import annotations

from pathlib import Path

from wattline.formats.jobs import read_trace


def test_jobs_of_one_number_are_mentioned(tmp_path: Path) -> None:
    """The reader says how many jobs have a number that another has, and names one."""
    path = tmp_path / "jobs.csv"
    path.write_text("job_id,submit_s,work_s,nodes\n7,0,10,1\n8,1,10,1\n7,2,10,1\n7,3,10,1\n")
    note = read_trace(path).notes[-1]
    assert (note.action, note.count, note.example) == ("kept", 2, "job 7")
    assert "same number" in note.reason
    path.write_text("job_id,submit_s,work_s,nodes\n7,0,10,1\n8,1,10,1\n")
    assert not read_trace(path).notes
