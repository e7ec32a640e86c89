"""Jobs that pause on the nodes they hold: nothing is lost but the stated cost, nothing is drawn but idle power."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.regulated import instants
from engine.test_invariants import OUTAGES, assert_sound
from engine.worlds import (
    Work,
    accounted_energy_j,
    assert_no_double_booking,
    check_structure,
    cluster,
    digest,
    examples,
    placements,
    policies,
    run,
    status_names,
    table,
    timeline_energy_j,
    workloads,
)
from wattline.model import codes
from wattline.model.cluster import Cluster, NodeClass, Outage, Sleep
from wattline.model.mechanism import Mechanism, policy
from wattline.policies.helpers import uniform
from wattline.sim.simulate import Simulation
from wattline.wiring.options import Options
from wattline.wiring.result import Result
from wattline.wiring.tables import frames

PAUSE, RELEASE, RESUME = "pause", "release", "resume"


def scripted(*script: tuple[float, str, int]) -> Mechanism:
    """Return a select policy that starts whatever fits and stops or resumes jobs at given ticks."""

    @policy("select", wake="tick arrival end node envelope", name="scripted")
    def select(s: Any, mask: int, param: Any, memory: Any) -> int:
        if mask & codes.TICK:
            for time_s, what, job in script:
                if time_s != s.now[0]:
                    continue
                if what == RESUME:
                    s.resume_job[s.n_resume[0]] = job
                    s.n_resume[0] += 1
                else:
                    s.stop_job[s.n_stop[0]] = job
                    s.stop_holds[s.n_stop[0]] = int(what == PAUSE)
                    s.n_stop[0] += 1
        n, free = 0, int(s.free[0])
        for j in s.queue[s.q_head[0] : s.q_tail[0]]:
            if j >= 0 and s.nodes[j] <= free and not any(row[0] == s.now[0] for row in script):
                s.p_job[n], s.p_nodes[n], s.p_cap_w[n], s.p_why[n] = j, s.nodes[j], np.inf, codes.CHOSEN
                free -= int(s.nodes[j])
                n += 1
        return n

    return select


def act(*script: tuple[float, str, int], rows: Any = ({"work": 10, "nodes": 2},), **how: Any) -> Result:
    """Run jobs on four nodes with a scripted policy that acts every second."""
    nodes = how.pop("nodes", cluster(4, min_cap_w=150.0))
    jobs = table(*[{"submit": 0, **row} for row in rows])
    return run(jobs, nodes, select=scripted(*script), options=Options(tick_s=1.0, **how))


def verdicts(result: Result, *kinds: int) -> list[str]:
    """Return the guard's verdicts on some kinds of action, in order."""
    mine = np.isin(result.logs["a_kind"], kinds)
    return [codes.VERDICT_NAMES[v] for v in result.logs["a_verdict"][mine]]


def power_at(result: Result, time_s: float) -> float:
    """Return the power in force from a time on."""
    rows = result.logs["timeline"]
    return float(rows[rows[:, codes.TL_TIME] <= time_s][-1, codes.TL_POWER])


def conserved(result: Result) -> None:
    """Assert that energy adds up and that no node is held twice."""
    np.testing.assert_allclose(accounted_energy_j(result), timeline_energy_j(result), rtol=1e-12)
    assert_no_double_booking(result)


# ------------------------------------------------------------------ by hand


def test_a_paused_job_holds_its_nodes_at_idle_power_and_loses_no_work() -> None:
    """A job of 10 s that pauses from 4 to 9 s ends at 15 s, draws idle power meanwhile, and has used 10 s of energy."""
    result = act((4.0, PAUSE, 0), (9.0, RESUME, 0))
    s = result.state
    assert s.end_s.tolist() == [15.0]
    assert s.energy_j.tolist() == [2 * 300.0 * 10.0]
    assert [power_at(result, t) for t in (3.0, 4.0, 8.0, 9.0)] == [800.0, 400.0, 400.0, 800.0]
    rows = result.logs["timeline"]
    assert set(rows[rows[:, codes.TL_TIME] < 15.0, codes.TL_BUSY].tolist()) == {2.0}
    assert s.node_s[0].tolist() == [30.0, 30.0, 0.0, 0.0]
    assert s.node_j[0].tolist() == [6000.0, 100.0 * (2 * 15.0 + 2 * 5.0), 0.0, 0.0]
    assert (s.ran_s[0], s.preemptions[0], s.started_s[0]) == (10.0, 1, 0.0)
    conserved(result)


