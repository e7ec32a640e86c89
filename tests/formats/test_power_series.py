"""Power of jobs over their run."""

from __future__ import annotations

import numpy as np
import pytest

from wattline.errors import InputError
from wattline.model.jobs import JobTable
from wattline.model.series import PowerSeries


def test_rows_follow_their_jobs() -> None:
    """Sorting and picking rows of a job table moves their power series along."""
    series = PowerSeries.build(60.0, [[1.0, 2.0], [], [3.0]])
    jobs = JobTable.build(submit_s=[5, 0, 3], work_s=[120, 60, 60], nodes=[1, 2, 3], series=series)
    assert jobs.nodes.tolist() == [2, 3, 1]
    assert jobs.series is not None
    assert [jobs.series.of(j).tolist() for j in range(3)] == [[], [3.0], [1.0, 2.0]]
    picked = jobs.take(np.array([False, False, True])).series
    assert picked is not None
    assert picked.of(0).tolist() == [1.0, 2.0]
    assert len(picked) == 1


@pytest.mark.parametrize(("step_s", "rows"), [(0.0, [[1.0]]), (60.0, [[-1.0]]), (60.0, [[float("nan")]])])
def test_no_power_makes_no_series(step_s: float, rows: list[list[float]]) -> None:
    """A step of no length, and values that are no power, are refused."""
    with pytest.raises(InputError, match="power series"):
        PowerSeries.build(step_s, rows)


def test_one_series_a_job() -> None:
    """A table refuses the series of another number of jobs."""
    with pytest.raises(InputError, match="of 1 jobs, expected 2"):
        JobTable.build(submit_s=[0, 1], work_s=[1, 1], nodes=[1, 1], series=PowerSeries.build(1.0, [[1.0]]))
