"""Rows for jobs that nobody knew at the start: given, left, given again, and never too few without a word."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.outside import Outside, flow
from engine.regulated import FILLER, FIRM, SMALL, WIDE, follow, machine, options, signal, table_of
from engine.test_deep_queue import flood
from engine.worlds import check_structure, cluster, digest, policies, run
from wattline.arrays import Floats
from wattline.control.rows import F_AFTER, F_NODES, F_USER, facts_of
from wattline.errors import InputError, RunError
from wattline.kernel.compiled import JIT
from wattline.kernel.slots import direct
from wattline.model import codes
from wattline.model.mechanism import Memory, policy
from wattline.model.regulation import Bid
from wattline.model.rooms import no_room
from wattline.model.state.layout import copy_state
from wattline.model.state.record import FIELDS, POLICY, State
from wattline.sim.simulate import Simulation
from wattline.wiring.options import Options
from wattline.wiring.setup import prepare

MANY, SOME = (5_000, 1_500) if JIT else (300, 200)
CASES: dict[str, dict[str, Any]] = {
    "easy": {},
    "easy under a limit": {"limit_w": [(0.0, 15_000.0)]},
    "conservative": {"select": "conservative"},
    "conservative under a limit": {"select": "conservative", "limit_w": [(0.0, 15_000.0)]},
    "easy, recent run times": {"learn": "recent"},
    "by priority, first fit": {"order": "priority", "select": "first-fit"},
}


def check_rooms(s: State) -> None:
    """Assert that rows, rate classes and widths have room for what they hold, and that rows are counted right."""
    taken = np.flatnonzero(s.status < codes.SPARE)
    assert taken.size + s.n_spare[0] + s.n_freed[0] == s.status.size
    assert np.all(s.status[s.spare[: s.n_spare[0]]] == codes.SPARE)
    assert np.all(s.status[s.freed[: s.n_freed[0]]] == codes.FREED)
    assert s.c_rows.tolist() == np.bincount(s.base_class[taken], minlength=s.c_rows.size).tolist()
    assert s.ix_rows.tolist() == np.bincount(s.ix_bucket[taken], minlength=s.ix_rows.size).tolist()
    check_bounds(s)


def check_bounds(s: State) -> None:
    """Assert that no heap and no bucket of the index holds more than it has room for, and that no two share a cell."""
    assert np.all(s.c_n <= s.c_room)
    assert np.all(s.c_rows <= s.c_room)
    assert np.all(s.c_heap[1:] >= s.c_heap[:-1] + s.c_room[:-1])
    assert s.c_heap[-1] + s.c_room[-1] <= s.heap_v.size
    assert np.all(s.ix_rows <= s.ix_room)
    assert np.all(s.ix_base[1:] >= s.ix_base[:-1] + s.ix_room[:-1])
    assert s.ix_base[-1] + s.ix_room[-1] <= s.ix_job.size
    assert np.all(s.ix_tree[1:] >= s.ix_tree[:-1] + 2 * s.ix_room[:-1])
    assert s.ix_tree[-1] + 2 * s.ix_room[-1] <= s.ix_width.size
    if s.ix_on[0]:
        assert np.all(s.ix_used <= s.ix_room)
    assert s.overflow[0] == 0


@pytest.mark.parametrize("case", CASES)
def test_a_world_of_recycled_rows_starts_every_job_as_the_simulator_does(case: str) -> None:
    """5,000 jobs of which none is known before it comes, in 64 rows that grow as needed: every start is the same."""
    more = dict(CASES[case])
    how = Options(limit_w=more.pop("limit_w", ()))
    count = MANY if case in ("easy", "conservative") else SOME
    jobs, nodes = flow(7, count, 64), cluster(64, idle_w=50.0)
    world = Outside(jobs, nodes, policies(**more), how)
    world.run()
    np.testing.assert_array_equal(world.started, run(jobs, nodes, options=how, **more).state.started_s)
    assert world.reused > count // 2 or not JIT
    assert world.book.grown > 0
    check_structure(world.sim.state)
    check_rooms(world.sim.state)


@policy("order", memory=Memory(per_job=1))
def overtaken(s: State, mask: int, param: Any, memory: Any) -> int:
    """Put narrow jobs first, but let each pass in which a job waits count for it."""
    for i in range(s.q_head[0], s.q_tail[0]):
        j = s.queue[i]
        if j >= 0:
            memory[j] += 1.0
            s.key[j] = s.nodes[j] / memory[j]
    return 1


@pytest.mark.parametrize("compiled", [False, True])
def test_what_a_users_policy_keeps_of_jobs_is_not_found_by_others(compiled: bool) -> None:
    """A user's policy that counts the passes of each job counts from 0 in a row that another job had, and goes on
    counting when rows are added: every start is the simulator's.
    """
    jobs, nodes = flow(7, 300, 64), cluster(64, idle_w=50.0)
    mine = replace(overtaken, compiled=compiled)
    world = Outside(jobs, nodes, policies(order=mine), rows=16)
    world.run()
    np.testing.assert_array_equal(world.started, run(jobs, nodes, order=mine).state.started_s)
    assert world.reused > 50
    assert world.book.grown > 1


@pytest.mark.parametrize("select", ["gps", "slackline", "qoscap"])
def test_followers_of_a_target_start_every_job_of_recycled_rows_as_in_the_simulator(select: str) -> None:
    """Under caps too, where rate classes are handed out as kinds of power come and taken back when they are gone."""
    rng, kinds = np.random.default_rng(3), (SMALL, WIDE, FIRM, FILLER)
    names = rng.choice([kind.name for kind in kinds], 250, p=[0.5, 0.2, 0.2, 0.1]).tolist()
    submit_s = np.cumsum(rng.choice([0, 1, 2, 5, 9], 250)).astype(float).tolist()
    jobs = table_of(kinds, *zip(submit_s, names, strict=True), request_s=rng.integers(20, 90, 250).astype(float))
    how = options(kinds, signal(*rng.uniform(-1, 1, 2_000)), (0.0, Bid(1500.0, 400.0)), start_s=0.0)
    chosen = policies(select=select, cap="match-target")
    world = Outside(jobs, machine(8), chosen, how, rows=16, clocked=True, look=check_rooms)
    world.run()
    expected = follow(jobs, machine(8), how, select).state
    np.testing.assert_array_equal(world.started, expected.started_s)
    np.testing.assert_allclose(world.ended, expected.end_s, rtol=0, atol=1e-9)  # clocks of classes begin elsewhere
    assert world.reused > 50


# ------------------------------------------------------------------ one row at a time


class Rows:
    """A state of spare rows alone, and the facts of jobs that may enter it."""

    def __init__(self, count: int, rows: int, **slots: Any) -> None:
        jobs, nodes, chosen = flow(2, count, 16), cluster(16), policies(**slots)
        self.known = prepare(jobs, nodes, chosen.slots(), Options()).state
        self.facts: Floats = facts_of(self.known)
        nobody = jobs.take(np.zeros(count, dtype=bool))
        self.sim = Simulation(nobody, nodes, chosen, Options(spare_rows=rows, decisions=False, placements=False))

    @property
    def state(self) -> State:
        """The state as it is now."""
        return self.sim.state

    def fact(self, verb: int, *numbers: float) -> int:
        """Apply one fact; return its result."""
        from wattline.control.facts import WIDTH, take_facts

        sim, told, result = self.sim, np.zeros((1, WIDTH)), np.zeros(1, dtype=np.int64)
        told[0, : 1 + len(numbers)] = (verb, *numbers)
        nowhere = np.zeros((1, 2), dtype=np.int64)
        take_facts(sim.state, told, nowhere, result, 0, sim.wake, *sim.functions[4:6], sim.param, sim.memory)
        return int(result[0])

    def try_enter(self, j: int) -> int:
        """Give a job a row; return what the fact returns."""
        from wattline.control.facts import ENTER

        return self.fact(ENTER, 1.0, *self.facts[j])

    def enter(self, j: int) -> int:
        """Give a job a row; room is shared out anew where a class or a width has too little."""
        row = self.try_enter(j)
        while row in (-codes.NO_HEAP, -codes.NO_INDEX):
            self.sim.grow(0)
            row = self.try_enter(j)
        return row

    def arrive(self, row: int) -> int:
        """Take a job in."""
        from wattline.control.facts import ARRIVED

        return self.fact(ARRIVED, row)

    def end(self, row: int) -> int:
        """Let a job end."""
        from wattline.control.facts import END

        return self.fact(END, row, codes.FINISHED)

    def free(self, row: int) -> int:
        """Take the row of a job."""
        from wattline.control.facts import FREE

        return self.fact(FREE, row)

    def control(self) -> int:
        """Let control pass."""
        from wattline.control.chores import chores
        from wattline.control.step import step

        sim = self.sim
        return int(step(sim.state, sim.wake, *sim.functions[:4], direct(chores, POLICY), sim.param, sim.memory))


JOB_FIELDS = [
    name
    for name, (_, field) in FIELDS.items()
    if field.shape.split(",")[0] in ("J", "NJ") and name not in ("due_s", "due_job", "profile")
]
"""Fields with a value for each job; no profile is known of one that has just come."""


def test_a_row_holds_what_the_simulator_writes_for_the_same_job() -> None:
    """A job that gets a row, new or left by another, finds in every field what it has when it is known at the start."""
    world = Rows(20, 20)
    for _ in range(2):
        rows = [world.enter(j) for j in range(20)]
        s = world.state
        for name in [name for name in JOB_FIELDS if getattr(s, name).size]:
            np.testing.assert_array_equal(getattr(s, name)[rows], getattr(world.known, name), err_msg=name)
        for name in JOB_FIELDS:  # as a life might leave them
            if name not in ("base_class", "ix_bucket", "after", "child", "sibling"):
                getattr(s, name)[:] = 3
        s.status[:] = codes.FINISHED
        assert [world.free(row) for row in rows] == [0] * 20
        check_rooms(s)
        assert world.try_enter(0) == -codes.NO_ROW  # nobody gets these rows before the next pass is over
        assert world.control() == 0
        check_rooms(s)


def test_what_policies_keep_of_a_job_goes_with_its_row() -> None:
    """Columns of a policy's memory are 0 for a new job, whoever had the row, and stay with the jobs when rows are
    added; the rest of the memory stays too.
    """
    world = Rows(6, 4, select="conservative", profile="pooled")
    rows = [world.enter(j) for j in range(4)]
    kept_columns = ((codes.SELECT, 3), (codes.PROFILE, 2))
    for slot, columns in kept_columns:
        memory = world.sim.memory[slot]
        memory[:] = np.arange(1.0, memory.size + 1)
        before = memory.copy()
        world.state.status[rows[1]] = codes.FINISHED
        assert world.state.mem_jobs[slot] == columns
    assert world.free(rows[1]) == 0
    world.sim.memory[codes.SELECT][:] = 0.0
    world.control()
    world.sim.memory[codes.SELECT][:] = np.arange(1.0, world.sim.memory[codes.SELECT].size + 1)
    assert world.enter(4) == rows[1]
    of_job = world.sim.memory[codes.PROFILE][: 2 * 4].reshape(2, 4)
    assert of_job[:, rows[1]].tolist() == [0.0, 0.0]
    others = [row for row in range(4) if row != rows[1]]
    np.testing.assert_array_equal(of_job[:, others], before[: 2 * 4].reshape(2, 4)[:, others])
    kept = [memory.copy() for memory in world.sim.memory]
    world.sim.grow(5)
    for slot, columns in kept_columns:
        wide, before = world.sim.memory[slot], kept[slot]
        of_jobs = wide[: columns * 9].reshape(columns, 9)
        np.testing.assert_array_equal(of_jobs[:, :4], before[: columns * 4].reshape(columns, 4))
        assert not of_jobs[:, 4:].any()
        rest = before[columns * 4 :]
        np.testing.assert_array_equal(wide[columns * 9 : columns * 9 + rest.size], rest)
    assert world.enter(5) >= 4


def test_a_plan_does_not_take_a_newcomer_for_the_last_job_of_its_row() -> None:
    """Conservative backfilling is not asked while nobody waits; a job that then gets the row of one that is still in
    the plan starts at once on free nodes, as in any other row.
    """
    world = Rows(2, 2, select="conservative")
    world.facts[:, F_USER] = 0
    first = world.enter(0)
    assert world.arrive(first) == 0
    assert world.control() == 1
    world.state.now[0] += 5.0
    assert world.end(first) == world.free(first) == 0
    assert world.control() == 0
    world.state.now[0] += 5.0
    assert world.enter(1) == first
    assert world.arrive(first) == 0
    world.control()
    assert world.state.status[first] == codes.RUNNING


def test_growing_gives_the_room_that_a_run_of_that_size_has() -> None:
    """Memory of a policy has the same size whether its rows were there from the start or came later."""
    small, large = (Rows(6, rows, select="conservative", learn="recent", profile="pooled") for rows in (4, 9))
    small.sim.grow(5)
    assert [memory.size for memory in small.sim.memory] == [memory.size for memory in large.sim.memory]
    assert small.state.sizes == large.state.sizes
    assert Memory(per_job=2, list_per_job=1).size(jobs=4, running=1, users=1, kinds=1, classes=1) == 12


def test_jobs_that_depend_on_a_job_let_its_row_go() -> None:
    """A job may be told to come after another; the row of that one is free for others once the first has arrived."""
    world = Rows(3, 3)
    world.facts[:, F_USER] = 0
    first = world.enter(0)
    world.facts[1, F_AFTER] = world.facts[2, F_AFTER] = first
    second, third = world.enter(1), world.enter(2)
    assert world.arrive(first) == world.arrive(second) == 0
    assert world.state.status[second] == codes.HELD
    world.control()
    assert world.end(first) == 0
    assert world.free(first) == -codes.NO_SUCH  # the third one has not arrived, and asks it when it does
    assert world.arrive(third) == 0
    assert world.free(first) == 0
    assert world.state.after.tolist().count(first) == 0
    world.state.status[second] = codes.FINISHED
    assert world.free(second) == 0


def test_a_line_that_never_empties_has_slots_for_ever() -> None:
    """Jobs may come for ever into few rows while somebody always waits: before a pass each row has a slot to come back
    to, and the order of the line stays.
    """
    world = Rows(1, 8, select="in-order")
    world.facts[0, F_USER], world.facts[0, F_NODES] = 0, 16
    s = world.state
    line: list[int] = []
    for _ in range(400):
        s.now[0] += 1.0
        for row in [row for row in line if s.status[row] == codes.RUNNING]:
            assert world.end(row) == world.free(row) == 0
            line.remove(row)
        while s.n_spare[0] > 0:
            line.append(world.enter(0))
            assert world.arrive(line[-1]) == 0
        assert s.q_tail[0] <= s.queue.size - s.status.size
        assert world.control() == 1
        assert s.status[line[0]] == codes.RUNNING
        assert [int(j) for j in s.queue[s.q_head[0] : s.q_tail[0]] if j >= 0] == line[1:]
    check_rooms(s)


def test_a_job_that_came_from_outside_is_in_no_result() -> None:
    """A simulation's result is that of its job table: where others came into spare rows there is none."""
    world = Rows(2, 2)
    world.facts[:, F_USER] = 0
    world.enter(0)
    with pytest.raises(RunError, match="jobs have come that no job table has"):
        world.sim.result()