def test_a_stop_costs_what_it_is_said_to_cost_and_no_more() -> None:
    """Each of three stops adds its stated cost to the work, also when it is queued again instead of paused."""
    script = [(2.0, PAUSE), (3.0, RESUME), (5.0, PAUSE), (7.0, RESUME), (9.0, RELEASE)]
    result = act(*[(t, what, 0) for t, what in script], stop_cost_s=1.5)
    held_s = 1.0 + 2.0 + 1.0  # two pauses; after the release the script starts it again at the next tick
    assert result.state.end_s.tolist() == [10.0 + 3 * 1.5 + held_s]
    assert result.state.energy_j[0] == pytest.approx(600.0 * 14.5, rel=1e-12)
    assert result.state.preemptions[0] == 3
    conserved(result)


def test_nobody_gets_the_nodes_of_a_paused_job_but_everybody_those_of_a_released_one() -> None:
    """A paused job keeps the same nodes and others wait; a released one gives them up at once."""
    rows = ({"work": 10, "nodes": 3}, {"submit": 1, "work": 5, "nodes": 2})
    held = act((2.0, PAUSE, 0), (6.0, RESUME, 0), rows=rows)
    assert held.state.started_s.tolist() == [0.0, 14.0]
    assert [segment[1:] for segment in placements(held) if segment[0] == 0] == [
        (0.0, 2.0, frozenset({0, 1, 2})),
        (2.0, 6.0, frozenset({0, 1, 2})),
        (6.0, 14.0, frozenset({0, 1, 2})),
    ]
    given_up = act((2.0, RELEASE, 0), rows=rows)
    assert given_up.state.end_s.tolist() == [11.0, 16.0]  # first in line again, one tick later
    conserved(held)
    conserved(given_up)


def test_a_pause_is_no_time_run() -> None:
    """The requested time does not run during a pause: a job is killed after its request of work, not of presence."""
    result = act((3.0, PAUSE, 0), (23.0, RESUME, 0), rows=({"work": 100, "nodes": 1, "request": 12},), kill=True)
    assert status_names(result) == ["killed"]
    assert result.state.end_s.tolist() == [32.0]
    kept = act((3.0, PAUSE, 0), (23.0, RESUME, 0), rows=({"work": 10, "nodes": 1, "request": 12},), kill=True)
    assert status_names(kept) == ["finished"]


@pytest.mark.parametrize(
    ("how", "status", "end_s", "joules"),
    [
        ({"requeue": False}, "failed", 6.0, 600.0 * 4),
        ({"requeue": True}, "finished", 16.0, 600.0 * (4 + 10)),
        ({"requeue": True, "keep_progress": True}, "finished", 12.0, 600.0 * 10),
        ({"requeue": True, "keep_progress": True, "stop_cost_s": 2.0}, "finished", 14.0, 600.0 * 12),
    ],
)
def test_a_node_that_fails_under_a_paused_job(how: dict[str, Any], status: str, end_s: float, joules: float) -> None:
    """It takes the job along: failed, or queued again from nothing or from where it was, on other nodes."""
    nodes = cluster(4, outages=[Outage(6.0, 50.0, 1, 1)])
    result = act((4.0, PAUSE, 0), nodes=nodes, **how)
    assert status_names(result) == [status]
    assert result.state.end_s.tolist() == [end_s]
    assert result.state.energy_j.tolist() == [joules]
    assert result.state.paused.tolist() == [0]
    assert all(1 not in held for _, since, _, held in placements(result) if since >= 6.0)
    conserved(result)


