"""A machine in memory that goes wrong on demand: agents with leases and safe caps that die, lie, go blind or do not
obey, wires that are cut, controllers that are killed. What the machine draws and what jobs do is noted at every step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from engine.worlds import check_structure, cluster, policies
from live.controller.emulated import EPOCH_S, World
from live.staff import Agent, hire, longest_over_s
from wattline.live.agent.node import phase_s
from wattline.live.controller.controller import Controller
from wattline.live.controller.journal.folder import Keeping, LiveJournal
from wattline.live.controller.journal.setup import describe, rebuild
from wattline.live.controller.seen.mirror import Mirror

IDLE_W, MOST_W, FLOOR_W, SAFE_W = 100.0, 300.0, 150.0, 200.0
PERIOD_S, LEASE_S = 1.0, 10.0
NODES = 16
LIMIT_W = 3300.0
"""Above what all nodes draw under their safe caps (3200 W), far above what they draw at their floors (2400 W)."""


class Faulty(World):
    """A world whose agents are ``Agent`` and tell their status once a second, each at its own time."""

    def __init__(self, folder: Path | None = None, **more: object) -> None:
        self.folder, self.said, self.commands = folder, [], []  # type: ignore[var-annotated]
        self.journal: LiveJournal | None = None
        self.staff: dict[str, Agent] = {}
        self.powers: list[tuple[float, float]] = []
        how: dict[str, object] = {"limit_w": LIMIT_W, "late_s": 0.4} | more
        super().__init__(
            how.pop("cluster", None) or cluster(NODES, min_cap_w=FLOOR_W),  # type: ignore[arg-type]
            how.pop("policies", None) or policies(select="easy", cap="under-limit"),  # type: ignore[arg-type]
            **how,  # type: ignore[arg-type]
        )
        for name in self.machine.names:
            self.staff[name] = self.hire(name)

    # ------------------------------------------------------------------ controllers

    def start(self) -> Controller:
        """Start a controller (again), as the program does: from its log where there is one."""
        made = super().start()
        made.term = lambda reign=self.reigns: reign  # type: ignore[misc]
        made.on_say = self.said.append
        made.reconciler.tell = lambda *what: self.commands.append((self.now(), *what))
        if self.folder is None:
            return made
        start = {"name": "faults", "site": "", "seed": 0, "setup": describe(made.ledger.bound)}
        self.journal = LiveJournal(
            self.folder, start, rebuild, keeping=Keeping(checkpoint_s=20.0, seal_s=50.0), say=self.said.append
        )
        ledger, old = self.journal.ledger, made.mirror
        epoch_s = self.now() - float(ledger.state.now[0])
        mirror = Mirror(ledger, old.nodes, old.desk, epoch_s)
        made.ledger, made.mirror = ledger, mirror
        made.reconciler.ledger, made.reconciler.mirror = ledger, mirror
        made.on_say = self._say
        made.on_tick = lambda _: self.journal.tick()  # type: ignore[union-attr]
        return made

    def _say(self, text: str) -> None:
        self.said.append(text)
        assert self.journal is not None
        self.journal.note("notice", text=text)

    def kill_controller(self) -> None:
        """Let it be gone between two turns, with nothing closed but what the system closes."""
        self.controller.bus.close()
        if self.journal is not None:
            self.journal.log.flush()
            self.journal.log.close()
            self.journal.checkpoints.close()

    # ------------------------------------------------------------------ agents

    def hire(self, name: str) -> Agent:
        """Start the agent of a node (again): its safe cap holds at once."""
        before = self.staff.get(name)
        found = hire(self.hub, self.hand.clock, name, safe_w=SAFE_W, min_w=IDLE_W, max_w=MOST_W)
        if before is not None:
            found.reads, found.obeys = before.reads, before.obeys
        self.machine.cap_w[name] = found.obeys(SAFE_W)
        self.staff[name] = found
        return found

    def fire(self, name: str) -> None:
        """Kill an agent: what it wrote last stays in force."""
        self.staff[name].alive = False
        self.staff[name].bus.close()

    def agents_turn(self) -> None:
        """Let agents take caps, end leases and tell how they are."""
        now_s, watts = self.now(), self.machine.node_w()
        for name, agent in self.staff.items():
            if not agent.alive:
                continue
            if agent.hear(now_s):
                agent.told.append(f"{now_s - EPOCH_S:.2f} lease-ended")
                for job in self.machine.jobs.values():
                    if name in job.seen.on and job.seen.phase == "paused":
                        self.machine.cont(job.seen.id)
            cap_w = agent.lease.cap_w()
            self.machine.cap_w[name] = agent.obeys(math.inf if math.isnan(cap_w) else cap_w)
            if (now_s - phase_s(name, PERIOD_S)) % PERIOD_S < 0.25:
                agent.tell(watts[name], now_s)

    # ------------------------------------------------------------------ time

    def now(self) -> float:
        """Return the machine's time."""
        return self.hand.clock.now_s()

    def run(self, seconds: float, step_s: float = 0.25) -> None:
        """Let everything go on."""
        self.machine.pass_time(0.0)
        for _ in range(round(seconds / step_s)):
            self.controller.turn(self.now())
            self.step(step_s)

    def alone(self, seconds: float, step_s: float = 0.25) -> None:
        """Let the machine go on without a controller."""
        for _ in range(round(seconds / step_s)):
            self.step(step_s)

    def step(self, step_s: float) -> None:
        """Let agents have their turn and time pass; note what is drawn before and after."""
        self.agents_turn()
        self.powers.append((self.now() - EPOCH_S, sum(self.machine.node_w().values())))
        self.machine.pass_time(step_s)
        self.powers.append((self.now() - EPOCH_S, sum(self.machine.node_w().values())))

    # ------------------------------------------------------------------ what must hold

    def at(self) -> float:
        """Return seconds since the world began."""
        return self.now() - EPOCH_S

    def most_w(self, from_s: float = 0.0, to_s: float = math.inf) -> float:
        """Return the greatest power that was drawn in a time."""
        return max(w for t, w in self.powers if from_s <= t <= to_s)

    def over_s(self, limit_w: float = LIMIT_W, from_s: float = 0.0) -> float:
        """Return the last time at which more than a limit was drawn, counted from a time (0: never)."""
        return max((t - from_s for t, w in self.powers if t >= from_s and w > limit_w + 1e-6), default=0.0)

    def longest_over_s(self, limit_w: float = LIMIT_W, from_s: float = 0.0) -> float:
        """Return the longest time without a break in which more than a limit was drawn."""
        return longest_over_s([(t, w) for t, w in self.powers if t >= from_s], limit_w + 1e-6)

    def led(self) -> int:
        """Return how many living agents are led by the present controller."""
        return sum(a.alive and a.lease.mode == "led" and a.lease.term == self.reigns for a in self.staff.values())

    def finish(self, most_s: float = 600.0) -> None:
        """Go on until no job is left; each must have ended once, from the start on which it ended, none is stopped."""
        until_s = self.now() + most_s
        while any(job.seen.phase != "ended" for job in self.machine.jobs.values()) or self.machine.coming:
            assert self.now() < until_s, {n: j.seen.phase for n, j in self.machine.jobs.items()}
            self.run(5.0)
        self.run(2.0)
        assert all(job.starts == 1 for job in self.machine.jobs.values())
        assert not self.controller.ledger.row
        check_structure(self.controller.ledger.state)


def pressed(folder: Path | None = None, count: int = 45, **more: object) -> Faulty:
    """Return a world whose nodes were all busy when its limit fell to ``LIMIT_W``: caps hold it there."""
    world = Faulty(folder, **more)
    world.limit_w = NODES * MOST_W
    busy(world, count, spread_s=15.0)
    world.run(20.0)
    world.limit_w = LIMIT_W
    world.run(3.0)
    world.powers.clear()
    return world


def busy(world: World, count: int = 60, seed: int = 8, spread_s: float = 60.0, longest_s: int = 40) -> None:
    """Let jobs of one to four nodes come, more than the machine can run at once."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        work_s = float(rng.integers(5, longest_s))
        at_s = world.hand.at_s + float(rng.integers(0, max(1, int(spread_s))))
        world.submit(f"j{world.reigns}{i:03d}", int(rng.integers(1, 5)), work_s, at_s, request_s=3 * work_s)


def names(world: World, count: int) -> Sequence[str]:
    """Return the first nodes."""
    return list(world.machine.names)[:count]