def test_facts_that_cannot_be_are_refused_and_it_is_said_in_words() -> None:
    """Each code of a fact is one line in plain words, and the state is as before."""
    world = Rows(4, 2)
    world.facts[:, F_USER] = 0
    assert world.free(0) == world.end(0) == world.arrive(0) == world.free(7) == world.end(-1) == -codes.NO_SUCH
    world.facts[3, F_NODES] = 17
    assert world.try_enter(3) == -codes.NO_SUCH
    world.facts[2, F_USER] = 99
    assert world.try_enter(2) == -codes.NO_USER
    row = world.enter(0)
    assert world.free(row) == -codes.NO_SUCH  # it has not even come
    assert world.arrive(row) == 0
    assert world.arrive(row) == -codes.NO_SUCH
    world.enter(1)
    assert world.try_enter(1) == -codes.NO_ROW
    check_rooms(world.state)
    said = {code: str(no_room(code, world.state)) for code in range(1, codes.NO_SUCH + 1)}
    assert said[codes.NO_ROW] == "the state has no more room for jobs (2 rows, 0 of them spare): give it more rows"
    assert len(set(said.values())) == codes.NO_SUCH
    assert not any("\n" in line for line in said.values())
    world.state.a_n[0] = world.state.log_room[0] + 1
    assert world.control() == -codes.NO_LOG