def test_nodes_drain_when_the_paused_job_leaves() -> None:
    """A node that is drained under a paused job stays with it until it ends."""
    result = act((4.0, PAUSE, 0), (9.0, RESUME, 0), nodes=cluster(4, outages=[Outage(6.0, 50.0, 1, 1, drain=True)]))
    assert result.state.end_s.tolist() == [15.0]
    rows = result.logs["timeline"]
    assert rows[-1, [codes.TL_BUSY, codes.TL_DOWN]].tolist() == [0.0, 1.0]
    conserved(result)


def test_the_guard_judges_stops_and_resumes() -> None:
    """Who does not run cannot pause, who is not paused cannot resume, and nobody unknown can do either."""
    script = [(2.0, RESUME, 0), (3.0, PAUSE, 0), (4.0, PAUSE, 0), (5.0, RESUME, 0), (6.0, PAUSE, 77), (7.0, RESUME, -1)]
    result = act(*script)
    assert verdicts(result, codes.ACT_STOP, codes.ACT_RESUME) == [
        "not paused",
        "accepted",
        "not running",
        "accepted",
        "no such job",
        "no such job",
    ]
    assert result.state.end_s.tolist() == [12.0]


def test_a_paused_job_can_be_sent_back_to_the_queue_at_no_further_cost() -> None:
    """A release of a paused job gives its nodes back; the stop was paid for when it paused."""
    result = act((4.0, PAUSE, 0), (6.0, RELEASE, 0), stop_cost_s=1.0)
    assert result.state.end_s.tolist() == [7.0 + 6.0 + 1.0]
    assert result.state.preemptions[0] == 2
    conserved(result)


def test_a_resume_respects_the_power_limit() -> None:
    """A paused job is not resumed where that would exceed the limit."""
    limit = [(0.0, 900.0), (5.0, 700.0), (8.0, 800.0)]
    result = act((4.0, PAUSE, 0), (6.0, RESUME, 0), (9.0, RESUME, 0), limit_w=limit)
    assert verdicts(result, codes.ACT_RESUME) == ["over the power limit", "accepted"]
    assert result.state.end_s.tolist() == [15.0]


def test_pausing_while_nodes_wake_gives_them_back() -> None:
    """A job whose nodes have not woken yet has nothing to hold on to: it is queued again."""
    nodes = cluster(2, sleep=Sleep(10.0, after_s=2.0, exit_s=4.0))
    result = act(
        (6.0, PAUSE, 0), rows=({"submit": 0, "work": 1, "nodes": 1}, {"submit": 5, "work": 10, "nodes": 2}), nodes=nodes
    )
    assert set(status_names(result)) == {"finished"}
    conserved(result)


@pytest.mark.parametrize("ties", ["instant", "event"])
def test_pauses_under_both_rules_for_ties(ties: str) -> None:
    """A pause at the very time of an end, an arrival and a resume is the same whichever rule holds for ties."""
    rows = ({"work": 10, "nodes": 2}, {"work": 4, "nodes": 1}, {"submit": 4, "work": 3, "nodes": 1})
    result = act((4.0, PAUSE, 0), (7.0, RESUME, 0), rows=rows, ties=ties)
    assert result.state.end_s[0] == 13.0
    assert result.state.energy_j.tolist() == [6000.0, 1200.0, 900.0]
    conserved(result)


def test_the_journal_counts_time_run_and_nodes_held() -> None:
    """In the journal the run time leaves out the pause; the placements have it, as a segment on the same nodes."""
    told = frames(act((4.0, PAUSE, 0), (9.0, RESUME, 0), stop_cost_s=1.0))
    assert told["jobs"]["runtime_s"].tolist() == [11.0]
    assert told["jobs"]["preemptions"].tolist() == [1]
    assert told["placements"]["start_s"].tolist() == [0.0, 4.0, 9.0]
    named = [told["events"]["event"].names[k] for k in told["events"]["event"].codes]
    assert named == ["submit", "start", "preempt", "resume", "end"]
    halted = frames(act((4.0, PAUSE, 0), (9.0, RESUME, 0), until_s=7.0))
    assert halted["jobs"]["runtime_s"].tolist() == [4.0]
    assert halted["jobs"]["energy_j"].tolist() == [2400.0]
    assert halted["placements"]["start_s"].tolist() == [0.0, 4.0]
    assert halted["classes"]["idle_energy_j"].tolist() == [100.0 * (2 * 7 + 2 * 3)]


