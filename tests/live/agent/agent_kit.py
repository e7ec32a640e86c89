"""A small world for agents: a bus in memory, a clock that is moved by hand, a plant, and caps."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from wattline.live.agent.agent import Agent, make
from wattline.live.agent.config import read_settings
from wattline.live.bus.base import Arrived
from wattline.live.clock import Clock
from wattline.live.power.fakes.powercap import FakeNode, Plant, make_tree

T0 = 1_800_000_000.0
BOOT = "0123456789abcdef"

NODE = """
site = "s"
run_dir = "run"
longest_lease = "30 s"
{more}
{nodes}
[model]
profile = "gold-6132"
memory = "12 W"
[bus]
kind = "memory"
"""
ONE = '[[node]]\nname = "{name}"\npowercap = "{name}"\nsafe = "180 W"\nmin = "120 W"\nmax = "350 W"\n'


class Time(Clock):
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.at_s = T0
        super().__init__(wall=lambda: self.at_s, monotonic=lambda: self.at_s, rest=lambda _: None)


class MemoryBus:
    """A node's end: messages go into lists."""

    def __init__(self) -> None:
        self.waiting: list[Arrived] = []
        self.sent: list[dict[str, Any]] = []
        self.topics: list[str] = []
        self.closed = False

    def publish(self, topic: str, payload: bytes, *, keep: bool = False) -> bool:
        """Note a message."""
        self.sent.append({"topic": topic, **json.loads(payload)})
        return True

    def subscribe(self, prefix: str) -> None:
        """Note a topic."""
        self.topics.append(prefix)

    def poll(self, timeout_s: float) -> list[Arrived]:
        """Return what was sent, at once."""
        got, self.waiting = self.waiting, []
        return [arrived for arrived in got if arrived.topic in self.topics]

    def counts(self) -> dict[str, int]:
        """Count nothing."""
        return {}

    def close(self) -> None:
        """Note the end."""
        self.closed = True


class World:
    """Emulated nodes and the agents that lead them, in a time that goes by tenths of a second."""

    def __init__(
        self,
        folder: Path,
        names: tuple[str, ...] = ("n1",),
        *,
        more: str = "",
        power: Any = None,
        **plant: Any,
    ) -> None:
        self.folder, self.names, self.clock = folder, names, Time()
        self._power = power
        self.buses: dict[str, MemoryBus] = {}
        for name in names:
            if not (folder / name).exists():
                make_tree(folder / name)
        self.plant = Plant([FakeNode(n, folder / n) for n in names], **({"seed": 4} | plant))
        self.plant.step(T0)
        self.file = folder / "node.toml"
        self.file.write_text(NODE.format(more=more, nodes="".join(ONE.format(name=n) for n in names)))
        self.log: list[dict[str, Any]] = []
        self._n = 0
        self.agents = self.start()

    def start(self) -> dict[str, Agent]:
        """Start the agents as a new process would."""

        def opens(_settings: Any, name: str, _clock: Clock, _will: object) -> MemoryBus:
            return self.buses.setdefault(name, MemoryBus())

        self.buses = {}
        given = {} if self._power is None else {"hardware": self._power}
        made = make(read_settings(self.file), self.clock, self._note, opens=opens, **given)
        self.agents = {agent.node.name: agent for agent in made}
        for agent in made:
            agent.begin()
        return self.agents

    @property
    def agent(self) -> Agent:
        """The only agent."""
        (agent,) = self.agents.values()
        return agent

    @property
    def sent(self) -> list[dict[str, Any]]:
        """All that was sent."""
        return [message for bus in self.buses.values() for message in bus.sent]

    def crash(self) -> None:
        """Let the agents vanish as a killed process does: locks are gone, files stay."""
        for agent in self.agents.values():
            agent.node.let_go()

    def _note(self, event: str, **fields: Any) -> None:
        self.log.append({"event": event, **fields})

    def events(self) -> list[str]:
        """Return what was logged, by its words."""
        return [line["event"] for line in self.log]

    def cap(self, watts: Any, lease: Any = 5.0, term: Any = 1, name: str = "n1", **more: Any) -> None:
        """Send a cap."""
        self.send(f"wattline/s/cap/{name}", {"kind": "cap", "cap_w": watts, "lease": lease, "term": term, **more})

    def send(self, topic: str, body: dict[str, Any], sender: str = "") -> None:
        """Send a message as a controller would."""
        self._n += 1
        head = {"v": 1, "from": "boss", "boot": BOOT, "n": self._n, "at": self.clock.at_s}
        for bus in self.buses.values():
            bus.waiting.append(Arrived(topic, json.dumps(head | body).encode(), sender))

    def run(self, seconds: float, *, every: float = 0.1) -> None:
        """Let time pass."""
        for _ in range(round(seconds / every)):
            self.clock.at_s += every
            self.plant.step(self.clock.at_s)
            for agent in self.agents.values():
                agent.step()

    def limit_w(self, name: str = "n1") -> float:
        """Return the package limits on disk."""
        zones = [self.folder / name / f"intel-rapl:{i}" for i in range(2)]
        if any(int((zone / "enabled").read_text()) == 0 for zone in zones):
            return math.inf
        return sum(int((zone / "constraint_0_power_limit_uw").read_text()) for zone in zones) / 1e6

    def server_w(self, name: str = "n1") -> float:
        """Return what a node draws."""
        return self.plant.server_w(name)

    def last(self, name: str = "n1") -> dict[str, Any]:
        """Return the last status of a node."""
        return [m for m in self.buses[name].sent if m["topic"] == f"wattline/s/status/{name}"][-1]

    def close(self) -> None:
        """Let go of files and locks."""
        self.crash()
        self.plant.close()
