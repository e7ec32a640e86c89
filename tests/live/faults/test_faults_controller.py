"""Controllers that are killed, held up or doubled, resource managers that vanish, users who act behind our back."""

from __future__ import annotations

import itertools
import json
import math
import secrets
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from engine.worlds import check_structure, cluster, policies
from live.faults.faulty import LEASE_S, LIMIT_W, NODES, PERIOD_S, Faulty, busy, pressed
from wattline.live.bus.base import Arrived
from wattline.live.controller.journal import facts_log
from wattline.live.controller.journal.replay import replay
from wattline.live.controller.journal.setup import rebuild
from wattline.live.controller.leading.lease import Lease, LeaseLost
from wattline.model import codes


@pytest.mark.parametrize(("down_s", "logged"), [(2.0, True), (40.0, True), (40.0, False)])
def test_a_controller_that_is_killed(tmp_path: Path, down_s: float, logged: bool) -> None:
    """Killed and restarted after 2 s or 40 s, from its log or from the machine alone: no job is lost, doubled or left
    stopped, every agent is led again within two periods, the limit is kept, and the log is replayed identically.
    """
    world = pressed(tmp_path if logged else None)
    world.machine.down.add(world.machine.names[-1])
    world.run(2.0)
    world.kill_controller()
    world.alone(down_s)
    assert all(agent.lease.mode == ("led" if down_s < LEASE_S else "safe") for agent in world.staff.values())
    world.controller = world.start()
    world.machine.down.clear()
    world.run(2 * PERIOD_S + 0.25)
    assert world.led() == NODES
    assert int(world.controller.ledger.state.n_off[0]) == 0
    world.finish()
    assert world.over_s() == 0.0
    if world.journal is not None:
        world.journal.close()
        found = replay(tmp_path, rebuild)
        assert found.identical, found.difference
        assert found.starts == 2


def test_a_controller_killed_in_the_middle_of_a_turn(tmp_path: Path) -> None:
    """Killed after a pass, before any command: the log has jobs as starting that nobody released; they are released
    once by the next controller.
    """
    world = Faulty(tmp_path)
    busy(world, 20, spread_s=5.0)
    asked = world.controller.reconciler
    for _ in range(12):
        world.run(1.0)
        asked.reconcile = lambda *_: None  # type: ignore[method-assign]
    world.kill_controller()
    s = world.controller.ledger.state
    assert (s.status == codes.STARTING).any()
    world.controller = world.start()
    world.finish()
    assert world.over_s() == 0.0


def test_stopped_jobs_go_on_when_a_controller_ends_right_after_it_stopped_them() -> None:
    """A job that was stopped a moment ago, which no snapshot has shown yet, goes on at an orderly end."""
    world = Faulty()
    world.submit("a", 2, 50.0, 0.0)
    world.run(5.0)
    world.machine.stop("a")
    assert world.controller.mirror.seen["a"].phase == "running"
    assert world.controller.close() == []
    assert world.machine.jobs["a"].seen.phase == "running"


def test_a_resource_manager_that_is_gone_for_a_minute() -> None:
    """No command is given meanwhile, caps go on, it is said; jobs that ended are found afterwards, none is lost."""
    world = pressed()
    world.run(2.0)
    world.machine.answers = False
    commands = len(world.machine.log)
    world.run(60.0)
    assert len(world.machine.log) == commands
    assert world.led() == NODES
    assert any("does not answer" in line for line in world.said)
    world.machine.answers = True
    world.finish()
    assert world.over_s() == 0.0


def test_a_controller_that_starts_while_its_manager_is_gone_sets_no_caps_free() -> None:
    """Before it has seen a single job it sends no cap: those in force stay, then safe caps hold; when the manager is
    back all nodes are led within two periods.
    """
    world = pressed()
    world.kill_controller()
    world.machine.answers = False
    world.controller = world.start()
    world.run(20.0)
    assert all(agent.lease.mode == "safe" for agent in world.staff.values())
    world.machine.answers = True
    world.run(2 * PERIOD_S + 0.25)
    assert world.led() == NODES
    world.finish()
    assert world.over_s() == 0.0


def test_a_resource_manager_that_hangs_is_asked_once_a_period() -> None:
    """One that stops answering between its snapshot and the commands costs one time-out a period, not one a job."""
    world = Faulty(limit_w=np.inf)
    busy(world, 30, spread_s=1.0)
    machine, asked = world.machine, []
    real = machine.release

    def hangs(job: str, on: Sequence[str]) -> str | None:
        asked.append(job)
        machine.answers = False
        try:
            return real(job, on)
        finally:
            machine.answers = True

    machine.release = hangs  # type: ignore[method-assign]
    world.run(5.0)
    assert 1 <= len(asked) <= 6
    machine.release = real  # type: ignore[method-assign]
    world.finish()


