"""The controller on a machine in memory: what it starts, stops and caps, and what it does when things go wrong."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from engine.crowded import SENDS
from engine.worlds import check_structure, cluster, policies, run, table
from live.controller.emulated import EPOCH_S, World
from wattline.control.facts import END, FREE, PAUSED, STARTED
from wattline.errors import InputError
from wattline.live.controller.controller import BidStep
from wattline.live.controller.seen.mirror import Mirror
from wattline.live.controller.wanted.guard import GuardRules
from wattline.live.machine.base import Abilities, JobSeen, ManagerError, NodeSeen, Snapshot
from wattline.model import codes
from wattline.model.cluster import Cluster, NodeClass
from wattline.model.kinds import Kind
from wattline.model.networks.dragonfly import Dragonfly
from wattline.model.regulation import Bid, Signal
from wattline.wiring.options import Options

SMALL = Kind("small", 1, 40.0, 300.0, 150.0, 1.8, limit=3.0, weight=1.0)
WIDE = Kind("wide", 4, 90.0, 260.0, 150.0, 1.5, limit=2.0, weight=2.0)


def many(world: World, count: int, seed: int, spread_s: float = 400.0) -> None:
    """Let jobs come at whole seconds."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        work_s = float(rng.integers(3, 60))
        world.submit(
            f"j{i:03d}", int(rng.integers(1, 7)), work_s, float(rng.integers(0, spread_s)), request_s=2 * work_s
        )


@pytest.mark.parametrize("select", ["easy", "conservative", "in-order"])
def test_a_machine_without_delays_starts_every_job_as_the_simulator_does(select: str) -> None:
    """Where jobs come and end at whole seconds, and starts take no time, each is started at the simulator's second."""
    world = World(cluster(8), policies(select=select))
    many(world, 60, 3, spread_s=200.0)
    rows = sorted(world.machine.coming, key=lambda job: job.seen.submit_s)
    jobs = table(
        *[
            {"submit": j.seen.submit_s - EPOCH_S, "work": j.work_s, "nodes": j.seen.nodes, "request": j.seen.request_s}
            for j in rows
        ]
    )
    expected = run(jobs, cluster(8), select=select).state.started_s
    world.run(1400.0, step_s=1.0)
    found = np.array([job.started_s - EPOCH_S for job in rows])
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert not world.controller.ledger.row
    assert not world.controller.ledger.wrong
    check_structure(world.controller.ledger.state)


def test_power_follows_the_target_as_in_the_simulator() -> None:
    """Slackline with match-target on the emulated machine, starts 0.4 s late: the mean error is within a point of the
    simulator's for the same jobs, and every job ends once.
    """
    rng = np.random.default_rng(5)
    values = np.clip(np.cumsum(rng.normal(0, 0.1, 400)), -1, 1)
    kinds, come = (
        (SMALL, WIDE),
        sorted([(6.0 * i, "small") for i in range(50)] + [(60.0 * i, "wide") for i in range(5)]),
    )
    world = World(
        cluster(16, min_cap_w=150.0),
        policies(select="slackline", cap="match-target"),
        kinds=kinds,
        signal=tuple(values.tolist()),
        bids=(BidStep(EPOCH_S, 3000.0, 700.0),),
        late_s=0.4,
    )
    for i, (at_s, name) in enumerate(come):
        kind = next(k for k in kinds if k.name == name)
        world.submit(f"{i:03d}", kind.nodes, kind.work_s, at_s, kind=name)
    world.run(300.0)
    errors = [abs(w - target) / 700.0 for t, w, target in world.samples if 60 < t - EPOCH_S < 280]
    assert abs(float(np.mean(errors)) - simulated_error(kinds, values, come, 60.0, 280.0)) < 0.01
    assert any(math.isfinite(cap) for cap in world.machine.cap_w.values())
    world.run(500.0, step_s=1.0)
    assert all(job.seen.phase == "ended" and job.starts == 1 for job in world.machine.jobs.values())


