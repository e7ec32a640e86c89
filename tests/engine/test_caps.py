"""Caps and levels that change while jobs run: exact ends and energies against closed forms and brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.worlds import accounted_energy_j, cluster, run, table, timeline_energy_j
from wattline.model import codes
from wattline.model.cluster import Level
from wattline.model.jobs import JobTable
from wattline.model.mechanism import policy
from wattline.wiring.options import Options
from wattline.wiring.tables import frames

IDLE, MAX, FLOOR, STRETCH = 100.0, 300.0, 150.0, 2.0


def speed(cap_w: float, draw_w: float = MAX, floor_w: float = FLOOR, stretch: float = STRETCH) -> float:
    """Return the progress per second under a cap: run time grows linearly as power falls."""
    power = min(draw_w, max(cap_w, floor_w))
    if floor_w == draw_w:
        return 1.0
    return 1.0 / (1.0 + (stretch - 1.0) * (draw_w - power) / (draw_w - floor_w))


@policy("cap", wake="tick", caps=True, compiled=True)
def saw(s, arg, param, memory):
    """Every second another cap: 150, 175, …, 300, and again."""
    k = int(s.now[0]) % 7
    for c in range(s.want_cap_w.shape[0]):
        s.want_cap_w[c] = 150.0 + 25.0 * k
    return 1


def saw_cap(t: int) -> float:
    """Return the cap in force from second t on."""
    return 150.0 + 25.0 * (t % 7)


def by_seconds(
    work: float, nodes: int, start: int, draw_w: float, floor_w: float, stretch: float
) -> tuple[float, float]:
    """Return end and energy of a job by walking through the seconds."""
    left, energy, t = work, 0.0, start
    while True:
        cap = saw_cap(t)
        rate = speed(cap, draw_w, floor_w, stretch)
        watts = nodes * min(draw_w, max(cap, floor_w))
        took = min(1.0, left / rate)
        energy += watts * took
        left -= rate * took
        if left <= 1e-12:
            return t + took, energy
        t += 1


def test_caps_that_change_every_second() -> None:
    """A job under a cap that changes every second ends, and has drawn, what a walk through the seconds gives."""
    jobs = table(*[
        {"submit": t, "work": w, "nodes": n, "draw": d, "floor_w": f, "stretch": x}
        for t, w, n, d, f, x in [
            (0, 40, 1, 300, 150, 2.0), (2, 25.5, 2, 300, 150, 2.0), (3, 33, 1, 250, 200, 1.3), (7, 8, 1, 160, 160, 1.0),
            (11, 100, 1, 300, 150, 3.0),
        ]
    ])  # fmt: skip
    machine = cluster(6, IDLE, MAX, min_cap_w=FLOOR)
    result = run(jobs, machine, cap=saw, options=Options(tick_s=1.0))
    for j in range(len(jobs)):
        end, energy = by_seconds(
            jobs.work_s[j], int(jobs.nodes[j]), int(jobs.submit_s[j]), jobs.draw_w[j], jobs.floor_w[j], jobs.stretch[j]
        )
        assert result.state.end_s[j] == pytest.approx(end, rel=1e-12)
        assert result.state.energy_j[j] == pytest.approx(energy, rel=1e-12)
    assert accounted_energy_j(result) == pytest.approx(timeline_energy_j(result), rel=1e-12)


def test_many_jobs_share_a_changing_rate() -> None:
    """Three hundred jobs of two profiles, capped every second: every end and energy equals the walk through the
    seconds.
    """
    rng = np.random.default_rng(4)
    n = 300
    kind = rng.integers(0, 2, n)
    jobs = JobTable.build(
        submit_s=np.sort(rng.integers(0, 500, n)),
        work_s=rng.integers(1, 200, n),
        nodes=np.ones(n),
        draw_w=np.where(kind, 300.0, 240.0),
        floor_w=np.where(kind, 150.0, 180.0),
        stretch=np.where(kind, 2.0, 1.4),
    )
    result = run(jobs, cluster(n, IDLE, MAX, min_cap_w=FLOOR), cap=saw, options=Options(tick_s=1.0))
    truth = [
        by_seconds(jobs.work_s[j], 1, int(jobs.submit_s[j]), jobs.draw_w[j], jobs.floor_w[j], jobs.stretch[j])
        for j in range(n)
    ]
    np.testing.assert_allclose(result.state.end_s, [end for end, _ in truth], rtol=1e-11)
    np.testing.assert_allclose(result.state.energy_j, [energy for _, energy in truth], rtol=1e-11)
    assert accounted_energy_j(result) == pytest.approx(timeline_energy_j(result), rel=1e-9)


@policy("cap", wake="arrival timer", caps=True, solo_caps=True)
def alone(s, arg, param, memory):
    """Cap the second job alone from 10 s to 20 s, at 200 W."""
    n = 0
    if s.now[0] in (10.0, 20.0):
        s.recap_job[0], s.recap_w[0] = 1, 200.0 if s.now[0] == 10.0 else np.inf
        n = 1
    s.n_recap[0] = n
    s.wake_at_s[codes.CAP] = 10.0 if s.now[0] < 10 else 20.0 if s.now[0] < 20 else np.inf
    return n


def test_one_job_capped_alone() -> None:
    """A job capped alone slows down by itself, keeps its progress, and returns to its class."""
    rows = [{"submit": 0, "work": 30, "nodes": 1, "floor_w": FLOOR, "stretch": STRETCH} for _ in range(3)]
    result = run(table(*rows), cluster(3, IDLE, MAX, min_cap_w=FLOOR), cap=alone)
    s = result.state
    np.testing.assert_array_equal(s.end_s[[0, 2]], [30.0, 30.0])
    slow = speed(200.0)
    assert s.end_s[1] == pytest.approx(20.0 + (30.0 - 10.0 - 10.0 * slow), rel=1e-14)
    rows = frames(result)["decisions"]
    capped = np.array(rows["action"].names)[rows["action"].codes] == "cap"
    assert rows["job_id"][capped].tolist() == [2, 2]  # by name, though the policy may cap whole classes too
    assert rows["rate_class"][capped].tolist() == [-1, -1]
    np.testing.assert_array_equal(rows["cap_w"][capped], [200.0, np.nan])
    assert s.energy_j[1] == pytest.approx(300.0 * 10 + 200.0 * 10 + 300.0 * (s.end_s[1] - 20.0), rel=1e-14)
    assert s.n_solo[0] == s.c_n.size - 1
    assert accounted_energy_j(result) == pytest.approx(timeline_energy_j(result), rel=1e-12)


@policy("select", solo_caps=True)
def frugal(s, arg, param, memory):
    """Start every job that fits at 180 W a node."""
    n, free = 0, s.free[0]
    for i in range(s.q_head[0], s.q_tail[0]):
        j = s.queue[i]
        if j >= 0 and s.nodes[j] <= free:
            s.p_job[n], s.p_nodes[n], s.p_cap_w[n], s.p_why[n] = j, s.nodes[j], 180.0, codes.CHOSEN
            free -= s.nodes[j]
            n += 1
    return n


def test_started_with_a_cap() -> None:
    """A select policy may start jobs at caps of their own; more jobs than classes come and go."""
    rows = [{"submit": t, "work": 10, "nodes": 2, "floor_w": FLOOR, "stretch": STRETCH} for t in range(8)]
    result = run(table(*rows), cluster(4, IDLE, MAX, min_cap_w=FLOOR), select=frugal)
    took = result.state.end_s - result.state.started_s
    np.testing.assert_allclose(took, 10.0 / speed(180.0), rtol=1e-12)
    np.testing.assert_allclose(result.state.energy_j, 2 * 180.0 * took, rtol=1e-12)
    assert result.state.counter[2] == 0


@policy("cap", wake="arrival end", caps=True)
def tight(s, arg, param, memory):
    """Ask for 1 W a node."""
    s.want_cap_w[:] = 1.0
    return 1


def test_caps_are_clipped_to_the_range() -> None:
    """The guard raises a cap below the range to its lowest, and says so."""
    rows = [{"submit": t, "work": 10, "nodes": 1, "floor_w": 50.0, "stretch": STRETCH} for t in (0, 1)]
    result = run(table(*rows), cluster(2, IDLE, MAX, min_cap_w=FLOOR), cap=tight)
    caps = result.logs["a_kind"] == codes.ACT_CAP
    assert result.logs["a_verdict"][caps].tolist() == [codes.CLIPPED]
    assert result.logs["a_cap_w"][caps].tolist() == [FLOOR]
    at_floor = 1.0 / (1.0 + (STRETCH - 1.0) * (MAX - FLOOR) / (MAX - 50.0))
    np.testing.assert_allclose(result.state.end_s, [10.0 / at_floor, 1.0 + 10.0 / at_floor], rtol=1e-12)


@policy("cap", wake="arrival end tick", caps=True)
def relaxed_when_empty(s, arg, param, memory):
    """150 W until 20 s, then no cap."""
    s.want_cap_w[:] = 150.0 if s.now[0] < 20 else np.inf
    return 1


def test_a_relaxed_cap_cannot_break_the_limit() -> None:
    """A cap lifted while nobody runs counts when the next job asks to start: power stays under the limit."""
    rows = [{"submit": t, "work": 10, "nodes": 1} for t in (0, 1, 40, 40)]
    options = Options(limit_w=[(0, 400.0)], tick_s=1.0)
    result = run(table(*rows), cluster(2, IDLE, MAX, min_cap_w=150.0), cap=relaxed_when_empty, options=options)
    assert result.logs["timeline"][:, codes.TL_POWER].max() <= 400.0


@policy("cap", wake="arrival", caps=False)
def undeclared(s, arg, param, memory):
    """Ask for caps without having declared it."""
    s.want_cap_w[:] = 150.0
    return 1


@policy("select")
def undeclared_solo(s, arg, param, memory):
    """Start a job at a cap of its own without having declared it; without a cap from the second on."""
    s.p_job[0], s.p_nodes[0], s.p_why[0] = s.queue[s.q_head[0]], s.nodes[s.queue[s.q_head[0]]], 4
    s.p_cap_w[0] = 200.0 if s.now[0] < 1 else np.inf
    return 1


def test_undeclared_caps_are_refused() -> None:
    """Caps of a policy that did not declare them are refused, not applied to nonsense."""
    rows = [{"submit": t, "work": 10, "nodes": 1} for t in (0, 1)]
    result = run(table(*rows), cluster(2, IDLE, MAX, min_cap_w=150.0), cap=undeclared)
    np.testing.assert_array_equal(result.state.end_s, [10.0, 11.0])
    assert codes.NO_CAPS in result.logs["a_verdict"]
    assert result.state.refused.size == len(codes.VERDICT_NAMES)
    result = run(table(*rows[:1], {"submit": 1, "work": 1, "nodes": 1}), cluster(1, IDLE, MAX), select=undeclared_solo)
    assert result.logs["a_verdict"].tolist()[:2] == [codes.NO_SOLO, codes.OK]


@policy("cap", wake="timer arrival")
def downshift(s, arg, param, memory):
    """Full speed until 10 s, then the lowest level, then the highest again at 30 s."""
    s.want_level[0] = 0 if 10 <= s.now[0] < 30 else 1
    s.wake_at_s[codes.CAP] = 10.0 if s.now[0] < 10 else 30.0 if s.now[0] < 30 else np.inf
    return 1


def test_levels_change_speed_and_power() -> None:
    """At half speed 20 s of work take 40 s; busy and idle power follow the level."""
    levels = (Level(0.5, 180.0, 80.0), Level(1.0, 300.0, 100.0))
    jobs = table({"submit": 0, "work": 30, "nodes": 1})
    result = run(jobs, cluster(2, IDLE, MAX, levels=levels), cap=downshift)
    assert result.state.end_s[0] == 40.0
    assert result.state.energy_j[0] == 300.0 * 10 + 180.0 * 20 + 300.0 * 10
    assert result.state.node_j[0, 1] == 100.0 * 10 + 80.0 * 20 + 100.0 * 10
    assert result.logs["timeline"][:, codes.TL_RATE].tolist() == [1.0, 0.5, 1.0, 1.0]


def test_a_start_under_a_cap_that_nodes_cannot_follow_is_said_to_be_clipped() -> None:
    """What is written down is the cap that is in force, as for caps of running jobs."""

    @policy("select", name="too-low", solo_caps=True)
    def too_low(s: Any, mask: int, param: Any, memory: Any) -> int:
        s.p_job[0], s.p_nodes[0], s.p_cap_w[0], s.p_why[0] = 0, 1, -5.0, codes.CHOSEN
        return 1

    result = run(table({"submit": 0, "work": 10, "nodes": 1}), cluster(2, IDLE, MAX, min_cap_w=150.0), select=too_low)
    logs = result.logs
    assert (logs["a_cap_w"][0], logs["a_verdict"][0]) == (150.0, codes.CLIPPED)
    assert result.state.status[0] == codes.FINISHED
