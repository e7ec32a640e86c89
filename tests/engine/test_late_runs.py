"""What holds of every run of a machine that is late, whatever the policies: no node, job or joule is lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import capped, late
from engine.test_invariants import OUTAGES, SELECTS, machine
from engine.worlds import (
    Work,
    accounted_energy_j,
    assert_no_double_booking,
    check_structure,
    cluster,
    examples,
    placements,
    policies,
    run,
    status_names,
    timeline_energy_j,
    workloads,
)
from wattline.model import codes
from wattline.model.cluster import Cluster, Level, NodeClass, Outage, Sleep
from wattline.model.mechanism import policy
from wattline.policies.helpers import uniform
from wattline.sim.simulate import Result, Simulation
from wattline.wiring.options import Options
from wattline.wiring.tables import running_energy_j

FEW, SOME = examples(12), examples(60)
DELAYS = st.sampled_from([(0.0, 0.0), (0.0, 1.5), (2.0, 2.0), (0.25, 7.0)])


def assert_late_sound(result: Result) -> None:
    """Assert all that must hold at the end of a run in which jobs and caps were late."""
    s, jobs = result.state, result.jobs
    check_structure(s)
    assert_no_double_booking(result)
    assert set(status_names(result)) <= {"finished", "killed", "failed", "rejected"}
    ran = ~np.isnan(s.started_s)
    assert np.all(s.started_s[ran] >= s.eligible_s[ran])
    assert np.all(s.end_s[ran] >= s.started_s[ran])
    assert np.all(ran | np.isin(s.status, (codes.FAILED, codes.REJECTED)))
    np.testing.assert_allclose(s.energy_j.sum(), s.node_j[:, 0].sum() + s.node_j[:, 3].sum(), rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(accounted_energy_j(result) + s.noise_j[0], timeline_energy_j(result), rtol=1e-9)
    np.testing.assert_allclose(s.node_s.sum(), (s.now[0] - s.start_s[0]) * result.cluster.nodes, rtol=1e-9)
    assert s.busy_w[0] == s.busy_w[1] == 0.0
    assert s.n_active[0] == s.n_starting[0] == s.n_due[0] == 0
    for j, t0, t1, _ in placements(result):
        assert s.eligible_s[j] <= t0 <= t1 <= s.end_s[j]
    assert jobs.nodes.size == s.status.size


def share(s: Any, c: int, cap_w: float, level: float) -> float:
    """Return the power of a rate class at a cap, over its uncapped one."""
    return level * (1.0 if cap_w >= s.c_draw_w[c] else max(cap_w, s.c_floor_w[c]) / s.c_draw_w[c])


def committed_w(s: Any) -> float:
    """Return the power once all that were told to start are there, and the highest caps on their way in force."""
    total = sum(
        (s.free[p] - s.asleep[p] + s.paused[p]) * s.idle_w[p] + s.asleep[p] * s.sleep_w[p] + s.waking_w[p]
        for p in range(s.free.size)
    )
    for j in s.running[: s.n_running[0]]:
        p, c = s.pool[j], s.rate_class[j]
        if s.status[j] == codes.RUNNING:
            flights = s.fl_w[c, : s.fl_n[c]] if s.fl_n.size else ()
            level = s.level_busy[p, s.level[p]]
            total += s.nodes[j] * s.now_w[j] * max([s.c_power[c], *(share(s, c, cap, level) for cap in flights)])
        elif s.status[j] == codes.STARTING:
            total += s.nodes[j] * (s.draw_w[j] * s.level_busy[p, s.level[p]] - s.idle_w[p])
    return float(total)


@pytest.mark.parametrize("select", SELECTS)
@FEW
@given(
    work=workloads(counts=(4, 3), linked=True, most=16),
    outages=OUTAGES,
    kill=st.booleans(),
    requeue=st.booleans(),
    sleep=st.booleans(),
    ties=st.sampled_from(["instant", "event"]),
    limited=st.booleans(),
    start=DELAYS,
    order=st.sampled_from(["fcfs", "lcfs", "wfp"]),
)
def test_every_late_run_is_sound(select: str, work: Work, outages: list[Any], limited: bool, **how: Any) -> None:
    """Whoever selects: after every instant nodes add up and, where a job was told to start, what was promised of power
    stays below the limit; at the end no job and no joule is lost.
    """
    limit = [(0.0, 1400.0), (20.0, 1100.0), (60.0, 2500.0)] if limited else []
    options = Options(
        kill=how["kill"], requeue=how["requeue"], ties=how["ties"], limit_w=limit, late_start_s=how["start"]
    )
    place = machine(outages, sleep=how["sleep"])
    sim = Simulation(work.table(["a", "b"]), place, policies(select=select, order=how["order"]), options)
    with sim:
        while sim.advance(1) == codes.BUDGET:
            s = sim.state
            check_structure(s)
            rows = slice(int(s.a_from[0]), int(s.a_n[0]))
            started = (s.a_kind[rows] == codes.ACT_START) & (s.a_verdict[rows] == codes.OK)
            if started.any() and s.a_time_s[rows][-1] == s.now[0]:
                assert committed_w(s) <= s.limit_w[0] * (1 + 3e-9)
    assert_late_sound(sim.result())


@policy("cap", wake="arrival end tick timer", caps=True, solo_caps=True, memory=1)
def whims(s, arg, param, memory):
    """Cap classes and single jobs, set levels and timers, at random: also to what is not allowed."""
    memory[0] += 8
    coin = [uniform(param[-1], 11, int(memory[0]) + i) for i in range(8)]
    for c in range(s.want_cap_w.size):
        s.want_cap_w[c] = np.inf if coin[0] < 0.3 else 400.0 * uniform(param[-1], 12 + c, int(memory[0]))
    for p in range(s.want_level.size):
        s.want_level[p] = int(coin[1] * (s.n_levels[p] + 1))
    n = min(int(coin[2] * 4), int(s.n_running[0]))
    for i in range(n):
        s.recap_job[i] = s.running[int(coin[3] * s.n_running[0])]
        s.recap_w[i] = np.inf if coin[4] < 0.3 else 350.0 * coin[5]
    s.n_recap[0] = n
    s.wake_at_s[codes.CAP] = s.now[0] + 0.1 + 2.0 * coin[6] if coin[7] < 0.7 else np.inf
    return 1


@SOME
@given(
    work=workloads(counts=(4, 3), linked=True, most=14),
    outages=OUTAGES,
    select=st.sampled_from(SELECTS),
    seed=st.integers(0, 10_000),
    kill=st.booleans(),
    start=DELAYS,
    cap=DELAYS,
    noise=st.sampled_from([0.0, 0.03]),
)
def test_sound_whatever_late_caps_there_are(work: Work, outages: list[Any], select: str, seed: int, **how: Any) -> None:
    """Caps of classes and of single jobs that change at random and overtake each other lose no job and no joule, and
    keep no rate class; energy is exact with the caps as they were in force.
    """
    two = (Level(0.5, 180.0, 80.0), Level(1.0, 300.0, 100.0))
    classes = (
        NodeClass("a", 4, 100.0, 300.0, min_cap_w=150.0, levels=two, sleep=Sleep(10.0, 4.0, 1.0, 2.5)),
        NodeClass("b", 3, 50.0, 320.0, min_cap_w=110.0),
    )
    lost = tuple(Outage(float(t), float(t + d), first, count, drain) for t, d, first, count, drain in outages)
    options = Options(
        kill=how["kill"], tick_s=2.5, late_start_s=how["start"], late_cap_s=how["cap"], noise=how["noise"]
    )
    place, chosen = Cluster(classes, outages=lost), policies(select=select, cap=whims)
    sim = Simulation(work.table(["a", "b"]), place, chosen, options, seed=seed)
    with sim:
        while sim.advance(1) == codes.BUDGET:
            s = sim.state
            check_structure(s)
            for c in range(s.fl_n.size):
                due = s.fl_s[c, : s.fl_n[c]]
                assert np.all(np.diff(due) > 0)
                assert np.all(due >= s.now[0])
                assert not due.size or (s.c_n[c] > 0 and due[0] >= s.land_s[0] >= s.schedule_s[0])
    result = sim.result()
    assert_late_sound(result)
    s = result.state
    assert sorted(s.solo[: s.n_solo[0]]) == list(range(s.c_n.size - s.n_solo[0], s.c_n.size))


@SOME
@given(work=workloads(counts=(7,), most=16), cap=st.sampled_from([0.5, 3.0]), start=DELAYS, shed=st.booleans())
def test_a_limit_is_kept_once_caps_are_in_force(work: Work, cap: float, start: Any, shed: bool) -> None:
    """Under caps that are late by a fixed time, power is above a limit for that long after it fell, and not longer."""
    columns = work.table(["a"]).with_columns(floor_w=np.full(len(work.work), 100.0))
    steps = [(0.0, 2100.0), (15.0, 1200.0), (40.0, 2100.0)]
    options = Options(limit_w=steps, late_cap_s=(cap, cap), late_start_s=start, shed=shed)
    machine_ = cluster(7, 100.0, 300.0, min_cap_w=100.0)
    result = run(columns, machine_, select="easy", cap="under-limit", options=options)
    assert_late_sound(result)
    rows = result.logs["timeline"]
    over = rows[rows[:, codes.TL_POWER] > rows[:, codes.TL_LIMIT] * (1 + 3e-9)]
    assert all(any(0 <= t - step < cap + 1e-9 for step, _ in steps) for t in over[:, codes.TL_TIME]), over[:, :2]


@pytest.mark.parametrize("learner", capped.LEARNERS)
@pytest.mark.parametrize("start", [(0.0, 2.0), (9.0, 30.0)])
def test_late_jobs_of_unknown_power_are_counted(learner: str, start: tuple[float, float]) -> None:
    """Where power is learned, jobs are stopped and caps set, late runs lose no job and no joule either, and what was
    believed of starting jobs is taken from the room under the limit.
    """
    calm = capped.simulation(learner)
    late_too = replace(calm.options, late_start_s=start, late_cap_s=(0.0, 3.0))
    sim = Simulation(calm.jobs, calm.cluster, calm.policies, late_too)
    starting = 0
    with sim:
        while sim.advance(1) == codes.BUDGET:
            check_structure(sim.state)
            starting = max(starting, int(sim.state.n_starting[0]))
    assert starting > 0
    result = sim.result()
    assert_late_sound(result)
    stops = result.logs["a_kind"] == codes.ACT_STOP
    assert np.all(result.logs["a_verdict"][stops] == codes.OK)


@pytest.mark.parametrize("select", ["gps", "slackline", "tracking-only", "energyqare", "qoscap"])
@pytest.mark.parametrize("start", [(0.0, 2.0), (3.0, 9.0)])
def test_late_followers_are_sound_after_every_instant(select: str, start: tuple[float, float]) -> None:
    """Policies that follow a target, with pauses and standby jobs, leave nodes, queue and caps in order at any time."""
    made = late.simulation("gps")
    chosen = policies({"select": {"gps": {"preempt": 1.0}, "slackline": {"stop": 0.9}}.get(select, {})}, select=select)
    chosen = replace(chosen, cap=made.policies.cap)
    sim = Simulation(made.jobs, made.cluster, chosen, replace(made.options, late_start_s=start), seed=4)
    seen = set()
    with sim:
        while sim.advance(1) == codes.BUDGET:
            check_structure(sim.state)
            seen |= set(sim.state.status.tolist())
    assert codes.STARTING in seen
    total = accounted_energy_j(sim.result()) + sim.state.noise_j[0] + running_energy_j(sim.state).sum()
    assert timeline_energy_j(sim.result()) == pytest.approx(total, rel=1e-9)