def test_a_limit_holds_from_the_first_second_of_a_job() -> None:
    """Under a limit with caps, measured power is never above it, also while jobs are on their way."""
    world = World(cluster(16, min_cap_w=150.0), policies(select="easy", cap="under-limit"), late_s=0.7, limit_w=3300.0)
    many(world, 60, 8, spread_s=100.0)
    world.run(200.0)
    assert max(w for _, w, _ in world.samples) <= 3300.0 + 1e-6
    assert max(w for _, w, _ in world.samples) > 3000.0


def test_no_job_is_counted_with_more_than_its_nodes_can_draw() -> None:
    """A user who claims a megawatt for his job keeps nobody else from starting."""
    world = World(cluster(4, idle_w=100.0, max_w=300.0), policies(select="easy"), limit_w=1000.0)
    world.submit("liar", 1, 20.0, 0.0)
    world.machine.coming[0].seen = replace(world.machine.coming[0].seen, draw_w=1e6)
    world.submit("other", 1, 20.0, 1.0)
    world.run(5.0)
    assert {job.seen.phase for job in world.machine.jobs.values()} == {"running"}


def test_a_start_that_does_not_come_is_taken_back_and_tried_again() -> None:
    """A job whose release is refused waits again, in its place, and others go on; it runs when it is let."""
    world = World(cluster(4), policies(select="in-order"))
    world.submit("a", 2, 20.0, 0.0)
    world.submit("b", 2, 20.0, 1.0)
    world.machine.refuses.add("a")
    world.run(6.0)
    s = world.controller.ledger.state
    assert s.status[world.controller.ledger.row["a"]] in (codes.WAITING, codes.STARTING)
    assert world.machine.jobs["b"].seen.phase == "running"
    world.machine.refuses.clear()
    world.run(40.0)
    assert world.machine.jobs["a"].starts == 1
    assert s.counter[1] > 0