def test_users_act_behind_our_back() -> None:
    """Users cancel, requeue and start jobs at random for two minutes, also on nodes that are meant for others: no job
    that they started is taken from them, none is lost or held twice, and the limit is kept but for their own starts.
    """
    world = Faulty(limit_w=np.inf)
    busy(world, 60, spread_s=100.0)
    machine, rng = world.machine, np.random.default_rng(4)
    real, theirs, cancelled, requeued = machine.release, set(), set(), set()

    def free() -> list[str]:
        held = {n for j in machine.jobs.values() if j.seen.phase != "ended" for n in j.seen.on}
        return [n for n in machine.names if n not in held]

    def release(job: str, on: Sequence[str]) -> str | None:
        if rng.random() < 0.3:  # a user is faster, on the very nodes
            other = next((n for n, j in machine.jobs.items() if j.seen.phase == "waiting" and n != job), None)
            if other is not None and machine.jobs[other].seen.nodes <= len(on):
                real(other, list(on)[: machine.jobs[other].seen.nodes])
                theirs.add(other)
        if machine.jobs[job].seen.phase == "waiting" and set(on) - set(free()):
            return "a node is held by another job"
        return real(job, on)

    machine.release = release  # type: ignore[method-assign]
    for _ in range(120):
        world.run(1.0)
        check_structure(world.controller.ledger.state)
        phase = {name: job.seen.phase for name, job in machine.jobs.items()}
        if rng.random() < 0.1 and "waiting" in phase.values():
            name = next(n for n, p in phase.items() if p == "waiting")
            del machine.jobs[name]
            cancelled.add(name)
        if rng.random() < 0.1 and "running" in phase.values():
            name = next(n for n, p in phase.items() if p == "running")
            machine.requeue(name)
            requeued.add(name)
    machine.release = real  # type: ignore[method-assign]
    assert theirs
    assert requeued
    while any(job.seen.phase != "ended" for job in machine.jobs.values()):
        assert world.at() < 600.0
        world.run(5.0)
    ours = {job for _, what, job, _ in world.commands if what == "requeue"}
    assert not ours & theirs
    assert all(job.starts == 1 for name, job in machine.jobs.items() if name not in requeued)
    assert len(machine.jobs) + len(cancelled) == 60
    world.run(2.0)
    assert not world.controller.ledger.row


class Pair:
    """Two controllers of one folder, with a lease by a clock that the test moves."""

    def __init__(self, world: Faulty, path: Path) -> None:
        self.world = world
        self.leases = [
            Lease(path / "lease.json", f"c{i}", lease_s=5.0, margin_s=1.0, now=lambda: world.hand.at_s) for i in (1, 2)
        ]
        self.renewed_s = dict.fromkeys(("c1", "c2"), -math.inf)
        self.controllers = [world.controller, world.start()]
        for lease, controller in zip(self.leases, self.controllers, strict=True):
            controller.term = lambda lease=lease: self.term(lease)  # type: ignore[misc]

    def term(self, lease: Lease) -> int:
        """Return the term as the program does, which renews four times while a lease lasts."""
        now_s = self.world.hand.at_s
        if now_s - self.renewed_s[lease.owner] >= lease.lease_s / 4.0 and lease.renew():
            self.renewed_s[lease.owner] = now_s
        return lease.check()

    def step(self, at: int) -> bool:
        """Let a controller have its turn, as leader or standby; return whether it acted."""
        if self.leases[at].term == 0 and not self.leases[at].try_to_lead():
            return False
        try:
            self.controllers[at].turn(self.world.now())
        except LeaseLost:
            return False
        return True


def test_two_controllers_of_one_folder(tmp_path: Path) -> None:
    """The standby leads within lease, margin and a period after the leader was killed or held up; one that wakes in the
    middle of a turn gives no command and its caps are ignored; never do both act.
    """
    world = Faulty()
    busy(world, 40, spread_s=20.0)
    pair = Pair(world, tmp_path)
    for _ in range(80):
        assert pair.step(0)
        assert not pair.step(1)
        world.step(0.25)
    held_s = world.at()
    machine, real = world.machine, world.machine.snapshot

    def held_up() -> object:  # SIGSTOP while it reads the answer; the standby goes on meanwhile
        found = real()
        machine.snapshot = real  # type: ignore[method-assign]
        while not pair.step(1):
            world.step(0.25)
            assert world.at() - held_s <= 5.0 + 1.0 + PERIOD_S + 0.25
        for _ in range(20):
            assert pair.step(1)
            world.step(0.25)
        machine.log.append((world.now(), "woke", ""))
        return found

    machine.snapshot = held_up  # type: ignore[assignment, method-assign]
    while machine.snapshot is not real:
        before = len(machine.log)
        pair.step(0)
        if machine.log[-1:] and any(what == "woke" for _, what, _ in machine.log[before:]):
            assert machine.log[-1][1] == "woke"
            break
        world.step(0.25)
    assert pair.leases[0].term == 0
    for _ in range(60):
        assert not pair.step(0)
        assert pair.step(1)
        world.step(0.25)
    assert all(agent.lease.term == 2 for agent in world.staff.values())
    world.controller, world.reigns = pair.controllers[1], 2
    world.finish()
    assert world.over_s() == 0.0


