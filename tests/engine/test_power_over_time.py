"""Power that changes while jobs run: energy, caps, limits that fall, decisions at ticks, limits pushed by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.worlds import (
    accounted_energy_j,
    check_structure,
    cluster,
    examples,
    policies,
    run,
    table,
    timeline_energy_j,
)
from wattline.errors import InputError
from wattline.model import codes
from wattline.model.jobs import JobTable
from wattline.model.mechanism import policy
from wattline.model.series import PowerSeries
from wattline.model.state.record import State
from wattline.sim.simulate import Simulation
from wattline.wiring.options import Options


def workload(seed: int, jobs: int = 30, step_s: float = 10.0) -> JobTable:
    """Return jobs whose power goes up and down."""
    rng = np.random.default_rng(seed)
    work = rng.uniform(5.0, 200.0, jobs)
    series = PowerSeries.build(step_s, [rng.uniform(110.0, 300.0, int(w / step_s) + 1) for w in work])
    return JobTable.build(
        submit_s=np.cumsum(rng.exponential(15.0, jobs)),
        work_s=work,
        nodes=rng.integers(1, 4, jobs),
        request_s=2 * work,
        series=series,
        draw_w=[float(series.of(j).mean()) for j in range(jobs)],
    )


def test_samples_rarer_than_the_series_are_said() -> None:
    """Power changes at samples only: where a trace has values between them, that is no secret."""
    row = {"submit": 0, "work": 35, "nodes": 2, "request": 40}
    jobs = table(row, series=PowerSeries.build(10.0, [[100, 200, 300, 150]]))
    said = run(jobs, cluster(4), options=Options(sample_s=20.0)).notes
    assert [(row[2], row[3]) for row in said] == [(1, "sampled every 20 s, a value every 10 s")]
    assert run(jobs, cluster(4), options=Options(sample_s=5.0)).notes == ()


def test_a_job_draws_what_its_series_says() -> None:
    """Samples lie on a grid from the start of the run; between two of them power stays."""
    jobs = table({"submit": 0, "work": 35, "nodes": 2}, series=PowerSeries.build(10.0, [[100, 200, 300, 150]]))
    result = run(jobs, cluster(4, idle_w=0.0))
    rows = result.logs["timeline"]
    assert rows[:, codes.TL_TIME].tolist() == [0.0, 10.0, 20.0, 30.0, 35.0]
    assert rows[:, codes.TL_POWER].tolist() == [200.0, 400.0, 600.0, 300.0, 0.0]
    assert result.state.energy_j[0] == 2 * (1000 + 2000 + 3000 + 750)


@given(
    st.integers(0, 10_000),
    st.sampled_from(["window", "easy", "conservative"]),
    st.sampled_from(["none", "under-limit"]),
)
@examples(40)
def test_every_joule_is_accounted_for(seed: int, select: str, cap: str) -> None:
    """The energy of jobs and idle nodes is the integral of the power, whatever changes."""
    machine = cluster(5, min_cap_w=100.0)
    options = Options(limit_w=[(0, 1300.0), (300, 900.0), (600, 1500.0)])
    result = run(workload(seed), machine, select=select, cap=cap, options=options)
    check_structure(result.state)
    np.testing.assert_allclose(accounted_energy_j(result), timeline_energy_j(result), rtol=1e-9)
    assert np.all(result.state.status == codes.FINISHED)


@given(
    st.integers(0, 10_000),
    st.sampled_from(["maximum", "measured", "t-test", "t-test-per-job", "quantile", "pooled", "oracle", "known"]),
)
@examples(60)
def test_a_limit_that_falls_is_kept_by_caps(seed: int, profile: str) -> None:
    """Power is never above a limit of at least idle and lowest powers, not even when it falls in the middle of jobs."""
    machine = cluster(5, min_cap_w=100.0)
    options = Options(limit_w=[(0, 1300.0), (123.4, 600.0), (600, 1500.0), (700, 510.0)], exceed=True)
    result = run(workload(seed), machine, select="window", cap="under-limit", profile=profile, options=options)
    rows = result.logs["timeline"]
    assert np.all(rows[:, codes.TL_POWER] <= rows[:, codes.TL_LIMIT] * (1 + 1e-9))
    assert np.all(result.state.status == codes.FINISHED)


def test_within_a_quantum_the_limit_may_be_exceeded_no_longer_than_that() -> None:
    """Where decisions wait for ticks, power stays above a limit that fell until the next tick and no longer."""
    machine = cluster(5, min_cap_w=100.0)
    options = Options(limit_w=[(0, 1500.0), (123.4, 600.0)], tick_s=10.0, quantum=True, exceed=True)
    result = run(workload(3), machine, select="window", cap="under-limit", options=options)
    rows = result.logs["timeline"]
    over = np.flatnonzero(rows[:, codes.TL_POWER] > rows[:, codes.TL_LIMIT] * (1 + 1e-9))
    ends = rows[np.minimum(over + 1, len(rows) - 1), codes.TL_TIME]
    starts = rows[over, codes.TL_TIME]
    assert over.size
    start_s = result.state.start_s[0]
    assert np.all(np.floor((ends - start_s) / 10.0 - 1e-9) == np.floor((starts - start_s) / 10.0 + 1e-9))
    in_grid = (result.state.started_s - start_s) / 10.0
    np.testing.assert_allclose(in_grid, np.round(in_grid), atol=1e-9)


def test_without_caps_jobs_are_stopped_if_that_is_allowed() -> None:
    """The last started goes first, the journal says why, and it ends later with all its work done."""
    jobs = table(*({"submit": t, "work": 100, "nodes": 2} for t in (0, 10)))
    machine = cluster(4, idle_w=0.0)
    options = Options(limit_w=[(0, 1200.0), (50, 600.0)], shed=True)
    result = run(jobs, machine, select="window", options=options)
    assert result.state.end_s.tolist() == [100.0, 160.0]
    assert result.state.preemptions.tolist() == [0, 1]
    stops = result.logs["a_kind"] == codes.ACT_STOP
    assert [codes.WHY_NAMES[w] for w in result.logs["a_why"][stops]] == ["shed"]
    rows = result.logs["timeline"]
    assert np.all(rows[:, codes.TL_POWER] <= rows[:, codes.TL_LIMIT])
    left = run(jobs, machine, select="window", options=Options(limit_w=options.limit_w))
    assert left.state.end_s.tolist() == [100.0, 110.0]


def test_caps_come_before_stops() -> None:
    """Where caps suffice nobody is stopped; where they do not, no more than needed."""
    jobs = table(*({"submit": 0, "work": 100, "nodes": 1} for _ in range(4)))
    machine = cluster(4, idle_w=0.0, min_cap_w=150.0)
    options = Options(limit_w=[(0, 1200.0), (50, 600.0), (60, 450.0)], shed=True)
    result = run(jobs, machine, select="window", cap="under-limit", options=options)
    assert sorted(result.state.preemptions.tolist()) == [0, 0, 0, 1]
    stops = result.logs["a_kind"] == codes.ACT_STOP
    assert result.logs["a_time_s"][stops].tolist() == [60.0]


@pytest.mark.parametrize("seed", range(8))
def test_jobs_with_floors_are_capped_down_to_them_without_a_lowest_cap(seed: int) -> None:
    """Nodes of which nobody says how low their caps go follow the floors of jobs; jobs without one are never capped.

    So it is as if the nodes took the lowest of these, and as if those without had a floor of what they draw.
    """
    rng = np.random.default_rng(seed)
    n = 40
    draw_w = rng.uniform(150.0, 300.0, n).round()
    floor_w = np.where(rng.random(n) < 0.6, (draw_w * rng.uniform(0.4, 1.0, n)).round(), np.nan)
    jobs = JobTable.build(
        submit_s=np.cumsum(rng.exponential(30.0, n)).round(),
        work_s=rng.integers(20, 400, n).astype(float),
        nodes=rng.integers(1, 4, n),
        draw_w=draw_w,
        floor_w=floor_w,
        stretch=np.where(np.isnan(floor_w), np.nan, rng.uniform(1.0, 3.0, n)),
    )
    limit_w = [(60.0 * i, float(watts)) for i, watts in enumerate(rng.uniform(1000.0, 2200.0, 60))]
    options = Options(limit_w=[*limit_w, (3600.0, 2400.0)], shed=True)
    found = run(jobs, cluster(8), cap="under-limit", options=options)
    told = replace(jobs, floor_w=np.where(np.isnan(floor_w), draw_w, floor_w))
    plain = run(told, cluster(8, min_cap_w=float(np.nanmin(floor_w))), cap="under-limit", options=options)
    assert found.state.end_s.tolist() == plain.state.end_s.tolist()
    assert found.state.energy_j.tolist() == plain.state.energy_j.tolist()
    steady = found.state.started_s + jobs.work_s
    slowed = (found.state.end_s > steady + 1e-6) & (found.state.preemptions == 0)
    assert not np.any(slowed & np.isnan(floor_w))
    assert np.any(slowed)


def test_who_was_stopped_comes_back_when_what_it_drew_fits() -> None:
    """A job that draws more than is known of it is stopped once, not anew at every event: it counts with what it
    drew.
    """
    small = 20
    watts = [100.0, 100.0, *[5.0] * small]
    jobs = replace(
        JobTable.build(
            submit_s=[0.0, 0.0, *(800.0 + 60.0 * i for i in range(small))], work_s=[6000.0, 3000.0, *[30.0] * small],
            nodes=[1] * (small + 2), draw_w=watts, floor_w=watts,
        ),
        series=PowerSeries.build(300.0, [[100.0], [90.0, 90.0, 150.0, 150.0, 150.0, 90.0], *[[5.0]] * small]),
    )  # fmt: skip
    machine = cluster(4, idle_w=0.0, max_w=160.0)
    result = run(jobs, machine, select="window", options=Options(limit_w=[(0, 220.0)], shed=True, sample_s=300.0))
    assert result.state.preemptions.tolist() == [0, 1, *[0] * small]
    assert result.state.end_s[1] == 6000.0 + 2400.0
    assert result.logs["timeline"][:, codes.TL_POWER].max() <= 220.0


def test_a_limit_is_pushed_during_a_run() -> None:
    """An operator's new limit is in force at once: caps fall in the same instant."""
    jobs = table(*({"submit": t, "work": 100, "nodes": 1} for t in (0, 20, 40)))
    chosen = policies(None, select="window", cap="under-limit")
    simulation = Simulation(jobs, cluster(4, idle_w=0.0, min_cap_w=100.0), chosen, Options())
    with simulation:
        simulation.advance(2)
        assert simulation.state.now[0] == 20.0
        simulation.push_limit(400.0)
        assert simulation.state.busy_w[0] == pytest.approx(400.0)
        while simulation.advance(1000) not in (codes.DONE, codes.UNTIL):
            pass
    rows = simulation.result().logs["timeline"]
    assert rows[rows[:, codes.TL_TIME] >= 20, codes.TL_POWER].max() <= 400.0 * (1 + 1e-9)
    with pytest.raises(InputError, match="negative"):
        simulation.push_limit(-1.0)