@pytest.mark.parametrize("placements", [True, False])
@pytest.mark.parametrize("keep", [True, False])
def test_a_pause_before_a_restart_is_no_run_time_either(*, placements: bool, keep: bool) -> None:
    """A job that paused for 3 s and lost a node later has run for what it worked, before and after; logs of nodes or
    not.
    """
    nodes = replace(cluster(4, min_cap_w=150.0), outages=(Outage(7.0, 8.0, 0, 4),))
    result = act((2.0, PAUSE, 0), (5.0, RESUME, 0), nodes=nodes, placements=placements, keep_progress=keep)
    jobs = frames(result)["jobs"]
    worked_s = 4.0  # 0 to 2 and 5 to 7
    assert jobs["restarts"].tolist() == [1]
    assert jobs["end_s"].tolist() == [8.0 + (10.0 - worked_s if keep else 10.0)]
    assert jobs["runtime_s"].tolist() == [10.0 if keep else 10.0 + worked_s]


def test_a_job_that_loses_its_nodes_while_it_pauses() -> None:
    """The pause is no run time, what it had worked before is."""
    nodes = replace(cluster(4, min_cap_w=150.0), outages=(Outage(7.0, 8.0, 0, 4),))
    jobs = frames(act((2.0, PAUSE, 0), nodes=nodes))["jobs"]
    assert jobs["runtime_s"].tolist() == [12.0]
    assert jobs["end_s"].tolist() == [18.0]


# ------------------------------------------------------------------ at random


@policy("select", wake="tick arrival end node envelope", memory=1)
def restless(s, mask, param, memory):
    """Start what fits; at ticks pause, release and resume jobs at random, also those that cannot be."""
    memory[0] += 1
    for i in range(4):
        coin, who = uniform(param[-1], 21 + i, int(memory[0])), uniform(param[-1], 31 + i, int(memory[0]))
        job = int(who * (s.status.size + 2)) - 1
        if s.n_running[0] > 0 and coin < 0.8:
            job = s.running[int(who * s.n_running[0])]
        if not mask & codes.TICK or coin > 0.9:
            continue
        if i < 2:
            s.stop_job[s.n_stop[0]], s.stop_holds[s.n_stop[0]] = job, int(coin < 0.6)
            s.n_stop[0] += 1
        else:
            s.resume_job[s.n_resume[0]] = job
            s.n_resume[0] += 1
    if s.now[0] > 150.0:  # in the end everybody may finish
        s.n_stop[0], s.n_resume[0] = 0, 0
        for j in s.running[: s.n_running[0]]:
            if s.status[j] == codes.PAUSED:
                s.resume_job[s.n_resume[0]] = j
                s.n_resume[0] += 1
    n, free = 0, s.free.copy()
    for j in s.queue[s.q_head[0] : s.q_tail[0]]:
        if j >= 0 and s.nodes[j] <= free[s.pool[j]]:
            s.p_job[n], s.p_nodes[n], s.p_cap_w[n], s.p_why[n] = j, s.nodes[j], np.inf, codes.CHOSEN
            free[s.pool[j]] -= s.nodes[j]
            n += 1
    return n


@policy("cap", wake="tick", caps=True, solo_caps=True, memory=1)
def moody(s, mask, param, memory):
    """Cap classes and single jobs at random."""
    memory[0] += 1
    for c in range(s.want_cap_w.size):
        s.want_cap_w[c] = 100.0 + 250.0 * uniform(param[-1], 41 + c, int(memory[0]))
    if s.n_running[0] > 0:
        s.recap_job[0] = s.running[int(uniform(param[-1], 51, int(memory[0])) * s.n_running[0])]
        s.recap_w[0] = 400.0 * uniform(param[-1], 52, int(memory[0]))
        s.n_recap[0] = 1
    return 1


