"""What holds of every run, whatever the policies: nothing is lost, nothing is held twice, every joule is accounted
for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from wattline.control.catalog import catalog
from wattline.model import codes
from wattline.model.cluster import Cluster, Level, NodeClass, Outage, Sleep
from wattline.model.mechanism import policy
from wattline.policies.helpers import uniform
from wattline.sim.simulate import Simulation
from wattline.wiring.options import Options
from wattline.wiring.result import Result

ORDERS = sorted(catalog()["order"])
SELECTS = sorted(name for name, m in catalog()["select"].items() if not m.target and not m.one_class)
FEW, SOME = examples(12), examples(60)


def machine(outages: list[Any], *, sleep: bool) -> Cluster:
    """Return two node classes, one of which may sleep."""
    asleep = Sleep(power_w=10.0, after_s=4.0, entry_s=1.0, exit_s=2.5) if sleep else None
    lost = tuple(Outage(float(t), float(t + d), first, count, drain) for t, d, first, count, drain in outages)
    return Cluster((NodeClass("a", 4, 100.0, 300.0, sleep=asleep), NodeClass("b", 3, 50.0, 320.0)), outages=lost)


OUTAGES = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 15), st.integers(0, 5), st.integers(1, 2), st.booleans()), max_size=3
)


def assert_sound(result: Result, limit: list[tuple[float, float]]) -> None:
    """Assert all that must hold at the end of a run."""
    s, jobs = result.state, result.jobs
    check_structure(s)
    assert_no_double_booking(result)
    known = {"finished", "killed", "failed", "rejected"}
    assert set(status_names(result)) <= known
    ran = s.status != codes.REJECTED
    assert np.all(s.eligible_s[ran] >= jobs.submit_s[ran])
    assert np.all(s.started_s[ran] >= s.eligible_s[ran])
    assert np.all(s.end_s[ran] >= s.started_s[ran])
    total = accounted_energy_j(result)
    np.testing.assert_allclose(s.energy_j.sum(), s.node_j[:, 0].sum() + s.node_j[:, 3].sum(), rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(total, timeline_energy_j(result), rtol=1e-9)
    elapsed = s.now[0] - s.start_s[0]
    np.testing.assert_allclose(s.node_s.sum(), elapsed * result.cluster.nodes, rtol=1e-9)
    for j, t0, t1, nodes in placements(result):
        assert len(nodes) == jobs.nodes[j]
        assert s.started_s[j] <= t0 <= t1 <= s.end_s[j]
    if limit:
        rows = result.logs["timeline"]
        over = rows[:, codes.TL_POWER] > rows[:, codes.TL_LIMIT] * (1 + 3e-9)
        started = np.isin(rows[:, codes.TL_TIME], result.logs["px_from_s"])
        changed = np.isin(
            rows[:, codes.TL_TIME], result.logs["ev_time_s"]
        )  # a later event of the instant may add idle nodes
        assert not np.any(over & started & ~changed), rows[over & started & ~changed]


@pytest.mark.parametrize("order", ORDERS)
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
)
def test_every_run_is_sound(
    order: str,
    select: str,
    work: Work,
    outages: list[Any],
    kill: bool,
    requeue: bool,
    sleep: bool,
    ties: str,
    limited: bool,
) -> None:
    """Energy is conserved, no node is held twice, no job is lost, nobody starts early, no start exceeds the limit."""
    limit = [(0.0, 1400.0), (20.0, 1100.0), (60.0, 2500.0)] if limited else []
    options = Options(kill=kill, requeue=requeue, ties=ties, limit_w=limit)
    result = run(work.table(["a", "b"]), machine(outages, sleep=sleep), order=order, select=select, options=options)
    assert_sound(result, limit)


@pytest.mark.parametrize("learn", sorted(catalog()["learn"]))
@FEW
@given(work=workloads(counts=(5,)))
def test_every_learner_is_sound(learn: str, work: Work) -> None:
    """The same holds whoever estimates."""
    assert_sound(run(work.table(["node"]), cluster(5), learn=learn), [])


@SOME
@given(work=workloads(counts=(6,), honest=True, most=30), order=st.sampled_from(["fcfs", "priority"]))
def test_easy_keeps_its_promise(work: Work, order: str) -> None:
    """When nobody runs longer than estimated and no node fails, no job starts later than EASY promised it."""
    result = run(work.table(["node"]), cluster(6), select="easy", order="fcfs")
    s = result.state
    promised = np.isfinite(s.reserved_s)
    assert np.all(s.started_s[promised] <= s.reserved_s[promised])


@SOME
@given(work=workloads(counts=(5,)), shift=st.integers(1, 1000), select=st.sampled_from(SELECTS))
def test_numbers_of_jobs_do_not_matter(work: Work, shift: int, select: str) -> None:
    """A job's id is a name: other ids, in any order, change nothing."""
    jobs = work.table(["node"])
    ids = (jobs.job_id * 7919 + shift) % 100_003
    one = run(jobs, cluster(5), select=select)
    other = run(jobs.with_columns(job_id=ids), cluster(5), select=select)
    np.testing.assert_array_equal(one.state.started_s, other.state.started_s)
    np.testing.assert_array_equal(one.state.energy_j, other.state.energy_j)