@policy("cap", caps=True)
def alike(s: State, mask: int, param: Any, memory: Any) -> int:
    """Cap classes of jobs."""
    return 0


def test_many_alike_cannot_be_capped_together() -> None:
    """A cap policy that caps classes of jobs refuses jobs that change their power one by one."""
    with pytest.raises(InputError, match="under-limit"):
        Simulation(workload(0), cluster(5, min_cap_w=100.0), policies(None, cap=alike))


def test_capped_samples_teach_nothing() -> None:
    """What a job draws under a cap is the cap, so the learner leaves such samples out."""
    jobs = table(*({"submit": 0, "work": 4000, "nodes": 1, "draw": 250} for _ in range(2)), group=[0, 0], groups=["p"])
    machine = cluster(2, idle_w=0.0, min_cap_w=100.0)
    options = Options(limit_w=[(0, 700.0), (1, 300.0)], sample_s=10.0)
    simulation = Simulation(
        jobs, machine, policies(None, select="window", cap="under-limit", profile="t-test"), options
    )
    simulation.run()
    kept = simulation.learned()
    assert kept is not None
    assert all(label[0] >= 0 for label in kept.labels)
    assert sum(row[3] for row in kept.rows) <= 4  # one sample at the start for each, at both levels


def alone_under_a_cap(
    job: tuple[float, int, list[float]], step_s: float, lowest_w: float, room_w: float, told: tuple[float, float] | None
) -> tuple[float, float]:
    """Return when a job that runs alone from 0 s on ends, and its energy: plainly, from one sample to the next.

    ``told`` is its lowest power and its slowdown there, if they were measured; without that its speed at the lowest cap
    is in proportion to power. Run time grows by the same part for every watt that is cut.
    """
    work_s, nodes, watts = job
    longer_per_w = 1.0 / lowest_w
    if told is not None:
        floor_w, stretch = told
        mean_w = sum(w * min(step_s, work_s - i * step_s) for i, w in enumerate(watts)) / work_s
        longer_per_w = (stretch - 1.0) / (mean_w - floor_w)
    done_s = energy_j = 0.0
    sample = 0
    while True:
        wanted_w = watts[min(len(watts) - 1, int(done_s / step_s + 1e-9))]
        drawn_w = min(wanted_w, max(lowest_w, room_w / nodes))
        rate = 1.0 / (1.0 + longer_per_w * (wanted_w - drawn_w))
        lasts_s = min(step_s, (work_s - done_s) / rate)
        energy_j += nodes * drawn_w * lasts_s
        if lasts_s < step_s or done_s + rate * lasts_s >= work_s - 1e-9:
            return sample * step_s + lasts_s, energy_j
        done_s += rate * lasts_s
        sample += 1