@pytest.mark.parametrize("sorted_running", [False, True])
@examples(20)
@given(
    work=workloads(counts=(4, 3), linked=True, most=12),
    outages=OUTAGES,
    kill=st.booleans(),
    requeue=st.booleans(),
    keep=st.booleans(),
    sleep=st.booleans(),
    ties=st.sampled_from(["instant", "event"]),
    seed=st.integers(0, 10_000),
    cost_s=st.sampled_from([0.0, 0.75]),
)
def test_sound_whoever_pauses(
    sorted_running: bool,
    work: Work,
    outages: list[Any],
    kill: bool,
    requeue: bool,
    keep: bool,
    sleep: bool,
    ties: str,
    seed: int,
    cost_s: float,
) -> None:
    """Pauses, releases and resumes at random, legal or not, under caps, outages, sleep and kills, lose no job and no
    joule.
    """
    lost = tuple(Outage(float(t), float(t + d), first, count, drain) for t, d, first, count, drain in outages)
    asleep = Sleep(power_w=10.0, after_s=4.0, entry_s=1.0, exit_s=2.5) if sleep else None
    classes = (NodeClass("a", 4, 100.0, 300.0, 150.0, asleep), NodeClass("b", 3, 50.0, 320.0, 110.0))
    how = Options(
        kill=kill,
        requeue=requeue,
        keep_progress=keep,
        ties=ties,
        tick_s=2.5,
        stop_cost_s=cost_s,
        limit_w=[(0.0, 1500.0), (30.0, 1900.0)],
    )
    chosen = policies(select=replace(restless, sorted_running=sorted_running), cap=moody)
    sim = Simulation(work.table(["a", "b"]), Cluster(classes, outages=lost), chosen, how, seed=seed)
    for s, _ in instants(sim):
        check_structure(s)
    assert_sound(sim.result(), [])
    s = sim.state
    assert s.busy_w.tolist() == [0.0, 0.0]
    assert s.n_active[0] == s.n_due[0] == 0
    assert s.paused.tolist() == s.waking.tolist() == [0, 0]
    whole = (s.restarts == 0) & (s.status == codes.FINISHED)
    assert np.all(s.ran_s[whole] >= s.work[whole] - 1e-9)


def test_logs_emptied_between_pauses_say_the_same(log_rows: Any) -> None:
    """However often the logs are emptied, a run with pauses leaves the same bytes."""
    rows = [{"submit": i % 3, "work": 5 + i % 7, "nodes": 1 + i % 3} for i in range(12)]
    jobs = table(*rows)
    how = Options(tick_s=1.0)
    whole = run(jobs, cluster(6), select=restless, options=how, seed=5)
    assert whole.state.preemptions.sum() > 10
    log_rows(90)
    assert digest(run(jobs, cluster(6), select=restless, options=how, seed=5)) == digest(whole)


def test_a_timer_resumes_a_job_though_none_waits() -> None:
    """A policy that asks for timers is called at them also where the line is empty, and the run is not stuck."""

    @policy("select", wake="arrival timer", name="by-timer")
    def by_timer(s: Any, mask: int, param: Any, memory: Any) -> int:
        if s.now[0] == 10.0:
            s.stop_job[0], s.stop_holds[0], s.n_stop[0] = 0, 1, 1
            s.wake_at_s[codes.SELECT] = 25.0
        elif s.now[0] == 25.0:
            s.resume_job[0], s.n_resume[0] = 0, 1
        elif s.q_len[0]:
            s.p_job[0], s.p_nodes[0] = 0, 1
            s.wake_at_s[codes.SELECT] = 10.0
            return 1
        return 0

    result = run(table({"submit": 0, "work": 30, "nodes": 1}), cluster(2), select=by_timer)
    assert result.state.end_s[0] == 45.0