@SOME
@given(work=workloads(counts=(4, 3), linked=True, most=14), outages=OUTAGES, select=st.sampled_from(SELECTS))
def test_sound_after_every_instant(work: Work, outages: list[Any], select: str) -> None:
    """After every single instant nodes add up, free extents are sorted and disjoint, and the queue is sound."""
    sim = Simulation(work.table(["a", "b"]), machine(outages, sleep=True), policies(select=select), Options(kill=True))
    with sim:
        while sim.advance(1) == codes.BUDGET:
            check_structure(sim.state)
    check_structure(sim.state)


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
    s.wake_at_s[codes.CAP] = s.now[0] + 1.0 + 5.0 * coin[6] if coin[7] < 0.5 else np.inf
    return 1


@SOME
@given(
    work=workloads(counts=(4, 3), linked=True, most=14),
    outages=OUTAGES,
    select=st.sampled_from(SELECTS),
    seed=st.integers(0, 10_000),
    kill=st.booleans(),
)
def test_sound_whatever_a_cap_policy_does(work: Work, outages: list[Any], select: str, seed: int, kill: bool) -> None:
    """Caps and levels that change at random, legal or not, lose no job and no joule; the guard keeps caps in range."""
    two = (Level(0.5, 180.0, 80.0), Level(1.0, 300.0, 100.0))
    classes = (
        NodeClass("a", 4, 100.0, 300.0, min_cap_w=150.0, levels=two, sleep=Sleep(10.0, 4.0, 1.0, 2.5)),
        NodeClass("b", 3, 50.0, 320.0, min_cap_w=110.0),
    )
    lost = tuple(Outage(float(t), float(t + d), first, count, drain) for t, d, first, count, drain in outages)
    options = Options(kill=kill, tick_s=2.5)
    result = run(
        work.table(["a", "b"]), Cluster(classes, outages=lost), select=select, cap=whims, options=options, seed=seed
    )
    assert_sound(result, [])
    caps = np.isin(result.logs["a_kind"], (codes.ACT_CAP, codes.ACT_JOB_CAP)) & np.isin(
        result.logs["a_verdict"], (codes.OK, codes.CLIPPED)
    )
    assert np.all(result.logs["a_cap_w"][caps] >= 110.0)
    s = result.state
    assert s.busy_w[0] == s.busy_w[1] == 0.0
    assert s.n_active[0] == 0
    assert sorted(s.solo[: s.n_solo[0]]) == list(range(s.c_n.size - s.n_solo[0], s.c_n.size))