# ------------------------------------------------------------------ the simulator's own way


@pytest.mark.parametrize("slots", [{}, {"select": "conservative"}, {"cap": "under-limit"}, {"learn": "recent"}])
def test_spare_rows_change_nothing_in_a_simulation(slots: dict[str, Any]) -> None:
    """A run with room for jobs that never come gives the same bytes; so do its copy and its pickle."""
    jobs, nodes = flow(5, 300, 32), cluster(32, min_cap_w=120.0, idle_w=50.0)
    how = {"limit_w": [(0.0, 8_000.0)]} if slots.get("cap") == "under-limit" else {}
    plain = Simulation(jobs, nodes, policies(**slots), Options(**how))
    roomy = Simulation(jobs, nodes, policies(**slots), Options(**how, spare_rows=37))
    assert roomy.state.sizes.J == 337
    for sim in (plain, roomy):
        with sim:
            sim.advance(200)
    for make in (copy_state, lambda s: pickle.loads(pickle.dumps(s))):  # noqa: S301
        roomy.state = make(roomy.state)
        assert roomy.state.sizes.spare == 37
        assert np.all(roomy.state.status[300:] == codes.SPARE)
    assert digest(roomy.run()) == digest(plain.run())


@policy("cap", caps=True)
def caps_nobody(s: State, mask: int, param: Any, memory: Any) -> int:
    """Ask for rate classes by power, and set no cap."""
    return 0


