"""Worlds on which engine and twin once differed, each shrunk to what shows it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from differential.classic import World, check, simulate
from differential.fast import STATUS


def job(
    submit: float, work: float, nodes: int, *, draw: float = 300.0, pool: int = 0, request: float | None = None
) -> tuple:  # type: ignore[type-arg]
    """Return a job's row."""
    return (submit, work, nodes, request, draw, pool, -1, 0.0, 0, -1)


def test_a_limit_that_is_over_when_the_run_begins_lets_nobody_in() -> None:
    """A job that no limit from the first submission on allows is rejected, whatever the limit was before."""
    world = World(jobs=[job(1.0, 0.0, 1)], classes=[(1, 100.0)], limit=[(0.0, 300.0), (1.0, 0.0)])
    assert check(world) is None


def test_the_first_in_line_has_a_reservation_also_where_no_node_is_free() -> None:
    """Where classes share a limit, a pass in which no node is free makes promises too, and they hold at the next
    pass.
    """
    world = World(
        jobs=[
            job(35.0, 2.0, 1, draw=200.0), job(35.0, 2.0, 4, draw=200.0, request=0.0), job(35.0, 3.0, 3),
            job(35.0, 4.0, 3, draw=120.0, pool=1), job(38.0, 0.0, 1, pool=1),
        ],
        classes=[(4, 100.0), (3, 50.0)], limit=[(0.0, 1200.0), (40.0, 914.0)],
    )  # fmt: skip
    assert check(world) is None


def test_a_job_that_may_exceed_the_limit_is_not_stopped_for_others_that_exceed_it() -> None:
    """Reselection leaves a job to end that runs alone above the limit; it would start again at once."""
    world = World(
        jobs=[job(0.0, 2.0, 1), job(1.0, 0.0, 1)],
        classes=[(1, 100.0)],
        select="reselect",
        limit=[(0.0, 0.0)],
        exceed=True,
    )
    assert check(world) is None


def test_a_job_that_was_stopped_stands_where_its_remaining_work_belongs() -> None:
    """Shortest first: after a stop the pass that follows gives a job its new key, also if only the limit changed in
    it.
    """
    world = World(
        jobs=[job(0.0, 10.0, 2), job(4.0, 3.0, 2), job(6.0, 8.0, 2)], classes=[(2, 100.0)], select="reselect",
        params={"drift": -1.0}, order="shortest", learn="exact", limit=[(0.0, 1000.0), (5.0, 900.0)],
    )  # fmt: skip
    assert check(world) is None


def test_watts_of_jobs_that_are_stopped_serve_all_classes() -> None:
    """What reselection stops on one class makes room under the limit for jobs of others, in the same instant."""
    world = World(
        jobs=[job(39.0, 12.0, 2, pool=1), job(44.0, 5.0, 1), job(44.0, 2.0, 3, pool=1)], classes=[(3, 100.0), (4, 0.0)],
        select="reselect", params={"preempt": 1.0, "at_arrivals": 0.0, "drift": 0.0}, order="shortest", truth=1,
        limit=[(0.0, 1280.0), (173.0, 3600.0)],
    )  # fmt: skip
    assert check(world) is None


def test_a_pass_made_for_another_reason_is_the_pass_to_be_made_again() -> None:
    """Event by event, a second look of reselection is taken with the next end, and an arrival after it changes
    nothing.
    """
    world = World(
        jobs=[job(94.0, 3.0, 1, pool=1), job(94.0, 4.0, 2), job(94.0, 0.0, 1), job(97.0, 0.0, 1)],
        classes=[(2, 100.0), (1, 0.0)], select="reselect", params={"preempt": 1.0, "at_arrivals": 0.0, "drift": 0.0},
        order="shortest", limit=[(0.0, 900.0)], ties="event",
    )  # fmt: skip
    assert check(world) is None


def test_backfilling_by_end_compares_work_with_work() -> None:
    """A job as long as one that starts in the same pass does not pass the head: rounding of the clock has no say."""
    world = World(
        jobs=[job(2415.0, 16.9, 1), job(2415.0, 0.0, 4), job(2415.0, 16.9, 1)],
        classes=[(4, 50.0)],
        select="backfill-by-end",
    )
    assert check(world) is None


def test_whoever_was_stopped_is_served_once_more_at_the_next_tick() -> None:
    """Reselection that stopped a job serves all classes again, also where passes wait for ticks; it waited for ever for
    a pass of the same instant.
    """
    world = World(
        jobs=[job(0.0, 10.0, 2, pool=1), job(1.0, 5.0, 1)], classes=[(1, 100.0), (2, 100.0)], select="reselect",
        limit=[(0.0, 750.0), (3.0, 550.0), (20.0, 750.0)], tick=2.0,
    )  # fmt: skip
    result, _ = simulate(world)
    assert result.state.started_s.tolist() == [0.0, 6.0]
    assert check(world) is None


