"""Where jobs can be, and what becomes of those that cannot be led: nothing waits for ever, all that runs is counted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from emulated import World

from engine.worlds import cluster, policies
from wattline.control.facts import PAUSED
from wattline.live.controller.wanted.reconcile import Patience
from wattline.live.machine.base import JobSeen
from wattline.model import codes
from wattline.model.cluster import Cluster, NodeClass
from wattline.model.kinds import Kind

TWO = Cluster((NodeClass("thin", 4, 100.0, 300.0), NodeClass("fat", 2, 200.0, 900.0)))
SOLVER = Kind("solver", 1, work_s=20.0, draw_w=200.0, floor_w=200.0)


def modelled_w(world: World) -> float:
    """Return what the model says that the machine draws."""
    return world.controller.caps.modelled_w


def told(world: World) -> list[tuple[str, str, str]]:
    """Return a list to which every command is added."""
    found: list[tuple[str, str, str]] = []
    world.controller.reconciler.tell = lambda *words: found.append(words)
    return found


def test_jobs_that_cannot_be_led_are_given_back_and_counted() -> None:
    """A waiting job of a kind that is not declared, or of more nodes than there are, is given back to the resource
    manager with the reason, once; when it runs, its nodes are taken and the most that they can draw is counted.
    """
    world = World(cluster(4), policies(select="easy"), kinds=(SOLVER,))
    world.machine.starts_alone = True
    said: list[str] = []
    world.controller.on_say = said.append
    found = told(world)
    world.submit("odd", 2, 10.0, 0.0, kind="solver")
    world.machine.coming[0].seen = replace(world.machine.coming[0].seen, kind="unheard")
    world.submit("wide", 5, 10.0, 0.0, kind="solver")
    world.run(4.0)
    assert [(what, job) for what, job, _ in found] == [("leave", "odd"), ("leave", "wide")]
    assert "'unheard' is not declared" in found[0][2]
    assert "5 nodes" in found[1][2]
    assert len([line for line in said if "is left alone" in line]) == 2
    ledger = world.controller.ledger
    assert ledger.state.status[ledger.row["odd"]] == codes.RUNNING
    assert modelled_w(world) == pytest.approx(2 * 300.0 + 2 * 100.0)
    world.submit("ours", 3, 5.0, 4.0, kind="solver")
    world.run(4.0)
    assert world.machine.jobs["ours"].seen.phase == "waiting"  # only two nodes are free
    world.run(12.0)
    assert world.machine.jobs["ours"].starts == 1


@pytest.mark.parametrize("kind", ["solver", "unheard"])
def test_what_runs_is_counted_by_the_classes_of_its_nodes(kind: str) -> None:
    """A job that others started counts with the powers of the class that its nodes are of; one on nodes of two classes
    with those of both; nodes that are not ours do not count.
    """
    world = World(TWO, policies(select="easy"), kinds=(SOLVER,))
    world.submit("fat", 1, 50.0, 0.0, kind="solver")
    world.submit("both", 3, 50.0, 0.0, kind="solver")
    world.machine.pass_time(0.0)
    draw_w = {"draw_w": 250.0}
    for name, on in (("fat", ("n005",)), ("both", ("n002", "n003", "n004", "elsewhere"))):
        job = world.machine.jobs[name]
        job.seen = replace(job.seen, phase="running", on=on, start_s=1024.0, ours=False, kind=kind, **draw_w)
    world.run(2.0)
    ledger = world.controller.ledger
    held = {name: set(world.controller.mirror.nodes.held(ledger.state, row)) for name, row in ledger.row.items()}
    assert held == {"fat": {"n005"}, "both": {"n002", "n003"}, "both+fat": {"n004"}}
    assert modelled_w(world) == pytest.approx(2 * 100.0 + 4 * 250.0)
    for job in world.machine.jobs.values():
        job.seen = replace(job.seen, phase="ended", on=(), end_s=1030.0, exit=0)
    world.run(2.0)
    assert ledger.row == {}
    assert modelled_w(world) == pytest.approx(4 * 100.0 + 2 * 200.0)


def test_a_job_that_others_start_in_another_class_moves_there() -> None:
    """A waiting job that an administrator starts on other nodes than it could have been placed on is counted there."""
    world = World(TWO, policies(select="in-order"))
    world.submit("first", 4, 50.0, 0.0)
    world.submit("a", 2, 50.0, 0.0)
    fits = frozenset(world.machine.names[:4])
    for job in world.machine.coming:
        job.seen = replace(job.seen, fits=fits)
    world.run(2.0)
    job = world.machine.jobs["a"]
    job.seen = replace(job.seen, phase="running", on=("n004", "n005"), start_s=1025.0, ours=False)
    world.run(2.0)
    ledger = world.controller.ledger
    assert ledger.state.status[ledger.row["a"]] == codes.RUNNING
    assert modelled_w(world) == pytest.approx(4 * 300.0 + 2 * 900.0)


def test_jobs_start_only_where_they_can_be() -> None:
    """Nodes that a job cannot be on are replaced by free ones of its class before it is released; of several classes
    the one that has room for it is taken.
    """
    world = World(TWO, policies(select="easy"))
    names = world.machine.names
    wants = {"a": names[2:], "b": names[1:], "c": names[4:], "d": names[:3]}
    for k, (name, fits) in enumerate(wants.items()):
        world.submit(name, 2 if name in "bc" else 1, 30.0, float(k))
        world.machine.coming[-1].seen = replace(world.machine.coming[-1].seen, fits=frozenset(fits))
    world.run(6.0)
    for name, fits in wants.items():
        job = world.machine.jobs[name].seen
        assert job.phase == "running"
        assert set(job.on) <= set(fits), name
    ledger = world.controller.ledger
    for name in wants:
        on = world.controller.mirror.nodes.held(ledger.state, ledger.row[name])
        assert set(on) == set(world.machine.jobs[name].seen.on)


def test_a_job_that_can_never_start_keeps_nobody_waiting_and_is_given_back() -> None:
    """A job whose start fails again and again is set aside, others start before it, and it is given back at last."""
    world = World(cluster(2), policies(select="in-order"), patience=Patience(start_s=6.0))
    world.machine.starts_alone = True
    found = told(world)
    world.submit("bad", 1, 5.0, 0.0)
    world.machine.refuses.add("bad")
    for k in range(12):
        world.submit(f"j{k}", 2, 3.0, 1.0 + k)
    world.run(60.0)
    assert ("leave", "bad") in [(what, job) for what, job, _ in found]
    assert len([one for one in found if one[:2] == ("release", "bad")]) < 15
    assert all(job.starts == 1 for job in world.machine.jobs.values())
    (why,) = [note for what, job, note in found if what == "leave"]
    assert why == "it could not be started 5 times: not now"


def test_a_job_that_was_set_aside_and_runs_is_counted_at_once() -> None:
    """Whoever starts a job that could not be started by us: its nodes are taken from the next look on."""
    world = World(cluster(2), policies(select="easy"))
    world.submit("a", 1, 50.0, 0.0)
    world.machine.refuses.add("a")
    world.run(1.0)
    world.controller.mirror.set_aside("a", 100.0)
    world.run(2.0)
    assert "a" not in world.controller.ledger.row
    job = world.machine.jobs["a"]
    job.seen = replace(job.seen, phase="running", on=("n001",), start_s=1025.0, ours=False)
    world.run(2.0)
    assert modelled_w(world) == pytest.approx(300.0 + 100.0)


def test_a_turn_gives_only_as_many_commands_as_there_is_time_for() -> None:
    """Commands that take long are spread over turns, stops before starts; none is left out."""
    world = World(cluster(24), policies(select="easy"), patience=Patience(budget_s=0.5))
    spent = [0.0]
    world.controller.reconciler.monotonic = lambda: spent[0]
    for k in range(12):
        world.submit(f"a{k}", 1, 200.0, 0.0)
    world.run(20.0)
    ledger = world.controller.ledger
    found = told(world)
    at: list[float] = []

    def slow(*words: str) -> None:
        spent[0] += 0.125
        at.append(world.machine.now_s())
        found.append(words)

    world.controller.reconciler.tell = slow
    for k in range(12):
        world.submit(f"b{k}", 1, 200.0, 20.0)
        ledger.tell_of(PAUSED, f"a{k}")
    ledger.flush()
    world.run(6.0)
    assert max(at.count(one) for one in at) == 4
    first = [what for what, _, _ in found]
    assert first[:12].count("stop") == 12
    assert {job for what, job, _ in found if what == "release"} == {f"b{k}" for k in range(12)}


def agents_say(world: World, node: str, boot: str = "", **more: object) -> None:
    """Let the agent of a node say something."""
    body = {"w": 100.0, "age": 0.0, "cpu_w": None, "mem_w": None, "limit_w": None, "mode": "led", "cap_w": None}
    body |= {"lease": 5.0, "term": 1, "faults": [], "safe_w": None, "min_w": None, "max_w": None}
    world.controller.meters.take(node, body | more, world.machine.now_s(), boot or "1" * 16)


@pytest.mark.parametrize("how", ["safe", "ended", "anew", "silent", "led"])
def test_jobs_that_an_agent_let_go_on_are_stopped_again(how: str) -> None:
    """An agent whose lease ended, that was started anew, or that is silent for longer than its lease has let stopped
    jobs go on, which the resource manager does not know: they are stopped once more, and once only.
    """
    world = World(cluster(2), policies(select="easy"))
    world.submit("a", 1, 100.0, 0.0)
    world.run(2.0)
    controller, ledger = world.controller, world.controller.ledger
    agents_say(world, "n000")
    ledger.tell_of(PAUSED, "a")
    ledger.flush()

    def turn() -> int:
        world.hand.move(1.0)
        now_s = world.machine.now_s()
        controller.mirror.look(world.machine.snapshot())
        controller.reconciler.reconcile(now_s, controller.meters.let_go_s(now_s))
        ledger.flush()
        return len([one for one in world.machine.log if one[1] == "stop"])

    assert [turn(), turn()] == [1, 1]
    if how == "silent":
        world.hand.move(6.0)
    elif how == "anew":
        agents_say(world, "n000", boot="2" * 16)
    else:
        agents_say(world, "n000", mode="safe" if how == "safe" else "led", faults=["lease-ended"] * (how == "ended"))
    assert turn() == (1 if how == "led" else 2)
    if how != "silent":
        agents_say(world, "n000", "2" * 16 if how == "anew" else "", faults=["lease-ended"] * (how == "ended"))
    assert turn() == (1 if how == "led" else 2)
    assert ledger.state.status[ledger.row["a"]] == codes.PAUSED


def test_places_are_worked_out_once() -> None:
    """Jobs that did not change are handed on as they are: a look at them costs nothing."""
    world = World(TWO, policies(select="easy"))
    places = world.controller.mirror.places
    both = JobSeen("b", "running", 2, 0.0, on=("n003", "n004"))
    one = JobSeen("a", "running", 2, 0.0, on=("n000", "n001"))
    first, second = places.of_ours([one, both]), places.of_ours([one, both])
    assert [job.id for job in first] == ["a", "b", "b+fat"]
    assert all(x is y for x, y in zip(first, second, strict=True))
    alone = [one]
    assert places.of_ours(alone) is alone