def test_a_job_that_comes_and_goes_between_two_looks_has_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its manager says when: the state is told of the start before the end, so that it has a wait and a run time."""
    world = World(cluster(4), policies(select="in-order"), late_s=0.6)
    ledger = world.controller.ledger
    told: list[tuple[int, str, float]] = []

    def tell_of(verb: int, name: str, *numbers: float) -> None:
        told.append((verb, name, numbers[0] if numbers else 0.0))
        original(verb, name, *numbers)

    original = ledger.tell_of
    monkeypatch.setattr(ledger, "tell_of", tell_of)
    world.submit("short", 1, 0.05, 0.0)
    world.run(5.0)
    job = world.machine.jobs["short"]
    assert job.seen.phase == "ended"
    begun, end, free = told
    assert (begun[:2], end[:2], free[:2]) == ((STARTED, "short"), (END, "short"), (FREE, "short"))
    assert 0.0 < begun[2] <= 1.0
    assert not ledger.wrong
    check_structure(ledger.state)


@pytest.mark.parametrize("late_s", [0.0, 0.6])
def test_jobs_end_at_the_times_that_their_manager_says(late_s: float) -> None:
    """Two jobs end while nobody looks: the state's clock stops at either end, and energies are those of the machine.

    Those that begin between two turns do so at their own times, too.
    """
    world = World(cluster(4, idle_w=50.0), policies(select="in-order"), late_s=late_s)
    world.machine.abilities = Abilities(quick=True)  # it is asked in every turn
    world.submit("long", 1, 20.3, 0.1)  # between two turns
    world.submit("short", 2, 7.1, 0.1)
    world.run(3.0)
    ledger = world.controller.ledger
    rows = [ledger.row[name] for name in ("short", "long")]
    assert ledger.state.submit_s[rows].tolist() == [world.machine.jobs["long"].seen.submit_s - EPOCH_S] * 2
    used_w = [float(ledger.state.draw_w[row] * ledger.state.nodes[row]) for row in rows]
    world.machine.pass_time(40.0)  # the controller is away
    world.run(1.0)
    s, jobs = ledger.state, world.machine.jobs
    for row, name, watts in zip(rows, ("short", "long"), used_w, strict=True):
        job = jobs[name]
        assert s.end_s[row] == pytest.approx(job.ended_s - EPOCH_S, abs=1e-6)
        assert s.started_s[row] == pytest.approx(job.started_s - EPOCH_S, abs=1e-6)
        assert s.energy_j[row] == pytest.approx(watts * (job.ended_s - job.started_s), rel=1e-6)
    assert s.node_j[:, 0].sum() == pytest.approx(s.energy_j[rows].sum(), rel=1e-9)
    assert not ledger.wrong
    check_structure(s)


def test_an_end_that_is_told_before_the_begin_is_taken_at_the_begin() -> None:
    """Two clocks, or two looks at one: nothing is lost by it."""
    world = World(cluster(4), policies(select="in-order"), late_s=0.6)
    world.submit("short", 1, 0.05, 0.0)
    world.run(1.0)
    ledger, job = world.controller.ledger, world.machine.jobs["short"]
    row = ledger.row["short"]
    assert ledger.state.status[row] == codes.STARTING
    world.machine.pass_time(2.0)
    assert job.seen.phase == "ended"
    job.seen = replace(job.seen, end_s=job.seen.start_s - 0.001)
    world.run(2.0)
    assert "short" not in ledger.row
    assert ledger.state.started_s[row] == pytest.approx(job.started_s - EPOCH_S, abs=1e-6)
    assert ledger.state.started_s[row] <= ledger.state.end_s[row] < 1.0
    assert not ledger.wrong
    check_structure(ledger.state)


def test_a_job_that_others_put_back_while_nobody_looks_ran_until_then() -> None:
    """Its energy and its run time are not those of the time in which the controller was away."""
    world = World(cluster(2, idle_w=50.0), policies(select="in-order"))
    world.machine.abilities = Abilities(quick=True)
    world.submit("job", 1, 30.0, 0.0)
    world.run(3.0)
    ledger, job = world.controller.ledger, world.machine.jobs["job"]
    row, watts = ledger.row["job"], 300.0
    world.machine.pass_time(4.5)
    back_s = world.hand.at_s
    world.machine.requeue("job")
    job.seen = replace(job.seen, eligible_s=EPOCH_S + back_s)
    world.machine.pass_time(20.0)  # the controller is away
    world.run(60.0)
    assert job.seen.phase == "ended"
    assert ledger.state.restarts[row] == 1
    assert ledger.state.energy_j[row] == pytest.approx(watts * (back_s + 30.0), rel=0.05)
    assert not ledger.wrong


def test_jobs_that_come_while_nobody_looks_wait_from_then_on() -> None:
    """In the order in which they came; one whose manager does not say since when it waits does so from the look on."""
    world = World(cluster(2), policies(select="in-order"))
    world.submit("first", 2, 300.0, 0.0)
    world.run(2.0)
    world.submit("second", 1, 10.0, 7.5)
    world.submit("third", 1, 10.0, 5.25)
    world.submit("unknown", 1, 10.0, 6.0)
    coming = world.machine.coming
    coming[:] = [
        job if job.seen.id != "unknown" else replace(job, seen=replace(job.seen, eligible_s=math.nan)) for job in coming
    ]
    world.machine.pass_time(20.0)  # the controller is away
    world.run(1.0)
    s, row = world.controller.ledger.state, world.controller.ledger.row
    at_s = {name: float(s.eligible_s[row[name]]) for name in ("second", "third", "unknown")}
    assert (at_s["second"], at_s["third"]) == (7.5, 5.25)
    assert at_s["unknown"] > 20.0
    assert s.seq[row["third"]] < s.seq[row["second"]] < s.seq[row["unknown"]]
    assert not world.controller.ledger.wrong
    check_structure(s)


def test_what_others_do_to_jobs_is_followed() -> None:
    """Jobs that users cancel, that others start, requeue or move, and nodes that leave: the state follows, and nothing
    is held twice.
    """
    world = World(cluster(6), policies(select="easy"))
    for i in range(6):
        world.submit(f"j{i}", 2, 50.0, 0.0, request_s=60.0)
    world.run(3.0)
    machine, book = world.machine, world.controller.ledger
    running = [name for name, job in machine.jobs.items() if job.seen.phase == "running"]
    assert len(running) == 3
    machine.requeue(running[0])
    waiting = next(name for name, job in machine.jobs.items() if job.seen.phase == "waiting" and name not in running)
    free = sorted(set(machine.names) - {n for j in machine.jobs.values() for n in j.seen.on})
    machine.release(waiting, free[:2])  # somebody else starts it
    del machine.jobs[
        next(name for name, job in machine.jobs.items() if job.seen.phase == "waiting")
    ]  # a user's scancel
    world.run(2.0)
    check_structure(book.state)
    assert book.state.status[book.row[waiting]] == codes.RUNNING
    assert set(world.controller.mirror.nodes.held(book.state, book.row[waiting])) == set(free[:2])
    machine.down.add(machine.names[5])
    world.run(1.0)
    assert book.state.n_off[0] == 1
    machine.down.clear()
    world.run(300.0)
    assert all(job.seen.phase == "ended" for job in machine.jobs.values())
    check_structure(book.state)


def test_a_controller_that_starts_again_adopts_what_runs() -> None:
    """A second controller that knows nothing finds running, stopped and waiting jobs, and no job is started twice."""
    world = World(cluster(8), policies(select="easy"))
    many(world, 40, 11, spread_s=60.0)
    world.run(20.0)
    before = {name for name, job in world.machine.jobs.items() if job.seen.phase == "running"}
    world.controller = world.start()
    world.run(1.0)
    s, book = world.controller.ledger.state, world.controller.ledger
    assert before <= {name for name, row in book.row.items() if s.status[row] == codes.RUNNING}
    world.run(1000.0, step_s=1.0)
    assert all(job.starts == 1 and job.seen.phase == "ended" for job in world.machine.jobs.values())


def test_without_an_answer_of_the_manager_nothing_is_started_and_caps_go_on() -> None:
    """While the resource manager is gone no command is given; jobs that ended meanwhile are found when it is back."""
    world = World(cluster(4), policies(select="easy"))
    for i in range(8):
        world.submit(f"j{i}", 1, 30.0, float(i))
    world.run(4.0)
    world.machine.answers = False
    commands = len(world.machine.log)
    world.run(60.0)
    assert len(world.machine.log) == commands
    world.machine.answers = True
    world.run(120.0)
    assert all(job.seen.phase == "ended" for job in world.machine.jobs.values())


@pytest.mark.parametrize(("late_s", "away_s"), [(60.0, 40.0), (1.0, 3.0)])
def test_a_job_is_told_to_start_once_though_its_manager_was_away(late_s: float, away_s: float) -> None:
    """The time in which the resource manager is away is no time in which a job failed to start, and no command is
    given by what was seen before: the manager may be back between the look and the command.
    """
    world = World(cluster(4), policies(select="easy"), late_s=late_s)
    world.submit("a", 1, 30.0, 0.0)
    machine, told = world.machine, list[str]()
    world.controller.reconciler.tell = lambda what, _job, _note: told.append(what)
    world.run(0.5)
    look, back_s = machine.snapshot, machine.now_s() + away_s

    def away() -> Snapshot:
        if machine.now_s() < back_s:
            raise ManagerError("nobody there")
        return look()

    machine.snapshot = away  # type: ignore[method-assign]
    world.run(away_s + late_s + 5.0)
    assert told == ["release"]
    assert machine.jobs["a"].starts == 1


def test_a_dry_run_says_what_it_would_do_and_does_nothing() -> None:
    """No command and no cap leaves a dry run; its state follows what others do."""
    world = World(cluster(4, min_cap_w=150.0), policies(select="easy", cap="under-limit"), act=False, limit_w=900.0)
    told: list[tuple[str, str]] = []
    world.controller.reconciler.tell = lambda what, job, _: told.append((what, job))
    for i in range(4):
        world.submit(f"j{i}", 1, 30.0, 0.0)
    world.run(3.0)
    assert ("release", "j0") in told
    assert not world.machine.log
    assert not world.machine.cap_w
    world.machine.release("j0", ["n000"])
    world.run(2.0)
    s, book = world.controller.ledger.state, world.controller.ledger
    assert s.status[book.row["j0"]] == codes.RUNNING
    world.run(60.0)
    assert world.machine.jobs["j0"].seen.phase == "ended"


def test_a_dry_run_knows_the_error_that_its_caps_would_have_given() -> None:
    """Others run a machine without caps far above the target: measured, the error is more than the reserve; by the
    model, under the caps that are wanted, the target is met.
    """
    world = World(
        cluster(8, max_w=300.0, min_cap_w=100.0),
        policies(select="easy", cap="match-target"),
        signal=(0.0,) * 60,
        bids=(BidStep(EPOCH_S, 2000.0, 300.0),),
        act=False,
    )
    for i in range(8):
        world.submit(f"j{i}", 1, 600.0, 0.0)
    world.run(1.0)
    for i in range(8):
        world.machine.release(f"j{i}", [f"n{i:03d}"])
    world.run(60.0)
    assert sum(world.machine.node_w().values()) == 2400.0
    assert world.controller.errors[-1] == pytest.approx(400.0 / 300.0)
    assert world.controller.modelled_errors[-1] == pytest.approx(0.0, abs=0.01)
    assert 0.0 < world.controller.modelled_mean_error() < 0.5  # it begins with an empty machine


def test_a_dry_run_does_not_lower_the_limit_by_what_its_caps_would_have_saved() -> None:
    """Others run a machine without caps above the limit: the caps that a dry run wants are those of the limit."""
    world = World(
        cluster(8, max_w=300.0, min_cap_w=100.0), policies(select="easy", cap="under-limit"), limit_w=2000.0, act=False
    )
    for i in range(8):
        world.submit(f"j{i}", 1, 600.0, 0.0)
    world.run(1.0)
    for i in range(8):
        world.machine.release(f"j{i}", [f"n{i:03d}"])
    world.run(60.0)
    assert sum(world.machine.node_w().values()) == 2400.0
    assert world.controller.caps.modelled_w == pytest.approx(2000.0, abs=1.0)


def test_the_limit_is_lowered_by_what_the_machine_draws_more_than_the_model_says() -> None:
    """A machine that is hungrier than its model stays under the limit once it was measured."""
    world = World(cluster(8, min_cap_w=100.0), policies(select="easy", cap="under-limit"), limit_w=2000.0)
    world.machine.idle_w = 120.0  # the model thinks 100
    many(world, 80, 2, spread_s=100.0)
    world.run(200.0)
    late = [w for t, w, _ in world.samples if t - EPOCH_S > 120.0]
    assert max(late) <= 2000.0 + 1.0


@pytest.mark.parametrize("limit_w", [2400.0, 2500.0])
def test_a_limit_that_the_model_cannot_reach_is_one(limit_w: float) -> None:
    """Eight nodes of 300 W draw up to 2,400 W by the model and more in truth: a limit of that, or above, is kept and
    told.
    """
    world = World(cluster(8, max_w=300.0, min_cap_w=100.0), policies(select="easy", cap="under-limit"))
    world.limit_w = 2400.0  # as signals tell it: what all nodes can draw, of which load targets are parts
    world.controller.most_w, world.controller.own_limit_w = 2400.0, limit_w
    many(world, 80, 2, spread_s=100.0)
    for job in world.machine.coming:
        job.draw_w = 340.0
    world.run(200.0)
    assert max(w for t, w, _ in world.samples if t - EPOCH_S < 120.0) > limit_w - 100.0  # there is something to cut
    assert max(w for t, w, _ in world.samples if t - EPOCH_S > 60.0) <= limit_w + 1.0
    assert world.limits_w == {limit_w}


def test_jobs_are_stopped_above_a_limit_that_falls() -> None:
    """With ``[limit] preempt`` jobs give way where there are no caps, wait again, and all of them end."""
    world = World(cluster(8), policies(select="easy"), options=Options(shed=True), limit_w=2400.0)
    many(world, 30, 2, spread_s=40.0)
    world.run(30.0)
    assert sum(world.machine.node_w().values()) > 1400.0
    world.limit_w = 1400.0
    world.run(60.0)
    assert max(w for t, w, _ in world.samples if t - EPOCH_S > 32.0) <= 1400.0
    world.limit_w = 2400.0
    world.run(900.0)
    assert {job.seen.phase for job in world.machine.jobs.values()} == {"ended"}
    assert max(job.starts for job in world.machine.jobs.values()) > 1


def test_the_hard_limit_of_the_guard_is_told() -> None:
    """Without any other limit the one in force is that of the guard, and none where there is none."""
    for rules, told in ((GuardRules(hard_w=1500.0), 1500.0), (GuardRules(), math.inf)):
        world = World(cluster(8, max_w=300.0, min_cap_w=100.0), policies(select="easy", cap="under-limit"), rules=rules)
        world.limit_w = world.controller.most_w = 2400.0
        many(world, 20, 2, spread_s=20.0)
        world.run(60.0)
        assert world.limits_w == {told}


def signal_of(values: np.ndarray) -> Signal:
    """Return the same signal for the simulator."""
    return Signal(values=values, start_s=0.0, step_s=2.0)


def simulated_error(
    kinds: tuple[Kind, ...], values: np.ndarray, jobs_at: list[tuple[float, str]], from_s: float, to_s: float
) -> float:
    """Return the simulator's mean error of the same jobs and the same bid."""
    from engine.regulated import table_of

    how = Options(kinds=kinds, signal=signal_of(values), bids=((0.0, Bid(3000.0, 700.0)),), tick_s=1.0, start_s=0.0)
    found = run(
        table_of(kinds, *jobs_at), cluster(16, min_cap_w=150.0), options=how, select="slackline", cap="match-target"
    )
    rows = found.logs["timeline"]
    keep = (rows[:, codes.TL_TIME] > from_s) & (rows[:, codes.TL_TIME] < to_s)
    rows = rows[keep]
    dt = np.diff(rows[:, codes.TL_TIME])
    error = np.abs(rows[:-1, codes.TL_POWER] - rows[:-1, codes.TL_TARGET]) / 700.0
    return float(np.sum(error * dt) / np.sum(dt))


