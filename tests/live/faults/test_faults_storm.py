"""Faults of all sorts at once, at random: wires, agents, sensors, the manager, nodes, users and controllers."""

from __future__ import annotations

import numpy as np
import pytest

from engine.worlds import check_structure
from live.faults.faulty import LIMIT_W, NODES, SAFE_W, Faulty, pressed
from live.staff import SENSORS

SECONDS = 120


class Storm:
    """A world in which something breaks or is mended every second or two."""

    def __init__(self, seed: int) -> None:
        self.rng, self.world = np.random.default_rng(seed), pressed(count=50)
        self.cut: set[str] = set()
        self.requeued: set[str] = set()
        self.cancelled = 0

    def node(self) -> str:
        """Return a node."""
        return str(self.rng.choice(self.world.machine.names))

    def cut_wire(self) -> None:
        """Cut a node off, or the controller, or join all again."""
        if self.rng.random() < 0.5:
            self.world.hub.heal()
        else:
            self.world.hub.cut(self.node(), f"controller{self.world.reigns}" if self.rng.random() < 0.3 else "nobody")

    def kill_agent(self) -> None:
        """Kill an agent; or start those again that are dead."""
        if self.rng.random() < 0.5:
            self.world.fire(self.node())
        else:
            for agent in [a for a in self.world.staff.values() if not a.alive]:
                self.world.hire(agent.name)

    def break_sensor(self) -> None:
        """Break a sensor, or mend one."""
        fault = str(self.rng.choice(["nothing", "wild", "low", "far too low", "far too high"]))
        self.world.staff[self.node()].reads = SENSORS[fault]() if self.rng.random() < 0.5 else lambda watts: watts

    def silence_manager(self) -> None:
        """Let the resource manager be gone, or back."""
        self.world.machine.answers = bool(self.rng.random() < 0.6)

    def drain(self) -> None:
        """Take a node out of service, or all back."""
        down = self.world.machine.down
        down.clear() if self.rng.random() < 0.5 else down.add(self.node())

    def kill_controller(self) -> None:
        """Kill the controller and start another after a while."""
        self.world.kill_controller()
        self.world.alone(float(self.rng.choice([0.5, 3.0, 15.0])))
        self.world.controller = self.world.start()

    def act_as_user(self) -> None:
        """Cancel a job that waits, or requeue one that runs."""
        jobs = self.world.machine.jobs
        phase = "waiting" if self.rng.random() < 0.3 else "running"
        name = next((n for n, job in jobs.items() if job.seen.phase == phase), None)
        if name is None:
            return
        if phase == "waiting":
            del jobs[name]
            self.cancelled += 1
        else:
            answers, self.world.machine.answers = self.world.machine.answers, True
            self.world.machine.requeue(name)
            self.world.machine.answers = answers
            self.requeued.add(name)

    def blow(self, seconds: int) -> None:
        """Let it rage; the state adds up after each second."""
        what = [self.cut_wire, self.kill_agent, self.break_sensor, self.silence_manager, self.drain, self.act_as_user]
        for _ in range(seconds):
            self.world.run(1.0)
            check_structure(self.world.controller.ledger.state)
            if self.rng.random() < 0.6:
                what[int(self.rng.integers(0, len(what)))]()
            if self.rng.random() < 0.04:
                self.kill_controller()

    def mend(self) -> Faulty:
        """Mend everything."""
        world = self.world
        world.hub.heal()
        world.machine.down.clear()
        world.machine.answers = True
        for agent in list(world.staff.values()):
            agent.reads = lambda watts: watts
            if not agent.alive:
                world.hire(agent.name)
        return world


@pytest.mark.parametrize("seed", [1, 23, 2038])
def test_a_storm_of_faults(seed: int) -> None:
    """Two minutes of all faults at once, in which nodes obey: the limit is kept in every step, and afterwards every
    agent is led within 15 s and every job that nobody cancelled ends; those that nobody requeued ran once.
    """
    storm = Storm(seed)
    storm.blow(SECONDS)
    world = storm.mend()
    world.run(15.0)
    assert world.led() == NODES
    jobs = world.machine.jobs
    until_s = world.at() + 900.0
    while any(job.seen.phase != "ended" for job in jobs.values()) or world.machine.coming:
        assert world.at() < until_s, {n: j.seen.phase for n, j in jobs.items() if j.seen.phase != "ended"}
        world.run(5.0)
    assert len(jobs) + storm.cancelled == 50
    assert all(job.starts == 1 for name, job in jobs.items() if name not in storm.requeued)
    assert SAFE_W * NODES <= LIMIT_W
    assert world.over_s() == 0.0, [(t, w) for t, w in world.powers if w > LIMIT_W + 1e-6][:5]
