"""QoSCap: estimated QoS degradation, starts before it is too late, and no cap on kinds beyond their limit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.regulated import (
    FIRM,
    SMALL,
    WIDE,
    accepted,
    follow,
    machine,
    options,
    passes,
    power_of,
    signal,
    simulation,
    span_of,
    table_of,
    waiting,
)
from engine.worlds import examples
from wattline.model import codes
from wattline.model.regulation import Bid
from wattline.model.state.record import State

KINDS = (SMALL, WIDE, FIRM)


def estimated(s: State, j: int) -> float:
    """Return (waited + run so far + what is left at full speed − T) / T of a job."""
    left = s.v_end[j] - (s.c_v0[s.rate_class[j]] + s.c_rate[s.rate_class[j]] * (s.now[0] - s.c_t0[s.rate_class[j]]))
    left = left if s.status[j] == codes.RUNNING else s.remaining[j]
    return float((s.now[0] - s.submit_s[j] + left - s.work[j]) / s.work[j])


def averages(s: State) -> dict[int, float]:
    """Return the mean estimate over the jobs present of every kind."""
    present = [*waiting(s), *(int(j) for j in s.running[: s.n_running[0]])]
    return {
        k: float(np.mean([estimated(s, j) for j in present if s.kind[j] == k]))
        for k in {int(s.kind[j]) for j in present}
    }


def test_estimate_equals_what_comes_out_uncapped() -> None:
    """The estimate of a job that starts now and runs uncapped is its final degradation."""
    jobs = table_of(KINDS, (0.0, "wide"), (0.0, "wide"), (0.0, "wide"), (3.0, "wide"))
    sim = simulation(jobs, machine(), options(KINDS, signal(1.0, step_s=1e4), (0.0, Bid(2000.0, 500.0))), "qoscap")
    at_start: dict[int, float] = {}
    for s, _, _ in passes(sim):
        for j in range(4):
            if s.started_s[j] == s.now[0]:
                at_start[j] = estimated(s, j)
    end_s, s = sim.state.end_s, sim.state
    assert sorted(at_start) == [0, 1, 2, 3]
    assert at_start[2] > 0.9  # it had to wait for the first two
    for j, value in at_start.items():
        assert value == pytest.approx((end_s[j] - s.submit_s[j] - s.work[j]) / s.work[j], abs=1e-9)


def test_starts_before_it_is_too_late() -> None:
    """Under a target that leaves no room a job starts once its estimate reaches the stated part of its limit."""
    jobs = table_of(KINDS, (0.0, "small"), (0.0, "wide"))
    low = options(KINDS, signal(0.0, step_s=1e4), (0.0, Bid(801.0, 0.0)))
    for near in (0.5, 0.9):
        run = follow(jobs, machine(), low, "qoscap", {"near": near})
        assert {j: t for t, j in accepted(run, codes.ACT_START)} == {0: near * 2 * 20, 1: near * 4 * 30}


def test_nobody_waits_in_no_market() -> None:
    """Before a bid holds and after it has ended there is no target, and jobs start as soon as they fit."""
    jobs = table_of(KINDS, (0.0, "wide"), (10.0, "wide"), (60.0, "wide"))
    how = options(KINDS, signal(0.0, step_s=1e4), (5.0, Bid(801.0, 0.0)), (50.0, None))
    assert accepted(follow(jobs, machine(), how, "qoscap"), codes.ACT_START) == [(0.0, 0), (50.0, 1), (60.0, 2)]


def test_worst_kind_first() -> None:
    """Below the target the kind whose average is furthest towards its limit starts first, whoever came first."""
    jobs = table_of(KINDS, (0.0, "wide"), (0.0, "small"), (2.0, "firm"))
    closed = [(0.0, Bid(801.0, 0.0)), (10.0, Bid(1400.0, 0.0))]
    run = follow(jobs, machine(), options(KINDS, signal(0.0, step_s=1e4), *closed), "qoscap", {"near": 5.0})
    starts = accepted(run, codes.ACT_START)
    # at 10 s: wide 10/30/4, small 10/20/2, firm 8/8/1: 600 W of room for firm (240 W), then small (200 W)
    assert starts[:2] == [(10.0, 2), (10.0, 1)]
    assert starts[2][0] > 10.0


@given(st.integers(0, 2**31), st.floats(850.0, 2200.0), st.floats(50.0, 900.0))
@examples(25)
def test_no_cap_on_kinds_beyond_their_limit(seed: int, mean_w: float, reserve_w: float) -> None:
    """In every pass kinds whose average is beyond its limit run uncapped; the others meet the target when they can."""
    random = np.random.default_rng(seed)
    rows = sorted((float(random.uniform(0, 120)), KINDS[int(random.integers(3))].name) for _ in range(30))
    y = signal(*random.uniform(-1, 1, 200))
    sim = simulation(table_of(KINDS, *rows), machine(), options(KINDS, y, (0.0, Bid(mean_w, reserve_w))), "qoscap")
    for s, happened, before in passes(sim, averages):
        if not happened & codes.TICK:
            continue
        beyond = {k for k, value in before.items() if value > s.k_limit[k]}
        free_w = 0.0
        for j in s.running[: s.n_running[0]]:
            c = s.rate_class[j]
            if s.kind[j] in beyond:
                assert s.c_cap_w[c] == np.inf
                free_w += s.nodes[j] * (s.draw_w[j] - min(s.draw_w[j], max(s.floor_w[j], s.min_cap_w[0])))
        low, high = span_of(s)
        aim = min(max(s.target_w[0], low + free_w), high)
        assert power_of(s) == pytest.approx(aim, rel=1e-9)


def test_spared_kind_by_hand() -> None:
    """A kind beyond its limit keeps full power while another one takes all the caps."""
    jobs = table_of(KINDS, (0.0, "small"), (50.0, "wide"))
    steps = [(0.0, Bid(801.0, 0.0)), (60.0, Bid(1500.0, 0.0)), (64.0, Bid(1270.0, 0.0))]
    how = options(KINDS, signal(0.0, step_s=1e4), *steps)
    sim = simulation(jobs, machine(), how, "qoscap", {"near": 2.5})
    seen = {}
    for s, _, _ in passes(sim):
        if s.now[0] == 64.0:
            seen = {int(s.kind[j]): float(s.c_cap_w[s.rate_class[j]]) for j in s.running[: s.n_running[0]]}
    # small is 60 s late on 20 s, beyond its limit of 2: 4 idle nodes, 300 W for it, 190 W on each of the three others
    assert seen == {0: np.inf, 1: pytest.approx(190.0)}
