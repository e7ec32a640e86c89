"""The cap policy that meets a power target: when it acts, on whom, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.regulated import (
    FIRM,
    SMALL,
    WIDE,
    follow,
    holders,
    machine,
    options,
    passes,
    power_of,
    signal,
    simulation,
    table_of,
)
from engine.worlds import cluster
from wattline.model import codes
from wattline.model.kinds import Kind
from wattline.model.mechanism import policy
from wattline.model.regulation import Bid
from wattline.systems.npb import APPLICATIONS, HIGHEST_W, IDLE_W
from wattline.wiring.result import Result

KINDS = (SMALL, WIDE, FIRM)


def caps(result: Result) -> list[tuple[float, float, str]]:
    """Return (time, cap, verdict) of every cap that was asked for."""
    logs = result.logs
    rows = np.flatnonzero(logs["a_kind"] == codes.ACT_CAP)
    return [
        (float(logs["a_time_s"][i]), float(logs["a_cap_w"][i]), codes.VERDICT_NAMES[logs["a_verdict"][i]]) for i in rows
    ]


def powers(result: Result) -> dict[float, float]:
    """Return power by time of the timeline's rows."""
    return {float(row[codes.TL_TIME]): float(row[codes.TL_POWER]) for row in result.logs["timeline"]}


@pytest.mark.parametrize("name", sorted(APPLICATIONS))
def test_every_measured_application_reaches_both_ends(name: str) -> None:
    """At the lowest ratio an application draws its lowest power and takes its longest time; no cap is out of range."""
    measured = APPLICATIONS[name]
    kind = measured.kind(name)
    nodes = cluster(kind.nodes, idle_w=IDLE_W, max_w=HIGHEST_W, min_cap_w=min(kind.floor_w, 194.0))
    how = options((kind,), signal(0.0), (0.0, Bid(1.0, 0.0)), tick_s=10.0)
    result = follow(table_of((kind,), (0.0, name)), nodes, how, "easy")
    longest_s = measured.longest_s if kind.floor_w < kind.draw_w else measured.work_s
    assert result.state.end_s[0] == pytest.approx(longest_s, rel=1e-12)
    assert result.state.energy_j[0] == pytest.approx(kind.nodes * kind.floor_w * longest_s, rel=1e-12)
    assert {verdict for *_, verdict in caps(result)} <= {"accepted"}


def test_who_draws_less_than_the_lowest_cap_is_left_alone() -> None:
    """A job that no cap of its nodes would slow is given none, and counts at what it draws."""
    jobs = table_of(KINDS, (0.0, "small"), (0.0, "firm"))
    nodes = cluster(3, idle_w=100.0, max_w=320.0, min_cap_w=240.0)
    result = follow(jobs, nodes, options(KINDS, signal(0.0), (0.0, Bid(700.0, 0.0))), "easy")
    assert caps(result)[:1] == [(0.0, 260.0, "accepted")]
    assert result.state.end_s[1] == 8.0
    assert powers(result)[1.0] == pytest.approx(700.0, rel=1e-12)


def test_caps_come_and_go_with_the_target() -> None:
    """Caps appear when the power would exceed the target, and are lifted when it no longer would, also for later
    jobs.
    """
    jobs = table_of(KINDS, (0.0, "small"), (31.0, "small"))
    how = options(KINDS, signal(1.0, -1.0, 1.0, step_s=5.0), (0.0, Bid(380.0, 100.0)))
    result = follow(jobs, machine(2), how, "easy")
    assert caps(result) == [(5.0, 180.0, "accepted"), (10.0, np.inf, "accepted")]
    ran_s = 5.0 / (1.0 + 120.0 / 150.0)
    assert result.state.end_s.tolist() == pytest.approx([5.0 + 5.0 + 15.0 - ran_s, 51.0], rel=1e-12)


def test_a_bid_that_ends_lifts_the_caps() -> None:
    """Without a target nothing is capped."""
    how = options(KINDS, signal(0.0), (0.0, Bid(280.0, 0.0)), (6.0, None))
    result = follow(table_of(KINDS, (0.0, "small")), machine(2), how, "easy")
    assert [row[:2] for row in caps(result)] == [(0.0, 180.0), (6.0, np.inf)]
    assert powers(result)[6.0] == 400.0


