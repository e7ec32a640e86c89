"""What is expected of jobs whose nodes wake."""

from __future__ import annotations

from engine.worlds import cluster, run, table
from wattline.model.cluster import Outage, Sleep
from wattline.wiring.options import Options


def test_a_job_that_ran_before_is_expected_to_do_what_it_has_left() -> None:
    """EASY: nodes wake for a job with 10 s left of 100, so the head's turn is in 20 s, and nobody passes who takes
    50.
    """
    jobs = table(
        {"submit": 0, "work": 100, "nodes": 2, "request": 100},
        {"submit": 91, "work": 30, "nodes": 3, "request": 30},
        {"submit": 92, "work": 50, "nodes": 1, "request": 50},
    )
    machine = cluster(4, outages=[Outage(90.0, 1000.0, 0, 1)], sleep=Sleep(power_w=10.0, after_s=5.0, exit_s=10.0))
    s = run(jobs, machine, options=Options(keep_progress=True)).state
    assert s.end_s[0] == 110.0
    assert s.started_s.tolist()[1] == 110.0
