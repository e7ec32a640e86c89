"""The two baselines of demand response, against their descriptions worked out by hand and pass by pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.regulated import (
    FILLER,
    FIRM,
    SMALL,
    WIDE,
    accepted,
    follow,
    holders,
    machine,
    options,
    passes,
    power_of,
    signal,
    simulation,
    span_of,
    table_of,
    taken,
    waiting,
)
from engine.worlds import examples
from wattline.model import codes
from wattline.model.kinds import Kind
from wattline.model.regulation import Bid
from wattline.model.state.record import State

KINDS = (SMALL, WIDE, FIRM, FILLER)
TOLERATED = 0.3


def rise_w(s: State, j: int) -> float:
    """Return by how much power rises when a job starts on idle nodes, uncapped."""
    return float(s.nodes[j] * (s.draw_w[j] - 100.0))


def in_order_below(s: State) -> list[int]:
    """Return who starts in the first branch: in order of arrival while P + Δ ≤ target; then standby jobs that fit."""
    room_w, free, starts = s.target_w[0] - span_of(s)[1], int(s.free[0]), []
    for standby in (0, 1):
        for j in waiting(s):
            if s.k_standby[s.kind[j]] != standby or s.nodes[j] > free:
                continue
            if rise_w(s, j) > room_w:
                if standby:
                    continue
                break
            starts.append(j)
            room_w, free = room_w - rise_w(s, j), free - int(s.nodes[j])
    return starts


def all_that_fits(s: State, most_w: float = np.inf) -> list[int]:
    """Return who starts in the second branch, until power without caps has reached a bound."""
    free, starts = int(s.free[0]), []
    for j in waiting(s):
        if span_of(s)[1] + sum(rise_w(s, i) for i in starts) >= most_w:
            break
        if s.k_standby[s.kind[j]] == 0 and s.nodes[j] <= free:
            starts.append(j)
            free -= int(s.nodes[j])
    return starts


def done_s(s: State, j: int) -> float:
    """Return how much work a job has done."""
    if s.status[j] != codes.RUNNING:
        return 0.0
    c = s.rate_class[j]
    return float(s.work[j] - (s.v_end[j] - (s.c_v0[c] + s.c_rate[c] * (s.now[0] - s.c_t0[c]))))


def suffering(s: State, *, largest: bool) -> float:
    """Return the mean (or largest) over kinds present of mean (wait + elapsed + remaining - work) / work over the
    limit.
    """
    per_kind: dict[int, list[float]] = {}
    for j in [*waiting(s), *(int(j) for j in s.running[: s.n_running[0]])]:
        q = (s.now[0] - s.submit_s[j] + (s.work[j] - done_s(s, j)) - s.work[j]) / s.work[j]
        if not s.k_standby[s.kind[j]]:
            per_kind.setdefault(int(s.kind[j]), []).append(float(q))
    means = [sum(q) / len(q) / s.k_limit[k] for k, q in per_kind.items()]
    if not means:
        return 0.0
    return float(max(means) if largest else sum(means) / len(means))


def both(largest: bool, *, bounded: bool = False) -> Any:
    """Return a reading of EnergyQARE's choice before a pass: the branch, how clear it was, who starts."""

    def look(s: State) -> tuple[bool, float, list[int]]:
        e = abs(power_of(s) - s.target_w[0]) / s.reserve_w[0] / TOLERATED
        q = suffering(s, largest=largest)
        most_w = s.target_w[0] + q * TOLERATED * s.reserve_w[0] if bounded else np.inf
        helped = all_that_fits(s, most_w) if e < q else []  # with nobody to help it stays with the target
        return bool(helped), abs(e - q), helped or in_order_below(s)

    return look


MIXES = st.lists(
    st.tuples(st.integers(0, 25), st.sampled_from(["small", "small", "wide", "firm", "filler"])),
    min_size=1,
    max_size=16,
)
SIGNALS = st.lists(st.sampled_from([-1.0, -0.61, -0.25, 0.03, 0.4, 1.0]), min_size=1, max_size=8)