@pytest.mark.parametrize(("quick", "late_s"), [(True, 0.25), (False, 1.0)])
def test_caps_know_at_once_who_went_where_the_manager_is_quick(quick: bool, late_s: float) -> None:
    """A job that ends between two full passes is no more counted at the next cap pass; a manager that takes its time is
    asked once a period. No command is given in between.
    """
    world = World(cluster(8), policies(select="easy"))
    world.machine.abilities = Abilities(quick=quick)
    for i in range(12):
        world.submit(f"j{i:02d}", 1, 10.2 if i == 0 else 500.0, 0.0)
    ended_s = gone_s = math.nan
    while math.isnan(gone_s):
        world.run(0.25)
        if math.isnan(ended_s) and world.machine.jobs["j00"].seen.phase == "ended":
            ended_s = world.hand.at_s
        if "j00" not in world.controller.ledger.row and world.hand.at_s > 1.0:
            gone_s = world.hand.at_s
    assert gone_s - ended_s == pytest.approx(late_s)
    world.run(3.0)
    assert len(world.machine.log) == 9
    assert all(at_s == int(at_s) for at_s, *_ in world.machine.log)


def test_only_what_changed_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs that wait or run as before cost nothing by name: a look goes through those whose row of the snapshot or of
    the state changed, and through those that the state did not follow yet.
    """
    looked: list[list[str]] = []
    changes = Mirror._changes

    def noted(self: Mirror, jobs: dict[str, JobSeen], known: list[str]) -> list[JobSeen]:
        looked.append(known)
        return changes(self, jobs, known)

    monkeypatch.setattr(Mirror, "_changes", noted)
    world = World(cluster(4), policies(select="in-order"))
    for i in range(40):
        world.submit(f"j{i:02d}", 2, 1000.0, 0.0)
    world.run(5.0)
    assert [len(known) for known in looked] == [0, 2, 0, 0, 0]  # two were told to start at the first pass
    world.machine.requeue("j00")
    world.run(3.0)
    assert looked[5:] == [["j00"], ["j00"], []]  # it waited again, was told to start again, and runs
    machine = world.machine
    machine.snapshot = lambda: Snapshot(  # type: ignore[method-assign]
        machine.now_s(),
        [replace(job.seen) for job in machine.jobs.values()],
        [NodeSeen(n, True) for n in machine.names],
    )
    world.run(3.0)
    assert looked[8:] == [[], [], []]  # equal rows are no change either


def test_caps_and_neighbours_on_the_network_do_not_mix() -> None:
    """A controller whose cap policy could move a job out of the rate class that knows its neighbours is refused before
    it begins, as a simulated run is; without such a policy it begins.
    """
    fly = Cluster((NodeClass("n", 20, 100.0, 300.0, min_cap_w=150.0),), network=Dragonfly(2, 2, 5))
    sends = Options(communication=SENDS)
    for cap in ("under-limit", "match-target"):
        with pytest.raises(InputError, match="use one of the two"):
            World(fly, policies(cap=cap), sends)
    World(fly, policies(select="easy"), sends).run(1.0)


@pytest.mark.parametrize("stoppable", [True, False])
def test_a_job_that_is_not_stopped_counts_as_running(stoppable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that must not be stopped is not told to; one whose stop is refused, like it, is counted as it runs."""
    world = World(cluster(2), policies(select="easy"))
    world.submit("a", 1, 100.0, 0.0)
    world.run(2.0)
    job = world.machine.jobs["a"]
    job.seen = replace(job.seen, stoppable=stoppable)
    asked: list[str] = []
    monkeypatch.setattr(world.machine, "stop", lambda name: asked.append(name) or "it has steps")
    ledger = world.controller.ledger
    ledger.tell_of(PAUSED, "a")
    ledger.flush()
    assert ledger.state.status[ledger.row["a"]] == codes.PAUSED
    world.controller.mirror.look(world.machine.snapshot())
    world.controller.reconciler.reconcile(world.machine.now_s())
    ledger.flush()
    assert asked == (["a"] if stoppable else [])
    assert ledger.state.status[ledger.row["a"]] == codes.RUNNING