def test_rooms_of_the_simulator_cannot_run_out() -> None:
    """Rate classes and widths have room for every job that belongs to them, so heaps and index stay within theirs:
    at each instant of runs with a deep queue, with caps for kinds of power and for single jobs.
    """
    limited = {"limit_w": [(0.0, 9_000.0)]}
    for cap, how in (("none", {}), ("under-limit", limited), (caps_nobody, {})):
        jobs = flood(2, 600)
        sim = Simulation(jobs, cluster(64, min_cap_w=120.0), policies(cap=cap), Options(**how))
        s, deep = sim.state, 0
        members = np.bincount(s.base_class, minlength=s.c_room.size)
        assert np.all(s.c_rows == members)
        assert np.all(s.c_room >= np.maximum(members, 1))
        assert np.all(s.ix_room >= np.bincount(s.ix_bucket, minlength=s.ix_room.size))
        with sim:
            while sim.advance(1) == codes.BUDGET:
                check_bounds(s)
                deep += int(s.ix_on[0])
        assert deep > 100
        assert s.n_jobs[0] == s.n_ended[0] == 600


def test_an_index_without_room_ends_the_run_with_a_word() -> None:
    """Were there too little room for the waiting jobs of a width, the run would stop and say so; nothing is written
    beyond the room.
    """
    sim = Simulation(flood(2, 600), cluster(64), policies(), Options())
    sim.state.ix_room[:] = 1
    leaves = sim.state.ix_slot.copy()
    with pytest.raises(RunError, match=r"no more room for waiting jobs of one width \(600 rows, 0 of them spare\)"):
        sim.run()
    assert np.all(sim.state.ix_slot == leaves)