WAKING = World(
    jobs=[job(0.0, 0.0, 1), job(10.0, 10.0, 1, request=10.0)], classes=[(1, 100.0)], sleep=[(9.0, 1.0, 0.0, 5.0)],
    outages=[(17.0, 18.0, 0, 1, False)], kill=True, keep_progress=True,
)  # fmt: skip
"""A job whose node wakes from 10 to 15 s, works for two seconds, loses its node, and goes on at 18 s."""


def test_waking_is_no_time_that_a_request_allows() -> None:
    """A job that lost a node and kept its progress has the rest of its request, of which waking took nothing."""
    result, _ = simulate(WAKING)
    assert result.state.end_s.tolist() == [0.0, 26.0]
    assert STATUS[result.state.status[1]] == "finished"
    assert check(WAKING) is None


def test_a_job_that_loses_its_node_while_it_wakes_has_run_for_no_time() -> None:
    """It has all of its request left."""
    world = replace(WAKING, outages=[(13.0, 14.0, 0, 1, False)])
    result, _ = simulate(world)
    assert result.state.end_s.tolist() == [0.0, 24.0]
    assert STATUS[result.state.status[1]] == "finished"
    assert check(world) is None


def test_recent_run_times_are_kept_to_the_last_digit() -> None:
    """A user's third job is estimated to take exactly the mean of the first two, and passes the head that has just so
    much time.
    """
    own = [(*job(0.0, 0.1, 1)[:-1], 0), (*job(0.2, 0.3, 1)[:-1], 0), (*job(1.0, 0.2, 1, request=9.0)[:-1], 0)]
    world = World(jobs=own, classes=[(2, 100.0)], learn="recent")
    result, _ = simulate(world)
    assert result.state.estimate_s[2] == (0.1 + (0.2 + 0.3 - 0.2)) / 2
    assert check(world) is None


def test_nodes_that_a_job_wakes_idle_once_it_has_ended() -> None:
    """Where classes share a limit, a job that starts leaves its nodes awake in the plan: their idle power is not there
    for those who are promised something in the same pass.
    """
    world = World(
        jobs=[
            job(0.0, 0.0, 4), job(0.0, 0.0, 3, pool=1), job(0.0, 0.0, 4), job(3.0, 1.0, 1, draw=120.0, pool=1),
            job(3.0, 0.0, 1),
        ],
        classes=[(4, 100.0), (3, 50.0)], select="backfill-by-end", limit=[(0.0, 400.0), (29.0, 1420.0)],
        sleep=[(0.0, 1.0, 0.0, 3.0), (50.0, 3.0, 0.0, 30.0)],
    )  # fmt: skip
    result, _ = simulate(world)
    assert result.state.started_s.tolist() == [33.0, 36.0, 66.0, 3.0, 29.0]
    assert check(world) is None


def test_who_could_not_pass_may_pass_once_nodes_wake() -> None:
    """A job that wakes its node ends later than the pass that started it had planned: the head has its nodes later, and
    at the next arrival another may pass it.
    """
    world = World(
        jobs=[job(0.0, 0.0, 1), job(20.0, 0.0, 1), job(20.0, 0.0, 13), job(20.0, 1.0, 1), job(21.0, 0.0, 1)],
        classes=[(13, 100.0)], sleep=[(0.0, 5.0, 0.0, 8.0)],
    )  # fmt: skip
    result, _ = simulate(world)
    assert result.state.started_s.tolist()[3] == 21.0
    assert check(world) is None


def test_a_job_that_is_rejected_is_no_event() -> None:
    """With a pass after every event, what happened before its submission stays for the pass of the next arrival: the
    limit that fell stops the job that runs, as it does without the rejected one.
    """
    world = World(
        jobs=[job(111.0, 2.0, 1), job(112.0, 0.0, 2), job(112.0, 0.0, 1)], classes=[(1, 100.0)], select="reselect",
        params={"preempt": 1.0, "at_arrivals": 0.0, "drift": 0.0}, limit=[(112.0, 0.0)], ties="event",
    )  # fmt: skip
    for jobs in (world.jobs, [world.jobs[0], world.jobs[2]]):
        result, stuck = simulate(replace(world, jobs=jobs))
        assert (stuck, result.state.n_ended[0]) == (True, len(jobs) - 2)
        assert check(replace(world, jobs=jobs)) is None


def test_nodes_that_sleep_at_once_are_awake_for_the_pass_of_their_instant() -> None:
    """Where nodes sleep as soon as they are free, those of a job that ends are there for the next one, awake, whatever
    else falls on that instant: a request that ends then, a step of the limit, a tick, other nodes that come back.
    """
    plain = World(
        jobs=[job(0.0, 10.0, 4, request=10.0), job(0.0, 20.0, 4, request=20.0)], classes=[(4, 100.0), (1, 0.0)],
        select="in-order", sleep=[(0.0, 0.0, 0.0, 5.0), None],
    )  # fmt: skip
    others = (
        {"kill": True},
        {"limit": [(0.0, 9e3), (15.0, 8e3)]},
        {"tick": 5.0},
        {"outages": [(1.0, 15.0, 4, 1, False)]},
    )
    for changes in ({}, *others):
        world = replace(plain, **changes)
        result, _ = simulate(world)
        assert result.state.end_s.tolist() == [15.0, 35.0], changes
        assert check(world) is None


