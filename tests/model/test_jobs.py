"""Job tables: columns that nobody gave, and columns that are one value for all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wattline.model.jobs import JobTable


def test_one_value_for_all_is_kept() -> None:
    """A column that holds one value in all rows without holding it often is not mistaken for one that nobody gave."""
    jobs = JobTable.build(submit_s=[0, 1, 2], work_s=[1, 1, 1], nodes=[1, 1, 1])
    assert np.isnan(jobs.draw_w).all()
    alike = replace(jobs, draw_w=np.broadcast_to(np.float64(200.0), (3,)))
    assert alike.draw_w.tolist() == [200.0, 200.0, 200.0]
    alike.draw_w[1] = 100.0
    assert alike.draw_w.tolist() == [200.0, 100.0, 200.0]


def test_columns_that_nobody_gave_have_their_defaults() -> None:
    """They are there when asked for, and can be written row by row."""
    jobs = JobTable.build(submit_s=[3, 1], work_s=[1, 1], nodes=[1, 2])
    assert jobs.after.tolist() == [-1, -1]
    jobs.priority[0] = 5.0
    assert jobs.priority.tolist() == [5.0, 0.0]
    assert jobs.take(np.array([0])).priority.tolist() == [5.0]
