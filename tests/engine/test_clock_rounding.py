"""Times that are no whole numbers: the rounding of clocks neither delays a value of power nor costs a job its end."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine.worlds import cluster, run, status_names, table
from wattline.model import codes
from wattline.model.cluster import Outage
from wattline.model.series import PowerSeries
from wattline.wiring.options import Options

STARTS = [0.0, 14.6, 0.1, 1 / 3, 6.2, 123456.7, 9_999_999.9, 1e9 + 0.3]


@pytest.mark.parametrize("step", [20.0, 0.1, 7.7, 60.0])
@pytest.mark.parametrize("start", STARTS)
def test_a_series_changes_at_its_steps_whenever_the_job_starts(start: float, step: float) -> None:
    """A job draws each value of its power series for one step, also where times are not whole."""
    watts = [100.0 + 10 * (k % 7) for k in range(20)]
    jobs = table({"submit": start, "work": 20 * step, "nodes": 1}, series=PowerSeries.build(step, [watts]))
    result = run(jobs, cluster(1, idle_w=0.0))
    rel = 1e-12 + 1e-15 * start / step  # of the clock itself
    assert result.state.energy_j[0] == pytest.approx(math.fsum(watts) * step, rel=rel)
    assert result.logs["timeline"][:-1, codes.TL_POWER].tolist() == watts


@pytest.mark.parametrize("start", STARTS)
def test_a_series_goes_on_at_its_steps_after_a_stop(start: float) -> None:
    """What a job has done before it lost its nodes counts, to the step, when it goes on."""
    watts = [100.0 + 10 * k for k in range(10)]
    jobs = table({"submit": start, "work": 77.0, "nodes": 1}, series=PowerSeries.build(7.7, [watts]))
    lost = [Outage(start + 2 * 7.7, start + 4 * 7.7, 0, 1)]
    result = run(jobs, cluster(1, idle_w=0.0, outages=lost), options=Options(keep_progress=True))
    assert result.state.restarts[0] == 1
    assert result.state.energy_j[0] == pytest.approx(math.fsum(watts) * 7.7, rel=1e-12 + 1e-15 * start)


def capped(start: float) -> list[float]:
    """Return the power, sample by sample, of a job that a limit holds back for a while."""
    row = {"submit": start, "work": 99.5, "nodes": 1, "floor_w": 150.0, "stretch": 2.0, "draw": 300.0}
    jobs = table(row, series=PowerSeries.build(10.0, [[300.0] * 7 + [200.0, 301.0, 302.0]]))
    limits = [(start, 400.0), (start + 20, 150.0), (start + 60, 400.0)]
    options = Options(limit_w=limits, sample_s=1.0)
    result = run(jobs, cluster(1, idle_w=0.0, min_cap_w=50.0), options=options, cap="under-limit")
    assert status_names(result) == ["finished"]
    return list(result.logs["timeline"][:, codes.TL_POWER].tolist())


@pytest.mark.parametrize("start", STARTS[1:])
def test_a_series_follows_work_done_under_a_cap(start: float) -> None:
    """Where a cap slows a job down, its power changes at the same samples whenever it starts."""
    watts = capped(0.0)
    assert {150.0, 200.0, 300.0, 301.0, 302.0} <= set(watts)
    assert len(watts) > 115  # it was slowed down
    assert capped(start) == watts


@pytest.mark.parametrize("start", [*STARTS[1:6], 3.3])
def test_a_preempted_job_that_needs_all_it_asked_for_finishes(start: float) -> None:
    """A job whose work is what it asked for is no job past its request, however its run is divided."""
    jobs = table(
        {"submit": start, "work": 33.3, "nodes": 1, "request": 33.3},
        {"submit": start + 3.7, "work": 4.1, "nodes": 1, "request": 4.1},
        {"submit": start + 5.9, "work": 2.7, "nodes": 1, "request": 2.7},
    )
    result = run(jobs, cluster(1), options=Options(kill=True), order="lcfs", select="reselect")
    assert status_names(result) == ["finished"] * 3
    assert result.state.preemptions[0] == 1
    assert result.state.end_s[0] - start == pytest.approx(33.3 + 4.1 + 2.7, abs=1e-5)


def test_many_divided_runs_finish_and_too_long_ones_are_killed() -> None:
    """Over many stops, jobs that keep to their request finish; those that need a millisecond more are killed."""
    rng = np.random.default_rng(1)
    submit = np.cumsum(rng.uniform(0, 30, 60)) + 0.1
    work = rng.choice([10.0, 33.3, 100.1], 60) + rng.uniform(0, 5, 60).round(1)
    for more, status in ((0.0, "finished"), (1e-3, "killed")):
        rows = [
            {"submit": t, "work": w + more, "nodes": 1, "request": w}
            for t, w in zip(submit.tolist(), work.tolist(), strict=True)
        ]
        result = run(table(*rows), cluster(2), options=Options(kill=True), order="lcfs", select="reselect")
        assert set(status_names(result)) == {status}
        assert result.state.preemptions.sum() > 20


@pytest.mark.parametrize("ties", ["instant", "event"])
def test_a_requeued_job_that_keeps_its_progress_and_its_request_finishes(ties: str) -> None:
    """The same holds after lost nodes, and with either rule for ties."""
    jobs = table({"submit": 14.6, "work": 100.1, "nodes": 1, "request": 100.1})
    lost = [Outage(14.6 + 11 * k + 0.3, 14.6 + 11 * k + 2.7, 0, 1) for k in range(1, 8)]
    options = Options(kill=True, keep_progress=True, ties=ties)
    result = run(jobs, cluster(1, outages=lost), options=options)
    assert status_names(result) == ["finished"]
    assert result.state.restarts[0] == 7
