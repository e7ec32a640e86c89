"""A journal that is replayed is the workload that was simulated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import wattline as wl
from wattline.formats.jobs.export import write_trace
from wattline.model.jobs import ARRAY_COLUMNS, JobTable
from wattline.model.series import PowerSeries
from wattline.reading.notes import Trace

JOBS = {
    "submit_s": [0, 0, 0, 5],
    "work_s": [10, 10, 10, 7],
    "nodes": [4, 2, 2, 1],
    "after": [None, 0, None, 1],
    "think_s": [0, 3, 0, 0],
    "priority": [0, 1, 5, 0],
    "draw_w": [150.0, 120.0, None, 110.0],
    "floor_w": [110.0, None, None, None],
    "stretch": [2.0, None, None, None],
    "request_s": [20, 5, None, 30],
    "peak_w": [160.0, 130.0, None, 120.0],
    "user": ["a", "b", "a", None],
}


def test_a_journal_replays_to_the_same_schedule(tmp_path: Path) -> None:
    """A journal holds all that a job table does, power, links and priorities too: its replay ends the same to the
    bit, and so does the replay of that.
    """
    machine = wl.Machine(nodes=4, idle=100, max=200)
    trace = wl.from_frame(pl.DataFrame(JOBS), epoch_unix_s=1.7e9)
    first = wl.simulate(trace, machine, order="priority", kill=True, progress=False)
    first.write(tmp_path / "one")
    again = wl.read_trace(tmp_path / "one")
    for name in set(ARRAY_COLUMNS) - {"recorded_wait_s"}:  # a journal's recorded waits are those that it simulated
        before, after = (getattr(one.handed(4)[0].jobs, name) for one in (trace, again))
        np.testing.assert_array_equal(before, after, err_msg=name)
    assert again.handed(4)[0].jobs.epoch_unix_s == 1.7e9
    second = wl.simulate(again, machine, order="priority", kill=True, progress=False)
    assert second.jobs.drop("wait_s").equals(first.jobs.drop("wait_s"))
    assert second.jobs["wait_s"].equals(first.jobs["wait_s"])


def test_power_over_time_that_a_journal_does_not_hold_is_said(tmp_path: Path) -> None:
    """Where jobs followed a power over time the journal has their mean, and its reader says so."""
    series = PowerSeries.build(10.0, [[100.0, 300.0]])
    write_trace(Trace(JobTable.build(submit_s=[0], work_s=[20], nodes=[2], series=series)), tmp_path / "jobs.parquet")
    wl.simulate(tmp_path / "jobs.parquet", wl.Machine(nodes=4, idle=50, max=400), progress=False).write(
        tmp_path / "one"
    )
    again = wl.read_trace(tmp_path / "one")
    assert again.handed(4)[0].jobs.draw_w.tolist() == [pytest.approx(200.0)]
    assert [note.reason for note in again.handed(4)[0].notes if "power" in note.reason] == [
        "power over the run of jobs is not in a journal: their mean power is taken"
    ]
