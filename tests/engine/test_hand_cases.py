"""Small cases whose starts, ends and joules are computed by hand in the test's own lines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.worlds import accounted_energy_j, cluster, placements, run, status_names, table, timeline_energy_j
from wattline.errors import InputError
from wattline.model import codes
from wattline.model.cluster import Cluster, Level, NodeClass, Outage, Sleep
from wattline.model.mechanism import policy
from wattline.model.resources.base import Supply
from wattline.model.state.record import State
from wattline.wiring.options import Options


def events(result, *names: str) -> list[tuple[float, str, int]]:
    """Return (time, event, job) rows of the event log, of the named kinds."""
    logs = result.logs
    rows = zip(logs["ev_time_s"], logs["ev_kind"], logs["ev_job"], strict=True)
    named = [(float(t), codes.EVENT_NAMES[k], int(j)) for t, k, j in rows]
    return [row for row in named if not names or row[1] in names]


# ------------------------------------------------------------------ sleep


def test_sleep_entry_sleep_and_wake() -> None:
    """A node falls asleep after its idle time and the entry delay at idle power, and wakes at greatest power.

    One node, 100 W idle, 300 W, 10 W asleep, after 20 s, entry 5 s, exit 7 s; jobs of 10 s at 200 W at 0 s and at 100
    s. Idle from 10 s, asleep from 35 s to 100 s, wakes until 107 s, works until 117 s.
    """
    jobs = table(
        {"submit": 0, "work": 10, "nodes": 1, "draw": 200}, {"submit": 100, "work": 10, "nodes": 1, "draw": 200}
    )
    result = run(jobs, cluster(1, sleep=Sleep(power_w=10, after_s=20, entry_s=5, exit_s=7)))
    s = result.state
    np.testing.assert_array_equal(s.started_s, [0, 100])
    np.testing.assert_array_equal(s.end_s, [10, 117])
    np.testing.assert_array_equal(s.energy_j, [2000, 7 * 300 + 2000])
    np.testing.assert_array_equal(s.node_j, [[4000, 25 * 100, 65 * 10, 7 * 300]])
    np.testing.assert_array_equal(s.node_s, [[27, 25, 65, 0]])
    assert events(result) == [(35.0, "sleep", -1), (100.0, "wake", 1)]
    assert timeline_energy_j(result) == accounted_energy_j(result) == 4000 + 2500 + 650 + 2100


def test_only_sleeping_nodes_wake() -> None:
    """A job on nodes that are awake starts at once; one that needs a sleeping node waits for it to wake."""
    rows = [(0, 30, 1), (40, 5, 1), (41, 5, 2)]
    jobs = table(*[{"submit": t, "work": w, "nodes": n} for t, w, n in rows])
    result = run(jobs, cluster(3, sleep=Sleep(power_w=10, after_s=15, exit_s=4)))
    # node 0 is busy to 30 s and awake until 45 s; nodes 1 and 2 sleep from 15 s
    np.testing.assert_array_equal(result.state.started_s, [0, 40, 41])
    np.testing.assert_array_equal(result.state.end_s, [30, 45, 50])
    assert events(result, "wake") == [(41.0, "wake", 2)]


def test_a_node_that_is_used_does_not_sleep() -> None:
    """A job before the idle time is over keeps the node awake."""
    jobs = table(*[{"submit": t, "work": 5, "nodes": 1} for t in (0, 14, 28)])
    result = run(jobs, cluster(1, sleep=Sleep(power_w=10, after_s=10, exit_s=4)))
    np.testing.assert_array_equal(result.state.end_s, [5, 19, 33])
    assert events(result) == []


def test_no_exit_delay() -> None:
    """Without an exit delay a sleeping node serves at once."""
    jobs = table({"submit": 0, "work": 0, "nodes": 1}, {"submit": 50, "work": 5, "nodes": 1})
    result = run(jobs, cluster(1, sleep=Sleep(power_w=10, after_s=10)))
    np.testing.assert_array_equal(result.state.end_s, [0, 55])
    np.testing.assert_array_equal(result.state.node_j, [[1500, 1000, 400, 0]])


# ------------------------------------------------------------------ nodes fail and drain


LONG = {"submit": 0, "work": 20, "nodes": 1}


def test_a_failed_node_takes_its_job() -> None:
    """The job loses its node at 8 s and starts again from scratch when it returns at 11 s; the other goes on."""
    result = run(table(LONG, LONG), cluster(2, outages=[Outage(8, 11, 0, 1)]))
    np.testing.assert_array_equal(result.state.end_s, [31, 20])
    np.testing.assert_array_equal(result.state.restarts, [1, 0])
    np.testing.assert_array_equal(result.state.energy_j, [300 * 28, 300 * 20])
    assert [(j, t0, t1) for j, t0, t1, _ in placements(result)] == [(0, 0, 8), (0, 11, 31), (1, 0, 20)]
    assert events(result) == [
        (8.0, "node-down", -1),
        (8.0, "requeue", 0),
        (11.0, "node-up", -1),
        (11.0, "resume", 0),
    ]
    assert result.state.node_s[0].tolist() == [48, 11, 0, 3]


def test_checkpoints_keep_progress() -> None:
    """With checkpoints 12 s of work are left."""
    options = Options(keep_progress=True)
    result = run(table(LONG, LONG), cluster(2, outages=[Outage(8, 11, 0, 1)]), options=options)
    np.testing.assert_array_equal(result.state.end_s, [23, 20])
    np.testing.assert_array_equal(result.state.energy_j, [6000, 6000])


def test_without_requeue_the_job_fails() -> None:
    """Without requeueing the job is lost, and said to be."""
    result = run(table(LONG, LONG), cluster(2, outages=[Outage(8, 11, 0, 1)]), options=Options(requeue=False))
    assert status_names(result) == ["failed", "finished"]
    assert result.state.end_s[0] == 8
    assert (8.0, "fail", 0) in events(result)


def test_draining_lets_the_job_finish() -> None:
    """A draining node takes no new job, but keeps the one it has; it is out of service from then on."""
    jobs = table({"submit": 0, "work": 20, "nodes": 2}, {"submit": 1, "work": 5, "nodes": 2})
    result = run(jobs, cluster(2, outages=[Outage(8, 50, 0, 1, drain=True)]))
    np.testing.assert_array_equal(result.state.end_s, [20, 55])
    assert result.state.node_s[0].tolist() == [50, 30, 0, 30]
    np.testing.assert_array_equal(result.state.restarts, [0, 0])


def test_outages_that_touch_and_overlap() -> None:
    """A node is back when no outage covers it any more."""
    for outages in ([Outage(1, 10, 0, 1), Outage(10, 20, 0, 1)], [Outage(1, 20, 0, 1), Outage(5, 10, 0, 1)]):
        result = run(
            table({"submit": 2, "work": 1, "nodes": 1}, {"submit": 2, "work": 1, "nodes": 1}),
            cluster(1, outages=outages),
        )
        np.testing.assert_array_equal(result.state.end_s, [21, 22])


def test_outage_outside_the_cluster() -> None:
    """An outage of nodes that do not exist is refused."""
    with pytest.raises(InputError, match="nodes 0 … 1"):
        run(table(LONG), cluster(2, outages=[Outage(0, 1, 1, 2)]))


def test_a_drain_ends_an_old_reservation() -> None:
    """Two of six nodes drain, so that the head can start at no known time: who arrives then may pass."""
    rows = [(0, 100, 3), (1, 10, 6), (2, 1000, 3), (4, 1000, 1)]
    jobs = table(*[{"submit": t, "work": w, "nodes": n, "request": w} for t, w, n in rows])
    result = run(jobs, cluster(6, outages=[Outage(3, 5000, 4, 2, drain=True)]))
    np.testing.assert_array_equal(result.state.started_s, [0, 5000, 100, 4])


@pytest.mark.parametrize("select", ["easy", "backfill-by-end", "conservative"])
@pytest.mark.parametrize("limit_w", [np.inf, 5000.0])
@pytest.mark.parametrize("classes", [1, 2])
def test_nodes_that_drain_are_promised_to_nobody(select: str, limit_w: float, classes: int) -> None:
    """Nodes 1 and 2 drain under the second job, so that at 100 s two nodes are free and not four: the fourth job would
    delay the third, which is the head.
    """
    rows = [(0, 100, 1), (0, 100, 2), (20, 50, 2), (30, 1000, 1)]
    jobs = table(*[{"submit": t, "work": w, "nodes": n, "request": w} for t, w, n in rows])
    machine = cluster(4, outages=[Outage(10, 2000, 1, 2, drain=True)])
    if classes == 2:
        machine = replace(machine, classes=(*machine.classes, NodeClass("other", 2, idle_w=10.0, max_w=200.0)))
    how = Options(limit_w=[(0.0, limit_w)]) if limit_w < np.inf else Options()
    result = run(jobs, machine, options=how, select=select)
    np.testing.assert_array_equal(result.state.started_s, [0, 0, 100, 150])


def test_nodes_that_drain_are_promised_to_nobody_who_needs_a_resource() -> None:
    """The same with a licence that nobody lacks."""
    rows = [(0, 100, 1), (0, 100, 2), (20, 50, 2), (30, 1000, 1)]
    jobs = table(*[{"submit": t, "work": w, "nodes": n, "request": w} for t, w, n in rows])
    machine = cluster(4, outages=[Outage(10, 2000, 1, 2, drain=True)])
    result = run(jobs, machine, options=Options(resources=[Supply("licence", 9, np.ones(4, dtype=np.int64))]))
    np.testing.assert_array_equal(result.state.started_s, [0, 0, 100, 150])


def test_an_outlived_estimate_moves_the_reservation() -> None:
    """Job 3 outlives its estimate at 22 s; at 26 s it is expected to run on, and job 4 may pass the head."""
    rows = [(0, 9, 4, 10), (2, 13, 7, 43), (2, 14, 4, 6), (11, 19, 3, 11), (22, 18, 3, 15), (26, 1, 7, 101)]
    jobs = table(*[{"submit": t, "work": w, "nodes": n, "request": r} for t, w, n, r in rows])
    result = run(jobs, cluster(8))
    np.testing.assert_array_equal(result.state.started_s, [0, 44, 2, 11, 26, 57])


# ------------------------------------------------------------------ dependencies, kills, priorities


def test_dependencies_and_think_time() -> None:
    """A chain: each job enters the queue when its predecessor has ended and the think time is over."""
    jobs = table(
        {"submit": 0, "work": 10, "nodes": 1},
        {"submit": 1, "work": 5, "nodes": 1, "after": 0, "think": 3},
        {"submit": 2, "work": 5, "nodes": 1, "after": 1},
        {"submit": 40, "work": 5, "nodes": 1, "after": 0, "think": 3},
        {"submit": 41, "work": 1, "nodes": 1, "after": 3, "think": 100},
    )
    result = run(jobs, cluster(2))
    np.testing.assert_array_equal(result.state.eligible_s, [0, 13, 18, 40, 145])
    np.testing.assert_array_equal(result.state.end_s, [10, 18, 23, 45, 146])


def test_dependants_of_rejected_jobs() -> None:
    """A job that can never run is rejected with all that depend on it; the notes say so."""
    jobs = table(
        {"submit": 0, "work": 1, "nodes": 9},
        {"submit": 0, "work": 1, "nodes": 1, "after": 0},
        {"submit": 0, "work": 1, "nodes": 1},
    )
    result = run(jobs, cluster(2))
    assert status_names(result) == ["rejected", "rejected", "finished"]
    assert [note[:3] for note in result.notes if note[0] == "rejected"] == [
        ("rejected", "wider than its node class", 1),
        ("rejected", "depends on a rejected job", 1),
    ]


def test_walltime_kill() -> None:
    """Jobs past their request end at it, exact ones finish; without a request nobody is killed."""
    jobs = table(
        {"submit": 0, "work": 10, "nodes": 1, "request": 4}, {"submit": 0, "work": 10, "nodes": 1, "request": 10},
        {"submit": 0, "work": 10, "nodes": 1},
    )  # fmt: skip
    result = run(jobs, cluster(3), options=Options(kill=True))
    assert status_names(result) == ["killed", "finished", "finished"]
    np.testing.assert_array_equal(result.state.end_s, [4, 10, 10])
    np.testing.assert_array_equal(result.state.energy_j, [1200, 3000, 3000])
    assert events(result) == [(4.0, "kill", 0)]


def test_priorities() -> None:
    """The highest priority goes first, first come among equals."""
    jobs = table(*[{"submit": t, "work": 10, "nodes": 1, "priority": p} for t, p in [(0, 0), (1, 1), (2, 5), (3, 5)]])
    result = run(jobs, cluster(1), order="priority", select="in-order")
    np.testing.assert_array_equal(result.state.started_s, [0, 30, 10, 20])


def test_preemptive_lcfs() -> None:
    """The latest job interrupts; the interrupted one resumes with what was left."""
    jobs = table(*[{"submit": t, "work": 10, "nodes": 1} for t in (0, 4, 6)])
    result = run(jobs, cluster(1), order="lcfs", select="reselect")
    np.testing.assert_array_equal(result.state.end_s, [30, 24, 16])
    np.testing.assert_array_equal(result.state.preemptions, [1, 1, 0])
    np.testing.assert_array_equal(result.state.energy_j, [3000, 3000, 3000])


# ------------------------------------------------------------------ node classes and limits


def test_node_classes_have_their_own_lines() -> None:
    """A full class does not hold up another; energies are accounted by class."""
    machine = Cluster((NodeClass("cpu", 2, 50.0, 100.0), NodeClass("gpu", 1, 200.0, 900.0)))
    rows = [(0, 10, 2, 0), (0, 10, 1, 0), (1, 20, 1, 1), (2, 5, 1, 1)]
    jobs = table(
        *[{"submit": t, "work": w, "nodes": n, "partition": p} for t, w, n, p in rows], partitions=("cpu", "gpu")
    )
    result = run(jobs, machine)
    np.testing.assert_array_equal(result.state.started_s, [0, 10, 1, 21])
    np.testing.assert_array_equal(result.state.node_j[:, 0], [10 * 200 + 10 * 100, 25 * 900])
    np.testing.assert_array_equal(result.state.node_j[:, 1], [(10 * 1 + 6 * 2) * 50, 1 * 200])
    assert [sorted(nodes) for _, _, _, nodes in placements(result)] == [[0, 1], [0], [2], [2]]


def test_constant_power_limit() -> None:
    """Three nodes at 300 W, 100 W idle: under 700 W two jobs run, the third waits for an end."""
    jobs = table(*[{"submit": 0, "work": w, "nodes": 1} for w in (10, 20, 5)])
    result = run(jobs, cluster(3), options=Options(limit_w=[(0, 700.0)]))
    np.testing.assert_array_equal(result.state.started_s, [0, 0, 10])
    assert result.logs["timeline"][:, codes.TL_POWER].max() == 700.0
    assert result.state.counter[2] == 0


def test_stepped_power_limit() -> None:
    """A limit that rises lets a job in at that instant; one that falls stops nobody but lets nobody in."""
    jobs = table(
        {"submit": 0, "work": 30, "nodes": 1},
        {"submit": 1, "work": 10, "nodes": 1},
        {"submit": 2, "work": 5, "nodes": 1},
    )
    limit = [(0, 500.0), (10, 700.0), (15, 500.0)]
    result = run(jobs, cluster(3), options=Options(limit_w=limit))
    np.testing.assert_array_equal(result.state.started_s, [0, 10, 30])
    assert [
        (t, v)
        for t, k, v in zip(result.logs["ev_time_s"], result.logs["ev_kind"], result.logs["ev_value"], strict=True)
        if k == codes.EV_LIMIT
    ] == [(10.0, 700.0), (15.0, 500.0)]


def test_jobs_that_exceed_every_limit_are_rejected() -> None:
    """A job that no step of the limit ever allows is rejected, not waited for."""
    jobs = table({"submit": 0, "work": 1, "nodes": 3}, {"submit": 0, "work": 1, "nodes": 1})
    result = run(jobs, cluster(3), options=Options(limit_w=[(0, 500.0), (10, 600.0)]))
    assert status_names(result) == ["rejected", "finished"]
    assert any("more power than the limit" in note[1] for note in result.notes)


def test_a_job_that_fits_while_others_sleep_is_not_rejected() -> None:
    """Four nodes idle at 100 W and sleep at 10 W: 3 x 200 W and a sleeping node stay below 650 W, beside an idle one
    they would not. The job starts when the nodes have slept.
    """
    jobs = table({"submit": 0, "work": 10, "nodes": 3, "draw": 200}, {"submit": 0, "work": 10, "nodes": 4, "draw": 200})
    limit = Options(limit_w=[(0.0, 650.0)])
    result = run(jobs, cluster(4, sleep=Sleep(power_w=10, after_s=20, entry_s=5, exit_s=0)), options=limit)
    assert status_names(result) == ["finished", "rejected"]
    assert result.state.started_s[0] == 25.0
    assert status_names(run(jobs, cluster(4), options=limit)) == ["rejected", "rejected"]


def test_a_job_that_fits_at_the_lowest_level_is_not_rejected() -> None:
    """Six nodes at 150 W and two that idle at 50 W draw 1 kW: at full speed they would draw 2.2 kW."""
    levels = (Level(0.5, 150.0, 50.0), Level(1.0, 350.0, 60.0))
    machine = Cluster((NodeClass("node", 8, 60.0, 350.0, levels=levels),))
    jobs = table({"submit": 0, "work": 10, "nodes": 6, "draw": 350}, {"submit": 0, "work": 10, "nodes": 1, "draw": 350})
    at_rest: dict[str, Any] = {"cap": "count-hysteresis", "params": {"cap": {"k_low": 5, "k_high": 9}}}
    for limit_w, expected in ((990.0, "rejected"), (1000.0, "finished")):
        result = run(jobs, machine, options=Options(limit_w=[(0.0, limit_w)]), **at_rest)
        assert status_names(result) == [expected, "finished"]
    # where nobody lowers the level it is the highest that counts, and a job that will never fit does not end the run
    assert status_names(run(jobs, machine, options=Options(limit_w=[(0.0, 1000.0)]))) == ["rejected", "finished"]


def test_a_level_that_falls_makes_room_at_once() -> None:
    """One job of one node needs 270 W at the low level, 540 W at the high one with which the run begins."""
    levels = (Level(0.5, 150.0, 40.0), Level(1.0, 300.0, 80.0))
    machine = Cluster((NodeClass("node", 4, 80.0, 300.0, levels=levels),))
    jobs = table({"submit": 0, "work": 50, "nodes": 1})
    for select in ("easy", "in-order", "conservative", "window"):
        result = run(
            jobs,
            machine,
            select=select,
            cap="count-hysteresis",
            params={"cap": {"k_low": 5, "k_high": 9}},
            options=Options(limit_w=[(0.0, 500.0)]),
        )
        assert (result.state.started_s[0], result.state.end_s[0]) == (0.0, 100.0)


def test_a_level_at_which_jobs_draw_less_makes_room_though_idle_nodes_do_not() -> None:
    """Idle nodes draw 30 W at both levels: the machine draws the same, but a start adds 50 W and not 190 W."""
    levels = (Level(0.25, 80.0, 30.0), Level(1.0, 220.0, 30.0))
    machine = Cluster((NodeClass("node", 2, 30.0, 220.0, levels=levels),))
    low: dict[str, Any] = {"cap": "count-hysteresis", "params": {"cap": {"k_low": 1, "k_high": 4}}}
    result = run(table({"submit": 0, "work": 50, "nodes": 1}), machine, options=Options(limit_w=[(0.0, 112.0)]), **low)
    assert (result.state.started_s[0], result.state.end_s[0]) == (0.0, 200.0)


@policy("cap", wake="arrival")
def to_and_fro(s: State, mask: int, param: Any, memory: Any) -> int:
    """Let one class fall while the other rises, and the other way round in the next pass."""
    for p in range(2):
        s.want_level[p] = 1 - s.level[p]
    return 1


def test_levels_that_go_to_and_fro_do_not_stop_the_clock() -> None:
    """A pass calls for one more in its instant, not for a pass after that: two in a row, then time goes on."""
    levels = (Level(0.5, 150.0, 40.0), Level(1.0, 300.0, 80.0))
    classes = tuple(NodeClass(name, 2, 80.0, 300.0, levels=levels) for name in ("a", "b"))
    jobs = table({"submit": 0, "work": 50, "nodes": 2}, {"submit": 5, "work": 50, "nodes": 2})
    result = run(jobs, Cluster(classes), cap=to_and_fro, options=Options(limit_w=[(0.0, 800.0)]))
    assert set(status_names(result)) == {"finished"}


def test_limits_reached_exactly() -> None:
    """A limit reached to the last bit, in decimal watts, admits the job: sums in another order do not count against
    it.
    """
    rng = np.random.default_rng(0)
    for _ in range(60):
        draws, idle = np.round(rng.uniform(100, 300, 6), 1), round(rng.uniform(10, 99), 1)
        jobs = table(*[{"submit": 0, "work": 3, "nodes": 1 + i % 2, "draw": d} for i, d in enumerate(draws)])
        limit = 4 * idle + sum(jobs.nodes[i] * (jobs.draw_w[i] - idle) for i in (1, 2))
        result = run(jobs, cluster(4, idle, 300.0), options=Options(limit_w=[(0, limit)]))
        assert result.state.counter[2] == 0
        assert "waiting" not in status_names(result)


def test_zero_length_jobs_pass_through() -> None:
    """Jobs without work start and end in the instant in which nodes are free; the timeline keeps one row an instant."""
    jobs = table(*[{"submit": 0, "work": w, "nodes": 2} for w in (0, 0, 5, 0)])
    result = run(jobs, cluster(2))
    np.testing.assert_array_equal(result.state.started_s, [0, 0, 0, 5])
    np.testing.assert_array_equal(result.state.end_s, [0, 0, 5, 5])
    times = result.logs["timeline"][:, codes.TL_TIME]
    assert np.all(np.diff(times) > 0)