def test_a_thousand_malformed_and_a_thousand_forged_messages_while_it_runs() -> None:
    """They are dropped and counted on both sides, and change nothing: the same jobs start at the same times."""
    started = []
    for attacked in (False, True):
        world = pressed(count=30)
        rng, count = np.random.default_rng(1), itertools.count()
        victim = world.staff["n000"].bus
        for _ in range(80):
            world.run(0.25)
            for _ in range(25 if attacked else 0):
                n = next(count)
                junk = rng.bytes(int(rng.integers(0, 200)))
                world.controller.bus.waiting.append((0.0, Arrived(world.topics.status("n001"), junk, "n001")))
                body = {"v": 1, "kind": "cap", "from": "controller", "boot": secrets.token_hex(8), "n": n}
                body |= {"at": world.now(), "cap_w": 300.0, "lease": 60.0, "term": 99}
                forged = json.dumps(body).encode()
                victim.waiting.append((0.0, Arrived(world.topics.cap("n000"), forged, "n005")))
        world.run(0.25)
        if attacked:
            counts = world.controller.inbox.counts()
            assert sum(counts.values()) - counts["accepted"] == 2000
            assert world.staff["n000"].wire.dropped == {"forged": 2000}
        world.finish()
        assert world.over_s() == 0.0
        started.append({name: job.started_s for name, job in world.machine.jobs.items()})
    assert started[0] == started[1]


def test_an_agent_may_not_send_caps() -> None:
    """A node with its own key cannot write caps, to itself or others, nor another node's status: the wire refuses."""
    world = pressed(count=10)
    bus, wire = world.staff["n001"].bus, world.staff["n001"].wire
    before = {name: agent.lease.cap_w() for name, agent in world.staff.items()}
    for topic in (world.topics.cap("n000"), world.topics.cap("n001"), world.topics.status("n000"), world.topics.off):
        assert bus.publish(topic, wire.status("n001", {**status()})[1]) is False
    assert bus.counts()["forbidden"] == 4  # type: ignore[attr-defined]
    world.agents_turn()
    assert {name: agent.lease.cap_w() for name, agent in world.staff.items()} == before


def status() -> dict[str, object]:
    """Return the body of a status."""
    return {
        "w": 1.0, "age": 0.0, "cpu_w": None, "mem_w": None, "cap_w": None, "limit_w": None, "lease": 0.0,
        "mode": "led", "term": 1, "faults": [], "safe_w": None, "min_w": None, "max_w": None,
    }  # fmt: skip


def test_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While no fact can be written control goes on and the limit is kept; it is said; afterwards the log tells how many
    ticks it misses, and what follows the next checkpoint is replayed identically.
    """
    monkeypatch.setattr(facts_log, "AGAIN_S", 0.05)
    world = pressed(tmp_path)
    journal = world.journal
    assert journal is not None
    full = [True]
    real = journal.log._write

    def write(file: int, data: bytes) -> int:
        if full[0]:
            raise OSError(28, "No space left on device")
        return real(file, data)

    journal.log._write = write
    journal.log._waiting_bytes = 20_000
    world.run(30.0)
    assert journal.log.lost_ticks > 0
    full[0] = False
    assert journal.log.flush(10.0)
    world.finish()
    assert world.over_s() == 0.0
    journal.close()
    assert any("facts cannot be written" in line for line in world.said)
    assert any("ticks are missing" in line for line in world.said)
    found = replay(tmp_path, rebuild)
    assert found.identical, found.difference
    assert found.inexact


def test_a_signal_that_stops_jumps_or_is_no_number() -> None:
    """Held for its time, then on a ramp to the baseline; numbers that are none never reach the target; power follows
    within the bid, and every job ends.
    """
    values = [0.5] * 45 + [float("nan")] * 5 + [-1.0, 1.0] * 5 + [7.0, -0.3]
    world = Faulty(
        cluster=cluster(NODES, min_cap_w=150.0),
        policies=policies(select="easy", cap="match-target"),
        signal=tuple(values),
        bids=(),
        limit_w=LIMIT_W,
    )
    from wattline.live.controller.controller import BidStep

    world.controller.bids = (BidStep(0.0, 2600.0, 500.0),)
    busy(world, 40, spread_s=10.0)
    targets: list[float] = []
    world.controller.on_tick = lambda tick: targets.append(tick.target_w)
    world.run(260.0)
    assert np.isfinite(targets).all()
    assert min(targets) >= 2100.0 - 1e-6
    assert max(targets) <= 3100.0 + 1e-6
    assert targets[-1] == pytest.approx(2600.0)
    assert np.ptp(targets[4 * 80 : 4 * 100]) < 1e-6  # held while only what is no number came
    assert np.ptp(targets[4 * 124 : 4 * 150]) < 1e-6  # and after the last good value; then the ramp
    assert 0.0 < np.ptp(targets[4 * 170 : 4 * 180]) < 100.0
    world.finish()
    assert world.over_s() == 0.0