def test_a_job_that_lost_its_nodes_before_the_next_pass_is_a_newcomer_to_the_plan() -> None:
    """Conservative: what a job was promised is kept when it starts. One that an outage takes from its nodes before any
    other pass waits behind what the others were promised, as it does where there was a pass.
    """
    world = World(
        jobs=[job(148.0, 2.0, 2, pool=1), job(148.0, 0.0, 2, pool=1)], classes=[(4, 100.0), (3, 50.0)],
        select="conservative", outages=[(149.0, 149.0, 5, 1, False)],
    )  # fmt: skip
    assert check(world) is None
    late = job(51.0, 1.0, 1, request=1.0)
    between = World(
        jobs=[job(0.0, 50.0, 7, request=52.0), job(3.0, 10.0, 10, request=10.0), job(3.0, 3.0, 7, request=8.0)],
        classes=[(13, 100.0)], select="conservative", outages=[(54.0, 64.0, 9, 3, False)],
    )  # fmt: skip
    for world in (between, replace(between, jobs=[*between.jobs, late])):  # one makes a pass in between
        result, _ = simulate(world)
        assert result.state.end_s[:3].tolist() == [50.0, 67.0, 57.0]
        assert check(world) is None


def test_a_job_that_lost_its_nodes_is_no_longer_the_first_that_was_promised_watts() -> None:
    """Where classes share a limit, reservations of before come first; one that was kept by a start is none of them."""
    world = World(
        jobs=[job(28.0, 7.0, 1, pool=1), job(28.0, 2.0, 3, pool=1), job(28.0, 0.0, 3)], classes=[(4, 100.0), (3, 50.0)],
        select="easy", limit=[(0.0, 1300.0)], outages=[(36.0, 36.0, 4, 3, False)],
    )  # fmt: skip
    assert check(world) is None


@pytest.mark.parametrize("select", ["easy", "backfill-by-end"])
def test_watts_that_a_job_will_give_are_not_there_before_it_begins(select: str) -> None:
    """A job that draws less than idle nodes is promised now: one before it in the line cannot have its watts yet, and
    is no reason for a third to wait.
    """
    jobs = [job(0.0, 5.0, 3, draw=5.0, pool=1), job(0.0, 2.0, 2, draw=5.0, pool=1), job(1.0, 1.0, 2, draw=5.0),
            job(1.0, 2.0, 3, draw=2.0, pool=1), job(1.0, 5.0, 3, draw=1.0)]  # fmt: skip
    world = World(jobs=jobs, classes=[(4, 2.0), (4, 1.0)], select=select, limit=[(0.0, 19.0), (17.0, 48.0)])
    result, _ = simulate(world)
    assert result.state.started_s.tolist() == [17.0, 4.0, 1.0, 2.0, 2.0]
    assert check(world) is None


def test_reselect_starts_jobs_that_lower_the_power_first() -> None:
    """All of a prefix keep the limit together: the guard, which looks at one after the other, refuses none of them."""
    world = World(
        jobs=[job(3484.0, 4.0, 7), job(3486.0, 2.0, 1, draw=60.0), job(3486.0, 9.0, 1), job(3487.0, 3.0, 1),
              job(3488.0, 8.0, 2)],
        classes=[(16, 100.0)], select="reselect", params={"drift": 1.0}, order="longest", limit=[(0.0, 3360.0)],
    )  # fmt: skip
    result, _ = simulate(world)
    assert result.state.end_s.tolist() == [3496.0, 3496.0, 3495.0, 3490.0, 3496.0]
    assert check(world) is None


def test_a_run_on_ticks_in_which_nothing_happens_ends_before_a_sample_that_is_far_off() -> None:
    """After 100,000 ticks in which nobody runs or starts the run is stuck, whatever a sample of power might change."""
    world = World(
        jobs=[job(0.0, 0.0, 2, request=2.0), job(0.0, 0.0, 2), job(0.0, 0.0, 1)], classes=[(2, 0.0)],
        select="backfill-by-end", params={"depth": 1.0}, order="wfp", limit=[(0.0, 300.0)], tick=2.0, profile="oracle",
    )  # fmt: skip
    assert simulate(world)[1]
    assert check(world) is None


def test_nodes_that_sleep_at_once_sleep_when_the_run_begins_whatever_else_happens_then() -> None:
    """An outage of another node at that instant leaves them asleep, and the first job waits for them to wake."""
    plain = World(
        jobs=[job(0.0, 10.0, 2, request=10.0)], classes=[(8, 100.0)], select="first-fit", sleep=[(5.0, 0.0, 0.0, 7.0)]
    )
    for outages in ([], [(0.0, 16.0, 7, 1, False)], [(0.0, 16.0, 7, 1, True)], [(3.0, 16.0, 7, 1, False)]):
        world = replace(plain, outages=outages)
        assert simulate(world)[0].state.end_s.tolist() == [17.0], outages
        assert check(world) is None