@pytest.mark.parametrize("select", ["gps", "energyqare"])
def test_lifting_caps_respects_the_power_limit(select: str) -> None:
    """Jobs that were admitted under caps do not exceed the limit when the target rises or users come first."""
    jobs = table_of(KINDS, *[(0.0, "small")] * 4)
    y = signal(1.0, -1.0, 1.0, step_s=10.0)
    how = options(KINDS, y, (0.0, Bid(800.0, 400.0)), (30.0, None), limit_w=[(0.0, 1500.0), (5.0, 900.0)])
    result = follow(jobs, machine(4), how, select)
    rows = result.logs["timeline"]
    late = rows[rows[:, codes.TL_TIME] >= 5.0]
    assert np.all(late[:, codes.TL_POWER] <= 900.0 * (1 + 1e-12))
    assert late[:, codes.TL_POWER].max() == pytest.approx(900.0, rel=1e-12)
    assert set(result.state.status.tolist()) == {codes.FINISHED}


def test_it_acts_once_a_control_period() -> None:
    """An end between two ticks lowers the power until the next tick, which meets the target again."""
    jobs = table_of(KINDS, (0.0, "small"), (0.0, "small"), work_s=[4.5, 30.0])
    how = options(KINDS, signal(0.0), (0.0, Bid(400.0, 0.0)), tick_s=2.0)
    result = follow(jobs, machine(2), how, "easy")
    end_s = 4.5 * (1.0 + 100.0 / 150.0)
    assert result.state.end_s[0] == pytest.approx(end_s)
    power = powers(result)
    assert power[6.0] == pytest.approx(400.0, rel=1e-12)
    assert power[float(result.state.end_s[0])] == pytest.approx(300.0, rel=1e-12)
    assert power[8.0] == pytest.approx(400.0, rel=1e-12)


def test_a_job_that_starts_under_caps_has_the_ratio_of_all() -> None:
    """Newcomers join at the ratio in force, and the ratio then makes room for them."""
    jobs = table_of(KINDS, (0.0, "small"), (3.0, "small"), (3.5, "wide"))
    how = options(KINDS, signal(0.0), (0.0, Bid(900.0, 0.0)))
    for s, happened, _ in passes(simulation(jobs, machine(5), how, "easy")):
        rate = {
            round(float(s.draw_w[j] * s.c_power[s.rate_class[j]] - s.floor_w[j]) / float(s.draw_w[j] - s.floor_w[j]), 9)
            for j in holders(s)
        }
        assert len(rate) <= 1
        if happened & codes.TICK and s.now[0] in (3.0, 4.0):
            assert power_of(s) == pytest.approx({3.0: 900.0, 4.0: 900.0}[float(s.now[0])], rel=1e-12)


def test_nothing_is_asked_for_while_nothing_is_capped() -> None:
    """Below the target no cap is set, tick after tick."""
    how = options(KINDS, signal(0.0), (0.0, Bid(9000.0, 100.0)))
    assert caps(follow(table_of(KINDS, (0.0, "small"), (0.0, "firm")), machine(), how, "easy")) == []


@policy("select", wake="tick arrival end", name="once")
def once(s: Any, mask: int, param: Any, memory: Any) -> int:
    """Start all, and ask for a pass without caps at 4 s."""
    s.uncap[0] = int(s.now[0] == 4.0)
    n = 0
    for j in s.queue[s.q_head[0] : s.q_tail[0]]:
        if j >= 0:
            s.p_job[n], s.p_nodes[n], s.p_cap_w[n], s.p_why[n] = j, s.nodes[j], np.inf, codes.CHOSEN
            n += 1
    return n


def test_a_select_policy_can_ask_for_one_pass_without_caps() -> None:
    """It holds for that pass: the next one caps again."""
    how = options(KINDS, signal(0.0), (0.0, Bid(280.0, 0.0)))
    power = powers(follow(table_of(KINDS, (0.0, "small")), machine(2), how, once))
    assert [power[t] for t in (3.0, 4.0, 5.0)] == pytest.approx([280.0, 400.0, 280.0], rel=1e-12)


def test_only_those_that_run_are_capped() -> None:
    """Nodes of paused jobs idle: the ratio is that of the others."""
    kinds = (Kind("a", 1, 50.0, 300.0, 150.0, 2.0, limit=1.0, weight=1.0),)
    how = options(kinds, signal(1.0, -1.0, step_s=10.0), (0.0, Bid(700.0, 300.0)), until_s=15.0)
    result = follow(table_of(kinds, *[(0.0, "a")] * 3), machine(4), how, params={"preempt": 1.0})
    assert result.state.preemptions.sum() == 3  # 400 W is what the machine draws with nobody at work
    assert powers(result)[12.0] == pytest.approx(400.0, rel=1e-12)