@given(
    st.lists(st.integers(60, 300), min_size=1, max_size=6),
    st.integers(1, 3),
    st.sampled_from([60.0, 100.0, 149.0, 151.0, 200.0, 290.0]),
    st.integers(120, 900),
    st.floats(1.0, 10.0),
    st.booleans(),
)
@examples(150)
def test_peaks_are_cut_at_the_cost_of_time(
    watts: list[int], nodes: int, lowest_w: float, room_w: int, last_s: float, measured: bool
) -> None:
    """Caps on power over time cost time at every moment at which they cut something, also where the lowest cap is
    above the mean.
    """
    values = [float(w) for w in watts]
    work_s = 10.0 * (len(values) - 1) + round(last_s, 3)
    mean_w = sum(w * min(10.0, work_s - i * 10.0) for i, w in enumerate(values)) / work_s
    least_w = nodes * max(mean_w, values[0], min(max(values), lowest_w))
    told = (50.0, 1.8) if measured else None
    jobs = table(
        {"submit": 0, "work": work_s, "nodes": nodes, "draw": mean_w}
        | ({"floor_w": told[0], "stretch": told[1]} if told else {}),
        series=PowerSeries.build(10.0, [values]),
    )
    machine = cluster(3, idle_w=0.0, min_cap_w=lowest_w)
    result = run(jobs, machine, cap="under-limit", options=Options(limit_w=[(0.0, float(room_w))]))
    if least_w > room_w * (1 + 1e-9):
        assert result.state.status[0] == codes.REJECTED
        return
    end_s, energy_j = alone_under_a_cap((work_s, nodes, values), 10.0, lowest_w, room_w, told)
    assert result.state.end_s[0] == pytest.approx(end_s, rel=1e-9)
    assert result.state.energy_j[0] == pytest.approx(energy_j, rel=1e-6)  # the series is kept in single precision


def test_caps_down_to_nothing_need_a_slowdown() -> None:
    """At 0 W a node speed in proportion to power is none: without a measured slowdown such caps are refused."""
    jobs = table({"submit": 0, "work": 10, "nodes": 1})
    with pytest.raises(InputError, match="could be capped down to 0 W a node"):
        run(jobs, cluster(2, min_cap_w=0.0), cap="under-limit", options=Options(limit_w=[(0.0, 400.0)]))
    told = table({"submit": 0, "work": 10, "nodes": 1, "floor_w": 0.0, "stretch": 2.0})
    limited = Options(limit_w=[(0.0, 400.0), (5.0, 250.0)])
    result = run(told, cluster(2, min_cap_w=0.0), cap="under-limit", options=limited)
    assert result.state.end_s[0] == pytest.approx(5.0 + 5.0 * 1.5)
