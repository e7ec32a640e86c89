"""Sharing by weights: shares against water-filling written another way, whole jobs, carried debts, standby jobs,
pauses.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wattline as wl
from engine.regulated import (
    FILLER,
    FIRM,
    SMALL,
    WIDE,
    accepted,
    follow,
    holders,
    instants,
    machine,
    options,
    passes,
    signal,
    simulation,
    source,
    span_of,
    table_of,
    taken,
    waiting,
)
from engine.worlds import examples
from wattline.model import codes
from wattline.model.kinds import Kind
from wattline.model.regulation import Bid
from wattline.model.state.layout import allocate
from wattline.model.state.record import State
from wattline.model.state.sizes import Sizes
from wattline.policies.select import gps as gps_module
from wattline.wiring.subjects.regulation import fill_kinds

KINDS = (SMALL, WIDE, FIRM, FILLER)


def filled(n: Any, weights: list[Any], uses: list[Any]) -> list[Any]:
    """Share n by weights, to none more than its use: raise one water level past the kinds it fills, fullest last."""
    shares = [Fraction(0)] * len(weights)
    left, over = Fraction(n), sum((w for w, use in zip(weights, uses, strict=True) if use > 0), Fraction(0))
    for k in sorted((k for k, w in enumerate(weights) if w > 0 and uses[k] > 0), key=lambda k: uses[k] / weights[k]):
        shares[k] = min(uses[k], left * weights[k] / over)
        left -= shares[k]
        over -= weights[k]
    return shares


def state_of(kinds: list[Kind], nodes: int = 20, target_w: float = 3000.0, down: int = 0) -> State:
    """Return a state that knows kinds and a target, and nothing else."""
    s = allocate(Sizes(J=1, N=nodes, P=1, C=1, L=1, E=0, K=0, Y=len(kinds)))
    fill_kinds(s, kinds)
    s.pool_count[0], s.down[0], s.idle_w[0], s.target_w[0], s.tick_s[0] = nodes, down, 100.0, target_w, 1.0
    return s


PILES = st.lists(
    st.tuples(st.integers(1, 6), st.integers(0, 8), st.integers(0, 5), st.integers(0, 4), st.booleans()),
    min_size=1,
    max_size=6,
)
"""weight, nodes and so on: (nodes, weight, waiting, running, standby)"""


@examples(200)
@given(piles=PILES, n=st.integers(0, 400))
def test_shares_are_those_of_water_filling(piles: list[Any], n: int) -> None:
    """Shares sum to n(t) or to what jobs can use, go by weights, and nobody has more than its jobs can use."""
    kinds = [Kind(str(i), m, 1.0, 300.0, 150.0, weight=w / 8, standby=st) for i, (m, w, _, _, st) in enumerate(piles)]
    s = state_of(kinds)
    queued, on, shares = (
        np.array([float(x) for x in column])
        for column in ([p[2] for p in piles], [p[3] for p in piles], [0] * len(piles))
    )
    source(gps_module.share_nodes)(s, n / 10, queued, on, shares)
    uses = [Fraction(0 if standby else m * (a + b)) for m, _, a, b, standby in piles]
    weights = [Fraction(w, 8) for _, w, *_ in piles]
    expected = filled(Fraction(n, 10), weights, uses)
    np.testing.assert_allclose(shares, [float(x) for x in expected], rtol=1e-12, atol=1e-12)
    usable = sum((use for use, w in zip(uses, weights, strict=True) if w > 0), Fraction(0))
    np.testing.assert_allclose(shares.sum(), float(min(Fraction(n, 10), usable)), rtol=1e-12)
    unfilled = [k for k in range(len(piles)) if 0.0 < shares[k] < float(uses[k]) - 1e-9]
    assert len({round(shares[k] / kinds[k].weight, 9) for k in unfilled}) <= 1


@pytest.mark.parametrize(
    ("target_w", "down", "expected"),
    [
        (0.0, 0, 0.0),
        (2000.0, 0, 0.0),
        (2800.0, 0, 5.0),
        (9999.0, 0, 20.0),
        (2000.0, 4, 2.5),
        (9999.0, 4, 16.0),
        (np.nan, 4, 16.0),
    ],
)
def test_nodes_that_the_target_allows(target_w: float, down: int, expected: float) -> None:
    """n(t) = (target - N idle) / (mean uncapped power - idle), within [0, N]; N counts nodes in service."""
    s = state_of(
        [Kind("a", 1, 1.0, 300.0, 150.0, weight=0.2), Kind("b", 1, 1.0, 240.0, 150.0, weight=0.8)], 20, target_w, down
    )
    some, none = np.array([1.0, 0.0]), np.zeros(2)
    both = np.ones(2)
    mean_w = 0.2 * 300.0 + 0.8 * 240.0 - 100.0
    assert source(gps_module.active_nodes)(s, False, both, none, none) == pytest.approx(
        min(max((target_w - (20 - down) * 100.0) / mean_w, 0.0), 20.0 - down) if target_w == target_w else expected
    )
    # alone, only the first kind's power counts: 200 W a node; so it does where all the shares are its own
    only = expected if target_w != 2800.0 else 4.0
    only = 2.0 if (target_w, down) == (2000.0, 4) else only
    assert source(gps_module.active_nodes)(s, False, some, none, none) == pytest.approx(only)
    assert source(gps_module.active_nodes)(s, False, both, none, np.array([3.0, 0.0])) == pytest.approx(only)


# ------------------------------------------------------------------ whole passes, written another way


SHARES = slice(gps_module.KNOWN + 4 * gps_module.NODES, gps_module.KNOWN + 4 * (gps_module.NODES + 1))
"""Where the policy keeps the shares of the four kinds."""


def wanted(s: State) -> tuple[list[int], list[float]]:
    """Return the jobs that sharing without pauses and debts starts now, and the shares, from the published
    description.
    """
    kinds = range(s.k_nodes.size)
    queued = [sum(s.kind[j] == k for j in waiting(s)) for k in kinds]
    on = [sum(s.kind[j] == k for j in s.running[: s.n_running[0]]) for k in kinds]
    uses = [0 if s.k_standby[k] else Fraction(int(s.k_nodes[k] * (queued[k] + on[k]))) for k in kinds]
    weights = [Fraction(float(w)) for w in s.k_weight]
    effective = [Fraction(0)] * len(weights)
    in_service = int(s.pool_count[0] - s.down[0])
    for _ in range(2):
        n = Fraction(in_service)
        if sum(effective) == 0:
            effective = [w if use else Fraction(0) for w, use in zip(weights, uses, strict=True)]
        if sum(effective) > 0 and s.target_w[0] == s.target_w[0]:
            mean_w = sum(w * Fraction(float(p)) for w, p in zip(effective, s.k_draw_w, strict=True)) / sum(effective)
            n = (Fraction(float(s.target_w[0])) - in_service * 100) / (mean_w - 100)
        effective = filled(min(max(n, Fraction(0)), Fraction(in_service)), weights, uses)
    more = [int(np.floor(float(effective[k]) / s.k_nodes[k] + 0.5)) - on[k] for k in kinds]
    free, starts, blocked = int(s.free[0]), [], set()
    for j in waiting(s):
        k = int(s.kind[j])
        if s.k_standby[k]:
            continue
        if more[k] < 1 or s.nodes[j] > free or k in blocked:
            blocked.add(k)
            continue
        starts.append(j)
        more[k] -= 1
        free -= int(s.nodes[j])
    if not blocked:
        room_w = s.target_w[0] - span_of(s)[1] - sum(s.nodes[j] * (s.draw_w[j] - 100.0) for j in starts)
        for j in waiting(s):
            rise_w = s.nodes[j] * (s.draw_w[j] - 100.0)
            if s.k_standby[s.kind[j]] and s.nodes[j] <= free and rise_w <= room_w:
                starts.append(j)
                free, room_w = free - int(s.nodes[j]), room_w - rise_w
    return starts, [float(x) for x in effective]


@pytest.mark.parametrize("cap", ["match-target", "none"])
@examples(12)
@given(
    mix=st.lists(
        st.tuples(st.integers(0, 25), st.sampled_from(["small", "small", "wide", "firm", "filler"])),
        min_size=1,
        max_size=20,
    ),
    y=st.lists(st.sampled_from([-1.0, -0.61, -0.25, 0.03, 0.4, 1.0]), min_size=1, max_size=8),
    mean_w=st.sampled_from([1009.0, 1403.0]),
)
def test_every_pass_starts_whom_the_description_says(cap: str, mix: list[Any], y: list[float], mean_w: float) -> None:
    """Shares rounded to the nearest job, first come first served in a kind, on free nodes; standby jobs when nobody
    waits.
    """
    how = options(KINDS, signal(*y, step_s=3.0), (0.0, Bid(mean_w, 503.0)), (50.0, Bid(9000.0, 0.0)))
    sim = simulation(table_of(KINDS, *[(float(t), k) for t, k in sorted(mix)]), machine(7), how, cap=cap)
    for s, happened, (expected, shares) in passes(sim, wanted):
        if happened & codes.TICK:
            assert taken(s, codes.ACT_START) == expected
            if waiting(s) or expected:
                np.testing.assert_allclose(sim.memory[codes.SELECT][SHARES], shares, rtol=1e-9, atol=1e-9)
        assert not np.any(s.a_verdict[s.a_from[0] : s.a_n[0]])


def test_shares_round_to_the_nearest_job() -> None:
    """With 4.4 nodes for jobs of 3 nodes one starts, with 4.6 two: never the half of one that rounding down would
    lose.
    """
    for n, jobs in ((1.4, 0), (1.6, 1), (4.4, 1), (4.6, 2)):
        how = options(KINDS, signal(0.0), (0.0, Bid(1000.0 + 160.0 * n, 0.0)), until_s=5.0)
        result = follow(table_of(KINDS, *[(0.0, "wide")] * 4), machine(10), how)
        assert [job for _, job in accepted(result, codes.ACT_START)] == list(range(jobs))


@pytest.mark.parametrize(("rounding", "jobs"), [(0.0, (0, 0, 1, 1, 2)), (1.0, (0, 1, 1, 2, 2)), (2.0, (0, 0, 0, 1, 1))])
def test_shares_round_as_told(rounding: float, jobs: tuple[int, ...]) -> None:
    """Of 0, 1.4, 1.6, 4.4 and 4.6 nodes jobs of 3 nodes start by the nearest number, rounded up, or rounded down."""
    for n, started in zip((0.0, 1.4, 1.6, 4.4, 4.6), jobs, strict=True):
        how = options(KINDS, signal(0.0), (0.0, Bid(1000.0 + 160.0 * n, 0.0)), until_s=5.0)
        result = follow(table_of(KINDS, *[(0.0, "wide")] * 4), machine(10), how, params={"rounding": rounding})
        assert len(accepted(result, codes.ACT_START)) == started, n


def test_rounding_takes_a_share_of_just_two_jobs_for_two() -> None:
    """The last digits of a sum of floats are no reason to start a third job, nor to leave the second."""
    s = state_of([WIDE])
    for share, up, down in ((6.0 + 4e-10, 2.0, 2.0), (6.0 - 4e-10, 2.0, 2.0), (6.1, 3.0, 2.0), (5.9, 2.0, 1.0)):
        for rounding, wanted_jobs in ((1.0, up), (2.0, down)):
            starts = np.zeros(1)
            given_jobs = (np.zeros(1), np.array([share]), starts, np.zeros(1))
            source(gps_module.jobs_to_start)(s, False, rounding, *given_jobs)
            assert starts[0] == wanted_jobs, (share, rounding)


def test_fixed_weights_count_kinds_without_jobs() -> None:
    """By eq. 11 a kind without jobs counts for the mean power of a busy node; by effective weights it does not."""
    hungry = Kind("hungry", 1, 30.0, 400.0, 400.0, weight=0.5)
    mild = Kind("mild", 1, 30.0, 200.0, 200.0, weight=0.5)
    jobs = table_of((hungry, mild), *[(0.0, "mild")] * 8)
    how = options((hungry, mild), signal(0.0), (0.0, Bid(800.0 + 400.0, 0.0)), until_s=2.0)
    effective, fixed = (follow(jobs, machine(8), how, params={"fixed": x}) for x in (0.0, 1.0))
    assert len(accepted(effective, codes.ACT_START)) == 4  # 400 W / (200 − 100 W)
    assert len(accepted(fixed, codes.ACT_START)) == 2  # 400 W / (300 − 100 W)


def test_first_come_first_served_within_a_kind_whatever_the_width() -> None:
    """A job that does not fit holds back later ones of its kind, not those of others."""
    jobs = table_of(KINDS, (0.0, "small"), (0.0, "wide"), (1.0, "wide"), (2.0, "small"), (2.0, "wide"))
    result = follow(jobs, machine(5), options(KINDS, signal(0.0), (0.0, Bid(9000.0, 0.0))))
    assert result.state.started_s.tolist() == [0.0, 0.0, 30.0, 2.0, 60.0]


# ------------------------------------------------------------------ carried debts


@pytest.mark.parametrize("share", [0.2, 0.4, 0.7])
def test_carried_debts_honour_the_share_of_a_large_job(share: float) -> None:
    """A kind whose share is a part of one job runs that part of the time in the long run, though rounding would starve
    it.
    """
    large = Kind("large", 4, 20.0, 200.0, 200.0, weight=share / 2)
    many = Kind("many", 1, 50.0, 200.0, 200.0, weight=1.0 - share / 2)
    n = 8  # of 14 nodes: 4 · share of them for the large jobs
    rows = [*[(0.0, "large")] * 60, *[(0.0, "many")] * 170]
    how = options((large, many), signal(0.0), (0.0, Bid(1400.0 + 100.0 * n, 0.0)), until_s=1000.0)
    jobs, nodes = table_of((large, many), *rows), machine(14)
    carried = follow(jobs, nodes, how, params={"carry": 1.0})
    s = carried.state
    ended = np.flatnonzero((s.status == codes.FINISHED) & (s.kind == 0))
    assert ended.size * 20.0 / 1000.0 == pytest.approx(share, abs=0.04)
    assert carried.logs["timeline"][-1, codes.TL_RUNNING] >= np.floor(n - 4 * share)
    rounded = follow(jobs, nodes, how)
    assert (rounded.state.started_s[rounded.state.kind == 0] >= 0.0).sum() == (0 if share < 0.5 else 51)


def test_a_debt_is_not_paid_by_a_start_that_found_no_nodes() -> None:
    """A large job that is due while no nodes are free starts as soon as they are."""
    large = Kind("large", 4, 20.0, 200.0, 200.0, weight=0.5)
    long = Kind("long", 1, 100.0, 200.0, 200.0, weight=0.5)
    jobs = table_of((large, long), *[(0.0, "long")] * 8, *[(1.0, "large")] * 3)
    how = options((large, long), signal(0.0), (0.0, Bid(600.0 + 100.0 * 4, 0.0)), until_s=130.0)
    result = follow(jobs, machine(6), how, params={"carry": 1.0})
    assert result.state.started_s[8] == 100.0


def test_an_empty_queue_has_no_debt() -> None:
    """Nothing is owed to a kind that has no jobs."""
    s = state_of([WIDE])
    debt, starts = np.array([25.0]), np.zeros(1)
    source(gps_module.jobs_to_start)(s, True, 0.0, np.zeros(1), np.zeros(1), starts, debt)
    assert (debt[0], starts[0]) == (0.0, 0.0)


# ------------------------------------------------------------------ standby jobs


def test_standby_jobs_only_fill_the_target() -> None:
    """They start while the power, uncapped, stays below the target, and never beyond it."""
    how = options(KINDS, signal(0.0), (0.0, Bid(800.0 + 200.0 + 2 * 180.0 + 179.0, 0.0)), until_s=4.0)
    result = follow(table_of(KINDS, (0.0, "small"), *[(0.0, "filler")] * 6), machine(8), how)
    assert [job for _, job in accepted(result, codes.ACT_START)] == [0, 1, 2]
    rows = result.logs["timeline"]
    assert np.all(rows[:, codes.TL_POWER] <= rows[:, codes.TL_TARGET])
    whys = result.logs["a_why"][result.logs["a_kind"] == codes.ACT_START]
    assert whys.tolist() == [codes.SHARE, codes.FILL, codes.FILL]


def test_standby_jobs_wait_while_others_wait_unless_told_otherwise() -> None:
    """With a job waiting that finds no nodes, standby jobs start only if the parameter says so."""
    jobs = table_of(KINDS, (0.0, "wide"), (1.0, "wide"), (1.0, "filler"))
    how = options(KINDS, signal(0.0), (0.0, Bid(9000.0, 0.0)))
    patient, eager = (follow(jobs, machine(5), how, params={"standby": x}) for x in (0.0, 1.0))
    assert patient.state.started_s.tolist() == [0.0, 30.0, 30.0]
    assert eager.state.started_s.tolist() == [0.0, 30.0, 1.0]


def test_standby_jobs_have_no_share() -> None:
    """They count neither for n(t) nor among those that share it."""
    jobs = table_of(KINDS, *[(0.0, "filler")] * 3, (5.0, "wide"), (5.0, "wide"))
    how = options(KINDS, signal(0.0, -0.3, step_s=5.0), (0.0, Bid(1400.0, 600.0)), until_s=8.0)
    result = follow(jobs, machine(8), how)  # 1220 W from 5 s on: 2.6 nodes for jobs of 3, on 5 free ones
    assert accepted(result, codes.ACT_START) == [(0.0, 0), (0.0, 1), (0.0, 2), (5.0, 3)]


# ------------------------------------------------------------------ pauses


def delayed(**more: Any) -> Any:
    """Return three jobs that start together after waits of 12, 8 and 4 s, then one more that arrives late."""
    rows = [(0.0, "small"), (4.0, "small"), (8.0, "small"), *more.pop("rows", ())]
    watts = more.pop("watts", [400, 400, 400, 1000, 1000, 460, 460, 505, 505, 1000])
    y = signal(*[(w - 800.0) / 400.0 for w in watts])
    long = Kind("small", 1, 60.0, 300.0, 150.0, 2.0, limit=2.0, weight=0.5)
    kinds = (long, *more.pop("kinds", ()))
    params = {"preempt": 1.0, **more.pop("params", {})}
    nodes = more.pop("nodes", 4)
    return follow(
        table_of(kinds, *rows), machine(nodes), options(kinds, y, (0.0, Bid(800.0, 400.0)), **more), params=params
    )


def test_the_least_endangered_pause_first_and_the_most_endangered_resume_first() -> None:
    """As many pause as the target asks for, by how much of their promise is left; they return the other way round."""
    result = delayed()
    assert accepted(result, codes.ACT_START) == [(12.0, 0), (12.0, 1), (12.0, 2)]
    assert accepted(result, codes.ACT_STOP) == [(20.0, 2), (20.0, 1)]
    assert accepted(result, codes.ACT_RESUME) == [(28.0, 1), (36.0, 2)]
    rows = result.logs["timeline"]
    at = {float(row[codes.TL_TIME]): float(row[codes.TL_POWER]) for row in rows}
    assert [at[t] for t in (16.0, 20.0, 28.0, 36.0)] == pytest.approx([1000.0, 460.0, 505.0, 1000.0], rel=1e-12)


def test_no_job_loses_more_than_the_cost_of_its_stops() -> None:
    """Energy and time of a job that was paused twice are those of its work and the stated cost of two stops."""
    watts = [400, 400, 400, 1000, 1000, 401, 1000, 401, 1000]
    free, dear = delayed(watts=watts), delayed(watts=watts, stop_cost_s=3.0)
    assert dear.state.preemptions.tolist() == free.state.preemptions.tolist() == [2, 2, 2]
    assert free.state.energy_j.tolist() == pytest.approx([60.0 * 300.0] * 3)
    assert free.state.end_s.tolist() == pytest.approx([12.0 + 60.0 + 8.0] * 3)
    assert dear.state.energy_j.tolist() == pytest.approx([66.0 * 300.0] * 3)
    assert dear.state.end_s.tolist() == pytest.approx([12.0 + 66.0 + 8.0] * 3)


def test_standby_jobs_pause_before_all_others() -> None:
    """Nothing was promised to them."""
    result = delayed(rows=[(9.0, "filler")], kinds=(FILLER,), watts=[400, 400, 400, 1200, 1200, 560, 560, 1200])
    assert accepted(result, codes.ACT_STOP)[0] == (20.0, 3)
    assert accepted(result, codes.ACT_RESUME)[-1][1] == 3


def test_paused_jobs_resume_before_others_start() -> None:
    """While a job waits to be resumed no new one starts, of whatever kind and width, though there is room for it."""
    firm = Kind("firm", 4, 60.0, 300.0, 300.0, limit=1.0, weight=0.5)
    tiny = Kind("tiny", 1, 10.0, 200.0, 200.0, limit=1.0, weight=0.5)
    kinds = (firm, tiny)
    jobs = table_of(kinds, (0.0, "firm"), *[(6.0, "tiny")] * 3)
    watts = [1600.0, 900.0, 1200.0, 1200.0, 1600.0, 1600.0]
    how = options(kinds, signal(*[(w - 1200.0) / 400.0 for w in watts], step_s=5.0), (0.0, Bid(1200.0, 400.0)))
    result = follow(jobs, machine(8), how, params={"preempt": 1.0})
    assert accepted(result, codes.ACT_STOP) == [(5.0, 0)]
    assert accepted(result, codes.ACT_RESUME) == [(20.0, 0)]
    assert min(time_s for time_s, job in accepted(result, codes.ACT_START) if job > 0) >= 20.0


def test_released_jobs_come_back_before_later_ones_of_their_kind() -> None:
    """With preempt = 2 a stopped job gives its nodes back and stands in the queue where it stood."""
    result = delayed(rows=[(21.0, "small")], params={"preempt": 2.0})
    assert accepted(result, codes.ACT_STOP) == [(20.0, 2), (20.0, 1)]
    assert accepted(result, codes.ACT_RESUME) == []
    assert [job for time_s, job in accepted(result, codes.ACT_START) if time_s > 20.0] == [1, 2, 3]
    assert result.state.energy_j[:3].sum() == pytest.approx(result.state.node_j[0, 0] - result.state.energy_j[3])
    rows = result.logs["timeline"]
    assert rows[rows[:, codes.TL_TIME] == 22.0, codes.TL_BUSY].tolist() == [1.0]


def test_pauses_without_caps_go_by_uncapped_power() -> None:
    """Where no cap policy is at work, jobs pause as soon as their power exceeds the target by half a job."""
    kinds = (SMALL,)
    jobs = table_of(kinds, *[(0.0, "small")] * 3)
    how = options(kinds, signal(1.0, 0.0, 1.0, step_s=6.0), (0.0, Bid(800.0, 200.0)))
    result = follow(jobs, machine(4), how, params={"preempt": 1.0}, cap="none")
    assert [time_s for time_s, _ in accepted(result, codes.ACT_STOP)] == [6.0]
    rows = result.logs["timeline"]
    assert {float(row[codes.TL_POWER]) for row in rows if 6.0 <= row[codes.TL_TIME] < 12.0} == {800.0}
    assert [time_s for time_s, _ in accepted(result, codes.ACT_RESUME)] == [12.0]


def test_paused_jobs_hold_their_place_among_the_shares() -> None:
    """A paused job counts as one of its kind that has its nodes."""
    paused = 0
    for s, _ in instants(_one_pause()):
        if holders(s, codes.PAUSED):
            paused += 1
            assert s.free[0] == 8 - sum(int(s.nodes[j]) for j in s.running[: s.n_running[0]])
            assert len(s.running[: s.n_running[0]]) <= 3
    assert paused > 0


def _one_pause() -> Any:
    watts = [1400.0, 850.0, 1400.0]
    how = options(KINDS, signal(*[(w - 1000.0) / 400.0 for w in watts]), (0.0, Bid(1000.0, 400.0)))
    return simulation(table_of(KINDS, *[(0.0, "small")] * 9), machine(8), how, params={"preempt": 1.0})


@pytest.mark.parametrize("draw", range(8))
def test_rounding_of_times_does_not_decide_who_pauses(draw: int, tmp_path: Path) -> None:
    """Two jobs that started as they came have lost nothing, exactly: the first in the trace pauses, whatever clocks
    round to.
    """
    values = [1.0] * 139 + [-1.0] * 3 + [1.0] * 900
    (tmp_path / "signal.csv").write_text("time_s,y\n" + "".join(f"{4 * i},{y}\n" for i, y in enumerate(values)))
    work_s = [150.37 + 0.1 * draw, 150.77 + 0.07 * draw, 3.0, 1000.0]
    columns = {"submit_s": [410.0, 530.0, 0.0, 1.0], "work_s": work_s, "nodes": [1] * 4, "kind": ["k", "k", "f", "f"]}
    kinds = [
        {"name": "k", "nodes": 1, "time": 150, "power": 300, "limit": 5},
        {"name": "f", "nodes": 1, "time": 1000, "power": 300, "limit": 0.001},
    ]
    market = {"signal": str(tmp_path / "signal.csv"), "mean": 790.0, "reserve": 130.0, "until": 3600, "control": 5}
    done = wl.simulate(
        wl.from_frame(columns),
        wl.Machine(nodes=3, idle=100, max=300),
        select={"name": "gps", "preempt": 1},
        cap="match-target",
        settings={"kind": kinds, "run.until": 3600, **{f"regulation.{key}": value for key, value in market.items()}},
    )
    paused = done.jobs.filter(done.jobs["kind"] == "k").sort("submit_s")["preemptions"].to_list()
    assert paused == [1, 0]