def world(mix: list[Any], y: list[float], mean_w: float, select: str, **params: float) -> Any:
    """Return a run on seven nodes, with a bid at last under which everybody can start."""
    how = options(KINDS, signal(*y, step_s=3.0), (0.0, Bid(mean_w, 503.0)), (50.0, Bid(9000.0, 1.0)))
    jobs = table_of(KINDS, *[(float(t), k) for t, k in sorted(mix)])
    return simulation(jobs, machine(7), how, select, params)


@examples(12)
@given(mix=MIXES, y=SIGNALS, mean_w=st.sampled_from([1009.0, 1403.0]))
def test_tracking_only_starts_in_order_and_never_beyond_the_target(
    mix: list[Any], y: list[float], mean_w: float
) -> None:
    """Whoever starts, the power without caps stays at or below the target then; whoever waited does not matter."""
    for s, happened, expected in passes(world(mix, y, mean_w, "tracking-only"), in_order_below):
        if happened & codes.TICK:
            assert taken(s, codes.ACT_START) == expected
            if expected:
                assert span_of(s)[1] <= s.target_w[0] * (1 + 1e-12)


@pytest.mark.parametrize(("largest", "bounded"), [(False, False), (True, False), (True, True)])
@examples(12)
@given(mix=MIXES, y=SIGNALS, mean_w=st.sampled_from([1009.0, 1403.0]))
def test_energyqare_takes_the_branch_that_weighs_more(
    largest: bool, bounded: bool, mix: list[Any], y: list[float], mean_w: float
) -> None:
    """If ε/0.3 is at least what users suffer it follows the target; otherwise it starts all that fits and caps nobody,
    or (bounded) starts until ε/0.3 would be what users suffer.

    With nobody to start it follows the target too.
    """
    sim = world(mix, y, mean_w, "energyqare", largest=float(largest), bounded=float(bounded))
    for s, happened, (urgent, clear, expected) in passes(sim, both(largest, bounded=bounded)):
        if happened & codes.TICK and clear > 1e-9:
            assert taken(s, codes.ACT_START) == expected
            low_w, high_w = span_of(s)
            met_w = high_w if urgent else min(max(low_w, s.target_w[0]), high_w)
            np.testing.assert_allclose(power_of(s), met_w, rtol=1e-12)


# ------------------------------------------------------------------ by hand

FIXED = Kind("fixed", 1, 40.0, 300.0, 300.0, limit=1.0, weight=1.0)
SOFT = Kind("soft", 1, 40.0, 300.0, 150.0, 2.0, limit=2.0, weight=1.0)


def test_tracking_only_by_hand() -> None:
    """Four nodes, 200 W more a job, target 850 then 1150 W: two jobs, later a third; the fourth waits for an end."""
    how = options((FIXED,), signal(-1.0, 1.0, step_s=10.0), (0.0, Bid(1000.0, 150.0)))
    result = follow(table_of((FIXED,), *[(0.0, "fixed")] * 4), machine(4), how, "tracking-only")
    assert result.state.started_s.tolist() == [0.0, 0.0, 10.0, 40.0]


def test_a_job_too_wide_for_the_free_nodes_is_passed_one_too_hungry_for_the_target_is_not() -> None:
    """In order of arrival: who finds no nodes lets others pass, who would exceed the target does not."""
    jobs = table_of(KINDS, (0.0, "wide"), (0.0, "wide"), (0.0, "small"), (0.0, "small"))
    how = options(KINDS, signal(0.0), (0.0, Bid(9000.0, 0.0)))
    assert follow(jobs, machine(5), how, "tracking-only").state.started_s.tolist() == [0.0, 20.0 + 10.0, 0.0, 0.0]
    tight = options(KINDS, signal(0.0, 1.0, step_s=9.0), (0.0, Bid(1350.0, 850.0)))
    assert follow(jobs, machine(8), tight, "tracking-only").state.started_s.tolist() == [0.0, 9.0, 9.0, 9.0]


