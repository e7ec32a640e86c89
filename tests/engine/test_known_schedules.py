"""Other people's schedules of a real trace: every start equal, to the second."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from engine.worlds import cluster, policies
from wattline.formats.jobs import read_trace
from wattline.sim.simulate import simulate
from wattline.wiring.options import Options


@pytest.mark.parametrize(
    ("select", "ties", "file"),
    [
        ("easy", "instant", "kth_easy_one_pass_per_instant.csv.gz"),
        ("easy", "event", "kth_easy_one_pass_per_event.csv.gz"),
        ("in-order", "instant", "kth_fcfs_hpcwld.csv.gz"),
    ],
)
def test_all_starts_of_kth(data_dir: Path, select: str, ties: str, file: str) -> None:
    """All 28,489 starts of KTH-SP2 agree with an independent schedule: EASY under both tie rules, and FCFS."""
    jobs = read_trace(data_dir / "schedules" / "kth_norm.swf.gz").jobs
    result = simulate(jobs, cluster(100), policies(select=select), Options(ties=ties))
    with gzip.open(data_dir / "schedules" / file, "rt") as text:
        known = np.loadtxt(text, delimiter=",", skiprows=1)
    known = known[np.argsort(known[:, 0], kind="stable")]
    order = np.argsort(jobs.job_id, kind="stable")
    assert len(known) == 28_489
    np.testing.assert_array_equal(result.state.started_s[order], known[:, 2])
