"""What plans and admission count of running jobs whose power changes, wakes or is believed: what is in the sum, no more
and no less.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.worlds import cluster, examples, run, status_names, table
from wattline.model import codes
from wattline.model.cluster import Sleep
from wattline.model.jobs import JobTable
from wattline.model.mechanism import policy
from wattline.model.series import PowerSeries
from wattline.model.state.record import State
from wattline.wiring.options import Options
from wattline.wiring.result import Result

BACKFILLS = ["easy", "backfill-by-end", "conservative"]


def of_series(step_s: float, *rows: tuple[float, float, int, list[float]]) -> JobTable:
    """Return jobs from (submit, work, nodes, power over time) rows; their estimates are right."""
    series = PowerSeries.build(step_s, [watts for *_, watts in rows])
    return JobTable.build(
        submit_s=[row[0] for row in rows],
        work_s=[row[1] for row in rows],
        nodes=[row[2] for row in rows],
        request_s=[row[1] for row in rows],
        draw_w=[float(np.mean(row[3])) for row in rows],
        series=series,
    )


def peak_above_limit_w(result: Result) -> float:
    """Return by how much power was above the limit at most in a row of the timeline in which a job started."""
    rows = result.logs["timeline"]
    started = rows[np.isin(rows[:, codes.TL_TIME], result.logs["px_from_s"])]
    return float((started[:, codes.TL_POWER] - started[:, codes.TL_LIMIT] * (1 + 3e-9)).max(initial=-np.inf))


@pytest.mark.parametrize("select", BACKFILLS)
def test_what_a_running_job_draws_now_comes_free_when_it_ends(select: str) -> None:
    """A job that draws 250 W now and 150 W on average leaves 250 W: the first in line is promised them, nobody passes
    it for good.

    At 10 s the first job draws 250 W of 300 W. The second needs 200 W, from 100 s on. The third, of 40 W and 500 s,
    must not start before it: counting 150 W, the plan found no time at which the second could ever start, and let
    everybody pass.
    """
    jobs = of_series(
        50.0,
        (0.0, 100.0, 1, [250.0, 50.0]),
        (10.0, 100.0, 1, [280.0]),
        (20.0, 500.0, 1, [40.0]),
        (30.0, 500.0, 1, [10.0]),
    )
    result = run(jobs, cluster(4, idle_w=0.0), select=select, options=Options(limit_w=[(0.0, 300.0)], sample_s=1000.0))
    assert result.state.now_w[0] == 250.0  # never sampled again
    assert result.state.started_s.tolist()[:2] == [0.0, 100.0]
    assert result.state.reserved_s[1] == 100.0


@pytest.mark.parametrize("select", BACKFILLS)
def test_no_more_comes_free_than_is_drawn(select: str) -> None:
    """A job that draws 50 W now and 150 W on average leaves 50 W: the first in line is promised nothing that is not
    there.
    """
    jobs = of_series(
        50.0,
        (0.0, 100.0, 1, [50.0, 250.0]),
        (5.0, 300.0, 1, [200.0]),
        (10.0, 100.0, 1, [100.0]),
        (20.0, 100.0, 1, [270.0]),
    )
    result = run(jobs, cluster(4, idle_w=0.0), select=select, options=Options(limit_w=[(0.0, 280.0)], sample_s=1000.0))
    assert result.state.reserved_s[2] == 305.0
    assert result.state.started_s.tolist() == [0.0, 5.0, 305.0, 405.0]


def test_a_start_counts_what_the_job_draws_at_once() -> None:
    """A job of 250 W at first and 150 W on average does not start where 200 W are left: the limit holds at every
    start.
    """
    jobs = of_series(50.0, (0.0, 100.0, 1, [100.0]), (0.0, 100.0, 1, [250.0, 50.0]))
    result = run(jobs, cluster(4, idle_w=0.0), options=Options(limit_w=[(0.0, 300.0)]))
    assert result.state.started_s.tolist() == [0.0, 100.0]
    assert peak_above_limit_w(result) <= 0.0


@given(
    st.integers(0, 10_000), st.sampled_from([*BACKFILLS, "window", "first-fit", "in-order", "reselect"]), st.booleans()
)
@examples(40)
def test_no_start_exceeds_the_limit_whatever_jobs_draw(seed: int, select: str, sleeps: bool) -> None:
    """Where power changes over time and is known, power is within the limit whenever a job starts or resumes."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(25):
        work = float(rng.integers(5, 200))
        rows.append(
            (
                float(rng.integers(0, 400)),
                work,
                int(rng.integers(1, 4)),
                rng.uniform(110.0, 300.0, int(work / 10.0) + 1).tolist(),
            )
        )
    rows.sort(key=lambda row: row[0])
    machine = cluster(5, sleep=Sleep(10.0, 20.0, 1.0, 5.0) if sleeps else None)
    limit = [(0.0, 1200.0), (150.0, 1150.0), (300.0, 1400.0)]
    result = run(of_series(10.0, *rows), machine, select=select, options=Options(limit_w=limit))
    assert peak_above_limit_w(result) <= 0.0
    assert set(status_names(result)) == {"finished"}