def test_a_state_of_known_jobs_does_not_grow() -> None:
    """Rows can be added only where some are spare; a number of them below 0 is refused."""
    jobs = flow(2, 5, 16)
    with pytest.raises(RunError, match="make it with spare rows"):
        Simulation(jobs, cluster(16), policies(), Options()).grow(5)
    with pytest.raises(InputError, match="0 spare rows or more, got -1"):
        Simulation(jobs, cluster(16), policies(), Options(spare_rows=-1))


def test_random_facts_break_nothing() -> None:
    """Jobs that come, end and leave their rows in any order, between passes and rows that are added: rows, rooms, nodes
    and queue add up after each.
    """
    rng = np.random.default_rng(11)
    world = Rows(400, 8, select="conservative")
    s, done = world.state, dict.fromkeys(("enter", "arrive", "end", "free", "grow", "pass"), 0)
    coming = 0
    for _ in range(1_500 if JIT else 300):
        s.now[0] += rng.integers(0, 30)
        status = s.status.copy()
        who = int(rng.integers(-1, s.status.size + 1))
        verb = rng.choice(list(done), p=[0.3, 0.2, 0.2, 0.1, 0.01, 0.19])
        if verb == "enter" and coming < 400:
            row = world.enter(coming)
            assert row >= 0 or (row == -codes.NO_ROW and s.n_spare[0] == 0)
            coming += row >= 0
            ok = row >= 0
        elif verb == "grow":
            world.sim.grow(int(rng.integers(0, 4)))
            s, ok = world.state, True
        elif verb == "pass":
            ok = world.control() >= 0
            assert ok
            assert s.n_freed[0] == 0
        else:
            may = {
                "arrive": lambda x: x == codes.FUTURE,
                "end": lambda x: codes.WAKING <= x <= codes.PAUSED,
                "free": lambda x: codes.FINISHED <= x < codes.SPARE,
            }.get(verb)
            if may is None:
                continue
            able = [row for row in range(status.size) if may(status[row])]
            who = int(rng.choice(able)) if able and rng.random() < 0.9 else who
            ok = getattr(world, verb)(who) == 0
            assert ok == (0 <= who < status.size and may(status[who]))
        done[verb] += ok
        check_rooms(s)
        check_structure(s)
    assert min(done.values()) > 3, done
    assert s.sizes.J > 8