@pytest.mark.parametrize("ours", [True, False])
def test_a_job_that_an_earlier_controller_stopped_goes_on(ours: bool) -> None:
    """A controller that is started anew, and knows of no reason to stop it, continues it; what others stopped stays."""
    world = World(cluster(2), policies(select="easy"))
    world.submit("a", 1, 20.0, 0.0)
    world.run(2.0)
    world.machine.stop("a")
    job = world.machine.jobs["a"]
    job.seen = replace(job.seen, ours=ours)
    world.controller = world.start()
    world.run(3.0)
    assert job.seen.phase == ("running" if ours else "paused")


def test_a_waiting_job_that_its_user_changed_is_taken_as_it_is_now() -> None:
    """A job that asks for fewer nodes now is placed on as many; one that could never run here may be led after that."""
    world = World(cluster(2), policies(select="easy"))
    world.submit("first", 2, 10.0, 0.0)
    for name, nodes in (("a", 2), ("b", 3)):
        world.submit(name, nodes, 5.0, 1.0)
    world.run(3.0)
    assert set(world.controller.mirror.refused) == {"b"}
    for name in ("a", "b"):
        job = world.machine.jobs[name]
        job.seen = replace(job.seen, nodes=1)
    world.run(20.0)
    for name in ("a", "b"):
        assert (world.machine.jobs[name].seen.phase, world.machine.jobs[name].starts) == ("ended", 1)