def test_energyqare_by_hand() -> None:
    """Four jobs on four nodes, target 700 W, R 500 W: one runs, ε/0.3 = 0.667; the others' Q reaches it at 36 s."""
    how = options((FIXED,), signal(0.0), (0.0, Bid(700.0, 500.0)))
    result = follow(table_of((FIXED,), *[(0.0, "fixed")] * 4), machine(4), how, "energyqare")
    # at t the mean over jobs is 3/4 · t/40: above 2/3 from 35.6 s on, and the control period is 1 s
    assert result.state.started_s.tolist() == [0.0, 36.0, 36.0, 36.0]
    assert accepted(result, codes.ACT_START)[1:] == [(36.0, 1), (36.0, 2), (36.0, 3)]
    whys = result.logs["a_why"][result.logs["a_kind"] == codes.ACT_START]
    assert whys.tolist() == [codes.FILL, codes.URGENT, codes.URGENT, codes.URGENT]


def test_bounded_starts_end_when_the_error_weighs_as_much() -> None:
    """At 36 s users suffer 0.675, so power may be 101 W above the target when the last job starts: two jobs, not three.

    The last one starts at 40 s, when the first has ended: 800 W then, and users suffer 0.93.
    """
    how = options((FIXED,), signal(0.0), (0.0, Bid(700.0, 500.0)))
    jobs = table_of((FIXED,), *[(0.0, "fixed")] * 4)
    result = follow(jobs, machine(4), how, "energyqare", {"bounded": 1.0})
    assert result.state.started_s.tolist() == [0.0, 36.0, 36.0, 40.0]


def test_the_kind_that_suffers_most_may_count_alone() -> None:
    """With a second kind that waits for nothing the mean halves; the variant looks at the larger only."""
    calm = Kind("calm", 1, 400.0, 300.0, 300.0, limit=1e6, weight=1.0)
    kinds = (FIXED, calm)
    jobs = table_of(kinds, (0.0, "calm"), *[(0.0, "fixed")] * 3)
    how = options(kinds, signal(0.0), (0.0, Bid(700.0, 500.0)), until_s=100.0)
    mean, largest = (follow(jobs, machine(4), how, "energyqare", {"largest": x}) for x in (0.0, 1.0))
    assert largest.state.started_s.tolist() == [0.0, 27.0, 27.0, 27.0]  # t/40 > 2/3
    assert mean.state.started_s.tolist() == [0.0, 54.0, 54.0, 54.0]  # half of it


def test_no_caps_while_users_come_first() -> None:
    """In the branch for the users running jobs are freed of their caps, and new ones begin without."""
    jobs = table_of((SOFT,), *[(0.0, "soft")] * 4)
    how = options((SOFT,), signal(1.0, -1.0, step_s=5.0), (0.0, Bid(700.0, 300.0)))
    capped = freed = 0
    for s, happened, (urgent, clear, _) in passes(simulation(jobs, machine(4), how, "energyqare"), both(False)):
        if happened & codes.TICK and holders(s) and clear > 1e-9:
            full = all(s.c_power[s.rate_class[j]] == 1.0 for j in holders(s))
            assert full == urgent or span_of(s)[1] <= s.target_w[0]
            capped, freed = capped + (not full), freed + urgent
    assert capped > 3
    assert freed >= 1


def test_without_a_reserve_there_is_no_error_to_weigh() -> None:
    """A bid without reserve has no tracking error: the target is followed."""
    how = options((FIXED,), signal(0.0), (0.0, Bid(700.0, 0.0)))
    result = follow(table_of((FIXED,), *[(0.0, "fixed")] * 3), machine(4), how, "energyqare")
    assert result.state.started_s.tolist() == [0.0, 40.0, 80.0]


@pytest.mark.parametrize("select", ["tracking-only", "energyqare"])
def test_standby_jobs_fill_what_the_others_leave(select: str) -> None:
    """After everybody else standby jobs start while they fit below the target, and users' jobs go before them."""
    jobs = table_of(KINDS, *[(0.0, "filler")] * 4, (0.0, "small"))
    how = options(KINDS, signal(0.0), (0.0, Bid(800.0 + 200.0 + 2 * 180.0 + 10.0, 400.0)), until_s=3.0)
    result = follow(jobs, machine(8), how, select)
    assert accepted(result, codes.ACT_START) == [(0.0, 4), (0.0, 0), (0.0, 1)]