def test_power_beyond_the_end_of_a_job_counts_for_nothing() -> None:
    """Two steps are drawn, 100 and 200 W; what follows in the series is neither known to an oracle nor rejected."""
    jobs = replace(of_series(300.0, (0.0, 500.0, 1, [100.0, 200.0, 300.0, 400.0])), draw_w=np.array([140.0]))
    for profile in ("known", "oracle"):
        result = run(jobs, cluster(2, idle_w=0.0), options=Options(limit_w=[(0.0, 200.0)]), profile=profile)
        assert status_names(result) == ["finished"]
        assert result.state.started_s[0] == 0.0
        assert result.state.energy_j[0] == pytest.approx(300.0 * 100.0 + 200.0 * 200.0)


def test_a_job_that_no_limit_allows_is_rejected_by_its_greatest_power() -> None:
    """A job whose power is known and at some time above every limit is rejected, unless caps hold it below."""
    jobs = of_series(50.0, (0.0, 100.0, 1, [100.0, 280.0]), (0.0, 100.0, 1, [100.0]))
    options = Options(limit_w=[(0.0, 250.0)])
    assert status_names(run(jobs, cluster(2, idle_w=0.0), options=options)) == ["rejected", "finished"]
    capped = run(jobs, cluster(2, idle_w=0.0, min_cap_w=50.0), cap="under-limit", options=options)
    assert status_names(capped) == ["finished", "finished"]
    assert capped.logs["timeline"][:, codes.TL_POWER].max() <= 250.0 * (1 + 1e-9)
    too_high = run(jobs, cluster(2, idle_w=0.0, min_cap_w=260.0), cap="under-limit", options=options)
    assert status_names(too_high) == ["rejected", "finished"]  # at the lowest cap it would still draw 260 W


@policy("profile", wake="arrival")
def unsure(s: State, arg: int, param: Any, memory: Any) -> int:
    """Believe 100 W a node, give or take 50 W, and keep two deviations free."""
    if arg >= 0:
        s.profile_w[arg] = 100.0
        s.spread_w[arg] = 50.0
        s.profile_from[arg] = 0
    s.margin[0] = 2.0
    return 0


@pytest.mark.parametrize("select", BACKFILLS)
def test_the_margin_of_a_job_comes_free_with_it(select: str) -> None:
    """When all running jobs have ended nothing is left of their margin: the first in line has a reservation then.

    Two jobs of 100 W need 200 + 2 √2 · 50 = 341 W, one of two nodes 200 + 200 W: it fits below 400 W, alone.
    """
    rows = [{"submit": 0, "work": 100, "nodes": 1, "request": 100, "draw": 100.0} for _ in range(2)]
    rows += [{"submit": 10, "work": 100, "nodes": 2, "request": 100, "draw": 100.0}]
    rows += [{"submit": 20 + i, "work": 60, "nodes": 1, "request": 60, "draw": 100.0} for i in range(30)]
    result = run(
        table(*rows), cluster(3, idle_w=0.0), select=select, profile=unsure, options=Options(limit_w=[(0.0, 400.0)])
    )
    assert result.state.reserved_s[2] == 100.0
    assert result.state.started_s[2] == 100.0


@pytest.mark.parametrize("select", ["easy", "backfill-by-end"])
def test_a_job_that_wakes_nodes_gives_back_what_was_counted_for_it(select: str) -> None:
    """A start that wakes nodes counts at 300 W a node and frees as much in the plan of that very pass, but for nodes
    that stay awake.
    """
    rows = [{"submit": 0, "work": 1, "nodes": 1, "request": 1, "draw": 100.0}]
    rows += [{"submit": 50, "work": 100, "nodes": 1, "request": 100, "draw": 100.0}]
    rows += [{"submit": 50, "work": 100, "nodes": 3, "request": 100, "draw": 300.0} for _ in range(2)]
    result = run(
        table(*rows),
        cluster(4, idle_w=0.0, sleep=Sleep(0.0, 1.0, 0.0, 5.0)),
        select=select,
        options=Options(limit_w=[(0.0, 1000.0)]),
    )
    assert np.isfinite(result.state.reserved_s[2])
